"""Scores of links against formulas, and leave-one-out against counts without the pair."""

from dataclasses import replace

import numpy as np
import pytest
from small_bitexts import hash_bitext

from spacy_ssvm.align.bitext.association import arrays_of, read_association
from spacy_ssvm.align.bitext.kernels import fill_steps, hmm_posteriors
from spacy_ssvm.align.bitext.link_scores import COLUMNS, link_scores
from spacy_ssvm.align.bitext.models import AssociationSettings, train_association

pytestmark = pytest.mark.uncompiled

SMOOTHING, NULL_PROBABILITY = 0.05, 0.2
SETTINGS = AssociationSettings(
    model1_iterations=3,
    hmm_iterations=2,
    smoothing=SMOOTHING,
    null_probability=NULL_PROBABILITY,
    threshold=0.0,
)


def random_sentences(seed, size=14, types=7):
    """Pairs of lists of word ids; every id occurs."""
    rng = np.random.default_rng(seed)
    pairs = [(np.arange(types), np.arange(types))]
    lengths = rng.integers(1, 6, (size, 2))
    return [*pairs, *(tuple(rng.integers(0, types, n) for n in both) for both in lengths)]


def trained(pairs, types=7):
    """An association whose ids are the numbers of the sentences."""
    words = [([str(w) for w in source], [str(w) for w in target]) for source, target in pairs]
    return train_association(hash_bitext(words, int), SETTINGS)


def scored(association, source, target, leave_one_out=False):
    scores = np.full((len(source), len(target), 5), np.nan, dtype=np.float32)
    link_scores(association, np.asarray(source), np.asarray(target), leave_one_out, scores)
    return scores


