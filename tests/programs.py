"""Random expressions: small programs that run alike on NumPy arrays and on lazy arrays.

A program is drawn by running it on NumPy, so that every step is valid. Each value carries a bound
of its rounding error, found by forward analysis, which is the tolerance of the comparison; a value
that is not exact is never given to a discontinuous operation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft
from hypothesis import strategies as st

MOST = 3000
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@contextmanager
def quiet() -> Iterator[None]:
    """NumPy's warnings about values are not the subject here."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass
class Value:
    """A NumPy result, and the bound of the error of another order of evaluation."""

    array: np.ndarray
    error: float = 0.0

    @property
    def rough(self) -> bool:
        return self.error > 0

    @property
    def peak(self) -> float:
        if self.array.size == 0:
            return 0.0
        return float(np.max(np.abs(self.array.astype(np.complex128))))

    @property
    def eps(self) -> float:
        kind = self.array.dtype
        return float(np.finfo(kind).eps) if kind.kind in "fc" else 0.0


@dataclass
class Program:
    """Inputs, steps as (text, function of (xp, fft, *values), places), numbers of the outputs."""

    inputs: list[np.ndarray] = field(default_factory=list)
    steps: list[tuple[str, Callable[..., Any], tuple[int, ...]]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def run(self, arrays: list[Any], xp: Any, fft: Any) -> list[Any]:
        """The outputs on these inputs."""
        values = list(arrays)
        for _, function, places in self.steps:
            values.append(function(xp, fft, *(values[i] for i in places)))
        return [values[i] for i in self.outputs]

    def __repr__(self) -> str:
        lines = [
            f"v{i} = input {a.dtype.str}{list(a.shape)} strides {a.strides}"
            for i, a in enumerate(self.inputs)
        ]
        for k, (text, _, places) in enumerate(self.steps, len(self.inputs)):
            value = self.values[k].array
            names = ", ".join(f"v{p}" for p in places)
            lines.append(f"v{k} = {text} of {names} -> {value.dtype}{list(value.shape)}")
        return "\n".join([*lines, f"outputs {self.outputs}"])


extents = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16])


@st.composite
def inputs(draw: Any, empty: bool = True) -> np.ndarray:
    """An array of small whole numbers in any dtype and layout."""
    ndim = draw(st.integers(0, 3))
    shape = tuple(draw(extents if empty else extents.filter(bool)) for _ in range(ndim))
    while int(np.prod(shape)) > 400:
        shape = shape[1:]
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    low = 0 if dtype.kind in "ub" else -4
    values = rng.integers(low, 5, shape)
    array = values.astype(dtype)
    if dtype.kind == "c":
        array = array + 1j * rng.integers(-4, 5, shape).astype(dtype)
        array = np.asarray(array, dtype)
    layout = draw(st.sampled_from(["C", "F", "step", "reverse", "swap", "readonly", "zero"]))
    return _laid_out(array, layout)


def _laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    if array.ndim == 0:
        return array
    match layout:
        case "F":
            return np.asfortranarray(array)
        case "step":
            return np.repeat(array, 2, axis=-1)[..., ::2]
        case "reverse":
            return array[..., ::-1]
        case "swap":
            return array.astype(array.dtype.newbyteorder())
        case "readonly":
            array.flags.writeable = False
            return array
        case "zero" if array.shape[0] > 0:
            return np.broadcast_to(array[:1], array.shape)
    return array


