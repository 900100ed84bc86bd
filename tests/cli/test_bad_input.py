"""Bad input on the command line: one line on standard error, exit code 2, no file left behind."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.io import wavfile

from fft_fused.cli import main


@pytest.fixture
def folder(tmp_path):
    """Recordings that are damaged, mislabelled or too short."""
    np.zeros(1001, np.int8).tofile(tmp_path / "odd.ci8")
    np.zeros((100, 2), np.int8).tofile(tmp_path / "short.ci8")
    np.zeros((9001, 2), np.int8).tofile(tmp_path / "good.ci8")
    np.zeros((9000, 2), np.int8).tofile(tmp_path / "what.iq")
    np.zeros((9000, 2), np.int8).tofile(tmp_path / "noname")
    (tmp_path / "empty.cu8").touch()
    (tmp_path / "fake.wav").write_bytes(b"no wav file at all" * 900)
    (tmp_path / "fake.npy").write_bytes(b"no npy file at all" * 900)
    (tmp_path / "fake.raw").write_bytes(b"no guppi at all" * 900)
    (tmp_path / "fake.dada").write_bytes(b"no dada at all" * 900)
    (tmp_path / "fake.vdif").write_bytes(b"no vdif at all" * 900)
    (tmp_path / "fake.sigmf-meta").write_text("{}")
    (tmp_path / "alone.sigmf-meta").write_text(
        '{"global": {"core:datatype": "ci8", "core:version": "1.0.0"}, "captures": [], '
        '"annotations": []}'
    )
    wavfile.write(tmp_path / "cut.wav", 8000, np.zeros(9000, np.int16))
    data = (tmp_path / "cut.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(data[:5000])
    wavfile.write(tmp_path / "mono.wav", 8000, np.zeros(9000, np.int16))
    np.save(tmp_path / "text.npy", np.array(["a"] * 9000))
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    np.save(tmp_path / "object.npy", np.array([None] * 10), allow_pickle=True)
    bad = np.zeros(9000, np.complex64)
    bad[4321] = np.nan
    bad.tofile(tmp_path / "nan.cf32")
    bad[4321] = np.inf
    bad.tofile(tmp_path / "inf.cf32")
    np.full(9000, 1e25, np.complex64).tofile(tmp_path / "huge.cf32")
    (tmp_path / "folder.ci8").mkdir()
    return tmp_path


CASES = [
    (["missing.ci8"], "missing.ci8: no such file"),
    (["folder.ci8"], "is a folder, need a recording"),
    (["empty.cu8"], "empty.cu8: is empty"),
    (["odd.ci8"], "1001 bytes are no whole number of ci8 samples of 2 bytes"),
    (["good.ci8", "--dtype", "cf64"], "18002 bytes are no whole number of cf64 samples"),
    (["good.ci8", "--dtype", "c8"], "dtype 'c8' is not known; there are cu8, ci8"),
    (["what.iq"], "suffix '.iq' does not tell the type of the samples; say --dtype cu8"),
    (["noname"], "a name without suffix does not tell the type"),
    (["short.ci8"], "has 100 samples, nfft is 4096; use --nfft 64 or less"),
    (["fake.wav"], "is no WAV file (it begins with b'no w'); for raw samples say --dtype"),
    (["cut.wav"], "cannot be read as WAV"),
    (["mono.wav", "--iq"], "has 1 channels; --iq needs a real and an imaginary one"),
    (["fake.npy"], "cannot be read as .npy"),
    (["text.npy"], "text.npy: holds <U1, need an array of numbers"),
    (["object.npy"], "cannot be read as .npy"),
    (["cube.npy"], "has shape (2, 3, 4); need (n,) or (streams, n)"),
    (["nan.cf32"], "sample 4321 is not finite; cut the recording"),
    (["inf.cf32"], "sample 4321 is not finite"),
    (["huge.cf32"], "overflows float32"),
    (["good.ci8", "--nfft", "0"], "nfft is 0, need at least 2"),
    (["good.ci8", "--nfft", "-5"], "nfft is -5"),
    (["good.ci8", "--overlap", "1"], "overlap is 1.0, need 0 to below 1"),
    (["good.ci8", "--rate", "0"], "sample rate 0.0 given"),
    (["good.ci8", "--rate", "nan"], "sample rate nan given"),
    (["good.ci8", "--window", "hanning window"], "window 'hanning window'"),
    (["good.ci8", "--engine", "cuda"], "engine 'cuda' does not exist"),
    (["good.ci8", "--workers", "0"], "workers must not be zero"),
    (["good.ci8", "-o", "x.jpg"], "suffix '.jpg' is not known; use .png, .csv, .npz"),
    (["good.ci8", "-o", "nowhere/x.png"], "there is no folder"),
]


@pytest.mark.parametrize(
    ("arguments", "text"), CASES, ids=lambda c: " ".join(c) if isinstance(c, list) else ""
)
def test_one_line_and_exit_code_2(folder, monkeypatch, capsys, arguments, text):
    monkeypatch.chdir(folder)
    before = {p.name for p in folder.iterdir()}
    extra = [] if "-o" in arguments else ["-o", "out.png", "-o", "out.csv"]
    assert main(["psd", *arguments, *extra]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.startswith("fft-fused: error: ")
    assert error.count("\n") == 1
    assert {p.name for p in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["fake.raw", "fake.dada", "fake.vdif"])
def test_damaged_observatory_files(folder, capsys, name):
    pytest.importorskip("baseband")
    assert main(["psd", str(folder / name)]) == 2
    error = capsys.readouterr().err
    assert "cannot be read as" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["fake.sigmf-meta", "alone.sigmf-meta"])
def test_damaged_sigmf(folder, capsys, name):
    pytest.importorskip("sigmf")
    assert main(["psd", str(folder / name)]) == 2
    error = capsys.readouterr().err
    assert "SigMF" in error
    assert error.count("\n") == 1


def test_guppi_header_without_data(capsys):
    data = pytest.importorskip("baseband.data")
    assert main(["psd", data.SAMPLE_BLC]) == 2
    error = capsys.readouterr().err
    assert "is cut off: its header announces frames of 134224896 bytes, the file has 7168" in error
    assert error.count("\n") == 1


def test_guppi_cut_in_a_frame_says_how_to_keep_the_rest(tmp_path, capsys):
    data = pytest.importorskip("baseband.data")
    path = tmp_path / "cut.raw"
    with open(data.SAMPLE_PUPPI, "rb") as file:
        path.write_bytes(file.read()[:80000])
    assert main(["psd", str(path)]) == 2
    assert "head -c 68352 cut.raw > whole.raw" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["matplotlib", "sigmf", "baseband"])
def test_missing_library_says_what_to_install(folder, monkeypatch, capsys, module):
    for name in [n for n in sys.modules if n.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    names = {"matplotlib": "good.ci8", "sigmf": "fake.sigmf-meta", "baseband": "fake.raw"}
    out = folder / "x.png"
    assert main(["psd", str(folder / names[module]), "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert f"{module}" in error
    assert "pip install fft_fused[" in error
    assert not out.exists()


def test_a_failed_write_leaves_no_file(folder, monkeypatch, capsys):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fft_fused.outputs._write_csv", fail)
    out = folder / "x.csv"
    out.write_text("old")
    assert main(["psd", str(folder / "good.ci8"), "-o", str(out)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert out.read_text() == "old"
    assert not list(folder.glob(".x.csv*"))


def test_unknown_command_and_option_exit_with_2():
    for arguments in (["spectrum"], ["psd", "x.ci8", "--nffft", "3"], []):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 2
