"""Trained associations against naive dictionaries."""

from collections import defaultdict
from math import log

import numpy as np
import pytest
from small_bitexts import hash_bitext, hash_lower

from spacy_ssvm.align.bitext import models
from spacy_ssvm.align.bitext.association import arrays_of, read_association, source_ids, target_ids
from spacy_ssvm.align.bitext.kernels import add_expected_counts
from spacy_ssvm.align.bitext.models import AssociationSettings, train_association

pytestmark = pytest.mark.uncompiled

NULL = None
EVERYTHING = {"threshold": 0.0, "smoothing": 0.05}


def random_pairs(seed, size, types=8):
    rng = np.random.default_rng(seed)
    return [
        tuple([f"{side}{w}" for w in rng.integers(0, types, rng.integers(1, 6))] for side in "ef")
        for _ in range(size)
    ]


def ids(association, source, target):
    words = (np.array([hash_lower(w) for w in side], dtype=np.uint64) for side in (source, target))
    return source_ids(association, next(words)), target_ids(association, next(words))


def naive_model1(pairs, iterations, smoothing):
    """Counts of the last iteration, the probabilities before it, and all log-likelihoods."""
    types = len({f for _, target in pairs for f in target}) + 1
    table = defaultdict(lambda: 1 / types)
    likelihoods = []
    for _ in range(iterations):
        counts, totals, likelihood, before = defaultdict(float), defaultdict(float), 0.0, table
        for source, target in pairs:
            for f in target:
                mass = sum(table[e, f] for e in [NULL, *source])
                likelihood += log(mass / (len(source) + 1))
                for e in [NULL, *source]:
                    counts[e, f] += table[e, f] / mass
                    totals[e] += table[e, f] / mass
        likelihoods.append(likelihood)
        table = {
            (e, f): (counts[e, f] + smoothing) / (totals[e] + smoothing * types) for e, f in counts
        }
    return counts, totals, before, likelihoods


def entries_of(association, source, target):
    """The entries of all pairs of two lists of words; NULL stands for itself."""
    columns = np.empty((len(source), len(target)), dtype=int)
    for j, e in enumerate(source):
        row = len(association.source_words) + 1 if e is NULL else ids(association, [e], [])[0][0]
        for k, f in enumerate(target):
            column = (
                len(association.target_words) + 1 if f is NULL else ids(association, [], [f])[1][0]
            )
            start, end = association.row_starts[row : row + 2]
            place = np.searchsorted(association.targets[start:end], column)
            assert association.targets[start + place] == column
            columns[j, k] = start + place
    return columns


@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_model1_is_that_of_dictionaries_in_both_directions(iterations):
    pairs = random_pairs(iterations, 12)
    association = train_association(
        hash_bitext(pairs), AssociationSettings(model1_iterations=iterations, **EVERYTHING)
    )
    for column, totals_of, swapped in ((0, "source_totals", False), (2, "target_totals", True)):
        turned = [pair[::-1] for pair in pairs] if swapped else pairs
        counts, totals, before, _ = naive_model1(turned, iterations, 0.05)
        for e, f in counts:
            entry = entries_of(association, [f] if swapped else [e], [e] if swapped else [f])
            values = association.link_counts[entry, column], association.tables[entry, column]
            np.testing.assert_allclose(values[0], counts[e, f], rtol=1e-5)
            np.testing.assert_allclose(values[1], before[e, f], rtol=1e-5)
        for e in totals:
            if e is not NULL:
                word = ids(association, [e], [e])[swapped][0]
                assert getattr(association, totals_of)[word, 1] == pytest.approx(totals[e])
        assert getattr(association, totals_of)[-1, 1] == pytest.approx(totals[NULL])


@pytest.mark.parametrize("is_backward", [False, True])
def test_each_iteration_of_em_increases_the_likelihood(is_backward):
    bitext = hash_bitext(random_pairs(3, 20))
    words = [np.unique(side, return_inverse=True) for side in (bitext[0], bitext[2])]
    table, links = models._tabulate(
        bitext, (words[0][1], words[1][1]), (len(words[0][0]) + 1, len(words[1][0]) + 1)
    )
    generating = table.targets if is_backward else table.sources
    no_jumps, jumps = np.empty(0), np.array([0.1, 0.3, 0.6])
    probabilities = np.full(len(table.targets), 0.1)
    for widths in (no_jumps, jumps):
        likelihoods = []
        for _ in range(8):
            counts = np.zeros(len(probabilities))
            moves = np.zeros(len(widths))
            likelihoods.append(
                add_expected_counts(links, is_backward, probabilities, widths, 0.2, counts, moves)
            )
            tokens = len(bitext.source_words if is_backward else bitext.target_words)
            assert counts.sum() == pytest.approx(tokens)
            probabilities = models._normalized(counts, generating, 9, 1e-12)
        assert np.all(np.diff(likelihoods) > 0)
        assert moves.sum() < tokens


