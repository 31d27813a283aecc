"""Solvers that allocate weights on first use, and problems for them."""

import naive
import numpy as np
import pytest
from small_problems import SOLVERS

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient
from spacy_ssvm.weights.rows import find_entries

ALLOCATING = [*{s for s in SOLVERS if s().allocates}, KBestMira]
ALLOCATING.sort(key=lambda solver: solver.__name__)
VARIANTS = [
    *(solver() for solver in ALLOCATING),
    FrankWolfe(variant="averaged"),
    DualCoordinateDescent(variant="cpd"),
    DualCoordinateDescent(block=8),
    FrankWolfe(block=8),
    Mira(block=8),
    Perceptron(block=8),
    StochasticGradient(eta0=0.25),
    Mira(loss_augmented=False),
]
every_allocating = pytest.mark.parametrize("solver", VARIANTS, ids=str)


def chains_of(K, rows=30):
    """Sequences with gold labels, some of which are not known."""
    chains = naive.random_chains(K, K=K, rows=rows, examples=40, length=7)
    random = np.random.default_rng(K)
    for gold in chains.gold:
        for t in range(len(gold)):
            gold[t] = K if random.random() < 0.1 else gold[t]
    return chains


def start(solver, chains, *, lazily, prior=None):
    """A run on a problem that allocates its weights lazily, or all at once.

    prior: float64 [pairs of labels, and rows x K], all weights.
    """
    problem = ChainProblem(chains.K)
    problem.append(*chains.arrays())
    problem.allocate(lazily=lazily)
    if prior is not None and lazily:
        first, (rows, labels) = (
            (chains.K + 2) * chains.K,
            prior[-chains.rows * chains.K :].reshape(chains.rows, chains.K).nonzero(),
        )
        starts = np.searchsorted(rows, np.arange(chains.rows + 1))
        entries = problem.insert(starts, labels.astype(np.uint16))
        w = np.zeros(problem.number_of_weights(0))
        w[:first] = prior[:first]
        w[first + entries] = prior[first + rows * chains.K + labels]
        prior = w
    run = solver.start(problem, prior)
    run.grow(chains.rows)
    return run


def all_weights(run, chains):
    """The weights of a run as if all were allocated: float64."""
    K, first = chains.K, (chains.K + 2) * chains.K
    w, table = run.w, run.problem.table
    found = np.zeros(first + chains.rows * K)
    found[:first] = w[:first]
    entries = np.empty(K, dtype=np.int64)
    for row in range(chains.rows):
        find_entries(table._replace(grows=False), row, np.arange(K), entries)
        for k, entry in enumerate(entries.tolist()):
            if entry >= 0:
                found[first + row * K + k] = w[first + entry]
    return found
