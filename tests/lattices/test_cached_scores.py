"""Tests of ``spacy_ssvm/lattices/cached_scores.py``."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_lattices import VIEWS, by_word, doc_of, docs, naive_emissions, train, trained_model

from spacy_ssvm.features.attributes import TokenTable
from spacy_ssvm.lattices import cached_scores
from spacy_ssvm.lattices import model as models
from spacy_ssvm.lattices.labels import WHOLE
from spacy_ssvm.lattices.model import Annotation, LatticeModel

pytestmark = pytest.mark.uncompiled

WORDS = ["the", "walk", "walks", "fish", "swims", "she", "zebra", "Walks", "ends", "s", "1"]
TEMPLATES = ["lower[0]", "suffix1[0]+lower[0]", "suffix1[0]", "lower[-1]", "lower[0]+lower[1]"]


@pytest.fixture(scope="module", params=["restricted", "free", "whole"])
def model(request: pytest.FixtureRequest) -> Any:
    """A model that caches scores of candidates, whatever the number of its parts."""
    settings: dict[str, Any] = {"free": {"restricted": False}, "whole": {"scheme": WHOLE}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "_MOST_CACHED", 0)
        found = trained_model(texts=TEMPLATES, **settings.get(request.param, {}))
        assert found._for_words().scores is not None
    return found


def read(model: LatticeModel, *sentences: list[str]) -> TokenTable:
    return model.reader.read([doc_of(words) for words in sentences])


def check_scores(model: LatticeModel, tokens: TokenTable, *, fits: bool = True) -> None:
    """Compare the scores of all candidates with sums of their weights."""
    candidates = model.candidates_to_choose(tokens, None)
    scorer = model.scorer(tokens, candidates)
    assert (len(scorer.own.starts) == len(tokens.attributes)) == fits
    naive, t = naive_emissions(model, tokens), 0
    for s in range(len(tokens.sentence_starts) - 1):
        own, scores = model.sentence(tokens, s)
        for first, end in zip(own.starts[:-1], own.starts[1:], strict=True):
            names = [model.labels[k] for k in own.labels[first:end]]
            expected = [naive[t][name] for name in names] if len(names) > 1 else [0.0]
            np.testing.assert_allclose(scores[first:end], expected, atol=1e-6)
            t += 1


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1), min_size=1, max_size=4))
def test_scores_are_sums_of_the_weights_of_the_features(
    model: LatticeModel, sentences: list[list[str]]
) -> None:
    check_scores(model, read(model, *sentences))


def test_templates_of_the_word_alone_are_cached(model: LatticeModel) -> None:
    tokens = read(model, WORDS)
    assert (
        len(model.scorer(tokens, model.candidates_to_choose(tokens, None)).features[0].seeds) == 2
    )
    assert len(model.scorer(tokens).features.templates.seeds) == len(TEMPLATES)


def test_candidates_that_annotation_leaves_are_scored_without_the_cache(
    model: LatticeModel,
) -> None:
    tokens = read(model, WORDS)
    nothing = np.full((len(WORDS), VIEWS.shape[1]), -1)
    plain = model.label(tokens, None)
    assert model.label(tokens, Annotation(nothing, VIEWS)).tolist() == plain.tolist()
    values = nothing.copy()
    values[1] = VIEWS[0]
    annotation = Annotation(values, VIEWS)
    names = by_word(model, model.candidates_to_choose(tokens, annotation))
    chosen = [model.labels[k] for k in model.label(tokens, annotation)]
    assert all(label in own for label, own in zip(chosen, names, strict=True))
    prepared = model._for_words()
    for column in range(VIEWS.shape[1]):
        for value in set(VIEWS[:, column].tolist()):
            values = nothing.copy()
            values[:, column] = value
            annotation = Annotation(values, VIEWS)
            found = model.probabilities(tokens, 1.0, annotation)[1]
            model._prepared = prepared._replace(scores=None)
            plain = model.probabilities(tokens, 1.0, annotation)[1]
            model._prepared = prepared
            np.testing.assert_allclose(found, plain, atol=1e-9)


@pytest.mark.parametrize("words", [4, 6])
def test_a_cache_that_is_full_starts_again(
    model: LatticeModel, monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    """Also while others still use what they were given."""
    batches = [read(model, [f"{word}{i}" for word in WORDS[:4]]) for i in range(5)]
    candidates = [model.candidates_to_choose(tokens, None) for tokens in batches]
    room = words * int(max(np.diff(own.starts).max() for own in candidates))
    monkeypatch.setattr(cached_scores, "_ROOM", room)
    prepared = model._for_words()
    assert prepared.scores is not None
    prepared.scores._forget()
    given_before = model.scorer(batches[0], candidates[0]).own
    before = given_before.scores.copy()
    used = [*np.diff(candidates[0].starts)]
    for tokens in [*batches, batches[0]] * 2:
        check_scores(model, tokens)
        assert prepared.scores._size <= room
    assert prepared.scores._scores is not given_before.scores
    for start, size in zip(given_before.starts, used, strict=True):
        kept = slice(start, start + size)
        np.testing.assert_array_equal(given_before.scores[kept], before[kept])
    many = read(model, [f"w{i}" for i in range(40 * words)])
    check_scores(model, many, fits=False)
    check_scores(model, batches[1])
    monkeypatch.undo()
    prepared.scores._forget()


def test_the_table_of_words_grows(model: LatticeModel) -> None:
    for i in range(4):
        check_scores(model, read(model, [f"w{i}{j}" for j in range(30)], WORDS))


def test_new_weights_have_a_new_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_MOST_CACHED", 0)
    model = trained_model(epochs=1)
    tokens = model.reader.read(docs())
    check_scores(model, tokens)
    before = model.scorer(tokens, model.candidates_to_choose(tokens, None)).own.scores
    train(model)
    check_scores(model, tokens)
    assert model.scorer(tokens, model.candidates_to_choose(tokens, None)).own.scores is not before


def test_threads_share_a_cache(model: LatticeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small one, which starts again and again."""
    monkeypatch.setattr(cached_scores, "_ROOM", 9 * len(model.labels))
    model._for_words().scores._forget()  # type: ignore[union-attr]
    batches = [read(model, [f"{word}{i % 7}" for word in WORDS[:5]]) for i in range(60)]
    expected = [model.best_scores(tokens)[1] for tokens in batches]
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda tokens: model.best_scores(tokens)[1], batches * 3)]
    for own, values in zip(found, expected * 3, strict=True):
        np.testing.assert_array_equal(own, values)
    monkeypatch.undo()
    model._for_words().scores._forget()  # type: ignore[union-attr]
