"""Tests of ``spacy_ssvm/trees/probabilities.py``."""

from itertools import pairwise
from typing import Any

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import PARSER, copy_of
from probable_structures import ASCENT, doc_of
from spacy.language import Language
from spacy.tokens import Doc
from tree_tables import score_of
from written_trees import Trees, checked, has, kinds, seeds, sentences, whole_weights

from spacy_ssvm.trees.probabilities import arc_probabilities, least_risk_trees
from spacy_ssvm.trees.pruner import score_arcs


def crf_parser(**config: Any) -> tuple[Language, Any]:
    nlp = PARSER.trained(epochs=3, solver=ASCENT, **{"order": 1, **config})
    return nlp, nlp.get_pipe("ssvm_parser")


def head_sums(scores: np.ndarray, *, projective: bool, kept: dict[int, int]) -> np.ndarray:
    """P(head | dependent): [n, n], the diagonal for roots; kept: words and their heads."""
    n = len(scores) - 1
    heads = brute.trees(n, projective)
    totals = brute.tree_scores(scores, projective)
    for word, head in kept.items():
        totals = np.where(heads[:, word] == head, totals, -np.inf)
    probabilities = np.exp(totals - np.logaddexp.reduce(totals))
    sums = np.zeros((n, n))
    for tree, probability in zip(heads, probabilities, strict=True):
        for m in range(1, n + 1):
            sums[m - 1, tree[m] - 1 if tree[m] else m - 1] += probability
    return sums


def arc_table(pipe: Any, doc: Doc, sentence: int) -> np.ndarray:
    nodes = pipe.model.nodes([doc])
    start, end = nodes.starts[sentence : sentence + 2]
    model = pipe.model
    free = np.full(end - start - 1, -1)
    return model.beta * score_arcs(model.scorer, nodes.attributes, start, end, free)


@pytest.mark.parametrize(
    ("projective", "pruning"),
    [
        (True, None),
        (True, 1.0),
        (False, None),
        pytest.param(False, 1.0, marks=pytest.mark.uncompiled),
    ],
)
def test_probabilities_of_heads_against_enumeration(projective: bool, pruning: Any) -> None:
    nlp, parser = crf_parser(projective=projective, pruning=pruning)
    words = ["The", "old", "\n", "dog", "barks", "He", "boxes", "unseen", "others"]
    doc = doc_of(nlp, words, starts=[0, 5])
    found = parser.marginals(doc)
    assert found.shape == (9, 9)
    for sentence, places in enumerate([[0, 1, 3, 4], [5, 6, 7, 8]]):
        expected = head_sums(arc_table(parser, doc, sentence), projective=projective, kept={})
        np.testing.assert_allclose(found[np.ix_(places, places)], expected, atol=1e-9)
    assert found.sum() == pytest.approx(8)
    assert not found[2].any()
    scores = parser.scores(doc)
    parsed = nlp(doc.copy())
    for token in parsed:
        expected_score = 0.0 if token.is_space else found[token.i, token.head.i]
        assert scores[token.i] == pytest.approx(expected_score)
    np.testing.assert_allclose(copy_of(nlp).get_pipe("ssvm_parser").marginals(doc), found)


