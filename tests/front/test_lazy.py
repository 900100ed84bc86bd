"""LazyArray against ndarray: attributes, operators, methods, what ``lazy`` takes."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from fft_fused import lazy

from .agreement import X, Z, assert_agrees, assert_same, sample

FORTRAN = np.asfortranarray(X)


# ---- what is known without computing


@pytest.mark.parametrize("code", ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_attributes_are_those_of_the_array(code):
    array = sample(code)
    x = lazy(array)
    for name in ("shape", "dtype", "ndim", "size", "nbytes", "itemsize"):
        assert getattr(x, name) == getattr(array, name)
    assert (len(x), x.device) == (3, "cpu")
    assert_same(x, array)


def test_foreign_byte_order_becomes_native():
    swapped = X.astype(">f4")
    assert lazy(swapped).dtype == np.dtype("f4")
    assert_same(lazy(swapped) + 1, swapped.astype("f4") + 1)


def test_repr_names_dtype_shape_and_size_of_the_graph():
    x = lazy(np.ones((16, 1024), np.complex64))
    assert repr(x) == "LazyArray(c8[16,1024], 1 nodes)"
    assert repr(abs(x) + 1) == "LazyArray(f4[16,1024], 4 nodes)"


def test_a_lazy_array_stays_itself():
    x = lazy(X)
    assert lazy(x) is x


def test_sequences_and_numbers_become_arrays():
    assert_same(lazy([[1, 2], [3, 4]]) * 2, np.array([[2, 4], [6, 8]]))
    assert_same(lazy(2.5), np.asarray(2.5))


# ---- operators

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
]
WHOLE = [operator.floordiv, operator.mod]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow),
    *(operator.ifloordiv, operator.imod),
]


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("left", ["f4", "f8", "c8", "i4"])
@pytest.mark.parametrize("right", ["f4", "c16", "u1"])
def test_binary_operators(op, left, right):
    assert_agrees(op, sample(left), sample(right, (4,)))


@pytest.mark.parametrize("op", BITS)
def test_bit_operators(op):
    assert_agrees(op, sample("i4"), sample("i4", (4,)) % 7)


@pytest.mark.parametrize("op", WHOLE)
@pytest.mark.parametrize("code", ["i4", "f4", "f8"])
def test_whole_number_operators(op, code):
    assert_agrees(op, sample(code), sample(code, (4,)))


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("number", [2, 2.5, np.float32(2.5), np.float64(2.5), np.int64(2), True])
@pytest.mark.parametrize("code", ["f4", "f8", "c8", "u1"])
def test_numbers_promote_as_in_numpy_on_both_sides(op, number, code):
    assert_agrees(lambda x: (op(x, number), op(number, x)), sample(code))


@pytest.mark.parametrize("number", [2j, np.complex64(1 + 2j)])
@pytest.mark.parametrize("code", ["f4", "f8", "c8", "i2"])
def test_complex_numbers_promote_as_in_numpy(number, code):
    assert_agrees(lambda x: (x * number, number - x, number / x), sample(code))


@pytest.mark.parametrize("code", ["f4", "c8", "i8"])
def test_unary_operators(code):
    assert_agrees(lambda x: (-x, +x, abs(x)), sample(code))


def test_invert_flips_bits_and_truth():
    assert_agrees(lambda x, b: (~x, ~b), sample("i2"), sample("?"))


def test_numpy_array_on_the_left_records():
    assert_agrees(lambda x: (X * x, np.less(X, x), X**x), X / 4)


def test_matrix_products():
    assert_agrees(lambda a, b: (a @ b, X.T @ a, a @ X.T, np.matmul(a, b)), X, X.T.copy())


@pytest.mark.parametrize("op", IN_PLACE)
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_in_place_operators_keep_dtype_and_identity(op, code):
    def program(x, y):
        before = x
        x = op(x, y)
        assert x is before
        return op(x, 2)

    assert_agrees(program, sample(code), sample("f8", (4,)) / 4)


def test_in_place_matrix_product():
    def program(a, b):
        same = a
        a @= b
        return a, same

    assert_agrees(program, X[:, :3].copy(), np.eye(3) * 2)


def test_in_place_on_a_reduction_makes_a_new_number():
    def program(x):
        total = x.sum()
        kept = total
        total /= 3
        return total, kept

    assert_agrees(program, sample("i4"))


@pytest.mark.parametrize("op", [operator.imul, operator.itruediv, operator.iadd])
def test_in_place_refuses_a_cast_across_kinds_in_numpys_words(op):
    with pytest.raises(TypeError) as numpys:
        op(sample("i8"), 1.5)
    with pytest.raises(TypeError) as ours:
        op(lazy(sample("i8")), 1.5)
    assert str(ours.value) == str(numpys.value)


def test_in_place_refuses_to_grow():
    x = lazy(X[0])
    with pytest.raises(ValueError, match=r"non-broadcastable output operand with shape \(4,\)"):
        x += X


def test_integers_out_of_range_raise_numpys_overflow_error():
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        lazy(sample("u1")) + 300


# ---- methods


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "any", "all", "var", "std"])
def test_reductions(name, axis, keepdims):
    for code in ("f8", "f4", "i4", "?"):
        assert_agrees(lambda x: getattr(x, name)(axis=axis, keepdims=keepdims), sample(code))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "var", "std"])
def test_reductions_of_integers_bools_and_complex(name):
    for code in ("i2", "u1", "?", "c8", "c16"):
        if name == "max" and code[0] == "c":
            continue
        assert_agrees(lambda x: getattr(x, name)(axis=1), sample(code))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_reductions_in_a_given_dtype(name):
    assert_agrees(lambda x: getattr(x, name)(axis=0, dtype=np.float64), sample("f4"))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_places_of_extremes(name, axis):
    assert_agrees(lambda x: getattr(x, name)(axis=axis), X % 5)


@pytest.mark.parametrize(
    "method",
    [
        lambda x: x.astype(np.float32),
        lambda x: x.clip(3, 7),
        lambda x: x.clip(None, 7.5),
        lambda x: x.round(),
        lambda x: x.cumsum(axis=1),
        lambda x: x.cumsum(),
        lambda x: x.take([0, 2], axis=1),
        lambda x: x.take(np.array([[1, 2]])),
        lambda x: x.transpose(1, 0),
        lambda x: x.transpose((1, 0)),
        lambda x: x.swapaxes(0, -1),
        lambda x: x.reshape((2, -1)),
        lambda x: x.reshape(-1, 3),
        lambda x: x.conj(),
        lambda x: x.repeat(2, axis=0),
        lambda x: x.var(axis=1, ddof=1),
        lambda x: x.std(axis=0, ddof=2),
        lambda x: x.view(x.dtype),
        lambda x: x[:, None].squeeze(),
        lambda x: x.mT if hasattr(x, "mT") else x.T,
    ],
)
@pytest.mark.parametrize("array", [X / 2, FORTRAN / 2], ids=["C", "F"])
def test_methods(method, array):
    assert_agrees(method, array)


def test_conjugate_of_complex():
    assert_agrees(lambda z: (z.conj(), z.conjugate(), z.real, z.imag), Z)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.reshape(2, 6, order="F"), "order 'F' is not recorded"),
        (lambda x: x.round(2), "decimals=2 is not recorded"),
        (lambda x: x.view(np.int32), "float64 as int32 is not recorded"),
        (lambda x: x.astype("U3"), "not numeric"),
    ],
)
def test_methods_refuse_what_is_not_recorded(call, text):
    with pytest.raises(TypeError, match=text):
        call(lazy(X))


def test_impossible_shapes_are_numpys_errors():
    x = lazy(X)
    with pytest.raises(ValueError, match=r"cannot reshape array of size 12 into shape \(5, 2\)"):
        x.reshape(5, 2)
    with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
        x.T.reshape(-1, copy=False)
    with pytest.raises(ValueError, match="size not equal to one"):
        x.squeeze(0)
    with pytest.raises(ValueError, match="axes don't match array"):
        x.transpose(0)
    with pytest.raises(np.exceptions.AxisError):
        x.sum(axis=2)


# ---- what lazy takes


class OnGPU:
    __cuda_array_interface__: dict = {}


class Foreign:
    shape, dtype = (3,), "float32"


OnGPU.__module__, Foreign.__module__ = "numba", "jax"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ma.array([1, 2]), r"a numpy\.ma\.MaskedArray is more than its numbers; pass np\."),
        (X.astype(object), "dtype object is not numeric; use a bool, integer, float or complex"),
        (np.array(["a"]), "dtype <U1 is not numeric"),
        (np.array(["2020-01-01"], "M8[D]"), "is not numeric"),
        (OnGPU(), r"a numba\.OnGPU lies on a GPU.*by cupy\.from_dlpack\(x\)"),
        (Foreign(), r"a jax\.Foreign is no NumPy array; convert it first"),
    ],
)
def test_lazy_names_what_it_does_not_take(value, text):
    with pytest.raises(TypeError, match=text):
        lazy(value)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_lazy_does_not_take_a_matrix():
    with pytest.raises(TypeError, match=r"numpy\.matrix is more than its numbers"):
        lazy(np.asmatrix(X))
