"""fft_fused.xp: new arrays, and NumPy's shape functions on lazy arrays."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import LazyArray, lazy, xp

from .agreement import X, Z, assert_agrees, assert_same, sample

# ---- arrays from nothing


@pytest.mark.parametrize(
    "args",
    [
        *((5,), (0,), (2, 7), (7, 2), (7, 2, -2), (0, 5.5), (0.5, 3), (0, 1, 0.1), (1, 2, 1 / 3)),
        *((5, 0, -0.7), (-3,), (0.1, 0.2, 0.01), (np.float32(3),), (np.int16(1), np.int16(9))),
        *((np.float32(0.5), np.float32(3)), (np.float32(0), 3, 1), (1, 1.0000001)),
    ],
)
def test_arange(args):
    assert_same(xp.arange(*args), np.arange(*args))


@pytest.mark.parametrize("code", ["i4", "f4", "f8", "c8", "u1"])
@pytest.mark.parametrize("args", [(5,), (1, 10, 3), (0.5, 4, 0.5)])
@pytest.mark.filterwarnings("ignore")
def test_arange_in_a_dtype(args, code):
    if code in ("i4", "u1") and isinstance(args[0], float):
        args = (1, 4)
    assert_same(xp.arange(*args, dtype=code), np.arange(*args, dtype=code))


@pytest.mark.parametrize(
    ("args", "text"),
    [((0, 5, 0), "step 0"), ((0, np.inf), "stop inf")],
)
def test_arange_refuses(args, text):
    with pytest.raises(ValueError, match=text):
        xp.arange(*args)


@pytest.mark.parametrize("args", [(0, 1, 7), (-1, 1), (0.1, 0.7, 11), (3, 3, 4), (0, 1, 1)])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("dtype", [None, "f4", "i4", "c8"])
def test_linspace(args, endpoint, dtype):
    expected = np.linspace(*args, endpoint=endpoint, dtype=dtype)
    assert_same(xp.linspace(*args, endpoint=endpoint, dtype=dtype), expected)


def test_linspace_of_nothing():
    assert_same(xp.linspace(0, 1, 0), np.linspace(0, 1, 0))
    with pytest.raises(ValueError, match="Number of samples, -1, must be non-negative"):
        xp.linspace(0, 1, -1)


@pytest.mark.parametrize("name", ["zeros", "ones"])
@pytest.mark.parametrize("shape", [3, (2, 3), (), (0, 2), np.int64(4)])
def test_constant_arrays(name, shape):
    assert_same(getattr(xp, name)(shape), getattr(np, name)(shape))
    assert_same(getattr(xp, name)(shape, "c8"), getattr(np, name)(shape, "c8"))


@pytest.mark.parametrize("value", [2, 2.5, True, 1j, np.float32(3), np.nan])
def test_full(value):
    assert_same(xp.full((2, 2), value), np.full((2, 2), value))
    assert_same(xp.full_like(lazy(Z), value), np.full_like(Z, value))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like"])
def test_like_another(name):
    for array in (X, Z, sample("i1")):
        assert_agrees(getattr(np, name), array)
        assert_agrees(lambda x: getattr(np, name)(x, dtype="f4"), array)
        assert_agrees(lambda x: getattr(np, name)(x, shape=(2, 2)), array)


def test_empty_has_a_shape_and_a_dtype():
    for made in (xp.empty((2, 3), "f4"), xp.empty_like(lazy(X), "f4", (2, 3))):
        assert (made.shape, made.dtype) == ((2, 3), np.dtype("f4"))
    assert np.empty_like(lazy(X)).shape == X.shape


def test_new_arrays_can_be_filled():
    def program(x):
        padded = np.zeros_like(x, shape=(5, 4))
        padded[1:4] = x
        padded[0] += 2
        return padded

    assert_agrees(program, X)


@pytest.mark.parametrize("args", [(3,), (2, 4), (4, 3, 1), (3, 3, -2)])
def test_eye(args):
    assert_same(xp.eye(*args), np.eye(*args))
    assert_same(xp.eye(*args, dtype="i4"), np.eye(*args, dtype="i4"))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(3,), (3, 2), (2, 3, 4)])
def test_meshgrid(indexing, lengths):
    axes = [np.arange(float(n)) for n in lengths]
    found, expected = xp.meshgrid(*axes, indexing=indexing), np.meshgrid(*axes, indexing=indexing)
    assert type(found) is type(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)


def test_asarray_keeps_a_lazy_array_and_array_copies_it():
    x = lazy(X)
    assert xp.asarray(x) is x
    assert xp.asarray(x, "f8") is x
    other = xp.array(x)
    other += 1
    assert_same(x, X)
    assert_same(xp.asarray(x, "f4"), X.astype("f4"))
    assert_same(xp.asarray([[1, 2.5]]), np.array([[1, 2.5]]))
    assert_same(xp.asarray([x[0], x[1] * 2]), np.array([X[0], X[1] * 2]))
    assert_same(xp.asarray(3, dtype="f4"), np.asarray(3, dtype="f4"))


@pytest.mark.parametrize(
    "make",
    [
        *(lambda **k: xp.zeros(3, **k), lambda **k: xp.full(3, 1, **k), lambda **k: xp.eye(3, **k)),
        *(lambda **k: xp.arange(3, **k), lambda **k: xp.linspace(0, 1, 3, **k)),
        *(lambda **k: xp.asarray(X, **k), lambda **k: xp.ones_like(X, **k)),
    ],
)
def test_makers_take_the_devices_of_lazy_arrays_and_no_unknown_argument(make):
    for device in (None, "cpu", "cuda:0"):
        assert isinstance(make(device=device), LazyArray)
    with pytest.raises(ValueError, match="device 'gpu': need None, 'cpu' or as 'cuda:0'"):
        make(device="gpu")
    with pytest.raises(TypeError, match="bogus"):
        make(bogus=1)


# ---- shapes, by NumPy's functions


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.reshape(x, (2, 6)),
        lambda x: np.reshape(x, -1),
        lambda x: np.ravel(x),
        lambda x: np.transpose(x),
        lambda x: np.transpose(x, (1, 0)),
        lambda x: np.matrix_transpose(x),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.moveaxis(x[None], [0, 1], [-1, 0]),
        lambda x: np.moveaxis(x.reshape(3, 1, 2, 2), [0, 1], [2, 1]),
        lambda x: np.expand_dims(x, 1),
        lambda x: np.expand_dims(x, (0, -1)),
        lambda x: np.squeeze(x[None, :, None]),
        lambda x: np.squeeze(x[None, :, None], 0),
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        lambda x: np.broadcast_to(x[0], (3, 4)),
        lambda x: np.broadcast_arrays(x, x[0]),
        lambda x: np.flip(x),
        lambda x: np.flip(x, 0),
        lambda x: np.flip(x, (0, 1)),
        lambda x: np.roll(x, 1),
        lambda x: np.roll(x, -5, 1),
        lambda x: np.roll(x, (1, 2), (0, 1)),
        lambda x: np.roll(x, 2, (0, 1)),
        lambda x: np.roll(x, (1, 2), 1),
        lambda x: np.roll(x, (1, 2)),
        lambda x: np.pad(x, 1, constant_values=(1, 2)),
        lambda x: np.pad(x, ((1, 2), (3, 0)), constant_values=((1, 2), (3, 4))),
        lambda x: np.pad(x, 2, constant_values=(0, 0)),
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, (1, 2)),
        lambda x: np.pad(x, ((1, 2),)),
        lambda x: np.pad(x, ((0, 1), (2, 0))),
        lambda x: np.pad(x, ((1,), (2,))),
        lambda x: np.pad(x, 2, constant_values=7.9),
        lambda x: np.pad(x, 2, mode="constant", constant_values=-1),
        lambda x: np.stack([x, 2 * x]),
        lambda x: np.stack([x, 2.5 * x], axis=-1),
        lambda x: np.concatenate([x, x[:1] * 1.5]),
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.concatenate([x, x[0]], axis=None) if x.ndim == 1 else np.concat([x, x]),
        lambda x: np.unstack(x, axis=1),
        lambda x: np.tile(x, 2),
        lambda x: np.tile(x, (2, 1, 3)),
        lambda x: np.repeat(x, 2),
        lambda x: np.repeat(x, 3, axis=1),
        lambda x: np.diff(x),
        lambda x: np.diff(x, 2, axis=0),
        lambda x: np.diff(x > 4),
        lambda x: np.take(x, [0, 2, 1], axis=1),
        lambda x: np.take(x, [[0, 5], [11, -1]]),
        lambda x: np.copy(x),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 2)[::2],
        lambda x: np.lib.stride_tricks.sliding_window_view(x.T * 2, 2, axis=0),
    ],
)
@pytest.mark.parametrize("code", ["f8", "f4", "i2"])
def test_shape_functions(call, code):
    assert_agrees(call, X.astype(code))
    assert_agrees(call, np.asfortranarray(X.astype(code)))


def as_strided(x, *args):
    """NumPy's own takes no notice of lazy arrays: it would compute them."""
    own = xp.lib if isinstance(x, LazyArray) else np.lib
    return own.stride_tricks.as_strided(x, *args)


