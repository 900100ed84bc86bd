"""fft_fused.xp, and NumPy's own functions on lazy arrays, against NumPy on arrays."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from fft_fused import LazyArray, fuse, lazy, transforms, xp
from fft_fused.expr.ops import OPS

from .agreement import assert_agrees, assert_same

X = np.arange(1.0, 13.0).reshape(3, 4)
Z = (X - 2j * X[::-1]).astype(np.complex64)

ELEMENTWISE = sorted(n for n, op in OPS.items() if op.kind == "elementwise" and not op.internal)
UFUNCS = [n for n in ELEMENTWISE if n not in ("where", "clip", "astype")]
STANDARD_NAMES = {
    "abs": "absolute",
    **{f"a{n}": f"arc{n}" for n in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{"atan2": "arctan2", "pow": "power", "conj": "conjugate", "bitwise_invert": "invert"},
    **{"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"},
    **{"permute_dims": "transpose", "concat": "concatenate"},
}


def sample(code: str) -> np.ndarray:
    """Values from 0.1 to 0.9, whole from 1 to 6 for integers, both truths for bool."""
    values = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    match np.dtype(code).kind:
        case "b":
            return values > 0.5
        case "i" | "u":
            return np.arange(1, 7).reshape(2, 3).astype(code)
        case "c":
            return (values * (1 - 0.5j)).astype(code)
    return values.astype(code)


# ---- elementwise, from the table


@pytest.mark.parametrize("code", ["?", "i1", "i8", "u2", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_elementwise_functions(name, code):
    """Under the name in xp and by NumPy's function; what NumPy refuses is refused."""
    array = sample(code)
    arrays = [array, array[0]][: OPS[name].arity]
    try:
        expected = getattr(np, name)(*arrays)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(xp, name)(*map(lazy, arrays))
        return
    assert_same(getattr(xp, name)(*map(lazy, arrays)), expected)
    assert_agrees(getattr(np, name), *arrays)


@pytest.mark.parametrize(("standard", "numpys"), STANDARD_NAMES.items())
def test_names_of_the_array_api(standard, numpys):
    assert callable(getattr(xp, standard))
    array = sample("i4") if "bitwise" in standard else sample("f8")
    if standard == "concat":
        assert_same(xp.concat([array, array]), np.concatenate([array, array]))
        return
    arity = OPS[numpys].arity if numpys in OPS else 1
    arrays = [array + (standard == "acosh")] * arity
    assert_same(getattr(xp, standard)(*map(lazy, arrays)), getattr(np, numpys)(*arrays))


def test_functions_take_arrays_and_numbers_and_stay_lazy():
    assert_same(xp.exp(X), np.exp(X))
    assert_same(xp.add(X, 1), X + 1)
    assert_same(xp.sqrt(2), np.sqrt(2))
    assert_same(xp.maximum(lazy(X), X[0]), np.maximum(X, X[0]))


@pytest.mark.parametrize("value", [2.0, 3, np.float32(2)])
def test_functions_of_numbers_give_numpy_numbers(value):
    """np.exp(2.0) is a float64, not a Python float: it promotes float32."""
    narrow = X.astype("f4")
    assert_same(xp.exp(value) * lazy(narrow), np.exp(value) * narrow)


def test_wrong_number_of_arguments_is_a_type_error():
    with pytest.raises(TypeError, match=r"atan2\(\) takes 2 positional arguments, got 1"):
        xp.atan2(lazy(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.where(x > 3, x, 0),
        lambda x: np.where(x > 3, 1.0, 0.0),
        lambda x: np.where(x > 3, x, np.float64(0)),
        lambda x: np.where(x > 3, x, 1j),
        lambda x: np.clip(x, 2, 5),
        lambda x: np.clip(x, None, 5.5),
        lambda x: np.clip(x, 2, None),
        lambda x: np.clip(x, x[0], x[1] + 2),
        lambda x: np.clip(x, a_min=2, a_max=3),
        lambda x: np.round(x / 2),
        lambda x: np.around(x / 2),
        lambda x: np.real(x),
        lambda x: np.imag(x),
        lambda x: np.angle(x),
        lambda x: np.angle(-x, deg=True),
        lambda x: np.sinc(x / 3),
        lambda x: np.nan_to_num(np.log(x - 1)),
    ],
)
@pytest.mark.parametrize("code", ["f4", "f8", "i4"])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_other_elementwise_functions(call, code):
    if code == "i4" and "nan_to_num" in call.__code__.co_names:
        code = "f8"
    assert_agrees(call, X.astype(code))


