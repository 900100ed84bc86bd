"""The shape of the package: import direction, sizes, the operator table, import cost."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fft_fused
from fft_fused.expr.ops import OPS

PACKAGE = Path(fft_fused.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(f.relative_to(PACKAGE)) for f in FILES]
LAYERS = {"expr": 0, "runtime": 2, "engines": 2, "passes": 2}
GPU = {"cupy", "cupyx", "cuda", "torch", "pynvjitlink", "numba"}


def imports(path: Path) -> list[tuple[str, bool]]:
    """Absolute names of what a file imports, and whether at module level."""
    tree = ast.parse(path.read_text())
    parts = ("fft_fused", *path.relative_to(PACKAGE).with_suffix("").parts)
    found = []
    for node in ast.walk(tree):
        top = node in tree.body
        if isinstance(node, ast.Import):
            found += [(a.name, top) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parts[: len(parts) - node.level] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(f"{module}.{a.name}", top) for a in node.names]
    return found


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_files_stay_under_400_lines(path):
    assert len(path.read_text().splitlines()) < 400


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_functions_stay_under_60_lines(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            doc = ast.get_docstring(node) or ""
            assert node.end_lineno - node.lineno - len(doc.splitlines()) < 60, node.name


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_gpu_package_is_imported_at_module_level(path):
    tops = {name.split(".")[0] for name, top in imports(path) if top}
    assert not tops & GPU


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.parent.name == "expr"], ids=lambda p: p.name
)
def test_expressions_import_nothing_above_them(path):
    for name, _ in imports(path):
        if name.startswith("fft_fused."):
            assert name.split(".")[1] == "expr", name


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.parent.name == "passes"], ids=lambda p: p.name
)
def test_passes_know_engines_only_by_their_protocol(path):
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[:2] == ["fft_fused", "engines"]:
            assert parts[2] in {"Engine", "Offer", "Refusal", "Launch", "registry"}, name


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_lower_layers_do_not_import_the_front(path):
    layer = path.relative_to(PACKAGE).parts[0]
    if layer not in LAYERS:
        return
    front = {"lazy", "fuse", "xp", "transforms", "cli", "record", "tracing", "guards"}
    for name, top in imports(path):
        if top and name.startswith("fft_fused."):
            assert name.split(".")[1] not in front, name


def test_every_operator_row_is_complete():
    kinds = {"elementwise", "structure", "reduce", "transform", "leaf", "opaque"}
    for name, op in OPS.items():
        assert op.name == name
        assert op.kind in kinds
        assert op.doc
        if op.kind == "elementwise" and name not in ("astype", "call", "root"):
            assert callable(op.numpy), name


def test_every_elementwise_operator_is_in_the_namespace():
    for name, op in OPS.items():
        if op.kind == "elementwise" and not op.internal:
            assert callable(getattr(fft_fused.xp, name)), name


def test_public_names_exist_and_have_docstrings():
    for name in fft_fused.__all__:
        assert getattr(fft_fused, name).__doc__, name


def test_environment_variables_are_read_in_options_only():
    for path in FILES:
        if path.name != "options.py":
            assert not re.search(r"os\.environ|os\.getenv", path.read_text()), path


def test_import_brings_no_gpu_package_and_takes_little_time():
    code = (
        "import sys; from time import process_time as now; a = now(); import numpy, scipy.fft;"
        "b = now(); import fft_fused; print(now() - b, b - a);"
        "print(*{m.split('.')[0] for m in sys.modules})"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(5)
    ]
    own, scipy = (
        min(times) for times in zip(*(map(float, r[0].split()) for r in runs), strict=True)
    )
    assert own < max(
        0.15, 0.7 * scipy
    )  # seconds of processor time; slow machines import SciPy slowly
    assert not set(runs[0][1].split()) & GPU
