"""The transforms of ``scipy.fft``: recorded for a lazy array, else SciPy's own at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.fft import next_fast_len as next_fast_len
from scipy.fft import prev_fast_len as prev_fast_len

from . import foreign
from .expr import build
from .expr.spectrum import REAL_TO_REAL, check_type, transform_spec
from .foreign import is_foreign
from .frequencies import fftfreq as fftfreq
from .frequencies import fftshift as fftshift
from .frequencies import ifftshift as ifftshift
from .frequencies import rfftfreq as rfftfreq
from .record import is_lazy, wrap, written
from .runtime.pocketfft import implementation, real_implementation

_DOC = """{what}

    Parameters
    ----------
    x : array_like or LazyArray
        {input}
    {lengths}
    norm : {{"backward", "ortho", "forward"}}, optional
        Where the factor 1/n stands.
    overwrite_x, workers, plan
        As in ``scipy.fft.{name}``; a lazy array takes no notice of the first two.
    out : ndarray, optional
        Where the result goes, as in ``numpy.fft``; for NumPy arrays.

    Returns
    -------
    ndarray or LazyArray
        What ``scipy.fft.{name}`` returns; lazy for a lazy ``x``.

    Raises
    ------
    TypeError, ValueError
        As ``scipy.fft.{name}``.

    Examples
    --------
    >>> import numpy as np, fft_fused
    >>> fft_fused.{name}(fft_fused.lazy(np.ones((4, 8))))
    LazyArray({result}, 2 nodes)
    """
_ONE = "n : int, optional\n        Length: the axis is cropped or zero-padded.\n    axis : int"
_MANY = "s : sequence of int, optional\n        Lengths.\n    axes : sequence of int, optional"
_KINDS = {
    "fft": ("Discrete Fourier transform", "c16[4,8]"),
    "ifft": ("Inverse discrete Fourier transform", "c16[4,8]"),
    "rfft": ("Fourier transform of real input, half the spectrum", "c16[4,5]"),
    "irfft": ("Inverse of ``rfft``", "f8[4,14]"),
    "hfft": ("Fourier transform of a signal with Hermitian symmetry", "f8[4,14]"),
    "ihfft": ("Inverse of ``hfft``", "c16[4,5]"),
    "dct": ("Discrete cosine transform", "f8[4,8]"),
    "idct": ("Inverse discrete cosine transform", "f8[4,8]"),
    "dst": ("Discrete sine transform", "f8[4,8]"),
    "idst": ("Inverse discrete sine transform", "f8[4,8]"),
}


def _lazily(
    x: Any,
    base: str,
    s: Any,
    axes: Any,
    norm: Any,
    plan: Any = None,
    many: bool = True,
    **extra: Any,
) -> Any:
    if plan is not None:
        raise NotImplementedError(
            f"Passing a precomputed plan is not yet supported by fft_fused functions ({base})"
        )
    node = x.node
    spec = transform_spec(node, base, s, axes, norm, many, **extra)
    if not spec.axes:
        return wrap(node)
    return wrap(build.transform(node, spec))


def _into(out: Any, result: Any) -> Any:
    """``out`` of numpy.fft: an array of the result's shape."""
    if not isinstance(out, np.ndarray):
        raise TypeError(
            f"out: a {type(out).__module__}.{type(out).__name__} given, the result is a NumPy array"
        )
    if getattr(out, "shape", None) != result.shape:
        raise ValueError(
            f"out: shape {getattr(out, 'shape', None)} given, the result has {result.shape}"
        )
    np.copyto(out, result, casting="same_kind")
    return out


def _one(base: str) -> Callable[..., Any]:
    eager = implementation(base)

    def call(
        x: Any,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
        out: Any = None,
    ) -> Any:
        if type(x) is not np.ndarray:
            if is_lazy(x):
                return written(_lazily(x, base, n, axis, norm, plan, many=False), out, base)
            if is_foreign(x):
                given = foreign.CallOptions(overwrite_x, workers, plan, out)
                return foreign.transform(base, x, n, axis, norm, given, many=False)
        result = eager(x, n, axis, norm, overwrite_x, workers, plan=plan)
        return result if out is None else _into(out, result)

    return _named(call, base, base, _ONE)


