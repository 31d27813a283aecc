"""What the tests of small problems share."""

import brute
import clarabel
import naive
import numpy as np
import pytest
from conic_reference import solve_cone_program
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from marks import PLAIN
from referee import all_numbers

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.objective import LOG_LOSS, Loss
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient
from spacy_ssvm.trees.layout import ArcFeatures, Pruner
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.templates import (
    GRANDPARENT,
    SIBLING,
    ArcTemplate,
    compile_arc_templates,
)

checked = settings(
    deadline=None,
    max_examples=3 if PLAIN else 25,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking would take minutes
)


programmed = settings(checked, max_examples=3 if PLAIN else 12)  # the programs take their time


regularization = st.sampled_from([0.05, 0.5, 2.0])


SMOOTH = [LOG_LOSS, Loss(1.0, 1.0), Loss(3.0, 0.5)]


small = naive.chains(examples=3, length=2)


def started(solver, chains, prior=None):
    """A run of a solver on a problem, with room for it."""
    problem = ChainProblem(chains.K)
    problem.append(*chains.arrays())
    run = solver.start(problem, prior)
    run.grow(chains.rows)
    return run


def trained(solver, chains, epochs, prior=None):
    run = started(solver, chains, prior)
    for _ in range(epochs):
        run.epoch(all_numbers(run))
    return run


def hinge_optimum(referee):
    """The optimal value of the L1 problem over all structures, and its weights.

    Found by a solver of quadratic programs in (w - prior, xi).
    """
    C, prior = referee.C, referee.prior
    phi = np.vstack([phi for phi, _ in referee.structures])
    delta = np.concatenate([delta - phi @ prior for phi, delta in referee.structures])
    (m, d), n = phi.shape, len(referee.structures)
    owners = np.repeat(np.arange(n), [len(delta) for _, delta in referee.structures])
    x, optimum = solve_cone_program(
        1.0 * (np.arange(d + n) < d),
        np.repeat([0.0, C], [d, n]),
        -np.hstack([phi, owners[:, None] == np.arange(n)]),
        -delta,
        [clarabel.NonnegativeConeT(m)],
    )
    w = prior + x[:d]
    primal = ((w - prior) ** 2).sum() / 2 + C * referee.violations(w).sum()
    assert primal == pytest.approx(optimum, rel=1e-5, abs=1e-6)
    return optimum, w


def naive_loss(chains, i, w, loss):
    """A loss of one example, by enumeration."""
    K, features, gold = chains.K, chains.features[i], chains.gold[i]
    margins = []
    for y in brute.label_sequences(len(gold), K):
        phi = naive.difference(K, features, gold, y)
        cost = naive.cost(1 - np.eye(K), gold, y)
        margins.append(loss.gamma * cost - sum(w[index] * value for index, value in phi.items()))
    if loss.beta is None:
        value = max(margins)
    else:
        value = np.logaddexp.reduce(loss.beta * np.array(margins)) / loss.beta
    return value**2 if loss.squared else value


def pairwise_frank_wolfe(**options):
    return PairwiseFrankWolfe(**options)


def averaged_frank_wolfe(**options):
    return FrankWolfe(variant="averaged", sampling="gap", **options)


def crf_frank_wolfe(**options):
    return FrankWolfe(beta=1.0, gamma=0.0, **options)


def crf_gradient(**options):
    return StochasticGradient(beta=1.0, gamma=0.0, **options)


SOLVERS = [
    CuttingPlane,
    DualCoordinateAscent,
    DualCoordinateDescent,
    Extragradient,
    FrankWolfe,
    pairwise_frank_wolfe,
    averaged_frank_wolfe,
    crf_frank_wolfe,
    LBFGS,
    Mira,
    Perceptron,
    StochasticGradient,
    crf_gradient,
]


every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)


def tree_problem(*, projective, templates=("head.word + dependent.word",)):
    """Sentences of 2 to 4 words with drawn words and heads; all arcs are scored."""
    random = np.random.default_rng(0)
    parsed = [ArcTemplate.parse(template) for template in templates]
    arcs = compile_arc_templates([t for t in parsed if t.is_of_arc], ["word"])
    pairs = compile_arc_templates([t for t in parsed if t.side(SIBLING)], ["word"])
    grandparents = [t for t in parsed if t.side(GRANDPARENT)]
    grandparents = compile_arc_templates(grandparents, ["word"], GRANDPARENT)
    features = ArcFeatures(arcs, pairs, grandparents, 2**10, projective)
    pruner = Pruner(arcs, 2**10, np.zeros(2**10 + 1), np.inf, 4)
    problem = TreeProblem(features, pruner, 1)
    for n in (2, 3, 4, 4):
        trees = brute.trees(n, projective)
        heads = np.array([*trees[random.integers(len(trees))], -1], dtype=np.int64)
        words = random.integers(1, 6, size=(n + 2, 1)).astype(np.uint64)
        problem.append(words, np.array([0, n + 2]), heads)
    return problem
