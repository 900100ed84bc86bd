"""Hypothesis profiles: the same examples every time, or (long, short) others at each run.

Code and wisdom of the tests are kept in a folder of their own, which xdist's workers share.
"""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest
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

_FOLDER = "FFT_FUSED_CACHE_DIR"


def pytest_configure(config: pytest.Config) -> None:
    if not os.environ.get(_FOLDER):
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix="fft_fused-tests-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(_FOLDER), ignore_errors=True))
