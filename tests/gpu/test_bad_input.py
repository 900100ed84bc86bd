"""What cannot be done on a device ends in an error that says what was given and what would do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import LazyValueError, NotFusedError, compute, fft, fuse, lazy, xp
from fft_fused.runtime.gpus import why_no_gpu
from tests.gpu.support import ENGINES, require

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

SHAPE = (6, 16)
HOST = np.ones(SHAPE, np.complex64)
power = fuse(lambda x, w: abs(fft(x * w)) ** 2)
by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e or "planned")


def device(dtype=np.complex64, shape=SHAPE):
    return cupy.ones(shape, dtype)


# ---- two devices in one expression


@by_engine
@pytest.mark.parametrize("swap", [False, True])
def test_numpy_and_cupy_arguments_are_refused(swap, engine):
    require(engine)
    given = (device(), np.ones(16, np.float32))
    with (
        fft_fused.options(engine=engine),
        pytest.raises(TypeError, match="arrays on different devices in one expression"),
    ):
        power(*(reversed(given) if swap else given))


def test_the_error_names_both_arrays_and_the_cure():
    with pytest.raises(TypeError, match=r"x is on cuda:0, w on cpu.*cupy\.asarray"):
        fuse(lambda x, w: x * w)(device(), HOST)


def test_a_host_table_that_was_captured_is_refused():
    table = np.ones(16, np.float32)
    with pytest.raises(TypeError, match="different devices"):
        fuse(lambda x: fft(x * table))(device())


def test_a_host_table_goes_along_by_asarray():
    table = np.arange(16, dtype=np.float32)
    weighted = fuse(lambda x: x * xp.asarray(table))
    for _ in range(2):
        got = weighted(device())
        assert isinstance(got, cupy.ndarray)
        np.testing.assert_array_equal(cupy.asnumpy(got), HOST * table)
        table += 1
    assert weighted.trace_count == 1


@pytest.mark.parametrize("number", [2, 0.5, 1j, np.float32(0.5), np.int8(3), True])
def test_numbers_belong_anywhere(number):
    got = (lazy(device()) * number).compute()
    np.testing.assert_allclose(cupy.asnumpy(got), HOST * number)
    assert got.dtype == (HOST * number).dtype
    argument = fuse(lambda x, n: x * n)(device(), number)
    np.testing.assert_allclose(cupy.asnumpy(argument), HOST * number)


def test_a_host_number_in_an_array_is_read_at_each_call():
    gain = np.array(2.0)
    scaled = fuse(lambda x: x * gain)
    for value in (2.0, 5.0):
        gain[...] = value
        np.testing.assert_allclose(cupy.asnumpy(scaled(device())), HOST * value)


def test_a_function_called_with_arrays_of_one_library_and_then_of_the_other():
    """Shapes, dtypes and strides are the same: the device tells the calls apart."""
    call = fuse(lambda x, w: abs(fft(x * w)) ** 2)
    host, w = (HOST, np.ones(16, np.float32)), device(np.float32, (16,))
    on_device, on_host = call(device(), w), call(*host)
    assert isinstance(on_device, cupy.ndarray)
    assert type(on_host) is np.ndarray
    np.testing.assert_allclose(on_host, cupy.asnumpy(on_device), atol=1e-3)
    with pytest.raises(TypeError, match="different devices"):
        call(device(), host[1])
    with pytest.raises(TypeError, match="different devices"):
        call(HOST, w)
    assert isinstance(call(device(), w), cupy.ndarray)


def test_lazy_arrays_of_two_devices_are_refused():
    with pytest.raises(TypeError, match="different devices"):
        compute(xp.where(lazy(device(np.bool_)), lazy(HOST), 0))
    with pytest.raises(TypeError, match="different devices"):
        xp.concatenate([lazy(device()), lazy(HOST)]).compute()


two_gpus = pytest.mark.skipif(
    not why_no_gpu() and cupy.cuda.runtime.getDeviceCount() < 2, reason="needs two GPUs"
)


@two_gpus
def test_arrays_of_two_gpus_are_refused():
    with cupy.cuda.Device(1):
        other = device(np.float32, (16,))
    with pytest.raises(TypeError, match="cuda:0.*cuda:1"):
        power(device(), other)


@two_gpus
@by_engine
def test_a_call_runs_on_the_gpu_of_its_arrays(engine):
    require(engine)
    with cupy.cuda.Device(1):
        x, w = device(), device(np.float32, (16,))
    with cupy.cuda.Device(0), fft_fused.options(engine=engine):
        for got in (power(x, w), (abs(fft(lazy(x) * lazy(w))) ** 2).compute()):
            assert got.device.id == 1
            with cupy.cuda.Device(1):
                assert float(got[0, 0]) == 256
        assert fft(x).device.id == 1
        assert cupy.cuda.runtime.getDevice() == 0


# ---- results


@pytest.mark.parametrize(
    ("out", "error", "match"),
    [
        (lambda: np.empty(SHAPE, np.float32), TypeError, "out"),
        (lambda: [1.0], TypeError, "out.*float"),
        (lambda: cupy.empty((6, 15), np.float32), ValueError, r"out.*\(6, 15\).*\(6, 16\)"),
        (lambda: cupy.empty(16, np.float32), ValueError, "out.*shape"),
        (lambda: cupy.empty(SHAPE, np.int32), TypeError, "out.*int32.*float32"),
        (lambda: [cupy.empty(SHAPE, np.float32)] * 2, ValueError, "out: 2 arrays.* 1 result"),
    ],
    ids=["on the host", "a number", "shape", "dimensions", "dtype", "count"],
)
def test_an_array_that_cannot_take_the_result_is_refused(out, error, match):
    x, w = device(), device(np.float32, (16,))
    with pytest.raises(error, match=match):
        power(x, w, out=out())
    with pytest.raises(error, match=match):
        (abs(fft(lazy(x) * lazy(w))) ** 2).compute(out=out())


def test_a_device_array_cannot_take_a_result_of_the_host():
    with pytest.raises(TypeError, match="out"):
        power(HOST, np.ones(16, np.float32), out=cupy.empty(SHAPE, np.float32))


def test_results_need_memory_of_their_own():
    x, memory = lazy(device(np.float32)), cupy.empty((7, 16), np.float32)
    with pytest.raises(ValueError, match="out: two of the arrays given overlap"):
        compute(x * 2, x * 3, out=[memory[:6], memory[1:]])


# ---- nothing goes to the host


@pytest.mark.parametrize(
    "copy",
    [
        cupy.asarray,
        cupy.asnumpy,
        lambda y: cupy.real(y),
        np.asarray,
        np.array,
        lambda y: np.asarray(y, np.complex128),
        np.ascontiguousarray,
        lambda y: scipy.fft.fft(y),
        lambda y: np.testing.assert_array_equal(y, HOST),
    ],
    ids=[
        "cupy.asarray",
        "asnumpy",
        "cupy.real",
        "asarray",
        "array",
        "dtype",
        "ascontiguousarray",
        "scipy.fft",
        "assert",
    ],
)
def test_lazy_values_are_not_copied_to_the_host(copy):
    with pytest.raises(TypeError, match="host|get|cupy|CuPy"):
        copy(lazy(device()) * 2)


@pytest.mark.parametrize("ask", [bool, float, int, complex, lambda y: y.item(), lambda y: 1 in y])
def test_values_that_are_not_computed_cannot_be_asked_for(ask):
    with pytest.raises(LazyValueError):
        ask(lazy(device())[0, 0] * 2)


# ---- dtypes and arguments


@by_engine
def test_records_are_no_numbers(engine):
    require(engine)
    pairs = cupy.ndarray((4, 8), np.dtype([("re", "i2"), ("im", "i2")]))
    for call in (lazy, fft, lambda x: power(x, device(np.float32, (8,)))):
        with fft_fused.options(engine=engine), pytest.raises(TypeError, match="not numeric|dtype"):
            call(pairs)


REFUSED = [
    ("fft", {"norm": "orth"}),
    ("fft", {"n": 0}),
    ("fft", {"n": -3}),
    ("fft", {"axis": 2}),
    ("irfft", {"norm": ""}),
    ("fft2", {"axes": (0, 5)}),
    ("fftn", {"s": (3, 4), "axes": (0,)}),
    ("fftn", {"axes": (0, 0)}),
    ("ifftn", {"s": (3, 0)}),
    ("irfftn", {"axes": ()}),
    ("rfftn", {"axes": ()}),
    ("rfft", {}),
    ("ihfft", {}),
    ("dct", {"type": 5}),
]


def called(how, name, given):
    if how == "scipy backend":
        with scipy.fft.set_backend(fft_fused, only=True):
            return getattr(scipy.fft, name)(device(), **given)
    return getattr(fft_fused, name)(device() if how == "eager" else lazy(device()), **given)


@pytest.mark.parametrize("how", ["eager", "lazy", "scipy backend"])
@pytest.mark.parametrize(("name", "given"), REFUSED, ids=lambda v: str(v))
def test_what_scipy_refuses_is_refused_alike(name, given, how):
    """The same exception, and SciPy's text about lengths, axes and norms."""
    with pytest.raises((TypeError, ValueError, IndexError)) as wanted:
        getattr(scipy.fft, name)(HOST, **given)
    with pytest.raises(type(wanted.value)) as found:
        called(how, name, given)
    if wanted.type is ValueError and name != "dct":
        assert str(found.value) == str(wanted.value)


# ---- strict mode


def test_strict_mode_takes_what_is_fused():
    with fft_fused.options(strict=True):
        got = power(device(), device(np.float32, (16,)))
    assert got.shape == SHAPE


def test_strict_mode_refuses_what_is_not_fused():
    running = fuse(lambda x: xp.cumsum(abs(fft(x * 2)), axis=1))
    x = device(shape=(64, 1024))
    np.testing.assert_allclose(cupy.asnumpy(running(x))[:, -1], 2048, rtol=1e-5)
    with fft_fused.options(strict=True), pytest.raises(NotFusedError, match="cumsum"):
        running(x)


def test_an_error_leaves_the_next_call_as_it_was():
    x, w = device(), device(np.float32, (16,))
    first = power(x, w)
    for wrong in (device(np.float32, (17,)), "window"):
        with pytest.raises((TypeError, ValueError)):
            power(x, wrong)
    assert bool((power(x, w) == first).all())
