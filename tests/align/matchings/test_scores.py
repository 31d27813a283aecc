"""Features of further links, and their penalties, by hand; the rest: ``test_oracle.py``."""

import numpy as np
import pytest

from spacy_ssvm.align.matchings.layout import ALTERNATIVE, POSSIBLE, SURE, WRONG
from spacy_ssvm.align.matchings.scores import add_costs, count_steps, expected_cost, link_steps

pytestmark = pytest.mark.uncompiled

LINKS = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 0]], dtype=bool)
GOLD = np.array([SURE, WRONG, POSSIBLE, SURE, ALTERNATIVE, ALTERNATIVE, SURE, WRONG, SURE])


def test_steps_fall_by_the_penalties_so_far():
    steps = link_steps(2, np.array([0.5, 2.0]))
    assert steps.tolist() == [[0.0, -0.5, -2.5]] * 2
    assert link_steps(3, np.zeros(0)).tolist() == [[0.0]] * 3
    assert link_steps(0, np.array([1.0])).shape == (0, 2)


def test_penalties_below_zero_count_as_zero():
    assert link_steps(1, np.array([-0.5, 2.0])).tolist() == [[0.0, 0.0, -2.0]]


@pytest.mark.parametrize(
    ("fertilities", "expected"),
    [((3, 2), [-2, -1, -1]), ((1, 2), [-1]), ((3, 1), [-2, -1]), ((1, 1), []),
     ((4, 3), [-2, -1, 0, -1, 0])],
)  # fmt: skip
def test_features_of_further_links(fertilities, expected):
    """The first word of the source has three links, the second of the target two."""
    counts = np.full(sum(fertilities) - 2, np.nan)
    count_steps(LINKS, np.array(fertilities), counts)
    assert counts.tolist() == expected


def test_features_times_penalties_are_the_steps():
    penalties = np.array([0.5, 0.25, 3.0])
    counts = np.empty(3)
    count_steps(LINKS, np.array([3, 2]), counts)
    source, target = link_steps(3, penalties[:2]), link_steps(3, penalties[2:])
    total = source[0, :3].sum() + source[1, :1].sum() + target[0, :1].sum() + target[1, :2].sum()
    assert counts @ penalties == total


def test_costs():
    gold, costs = GOLD.astype(np.int32), np.array([4.0, 0.5])
    assert expected_cost(gold, costs, LINKS) == 3 * 4.0 + 0.5
    assert expected_cost(gold, costs, ~LINKS) == 4.0 + 0.5
    scores = np.zeros((3, 3))
    add_costs(gold, costs, 2.0, scores)
    assert scores.tolist() == [[-8.0, 1.0, 0.0], [-8.0, 0.0, 0.0], [-8.0, 1.0, -8.0]]
    nothing = np.zeros((0, 3), dtype=bool)
    assert expected_cost(gold[:0], costs, nothing) == 0.0
