"""How far indices move: which neighbours of a row kernel are neighbours in memory."""

from __future__ import annotations

import pytest

from fft_fused.cuda.steps import steps


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("e", {"e": 1}),
        ("b0 * 4096 + e", {"b0": 4096, "e": 1}),
        ("((b0 * 16 + e) * 4 + b2) * 2 + 1", {"b0": 128, "e": 8, "b2": 2}),
        ("(15 - e)", {"e": -1}),
        ("e - e", {}),
        ("-b0 * 3", {"b0": -3}),
        ("((b0 * 16 + e) / 16 % 8)", {"e": 1 / 16, "b0": 1}),
        ("((b0 * 16 + e) % 16)", {"e": 1}),
        ("(e >= 8 ? (0 + (e - 8)) : (8 + e))", {"e": 1}),
        ("(b1 < 3 && !(e < 2) ? e * 2 : 0) + b1", {"e": 2, "b1": 1}),
        ("7", {}),
    ],
)
def test_steps_of_an_index(text, wanted):
    assert steps(text) == wanted


def test_names_that_stand_for_expressions():
    assert steps("j2 * 2", {"j2": "(j1 + b0)", "j1": "(e * 8)"}) == {"e": 16, "b0": 2}
