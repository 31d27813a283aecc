"""Tests of ``spacy_ssvm/decoders/grandparent_marginals.py``."""

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import compiled_only
from tree_tables import (
    checked,
    few_arcs,
    not_numbers,
    part_table,
    probabilities_of_parts,
    score_of_parts,
    triple_tables,
    whole,
    with_infinities,
)

from spacy_ssvm.decoders.grandparent_marginals import (
    grandparent_marginals,
    grandparent_max_marginals,
)
from spacy_ssvm.decoders.grandparents import eisner_grandparents
from spacy_ssvm.decoders.parts import number_parts, scaled_parts
from spacy_ssvm.decoders.sibling_marginals import sibling_marginals

pytestmark = pytest.mark.uncompiled

numbers = st.one_of(st.floats(-20, 20), whole, st.just(-np.inf))


@checked
@given(triple_tables(few_arcs, with_infinities))
def test_max_marginals_are_the_best_scores_of_trees_with_each_arc(drawn):
    parts = part_table(*drawn)
    found = scaled_parts(parts, np.nan)
    best = grandparent_max_marginals(parts, found)
    expected = np.full(parts.arcs.shape, -np.inf)
    for heads in brute.trees(len(parts.arcs) - 1, True):
        score = score_of_parts(*drawn, heads)
        for m in range(1, len(heads)):
            expected[heads[m], m] = max(expected[heads[m], m], score)
    np.testing.assert_array_equal(found.arcs, expected)
    assert best == (0.0 if len(expected) == 1 else expected[0].max())


@checked
@given(triple_tables(numbers, numbers))
def test_marginals_are_the_probabilities_of_parts(drawn):
    parts = part_table(*drawn)
    log_partition, expected = probabilities_of_parts(*drawn, projective=True)
    found = scaled_parts(parts, np.nan)
    total = grandparent_marginals(parts, found)
    assert total == pytest.approx(log_partition, abs=1e-9)
    if log_partition > -np.inf:
        for name in ("arcs", "pairs", "grandparents"):
            values = getattr(found, name), getattr(expected, name)
            np.testing.assert_allclose(*values, atol=1e-9, err_msg=name)


@checked
@given(triple_tables(not_numbers, not_numbers))
def test_what_is_not_a_number_stays_in_its_tables(drawn):
    parts = part_table(*drawn)
    parts.starts[parts.starts < 0] = 2**40
    parts.triple_starts[parts.triple_starts < 0] = 2**40
    with np.errstate(invalid="ignore"):
        for marginals in (grandparent_max_marginals, grandparent_marginals):
            marginals(parts, scaled_parts(parts, 1.0))


@compiled_only
def test_marginals_of_a_long_sentence():
    random = np.random.default_rng(2)
    scores = random.normal(size=(61, 61)) * 30
    scores[random.random(scores.shape) < 0.5] = -np.inf
    parts = number_parts(scores, True, True)
    parts.pairs[:] = random.normal(size=len(parts.pairs)) * 30
    found, of_pairs = scaled_parts(parts, np.nan), np.empty(len(parts.pairs))
    total, second_order = grandparent_marginals(parts, found), np.empty(scores.shape)
    expected = sibling_marginals(scores, parts.starts, parts.pairs, second_order, of_pairs)
    assert total == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found.arcs, second_order, atol=1e-9)
    np.testing.assert_allclose(found.pairs, of_pairs, atol=1e-9)
    parts.grandparents[:] = random.normal(size=len(parts.grandparents)) * 30
    total = grandparent_marginals(parts, found)
    assert total >= eisner_grandparents(parts, np.empty(61, dtype=np.int64))
    np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1.0)
    assert found.arcs[0].sum() == pytest.approx(1.0)
    assert found.pairs.sum() == pytest.approx(60)
    assert found.grandparents.sum() == pytest.approx(59)
