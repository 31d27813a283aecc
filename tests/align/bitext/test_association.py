"""Associations as saved arrays, damaged in each way, and the pairs they know."""

import numpy as np
import pytest
from small_bitexts import hash_bitext

from spacy_ssvm.align.bitext.association import (
    ARRAYS,
    arrays_of,
    is_known,
    read_association,
    source_ids,
    target_ids,
)
from spacy_ssvm.align.bitext.models import AssociationSettings, train_association

pytestmark = pytest.mark.uncompiled

PAIRS = [
    (["a", "b"], ["x", "y"]),
    (["b"], ["y"]),
    (["c", "a", "c"], ["x", "z"]),
    (["b", "a"], ["x"]),
]
WORDS = {word: number for number, word in enumerate("abcxyz", start=1)}


@pytest.fixture(scope="module")
def association():
    return train_association(hash_bitext(PAIRS, WORDS.get))


def test_saved_arrays_are_read_as_they_were(association):
    arrays = arrays_of(association)
    assert {name: array.dtype.type for name, array in arrays.items()} == ARRAYS
    for before, after in zip(association, read_association({**arrays, "other": 1}), strict=True):
        np.testing.assert_array_equal(before, after)


def swapped(array):
    array[[0, 1]] = array[[1, 0]]
    return array


def with_value(value, place=0):
    def change(array):
        array.reshape(-1)[place] = value
        return array

    return change


DAMAGE = [
    ("source_words", swapped, "source words of associations are not sorted"),
    ("source_words", lambda a: a[[0, 0, 1]], "source words of associations are not sorted"),
    ("target_words", swapped, "target words of associations are not sorted"),
    ("target_words", lambda a: a[:, None], "target words of associations are not sorted"),
    ("known", swapped, "known pairs of associations are not sorted"),
    ("source_words", lambda a: a[:-1], "do not fit the source words"),
    ("row_starts", lambda a: a[:-1], "do not fit the source words"),
    ("row_starts", with_value(1), "do not fit the source words"),
    ("row_starts", with_value(99, -1), "do not fit the source words"),
    ("row_starts", with_value(-1, 1), "do not fit the source words"),
    ("row_starts", with_value(99, 2), "do not fit the source words"),
    ("targets", lambda a: a[:-1], "do not fit the source words"),
    ("targets", lambda a: a[:, None], "do not fit the source words"),
    ("targets", with_value(-1), "belongs to no target word"),
    ("targets", with_value(5, -1), "belongs to no target word"),
    ("targets", swapped, "rows of associations are not sorted"),
    ("target_words", lambda a: a[:-2], "belongs to no target word"),
    ("target_words", lambda a: np.append(a, a[-1:] + np.uint64(1)), "target totals"),
    ("pair_counts", lambda a: a[:-1], "pair counts of associations have the shape"),
    ("pair_counts", with_value(np.nan), "pair counts of associations are not finite"),
    ("link_counts", lambda a: a[:, :3], "link counts of associations have the shape"),
    ("link_counts", with_value(np.inf), "link counts of associations are not finite"),
    ("link_counts", with_value(-1), "link counts of associations are not finite"),
    ("tables", lambda a: a[:-1], "tables of associations have the shape"),
    ("tables", with_value(np.nan, -1), "tables of associations are not finite"),
    ("source_totals", lambda a: a[:-1], "source totals of associations have the shape"),
    ("source_totals", with_value(-np.inf), "source totals of associations are not finite"),
    ("target_totals", lambda a: a[:, :2], "target totals of associations have the shape"),
    ("target_totals", with_value(np.nan), "target totals of associations are not finite"),
    ("jumps", lambda a: a[0], "jumps of associations do not fit"),
    ("jumps", lambda a: a[:1], "jumps of associations do not fit"),
    ("jumps", lambda a: a[:, :, 1:], "jumps of associations do not fit"),
    ("jumps", with_value(0.0), "not positive probabilities"),
    ("jumps", with_value(np.nan), "not positive probabilities"),
    ("jumps", with_value(1.5), "not positive probabilities"),
    ("parameters", lambda a: a[:1], "parameters of associations are out of range"),
    ("parameters", with_value(0.0), "parameters of associations are out of range"),
    ("parameters", with_value(np.inf), "parameters of associations are out of range"),
    ("parameters", with_value(1.0, 1), "parameters of associations are out of range"),
    ("parameters", with_value(np.nan, 1), "parameters of associations are out of range"),
]


@pytest.mark.parametrize(("name", "damage", "message"), DAMAGE)
def test_damaged_arrays_are_refused(association, name, damage, message):
    arrays = {name: array.copy() for name, array in arrays_of(association).items()}
    arrays[f"association_{name}"] = damage(arrays[f"association_{name}"])
    with pytest.raises(ValueError, match=message):
        read_association(arrays)


def ids(association, source, target):
    words = [np.array([WORDS[word] for word in side], dtype=np.uint64) for side in (source, target)]
    return source_ids(association, words[0]), target_ids(association, words[1])


def test_the_pairs_of_the_bitext_are_known(association):
    for pair in PAIRS:
        assert is_known(association, *ids(association, *pair))
    for source, target in [
        ("aab", "xy"),  # the word with the id 0 once more
        ("a", "yxy"),  # the ids of the first pair, divided elsewhere
        ("ba", "xy"),
        ("ab", "yx"),
        ("b", "x"),
        ("", ""),
        ("ab", "x"),
        ("zb", "y"),
    ]:
        assert not is_known(association, *ids(association, source, target))


def test_only_the_first_pairs_are_known_where_they_are_too_many():
    few = train_association(hash_bitext(PAIRS, WORDS.get), AssociationSettings(max_known=2))
    assert [is_known(few, *ids(few, *pair)) for pair in PAIRS] == [True, True, False, False]
    none = train_association(hash_bitext(PAIRS, WORDS.get), AssociationSettings(max_known=0))
    assert not is_known(none, *ids(none, *PAIRS[0]))
