"""``fft-fused compile`` and ``.compile(archs=...)``: code for GPUs that are not here."""

from __future__ import annotations

import pytest

from fft_fused import ArraySpec, CompileError, fft, fuse
from fft_fused.cli import main
from fft_fused.cuda import compile as nvrtc
from fft_fused.runtime.gpus import why_no_gpu

pytestmark = pytest.mark.skipif(bool(nvrtc.nvrtc_missing()), reason=nvrtc.nvrtc_missing())
FILE = """
import fft_fused
from fft_fused import ArraySpec, fft, fuse

@fuse
def power(x, w):
    return abs(fft(x * w)) ** 2

power.compile(ArraySpec.of((64, 256), "c8", "cuda:0"), ArraySpec.of((256,), "f4", "cuda:0"))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "code"


@fuse
def power(x):
    return abs(fft(x)) ** 2


def spec(*shape):
    return ArraySpec.of(shape, "c8", "cuda:0")


def test_a_file_is_compiled_for_the_targets_given(tmp_path, folder, capsys):
    file = tmp_path / "programs.py"
    file.write_text(FILE)
    assert main(["compile", str(file), "--arch", "sm_80", "--arch", "sm_90"]) == 0
    line, place = capsys.readouterr().out.splitlines()
    assert line.startswith("power: ")
    assert "kernels for sm_80, sm_90" in line
    assert place == f"in {folder.parent}"
    assert len(list(folder.glob("*.bin"))) >= 2


def test_what_a_launch_loads_is_what_was_compiled(folder, monkeypatch):
    plan = power.compile(spec(64, 256), archs=["sm_90"])
    assert list(folder.glob("*.bin"))
    monkeypatch.setattr(nvrtc, "compile_source", lambda *given: pytest.fail("compiled again"))
    for launch in plan.launches:
        for task in launch.run.compile_for("sm_90"):
            assert task().startswith(b"\x7fELF")


def test_nothing_is_compiled_for_arrays_on_the_host(folder):
    power.compile(ArraySpec.of((64, 256), "c8"), archs=["sm_90"])
    assert not folder.exists()


@pytest.mark.parametrize("arch", ["90", "compute_90", "sm90", "sm_", "-dlto", ""])
def test_a_target_that_is_none_is_refused(arch):
    with pytest.raises(ValueError, match="need targets such as 'sm_90'"):
        power.compile(spec(64, 256), archs=[arch])


def test_a_target_that_nvrtc_does_not_know_is_an_error():
    with pytest.raises(CompileError, match="gpu-architecture|arch"):
        power.compile(spec(64, 256), archs=["sm_11"])


def test_errors_of_the_command_line(tmp_path, capsys):
    file = tmp_path / "programs.py"
    file.write_text("x = 1\n")
    assert main(["compile", str(tmp_path / "none.py"), "--arch", "sm_90"]) == 2
    assert "is no file" in capsys.readouterr().err
    assert main(["compile", str(file), "--arch", "sm_90"]) == 2
    assert "calls no .compile()" in capsys.readouterr().err
    assert main(["compile", str(file), "--arch", "90"]) == 2
    assert "need targets" in capsys.readouterr().err
    if why_no_gpu():
        assert main(["compile", str(file)]) == 2
        assert "give --arch" in capsys.readouterr().err
