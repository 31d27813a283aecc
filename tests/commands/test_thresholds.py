"""Tests of ``spacy_ssvm/commands/thresholds.py``."""

import re
from typing import Any

import numpy as np
import pytest
from pipelines import CHUNKER, RECOGNIZER
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.cli.common import show_thresholds
from spacy_ssvm.commands import thresholds
from spacy_ssvm.commands.thresholds import ThresholdRow, Thresholds, thresholds_of
from spacy_ssvm.labelings.saved_model import Calibration, Curve


def rows_of(scores: Any, right: Any, gold: int, threshold: float = 0.0) -> list[ThresholdRow]:
    return thresholds._rows(np.array(scores), np.array(right), gold, threshold)


def test_counts_of_a_large_corpus() -> None:
    draw = np.random.default_rng(0)
    scores = draw.random(50_000)
    right = draw.random(len(scores)) < scores**2  # of 0.7, half are right
    found = {row.aim: row for row in rows_of(scores, right, 20_000)}
    assert found[None] == (None, 0.0, right.mean(), right.sum() / 20_000)
    for aim, row in found.items():
        if aim is not None:
            kept = scores >= row.threshold
            assert aim <= right[kept].mean() + 0.01 < aim + 0.03
            assert row.precision == pytest.approx(right[kept].mean(), abs=0.01)
            assert row.recall == pytest.approx(right[kept].sum() / 20_000, abs=0.01)
    assert set(found) == {None, 0.8, 0.85, 0.9, 0.95}


def test_scores_count_in_a_small_corpus() -> None:
    scores = [0.5] * 20 + [0.9] * 10
    (_, row) = rows_of(scores, [True] * 30, 40)[:2]
    assert (row.aim, row.threshold) == (0.8, 0.51)
    assert row.precision == pytest.approx((300 * 0.9 + 30) / 330)
    assert row.recall == pytest.approx((300 * 9 + 30 * 10) / 330 / 40)


def test_lower_thresholds_than_the_present_one_are_not_offered() -> None:
    scores = np.linspace(0.5, 0.99, 100)
    assert all(row.threshold >= 0.9 for row in rows_of(scores, scores > 0.6, 100, 0.9))


def test_a_precision_that_is_out_of_reach_has_no_row() -> None:
    assert [row.aim for row in rows_of([0.3, 0.4], [False, False], 2)] == [None]
    assert Thresholds("ner", rows_of([0.3], [False], 2)).note == (
        "ner: a precision of 80 % is reached by no threshold"
    )
    assert Thresholds("ner", rows_of([1.0], [True], 2)).note == (
        "ner: a precision of 80 % is reached as it is"
    )


def half_annotated(examples: list[Example]) -> list[Example]:
    """The same with references that annotate nothing, and entities of the first words alone."""
    found = []
    for number, example in enumerate(examples):
        reference = Doc(example.reference.vocab, words=[token.text for token in example.reference])
        if number % 2:
            first = [ent for ent in example.reference.ents if ent.end <= 4]
            ents = [Span(reference, ent.start, ent.end, ent.label_) for ent in first]
            reference.set_ents(ents, default="missing")
        found.append(Example(example.predicted.copy(), reference))
    return found


@pytest.mark.parametrize("component", [RECOGNIZER, CHUNKER], ids=lambda one: one.factory)
def test_those_of_a_pipeline(component: Any) -> None:
    nlp = component.trained(epochs=1)
    pipe: Any = nlp.get_pipe(component.name)
    pipe._sync()
    pipe.model.calibration = Calibration(Curve(2.0, 0.0), Curve(2.0, 0.0))
    examples = [*component.examples(nlp.vocab), *half_annotated(component.examples(nlp.vocab))]
    scores = nlp.evaluate([Example(eg.predicted.copy(), eg.reference) for eg in examples])
    annotated = [Example(nlp(eg.predicted), eg.reference) for eg in examples]
    (found,) = thresholds_of(nlp, annotated)
    key = component.score.rsplit("_", 1)[0]
    assert found.name == component.name
    assert found.rows[0][1:] == pytest.approx((0.0, scores[f"{key}_p"], scores[f"{key}_r"]))
    assert found.table[0][0] == "as it is"
    pipe.model.calibration = None
    assert not list(thresholds_of(nlp, annotated))


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [ThresholdRow(None, 0.0, 0.7, 0.6), ThresholdRow(0.85, 0.62, 0.855, 0.55)]
    show_thresholds([Thresholds("ner", rows)])
    printed = capsys.readouterr().out
    assert "ner: for a precision of 85 %: threshold 0.62, recall 55 %." in printed
    assert re.search(r"for a precision of 85 % +0.62 +85.5 +55.0 +66.9", printed)
    assert re.search(r"as it is +0.00 +70.0 +60.0 +64.6", printed)
