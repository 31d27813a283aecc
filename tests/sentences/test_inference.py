"""Tests of ``spacy_ssvm/sentences/inference.py``: labels, margins and probabilities."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_labelers import CRF, lines_of, sequence_scores, tiny_labeler
from spacy.language import Language

from spacy_ssvm.sentences.unit_keys import extract_unit_keys
from spacy_ssvm.weights.key_table import keys_of

pytestmark = pytest.mark.uncompiled

WORDS = ["we", "birds", "sing", ".", "trees", "unseen", "Old"]
lines = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), max_size=4)


@pytest.fixture(scope="module")
def nlp() -> Language:
    return tiny_labeler()


@pytest.fixture(scope="module")
def probable() -> Language:
    return tiny_labeler(solver=CRF)


def labeler_of(nlp: Language) -> Any:
    return nlp.get_pipe("ssvm_sentence_labeler")


@pytest.mark.parametrize("hash_bits", [None, 8])
def test_scores_are_sums_of_the_weights_of_the_features(hash_bits: int | None) -> None:
    nlp = tiny_labeler(hash_bits=hash_bits)
    model = labeler_of(nlp).model
    doc = lines_of(nlp, ["we sing birds birds sing", "unseen .", "old trees ."])
    table = model.reader.read([doc]).table
    found = extract_unit_keys(model.compiled, table)
    expected = np.zeros((3, len(model.labels)))
    rows = {key: row for row, key in enumerate(keys_of(model.table).tolist())}
    size = model.table.rows_per_template
    for u in range(3):
        for f in range(found.starts[u], found.starts[u + 1]):
            key = int(found.keys[f])
            row = rows.get(key >> 24 << 24, -1)
            if size:
                row = int(found.templates[f]) * size + ((key >> 32) * size >> 32)
            if row >= 0:
                expected[u] += model.weights_of(row, range(len(model.labels)))
    assert model.emissions(table) == pytest.approx(expected, abs=1e-6)
    assert np.abs(expected).min(axis=0).max() > 0


@settings(max_examples=25)
@given(doc_lines=lines.filter(len), data=st.data())
def test_the_best_sequence_with_the_preset_labels_is_found(
    nlp: Language, doc_lines: list[str], data: st.DataObject
) -> None:
    labeler = labeler_of(nlp)
    doc = lines_of(nlp, doc_lines)
    sequences, scores = sequence_scores(labeler, doc)
    units = labeler.model.reader.read([doc]).bounds.tolist()
    options = st.sampled_from([None, *range(len(labeler.labels))])
    preset = data.draw(st.lists(options, min_size=len(units), max_size=len(units)))
    spans = []
    for u, label in enumerate(preset):
        if label is not None:
            spans.append(doc.char_span(*char_bounds(doc, units[u]), label=labeler.labels[label]))
            scores[sequences[:, u] != label] = -np.inf
    doc.spans["sentence_labels"] = spans
    nlp(doc)
    written = doc.spans["sentence_labels"]
    assert [[span.start, span.end] for span in written] == units
    found = [labeler.labels.index(span.label_) for span in written]
    assert scores[(sequences == found).all(axis=1)].item() == pytest.approx(scores.max())


def char_bounds(doc, bounds):
    span = doc[bounds[0] : bounds[1]]
    return span.start_char, span.end_char


@settings(max_examples=25)
@given(doc_lines=lines.filter(len))
def test_margins_against_enumeration(nlp: Language, doc_lines: list[str]) -> None:
    labeler = labeler_of(nlp)
    doc = lines_of(nlp, doc_lines)
    sequences, scores = sequence_scores(labeler, doc)
    best = sequences[scores.argmax()]
    margins = labeler.scores(doc)
    assert margins.shape == (len(best),)
    for u, label in enumerate(best):
        other = scores[sequences[:, u] != label].max()
        assert margins[u] == pytest.approx(scores.max() - other, abs=1e-9)
    written = nlp(doc).spans["sentence_labels"].attrs["scores"]
    assert written == pytest.approx(1 - np.exp(-margins))


@settings(max_examples=25)
@given(doc_lines=lines.filter(len))
def test_probabilities_against_enumeration(probable: Language, doc_lines: list[str]) -> None:
    labeler = labeler_of(probable)
    doc = lines_of(probable, doc_lines)
    sequences, scores = sequence_scores(labeler, doc)
    p = np.exp(labeler.model.beta * (scores - scores.max()))
    p /= p.sum()
    marginals = labeler.marginals(doc)
    n, K = marginals.shape
    for u in range(n):
        for k in range(K):
            assert marginals[u, k] == pytest.approx(p[sequences[:, u] == k].sum(), abs=1e-9)
    best = sequences[scores.argmax()]
    expected = marginals[np.arange(n), best]
    assert labeler.scores(doc) == pytest.approx(expected)
    assert probable(doc).spans["sentence_labels"].attrs["scores"] == pytest.approx(expected)
    fixed = labeler.marginals(doc)  # the labels written are now certain
    assert fixed[np.arange(n), best] == pytest.approx(1)
    assert labeler.marginals(doc, overwrite=True) == pytest.approx(marginals)


def test_docs_of_a_batch_are_independent(nlp: Language) -> None:
    texts = ["we sing\nold trees", "", "unseen", "\n", "birds\nsing .\nwe"]
    for text, doc in zip(texts, nlp.pipe(texts), strict=True):
        alone = nlp(text)
        one, other = (d.spans["sentence_labels"] for d in (doc, alone))
        assert [span.label_ for span in one] == [span.label_ for span in other]
        assert one.attrs == other.attrs
