"""Shapes, padding, tables and codelets of FFTs: what can be checked without compiling."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fft_fused.cuda.fft import body
from fft_fused.cuda.fft.bluestein import Bluestein
from fft_fused.cuda.fft.codelets import dft
from fft_fused.cuda.fft.padding import Padding, conflicts, padding_of
from fft_fused.cuda.fft.real import real_shapes, real_table
from fft_fused.cuda.fft.shape import BlockFFT, best, shapes
from fft_fused.cuda.fft.stage import Stage
from fft_fused.cuda.fft.stockham import phases, twiddle_table


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("length", [1, 2, 31, 62, 256, 899, 1155, 6144, 8192, 16384, 24576])
def test_candidates_fit_a_multiprocessor(length, double):
    for fft in shapes(length, double):
        assert fft.threads <= 1024
        assert fft.shared_reals * fft.real_bytes <= 227 * 1024
        assert fft.registers * (4 if double else 2) + 26 <= 65536 // fft.threads
        assert twiddle_table(fft).size == fft.twiddles
        assert twiddle_table(fft).dtype == ("c16" if double else "c8")


@pytest.mark.parametrize("length", [37, 2 * 41, 31 * 37, 32768, 2**20])
def test_a_large_prime_or_length_has_no_shape(length):
    assert shapes(length) == ()
    assert best(length) is None


def test_what_fits_is_not_split():
    assert not any(fft.split for n in (256, 4096, 16384) for fft in shapes(n))


def test_impossible_shapes_are_refused():
    with pytest.raises(ValueError, match="do not make 16"):
        BlockFFT(16, 4, (4, 2))
    with pytest.raises(ValueError, match="3 elements a thread do not divide 16"):
        BlockFFT(16, 3, (4, 4))
    with pytest.raises(ValueError, match="the first radix, 8, must divide the 4 elements"):
        BlockFFT(16, 4, (8, 2))
    with pytest.raises(ValueError, match="64 points are too few for length 37"):
        Bluestein(37, BlockFFT(64, 8, (8, 8)))


def test_phases_are_cut_where_memory_changes_hands():
    whole, split = (BlockFFT(512, 8, (8, 8, 8), split=s) for s in (False, True))
    for fft in (whole, split):
        for lines in phases(fft, -1):
            text = "\n".join(lines)
            stores = [line for line in lines if line.startswith(("s[", "((complex_t<float>*)(s))"))]
            loads = [line for line in lines if " = s[" in line or " = ((complex_t" in line]
            assert not (stores and loads), text
    assert [len(phases(fft, -1)) for fft in (whole, split)] == [4, 8]


def slowly(exchanges, padding, pitch, unit_bytes, side_by_side):
    """Conflicts counted lane by lane, over the threads of one FFT or those that alternate."""
    lanes, extra = 128 // unit_bytes, 0
    threads = exchanges[0][0].threads
    counted = max(1, min(threads * side_by_side // 32, 8)) * 32
    for writer, reader in exchanges:
        for stage, move in ((writer, "writes"), (reader, "reads")):
            for slot in range(stage.slots):
                for q in range(stage.radix):
                    for start in range(0, counted, lanes):
                        banks = {}
                        for lane in range(start, start + lanes):
                            number, t = divmod(lane, threads)
                            if side_by_side > 1:
                                t, number = divmod(lane, side_by_side)
                                t %= threads
                            i = int(getattr(stage, move)(np.array([t]), slot, q)[0])
                            if i >= 0:
                                place = int(padding.places(np.array(i)))
                                place += number * pitch
                                banks.setdefault(place % lanes, set()).add(place)
                        extra += max(map(len, banks.values()), default=1) - 1
    return extra


@pytest.mark.parametrize("padding", [Padding(), Padding(4), Padding(3, 2)], ids=repr)
@pytest.mark.parametrize("fft", [best(16), best(62), best(256), best(360)], ids=repr)
def test_bank_conflicts_are_counted_lane_by_lane(fft, padding):
    for unit, way, more in ((4, 1, 0), (8, 1, 1), (16, 1, 0), (8, 8, 1), (4, 16, 3), (8, 4, 0)):
        given = fft.exchanges, padding, padding.size(fft.length) + more, unit
        assert conflicts(*given, way) == slowly(*given, way)


@pytest.mark.parametrize("length", [2**k for k in range(4, 15)])
def test_powers_of_two_have_no_bank_conflicts(length):
    fft = best(length)
    pitch = fft.padding.size(length)
    assert conflicts(fft.exchanges, fft.padding, pitch, fft.unit_bytes) == 0


@pytest.mark.parametrize("length", [62, 100, 360, 899, 1000, 1155, 6144])
def test_padding_never_adds_conflicts(length):
    for fft in shapes(length):
        found = padding_of(fft.exchanges, length, fft.unit_bytes)
        with_it, without = (
            conflicts(fft.exchanges, p, p.size(length), fft.unit_bytes) for p in (found, Padding())
        )
        assert with_it <= without


@pytest.mark.parametrize(
    "stage",
    [Stage(512, 64, 8, 8), Stage(899, 31, 31, 29), Stage(1155, 55, 11, 21), Stage(360, 20, 20, 18)],
    ids=repr,
)
def test_texts_of_places_are_the_numbers(stage):
    thread = np.arange(stage.threads)
    for slot in range(stage.slots):
        for q in range(stage.radix):
            for place, numbers in (
                (stage.read_place(slot, q), stage.reads(thread, slot, q)),
                (stage.write_place(slot, q), stage.writes(thread, slot, q)),
            ):
                text = place.definition.replace("u_", "thread").replace("/", "//")
                text = "".join(c for i, c in enumerate(text) if c != "u" or text[i - 1].isalpha())
                got = eval(text, {"thread": thread}) + place.offset
                assert (got == numbers)[numbers >= 0].all()


def test_tables_are_correctly_rounded():
    table = twiddle_table(BlockFFT(4096, 16, (16, 16, 16), double=True))
    last = table[-4 * 256 :].reshape(4, 256)
    k = np.arange(256, dtype=np.longdouble)
    exact = np.exp(-2j * np.arccos(np.longdouble(-1)) * k / 4096)
    assert abs(last[0] - exact).max() < 1.2e-16
    assert real_table(real_shapes(8, False)[0])[-1] == 1
    assert np.isin([1, -1j], twiddle_table(BlockFFT(16, 4, (4, 4)))).all()


OPERATIONS = {
    2: (4, 0),
    3: (12, 4),
    4: (16, 0),
    5: (32, 14),
    8: (52, 4),
    9: (80, 40),
    16: (144, 24),
}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("radix", range(1, 33))
def test_codelets_are_transforms(radix, sign):
    rng = np.random.default_rng(radix)
    x = rng.standard_normal(radix) + 1j * rng.standard_normal(radix)
    work = body.Body(double=True)
    given = [body.Complex.named(f"a[{i}]") for i in range(radix)]
    out = dft(work, given, sign)
    values = {"a": [SimpleNamespace(re=z.real, im=z.imag) for z in x]}
    exec("\n".join(line.removeprefix("const double ").rstrip(";") for line in work.lines), values)
    got = np.array([eval(str(z.re), values) + 1j * eval(str(z.im), values) for z in out])
    exact = np.fft.fft(x) if sign < 0 else np.fft.ifft(x, norm="forward")
    assert np.linalg.norm(got - exact) < 6e-16 * np.linalg.norm(exact)
    if radix in OPERATIONS:
        text = "\n".join(line.partition("= ")[2].lstrip("-") for line in work.lines)
        counted = text.count(" + ") + text.count(" - "), text.count("*")
        assert counted == OPERATIONS[radix]


@pytest.mark.parametrize("radix", [7, 11, 13, 17, 19, 23, 29, 31])
def test_odd_primes_take_half_the_products_of_the_definition(radix):
    work = body.Body(double=False)
    dft(work, [body.Complex.named(f"a[{i}]") for i in range(radix)], -1)
    assert "\n".join(work.lines).count("*") == (radix - 1) ** 2
