"""The command line: psd, demo, info, compile, wisdom."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from .errors import CompileError, NotFusedError, RecordingError
from .outputs import check_outputs, peaks_text, write_output
from .progress import Progress

_FAULTS = (RecordingError, NotFusedError, CompileError, ValueError, TypeError, OSError, MemoryError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0, or 2 when the command cannot be done; the reason is one line on standard error.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("fft-fused: interrupted", file=sys.stderr)
        return 130
    except _FAULTS as error:
        text = " ".join(str(error).split()) or type(error).__name__
        print(f"fft-fused: error: {text}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fft-fused",
        description="Averaged power spectra of recordings, computed by fused FFT expressions.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    psd = commands.add_parser("psd", help="averaged power spectrum of a recording")
    psd.add_argument("recording", type=Path, metavar="RECORDING", help="a file of samples")
    psd.add_argument("--dtype", help="type of raw samples: cu8, ci8, ci16, cf32 ...")
    psd.add_argument("--rate", type=float, help="samples per second")
    psd.add_argument("--center", type=float, help="centre frequency in Hz")
    psd.add_argument("--iq", action="store_true", help="WAV: two channels are one complex one")
    _spectrum_arguments(psd)
    psd.set_defaults(run=_psd)
    demo = commands.add_parser("demo", help="the same on a recording made on the spot")
    demo.add_argument("--samples", type=int, default=1 << 22, help="length of the recording")
    demo.add_argument("--keep", type=Path, help="keep the recording (.ci8) here")
    _spectrum_arguments(demo)
    demo.set_defaults(run=_demo)
    info = commands.add_parser("info", help="GPUs, engines, versions, what is missing and why")
    info.set_defaults(run=_info)
    ahead = commands.add_parser(
        "compile", help="run a file whose fused functions call .compile(), for GPUs not here"
    )
    ahead.add_argument("file", type=Path, metavar="FILE.py")
    ahead.add_argument(
        "--arch",
        action="append",
        default=[],
        metavar="ARCH",
        help="a target such as sm_90; may be repeated (those of the GPUs that are here)",
    )
    ahead.set_defaults(run=_compile)
    wisdom = commands.add_parser("wisdom", help="what was measured fastest on this machine's GPUs")
    actions = wisdom.add_subparsers(required=True, metavar="ACTION")
    for name, what in _WISDOM.items():
        action = actions.add_parser(name, help=what)
        if name in ("export", "import"):
            action.add_argument("file", type=Path, metavar="FILE")
        action.set_defaults(run=_wisdom, action=name)
    return parser


def _spectrum_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nfft", type=int, default=4096, help="segment length (4096)")
    parser.add_argument("--window", default="hann", help="window (hann)")
    parser.add_argument("--overlap", type=float, default=0.0, help="0 to below 1 (0)")
    parser.add_argument("--average", choices=("mean", "max"), default="mean")
    parser.add_argument(
        "--shift",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="frequencies in ascending order (on)",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help=".png, .csv or .npz; may be repeated",
    )
    parser.add_argument("--compare", action="store_true", help="measure fused against unfused")
    parser.add_argument("--explain", action="store_true", help="say how the expression runs")
    parser.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE",
        help="auto (a GPU if there is one), cpu, cuda or cuda:N (auto)",
    )
    parser.add_argument("--engine", help="use only this engine, as unfused")
    parser.add_argument("--workers", type=int, help="threads (every CPU)")


def _options(arguments: argparse.Namespace) -> Any:
    from .options import options

    given = {"engine": arguments.engine, "workers": arguments.workers}
    chosen = {name: value for name, value in given.items() if value is not None}
    return options(**chosen) if chosen else nullcontext()


def _psd(arguments: argparse.Namespace) -> int:
    from .recordings import open_recording

    check_outputs(arguments.out)
    asked = (arguments.dtype, arguments.rate, arguments.center, arguments.iq)
    with open_recording(arguments.recording, *asked) as recording:
        return _report(arguments, recording)


def _demo(arguments: argparse.Namespace) -> int:
    from .demo_signal import RATE, write_demo
    from .recordings import open_recording

    check_outputs(arguments.out)
    if arguments.samples < 2:
        raise RecordingError(f"--samples is {arguments.samples}, need at least 2")
    with _demo_path(arguments.keep) as path:
        write_demo(path, arguments.samples)
        return _report(arguments, open_recording(path, "ci8", RATE))


@contextmanager
def _demo_path(keep: Path | None) -> Any:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "demo.ci8"


def _report(arguments: argparse.Namespace, recording: Any) -> int:
    from .psd import Settings, check, spectrum

    settings = Settings(
        arguments.nfft,
        arguments.window,
        arguments.average,
        arguments.overlap,
        arguments.shift,
    )
    with _options(arguments):
        check(recording, settings)
        device = _device(arguments, recording, settings)
        with Progress(sys.stderr) as progress:
            found = spectrum(recording, settings, progress, device)
        for path in arguments.out:
            write_output(path, found, recording)
        print(recording)
        print(_summary(found))
        print(peaks_text(found))
        for path in arguments.out:
            print(f"wrote {path}")
        if arguments.explain or arguments.compare:
            _show(arguments, recording, settings, device)
    return 0


def _device(arguments: argparse.Namespace, recording: Any, settings: Any) -> str:
    """The device asked for; with ``auto``, one that the engine asked for runs on."""
    from .runtime.gpus import choose_device

    device = choose_device(arguments.device)
    if arguments.engine is None or device == "cpu":
        return device
    from .psd_gpu import engines_on

    engines = engines_on(device, recording, settings)
    if arguments.engine in engines:
        return device
    if arguments.device == "auto":
        return "cpu"
    raise ValueError(
        f"--engine {arguments.engine} does not run on {device}; leave it out, or use --device cpu"
    )


def _show(arguments: argparse.Namespace, recording: Any, settings: Any, device: str) -> None:
    """Explain and compare, on the first piece."""
    from .psd import POWER, blocks
    from .psd import arguments as arguments_of
    from .psd_gpu import placed

    power = POWER[recording.layout]
    host = arguments_of(recording, settings, *next(iter(blocks(recording, settings))))
    with placed(host, device) as given:
        if arguments.explain:
            print(f"\n{power.explain(*given)}")
        if arguments.compare:
            print(f"\n{power.compare(*given)}")


def _summary(found: Any) -> str:
    from .runtime.gpus import device_title

    unused = f", {found.unused} samples at the end not used" if found.unused else ""
    return (
        f"{found.segments} segments of {found.settings.nfft}, {found.settings.window} window, "
        f"{found.settings.average}{unused}, computed on {device_title(found.device)}"
    )


def _compile(arguments: argparse.Namespace) -> int:
    import runpy

    from .options import cache_folder
    from .runtime.ahead import compiling_for
    from .runtime.gpus import gpus

    here = [f"sm_{gpu.compute_capability.replace('.', '')}" for gpu in gpus()]
    archs = arguments.arch or here
    if not archs:
        raise ValueError("there is no GPU here: give --arch, as sm_90 for an H100")
    if not arguments.file.is_file():
        raise FileNotFoundError(f"{arguments.file} is no file")
    with compiling_for(archs) as collected:
        runpy.run_path(str(arguments.file), run_name="__main__")
    if not collected.done:
        raise ValueError(f"{arguments.file} calls no .compile() of a fused function for a GPU")
    print(*collected.done, sep="\n")
    print(f"in {cache_folder()}")
    return 0


_WISDOM = {
    "show": "list the programs and what was fastest",
    "export": "write all of it to a file",
    "import": "keep what a file written by export says",
    "forget": "remove all of it",
}


def _wisdom(arguments: argparse.Namespace) -> int:
    from .runtime import wisdom

    if arguments.action == "show":
        choices = wisdom.everything().values()
        for machine in sorted({c.machine for c in choices}):
            print(machine, *(f"  {c}" for c in choices if c.machine == machine), sep="\n")
        print(f"{len(choices)} programs")
    elif arguments.action == "export":
        print(f"wrote {wisdom.export(arguments.file)} programs to {arguments.file}")
    elif arguments.action == "import":
        print(f"{wisdom.import_from(arguments.file)} programs from {arguments.file}")
    else:
        print(f"forgot {wisdom.forget()} programs")
    return 0


def _info(arguments: argparse.Namespace) -> int:
    from .runtime.info import info

    print(info())
    return 0
