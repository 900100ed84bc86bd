"""Tests marked ``gpu`` are skipped where no device can be used."""

from __future__ import annotations

from functools import cache

import pytest

from fft_fused.runtime import gpus

why_no_gpu = cache(gpus.why_no_gpu)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := why_no_gpu()):
        pytest.skip(reason)
