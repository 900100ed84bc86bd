"""What transforms cost a GPU: rounded measurements of cuFFT 12.0 on one H200.

Only ratios count: the planner uses them to leave out what cannot win, and measures the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..expr.node import Node
from ..expr.spectrum import largest_prime

COPY_RATE = 4.1e12  # bytes a second
KERNEL_RATE = 3e12  # of a generated kernel
CALL = 8e-6  # seconds of the host for a launch
_AWKWARD = 127  # cuFFT goes round a larger prime factor by a longer transform

_PLAIN = ((8192, 1.0), (16384, 1.36), (32768, 1.9), (65536, 2.2), (math.inf, 2.4))
_CALLBACK = (
    (4096, 1.12),
    (8192, 1.4),
    (16384, 2.35),
    (32768, 4.7),
    (131072, 7.7),
    (math.inf, 2.7),
)
_CALLBACK_REAL = ((4096, 2.0), (8192, 3.0), (math.inf, 4.5))
_CALLBACK_PLANES = {2: 2.15, 3: 3.0}
_CALLBACK_REAL_PLANES = {2: 3.3, 3: 4.2}
_LONG_PLANE, _LONG_PLANE_LOADED = 2048, 8.2


def _moved(nodes: Sequence[Node]) -> float:
    return nodes[0].args[0].nbytes + nodes[-1].nbytes


def _row(table: Sequence[tuple[float, float]], n: int) -> float:
    return next(passes for longest, passes in table if n <= longest)


def transform_seconds(nodes: Sequence[Node]) -> float:
    """One call of cuFFT for chained transforms."""
    passes = sum(_row(_PLAIN, n.attr.n) for n in nodes)
    if any(largest_prime(n.attr.n) > _AWKWARD for n in nodes):
        passes *= 4
    return passes * _moved(nodes) / COPY_RATE


def callback_seconds(nodes: Sequence[Node], load: bool) -> float:
    """The same call with callbacks; what they compute hardly counts."""
    lengths = [n.attr.n for n in nodes]
    real = any(n.attr.kind != "c2c" for n in nodes)
    if len(nodes) == 1:
        passes = _row(_CALLBACK_REAL if real else _CALLBACK, lengths[0])
    elif len(nodes) == 2 and load and max(lengths) >= _LONG_PLANE:
        passes = _LONG_PLANE_LOADED
    else:
        passes = (_CALLBACK_REAL_PLANES if real else _CALLBACK_PLANES)[len(nodes)]
    return passes * _moved(nodes) / COPY_RATE


_FFT_SECONDS = ((256, 0.42), (512, 0.5), (1024, 0.54), (4096, 0.6), (8192, 1.05), (math.inf, 1.25))
_ROOT_SECONDS = 0.15  # a twiddle factor, from its count of instructions


def one_kernel_seconds(nodes: Sequence[Node], moved: int, roots: int = 0) -> float:
    """Our own FFTs in one kernel, an element's twiddle factors being ``roots``: memory and
    arithmetic overlap in part."""
    sizes = [max(n.size, n.args[0].size) for n in nodes]
    work = sum(_row(_FFT_SECONDS, n.attr.n) * s for n, s in zip(nodes, sizes, strict=True))
    work += _ROOT_SECONDS * roots * sizes[0]
    work *= 1e-3 / 2**28 * (2 if nodes[0].dtype.char in "dD" else 1)
    memory = moved / COPY_RATE
    return max(work, memory) + 0.25 * min(work, memory)
