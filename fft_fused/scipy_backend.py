"""The uarray protocol: how ``scipy.fft`` calls this package when it is set as a backend.

The package itself is the backend object: ``scipy.fft.set_backend(fft_fused)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import scipy.fft

from . import transforms

__ua_domain__ = "numpy.scipy.fft"


@cache
def _table() -> dict[Any, Callable[..., Any]]:
    return {getattr(scipy.fft, name): getattr(transforms, name) for name in transforms.MULTIMETHODS}


def __ua_function__(  # noqa: N807 - the name of the protocol
    method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Serve a ``scipy.fft`` function; NotImplemented for one that is not known here.

    There is no ``__ua_convert__``: the functions take what SciPy's take, lazy arrays, and arrays
    of other libraries, so nothing needs converting.
    """
    function = _table().get(method)
    return NotImplemented if function is None else function(*args, **kwargs)
