"""Solvers by the objectives that they minimize: quadratic programs, enumeration, each other."""

import tempfile

import brute
import clarabel
import naive
import numpy as np
import pytest
import spacy
from conic_reference import solve_cone_program
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from marks import PLAIN, compiled_only
from pipelines import RECOGNIZER, TAGGER, copy_of
from scipy.optimize import minimize
from spacy.tokens import Doc
from spacy.training import Example
from test_dual_coordinate_descent import Referee, all_numbers
from thinc.config import ConfigValidationError

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.objective import HINGE, LOG_LOSS, PERCEPTRON_LOSS, SQUARED_HINGE, Loss, losses
from spacy_ssvm.solvers import run as run_module
from spacy_ssvm.solvers import stochastic_gradient
from spacy_ssvm.solvers.averaging import Averaged, add_to_average
from spacy_ssvm.solvers.cutting_plane import CuttingPlane
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.hildreth import hildreth
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient
from spacy_ssvm.trees.keys import hash_endpoints
from spacy_ssvm.trees.layout import ArcFeatures, Pruner
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner import all_arcs
from spacy_ssvm.trees.scores import arc_scores
from spacy_ssvm.trees.templates import ArcTemplate, compile_arc_templates

pytestmark = pytest.mark.uncompiled

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


# --- Losses -----------------------------------------------------------------------------


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


# --- Exact solvers of the L1 problem ----------------------------------------------------


@programmed
@given(small, regularization)
def test_frank_wolfe_reaches_the_optimum_of_the_quadratic_program(chains, C):
    """Its bounds close in on it, at the rate 1 / epochs: the last digits would take very long."""
    value, _ = hinge_optimum(Referee(chains, C=C))
    objective = trained(FrankWolfe(C=C, tolerance=1e-4), chains, 2000).objective()
    assert objective.dual >= 0.98 * value - 1e-6
    assert objective.primal <= 1.05 * value + 1e-6
    slack = 1e-4 * value + 1e-6
    assert objective.dual - slack <= value <= objective.primal + slack


@programmed
@given(small, regularization, st.booleans())
def test_pairwise_steps_reach_the_optimum_of_the_quadratic_program(chains, C, has_prior):
    """To the last digits, which the plain steps do not."""
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = np.random.default_rng(0).integers(-2, 3, size) / 2 if has_prior else None
    value, _ = hinge_optimum(Referee(chains, prior=prior, C=C))
    run = trained(FrankWolfe(C=C, variant="pairwise", tolerance=1e-6), chains, 300, prior)
    objective = run.objective()
    assert objective.gap <= 1e-5 or objective.primal <= 1e-6
    assert objective.primal == pytest.approx(value, rel=1e-4, abs=1e-6)


@programmed
@given(small, regularization, st.booleans())
def test_cutting_planes_reach_the_optimum_of_the_quadratic_program(chains, C, has_prior):
    size = (chains.K + 2 + chains.rows) * chains.K
    prior = np.random.default_rng(0).integers(-2, 3, size) / 2 if has_prior else None
    value, _ = hinge_optimum(Referee(chains, prior=prior, C=C))
    run = trained(CuttingPlane(C=C, tolerance=2e-5), chains, 200, prior)
    objective = run.objective()
    assert objective.primal == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert objective.dual == pytest.approx(value, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("solver", "package"), [(CuttingPlane(), "clarabel"), (LBFGS(), "scipy")])
def test_solvers_without_their_package_say_what_to_install(monkeypatch, solver, package):
    monkeypatch.setattr(run_module, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=rf"{package}, .*pip install .spacy-ssvm\[solvers\]"):
        solver.start(ChainProblem(2))


@compiled_only
def test_planes_of_mini_batches_are_planes_of_all():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    best = trained(CuttingPlane(C=0.1, tolerance=1e-5), chains, 200).objective()
    run = started(CuttingPlane(C=0.1, tolerance=1e-5), chains)
    for _ in range(100):
        for half in (np.arange(4), np.arange(4, 8)):
            run.epoch(half)
            assert run.dual <= best.primal + 1e-6
    for _ in range(50):
        run.epoch(all_numbers(run))
    assert run.objective().primal == pytest.approx(best.primal, rel=1e-4)


@compiled_only
def test_an_example_that_is_twice_in_a_batch_counts_once_in_a_plane():
    chains = naive.random_chains(2, K=3, rows=8, examples=4, length=3)
    best = trained(CuttingPlane(C=0.5, tolerance=1e-6), chains, 100).objective()
    run = started(CuttingPlane(C=0.5, tolerance=1e-6), chains)
    for _ in range(100):
        run.epoch(np.array([0, 1, 1, 2, 3, 3]))
    assert run.dual == pytest.approx(best.primal, rel=1e-4)


