"""Solvers on problems of matchings, and what becomes of their weights."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from finite import optimum
from hypothesis import given
from planted_pairs import VOCAB, batch_of, model_of
from referee import converge, start
from small_matchings import SURE, drawn_complete
from small_problems import programmed

from spacy_ssvm.align.matchings import training
from spacy_ssvm.align.matchings.layout import POSSIBLE
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.oracle import score_example
from spacy_ssvm.align.matchings.problem import MatchingProblem
from spacy_ssvm.align.matchings.training import GoldPairs, LinkExtractor, MatchingTrainer
from spacy_ssvm.align.text_pairs import make_pair
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.prox_gradient import ProxGradient

pytestmark = pytest.mark.uncompiled

TEMPLATES = "source.lower+target.lower", "source.lower", "distance", "position"


def trained(
    solver: Any, *, epochs: int = 15, doubled: bool = False, fertilities: tuple[int, int] = (1, 1)
) -> tuple[MatchingTrainer, GoldPairs]:
    model = model_of(*TEMPLATES, fertilities=fertilities)
    trainer = MatchingTrainer(model, solver)
    batch = batch_of(model, doubled=doubled)
    numbers = np.array([number for found in trainer.add(batch) for number in found])
    for _ in range(epochs):
        trainer.epoch(numbers)
    trainer.update_model()
    return trainer, batch


def accuracy(model: MatchingModel, batch: GoldPairs) -> float:
    return float(np.mean(model.align(batch.pairs) == (batch.gold == SURE)))


@programmed
@given(drawn_complete())
def test_dual_coordinate_descent_ends_at_the_optimum(small):
    """That of a solver of conic programs, over penalties that are not negative."""
    value, w = optimum(small.finite(), 0.3, squared=True)
    run = converge(start(small.problem(), small.rows, C=0.3), gap=1e-6)
    assert run.objective().primal == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert run.dual == pytest.approx(value, rel=1e-4, abs=1e-6)
    np.testing.assert_allclose(run.w[: len(w)], w, atol=2e-2)
    assert np.all(run.w[: sum(small.fertilities) - 2] >= 0)


@pytest.mark.parametrize(
    "solver", [Perceptron(), Mira(), KBestMira(k=3), DualCoordinateDescent(C=1.0)], ids=str
)
@pytest.mark.parametrize("doubled", [False, True], ids=["single", "doubled"])
def test_separable_pairs_are_learned(solver: Any, doubled: bool) -> None:
    fertilities = (2, 1) if doubled else (1, 1)
    trainer, batch = trained(solver, doubled=doubled, fertilities=fertilities)
    assert accuracy(trainer.model, batch) == 1.0
    assert np.all(trainer.model.penalties >= 0)
    if doubled:
        links = trainer.model.align(batch.pairs)
        table = links[: batch.pairs.link_starts[1]].reshape(batch.pairs.shapes[0])
        assert table.sum(axis=1).max() <= 2


@pytest.mark.parametrize(
    "solver",
    [CuttingPlane(), FrankWolfe(), ProxGradient(strength=0.1), DualCoordinateAscent(beta=None)],
    ids=str,
)
def test_solvers_that_cannot_keep_signs_refuse_further_links(solver: Any) -> None:
    with pytest.raises(ValueError, match="does not keep weights from being negative"):
        MatchingTrainer(model_of(*TEMPLATES, fertilities=(2, 1)), solver)


def test_solvers_that_need_expectations_refuse() -> None:
    with pytest.raises(ValueError, match=r"LBFGS"):
        MatchingTrainer(model_of(*TEMPLATES), LBFGS())


def test_cutting_planes_and_frank_wolfe_learn_single_links() -> None:
    for solver in (CuttingPlane(C=1.0), FrankWolfe(C=1.0)):
        trainer, batch = trained(solver, epochs=30)
        assert accuracy(trainer.model, batch) > 0.97


def same_model(a: MatchingModel, b: MatchingModel) -> None:
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name])
    assert a.header() == b.header()


WAYS = {
    "bytes": lambda model: model_of("dice").from_bytes(model.to_bytes()),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_weights_survive(way: Any) -> None:
    trainer, batch = trained(DualCoordinateDescent(C=1.0), doubled=True, fertilities=(2, 1))
    model = trainer.model
    assert model.number_of_rows == np.count_nonzero(trainer.run.w[1:])
    assert model.penalties[0] == np.float32(trainer.run.w[0]) > 0
    other = way(model)
    same_model(model, other)
    np.testing.assert_array_equal(other.align(batch.pairs), model.align(batch.pairs))
    for i in range(3):
        np.testing.assert_array_equal(
            other.link_scores(batch.pairs, i), model.link_scores(batch.pairs, i)
        )


def test_scores_of_the_model_are_those_of_the_problem() -> None:
    trainer, batch = trained(DualCoordinateDescent(C=1.0), doubled=True, fertilities=(2, 1))
    examples = trainer.problem.examples()
    for i in range(trainer.problem.number_of_examples):
        scores, source_steps, target_steps = score_example(examples, i, trainer.run.w)
        np.testing.assert_allclose(
            trainer.model.link_scores(batch.pairs, i), scores, rtol=1e-4, atol=1e-5
        )
        found = trainer.model.steps(*scores.shape)
        np.testing.assert_allclose(found[0], source_steps, rtol=1e-6)
        np.testing.assert_allclose(found[1], target_steps, rtol=1e-6)


def test_training_goes_on_from_the_weights_of_a_model() -> None:
    first, batch = trained(DualCoordinateDescent(C=1.0), doubled=True, fertilities=(2, 1))
    model = first.model
    second = MatchingTrainer(model, DualCoordinateDescent(C=1e-9))
    numbers = np.array([n for found in second.add(batch) for n in found])
    rows = second.number_of_rows
    assert rows >= model.number_of_rows
    assert second.run.w[0] == pytest.approx(model.penalties[0])
    np.testing.assert_array_equal(second.run.w[1 : 1 + model.number_of_rows], model.weights)
    before = model.link_scores(batch.pairs, 0)
    second.epoch(numbers)
    second.update_model()
    np.testing.assert_allclose(model.link_scores(batch.pairs, 0), before, atol=1e-4)
    assert accuracy(model, batch) == 1.0


def test_examples_come_and_go() -> None:
    """What is left has the weights of a run that has never seen the others."""
    solver = DualCoordinateDescent(C=1.0, delta=1e-10, tolerance=0.0)
    model = model_of(*TEMPLATES)
    trainer = MatchingTrainer(model, solver)
    found = trainer.add(batch_of(model, range(12)))
    numbers = np.array([n for some in found for n in some])
    for _ in range(3):
        trainer.epoch(numbers)
    for gone in found[3:]:
        trainer.remove(gone)
    renumbered = trainer.reclaim()
    assert renumbered is not None
    assert trainer.problem.number_of_examples == 3
    left = renumbered[[n for some in found[:3] for n in some]]
    assert sorted(left.tolist()) == [0, 1, 2]
    for _ in range(300):
        trainer.epoch(left)
    only = MatchingTrainer(model_of(*TEMPLATES), solver)
    numbers = np.array([n for some in only.add(batch_of(model, range(3))) for n in some])
    for _ in range(300):
        only.epoch(numbers)
    primals = [t.run.objective().primal for t in (trainer, only)]
    assert primals[0] == pytest.approx(primals[1], rel=1e-4)


def test_pairs_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays are the same, however many links there are at a time."""
    model = model_of(*TEMPLATES)
    batch = batch_of(model, range(6))
    problems = []
    for links in (50_000, 30, 1):
        monkeypatch.setattr(training, "_LINKS_AT_A_TIME", links)
        assert training._chunks(batch.pairs.link_starts)[-1] == 6
        problem = MatchingProblem()
        LinkExtractor(model.compiled).append(problem, batch)
        problems.append(problem)
    for other in problems[1:]:
        first = problems[0].examples()
        np.testing.assert_array_equal(other.examples().features.starts, first.features.starts)
        np.testing.assert_array_equal(other.examples().features.rows, first.features.rows)
        np.testing.assert_array_equal(other.examples().gold, first.gold)
        np.testing.assert_array_equal(other.row_templates, problems[0].row_templates)


