"""LazyArray against ndarray: operators, views and writes, protocols, refusals."""

from __future__ import annotations

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import fft_fused
from fft_fused import LazyValueError, fuse, lazy, xp
from fft_fused.expr import build
from fft_fused.expr.recording import ScalarValueNeeded

from .agreement import assert_agrees, assert_same

X = np.arange(1.0, 13.0).reshape(3, 4)
Z = (X + 1j * X[::-1]).astype(np.complex64)
FORTRAN = np.asfortranarray(X)


def sample(code: str, shape: tuple[int, ...] = (3, 4)) -> np.ndarray:
    """Small values of a dtype, no zeros but for bool."""
    values = np.arange(1, math.prod(shape) + 1).reshape(shape)
    if code == "?":
        return values % 3 == 0
    return (values * (1 - 0.5j)).astype(code) if np.dtype(code).kind == "c" else values.astype(code)


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


# ---- views and writes: each program runs on NumPy and lazily


def slice_changes_base(a):
    b = a[1:]
    b *= 2
    return a, b


def base_changes_slice(a):
    b = a[1:, ::2]
    a[...] = 0
    return a, b


def views_of_views(a):
    b = a[::2]
    c = b[:, 1:]
    c += 10
    b[0] = -1
    return a, b, c


def reversed_slice(a):
    b = a[::-1, ::-1]
    b[0] = 7
    a[0, 0] += 1
    return a, b


def new_axis_and_ellipsis(a):
    b = a[None, ..., 1]
    b += 5
    return a, b


def zero_d_view(a):
    b = a[0, 1, ...]
    b += 5
    return a, b


def element_is_no_view(a):
    b = a[0, 1]
    b += 5
    return a, b


def elements_of_a_loop_are_no_views(a):
    for v in a[0]:
        v += 1
    return a


def rows_of_a_loop_are_views(a):
    for row in a:
        row += row[0]
    return a


def transposed(a):
    b = a.T
    b[0] = 9
    a[1, 1] = -1
    return a, b


def swapped_and_moved(a):
    b = np.moveaxis(np.swapaxes(a, 0, 1), 0, 1)
    b *= 3
    return a, b


def reshaped(a):
    b = a.reshape(2, 6)
    b[1] = 0
    return a, b


def raveled(a):
    b = a.ravel()
    b[::5] = 0
    return a, b


def flattened_is_a_copy(a):
    b = a.flatten()
    b[:] = 0
    return a, b


def reshaped_column_part(a):
    b = a[:, :2].reshape(-1)
    b[:] = 0
    return a, b


def reshaped_transpose(a):
    b = a.T.reshape(-1)
    b[:] = 0
    return a, b


def reshaped_rows(a):
    b = a[:2].reshape(4, 2)
    b[:] = 0
    return a, b


def split_axis_of_a_strided_view(a):
    b = a[:, ::2].reshape(3, 2, 1)
    b[:] = 0
    return a, b


def reshape_after_write(a):
    a += 1
    b = a.reshape(-1)
    b[::2] = 0
    return a, b


def squeezed_and_expanded(a):
    b = np.expand_dims(a, 1)
    b.squeeze(1)[0] = 4
    return a, b


def flipped(a):
    b = np.flip(a, 1)
    b[:, 0] = 0
    return a, b


def broadcast_follows(a):
    b = np.broadcast_to(a, (2, 3, 4))
    a *= 2
    return b


def windows_follow(a):
    b = np.lib.stride_tricks.sliding_window_view(a, 2, axis=1)
    a[:, 1] = -1
    return b


def copies_do_not_follow(a):
    b, c, d = a.copy(), np.copy(a), a.astype(a.dtype)
    a += 1
    return b, c, d


def second_name_follows(a):
    b = a
    b += 1
    return a


def results_do_not_follow(a):
    b = a * 2
    a += 1
    return b