@compiled_only
@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateDescent(C=0.5),
        FrankWolfe(C=0.5),
        FrankWolfe(C=0.5, variant="pairwise"),
        CuttingPlane(C=0.5),
    ],
    ids=repr,
)
def test_an_example_that_fits_into_spare_capacity_is_learned(solver):
    chains = naive.random_chains(5, K=3, rows=8, examples=6, length=3)
    feature_starts, rows, token_starts, gold = chains.arrays()
    problem = ChainProblem(chains.K)
    run = solver.start(problem)
    for first, last in ((0, 3), (3, 5), (5, 6)):
        tokens = token_starts[first : last + 1]
        features = feature_starts[tokens[0] : tokens[-1] + 1]
        problem.append(
            features - features[0],
            rows[features[0] : features[-1]],
            tokens - tokens[0],
            gold[tokens[0] : tokens[-1]],
        )
        run.grow(8)
        for _ in range(1000):
            run.epoch(all_numbers(run))
        assert run.objective().gap <= 1e-2


@checked
@given(st.data(), small, regularization)
def test_frank_wolfe_keeps_its_books_and_never_lowers_the_dual(data, chains, C):
    prior = None
    if data.draw(st.booleans()):
        prior = np.random.default_rng(0).integers(-2, 3, (chains.K + 2) * chains.K) / 2
    run = started(FrankWolfe(C=C, tolerance=0.0), chains, prior)
    dual = run.dual
    for _ in range(10):
        run.epoch(all_numbers(run))
        expansion = np.zeros(len(run.w))
        if prior is not None:
            expansion[: len(prior)] = prior
        blocks = run.blocks
        for i in all_numbers(run):
            entries = slice(blocks.starts[i], blocks.starts[i] + blocks.sizes[i])
            expansion[blocks.indices[entries]] += blocks.values[entries]
        np.testing.assert_allclose(run.w, expansion, atol=1e-9)
        assert run.dual >= dual - 1e-9
        objective = run.objective()
        assert objective.primal >= run.dual - 1e-9
        dual = run.dual


@checked
@given(small, regularization, st.booleans())
def test_pairwise_steps_keep_their_books_and_never_lower_the_dual(chains, C, has_prior):
    size = (chains.K + 2) * chains.K
    prior = np.random.default_rng(0).integers(-2, 3, size) / 2 if has_prior else None
    run = started(FrankWolfe(C=C, variant="pairwise", tolerance=0.0), chains, prior)
    dual = run.dual
    for _ in range(10):
        run.epoch(all_numbers(run))
        expansion = np.zeros(len(run.w))
        if prior is not None:
            expansion[: len(prior)] = prior
        sets = run.sets
        for i in all_numbers(run):
            weight, constraint = 0.0, sets.newest[i]
            while constraint >= 0:
                alpha = sets.alphas[constraint]
                assert alpha > 0
                weight += alpha
                start = sets.starts[constraint]
                entries = slice(start, start + sets.sizes[constraint])
                np.add.at(expansion, sets.indices[entries], alpha * sets.values[entries])
                constraint = sets.older[constraint]
            assert weight <= C + 1e-9
            assert sets.alpha_sums[i] == pytest.approx(weight, abs=1e-9)
        np.testing.assert_allclose(run.w, expansion, atol=1e-9)
        assert not run._state.scratch.any()
        assert run.dual >= dual - 1e-9
        assert run.objective().primal >= run.dual - 1e-9
        dual = run.dual


def test_pairwise_steps_forget_examples():
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    solver = FrankWolfe(C=0.5, variant="pairwise", tolerance=1e-6)
    run = trained(solver, chains, 5)
    run.forget(np.arange(4, 8))
    run.problem.forget(range(4, 8))
    run.problem.keep(np.arange(4))
    run.keep(np.arange(4))
    for _ in range(100):
        run.epoch(np.arange(4))
    alone = trained(solver, chains.part(0, 4), 100)
    assert run.objective().primal == pytest.approx(alone.objective().primal, rel=1e-5)
    assert run.number_of_constraints > 0
    run.forget(np.arange(4))
    np.testing.assert_allclose(run.w, 0, atol=1e-9)
    assert run.number_of_constraints == 0


@compiled_only
def test_working_sets_of_pairwise_steps_grow():
    chains = naive.random_chains(3, K=4, rows=40, examples=100, length=8)
    run = trained(FrankWolfe(C=0.5, variant="pairwise", tolerance=1e-5), chains, 60)
    assert run.objective().gap <= 1e-4
    plane = trained(CuttingPlane(C=0.5, tolerance=1e-5), chains, 300)
    assert run.objective().primal == pytest.approx(plane.objective().primal, rel=1e-4)


def test_frank_wolfe_packs_its_blocks():
    chains = naive.random_chains(3, K=4, rows=40, examples=100, length=8)
    run = trained(FrankWolfe(C=0.5, tolerance=0.0), chains, 0)
    packed = 0
    for _ in range(8):
        before = run.blocks.indices
        run.epoch(all_numbers(run))
        packed += before is not run.blocks.indices
    assert packed > 1
    assert run.objective().gap == pytest.approx(run.gap, abs=0.2)


