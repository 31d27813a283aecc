"""Lattice decoders against enumeration, on drawn candidates and scores full of ties."""

from itertools import pairwise, product
from typing import NamedTuple

import brute
import numpy as np
import pytest
from chain_tables import checked, tables, whole, with_infinities
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.decoders.chain import max_marginals, viterbi
from spacy_ssvm.decoders.lattice import (
    Candidates,
    Levels,
    best_path,
    bound_steps,
    end_score,
    join_levels,
    make_levels,
    no_bounds,
    node_scores,
    number_of_pairs,
    path_score,
    prefix_scores,
    start_score,
    step_score,
    suffix_scores,
)
from spacy_ssvm.decoders.semirings import LOG_SUM, MAX

pytestmark = pytest.mark.uncompiled

rounded = st.floats(-20, 20)

TOTALS = {MAX: lambda scores: max(scores, default=-np.inf), LOG_SUM: np.logaddexp.reduce}

semirings = st.sampled_from([MAX, LOG_SUM])


class Lattice(NamedTuple):
    """A lattice, written out."""

    labels: list  #: of the candidates of each position
    emissions: list  #: of the same
    classes: list  #: at each level: the class of each label
    tables: list  #: of each level: [C + 2, C]

    @property
    def n(self):
        return len(self.labels)

    def arguments(self):
        """What decoders take: candidates, emissions, levels and weights."""
        starts = np.array([0, *np.cumsum([len(own) for own in self.labels])], dtype=np.int64)
        labels = np.array([label for own in self.labels for label in own], dtype=np.int32)
        emissions = np.array([score for own in self.emissions for score in own], dtype=float)
        sizes = np.array([len(table) - 2 for table in self.tables], dtype=np.int64)
        tables = [np.ravel(table) for table in self.tables]
        K = len(self.classes[0]) if self.classes else 1 + int(labels.max(initial=0))
        classes = [[of_labels[label] for of_labels in self.classes] for label in range(K)]
        levels = Levels(
            np.array(classes, dtype=np.int64).reshape(K, len(sizes)),
            sizes,
            np.array([0, *np.cumsum([len(table) for table in tables])], dtype=np.int64),
        )
        weights = np.concatenate([np.zeros(0), *tables])
        return Candidates(starts, labels), emissions, levels, weights

    def start(self, label):
        return sum(
            table[-2][of_labels[label]]
            for of_labels, table in zip(self.classes, self.tables, strict=True)
        )

    def end(self, label):
        return sum(
            table[-1][of_labels[label]]
            for of_labels, table in zip(self.classes, self.tables, strict=True)
        )

    def step(self, before, label):
        return sum(
            table[of_labels[before]][of_labels[label]]
            for of_labels, table in zip(self.classes, self.tables, strict=True)
        )

    def structures(self, first=0, last=None):
        """All choices of candidates of some positions."""
        return list(product(*(range(len(own)) for own in self.labels[first:last])))

    def inner_score(self, y, first=0):
        """The emissions and steps of candidates from a position on, without start and end."""
        labels = [self.labels[t][c] for t, c in enumerate(y, start=first)]
        total = sum(self.emissions[t][c] for t, c in enumerate(y, start=first))
        return total + sum(self.step(before, label) for before, label in pairwise(labels))

    def score(self, y):
        if not y:
            return 0.0
        ends = self.start(self.labels[0][y[0]]) + self.end(self.labels[-1][y[-1]])
        return float(self.inner_score(y) + ends)

    def best_score(self):
        return max(map(self.score, self.structures()))

    def nodes(self, semiring):
        """The total score of the structures with each candidate, one position after another."""
        return [
            TOTALS[semiring]([self.score(y) for y in self.structures() if y[t] == c])
            for t in range(self.n)
            for c in range(len(self.labels[t]))
        ]