def _several(name: str, base: str, default: Any) -> Callable[..., Any]:
    eager = implementation(name)

    def call(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
        out: Any = None,
    ) -> Any:
        if type(x) is not np.ndarray:
            if is_lazy(x):
                return written(_lazily(x, base, s, axes, norm, plan), out, name)
            if is_foreign(x):
                given = foreign.CallOptions(overwrite_x, workers, plan, out)
                return foreign.transform(name, x, s, axes, norm, given, many=True)
        result = eager(x, s, axes, norm, overwrite_x, workers, plan=plan)
        return result if out is None else _into(out, result)

    return _named(call, name, base, _MANY)


def _real_one(base: str) -> Callable[..., Any]:
    eager = real_implementation(base)

    def call(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        if not isinstance(x, np.ndarray):
            if is_lazy(x):
                extra: Any = {"type": check_type(type), "orthogonalize": orthogonalize}
                return _lazily(x, base, n, axis, norm, None, many=False, **extra)
            if is_foreign(x):
                given = foreign.CallOptions(overwrite_x, workers)
                return foreign.real_transform(base, x, type, n, axis, norm, given, orthogonalize)
        return eager(x, type, n, axis, norm, overwrite_x, workers, orthogonalize=orthogonalize)

    return _named(call, base, base, _ONE)


def _real_several(name: str, base: str) -> Callable[..., Any]:
    eager = real_implementation(name)

    def call(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        if not isinstance(x, np.ndarray):
            if is_lazy(x):
                extra: Any = {"type": check_type(type), "orthogonalize": orthogonalize}
                return _lazily(x, base, s, axes, norm, **extra)
            if is_foreign(x):
                given = foreign.CallOptions(overwrite_x, workers)
                return foreign.real_transform(name, x, type, s, axes, norm, given, orthogonalize)
        return eager(x, type, s, axes, norm, overwrite_x, workers, orthogonalize=orthogonalize)

    return _named(call, name, base, _MANY)


def _named(call: Callable[..., Any], name: str, base: str, lengths: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    what, result = _KINDS[base]
    call.__doc__ = _DOC.format(
        what=what + (" over several axes." if name != base else "."),
        input="Real numbers." if base in ("rfft", "ihfft") else "Any numbers.",
        lengths=lengths,
        name=name,
        result=result,
    )
    return call


fft, ifft, rfft, irfft, hfft, ihfft = map(_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2 = (_several(n + "2", n, (-2, -1)) for n in ("fft", "ifft"))
rfft2, irfft2 = (_several(n + "2", n, (-2, -1)) for n in ("rfft", "irfft"))
hfft2, ihfft2 = (_several(n + "2", n, (-2, -1)) for n in ("hfft", "ihfft"))
fftn, ifftn = (_several(n + "n", n, None) for n in ("fft", "ifft"))
rfftn, irfftn = (_several(n + "n", n, None) for n in ("rfft", "irfft"))
hfftn, ihfftn = (_several(n + "n", n, None) for n in ("hfft", "ihfft"))
dct, idct, dst, idst = map(_real_one, REAL_TO_REAL)
dctn, idctn, dstn, idstn = (_real_several(n + "n", n) for n in REAL_TO_REAL)


def _hankel(name: str, a: Any, dln: float, mu: float, offset: float, bias: float) -> Any:
    if is_lazy(a):
        from .hankel import recorded

        return recorded(name, a, dln, mu, offset, bias)
    if is_foreign(a):
        return foreign.hankel_transform(name, a, dln, mu, offset, bias)
    return implementation(name)(a, dln, mu, offset=offset, bias=bias)


def fht(a: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
    """Fast Hankel transform, as ``scipy.fft.fht``; recorded for a lazy array.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.fht([1.0, 2.0, 1.0], dln=0.1, mu=0).shape
    (3,)
    """
    return _hankel("fht", a, dln, mu, offset, bias)


def ifht(A: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:  # noqa: N803
    """Inverse fast Hankel transform, as ``scipy.fft.ifht``; recorded for a lazy array.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.ifht([1.0, 2.0, 1.0], dln=0.1, mu=0).shape
    (3,)
    """
    return _hankel("ifht", A, dln, mu, offset, bias)


MULTIMETHODS = (  # what scipy.fft lets backends serve
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"),
    *("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn", "fht", "ifht"),
)
__all__ = [
    *MULTIMETHODS,
    *("fftshift", "ifftshift", "fftfreq", "rfftfreq", "next_fast_len", "prev_fast_len"),
]
