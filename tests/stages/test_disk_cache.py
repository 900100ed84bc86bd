"""Compiled code on disk: found again, never trusted when damaged, bounded."""

from __future__ import annotations

import os
import threading

import pytest

from fft_fused.runtime.disk_cache import DiskCache, fingerprint


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "code", 10_000)


def counted(content=b"code"):
    calls = []

    def make():
        calls.append(1)
        return content

    return make, calls


def test_what_is_known_is_not_made_again(cache):
    make, calls = counted()
    assert cache.get("a", make) == b"code"
    assert DiskCache(cache.folder, cache.limit).get("a", make) == b"code"
    assert len(calls) == 1


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:20], lambda d: b"", lambda d: d[:-1] + b"x"]
)
def test_a_damaged_entry_is_made_again(cache, damage):
    make, calls = counted()
    cache.get("a", make)
    (path,) = cache.folder.glob("*.bin")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("a", make) == b"code"
    assert len(calls) == 2
    assert cache.get("a", make) == b"code"
    assert len(calls) == 2


def test_the_least_recently_used_entries_make_room(cache):
    for k in range(6):
        cache.get(str(k), lambda: bytes(3000))
        os.utime(cache.folder / f"{k}.bin", (k, k))
    left = {p.stem for p in cache.folder.glob("*.bin")}
    assert left == {"3", "4", "5"}


def test_a_folder_that_cannot_be_written_remembers_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "code", 1000)
    make, calls = counted()
    assert [cache.get("a", make) for _ in range(2)] == [b"code", b"code"]
    assert len(calls) == 2


def test_many_threads_see_whole_entries_only(cache):
    wrong = []

    def use():
        for k in range(50):
            if cache.get(str(k % 5), lambda: b"x" * 1500) != b"x" * 1500:
                wrong.append(k)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert not list(cache.folder.glob(".part-*"))


def test_fingerprints_tell_where_parts_end():
    assert fingerprint(("ab", "c")) != fingerprint(("a", "bc"))
    assert fingerprint((b"ab",)) == fingerprint(("ab",))
