"""FFTs with the elementwise work around them fused in.

>>> import numpy as np, fft_fused
>>> from fft_fused import fft, fuse
>>> @fuse
... def power(x, window):
...     return abs(fft(x * window)) ** 2
>>> power(np.ones((2, 4), np.complex64), np.ones(4, np.float32))[:, 0]
array([16., 16.], dtype=float32)
"""

from __future__ import annotations

from . import xp
from .errors import LazyValueError, NotFusedError, RecordingError
from .expr.node import ArraySpec
from .fuse import Fused, compute, fuse
from .lazy import LazyArray, lazy
from .options import options
from .runtime.info import cache_clear, cache_info, info
from .transforms import *  # noqa: F403
from .transforms import __all__ as _transforms

__version__ = "0.1.0"

__all__ = [
    "ArraySpec",
    "Fused",
    "LazyArray",
    "LazyValueError",
    "NotFusedError",
    "RecordingError",
    "cache_clear",
    "cache_info",
    "compute",
    "fuse",
    "info",
    "lazy",
    "options",
    "xp",
    *_transforms,
]
