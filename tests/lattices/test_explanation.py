"""Tests of ``spacy_ssvm/lattices/explanation.py``."""

import re
from typing import Any

import numpy as np
import pytest
from tiny_lattices import (
    LABELS,
    annotated,
    docs,
    naive_structures,
    new_model,
    train,
    trained_model,
)

from spacy_ssvm.explanation import Explanation
from spacy_ssvm.lattices.explanation import explain_label
from spacy_ssvm.lattices.model import LatticeModel
from spacy_ssvm.lattices.training import learn_candidates

pytestmark = pytest.mark.uncompiled


@pytest.fixture(scope="module")
def model() -> LatticeModel:
    return trained_model(epochs=2, restricted=False)


def explain(model: LatticeModel, i: int, **settings: Any) -> Explanation:
    given: dict[str, Any] = {"top": None, "against": None, "by_part": False}
    return explain_label(model, docs()[0], i, **(given | settings))


def best_with(model: LatticeModel, t: int) -> dict[str, float]:
    """The best score of a structure of the first sentence, by the label of word t."""
    tokens = model.reader.read(docs()[:1])
    found: dict[str, float] = {}
    for labels, score in naive_structures(model, tokens, [LABELS] * 3):
        found[labels[t]] = max(score, found.get(labels[t], -np.inf))
    return found


@pytest.mark.parametrize("by_part", [False, True])
@pytest.mark.parametrize("t", [0, 1, 2])
def test_reasons_add_up_to_the_margin(model: LatticeModel, t: int, by_part: bool) -> None:
    """Which is that of the best structures with the two labels, of all that there are."""
    best = best_with(model, t)
    first, second = sorted(best, key=lambda label: -best[label])[:2]
    for against in (None, *(label for label in LABELS if label != first)):
        explanation = explain(model, t, against=against, by_part=by_part)
        assert explanation.label == first
        assert explanation.runner_up == (against or second)
        assert explanation.margin == pytest.approx(best[first] - best[explanation.runner_up])
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin, abs=1e-9)


def test_reasons_by_part_are_the_parts_of_both_labels(model: LatticeModel) -> None:
    explanation = explain(model, 1, by_part=True, against="Number=Plur|POS=VERB")
    *parts, steps, others = explanation.reasons
    assert explanation.label == "Number=Sing|POS=NOUN"
    assert {r.template: (bool(r.weight), bool(r.runner_up_weight)) for r in parts} == {
        "Number=Sing": (True, False),
        "POS=NOUN": (True, False),
        "Number=Sing|POS=NOUN": (True, False),
        "Number=Plur": (False, True),
        "POS=VERB": (False, True),
        "Number=Plur|POS=VERB": (False, True),
    }  # fmt: skip
    assert (steps.template, others.template) == ("steps", "labels of other tokens")


def test_features_have_the_same_sum_as_the_parts(model: LatticeModel) -> None:
    by_feature, by_part = explain(model, 1), explain(model, 1, by_part=True)
    sums = [
        np.sum([(r.weight, r.runner_up_weight) for r in each.reasons[:-2]], axis=0)
        for each in (by_feature, by_part)
    ]
    assert sums[0] == pytest.approx(sums[1])
    assert {r.template for r in by_feature.reasons[:-2]} == {str(t) for t in model.templates}
    assert by_feature.reasons[0].value


def test_the_strongest_rows_come_first_and_the_others_in_one(model: LatticeModel) -> None:
    everything, some = explain(model, 1), explain(model, 1, top=2)
    assert some.reasons[:2] == everything.reasons[:2]
    assert some.reasons[2].template == "other features"
    with pytest.raises(ValueError, match="top is 0"):
        explain(model, 1, top=0)


def test_what_cannot_be_explained() -> None:
    model = new_model()
    learn_candidates(model, [annotated(model)] * 20)  # no word is rare
    train(model)
    for against, message in (
        (None, "can only have the label 'POS=DET'"),
        ("Number=Sing|POS=NOUN", "cannot have the label 'Number=Sing|POS=NOUN'"),
        ("POS=DET", "has the label 'POS=DET'"),
        ("POS=X", "there is no label 'POS=X'"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            explain(model, 0, against=against)
