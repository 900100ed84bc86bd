"""Views of lazy arrays and writes: each program runs on NumPy and lazily."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from fft_fused import lazy, xp
from fft_fused.expr.node import walk

from .agreement import X, Z, assert_agrees

FORTRAN = np.asfortranarray(X)


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


def copies_are_in_c_order(a):
    b = a.copy()
    c = b.reshape(-1)
    c[:] = 0
    return b, c


def copies_by_function_keep_the_order(a):
    b, c = np.copy(a), a.astype(a.dtype)
    b.reshape(-1)[:] = 0
    c.T.reshape(-1)[:] = 0
    return b, c


def copies_of_what_was_written_keep_the_order(a):
    a[0] = 5
    b = np.copy(a.T)
    b.reshape(-1)[:] = 0
    return a, b


def ravel_of_a_reversed_row_is_a_copy(a):
    b, c = a[0, ::-1].ravel(), a[0, ::-1].reshape(-1)
    a[0] = 0
    return b, c


def broadcast_then_reshaped_is_a_copy(a):
    b = np.broadcast_to(a[:1], (3, 4)).reshape(-1)
    c = np.broadcast_to(a, (1, 3, 4)).reshape(3, 4)
    a += 1
    return b, c


def windows_then_reshaped(a):
    windows = np.lib.stride_tricks.sliding_window_view(a[0], 2)
    b, c = windows.reshape(-1), windows[::2].reshape(-1)
    a[0] = 0
    return b, c


def second_name_follows(a):
    b = a
    b += 1
    return a


def results_do_not_follow(a):
    b = a * 2
    a += 1
    return b


def three_axes_permuted(a):
    b = a.reshape(3, 2, 2).transpose(2, 0, 1)
    b[0] = 9
    b[:, 1] *= 2
    return a, b


def merged_part_of_rows(a):
    b = a[:, 1:].reshape(-1)
    b[:] = 0
    return a, b


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
    *(
        broadcast_follows,
        windows_follow,
        copies_do_not_follow,
        copies_are_in_c_order,
        second_name_follows,
    ),
    *(
        results_do_not_follow,
        three_axes_permuted,
        merged_part_of_rows,
        in_place_through_a_key,
        overlapping_assignment,
        swap_rows,
    ),
    *(mask_assignment, mask_assignment_into_a_view, list_assignment),
    *(assignment_with_extra_leading_ones, copies_by_function_keep_the_order),
    *(copies_of_what_was_written_keep_the_order, ravel_of_a_reversed_row_is_a_copy),
    *(broadcast_then_reshaped_is_a_copy, windows_then_reshaped),
]


@pytest.mark.parametrize("program", VIEW_PROGRAMS)
@pytest.mark.parametrize("array", [X, FORTRAN, Z.real.copy()], ids=["C", "F", "f4"])
def test_views_and_writes_are_numpys(program, array):
    assert_agrees(program, array)


def test_a_zero_d_array_is_written_in_place():
    def program(x):
        same = x
        x += 1
        return same

    assert_agrees(program, np.asarray(3.0))


@pytest.mark.parametrize(
    ("write", "updates"),
    [
        (lambda z: operator.setitem(z, 0, operator.imul(z[0], 2)), 1),
        (lambda z: setattr(z, "real", operator.imul(z.real, 2)), 1),
        (lambda z: operator.setitem(z, 0, z[0]), 0),
        (lambda z: operator.setitem(z, 0, z[1]), 1),
    ],
)
def test_an_in_place_operator_through_a_key_or_part_records_one_update(write, updates):
    z = lazy(Z)
    write(z)
    assert [n.op for n in walk([z.node])].count("update") == updates


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


def test_reshapes_of_empty_arrays():
    for array in (np.zeros((2, 0, 0), bool), np.asfortranarray(np.zeros((3, 0))), np.zeros((0, 4))):
        for shape in ((-1,), (0, 5), (1, 0, 2)):
            y = lazy(array).reshape(shape if shape != (-1,) else -1)
            y = y.reshape(0, 7).astype(np.float32)
            assert y.compute().shape == (0, 7)
