"""A device without a GPU: streams whose work is done late, in any order that events allow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


class DeadlockError(AssertionError):
    """A stream waits for an event that nobody will reach."""


class FakeEvent:
    """Counts how often it was recorded and how many of these are reached; new: complete."""

    def __init__(self, device):
        self.device, self.recorded, self.reached = device, 0, 0

    def synchronize(self):
        wanted = self.recorded
        self.device.run_until(lambda: self.reached >= wanted)


class FakeStream:
    """A queue; an entry is (may it start?, what it does)."""

    def __init__(self, device):
        self.device, self.queue, self.entered = device, [], 0

    def enqueue(self, work, ready=lambda: True):
        self.queue.append((ready, work))

    def record(self, event):
        event.recorded += 1
        number = event.recorded

        def reach():
            event.reached = max(event.reached, number)

        self.enqueue(reach)

    def wait_event(self, event):
        wanted = event.recorded
        self.enqueue(lambda: None, lambda: event.reached >= wanted)

    def synchronize(self):
        self.device.run_until(lambda: not self.queue)

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *exception):
        self.entered -= 1


class FakeDevice:
    """A link to NumPy arrays. Nothing runs before the host waits for it; then ``prefer`` picks
    one of the streams that can go on."""

    xp = np

    def __init__(self, prefer=lambda runnable: runnable[0]):
        self.prefer = prefer
        self.copying, self.computing = FakeStream(self), FakeStream(self)
        self.host, self.device = [], []
        self.copies = self.bytes_copied = 0

    def event(self):
        return FakeEvent(self)

    def host_buffer(self, nbytes):
        self.host.append(np.full(nbytes, 0xAA, np.uint8))
        return self.host[-1]

    def device_buffer(self, nbytes):
        self.device.append(np.full(nbytes, 0xBB, np.uint8))
        return self.device[-1]

    def copy(self, target, source):
        def work():
            self.copies += 1
            self.bytes_copied += len(source)
            target[:] = source

        self.copying.enqueue(work)

    def run_until(self, done):
        while not done():
            runnable = [s for s in (self.copying, self.computing) if s.queue and s.queue[0][0]()]
            if not runnable:
                raise DeadlockError
            _, work = self.prefer(runnable).queue.pop(0)
            work()


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class PromptStream:
    """A stream, and an event, of a device that has always finished."""

    def record(self, event):
        pass

    wait_event = record

    def synchronize(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


@dataclass
class PromptDevice:
    """A link that does everything at once, with ``limit`` bytes of memory."""

    limit: float = float("inf")
    taken: list = field(default_factory=list)
    released: int = 0

    xp = np
    copying = computing = PromptStream()

    def event(self):
        return PromptStream()

    def host_buffer(self, nbytes):
        return np.empty(nbytes, np.uint8)

    def device_buffer(self, nbytes):
        if nbytes > self.limit:
            raise OutOfMemoryError
        self.taken.append(nbytes)
        return np.empty(nbytes, np.uint8)

    def copy(self, target, source):
        target[:] = source

    def to_host(self, array):
        return array

    def is_out_of_memory(self, error):
        return isinstance(error, OutOfMemoryError) or getattr(error, "status", 0) == 2

    def release(self):
        self.released += 1

    def memory(self):
        return 3 << 20, 80 << 30
