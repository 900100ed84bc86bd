"""One block of a problem as generated NumPy code: a straight line of calls that write into buffers.

The text is Python, compiled once per plan and shown by ``source``. Every call names its output: a
buffer of the thread, an argument that is no longer needed, or the result array itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..expr.chain import Problem
from ..expr.index import AxisMap
from ..expr.key import Index, NewAxis
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS, ufunc_of
from ..runtime.pocketfft import TRANSFORMS, scale_mode
from .blocking import Blocking, Extent
from .numpy_ops import node_function

ALIASES = {"transpose", "reshape", "pairs", "unpair", "real", "imag", "broadcast_to"}


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of a thread: axes in terms of loops, dtype, and the region whose memory it is."""

    axes: tuple[Extent, ...]
    dtype: np.dtype
    region: int

    def shape(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """For blocks of these lengths."""
        return tuple(
            e.size if e.loop is None else lengths[e.loop] + e.after - e.before for e in self.axes
        )


@dataclass(frozen=True, slots=True)
class Tape:
    """``block(L, B, O, first, W, *bounds)`` computes one block.

    L: values made once a call (views, tables, invariants), in the order of ``leaves``.
    B: arrays for ``buffers``. O: result arrays or accumulators in the order of the outputs.
    """

    source: str
    block: Callable[..., None] = field(repr=False)
    leaves: tuple[Node, ...]
    buffers: tuple[Buffer, ...]
    reshaped: tuple[tuple[str, Any], ...]


def as_pairs(a: Any, dtype: Any) -> Any:
    """View with another item size; a copy only where the last axis is not contiguous."""
    if a.ndim and a.shape[-1] > 1 and a.strides[-1] != a.itemsize or a.size == 0:
        a = np.ascontiguousarray(a)
    return a.view(dtype)


def write_tape(problem: Problem, blocking: Blocking, once: frozenset[int]) -> Tape:
    """Generate the code of one block; ``once`` are the values made before the loop."""
    return _Writer(problem, blocking, once).tape()


class _Writer:
    def __init__(self, problem: Problem, blocking: Blocking, once: frozenset[int]) -> None:
        self.problem, self.blocking, self.once = problem, blocking, once
        self.nodes = [n for n in problem.nodes if id(n) not in once]
        self.place = {id(n): p for p, n in enumerate(self.nodes)}
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"copyto": np.copyto, "as_pairs": as_pairs, "np": np}
        self.text: dict[int, str] = {}
        self.region: dict[int, int | None] = {}
        self.leaves: list[Node] = []
        self.buffers: list[Buffer] = []
        self.regions: dict[tuple[Any, ...], list[int]] = {}
        self.region_count = 0
        self.members: dict[int, list[Node]] = {}
        self.until = self._live_until()
        self.targets, self.reshaped = self._output_targets()

    def tape(self) -> Tape:
        for position, node in enumerate(self.nodes):
            self._emit(node, position)
        self._copy_outputs()
        bounds = "".join(f", lo{k}, hi{k}" for k in range(len(self.blocking.loops)))
        head = [f"def block(L, B, O, first, W{bounds}):"]
        for letter, count in (("L", len(self.leaves)), ("B", len(self.buffers))):
            if count:
                head.append("    " + "".join(f"{letter}{i}, " for i in range(count)) + f"= {letter}")
        head.append("    " + "".join(f"O{i}, " for i in range(len(self.problem.outputs))) + "= O")
        source = "\n".join(head + ["    " + line for line in self.lines]) + "\n"
        namespace = dict(self.names)
        exec(compile(source, "<fft_fused block>", "exec"), namespace)  # noqa: S102
        return Tape(
            source, namespace["block"], tuple(self.leaves), tuple(self.buffers), self.reshaped
        )

    # ---- where results go

    def _live_until(self) -> dict[int, int]:
        end = len(self.nodes)
        until: dict[int, int] = {}
        outputs = {id(o) for o in self.problem.outputs}
        for position in range(end - 1, -1, -1):
            node = self.nodes[position]
            last = end if id(node) in outputs else position
            for user in self.problem.users[id(node)]:
                if id(user) not in self.place:
                    continue
                last = max(last, self.place[id(user)])
                if self._aliases(user):
                    last = max(last, until[id(user)])
            until[id(node)] = last
        return until

    def _aliases(self, node: Node) -> bool:
        if node.op == "remap":
            return bool(node.attr[1].is_slice)
        return node.op in ALIASES and (node.op not in ("real", "imag") or _complex_arg(node))

    def _output_targets(self) -> tuple[dict[int, int], tuple[tuple[str, Any], ...]]:
        """Which values are computed straight into a result, seen through a final transpose."""
        targets: dict[int, int] = {}
        reshaped: list[tuple[str, Any]] = []
        for k, output in enumerate(self.problem.outputs):
            node, how = output, ("", None)
            arg = node.args[0] if node.args else node
            movable = (
                id(arg) in self.place
                and len(self.problem.users[id(arg)]) == 1
                and arg not in self.problem.outputs
            )
            if node.op == "transpose" and movable:
                node, how = arg, ("transpose", tuple(np.argsort(node.attr).tolist()))
            elif node.op == "reshape" and movable:
                node, how = arg, ("reshape", arg.shape)
            if id(node) in self.place and id(node) not in targets:
                targets[id(node)] = k
                if node is not output:
                    self.place.pop(id(output), None)
                    self.nodes = [n for n in self.nodes if n is not output]
            else:
                how = ("", None)
            reshaped.append(how)
        self.place = {id(n): p for p, n in enumerate(self.nodes)}
        self.until = self._live_until()
        return targets, tuple(reshaped)

    def _slices(self, node: Node) -> str:
        parts = []
        for extent in self.blocking.axes[id(node)]:
            if extent.loop is None:
                parts.append(":")
            else:
                low = f"lo{extent.loop}" + (f"+{extent.before}" if extent.before else "")
                high = f"hi{extent.loop}" + (f"+{extent.after}" if extent.after else "")
                parts.append(f"{low}:{high}")
        while parts and parts[-1] == ":":
            parts.pop()
        return f"[{', '.join(parts)}]" if parts else ""

    def _result(self, node: Node) -> str:
        return f"O{self.targets[id(node)]}{self._slices(node)}"

    def _buffer(self, node: Node, position: int) -> str:
        axes, size = self.blocking.axes[id(node)], node.dtype.itemsize
        pool = self.regions.setdefault((axes, size), [])
        region = next((r for r in pool if self._is_free(r, position)), None)
        if region is None:
            region, self.region_count = self.region_count, self.region_count + 1
            pool.append(region)
        self._own(node, region)
        return self._array(axes, node.dtype, region)

    def _array(self, axes: tuple[Extent, ...], dtype: np.dtype, region: int) -> str:
        wanted = Buffer(axes, dtype, region)
        if wanted not in self.buffers:
            self.buffers.append(wanted)
        return f"B{self.buffers.index(wanted)}"

    def _own(self, node: Node, region: int | None) -> None:
        self.region[id(node)] = region
        if region is not None:
            self.members.setdefault(region, []).append(node)

    def _is_free(self, region: int, position: int) -> bool:
        return all(self.until[id(m)] < position for m in self.members.get(region, []))

    def _dies(self, arg: Node, position: int) -> bool:
        """Is this the last use of the memory the argument lies in?"""
        region = self.region.get(id(arg))
        return region is not None and all(
            self.until[id(m)] <= position for m in self.members[region]
        )

    def _destination(self, node: Node, position: int, inplace: tuple[Node, ...] = ()) -> str:
        if id(node) in self.targets:
            self._own(node, None)
            return self._result(node)
        axes = self.blocking.axes[id(node)]
        for arg in inplace:
            same = self.blocking.axes[id(arg)] == axes and arg.shape == node.shape
            if same and arg.dtype.itemsize == node.dtype.itemsize and self._dies(arg, position):
                if self.text[id(arg)].startswith("v") and arg.dtype == node.dtype:
                    self._own(node, self.region[id(arg)])
                    return self.text[id(arg)]
        return self._buffer(node, position)

    # ---- values

    def _value(self, node: Node) -> str:
        """The text that names the block of a value."""
        if id(node) in self.text:
            return self.text[id(node)]
        if node.op == "const":
            name = f"k{sum(n.startswith('k') for n in self.names)}"
            self.names[name] = node.attr.value
            text = name
        else:
            name = f"L{len(self.leaves)}"
            self.leaves.append(node)
            slices = self._slices(node)
            text = name
            if slices:
                text = f"x{len(self.leaves) - 1}"
                self.lines.append(f"{text} = {name}{slices}")
        self.region[id(node)] = None
        self.text[id(node)] = text
        return text

    def _function(self, name: str, function: Any) -> str:
        self.names[name] = function
        return name

    def _emit(self, node: Node, position: int) -> None:
        args = [self._value(a) for a in node.args]
        self.text[id(node)] = f"v{position}"
        kind = OPS[node.op].kind
        special = getattr(self, f"_emit_{node.op}", None)
        if special is not None:
            special(node, position, *args)
        elif self._aliases(node):
            self._emit_alias(node, position, args[0])
        elif kind == "elementwise":
            self._emit_elementwise(node, position, args)
        elif kind == "reduce":
            self._emit_reduce(node, position, args[0])
        else:
            raise NotImplementedError(f"numpy_blocked offered {node.op}")

    def _line(self, node: Node, position: int, call: str) -> None:
        self.lines.append(f"v{position} = {call}")

    def _emit_elementwise(self, node: Node, position: int, args: list[str]) -> None:
        ufunc = ufunc_of(node.op)
        function = ufunc if ufunc is not None else OPS[node.op].numpy
        name = self._function(node.op, function)
        safe = node.args if ufunc is not None or node.op == "abs2" else ()
        out = self._destination(node, position, safe)
        self._line(node, position, f"{name}({', '.join(args)}, out={out})")

    def _emit_astype(self, node: Node, position: int, arg: str) -> None:
        out = self._destination(node, position)
        if node.args[0].dtype.kind == "c" and node.dtype.kind != "c":
            arg += ".real"
        self._line(node, position, out)
        self.lines.append(f"copyto(v{position}, {arg}, casting='unsafe')")

    def _emit_alias(self, node: Node, position: int, arg: str) -> None:
        self._own(node, self.region[id(node.args[0])])
        match node.op:
            case "real" | "imag":
                call = f"{arg}.{node.op}"
            case "transpose":
                call = f"{arg}.transpose({node.attr})"
            case "pairs" | "unpair":
                name = self._function(f"dtype_{node.dtype.name}", node.dtype)
                call = f"as_pairs({arg}, {name})"
            case "broadcast_to":
                call = f"np.broadcast_to({arg}, {self._shape(node)})"
            case _:
                call = f"{arg}.reshape({self._shape(node)})"
        if id(node) in self.targets:
            out = self._result(node)
            self.lines.append(f"copyto({out}, {call})")
            self._line(node, position, out)
        else:
            self._line(node, position, call)

    def _shape(self, node: Node) -> str:
        dims = [
            str(e.size) if e.loop is None else f"hi{e.loop}-lo{e.loop}+{e.after - e.before}"
            for e in self.blocking.axes[id(node)]
        ]
        return "(" + "".join(f"{d}, " for d in dims) + ")"

    def _emit_remap(self, node: Node, position: int, arg: str) -> None:
        axis, mapping, fill = node.attr
        if mapping.is_slice:
            self._emit_slice(node, position, arg, axis, mapping)
            return
        out = self._destination(node, position)
        self._line(node, position, out)
        for low, high, piece in pieces(mapping):
            if piece is None:
                source = self._function(f"f{position}", fill.value)
            else:
                source = f"{arg}{_at(axis, *piece)}"
            self.lines.append(f"v{position}{_at(axis, low, high)} = {source}")

    def _emit_slice(
        self, node: Node, position: int, arg: str, axis: int, mapping: AxisMap
    ) -> None:
        own, source = (self.blocking.axes[id(n)][axis] for n in (node, node.args[0]))
        if own.loop is not None:
            start = mapping.pieces[0].start or 0
            low = start - source.before
            call = f"{arg}{_at(axis, low, f'hi{own.loop}-lo{own.loop}+{low}')}"
        else:
            part = next((p for _, _, p in pieces(mapping)), (0, 0))
            assert part is not None
            call = f"{arg}{_at(axis, *part)}"
        self._own(node, self.region[id(node.args[0])])
        if id(node) in self.targets:
            out = self._result(node)
            self.lines.append(f"copyto({out}, {call})")
            call = out
        self._line(node, position, call)

    def _emit_update(self, node: Node, position: int, base: str, value: str) -> None:
        out = self._destination(node, position, (node.args[0],))
        self._line(node, position, out)
        if out != base:
            self.lines.append(f"copyto(v{position}, {base})")
        parts = []
        for entry in node.attr:
            if isinstance(entry, NewAxis):
                parts.append("None")
            elif isinstance(entry, Index):
                parts.append(str(entry.at))
            else:
                parts.append(":")
                axis = len([p for p in parts if p != "None"]) - 1
                if not entry.whole(node.shape[axis]):
                    s = entry.slice()
                    parts[-1] = f"{s.start}:{'' if s.stop is None else s.stop}:{s.step}"
        self.lines.append(f"v{position}[{', '.join(parts)}] = {value}")

    def _emit_concat(self, node: Node, position: int, *args: str) -> None:
        self._line(node, position, self._destination(node, position))
        low = 0
        for text, arg in zip(args, node.args, strict=True):
            high = low + arg.shape[node.attr]
            self.lines.append(f"v{position}{_at(node.attr, low, high)} = {text}")
            low = high

    def _emit_dft(self, node: Node, position: int, arg: str) -> None:
        spec = node.attr
        name = self._function(spec.kind, TRANSFORMS[spec.kind])
        inplace = node.args if spec.kind == "c2c" else ()
        out = self._destination(node, position, inplace)
        mode = scale_mode(spec.scale, spec.n)
        call = f"{name}({arg}, {spec.axis}, {spec.n}, {spec.sign < 0}, {mode}, {out}, W)"
        self._line(node, position, call)

    def _emit_transform(self, node: Node, position: int, arg: str) -> None:
        name = self._function(f"transform{position}", node_function(node))
        out = self._destination(node, position)
        self._line(node, position, out)
        self.lines.append(f"copyto(v{position}, {name}({arg}))")

    def _emit_reduce(self, node: Node, position: int, arg: str) -> None:
        axes = node.attr[0]
        if node.op not in COMMUTATIVE_REDUCTIONS:
            name = self._function(node.op, OPS[node.op].numpy)
            out = self._destination(node, position)
            self._line(node, position, f"{name}({arg}, axis={axes[0]}, out={out})")
            return
        ufunc = COMMUTATIVE_REDUCTIONS[node.op]
        name = self._function(f"{ufunc.__name__}_reduce", ufunc.reduce)
        looped = any(self.blocking.axes[id(node.args[0])][a].loop is not None for a in axes)
        out = self._destination(node, position)
        if not looped:
            self._line(node, position, f"{name}({arg}, axis={axes}, out={out})")
            return
        combine = self._function(ufunc.__name__, ufunc)
        self.lines += [
            f"v{position} = {out}",
            "if first:",
            f"    {name}({arg}, axis={axes}, out=v{position})",
            "else:",
            f"    {combine}(v{position}, {name}({arg}, axis={axes}), out=v{position})",
        ]

    def _copy_outputs(self) -> None:
        for k, output in enumerate(self.problem.outputs):
            if self.targets.get(id(output)) == k or self.reshaped[k][0]:
                continue
            value = self._value(output)
            self.lines.append(f"copyto(O{k}{self._slices(output)}, {value})")


def _complex_arg(node: Node) -> bool:
    return node.args[0].dtype.kind == "c"


def _at(axis: int, low: Any, high: Any, step: int = 1) -> str:
    stop = "" if isinstance(high, int) and high < 0 else high
    text = f"{low}:{stop}" + (f":{step}" if step != 1 else "")
    return "[" + ":, " * axis + text + "]"


def pieces(mapping: AxisMap) -> list[tuple[int, int, tuple[int, int, int] | None]]:
    """``(low, high, (start, stop, step) or None for fill)`` per piece, in output order."""
    found: list[tuple[int, int, tuple[int, int, int] | None]] = []
    low = 0
    for p in mapping.pieces:
        part = None if p.start is None else (p.start, p.start + p.count * p.step, p.step)
        found.append((low, low + p.count, part))
        low += p.count
    return found