def test_frank_wolfe_forgets_examples():
    chains = naive.random_chains(6, K=3, rows=5, examples=8, length=3)
    run = trained(FrankWolfe(C=0.5, tolerance=0.0), chains, 5)
    run.forget(np.arange(4, 8))
    run.problem.forget(range(4, 8))
    run.problem.keep(np.arange(4))
    run.keep(np.arange(4))
    for _ in range(2000):
        run.epoch(np.arange(4))
    alone = trained(FrankWolfe(C=0.5, tolerance=0.0), chains.part(0, 4), 2000)
    assert run.objective().primal == pytest.approx(alone.objective().primal, rel=1e-3)
    run.forget(np.arange(4))
    np.testing.assert_allclose(run.w, 0, atol=1e-9)


@compiled_only
@pytest.mark.parametrize("options", [{}, {"eta0": 0.1}, {"steps": "pegasos"}])
def test_stochastic_gradient_comes_close_to_the_optimum(options):
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    best = trained(FrankWolfe(C=0.5, tolerance=1e-4), chains, 5000).objective()
    run = trained(StochasticGradient(C=0.5, **options), chains, 3000)
    assert best.dual - 1e-9 <= run.objective().primal <= 1.03 * best.primal


@compiled_only
@pytest.mark.parametrize("steps", ["decay", "pegasos"])
def test_stochastic_gradient_goes_on_from_a_prior(steps):
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    prior = np.random.default_rng(0).normal(size=(5 + 8) * 3)
    best = trained(FrankWolfe(C=0.1, tolerance=1e-4), chains, 5000, prior).objective()
    run = trained(StochasticGradient(C=0.1, steps=steps), chains, 5000, prior)
    assert best.dual - 1e-9 <= run.objective().primal <= 1.03 * best.primal


@compiled_only
def test_stochastic_gradient_stays_near_a_prior_that_is_the_optimum():
    """Each example has its gold by a margin of 1.2 at the prior, and the cost is 1."""
    problem = ChainProblem(2)
    tokens = np.arange(51)
    problem.append(tokens, np.zeros(50, dtype=np.int32), tokens, np.zeros(50, dtype=np.int64))
    prior = np.zeros(problem.number_of_weights(1))
    prior[-2] = 1.2
    run = StochasticGradient(C=0.1, eta0=0.5).start(problem, prior)
    run.grow(1)
    for _ in range(5):
        assert run.epoch(np.arange(50)) == 0.0
    np.testing.assert_allclose(run.w, prior, atol=1e-12)


@pytest.mark.parametrize(("C", "chosen"), [(0.02, 0.03125), (0.1, 0.125), (2.0, 0.25)])
def test_the_first_step_is_the_one_that_makes_the_lowest_primal(monkeypatch, C, chosen):
    """Of 2^-1 .. 2^-5, after a pass over a sample, as if the sample were all examples."""
    monkeypatch.setattr(stochastic_gradient, "_SAMPLE", 8)
    chains = naive.random_chains(5, K=3, rows=8, examples=40, length=3)
    primals = {}
    run = started(StochasticGradient(C=C, seed=2), chains)
    sample = np.random.default_rng(2).permutation(40)[:8]
    run.epoch(all_numbers(run))
    part = naive.Chains(
        3, 8, [chains.features[i] for i in sample], [chains.gold[i] for i in sample]
    )
    for eta0 in (0.5, 0.25, 0.125, 0.0625, 0.03125):
        alone = started(StochasticGradient(C=C, eta0=eta0), part)
        alone._shuffled = lambda numbers: numbers  # the sample is in order
        alone.epoch(np.arange(8))
        primals[eta0] = alone.objective().primal
    assert len(set(primals.values())) == 5
    assert run._eta0 == min(primals, key=primals.get) == chosen


# --- Averaged solvers -------------------------------------------------------------------

ONLINE = [
    DualCoordinateAscent(C=0.3, seed=3),
    Perceptron(seed=3),
    Mira(C=0.3, seed=3),
    Mira(C=0.3, k=3, seed=3),
]


@pytest.mark.parametrize("solver", ONLINE, ids=str)
def test_averaged_weights_equal_the_naive_average(solver):
    """Examples are visited one by one, and the weights that learn are added up after each."""
    chains = naive.random_chains(4, K=3, rows=6, examples=10, length=4)
    prior = np.random.default_rng(0).normal(size=(5 + 6) * 3)
    run = started(solver, chains, prior)
    total = np.zeros(len(run.w))
    np.testing.assert_array_equal(run.w, prior)
    for step in range(1, 31):
        run.epoch(np.array([step % 10]))
        total += run._averaged.w
        np.testing.assert_allclose(run.w, total / step, atol=1e-12)


@checked
@given(small)
def test_the_perceptron_takes_the_steps_of_its_definition(chains):
    run = started(Perceptron(), chains)
    w = np.zeros(len(run.w))
    for _ in range(3):
        for i in all_numbers(run):
            loss = run.epoch(np.array([i]))
            gold = chains.gold[i]
            if not gold:
                continue
            assert loss == pytest.approx(naive_loss(chains, i, w, PERCEPTRON_LOSS), abs=1e-9)
            change = run._averaged.w - w
            candidates = [
                naive.dense(naive.difference(chains.K, chains.features[i], gold, y), len(w))
                for y in brute.label_sequences(len(gold), chains.K)
            ]
            best = max(-w @ phi for phi in candidates)
            assert any(
                np.allclose(change, phi) and -w @ phi == pytest.approx(best) for phi in candidates
            )
            w = run._averaged.w.copy()


