"""Tests of ``spacy_ssvm/components/spans.py``."""

import math
from pathlib import Path

import pytest
import spacy
from chunk_pipelines import chunker_of, chunks
from pipelines import CHUNKER, copy_of
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Config


@pytest.fixture(scope="module")
def unsure() -> Language:
    """A pipeline whose chunker has seen little."""
    return CHUNKER.trained(epochs=1)


def test_scores_lie_beside_their_spans(unsure: Language) -> None:
    chunker = chunker_of(unsure)
    docs = list(unsure.pipe(CHUNKER.texts()))
    curve = chunker.model.calibration.spans
    seen = 0
    for doc in docs:
        group = doc.spans["chunks"]
        scores = group.attrs["scores"]
        assert len(scores) == len(group)
        assert list(group) == sorted(group)
        for span, score in zip(group, scores, strict=True):
            margin = min(explanation.margin for explanation in chunker.explain(span))
            expected = 1 / (1 + math.exp(-curve.slope * margin - curve.offset))
            assert score == pytest.approx(expected, abs=1e-6)
            assert 0 <= score < 1
            seen += 1
    assert seen > 50


def test_scores_without_a_calibration(unsure: Language) -> None:
    nlp = copy_of(unsure)
    chunker = chunker_of(nlp)
    chunker.model.calibration = None
    doc = nlp(CHUNKER.texts()[0])
    for span, score in zip(doc.spans["chunks"], doc.spans["chunks"].attrs["scores"], strict=True):
        margin = min(explanation.margin for explanation in chunker.explain(span))
        assert score == pytest.approx(1 - math.exp(-margin), abs=1e-6)


@pytest.mark.parametrize("solver", ["DualCoordinateDescent", "DualCoordinateAscent", "Perceptron"])
@pytest.mark.parametrize("scheme", ["biluo", "iob2", "io"])
def test_words_have_the_score_of_their_span(solver: str, scheme: str) -> None:
    nlp = CHUNKER.trained(epochs=1, scheme=scheme, solver={"@misc": f"spacy_ssvm.{solver}.v1"})
    chunker = chunker_of(nlp)
    seen = 0
    for doc in nlp.pipe(CHUNKER.texts()):
        group = doc.spans["chunks"]
        scores = dict.fromkeys(range(len(doc)), None)
        for span, score in zip(group, group.attrs["scores"], strict=True):
            scores |= dict.fromkeys(range(span.start, span.end), score)
        shown = {decision.start: decision for decision in chunker.decisions(doc)}
        of_tokens = chunker.scores(doc)
        for i, score in scores.items():
            assert of_tokens[i] == shown[i].score
            assert 0 <= shown[i].score < 1 or shown[i].label == "O"
            assert (score is None) == (shown[i].label == "O")
            if score is not None:
                assert shown[i].score == pytest.approx(score, abs=1e-9)
                seen += 1
    assert seen > 50


def test_a_threshold_that_is_set_later_is_in_the_config(unsure: Language, tmp_path: Path) -> None:
    nlp = copy_of(unsure)
    chunker_of(nlp).set_threshold(0.4, nlp)
    nlp.to_disk(tmp_path)
    assert (
        Config().from_disk(tmp_path / "config.cfg")["components"][CHUNKER.name]["threshold"] == 0.4
    )
    assert chunker_of(spacy.load(tmp_path)).cfg["threshold"] == 0.4
    with pytest.raises(ValueError, match="threshold"):
        chunker_of(nlp).set_threshold(1.5, nlp)
    with pytest.raises(ValueError, match="'high': must be a number"):
        chunker_of(nlp).set_threshold("high", nlp)
    assert chunker_of(nlp).cfg["threshold"] == 0.4


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
