"""One kernel for rows: loads, transforms in registers and shared memory, stores, sums over rows.

The text is made of *phases* that a barrier separates. On the host a phase is a loop over the
threads of a block, so that the same text runs where there is no GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..expr.node import Node, format_graph
from . import indexing
from .casts import register_type, stored
from .ctypes import PREAMBLE, c_type
from .fft.shape import BlockFFT
from .fft.stockham import phases
from .printer import Printer
from .reductions import combination, identity
from .rows import (
    ELEMENT,
    Result,
    Rows,
    load_printer,
    register,
    staged_element,
)

_WIDE = 2**30

_MACROS = r"""
#ifdef __CUDACC_RTC__
#define ROW_KERNEL extern "C" __global__ void __launch_bounds__(THREADS)
#define BLOCK Registers r; extern __shared__ __align__(16) char shared_[]; \
  const int thread_ = threadIdx.x; \
  const index_t group_ = blockIdx.x, split_ = blockIdx.y, splits_ = gridDim.y;
#define PHASE {
#define PHASE_END } __syncthreads();
#define OPAQUE(p) asm volatile("" : "+l"(p))
#else
#define ROW_KERNEL static void
#define BLOCK static Registers all_[THREADS]; alignas(16) static char shared_[SHARED]; \
  const index_t group_ = block_x_, split_ = block_y_, splits_ = grid_y_;
#define PHASE for (int place_ = 0; place_ < THREADS; ++place_) { \
  const int thread_ = thread_order_(place_); Registers& r = all_[thread_];
#define PHASE_END }
#define OPAQUE(p)
static long long block_x_, block_y_, grid_y_;
static int thread_order_(int place) {
  return THREAD_ORDER == 0 ? place : THREAD_ORDER == 1 ? THREADS - 1 - place
    : (int)((place * 7919LL + 3) % THREADS); }
