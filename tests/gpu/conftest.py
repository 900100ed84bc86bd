"""Tests marked ``gpu`` are skipped where no device can be used."""

from __future__ import annotations

from functools import cache

import pytest


@cache
def _missing() -> str:
    cupy = pytest.importorskip("cupy")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # no driver, or one that is too old
        return str(error).splitlines()[0]
    return "" if count else "there is none"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := _missing()):
        pytest.skip(f"needs a CUDA device: {reason}")
