"""Losses, primal, dual and duality gap, which stop solvers and test them.

    P(w) = 1/2 |w - w_0|^2 + C sum_i loss_i(w)

The losses are those of [MGS10 Eq. 3],

    L_{beta,gamma}(w; x_i, y_i) = 1/beta log sum_y exp beta (gamma Delta_i(y) - w . Phi_i(y)),

where beta = infinity makes it the violation max_y gamma Delta_i(y) - w . Phi_i(y), and the
squared violation. P(w) >= D(alpha) for every w and every dual point alpha [CY13], so the gap
bounds the distance of both from the optimum. With partial gold this holds for the completions
that the problem has; with the best completions, the measured gap can be slightly below 0.
"""

from typing import NamedTuple, cast

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.threads import map_by_all_threads
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1, Void
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    HINGE_ORACLES,
    AllocatingProblem,
    Decode,
    Difference,
    ExampleArrays,
    Expect,
    Problem,
    RemoteProblem,
)
from spacy_ssvm.weights.sparse import violation_of

_PART = 250  # examples that a thread measures at a time


class Loss(NamedTuple):
    """A member of the family L_{beta,gamma}, or its square."""

    beta: float | None = None  #: None for infinity
    gamma: float = 1.0  #: the scale of the cost
    squared: bool = False

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that give its gradient, or a subgradient."""
        return HINGE_ORACLES if self.beta is None else EXPECTED_ORACLES


HINGE = Loss()
SQUARED_HINGE = Loss(squared=True)
PERCEPTRON_LOSS = Loss(gamma=0.0)
LOG_LOSS = Loss(beta=1.0, gamma=0.0)


class Objective(NamedTuple):
    """The values of both problems, and (primal - dual) / primal; None without a dual."""

    primal: float
    dual: float | None
    gap: float | None


def evaluate(
    problem: Problem,
    w: Floats,
    *,
    C: float,
    regularizer: float,
    dual: float | None = None,
    loss: Loss = SQUARED_HINGE,
) -> Objective:
    """The objective at w, by inference on every example.

    regularizer: 1/2 |w - w_0|^2; dual: D(alpha) of any dual point.
    """
    everything = np.arange(problem.number_of_examples)
    primal = regularizer + C * float(losses(problem, w, everything, loss).sum())
    return Objective(primal, dual, None if dual is None else relative_gap(primal, dual))


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P, and 0 where both are 0."""
    return (primal - dual) / primal if primal > 0 else 0.0


def losses(problem: Problem, w: Floats, numbers: Ints, loss: Loss) -> Floats:
    """The losses of these examples at w.

    Partial gold has the completions of the problem, or else the best ones.
    """
    found, gamma = np.zeros(len(numbers)), float(loss.gamma)
    if problem.structure.is_remote:
        for positions, own in cast(RemoteProblem, problem).compute(losses, w, numbers, loss):
            found[positions] = own
        return found
    arrays, most = (problem.structure, _measured_examples(problem)), problem.max_entries

    def measure(part: slice) -> None:
        if loss.beta is None:
            _max_violations(*arrays, numbers[part], w, gamma, most, found[part])
        else:
            _smooth_losses(*arrays, numbers[part], w, float(loss.beta), gamma, found[part])

    starts = range(0, len(numbers), _PART)
    map_by_all_threads(measure, [slice(start, start + _PART) for start in starts])
    return found**2 if loss.squared else found


def _measured_examples(problem: Problem) -> ExampleArrays:
    """The arrays of a problem, whose weights stay as they are."""
    if problem.structure.is_lazy:
        return cast(AllocatingProblem, problem).frozen_examples()
    return problem.examples()


@oracle_kernel(HINGE_ORACLES, Void, Ints1, Floats1, Float, Int, Floats1)
def _max_violations(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    numbers: Ints,
    w: Floats,
    gamma: float,
    max_entries: int,
    violations: Floats,
) -> None:
    """Write max_y gamma Delta_i(y) - w . Phi_i(y) of each example."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    for position in range(len(numbers)):
        i = numbers[position]
        y, cost, _ = decode(examples, i, w, gamma, False)
        if len(y) > 0:
            size = difference(examples, i, y, indices, values)
            violation = violation_of(gamma * cost, w, indices, values, 0, size)
            violations[position] = max(violation, 0.0)


@oracle_kernel(("expect",), Void, Ints1, Floats1, Float, Float, Floats1)
def _smooth_losses(
    expect: Expect,
    examples: ExampleArrays,
    numbers: Ints,
    w: Floats,
    beta: float,
    gamma: float,
    found: Floats,
) -> None:
    """Write L_{beta,gamma} of each example."""
    for position in range(len(numbers)):
        i = numbers[position]
        z, loss, _, _ = expect(examples, i, w, beta, gamma, False)
        if len(z) > 0:
            found[position] = loss