@checked
@given(small, regularization)
def test_mira_takes_the_steps_of_its_definition(chains, C):
    """With k = 1, tau is in closed form; the violation is made up for, or the step is C long."""
    run = started(Mira(C=C), chains)
    for _ in range(3):
        for i in all_numbers(run):
            w = run._averaged.w.copy()
            violation = run.epoch(np.array([i]))
            if not chains.gold[i]:
                continue
            assert violation == pytest.approx(naive_loss(chains, i, w, HINGE), abs=1e-9)
            change = run._averaged.w - w
            norm = change @ change  # tau^2 |Phi|^2
            if violation == 0:
                assert norm == 0
            else:
                tau = norm / violation  # where tau < C, tau |Phi|^2 = H
                assert norm <= C * violation + 1e-9
                assert tau <= C + 1e-9


@programmed
@given(small, regularization, st.integers(2, 9))
def test_k_best_mira_minimizes_what_it_should(chains, C, k):
    """No w is better than w_t, on the k structures, by a quadratic program."""
    run = started(Mira(C=C, k=k), chains)
    for i in [*all_numbers(run), *all_numbers(run)]:
        w, gold = run._averaged.w.copy(), chains.gold[i]
        run.epoch(np.array([i]))
        if len(gold) == 0 or chains.K ** len(gold) > k:
            continue  # with all structures among the k best, the hinge loss of i is minimized
        part = naive.Chains(chains.K, chains.rows, [chains.features[i]], [gold])
        value, _ = hinge_optimum(
            Referee(part, prior=w[: (chains.K + 2 + chains.rows) * chains.K], C=C)
        )
        change = run._averaged.w - w
        found = change @ change / 2 + C * naive_loss(chains, i, run._averaged.w, HINGE)
        assert found == pytest.approx(value, rel=1e-4, abs=1e-6)


@programmed
@given(naive.chains(examples=2, length=2, shortest=2, fewest_labels=3), regularization)
def test_k_best_mira_compares_the_structures_that_violate_most(chains, C):
    """Of nine structures those three; without costs, it would be those that score best."""
    k, size = 3, (chains.K + 2 + chains.rows) * chains.K
    prior = np.random.default_rng(0).normal(size=size)  # without it, structures tie
    run = started(Mira(C=C, k=k), chains, prior)
    for i in all_numbers(run):
        w = run._averaged.w.copy()
        part = naive.Chains(chains.K, chains.rows, [chains.features[i]], [chains.gold[i]])
        referee = Referee(part, prior=w[:size], C=C)
        ((phi, delta),) = referee.structures
        violations = delta - phi @ w[:size]
        worst = np.argsort(-violations)[:k]
        found = run.epoch(np.array([i]))
        assert found == pytest.approx(max(violations.max(), 0.0), abs=1e-6)
        gold = np.flatnonzero(delta == 0)
        chosen = np.union1d(worst, gold)
        referee.structures = [(phi[chosen], delta[chosen])]
        _, best = hinge_optimum(referee)
        np.testing.assert_allclose(run._averaged.w[:size], best, atol=1e-3)


def test_k_best_mira_is_1_best_mira_where_k_is_1():
    chains = naive.random_chains(4, K=3, rows=6, examples=10, length=4)
    one, other = trained(Mira(seed=1), chains, 4), started(Mira(seed=1), chains)
    other._k = 2
    for _ in range(4):
        other.epoch(all_numbers(other))
    assert not np.allclose(one.w, other.w)
    assert hildreth(np.array([[4.0]]), np.array([2.0]), 1.0) == pytest.approx([0.5])
    assert hildreth(np.array([[4.0]]), np.array([2.0]), 0.1) == pytest.approx([0.1])
    assert hildreth(np.array([[0.0]]), np.array([0.0]), 0.1) == pytest.approx([0.0])


def test_hildreth_where_vectors_do_not_differ():
    """Without curvature, the dual rises as far as the simplex allows, or not at all."""
    assert hildreth(np.array([[0.0]]), np.array([2.0]), 0.1) == pytest.approx([0.1])
    assert hildreth(np.array([[0.0]]), np.array([-2.0]), 0.1) == pytest.approx([0.0])
    same = np.array([[4.0, 4.0], [4.0, 4.0]])
    assert hildreth(same, np.array([1.0, 2.0]), 1.0) == pytest.approx([0.0, 0.5])
    assert hildreth(same, np.array([2.0, 1.0]), 0.1) == pytest.approx([0.1, 0.0])
    assert hildreth(np.zeros((2, 2)), np.array([1.0, 2.0]), 0.3) == pytest.approx([0.0, 0.3])


