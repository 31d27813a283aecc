"""What the tests of referee share."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from marks import PLAIN
from scipy.optimize import lsq_linear

from spacy_ssvm.chains.problem import ChainProblem, hamming_costs
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent

checked = settings(
    deadline=None,
    max_examples=5 if PLAIN else 50,
    suppress_health_check=[HealthCheck.too_slow],
)


regularization = st.sampled_from([0.05, 0.5, 2.0])


EPOCHS = 40_000  # most problems need tens, few more than a thousand


class Referee:
    """A problem with all its structures written out, and its objective by definition."""

    def __init__(self, chains, *, costs=None, legality=None, prior=None, C):
        K = chains.K
        self.C = C
        self.chains = chains
        self.size = (K + 2 + chains.rows) * K
        self.costs = hamming_costs(K) if costs is None else costs
        self.legality = np.zeros((K + 2, K)) if legality is None else legality
        self.prior = np.zeros(self.size) if prior is None else prior
        self.structures = []  # of each example: (Phi as a dense vector, Delta), gold included
        for features, gold in zip(chains.features, chains.gold, strict=True):
            legal = brute.legal_sequences(len(gold), self.legality)
            self.structures.append(
                (
                    np.array(
                        [
                            naive.dense(naive.difference(K, features, gold, y), self.size)
                            for y in legal
                        ]
                    ),
                    np.array([naive.cost(self.costs, gold, y) for y in legal]),
                )
            )

    def problem(self):
        problem = ChainProblem(self.chains.K, costs=self.costs, legality=self.legality)
        problem.append(*self.chains.arrays())
        return problem

    def violations(self, w):
        """max_y H_i(y; w) of each example."""
        return np.array([(delta - phi @ w).max() for phi, delta in self.structures])

    def primal(self, w):
        """P(w)"""
        losses = (np.maximum(self.violations(w), 0) ** 2).sum()
        return ((w - self.prior) ** 2).sum() / 2 + self.C * losses

    def solve(self):
        """The optimal value and weights, exact to rounding: checked by the primal.

        With u = (w - w_0, sqrt(2 C) xi) this asks for the shortest u with G u >= h: least
        distance programming, which Lawson and Hanson (1974, chapter 23) reduce to least
        squares with variables that are not negative. (scipy's nnls stops too early on one
        in some hundreds of these problems; bvls does not.)
        """
        rows = []
        for i, (phi, delta) in enumerate(self.structures):
            slack = np.zeros((len(delta), len(self.structures)))
            slack[:, i] = 1 / np.sqrt(2 * self.C)
            rows.append(np.column_stack([phi, slack, delta - phi @ self.prior]))
        matrix = np.unique(np.vstack(rows), axis=0).T
        target = np.zeros(len(matrix))
        target[-1] = 1
        alpha = lsq_linear(matrix, target, (0, np.inf), method="bvls", tol=1e-14).x
        residual = target - matrix @ alpha
        u = residual[:-1] / -residual[-1]
        value, w = (u**2).sum() / 2, self.prior + u[: self.size]
        assert self.primal(w) == pytest.approx(value, rel=1e-9, abs=1e-12)
        return value, w


def start(problem, rows, *, prior=None, **options):
    """A run with room for the problem, of settings that do not stop it early."""
    solver = DualCoordinateDescent(**{"delta": 1e-10, "tolerance": 0.0, **options})
    run = solver.start(problem, prior)
    run.grow(rows)
    return run


def all_numbers(run):
    return np.arange(run.problem.number_of_examples)


def converge(run, gap=1e-9):
    """Run epochs over all examples until the exact gap is small."""
    for _ in range(EPOCHS // 10):
        for _ in range(10):
            run.epoch(all_numbers(run))
        objective = run.objective()
        if objective.primal - objective.dual <= gap * (objective.primal + 1e-3):
            return run
    raise AssertionError(f"after {EPOCHS} epochs: {run.objective()}")


def phi_of(sets, constraint):
    """The indices and values of a stored Phi."""
    start, size, units = (a[constraint] for a in (sets.starts, sets.sizes, sets.units))
    indices = sets.indices[start : start + size]
    first = sets.value_starts[constraint]
    rest = sets.values[first : first + size - units]
    assert not (abs(rest) == 1).any()
    values = np.concatenate([np.where(indices[:units] < 0, -1.0, 1.0), rest])
    return np.where(indices < 0, ~indices, indices), values


def constraints(run, i):
    """What is stored of example i, newest first: (alpha, Delta, Phi as a dict)."""
    sets = run.sets
    found = []
    constraint = sets.newest[i]
    while constraint >= 0:
        phi = dict(zip(*(part.tolist() for part in phi_of(sets, constraint)), strict=True))
        assert len(phi) == sets.sizes[constraint]
        found.append((float(sets.alphas[constraint]), float(sets.costs[constraint]), phi))
        constraint = sets.older[constraint]
    return found


def weights(run, referee):
    """The weights without the zeros that may lie behind them."""
    assert not run.w[referee.size :].any()
    return run.w[: referee.size]


def alpha_sums(run):
    """A_i of each example."""
    return np.array([sum(alpha for alpha, _, _ in constraints(run, i)) for i in all_numbers(run)])


def check_expansion(run, prior=None):
    """w, D and 1/2 |w - w_0|^2 equal what the stored dual variables say."""
    size = len(run.w)
    w_0 = np.zeros(size)
    if prior is not None:
        w_0[: len(prior)] = prior
    v, gain = np.zeros(size), 0.0
    for i in all_numbers(run):
        for alpha, delta, phi in constraints(run, i):
            assert alpha > 0
            v += alpha * naive.dense(phi, size)
            gain += alpha * (delta - sum(w_0[index] * value for index, value in phi.items()))
    sums = alpha_sums(run)
    regularizer = (v**2).sum() / 2
    dual = -regularizer - (sums**2).sum() / (4 * run.settings.C) + gain
    np.testing.assert_allclose(run.w, w_0 + v, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.sets.alpha_sums[: len(sums)], sums, rtol=1e-9, atol=1e-9)
    assert run.regularizer == pytest.approx(regularizer, rel=1e-9, abs=1e-9)
    assert run.dual == pytest.approx(dual, rel=1e-9, abs=1e-9)


def trained(chains, epochs, **options):
    problem = ChainProblem(chains.K)
    problem.append(*chains.arrays())
    run = start(problem, chains.rows, C=0.5, **options)
    for _ in range(epochs):
        run.epoch(all_numbers(run))
    return run


ANY, LOW, HIGH = 3, 4, 5  # label sets over three labels: all, {0, 1} and {1, 2}


def partial_problem(chains):
    problem = ChainProblem(3)
    assert [problem.label_set([0, 1]), problem.label_set([1, 2])] == [LOW, HIGH]
    problem.append(*chains.arrays())
    return problem
