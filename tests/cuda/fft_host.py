"""Phases of FFTs on the host: each a loop over all threads of a block, so no thread runs."""

from __future__ import annotations

import ctypes

import numpy as np

from fft_fused.cuda.ctypes import PREAMBLE
from fft_fused.cuda.fft.bluestein import Bluestein, bluestein_phases, bluestein_table
from fft_fused.cuda.fft.real import RealFFT, real_phases, real_table
from fft_fused.cuda.fft.stockham import phases, twiddle_table

from . import host

_QUICK = '#pragma GCC optimize("O0")\n'  # compiling takes longer than running


def errors(cases):
    """The relative L2 error of each case, a transform and its sign.

    Threads in order, in reverse and shuffled give the same bits: a missing barrier would show.
    """
    names = [f"fft{number}" for number in range(len(cases))]
    functions = [_function(name, *case) for name, case in zip(names, cases, strict=True)]
    library = host.library(_QUICK + PREAMBLE + "\n".join(functions))
    found = []
    for name, (fft, sign) in zip(names, cases, strict=True):
        x = signal(fft)
        results = [_run(getattr(library, name), fft, x, order) for order in _orders(fft.threads)]
        for other in results[1:]:
            assert other.tobytes() == results[0].tobytes(), fft
        found.append(relative_error(results[0], exact(fft, x, sign)))
    return np.array(found)


def relative_error(got: np.ndarray, exact: np.ndarray) -> float:
    """Relative L2 error."""
    return float(np.linalg.norm(got - exact) / np.linalg.norm(exact))


def signal(fft) -> np.ndarray:
    """An input of the transform's type and size."""
    rng = np.random.default_rng(fft.length)
    real = isinstance(fft, RealFFT)
    kind = "D" if (fft.block if real else fft).double else "F"
    if real and not fft.inverse:
        return rng.standard_normal(fft.length).astype(kind.lower())
    count = fft.length // 2 + 1 if real else fft.length
    return (rng.standard_normal(count) + 1j * rng.standard_normal(count)).astype(kind)


def exact(fft, x, sign) -> np.ndarray:
    """NumPy's result in extended precision."""
    wide = x.astype(np.longdouble if x.dtype.kind == "f" else np.clongdouble)
    if not isinstance(fft, RealFFT):
        return np.fft.fft(wide) if sign < 0 else np.fft.ifft(wide, norm="forward")
    if fft.inverse:
        return np.fft.irfft(wide, fft.length, norm="forward")
    return np.fft.rfft(wide)


def phases_of(fft, sign, registers="x", shared="s", twiddle="tw"):
    """Phases of any transform."""
    given = (registers, shared, twiddle)
    match fft:
        case RealFFT():
            return real_phases(fft, *given)
        case Bluestein():
            return bluestein_phases(fft, sign, *given)
    return phases(fft, sign, *given)


def table_of(fft):
    """The table that its phases read."""
    match fft:
        case RealFFT():
            return real_table(fft)
        case Bluestein():
            return bluestein_table(fft)
    return twiddle_table(fft)


def work(fft, sign: int) -> list[list[str]]:
    """Loads from ``in``, the phases, stores to ``out``; ``real`` and ``value`` are types."""
    real = isinstance(fft, RealFFT)
    before = fft.samples if real else fft.places
    after = fft.bins if real else fft.places
    if real and fft.inverse:
        before, after = after, before
    load = "r.x[{0}] = ((const value*)in)[{1}];"
    store = "((value*)out)[{1}] = r.x[{0}];"
    if real and not fft.packed:
        if fft.inverse:
            store = "((real*)out)[{1}] = r.x[{0}].re;"
        else:
            load = "r.x[{0}].re = ((const real*)in)[{1}]; r.x[{0}].im = 0;"
    return [_moves(before, load), *phases_of(fft, sign, "r.x"), _moves(after, store)]


def real_type(fft) -> str:
    """The C++ type of a transform's reals."""
    return "double" if (fft.block if isinstance(fft, RealFFT) else fft).double else "float"


def _function(name: str, fft, sign: int) -> str:
    """A C function of one block."""
    return f"""
extern "C" void {name}(const void* in, void* out, void* shared, const void* table,
    const int* order, int threads) {{
  using real = {real_type(fft)};
  using value = complex_t<real>;
  struct registers_t {{ value x[{fft.registers}]; }};
  auto* all = new registers_t[threads];
  const value* tw = (const value*)table;
  real* s = (real*)shared;
  {"".join(_loop(lines) for lines in work(fft, sign))}
  delete[] all;
}}
"""


def _moves(elements, text: str) -> list[str]:
    return [
        (f"if ({e.guard}) " if e.guard else "") + "{ " + text.format(e.register, e.index) + " }"
        for e in elements
    ]


def _loop(lines: list[str]) -> str:
    scope = "for (int n_ = 0; n_ < threads; ++n_) { const int t = order[n_]; auto& r = all[t];\n"
    return scope + "\n".join(lines) + "\n}\n"


def _orders(threads: int) -> list[np.ndarray]:
    rising = np.arange(threads, dtype=np.int32)
    return [rising, rising[::-1].copy(), np.random.default_rng(threads).permutation(rising)]


def result_of(fft) -> np.ndarray:
    """Memory for a result, full of NaN."""
    kind = signal(fft).dtype.char
    if not isinstance(fft, RealFFT):
        return np.full(fft.length, np.nan, kind)
    count = fft.length if fft.inverse else fft.length // 2 + 1
    return np.full(count, np.nan, kind.lower() if fft.inverse else kind.upper())


def _run(function, fft, x, order) -> np.ndarray:
    out = result_of(fft)
    shared = np.full(max(fft.shared_reals, 1), np.nan, x.real.dtype)
    arrays = (x, out, shared, table_of(fft), order)
    function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays), len(order))
    return out
