"""Calibrated scores: the probability that a span is right, by its margin.

A model trained with a margin loss has no probabilities, and the margins in what it has learned from
say nothing about other texts. So a copy of the training run forgets a third of the examples, and
makes two passes over the others; the spans that it finds in what it has forgotten, right or wrong,
determine a logistic curve over their margins (Platt 1999, Probabilistic Outputs for Support Vector
Machines). It has two parameters, which Newton's method fits in a few lines: scipy and scikit-learn
are no requirements of this package. The weights of the model are those of all examples.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np

from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.chains.schemes import OUTSIDE, Scheme, SpanTable, spans_of
from spacy_ssvm.chains.scores import emission_scores, is_annotated, transition_scores
from spacy_ssvm.chains.training import ChainTrainer
from spacy_ssvm.decoders.chain import fill_margins, max_marginals, viterbi
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Ints
from spacy_ssvm.labelings.saved_model import Calibration, Curve
from spacy_ssvm.solvers.dual_run import WorkingSetRun
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.structure import RemoteProblem

_FOLDS = 3
_BLOCKS = 20  # of examples in each fold, so that sentences of a text tend to stay together
_ENOUGH = 500  # held-out spans after which no other fold is held out
_PASSES = 2  # over the others, which make up for what was forgotten
_LEAST = 50  # held-out spans without which nothing is fitted

_STEPS = 50  # of Newton's method, at most
_RIDGE = 1e-3
_LARGEST = 700.0  # whose exponential is finite


class HeldOut(NamedTuple):
    """What was found in examples that a run has forgotten."""

    margins: Floats
    right: Flags


class SpanTrainer(ChainTrainer):
    """Trains a model of spans, and calibrates their scores where the solver keeps working sets.

    scheme: of the spans. settings: see ``ChainTrainer``.
    """

    def __init__(
        self, model: ChainModel, solver: Solver, *, scheme: Scheme, **settings: Any
    ) -> None:
        super().__init__(model, solver, **settings)
        self._scheme = scheme
        self._known = model.calibration

    def _write(self) -> None:
        super()._write()
        run = self.run
        if self.model.beta is None and isinstance(run, WorkingSetRun):
            self.model.calibration = calibrate(run, self._scheme) or self._known


def calibrate(run: WorkingSetRun, scheme: Scheme) -> Calibration | None:
    """The probabilities of spans, and of words outside of them, by their margins.

    Costs up to four epochs of training; neither the run nor the problem changes. None where there
    are too few spans.
    """
    N = run.problem.number_of_examples
    folds = np.arange(N) * _FOLDS * _BLOCKS // max(N, 1) % _FOLDS
    spans: list[HeldOut] = []
    outside: list[HeldOut] = []
    for fold in range(_FOLDS):
        numbers = np.flatnonzero(folds == fold)
        with _forgotten(run, numbers) as rest:
            for _ in range(_PASSES):
                rest.epoch(np.flatnonzero(folds != fold))
            found = _find_all(rest, numbers, scheme)
        for of_spans, of_words in found:
            spans.append(of_spans)
            outside.append(of_words)
        if sum(len(found.right) for found in spans) >= _ENOUGH:
            break
    if sum(len(found.right) for found in spans) < _LEAST:
        return None
    curves = [
        fit_curve(*map(np.concatenate, zip(*found, strict=True))) for found in (spans, outside)
    ]
    return Calibration(*curves)


@contextmanager
def _forgotten(run: WorkingSetRun, numbers: Ints) -> Iterator[WorkingSetRun]:
    """A copy of a run that has forgotten some examples; partial gold is completed as before it."""
    rest = run.without(numbers)
    if run.problem.structure.is_remote:
        try:
            yield rest
        finally:
            cast(RemoteProblem, rest.problem).release()
        return
    examples = cast(Examples, run.problem.examples())
    completions = examples.completions.copy()
    try:
        yield rest
    finally:
        examples.completions[:] = completions


def _find_all(run: WorkingSetRun, numbers: Ints, scheme: Scheme) -> list[tuple[HeldOut, HeldOut]]:
    """See ``find_held_out``: what each process has found."""
    if run.problem.structure.is_remote:
        remote = cast(RemoteProblem, run.problem)
        return [found for _, found in remote.compute(find_held_out, run.w, numbers, scheme)]
    return [find_held_out(cast(ChainProblem, run.problem), run.w, numbers, scheme)]


def find_held_out(
    problem: ChainProblem, w: Floats, numbers: Ints, scheme: Scheme
) -> tuple[HeldOut, HeldOut]:
    """The spans, and the words outside of spans, that weights find in some examples.

    Leaves out what gold does not tell about.
    """
    examples = problem.examples()
    gold = np.asarray(examples.gold)
    known = gold < len(scheme.labels)
    labels = np.full(len(gold), OUTSIDE)
    margins = np.full(len(gold), np.inf)
    label_examples(examples, w, numbers, labels, margins)
    starts = np.zeros(len(gold), dtype=bool)
    starts[examples.token_starts[:-1]] = True
    spans = spans_of(scheme.decode(labels, starts))
    true = spans_of(scheme.decode(np.where(known, gold, OUTSIDE), starts))
    sizes = len(gold), len(scheme.types)
    right = np.isin(_numbers(spans, *sizes), _numbers(true, *sizes))
    judged = least(known, spans)
    words = known & (labels == OUTSIDE) & np.isfinite(margins)
    return (
        HeldOut(least(margins, spans)[judged], right[judged]),
        HeldOut(margins[words], gold[words] == OUTSIDE),
    )


def _numbers(spans: SpanTable, tokens: int, types: int) -> Ints:
    """A number for each span, the same for the same words and type."""
    return np.asarray((spans.starts * tokens + spans.ends - 1) * types + spans.types)


def least(values: Any, spans: SpanTable) -> Any:
    """The least value of the words of each span: [spans], of the type of values: [words]."""
    ends = np.column_stack([spans.starts, spans.ends]).ravel()
    padded = np.append(values, values[:1])
    return np.minimum.reduceat(padded, ends)[::2] if len(ends) else values[:0]


def fit_curve(margins: Floats, right: Flags) -> Curve:
    """The logistic curve that makes what is right or wrong most probable, with Platt's targets.

    It does not fall: a larger margin never has a lower probability.
    """
    hits = np.count_nonzero(right)
    targets = np.where(right, (hits + 1) / (hits + 2), 1 / (len(right) - hits + 2))
    columns = np.column_stack([margins, np.ones(len(margins))])
    parameters = np.zeros(2)
    for _ in range(_STEPS):
        found = _logistic(columns @ parameters)
        slope = columns.T @ (targets - found) - _RIDGE * parameters
        curvature = (columns.T * (found * (1 - found))) @ columns + _RIDGE * np.eye(2)
        step = np.clip(np.linalg.solve(curvature, slope), -1.0, 1.0)
        parameters += step
        if np.abs(step).max() < 1e-9:
            break
    if parameters[0] < 0:
        mean = targets.mean()
        return Curve(0.0, float(np.log(mean / (1 - mean))))
    return Curve(*parameters.tolist())


def probabilities(curve: Curve | None, margins: Floats) -> Floats:
    """The probability of being right, below 1, by margin; 1 - exp(-margin) without a curve."""
    if curve is None:
        found = -np.expm1(-margins)
    else:
        found = _logistic(curve.slope * np.minimum(margins, _LARGEST) + curve.offset)
    return np.asarray(np.minimum(found, np.nextafter(1, 0)))


def _logistic(scores: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -_LARGEST, _LARGEST))))


@kernel
def label_examples(examples: Examples, w: Floats, numbers: Ints, y: Ints, margins: Floats) -> None:
    """Write the best labels of some examples under w, and their margins: int64, float64 [tokens].

    Leaves out examples without gold annotation.
    """
    K = examples.legality.shape[1]
    transitions = transition_scores(w, examples.legality)
    for i in numbers:
        if is_annotated(examples, i):
            first, last = examples.token_starts[i], examples.token_starts[i + 1]
            emissions = np.empty((last - first, K))
            emission_scores(examples.features, first, w, emissions)
            viterbi(emissions, transitions, y[first:last])
            best = max_marginals(emissions, transitions)
            fill_margins(best, y[first:last], margins[first:last])