@st.composite
def lattices(draw, scores=whole, emissions=with_infinities, shortest=0):
    K = draw(st.integers(1, 4))
    own = st.lists(st.integers(0, K - 1), unique=True, min_size=1)
    labels = draw(st.lists(own, min_size=shortest, max_size=4))
    of_labels = st.lists(st.integers(0, 2), min_size=K, max_size=K)
    classes = draw(st.lists(of_labels, max_size=3))

    def numbers(scores, size):
        return draw(st.lists(scores, min_size=size, max_size=size))

    sizes = [max(level) + 1 for level in classes]
    return Lattice(
        labels,
        [numbers(emissions, len(own)) for own in labels],
        classes,
        [[numbers(scores, C) for _ in range(C + 2)] for C in sizes],
    )


def decode(lattice):
    """The best structure, which is the same when better predecessors are tried first."""
    candidates, emissions, levels, weights = lattice.arguments()
    y, z = (np.full(lattice.n, -1, dtype=np.int64) for _ in range(2))
    score = best_path(candidates, emissions, levels, weights, no_bounds(), y)
    bounds = bound_steps(levels, weights)
    assert best_path(candidates, emissions, levels, weights, bounds, z) == score
    assert z.tolist() == y.tolist()
    return score, tuple(y.tolist())


def lattice_of_chain(emissions, transitions):
    """All labels are candidates, and each is a class."""
    n, K = emissions.shape
    labels = [list(range(K)) for _ in range(n)]
    return Lattice(labels, emissions.tolist(), [list(range(K))], [transitions.tolist()])


@checked
@given(lattices())
def test_the_best_path_has_the_best_score(lattice):
    score, y = decode(lattice)
    assert score == lattice.best_score()
    assert y in lattice.structures()  # where all is forbidden, it is safe to look up
    assert lattice.score(y) == score


@checked
@given(lattices(scores=with_infinities))
def test_steps_can_be_forbidden_too(lattice):
    score, y = decode(lattice)
    assert score == lattice.best_score()
    assert y in lattice.structures()
    assert lattice.score(y) == score


@checked
@given(lattices(scores=rounded, emissions=rounded))
def test_the_best_path_of_rounded_numbers_has_the_best_score(lattice):
    score, y = decode(lattice)
    assert score == pytest.approx(lattice.best_score(), abs=1e-9)
    assert lattice.score(y) == pytest.approx(score, abs=1e-9)


@checked
@given(lattices())
def test_ties_go_to_the_earlier_candidate(lattice):
    """No candidate of the answer can be replaced by an earlier one at the same score."""
    score, y = decode(lattice)
    if score == -np.inf:
        return
    for t in range(len(y)):
        for earlier in range(y[t]):
            assert lattice.score((*y[:t], earlier, *y[t + 1 :])) < score


def test_the_first_candidates_win_where_all_are_alike():
    labels = [[2, 0], [1], [1, 2, 0]]
    lattice = Lattice(labels, [[1.0] * len(own) for own in labels], [[0, 1, 0]], [[[0.0] * 2] * 4])
    assert decode(lattice) == (3.0, (0, 0, 0))


@pytest.mark.parametrize("t", [0, 1, 2])
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_the_score_is_minus_infinity_where_a_position_has_no_candidate_left(t, levels):
    emissions = [[0.0, 1.0], [2.0], [0.0, 3.0, 1.0]]
    emissions[t] = [-np.inf] * len(emissions[t])
    table = np.ones((4, 2)).tolist()
    classes = [[0, 1, 1]] * levels
    lattice = Lattice([[0, 2], [1], [2, 1, 0]], emissions, classes, [table] * levels)
    score, y = decode(lattice)
    assert score == -np.inf
    assert y in lattice.structures()
    assert (node_scores(MAX, *lattice.arguments()) == -np.inf).all()
    assert (node_scores(LOG_SUM, *lattice.arguments()) == -np.inf).all()


def test_a_single_position_has_a_start_and_an_end():
    table = [[100.0, 100.0], [100.0, 100.0], [10.0, 20.0], [7.0, -30.0]]
    lattice = Lattice([[1, 0]], [[2.0, 1.0]], [[0, 1]], [table])
    assert decode(lattice) == (18.0, (1,))
    assert node_scores(MAX, *lattice.arguments()).tolist() == [-8.0, 18.0]


