"""Primal, dual and duality gap: the referee of solvers and of tests.

    P(w) = 1/2 |w - w_0|^2 + C sum_i max(0, max_y H_i(y; w))^2
    H_i(y; w) = Delta_i(y) - w . Phi_i(y)

P(w) >= D(alpha) for every w and every alpha >= 0 [CY13], so the gap bounds how far both
are from the optimum. With partial gold this holds for the completions that the problem has;
measured anew with the best completions, the gap can come out a little below 0.
"""

from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm._jit import Floats, Floats1, Int, Void, oracle_kernel
from spacy_ssvm.structure import AnyProblem, FindViolator


class Objective(NamedTuple):
    """The values of both problems, and (primal - dual) / primal."""

    primal: float
    dual: float
    gap: float


def evaluate(
    problem: AnyProblem,
    w: Floats,
    *,
    C: float,
    regularizer: float,
    dual: float,
) -> Objective:
    """The objective at w, by loss-augmented inference on every example.

    regularizer: 1/2 |w - w_0|^2; dual: D(alpha) of any alpha >= 0.
    """
    violations = np.empty(problem.number_of_examples)
    max_violations(problem.structure, problem.examples(), w, problem.most_entries, violations)
    primal = regularizer + C * float((violations**2).sum())
    return Objective(primal, dual, relative_gap(primal, dual))


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P, and 0 where both are 0."""
    return (primal - dual) / primal if primal > 0 else 0.0


@oracle_kernel(lambda oracle, examples: Void(oracle, examples, Floats1, Int, Floats1))
def max_violations(
    find_violator: FindViolator, examples: Any, w: Floats, most_entries: int, violations: Floats
) -> None:
    """Write max_y H_i(y; w) of each example.

    Partial gold is completed as the problem has it, or in the best way where it has not.
    """
    indices = np.empty(most_entries, dtype=np.int32)
    values = np.empty(most_entries, dtype=np.float32)
    outcome = np.empty(2)
    for i in range(len(violations)):
        violation = 0.0
        size = find_violator(examples, i, w, False, indices, values, outcome)
        if size >= 0:
            violation = outcome[0]
            for entry in range(size):
                violation -= w[indices[entry]] * values[entry]
        violations[i] = max(violation, 0.0)
