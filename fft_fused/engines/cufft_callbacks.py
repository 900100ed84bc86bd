"""Engine ``cufft_callbacks``: the maps around a transform inside cuFFT's own kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..cuda import callbacks, cufft
from ..cuda.callbacks import Slots, assign_slots
from ..cuda.compile import LTO, arch_for, compiled, nvrtc_missing
from ..cuda.in_flight import CallbackPlans
from ..cuda.link import can_merge, merged
from ..cuda.printer import unsupported
from ..cuda.relation import Placement, downstream
from ..cuda.user_code import called, clash, links
from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import OPS
from ..expr.spectrum import largest_prime
from ..expr.user_function import UserFunction
from ..passes.device import is_one_call
from ..runtime import device_cost
from ..runtime.device import Resources
from ..runtime.gpus import why_no_gpu
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal
from .elementwise import has_copied_view, strides_of
from .library import calls, layout_of

_LARGEST_PRIME = 127  # above, cuFFT refuses callbacks, and 12.3 (CUDA 13.3) computes wrong numbers
_ARCH = "compute_75"  # LTO-IR for every GPU from there on


@dataclass(frozen=True, slots=True)
class _Detail:
    """The transforms of one call; what the load callback makes (None: cuFFT reads an array), what
    the store callback makes (None: cuFFT writes the result) and where it puts each element."""

    transforms: tuple[Node, ...]
    loaded: Node | None
    stored: Node | None
    placements: tuple[Placement, ...]


class CufftCallbacks:
    """See the module."""

    name = "cufft_callbacks"
    signature = "cufft_callbacks/1"
    fits = None

    def available(self) -> str:
        """Empty with a usable GPU and a cuFFT that takes callbacks."""
        return why_no_gpu() or cufft.callbacks_missing() or nvrtc_missing()

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """One call's transforms with a map before them, after them, or both."""
        if machine.device == "cpu":
            return None
        transforms = _transforms(problem)
        if transforms is None or len(transforms) == len(problem.nodes):
            return None
        reason = _limits(transforms, problem)
        if reason:
            return Refusal(self.name, problem, reason)
        detail = _detail(problem, transforms)
        reason = detail if isinstance(detail, str) else _user_code_limits(problem, detail)
        if reason or isinstance(detail, str):
            return Refusal(self.name, problem, reason)
        seconds = device_cost.callback_seconds(transforms, detail.loaded is not None)
        read, written = problem.bytes_read, problem.bytes_written
        cost = Cost(read, written, 1, seconds + device_cost.CALL)
        return Offer(self.name, problem, cost, True, detail)

    def build(self, offer: Offer) -> Launch:
        """Generate; compile and plan when first run."""
        runner = _Runner(offer.problem, offer.detail)
        return Launch(self.name, offer.problem, runner, runner.source)


CUFFT_CALLBACKS = CufftCallbacks()


def _transforms(problem: Problem) -> tuple[Node, ...] | None:
    """The transforms when they are one call of cuFFT and all else is elementwise or index work."""
    found: list[Node] = []
    for node in problem.nodes:
        if node.op == "dft":
            if found and node.args != (found[-1],):
                return None
            found.append(node)
        elif OPS[node.op].kind in ("transform", "reduce", "opaque"):
            return None
    if not found or len(problem.outputs) != 1 or len(found) > 3:
        return None
    if len(found) > 1 and not is_one_call(found):
        return None
    inner = set(map(id, found[:-1]))
    if any(id(a) in inner for n in problem.nodes if n not in found for a in n.args):
        return None
    return tuple(found)


def _limits(transforms: Sequence[Node], problem: Problem) -> str:
    """What cuFFT's callbacks cannot do, or do wrongly."""
    if not all(n.attr.is_plain for n in transforms):
        return "cuFFT has no such transform"
    if calls(transforms) > 1:
        return "a transform over a middle axis takes several calls"
    for node in transforms:
        if largest_prime(node.attr.n) > _LARGEST_PRIME:
            return f"length {node.attr.n} has a prime factor above {_LARGEST_PRIME}"
    for node in problem.nodes:
        reason = "" if node.op in ("dft", "call") else unsupported(node)
        if reason:
            return f"no device code for {reason}"
    if has_copied_view(problem):
        return "frames of a view that was copied"
    return ""


