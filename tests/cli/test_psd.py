"""fft-fused psd and demo: right spectra for every format, in bounded memory."""

from __future__ import annotations

import csv
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.signal
from scipy.io import wavfile

from fft_fused import psd as psd_module
from fft_fused.cli import main
from fft_fused.psd import Settings, spectrum
from fft_fused.recordings import open_recording

RNG = np.random.default_rng(0)
RATE = 1e6


def pairs(dtype, n=20_000):
    t = np.arange(n)
    z = 40 * np.exp(2j * np.pi * 0.123 * t) + 5 * (
        RNG.standard_normal(n) + 1j * RNG.standard_normal(n)
    )
    middle = 127.5 if np.dtype(dtype).kind == "u" else 0
    values = np.stack([z.real, z.imag], axis=-1) + middle
    if np.dtype(dtype).kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


def welch(x, nfft, rate=RATE, overlap=0.0, **options):
    """scipy.signal.welch in float64, ascending frequencies."""
    complex_input = np.iscomplexobj(x)
    f, p = scipy.signal.welch(
        x.astype(np.complex128 if complex_input else np.float64),
        rate,
        "hann",
        nfft,
        round(nfft * overlap),
        detrend=False,
        return_onesided=not complex_input,
        **options,
    )
    order = np.argsort(f, kind="stable")
    return f[order], p[order]


def assert_spectrum(path, x, nfft=512, overlap=0.0, **options):
    recording = open_recording(path, rate=options.pop("rate", RATE), **options)
    found = spectrum(recording, Settings(nfft=nfft, overlap=overlap))
    f, p = welch(x, nfft, overlap=overlap)
    np.testing.assert_allclose(found.frequency[0], f)
    np.testing.assert_allclose(found.density[0], p, rtol=2e-4, atol=p.max() * 1e-9)
    return found


def as_complex(values, offset=0.0):
    wide = values.astype(np.float64) - offset
    return wide[..., 0] + 1j * wide[..., 1]


@pytest.mark.parametrize(
    ("suffix", "dtype", "offset"),
    [
        (".cu8", "u1", 127.5),
        (".ci8", "i1", 0),
        (".cs8", "i1", 0),
        (".ci16", "<i2", 0),
        (".sc16", "<i2", 0),
        (".cf32", "<f4", 0),
        (".cfile", "<f4", 0),
        (".cf64", "<f8", 0),
    ],
)
@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_raw_samples_by_suffix(tmp_path, suffix, dtype, offset, overlap):
    values = pairs(dtype)
    path = tmp_path / f"tone{suffix}"
    values.tofile(path)
    assert_spectrum(path, as_complex(values, offset), overlap=overlap)


@pytest.mark.parametrize(
    ("name", "dtype", "offset"), [("ri16", "<i2", 0), ("ru8", "u1", 127.5), ("rf32", "<f4", 0)]
)
def test_raw_real_samples_by_dtype(tmp_path, name, dtype, offset):
    values = pairs(dtype)[..., 0]
    path = tmp_path / "tone.dat"
    values.tofile(path)
    assert_spectrum(path, values.astype(float) - offset, dtype=name)


def test_wav(tmp_path):
    values = pairs("i2")[..., 0]
    wavfile.write(tmp_path / "tone.wav", 48000, values)
    found = assert_spectrum(tmp_path / "tone.wav", values, rate=RATE)
    assert found.streams == ("",)
    assert open_recording(tmp_path / "tone.wav").rate == 48000


def test_wav_with_two_channels_is_two_streams_or_one_complex(tmp_path):
    values = pairs("i2")
    path = tmp_path / "iq.wav"
    wavfile.write(path, 1000, values)
    assert open_recording(path).streams == ("channel 0", "channel 1")
    assert_spectrum(path, as_complex(values), iq=True)
    wavfile.write(path, 1000, values.astype(np.float32))
    assert_spectrum(path, as_complex(values), iq=True)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, order):
    path = tmp_path / "x.npy"
    z = as_complex(pairs("f4")).astype(np.complex64)
    np.save(path, np.asarray(np.stack([z, 2 * z]), order=order))
    found = assert_spectrum(path, z)
    np.testing.assert_allclose(found.density[1], 4 * found.density[0], rtol=1e-3)
    np.save(path, pairs("i2"))
    assert open_recording(path).layout == "pairs"
    np.save(path, z.real.astype(">f8"))
    assert_spectrum(path, z.real)


