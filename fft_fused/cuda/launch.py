"""Kernels on a device: compiled, loaded and started."""

from __future__ import annotations

import threading
from typing import Any

from .compile import arch_for, compiled
from .kernels import Kernel
from .link import linked
from .user_code import Link

_PLAIN_SHARED = 48 * 1024
_MOST_SHARED_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def machine_code(source: str, links: tuple[Link, ...], arch: str) -> bytes:
    """Compiled, and linked with LTO-IR of users where it calls some; or from the disk cache."""
    return linked(source, links, arch) if links else compiled(source, arch)


class Function:
    """A C function of a source, on each device it has been loaded on."""

    __slots__ = ("_functions", "_links", "_lock", "_shared", "name", "source")

    def __init__(
        self, source: str, name: str, shared_bytes: int = 0, links: tuple[Link, ...] = ()
    ) -> None:
        self.source, self.name = source, name
        self._shared, self._links = shared_bytes, links
        self._functions: dict[int, Any] = {}
        self._lock = threading.Lock()

    def is_loaded(self, device: int) -> bool:
        """Can it be started without compiling?"""
        return device in self._functions

    def load(self, device: int) -> Any:
        """Compile, or find it in the disk cache, and load."""
        import cupy
        from cupy_backends.cuda.api import driver

        with self._lock, cupy.cuda.Device(device) as place:
            if device not in self._functions:
                module = cupy.cuda.function.Module()
                arch = arch_for(place.compute_capability)
                module.load(machine_code(self.source, self._links, arch))
                function = module.get_function(self.name)
                if self._shared > _PLAIN_SHARED:
                    driver.funcSetAttribute(function.ptr, _MOST_SHARED_ATTRIBUTE, self._shared)
                self._functions[device] = function
        return self._functions[device]

    def blocks_at_once(self, device: int, threads: int) -> int:
        """Blocks of so many threads that a multiprocessor runs at a time."""
        from cupy_backends.cuda.api import driver

        function = self.load(device)
        return int(
            driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, self._shared)
        )

    def __call__(
        self, device: int, grid: tuple[int, int, int], threads: int, arguments: tuple[Any, ...]
    ) -> None:
        """Start on the current stream; arrays go as addresses, numbers by value."""
        function = self._functions.get(device) or self.load(device)
        function(grid, (threads, 1, 1), arguments, self._shared)


class LoadedKernel:
    """A kernel, and how it is started on each device."""

    __slots__ = ("_function", "_grid", "kernel")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._function = Function(kernel.source, kernel.name, links=kernel.links)
        self._grid = (kernel.blocks, 1, 1)

    def is_loaded(self, device: int) -> bool:
        """Can it be started without compiling?"""
        return self._function.is_loaded(device)

    def load(self, device: int) -> Any:
        """Compile, or find it in the disk cache, and load."""
        return self._function.load(device)

    def __call__(self, device: int, arguments: tuple[Any, ...]) -> None:
        """Start on the current stream; arrays go as addresses, numbers by value."""
        self._function(device, self._grid, self.kernel.threads, arguments)
