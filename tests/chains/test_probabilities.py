"""Probabilities of labels, spans and arcs, against the enumeration of all analyses."""

from typing import Any

import brute
import numpy as np
import pytest
import spacy
from compact_weights import compact_of
from hypothesis import given
from hypothesis import strategies as st
from pipelines import CHUNKER, PARSER, RECOGNIZER, SENTER, TAGGER, Component, copy_of
from probable_structures import ASCENT, doc_of
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_ssvm.chains.schemes import SCHEMES, SpanTable, spans_of

WORDS = ["Ann", "Rome", "saw", "of", "?"]


def crf(component: Component, **config: Any) -> Language:
    return component.trained(epochs=3, solver=ASCENT, **config)


def tables_of(pipe: Any, doc: Doc, sentence: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The score tables of a sentence, for probabilities ~ exp(score)."""
    pipe._sync()
    model = pipe.model
    emissions = model.emissions(model.reader.read([doc]), sentence)
    return model.beta * emissions, model.beta * model.label_pairs


def probable_sequences(emissions: np.ndarray, transitions: np.ndarray) -> dict[Any, float]:
    scored = brute.scored_sequences(emissions, transitions)
    total = np.logaddexp.reduce(list(scored.values()))
    return {y: float(np.exp(score - total)) for y, score in scored.items()}


def label_sums(sequences: dict[Any, float], K: int) -> np.ndarray:
    n = len(next(iter(sequences)))
    sums = np.zeros((n, K))
    for y, probability in sequences.items():
        sums[np.arange(n), list(y)] += probability
    return sums / sum(sequences.values())


def random_weights(pipe: Any, seed: int) -> None:
    """Weights that are small enough for many sequences to matter."""
    pipe._sync()
    weights = pipe.model.weights
    random = np.random.default_rng(seed)
    shape = len(weights.row_starts) - 1, len(pipe.model.labels)
    transitions = random.normal(size=pipe.model.label_pairs.shape)
    pipe.model.label_pairs = np.where(np.isfinite(pipe.model.label_pairs), transitions, -np.inf)
    pipe.model.weights = compact_of(random.normal(size=shape))[0]


@pytest.mark.uncompiled
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_marginals_of_tags_against_enumeration(beta: float) -> None:
    nlp = TAGGER.trained(epochs=3, solver={**ASCENT, "beta": beta})
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    doc = doc_of(nlp, ["the", "\n", "unseen", "dog", "Mary", "cuts"], starts=[0, 4])
    found = tagger.marginals(doc)
    assert found.dtype == np.float64
    assert found.shape == (6, len(tagger.labels))
    assert not found[1].any()
    for sentence, words in enumerate([[0, 2, 3], [4, 5]]):
        sequences = probable_sequences(*tables_of(tagger, doc, sentence))
        expected = label_sums(sequences, len(tagger.labels))
        np.testing.assert_allclose(found[words], expected, atol=1e-9)
    np.testing.assert_allclose(copy_of(nlp).get_pipe("ssvm_tagger").marginals(doc), found)


def test_scores_of_tags_are_the_probabilities_of_what_is_written() -> None:
    nlp = crf(TAGGER)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    doc = nlp("The old dog \n barks.")
    scores = tagger.scores(doc)
    found = tagger.marginals(doc, overwrite=True)
    for token, score, row in zip(doc, scores, found, strict=True):
        if token.is_space:
            assert score == 0
        else:
            assert score == pytest.approx(row[tagger.labels.index(token.tag_)])
            assert 0 < score < 1


def test_preset_tags_are_certain_and_change_the_others() -> None:
    nlp = crf(TAGGER)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    words = ["the", "unseen", "other"]
    doc = Doc(nlp.vocab, words=words)
    doc[1].tag_ = tagger.labels[2]
    found = tagger.marginals(doc)
    sequences = probable_sequences(*tables_of(tagger, doc))
    kept = {y: p for y, p in sequences.items() if y[1] == 2}
    np.testing.assert_allclose(found, label_sums(kept, len(tagger.labels)), atol=1e-9)
    assert found[1, 2] == pytest.approx(1)
    free = tagger.marginals(Doc(nlp.vocab, words=words))
    assert tagger.marginals(doc, overwrite=True) == pytest.approx(free)
    assert not np.allclose(free, found)
    annotated = tagger(doc)
    assert tagger.marginals(annotated).max(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("component", [TAGGER, SENTER, RECOGNIZER, CHUNKER], ids=lambda c: c.name)
def test_rows_add_up_to_one(component: Component) -> None:
    nlp = crf(component)
    pipe: Any = nlp.get_pipe(component.factory)
    for text in component.texts()[:5]:
        doc = nlp.make_doc(text)
        rows = pipe.marginals(doc).sum(axis=1)
        np.testing.assert_allclose(rows, [0.0 if token.is_space else 1.0 for token in doc])
    assert pipe.marginals(Doc(nlp.vocab)).shape == (0, len(pipe.model.labels))
    assert not pipe.marginals(nlp.make_doc(" \n")).any()


def test_the_first_token_of_a_doc_starts_a_sentence() -> None:
    nlp = crf(SENTER)
    found = nlp.get_pipe("ssvm_senter").marginals(nlp.make_doc("and so on"))  # type: ignore[attr-defined]
    assert found[0].tolist() == [0.0, pytest.approx(1.0)]


@pytest.mark.parametrize(
    "component", [TAGGER, SENTER, RECOGNIZER, CHUNKER, PARSER], ids=lambda c: c.factory
)
def test_solvers_without_probabilities_are_told_from_those_that_have_them(
    component: Component,
) -> None:
    nlp = component.trained(epochs=1)
    pipe: Any = nlp.get_pipe(component.factory)
    for solver in ("DualCoordinateAscent", "LBFGS"):
        with pytest.raises(ValueError, match=rf"{pipe.name}: .* no probabilities\. .*{solver}"):
            pipe.marginals(nlp.make_doc("The dog barks."))


def small(scheme: str, seed: int) -> tuple[Language, Any]:
    nlp = RECOGNIZER.pipeline(scheme=scheme, solver=ASCENT, min_count=1)
    pipe: Any = nlp.get_pipe("ssvm_ner")
    words = [*WORDS, *WORDS]
    reference = Doc(nlp.vocab, words=words, ents=["B-PER", "B-LOC", *["O"] * 8])
    examples = [spacy.training.Example(Doc(nlp.vocab, words=words), reference)]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    random_weights(pipe, seed)
    pipe._trainer = None
    return nlp, pipe


def spans_in(pipe: Any, labels: Any) -> set[tuple[int, int, int]]:
    starts = np.arange(len(labels)) == 0
    spans = spans_of(pipe.scheme.decode(np.array(labels), starts))
    return set(zip(*(array.tolist() for array in spans), strict=True))


@pytest.mark.parametrize(
    "scheme",
    [pytest.param(s, marks=[pytest.mark.uncompiled] * (s == "biluo")) for s in SCHEMES],
)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_probabilities_of_entities_against_enumeration(
    scheme: str, words: list[str], seed: int
) -> None:
    """That exactly this entity is there: what decodes to it, summed up."""
    nlp, pipe = small(scheme, seed)
    doc = nlp(Doc(nlp.vocab, words=words))
    sequences = probable_sequences(*tables_of(pipe, doc))
    sequences = {y: p for y, p in sequences.items() if p > 0}
    for entity in doc.ents:
        one = (entity.start, entity.end, pipe.labels.index(entity.label_))
        expected = sum(p for y, p in sequences.items() if one in spans_in(pipe, y))
        assert entity._.ssvm_score == pytest.approx(expected, abs=1e-9)
    expected = label_sums(sequences, len(pipe.model.labels))
    np.testing.assert_allclose(pipe.marginals(doc, overwrite=True), expected, atol=1e-9)


def test_probabilities_of_entities_beside_one_that_is_given() -> None:
    nlp, pipe = small("biluo", 1)
    found = 0
    for seed in range(20):
        random_weights(pipe, seed)
        doc = Doc(nlp.vocab, words=["Ann", "saw", "Rome"])
        doc.set_ents([Span(doc, 1, 2, "PER")], default="missing")
        before = doc.copy()
        sequences = probable_sequences(*tables_of(pipe, doc))
        given_span = (1, 2, pipe.labels.index("PER"))
        kept = {y: p for y, p in sequences.items() if p and given_span in spans_in(pipe, y)}
        total = sum(kept.values())
        for entity in nlp(doc).ents:
            one = (entity.start, entity.end, pipe.labels.index(entity.label_))
            if one == given_span:
                continue
            expected = sum(p for y, p in kept.items() if one in spans_in(pipe, y)) / total
            assert entity._.ssvm_score == pytest.approx(expected, abs=1e-9)
            found += 1
        sums = label_sums(kept, len(pipe.model.labels))
        np.testing.assert_allclose(pipe.marginals(before), sums, atol=1e-9)
    assert found > 5


def test_entities_of_several_sentences_have_the_probabilities_of_each() -> None:
    nlp = crf(RECOGNIZER)
    texts = RECOGNIZER.texts()[:4]
    docs = [nlp(text) for text in texts]
    alone = [ent._.ssvm_score for doc in docs for ent in doc.ents]
    together = Doc.from_docs([nlp.make_doc(text) for text in texts])
    starts = np.cumsum([0, *map(len, docs)])[:-1]
    for token in together:
        token.is_sent_start = token.i in starts
    assert [e._.ssvm_score for e in nlp.get_pipe("ssvm_ner")(together).ents] == pytest.approx(alone)
    assert len(alone) > 4
    assert all(0 < score < 1 for score in alone)


def test_chunks_have_probabilities_too() -> None:
    nlp = crf(CHUNKER)
    key = nlp.get_pipe("ssvm_chunker").cfg["spans_key"]  # type: ignore[attr-defined]
    scores = nlp(CHUNKER.texts()[0]).spans[key].attrs["scores"]
    assert scores
    assert all(0 < score < 1 for score in scores)


def test_words_beside_a_span_by_which_it_would_go_on() -> None:
    for name, expected in {"biluo": (-1, -1), "iob2": (-1, 4), "io": (2, 2)}.items():
        _, pipe = small(name, 0)
        nothing = SpanTable(np.zeros(1, int), np.ones(1, int), np.ones(1, int))
        before, after = pipe.scheme.neighbours(nothing.types)
        assert (before[0], after[0]) == expected
        labels = pipe.scheme.labels
        assert {labels[k] for k in expected if k >= 0} <= {"I-PER"}
