"""``fft-fused wisdom``: what was measured, shown, moved and removed."""

from __future__ import annotations

import pytest

from fft_fused.cli import main
from fft_fused.runtime import wisdom
from fft_fused.runtime.plan import Lap
from fft_fused.runtime.wisdom import Choice

LAPS = (Lap("one_kernel", 1.5e-3), Lap("unfused", 4e-3))
CHOICE = Choice("fft > absolute of x: c8[64,1024]", "a GPU, CUDA 13.0", 0, "one_kernel", (2,), LAPS)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path / "cache"))
    wisdom.remember("a" * 64, CHOICE)


def test_show_lists_programs_by_machine(capsys):
    assert main(["wisdom", "show"]) == 0
    machine, program, count = capsys.readouterr().out.splitlines()
    assert machine == "a GPU, CUDA 13.0"
    assert program.split() == ["one_kernel", "1.5", "ms", *CHOICE.program.split()]
    assert count == "1 programs"


def test_choices_move_by_file_and_are_forgotten(capsys, tmp_path):
    file = str(tmp_path / "w.json")
    assert main(["wisdom", "export", file]) == 0
    assert main(["wisdom", "forget"]) == 0
    assert wisdom.everything() == {}
    assert main(["wisdom", "import", file]) == 0
    assert wisdom.everything() == {"a" * 64: CHOICE}
    assert capsys.readouterr().out.splitlines() == [
        f"wrote 1 programs to {file}",
        "forgot 1 programs",
        f"1 programs from {file}",
    ]


def test_a_file_of_something_else_is_an_error(capsys, tmp_path):
    file = tmp_path / "w.json"
    file.write_text("[]")
    assert main(["wisdom", "import", str(file)]) == 2
    assert "not written by fft-fused wisdom export" in capsys.readouterr().err
    assert main(["wisdom", "import", str(tmp_path / "none")]) == 2
    assert main(["wisdom", "export", str(tmp_path / "no" / "folder")]) == 2
