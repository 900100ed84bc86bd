"""CUDA C++ made from graphs: pure text in, pure text out."""