#ifndef THREAD_ORDER
#define THREAD_ORDER 0
#endif
#endif
"""


@dataclass(frozen=True, slots=True)
class RowShape:
    """How a block shares out the work.

    Attributes
    ----------
    ffts : tuple of BlockFFT
        One for each transform, all of the same number of threads.
    together : int
        Rows of a block.
    columns : bool
        Are neighbouring threads at neighbouring rows, rather than elements of one row?
    order : tuple of str
        The axes of the batch as rows are counted, the last one fastest.
    crossed : tuple of bool
        For each result: is it written along rows although it is read along elements, or the
        other way round? It then goes through shared memory once more.
    """

    ffts: tuple[BlockFFT, ...]
    together: int
    columns: bool
    order: tuple[str, ...]
    crossed: tuple[bool, ...]

    @property
    def row_threads(self) -> int:
        """Threads of one row."""
        return self.ffts[0].threads

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.row_threads * self.together


@dataclass(frozen=True, slots=True)
class RowKernel:
    """The kernel and how it is started.

    Its parameters are the ``inputs`` in order, the ``outputs`` (or partial results of sums), and
    the tables of twiddles of ``tables``. ``groups`` blocks in x take the rows that are kept apart;
    where ``reduced`` is not 0, blocks in y share out as many rows (or groups of ``together`` rows
    if ``grouped``) that are reduced, and each writes partial results for ``combine`` to add up.
    """

    name: str
    source: str
    shape: RowShape
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    sums: tuple[bool, ...]
    groups: int
    reduced: int
    reduced_together: int
    shared_bytes: int
    tables: tuple[BlockFFT, ...]
    combine: str

    @property
    def threads(self) -> int:
        return self.shape.threads

    @property
    def most_splits(self) -> int:
        """Blocks in y that find something to do."""
        return max(1, -(-self.reduced // self.reduced_together))


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
    text = _Text(name, rows, shape, strides)
    sums = tuple(bool(r.reduced) for r in rows.results)
    return RowKernel(
        name,
        text.source(),
        shape,
        rows.problem.inputs,
        tuple(r.output for r in rows.results),
        sums,
        -(-text.kept_rows // text.kept_together),
        text.reduced_rows if any(sums) else 0,
        text.reduced_together,
        text.shared_bytes,
        text.tables,
        text.combine_source() if any(sums) else "",
    )


class _Text:
    """Builds the text; each method gives lines."""

    def __init__(
        self, name: str, rows: Rows, shape: RowShape, strides: dict[int, tuple[int, ...]]
    ) -> None:
        self.name, self.rows, self.shape, self.strides = name, rows, shape, strides
        self.reduced = next((r.reduced for r in rows.results if r.reduced), ())
        self.kept = [n for n in shape.order if n not in self.reduced]
        self.over = [n for n in shape.order if n in self.reduced]
        self.kept_rows = math.prod(rows.batch[n] for n in self.kept)
        self.reduced_rows = math.prod(rows.batch[n] for n in self.over)
        lead_is_reduced = bool(shape.order) and shape.order[-1] in self.reduced
        spread = bool(self.reduced) and (not shape.columns or lead_is_reduced)
        self.kept_together = 1 if spread else shape.together
        self.reduced_together = shape.together if spread else 1
        self.double = rows.transforms[0].dtype.char in "dD"
        self.real = "double" if self.double else "float"

    # ---- sizes

    @cached_property
    def pitch(self) -> int:
        """Reals of shared memory of one row; an odd number of pairs keeps rows apart in banks."""
        reals = max(f.shared_reals for f in self.shape.ffts)
        for number, node in enumerate(self.rows.transforms):
            if number in self.rows.staged or self._is_crossed(number):
                reals = max(reals, 2 * node.shape[self.rows.axis])
        if self.shape.together > 1 and reals:
            reals += 2 - reals % 2 if reals // 2 % 2 == 0 else reals % 2
        return reals

    def _is_crossed(self, number: int) -> bool:
        pairs = zip(self.rows.results, self.shape.crossed, strict=True)
        return any(crossed and r.last == number for r, crossed in pairs)

    @property
    def shared_bytes(self) -> int:
        """Of a block."""
        exchange = self.shape.together * self.pitch * (8 if self.double else 4)
        sums = 0
        if self.reduced_together > 1:
            sums = max(self._sum_bytes(r) for r in self.rows.results if r.reduced)
        return max(exchange, sums)

    def _sum_bytes(self, result: Result) -> int:
        extent = self.rows.transforms[result.last].shape[self.rows.axis]
        return (
            self.shape.together
            * extent
            * result.output.dtype.itemsize
            * (2 if result.output.dtype.char == "e" else 1)
        )

    @property
    def tables(self) -> tuple[BlockFFT, ...]:
        """Different tables of twiddles, in order."""
        return tuple(dict.fromkeys(f for f in self.shape.ffts if f.twiddles))

    # ---- the whole

    def source(self) -> str:
        """The kernel."""
        comment = [f"// {line}" for line in format_graph(self.rows.problem.outputs).splitlines()]
        wide = "long long" if self._is_wide() else "int"
        head = [
            f"#define THREADS {self.shape.threads}",
            f"#define SHARED {max(self.shared_bytes, 16)}",
            f"typedef {wide} index_t;{PREAMBLE}{_MACROS}",
            *comment,
            "struct Registers {",
            *(f"  {line}" for line in self._registers()),
            "};",
            f"ROW_KERNEL {self.name}({', '.join(self._parameters())}) {{",
            "  BLOCK",
        ]
        return "\n".join([*head, *self._body(), "}"]) + "\n"

    def _is_wide(self) -> bool:
        nodes = [*self.rows.problem.inputs, *self.rows.problem.outputs, *self.rows.transforms]
        spans = [
            sum((n - 1) * abs(s) for n, s in zip(node.shape, self.strides[id(node)], strict=True))
            for node in self.rows.problem.inputs
            if id(node) in self.strides
        ]
        return max([2 * n.size for n in nodes] + spans) >= 2 * _WIDE

    def _registers(self) -> list[str]:
        lines = [
            f"complex_t<{self.real}> x{k}[{f.registers}];" for k, f in enumerate(self.shape.ffts)
        ]
        for k, result in enumerate(self.rows.results):
            if result.reduced:
                own = register_type(result.output.dtype)
                lines.append(f"{own} total{k}[{self.shape.ffts[result.last].elements}];")
        return lines

    def _parameters(self) -> list[str]:
        found = []
        for k, node in enumerate(self.rows.problem.inputs):
            if node.op == "scalar":
                kind = "complex_t<double>" if node.dtype.kind == "c" else "double"
                found.append(f"const {kind} p{k}")
            else:
                found.append(f"const {c_type(node.dtype)}* __restrict__ g{k}")
        for k, result in enumerate(self.rows.results):
            found.append(f"{c_type(result.output.dtype)}* __restrict__ out{k}")
        for k, _ in enumerate(self.tables):
            found.append(f"const complex_t<{self.real}>* __restrict__ table{k}")
        return found

    def _pointers(self, opaque: bool) -> list[str]:
        """Names of the addresses; opaque ones keep loads in a loop where they stand, instead of
        in registers before it."""
        lines = []
        for k, node in enumerate(self.rows.problem.inputs):
            if node.op != "scalar":
                lines.append(f"const {c_type(node.dtype)}* __restrict__ p{k} = g{k};")
                lines += [f"OPAQUE(p{k});"] if opaque else []
        for k, _ in enumerate(self.tables):
            lines.append(f"const complex_t<{self.real}>* tw{k} = table{k};")
            lines += [f"OPAQUE(tw{k});"] if opaque else []
        return lines

    def _body(self) -> list[str]:
        if not self.reduced:
            return _indented([*self._pointers(False), *self._row_phases()])
        step = self.reduced_together
        return _indented(
            [
                *self._zeros(),
                f"for (index_t first_ = split_ * {step}; first_ < {self.reduced_rows};"
                f" first_ += splits_ * {step}) {{",
                *_indented([*self._pointers(True), *self._row_phases()]),
                "}",
                *self._flush(),
            ]
        )

    # ---- phases

    def _phase(self, lines: Sequence[str]) -> list[str]:
        """A phase with the thread's place in it."""
        names = [*self._place(), *self._row_names()]
        return ["PHASE", *_indented([*names, *lines]), "PHASE_END"]

    def _place(self) -> list[str]:
        """The thread's row in the block and its number in the row."""
        together, threads = self.shape.together, self.shape.row_threads
        if self.shape.columns:
            t, f = f"thread_ / {together}", f"thread_ % {together}"
        else:
            t, f = f"thread_ % {threads}", f"thread_ / {threads}"
        return [f"const int t = {t}, f = {f};"]

    def _row_names(self, over: bool = True) -> list[str]:
        """Names of the indices of row ``f`` of the block, and whether there is such a row."""
        kept = f"group_ * {self.kept_together}" if self.kept_together > 1 else "group_"
        reduced = "first_"
        kept += " + f" if self.kept_together > 1 else ""
        reduced += " + f" if self.reduced_together > 1 else ""
        lines = [f"{self.real}* const s = ({self.real}*)shared_ + f * {self.pitch};"]
        lives = []
        for name, text, axes, total, together in (
            ("kept_", kept, self.kept, self.kept_rows, self.kept_together),
            ("over_", reduced, self.over if over else [], self.reduced_rows, self.reduced_together),
        ):
            if not axes:
                continue
            lines += [f"const index_t {name} = {text};", f"ASSUME({name} >= 0);"]
            parts = indexing.decompose(name, [self.rows.batch[a] for a in axes])
            lines += [f"const index_t {a} = {p};" for a, p in zip(axes, parts, strict=True)]
            if total % together:
                lives.append(f"{name} < {total}")
        if not self.kept and self.kept_together > 1:
            lives.append("f == 0")
        return [*lines, f"const bool live_ = {' && '.join(lives) or 'true'};"]

    def _row_phases(self) -> list[str]:
        """All that is done for the rows of a block."""
        pending: list[str] = []
        lines: list[str] = []

        def close() -> None:
            lines.extend(self._phase(pending))
            pending.clear()

        for number, node in enumerate(self.rows.transforms):
            fft = self.shape.ffts[number]
            pending += self._load(number)
            if number and (number - 1 in self.rows.staged or fft.exchanges):
                close()
            own = phases(fft, node.attr.sign, f"r.x{number}", "s", f"tw{self._table(number)}")
            for k, part in enumerate(own):
                if k:
                    close()
                pending += ["{", *_indented(part), "}"]
            if number in self.rows.staged:
                close()
                pending += self._stage(number)
                close()
            for k, result in enumerate(self.rows.results):
                if result.last != number:
                    continue
                if not self.shape.crossed[k]:
                    pending += self._each(number, self._stored(k, f"r.x{number}"))
                    continue
                if number not in self.rows.staged:
                    close()
                    pending += self._stage(number)
                    close()
                lines += ["PHASE", *_indented(self._crossed_store(k)), "PHASE_END"]
        close()
        return lines

    def _table(self, number: int) -> int:
        fft = self.shape.ffts[number]
        return self.tables.index(fft) if fft in self.tables else 0

    def _load(self, number: int) -> list[str]:
        """What a transform reads, into registers."""
        node, fft = self.rows.transforms[number], self.shape.ffts[number]
        printer = load_printer(self.rows, number, self.strides, set(self.rows.staged))
        half = node.attr.kind == "c2r"
        value = printer.element(node.args[0], self.rows.index("h" if half else ELEMENT))
        target = f"r.x{number}[i]"
        lines = [f"const index_t e = t + i * {fft.threads};"]
        if half:
            n = node.attr.n
            edge = f"h == 0 || h * 2 == {n}"
            lines += [f"const index_t h = e * 2 <= {n} ? e : {n} - e;", *_stripped(printer)]
            lines.append(f"{target}.re = {value}.re;")
            lines.append(f"{target}.im = {edge} ? 0 : h == e ? {value}.im : -{value}.im;")
        elif node.args[0].dtype.kind == "c":
            lines += [*_stripped(printer), f"{target} = {value};"]
        else:
            lines += [*_stripped(printer), f"{target} = make<{self.real}>({value}, 0);"]
        return [
            "if (live_) {",
            "#pragma unroll",
            f"for (int i = 0; i < {fft.elements}; ++i) {{",
            *_indented(lines),
            "}",
            "}",
        ]

    def _each(self, number: int, lines: Sequence[str]) -> list[str]:
        """Lines for each element that the thread holds."""
        node, fft = self.rows.transforms[number], self.shape.ffts[number]
        extent = node.shape[self.rows.axis]
        count = -(-extent // fft.threads)
        guard = (
            ["if (live_) {"]
            if extent == count * fft.threads
            else [f"if (live_ && e < {extent}) {{"]
        )
        return [
            "#pragma unroll",
            f"for (int i = 0; i < {count}; ++i) {{",
            *_indented(
                [f"const index_t e = t + i * {fft.threads};", *guard, *_indented(lines), "}"]
            ),
            "}",
        ]

    def _stage(self, number: int) -> list[str]:
        """A transform's values to shared memory, in order."""
        fft = self.shape.ffts[number]
        node = self.rows.transforms[number]
        extent = node.shape[self.rows.axis]
        count = -(-extent // fft.threads)
        guard = "" if extent == count * fft.threads else f"if (e < {extent}) "
        return [
            "#pragma unroll",
            f"for (int i = 0; i < {count}; ++i) {{",
            f"  const int e = t + i * {fft.threads};",
            f"  {guard}((complex_t<{self.real}>*)s)[e] = r.x{number}[i];",
            "}",
        ]

    # ---- results

    def _printer(self, result: Result, crossed: bool) -> Printer:
        names = {id(n): f"p{k}" for k, n in enumerate(self.rows.problem.inputs)}
        printer = Printer(names, self.strides, indent=0)
        for number in result.spectra:
            node = self.rows.transforms[number]
            text = staged_element(node, ELEMENT) if crossed else register(node, number)
            printer.held[id(node)] = lambda index, text=text: text  # type: ignore[misc]
        return printer

    def _stored(self, k: int, registers: str, crossed: bool = False) -> list[str]:
        """One element of a result: stored, or added to the thread's total."""
        result = self.rows.results[k]
        lines: list[str] = []
        for placement in result.placements:
            printer = self._printer(result, crossed)
            printer.placed = dict(placement.index)
            for t in result.spectra:
                printer.placed.pop(id(self.rows.transforms[t]), None)
            printer.placed = {
                i: tuple(printer.index(text) for text in index)
                for i, index in printer.placed.items()
            }
            own = placement.index[id(result.value)]
            index = printer.placed.get(id(result.value), own)
            value = printer.element(result.value, index)
            if result.reduced:
                total = f"r.total{k}[i]"
                combined = combination(result.output).format(total, value)
                end = f"{total} = {combined};"
            else:
                place = indexing.horner(index, result.output.shape)
                end = f"out{k}[{place}] = {stored(value, result.output.dtype)};"
            guard = " && ".join(f"({g})" for g in placement.guards)
            lines += [f"if ({guard}) {{" if guard else "{", *_indented([*printer.lines, end]), "}"]
        return lines

    def _crossed_store(self, k: int) -> list[str]:
        """A result read from shared memory and written along the other direction."""
        result = self.rows.results[k]
        extent = self.rows.transforms[result.last].shape[self.rows.axis]
        together = self.shape.together
        f, e = (
            (f"q % {together}", f"q / {together}")
            if not self.shape.columns
            else (f"q / {extent}", f"q % {extent}")
        )
        return [
            "#pragma unroll 4",
            f"for (int q = thread_; q < {extent * together}; q += THREADS) {{",
            *_indented(
                [
                    f"const int f = {f}, e = {e};",
                    *self._row_names(),
                    "if (live_) {",
                    *_indented(self._stored(k, "", crossed=True)),
                    "}",
                ]
            ),
            "}",
        ]

    # ---- sums over rows

    def _zeros(self) -> list[str]:
        lines = []
        for k, result in enumerate(self.rows.results):
            if result.reduced:
                count = self.shape.ffts[result.last].elements
                lines += [
                    "#pragma unroll",
                    f"for (int i = 0; i < {count}; ++i) r.total{k}[i] = {identity(result.output)};",
                ]
        return ["PHASE", *_indented(lines), "PHASE_END"]

    def _flush(self) -> list[str]:
        """Totals of a block to memory, those of its rows added in order."""
        lines: list[str] = []
        for k, result in enumerate(self.rows.results):
            if not result.reduced:
                continue
            if self.reduced_together == 1:
                partial = self._each(result.last, self._partial(k, f"r.total{k}[i]"))
                names = [*self._place(), *self._row_names(over=False)]
                lines += ["PHASE", *_indented([*names, *partial]), "PHASE_END"]
                continue
            own = register_type(result.output.dtype)
            extent = self.rows.transforms[result.last].shape[self.rows.axis]
            shared = f"(({own}*)shared_)"
            kept = self._each(result.last, [f"{shared}[f * {extent} + e] = r.total{k}[i];"])
            names = [*self._place(), "const bool live_ = true;"]
            lines += ["PHASE", *_indented([*names, *kept]), "PHASE_END"]
            total = combination(result.output).format("total", f"{shared}[f * {extent} + e]")
            lines += [
                "PHASE",
                *_indented(
                    [
                        f"for (int e = thread_; e < {extent}; e += THREADS) {{",
                        *_indented(
                            [
                                f"{own} total = {shared}[e];",
                                f"for (int f = 1; f < {self.shape.together}; ++f) total = {total};",
                                *self._kept_names(),
                                *self._partial(k, "total"),
                            ]
                        ),
                        "}",
                    ]
                ),
                "PHASE_END",
            ]
        return lines

    def _kept_names(self) -> list[str]:
        parts = indexing.decompose("group_", [self.rows.batch[a] for a in self.kept])
        return [f"const index_t {a} = {p};" for a, p in zip(self.kept, parts, strict=True)]

    def _partial(self, k: int, value: str) -> list[str]:
        result = self.rows.results[k]
        (placement,) = result.placements
        index = placement.index[id(result.value)]
        kept = [index[a] for a in range(result.value.ndim) if a not in result.output.attr[0]]
        shape = [n for a, n in enumerate(result.value.shape) if a not in result.output.attr[0]]
        place = indexing.horner(kept, shape)
        guard = " && ".join(f"({g})" for g in placement.guards)
        text = f"out{k}[split_ * {result.output.size} + {place}] = " + (
            f"{stored(value, result.output.dtype)};"
        )
        return [f"if ({guard}) {text}" if guard else text]

    def combine_source(self) -> str:
        """Kernels that add up the partial results of each reduction, in a fixed order."""
        found = []
        for k, result in enumerate(self.rows.results):
            if result.reduced:
                found.append(_combine(f"{self.name}_combine{k}", result.output))
        return f"typedef long long index_t;{PREAMBLE}{_COMBINE_MACROS}" + "\n".join(found)


_COMBINE_MACROS = r"""
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


def _stripped(printer: Printer) -> list[str]:
    return [line.strip() for line in printer.lines]


def _indented(lines: Sequence[str]) -> list[str]:
    return [line if line.startswith("#") else f"  {line}" for line in lines]