@checked
@given(st.integers(0, 999), st.integers(1, 4), st.integers(1, 3), regularization)
def test_hildreth_is_as_good_as_a_quadratic_program(seed, count, size, C):
    """Of whole vectors, of which some are 0 or equal."""
    random = np.random.default_rng(seed)
    vectors = random.integers(-1, 2, (count, size)).astype(float)
    bounds = random.integers(-2, 3, count).astype(float)
    products = vectors @ vectors.T
    alphas = hildreth(products, bounds, C)
    assert (alphas >= 0).all()
    assert alphas.sum() <= C * (1 + 1e-9)
    slopes = bounds - products @ alphas  # at the optimum, no weight can go where the dual rises
    best = max(slopes.max(), 0.0)
    gain = C * best - alphas @ slopes  # bounds how far the dual is from its optimum
    assert gain <= 1e-6


@pytest.mark.parametrize("value", [1.0, 3.0, 1 / 3])
def test_steps_are_taken_in_float64(value):
    """Also where the rate is a Python float, without compilation."""
    averaged = Averaged(np.zeros(2), np.zeros(2), np.array([3]))
    add_to_average(averaged, np.array([1], np.int32), np.array([value], np.float32), 1, 0.1)
    expected = 0.1 * float(np.float32(value))
    assert averaged.w.tolist() == [0.0, expected]
    assert averaged.sums.tolist() == [0.0, 3 * expected]


@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateAscent(C=0.01, beta=None, gamma=1.0),
        FrankWolfe(C=0.01),
        FrankWolfe(C=0.01, variant="pairwise"),
        Mira(C=0.01),
        Mira(C=0.01, k=3),
        StochasticGradient(C=0.01, steps="pegasos"),
    ],
    ids=str,
)
def test_the_first_step_is_made_in_float64(solver):
    """It is as long as C, which float32 cannot hold: w = C Phi, and the average is w."""
    run = trained(solver, naive.Chains(2, 1, [[[0, 0, 0]]], [[1]]), 1)
    assert sorted(set(run.w.tolist())) == sorted({0.0, *(times * 0.01 for times in (-3, -1, 1, 3))})


# --- The family of losses ---------------------------------------------------------------


@checked
@given(small, regularization, st.integers(0, 99))
def test_the_gradient_of_lbfgs_is_that_of_finite_differences(chains, C, seed):
    random = np.random.default_rng(seed)
    size = (chains.K + 2 + chains.rows) * chains.K
    run = started(LBFGS(C=C), chains, random.normal(size=size))
    w, towards = random.normal(size=(2, len(run.w)))
    _, gradient = run.value_and_gradient(w)
    ends = [run.value_and_gradient(w + sign * 1e-5 * towards)[0] for sign in (1, -1)]
    assert gradient @ towards == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)


@compiled_only
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_lbfgs_ends_where_the_gradient_is_0_and_ascent_comes_close(loss):
    chains = naive.random_chains(2, K=3, rows=8, examples=20, length=3)
    settings = {"C": 0.1, "beta": loss.beta, "gamma": loss.gamma}
    run = trained(LBFGS(**settings), chains, 10)
    value, gradient = run.value_and_gradient(run.w)
    assert np.abs(gradient).max() <= 1e-4
    assert run.objective().primal == pytest.approx(value)
    at_zero = started(LBFGS(**settings), chains).objective().primal
    online = trained(DualCoordinateAscent(**settings), chains, 3).objective().primal
    assert value <= online <= value + 0.5 * (at_zero - value)


@compiled_only
def test_lbfgs_remembers_the_curvature_between_epochs():
    chains = naive.random_chains(2, K=3, rows=100, examples=100, length=5)
    short, long = LBFGS(C=0.5, iterations=5), LBFGS(C=0.5, iterations=40)
    assert trained(short, chains, 8).w.tobytes() == trained(long, chains, 1).w.tobytes()


@compiled_only
def test_lbfgs_follows_a_problem_that_changes():
    """What it knows of the curvature is that of the examples that it was made from."""
    chains = naive.random_chains(2, K=3, rows=8, examples=20, length=3)
    run = trained(LBFGS(C=0.5), chains.part(0, 10), 2)
    run.problem.append(*chains.part(10, 20).arrays())
    run.grow(chains.rows)
    for _ in range(10):
        run.epoch(all_numbers(run))
    whole = trained(LBFGS(C=0.5), chains, 10)
    assert run.objective().primal == pytest.approx(whole.objective().primal, rel=1e-9)


