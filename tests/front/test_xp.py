"""fft_fused.xp, and NumPy's own functions on lazy arrays: elementwise, reductions, names."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from fft_fused import fuse, lazy, transforms, xp
from fft_fused.expr.ops import OPS

from .agreement import X, Z, assert_agrees, assert_same

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
