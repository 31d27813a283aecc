"""Verdicts on claims."""

import pytest

from benchmarks.papers.exhibits import (
    FAILS,
    HOLDS,
    UNCLEAR,
    is_above,
    percent,
    verdict,
    worst,
)
from spacy_ssvm.lab.compare import Measure


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0.9, 0.01), (0.8, 0.01), HOLDS),
        ((0.8, 0.01), (0.9, 0.01), FAILS),
        ((0.81, 0.01), (0.80, 0.01), UNCLEAR),
        ((0.80, 0.01), (0.81, 0.01), UNCLEAR),
        ((0.80, 0.0), (0.80, 0.0), UNCLEAR),
        ((0.81, None), (0.80, None), HOLDS),
        ((0.80, None), (0.80, None), FAILS),
    ],
)
def test_a_mean_above_another(one, other, expected: str) -> None:
    assert is_above(Measure(*one), Measure(*other), seeds=4) == expected


def test_more_seeds_make_it_clear() -> None:
    means = Measure(0.815, 0.01), Measure(0.8, 0.01)
    assert is_above(*means, seeds=3) == UNCLEAR  # two standard errors are 0.0163
    assert is_above(*means, seeds=4) == HOLDS  # 0.0141


def test_a_claim_that_needs_all() -> None:
    assert worst([HOLDS, HOLDS]) == HOLDS
    assert worst([HOLDS, UNCLEAR]) == UNCLEAR
    assert worst([UNCLEAR, FAILS, HOLDS]) == FAILS
    assert (verdict(True), verdict(False)) == (HOLDS, FAILS)


def test_shares_in_percent() -> None:
    assert percent(0.12345) == "12.35"
    assert percent(Measure(0.5, 0.012), 1) == "50.0 ± 1.2"
    assert percent(Measure(0.5, None)) == "50.00"