def _user_code_limits(problem: Problem, detail: _Detail) -> str:
    """cuFFT takes one LTO-IR for each callback, so that of users must be merged into it."""
    functions = [f for side in _functions(problem, detail) for f in side]
    given = [f.name for f in functions if not f.is_source]
    if given and not can_merge():
        return f"this nvJitLink cannot merge the LTO-IR of {given[0]} into a callback"
    return clash(functions)


def _functions(
    problem: Problem, detail: _Detail
) -> tuple[tuple[UserFunction, ...], tuple[UserFunction, ...]]:
    """The users' functions in the load and in the store callback."""
    loaded, stored, inputs = detail.loaded, detail.stored, problem.inputs
    load = () if loaded is None else called(loaded, inputs)
    store = () if stored is None else called(stored, (detail.transforms[-1], *inputs))
    return load, store


def _detail(problem: Problem, transforms: tuple[Node, ...]) -> _Detail | str:
    first, last = transforms[0].args[0], transforms[-1]
    (output,) = problem.outputs
    loaded = None if first in problem.inputs else first
    after = downstream(problem, transforms[0])
    after = [n for n in after if n not in transforms]
    stored = None if output is last else output
    if stored is None:
        return _Detail(transforms, loaded, None, ())
    parts = (0, 1) if any(n.op == "unpair" for n in after) else (0,)
    placements = tuple(Placement(after, last, part) for part in parts)
    reason = next((p.reason for p in placements if p.reason), "")
    if reason:
        return reason
    if len(after) != len(set(map(id, after))) or sum(n.op == "unpair" for n in after) > 1:
        return "two views as pairs"
    return _covers(output, last, parts) or _Detail(transforms, loaded, stored, placements)


def _covers(output: Node, spectrum: Node, parts: Sequence[int]) -> str:
    """A store callback must write every element of the result."""
    if output.size > spectrum.size * len(parts):
        return "the result has elements that are no element of the spectrum"
    return ""


