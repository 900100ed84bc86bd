"""Every node as calls of CuPy, as a user would have written them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ..cuda.kernels import map_kernel
from ..cuda.launch import LoadedKernel
from ..expr.key import numpy_key
from ..expr.node import Node
from ..expr.ops import OPS
from ..expr.spectrum import Transform
from .numpy_ops import node_function, pieces, range_slice


def device_function(node: Node, xp: Any) -> Callable[..., Any]:
    """The call for CuPy; what is made of numbers alone goes to the device first."""
    own = _ON_DEVICE.get(node.op)
    call = own(node, xp) if own is not None else node_function(node)
    if node.op in ("iota", "const"):
        return call
    if OPS[node.op].kind == "elementwise":
        return lambda *args: _number(call(*args))
    return lambda *args: call(*map(xp.asarray, args))


def _number(value: Any) -> Any:
    """What is computed of numbers alone stays a number: CuPy takes no arrays of the host."""
    return value[()] if isinstance(value, np.ndarray) else value


def _iota(node: Node, xp: Any) -> Callable[..., Any]:
    host = node_function(node)
    return lambda: xp.asarray(host())


def _update(node: Node, xp: Any) -> Callable[..., Any]:
    key = numpy_key(node.attr)

    def call(base: Any, value: Any) -> Any:
        base = xp.array(base)
        base[key] = value
        return base

    return call


def _frames(node: Node, xp: Any) -> Callable[..., Any]:
    shape, strides, of_memory = node.attr

    def call(x: Any) -> Any:
        x = x if of_memory else xp.ascontiguousarray(x)
        return xp.lib.stride_tricks.as_strided(x, shape, strides)

    return call


def _transform(node: Node, xp: Any) -> Callable[..., Any]:
    import cupyx.scipy.fft as cufft

    spec = node.attr
    if spec.name in ("irfft", "hfft"):
        return partial(_real_of_half, spec, cufft, xp)
    one = len(spec.axes) == 1
    function = getattr(cufft, spec.name if one else spec.name + "n")
    lengths = (
        {"n": spec.lengths[0], "axis": spec.axes[0]}
        if one
        else {
            "s": spec.lengths,
            "axes": spec.axes,
        }
    )
    extra = {"type": spec.type} if spec.type else {}
    return lambda x: function(x, norm=spec.norm, **lengths, **extra)


_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _real_of_half(spec: Transform, cufft: Any, xp: Any, x: Any) -> Any:
    """``irfft`` or ``hfft`` over some axes: the other axes first, then the imaginary parts of the
    DC and Nyquist bins dropped, which cuFFT in single precision sometimes does not."""
    norm = spec.norm
    if spec.name == "hfft":
        x, norm = xp.conj(x), _SWAPPED[norm]
    (*others, last), (*lengths, n) = spec.axes, spec.lengths
    if others:
        x = cufft.ifftn(x, s=lengths, axes=others, norm=norm)
    return cufft.irfft(_with_real_edges(x, last, n, xp), n, axis=last, norm=norm)


def _with_real_edges(x: Any, axis: int, n: int, xp: Any) -> Any:
    if x.dtype.kind != "c":
        return x
    x = xp.array(x)
    for edge in {0, n // 2} if n % 2 == 0 else {0}:
        if edge < x.shape[axis]:
            x.imag[(*(slice(None),) * (axis % x.ndim), edge)] = 0
    return x


def _dft(node: Node, xp: Any) -> Callable[..., Any]:
    spec = node.attr
    name = {"c2c": "fft", "rfull": "fft", "r2c": "rfft", "c2r": "irfft"}[spec.kind]
    name = "ifft" if spec.kind == "c2c" and spec.sign > 0 else name
    unscaled = "forward" if name.startswith("i") else "backward"

    def call(x: Any) -> Any:
        if spec.kind == "c2r":
            x = _with_real_edges(x, spec.axis, spec.n, xp)
        result = getattr(xp.fft, name)(x, n=spec.n, axis=spec.axis, norm=unscaled)
        return result if spec.scale == 1 else result * node.dtype.type(spec.scale)

    return call


def _pairs(node: Node, xp: Any) -> Callable[..., Any]:
    return lambda x: xp.ascontiguousarray(x).view(node.dtype)


def _remap(node: Node, xp: Any) -> Callable[..., Any]:
    axis, mapping, fill = node.attr
    before = (slice(None),) * axis
    if mapping.is_slice:
        return node_function(node)

    def call(x: Any) -> Any:
        out = xp.empty(node.shape, node.dtype)
        for low, high, source in pieces(mapping):
            value = fill.value if source is None else x[(*before, range_slice(*source))]
            out[(*before, slice(low, high))] = value
        return out

    return call


def _on_arrays(call: Callable[..., Any]) -> Callable[[Node, Any], Callable[..., Any]]:
    """An operator that rewrites make, by the functions a user would have written."""
    return lambda node, xp: lambda *args: call(xp, *args).astype(node.dtype, copy=False)


def _call(node: Node, xp: Any) -> Callable[..., Any]:
    """A user's function as a kernel of its own, made for the strides it meets."""
    function = node.attr

    @cache
    def kernel(shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> LoadedKernel:
        inputs = [Node("operand", (), k, shape, d) for k, d in enumerate(function.arguments)]
        output = Node("call", tuple(inputs), function, shape, function.result)
        by_id = {id(n): s for n, s in zip(inputs, strides, strict=True)}
        return LoadedKernel(map_kernel(f"call_{function.symbol}", output, inputs, by_id))

    def call(*args: Any) -> Any:
        given = [xp.asarray(a, d) for a, d in zip(args, function.arguments, strict=True)]
        shape = np.broadcast_shapes(*(a.shape for a in given))
        given = [xp.broadcast_to(a, shape) for a in given]
        out = xp.empty(shape, function.result)
        if out.size:
            strides = tuple(tuple(s // a.itemsize for s in a.strides) for a in given)
            kernel(shape, strides)(xp.cuda.runtime.getDevice(), (*given, out))
        return out.astype(node.dtype, copy=False)

    return call


def _broadcast(node: Node, xp: Any) -> Callable[..., Any]:
    return lambda x: xp.broadcast_to(xp.asarray(x, node.dtype), node.shape)


_ON_DEVICE: dict[str, Callable[[Node, Any], Callable[..., Any]]] = {
    "call": _call,
    "iota": _iota,
    "broadcast_to": _broadcast,
    "update": _update,
    "frames": _frames,
    "transform": _transform,
    "dft": _dft,
    "pairs": _pairs,
    "unpair": _pairs,
    "remap": _remap,
    "abs2": _on_arrays(lambda xp, z: xp.square(xp.absolute(z))),
    "cis": _on_arrays(lambda xp, p: xp.exp(1j * p)),
    "phasor": _on_arrays(lambda xp, z: xp.exp(1j * xp.angle(z))),
    "divide_real": _on_arrays(lambda xp, z, r: z / r),
    "where": _on_arrays(lambda xp, c, a, b: xp.where(c, a, b)),
    "logical_not": _on_arrays(lambda xp, x: xp.asarray(x) == 0),
}
