"""psd through a device, played by NumPy: pieces, running total, memory that runs out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from fft_fused import psd_gpu
from fft_fused.cli import main
from fft_fused.cuda.cufft import CufftError
from fft_fused.errors import RecordingError
from fft_fused.psd import POWER, Settings, segment_count, spectrum
from fft_fused.recordings import open_recording
from tests.cli.fakes import OutOfMemoryError, PromptDevice

RNG = np.random.default_rng(0)
DEVICE = "cuda:0"


def use(monkeypatch, device, chunk=4000, least=500):
    @contextmanager
    def link(index):
        yield device

    monkeypatch.setattr(psd_gpu, "cupy_link", link)
    monkeypatch.setattr(psd_gpu, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(psd_gpu, "LEAST_BYTES", least)
    return device


def integers(tmp_path, name="x.ci16", count=9001):
    kinds = {"cu8": "u1", "ci8": "i1", "ci16": "<i2", "ri16": "<i2", "cf32": "<f4"}
    kind = np.dtype(kinds[name.rpartition(".")[2]])
    width = 1 if ".r" in name else 2
    low, high = (0, 256) if kind == "u1" else (-100, 100)
    RNG.integers(low, high, (count, width)).astype(kind).tofile(tmp_path / name)
    return open_recording(tmp_path / name, rate=1e6)


@pytest.mark.parametrize("name", ["x.cu8", "x.ci8", "x.ci16", "x.ri16", "x.cf32"])
@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("average", ["mean", "max"])
def test_a_device_gives_what_the_cpu_gives(tmp_path, monkeypatch, name, overlap, average):
    recording = integers(tmp_path, name)
    settings = Settings(nfft=64, overlap=overlap, average=average)
    device = use(monkeypatch, PromptDevice())
    seen = []
    found = spectrum(recording, settings, lambda *given: seen.append(given), DEVICE)
    wanted = spectrum(recording, settings)
    np.testing.assert_allclose(found.density, wanted.density, rtol=1e-5)
    np.testing.assert_array_equal(found.frequency, wanted.frequency)
    assert (found.segments, found.unused) == (wanted.segments, wanted.unused)
    assert (found.device, wanted.device) == (DEVICE, "cpu")
    assert len(device.taken) == 3
    assert max(device.taken) <= 4000
    assert [total for _, total in seen] == [9001] * len(seen)
    assert seen[-1][0] == 9001 - found.unused


@pytest.mark.parametrize("kind", ["i2", ">i2", "c8", ">f4"])
def test_streams_side_by_side_and_foreign_byte_order(tmp_path, monkeypatch, kind):
    shape = (3, 2000, 2) if kind.endswith("i2") else (3, 2000)
    np.save(tmp_path / "x.npy", (100 * RNG.standard_normal(shape)).astype(kind))
    recording = open_recording(tmp_path / "x.npy")
    use(monkeypatch, PromptDevice())
    found = spectrum(recording, Settings(nfft=50), device=DEVICE)
    wanted = spectrum(recording, Settings(nfft=50))
    np.testing.assert_allclose(found.density, wanted.density, rtol=1e-5)


def test_the_recordings_own_integers_are_copied(tmp_path, monkeypatch):
    recording = integers(tmp_path, "x.cu8", 1000)
    device = use(monkeypatch, PromptDevice(), chunk=1 << 20)
    spectrum(recording, Settings(nfft=100), device=DEVICE)
    assert device.taken == [2000]


def test_scratch_is_bounded_when_segments_overlap(tmp_path, monkeypatch):
    recording = integers(tmp_path)
    device = use(monkeypatch, PromptDevice(), chunk=1 << 20)
    monkeypatch.setattr(psd_gpu, "SCRATCH_BYTES", 100 * 64 * 16)
    settings = Settings(nfft=64, overlap=0.98)
    found = spectrum(recording, settings, device=DEVICE)
    np.testing.assert_allclose(found.density, spectrum(recording, settings).density, rtol=1e-5)
    assert max(device.taken) == 4 * (64 + 99)


def test_pieces_are_halved_until_they_fit(tmp_path, monkeypatch):
    recording = integers(tmp_path)
    device = use(monkeypatch, PromptDevice(limit=1100))
    found = spectrum(recording, Settings(nfft=64), device=DEVICE)
    np.testing.assert_allclose(
        found.density, spectrum(recording, Settings(nfft=64)).density, rtol=1e-5
    )
    assert device.released == 2
    assert set(device.taken) == {256 * 3}


@pytest.mark.parametrize("average", ["mean", "max"])
def test_memory_that_runs_out_on_the_way_loses_and_repeats_nothing(tmp_path, monkeypatch, average):
    recording = integers(tmp_path)
    settings = Settings(nfft=64, average=average)
    device = use(monkeypatch, PromptDevice())
    real, calls = psd_gpu.combined, []

    def once_out_of_memory(*given):
        calls.append(1)
        if len(calls) == 4:
            raise OutOfMemoryError
        return real(*given)

    monkeypatch.setattr(psd_gpu, "combined", once_out_of_memory)
    found = spectrum(recording, settings, device=DEVICE)
    np.testing.assert_allclose(found.density, spectrum(recording, settings).density, rtol=1e-5)
    assert device.released == 1
    assert segment_count(recording, settings) == 140


def test_too_little_memory_for_the_smallest_pieces_is_an_error(tmp_path, monkeypatch, capsys):
    integers(tmp_path)
    device = use(monkeypatch, PromptDevice(limit=100))
    monkeypatch.setattr("fft_fused.runtime.gpus.choose_device", lambda asked: DEVICE)
    out = tmp_path / "x.csv"
    assert main(["psd", str(tmp_path / "x.ci16"), "--nfft", "256", "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert error == (
        "fft-fused: error: out of memory on the GPU, with 3 of 81920 MiB free, for pieces of "
        "1 KiB; use --device cpu, a smaller --nfft, or free memory there\n"
    )
    assert device.released == 2
    assert not out.exists()


def faults(monkeypatch, count, error):
    """Plans with rivals, of which the first ``count`` that are run fail."""
    real, failing = psd_gpu.execute, []

    def execute(plan, *given):
        known = any(plan is other for other in failing)
        if not known and len(failing) < count:
            failing.append(plan)
            known = True
        if known:
            raise error
        return real(plan, *given)

    for power in POWER.values():
        compiled = power.compile

        def with_rivals(*given, compiled=compiled):
            plan = compiled(*given)
            return replace(plan, rivals=(replace(plan), replace(plan)))

        monkeypatch.setattr(power, "compile", with_rivals)
    monkeypatch.setattr(psd_gpu, "execute", execute)
    return failing


def test_a_plan_that_a_library_refuses_is_replaced_by_the_next(tmp_path, monkeypatch):
    recording, settings = integers(tmp_path, count=64 * 15), Settings(nfft=64)
    use(monkeypatch, PromptDevice(), chunk=64 * 4 * 5)
    wanted = spectrum(recording, settings)
    failing = faults(monkeypatch, 2, CufftError("cufftMakePlanMany64", 17))
    found = spectrum(recording, settings, device=DEVICE)
    np.testing.assert_allclose(found.density, wanted.density, rtol=1e-5)
    assert len(failing) == 2


def test_a_plan_without_memory_gets_smaller_pieces_first(tmp_path, monkeypatch):
    recording, settings = integers(tmp_path, count=640), Settings(nfft=64)
    device = use(monkeypatch, PromptDevice())
    wanted = spectrum(recording, settings)
    failing = faults(monkeypatch, 1, CufftError("cufftMakePlanMany64", 2))
    found = spectrum(recording, settings, device=DEVICE)
    np.testing.assert_allclose(found.density, wanted.density, rtol=1e-5)
    assert (device.released, len(failing)) == (1, 1)


@pytest.mark.parametrize(
    ("error", "tried"),
    [(CufftError("cufftMakePlanMany64", 17), 3), (RuntimeError("a fault"), 1)],
)
def test_a_fault_of_every_plan_or_of_another_kind_is_raised(tmp_path, monkeypatch, error, tried):
    recording, settings = integers(tmp_path, count=640), Settings(nfft=64)
    use(monkeypatch, PromptDevice())
    failing = faults(monkeypatch, 3, error)
    with pytest.raises(RuntimeError, match="cuFFT error 17|a fault"):
        spectrum(recording, settings, device=DEVICE)
    assert len(failing) == tried


def test_other_errors_are_not_tried_again(tmp_path, monkeypatch):
    recording = integers(tmp_path)
    device = use(monkeypatch, PromptDevice())

    def fail(*given):
        raise RuntimeError("a kernel failed")

    monkeypatch.setattr(psd_gpu, "combined", fail)
    with pytest.raises(RuntimeError, match="a kernel failed"):
        spectrum(recording, Settings(nfft=64), device=DEVICE)
    assert device.released == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(np.nan, "sample 4321 is not finite"), (np.inf, "sample 4321 is not finite")],
)
@pytest.mark.parametrize("average", ["mean", "max"])
def test_samples_that_are_not_finite_are_found(tmp_path, monkeypatch, value, text, average):
    samples = np.zeros(9000, np.complex64)
    samples[4321] = value
    samples.tofile(tmp_path / "x.cf32")
    use(monkeypatch, PromptDevice())
    with np.errstate(invalid="ignore"), pytest.raises(RecordingError, match=text):
        spectrum(
            open_recording(tmp_path / "x.cf32"), Settings(nfft=64, average=average), device=DEVICE
        )


def test_an_unreadable_recording_ends_in_its_own_error(tmp_path, monkeypatch):
    recording = integers(tmp_path)
    use(monkeypatch, PromptDevice())

    def read(start, stop):
        if start > 3000:
            raise OSError(5, "Input/output error")
        return recording.reader(start, stop)

    with pytest.raises(OSError, match="Input/output error"):
        spectrum(replace(recording, reader=read), Settings(nfft=64), device=DEVICE)


@pytest.mark.parametrize(
    ("device", "engine", "computed"),
    [
        ("auto", "numpy_blocked", "cpu"),
        ("auto", "unfused", "cuda:0"),
        ("auto", "library", "cuda:0"),
        ("cuda", "elementwise", "cuda:0"),
        ("cpu", "numpy_blocked", "cpu"),
    ],
)
def test_an_engine_asked_for_decides_about_the_device(
    tmp_path, monkeypatch, capsys, device, engine, computed
):
    integers(tmp_path)
    use(monkeypatch, PromptDevice())
    monkeypatch.setattr(
        "fft_fused.runtime.gpus.choose_device", lambda asked: "cpu" if asked == "cpu" else DEVICE
    )
    monkeypatch.setattr("fft_fused.runtime.gpus.device_title", lambda device: device)
    command = ["psd", str(tmp_path / "x.ci16"), "--nfft", "64", "--device", device]
    assert main([*command, "--engine", engine]) == 0
    assert f"computed on {computed}\n" in capsys.readouterr().out


def test_an_engine_that_does_not_run_on_the_device_asked_for(tmp_path, monkeypatch, capsys):
    integers(tmp_path)
    monkeypatch.setattr("fft_fused.runtime.gpus.choose_device", lambda asked: "cuda:1")
    command = ["psd", str(tmp_path / "x.ci16"), "--nfft", "64", "--device", "cuda:1"]
    assert main([*command, "--engine", "numpy_blocked"]) == 2
    error = capsys.readouterr().err
    assert "--engine numpy_blocked does not run on cuda:1; leave it out, or use --device" in error
