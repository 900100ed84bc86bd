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
from ..runtime import long_fft
from ..runtime.pocketfft import TRANSFORMS, scale_mode
from .blocking import Blocking
from .buffers import Buffer, Memory
from .layout import lay_out
from .numpy_ops import as_pairs, assign, node_function, pieces
from .piecewise import cells, slice_text


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


def write_tape(problem: Problem, blocking: Blocking, once: frozenset[int]) -> Tape:
    """Generate the code of one block; ``once`` are the values made before the loop."""
    return _Writer(problem, blocking, once).tape()


class _Writer:
    def __init__(self, problem: Problem, blocking: Blocking, once: frozenset[int]) -> None:
        self.problem, self.blocking, self.once = problem, blocking, once
        layout = lay_out(problem, once)
        self.nodes, self.place, self.layout = layout.nodes, layout.place, layout
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "copyto": np.copyto,
            "assign": assign,
            "as_pairs": as_pairs,
            "np": np,
        }
        self.text: dict[int, str] = {}
        self.leaves: list[Node] = []
        self.memory = Memory(blocking.axes, layout.until)

    def tape(self) -> Tape:
        for position, node in enumerate(self.nodes):
            self._emit(node, position)
        self._copy_outputs()
        bounds = "".join(f", lo{k}, hi{k}" for k in range(len(self.blocking.loops)))
        head = [f"def block(L, B, O, first, W{bounds}):"]
        for letter, count in (("L", len(self.leaves)), ("B", len(self.memory.buffers))):
            if count:
                head.append(
                    "    " + "".join(f"{letter}{i}, " for i in range(count)) + f"= {letter}"
                )
        head.append("    " + "".join(f"O{i}, " for i in range(len(self.problem.outputs))) + "= O")
        source = "\n".join(head + ["    " + line for line in self.lines]) + "\n"
        namespace = dict(self.names)
        exec(compile(source, "<fft_fused block>", "exec"), namespace)  # noqa: S102
        return Tape(
            source,
            namespace["block"],
            tuple(self.leaves),
            tuple(self.memory.buffers),
            self.layout.reshaped,
        )

    # ---- where results go

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
        return f"O{self.layout.targets[id(node)]}{self._slices(node)}"

    def _destination(self, node: Node, position: int, inplace: tuple[Node, ...] = ()) -> str:
        """The text of the array a value is computed into."""
        if id(node) in self.layout.forwards:
            return self._part(node, position)
        if id(node) in self.layout.targets:
            self.memory.outside(node)
            return self._result(node)
        for arg in inplace:
            owned = self.text[id(arg)].startswith("v")
            if owned and self.memory.may_overwrite(arg, node, position):
                self.memory.share(node, arg)
                return self.text[id(arg)]
        return f"B{self.memory.place(node, position)}"

    def _part(self, node: Node, position: int) -> str:
        """A part of the array this value goes into, which is made when first needed."""
        forward = self.layout.forwards[id(node)]
        target = forward.target
        name = f"v{self.place[id(target)]}"
        if id(target) not in self.text:
            self.lines.append(f"{name} = {self._destination(target, position)}")
            self.text[id(target)] = name
            if target.op == "remap":
                self._fill(target, name)
        self.memory.share(node, target)
        part = name + slice_text({forward.axis: (forward.low, forward.high, 1)}, target.ndim)
        return f"{part}.reshape({self._shape(node)})" if forward.reshaped else part

    def _fill(self, node: Node, name: str) -> None:
        axis, mapping, fill = node.attr
        for low, high, piece in pieces(mapping):
            if piece is None:
                value = self._function(f"f{self.place[id(node)]}", fill.value)
                self.lines.append(
                    f"{name}{slice_text({axis: (low, high, 1)}, node.ndim)} = {value}"
                )

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
        self.memory.outside(node)
        self.text[id(node)] = text
        return text

    def _function(self, name: str, function: Any) -> str:
        self.names[name] = function
        return name

    def _emit(self, node: Node, position: int) -> None:
        if id(node) in self.layout.virtual:
            base, _ = self.layout.read(node)
            self.memory.share(node, base)
            return
        args = [self._value(self.layout.read(a)[0]) for a in node.args]
        self.text.setdefault(id(node), f"v{position}")
        kind = OPS[node.op].kind
        special = getattr(self, f"_emit_{node.op}", None)
        if special is not None:
            special(node, position, *args)
        elif self.layout.aliases(node):
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
        if node.op == "call":
            name = self._function(f"call{position}", node.attr.on_host)
        else:
            name = self._function(node.op, OPS[node.op].numpy if ufunc is None else ufunc)
        reads = [self.layout.read(a) for a in node.args]
        if any(maps for _, maps in reads):
            self._emit_cells(node, position, args, reads, f"{name}({{}}, out={{}})")
            return
        safe = node.args if ufunc is not None or node.op == "abs2" else ()
        out = self._destination(node, position, safe)
        self._line(node, position, f"{name}({', '.join(args)}, out={out})")

    def _emit_cells(
        self,
        node: Node,
        position: int,
        args: list[str],
        reads: list[tuple[Node, dict[int, AxisMap]]],
        call: str,
    ) -> None:
        """One call for each box of the result in which all shifts are plain slices."""
        self._line(node, position, self._destination(node, position))
        shifts = [node.ndim - base.ndim for base, _ in reads]
        maps = [
            {axis + shift: m for axis, m in by_axis.items()}
            for (_, by_axis), shift in zip(reads, shifts, strict=True)
        ]
        for cell in cells(maps):
            parts = []
            for text, (base, _), shift, ranges in zip(args, reads, shifts, cell.reads, strict=True):
                own = {
                    axis - shift: r
                    for axis, r in ranges.items()
                    if r is not None and axis >= shift and base.shape[axis - shift] != 1
                }
                parts.append(text + slice_text(own, base.ndim))
            out = f"v{position}{slice_text(cell.out, node.ndim)}"
            self.lines.append(call.format(", ".join(parts), out))

    def _emit_astype(self, node: Node, position: int, arg: str) -> None:
        base, maps = self.layout.read(node.args[0])
        if base.dtype.kind == "c" and node.dtype.kind != "c":
            arg += ".real"
        if maps:
            call = "copyto({1}, {0}, casting='unsafe')"
            self._emit_cells(node, position, [arg], [(base, maps)], call)
            return
        self._line(node, position, self._destination(node, position))
        self.lines.append(f"copyto(v{position}, {arg}, casting='unsafe')")

    def _emit_alias(self, node: Node, position: int, arg: str) -> None:
        self.memory.share(node, node.args[0])
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
        if id(node) in self.layout.targets:
            out = self._result(node)
            self.lines.append(f"assign({out}, {call})")
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
        axis, mapping, _ = node.attr
        if mapping.is_slice:
            self._emit_slice(node, position, arg, axis, mapping)
            return
        if id(node.args[0]) in self.layout.forwards:
            return
        base, maps = self.layout.read(node.args[0])
        self._line(node, position, self._destination(node, position))
        self._fill(node, f"v{position}")
        maps[axis] = mapping.after(maps[axis]) if axis in maps else mapping
        for cell in cells([maps]):
            (ranges,) = cell.reads
            if None not in ranges.values():
                source = f"{arg}{slice_text(ranges, node.ndim)}"  # type: ignore[arg-type]
                self.lines.append(f"v{position}{slice_text(cell.out, node.ndim)} = {source}")

    def _emit_slice(self, node: Node, position: int, arg: str, axis: int, mapping: AxisMap) -> None:
        own, source = (self.blocking.axes[id(n)][axis] for n in (node, node.args[0]))
        if own.loop is not None:
            low = (mapping.pieces[0].start or 0) - source.before
            part = f"[{':, ' * axis}{low}:hi{own.loop}-lo{own.loop}+{low}]"
        else:
            bounds = next((p for _, _, p in pieces(mapping) if p is not None), (0, 0, 1))
            part = slice_text({axis: bounds}, node.ndim)
        call = arg + part
        self.memory.share(node, node.args[0])
        if id(node) in self.layout.targets:
            out = self._result(node)
            self.lines.append(f"assign({out}, {call})")
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
        if id(node) not in self.layout.forwarded_into:
            self._line(node, position, self._destination(node, position))
        low = 0
        for text, arg in zip(args, node.args, strict=True):
            high = low + arg.shape[node.attr]
            source = arg.args[0] if arg.op == "reshape" else arg
            if not {id(arg), id(source)} & set(self.layout.forwards):
                part = slice_text({node.attr: (low, high, 1)}, node.ndim)
                self.lines.append(f"v{position}{part} = {text}")
            low = high

    def _emit_dft(self, node: Node, position: int, arg: str) -> None:
        spec = node.attr
        name = self._function(*_transform(node))
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
            if self.layout.targets.get(id(output)) == k or self.layout.reshaped[k][0]:
                continue
            value = self._value(output)
            self.lines.append(f"assign(O{k}{self._slices(output)}, {value})")


def _transform(node: Node) -> tuple[str, Callable[..., Any]]:
    """Name and function of a transform; long rows go in two passes."""
    kind = node.attr.kind
    last = node.attr.axis == node.ndim - 1
    if kind in ("c2c", "rfull") and last and long_fft.factors(node.attr.n) is not None:
        return "long_c2c", long_fft.c2c
    return kind, TRANSFORMS[kind]
