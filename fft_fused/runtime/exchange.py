"""Arrays that are handed over: torch tensors by DLPack in both directions, host tables to a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from ..expr.node import ArraySpec
from .arrays import device_index, device_of, is_cupy, native, spec_of
from .gpus import why_no_gpu

TORCH = "torch"
_WHERE_WE_ARE = nullcontext()


def is_torch(value: Any) -> bool:
    """Is it a torch tensor? Never imports torch."""
    return is_torch_type(type(value))  # type: ignore[arg-type]


@cache
def is_torch_type(kind: type) -> bool:
    """Are values of the type torch tensors?"""
    return any(k.__module__ == TORCH and k.__name__ == "Tensor" for k in kind.__mro__)


def is_array(value: Any) -> bool:
    """An array of a library that lazy arrays are made of: NumPy, CuPy, torch."""
    return isinstance(value, np.ndarray) or is_cupy(value) or is_torch(value)


def needs_gradient(value: Any) -> bool:
    """Would torch follow what is computed of it?"""
    return is_torch(value) and bool(value.requires_grad)


def known(value: Any, what: str) -> Any:
    """A number that is asked for while an expression is recorded.

    Raises
    ------
    TypeError
        When it lies on a GPU: reading it would wait for the GPU and copy.
    """
    if is_cupy(value) or (is_torch(value) and value.is_cuda):
        raise TypeError(
            f"{what}: its value is on {value.device} and is not copied to the host silently; "
            "pass float(x) if you mean it"
        )
    return value


def imported(tensor: Any, what: str) -> Any:
    """A torch tensor as a NumPy array, or a CuPy array on its GPU, of the same memory.

    A tensor whose conj or negative bit is set, which only marks its values, is resolved: a copy.
    On a GPU the array is ready on torch's current stream.

    Raises
    ------
    TypeError
        For tensors that require grad, are no plain arrays of numbers or lie on another device.
    ImportError
        For a tensor on a GPU without CuPy.
    """
    if tensor.requires_grad:
        raise TypeError(
            f"{what}: a tensor that requires grad; nothing is differentiated here, pass x.detach()"
        )
    torch = sys.modules[TORCH]
    if tensor.layout is not torch.strided or tensor.device.type not in ("cpu", "cuda"):
        raise TypeError(
            f"{what}: a {tensor.layout} tensor on {tensor.device}; "
            "need a strided one on the CPU or a CUDA device"
        )
    plain = tensor.resolve_conj().resolve_neg()
    device = "cpu" if plain.device.type == "cpu" else f"cuda:{plain.device.index}"
    try:
        if device == "cpu":
            return native(np.from_dlpack(plain))
        with working_on(device, TORCH):
            import cupy

            return cupy.from_dlpack(plain)
    except ImportError:
        raise ImportError(f"{what}: a tensor on {device}: {why_no_gpu()}") from None
    except BufferError:
        raise TypeError(
            f"{what}: dtype {tensor.dtype} is not computed with; "
            "use a bool, integer, float or complex tensor, as by x.float()"
        ) from None


def exported(array: Any, library: str) -> Any:
    """A result in the library of the arguments: itself, or a torch tensor of its memory."""
    if library != TORCH:
        return array
    if min(array.strides, default=0) < 0:  # which torch does not have
        array = array.copy()
    return sys.modules[TORCH].from_dlpack(array)


def working_on(device: str, library: str = "") -> AbstractContextManager[Any]:
    """A block in which work goes to a device: to the current stream there, or to torch's.

    On torch's stream work and memory are ordered with what torch does, which knows of no other.
    """
    if device == "cpu":
        return _WHERE_WE_ARE
    import cupy

    index = device_index(device)
    if library == TORCH:
        return _on_stream_of_torch(index)
    here = cupy.cuda.runtime.getDevice() == index
    return _WHERE_WE_ARE if here else cupy.cuda.Device(index)


@contextmanager
def _on_stream_of_torch(index: int) -> Iterator[None]:
    import cupy

    address = sys.modules[TORCH].cuda.current_stream(index).cuda_stream
    with cupy.cuda.Device(index), _stream_at(address):
        yield


def _stream_at(address: int) -> Any:
    from cupy import cuda

    if not address:
        return cuda.Stream.null
    if not hasattr(cuda.Stream, "from_external"):  # before CuPy 14
        return cuda.ExternalStream(address)
    return cuda.Stream.from_external(_Handed(address))


class _Handed:
    """A stream in CUDA's protocol for handing streams over."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


def layout_of(tensor: Any) -> tuple[Any, ...]:
    """What a plan assumes of a torch tensor, which may be given other memory at any time."""
    if tensor.layout is not sys.modules[TORCH].strided:
        return ()
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.data_ptr() % 16


def placed(value: Any, spec: ArraySpec) -> Any:
    """An operand where it is computed with: tensors handed over, host values copied to a GPU.

    Raises
    ------
    ValueError
        When a tensor is not what was recorded any more.
    """
    if is_torch(value):
        value = imported(value, "operand")
        there = spec_of(value)
        moves = there.device != spec.device and there.shape == () == spec.shape
        if there != spec and not (moves and there.dtype == spec.dtype):
            raise ValueError(
                f"a tensor {spec} was given other memory after it was recorded, now {there}; "
                "make a new lazy array of it"
            )
    if spec.device == "cpu" or device_of(value) != "cpu":
        return value
    import cupy

    with cupy.cuda.Device(int(spec.device.partition(":")[2])):
        return cupy.asarray(value, order="C")
