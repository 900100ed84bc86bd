"""Kernels are generated in several shapes here, however small the arrays."""

from __future__ import annotations

import pytest

from fft_fused.engines import one_kernel


@pytest.fixture(autouse=True)
def several_shapes(monkeypatch):
    """Elsewhere small problems have but one; more than two take long to compile."""
    monkeypatch.setattr(one_kernel, "_WORTH_MEASURING", 0)
    monkeypatch.setattr(one_kernel, "_VARIANTS", 2)
