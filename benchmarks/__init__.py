"""Measured comparisons: ``python -m benchmarks``."""
