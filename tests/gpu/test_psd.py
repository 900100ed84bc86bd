"""fft-fused psd on a GPU: the spectrum of the CPU, the same bits every time, work overlapped."""

from __future__ import annotations

import time

import numpy as np
import pytest

from fft_fused import psd_gpu
from fft_fused.cli import main
from fft_fused.errors import RecordingError
from fft_fused.psd import Settings, spectrum
from fft_fused.recordings import open_recording
from fft_fused.runtime import gpus
from fft_fused.runtime.feed import CupyLink, Feed, cupy_link

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
if gpus.why_no_gpu():
    pytest.skip(gpus.why_no_gpu(), allow_module_level=True)

RNG = np.random.default_rng(0)
RATE = 2e6
DEVICE = "cuda:0"


def noise_and_tone(n, width):
    t = np.arange(n)
    z = 40 * np.exp(2j * np.pi * 0.123 * t) + 10 * (
        RNG.standard_normal(n) + 1j * RNG.standard_normal(n)
    )
    return np.stack([z.real, z.imag], axis=-1)[:, :width]


def recording_of(tmp_path, suffix, n=300_001):
    kind = np.dtype({"cu8": "u1", "ci8": "i1", "ci16": "<i2", "ri16": "<i2", "cf32": "<f4"}[suffix])
    values = noise_and_tone(n, 1 if suffix.startswith("r") else 2)
    values = values + 127.5 if kind == "u1" else values
    path = tmp_path / f"x.{suffix}"
    (np.rint(values) if kind.kind in "iu" else values).astype(kind).tofile(path)
    return open_recording(path, rate=RATE)


def assert_device_equals_cpu(recording, settings):
    found = spectrum(recording, settings, device=DEVICE)
    wanted = spectrum(recording, settings)
    assert found.device == DEVICE
    assert (found.segments, found.unused) == (wanted.segments, wanted.unused)
    np.testing.assert_array_equal(found.frequency, wanted.frequency)
    scale = wanted.density.max()
    np.testing.assert_allclose(found.density, wanted.density, rtol=1e-4, atol=1e-9 * scale)
    return found


@pytest.mark.parametrize("suffix", ["cu8", "ci8", "ci16", "ri16", "cf32"])
@pytest.mark.parametrize("nfft", [256, 1000, 4096, 65536])
@pytest.mark.parametrize("average", ["mean", "max"])
def test_raw_samples(tmp_path, suffix, nfft, average):
    recording = recording_of(tmp_path, suffix)
    assert_device_equals_cpu(recording, Settings(nfft=nfft, average=average))


@pytest.mark.parametrize("window", ["hann", "boxcar", "blackman", "flattop", "kaiser"])
@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.9])
def test_windows_and_overlap(tmp_path, window, overlap):
    recording = recording_of(tmp_path, "cu8")
    settings = Settings(nfft=1024, window=window, overlap=overlap)
    assert_device_equals_cpu(recording, settings)


@pytest.mark.parametrize("chunk", [5000, 70_000, 1 << 19])
@pytest.mark.parametrize("average", ["mean", "max"])
def test_many_pieces_and_a_last_one_that_is_short(tmp_path, monkeypatch, chunk, average):
    monkeypatch.setattr(psd_gpu, "CHUNK_BYTES", chunk)
    recording = recording_of(tmp_path, "cu8")
    settings = Settings(nfft=512, overlap=0.5, average=average)
    assert_device_equals_cpu(recording, settings)


@pytest.mark.parametrize("sample", ["SAMPLE_PUPPI", "SAMPLE_DADA", "SAMPLE_VDIF"])
def test_telescope_formats(sample):
    data = pytest.importorskip("baseband.data")
    with open_recording(getattr(data, sample)) as recording:
        nfft = min(256, recording.samples)
        assert_device_equals_cpu(recording, Settings(nfft=nfft, overlap=0.5))


def test_streams_of_big_endian_integers(tmp_path):
    values = np.rint(noise_and_tone(3 * 20_000, 2)).reshape(3, 20_000, 2)
    np.save(tmp_path / "x.npy", values.astype(">i2"))
    assert_device_equals_cpu(open_recording(tmp_path / "x.npy"), Settings(nfft=300))


def test_the_same_bits_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr(psd_gpu, "CHUNK_BYTES", 50_000)
    recording, settings = recording_of(tmp_path, "cu8"), Settings(nfft=1024, overlap=0.5)
    first = spectrum(recording, settings, device=DEVICE).density
    for _ in range(5):
        np.testing.assert_array_equal(spectrum(recording, settings, device=DEVICE).density, first)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("average", ["mean", "max"])
def test_a_sample_that_is_not_finite_is_found(tmp_path, value, average):
    samples = np.zeros(90_000, np.complex64)
    samples[43_210] = value
    samples.tofile(tmp_path / "x.cf32")
    recording = open_recording(tmp_path / "x.cf32")
    with pytest.raises(RecordingError, match="sample 43210 is not finite"):
        spectrum(recording, Settings(nfft=64, average=average), device=DEVICE)


