"""Tests of ``spacy_ssvm/chains/stacked.py``; see ``components/test_stacking.py`` too."""

from typing import Any

import numpy as np
import pytest
from spacy.tokens import Doc, Span
from two_pass_recognizers import NAMES, starts, trained, words_of

from spacy_ssvm import storage
from spacy_ssvm.storage import ModelFileError


def test_explanations_name_what_was_found() -> None:
    nlp, recognizer, _ = trained()
    doc = Doc(nlp.vocab, words=words_of(NAMES[-1]))
    explanation = recognizer.explain(doc, 4)
    (reason,) = [r for r in explanation.reasons if r.template == "doc_majority.ent_type[0]"]
    assert reason.value == "PER"
    assert sum(r.difference for r in explanation.reasons) == pytest.approx(explanation.margin)
    score = 1 - np.exp(-explanation.margin)  # of one word, by too few spans for a calibration
    assert score == pytest.approx(recognizer.scores(doc)[4])
    reader = recognizer.model.reader
    assert reader.text_value("ent_type", doc, 1) == "PER"
    assert reader.text_value("ent_type", doc, 4) is None


def test_entities_of_the_doc_are_kept_but_not_read() -> None:
    nlp, recognizer, _ = trained()
    doc = Doc(nlp.vocab, words=words_of(NAMES[-1]))
    doc.set_ents([Span(doc, 5, 6, "PER")], default="missing")
    column = recognizer.model.reader.input_column("ent_type")
    types = recognizer.model.reader.inputs(doc)[:, column]
    assert np.flatnonzero(types).tolist() == [1, 9]
    assert [entity.start for entity in nlp(doc).ents] == [1, 4, 5, 9]


def test_scores_are_those_of_the_prediction() -> None:
    nlp, recognizer, _ = trained()
    doc = Doc(nlp.vocab, words=words_of(NAMES[-1]))
    before = recognizer.scores(doc)
    nlp(doc)
    assert len(doc.ents) == 3
    np.testing.assert_array_equal(recognizer.scores(doc), before)
    assert recognizer.model.reader.text_value("ent_type", doc, 4) is None


def forge_header(recognizer: Any, **changes: Any) -> bytes:
    parts, arrays = recognizer._saved(["vocab"])
    first = parts["model"]["first"] | changes
    parts = parts | {"model": parts["model"] | {"first": first}}
    return storage.to_bytes(recognizer.kind, parts, arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"templates": ["doc_majority.ent_type[0]"]}, "reads its own predictions"),
        ({"templates": ["ent_type[0]"]}, "reads its own predictions"),
        ({"templates": ["lower[0]", "lower[1]"]}, "do not fit the templates"),
        ({"labels": ["O", "B-A", "I-A", "L-A", "U-A"]}, "has other labels"),
    ],
)
def test_forged_first_passes_are_refused(changes: dict[str, Any], message: str) -> None:
    nlp, recognizer, _ = trained()
    with pytest.raises(ModelFileError, match=message):
        recognizer.from_bytes(forge_header(recognizer, **changes), exclude=["vocab"])
    assert starts(nlp) == [1, 4, 9]
