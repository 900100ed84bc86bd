"""Arrays of other libraries: transformed by their own library, and results stay in it.

The array API standard's ``fft`` extension does the transforms, through array-api-compat. The cosine
and sine transforms, which it lacks, go through NumPy for arrays in the host's memory.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .expr.node import Node
from .expr.spectrum import transform_spec
from .options import scipy_array_api
from .runtime.arrays import is_cupy
from .runtime.pocketfft import implementation, real_implementation

_OURS = (np.ndarray, np.generic, list, tuple, numbers.Number)
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def is_foreign(x: Any) -> bool:
    """Does another array library serve this array? SciPy itself does when SCIPY_ARRAY_API is on."""
    if isinstance(x, _OURS):
        return False
    import array_api_compat

    if is_cupy(x):
        return True
    return bool(array_api_compat.is_array_api_obj(x)) and not scipy_array_api()


def namespace(x: Any) -> ModuleType:
    """The array API namespace of an array.

    Raises
    ------
    TypeError
        For a library without the ``fft`` extension.
    """
    import array_api_compat

    found: ModuleType = array_api_compat.array_namespace(x)
    if not hasattr(found, "fft"):
        raise TypeError(
            f"{found.__name__} has no fft extension; convert the array by numpy.asarray"
        )
    return found


def transform(
    name: str, x: Any, s: Any, axes: Any, norm: Any, workers: Any, plan: Any, many: bool
) -> Any:
    """A Fourier transform by ``x``'s own library.

    Raises
    ------
    ValueError
        For ``workers``, which only NumPy arrays have, and as ``scipy.fft``.
    NotImplementedError
        For a ``plan``.
    """
    if plan is not None:
        raise NotImplementedError(f"{name}: a precomputed plan is not supported by fft_fused")
    if is_cupy(x):
        from . import eager_device

        return eager_device.transform(name, x, s, axes, norm, many)
    if workers is not None:
        raise ValueError(f"{name}: `workers` is only supported for numpy arrays")
    xp = namespace(x)
    base = name.rstrip("2n") if many else name
    x = _floating(xp, x, base)
    spec = transform_spec(_stand_in(xp, x), base, s, axes, norm, many)
    if not spec.axes:
        return x
    if not many:
        function = getattr(xp.fft, name)
        return _resolved(function(x, n=spec.lengths[0], axis=spec.axes[0], norm=spec.norm))
    options = {"s": spec.lengths, "axes": spec.axes, "norm": spec.norm}
    if base == "hfft":
        return xp.fft.irfftn(xp.conj(x), **options | {"norm": _SWAPPED[spec.norm]})
    if base == "ihfft":
        return _resolved(xp.conj(xp.fft.rfftn(x, **options | {"norm": _SWAPPED[spec.norm]})))
    return getattr(xp.fft, base + "n")(x, **options)


def _resolved(x: Any) -> Any:
    """With values in memory: torch's ``conj`` only sets a bit that ``numpy.asarray`` refuses."""
    return x.resolve_conj() if hasattr(x, "resolve_conj") else x


def real_transform(name: str, x: Any, *arguments: Any, **options: Any) -> Any:
    """A cosine, sine or Hankel transform through NumPy, for arrays in the host's memory."""
    import array_api_compat

    if is_cupy(x) and name not in ("fht", "ifht"):
        return _real_on_device(name, x, *arguments, **options)
    if is_cupy(x) or getattr(x, "is_cuda", False):
        raise TypeError(
            f"{name}: an array on {array_api_compat.device(x)} would be copied to the host; "
            "do that yourself if you mean it"
        )
    xp = array_api_compat.array_namespace(x)
    run = (implementation if name in ("fht", "ifht") else real_implementation)(name)
    return xp.asarray(run(np.asarray(x), *arguments, **options))


def _real_on_device(
    name: str,
    x: Any,
    kind: int,
    s: Any,
    axes: Any,
    norm: Any,
    workers: Any = None,
    overwrite_x: bool = False,
    orthogonalize: bool | None = None,
) -> Any:
    """By Fourier transforms; ``workers`` and ``overwrite_x`` mean nothing there."""
    from . import transforms
    from .lazy import lazy

    options = {"norm": norm, "orthogonalize": orthogonalize}
    lengths = {"s": s, "axes": axes} if name.endswith("n") else {"n": s, "axis": axes}
    return getattr(transforms, name)(lazy(x), kind, **lengths, **options).compute()


def shift(name: str, x: Any, axes: Any) -> Any:
    """``fftshift`` or ``ifftshift`` by the array's own library."""
    axes = tuple(axes) if isinstance(axes, Sequence) else axes
    return getattr(namespace(x).fft, name)(x, axes=axes)


def _floating(xp: Any, x: Any, base: str) -> Any:
    """In the dtype SciPy would transform: integers and bools in double precision."""
    if xp.isdtype(x.dtype, ("integral", "bool")):
        x = xp.astype(x, xp.float64)
    if base in ("fft", "ifft", "irfft", "hfft") and not xp.isdtype(x.dtype, "complex floating"):
        single = xp.finfo(x.dtype).bits <= 32
        x = xp.astype(x, xp.complex64 if single else xp.complex128)
    return x


def _stand_in(xp: Any, x: Any) -> Node:
    """What the checks of arguments look at: shape, and a NumPy dtype of the same kind."""
    kind = np.complex128 if xp.isdtype(x.dtype, "complex floating") else np.float64
    return Node("operand", (), None, tuple(x.shape), np.dtype(kind))
