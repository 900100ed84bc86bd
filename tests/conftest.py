"""Hypothesis profiles: the same examples every time, or (long, short) others at each run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "print_blob": True,
}
settings.register_profile("ci", max_examples=400, derandomize=True, **_COMMON)
settings.register_profile("long", max_examples=20000, **_COMMON)
settings.register_profile("short", max_examples=30, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
