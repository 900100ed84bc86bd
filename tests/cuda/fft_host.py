"""Phases of FFTs on the host: each a loop over all threads of a block, so no thread runs."""

from __future__ import annotations

import ctypes

import numpy as np

from fft_fused.cuda.ctypes import PREAMBLE

from . import host

_QUICK = '#pragma GCC optimize("O0")\n'  # compiling takes longer than running


def phase_loops(phases: list[list[str]]) -> str:
    """Each phase for all threads, in the order that ``order`` gives them."""
    scope = "for (int n_ = 0; n_ < threads; ++n_) { const int t = order[n_]; auto& r = all[t];\n"
    return "\n".join(scope + "\n".join(lines) + "\n}" for lines in phases)


def function(name: str, kind: str, registers: int, before: str, phases, after: str) -> str:
    """A C function: per thread ``before``, the phases, ``after``, from ``in`` to ``out``."""
    return f"""
static void {name}_(const complex_t<{kind}>* in, complex_t<{kind}>* out, {kind}* s,
    const complex_t<{kind}>* tw, const complex_t<{kind}>* tw2, const int* order, int threads) {{
  struct registers_t {{ complex_t<{kind}> x[{max(registers, 1)}]; }};
  auto* all = new registers_t[threads];
  {phase_loops([[before], *phases, [after]])}
  delete[] all;
}}
extern "C" void {name}(void* a, void* b, void* s, void* tw, void* tw2, void* order, int threads) {{
  {name}_((const complex_t<{kind}>*)a, (complex_t<{kind}>*)b, ({kind}*)s,
    (const complex_t<{kind}>*)tw, (const complex_t<{kind}>*)tw2, (const int*)order, threads);
}}
"""


def build(functions: list[str]) -> ctypes.CDLL:
    """One library of many functions."""
    return host.library(_QUICK + PREAMBLE + "\n".join(functions))


def orders(threads: int) -> list[np.ndarray]:
    """Threads in order, in reverse and shuffled."""
    rising = np.arange(threads, dtype=np.int32)
    return [rising, rising[::-1].copy(), np.random.default_rng(threads).permutation(rising)]


def run(library, name, given, count, reals, tables, order) -> np.ndarray:
    """The ``count`` complex values a function leaves; unset memory is NaN."""
    real = given.real.dtype
    out = np.full(count, np.nan, given.dtype)
    shared = np.full(max(reals, 1), np.nan, real)
    tables = [np.ascontiguousarray(t) for t in tables] + [np.zeros(1, given.dtype)] * 2
    arrays = (np.ascontiguousarray(given), out, shared, tables[0], tables[1], order)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    getattr(library, name)(*pointers, len(order))
    return out


def relative_error(got: np.ndarray, exact: np.ndarray) -> float:
    """Relative L2 error."""
    return float(np.linalg.norm(got - exact) / np.linalg.norm(exact))