def test_frames_by_strides():
    def frames(x):
        step = x.itemsize
        return as_strided(x, (5, 4), (2 * step, step))

    assert_agrees(frames, np.arange(12.0))
    assert_agrees(frames, np.arange(12, dtype="c8"))
    assert_agrees(lambda x: as_strided(x, (3, 2), (8, 24)), X.T.copy())
    assert_agrees(lambda x: as_strided(x.T, (2, 3)), X)


def test_ascontiguousarray_keeps_a_lazy_array():
    x = lazy(X)
    assert xp.ascontiguousarray(x) is x
    assert_same(xp.ascontiguousarray(x.T, "f4"), X.T.astype("f4"))


def test_frames_outside_of_the_memory_are_refused():
    with pytest.raises(ValueError, match=r"reaches outside the 96 bytes of an array of shape"):
        xp.as_strided(lazy(np.arange(12.0)), (6, 4), (16, 8))


def test_frames_by_strides_follow_writes_while_the_strides_hold():
    def program(x):
        frames = as_strided(x, (5, 4), (16, 8))
        x[3:6] = 0
        return frames

    assert_agrees(program, np.arange(12.0))
    every_other = lazy(np.arange(24.0)[::2])
    frames = xp.as_strided(every_other, (5, 4), (32, 16))
    every_other += 1
    with pytest.raises(TypeError, match="as_strided: the array was written to"):
        frames.compute()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.pad(x, 1, mode="reflect"), TypeError, "mode 'reflect' is not recorded"),
        (lambda x: np.pad(x, 1.5), TypeError, "must be of integral type"),
        (lambda x: np.pad(x, -1), ValueError, "index can't contain negative values"),
        (lambda x: np.roll(x, 1.5), TypeError, "integer"),
        (lambda x: np.roll(x, 1.5, 0), TypeError, "integer"),
        (lambda x: np.roll(x, 1, 2), np.exceptions.AxisError, "axis 2"),
        (lambda x: np.stack([x, x[0]]), ValueError, "must have the same shape"),
        (lambda x: np.stack([]) if x is None else xp.stack([]), ValueError, "at least one array"),
        (lambda x: np.concatenate([x, x[:, :2]]), ValueError, "must match exactly"),
        (lambda x: np.broadcast_to(x, (3, 5)), ValueError, "broadcast"),
        (lambda x: np.moveaxis(x, 0, (0, 1)), ValueError, "same number of elements"),
        (lambda x: np.reshape(x, (5, 5)), ValueError, "cannot reshape array of size 12"),
        (lambda x: np.repeat(x, 1.5), TypeError, "integer"),
        (lambda x: np.take(x, [0.5]), TypeError, "need integers"),
        (lambda x: x + np.ones((2, 4)), ValueError, "could not be broadcast together"),
        (lambda x: xp.sliding_window_view(x, 9, 0), ValueError, "larger than input array shape"),
        (lambda x: xp.sliding_window_view(x, 2), ValueError, "differ in length"),
    ],
)
def test_shape_functions_refuse(call, error, text):
    with pytest.raises(error, match=text):
        call(lazy(X))


def test_take_out_of_range_raises_when_computed():
    with pytest.raises(IndexError):
        np.take(lazy(X), [99]).compute()