@pytest.mark.parametrize("projective", [True, False])
def test_arcs_that_are_there_are_certain(projective: bool) -> None:
    nlp, parser = crf_parser(projective=projective, pruning=None)
    doc = doc_of(nlp, ["The", "unseen", "dog", "barks"], starts=[0])
    free = parser.marginals(doc)
    doc[0].head = doc[1]
    doc[0].dep_ = "det"
    scores = arc_table(parser, doc, 0)
    expected = head_sums(scores, projective=projective, kept={1: 2})
    np.testing.assert_allclose(parser.marginals(doc), expected, atol=1e-9)
    np.testing.assert_allclose(parser.marginals(doc, overwrite=True), free)
    crossing = doc_of(nlp, ["The", "unseen", "dog", "barks"], starts=[0])
    for word, head in ((0, 2), (1, 3)):
        crossing[word].head = crossing[head]
        crossing[word].dep_ = "dep"
    expected = head_sums(scores, projective=False, kept={1: 3, 2: 4})
    np.testing.assert_allclose(parser.marginals(crossing), expected, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_sentences_in_pieces_have_the_probabilities_of_the_pieces(order: int) -> None:
    nlp, parser = crf_parser(max_length=3, order=order)
    words = ["The", "old", "dog", "he", "boxes"]
    whole = parser.marginals(doc_of(nlp, words, starts=[0]))
    first, second = (
        parser.marginals(doc_of(nlp, part, starts=[0])) for part in (words[:3], words[3:])
    )
    np.testing.assert_allclose(whole[:3, :3], first)
    np.testing.assert_allclose(whole[:3, 3:], 0)
    off = 1 - np.eye(2)
    np.testing.assert_allclose(whole[3:, 3:], second * off)
    np.testing.assert_allclose(whole[3:, :3], np.outer(second.diagonal(), first.diagonal()))
    np.testing.assert_allclose(whole.sum(axis=1), 1)
    doc = nlp(doc_of(nlp, words, starts=[0]))
    heads = [token.head.i for token in doc]
    expected = parser.marginals(doc, overwrite=True)[np.arange(5), heads]
    np.testing.assert_allclose(parser.scores(doc), expected)


@pytest.mark.parametrize("projective", [True, False])
def test_scores_of_second_order_are_probabilities_of_the_best_tree(projective: bool) -> None:
    nlp, parser = crf_parser(order=2, projective=projective)
    for words in (["The", "old", "dog", "barks"], ["He", "boxes", "unseen", "others", "."]):
        doc = nlp(doc_of(nlp, words, starts=[0]))
        found = parser.marginals(doc, overwrite=True)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        heads = [token.head.i for token in doc]
        np.testing.assert_allclose(parser.scores(doc), found[np.arange(len(doc)), heads])


def test_documents_without_words() -> None:
    nlp, parser = crf_parser()
    assert parser.marginals(Doc(nlp.vocab)).shape == (0, 0)
    assert not parser.marginals(nlp.make_doc(" \n")).any()
    single = doc_of(nlp, ["Dogs"], starts=[0])
    assert parser.marginals(single).tolist() == [[1.0]]
    assert parser.scores(single).tolist() == [1.0]


def probabilities_of(trees, w, given, max_length, nodes):
    found = np.full((len(given), len(given)), np.nan)
    arc_probabilities(trees.scorer(w), nodes, np.array(given), max_length, 0.5, found)
    return found


@pytest.mark.uncompiled
@checked
@given(kinds, sentences(partial=True), seeds)
def test_probabilities_of_arcs_are_sums_over_all_trees_with_the_given_heads(kind, sentence, seed):
    nodes, given_heads = sentence
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    every = trees.trees(0)
    kept = np.array([y for y in every.tolist() if has(y, given_heads)])
    weights = np.exp([0.5 * trees.score(0, y, w) for y in kept])
    expected = np.zeros((len(given_heads), len(given_heads)))
    for y, weight in zip(kept, weights / weights.sum(), strict=True):
        expected[y[1:], np.arange(1, len(y))] += weight
    found = probabilities_of(trees, w, given_heads, 100, nodes)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.uncompiled
@checked
@given(kinds, sentences(shortest=3), seeds)
def test_pieces_of_long_sentences_hang_on_the_root_of_the_first(kind, sentence, seed):
    nodes, gold = sentence
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    n, free = len(gold) - 1, np.full(len(gold), -1)
    found = probabilities_of(trees, w, free, 2, nodes)
    expected = np.zeros((n + 1, n + 1))
    for first in range(1, n + 1, 2):
        last = min(first + 2, n + 1)
        piece = np.vstack([nodes[:1], nodes[first:last], nodes[-1:]])
        alone = probabilities_of(trees, w, free[: last - first + 1], 2, piece)
        expected[first:last, first:last] = alone[1:, 1:]
        if first == 1:
            root = expected[0, 1:3] = alone[0, 1:]
        else:
            expected[1:3, first:last] = np.outer(root, alone[0, 1:])
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.uncompiled
@checked
@given(
    st.lists(sentences(partial=True), min_size=1, max_size=3),
    seeds,
    st.sampled_from([np.inf, 1.0]),
)
def test_trees_of_least_risk_have_the_most_expected_heads(drawn, seed, threshold):
    """Of the trees all of whose arcs the pruner leaves."""
    trees, w = Trees("second crossing", drawn, whole_weights(2), threshold), whole_weights(seed)
    nodes, starts, fixed = trees.arrays()
    heads = np.full(len(nodes), 99, dtype=np.int64)
    least_risk_trees(trees.scorer(w), 0.5, nodes, starts, fixed, heads)
    for i, (start, end) in enumerate(pairwise(starts.tolist())):
        given_heads, found = fixed[start : end - 1], heads[start : end - 1]
        allowed = trees.allowed(i)
        words = np.arange(1, len(found))
        allowed[given_heads[words], words] |= given_heads[words] >= 0
        possible = [y for y in brute.trees(len(words)).tolist() if has(y, given_heads)]
        if any(allowed[y[1:], words].all() for y in possible):
            assert has(found, given_heads)
        probabilities = probabilities_of(trees, w, given_heads, 99, trees.nodes[i])
        expected = brute.tree_scores(np.where(probabilities > 0, probabilities, -np.inf))
        assert score_of(probabilities, found) == pytest.approx(expected.max())
        assert (probabilities[found[1:], words] > 0).all()
        assert heads[end - 1] == -1