def test_lbfgs_minimizes_what_crfsuite_minimizes():
    """c2 |w|^2 + losses, with c2 = 1 / 2C; without ends, and with what gold has alone."""
    crfsuite = pytest.importorskip("pycrfsuite")
    random = np.random.default_rng(0)
    features = [[[int(random.integers(4))] for _ in range(4)] for _ in range(6)]
    gold = [[(row[0] + (row[0] == 3)) % 2 for row in tokens] for tokens in features]
    chains = naive.Chains(2, 4, features, gold)
    trainer = crfsuite.Trainer(verbose=False)
    for tokens, labels in zip(features, gold, strict=True):
        trainer.append([[f"f{row[0]}"] for row in tokens], [str(k) for k in labels])
    trainer.set_params(
        {"c1": 0, "c2": 1.0, "feature.possible_states": 1, "feature.possible_transitions": 1}
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = crfsuite.Tagger()
        tagger.open(f"{folder}/model")
        info = tagger.info()
        tagger.close()
    run = trained(LBFGS(C=0.5, tolerance=1e-9), chains, 20)
    w = np.zeros(len(run.w))
    for (previous, label), weight in info.transitions.items():
        w[int(previous) * 2 + int(label)] = weight
    for (name, label), weight in info.state_features.items():
        w[(2 + 2 + int(name[1:])) * 2 + int(label)] = weight
    theirs, gradient = run.value_and_gradient(w)
    inner = np.r_[0:4, 8 : 8 + 8]  # crfsuite has no weights for starts and ends
    assert np.abs(gradient[inner]).max() < 1e-2
    assert run.objective().primal <= theirs


@checked
@given(small, regularization, st.sampled_from(SMOOTH), st.sampled_from([0.5, 4.0]))
def test_beta_gamma_and_C_are_two_degrees_of_freedom(chains, C, loss, a):
    """(C a, beta / a, a gamma) has the solution a w [MGS10, note 18], step by step."""
    run = trained(DualCoordinateAscent(C=C, beta=loss.beta, gamma=loss.gamma), chains, 3)
    scaled = DualCoordinateAscent(C=C * a, beta=loss.beta / a, gamma=loss.gamma * a)
    np.testing.assert_allclose(trained(scaled, chains, 3).w, a * run.w, atol=1e-9)


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


def test_ascent_with_infinite_beta_is_mira():
    chains = naive.random_chains(2, K=3, rows=8, examples=8, length=3)
    ascent = trained(DualCoordinateAscent(C=0.3, beta=None, gamma=1.0, seed=2), chains, 3)
    assert ascent.w.tobytes() == trained(Mira(C=0.3, seed=2), chains, 3).w.tobytes()
    prior = np.random.default_rng(0).normal(size=(5 + 8) * 3)  # without it, structures tie
    almost = DualCoordinateAscent(C=0.3, beta=1e6, gamma=1.0, seed=2)
    exact = trained(Mira(C=0.3, seed=2), chains, 3, prior)
    np.testing.assert_allclose(trained(almost, chains, 3, prior).w, exact.w, atol=1e-3)


# --- Exact solvers on real sentences ----------------------------------------------------

EXACT = {
    SQUARED_HINGE: [
        DualCoordinateDescent(variant=variant, delta=1e-7, tolerance=2e-5)
        for variant in ("ssvm", "light", "cpd")
    ],
    HINGE: [
        FrankWolfe(variant="pairwise", inner_passes=passes, tolerance=2e-5) for passes in (0, 5)
    ],
    LOG_LOSS: [LBFGS(), LBFGS(iterations=10)],
}


@compiled_only
@pytest.mark.parametrize("loss", EXACT, ids=str)
@pytest.mark.parametrize("component", [TAGGER, RECOGNIZER], ids=lambda c: c.factory)
def test_exact_solvers_of_one_objective_end_at_one_optimum(component, loss):
    nlp = component.pipeline()
    examples = component.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    training, numbers = nlp.get_pipe(component.factory).featurize(examples)
    primals = []
    for solver in EXACT[loss]:
        assert solver.loss_function == loss
        training.restart(solver)
        for _ in range(1000 if loss.beta is None else 20):
            training.epoch(numbers)
        primals.append(training.run.objective().primal)
    assert primals == pytest.approx([min(primals)] * len(primals), rel=1e-4)
    if loss == HINGE:  # the last digits of a cutting plane take long
        training.restart(CuttingPlane())
        for _ in range(50):
            training.epoch(numbers)
        bounds = training.run.objective()
        assert bounds.dual <= min(primals) <= bounds.primal
    if loss == LOG_LOSS:
        run = training.run
        theirs = minimize(run.value_and_gradient, np.zeros(len(run.w)), jac=True, method="CG")
        assert primals[0] <= theirs.fun * (1 + 1e-6)


# --- All solvers ------------------------------------------------------------------------


def pairwise_frank_wolfe(**options):
    return FrankWolfe(variant="pairwise", **options)


SOLVERS = [
    CuttingPlane,
    DualCoordinateAscent,
    DualCoordinateDescent,
    FrankWolfe,
    pairwise_frank_wolfe,
    LBFGS,
    Mira,
    Perceptron,
    StochasticGradient,
]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)