def test_dice_counts_pairs_by_hand():
    pairs = [
        (["a", "a"], ["x", "y"]),
        (["a", "b"], ["x", "x"]),
        (["b"], ["y"]),
    ]
    association = train_association(hash_bitext(pairs), AssociationSettings(**EVERYTHING))
    entries = entries_of(association, ["a", "b"], ["x", "y"])
    assert association.pair_counts[entries].tolist() == [[2, 1], [1, 1]]
    source, target = ids(association, ["a", "b"], ["x", "y"])
    assert association.source_totals[source, 0].tolist() == [2, 2]
    assert association.target_totals[target, 0].tolist() == [2, 2]


def test_words_beyond_the_most_frequent_are_one_unknown_word():
    pairs = [(["a", "a", "b"], ["x", "x", "x"]), (["c", "a"], ["x", "y"])]
    association = train_association(
        hash_bitext(pairs), AssociationSettings(max_words=1, **EVERYTHING)
    )
    assert len(association.source_words) == len(association.target_words) == 1
    source, target = ids(association, ["a", "b", "c"], ["x", "y"])
    assert (source.tolist(), target.tolist()) == ([0, 1, 1], [0, 1])
    assert association.pair_counts[entries_of(association, ["a", "b"], ["x", "y"])].tolist() == [
        [2, 1],
        [2, 1],
    ]
    read_association(arrays_of(association))


def test_weak_pairs_are_dropped_but_never_null():
    bitext = hash_bitext(random_pairs(5, 30))
    whole = train_association(bitext, AssociationSettings(**EVERYTHING))
    rows = np.repeat(np.arange(len(whole.row_starts) - 1), np.diff(whole.row_starts))
    nulls = int(np.sum((rows == 9) | (whole.targets == 9)))
    assert nulls == 9 + 9
    few = train_association(bitext, AssociationSettings(max_pairs=7, **EVERYTHING))
    assert len(few.targets) == nulls + 7
    strong = train_association(bitext, AssociationSettings(threshold=0.4, smoothing=0.05))
    read_association(arrays_of(strong))
    totals = np.concatenate(
        [whole.source_totals[rows, 1:], whole.target_totals[whole.targets, 1:]], 1
    )
    shares = (whole.link_counts / np.maximum(totals, 1e-9)).max(axis=1)
    dice = (
        2
        * whole.pair_counts
        / np.maximum(whole.source_totals[rows, 0] + whole.target_totals[whole.targets, 0], 1)
    )
    kept = (np.maximum(shares, dice) >= 0.4) | (rows == 9) | (whole.targets == 9)
    strength = np.where((rows == 9) | (whole.targets == 9), 9.0, np.maximum(shares, dice))
    strongest = np.sort(np.argsort(-strength, kind="stable")[: nulls + 7])
    np.testing.assert_array_equal(few.link_counts, whole.link_counts[strongest])
    assert nulls < len(strong.targets) < len(whole.targets)
    np.testing.assert_array_equal(strong.targets, whole.targets[kept])
    np.testing.assert_array_equal(strong.link_counts, whole.link_counts[kept])
    np.testing.assert_array_equal(strong.source_totals, whole.source_totals)


def test_the_same_bitext_makes_the_same_bytes():
    first, second = (train_association(hash_bitext(random_pairs(1, 9))) for _ in range(2))
    assert [array.tobytes() for array in first] == [array.tobytes() for array in second]


def test_progress_is_reported_after_each_iteration():
    steps = []
    train_association(
        hash_bitext(random_pairs(1, 3)),
        AssociationSettings(model1_iterations=2, hmm_iterations=1),
        lambda step, total: steps.append((step, total)),
    )
    assert steps == [(step, 6) for step in range(1, 7)]


def test_the_hmm_learns_the_widths_of_jumps():
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(60):
        words = rng.integers(0, 9, 6)
        pairs.append(([f"e{w}" for w in words], [f"f{w}" for w in words[::-1]]))
    association = train_association(hash_bitext(pairs))
    widest = association.jumps.shape[2] // 2
    assert np.argmax(association.jumps[:, 1], axis=1).tolist() == [widest - 1, widest - 1]
    np.testing.assert_allclose(association.jumps.sum(axis=2), 1.0)


@pytest.mark.parametrize("pairs", [[], [([], ["x"])], [(["a"] * 101, ["x"])]])
def test_a_bitext_without_a_usable_pair_is_refused(pairs):
    with pytest.raises(ValueError, match="no pair of sentences that both have 1 to 100 words"):
        train_association(hash_bitext(pairs))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model1_iterations", 0),
        ("hmm_iterations", 0),
        ("max_words", 0),
        ("max_length", 0),
        ("threshold", -0.1),
        ("threshold", float("nan")),
        ("max_pairs", -1),
        ("max_known", -1),
        ("smoothing", 0.0),
        ("smoothing", 1e4),
        ("null_probability", 0.0),
        ("null_probability", 1.0),
    ],
)
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} is "):
        AssociationSettings(**{name: value})
