"""Explanation of a plan: text, HTML and data, from the plan and nothing else."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from .engines import Offer, Refusal
from .expr.chain import ANCHORS, Problem
from .expr.node import Node
from .expr.ops import OPS
from .runtime.cost import unfused_bytes
from .runtime.plan import Plan, PlanStep

STAGES = ("expr", "normal", "chain", "selection", "source")


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an expression runs. ``str()`` is the text; notebooks show a table; ``to_dict()`` is data.

    Nothing is computed to make it.
    """

    name: str
    plan: Plan
    stage: str | None = None

    def __str__(self) -> str:
        return _STAGES[self.stage](self.name, self.plan) if self.stage else _summary(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if self.stage:
            return f"<pre>{html.escape(str(self))}</pre>"
        return _html(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything the text says, as plain data."""
        unfused = unfused_bytes(self.plan.expr)
        return {
            "name": self.name,
            "operands": dict(
                zip(self.plan.expr.names, map(str, self.plan.expr.operands), strict=True)
            ),
            "outputs": [[list(o.shape), str(o.dtype)] for o in self.plan.outputs],
            "workers": self.plan.workers,
            "launches": [_launch_dict(s) for s in self.plan.steps],
            "boundaries": [_boundary(self.plan, i) for i in range(1, len(self.plan.steps))],
            "bytes_moved": {"fused": fused_bytes(self.plan), "unfused": unfused["moved"]},
            "temporaries": {"fused": temporaries(self.plan), "unfused": unfused["temporaries"]},
            "rivals": [p.engines for p in self.plan.rivals],
            "measured": [
                {
                    "engines": lap.engines,
                    "seconds": lap.seconds,
                    "estimate": lap.estimate,
                    "fault": lap.fault,
                }
                for lap in self.plan.measured
            ],
        }


def explain_plan(plan: Plan, name: str, stage: str | None = None) -> Explanation:
    """The explanation of a plan.

    Raises
    ------
    ValueError
        For a stage that does not exist.
    """
    if stage is not None and stage not in STAGES:
        raise ValueError(f"explain: stage {stage!r} does not exist; there are {', '.join(STAGES)}")
    return Explanation(name, plan, stage)


def fused_bytes(plan: Plan) -> int:
    """Bytes the launches of a plan read and write."""
    return sum(o.cost.bytes_read + o.cost.bytes_written for o in plan.selection.offers)


def temporaries(plan: Plan) -> int:
    """Bytes of values between launches and of the blocks' buffers."""
    return plan.intermediate_bytes + max((s.launch.workspace for s in plan.steps), default=0)


def human(nbytes: float) -> str:
    """``8.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if nbytes < 1000 or unit == "GB":
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1000
    raise AssertionError


def _signature(name: str, plan: Plan) -> str:
    given = [f"{n}: {s}" for n, s in zip(plan.expr.names, plan.expr.operands, strict=True)]
    given += [f"scalar{i}: {d.name}" for i, d in enumerate(plan.expr.scalars)]
    made = ", ".join(str(o).split(" ", 1)[1] for o in plan.outputs)
    return f"{name}({', '.join(given)}) -> {made}"


def parts(problem: Problem) -> list[tuple[str, str]]:
    """A run as (place, operations): load, transform, between, reduce, store."""
    rows: list[tuple[str, list[str]]] = []
    last_anchor = max((i for i, n in enumerate(problem.nodes) if _anchor(n)), default=-1)
    seen_anchor = False
    for i, node in enumerate(problem.nodes):
        if node.op == "const":
            continue
        if _anchor(node):
            seen_anchor = True
            rows.append((OPS[node.op].kind, [_describe(node)]))
            continue
        place = "store" if i > last_anchor >= 0 else "between" if seen_anchor else "load"
        place = "map" if last_anchor < 0 else place
        if not rows or rows[-1][0] != place:
            rows.append((place, []))
        rows[-1][1].append(_describe(node))
    return [(place, " > ".join(names)) for place, names in rows]


def _anchor(node: Node) -> bool:
    return OPS[node.op].kind in ANCHORS


def _describe(node: Node) -> str:
    match node.op:
        case "dft" | "transform":
            return str(node.attr)
        case "astype":
            return f"to {node.dtype.name}"
        case "remap":
            axis, mapping, _ = node.attr
            return f"index axis {axis} [{mapping}]"
        case "call":
            return f"{node.attr}()"
    if OPS[node.op].kind == "reduce":
        return f"{node.op} over axis {', '.join(map(str, node.attr[0]))}"
    return node.op


def _summary(explanation: Explanation) -> str:
    plan = explanation.plan
    where = f"{plan.workers} threads" if plan.expr.device == "cpu" else plan.expr.device
    lines = [f"{_signature(explanation.name, plan)}   {where}, modelled rates"]
    for i, step in enumerate(plan.steps):
        if i:
            lines.append("    " + _boundary(plan, i))
        offer = plan.selection.offers[i]
        lines.append(
            f" {i + 1}  {step.launch.engine:14s} {offer.cost.seconds * 1e3:8.3g} ms   "
            f"read {human(offer.cost.bytes_read)}, write {human(offer.cost.bytes_written)}"
        )
        lines += [f"      {place:9s} {text}" for place, text in parts(step.launch.problem)]
    unfused = unfused_bytes(plan.expr)
    lines += [
        f"bytes moved: fused {human(fused_bytes(plan))}, unfused {human(unfused['moved'])}",
        f"temporaries: fused {human(temporaries(plan))}, unfused {human(unfused['temporaries'])}",
    ]
    return "\n".join(lines + _race_lines(plan))


def _race_lines(plan: Plan) -> list[str]:
    """The candidates, fastest first, with what was measured, or will be, and the model's times."""
    if plan.is_open:
        lines = ["to be measured on the arrays of calls; by the model, ms"]
        lines += [f"  {p.seconds * 1e3:9.4g}  {p.engines}" for p in (plan, *plan.rivals)]
        return lines
    if not plan.measured:
        return []
    lines = ["measured on the arrays of calls, ms; (by the model)"]
    for lap in sorted(plan.measured, key=lambda lap: lap.seconds):
        time = f"{lap.seconds * 1e3:9.4g}" if not lap.fault else "        -"
        fault = f": {lap.fault}" if lap.fault else ""
        lines.append(f"  {time}  ({lap.estimate * 1e3:.3g})  {lap.engines}{fault}")
    return lines


def _boundary(plan: Plan, index: int) -> str:
    """Why launch ``index`` is not one with the launch before it."""
    first = plan.steps[index - 1].launch.problem.span[0]
    stop = plan.steps[index].launch.problem.span[1]
    taken = (
        plan.selection.offers[index - 1].cost.seconds + plan.selection.offers[index].cost.seconds
    )
    between = human(sum(n.nbytes for n in plan.steps[index - 1].launch.problem.outputs))
    for other in plan.selection.others:
        if other.problem.span != (first, stop):
            continue
        if isinstance(other, Refusal):
            cure = f"; {other.cure}" if other.cure else ""
            return f"| {between} through memory: {other.engine} cannot join: {other.reason}{cure}"
        if other.fused:
            joined = other.cost.seconds
            return (
                f"| {between} through memory: joined would be {joined * 1e3:.3g} ms, "
                f"apart {taken * 1e3:.3g} ms"
            )
    return f"| {between} through memory"


def _launch_dict(step: PlanStep) -> dict[str, Any]:
    problem = step.launch.problem
    return {
        "engine": step.launch.engine,
        "steps": list(problem.span),
        "parts": [list(p) for p in parts(problem)],
        "reads": [str(n) for n in problem.inputs],
        "writes": [str(n) for n in problem.outputs],
        "workspace": step.launch.workspace,
    }


def _selection_text(name: str, plan: Plan) -> str:
    lines = [f"{name}: taken"]
    lines += [_offer_line(o) for o in plan.selection.offers]
    lines.append("not taken")
    for other in plan.selection.others:
        if isinstance(other, Offer):
            lines.append(_offer_line(other))
        else:
            span = f"{other.problem.span[0]}-{other.problem.span[1] - 1}"
            lines.append(f"  {span:>7s}  {other.engine:14s} refused: {other.reason}")
    return "\n".join(lines)


def _offer_line(offer: Offer) -> str:
    span = f"{offer.problem.span[0]}-{offer.problem.span[1] - 1}"
    return f"  {span:>7s}  {offer.engine:14s} {offer.cost.seconds * 1e3:10.4g} ms"


def _html(explanation: Explanation) -> str:
    plan = explanation.plan
    rows = []
    for i, step in enumerate(plan.steps):
        offer = plan.selection.offers[i]
        what = "<br>".join(
            f"<b>{html.escape(place)}</b> {html.escape(text)}"
            for place, text in parts(step.launch.problem)
        )
        if i:
            rows.append(f"<tr><td colspan=4>{html.escape(_boundary(plan, i))}</td></tr>")
        rows.append(
            f"<tr><td>{i + 1}</td><td>{step.launch.engine}</td><td style='text-align:left'>{what}"
            f"</td><td>{human(offer.cost.bytes_read)} read, "
            f"{human(offer.cost.bytes_written)} written</td></tr>"
        )
    unfused = unfused_bytes(plan.expr)
    return (
        f"<p><code>{html.escape(_signature(explanation.name, plan))}</code></p><table>"
        "<tr><th></th><th>engine</th><th>what</th><th>memory</th></tr>"
        f"{''.join(rows)}</table><p>bytes moved: fused {human(fused_bytes(plan))}, unfused "
        f"{human(unfused['moved'])}; temporaries: fused {human(temporaries(plan))}, unfused "
        f"{human(unfused['temporaries'])}</p>"
    )


_STAGES: dict[Any, Any] = {
    "expr": lambda name, plan: str(plan.expr),
    "normal": lambda name, plan: str(plan.normal),
    "chain": lambda name, plan: str(plan.program),
    "selection": _selection_text,
    "source": lambda name, plan: plan.source,
}
