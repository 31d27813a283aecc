"""The kernels that know weights and features, against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN
from small_cuts import Cuts, cuts

from spacy_ssvm.sentences.cuts.decoder import labeling_score
from spacy_ssvm.sentences.cuts.scores import edge_penalties, labeling_difference, node_scores

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=30 if PLAIN else 200)

whole = st.integers(-3, 3).map(float)


@checked
@given(st.data(), cuts())
def test_scores_are_those_of_feature_vectors(data, drawn):
    examples = drawn.problem().examples()
    w = data.draw(arrays(float, drawn.size, elements=whole))
    w[: drawn.E] = abs(w[: drawn.E])
    for i, gold in enumerate(drawn.gold):
        scores, penalties = (
            np.full((len(gold), drawn.K), np.nan),
            np.full(len(drawn.edges[i]), -1.0),
        )
        node_scores(examples, i, w, scores)
        edge_penalties(examples, i, w, penalties)
        edges = np.array(drawn.edges[i], dtype=np.int64).reshape(-1, 2)
        for y in drawn.labelings(i):
            score = labeling_score(scores, edges, penalties, np.array(y, dtype=np.int64))
            assert score == w @ drawn.vector(i, y)


def test_a_negative_weight_of_an_edge_feature_counts_as_0():
    one = Cuts(2, 2, 1, [[[], []]], [[(0, 1)]], [[[4.0, 3.0]]], [[0, 0]])
    penalties = np.full(1, np.nan)
    edge_penalties(one.problem().examples(), 0, np.array([-1.0, 2, 0, 0]), penalties)
    assert penalties.tolist() == [6]


@checked
@given(cuts(examples=2))
def test_differences_are_those_of_feature_vectors(drawn):
    problem = drawn.problem()
    room = problem.max_entries
    for i, gold in enumerate(drawn.gold):
        for y in drawn.labelings(i):
            indices, values = np.full(room, -7, np.int32), np.full(room, np.nan, np.float32)
            labels = np.array(y, dtype=np.int64)
            size = labeling_difference(problem.examples(), i, labels, indices, values)
            assert len(set(indices[:size].tolist())) == size <= room
            assert values[:size].all()
            phi = np.zeros(drawn.size)
            phi[indices[:size]] = values[:size]
            np.testing.assert_array_equal(phi, drawn.vector(i, gold) - drawn.vector(i, y))
