"""Complex FFTs of one block, run on the host, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused.cuda.fft.shape import BlockFFT, shapes
from fft_fused.cuda.fft.stockham import phases, twiddle_table

from . import fft_host

pytestmark = pytest.mark.skipif(fft_host.host.COMPILER is None, reason="no C++ compiler")

SMALL = [n for n in range(2, 257) if shapes(n)]
POWERS = [2**k for k in range(9, 15)]
MIXED = [264, 360, 899, 961, 1000, 1155, 1536, 2310, 3000, 3125, 4199, 6144, 6859, 10000, 15625]


def name(fft, sign):
    radices = "_".join(map(str, fft.radices))
    marks = ("d" if fft.double else "f") + ("s" if fft.split else "w")
    return f"fft{fft.length}_{fft.elements}_{radices}_{marks}{'f' if sign < 0 else 'i'}"


def text(fft, sign):
    moves = range(fft.elements)
    return fft_host.function(
        name(fft, sign),
        "double" if fft.double else "float",
        fft.registers,
        "".join(f"r.x[{i}] = in[t + {i * fft.threads}];" for i in moves),
        phases(fft, sign, "r.x"),
        "".join(f"out[t + {i * fft.threads}] = r.x[{i}];" for i in moves),
    )


def signal(length, double):
    rng = np.random.default_rng(length)
    x = rng.standard_normal(length) + 1j * rng.standard_normal(length)
    return x.astype("D" if double else "F")


def errors(cases):
    """Of each (shape, sign): the error; the order of threads must not matter."""
    library = fft_host.build([text(fft, sign) for fft, sign in cases])
    found = []
    for fft, sign in cases:
        x = signal(fft.length, fft.double)
        results = [
            fft_host.run(
                library,
                name(fft, sign),
                x,
                fft.length,
                fft.shared_reals,
                [twiddle_table(fft)],
                order,
            )
            for order in fft_host.orders(fft.threads)
        ]
        for other in results[1:]:
            assert other.tobytes() == results[0].tobytes(), fft
        transform = np.fft.fft if sign < 0 else np.fft.ifft
        exact = transform(x.astype(np.clongdouble), norm="backward" if sign < 0 else "forward")
        found.append(fft_host.relative_error(results[0], exact))
    return found


@pytest.mark.parametrize("sign", [-1, 1])
def test_lengths_of_several_shapes_equal_numpy(sign):
    lengths = [2, 3, 5, 8, 12, 16, 31, 62, 100, 128, 243, 256, 899, 1024, 1155, 4096]
    cases = [(fft, sign) for n in lengths for fft in shapes(n)[:2]]
    assert max(errors(cases)) < 1.6e-7


def test_double_is_double():
    cases = [(fft, 1) for n in (6, 31, 64, 1000, 2048) for fft in shapes(n, True)[:1]]
    assert max(errors(cases)) < 3e-16


def test_parts_exchanged_one_after_the_other_give_the_same_bits():
    whole = BlockFFT(512, 8, (8, 8, 8))
    assert errors([(whole, -1)]) == errors([(BlockFFT(512, 8, (8, 8, 8), split=True), -1)])
