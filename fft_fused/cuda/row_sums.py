"""Sums over rows: totals in registers, those of a block in order, those of all blocks in order."""

from __future__ import annotations

from ..expr.node import Node
from . import indexing
from .casts import register_type, stored
from .ctypes import PREAMBLE, c_type
from .reductions import combination, identity
from .row_block import Block, bare_phase
from .row_fft import indented
from .row_phases import total_place

_MACROS = r"""
#define LANES 8
#ifdef __CUDACC_RTC__
#define SHARED_TOTALS(T) __shared__ T totals[LANES][32]; \
  const int lane_ = threadIdx.x / 32, place_ = threadIdx.x % 32; const index_t block_ = blockIdx.x;
#define EACH {
#define EACH_END } __syncthreads();
#else
static long long block_;
#define SHARED_TOTALS(T) static T totals[LANES][32];
#define EACH for (int lane_ = 0; lane_ < LANES; ++lane_) \
  for (int place_ = 0; place_ < 32; ++place_) {
#define EACH_END }
#endif
"""


def total_registers(block: Block) -> list[str]:
    """The totals of a thread."""
    return [
        f"{register_type(r.output.dtype)} total{k}[{block.after(r.last).count}];"
        for k, r in enumerate(block.rows.results)
        if r.reduced
    ]


def zeros(block: Block) -> list[str]:
    """Totals before the first row."""
    lines = []
    for k, result in enumerate(block.rows.results):
        if result.reduced:
            count = block.after(result.last).count
            lines += [
                "#pragma unroll",
                f"for (int i = 0; i < {count}; ++i) r.total{k}[i] = {identity(result.output)};",
            ]
    return bare_phase(lines)


def flush(block: Block) -> list[str]:
    """Totals of a block to memory, those of its rows added in order."""
    lines: list[str] = []
    for k, result in enumerate(block.rows.results):
        if not result.reduced:
            continue
        side, name = block.after(result.last), f"after{result.last}"
        total = f"r.total{k}[{total_place(block, result)}]"
        if block.over_together == 1:
            names = [*block.place(), *block.row_names(over=False)]
            lines += bare_phase([*names, *side.loop(name, _partial(block, k, total), "live_")])
            continue
        extent = block.extent(result.last)
        shared = f"(({register_type(result.output.dtype)}*)shared_)"
        kept = side.loop(name, [f"{shared}[f * {extent} + e] = {total};"])
        lines += bare_phase([*block.place(), *kept])
        lines += bare_phase(_added_rows(block, k, shared))
    return lines


def _added_rows(block: Block, k: int, shared: str) -> list[str]:
    result = block.rows.results[k]
    extent = block.extent(result.last)
    total = combination(result.output).format("total", f"{shared}[f * {extent} + e]")
    return [
        f"for (int e = thread_; e < {extent}; e += THREADS) {{",
        *indented(
            [
                f"{register_type(result.output.dtype)} total = {shared}[e];",
                f"for (int f = 1; f < {block.shape.together}; ++f) total = {total};",
                *block.axis_names("group_", block.kept),
                *_partial(block, k, "total"),
            ]
        ),
        "}",
    ]


def _partial(block: Block, k: int, value: str) -> list[str]:
    """A total to its place among the partial results."""
    result = block.rows.results[k]
    index = result.placements[0].index[id(result.value)]
    shape = [result.value.shape[a] for a in result.axes]
    place = indexing.horner([index[a] for a in result.axes], shape)
    text = f"out{k}[split_ * {result.output.size} + {place}] = "
    text += f"{stored(value, result.output.dtype)};"
    guard = " && ".join(f"({g})" for g in result.kept_guards)
    return [f"if ({guard}) {text}" if guard else text]


def combine_source(block: Block, name: str) -> str:
    """Kernels that add up the partial results of each reduction, in a fixed order."""
    found = [
        _combine(f"{name}_combine{k}", result.output)
        for k, result in enumerate(block.rows.results)
        if result.reduced
    ]
    return f"typedef long long index_t;{PREAMBLE}{_MACROS}" + "\n".join(found) if found else ""


def _combine(name: str, output: Node) -> str:
    """Lane l of a block adds the partial results l, l + LANES, ...; then lanes are added up."""
    own, kept = register_type(output.dtype), c_type(output.dtype)
    load = "to_float(partials[{0}])" if output.dtype.char == "e" else "partials[{0}]"
    more = load.format(f"c * {output.size} + o")
    return f"""
KERNEL {name}(const {kept}* __restrict__ partials, {kept}* out, const long long pieces) {{
  SHARED_TOTALS({own})
  EACH
    const index_t o = block_ * 32 + place_;
    {own} total = {identity(output)};
    if (o < {output.size})
      #pragma unroll 4
      for (index_t c = lane_; c < pieces; c += LANES)
        total = {combination(output).format("total", more)};
    totals[lane_][place_] = total;
  EACH_END
  EACH
    const index_t o = block_ * 32 + place_;
    if (lane_ == 0 && o < {output.size}) {{
      {own} total = totals[0][place_];
      for (int l = 1; l < LANES; ++l)
        total = {combination(output).format("total", "totals[l][place_]")};
      out[o] = {stored("total", output.dtype)};
    }}
  EACH_END
}}
"""
