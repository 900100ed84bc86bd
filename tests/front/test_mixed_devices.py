"""Arrays of different devices: refused by name, and what belongs anywhere goes along."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import fft_fused
from fft_fused import ArraySpec, compute, eager_device, fft, fuse, lazy, rfft, xp
from fft_fused.runtime.device import Resources
from fft_fused.runtime.execute import execute
from tests.pretend import cupy, on_gpu, pretending, seen

__all__ = ["pretending"]
X = np.arange(1.0, 13.0).reshape(3, 4)
W = np.arange(4.0) + 1
MASK = X > 5


def close(found, wanted):
    assert isinstance(found, cupy.ndarray)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(seen(found), wanted)


# ---- refused


@pytest.mark.parametrize(
    "expression",
    {
        "operator": lambda x: x * W,
        "reflected": lambda x: W - x,
        "numpy function": lambda x: np.add(W, x),
        "cupy function": lambda x: cupy.hypot(x, W),
        "where": lambda x: xp.where(MASK, x, 0),
        "where, value": lambda x: xp.where(x > 3, x, X),
        "cupy where": lambda x: cupy.where(x > 3, x, X),
        "clip": lambda x: x.clip(W, None),
        "concatenate": lambda x: xp.concatenate([x, X]),
        "stack": lambda x: xp.stack([x, lazy(X)]),
        "list of rows": lambda x: x * xp.asarray([x[0], W, W]),
        "matmul": lambda x: x @ W,
        "take": lambda x: x.take(np.array([0, 1]), axis=0),
        "in place": lambda x: x.__iadd__(W),
        "assignment": lambda x: assigned(x, (0,), W),
        "masked assignment": lambda x: assigned(x, MASK, 0.0),
        "out": lambda x: np.add(x, W, out=lazy(on_gpu(X))),
        "vecdot": lambda x: xp.vecdot(x, W),
        "a list": lambda x: x * [1.0, 2.0, 3.0, 4.0],
    }.items(),
    ids=lambda item: item[0],
)
@pytest.mark.parametrize("fused", [False, True])
def test_host_arrays_in_an_expression_on_a_gpu(expression, fused):
    _, call = expression
    text = r"different devices in one expression: .* is on (cuda:0|cpu), .* on (cpu|cuda:0); move"
    with pytest.raises(TypeError, match=text):
        fuse(call)(on_gpu(X)) if fused else call(lazy(on_gpu(X))).compute()


def assigned(x, key, value):
    x = x.copy()
    x[key] = value
    return x


def test_device_arrays_assigned_to_host_arrays():
    with pytest.raises(TypeError, match=r"an array f8\[3,4\] is on cpu, an array f8\[4\] on cuda"):
        assigned(lazy(X), 0, on_gpu(W)).compute()


def test_arguments_are_named_with_the_cure():
    text = (
        r"x is on cuda:0, table on cpu; move one: cupy\.asarray\(table\) before the call, or "
        r"fft_fused\.xp\.asarray\(table\) in the expression"
    )
    with pytest.raises(TypeError, match=text):
        fuse(lambda x, *, table: fft(x * table))(on_gpu(X), table=W)
    with pytest.raises(TypeError, match=r"a is on cpu, b on cuda:0"):
        (lazy(X, "a") + lazy(on_gpu(X), "b")).compute()
    with pytest.raises(TypeError, match=r"parts_x is on cuda:0, parts_taps on cpu"):
        fuse(lambda parts: parts["x"] * parts["taps"])({"taps": W, "x": on_gpu(X)})


def test_a_captured_table_is_described():
    with pytest.raises(TypeError, match=r"x is on cuda:0, an array f8\[4\] on cpu; move one"):
        fuse(lambda x: x * W)(on_gpu(X))


def test_two_gpus():
    text = r"x is on cuda:0, y on cuda:1; move one, as by cupy\.asarray within cupy.cuda.Device\(0"
    with pytest.raises(TypeError, match=text):
        fuse(lambda x, y: x * y)(on_gpu(X), on_gpu(X, device=1))


def test_values_computed_together_are_on_one_device():
    with pytest.raises(TypeError, match="different devices"):
        compute(lazy(on_gpu(X)) * 2, lazy(X) * 2)


@pytest.mark.parametrize(
    ("result", "out", "text"),
    [
        (
            lambda: lazy(on_gpu(X)) * 2,
            lambda: np.empty((3, 4)),
            r"out: an array on cpu given, the ",
        ),
        (lambda: lazy(X) * 2, lambda: on_gpu(X), r"result is on cpu; give a NumPy array"),
        (lambda: lazy(on_gpu(X)) * 2, lambda: on_gpu(X, 1), "array on cuda:1 given.*is on cuda:0"),
        (lambda: lazy(on_gpu(X)) * 2, lambda: [[0.0]], "need a CuPy array on cuda:0, got list"),
    ],
)
def test_out_is_where_the_result_is(pretending, result, out, text):
    with pytest.raises(TypeError, match=text):
        result().compute(out=out())
    with pytest.raises(TypeError, match=text):
        fuse(lambda: result())(out=out())


def test_a_plan_compiled_for_a_description_is_that_of_arrays_on_the_gpu(pretending):
    double = fuse(lambda x: x * 2)
    double.compile(ArraySpec(X.shape, X.dtype, X.strides, "cuda:0"))
    double(on_gpu(X))
    assert double.trace_count == 1
    double(on_gpu(np.zeros(13))[1:].reshape(3, 4))
    assert double.trace_count == 2  # these lie at another alignment


@pytest.mark.parametrize(("skipped", "direct"), [(0, True), (1, False), (2, True)])
def test_launches_write_only_into_arrays_that_lie_well(monkeypatch, skipped, direct):
    given = []

    class Launch:
        def run(self, inputs, outputs, resources):
            given.extend(outputs)
            return [on_gpu(np.full((3, 4), 2, np.float32))]

    x = np.ones((3, 4), np.float32)
    plan = fuse(lambda x: x * 2).compile(ArraySpec(x.shape, x.dtype, x.strides, "cuda:0"))
    plan = replace(plan, steps=tuple(replace(s, launch=Launch()) for s in plan.steps))
    memory = on_gpu(np.zeros(12 + skipped, np.float32))
    out = memory[skipped:].reshape(3, 4)
    monkeypatch.setitem(execute.__globals__, "resources_now", Resources)
    monkeypatch.setattr(cupy, "copyto", lambda target, source, casting: None)
    execute(plan, [on_gpu(x)], out=[out])
    assert [o is out for o in given] == [direct]


def test_out_of_eager_transforms(pretending):
    with pytest.raises(TypeError, match="out: an array on cpu given, the result is on cuda:0"):
        fft(on_gpu(X), out=np.empty((3, 4), complex))
    with pytest.raises(TypeError, match=r"out: a cupy\.ndarray given, the result is a NumPy array"):
        fft(X, out=on_gpu(X + 0j))
    out = on_gpu(X + 0j)
    assert fft(on_gpu(X), out=out) is out
    np.testing.assert_allclose(seen(out), np.fft.fft(X))
    with pytest.raises(ValueError, match=r"out: shape \(3,\) given, the result has \(3, 4\)"):
        fft(on_gpu(X), out=on_gpu(np.empty(3, complex)))


def test_eager_transforms_know_how_an_array_lies(pretending, monkeypatch):
    alignments = []

    def execute(plan, arrays, scalars=(), out=None):
        alignments.append(plan.expr.operands[0].alignment)
        return arrays

    monkeypatch.setattr(eager_device, "execute", execute)
    memory = on_gpu(np.zeros(66, np.float32))
    for skipped in (0, 1, 2, 0):
        rfft(memory[skipped : skipped + 64])
    assert alignments == [16, 4, 8, 16]


def test_out_of_a_lazy_transform_is_lazy():
    target = lazy(np.empty((3, 4), complex))
    assert fft(lazy(X), out=target) is target
    np.testing.assert_allclose(target.compute(), np.fft.fft(X))
    with pytest.raises(TypeError, match=r"cannot be written into a NumPy array; use \.compute"):
        fft(lazy(X), out=np.empty((3, 4), complex))


# ---- what goes along


@pytest.mark.parametrize(
    "number", [2, 0.5, 1j, True, np.float32(0.5), np.int8(3), np.array(2.5), np.array(3)]
)
def test_numbers_belong_anywhere(pretending, number):
    wanted = X * number
    close((lazy(on_gpu(X)) * number).compute(), wanted)
    close((number * lazy(on_gpu(X))).compute(), wanted)
    close(fuse(lambda x: x * number)(on_gpu(X)), wanted)
    close(fuse(lambda x, scale: x * scale)(on_gpu(X), number), wanted)
    close(fuse(lambda x: xp.where(x > 3, x, number))(on_gpu(X)), np.where(X > 3, X, number))


def test_a_number_of_an_array_is_read_at_each_call(pretending):
    gain = np.array(2.0)
    scaled = fuse(lambda x, g: x * g)
    captured = fuse(lambda x: x * gain)
    for value in (2.0, 5.0):
        gain[...] = value
        close(scaled(on_gpu(X), gain), X * value)
        close(captured(on_gpu(X)), X * value)
    assert scaled.trace_count == captured.trace_count == 1


def test_host_tables_go_along_by_asarray(pretending):
    table = W.copy()
    weighted = fuse(lambda x: fft(x * xp.asarray(table), axis=0))
    for factor in (1, 10):
        table[:] = W * factor
        close(weighted(on_gpu(X)), np.fft.fft(X * table, axis=0))
    assert weighted.trace_count == 1
    close((lazy(on_gpu(X)) * xp.asarray(table[::-1])).compute(), X * table[::-1])
    close((xp.asarray(np.asfortranarray(X)) - lazy(on_gpu(X))).compute(), X * 0)
    close((lazy(on_gpu(X)) * xp.array([1.0, 2, 3, 4])).compute(), X * [1, 2, 3, 4])
    close(lazy(on_gpu(X)).take([2, 0], axis=1).compute(), X[:, [2, 0]])


def test_the_same_table_as_it_is_stays_refused():
    with pytest.raises(TypeError, match="different devices"):
        (lazy(on_gpu(X)) * xp.asarray(W) + W).compute()


def test_tables_alone_stay_on_the_host():
    found = (xp.asarray(W) * 2).compute()
    assert type(found) is np.ndarray
    assert xp.asarray(W).device == "cpu"
    assert (xp.asarray(W) * lazy(on_gpu(X))).device == "cuda:0"


def test_functions_of_the_index_belong_anywhere(pretending):
    x = lazy(on_gpu(X))
    close((x * xp.arange(4, device=x.device)).compute(), X * np.arange(4))
    close((x + xp.eye(3, 4)).compute(), X + np.eye(3, 4))
    close((x * fuse_frequencies(x)).compute(), X * np.fft.fftfreq(4))


def fuse_frequencies(x):
    return xp.asarray(fft_fused.fftfreq(x.shape[-1]))


def test_frames_of_a_table_that_is_copied():
    """Strides are those of the memory, which a copy does not have."""
    table = np.asfortranarray(X)
    frames = xp.lib.stride_tricks.as_strided(xp.asarray(table), (2, 3), table.strides)
    with pytest.raises(TypeError, match=r"cuda:0 in C order.*use numpy\.ascontiguousarray first"):
        (frames * lazy(on_gpu(X[:2, :3]))).compute()
    assert (frames * 2).compute().shape == (2, 3)


def test_asarray_takes_arrays_of_a_gpu(pretending):
    close(xp.asarray(on_gpu(X)).compute(), X)
    close(xp.asarray(on_gpu(X), np.float32).compute(), X.astype("f4"))
    close(xp.meshgrid(on_gpu(W), on_gpu(W[:2]))[0].compute(), np.meshgrid(W, W[:2])[0])
    close(xp.stack([on_gpu(W), on_gpu(W)]).compute(), np.stack([W, W]))


# ---- masks and indices


def test_masks_of_a_gpu(pretending):
    x = lazy(on_gpu(X)).copy()
    x[on_gpu(MASK)] = 0
    wanted = X.copy()
    wanted[MASK] = 0
    close(x.compute(), wanted)
    with pytest.raises(IndexError, match=r"x\[mask\]: .* use fft_fused.xp.where"):
        x[on_gpu(MASK)]
    with pytest.raises(IndexError, match=r"x\[array\]: .* use fft_fused.xp.take"):
        x[on_gpu(np.array([0, 1]))]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, n: xp.linspace(n, 3, 4),
        lambda x, n: xp.linspace(0, n, 4),
        lambda x, n: xp.pad(x, 1, constant_values=n),
        lambda x, n: xp.nan_to_num(x, nan=n),
    ],
)
def test_numbers_that_have_to_be_known_are_not_fetched_from_a_gpu(call):
    with pytest.raises(TypeError, match="is not copied to the host silently; pass float"):
        call(lazy(on_gpu(X)), on_gpu(2.0))


# ---- captured arrays of a GPU


def test_captured_arrays_are_watched_and_not_kept_alive(pretending):
    table = on_gpu(W)
    weighted = fuse(lambda x: x * table)
    for _ in range(3):
        close(weighted(on_gpu(X)), X * W)
    assert weighted.trace_count == 1
    seen(table)[:] = 1
    close(weighted(on_gpu(X)), X)
    alive = weakref.ref(table)
    table = on_gpu(W * 3)
    gc.collect()
    assert alive() is None
    close(weighted(on_gpu(X)), X * W * 3)
    assert weighted.trace_count == 2


def test_lazy_array_of_one_library_after_the_other(pretending):
    call = fuse(lambda x, w: x * w)
    close(call(on_gpu(X), on_gpu(W)), X * W)
    assert type(call(X, W)) is np.ndarray
    with pytest.raises(TypeError, match="different devices"):
        call(on_gpu(X), W)
    close(call(on_gpu(X), on_gpu(W)), X * W)
    assert call.trace_count == 2
