"""Which axes are cut into blocks, and which must not be."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from fft_fused import fft, lazy, xp
from fft_fused.engines import numpy_blocked
from fft_fused.fuse import explain_lazies

X = np.arange(12 * 8.0).reshape(12, 8)


def blockings(*values):
    """The loops of each launch."""
    plan = explain_lazies(values).plan
    return [o.detail.blocking for o in plan.selection.offers if o.engine == "numpy_blocked"]


@pytest.fixture(autouse=True)
def _blocked():
    with fft_fused.options(engine="numpy_blocked"):
        yield


def test_rows_of_a_transform_are_a_loop_and_its_axis_is_whole():
    (blocking,) = blockings(abs(fft(lazy(X))) ** 2)
    assert blocking.loops == (12,)


def test_columns_are_a_loop_of_a_transform_along_the_first_axis():
    (blocking,) = blockings(fft(lazy(X), axis=0) * 2)
    assert blocking.loops == (8,)


def test_sum_over_the_batch_is_a_loop_that_is_reduced():
    (blocking,) = blockings((abs(fft(lazy(X))) ** 2).sum(axis=0))
    assert blocking.loops == (12,)
    assert blocking.reduced == (True,)


def test_argmax_needs_its_axis_whole():
    (blocking,) = blockings(xp.argmax(abs(fft(lazy(X))), axis=0))
    assert blocking.loops == ()


def test_shifted_slices_share_a_loop_with_a_halo():
    x = lazy(X).astype(np.float32)
    y = x[0:9] + x[1:10] * x[3:12]
    (blocking,) = blockings(y)
    assert blocking.loops[0] == 9
    extents = {e for axes in blocking.axes.values() for e in axes if e.loop == 0}
    assert (0, 3) in {(e.before, e.after) for e in extents}
    np.testing.assert_allclose(y.compute(), X[0:9] + X[1:10] * X[3:12])


def test_a_result_is_never_on_a_halo_axis():
    x = lazy(X) * 2
    both = (x, x[:-1] + 1)
    whole, part = fft_fused.compute(*both)
    np.testing.assert_array_equal(whole, X * 2)
    np.testing.assert_array_equal(part, X[:-1] * 2 + 1)


def test_a_sum_never_runs_over_a_halo_axis():
    x = lazy(X) * 2
    total, part = fft_fused.compute(x.sum(axis=0), x[1:] + x[:-1])
    np.testing.assert_allclose(total, (X * 2).sum(axis=0))
    np.testing.assert_allclose(part, 2 * (X[1:] + X[:-1]))


def test_results_without_a_common_loop_are_not_computed_again_for_every_block():
    x = lazy(X)
    rows, columns = fft(x, axis=1), fft(x, axis=0)
    for blocking in blockings(rows, columns):
        assert all(loop in (8, 12) for loop in blocking.loops)
    np.testing.assert_allclose(fft_fused.compute(rows, columns)[1], np.fft.fft(X, axis=0))


def test_outer_product_of_a_value_with_itself():
    x = lazy(X[:, 0]) * 2
    y = x[:, None] * xp.cos(x)
    (blocking,) = blockings(y)
    assert blocking.loops == ()
    wanted = (X[:, 0] * 2)[:, None] * np.cos(X[:, 0] * 2)
    np.testing.assert_allclose(y.compute(), wanted)


def test_outer_product_of_neighbours():
    x = lazy(X[:, 0]) * 2
    y = x[1:, None] * x[None, :-1]
    a = X[:, 0] * 2
    np.testing.assert_allclose(y.compute(), a[1:, None] * a[None, :-1])


def test_index_along_a_loop_is_made_once_and_cut(monkeypatch):
    monkeypatch.setattr(numpy_blocked, "TABLE_BYTES", 0)
    x = lazy(X[:, 0])
    y = x * xp.arange(12, dtype=np.float32)
    (blocking,) = blockings(y)
    assert blocking.loops == (12,)
    np.testing.assert_array_equal(y.compute(), X[:, 0] * np.arange(12, dtype=np.float32))