def test_levels_add_up():
    steps = [[5.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
    others = [[30.0], [400.0], [1000.0]]
    labels, emissions = [[2], [0]], [[0.25], [0.5]]
    lattice = Lattice(labels, emissions, [[1, 0, 0], [0, 0, 0]], [steps, others])
    assert decode(lattice) == (0.25 + 0.5 + 1 + 0 + 2 + 400 + 30 + 1000, (0, 0))


def test_there_is_nothing_to_decode_without_positions():
    lattice = Lattice([], [], [[0, 1]], [np.ones((4, 2)).tolist()])
    assert decode(lattice) == (0.0, ())
    assert path_score(*lattice.arguments(), np.empty(0, dtype=np.int64)) == 0.0
    assert node_scores(MAX, *lattice.arguments()).shape == (0,)
    assert node_scores(LOG_SUM, *lattice.arguments()).shape == (0,)
    assert number_of_pairs(np.zeros(1, dtype=np.int64)) == 0


@checked
@given(lattices(), st.data())
def test_the_score_of_a_path_is_the_sum_of_what_it_uses(lattice, data):
    y = data.draw(st.sampled_from(lattice.structures()))
    found = path_score(*lattice.arguments(), np.array(y, dtype=np.int64))
    assert found == lattice.score(y)


@checked
@given(lattices(scores=with_infinities))
def test_starts_steps_and_ends_are_read_from_all_levels(lattice):
    _, _, levels, weights = lattice.arguments()
    labels = {label for own in lattice.labels for label in own}
    for label in labels:
        assert start_score(levels, weights, label) == lattice.start(label)
        assert end_score(levels, weights, label) == lattice.end(label)
        for before in labels:
            assert step_score(levels, weights, before, label) == lattice.step(before, label)


@checked
@given(lattices(shortest=1), semirings)
def test_prefix_scores_are_those_of_all_prefixes_that_end_with_a_candidate(lattice, semiring):
    expected = [
        TOTALS[semiring](
            [
                lattice.inner_score(y) + lattice.start(lattice.labels[0][y[0]])
                for y in lattice.structures(0, t + 1)
                if y[t] == c
            ]
        )
        for t in range(lattice.n)
        for c in range(len(lattice.labels[t]))
    ]
    found = prefix_scores(semiring, *lattice.arguments())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (semiring == LOG_SUM))


@checked
@given(lattices(shortest=1), semirings)
def test_suffix_scores_are_those_of_all_suffixes_after_a_candidate(lattice, semiring):
    """The emission of the candidate is not a part of them, the step away from it is."""
    expected = []
    for t in range(lattice.n):
        for label in lattice.labels[t]:
            scores = []
            for y in lattice.structures(t + 1):
                labels = [label, *(lattice.labels[t + 1 + s][c] for s, c in enumerate(y))]
                score = lattice.inner_score(y, t + 1) + lattice.end(labels[-1])
                scores.append(score + (lattice.step(label, labels[1]) if y else 0.0))
            expected.append(TOTALS[semiring](scores))
    found = suffix_scores(semiring, *lattice.arguments())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (semiring == LOG_SUM))


@checked
@given(lattices())
def test_the_score_of_a_candidate_is_that_of_the_best_structure_with_it(lattice):
    found = node_scores(MAX, *lattice.arguments())
    np.testing.assert_array_equal(found, np.array(lattice.nodes(MAX), dtype=float))


@checked
@given(lattices())
def test_scores_of_candidates_sum_up_the_structures_with_them(lattice):
    found = node_scores(LOG_SUM, *lattice.arguments())
    np.testing.assert_allclose(found, lattice.nodes(LOG_SUM), rtol=0, atol=1e-9)


@checked
@given(lattices(scores=rounded, emissions=rounded, shortest=1))
def test_every_position_has_the_same_sum(lattice):
    candidates, *others = lattice.arguments()
    found = node_scores(LOG_SUM, candidates, *others)
    total = np.logaddexp.reduce([lattice.score(y) for y in lattice.structures()])
    for own in np.split(found, candidates.starts[1:-1]):
        assert np.logaddexp.reduce(own) == pytest.approx(total, abs=1e-9)


@checked
@given(st.lists(st.integers(1, 5), max_size=6))
def test_pairs_of_neighbours_are_counted(sizes):
    starts = np.array([0, *np.cumsum(sizes)], dtype=np.int64)
    assert number_of_pairs(starts) == sum(a * b for a, b in pairwise(sizes))