@pytest.mark.parametrize(("name", "dtype"), [("ci16_le", "<i2"), ("ci8", "i1"), ("cu8", "u1")])
def test_sigmf(tmp_path, name, dtype):
    sigmf = pytest.importorskip("sigmf")
    values = pairs(dtype)
    values.tofile(tmp_path / "x.sigmf-data")
    meta = sigmf.SigMFFile(
        data_file=str(tmp_path / "x.sigmf-data"),
        global_info={"core:datatype": name, "core:sample_rate": RATE, "core:version": "1.0.0"},
    )
    meta.add_capture(0, metadata={"core:frequency": 100e6})
    meta.tofile(str(tmp_path / "x.sigmf-meta"))
    recording = open_recording(tmp_path / "x.sigmf-meta")
    assert recording.rate == RATE
    assert recording.centers == (100e6,)
    offset = 127.5 if dtype == "u1" else 0
    got = spectrum(recording, Settings(nfft=512))
    _, p = welch(as_complex(values, offset), 512)
    np.testing.assert_allclose(got.density[0], p, rtol=2e-4, atol=p.max() * 1e-9)
    assert got.frequency[0, 256] == 100e6


def test_sigmf_float(tmp_path):
    sigmf = pytest.importorskip("sigmf")
    values = pairs("f4")
    values.tofile(tmp_path / "x.sigmf-data")
    info = {"core:datatype": "cf32_le", "core:sample_rate": RATE, "core:version": "1.0.0"}
    meta = sigmf.SigMFFile(data_file=str(tmp_path / "x.sigmf-data"), global_info=info)
    meta.add_capture(0)
    meta.tofile(str(tmp_path / "x.sigmf-meta"))
    assert_spectrum(tmp_path / "x.sigmf-meta", as_complex(values))


@pytest.mark.parametrize("sample", ["SAMPLE_PUPPI", "SAMPLE_DADA"])
def test_observatory_formats(sample):
    data = pytest.importorskip("baseband.data")
    baseband = pytest.importorskip("baseband")
    path = getattr(data, sample)
    with open_recording(path) as recording:
        found = spectrum(recording, Settings(nfft=128))
    with baseband.open(path, "rs", squeeze=False) as stream:
        values = stream.read().reshape(recording.samples, -1)
    for place in range(len(recording.streams)):
        _, p = welch(values[:, place], 128, recording.rate)
        np.testing.assert_allclose(found.density[place], p, rtol=2e-3, atol=p.max() * 1e-6)


def test_vdif():
    data = pytest.importorskip("baseband.data")
    with open_recording(data.SAMPLE_VDIF) as recording:
        assert recording.layout == "real"
        assert len(recording.streams) == 8
        assert spectrum(recording, Settings(nfft=256)).density.shape == (8, 129)


def test_channels_of_a_guppi_recording_lie_side_by_side():
    data = pytest.importorskip("baseband.data")
    with open_recording(data.SAMPLE_PUPPI) as recording:
        found = spectrum(recording, Settings(nfft=64))
    assert recording.streams[1] == "pol 0 chan 1"
    step = found.frequency[1, 0] - found.frequency[0, -1]
    np.testing.assert_allclose(step, recording.rate / 64, rtol=1e-3)


def test_max_keeps_the_largest_of_all_segments(tmp_path):
    values = pairs("i1", 512 * 10)
    values[512 * 7 : 512 * 8] //= 2
    values.tofile(tmp_path / "x.ci8")
    recording = open_recording(tmp_path / "x.ci8", rate=RATE)
    found = spectrum(recording, Settings(nfft=512, average="max"))
    window = scipy.signal.get_window("hann", 512)
    spectra = np.abs(np.fft.fft(as_complex(values).reshape(10, 512) * window)) ** 2
    wanted = np.fft.fftshift(spectra.max(axis=0)) / (RATE * (window**2).sum())
    np.testing.assert_allclose(found.density[0], wanted, rtol=1e-3, atol=wanted.max() * 1e-9)


