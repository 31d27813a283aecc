"""Solvers by the objectives that they minimize: quadratic programs, enumeration, each other."""

import naive
import numpy as np
import planted_chains
import pytest
import spacy
from marks import compiled_only
from pipelines import RECOGNIZER, TAGGER, copy_of
from referee import all_numbers
from scipy.optimize import minimize
from small_problems import (
    SOLVERS,
    crf_frank_wolfe,
    every_solver,
    pairwise_frank_wolfe,
    started,
    trained,
    tree_problem,
)
from spacy.tokens import Doc
from spacy.training import Example
from thinc.config import ConfigValidationError

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.objective import HINGE, LOG_LOSS, SQUARED_HINGE, losses
from spacy_ssvm.solvers import run as run_module
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize(("solver", "package"), [(CuttingPlane(), "clarabel"), (LBFGS(), "scipy")])
def test_solvers_without_their_package_say_what_to_install(monkeypatch, solver, package):
    monkeypatch.setattr(run_module, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=rf"{package}, .*pip install .spacy-ssvm\[solvers\]"):
        solver.start(ChainProblem(2))


@compiled_only
def test_an_example_that_is_twice_in_a_batch_counts_once_in_a_plane():
    chains = naive.random_chains(2, K=3, rows=8, examples=4, length=3)
    best = trained(CuttingPlane(C=0.5, tolerance=1e-6), chains, 100).objective()
    run = started(CuttingPlane(C=0.5, tolerance=1e-6), chains)
    for _ in range(100):
        run.epoch(np.array([0, 1, 1, 2, 3, 3]))
    assert run.dual == pytest.approx(best.primal, rel=1e-4)


@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateAscent(C=0.01, beta=None, gamma=1.0),
        FrankWolfe(C=0.01),
        PairwiseFrankWolfe(C=0.01),
        Mira(C=0.01),
        KBestMira(C=0.01, k=3),
        StochasticGradient(C=0.01, steps="pegasos"),
    ],
    ids=str,
)
def test_the_first_step_is_made_in_float64(solver):
    """It is as long as C, which float32 cannot hold: w = C Phi, and the average is w."""
    run = trained(solver, naive.Chains(2, 1, [[[0, 0, 0]]], [[1]]), 1)
    assert sorted(set(run.w.tolist())) == sorted({0.0, *(times * 0.01 for times in (-3, -1, 1, 3))})


EXACT = {
    SQUARED_HINGE: [
        DualCoordinateDescent(variant=variant, delta=1e-7, tolerance=2e-5)
        for variant in ("ssvm", "light", "cpd")
    ],
    HINGE: [PairwiseFrankWolfe(inner_passes=passes, tolerance=2e-5) for passes in (0, 5)],
    LOG_LOSS: [LBFGS(), LBFGS(iterations=10), crf_frank_wolfe(tolerance=1e-6)],
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
        for _ in range(20 if isinstance(solver, LBFGS) else 1000):
            training.epoch(numbers)
            run = training.run
            if run.gap is None or run.gap > solver.tolerance:
                continue
            if run.objective().gap <= solver.tolerance:
                break  # weights no longer change
        primals.append(training.run.objective().primal)
    assert primals == pytest.approx([min(primals)] * len(primals), rel=1e-4)
    if loss == HINGE:  # the last digits of a cutting plane take long
        training.restart(CuttingPlane())
        for _ in range(50):
            training.epoch(numbers)
        bounds = training.run.objective()
        assert bounds.dual <= min(primals) <= bounds.primal
    if loss == LOG_LOSS:
        training.restart(LBFGS())
        run = training.run
        run.epoch(numbers)
        theirs = minimize(run.value_and_gradient, np.zeros(len(run.w)), jac=True, method="CG")
        assert primals[0] <= theirs.fun * (1 + 1e-6)


@every_solver
def test_the_same_seed_gives_the_same_bytes(solver):
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    first, second = (trained(solver(seed=7), chains, 3).w for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert first.any()


@pytest.mark.parametrize("C", [1e-30, 1e-10, 1e4, 1e30])
@pytest.mark.parametrize(
    "solver",
    [
        CuttingPlane,
        DualCoordinateDescent,
        Extragradient,
        FrankWolfe,
        pairwise_frank_wolfe,
        crf_frank_wolfe,
    ],
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
        (KBestMira, "k", 0),
        (StochasticGradient, "C", float("nan")),
        (StochasticGradient, "steps", "fast"),
        (StochasticGradient, "eta0", -1.0),
        (FrankWolfe, "C", -1.0),
        (FrankWolfe, "tolerance", -1.0),
        (FrankWolfe, "variant", "light"),
        (FrankWolfe, "beta", 0.0),
        (FrankWolfe, "gamma", -1.0),
        (PairwiseFrankWolfe, "inner_passes", -1),
        (DualCoordinateAscent, "beta", 0.0),
        (DualCoordinateAscent, "gamma", -1.0),
        (CuttingPlane, "tolerance", -1.0),
        (Extragradient, "C", 0.0),
        (Extragradient, "projection", "cosine"),
        (Extragradient, "nu", 1.0),
        (Extragradient, "nu", 0.0),
        (Extragradient, "beta", 0.0),
        (Extragradient, "iterations", 0),
        (Extragradient, "tolerance", -1.0),
        (LBFGS, "C", 0.0),
        (LBFGS, "iterations", 0),
    ],
)
def test_invalid_settings_are_named(solver, name, value):
    message = rf"@misc = spacy_ssvm\.{solver.__name__}\.v1\nInvalid setting\.\n{name}\t{name} is "
    with pytest.raises(ConfigValidationError, match=message):
        solver(**{name: value})


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


NAMES = [
    "CuttingPlane",
    "DualCoordinateAscent",
    "DualCoordinateDescent",
    "Extragradient",
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
@pytest.mark.parametrize(("order", "projective"), [(1, True), (2, True), (2, False)])
def test_parsers_learn_with_every_solver(name, order, projective):
    nlp = spacy.blank("en")
    solver = block(name)
    config = {"order": order, "projective": projective, "hash_bits": 12, "min_count": 1}
    config |= {"solver": solver, "label_solver": solver}
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
        (block("KBestMira", k=0), "k is 0"),
        (block("StochasticGradient", steps="fast"), "steps is 'fast'"),
        (block("CuttingPlane", C=0.0), "C is 0.0"),
        (block("FrankWolfe", tolerance=-1.0), "tolerance is -1.0"),
    ],
)
def test_what_a_parser_cannot_learn_by_is_a_config_error(solver, problem):
    with pytest.raises(ConfigValidationError, match=problem):
        parser(solver=solver)


def test_the_k_best_trees_must_be_projective():
    parser(solver=block("KBestMira", k=3))
    with pytest.raises(ConfigValidationError, match="choose another, or projective = true"):
        parser(solver=block("KBestMira", k=3), projective=False)


@every_solver
def test_a_solver_refuses_weights_that_it_does_not_allocate(solver):
    """They would stay 0, without a word."""
    if solver().allocates:
        solver().start(planted_chains.Corpus(20).lazy())
        return
    with pytest.raises(ValueError, match="does not allocate weights on first use"):
        solver().start(planted_chains.Corpus(20).lazy())