@every_solver
def test_the_same_seed_gives_the_same_bytes(solver):
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    first, second = (trained(solver(seed=7), chains, 3).w for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert first.any()


@every_solver
def test_the_objective_is_that_of_the_weights(solver):
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    run = trained(solver(), chains, 5)
    loss, C = run.settings.loss_function, run.settings.C
    total = sum(naive_loss(chains, i, run.w, loss) for i in all_numbers(run))
    assert run.objective().primal == pytest.approx(run.regularizer + C * total, rel=1e-5)
    assert (run.dual is None) == (run.gap is None) == (run.objective().gap is None)


@pytest.mark.parametrize("C", [1e-30, 1e-10, 1e4, 1e30])
@pytest.mark.parametrize(
    "solver", [CuttingPlane, DualCoordinateDescent, FrankWolfe, pairwise_frank_wolfe]
)
def test_the_gap_is_between_0_and_1_however_small_or_large_C_is(solver, C):
    chains = naive.random_chains(1, K=3, rows=3, examples=6, length=2)
    run = started(solver(C=C), chains)
    for _ in range(5):
        run.epoch(all_numbers(run))
        assert -1e-12 <= run.objective().gap <= 1 + 1e-12


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver is not Perceptron])
@pytest.mark.parametrize("C", [1e-300, 1e-31, 1e31, 1e300])
def test_C_out_of_the_range_of_the_arithmetic_is_refused(solver, C):
    with pytest.raises(ValueError, match=r"\nC\tC is .*: it must be between 1e-30 and 1e\+30"):
        solver(C=C)


@every_solver
def test_learning_lowers_the_objective(solver):
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    run = started(solver(), chains)
    w = np.random.default_rng(0).normal(size=len(run.w))
    at_random = losses(run.problem, w, all_numbers(run), run.settings.loss_function).sum()
    for _ in range(20):
        run.epoch(all_numbers(run))
    assert (
        losses(run.problem, run.w, all_numbers(run), run.settings.loss_function).sum() < at_random
    )


@every_solver
def test_problems_grow_and_shrink(solver):
    """New examples bring new rows; examples leave, and others get their numbers."""
    chains = naive.random_chains(1, K=3, rows=8, examples=12, length=3)
    problem = ChainProblem(3)
    run = solver().start(problem)
    for first in (0, 4, 8):
        numbers = problem.append(*chains.part(first, first + 4).arrays())
        run.grow(8 + first)
        run.epoch(np.array(numbers))
    run.forget(np.arange(6))
    problem.forget(range(6))
    run.epoch(np.arange(12))
    problem.keep(np.arange(6, 12))
    run.keep(np.arange(6, 12))
    for _ in range(5):
        run.epoch(np.arange(6))
    assert np.isfinite(run.objective().primal)
    assert len(run.w) >= problem.number_of_weights(16)


@every_solver
def test_partial_and_missing_gold(solver):
    chains = naive.Chains(2, 2, [[[0], [1]], [[0]], [], [[1]]], [[0, 2], [2], [], [1]])
    run = trained(solver(), chains, 20)
    scores = naive.emission_scores(run.w, 2, [[0], [1]])
    assert scores[0, 0] >= scores[0, 1]
    assert scores[1, 1] >= scores[1, 0]


@every_solver
def test_nothing_to_learn_from(solver):
    run = trained(solver(), naive.Chains(2, 1, [[]], [[]]), 2)
    assert run.objective().primal == 0
    assert run.epoch(np.arange(0)) == 0


@pytest.mark.parametrize(
    ("solver", "name", "value"),
    [
        (Perceptron, "seed", -1),
        (Mira, "C", 0.0),
        (Mira, "k", 0),
        (StochasticGradient, "C", float("nan")),
        (StochasticGradient, "steps", "fast"),
        (StochasticGradient, "eta0", -1.0),
        (FrankWolfe, "C", -1.0),
        (FrankWolfe, "tolerance", -1.0),
        (FrankWolfe, "variant", "light"),
        (FrankWolfe, "inner_passes", -1),
        (DualCoordinateAscent, "beta", 0.0),
        (DualCoordinateAscent, "gamma", -1.0),
        (CuttingPlane, "tolerance", -1.0),
        (LBFGS, "C", 0.0),
        (LBFGS, "iterations", 0),
    ],
)
def test_invalid_settings_are_named(solver, name, value):
    message = rf"@misc = spacy_ssvm\.{solver.__name__}\.v1\nInvalid setting\.\n{name}\t{name} is "
    with pytest.raises(ConfigValidationError, match=message):
        solver(**{name: value})


# --- Trees ------------------------------------------------------------------------------


def tree_problem(*, projective, templates=("head.word + dependent.word",)):
    """Sentences of 2 to 4 words with drawn words and heads; all arcs are scored."""
    random = np.random.default_rng(0)
    arcs = compile_arc_templates([ArcTemplate.parse(t) for t in templates[:1]], ["word"])
    pairs = compile_arc_templates([ArcTemplate.parse(t) for t in templates[1:]], ["word"])
    features = ArcFeatures(arcs, pairs, 2**10, projective)
    pruner = Pruner(arcs, 2**10, np.zeros(2**10 + 1), np.inf)
    problem = TreeProblem(features, pruner, 1)
    for n in (2, 3, 4, 4):
        trees = brute.trees(n, projective)
        heads = np.array([*trees[random.integers(len(trees))], -1], dtype=np.int64)
        words = random.integers(1, 6, size=(n + 2, 1)).astype(np.uint64)
        problem.append(words, np.array([0, n + 2]), heads)
    return problem


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