@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.75])
def test_pieces_give_what_the_whole_gives(tmp_path, monkeypatch, overlap):
    values = pairs("i1", 50_001)
    values.tofile(tmp_path / "x.ci8")
    recording = open_recording(tmp_path / "x.ci8", rate=RATE)
    settings = Settings(nfft=256, overlap=overlap)
    whole = spectrum(recording, settings)
    monkeypatch.setattr(psd_module, "BLOCK_BYTES", 7000)
    pieces = spectrum(recording, settings)
    np.testing.assert_allclose(pieces.density, whole.density, rtol=1e-4)
    assert pieces.segments == whole.segments
    assert pieces.unused == whole.unused


def test_memory_is_bounded_whatever_the_file(tmp_path):
    path = tmp_path / "long.ci8"
    with path.open("wb") as file:
        file.truncate(400 << 20)
    recording = open_recording(path, rate=RATE)
    tracemalloc.start()
    found = spectrum(recording, Settings(nfft=1 << 14))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.segments == (200 << 20) >> 14
    assert peak < 64 << 20


def test_outputs_agree(tmp_path, capsys):
    pairs("i1").tofile(tmp_path / "x.ci8")
    outs = [tmp_path / f"x{s}" for s in (".csv", ".npz", ".png")]
    arguments = [a for o in outs for a in ("-o", str(o))]
    assert main(["psd", str(tmp_path / "x.ci8"), "--rate", "1e6", "--nfft", "256", *arguments]) == 0
    data = np.load(outs[1])
    with outs[0].open() as file:
        rows = list(csv.DictReader(file))
    assert [float(r["frequency_hz"]) for r in rows] == data["frequency"][0].tolist()
    assert [float(r["density"]) for r in rows] == data["density"][0].tolist()
    assert outs[2].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    text = capsys.readouterr().out
    assert "78 segments of 256, hann window, mean, 32 samples at the end not used" in text
    assert "121.093750 kHz" in text


def test_no_shift_keeps_the_order_of_the_transform(tmp_path):
    pairs("i1").tofile(tmp_path / "x.ci8")
    out = tmp_path / "x.npz"
    main(["psd", str(tmp_path / "x.ci8"), "--no-shift", "--nfft", "64", "-o", str(out)])
    np.testing.assert_allclose(np.load(out)["frequency"][0], np.fft.fftfreq(64))


def test_demo_finds_the_tones_it_made(capsys):
    command = ["demo", "--samples", "400000", "--compare", "--explain", "--device", "cpu"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "-0.612500 MHz" in text
    assert "0.187500 MHz" in text
    assert "numpy_blocked" in text
    assert "unfused" in text


def test_demo_keeps_the_recording(tmp_path):
    path = tmp_path / "kept.ci8"
    assert main(["demo", "--samples", "10000", "--keep", str(path)]) == 0
    assert path.stat().st_size == 20000


@pytest.mark.parametrize("engine", ["unfused", "numpy_blocked"])
def test_engines_agree(tmp_path, engine, capsys):
    pairs("i1").tofile(tmp_path / "x.ci8")
    out = tmp_path / f"{engine}.npz"
    command = ["psd", str(tmp_path / "x.ci8"), "-o", str(out), "--engine", engine, "--workers", "1"]
    assert main(command) == 0
    _, p = welch(as_complex(np.fromfile(tmp_path / "x.ci8", "i1").reshape(-1, 2)), 4096, 1.0)
    np.testing.assert_allclose(np.load(out)["density"][0], p, rtol=2e-4, atol=p.max() * 1e-9)


def test_module_and_pipes(tmp_path):
    path = tmp_path / "x.ci8"
    pairs("i1").tofile(path)
    command = f"{sys.executable} -m fft_fused psd {path} --nfft 256 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("x.ci8: raw ci8, 20000 samples")
    assert not done.stderr
