"""Write docs/vocabulary.md from the operator table: ``python docs/make_vocabulary.py``."""

from __future__ import annotations

from pathlib import Path

from fft_fused.expr.ops import OPS

_HEAD = """# Expression vocabulary

Generated from the operator table by `python docs/make_vocabulary.py`; do not edit.

Everything here is recorded when an argument is a lazy array, under the NumPy name (`np.exp(x)`,
`x + y`, `x[..., ::2]`) or from `fft_fused.xp`. "In a block" means that the NumPy engine computes
it on cache-sized blocks between load and store; "whole arrays" means that it ends a run of fused
steps and works on whole arrays.
"""

_SECTIONS = {
    "elementwise": "Elementwise",
    "structure": "Indexing and shape",
    "reduce": "Reductions",
    "transform": "Transforms",
    "opaque": "Whole arrays only",
}

_TRANSFORMS = """`fft`, `ifft`, `rfft`, `irfft`, `hfft`, `ihfft`, their `2` and `n` forms, and
`dct`, `idct`, `dst`, `idst` with their `n` forms, with the signatures of `scipy.fft`. `fftshift`
and `ifftshift` are index maps and cost nothing inside a run; `fftfreq` and `rfftfreq` are functions
of the index.
"""


def vocabulary() -> str:
    """The page as text."""
    lines = [_HEAD]
    for kind, title in _SECTIONS.items():
        lines.append(f"## {title}\n")
        if kind == "transform":
            lines.append(_TRANSFORMS)
            continue
        lines += ["| operator | meaning | runs |", "|---|---|---|"]
        where = "whole arrays" if kind == "opaque" else "in a block"
        lines += [
            f"| `{op.name}` | {op.doc.replace('|', '&#124;')} | {where} |"
            for op in OPS.values()
            if op.kind == kind and not op.internal
        ]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    Path(__file__).with_name("vocabulary.md").write_text(vocabulary())
