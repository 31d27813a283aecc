"""Tests of ``spacy_ssvm/chains/calibration.py``."""

import math
import random
from typing import Any

import numpy as np
import pytest
from corpora import entity_examples
from marks import compiled_only
from pipelines import RECOGNIZER
from spacy.language import Language
from spacy.training import Example

from spacy_ssvm.chains import calibration
from spacy_ssvm.chains.calibration import fit_curve, probabilities
from spacy_ssvm.components.spans import SpanPipe
from spacy_ssvm.labelings.saved_model import Calibration, Curve, read_calibration

SOLVERS = {
    "DualCoordinateDescent": {},
    "PairwiseFrankWolfe": {},
}


def noisy_examples(nlp: Language, seed: int, lines: int) -> list[Example]:
    """Sentences in which three words of a kind each make an entity more or less probable."""
    numbers = random.Random(seed)
    texts = []
    for _ in range(lines):
        words = []
        for _ in range(4):
            signs = [numbers.choice((-1, 1)) for _ in range(3)]
            before, name, after = (f"{sign}{numbers.randrange(30)}" for sign in signs)
            is_entity = numbers.random() < 1 / (1 + math.exp(-2 * sum(signs)))
            words += [before, f"[{name}]PER" if is_entity else name, after, "."]
        texts.append(" ".join(words))
    return entity_examples(nlp.vocab, "\n".join(texts))


def trained(seed: int, lines: int, epochs: int = 3, **settings: Any) -> tuple[Language, SpanPipe]:
    nlp = RECOGNIZER.pipeline(templates=["lower[-1]", "lower[0]", "lower[1]"], **settings)
    examples = noisy_examples(nlp, seed, lines)
    nlp.initialize(lambda: examples)
    for _ in range(epochs):
        nlp.update(examples)
    pipe: Any = nlp.get_pipe(RECOGNIZER.name)
    return nlp, pipe


def test_a_curve_is_found_again() -> None:
    draw = np.random.default_rng(0)
    margins = draw.exponential(size=20_000)
    right = draw.random(len(margins)) < 1 / (1 + np.exp(-1.5 * margins + 0.7))
    assert fit_curve(margins, right) == pytest.approx((1.5, -0.7), abs=0.1)


@pytest.mark.parametrize("right", [[True] * 60, [False] * 60, [True, False] * 30])
@pytest.mark.parametrize("margins", [np.zeros(60), np.arange(60.0), np.full(60, 1e8)])
def test_curves_are_finite_and_do_not_fall(right: list[bool], margins: Any) -> None:
    curve = fit_curve(margins, np.array(right))
    assert np.isfinite(curve).all()
    found = probabilities(curve, np.array([0.0, 1.0, 1e300, np.inf]))
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found < 1)).all()


def test_a_curve_that_would_fall_is_flat() -> None:
    margins = np.arange(100.0) / 100
    curve = fit_curve(margins, margins < 0.75)
    assert curve.slope == 0.0
    assert probabilities(curve, margins) == pytest.approx(np.full(100, 0.75), abs=0.02)


def test_without_a_curve() -> None:
    found = probabilities(None, np.array([0.0, np.log(2), np.inf]))
    assert found == pytest.approx([0, 0.5, 1])
    assert (found < 1).all()


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scheme", ["biluo", "iob2", "io"])
def test_scores_are_probabilities(solver: str, scheme: str) -> None:
    settings = {"@misc": f"spacy_ssvm.{solver}.v1", **SOLVERS[solver]}
    nlp, pipe = trained(0, 400, epochs=10, scheme=scheme, solver=settings)
    examples = noisy_examples(nlp, 1, 1000)
    calibrated = calibration_error(nlp, examples)
    pipe.model.calibration = None
    assert calibrated < min(0.08, calibration_error(nlp, examples) / 2)


def calibration_error(nlp: Language, examples: list[Example]) -> float:
    """The expected calibration error of the scores of entities, in ten bins."""
    scores, right = [], []
    for example in examples:
        gold = {(e.start, e.end, e.label_) for e in example.reference.ents}
        for entity in nlp(example.predicted.copy()).ents:
            scores.append(entity._.ssvm_score)
            right.append((entity.start, entity.end, entity.label_) in gold)
    assert len(scores) > 1000
    bins = np.array_split(np.argsort(scores, kind="stable"), 10)
    return float(
        np.mean([abs(np.take(scores, own).mean() - np.take(right, own).mean()) for own in bins])
    )


def test_training_goes_on_as_if_there_were_no_calibration() -> None:
    def weights(*, is_asked: bool) -> Any:
        # Entities whose type is not known everywhere: completions are not changed either.
        nlp, pipe = trained(0, 60, epochs=0)
        examples = noisy_examples(nlp, 0, 60)
        for example in examples[::3]:
            example.reference.set_ents([], missing=[example.reference[0:3]], default="unmodified")
        for _ in range(4):
            nlp.update(examples)
            if is_asked:
                pipe._sync()
        return pipe._trainer.run.w, nlp.to_bytes()

    (asked, saved), (other, same) = weights(is_asked=True), weights(is_asked=False)
    assert np.array_equal(asked, other)
    assert saved == same


def test_too_few_spans_are_not_calibrated() -> None:
    _, pipe = trained(0, 3)
    pipe._sync()
    assert pipe.model.calibration is None


def test_training_that_goes_on_with_few_examples_keeps_the_calibration() -> None:
    nlp, pipe = trained(0, 100)
    pipe._sync()
    known = pipe.model.calibration
    assert known is not None
    nlp.from_bytes(nlp.to_bytes())
    assert pipe.model.calibration == known
    nlp.update(noisy_examples(nlp, 1, 3))
    pipe._sync()
    assert pipe.model.calibration == known


@pytest.mark.parametrize(("enough", "folds"), [(10, 1), (10_000, 3)])
def test_no_fold_is_held_out_after_enough_spans(
    enough: int, folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, pipe = trained(0, 100)
    real, held_out = calibration.find_held_out, []

    def watched(problem: Any, w: Any, numbers: Any, scheme: Any) -> Any:
        held_out.append(numbers)
        return real(problem, w, numbers, scheme)

    monkeypatch.setattr(calibration, "find_held_out", watched)
    monkeypatch.setattr(calibration, "_ENOUGH", enough)
    pipe._sync()
    assert len(held_out) == folds
    numbers = np.concatenate(held_out)
    assert len(np.unique(numbers)) == len(numbers)
    assert len(numbers) == pytest.approx(100 * folds / 3, abs=10)


def test_what_is_saved_is_read_again() -> None:
    found = Calibration(Curve(1.0, -0.5), Curve(2, 0))
    saved = {"spans": [1.0, -0.5], "outside": [2, 0]}
    assert read_calibration(saved) == found
    assert read_calibration(None) is None


@pytest.mark.parametrize(
    "saved",
    [
        [],
        {},
        {"spans": [1.0, 0.0]},
        {"spans": [1.0, 0.0], "outside": [1.0]},
        {"spans": [1.0, 0.0], "outside": [1.0, float("nan")]},
        {"spans": [1.0, 0.0], "outside": [float("inf"), 0.0]},
        {"spans": [1.0, 0.0], "outside": [-1.0, 0.0]},
        {"spans": [1.0, 0.0], "outside": ["1", 0.0]},
        {"spans": [1.0, 0.0], "outside": [True, 0.0]},
        {"spans": [1.0, 0.0], "outside": 1.0},
    ],
)
def test_invalid_curves_are_refused(saved: Any) -> None:
    with pytest.raises(ValueError, match="calibration"):
        read_calibration(saved)
