"""The transforms of ``scipy.fft``: recorded for a lazy array, else SciPy's own at once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.fft import next_fast_len as next_fast_len
from scipy.fft import prev_fast_len as prev_fast_len

from .expr import build
from .expr.node import Node
from .expr.recording import tracing
from .expr.spectrum import REAL_TO_REAL, transform_spec
from .record import as_node, is_lazy, wrap
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
            return _lazily(x, base, s, axes, norm, plan)
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
            extra = {"type": _type(type), "orthogonalize": orthogonalize}
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
        orthogonalize: bool | None = None,
    ) -> Any:
        if is_lazy(x):
            return _lazily(x, base, s, axes, norm, type=_type(type), orthogonalize=orthogonalize)
        return eager(x, type, s, axes, norm, overwrite_x, workers, orthogonalize=orthogonalize)

    return _named(call, name, base, _MANY)


def _type(kind: int) -> int:
    if kind not in (1, 2, 3, 4):
        raise ValueError("invalid value for type; must be 1, 2, 3 or 4")
    return kind


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


def _shift(x: Any, axes: Any, sign: int) -> Any:
    node = x.node
    which = build.normalize_axes(axes, node.ndim)
    return wrap(build.roll(node, [(a, sign * (node.shape[a] // 2)) for a in which]))


def fftshift(x: Any, axes: Any = None) -> Any:
    """Zero frequency to the middle: element ``-n//2`` first.

    Parameters
    ----------
    x : array_like or LazyArray
    axes : int or sequence of int, optional
        All when None.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.fftshift([0, 1, 2, -2, -1])
    array([-2, -1,  0,  1,  2])
    """
    return _shift(x, axes, 1) if is_lazy(x) else np.fft.fftshift(x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of ``fftshift``, also for odd lengths.

    Parameters
    ----------
    x : array_like or LazyArray
    axes : int or sequence of int, optional
        All when None.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.ifftshift([-2, -1, 0, 1, 2])
    array([ 0,  1,  2, -2, -1])
    """
    return _shift(x, axes, -1) if is_lazy(x) else np.fft.ifftshift(x, axes)


def fftfreq(
    n: int, d: float = 1.0, *, xp: Any = None, dtype: Any = None, device: Any = None
) -> Any:
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
    count = _length(n)
    rising = build.iota(-(count // 2), 1, count, np.dtype("i8"))
    return _scaled(build.roll(rising, [(0, (count + 1) // 2)]), count, d, dtype)


def rfftfreq(
    n: int, d: float = 1.0, *, xp: Any = None, dtype: Any = None, device: Any = None
) -> Any:
    """Frequencies of the bins of ``rfft``, in cycles per unit of ``d``; see ``fftfreq``.

    Parameters
    ----------
    n, d, xp, dtype, device
        As for ``fftfreq``.

    Returns
    -------
    ndarray, shape (n // 2 + 1,)
        Lazy inside a function that is being recorded.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.rfftfreq(4, 0.5)
    array([0. , 0.5, 1. ])
    """
    if xp is not None:
        return xp.fft.rfftfreq(n, d=d, **_given(dtype=dtype, device=device))
    if not tracing():
        return _converted(np.fft.rfftfreq(n, d), dtype, device)
    count = _length(n)
    return _scaled(build.iota(0, 1, count // 2 + 1, np.dtype("i8")), count, d, dtype)


def _length(n: Any) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise ValueError("n should be an integer") from None


def _given(**arguments: Any) -> dict[str, Any]:
    return {k: v for k, v in arguments.items() if v is not None}


def _scaled(index: Node, n: int, d: Any, dtype: Any) -> Any:
    values = build.elementwise("multiply", index, as_node(1.0 / (n * d)))
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
