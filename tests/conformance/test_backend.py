"""fft_fused as a backend of scipy.fft: what is served, declined, and in which context."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import lazy, scipy_backend, transforms

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6))
Z = X + 1j * RNG.standard_normal((4, 6))


@pytest.fixture
def served(monkeypatch):
    """Names of the functions that reached this package."""
    names = []
    table = scipy_backend._table()

    def counting(method, args, kwargs):
        names.append(method.__name__)
        return table[method](*args, **kwargs)

    monkeypatch.setattr(fft_fused, "__ua_function__", counting)
    return names


def call(name, x, **options):
    if name in ("fht", "ifht"):
        return getattr(scipy.fft, name)(x, 0.1, 0.2, **options)
    return getattr(scipy.fft, name)(x, **options)


@pytest.mark.parametrize("name", transforms.MULTIMETHODS)
def test_every_function_is_served_with_scipys_values(served, name):
    x = X if name.startswith(("r", "ihfft", "d", "id", "f", "if")) else Z
    wanted = call(name, x)
    with scipy.fft.set_backend(fft_fused, only=True):
        got = call(name, x)
    assert name in served
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == wanted.dtype


def test_all_28_are_there():
    dispatched = {n for n in scipy.fft.__all__ if hasattr(getattr(scipy.fft, n), "arg_extractor")}
    assert dispatched == set(transforms.MULTIMETHODS)
    assert len(transforms.MULTIMETHODS) == 28


@pytest.mark.parametrize("name", transforms.MULTIMETHODS)
def test_lazy_arrays_stay_lazy(name):
    x = X if name.startswith(("r", "ih", "d", "id")) or name in ("fht", "ifht") else Z
    with scipy.fft.set_backend(fft_fused):
        got = call(name, lazy(x))
    assert isinstance(got, fft_fused.LazyArray)
    np.testing.assert_allclose(got.compute(), call(name, x), rtol=1e-12, atol=1e-12)


def test_fused_expression_written_with_scipy_fft():
    @fft_fused.fuse
    def power(x):
        return abs(scipy.fft.fft(x * 2)) ** 2

    with scipy.fft.set_backend(fft_fused):
        np.testing.assert_allclose(power(Z), np.abs(scipy.fft.fft(Z * 2)) ** 2)
        assert power.trace_count == 1


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms_by_keyword(name):
    first = {"fht": "a", "ifht": "A"}[name]
    function = getattr(scipy.fft, name)
    wanted = function(X, 0.1, mu=0.2, bias=0.1)
    with scipy.fft.set_backend(fft_fused, only=True):
        np.testing.assert_array_equal(function(**{first: X}, dln=0.1, mu=0.2, bias=0.1), wanted)


def test_array_by_keyword_and_lists():
    with scipy.fft.set_backend(fft_fused, only=True):
        np.testing.assert_array_equal(scipy.fft.fft(x=Z, n=8), np.fft.fft(Z, 8))
        np.testing.assert_array_equal(scipy.fft.fft([1.0, 2.0, 3.0]), np.fft.fft([1.0, 2.0, 3.0]))


def test_unknown_methods_are_declined():
    assert fft_fused.__ua_function__(len, ([],), {}) is NotImplemented


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"foo": 1}, TypeError, "foo"),
        ({"norm": "orth"}, ValueError, 'Invalid norm value.*should be "backward"'),
        ({"n": 0}, ValueError, "invalid number of data points"),
        ({"plan": object()}, NotImplementedError, "precomputed plan"),
        ({"workers": 0}, ValueError, "workers must not be zero"),
        ({"axis": 7}, IndexError, "out of (bounds|range)"),
    ],
)
@pytest.mark.parametrize("array", ["numpy", "lazy"])
def test_bad_arguments_are_refused_as_scipy_does(options, error, text, array):
    if array == "lazy" and "workers" in options:
        pytest.skip("a lazy array takes no notice of workers")
    x = lazy(Z) if array == "lazy" else Z
    with scipy.fft.set_backend(fft_fused), pytest.raises(error, match=f"(?i){text}"):
        scipy.fft.fft(x, **options)


def test_registered_backend_is_asked_before_scipy():
    code = """
import numpy as np, scipy.fft, fft_fused
scipy.fft.register_backend(fft_fused)
y = scipy.fft.fft(fft_fused.lazy(np.ones(4)))
assert isinstance(y, fft_fused.LazyArray), type(y)
assert scipy.fft.fft(np.ones(4))[0] == 4
"""
    run_python(code)


def test_global_backend_alone():
    code = """
import numpy as np, scipy.fft, fft_fused
scipy.fft.set_global_backend(fft_fused)
assert scipy.fft.rfft(np.ones(4))[0] == 4
"""
    run_python(code)


def run_python(code):
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=exec, args=(code, {}))
    process.start()
    process.join(60)
    assert process.exitcode == 0


def test_set_backend_holds_in_its_thread_only(served):
    def work():
        scipy.fft.fft(Z)

    with scipy.fft.set_backend(fft_fused):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not served


def test_set_backend_holds_across_await(served):
    async def other():
        return scipy.fft.fft(Z)

    async def main():
        with scipy.fft.set_backend(fft_fused):
            await asyncio.create_task(other())

    asyncio.run(main())
    assert served == ["fft"]


def test_skip_backend_inside_set_backend(served):
    with scipy.fft.set_backend(fft_fused), scipy.fft.skip_backend(fft_fused):
        scipy.fft.fft(Z)
    assert not served


def test_nested_backends(served):
    class Declines:
        __ua_domain__ = "numpy.scipy.fft"

        @staticmethod
        def __ua_function__(method, args, kwargs):
            return NotImplemented

    with scipy.fft.set_backend(fft_fused), scipy.fft.set_backend(Declines):
        scipy.fft.ifft(Z)
    assert served == ["ifft"]


def test_coerce_is_taken():
    with scipy.fft.set_backend(fft_fused, coerce=True):
        np.testing.assert_array_equal(scipy.fft.fft([1, 2]), [3, -1])


def test_names_that_scipy_fft_has_are_here():
    missing = {n for n in scipy.fft.__all__ if not hasattr(fft_fused, n)}
    assert not missing


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_compute():
    fused = fft_fused.fuse(lambda x: abs(fft_fused.fft(x)) ** 2)
    x = np.ones((512, 1024), np.complex64)
    wanted = fused(x)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=lambda: queue.put(float(fused(x).sum())))
    process.start()
    process.join(60)
    assert queue.get() == float(wanted.sum())
