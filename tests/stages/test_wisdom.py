"""Choices on disk: found again by later processes, never trusted when damaged, portable."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from fft_fused.runtime import wisdom
from fft_fused.runtime.plan import Lap
from fft_fused.runtime.wisdom import Choice, wisdom_key

LAPS = (
    Lap("one_kernel", 1e-3, estimate=2e-3),
    Lap("unfused", 4e-3),
    Lap("library", float("inf"), "no memory"),
)
CHOICE = Choice("%1 = fft(x)", "a GPU", 0, "one_kernel", (2,), LAPS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "wisdom"


def key(text="fft"):
    return wisdom_key((text,), "cpu")


def test_a_choice_is_found_again():
    assert wisdom.recall(key()) is None
    wisdom.remember(key(), CHOICE)
    assert wisdom.recall(key()) == CHOICE
    assert wisdom.everything() == {key(): CHOICE}


def test_programs_have_names_of_their_own():
    assert key("a") != key("b")
    assert wisdom_key(("ab", "c"), "cpu") != wisdom_key(("a", "bc"), "cpu")


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d[:-3],
        lambda d: b"",
        lambda d: b"x" * len(d),
    ],
)
def test_a_damaged_record_is_none(folder, damage):
    wisdom.remember(key(), CHOICE)
    (path,) = folder.glob("*.bin")
    path.write_bytes(damage(path.read_bytes()))
    assert wisdom.recall(key()) is None
    assert wisdom.everything() == {}
    wisdom.remember(key(), CHOICE)
    assert wisdom.recall(key()) == CHOICE


@pytest.mark.parametrize("content", [b"[]", b"{}", b"{", b'{"laps": 3}', b"null", b"\xff"])
def test_a_whole_record_of_something_else_is_none(content):
    wisdom._disk().put(key(), content)
    assert wisdom.recall(key()) is None


def test_choices_travel_by_file(tmp_path):
    wisdom.remember(key("a"), CHOICE)
    wisdom.remember(key("b"), CHOICE)
    file = tmp_path / "wisdom.json"
    assert wisdom.export(file) == 2
    assert wisdom.forget() == 2
    assert wisdom.everything() == {}
    assert wisdom.import_from(file) == 2
    assert wisdom.recall(key("b")) == CHOICE


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", '{"a": 1}', json.dumps({"../../x": CHOICE.to_dict()})]
)
def test_a_file_of_something_else_is_refused(tmp_path, text):
    file = tmp_path / "wisdom.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"wisdom\.json"):
        wisdom.import_from(file)
    assert wisdom.everything() == {}


def test_a_folder_that_cannot_be_written_remembers_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path / "file"))
    wisdom.remember(key(), CHOICE)
    assert wisdom.recall(key()) is None
    assert wisdom.everything() == {}
    assert wisdom.forget() == 0


def test_the_same_program_has_the_same_name_in_another_process():
    code = (
        "import numpy as np; from fft_fused import fft, lazy;"
        "from fft_fused.passes.pipeline import _program;"
        "from fft_fused.passes.trace import collect;"
        "from fft_fused.runtime.wisdom import wisdom_key;"
        "v = abs(fft(lazy(np.zeros((4, 8), 'c8')) * 3)) ** 2;"
        "print(wisdom_key(_program(collect([v.node])[0]), 'cpu'))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True
        ).stdout
        for _ in range(2)
    }
    assert len(told) == 1
