"""Tests of ``spacy_ssvm/components/spans.py``."""

import math

import pytest
from chunk_pipelines import chunker_of, chunks
from pipelines import CHUNKER, copy_of
from spacy.language import Language
from spacy.tokens import Doc


@pytest.fixture(scope="module")
def unsure() -> Language:
    """A pipeline whose chunker has seen little."""
    return CHUNKER.trained(epochs=1)


def test_scores_lie_beside_their_spans(unsure: Language) -> None:
    chunker = chunker_of(unsure)
    seen = 0
    for doc in unsure.pipe(CHUNKER.texts()):
        group = doc.spans["chunks"]
        scores = group.attrs["scores"]
        assert len(scores) == len(group)
        assert list(group) == sorted(group)
        for span, score in zip(group, scores, strict=True):
            margin = min(explanation.margin for explanation in chunker.explain(span))
            assert score == pytest.approx(1 - math.exp(-margin), abs=1e-6)
            assert 0 <= score <= 1
            seen += 1
    assert seen > 50


def test_scores_travel_with_their_docs(unsure: Language) -> None:
    doc = unsure(CHUNKER.texts()[0])
    scores = list(doc.spans["chunks"].attrs["scores"])
    assert len(set(scores)) == len(scores) > 1
    for copied in (Doc(unsure.vocab).from_bytes(doc.to_bytes()), doc.copy()):
        assert chunks(copied) == chunks(doc)
        assert list(copied.spans["chunks"].attrs["scores"]) == pytest.approx(scores)


def test_the_threshold_leaves_spans_and_their_scores_out(unsure: Language) -> None:
    nlp = copy_of(unsure)
    scored = []
    for doc in nlp.pipe(CHUNKER.texts()):
        scores = doc.spans["chunks"].attrs["scores"]
        scored.append(list(zip(chunks(doc), scores, strict=True)))
    values = sorted(score for pairs in scored for _, score in pairs)
    counts = []
    for threshold in [0.0, *values[:: len(values) // 10], 1.0]:
        chunker_of(nlp).cfg["threshold"] = threshold
        for doc, pairs in zip(nlp.pipe(CHUNKER.texts()), scored, strict=True):
            kept = [(span, score) for span, score in pairs if score >= threshold]
            assert chunks(doc) == [span for span, _ in kept]
            scores = doc.spans["chunks"].attrs["scores"]
            assert list(scores) == pytest.approx([score for _, score in kept])
            counts.append(len(kept))
    docs = len(scored)
    totals = [sum(counts[i : i + docs]) for i in range(0, len(counts), docs)]
    assert totals[0] == len(values)
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) > 5
