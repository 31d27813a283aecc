"""Primal, dual and duality gap: the referee of solvers and of tests.

    P(w) = 1/2 |w - w_0|^2 + C sum_i max(0, max_y H_i(y; w))^2
    H_i(y; w) = Delta_i(y) - w . Phi_i(y)

P(w) >= D(alpha) for every w and every alpha >= 0 [CY13], so the gap bounds how far both
are from the optimum. With partial gold this holds for the completions that the problem has;
measured anew with the best completions, the gap can come out a little below 0.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Decoder, DecoderFunction, Floats, Floats1, Void, signed_kernel
from spacy_ssvm.problem import Examples, ExamplesType
from spacy_ssvm.scores import (
    add_costs,
    emission_scores,
    path_score,
    restrict_to_gold,
    transition_scores,
)


class Objective(NamedTuple):
    """The values of both problems, and (primal - dual) / primal."""

    primal: float
    dual: float
    gap: float


def evaluate(
    examples: Examples,
    decoder: DecoderFunction,
    w: Floats,
    *,
    C: float,
    regularizer: float,
    dual: float,
) -> Objective:
    """The objective at w, by loss-augmented inference on every example.

    regularizer: 1/2 |w - w_0|^2; dual: D(alpha) of any alpha >= 0.
    """
    violations = np.empty(len(examples.token_starts) - 1)
    max_violations(decoder, examples, w, violations)
    primal = regularizer + C * float((violations**2).sum())
    return Objective(primal, dual, relative_gap(primal, dual))


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P, and 0 where both are 0."""
    return (primal - dual) / primal if primal > 0 else 0.0


@signed_kernel(Void(Decoder, ExamplesType, Floats1, Floats1))
def max_violations(
    decode: DecoderFunction, examples: Examples, w: Floats, violations: Floats
) -> None:
    """Write max_y H_i(y; w) of each example.

    Partial gold is completed as the problem has it, or in the best way where it has not.
    """
    K = examples.legality.shape[1]
    transitions = np.empty((K + 2, K))
    transition_scores(w, examples.legality, transitions)
    for i in range(len(violations)):
        n = examples.token_starts[i + 1] - examples.token_starts[i]
        violations[i] = 0.0
        if n == 0:
            continue
        y = np.empty(n, dtype=np.int64)
        emissions = np.empty((n, K))
        emission_scores(examples, i, w, emissions)
        completion = examples.completions[examples.token_starts[i] : examples.token_starts[i + 1]]
        if completion.min() >= 0:
            gold_score = path_score(emissions, transitions, completion)
        else:
            restricted = emissions.copy()
            restrict_to_gold(examples, i, restricted)
            gold_score = decode(restricted, transitions, y)
        add_costs(examples, i, emissions)
        violations[i] = max(decode(emissions, transitions, y) - gold_score, 0.0)