def in_place_through_a_key(a):
    a[:, 1:-1] *= 2
    a[0] += a[1]
    a[1, 2] -= 3
    return a


def overlapping_assignment(a):
    a[:, 1:] = a[:, :-1]
    a[0] = a[1]
    return a


def swap_rows(a):
    a[0], a[1] = a[1].copy(), a[0].copy()
    return a


def mask_assignment(a):
    a[a > 6] = 0
    a[a == 2] = np.float64(8)
    a[a < 5] = [3]
    return a


def mask_assignment_into_a_view(a):
    b = a[1:]
    b[b > 6] = 0
    return a, b


def list_assignment(a):
    a[1] = [1, 2, 3, 4]
    a[:, 0] = 5
    a[2, 1:3] = (7, 8)
    return a


def assignment_with_extra_leading_ones(a):
    a[0] = np.ones((1, 1, 4))
    return a


VIEW_PROGRAMS = [
    *(slice_changes_base, base_changes_slice, views_of_views, reversed_slice),
    *(new_axis_and_ellipsis, zero_d_view, element_is_no_view, elements_of_a_loop_are_no_views),
    *(rows_of_a_loop_are_views, transposed, swapped_and_moved, reshaped, raveled),
    *(flattened_is_a_copy, reshaped_column_part, reshaped_transpose, reshaped_rows),
    *(split_axis_of_a_strided_view, reshape_after_write, squeezed_and_expanded, flipped),
    *(broadcast_follows, windows_follow, copies_do_not_follow, second_name_follows),
    *(results_do_not_follow, in_place_through_a_key, overlapping_assignment, swap_rows),
    *(mask_assignment, mask_assignment_into_a_view, list_assignment),
    assignment_with_extra_leading_ones,
]


@pytest.mark.parametrize("program", VIEW_PROGRAMS)
@pytest.mark.parametrize("array", [X, FORTRAN, Z.real.copy()], ids=["C", "F", "f4"])
def test_views_and_writes_are_numpys(program, array):
    assert_agrees(program, array)


def real_part_writes(z):
    z.real *= 2
    z.real[0] = 1
    return z, z.real


def imag_part_writes(z):
    part = z.imag
    part[:, 1] = 0
    z.imag = 3
    z[0, 0] = 1 - 1j
    return z, part


def parts_by_function_are_views(z):
    np.real(z)[0] = 0
    np.imag(z)[1] += 1
    return z


def part_of_a_strided_view(z):
    part = z[:, ::2].real
    flat = part.reshape(-1)
    flat[:] = 0
    return z, part, flat


def floats_of_complex(z):
    pairs = z.view(np.float32)
    pairs[:, ::2] = 0
    return z, pairs


@pytest.mark.parametrize(
    "program",
    [
        *(real_part_writes, imag_part_writes, parts_by_function_are_views),
        *(part_of_a_strided_view, floats_of_complex),
    ],
)
def test_parts_of_complex_arrays_are_views(program):
    assert_agrees(program, Z)


def test_part_of_a_zero_d_view_can_be_written():
    def program(z):
        z[0, 0, ...].real[...] = 9
        return z

    assert_agrees(program, Z)


def test_complex_view_of_float_pairs():
    def program(x):
        z = x.view(np.complex64)
        z *= 1j
        return x, z

    assert_agrees(program, sample("f4"))


@pytest.mark.parametrize("code", ["i4", "u1", "f4", "c8"])
@pytest.mark.parametrize("value", [1, 2.75, True, np.float64(1.5), np.int8(3)])
def test_assigned_values_are_cast(code, value):
    def program(x):
        x[0] = value
        x[1:, 0] = value
        return x

    assert_agrees(program, sample(code))


def test_assigning_an_integer_out_of_range_is_numpys_overflow_error():
    x = lazy(sample("u1"))
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        x[0] = 300