class Builder:
    """Adds steps to a program; each ``try_*`` draws one and keeps it if NumPy accepts it."""

    def __init__(self, draw: Any, program: Program) -> None:
        self.draw, self.program = draw, program

    def pick(self, wanted: Callable[[Value], bool] = lambda v: True) -> int | None:
        places = [i for i, v in enumerate(self.program.values) if wanted(v)]
        if not places:
            return None
        recent = places[-4:]
        return self.draw(st.sampled_from(recent if self.draw(st.booleans()) else places))

    def add(
        self, text: str, function: Callable[..., Any], places: tuple[int, ...], error: Any
    ) -> bool:
        """Run the step; keep it unless NumPy refuses or the result is too large or not finite."""
        given = [self.program.values[i] for i in places]
        try:
            with quiet():
                result = np.asarray(function(np, scipy.fft, *(v.array for v in given)))
        except (ValueError, TypeError, IndexError, OverflowError, RuntimeError):
            return False
        value = Value(result)
        limit = 500 if result.dtype.char == "e" else 1e7
        if result.size > MOST or not np.isfinite(value.peak) or value.peak > limit:
            return False
        bound = error(value, *given) if callable(error) else error
        if bound > 0:
            bound += value.eps * value.peak
        if not np.isfinite(bound):
            return False
        value.error = bound
        self.program.steps.append((text, function, places))
        self.program.values.append(value)
        return True

    # ---- elementwise

    def unary(self) -> None:
        name = self.draw(st.sampled_from(list(_UNARY)))
        function, error, exact_only = _UNARY[name]
        place = self.pick(lambda v: not (exact_only and v.rough))
        if place is not None:
            self.add(name, function, (place,), error)

    def binary(self) -> None:
        a, b = self.pick(), self.pick()
        name = self.draw(st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum"]))
        if a is None or b is None:
            return
        operands = [self.program.values[i] for i in (a, b)]
        if any(v.array.dtype.kind == "c" for v in operands) and any(v.rough for v in operands):
            # these jump where real parts are nearly equal
            name = {"maximum": "add", "minimum": "subtract"}.get(name, name)

        def error(out: Value, x: Value, y: Value) -> float:
            if name == "multiply":
                total = x.error * y.peak + y.error * x.peak + x.error * y.error
            else:
                total = x.error + y.error
            rounds = out.array.dtype.kind in "fc" and name in ("add", "subtract", "multiply")
            return total + (out.eps * (x.peak + y.peak + out.peak) if rounds else 0)

        self.add(name, lambda xp, fft, x, y: getattr(xp, name)(x, y), (a, b), error)

    def with_scalar(self) -> None:
        place = self.pick()
        scalar = self.draw(
            st.sampled_from(
                [2, -1, 3, 0.5, 1.5, -2.25, 1j, 0.5 - 2j, True]
                + [np.float32(0.75), np.float64(1.25), np.complex64(1 + 2j), np.int16(3)]
            )
        )
        op = self.draw(st.sampled_from(["+", "-", "*", "/", "r-", "r*"]))
        if place is None:
            return
        size = abs(complex(scalar))

        def error(out: Value, x: Value) -> float:
            factor = size if "*" in op else 1 / size if op == "/" else 1
            return x.error * factor + out.eps * (out.peak + x.peak * factor + size)

        self.add(f"{op} {scalar!r}", _SCALAR[op](scalar), (place,), error)

    def square_modulus(self) -> None:
        place = self.pick(lambda v: v.array.dtype.kind == "c")
        if place is None:
            return
        how = self.draw(st.sampled_from(list(_ABS2)))
        self.add(
            how,
            _ABS2[how],
            (place,),
            lambda out, x: 4 * (x.error * (2 * x.peak + x.error) + out.eps * out.peak),
        )

    def phase(self) -> None:
        place = self.pick(lambda v: v.array.dtype.kind == "f" and v.peak < 50)
        if place is not None:
            self.add(
                "exp(1j*x)",
                lambda xp, fft, x: xp.exp(1j * x),
                (place,),
                lambda out, x: x.error + 4 * out.eps * (1 + x.peak),
            )

    def compare_and_choose(self) -> None:
        a = self.pick(lambda v: not v.rough and v.array.dtype.kind != "c")
        b = self.pick(lambda v: not v.rough and v.array.dtype.kind != "c")
        c, d = self.pick(), self.pick()
        name = self.draw(st.sampled_from(["less", "greater_equal", "equal", "not_equal"]))
        if None in (a, b, c, d):
            return
        self.add(
            f"where {name}",
            lambda xp, fft, p, q, x, y: xp.where(getattr(xp, name)(p, q), x, y),
            (a, b, c, d),
            lambda out, p, q, x, y: x.error + y.error,
        )

    def cast(self) -> None:
        target = np.dtype(self.draw(st.sampled_from(DTYPES)))
        place = self.pick(
            lambda v: (
                (target.kind in "fc" or not v.rough)
                and (v.array.dtype.kind != "c" or target.kind == "c")
                and (target.kind != "u" or v.array.size == 0 or v.array.real.min() >= 0)
                and (target.itemsize > 1 or v.peak < 120)
            )
        )
        if place is not None:
            self.add(
                f"astype {target}",
                lambda xp, fft, x: x.astype(target),
                (place,),
                lambda out, x: (
                    x.error + (out.eps * out.peak if x.rough or target.char in "e" else 0)
                ),
            )

    # ---- structure

    def structure(self) -> None:
        place = self.pick()
        if place is None:
            return
        value = self.program.values[place]
        name, function = self.draw(_index_map(value.array.shape))
        self.add(name, function, (place,), lambda out, x: x.error)

    def join(self) -> None:
        places = tuple(p for p in (self.pick(), self.pick()) if p is not None)
        axis = self.draw(st.integers(0, 2))
        name = self.draw(st.sampled_from(["stack", "concatenate"]))
        if len(places) == 2:
            self.add(
                f"{name} {axis}",
                lambda xp, fft, *x: getattr(xp, name)(list(x), axis=axis),
                places,
                lambda out, *x: max(v.error for v in x) + (out.eps * out.peak),
            )

    def update(self) -> None:
        place = self.pick(lambda v: v.array.ndim > 0 and v.array.dtype.kind in "fc")
        if place is None:
            return
        key = self.draw(_keys(self.program.values[place].array.shape))
        how = self.draw(st.sampled_from(["*=", "+=", "="]))
        self.add(f"x[{key}] {how} 2", _UPDATE[how](key), (place,), lambda out, x: 2 * x.error)

    def pairs(self) -> None:
        place = self.pick(lambda v: v.array.ndim > 0 and v.array.dtype.kind != "c")
        if place is not None:
            self.add(
                "pairs",
                lambda xp, fft, x: x.astype(np.float32).view(np.complex64)[..., 0],
                (place,),
                lambda out, x: x.error + out.eps * out.peak if x.rough else 0,
            )

    def windows(self) -> None:
        place = self.pick(lambda v: v.array.ndim > 0 and v.array.shape[-1] > 0)
        if place is None:
            return
        n = self.program.values[place].array.shape[-1]
        length = self.draw(st.integers(1, n))
        hop = self.draw(st.integers(1, 3))

        def frames(xp: Any, fft: Any, x: Any) -> Any:
            view = xp.lib.stride_tricks.sliding_window_view(x, length, axis=-1)
            return view[..., ::hop, :]

        self.add(f"windows {length} hop {hop}", frames, (place,), lambda out, x: x.error)

    # ---- reductions and transforms

    def reduce(self) -> None:
        name = self.draw(st.sampled_from([*_REDUCE, "argmax", "argmin"]))
        exact_only = name.startswith("arg") or name in ("any", "all")
        place = self.pick(lambda v: not (exact_only and v.rough) and v.array.dtype.kind != "c")
        if name in ("sum", "mean"):
            place = self.pick()
        if place is None:
            return
        ndim = self.program.values[place].array.ndim
        axis: Any = None
        if ndim and self.draw(st.booleans()):
            axis = self.draw(st.integers(-ndim, ndim - 1))
        elif ndim > 1 and not name.startswith("arg") and self.draw(st.booleans()):
            axis = tuple(self.draw(st.permutations(range(ndim)))[:2])
        keep = self.draw(st.booleans())

        def error(out: Value, x: Value) -> float:
            count = x.array.size / max(1, out.array.size)
            if name == "sum":
                return x.error * count + out.eps * x.peak * count * 2
            if name == "mean":
                return x.error + out.eps * x.peak * 4
            return x.error * (2 if name == "prod" else 1)

        function = lambda xp, fft, x: getattr(xp, name)(x, axis=axis, keepdims=keep)  # noqa: E731
        self.add(f"{name} axis={axis} keepdims={keep}", function, (place,), error)

    def transform(self) -> None:
        name = self.draw(st.sampled_from(_TRANSFORMS))
        real = name.startswith(("rfft", "ihfft", "d", "id"))
        place = self.pick(
            lambda v: (
                v.array.ndim > 0 and v.array.size > 0 and not (real and v.array.dtype.kind == "c")
            )
        )
        if place is None:
            return
        shape = self.program.values[place].array.shape
        arguments = self.draw(_transform_arguments(name, shape))

        def error(out: Value, x: Value) -> float:
            count = max(x.array.size, out.array.size, 2)
            return 2 * count * (x.error + out.eps * np.log2(count) * x.peak)

        if arguments.get("norm") == "forward" or (name.startswith("i") and "norm" not in arguments):
            error = _small_error
        function = lambda xp, fft, x: getattr(fft, name)(x, **arguments)  # noqa: E731
        self.add(f"{name} {arguments}", function, (place,), error)


def _small_error(out: Value, x: Value) -> float:
    count = max(x.array.size, out.array.size, 2)
    return 4 * (x.error + out.eps * np.log2(count) * x.peak)


def _rounding(out: Value, x: Value) -> float:
    return x.error + out.eps * out.peak if x.rough or out.array.dtype.kind in "fc" else 0.0


def _same(out: Value, x: Value) -> float:
    return x.error


_UNARY: dict[str, tuple[Any, Any, bool]] = {
    "negative": (lambda xp, fft, x: -x, _same, False),
    "abs": (lambda xp, fft, x: abs(x), _rounding, False),
    "conj": (lambda xp, fft, x: xp.conj(x), _same, False),
    "real": (lambda xp, fft, x: x.real, _same, False),
    "imag": (lambda xp, fft, x: x.imag, _same, False),
    "square": (
        lambda xp, fft, x: x**2,
        lambda out, x: x.error * 3 * (x.peak + x.error) + out.eps * 2 * out.peak,
        False,
    ),
    "cos": (lambda xp, fft, x: xp.cos(x.real), _rounding, False),
    "clip": (lambda xp, fft, x: xp.clip(x.real, 0, 3), _rounding, False),
    "sqrt": (lambda xp, fft, x: xp.sqrt(abs(x)), _rounding, True),
    "log1p": (lambda xp, fft, x: xp.log1p(abs(x)), _rounding, True),
    "rint": (lambda xp, fft, x: xp.rint(x.real), _same, True),
    "sign": (lambda xp, fft, x: xp.sign(x.real), _same, True),
    "angle": (lambda xp, fft, x: xp.angle(x), _rounding, True),
    "logical_not": (lambda xp, fft, x: xp.logical_not(x), _same, True),
    "times index": (
        lambda xp, fft, x: x * xp.arange(x.shape[-1], dtype=np.float32) if x.ndim else x * 2,
        lambda out, x: x.error * 16 + out.eps * out.peak,
        False,
    ),
}

_SCALAR: dict[str, Any] = {
    "+": lambda s: lambda xp, fft, x: x + s,
    "-": lambda s: lambda xp, fft, x: x - s,
    "*": lambda s: lambda xp, fft, x: x * s,
    "/": lambda s: lambda xp, fft, x: x / s,
    "r-": lambda s: lambda xp, fft, x: s - x,
    "r*": lambda s: lambda xp, fft, x: s * x,
}

_ABS2: dict[str, Any] = {
    "abs(z)**2": lambda xp, fft, z: abs(z) ** 2,
    "(conj(z)*z).real": lambda xp, fft, z: (xp.conj(z) * z).real,
    "re**2 + im**2": lambda xp, fft, z: z.real**2 + z.imag**2,
}

_REDUCE = ["sum", "mean", "max", "min", "prod", "any", "all", "sum", "mean"]


def _updated(key: Any, change: Callable[[Any], Any]) -> Callable[..., Any]:
    def step(xp: Any, fft: Any, x: Any) -> Any:
        y = x.copy()
        change(y)
        return y

    return step


def _times(key: Any) -> Callable[..., Any]:
    def change(y: Any) -> None:
        y[key] *= 2

    return _updated(key, change)


def _plus(key: Any) -> Callable[..., Any]:
    def change(y: Any) -> None:
        y[key] += 2

    return _updated(key, change)


def _set(key: Any) -> Callable[..., Any]:
    def change(y: Any) -> None:
        y[key] = 2

    return _updated(key, change)


_UPDATE = {"*=": _times, "+=": _plus, "=": _set}

_ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
_MANY = ["fft2", "ifft2", "fftn", "ifftn", "rfftn", "irfftn", "rfft2", "irfft2", "hfftn", "ihfftn"]
_COSINE = ["dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"]
_TRANSFORMS = [*_ONE, *_ONE, *_ONE, *_MANY, *_COSINE]


@st.composite
def _transform_arguments(draw: Any, name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    ndim = len(shape)
    arguments: dict[str, Any] = {}
    if draw(st.booleans()):
        arguments["norm"] = draw(st.sampled_from([None, "backward", "ortho", "forward"]))
    if name in _COSINE and draw(st.booleans()):
        arguments["type"] = draw(st.integers(1, 4))
    if name in _ONE or name in _COSINE[:4]:
        arguments["axis"] = draw(st.integers(-ndim, ndim - 1))
        if draw(st.booleans()):
            arguments["n"] = draw(st.integers(1, 17))
        return arguments
    if not name.endswith("2") and draw(st.booleans()):
        count = draw(st.integers(1, ndim))
        arguments["axes"] = tuple(draw(st.permutations(range(ndim)))[:count])
        if draw(st.booleans()):
            arguments["s"] = tuple(draw(st.integers(1, 9)) for _ in range(count))
    return arguments


@st.composite
def _keys(draw: Any, shape: tuple[int, ...]) -> Any:
    key: list[Any] = []
    for extent in shape:
        if draw(st.integers(0, 5)) == 0:
            key.append(None)
        kind = draw(st.sampled_from(["all", "all", "slice", "slice", "int"]))
        if kind == "int" and extent:
            key.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "slice":
            bounds = st.one_of(st.none(), st.integers(-extent - 1, extent + 1))
            step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
            key.append(slice(draw(bounds), draw(bounds), step))
        else:
            key.append(slice(None))
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(key)))
        if all(k == slice(None) for k in key[cut:]):
            key = [*key[:cut], ...]
    return tuple(key)


