"""Verdicts on claims."""

import pytest

from benchmarks.papers.exhibits import (
    FAILS,
    HOLDS,
    UNCLEAR,
    agreed,
    is_above,
    percent,
    verdict,
    worst,
)


def seeds(mean: float, deviation: float, number: int = 4) -> list[float]:
    """Values with this mean and standard deviation."""
    step = deviation * ((number - 1) / number) ** 0.5
    return [mean + (step if i % 2 else -step) for i in range(number)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0.9, 0.01), (0.8, 0.01), HOLDS),
        ((0.8, 0.01), (0.9, 0.01), FAILS),
        ((0.81, 0.01), (0.80, 0.01), UNCLEAR),
        ((0.80, 0.01), (0.81, 0.01), UNCLEAR),
        ((0.80, 0.0), (0.80, 0.0), UNCLEAR),
        ((0.81, 0.0), (0.80, 0.0), HOLDS),
        ((0.81, 0.0), (0.80, 0.02), UNCLEAR),
    ],
)
def test_a_mean_above_another(one, other, expected: str) -> None:
    assert is_above(seeds(*one), seeds(*other)) == expected


def test_more_seeds_make_it_clear() -> None:
    spread = (0.815, 0.01), (0.8, 0.01)
    few, many = ([seeds(*values, number) for values in spread] for number in (2, 4))
    assert is_above(*few) == UNCLEAR  # two standard errors are 0.02
    assert is_above(*many) == HOLDS  # 0.0141


@pytest.mark.parametrize(("one", "other"), [([0.9], [0.8]), ([0.8, 0.8], [0.9]), ([0.8], [0.9])])
def test_one_seed_tells_nothing(one: list[float], other: list[float]) -> None:
    assert is_above(one, other) == UNCLEAR


@pytest.mark.parametrize(("slack", "expected"), [(0.0, FAILS), (0.01, FAILS), (0.03, HOLDS)])
def test_a_little_below_can_count_as_level(slack: float, expected: str) -> None:
    assert is_above([0.78, 0.78], [0.8, 0.8], slack=slack) == expected


def test_seeds_have_to_agree() -> None:
    assert agreed([HOLDS, HOLDS]) == HOLDS
    assert agreed([FAILS, FAILS]) == FAILS
    assert agreed([HOLDS, FAILS]) == agreed([HOLDS, UNCLEAR]) == UNCLEAR
    assert agreed([HOLDS]) == UNCLEAR


def test_a_claim_that_needs_all() -> None:
    assert worst([HOLDS, HOLDS]) == HOLDS
    assert worst([HOLDS, UNCLEAR]) == UNCLEAR
    assert worst([UNCLEAR, FAILS, HOLDS]) == FAILS
    assert (verdict(True), verdict(False)) == (HOLDS, FAILS)


def test_shares_in_percent() -> None:
    assert percent(0.12345) == "12.35"
    assert percent(seeds(0.5, 0.012), 1) == "50.0 ± 1.2"
    assert percent([0.5]) == "50.00"
