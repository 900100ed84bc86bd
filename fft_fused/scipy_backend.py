"""The uarray protocol: how ``scipy.fft`` calls this package when it is set as a backend.

The package itself is the backend object: ``scipy.fft.set_backend(fft_fused)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import scipy.fft

from . import transforms
from .options import scipy_array_api
from .runtime.exchange import needs_gradient

__ua_domain__ = "numpy.scipy.fft"


@cache
def _table() -> dict[Any, Callable[..., Any]]:
    return {getattr(scipy.fft, name): getattr(transforms, name) for name in transforms.MULTIMETHODS}


def __ua_function__(  # noqa: N807 - the name of the protocol
    method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Serve a ``scipy.fft`` function; NotImplemented for what is left to SciPy.

    That is a function not known here, and a torch tensor that requires grad where SciPy would
    differentiate it.

    There is no ``__ua_convert__``: the functions take what SciPy's take, lazy arrays, and arrays
    of other libraries, so nothing needs converting.
    """
    function = _table().get(method)
    x = args[0] if args else next(iter(kwargs.values()), None)
    if function is None or (needs_gradient(x) and scipy_array_api()):
        return NotImplemented
    return function(*args, **kwargs)
