"""What the array API standard asks of a namespace about itself."""

from __future__ import annotations

from typing import Any

import numpy as np

__array_api_version__ = "2024.12"


class _Info:
    """Answers of ``__array_namespace_info__()``: NumPy's dtypes, and what lazy arrays cannot do."""

    def __init__(self) -> None:
        self._numpy: Any = np.__array_namespace_info__()

    def capabilities(self) -> dict[str, Any]:
        """No boolean indexing and no shapes that depend on values."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """The host."""
        return "cpu"

    def devices(self) -> list[str]:
        """The host."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """NumPy's."""
        found: dict[str, np.dtype] = self._numpy.default_dtypes(device=device)
        return found

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """NumPy's."""
        found: dict[str, np.dtype] = self._numpy.dtypes(device=device, kind=kind)
        return found


def __array_namespace_info__() -> _Info:  # noqa: N807 - the standard's name
    """What this namespace can do.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.__array_namespace_info__().capabilities()["boolean indexing"]
    False
    """
    return _Info()
