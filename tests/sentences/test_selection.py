"""Tests of ``spacy_ssvm/sentences/selection.py``."""

from collections import Counter
from math import log2
from typing import Any

import numpy as np
import pytest
from corpora import labelled_examples
from pipelines import LABELER

from spacy_ssvm.sentences.selection import sentence_selector
from spacy_ssvm.sentences.unit_keys import extract_unit_keys

pytestmark = pytest.mark.uncompiled

TEMPLATES = ["bag(lower)", "first(lower)", "position", "bag(tag)", "length"]


def selection(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.Selection.v1", **settings}


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": 2},
        {"strength": 0.01},
        {"budget": 2, "method": "information-gain"},
        {"budget": 2, "method": "lasso"},
        {"budget": 1, "loss": "log"},
    ],
    ids=str,
)
def test_templates_are_selected(settings: dict[str, Any]) -> None:
    nlp = LABELER.pipeline(templates=TEMPLATES, selection=selection(**settings))
    examples = labelled_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    texts = list(map(str, labeler.model.templates))
    assert "bag(tag)" not in texts
    assert "bag(lower)" in texts or settings.get("budget") == 1
    assert len(texts) == settings.get("budget", len(texts)) <= 4
    assert len(labeler.selected.table) == len(TEMPLATES)
    assert nlp.get_pipe_config("ssvm_sentence_labeler")["templates"] == texts
    LABELER.train(nlp, examples, 8)
    assert nlp.evaluate(labelled_examples(nlp.vocab))["sentence_labels_acc"] > 0.7


def test_statistics_count_features_and_measure_their_information() -> None:
    nlp = LABELER.pipeline(templates=TEMPLATES)
    examples = labelled_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    batch = labeler.read_batch(labeler.gold_docs(examples))
    batch.labels[3] = -1
    found = sentence_selector(labeler.model, batch).statistics
    keys = extract_unit_keys(labeler.model.compiled, batch.batch.table)
    units = np.repeat(np.arange(len(batch.labels)), np.diff(keys.starts))
    known = batch.labels[batch.labels >= 0]
    N, priors = len(known), Counter(known.tolist())
    for m in range(len(TEMPLATES)):
        mine = keys.templates == m
        pairs = [
            (int(key), int(batch.labels[u]))
            for key, u in zip(keys.keys[mine], units[mine], strict=True)
        ]
        assert found.features[m] == len({key for key, _ in pairs})
        joint = Counter(pair for pair in pairs if pair[1] >= 0)
        totals: Counter = Counter()
        for (key, _), n in joint.items():
            totals[key] += n
        gain = sum(
            n / N * log2((n / N) / (totals[key] / N * priors[label] / N))
            for (key, label), n in joint.items()
        )
        assert found.gains[m] == pytest.approx(gain)


def test_coarse_to_fine_groups_are_refused() -> None:
    nlp = LABELER.pipeline(
        templates=TEMPLATES, selection=selection(budget=2, groups="coarse-to-fine")
    )
    with pytest.raises(ValueError, match="coarse-to-fine"):
        nlp.initialize(lambda: labelled_examples(nlp.vocab))
