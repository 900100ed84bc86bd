"""Generated C++ for every operator, dtype and index map, run on the host, equal to NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import fft_fused
from fft_fused import lazy, xp
from fft_fused.cuda import kernels
from fft_fused.cuda.printer import unsupported
from fft_fused.engines.unfused import evaluate
from fft_fused.expr.node import walk
from fft_fused.expr.ops import OPS
from fft_fused.passes.normalize import normalize
from fft_fused.passes.trace import collect
from tests.programs import programs, quiet

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(0)


def prepared(value):
    """The normal form of one lazy value, its inputs and arrays."""
    expr, sources = collect([value.node])
    normal = normalize(expr)
    (output,) = normal.outputs
    inputs = [n for n in walk([output]) if n.op == "operand"]
    arrays = [sources[n.attr].array for n in inputs]
    strides = {
        id(n): tuple(s // n.dtype.itemsize for s in a.strides)
        for n, a in zip(inputs, arrays, strict=True)
    }
    with quiet():
        (wanted,) = evaluate(normal, [s.array for s in sources])
    return output, inputs, arrays, strides, wanted


def check(value, tolerance=None):
    output, inputs, arrays, strides, wanted = prepared(value)
    make = kernels.reduction_kernel if OPS[output.op].kind == "reduce" else kernels.map_kernel
    got = host.run(make("k", output, inputs, strides), arrays)
    assert got.dtype == wanted.dtype
    if wanted.dtype.kind in "fc":
        eps = float(np.finfo(wanted.dtype).eps)
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0)
        bound = (tolerance or 8 * eps) * (1 + scale)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=float(bound))
    else:
        np.testing.assert_array_equal(got, wanted)


X = lazy(RNG.standard_normal((3, 5, 4)).astype(np.float32))
Z = lazy((RNG.standard_normal((3, 5, 4)) + 1j * RNG.standard_normal((3, 5, 4))).astype("c8"))
I8 = lazy(RNG.integers(-9, 9, (3, 5, 4)).astype(np.int8))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "i4", "i8", "u2", "?"])
@pytest.mark.parametrize(
    "op",
    [n for n, o in OPS.items() if o.kind == "elementwise" and not o.internal and n != "astype"],
)
def test_every_operator(op, dtype):
    values = (
        RNG.uniform(0.2, 0.9, (2, 7))
        if np.dtype(dtype).kind in "fc"
        else RNG.integers(1, 5, (2, 7))
    )
    x = values.astype(dtype)
    if x.dtype.kind == "c":
        x = x + x.dtype.type(1j) * x[:, ::-1]
    arguments = [lazy(x), lazy(x[:, ::-1]), lazy(x[::-1])][: OPS[op].arity]
    if op == "where":
        arguments[0] = lazy(x.real > 0.5)
    try:
        value = getattr(xp, op)(*arguments)
    except TypeError:
        pytest.skip("NumPy has no such loop")
    expr, _ = collect([value.node])
    reasons = [r for n in walk(normalize(expr).outputs) if (r := unsupported(n))]
    if reasons:
        assert op not in ("add", "multiply", "absolute", "exp", "where", "sqrt"), reasons
        pytest.skip(reasons[0])
    check(
        value, tolerance=1e-5 if np.dtype(dtype).char in "fF" else 4e-3 if dtype == "f2" else None
    )


@pytest.mark.parametrize(
    "value",
    [
        X[1:, ::2, ::-1],
        X.transpose(2, 0, 1),
        X.reshape(15, 4),
        X.reshape(3, 2, 10),
        X[None, 1],
        xp.roll(X, 2, 1),
        xp.pad(X, ((0, 0), (1, 2), (3, 0)), constant_values=7) * 2,
        xp.roll(xp.pad(X, 1), 3, 2),
        xp.flip(X),
        xp.broadcast_to(X[:, :1], (2, 3, 5, 4)),
        xp.stack([X, X * 2], axis=1),
        xp.concatenate([X, X[:, :2]], axis=1),
        xp.lib.stride_tricks.sliding_window_view(lazy(np.arange(12.0)), 5)[::2] * 2,
        xp.lib.stride_tricks.sliding_window_view(X * 1, 3, axis=2),
        I8.astype(np.float32).view(np.complex64),
        Z.view(np.float32) * 2,
        Z.real + Z.imag,
        xp.lib.stride_tricks.sliding_window_view(lazy(np.arange(24.0))[20:2:-3], 2) * 2,
        xp.lib.stride_tricks.sliding_window_view(X[1, ::2].T, 2, axis=0) * 2,
        abs(Z) ** 2,
        np.exp(1j * X),
        np.exp(1j * np.angle(Z)),
        Z / 3,
        Z * np.conj(Z),
        X * xp.arange(4, dtype=np.float32),
        xp.where(X > 0, X, -X),
        X.astype(np.float16),
        (X * 20).astype(np.uint8).astype(np.int32),
        xp.linspace(0, 1, 7) * 3,
    ],
    ids=lambda v: str(v.node),
)
def test_index_maps_and_casts(value):
    check(value)


@pytest.mark.parametrize("shape", [(40, 70), (3, 33, 64), (70, 40, 2), (2, 65, 32, 3)])
@pytest.mark.parametrize("scaled", [False, True])
def test_transposes_in_tiles(shape, scaled):
    x = lazy(RNG.standard_normal(shape).astype(np.float32))
    place = len(shape) - (1 if shape[-1] > 8 else 2)
    y = (x * 2).swapaxes(place, place - 1)
    y = y * 3 if scaled else y
    output, inputs, _, strides, _ = prepared(y)
    assert "BLOCK_LOOP" in kernels.map_kernel("k", output, inputs, strides).source
    check(y)


def test_updates():
    y = X * 1
    y[:, 1:-1, ::-2] *= 3
    y[0] = 5
    y[..., None, 2] += 1
    check(y)


@pytest.mark.parametrize("op", ["sum", "max", "min", "prod", "any", "all"])
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), None])
def test_reductions(op, axis):
    value = getattr(xp, op)(X * 2, axis=axis)
    if value.node.op != op:
        value = getattr(xp, op)(X * 2, axis=axis if axis is not None else (0, 1, 2))
    expr, _ = collect([value.node])
    if OPS[normalize(expr).outputs[0].op].kind != "reduce":
        pytest.skip("ends in a reshape")
    check(value, tolerance=1e-5)


@pytest.mark.parametrize("dtype", ["f2", "f8", "i2", "u4", "?", "c8"])
@pytest.mark.parametrize("op", ["sum", "max", "min", "any"])
@pytest.mark.parametrize("shape", [(6, 5), (3, 9000)])
def test_reductions_of_every_dtype(op, dtype, shape):
    if dtype == "c8" and op in ("max", "min"):
        pytest.skip("not a device operation")
    x = lazy(RNG.integers(0, 9, shape).astype(dtype))
    value = getattr(xp, op)(x, axis=-1)
    expr, _ = collect([value.node])
    if OPS[normalize(expr).outputs[0].op].kind != "reduce":
        value = getattr(xp, op)(x.astype(np.float32), axis=-1)
    check(value, tolerance=1e-6)


@pytest.mark.parametrize("shape", [(9000, 3), (3, 9000), (2, 5000, 7), (40000,)])
@pytest.mark.parametrize("axis", [0, -1])
def test_long_reductions_in_pieces(shape, axis):
    x = lazy(RNG.standard_normal(shape))
    check((x * x).sum(axis=axis), tolerance=1e-12)


@settings(max_examples=300)
@given(programs(empty=False))
def test_random_maps(program):
    with quiet():
        outputs = program.run([lazy(a) for a in program.inputs], xp, fft_fused)
    for value in outputs:
        expr, _ = collect([value.node])
        (output,) = normalize(expr).outputs
        nodes = walk([output])
        hard = any(
            OPS[n.op].kind in ("transform", "opaque", "reduce") or n.size == 0 or unsupported(n)
            for n in nodes
        )
        if hard or output.op in ("const", "operand"):
            continue
        with quiet():
            check(value, tolerance={"f": 1e-4, "F": 1e-4, "e": 2e-2}.get(output.dtype.char, 1e-9))


@pytest.mark.parametrize("op", ["equal", "not_equal", "less", "less_equal", "greater"])
@pytest.mark.parametrize("kinds", [("i1", "u8"), ("u8", "i8"), ("i4", "u8"), ("u2", "i1")])
def test_signed_and_unsigned_integers_are_compared_by_value(op, kinds):
    first = np.array([-3, -1, 0, 4, 7]).astype(kinds[0])
    second = np.array([4, -1, 0, 4, -7]).astype(kinds[1])
    value = getattr(xp, op)(lazy(first), lazy(second))
    plan, arrays = emulate.planned([value], "elementwise")
    (got,) = emulate.run(plan, arrays)
    np.testing.assert_array_equal(got, getattr(np, op)(first, second))
