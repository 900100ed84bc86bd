"""Fused against unfused: ``python -m benchmarks [--json FILE] [--readme]``.

Every expression runs on the same arrays, once as planned and once by one NumPy or SciPy call after
another, in turn. ``--readme`` writes the table between the markers in README.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

import numpy as np
import scipy

import fft_fused
from fft_fused.runtime.machine import processor_name

from .expressions import BENCHMARKS

_ROOT = Path(__file__).resolve().parent.parent
_RESULTS = _ROOT / "benchmarks" / "results" / "numpy.json"
_MARKS = ("<!-- table: benchmarks/results/numpy.json -->", "<!-- end of table -->")


def measure(repeat: int) -> dict[str, object]:
    """Every benchmark, with the machine and versions."""
    rows = []
    for benchmark in BENCHMARKS:
        arguments = benchmark.arguments(np.random.default_rng(0))
        result = benchmark.function.compare(*arguments, repeat=repeat)
        rows.append({"title": benchmark.title, **result.to_dict()})
        print(benchmark.title, result, sep="\n", flush=True)
    workers = fft_fused.info().workers
    return {
        "command": "python -m benchmarks",
        "date": datetime.date.today().isoformat(),
        "processor": processor_name(),
        "threads": workers,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "rows": rows,
    }


def table(results: dict) -> str:
    """The results as a Markdown table."""
    lines = [
        "| expression | unfused | fused | faster | peak memory unfused | fused |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        a, b = row["unfused"], row["fused"]
        lines.append(
            f"| {row['title']} | {a['seconds'] * 1e3:.1f} ms | {b['seconds'] * 1e3:.1f} ms "
            f"| {row['ratio']:.1f}x | {a['peak_bytes'] / 1e6:.0f} MB "
            f"| {b['peak_bytes'] / 1e6:.0f} MB |"
        )
    ratios = [row["ratio"] for row in results["rows"]]
    mean = float(np.exp(np.mean(np.log(ratios))))
    lines.append("")
    lines.append(
        f"{results['processor']}, {results['threads']} threads, NumPy {results['numpy']}, SciPy "
        f"{results['scipy']}, {results['date']}; geometric mean {mean:.1f}x. "
        "`python -m benchmarks` repeats it."
    )
    return "\n".join(lines)


def write_readme(results: dict) -> None:
    """Put the table between the markers."""
    path = _ROOT / "README.md"
    text = path.read_text()
    before, rest = text.split(_MARKS[0])
    _, after = rest.split(_MARKS[1])
    path.write_text(f"{before}{_MARKS[0]}\n{table(results)}\n{_MARKS[1]}{after}")


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--json", type=Path, help=f"where results go, as in {_RESULTS.name}")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md")
    options = parser.parse_args(argv)
    results = measure(options.repeat)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.readme:
        write_readme(results)
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
