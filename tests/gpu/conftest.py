"""Tests marked ``gpu`` are skipped where no device can be used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from fft_fused import planning
from fft_fused.runtime import gpus

why_no_gpu = cache(gpus.why_no_gpu)


@pytest.fixture(autouse=True)
def _every_candidate() -> Iterator[None]:
    """The first call builds, runs and compares all of them, whatever is known on disk."""
    with planning("measure", background=False):
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := why_no_gpu()):
        pytest.skip(reason)
