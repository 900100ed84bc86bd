"""One kernel for rows: loads, transforms in registers and shared memory, stores, sums over rows.

The text is made of *phases* that a barrier separates. On the host a phase is a loop over the
threads of a block, so that the same text runs where there is no GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..expr.node import Node, format_graph
from ..expr.user_function import UserFunction
from . import indexing
from .casts import number_type
from .ctypes import PREAMBLE, c_type
from .row_along import EXTREMES, along_type
from .row_block import Block, RowShape
from .row_fft import RowFFT, indented
from .row_phases import all_phases
from .row_sums import combine_source, flush, total_registers, zeros
from .rows import Rows
from .user_code import Link, called, definitions, links, wrappers

_WIDE = 2**31

_MACROS = r"""
#ifdef __CUDACC_RTC__
#define ROW_KERNEL extern "C" __global__ void __launch_bounds__(BOUNDS)
#define BLOCK Registers r; extern __shared__ __align__(16) char shared_[]; \
  const index_t group_ = blockIdx.x, split_ = blockIdx.y, splits_ = gridDim.y;
#define PHASE { int thread_ = threadIdx.x; HIDDEN(thread_); \
  ASSUME(thread_ >= 0); ASSUME(thread_ < THREADS);
#define PHASE_END } __syncthreads();
#define OPAQUE(p) asm volatile("" : "+l"(p)); ASSUME(__isGlobal(p))
#define HIDDEN(i) asm volatile("" : "+r"(i))
#else
#ifndef THREAD_ORDER
#define THREAD_ORDER 0
#endif
#define ROW_KERNEL static void
#define BLOCK static Registers all_[THREADS]; alignas(16) static char shared_[SHARED]; \
  __builtin_memset(all_, 0xFF, sizeof all_); __builtin_memset(shared_, 0xFF, SHARED); \
  const index_t group_ = block_x_, split_ = block_y_, splits_ = grid_y_;
#define PHASE for (int place_ = 0; place_ < THREADS; ++place_) { \
  const int thread_ = thread_order_(place_); Registers& r = all_[thread_];
#define PHASE_END }
#define OPAQUE(p)
static long long block_x_, block_y_, grid_y_;
static int thread_order_(int place) {
  return THREAD_ORDER == 0 ? place : THREAD_ORDER == 1 ? THREADS - 1 - place
    : (int)((place * 7919LL + 3) % THREADS); }
