"""What decides the label of a node."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import PLAIN

from spacy_ssvm.sentences.cuts.decoder import labeling_score
from spacy_ssvm.sentences.cuts.explanation import contrast_labels

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=20 if PLAIN else 100)

NAMES = ["near", "alike"]
EDGES = np.array([[0, 1], [1, 2], [0, 2], [3, 2]])
FEATURES = np.array([[1.0, 0.5], [1.0, 0.0], [0.0, 0.25], [1.0, 1.0]])


@checked
@given(st.integers(0, 2**32), st.integers(0, 3), st.sampled_from([2, 3]))
def test_the_margin_is_the_sum_of_the_differences(seed: int, t: int, K: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-4, 5, (4, K)).astype(float)
    weights = random.integers(0, 5, 2).astype(float)
    labels = [f"label {k}" for k in range(K)]
    found = contrast_labels(scores, EDGES, FEATURES, weights, t, labels, NAMES, "it")
    a, b = found.labels
    assert found.names == (labels[a], labels[b])
    own = scores[t, a] - scores[t, b]
    rest = found.elsewhere[0] - found.elsewhere[1]
    around = sum(reason.difference for reason in found.around)
    assert own + around + rest == pytest.approx(found.margin)
    for k in {*range(K)} - {a}:
        arrays = scores, EDGES, FEATURES, weights, t, labels, NAMES, "it"
        assert contrast_labels(*arrays, against=f"label {k}").labels == (a, k)
    if K == 2:
        penalties = FEATURES @ weights
        every = [np.array(y) for y in product(range(K), repeat=4)]
        best = [
            max(labeling_score(scores, EDGES, penalties, y) for y in every if y[t] == k)
            for k in (a, b)
        ]
        assert found.margin == best[0] - best[1] >= 0


def test_what_edges_add() -> None:
    scores = np.array([[9.0, 0], [0, 0], [0, 9], [0, 0]])
    weights = np.array([2.0, 4.0])
    found = contrast_labels(scores, EDGES, FEATURES, weights, 1, ["a", "b"], NAMES, "it")
    assert found.names == ("a", "b")
    near, alike = found.around
    assert (near.template, near.value, near.weight, near.runner_up_weight) == (
        "near",
        "2 edges",
        -2.0,
        -2.0,
    )
    assert (alike.template, alike.value, alike.weight, alike.runner_up_weight) == (
        "alike",
        "1 edges",
        0.0,
        -2.0,
    )
    assert found.margin == 2.0


def test_a_single_label_has_no_runner_up() -> None:
    arrays = EDGES, FEATURES, np.zeros(2), 1
    with pytest.raises(ValueError, match="it can only have the label 'a'"):
        contrast_labels(np.zeros((4, 1)), *arrays, ["a"], NAMES, "it")
    scores = np.array([[0.0, 0], [-np.inf, 0], [0, 0], [0, 0]])
    with pytest.raises(ValueError, match="it can only have the label 'b'"):
        contrast_labels(scores, *arrays, ["a", "b"], NAMES, "it")
    with pytest.raises(ValueError, match="it cannot have the label 'a'"):
        contrast_labels(scores, *arrays, ["a", "b"], NAMES, "it", against="a")
    with pytest.raises(ValueError, match="it has the label 'b': give another one"):
        contrast_labels(scores, *arrays, ["a", "b"], NAMES, "it", against="b")
