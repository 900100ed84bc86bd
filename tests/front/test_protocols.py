"""Where Python and NumPy ask a lazy array for values, and the override protocols."""

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

from .agreement import X, Z, assert_agrees, sample

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
    for name in ("__array_interface__", "__cuda_array_interface__", "data"):
        assert not hasattr(x, name)


def test_namespace_is_xp():
    assert lazy(X).__array_namespace__() is xp
