"""Arrays of other libraries: results stay in the library.

CuPy arrays are transformed here, torch tensors too, handed over by DLPack. Arrays of any other
library are transformed by it, with the array API standard's ``fft`` extension, through
array-api-compat; what that lacks goes through NumPy for arrays in the host's memory.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from .expr.node import Node
from .expr.spectrum import check_type, transform_spec
from .options import resolve_workers, scipy_array_api
from .runtime.arrays import device_of, is_cupy
from .runtime.exchange import TORCH, exported, imported, is_torch, working_on
from .runtime.pocketfft import implementation, real_implementation

_OURS = (np.ndarray, np.generic, list, tuple, numbers.Number)
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
_HOST = 1  # DLPack's number of the host's memory


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Arguments of a transform that do not change its values."""

    overwrite_x: bool = False
    workers: int | None = None
    plan: Any = None
    out: Any = None


def is_foreign(x: Any) -> bool:
    """Does another array library serve this array? SciPy itself does when SCIPY_ARRAY_API is on."""
    if isinstance(x, _OURS):
        return False
    if is_cupy(x) or is_torch(x):
        return True
    import array_api_compat

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
    name: str, x: Any, s: Any, axes: Any, norm: Any, options: CallOptions, many: bool
) -> Any:
    """A Fourier transform: of torch tensors and CuPy arrays ours, else by ``x``'s own library.

    Raises
    ------
    ValueError
        For ``workers``, which only NumPy arrays have in SciPy, and as ``scipy.fft``.
    NotImplementedError
        For a ``plan``.
    """
    _check_options(name, options, ours=is_cupy(x) or is_torch(x))
    if is_torch(x):
        given = {"norm": norm, "overwrite_x": options.overwrite_x, "workers": options.workers}
        return _handed_over(name, x, s, axes, out=options.out, **given)
    if is_cupy(x):
        from . import eager_device

        return eager_device.transform(name, x, s, axes, norm, many, options.out)
    if options.out is not None:
        raise TypeError(f"{name}: out is only supported for NumPy, CuPy and torch arrays")
    return _by_its_library(name, x, s, axes, norm, many)


def _check_options(name: str, options: CallOptions, ours: bool) -> None:
    if options.workers is not None:
        if scipy_array_api() or not ours:
            raise ValueError(f"{name}: `workers` is only supported for numpy arrays")
        resolve_workers(options.workers)
    if options.plan is not None:
        if scipy_array_api():
            raise ValueError(f"{name}: `plan` is only supported for numpy arrays")
        raise NotImplementedError(f"{name}: a precomputed plan is not supported by fft_fused")


def _handed_over(name: str, tensor: Any, *args: Any, out: Any = None, **options: Any) -> Any:
    """The function of a torch tensor, by way of the NumPy or CuPy array of its memory."""
    from . import transforms

    array = imported(tensor, name)
    with working_on(device_of(array), TORCH):
        if out is not None:
            options["out"] = imported(out, "out") if is_torch(out) else out
        result = getattr(transforms, name)(array, *args, **options)
        return exported(result, TORCH) if out is None else out


def _by_its_library(name: str, x: Any, s: Any, axes: Any, norm: Any, many: bool) -> Any:
    xp = namespace(x)
    base = name.rstrip("2n") if many else name
    x = _floating(xp, x, base)
    spec = transform_spec(_stand_in(xp, x), base, s, axes, norm, many)
    if not spec.axes:
        return x
    if not many:
        return getattr(xp.fft, name)(x, n=spec.lengths[0], axis=spec.axes[0], norm=spec.norm)
    options = {"s": spec.lengths, "axes": spec.axes, "norm": spec.norm}
    if base == "hfft":
        return xp.fft.irfftn(xp.conj(x), **options | {"norm": _SWAPPED[spec.norm]})
    if base == "ihfft":
        return xp.conj(xp.fft.rfftn(x, **options | {"norm": _SWAPPED[spec.norm]}))
    return getattr(xp.fft, base + "n")(x, **options)


def real_transform(
    name: str,
    x: Any,
    kind: int,
    s: Any,
    axes: Any,
    norm: Any,
    options: CallOptions,
    orthogonalize: bool | None,
) -> Any:
    """A cosine or sine transform: ours on a GPU, else through NumPy."""
    given = {"overwrite_x": options.overwrite_x, "workers": options.workers}
    if is_torch(x):
        return _handed_over(name, x, kind, s, axes, norm, orthogonalize=orthogonalize, **given)
    if is_cupy(x):
        from . import eager_device

        if options.workers is not None:
            resolve_workers(options.workers)
        extra = {"type": check_type(kind), "orthogonalize": orthogonalize}
        return eager_device.transform(name, x, s, axes, norm, name.endswith("n"), **extra)
    run = partial(real_implementation(name), orthogonalize=orthogonalize, **given)
    return _through_numpy(name, x, run, kind, s, axes, norm)


def hankel_transform(name: str, x: Any, dln: float, mu: float, offset: float, bias: float) -> Any:
    """A Hankel transform: ours on a GPU, else through NumPy."""
    arguments = (dln, mu, offset, bias)
    if is_torch(x):
        return _handed_over(name, x, *arguments)
    if is_cupy(x):
        from .hankel import recorded
        from .lazy import lazy

        return recorded(name, lazy(x), *arguments).compute()
    return _through_numpy(name, x, implementation(name), *arguments)


def _through_numpy(name: str, x: Any, run: Callable[..., Any], *arguments: Any) -> Any:
    import array_api_compat

    place = getattr(x, "__dlpack_device__", lambda: (_HOST, 0))
    if place()[0] != _HOST:
        raise TypeError(
            f"{name}: an array on {array_api_compat.device(x)} would be copied to the host; "
            "do that yourself if you mean it"
        )
    xp = array_api_compat.array_namespace(x)
    return xp.asarray(run(np.asarray(x), *arguments))


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
