"""A NumPy-like namespace on lazy arrays: the array API standard and what NumPy users expect.

>>> import fft_fused
>>> from fft_fused import xp
>>> phase = xp.exp(2j * xp.pi * xp.arange(4) / 4)
>>> phase
LazyArray(c16[4], 6 nodes)
>>> phase.compute().round(1)
array([ 1.+0.j,  0.+1.j, -1.+0.j, -0.-1.j])
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from . import lib as lib
from .create import *  # noqa: F403
from .create import __all__ as _create
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise
from .frames import *  # noqa: F403
from .frames import __all__ as _frames
from .joins import *  # noqa: F403
from .joins import __all__ as _joins
from .reduce import *  # noqa: F403
from .reduce import __all__ as _reduce
from .shape import *  # noqa: F403
from .shape import __all__ as _shape
from .standard import __array_api_version__ as __array_api_version__
from .standard import __array_namespace_info__ as __array_namespace_info__

_FROM_NUMPY = [
    *("e", "inf", "nan", "newaxis", "pi"),
    *("bool", "bool_", "complex64", "complex128", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("finfo", "iinfo", "isdtype"),
]
globals().update({name: getattr(_np, name) for name in _FROM_NUMPY})

__all__ = [  # noqa: PLE0604
    "lib",
    *_FROM_NUMPY,
    *_create,
    *_elementwise,
    *_frames,
    *_joins,
    *_reduce,
    *_shape,
]


def __getattr__(name: str) -> Any:
    if name == "fft":
        from .. import transforms

        return transforms
    raise AttributeError(
        f"fft_fused.xp has no {name!r}; compute it with NumPy outside and pass it in, or see "
        "docs/vocabulary.md for what is recorded"
    )
