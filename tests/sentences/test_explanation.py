"""Tests of ``spacy_ssvm/sentences/explanation.py``."""

from typing import Any

import pytest
from pipelines import LABELER
from sentence_labelers import lines_of, sequence_scores
from spacy.language import Language

pytestmark = pytest.mark.uncompiled

TEMPLATES = [
    "bag(lower, 2)",
    "first(lower, 2)",
    "last(lower)",
    "position+bag(suffix2)[1]",
    "length",
]


@pytest.fixture(scope="module", params=[None, 8], ids=["exact", "hashed"])
def nlp(request: pytest.FixtureRequest) -> Language:
    return LABELER.trained(templates=TEMPLATES, hash_bits=request.param)


def test_the_differences_add_up_to_the_margin(nlp: Language) -> None:
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    doc = lines_of(nlp, ["We ask why trees fall .", "birds sing .", "we count trees trees"])
    sequences, scores = sequence_scores(labeler, doc)
    best = sequences[scores.argmax()]
    for unit in range(3):
        found = labeler.explain(doc, unit)
        assert found.label == labeler.labels[best[unit]]
        others = sequences[:, unit] != best[unit]
        assert found.margin == pytest.approx(scores.max() - scores[others].max())
        assert sum(r.difference for r in found.reasons) == pytest.approx(found.margin)
        short = labeler.explain(doc, unit, top=2)
        assert len(short.reasons) == 2 + 1 + 2
        assert sum(r.difference for r in short.reasons) == pytest.approx(found.margin)


def test_a_label_is_explained_against_any_other(nlp: Language) -> None:
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    doc = lines_of(nlp, ["We ask why trees fall .", "birds sing .", "we count trees trees"])
    sequences, scores = sequence_scores(labeler, doc)
    best = sequences[scores.argmax()]
    for unit in range(3):
        for k, label in enumerate(labeler.labels):
            if k == best[unit]:
                with pytest.raises(ValueError, match=f"has the label '{label}': give another one"):
                    labeler.explain(doc, unit, against=label)
                continue
            found = labeler.explain(doc, unit, against=label)
            assert (found.label, found.runner_up) == (labeler.labels[best[unit]], label)
            expected = scores.max() - scores[sequences[:, unit] == k].max()
            assert found.margin == pytest.approx(expected)
            assert sum(r.difference for r in found.reasons) == pytest.approx(found.margin)
    with pytest.raises(ValueError, match="there is no label 'nosuch'"):
        labeler.explain(doc, 0, against="nosuch")


def test_values_of_features_are_readable(nlp: Language) -> None:
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    if labeler.hash_bits:
        return
    doc = lines_of(nlp, ["Birds sing .", "We count songs songs"])
    reasons = {(r.template, r.value) for r in labeler.explain(doc, 0).reasons}
    assert ("bag(lower, 2)", "birds sing") in reasons
    assert ("first(lower, 2)", "birds sing") in reasons
    assert ("last(lower)", ".") in reasons
    assert ("position+bag(suffix2)[1]", "first + we") in reasons
    assert ("length", "3") in reasons
    reasons = {(r.template, r.value) for r in labeler.explain(doc, -1).reasons}
    assert ("position+bag(suffix2)[1]", "last + <end>") in reasons
    assert sum(value == "songs" for _, value in reasons) == 2  # of bag and last, each once
    assert labeler.explain(doc, 1).token == "We count songs songs"


def test_a_single_label_has_no_runner_up() -> None:
    nlp = LABELER.pipeline()
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    labeler.add_label("only")
    nlp.initialize()
    with pytest.raises(ValueError, match="'a b' can only have the label 'only'"):
        labeler.explain(nlp.make_doc("a b\nc"), 0)
