"""What the tests of chain scores share."""

import numpy as np
from hypothesis import settings
from marks import PLAIN

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.chains.scores import (
    feature_difference,
    transition_difference,
)

checked = settings(deadline=None, max_examples=30 if PLAIN else 200)


def problem_of(chains, costs=None, sets=()):
    problem = ChainProblem(chains.K, costs=costs)
    for labels in sets:
        problem.label_set(labels)
    problem.append(*chains.arrays())
    return problem


def difference_of(problem, i, gold, y):
    """Phi_i(y) as a dict, from the kernels; no index may occur twice in what they write."""
    room, examples = problem.max_entries, problem.examples()
    indices, values = np.full(room, -7, dtype=np.int32), np.full(room, np.nan, dtype=np.float32)
    gold, y = np.array(gold, np.int64), np.array(y, np.int64)
    size = transition_difference(gold, y, problem.K, indices, values)
    assert size <= 2 * (len(y) + 1)
    size += feature_difference(
        examples.features,
        examples.token_starts[i],
        problem.K,
        gold,
        y,
        indices[size:],
        values[size:],
    )
    assert size <= room
    phi = dict(zip(indices[:size].tolist(), values[:size].tolist(), strict=True))
    assert len(phi) == size
    return phi
