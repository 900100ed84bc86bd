"""Threads, processes and forks that plan the same programs at once: right results, no deadlock."""

from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import fft_fused
from fft_fused import fft, fuse, ifft, irfft, rfft
from fft_fused.runtime import disk_cache, wisdom

RNG = np.random.default_rng(0)
WORK = """
import sys, numpy as np
from fft_fused import fft, fuse
from fft_fused.runtime import wisdom

@fuse
def power(x):
    return abs(fft(x * 2)) ** 2

x = np.random.default_rng(0).standard_normal((512, 1024, 2)).astype("f4").view("c8")[..., 0]
wanted = np.abs(np.fft.fft(x.astype(complex) * 2)) ** 2
for k in range(25):
    assert np.allclose(power(x), wanted, rtol=1e-4, atol=1e-4 * wanted.max())
    if k % 5 == 4:
        wisdom.everything()
if sys.argv[1] == "0":
    wisdom.forget()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def programs():
    """Fifty programs: functions, sizes and scalars, with what NumPy gives."""
    kinds = (
        lambda x, s: abs(fft(x * s)) ** 2,
        lambda x, s: ifft(fft(x) * s),
        lambda x, s: (abs(fft(x)) * s).sum(axis=0),
        lambda x, s: irfft(rfft(x.real) * s),
        lambda x, s: fft(x.real + s),
    )
    found = []
    for k in range(50):
        x = RNG.standard_normal((64 + 8 * k, 256)) + 1j * RNG.standard_normal((64 + 8 * k, 256))
        function, x = fuse(kinds[k % 5]), x.astype("c8")
        wanted = np.asarray(function.unfused(x.astype("c16"), 1.5 + k))
        found.append((function, x, 1.5 + k, wanted))
    return found


def test_sixteen_threads_call_fifty_programs():
    given, faults = programs(), []

    def work(number):
        order = np.random.default_rng(number).permutation(50)
        for k in (*order, *order):
            function, x, scalar, wanted = given[k]
            got = function(x, scalar)
            if not np.allclose(got, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max()):
                faults.append(k)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not any(t.is_alive() for t in threads)
    assert not faults


def test_eight_processes_share_a_folder(folder):
    command = [sys.executable, "-W", "error", "-c", WORK]
    running = [
        subprocess.Popen([*command, str(k)], stderr=subprocess.PIPE, text=True) for k in range(8)
    ]
    told = [(p.communicate(timeout=120)[1], p.returncode) for p in running]
    assert told == [("", 0)] * 8
    assert not list(folder.rglob(".part-*"))


def _call(function, x, wanted, queue):
    queue.put(bool(np.allclose(function(x, 2.0), wanted, rtol=1e-3)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_goes_on_where_its_parent_was():
    function, x, _, _ = programs()[0]
    wanted = np.asarray(function.unfused(x, 2.0))
    function(x, 2.0)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_call, args=(function, x, wanted, queue)) for _ in range(4)]
    for c in children:
        c.start()
    assert all(queue.get(timeout=60) for _ in children)
    for c in children:
        c.join(60)
        assert c.exitcode == 0
    assert np.allclose(function(x, 2.0), wanted, rtol=1e-3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_finds_no_lock_that_another_thread_held():
    code = """
import os, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from fft_fused import fft, fuse
from fft_fused.passes.pipeline import PLANS
f = fuse(lambda x: fft(x * 2))
f(np.ones(8, "c8"))
held, done = threading.Event(), threading.Event()
def hold():
    with PLANS._lock, f._lock, f._traced._lock:
        held.set()
        done.wait(60)
threading.Thread(target=hold, daemon=True).start()
held.wait(60)
pid = os.fork()
if pid == 0:
    f(np.ones(16, "c8"))
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
done.set()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_is_full_or_read_only_is_no_fault(monkeypatch, fault):
    def refuse(*given, **named):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(disk_cache.tempfile, "mkstemp", refuse)
    function, x, scalar, wanted = programs()[49]
    with fft_fused.options(workers=2):
        for _ in range(30):
            got = function(x, scalar)
    assert np.allclose(got, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())
    assert wisdom.everything() == {}