@pytest.mark.parametrize("key", [0, X > 3])
def test_assigning_complex_to_real_is_refused(key):
    x = lazy(X)
    with pytest.raises(TypeError, match=r"value is complex128, x is float64; take value\.real"):
        x[key] = 1j


def test_assigning_a_wrong_shape_is_numpys_error():
    x = lazy(X)
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3,\)"):
        x[0] = np.ones(3)


@pytest.mark.parametrize(
    "make", [lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: x.imag, lambda x: xp.as_strided(x)]
)
def test_read_only_views_refuse_writes(make):
    view = make(lazy(X))
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 0


def test_thousands_of_views_of_views():
    x = lazy(np.arange(5000.0))
    view = x
    for _ in range(2500):
        view = view[1:]
    view *= 2
    assert view.shape == (2500,)
    np.testing.assert_array_equal(x.compute()[2499:2502], [2499, 5000, 5002])
    assert view.reshape(50, 50).root is x


# ---- indexing


@pytest.mark.parametrize(
    "key",
    [
        *(0, -1, slice(1, None), (slice(None), 2), (..., 1), (None, 0), (slice(None, None, -1), 1)),
        *((), (..., None), (1, slice(3, 0, -2)), slice(5, 9), (np.int64(1), np.int8(-1)), ...),
    ],
)
def test_basic_indexing(key):
    assert_agrees(lambda x: x[key], X)


@pytest.mark.parametrize(
    ("key", "cure"),
    [
        (X > 3, r"x\[mask\].*xp\.where"),
        ((0, X[0] > 3), r"x\[mask\].*xp\.where"),
        (np.array([0, 1]), r"x\[array\].*xp\.take"),
        ([0, 1], r"xp\.take"),
        (True, r"xp\.where"),
        (1.5, "not recorded"),
    ],
)
def test_other_indexing_names_the_cure(key, cure):
    with pytest.raises(IndexError, match=cure):
        lazy(X)[key]


def test_reading_by_a_lazy_mask_names_the_cure():
    x = lazy(X)
    with pytest.raises(IndexError, match=r"x\[mask\].*xp\.where"):
        x[x > 3]


@pytest.mark.parametrize("value", [X, [1.0, 2.0]])
def test_mask_assignment_of_several_values_names_the_cure(value):
    x = lazy(X)
    with pytest.raises(IndexError, match=r"value must be a number; use fft_fused\.xp\.where"):
        x[x > 3] = value


def test_mask_of_another_shape_names_the_cure():
    x = lazy(X)
    with pytest.raises(IndexError, match=r"shape \(3,\) does not fit an array of \(3, 4\)"):
        x[X[:, 0] > 3] = 0


@pytest.mark.parametrize("key", [3, (0, 4), (0, 0, 0), (..., ...)])
def test_index_errors_are_numpys(key):
    with pytest.raises(IndexError):
        X[key]
    with pytest.raises(IndexError):
        lazy(X)[key]


# ---- methods


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "any", "all", "var", "std"])
def test_reductions(name, axis, keepdims):
    for code in ("f8", "f4", "i4", "?"):
        assert_agrees(lambda x: getattr(x, name)(axis=axis, keepdims=keepdims), sample(code) / 1)


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
    with pytest.raises(ValueError, match="size not equal to one"):
        x.squeeze(0)
    with pytest.raises(ValueError, match="axes don't match array"):
        x.transpose(0)
    with pytest.raises(np.exceptions.AxisError):
        x.sum(axis=2)


# ---- values are asked for

TEXT = r" of a LazyArray c8\[3,4\]: its values are not computed yet\. Call \.compute\(\), or use "


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        *((bool, r"bool\(\)"), (float, r"float\(\)"), (int, r"int\(\)"), (complex, r"complex\(\)")),
        *((operator.index, "an index"), (lambda z: 3 in z, "'in'"), (round, r"round\(\)")),
        *((lambda z: z.item(), r"item\(\)"), (lambda z: z.tolist(), r"tolist\(\)")),
    ],
)
def test_values_are_refused_with_the_cure(ask, name):
    with pytest.raises(LazyValueError, match=name + TEXT):
        ask(lazy(Z))