def test_pieces_are_halved_when_the_pool_runs_out(tmp_path, monkeypatch):
    recording, settings = recording_of(tmp_path, "ci16", 4_000_000), Settings(nfft=4096)
    wanted = spectrum(recording, settings, device=DEVICE)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    limit = pool.get_limit()
    release, released = CupyLink.release, []
    monkeypatch.setattr(CupyLink, "release", lambda link: released.append(release(link)))
    pool.set_limit(size=pool.total_bytes() + (12 << 20))
    try:
        found = spectrum(recording, settings, device=DEVICE)
    finally:
        pool.set_limit(size=limit)
    assert released
    np.testing.assert_allclose(found.density, wanted.density, rtol=1e-4)


def test_no_memory_at_all_is_an_error_and_the_next_call_works(tmp_path):
    recording, settings = recording_of(tmp_path, "ci16"), Settings(nfft=4096)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    limit = pool.get_limit()
    pool.set_limit(size=pool.total_bytes() + (1 << 16))
    try:
        with pytest.raises(MemoryError, match="out of memory on the GPU, with .* for pieces of"):
            spectrum(recording, settings, device=DEVICE)
    finally:
        pool.set_limit(size=limit)
    assert_device_equals_cpu(recording, settings)


def test_device_memory_is_given_back(tmp_path):
    recording, settings = recording_of(tmp_path, "cu8"), Settings(nfft=1024)
    pool = cupy.get_default_memory_pool()
    spectrum(recording, settings, device=DEVICE)
    pool.free_all_blocks()
    before = pool.used_bytes()
    for _ in range(20):
        spectrum(recording, settings, device=DEVICE)
    assert pool.used_bytes() <= before
    assert pool.total_bytes() <= before + (64 << 20)


_SPIN = r"""
extern "C" __global__ void spin(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - start < nanoseconds);
}"""


def test_reading_and_computing_overlap():
    """Twelve pieces that take 20 ms to read and 20 ms to compute take far less than 480 ms."""
    spin = cupy.RawKernel(_SPIN, "spin")

    def fill(piece, buffer):
        time.sleep(0.02)
        return buffer.size

    def compute(piece, buffer):
        spin((1,), (1,), (np.int64(20_000_000),))

    with cupy_link(0) as link:
        feed = Feed(link, 1 << 20)
        feed.run(range(3), fill, compute)
        start = time.perf_counter()
        feed.run(range(12), fill, compute)
        seconds = time.perf_counter() - start
    assert 0.24 <= seconds < 0.4


def test_copying_and_computing_overlap():
    """While a piece is computed for long, the two after it arrive on the device."""
    spin = cupy.RawKernel(_SPIN, "spin")
    long, first_still_computed = 10, []

    class Watched(Feed):
        def _send(self, slot, count):
            super()._send(slot, count)
            slot.copied.synchronize()
            first_still_computed.append(not self._slots[0].computed.done)

    def compute(piece, buffer):
        spin((1,), (1,), (np.int64(300_000_000 if piece == long else 1000),))

    with cupy_link(0) as link:
        feed = Watched(link, 8 << 20)
        feed.run(range(3), lambda piece, buffer: buffer.size, compute)
        feed.run(range(long, long + 3), lambda piece, buffer: buffer.size, compute)
    assert first_still_computed[-3:] == [False, True, True]


def test_the_command_computes_on_the_gpu_by_itself(tmp_path, capsys):
    recording_of(tmp_path, "cu8")
    path = str(tmp_path / "x.cu8")
    outs = [tmp_path / "gpu.npz", tmp_path / "cpu.npz"]
    assert main(["psd", path, "--rate", "2e6", "--nfft", "1024", "-o", str(outs[0])]) == 0
    assert f"computed on {gpus.device_title(DEVICE)}" in capsys.readouterr().out
    command = ["psd", path, "--rate", "2e6", "--nfft", "1024", "-o", str(outs[1])]
    assert main([*command, "--device", "cpu"]) == 0
    assert "computed on cpu" in capsys.readouterr().out
    found, wanted = (np.load(out)["density"] for out in outs)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_explain_and_compare_on_the_gpu(tmp_path, capsys):
    recording_of(tmp_path, "cu8", 4_000_000)
    command = ["psd", str(tmp_path / "x.cu8"), "--nfft", "1024", "--explain", "--compare"]
    assert main([*command, "--device", DEVICE]) == 0
    unfused, fused = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert (unfused[0], fused[0]) == ("unfused", "fused")
    assert float(fused[1]) < float(unfused[1])
    assert float(fused[-1]) < 1e-5


def test_a_gpu_that_is_not_there(tmp_path, capsys):
    recording_of(tmp_path, "cu8")
    assert main(["psd", str(tmp_path / "x.cu8"), "--device", "cuda:99"]) == 2
    error = capsys.readouterr().err
    assert "--device cuda:99: there is no GPU 99, there is cuda:0 (" in error


def test_info_names_the_gpu(capsys):
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (first, *_) = gpus.gpus()
    assert f"  {first}" in lines
    assert first.memory_bytes > 1 << 30
    assert first.compute_capability.replace(".", "") == cupy.cuda.Device(0).compute_capability
    assert not any("missing" in line for line in lines if line.startswith("  cuFFT"))