@pytest.mark.parametrize("deg", [False, True])
@pytest.mark.parametrize("code", ["c8", "c16"])
def test_angle_of_complex(deg, code):
    assert_agrees(lambda z: np.angle(z, deg), Z.astype(code))


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
def test_makers_know_one_device_and_no_unknown_argument(make):
    assert isinstance(make(device="cpu"), LazyArray)
    with pytest.raises(ValueError, match="only 'cpu'"):
        make(device="cuda:0")
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
        (lambda x: np.pad(x, 1, constant_values=(1, 2)), TypeError, "one constant"),
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


# ---- reductions, by NumPy's functions

REDUCTIONS = [np.sum, np.mean, np.prod, np.max, np.amax, np.min, np.amin, np.any, np.all]


@pytest.mark.parametrize("function", [*REDUCTIONS, np.var, np.std])
@pytest.mark.parametrize("code", ["f4", "f8", "i4", "u1", "?"])
def test_reduction_functions(function, code):
    array = X.astype(code) if code != "?" else X > 5
    assert_agrees(lambda x: function(x), array)
    assert_agrees(lambda x: function(x, axis=0), array)
    assert_agrees(lambda x: function(x, axis=(0, 1), keepdims=True), array)


@pytest.mark.parametrize("function", [np.sum, np.mean, np.prod, np.var, np.std])
@pytest.mark.parametrize("code", ["c8", "c16", "f2"])
def test_reductions_of_complex_and_half(function, code):
    array = sample(code)
    expected = function(array, axis=1)
    found = function(lazy(array), axis=1)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    tolerance = 2e-3 if code == "f2" else 1e-6
    np.testing.assert_allclose(found.compute(), expected, tolerance)


@pytest.mark.parametrize("function", [np.var, np.std])
def test_spread_with_fewer_degrees_of_freedom(function):
    assert_agrees(lambda x: function(x, axis=1, ddof=1), X**2)
    assert_same(xp.var(lazy(X), correction=1), np.var(X, correction=1))


@pytest.mark.parametrize("function", [np.argmax, np.argmin])
def test_argument_of_the_extreme(function):
    assert_agrees(lambda x: (function(x), function(x, axis=1), function(x, axis=0)), X % 5)
    assert_agrees(lambda x: function(x, axis=1, keepdims=True), X % 5)


def test_extremes_of_nothing_raise_and_sums_do_not():
    nothing = lazy(np.ones((0, 3)))
    with pytest.raises(ValueError, match="zero-size array"):
        np.max(nothing, axis=0)
    assert_agrees(lambda x: (np.sum(x, axis=0), np.max(x, axis=1)), np.ones((0, 3)))


def test_running_sums():
    assert_agrees(lambda x: (np.cumsum(x), np.cumsum(x, axis=0)), X)
    assert_agrees(lambda x: np.cumsum(x, axis=1, dtype=np.float64), X.astype("f4"))
    assert_same(xp.cumulative_sum(lazy(X[0])), np.cumsum(X[0]))
    with pytest.raises(ValueError, match="axis must be given"):
        xp.cumulative_sum(lazy(X))


# ---- what is not computed at all


def test_numpys_questions_about_shape_and_dtype():
    x, z = lazy(X), lazy(Z)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((3, 4), 2, 12, 4)
    assert (np.iscomplexobj(x), np.iscomplexobj(z)) == (False, True)
    assert (np.isrealobj(x), np.isrealobj(z)) == (True, False)
    assert np.result_type(z, np.float64) == np.dtype("c16")
    assert np.result_type(z, 2.0) == np.dtype("c8")
    assert np.can_cast(x, "f4", "same_kind")
    assert not xp.can_cast(x, "f4")


def test_result_type_of_a_run_time_number_is_weak():
    seen = []

    @fuse
    def scaled(x, s):
        seen.append(xp.result_type(x, s))
        return x * s

    scaled(X.astype("f4"), 2.0)
    assert seen == [np.dtype("f4")]


def test_constants_and_dtypes_are_numpys():
    for name in ("pi", "e", "inf", "newaxis", "float32", "complex128", "bool_", "bool", "int8"):
        assert getattr(xp, name) is getattr(np, name)
    assert np.isnan(xp.nan)
    assert xp.finfo("f4").eps == np.finfo("f4").eps
    assert xp.iinfo("i4").max == np.iinfo("i4").max
    assert xp.isdtype(np.dtype("f4"), "real floating")


def test_every_name_in_all_is_there_and_documented():
    for name in xp.__all__:
        value = getattr(xp, name)
        if callable(value) and not isinstance(value, type):
            assert value.__doc__, name


def test_extensions():
    assert xp.fft is transforms
    assert xp.lib.stride_tricks.as_strided is xp.as_strided
    for name in ("linalg", "random", "einsum"):
        with pytest.raises(AttributeError, match=f"fft_fused.xp has no '{name}'"):
            operator.attrgetter(name)(xp)
