"""The transforms of ``scipy.fft``: recorded for a lazy array, else SciPy's own at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .expr import build
from .expr.recording import tracing
from .expr.spectrum import REAL_TO_REAL, transform_spec
from .record import is_lazy, wrap
from .runtime.pocketfft import implementation

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

    Returns
    -------
    ndarray or LazyArray
        What ``scipy.fft.{name}`` returns; lazy for a lazy ``x``.

    Raises
    ------
    TypeError, ValueError
        As ``scipy.fft.{name}``.
    """
_ONE = "n : int, optional\n        Length: the axis is cropped or zero-padded.\n    axis : int"
_MANY = "s : sequence of int, optional\n        Lengths.\n    axes : sequence of int, optional"
_KINDS = {
    "fft": "Discrete Fourier transform",
    "ifft": "Inverse discrete Fourier transform",
    "rfft": "Fourier transform of real input, half the spectrum",
    "irfft": "Inverse of ``rfft``",
    "hfft": "Fourier transform of a signal with Hermitian symmetry",
    "ihfft": "Inverse of ``hfft``",
    "dct": "Discrete cosine transform",
    "idct": "Inverse discrete cosine transform",
    "dst": "Discrete sine transform",
    "idst": "Inverse discrete sine transform",
}


def _lazily(x: Any, base: str, s: Any, axes: Any, norm: Any, plan: Any, many: bool, **extra: Any) -> Any:
    if plan is not None:
        raise NotImplementedError(
            f"Passing a precomputed plan is not yet supported by fft_fused functions ({base})"
        )
    node = x.node
    return wrap(build.transform(node, transform_spec(node, base, s, axes, norm, many, **extra)))


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
    ) -> Any:
        if is_lazy(x):
            return _lazily(x, base, n, axis, norm, plan, many=False)
        return eager(x, n, axis, norm, overwrite_x, workers, plan=plan)

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
    ) -> Any:
        if is_lazy(x):
            return _lazily(x, base, s, axes, norm, plan, many=True)
        return eager(x, s, axes, norm, overwrite_x, workers, plan=plan)

    return _named(call, name, base, _MANY)


def _real_one(base: str) -> Callable[..., Any]:
    eager = implementation(base)

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
        if is_lazy(x):
            extra = {"type": _type(base, type), "orthogonalize": orthogonalize}
            return _lazily(x, base, n, axis, norm, None, many=False, **extra)
        return eager(x, type, n, axis, norm, overwrite_x, workers, orthogonalize)

    return _named(call, base, base, _ONE)


def _real_several(name: str, base: str) -> Callable[..., Any]:
    eager = implementation(name)

    def call(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        if is_lazy(x):
            extra = {"type": _type(base, type), "orthogonalize": orthogonalize}
            return _lazily(x, base, s, axes, norm, None, many=True, **extra)
        return eager(x, type, s, axes, norm, overwrite_x, workers, orthogonalize=orthogonalize)

    return _named(call, name, base, _MANY)


def _type(base: str, kind: int) -> int:
    if kind not in (1, 2, 3, 4):
        raise ValueError("invalid value for type; must be 1, 2, 3 or 4")
    return kind


def _named(call: Callable[..., Any], name: str, base: str, lengths: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    many = " over several axes" if name != base else ""
    kind = "Real for rfft and ihfft kinds." if base in ("rfft", "ihfft") else "Any numbers."
    call.__doc__ = _DOC.format(what=_KINDS[base] + many + ".", input=kind, lengths=lengths, name=name)
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
next_fast_len = implementation("next_fast_len")
prev_fast_len = implementation("prev_fast_len")


def _hankel(name: str) -> Callable[..., Any]:
    eager = implementation(name)

    def call(a: Any, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Any:
        if is_lazy(a):
            raise TypeError(f"{name}: a lazy array is not recorded; call .compute() first")
        return eager(a, dln, mu, offset=offset, bias=bias)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Fast Hankel transform, as ``scipy.fft.{name}``; not recorded."
    return call


fht, ifht = _hankel("fht"), _hankel("ifht")


def _shift(x: Any, axes: Any, sign: int, eager: Callable[..., Any]) -> Any:
    if not is_lazy(x):
        return eager(x, axes)
    node = x.node
    which = build.normalize_axes(axes, node.ndim)
    shifts = [(a, sign * (node.shape[a] // 2)) for a in which]
    return wrap(build.roll(node, shifts))


def fftshift(x: Any, axes: Any = None) -> Any:
    """Zero frequency to the middle: element ``-n//2`` first.

    Parameters
    ----------
    x : array_like or LazyArray
    axes : int or sequence of int, optional
        All when None.
    """
    return _shift(x, axes, 1, np.fft.fftshift)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of ``fftshift``, also for odd lengths."""
    return _shift(x, axes, -1, np.fft.ifftshift)


def fftfreq(n: int, d: float = 1.0, *, xp: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Frequencies of the bins of ``fft``, in cycles per unit of ``d``.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float
        Sample spacing.
    xp : namespace, optional
        Of another array library.
    dtype : dtype, optional
        float64 unless given.
    device : optional
        Must be None or "cpu" for NumPy.

    Returns
    -------
    ndarray, shape (n,)
        Lazy inside a function that is being recorded.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.fftfreq(4, 0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    if xp is not None:
        return xp.fft.fftfreq(n, d=d, **_given(dtype=dtype, device=device))
    if not tracing():
        return _converted(np.fft.fftfreq(n, d), dtype, device)
    positive = (n - 1) // 2 + 1
    index = build.iota(0, 1, n, np.dtype("i8"))
    moved = build.roll(build.iota(-(n // 2), 1, n, np.dtype("i8")), [(0, positive)])
    return _scaled(moved if n > 1 else index, 1.0 / (n * d), dtype)


def rfftfreq(n: int, d: float = 1.0, *, xp: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Frequencies of the bins of ``rfft``, in cycles per unit of ``d``; see ``fftfreq``."""
    if xp is not None:
        return xp.fft.rfftfreq(n, d=d, **_given(dtype=dtype, device=device))
    if not tracing():
        return _converted(np.fft.rfftfreq(n, d), dtype, device)
    return _scaled(build.iota(0, 1, n // 2 + 1, np.dtype("i8")), 1.0 / (n * d), dtype)


def _given(**arguments: Any) -> dict[str, Any]:
    return {k: v for k, v in arguments.items() if v is not None}


def _scaled(index: Any, factor: float, dtype: Any) -> Any:
    values = build.elementwise("multiply", index, build.const(factor))
    return wrap(values if dtype is None else build.astype(values, dtype))


def _converted(values: np.ndarray, dtype: Any, device: Any) -> np.ndarray:
    if device not in (None, "cpu"):
        raise ValueError(f"device {device!r} is not one of NumPy's; only 'cpu'")
    return values if dtype is None else values.astype(dtype)


__all__ = [
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"),
    *("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn", "fht", "ifht"),
    *("fftshift", "ifftshift", "fftfreq", "rfftfreq", "next_fast_len", "prev_fast_len"),
]