@checked
@given(st.one_of(tables(), tables(scores=st.floats(-1e3, 1e3))))
def test_with_all_labels_and_a_level_of_them_a_lattice_is_a_chain(drawn):
    emissions, transitions = drawn
    lattice = lattice_of_chain(emissions, transitions)
    y = np.full(len(emissions), -1, dtype=np.int64)
    score = viterbi(emissions, transitions, y)
    assert decode(lattice) == (score, tuple(y.tolist()))
    found = node_scores(MAX, *lattice.arguments()).reshape(emissions.shape)
    np.testing.assert_array_equal(found, max_marginals(emissions, transitions))
    for other in brute.label_sequences(*emissions.shape)[:5]:
        expected = brute.score(emissions, transitions, other)
        found = path_score(*lattice.arguments(), np.array(other, dtype=np.int64))
        assert found == pytest.approx(expected, abs=1e-9)


@checked
@given(lattices(scores=with_infinities))
def test_decoders_leave_what_they_are_given_alone(lattice):
    (candidates, emissions, levels, weights) = lattice.arguments()
    decode_arguments = candidates, emissions, levels, weights
    bounds = bound_steps(levels, weights)
    best_path(*decode_arguments, bounds, np.empty(lattice.n, dtype=np.int64))
    node_scores(LOG_SUM, *decode_arguments)
    expected = lattice.arguments()
    for one, other in zip((*candidates, *levels), (*expected[0], *expected[2]), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(emissions, expected[1])
    np.testing.assert_array_equal(weights, expected[3])


@checked
@given(lattices())
def test_levels_know_their_classes_and_where_their_tables_begin(lattice):
    K = len(lattice.classes[0]) if lattice.classes else 3
    found = make_levels(K, [np.array(level, dtype=np.int64) for level in lattice.classes])
    assert [array.dtype for array in found] == [np.int64] * 3
    assert found.classes.shape == (K, len(lattice.classes))
    assert found.classes.T.tolist() == lattice.classes
    assert found.sizes.tolist() == [max(level) + 1 for level in lattice.classes]
    ends = np.cumsum([np.size(table) for table in lattice.tables], dtype=np.int64).tolist()
    assert found.starts.tolist() == [0, *ends]


@checked
@given(lattices(scores=with_infinities))
def test_steps_score_within_their_bounds(lattice):
    """With one level, some reach them."""
    _, _, levels, weights = lattice.arguments()
    labels = range(len(levels.classes))
    bounds = bound_steps(levels, weights)
    steps = [[lattice.step(before, after) for after in labels] for before in labels]
    to, after = [max(column) for column in zip(*steps, strict=True)], [max(row) for row in steps]
    least = [min(row) for row in steps]
    assert (bounds.most_before >= to).all()
    assert (bounds.most_after >= after).all()
    assert (bounds.least_after <= least).all()
    if len(lattice.classes) == 1 and len({*lattice.classes[0]}) == levels.sizes[0]:
        assert [bound.tolist() for bound in bounds] == [to, after, least]


def test_tables_have_rows_for_starts_and_ends():
    classes = [np.array([0, 1, 1]), np.array([0, 0, 0]), np.array([0, 1, 2])]
    levels = make_levels(3, classes)
    assert levels.sizes.tolist() == [2, 1, 3]
    assert levels.starts.tolist() == [0, 8, 11, 26]
    assert make_levels(3, []).starts.tolist() == [0]


@checked
@given(lattices())
def test_joined_levels_score_the_same_steps(lattice):
    """Integers, whose sums are exact."""
    candidates, emissions, levels, weights = lattice.arguments()
    joined, table = join_levels(levels, weights)
    assert joined.sizes.tolist() == [len(levels.classes)]
    y, z = (np.full(lattice.n, -1, dtype=np.int64) for _ in range(2))
    bounds = bound_steps(joined, table)
    score = best_path(candidates, emissions, levels, weights, no_bounds(), y)
    assert best_path(candidates, emissions, joined, table, bounds, z) == score
    assert z.tolist() == y.tolist()
