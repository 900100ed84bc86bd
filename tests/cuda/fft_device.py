"""A plain kernel around an FFT: loads, phases with barriers between them, stores."""

from __future__ import annotations

from fft_fused.cuda.ctypes import PREAMBLE

from .fft_host import real_type, result_of, signal, work


def rows(fft) -> int:
    """FFTs of one block: whole warps where that takes no more than 1024 threads."""
    return max(1, min(256 // fft.threads, 65536 // max(1, 8 * fft.shared_reals)))


def source(fft, sign: int) -> str:
    """The kernel: row b of ``in`` to row b of ``out``."""
    loads, *phases, stores = ["{" + "\n".join(lines) + "}" for lines in work(fft, sign)]
    sizes = signal(fft).nbytes, result_of(fft).nbytes
    return f"""{PREAMBLE}
KERNEL __launch_bounds__({fft.threads * rows(fft)}) k(
    const char* __restrict__ given, char* __restrict__ result,
    const complex_t<{real_type(fft)}>* __restrict__ tw, int count) {{
  using real = {real_type(fft)};
  using value = complex_t<real>;
  extern __shared__ __align__(16) char memory[];
  const int t = threadIdx.x;
  real* s = (real*)memory + threadIdx.y * {fft.shared_reals + fft.shared_reals % 2};
  const long long b = blockIdx.x * {rows(fft)}ll + threadIdx.y;
  const char* in = given + b * {sizes[0]};
  char* out = result + b * {sizes[1]};
  struct {{ value x[{fft.registers}]; }} r;
  if (b < count) {loads}
  {"__syncthreads();".join(phases)}
  if (b < count) {stores}
}}
"""