def check_gradient(problem, rows, loss, seed):
    """The gradient that ``expected_gradient`` writes, against finite differences of the loss."""
    random = np.random.default_rng(seed)
    size = problem.number_of_weights(rows)
    w, towards = random.normal(size=(2, size))
    indices = np.empty(problem.max_expected_entries, dtype=np.int32)
    values = np.empty(len(indices))
    step = 1e-5
    for i in range(problem.number_of_examples):
        count, _, _ = problem.structure.expected_gradient(
            problem.examples(), i, w, loss.beta, loss.gamma, False, indices, values
        )
        if count < 0:
            continue
        assert len(set(indices[:count].tolist())) == count
        assert values[:count].all()
        ends = [
            losses(problem, w + sign * step * towards, np.array([i]), loss)[0] for sign in (1, -1)
        ]
        slope = values[:count] @ towards[indices[:count]]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_expectations_of_trees_are_gradients(projective, loss):
    check_gradient(tree_problem(projective=projective), 2**10, loss, 0)


@checked
@given(small, st.sampled_from(SMOOTH), st.integers(0, 99))
def test_expectations_of_chains_are_gradients(chains, loss, seed):
    check_gradient(started(Perceptron(), chains).problem, chains.rows, loss, seed)


@every_solver
@pytest.mark.parametrize("projective", [True, False])
def test_every_solver_learns_trees(solver, projective):
    problem = tree_problem(projective=projective)
    run = solver().start(problem)
    run.grow(2**10)
    before = losses(problem, run.w, np.arange(4), HINGE).sum()
    for _ in range(20):
        run.epoch(np.arange(4))
    assert losses(problem, run.w, np.arange(4), HINGE).sum() < before


def test_what_trees_cannot_tell_is_refused():
    siblings = ("head.word + dependent.word", "head.word + dependent.word + sibling.word")
    problem = tree_problem(projective=True, templates=siblings)
    with pytest.raises(ValueError, match="order = 1"):
        losses(problem, np.zeros(2**10 + 1), np.arange(4), LOG_LOSS)
    with pytest.raises(ValueError, match=r"^k is 2"):
        Mira(k=2).start(problem)


# --- Components -------------------------------------------------------------------------

NAMES = [
    "CuttingPlane",
    "DualCoordinateAscent",
    "DualCoordinateDescent",
    "FrankWolfe",
    "LBFGS",
    "Mira",
    "Perceptron",
    "StochasticGradient",
]


def block(name, **options):
    return {"@misc": f"spacy_ssvm.{name}.v1", **options}


@compiled_only
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("component", [TAGGER, RECOGNIZER], ids=lambda c: c.factory)
def test_components_learn_with_every_solver(component, name):
    C = {} if name == "Perceptron" else {"C": 1.0}
    nlp = component.trained(epochs=40, solver=block(name, **C))
    assert component.accuracy(nlp) > 0.9
    pipe = nlp.get_pipe(component.factory)
    examples = component.examples(nlp.vocab)
    losses = pipe.update(examples)
    objective = pipe.objective(examples)
    assert (f"{pipe.name}_gap" in losses) == (objective.gap is not None)
    loaded = copy_of(nlp).get_pipe(component.factory)
    assert loaded.objective(examples).primal == pytest.approx(objective.primal, rel=1e-3)


def parser(**config):
    return spacy.blank("en").add_pipe("ssvm_parser", config=config)


@compiled_only
@pytest.mark.parametrize("name", NAMES)
def test_parsers_learn_with_every_solver(name):
    nlp = spacy.blank("en")
    solver = block(name)
    config = {"order": 1, "min_count": 1, "solver": solver, "label_solver": solver}
    pipe = nlp.add_pipe("ssvm_parser", config=config)
    words, heads = ["the", "old", "dog", "barks"], [2, 2, 3, 3]
    deps = ["det", "amod", "nsubj", "ROOT"]
    examples = [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, heads=heads, deps=deps))
    ]
    nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples)
    doc = pipe(Doc(nlp.vocab, words=words, sent_starts=[True, False, False, False]))
    assert [token.head.i for token in doc] == heads
    assert [token.dep_ for token in doc] == deps
    assert np.isfinite(pipe.objective(examples).primal)


@pytest.mark.parametrize(
    ("solver", "problem"),
    [
        (block("LBFGS"), "set order = 1"),
        (block("DualCoordinateAscent"), "set order = 1"),
        (block("Mira", k=3), "set k = 1"),
        (block("Mira", k=0), "k is 0"),
        (block("StochasticGradient", steps="fast"), "steps is 'fast'"),
        (block("CuttingPlane", C=0.0), "C is 0.0"),
        (block("FrankWolfe", tolerance=-1.0), "tolerance is -1.0"),
    ],
)
def test_what_a_parser_cannot_learn_by_is_a_config_error(solver, problem):
    with pytest.raises(ConfigValidationError, match=problem):
        parser(order=2, solver=solver)
    if problem == "set order = 1":
        parser(order=1, solver=solver)
