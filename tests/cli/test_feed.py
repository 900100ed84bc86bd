"""The ring of buffers: no buffer is overwritten early, every piece arrives whole and in order."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fft_fused.cuda.cufft import CufftError
from fft_fused.runtime.feed import CupyLink, Feed
from tests.cli.fakes import FakeDevice

SIZE = 64


def content(piece, count):
    return np.random.default_rng(piece).integers(0, 256, count, np.uint8)


def fed(device, lengths, depth=3):
    """What the device computed with, in order."""
    seen = []

    def fill(piece, buffer):
        buffer[: lengths[piece]] = content(piece, lengths[piece])
        return lengths[piece]

    def compute(piece, buffer):
        assert device.computing.entered == 1
        device.computing.enqueue(lambda: seen.append((piece, buffer.copy())))

    Feed(device, SIZE, depth).run(range(len(lengths)), fill, compute)
    return seen


def assert_whole(seen, lengths):
    assert [piece for piece, _ in seen] == list(range(len(lengths)))
    for piece, values in seen:
        np.testing.assert_array_equal(values, content(piece, lengths[piece]))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("last", [SIZE, 1, 17])
@pytest.mark.parametrize("order", ["copies first", "computing first", *range(30)])
def test_pieces_arrive_whole_in_any_order_of_the_streams(depth, last, order):
    choices = {"copies first": lambda r: r[0], "computing first": lambda r: r[-1]}
    device = FakeDevice(choices.get(order) or random.Random(order).choice)
    lengths = [SIZE] * 10 + [last]
    assert_whole(fed(device, lengths, depth), lengths)
    assert len(device.host) == len(device.device) == depth
    assert device.bytes_copied == sum(lengths)


def test_nothing_to_do():
    device = FakeDevice()
    assert fed(device, []) == []
    assert not device.host


def test_one_piece_takes_one_buffer():
    device = FakeDevice()
    assert_whole(fed(device, [5]), [5])
    assert len(device.host) == 1


def test_reading_runs_ahead_of_copies_and_computing():
    """Nothing of the device is waited for until the ring is full, and then only one copy."""
    device, computed, done_at_fill = FakeDevice(), [], []

    def fill(piece, buffer):
        done_at_fill.append((device.copies, len(computed)))
        return SIZE

    def compute(piece, buffer):
        device.computing.enqueue(lambda: computed.append(piece))

    Feed(device, SIZE, 3).run(range(5), fill, compute)
    assert done_at_fill == [(0, 0), (0, 0), (0, 0), (1, 0), (2, 0)]
    assert computed == list(range(5))


def test_a_copy_may_run_while_the_piece_before_is_computed():
    device = FakeDevice()
    copies_at_compute = []

    def compute(piece, buffer):
        device.computing.enqueue(lambda: copies_at_compute.append(device.copies))

    Feed(device, SIZE, 3).run(range(6), lambda piece, buffer: SIZE, compute)
    assert copies_at_compute[0] == 3


@pytest.mark.parametrize("where", ["fill", "compute"])
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_an_error_stops_when_the_device_has_finished(where, bad):
    device = FakeDevice()
    seen = []

    def fill(piece, buffer):
        if where == "fill" and piece == bad:
            raise OSError("unreadable")
        buffer[:] = piece
        return SIZE

    def compute(piece, buffer):
        if where == "compute" and piece == bad:
            raise ValueError("no kernel")
        device.computing.enqueue(lambda: seen.append((piece, set(buffer.tolist()))))

    with pytest.raises((OSError, ValueError), match="unreadable|no kernel"):
        Feed(device, SIZE).run(range(8), fill, compute)
    assert not device.copying.queue
    assert not device.computing.queue
    assert seen == [(piece, {piece}) for piece in range(bad)]
    assert device.computing.entered == 0


def test_a_feed_can_be_used_again_after_an_error():
    device = FakeDevice()
    feed = Feed(device, SIZE)

    def fail(piece, buffer):
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - any
        feed.run(range(2), fail, lambda piece, buffer: None)
    seen = []
    feed.run(range(4), lambda piece, buffer: SIZE, lambda piece, buffer: seen.append(piece))
    assert seen == [0, 1, 2, 3]


class CUDARuntimeError(RuntimeError):
    def __init__(self, status):
        self.status = status


class CuFFTError(RuntimeError):
    def __init__(self, result):
        self.result = result


class UnrelatedError(RuntimeError):
    status = 2


@pytest.mark.parametrize(
    ("error", "memory"),
    [
        (MemoryError(), True),
        (CUDARuntimeError(2), True),
        (CuFFTError(2), True),
        (CufftError("cufftMakePlanMany64", 2), True),
        (CufftError("cufftMakePlanMany64", 17), False),
        (CUDARuntimeError(700), False),
        (CuFFTError(5), False),
        (UnrelatedError(), False),
        (ValueError(), False),
    ],
)
def test_errors_that_less_memory_would_prevent(error, memory):
    link = CupyLink.__new__(CupyLink)
    assert link.is_out_of_memory(error) is memory
