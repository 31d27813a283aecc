"""A structure with a few candidates, written out: the smallest one that has every oracle.

Some of its weights are kept >= 0.
"""

from typing import NamedTuple

import clarabel
import numpy as np
from conic_reference import solve_cone_program

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Floats1, Floats2, Ints, Ints1, named_tuple
from spacy_ssvm.structure import Structure


class Finite(NamedTuple):
    """The arrays of a problem."""

    starts: Ints  #: int64 [examples + 1]: the first candidate of each example
    phi: Floats  #: float64 [candidates, features]
    costs: Floats  #: float64 [candidates]
    gold: Ints  #: int64 [examples]: the gold candidate, counted from the first; -1 for none


FiniteType = named_tuple(Finite, Ints1, Floats2, Floats1, Ints1)


@kernel
def difference(examples, i, y, indices, values):
    """See ``Structure.difference``."""
    start = examples.starts[i]
    gold, other = examples.phi[start + examples.gold[i]], examples.phi[start + y[0]]
    size = 0
    for index in range(len(gold)):
        if gold[index] != other[index]:
            indices[size] = index
            values[size] = gold[index] - other[index]
            size += 1
    return size


@kernel
def scores_of(examples, i, w, gamma):
    """w . phi(x_i, y) + gamma Delta_i(y) of each candidate."""
    start, end = examples.starts[i], examples.starts[i + 1]
    found = np.empty(end - start)
    for y in range(end - start):
        found[y] = gamma * examples.costs[start + y]
        for index in range(examples.phi.shape[1]):
            found[y] += w[index] * examples.phi[start + y, index]
    return found


@kernel
def decode(examples, i, w, gamma, complete):
    """See ``Structure.decode``: y has the number of the best candidate."""
    ys, costs = k_best_decode(examples, i, w, gamma, 1, complete)
    if len(ys) == 0:
        return np.empty(0, dtype=np.int64), 0.0, False
    return ys[0], costs[0], False


@kernel
def k_best_decode(examples, i, w, gamma, k, complete):
    """See ``Structure.k_best_decode``."""
    if examples.gold[i] < 0:
        return np.empty((0, 0), dtype=np.int64), np.empty(0)
    best = np.argsort(-scores_of(examples, i, w, gamma))[:k]
    return best.reshape(len(best), 1), examples.costs[examples.starts[i] + best]


@kernel
def expected_difference(examples, i, z, indices, values):
    """See ``Structure.expected_difference``: z has a weight for each candidate."""
    start, end = examples.starts[i], examples.starts[i + 1]
    size = 0
    for index in range(examples.phi.shape[1]):
        value = (z * examples.phi[start:end, index]).sum()
        value -= examples.phi[start + examples.gold[i], index]
        if value != 0:
            indices[size] = index
            values[size] = value
            size += 1
    return size


@kernel
def expect(examples, i, w, beta, gamma, complete):
    """See ``Structure.expect``."""
    if examples.gold[i] < 0:
        return np.empty(0), 0.0, False, 0.0
    scores = beta * scores_of(examples, i, w, gamma)
    z = np.exp(scores - scores.max())
    loss = (np.log(z.sum()) + scores.max() - beta * scores_of(examples, i, w, 0.0)[0]) / beta
    z /= z.sum()
    cost = (z * examples.costs[examples.starts[i] : examples.starts[i + 1]]).sum()
    return z, loss, False, cost


@kernel
def project(examples, i, w, step, complete, parts, direction):
    """See ``Structure.project``: the parts are the candidates, the hull is the simplex."""
    if examples.gold[i] < 0:
        return np.empty(0), 0.0, False
    if complete:
        parts[:] = 0.0
        parts[examples.gold[i]] = 1.0
    direction[:] = scores_of(examples, i, w, 1.0)
    moved = parts + step * direction
    total, threshold = 0.0, -np.inf
    ordered = np.sort(moved)
    for k in range(len(ordered)):
        total += ordered[len(ordered) - 1 - k]
        threshold = max(threshold, (total - 1.0) / (k + 1))
    parts[:] = np.maximum(moved - threshold, 0.0)
    cost = (parts * examples.costs[examples.starts[i] : examples.starts[i + 1]]).sum()
    return parts, cost, False


FINITE = Structure(
    FiniteType, decode, difference, expect, expected_difference, k_best_decode, project
)


class FiniteProblem:
    """Examples that are lists of candidates, of which the first is gold, with cost 0.

    phi: float64 [candidates, features] of each example; costs: float64 [candidates] of each.
    """

    structure = FINITE

    def __init__(self, phi, costs, nonnegative):
        self.phi, self.costs, self.nonnegative = phi, costs, nonnegative
        self.gold = np.zeros(len(phi), dtype=np.int64)

    @property
    def number_of_examples(self):
        return len(self.phi)

    @property
    def max_entries(self):
        return self.phi[0].shape[1]

    @property
    def max_expected_entries(self):
        return self.max_entries

    @property
    def part_starts(self):
        return np.cumsum([0, *map(len, self.costs)])

    def number_of_weights(self, rows):
        return self.max_entries

    def examples(self):
        return Finite(self.part_starts, np.vstack(self.phi), np.concatenate(self.costs), self.gold)

    def forget(self, numbers):
        self.gold[numbers] = -1


def random_problem(seed, *, examples=6, candidates=4, features=6, nonnegative=3):
    """Candidates with drawn features: without signs, about half of the weights are negative."""
    random = np.random.default_rng(seed)
    phi = [random.integers(-2, 3, size=(candidates, features)) / 1.0 for _ in range(examples)]
    costs = [np.append(0.0, random.integers(1, 4, size=candidates - 1)) for _ in range(examples)]
    return FiniteProblem(phi, costs, nonnegative)


def optimum(problem, C, *, prior=None, squared=False, signs=True):
    """The least 1/2 |w - w_0|^2 + C sum_i max_y H_i(y), or of its square, and its weights.

    Over the weights that the problem allows; over all without ``signs``.
    """
    features, examples = problem.max_entries, problem.number_of_examples
    prior = np.zeros(features) if prior is None else prior
    phi = np.vstack([rows[0] - rows for rows in problem.phi])
    owners = np.repeat(np.eye(examples), [len(rows) for rows in problem.phi], axis=0)
    bounds = np.concatenate(problem.costs) - phi @ prior
    kept = np.eye(features, features + examples)[: problem.nonnegative if signs else 0]
    x, value = solve_cone_program(
        np.repeat([1.0, 2 * C if squared else 0.0], [features, examples]),
        np.repeat([0.0, 0.0 if squared else C], [features, examples]),
        -np.vstack([np.hstack([phi, owners]), kept]),
        np.append(-bounds, prior[: len(kept)]),
        [clarabel.NonnegativeConeT(len(phi) + len(kept))],
    )
    return value, prior + x[:features]