class _Runner:
    """Runs the call on the current stream."""

    def __init__(self, problem: Problem, detail: _Detail) -> None:
        transforms = detail.transforms
        self.layout = layout_of(transforms)
        self._problem, self._detail = problem, detail
        self._first, self._last = transforms[0].args[0], transforms[-1]
        (self._output,) = problem.outputs
        self.transforms = transforms
        self._sign = transforms[-1].attr.sign
        planes = len(transforms) > 1
        self._scratch_input = planes and self.layout.kind == "c2r"
        same = self._output.dtype == self._last.dtype and self._output.shape == self._last.shape
        moved = any(n.op in ("remap", "transpose", "reshape", "unpair") for n in self._after())
        self._scratch_output = planes and not (same and not moved)
        self.slots = self._assign()
        self.load, self.store = self._texts()
        self.source = (self.load or "") + (self.store or "")
        self._plans: dict[int, CallbackPlans] = {}

    def _after(self) -> list[Node]:
        return [
            n
            for n in downstream(self._problem, self._detail.transforms[0])
            if n not in self._detail.transforms
        ]

    def _assign(self) -> Slots:
        detail, inputs = self._detail, self._problem.inputs
        below_load = _reached(detail.loaded, inputs)
        below_store = _reached(detail.stored, inputs, stop=self._last)
        arrays = [n for n in inputs if id(n) in below_load and n.op != "scalar"]
        data = None
        if detail.loaded is not None and arrays and not self._scratch_input:
            data = max(arrays, key=lambda n: n.nbytes)
        needed = below_store | (below_load - ({id(data)} if data is not None else set()))
        apart = self._scratch_output and detail.stored is not None
        alignment = 16 if self.layout.double else 8
        shifted = data is not None and self._problem.alignment(data) < alignment
        return assign_slots(inputs, needed, data, apart, alignment, shifted)

    def _texts(self) -> tuple[str | None, str | None]:
        detail, problem = self._detail, self._problem
        inputs = problem.inputs
        strides = {id(n): strides_of(n, problem) for n in inputs if n.op != "scalar"}
        load = store = None
        if detail.loaded is not None:
            load = callbacks.load_callback(detail.loaded, inputs, strides, self.slots)
        if detail.stored is not None:
            store = callbacks.store_callback(
                detail.stored, self._last, detail.placements, inputs, strides, self.slots
            )
        return load, store

    def compile_for(self, arch: str) -> list[Callable[[], Any]]:
        """Compilations of the callbacks for a target, into the disk cache."""
        sides = zip((self.load, self.store), _functions(self._problem, self._detail), strict=True)
        return [partial(_ltoir, text, side, arch) for text, side in sides if text is not None]

    def prepare(self, device: int) -> list[Callable[[], Any]]:
        """The plan with its callbacks, when there is none yet."""
        return [] if device in self._plans else [partial(self._plan, device)]

    def _plan(self, device: int) -> CallbackPlans:
        import cupy

        layout, functions = self.layout, _functions(self._problem, self._detail)
        with cupy.cuda.Device(device) as place:
            arch = arch_for(place.compute_capability)
            load, store = (
                None if text is None else _ltoir(text, side, arch)
                for text, side in zip((self.load, self.store), functions, strict=True)
            )
            made = CallbackPlans(layout, load, store, self.slots.count)
            self._plans[device] = made
        return made

    def __call__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources
    ) -> list[Any]:
        (out,) = outputs
        output = self._output
        if out is None or (out.data.ptr % self.slots.alignment and not self._scratch_output):
            out = resources.empty(output.shape, output.dtype)
        plans = self._plans.get(resources.device) or self._plan(resources.device)
        values = dict(zip(map(id, self._problem.inputs), inputs, strict=True))
        keep, source = self._source(values, resources)
        target = out.data.ptr
        if self._scratch_output:
            spare = resources.empty(self._last.shape, self._last.dtype)
            target = spare.data.ptr
        words = block_words(self.slots, values, out.data.ptr)
        plans.execute(words, source, target, self._sign, resources)
        return [out]

    def _source(self, values: dict[int, Any], resources: Resources) -> tuple[Any, int]:
        """Something that must live until the launch, and the address of cuFFT's input."""
        alignment = self.slots.alignment
        if self._detail.loaded is None:
            x = values[id(self._first)]
            spoiled = self._scratch_input and id(self._first) not in self._problem.dying
            if spoiled or not x.flags.c_contiguous or x.data.ptr % alignment:
                copy = resources.empty(x.shape, x.dtype)
                copy[...] = x
                return copy, copy.data.ptr
            return x, x.data.ptr
        if self.slots.data is not None:
            x = values[id(self.slots.data)]
            return x, x.data.ptr - x.data.ptr % alignment
        spare = resources.empty(self._first.shape, self._first.dtype)
        return spare, spare.data.ptr


def _ltoir(text: str, functions: Sequence[UserFunction], arch: str) -> bytes:
    """A callback for every GPU, or for one when LTO-IR of users is merged into it."""
    given = links(functions)
    return merged(text, given, _ARCH, arch) if given else compiled(text, _ARCH, LTO)


def _reached(value: Node | None, inputs: Sequence[Node], stop: Node | None = None) -> set[int]:
    """The inputs that a value is made of, not looking below ``stop``."""
    if value is None:
        return set()
    leaves = set(map(id, inputs))
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or node is stop:
            continue
        seen.add(id(node))
        if id(node) in leaves:
            found.add(id(node))
        else:
            waiting += node.args
    return found


def block_words(slots: Slots, values: dict[int, Any], result: int) -> tuple[Any, ...]:
    """What the block holds: addresses and numbers in slot order."""
    words: list[Any] = []
    if slots.shift is not None:
        words.append(values[id(slots.data)].data.ptr % slots.alignment)
    for name in slots.words:
        value = values[name]
        if isinstance(value, complex):
            words += [value.real, value.imag]
        elif isinstance(value, float | int):
            words.append(float(value))
        else:
            words.append(value.data.ptr)
    return tuple(words) if slots.result is None else (*words, result)
