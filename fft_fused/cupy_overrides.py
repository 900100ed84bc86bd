"""CuPy's override hooks: which of its ufuncs, kernels and reductions are recorded.

CuPy calls ``__cupy_override_elementwise_kernel__`` and ``__cupy_override_reduction_kernel__`` of an
argument before it looks at the others, so nothing here needs a GPU.
"""

from __future__ import annotations

from typing import Any

from .expr.ops import OPS
from .overrides import cannot, record_elementwise, record_reduction, refuse
from .record import written

_PREFIX = "cupy_"
_KEEPING_DTYPE = "_with_dtype"  # CuPy's names of sum and prod when a dtype is asked for
_OPERATORS = {
    kind: {_PREFIX + n: n for n, op in OPS.items() if op.kind == kind and not op.internal}
    for kind in ("elementwise", "reduce")
}
_OPERATORS["elementwise"]["cupy_true_divide"] = "divide"


def apply_kernel(kernel: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Record a ufunc of CuPy with a lazy array among its arguments.

    Raises
    ------
    TypeError
        For kernels and arguments that are not recorded, and for results in CuPy arrays.
    """
    import cupy

    from .xp.elementwise import angle

    name = _title(kernel.name)
    inputs, targets = args[: kernel.nin], args[kernel.nin :]
    if targets:
        options = {**options, "out": targets[0]}
    if not isinstance(kernel, cupy.ufunc):
        raise cannot(f"the CuPy kernel {kernel.name!r}")
    if kernel.name == "cupy_angle_deg":
        out = options.pop("out", None)
        refuse(name, options)
        return written(angle(inputs[0], deg=True), out, name)
    op = _OPERATORS["elementwise"].get(kernel.name)
    if op is None:
        raise cannot(name)
    return record_elementwise(name, op, inputs, options)


def apply_reduction(
    array: Any, kernel: Any, axis: Any, dtype: Any, out: Any, keepdims: bool
) -> Any:
    """Record a reduction of CuPy over a lazy array.

    Raises
    ------
    TypeError
        As ``apply_kernel``.
    """
    from .xp.reduce import count_nonzero

    name = _title(kernel.name)
    if kernel.name == "cupy_count_nonzero":
        return written(count_nonzero(array, axis, keepdims), out, name)
    op = _OPERATORS["reduce"].get(kernel.name.removesuffix(_KEEPING_DTYPE))
    if op is None:
        raise cannot(name)
    options = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims}
    return record_reduction(name, op, array, options)


def _title(name: str) -> str:
    return f"cupy.{name.removeprefix(_PREFIX)}"
