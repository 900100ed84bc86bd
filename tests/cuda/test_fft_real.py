"""Real FFTs of one block, run on the host, against NumPy in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused.cuda.fft.real import real_phases, real_shapes, real_table

from . import fft_host

pytestmark = pytest.mark.skipif(fft_host.host.COMPILER is None, reason="no C++ compiler")


def name(fft):
    radices = "_".join(map(str, fft.block.radices))
    kind = "id"[fft.block.double] + "ws"[fft.block.split] + "pm"[fft.mirrored] + "fi"[fft.inverse]
    return f"real{fft.length}_{fft.block.elements}_{radices}_{kind}"


def samples(fft, moves_out):
    """Moves of the real side: pairs of samples, or single ones."""
    lines = []
    for i in range(fft.block.elements):
        sample = f"t + {i * fft.threads}"
        if fft.packed:
            lines.append(f"out[{sample}] = r.x[{i}];" if moves_out else f"r.x[{i}] = in[{sample}];")
        elif moves_out:
            lines.append(f"((real*)out)[{sample}] = r.x[{i}].re;")
        else:
            lines.append(f"r.x[{i}].re = ((const real*)in)[{sample}]; r.x[{i}].im = 0;")
    return "\n".join(lines)


def bins(fft, moves_out):
    lines = []
    for b in fft.bins:
        guard = f"if ({b.guard}) " if b.guard else ""
        move = (
            f"out[{b.index}] = r.x[{b.register}];"
            if moves_out
            else f"r.x[{b.register}] = in[{b.index}];"
        )
        lines.append(guard + move)
    return "\n".join(lines)


def text(fft):
    kind = "double" if fft.block.double else "float"
    before, after = (bins, samples) if fft.inverse else (samples, bins)
    return fft_host.function(
        name(fft),
        kind,
        fft.registers,
        f"using real = {kind}; " + before(fft, False),
        real_phases(fft, "r.x"),
        f"using real = {kind}; " + after(fft, True),
    )


def case(fft):
    """Input of a function, and the exact result."""
    rng = np.random.default_rng(fft.length)
    x = rng.standard_normal(fft.length).astype("d" if fft.block.double else "f")
    if not fft.inverse:
        return x, np.fft.rfft(x.astype(np.longdouble))
    count = fft.length // 2 + 1
    z = rng.standard_normal(count) + 1j * rng.standard_normal(count)
    z = z.astype("D" if fft.block.double else "F")
    return z, np.fft.irfft(z.astype(np.clongdouble), fft.length, norm="forward")


def errors(ffts):
    """Of each shape: the error; the order of threads must not matter."""
    library = fft_host.build([text(fft) for fft in ffts])
    found = []
    for fft in ffts:
        x, exact = case(fft)
        kind = np.dtype("D" if fft.block.double else "F")
        given = np.zeros(fft.length + 2, kind.char.lower())
        given[: x.view(given.dtype).size] = x.view(given.dtype)
        results = []
        for order in fft_host.orders(fft.threads):
            count = fft.length // 2 + 1
            got = fft_host.run(
                library,
                name(fft),
                given.view(kind) if given.size % 2 == 0 else given[:-1].view(kind),
                count,
                fft.shared_reals,
                [real_table(fft)],
                order,
            )
            results.append(got.view(given.dtype)[: fft.length] if fft.inverse else got)
        for other in results[1:]:
            assert other.tobytes() == results[0].tobytes(), fft
        found.append(fft_host.relative_error(results[0], exact))
    return found
