"""Compilations in the background: all done, in order of urgency, never in the way of an exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from fft_fused.runtime.builds import first_usable, submit, wait


def test_all_tasks_are_done():
    done = []
    builds = [submit([lambda k=k: done.append(k)] * 3) for k in range(20)]
    assert wait(30)
    assert all(b.is_usable for b in builds)
    assert sorted(done) == sorted(list(range(20)) * 3)


def test_a_build_without_tasks_is_done():
    assert submit([]).is_usable


def test_a_fault_is_kept_and_the_other_tasks_are_done():
    done = []

    def fail():
        raise KeyError("no code")

    build = submit([fail, lambda: done.append(1)])
    assert build.wait(30)
    assert isinstance(build.fault, KeyError)
    assert not build.is_usable
    assert done == [1]


def test_urgent_tasks_overtake():
    gate, order = threading.Event(), []
    blockers = submit([gate.wait] * 64)  # more than there are threads
    later = [submit([lambda k=k: order.append(k)], urgency=2) for k in range(5)]
    first = submit([lambda: order.append("first")], urgency=0)
    gate.set()
    assert all(b.wait(30) for b in (blockers, first, *later))
    assert order.index("first") == 0


def test_the_first_is_waited_for_then_whichever_is_done():
    gate = threading.Event()
    slow, quick = submit([gate.wait]), submit([])
    start = time.monotonic()
    assert first_usable([slow, quick], 0.1) == 1
    assert time.monotonic() - start >= 0.1
    gate.set()
    assert slow.wait(30)
    assert first_usable([slow, quick], 0.1) == 0


def test_none_is_usable_when_all_failed():
    def fail():
        raise ValueError

    builds = [submit([fail]), submit([fail])]
    assert first_usable(builds, 5) is None


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_exit_does_not_wait_for_what_has_not_begun(seconds):
    code = (
        "import time; from fft_fused.runtime.builds import submit;"
        f"submit([lambda: time.sleep(0.3)] * 400 if {seconds} == 0 else [lambda: time.sleep(30)]);"
        "time.sleep(0.1)"
    )
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert time.monotonic() - start < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_builds_go_on_after_a_fork():
    code = (
        "import os, time, warnings; warnings.simplefilter('ignore');"
        "from fft_fused.runtime.builds import submit, wait;"
        "submit([lambda: time.sleep(0.2)] * 8); pid = os.fork();"
        "b = submit([lambda: None]); assert b.wait(20) and wait(20);"
        "os._exit(0) if pid == 0 else None; assert os.waitpid(pid, 0)[1] == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