@st.composite
def _index_map(draw: Any, shape: tuple[int, ...]) -> tuple[str, Callable[..., Any]]:
    ndim = len(shape)
    axis = draw(st.integers(0, ndim - 1)) if ndim else None
    shift = draw(st.integers(-9, 9))
    order = draw(st.permutations(range(ndim)))
    widths = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in shape]
    key = draw(_keys(shape))
    flat = int(np.prod(shape))
    divisors = [d for d in range(1, flat + 1) if flat % d == 0] or [1]
    rows = draw(st.sampled_from(divisors))
    target = (draw(st.integers(1, 3)), *shape)
    options: dict[str, Callable[..., Any]] = {
        f"[{key}]": lambda xp, fft, x: x[key],
        f"roll {shift} {axis}": lambda xp, fft, x: xp.roll(x, shift, axis),
        f"fftshift {axis}": lambda xp, fft, x: fft.fftshift(x, axes=axis),
        f"ifftshift {axis}": lambda xp, fft, x: fft.ifftshift(x, axes=axis),
        f"flip {axis}": lambda xp, fft, x: xp.flip(x, axis),
        f"pad {widths}": lambda xp, fft, x: xp.pad(x, widths) if x.ndim else x,
        f"pad {widths} 2": lambda xp, fft, x: xp.pad(x, widths, constant_values=2) if x.ndim else x,
        f"transpose {order}": lambda xp, fft, x: xp.transpose(x, order),
        f"reshape {rows}": lambda xp, fft, x: x.reshape(rows, -1) if flat else x,
        f"broadcast {target}": lambda xp, fft, x: xp.broadcast_to(x, target),
        "squeeze": lambda xp, fft, x: x.squeeze(),
        "ravel": lambda xp, fft, x: x.reshape(-1),
    }
    name = draw(st.sampled_from(list(options)))
    return name, options[name]


