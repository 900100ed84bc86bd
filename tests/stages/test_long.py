"""Long transforms as two short ones: the same values, and how many transforms of which lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fft_fused import (
    fft,
    fft2,
    fftfreq,
    fftshift,
    ifft,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    lazy,
    rfft,
    rfft2,
    xp,
)
from fft_fused.engines.numpy_ops import node_function
from fft_fused.engines.unfused import evaluate
from fft_fused.expr.node import walk
from fft_fused.passes.commute import FOR_LIBRARY
from fft_fused.passes.device import for_library
from fft_fused.passes.long import digits_of, split_long
from fft_fused.passes.normalize import normalize
from fft_fused.passes.trace import collect
from tests.cuda import emulate

RNG = np.random.default_rng(0)


def array(*shape, dtype="c16"):
    values = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def up_to(limit):
    return lambda n, dtype: n <= limit


def split(values, limit):
    """Before and after, and the arrays."""
    expr, sources = collect([v.node for v in values])
    normal = for_library(normalize(expr, FOR_LIBRARY))
    return normal, split_long(normal, up_to(limit)), [s.array for s in sources]


def lengths(expr):
    return [n.attr.n for n in walk(expr.outputs) if n.op == "dft"]


def assert_same_values(values, limit):
    normal, made, arrays = split(values, limit)
    again = normalize(made, FOR_LIBRARY)
    for expr in (made, again):
        for got, wanted in zip(evaluate(expr, arrays), evaluate(normal, arrays), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, atol=1e-13 * abs(wanted).max(), rtol=0)
    return again


@pytest.mark.parametrize("sign", [fft, ifft])
@pytest.mark.parametrize("n", [64, 96, 100, 128, 210, 243, 256, 29 * 30, 31 * 31, 1024])
def test_a_split_transform_is_the_transform(n, sign):
    made = assert_same_values([sign(lazy(array(2, n)))], 32)
    assert len(lengths(made)) == 2
    assert np.prod(lengths(made)) == n
    assert max(lengths(made)) <= 32


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 1500), st.integers(4, 40), st.sampled_from([0, 1, -1]))
def test_any_length_and_axis(n, limit, axis):
    shape = [2, 3]
    shape.insert(len(shape) if axis == -1 else axis, n)
    made = assert_same_values([fft(lazy(array(*shape)), axis=axis)], limit)
    assert np.prod(lengths(made)) == n


def test_three_transforms_where_two_do_not_fit():
    made = assert_same_values([fft(lazy(array(3, 4096)))], 16)
    assert lengths(made) == [16, 16, 16]


def test_a_large_prime_factor_is_left_alone():
    normal, made, _ = split([fft(lazy(array(2, 37 * 8)))], 32)
    assert made is normal


def test_what_fits_is_left_alone():
    normal, made, _ = split([fft(lazy(array(2, 32)) * 2)], 32)
    assert made is normal


def test_several_axes():
    assert_same_values([fft2(lazy(array(2, 64, 96)) * 2)], 16)


R = lazy(array(3, 512, dtype="f8"))
REALS = {
    "spectrum": lambda: rfft(R),
    "samples": lambda: irfft(rfft(R)),
    "twice as long": lambda: irfft(fft(X), 512),
    "odd quarter": lambda: rfft(R[:, :420]),
    "real filter": lambda: irfft(rfft(R) * rfft(lazy(array(512, dtype="f8")))),
    "not hermitian": lambda: irfft(fft(X) * H, 512),
    "conjugate": lambda: ihfft(R),
    "other axis": lambda: rfft(lazy(array(512, 3, dtype="f8")), axis=0),
    "planes": lambda: irfft2(rfft2(lazy(array(3, 512, dtype="f8"))) * 2),
}


@pytest.mark.parametrize("name", REALS)
def test_real_transforms(name):
    made = assert_same_values([REALS[name]()], 32)
    kinds = [n.attr.kind for n in walk(made.outputs) if n.op == "dft" and n.attr.n > 4]
    assert set(kinds) == {"c2c"}


def test_the_edges_of_a_real_spectrum_are_real():
    _, made, arrays = split([rfft(R)], 32)
    (spectrum,) = evaluate(made, arrays)
    assert not spectrum[:, [0, -1]].imag.any()


@pytest.mark.parametrize("n", [510, 511, 6 * 37])
def test_real_lengths_that_are_left_alone(n):
    normal, made, _ = split([rfft(lazy(array(2, n, dtype="f8")))], 32)
    assert made is normal


def axes(expr):
    """The axes of transforms in the order they are computed."""
    return [n.attr.axis for n in walk(expr.outputs) if n.op == "dft"]


X, H = lazy(array(3, 256)), array(256)
CHAINS = {
    "filter": lambda: ifft(fft(X) * H),
    "a row's own filter": lambda: ifft(fft(X) * array(3, 256) + 1),
    "factor of a row": lambda: ifft(fft(X) * array(3, 1)),
    "no filter": lambda: ifft(fft(X).conj()).conj(),
    "shifted filter": lambda: ifft(ifftshift(fftshift(fft(X), axes=-1) * H, axes=-1)),
    "shift of whole rows": lambda: ifft(xp.roll(fft(X) * H, 32, axis=1)),
    "band": lambda: ifft(fft(X)[:, 16:144] * H[:128]),
    "zeros between": lambda: ifft(xp.pad(fft(X) * H, ((0, 0), (64, 64)))),
    "rows in another order": lambda: ifft(xp.flip(fft(X) * H, 0)),
    "spectrum kept": lambda: (ifft(Y := fft(X) * H), Y),
    "three": lambda: fft(ifft(fft(X) * H) * array(256)),
    "choice": lambda: ifft(xp.where(abs(fft(X)) > 1, fft(X), 0)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_transforms_one_after_the_other(name):
    values = CHAINS[name]()
    values = values if isinstance(values, tuple) else (values,)
    made = assert_same_values(values, 32)
    order = axes(made)
    assert order == ([1, 2, 2, 1] if name != "three" else [1, 2, 2, 1, 1, 2])


def test_a_crop_inside_a_row_begins_anew():
    made = assert_same_values([ifft(fft(X)[:, 3:131])], 32)
    assert axes(made) == [1, 2, 1, 2]


def test_good_lengths():
    def found(log2, long_rows=False):
        slow, fast = digits_of(1 << log2, np.dtype("c8"), up_to(24576), long_rows)
        return int(np.log2(slow)), int(np.log2(fast))

    assert [found(k) for k in (16, 18, 20, 22, 24, 28)] == [
        *((8, 8), (8, 10), (10, 10), (10, 12), (12, 12), (14, 14))
    ]
    assert [found(k, long_rows=True) for k in (18, 20, 22)] == [(8, 10), (8, 12), (10, 12)]
    assert digits_of(10**6, np.dtype("c8"), up_to(24576)) == (800, 1250)


@pytest.mark.parametrize("n", [1 << 16, 3 << 20, 10**6, 1 << 24])
def test_roots_in_double_precision(n):
    normal, made, arrays = split([fft(lazy(np.zeros(n, "c16")))], 16384)
    (root,) = (k for k in walk(made.outputs) if k.op == "root")
    assert root.attr == (-1, n)
    rng = np.random.default_rng(0)
    a = rng.integers(0, root.shape[-2], 1000)
    b = rng.integers(0, root.shape[-1], 1000)
    exact = np.exp(-2j * np.pi * ((a * b).astype(np.longdouble) / n)).astype("c16")
    np.testing.assert_allclose(node_function(root)(a, b), exact, atol=2e-15, rtol=0)


def pair(v):
    return v.astype(np.float32).view(np.complex64)[..., 0]


def guppi_power(chan=4, nint=96, n=1 << 20):
    v = lazy(np.zeros((chan, nint, n, 2), "i1"))
    return fftshift((abs(fft(pair(v))) ** 2).sum(axis=1), axes=-1)


def index_chirp(batch=128, n=1 << 20):
    x, rate = lazy(np.zeros((batch, n), "c8")), lazy(np.zeros(batch, "f4"))
    t = xp.arange(n, dtype=np.float32) / np.float32(n)
    return fft(x * xp.exp(np.complex64(-1j * np.pi) * (rate[:, None] * t**2)))


def dedispersion(chan=256, n=1 << 20, edge=1 << 16, step=16):
    v, k = lazy(np.zeros((chan, n, 2), "i1")), lazy(np.zeros(chan, "f4"))
    response = xp.exp(np.complex64(2j * np.pi) * (k[:, None] * fftfreq(n).astype(np.float32) ** 2))
    y = ifft(fft(pair(v)) * response)
    power = abs(y[:, edge : n - edge]) ** 2
    return power.reshape(chan, -1, step).sum(axis=-1)


def ways(values):
    """Engines of the plans that are raced, by the model's order."""
    plan, _ = emulate.planned(values, None)
    return [p.engines.split(" > ") for p in (plan, *plan.rivals)]