def test_pairs_without_words_are_examples_that_teach_nothing() -> None:
    model = model_of(*TEMPLATES)
    trainer = MatchingTrainer(model, DualCoordinateDescent())
    words = [([], []), ([], ["a"]), (["a"], []), ([" "], ["a"])]
    docs = [make_pair(VOCAB, *both) for both in words]
    batch = GoldPairs(model.reader.read(docs), np.zeros(0, dtype=np.int32))
    assert trainer.add(batch) == [range(i, i + 1) for i in range(4)]
    assert trainer.epoch(np.arange(4)) == 0.0
    trainer.update_model()
    assert model.number_of_rows == 0
    assert model.align(batch.pairs).tolist() == []


def test_rare_features_are_left_out() -> None:
    model = model_of("source.lower+target.lower")
    batch = batch_of(model, range(20))
    counts = []
    for min_count in (1, 2, 10**6):
        trainer = MatchingTrainer(model, DualCoordinateDescent(), min_count=min_count)
        trainer.add(batch)
        counts.append(trainer.number_of_rows)
    assert counts[0] > counts[1] > counts[2] == 0


def test_possible_links_are_free() -> None:
    """A model that only ever sees possible links learns nothing."""
    model = model_of(*TEMPLATES)
    batch = batch_of(model, range(4))
    trainer = MatchingTrainer(model, DualCoordinateDescent())
    trainer.add(batch._replace(gold=np.full_like(batch.gold, POSSIBLE)))
    assert trainer.epoch(np.arange(4)) == 0.0
    assert not trainer.run.w.any()