KINDS = [
    *("unary", "unary", "binary", "binary", "with_scalar", "with_scalar", "square_modulus"),
    *("phase", "compare_and_choose", "cast", "structure", "structure", "structure", "join"),
    *("update", "pairs", "windows", "reduce", "reduce", "transform", "transform", "transform"),
]


@st.composite
def programs(
    draw: Any, empty: bool = True, length: int = 9, kinds: Sequence[str] = KINDS
) -> Program:
    """A random program of at most ``length`` steps of these kinds."""
    program = Program()
    for _ in range(draw(st.integers(1, 3))):
        array = draw(inputs(empty))
        program.inputs.append(array)
        program.values.append(Value(array.astype(array.dtype.newbyteorder("="))))
    builder = Builder(draw, program)
    for _ in range(draw(st.integers(1, length))):
        getattr(builder, draw(st.sampled_from(kinds)))()
    if not program.steps:
        builder.add("negative", lambda xp, fft, x: abs(x), (0,), lambda out, x: 0)
    last = len(program.values) - 1
    count = draw(st.integers(0, 2))
    others = [draw(st.integers(0, last)) for _ in range(count)]
    program.outputs = [last, *others]
    return program


def assert_equal_to_numpy(program: Program, results: list[Any]) -> None:
    """Shape, dtype and values of every output, within the bound of its rounding error."""
    for place, got in zip(program.outputs, results, strict=True):
        value = program.values[place]
        wanted = np.asarray(value.array)
        assert isinstance(got, np.ndarray), type(got)
        assert got.shape == wanted.shape, (got.shape, wanted.shape)
        native = wanted.dtype.newbyteorder("=")
        assert got.dtype == native, (got.dtype, native)
        if got.size == 0:
            continue
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        if wanted.dtype.kind in "iu":
            worst = float(np.max(np.abs(got.astype(object) - wanted.astype(object))))
        else:
            worst = float(np.max(np.abs(got.astype(wide) - wanted.astype(wide))))
        bound = 8 * value.error + (4 * value.eps * value.peak)
        assert worst <= bound, (worst, bound, place)
