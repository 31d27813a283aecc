"""Tests of ``spacy_ssvm/objective.py``."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import gradient_of
from referee import all_numbers
from small_problems import (
    SMOOTH,
    checked,
    every_solver,
    naive_loss,
    small,
    started,
    trained,
    tree_problem,
)
from written_trees import BEHIND, COLUMNS, ROOT, SIZE, Trees, whole_weights

from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.objective import HINGE, LOG_LOSS, PERCEPTRON_LOSS, SQUARED_HINGE, Loss, losses
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.trees.keys import hash_endpoints
from spacy_ssvm.trees.pruner import all_arcs
from spacy_ssvm.trees.scores import arc_scores

pytestmark = pytest.mark.uncompiled


def sentences_with_siblings():
    """Sentences of 1 to 5 words; the arcs of the last tree cross."""
    random = np.random.default_rng(0)
    sentences = []
    for n in (1, 2, 3, 4, 5):
        words = random.integers(1, 4, size=(n, len(COLUMNS)))
        nodes = np.vstack([[[ROOT] * 2], words, [[BEHIND] * 2]]).astype(np.uint64)
        sentences.append((nodes, random.choice(brute.trees(n, True)).tolist()))
    return [*sentences, (sentences[3][0], [-1, 3, 4, 0, 3])]


SENTENCES = sentences_with_siblings()


@checked
@given(
    small,
    st.integers(0, 99),
    st.sampled_from([HINGE, SQUARED_HINGE, PERCEPTRON_LOSS, *SMOOTH]),
)
def test_losses_are_those_of_the_enumeration(chains, seed, loss):
    run = started(Perceptron(), chains)
    w = np.random.default_rng(seed).normal(size=len(run.w))
    expected = [
        naive_loss(chains, i, w, loss) if gold else 0.0 for i, gold in enumerate(chains.gold)
    ]
    found = losses(run.problem, w, all_numbers(run), loss)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_hinge_is_the_limit_of_large_beta():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    w = np.random.default_rng(0).normal(size=(5 + 8) * 3)
    run = started(Mira(), chains)
    numbers = all_numbers(run)
    hinge = losses(run.problem, w, numbers, HINGE)
    for beta in (1e1, 1e3, 1e5):
        smooth = losses(run.problem, w, numbers, Loss(beta, 1.0))
        assert (smooth >= hinge - 1e-9).all()
        assert (smooth <= hinge + 3 * np.log(3) / beta + 1e-9).all()


@every_solver
def test_the_objective_is_that_of_the_weights(solver):
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    run = trained(solver(), chains, 5)
    loss, C = run.settings.loss_function, run.settings.C
    total = sum(naive_loss(chains, i, run.w, loss) for i in all_numbers(run))
    assert run.objective().primal == pytest.approx(run.regularizer + C * total, rel=1e-5)
    assert (run.dual is None) == (run.gap is None) == (run.objective().gap is None)


def tree_scores(problem, i, w):
    """The score of each arc of example i."""
    examples = problem.examples()
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    N = end - start - 1
    allowed = np.empty((N, N), dtype=bool)
    all_arcs(allowed)
    scores = np.empty((N, N))
    endpoints = hash_endpoints(examples.features.arcs, examples.attributes, start, end)
    arc_scores(examples.features.arcs, endpoints, examples.features.size, w, allowed, scores)
    return scores, examples.heads[start : start + N]


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_losses_of_trees_are_those_of_the_enumeration(projective, loss):
    problem = tree_problem(projective=projective)
    w = np.random.default_rng(1).normal(size=2**10 + 1)
    w[-1] = 0
    found = losses(problem, w, np.arange(4), loss)
    for i in range(4):
        scores, gold = tree_scores(problem, i, w)
        margins = []
        for tree in brute.trees(len(gold) - 1, projective):
            wrong = sum(h != g for h, g in zip(tree, gold, strict=True))
            difference = sum(
                scores[h, m] - scores[g, m]
                for m, (h, g) in enumerate(zip(tree, gold, strict=True))
                if m > 0
            )
            margins.append(difference + loss.gamma * wrong)
        expected = np.logaddexp.reduce(loss.beta * np.array(margins)) / loss.beta
        assert found[i] == pytest.approx(expected, rel=1e-9)


def check_gradient(problem, rows, loss, seed, *, spread=1.0, error=1e-6):
    """The gradient that ``expected_difference`` writes, against finite differences of the loss.

    spread: of the weights.
    """
    random = np.random.default_rng(seed)
    size = problem.number_of_weights(rows)
    w, towards = random.normal(size=(2, size))
    w *= spread
    w[-1] = towards[-1] = 0.0  # of trees, what is no feature
    step = 1e-5
    for i in range(problem.number_of_examples):
        z, _, _, cost = problem.structure.expect(
            problem.examples(), i, w, loss.beta, loss.gamma, False
        )
        if len(z) == 0:
            continue
        indices, values = gradient_of(problem, i, z)
        ends = [
            losses(problem, w + sign * step * towards, np.array([i]), loss)[0] for sign in (1, -1)
        ]
        slope = values @ towards[indices]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=error)
        ends = [
            losses(problem, w, np.array([i]), loss._replace(gamma=loss.gamma + sign * step))[0]
            for sign in (1, -1)
        ]
        assert cost == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=error)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_expectations_of_trees_are_gradients(projective, loss):
    check_gradient(tree_problem(projective=projective), 2**10, loss, 0)


@pytest.mark.parametrize("kind", ["second", "grandparents", "grandparents alone"])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_losses_of_trees_of_second_order_are_those_of_the_enumeration(loss, kind):
    trees = Trees(kind, SENTENCES)
    w = np.random.default_rng(1).normal(size=SIZE + 1)
    w[-1] = 0
    found = losses(trees.problem(), w, np.arange(len(SENTENCES)), loss)
    for i, (_, gold) in enumerate(SENTENCES):
        right = trees.score(i, gold, w)
        margins = [
            trees.score(i, y, w) - right + loss.gamma * trees.cost(i, y)
            for y in trees.trees(i).tolist()
        ]
        expected = np.logaddexp.reduce(loss.beta * np.array(margins)) / loss.beta
        # Where the gold tree crosses, it is none of those: the sum can be negative.
        assert found[i] == pytest.approx(max(expected, 0.0), rel=1e-9)


def test_expectations_of_many_pairs_are_gradients():
    """The pairs of arcs have nearly all of the rows."""
    pair = "head.word+dependent.word+sibling.word"
    pairs = (pair, f"{pair}+direction", f"{pair}+distance", f"{pair}+dependent.word[1]")
    problem = tree_problem(projective=True, templates=("head.word", *pairs))
    check_gradient(problem, 2**10, SMOOTH[0], 0)
    grandparents = (pair.replace("sibling", "grandparent") for pair in pairs)
    problem = tree_problem(projective=True, templates=("head.word", *grandparents))
    check_gradient(problem, 2**10, SMOOTH[0], 0)


@pytest.mark.parametrize("kind", ["second", "grandparents"])
@pytest.mark.parametrize("threshold", [np.inf, 1.0])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_expectations_of_trees_of_second_order_are_gradients(loss, threshold, kind):
    trees = Trees(kind, SENTENCES, whole_weights(9), threshold)
    assert trees.allowed(4).sum() == (13 if threshold < np.inf else 25)  # of 5 words
    check_gradient(trees.problem(), SIZE, loss, 0)


@pytest.mark.parametrize("kind", ["second crossing", "grandparents crossing"])
@pytest.mark.parametrize("threshold", [np.inf, 1.0])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_beliefs_of_trees_of_second_order_that_may_cross_are_gradients(loss, threshold, kind):
    trees = Trees(kind, SENTENCES, whole_weights(2), threshold)
    check_gradient(trees.problem(), SIZE, loss, 0, spread=0.3, error=1e-4)


@pytest.mark.parametrize(
    ("kind", "exact", "error"),
    [("second crossing", 2, 0.05), ("grandparents crossing", 1, 0.15)],
)
def test_losses_of_trees_that_may_cross_are_near_those_of_the_enumeration(kind, exact, error):
    trees = Trees(kind, SENTENCES)
    w = np.random.default_rng(6).normal(size=SIZE + 1) * 0.3
    w[-1] = 0
    found = losses(trees.problem(), w, np.arange(len(SENTENCES)), LOG_LOSS)
    for i, (_, gold) in enumerate(SENTENCES):
        scores = [trees.score(i, y, w) for y in trees.trees(i).tolist()]
        expected = np.logaddexp.reduce(scores) - trees.score(i, gold, w)
        assert found[i] == pytest.approx(expected, abs=1e-9 if i < exact else error)


def test_a_loss_that_seems_negative_is_0_and_has_no_gradient():
    """The estimate is -4.83: messages do not converge with these weights."""
    nodes, gold = SENTENCES[3]
    trees = Trees("second crossing", [(nodes, gold)])
    w = np.random.default_rng(215).normal(size=SIZE + 1) * 10
    w[-1] = 0
    trees.gold[0] = max(trees.trees(0).tolist(), key=lambda y: trees.score(0, y, w))
    problem = trees.problem()
    z, loss, _, cost = problem.structure.expect(problem.examples(), 0, w, 1.0, 0.0, False)
    assert loss == 0.0
    assert len(gradient_of(problem, 0, z)[0]) == 0
    assert cost > 0


@checked
@given(small, st.sampled_from(SMOOTH), st.integers(0, 99))
def test_expectations_of_chains_are_gradients(chains, loss, seed):
    check_gradient(started(Perceptron(), chains).problem, chains.rows, loss, seed)


def test_the_k_best_trees_that_may_cross_are_refused():
    with pytest.raises(ValueError, match=r"^KBestMira\(.*k=2.* needs the k best structures"):
        KBestMira(k=2).start(tree_problem(projective=False))