def test_numbers_made_from_numbers_have_values():
    assert float(xp.exp(2.0)) == np.exp(2.0)
    assert float(xp.multiply(xp.pi, 2)) == 2 * math.pi
    assert bool(xp.greater(3, 2)) is True


def test_asarray_computes():
    np.testing.assert_array_equal(np.asarray(lazy(X) + 1), X + 1)
    assert np.asarray(lazy(X), dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(lazy(X), copy=False)


def test_compute_into_an_array():
    out = np.empty((3, 4))
    assert (lazy(X) + 1).compute(out=out) is out
    np.testing.assert_array_equal(out, X + 1)


def test_iteration_gives_rows_and_zero_d_refuses():
    assert_agrees(lambda x: tuple(x), X)
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(lazy(3.0))
    with pytest.raises(TypeError, match="len"):
        len(lazy(3.0))


def test_equality_is_elementwise_and_so_nothing_is_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(lazy(X))


def test_copies_share_the_graph_and_pickles_are_refused():
    x = lazy(X) + 1
    for twin in (copy.copy(x), copy.deepcopy(x), x.copy()):
        assert twin is not x
        assert twin.node is x.node
    with pytest.raises(TypeError, match=r"cannot be pickled; call \.compute\(\) first"):
        pickle.dumps(x)


# ---- while a function is recorded


def test_values_of_arguments_are_refused_while_recording():
    @fuse
    def asks(x):
        return x + np.asarray(x).sum()

    with pytest.raises(LazyValueError, match="in a function that is being recorded"):
        asks(X)


@pytest.mark.parametrize(
    "ask", [bool, float, complex, round, math.sqrt, np.asarray, lambda s: s * 2 > 1 and True]
)
def test_asking_a_run_time_number_for_its_value_names_its_slots(ask):
    scale = fft_fused.LazyArray(build.scalar(3, "f"))
    with pytest.raises(ScalarValueNeeded) as needed:
        ask(scale + 1)
    assert needed.value.slots == (3,)


def test_a_branch_on_a_number_records_each_side():
    @fuse
    def scaled(x, scale):
        return x * scale if scale > 1 else x - scale

    np.testing.assert_array_equal(scaled(X, 2.0), X * 2)
    np.testing.assert_array_equal(scaled(X, 0.5), X - 0.5)


def weak_arithmetic(x, s):
    return x * (2 * s + 1) ** 2


def numpy_function_of_a_number(x, s):
    return x * np.exp(-s)


def abs_of_a_number(x, s):
    return x * abs(s)


def numpy_abs_of_a_number(x, s):
    return x * np.abs(s)


def part_of_a_number(x, s):
    return x * s.real - s.conjugate()


@pytest.mark.parametrize(
    "function",
    [
        *(weak_arithmetic, numpy_function_of_a_number, abs_of_a_number, numpy_abs_of_a_number),
        part_of_a_number,
    ],
)
@pytest.mark.parametrize("number", [0.25, 1 - 2j])
def test_run_time_numbers_promote_as_pythons(function, number):
    x = sample("f4")
    expected = function(x, number)
    found = fuse(function)(x, number)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, 1e-6)


# ---- NumPy's protocols


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.abs(x),
        lambda x: np.true_divide(x, 3),
        lambda x: np.conj(x),
        lambda x: np.add(x, 1, dtype=np.float64),
        lambda x: np.less(x, 5.5, dtype=bool),
        lambda x: np.exp(x, dtype=np.float64),
        lambda x: np.add.reduce(x),
        lambda x: np.multiply.reduce(x, axis=1, keepdims=True),
        lambda x: np.maximum.reduce(x, axis=None),
        lambda x: np.minimum.reduce(x, axis=(0, 1)),
        lambda x: np.logical_or.reduce(x > 11),
        lambda x: np.logical_and.reduce(x > 1, axis=1),
    ],
)
def test_ufuncs_record(call):
    assert_agrees(call, sample("f4"))


