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
from .blocking import Blocking
from .buffers import Buffer, Memory
from .numpy_ops import as_pairs, node_function, pieces

ALIASES = {"transpose", "reshape", "pairs", "unpair", "real", "imag", "broadcast_to"}


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
        self.nodes = [n for n in problem.nodes if id(n) not in once and n.op != "const"]
        self.place = {id(n): p for p, n in enumerate(self.nodes)}
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"copyto": np.copyto, "as_pairs": as_pairs, "np": np}
        self.text: dict[int, str] = {}
        self.leaves: list[Node] = []
        self.targets, self.reshaped = self._output_targets()
        self.memory = Memory(blocking.axes, self._live_until())

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
            source, namespace["block"], tuple(self.leaves), tuple(self.memory.buffers), self.reshaped
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
                and not self.problem.users[id(output)]
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

    def _destination(self, node: Node, position: int, inplace: tuple[Node, ...] = ()) -> str:
        """The text of the array a value is computed into."""
        if id(node) in self.targets:
            self.memory.outside(node)
            return self._result(node)
        for arg in inplace:
            owned = self.text[id(arg)].startswith("v")
            if owned and self.memory.may_overwrite(arg, node, position):
                self.memory.share(node, arg)
                return self.text[id(arg)]
        return f"B{self.memory.place(node, position)}"

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

    def _emit_slice(self, node: Node, position: int, arg: str, axis: int, mapping: AxisMap) -> None:
        own, source = (self.blocking.axes[id(n)][axis] for n in (node, node.args[0]))
        if own.loop is not None:
            start = mapping.pieces[0].start or 0
            low = start - source.before
            call = f"{arg}{_at(axis, low, f'hi{own.loop}-lo{own.loop}+{low}')}"
        else:
            part = next((p for _, _, p in pieces(mapping)), (0, 0))
            assert part is not None
            call = f"{arg}{_at(axis, *part)}"
        self.memory.share(node, node.args[0])
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
