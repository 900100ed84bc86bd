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

from scipy.fft import (
    fhtoffset,
    get_workers,
    register_backend,
    set_backend,
    set_global_backend,
    set_workers,
    skip_backend,
)

from . import xp
from .device_function import DeviceFunction, device_function
from .errors import CompileError, LazyValueError, NotFusedError, RecordingError
from .expr.node import ArraySpec
from .fuse import Fused, compute, fuse
from .lazy import LazyArray, lazy
from .options import options, planning
from .runtime.builds import wait
from .runtime.info import cache_clear, cache_info, info
from .scipy_backend import __ua_domain__, __ua_function__
from .transforms import *  # noqa: F403
from .transforms import __all__ as _transforms

__version__ = "0.1.0"

__all__ = [
    "ArraySpec",
    "CompileError",
    "DeviceFunction",
    "Fused",
    "LazyArray",
    "LazyValueError",
    "NotFusedError",
    "RecordingError",
    "__ua_domain__",
    "__ua_function__",
    "cache_clear",
    "cache_info",
    "compute",
    "device_function",
    "fhtoffset",
    "fuse",
    "get_workers",
    "info",
    "lazy",
    "options",
    "planning",
    "register_backend",
    "set_backend",
    "set_global_backend",
    "set_workers",
    "skip_backend",
    "wait",
    "xp",
    *_transforms,
]