#endif
"""


@dataclass(frozen=True, slots=True)
class RowKernel:
    """The kernel and how it is started.

    Its parameters are the ``inputs`` in order, the ``outputs`` (or partial results of sums), and
    the ``tables``. ``groups`` blocks in x take the rows that are kept apart. Where ``over`` is not
    0, blocks in y share out so many rows, ``over_together`` at a time, and each writes partial
    results that the kernels of ``combine`` add up.
    """

    name: str
    source: str
    shape: RowShape
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    sums: tuple[bool, ...]
    groups: int
    over: int
    over_together: int
    shared_bytes: int
    tables: tuple[RowFFT, ...]
    combine: str
    links: tuple[Link, ...]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.shape.threads

    @property
    def most_splits(self) -> int:
        """Blocks in y that find something to do."""
        return max(1, -(-self.over // self.over_together))


def row_kernel(
    name: str, rows: Rows, shape: RowShape, strides: dict[int, tuple[int, ...]]
) -> RowKernel:
    """The kernel of rows in a shape.

    Parameters
    ----------
    name : str
        Of the C function.
    rows : Rows
        What it computes.
    shape : RowShape
        How a block does it.
    strides : dict
        Of array inputs in items, by node identity.
    """
    block = Block(rows, shape, strides)
    sums = tuple(bool(r.reduced) for r in rows.results)
    outputs = tuple(r.output for r in rows.results)
    functions = [f for o in rows.problem.outputs for f in called(o, rows.problem.inputs)]
    return RowKernel(
        name,
        _source(name, block, functions),
        shape,
        rows.problem.inputs,
        outputs,
        sums,
        -(-block.kept_rows // block.kept_together),
        block.over_rows if any(sums) else 0,
        block.over_together,
        block.shared_bytes,
        block.tables,
        combine_source(block, name),
        links(functions),
    )


def _source(name: str, block: Block, functions: Sequence[UserFunction]) -> str:
    problem = block.rows.problem
    comment = [f"// {line}" for line in format_graph(problem.outputs).splitlines()]
    wide = "long long" if _is_wide(block) else "int"
    bounds = f", {wanted}" if (wanted := block.wanted_blocks) else ""
    registers = [
        f"complex_t<{block.real}> x{k}[{f.registers}];" for k, f in enumerate(block.shape.ffts)
    ]
    return "\n".join(
        [
            f"#define THREADS {block.shape.threads}",
            f"#define BOUNDS THREADS{bounds}",
            f"#define SHARED {max(block.shared_bytes, 16)}",
            f"{definitions(functions)}typedef {wide} index_t;{PREAMBLE}{_MACROS}",
            wrappers(functions),
            *comment,
            EXTREMES if any(r.along for r in block.rows.results) else "",
            "struct Registers {",
            *indented([*registers, *total_registers(block), *_along_registers(block)]),
            "};",
            *_place_functions(block),
            f"ROW_KERNEL {name}({', '.join(_parameters(block))}) {{",
            "  BLOCK",
            *indented(_body(block)),
            "}",
            "",
        ]
    )


def _along_registers(block: Block) -> list[str]:
    results = enumerate(block.rows.results)
    return [f"{along_type(r)} along{k};" for k, r in results if r.along]


def _place_functions(block: Block) -> list[str]:
    lines: list[str] = []
    for number in range(len(block.shape.ffts)):
        lines += block.before(number).functions(f"before{number}")
        lines += block.after(number).functions(f"after{number}")
    return lines


def _is_wide(block: Block) -> bool:
    """Do positions need 64 bits?"""
    problem = block.rows.problem
    nodes = [*problem.inputs, *problem.outputs, *block.rows.transforms]
    span = indexing.largest_span(problem.inputs, block.strides)
    return max(span, *(2 * n.size for n in nodes)) >= _WIDE


def _parameters(block: Block) -> list[str]:
    found = []
    for k, node in enumerate(block.rows.problem.inputs):
        if node.op == "scalar":
            found.append(f"const {number_type(node.dtype)} p{k}")
        else:
            found.append(f"const {c_type(node.dtype)}* __restrict__ g{k}")
    for k, result in enumerate(block.rows.results):
        found.append(f"{c_type(result.output.dtype)}* __restrict__ out{k}")
    for k, _ in enumerate(block.tables):
        found.append(f"const complex_t<{block.real}>* __restrict__ table{k}")
    return found


def _pointers(block: Block, opaque: bool) -> list[str]:
    """Names of the addresses; opaque ones keep loads in a loop where they stand, instead of in
    registers before it. (As the hidden number of a thread keeps a phase's addresses in it.)"""
    pairs = [
        (f"const {c_type(n.dtype)}* __restrict__ p{k}", f"g{k}")
        for k, n in enumerate(block.rows.problem.inputs)
        if n.op != "scalar"
    ]
    pairs += [
        (f"const complex_t<{block.real}>* tw{k}", f"table{k}") for k, _ in enumerate(block.tables)
    ]
    lines = [f"{declared} = {given};" for declared, given in pairs]
    hidden = [f"OPAQUE({declared.split()[-1].lstrip('*')});" for declared, _ in pairs]
    return [*lines, *hidden] if opaque else lines


def _body(block: Block) -> Sequence[str]:
    if not block.reduced:
        return [*_pointers(block, False), *all_phases(block)]
    step = block.over_together
    return [
        *zeros(block),
        f"for (index_t first_ = split_ * {step}; first_ < {block.over_rows};"
        f" first_ += splits_ * {step}) {{",
        *indented([*_pointers(block, True), *all_phases(block)]),
        "}",
        *flush(block),
    ]
