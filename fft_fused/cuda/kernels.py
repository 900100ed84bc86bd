"""Kernels as text: maps, one thread an element, and reductions in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..expr.node import Node, format_graph
from ..expr.ops import OPS
from . import indexing
from .casts import loaded, number_type, register_type, stored
from .ctypes import PREAMBLE, c_type
from .printer import Printer
from .reductions import combination, identity
from .user_code import Link, called, definitions, links, wrappers

THREADS = 256
_WANTED_THREADS = 1 << 18
_WANTED_BLOCKS = 1 << 10
_LONGEST_SUM = 1 << 10
_SHORT_SUM = 128  # one thread does it alone
_TILE = 32
_MOST_INNER = 8

_LOOPS = r"""
#ifdef __CUDACC_RTC__
#define GRID_LOOP(i, total) for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; \
    i < total; i += (index_t)gridDim.x * blockDim.x)
#define BLOCK_LOOP(b, total) for (index_t b = blockIdx.x; b < total; b += gridDim.x)
#define THREAD (index_t)threadIdx.x
#define THREADS (index_t)blockDim.x
#define SHARED __shared__
#define SYNC __syncthreads()
#else
#define GRID_LOOP(i, total) for (index_t i = 0; i < total; ++i)
#define BLOCK_LOOP(b, total) for (index_t b = 0; b < total; ++b)
#define THREAD (index_t)0
#define THREADS (index_t)1
#define SHARED static
#define SYNC
#endif
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its source and how it is started.

    The parameters are the ``inputs`` in order (pointers, or double and complex numbers by value),
    then the output. ``blocks`` is a number of blocks of ``threads``; ``partials`` the elements of
    scratch that a following ``combine`` kernel adds up (0: the output is written). ``links`` is
    LTO-IR of users that the source is linked with.
    """

    name: str
    source: str
    inputs: tuple[Node, ...]
    output: Node
    blocks: int
    threads: int = THREADS
    partials: int = 0
    combine: Kernel | None = field(default=None)
    links: tuple[Link, ...] = ()


def map_kernel(
    name: str, output: Node, inputs: Sequence[Node], strides: dict[int, tuple[int, ...]]
) -> Kernel:
    """One thread for an element of ``output``.

    Parameters
    ----------
    name : str
        Of the C function.
    output : Node
        A map of the inputs.
    inputs : sequence of Node
        Operands, scalars and earlier values.
    strides : dict
        Of array inputs in items, by node identity.
    """
    tile = _tile(output)
    if tile is not None:
        return _tiled_kernel(name, output, inputs, strides, *tile)
    printer = _printer(inputs, strides)
    index = tuple(printer.index(p) for p in indexing.decompose("i", output.shape))
    printer.flat = (output.shape, index, "i")
    value = printer.element(output, index)
    body = [
        f"  GRID_LOOP(i, {output.size}) {{",
        "    ASSUME(i >= 0);",
        *printer.lines,
        f"    out[i] = {stored(value, output.dtype)};",
        "  }",
    ]
    source = _source(name, output, inputs, strides, body)
    blocks = max(1, min(-(-output.size // THREADS), 1 << 16))
    return Kernel(name, source, tuple(inputs), output, blocks, links=_links(output, inputs))


def _tile(output: Node) -> tuple[int, int] | None:
    """The two axes that a transpose at the end exchanges in memory: (read along, written along)."""
    node = _transpose_below(output)
    if node is None:
        return None
    last = node.ndim - 1
    while last > 0 and node.attr[last] == last:
        last -= 1
    inner = math.prod(node.shape[last + 1 :])
    read = node.attr.index(last)
    large = min(node.shape[read], node.shape[last]) >= _TILE
    return (read, last) if read != last and large and inner <= _MOST_INNER else None


def _transpose_below(output: Node) -> Node | None:
    """A transpose that the elements of the result are read through."""
    seen: set[int] = set()
    waiting = [output]
    while waiting:
        node = waiting.pop()
        if node.op == "transpose":
            return node
        if OPS[node.op].kind != "elementwise" or id(node) in seen:
            continue
        seen.add(id(node))
        waiting += [a for a in node.args if a.shape == node.shape]
    return None


def _tiled_kernel(
    name: str,
    output: Node,
    inputs: Sequence[Node],
    strides: dict[int, tuple[int, ...]],
    read: int,
    written: int,
) -> Kernel:
    """Tiles of 32 by 32, so that what is read along one axis and written along another shares
    sectors of memory."""
    shape = output.shape
    rows, columns = (-(-shape[a] // _TILE) for a in (read, written))
    others = [a for a in range(written) if a != read]
    inner = shape[written + 1 :]
    tiles = rows * columns * math.prod(shape[a] for a in others)
    printer = _printer(inputs, strides, indent=4)
    outer = indexing.decompose(f"(b / {rows * columns})", [shape[a] for a in others])
    where: dict[int, str] = {a: printer.index(t) for a, t in zip(others, outer, strict=True)}
    where |= {read: "p", written: "q"}
    deep = [printer.index(t) for t in indexing.decompose("d", inner)]
    index = tuple([where[a] for a in range(written + 1)] + deep)
    value = printer.element(output, index)
    place = indexing.horner(index, shape)
    body = [
        f"  BLOCK_LOOP(b, {tiles}) {{",
        "    ASSUME(b >= 0);",
        f"    for (index_t t = THREAD; t < {_TILE * _TILE}; t += THREADS) {{",
        f"      const index_t q = b % {columns} * {_TILE} + t % {_TILE};",
        f"      const index_t p = b / {columns} % {rows} * {_TILE} + t / {_TILE};",
        f"      if (q < {shape[written]} && p < {shape[read]})",
        f"      for (index_t d = 0; d < {math.prod(inner)}; ++d) {{",
        *printer.lines,
        f"        out[{place}] = {stored(value, output.dtype)};",
        "      }",
        "    }",
        "  }",
    ]
    source = _source(name, output, inputs, strides, body)
    blocks = max(1, min(tiles, 1 << 20))
    return Kernel(name, source, tuple(inputs), output, blocks, links=_links(output, inputs))


def reduction_kernel(
    name: str, output: Node, inputs: Sequence[Node], strides: dict[int, tuple[int, ...]]
) -> Kernel:
    """A sum, product, extremum or truth over axes, each partial result in a fixed order.

    Where the last axis is kept, a thread runs down a column; where it is reduced, a block runs
    along it. Long reductions are cut into pieces that a second kernel adds up in order.
    """
    arg, axes = output.args[0], output.attr[0]
    kept = [a for a in range(arg.ndim) if a not in axes]
    outs, length = output.size, math.prod(arg.shape[a] for a in axes)
    adjacent = bool(kept) and kept[-1] == arg.ndim - 1 and arg.shape[-1] > 1
    columns = adjacent or length < _SHORT_SUM
    pieces = _pieces(outs, length, columns)
    chunk = -(-length // pieces)
    pieces = -(-length // chunk)
    printer = _printer(inputs, strides, indent=3)
    out_index = indexing.decompose("o", [arg.shape[a] for a in kept])
    red_index = indexing.decompose("r", [arg.shape[a] for a in axes])
    where = dict(zip(kept, out_index, strict=True)) | dict(zip(axes, red_index, strict=True))
    value = printer.element(arg, tuple(printer.index(where[a]) for a in range(arg.ndim)))
    combine = combination(output)
    loop = _column_loop if columns else _row_loop
    body = loop(
        outs, pieces, chunk, length, output.dtype, identity(output), combine, printer.lines, value
    )
    source = _source(name, output, inputs, strides, body)
    blocks = outs * pieces if not columns else -(-outs * pieces // THREADS)
    blocks = max(1, min(blocks, 1 << 16))
    kernel = Kernel(name, source, tuple(inputs), output, blocks, links=_links(output, inputs))
    if pieces == 1:
        return kernel
    second = _combine_kernel(f"{name}_combine", output, outs, pieces, combine)
    return replace(kernel, partials=outs * pieces, combine=second)


def _links(output: Node, inputs: Sequence[Node]) -> tuple[Link, ...]:
    return links(called(output, inputs))


def _pieces(outs: int, length: int, columns: bool) -> int:
    parallel = _WANTED_THREADS if columns else _WANTED_BLOCKS
    least = 16 if columns else 4096
    wanted = -(-parallel // outs)
    if columns:
        wanted = max(wanted, -(-length // _LONGEST_SUM))
    return max(1, min(wanted, -(-length // least)))


def _row_loop(
    outs: int,
    pieces: int,
    chunk: int,
    length: int,
    dtype: np.dtype,
    identity: str,
    combine: str,
    lines: Sequence[str],
    value: str,
) -> list[str]:
    own = register_type(dtype)
    return [
        f"  SHARED {own} partial[{THREADS}];",
        f"  BLOCK_LOOP(b, {outs * pieces}) {{",
        "    ASSUME(b >= 0);",
        f"    const index_t c = b / {outs}, o = b % {outs};",
        f"    const index_t stop = (c + 1) * {chunk} < {length} ? (c + 1) * {chunk} : {length};",
        f"    {own} total = {identity};",
        f"    for (index_t r = c * {chunk} + THREAD; r < stop; r += THREADS) {{",
        "      ASSUME(r >= 0);",
        *lines,
        f"      total = {combine.format('total', value)};",
        "    }",
        "    partial[THREAD] = total;",
        "    SYNC;",
        "    for (index_t half = THREADS / 2; half > 0; half /= 2) {",
        "      if (THREAD < half)",
        f"        partial[THREAD] = {combine.format('partial[THREAD]', 'partial[THREAD + half]')};",
        "      SYNC;",
        "    }",
        f"    if (THREAD == 0) out[b] = {stored('partial[0]', dtype)};",
        "    SYNC;",
        "  }",
    ]


def _column_loop(
    outs: int,
    pieces: int,
    chunk: int,
    length: int,
    dtype: np.dtype,
    identity: str,
    combine: str,
    lines: Sequence[str],
    value: str,
) -> list[str]:
    own = register_type(dtype)
    return [
        f"  GRID_LOOP(b, {outs * pieces}) {{",
        "    ASSUME(b >= 0);",
        f"    const index_t c = b / {outs}, o = b % {outs};",
        f"    const index_t stop = (c + 1) * {chunk} < {length} ? (c + 1) * {chunk} : {length};",
        f"    {own} total = {identity};",
        f"    for (index_t r = c * {chunk}; r < stop; ++r) {{",
        "      ASSUME(r >= 0);",
        *lines,
        f"      total = {combine.format('total', value)};",
        "    }",
        f"    out[b] = {stored('total', dtype)};",
        "  }",
    ]


def _combine_kernel(name: str, output: Node, outs: int, pieces: int, combine: str) -> Kernel:
    own = register_type(output.dtype)
    more = loaded(f"partials[c * {outs} + o]", output.dtype)
    body = [
        f"  GRID_LOOP(o, {outs}) {{",
        f"    {own} total = {loaded('partials[o]', output.dtype)};",
        f"    for (index_t c = 1; c < {pieces}; ++c)",
        f"      total = {combine.format('total', more)};",
        f"    out[o] = {stored('total', output.dtype)};",
        "  }",
    ]
    kept = c_type(output.dtype)
    head = f"KERNEL {name}(const {kept}* partials, {kept}* out) {{"
    wide = outs * pieces >= 2**31
    source = _preamble(wide) + "\n".join([head, *body, "}"]) + "\n"
    return Kernel(name, source, (), output, max(1, min(-(-outs // THREADS), 1 << 16)))


def _printer(
    inputs: Sequence[Node], strides: dict[int, tuple[int, ...]], indent: int = 2
) -> Printer:
    return Printer(indexing.input_names(inputs), strides, indent=indent)


def _preamble(wide: bool) -> str:
    return f"typedef {'long long' if wide else 'int'} index_t;\n{PREAMBLE}{_LOOPS}\n"


def _source(
    name: str,
    output: Node,
    inputs: Sequence[Node],
    strides: dict[int, tuple[int, ...]],
    body: Sequence[str],
) -> str:
    parameters = []
    for k, node in enumerate(inputs):
        if node.op == "scalar":
            parameters.append(f"const {number_type(node.dtype)} p{k}")
        else:
            parameters.append(f"const {c_type(node.dtype)}* __restrict__ p{k}")
    parameters.append(f"{c_type(output.dtype)}* __restrict__ out")
    sizes = [
        output.size,
        indexing.largest_span(inputs, strides),
        *(2 * a.size for a in output.args[:1]),
    ]
    comment = "\n".join(f"// {line}" for line in format_graph([output]).splitlines())
    head = f"KERNEL {name}({', '.join(parameters)}) {{"
    functions = called(output, inputs)
    ahead = definitions(functions) + _preamble(max(sizes) >= 2**30) + wrappers(functions)
    return ahead + "\n".join([comment, head, *body, "}"]) + "\n"