class Dense:
    """The counts of an association as tables [S + 2, T + 2]."""

    def __init__(self, association):
        rows = np.repeat(
            np.arange(len(association.row_starts) - 1), np.diff(association.row_starts)
        )
        shape = len(association.source_words) + 2, len(association.target_words) + 2
        self.nulls = shape[0] - 1, shape[1] - 1
        self.pairs = np.zeros(shape)
        self.counts, self.tables = np.zeros((4, *shape)), np.zeros((4, *shape))
        self.pairs[rows, association.targets] = association.pair_counts
        for column in range(4):
            self.counts[column][rows, association.targets] = association.link_counts[:, column]
            self.tables[column][rows, association.targets] = association.tables[:, column]
        self.source_pairs = association.source_totals[:, 0].astype(float)
        self.target_pairs = association.target_totals[:, 0].astype(float)
        #: The links of each generating word, by column.
        self.totals = [
            np.sum(counts, axis=1 if column < 2 else 0) for column, counts in enumerate(self.counts)
        ]
        self.jumps = association.jumps

    def posteriors(self, emissions, column, version):
        """[rows, columns] of a direction, generating words in columns, NULL first."""
        if column % 2 == 0:
            return emissions / emissions.sum(axis=1, keepdims=True)
        emissions = np.ascontiguousarray(emissions)
        steps = np.empty((emissions.shape[1], emissions.shape[1] - 1))
        fill_steps(self.jumps[column // 2, version], NULL_PROBABILITY, steps)
        found = np.empty(emissions.shape)
        hmm_posteriors(emissions, steps, NULL_PROBABILITY, found, np.empty((0, 0)))
        return found

    def directed(self, table, source, target, column):
        """The emissions of a pair: [generated, NULL and generating]."""
        if column < 2:
            return table[np.ix_([self.nulls[0], *source], target)].T
        return table[np.ix_(source, [self.nulls[1], *target])]

    def expected(self, source, target, column):
        """The links that a pair has contributed, as a table like ``counts``."""
        emissions = self.directed(np.maximum(self.tables[column], 1e-9), source, target, column)
        found = self.posteriors(emissions, column, 0)
        own = np.zeros(self.pairs.shape)
        if column < 2:
            np.add.at(own, np.ix_([self.nulls[0], *source], target), found.T)
        else:
            np.add.at(own, np.ix_(source, [self.nulls[1], *target]), found)
        return own

    def scores(self, source, target, without=None):
        """All columns; without: a pair that is subtracted from all counts."""
        found = np.empty((len(source), len(target), 5))
        pairs, sources, targets = (
            self.pairs.copy(),
            self.source_pairs.copy(),
            self.target_pairs.copy(),
        )
        if without is not None:
            pairs[np.ix_(np.unique(without[0]), np.unique(without[1]))] -= 1
            sources[np.unique(without[0])] -= 1
            targets[np.unique(without[1])] -= 1
        for j, e in enumerate(source):
            for k, f in enumerate(target):
                total = sources[e] + targets[f]
                found[j, k, 0] = 2 * pairs[e, f] / total if pairs[e, f] > 0 else 0.0
        for column in range(4):
            axis = 1 if column < 2 else 0
            counts, totals = self.counts[column], np.expand_dims(self.totals[column], axis)
            if without is not None:
                own = self.expected(*without, column)
                counts = np.maximum(counts - own, 0)
                totals = np.maximum(totals - own.sum(axis=axis, keepdims=True), 0)
            types = self.nulls[axis]
            table = (counts + SMOOTHING) / (totals + SMOOTHING * types)
            emissions = self.directed(table, source, target, column)
            posteriors = self.posteriors(emissions, column, 1)[:, 1:]
            found[:, :, 1 + column] = posteriors.T if column < 2 else posteriors
        return found


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_dense_tables(seed):
    pairs = random_sentences(seed)
    association = trained(pairs)
    dense = Dense(association)
    for source, target in [*pairs, (np.array([7, 0, 7]), np.array([1, 7]))]:
        np.testing.assert_allclose(
            scored(association, source, target),
            dense.scores(source, target),
            rtol=2e-4,
            atol=1e-6,
        )


@pytest.mark.parametrize("seed", range(3))
def test_leave_one_out_subtracts_the_links_of_the_pair(seed):
    pairs = random_sentences(seed)
    association = trained(pairs)
    dense = Dense(association)
    for pair in pairs:
        found = scored(association, *pair, leave_one_out=True)
        expected = dense.scores(*pair, without=pair)
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-5)


def test_the_counts_are_the_sums_of_what_each_pair_has_contributed():
    """So that counts without a pair are those of an iteration on the other pairs."""
    pairs = random_sentences(5)
    dense = Dense(trained(pairs))
    for column in range(4):
        total = sum(dense.expected(source, target, column) for source, target in pairs)
        np.testing.assert_allclose(total, dense.counts[column], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_pairs_of_words_that_were_dropped_count_as_never_seen(leave_one_out):
    pairs = random_sentences(2)
    whole = trained(pairs)
    dropped = train_association(
        hash_bitext([tuple([str(w) for w in side] for side in pair) for pair in pairs], int),
        replace(SETTINGS, max_pairs=10),
    )
    assert len(dropped.targets) < len(whole.targets)
    dense = Dense(dropped)
    dense.totals = Dense(whole).totals
    np.testing.assert_allclose(
        scored(dropped, *pairs[3], leave_one_out),
        dense.scores(*pairs[3], without=pairs[3] if leave_one_out else None),
        rtol=2e-3,
        atol=2e-5,
    )


def test_dice_by_hand():
    pairs = [([0, 0], [0, 1]), ([0, 1], [0, 0]), ([1], [1]), ([0], [0])]
    association = trained(pairs)
    dice = scored(association, [0, 1], [0, 1])[:, :, COLUMNS.index("dice")]
    np.testing.assert_allclose(dice, [[1.0, 2 / 5], [2 / 5, 2 / 4]])
    np.testing.assert_allclose(scored(association, [0], [0], True)[0, 0, 0], 1.0)
    np.testing.assert_allclose(scored(association, [1], [0], True)[0, 0, 0], 0.0)


def test_unknown_words_have_no_dice_and_prefer_each_other():
    association = trained([([0, 1], [0, 1])] * 20)
    scores = scored(association, [2, 0, 1], [1, 2, 0])
    assert scores[0, :, 0].tolist() == scores[:, 1, 0].tolist() == [0, 0, 0]
    for column in range(1, 5):
        assert scores[:, 1, column].argmax() == 0
        assert scores[0, :, column].argmax() == 1
        assert np.all(np.isfinite(scores[:, :, column]))
    alone = scored(association, [2], [2])
    assert np.all((alone[..., 1:] > 0.2) & (alone[..., 1:] <= 1))


def test_a_word_seen_in_one_pair_is_unknown_without_it():
    pairs = [([0, 1], [0, 1])] * 9 + [([0, 2, 1], [0, 2, 1])]
    association = trained(pairs)
    without = scored(association, [0, 2, 1], [0, 2, 1], True)
    assert without[1, :, 0].tolist() == [0, 0, 0]
    never = scored(trained(pairs[:9]), [0, 2, 1], [0, 2, 1])
    np.testing.assert_allclose(without[..., 1], never[..., 1], atol=0.05)


@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (0, 0)])
def test_an_empty_sentence_has_no_links(m, n):
    association = trained([([0, 1], [0, 1])])
    empty = np.zeros(0, dtype=np.int64)
    scores = np.empty((m, n, 5), dtype=np.float32)
    link_scores(association, np.append(empty, [0] * m).astype(np.int64),
                np.append(empty, [0] * n).astype(np.int64), False, scores)  # fmt: skip


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_posteriors_are_finite_for_whatever_arrays_are_read(leave_one_out):
    association = trained(random_sentences(1))
    for value in (0.0, 3e38):
        arrays = {name: array.copy() for name, array in arrays_of(association).items()}
        for name in ("link_counts", "tables", "source_totals", "target_totals", "pair_counts"):
            arrays[f"association_{name}"][:] = value
        damaged = read_association(arrays)
        assert np.all(np.isfinite(scored(damaged, [0, 1, 7], [2, 2, 7], leave_one_out)))
