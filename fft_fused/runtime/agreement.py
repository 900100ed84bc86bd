"""Agreement: do plans for the same values give the same values?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import is_cupy

Sample = tuple[np.ndarray, ...]
_ELEMENTS = 4096  # looked at in each result
_ROUNDINGS = 0.05  # of the elements of integer results may differ by rounding or between equals


def sample(results: Sequence[Any]) -> Sample:
    """Some elements of each result, spread evenly, on the host."""
    return tuple(_some(r) for r in results)


def _some(result: Any) -> np.ndarray:
    flat = result.reshape(-1)
    step = max(1, flat.size // _ELEMENTS)
    some = flat[:: step + (step > 1 and step % 2 == 0)]  # an odd step meets every place of rows
    return np.asarray(some.get() if is_cupy(some) else some.copy())


def agree(a: Sample, b: Sample) -> bool:
    """Do two samples differ by rounding only?

    Examples
    --------
    >>> one, two = (np.ones(3, np.float32),), (np.full(3, 1.000001, np.float32),)
    >>> agree(one, two), agree(one, (-two[0],))
    (True, False)
    """
    return all(_alike(x, y) for x, y in zip(a, b, strict=True))


def _alike(x: np.ndarray, y: np.ndarray) -> bool:
    if x.dtype.kind in "biu":
        apart = np.abs(x.astype(float) - y.astype(float)) > 1
        return x.size == 0 or float(apart.mean()) <= _ROUNDINGS
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)):
        return False
    difference = x[finite].astype(wide) - y[finite].astype(wide)
    size = max(_norm(x[finite].astype(wide)), _norm(y[finite].astype(wide)))
    return _norm(difference) <= float(np.finfo(x.dtype).eps) ** 0.5 * size


def _norm(values: np.ndarray) -> float:
    return float(np.sqrt(np.sum(np.abs(values) ** 2)))


def outliers(samples: Sequence[Sample | None]) -> frozenset[int]:
    """The places of samples that disagree with what more than half of the others agree on.

    Where values are nothing but rounding, no two agree, and none is an outlier. None stands for
    a plan that gave none.

    Examples
    --------
    >>> right, wrong = (np.ones(3),), (np.zeros(3),)
    >>> sorted(outliers([wrong, right, None, right]))
    [0]
    """
    there = [k for k, s in enumerate(samples) if s is not None]
    friends = {k: {j for j in there if agree(_of(samples, k), _of(samples, j))} for k in there}
    largest = max(friends.values(), key=len, default=set())
    if len(largest) < 2 or 2 * len(largest) <= len(there):
        return frozenset()
    return frozenset(there) - largest


def _of(samples: Sequence[Sample | None], place: int) -> Sample:
    found = samples[place]
    assert found is not None
    return found
