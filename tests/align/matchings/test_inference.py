"""Links of models with given weights, beside those that are kept, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matching_tables import Tables, allowed_matchings, falling, scores_of
from planted_pairs import VOCAB, model_of
from tree_tables import checked

from spacy_ssvm.align.matchings.decoder import best_matching
from spacy_ssvm.align.matchings.inference import keep_links
from spacy_ssvm.align.matchings.training import LinkExtractor
from spacy_ssvm.align.text_pairs import make_pair
from spacy_ssvm.weights.key_table import key_table, keys_of

pytestmark = pytest.mark.uncompiled


def random_model(seed, fertilities):
    """A model with a weight for each feature of some pairs."""
    random = np.random.default_rng(seed)
    texts = "source.lower+target.lower", "distance", "position", "string_similarity"
    model = model_of(*texts, fertilities=fertilities)
    words = [["a", "bb", "c"], ["a", "b", "cc"]], [["c"], ["bb", "a"]], [[], ["a"]]
    pairs = model.reader.read([make_pair(VOCAB, *sides) for sides in words])
    extractor = LinkExtractor(model.compiled)
    extractor._features(pairs, 0, 3)
    index = extractor.index
    weights = random.normal(size=index.number_of_rows).astype(np.float32)
    penalties = np.abs(random.normal(size=sum(fertilities) - 2))
    model.set_weights(key_table(index.row_keys), index.row_templates, weights, penalties, None)
    return model, pairs


@checked
@given(
    st.integers(0, 1000),
    st.tuples(st.integers(1, 3), st.integers(1, 2)),
    st.lists(st.booleans(), min_size=11, max_size=11),
)
def test_the_best_links_beside_those_that_are_kept(seed, fertilities, kept):
    model, pairs = random_model(seed, fertilities)
    kept = np.array(kept) & (np.random.default_rng(seed).random(11) < 0.4)
    found = model.align(pairs, kept)
    np.testing.assert_array_equal(found | kept, found)
    for i in range(2):
        first, last = pairs.link_starts[i : i + 2]
        shape = pairs.shapes[i]
        fixed, links = kept[first:last].reshape(shape), found[first:last].reshape(shape)
        tables = Tables(model.link_scores(pairs, i), *model.steps(*shape))
        f, g = fertilities
        if fixed.sum(axis=1).max() > f or fixed.sum(axis=0).max() > g:
            continue
        everything, scores = allowed_matchings(tables)
        best = scores[np.all(everything | ~fixed, axis=(1, 2))].max()
        assert scores_of(tables, links) == pytest.approx(best, abs=1e-9)


def test_words_with_more_kept_links_than_they_may_have_get_no_more():
    scores = np.ones((2, 3))
    steps = np.zeros((2, 1)), np.zeros((3, 1))
    kept = np.array([[True, True, False], [False, False, False]])
    keep_links(kept, scores, *steps)
    links = np.zeros((2, 3), dtype=bool)
    assert best_matching(scores, *steps, links) == 1.0
    assert links.tolist() == [[False] * 3, [False, False, True]]


def test_a_word_with_a_kept_link_pays_for_the_next_ones():
    scores = np.full((1, 3), 1.0)
    steps = falling(np.array([[0.0, -0.5, -9.0]])), np.zeros((3, 1))
    kept = np.array([[False, True, False]])
    keep_links(kept, scores, *steps)
    assert steps[0].tolist() == [[-0.5, -9.0, -np.inf]]
    assert steps[1].tolist() == [[0.0], [-np.inf], [0.0]]
    assert scores.tolist() == [[1.0, -np.inf, 1.0]]


def test_scores_are_sums_of_weights_times_values():
    model, pairs = random_model(3, (1, 1))
    extractor = LinkExtractor(model.compiled)
    extractor.index.load(keys_of(model.table), model.row_templates)
    starts, rows, values = extractor._features(pairs, 0, 3)
    for i in range(2):
        first, last = pairs.link_starts[i : i + 2].tolist()
        links = [slice(*starts[link : link + 2]) for link in range(first, last)]
        expected = [model.weights[rows[link]] @ values[link] for link in links]
        np.testing.assert_allclose(model.link_scores(pairs, i).ravel(), expected, rtol=1e-5)
    assert model.link_scores(pairs, 2).shape == (0, 1)


def test_margins_are_differences_of_the_best_scores():
    for seed in range(10):
        model, pairs = random_model(seed, (2, 2))
        margins = model.margins(pairs, 0)
        tables = Tables(model.link_scores(pairs, 0), *model.steps(3, 3))
        everything, scores = allowed_matchings(tables)
        values = scores[:, None, None]
        expected = np.where(everything, values, -np.inf).max(axis=0)
        expected -= np.where(everything, -np.inf, values).max(axis=0)
        np.testing.assert_allclose(margins, expected, atol=1e-9)
        assert model.margins(pairs, 2).shape == (0, 1)
