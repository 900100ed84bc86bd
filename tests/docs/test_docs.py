"""Every Python block of the README and docs runs; generated pages are up to date; links resolve."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page, capsys):
    namespace: dict = {"__name__": "docs"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_resolve(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_vocabulary_page_is_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    sys.modules.pop("make_vocabulary", None)
    from make_vocabulary import vocabulary

    assert (ROOT / "docs" / "vocabulary.md").read_text() == vocabulary()


def test_readme_table_is_the_one_of_the_results():
    from benchmarks.__main__ import table

    results = json.loads((ROOT / "benchmarks" / "results" / "numpy.json").read_text())
    assert table(results) in (ROOT / "README.md").read_text()


def test_building_blocks_are_measured(tmp_path, capsys):
    from benchmarks.blocks import BLOCKS, main

    out = tmp_path / "blocks.json"
    main(f"--numpy --points 4096 --lengths 64 128 --repeat 1 --json {out}".split())
    rows = json.loads(out.read_text())["rows"]
    assert {(r["block"], r["n"]) for r in rows} == {(b, n) for b in BLOCKS for n in (64, 128)}
    assert all(r["ms"] > 0 for r in rows)