@pytest.mark.parametrize(
    ("pipeline", "kernels"), [(guppi_power, 2), (index_chirp, 2), (dedispersion, 3)]
)
def test_long_pipelines_in_kernels_of_our_own(pipeline, kernels):
    found = ways([pipeline()])
    assert any(way[:kernels] == ["one_kernel"] * kernels for way in found)
    assert any("one_kernel" not in way for way in found), "cuFFT alone is in the race"


def test_sums_and_shifts_take_no_launch_of_their_own():
    assert ways([guppi_power()])[0] == ["one_kernel"] * 2
    assert ways([dedispersion()])[0] == ["one_kernel"] * 3


def test_neighbours_in_memory_are_neighbouring_threads():
    plan, _ = emulate.planned([dedispersion()], None)
    columns, rows, back = (launch.run.variants[0].kernel.shape for launch in plan.launches[:3])
    assert (columns.columns, rows.columns, back.columns) == (True, False, True)
    assert columns.order[-1] == back.order[-1] == "b2"
    assert not any(columns.crossed + rows.crossed)
    _, rows = (launch.run.variants[0].kernel.shape for launch in kernels_of(index_chirp()))
    assert rows.crossed == (True,)
    assert rows.order[-1] == "b1"


def kernels_of(value):
    plan, _ = emulate.planned([value], "one_kernel")
    return plan.launches


def test_a_plain_long_transform_is_left_to_the_library():
    assert ways([fft(lazy(np.zeros((16, 1 << 20), "c8")))]) == [["library"], ["unfused"]]


def test_nothing_is_split_for_a_library():
    plan, _ = emulate.planned([index_chirp()], "library")
    assert plan.engines == "elementwise > library"


def test_a_few_channels_side_by_side_fill_a_block():
    columns, _ = kernels_of(abs(fft(lazy(np.zeros((1 << 18, 2), "c8")), axis=0)))
    shape = columns.run.variants[0].kernel.shape
    assert (shape.columns, shape.together, shape.order) == (True, 16, ("b1", "b2"))