def test_ufunc_dtype_names_the_result_of_the_loop():
    assert_agrees(lambda z: np.abs(z, dtype=np.float32), Z)


def test_out_writes_into_a_lazy_array():
    def program(x, y):
        view = y[:2]
        assert np.add(x, 1, out=y) is y
        np.multiply(view, 2, out=view)
        return y, view

    assert_agrees(program, X, np.zeros((3, 4), np.float32))


def test_out_refuses_a_cast_across_kinds():
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output from dtype.'float64'"):
        np.add(lazy(X), 1, out=lazy(sample("i4")))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.spacing(x), "^fft_fused cannot record numpy.spacing. Compute it outside"),
        (lambda x: np.add.accumulate(x), "cannot record numpy.add.accumulate"),
        (lambda x: np.add.outer(x, x), "cannot record numpy.add.outer"),
        (lambda x: np.bitwise_or.reduce(x > 3), "cannot record numpy.bitwise_or.reduce"),
        (lambda x: np.add(x, 1, where=X > 3), "argument 'where' is not recorded"),
        (lambda x: np.add(x, 1, out=X.copy()), r"use \.compute\(out=\.\.\.\)"),
        (lambda x: operator.imul(X.copy(), x), r"use \.compute\(out=\.\.\.\)"),
        (lambda x: np.add.reduce(x, initial=3), "'initial' is not recorded"),
        (lambda x: np.linalg.norm(x), "cannot record numpy.linalg.norm"),
        (lambda x: np.einsum("ij->i", x), "cannot record numpy.einsum"),
        (lambda x: np.tensordot(x, x), "cannot record numpy.tensordot"),
        (lambda x: np.allclose(x, X), r"needs the values of a lazy array; call \.compute\(\)"),
        (lambda x: np.array_equal(x, X), r"needs the values of a lazy array; call \.compute\(\)"),
        (lambda x: divmod(x, 2), "unsupported operand"),
        (lambda x: x + "a", "not numeric"),
        (lambda x: x + None, "unsupported operand"),
    ],
)
def test_what_is_not_recorded_is_a_type_error_with_a_cure(call, text):
    with pytest.raises(TypeError, match=text):
        call(lazy(X))


def test_a_lazy_array_does_not_pretend_to_have_memory():
    x = lazy(X)
    for name in ("__array_interface__", "__cuda_array_interface__", "__dlpack__", "data"):
        assert not hasattr(x, name)


def test_namespace_is_xp():
    assert lazy(X).__array_namespace__() is xp


# ---- what lazy takes


class OnGPU:
    __cuda_array_interface__: dict = {}


class Tensor:
    shape, dtype = (3,), "float32"


OnGPU.__module__, Tensor.__module__ = "cupy", "torch"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ma.array([1, 2]), r"a numpy\.ma\.MaskedArray is more than its numbers; pass np\."),
        (X.astype(object), "dtype object is not numeric; use a bool, integer, float or complex"),
        (np.array(["a"]), "dtype <U1 is not numeric"),
        (np.array(["2020-01-01"], "M8[D]"), "is not numeric"),
        (OnGPU(), r"a cupy\.OnGPU lies on a GPU.*x\.get\(\) for CuPy"),
        (Tensor(), r"a torch\.Tensor is no NumPy array; convert it first"),
    ],
)
def test_lazy_names_what_it_does_not_take(value, text):
    with pytest.raises(TypeError, match=text):
        lazy(value)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_lazy_does_not_take_a_matrix():
    with pytest.raises(TypeError, match=r"numpy\.matrix is more than its numbers"):
        lazy(np.asmatrix(X))
