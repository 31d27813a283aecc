"""Tests of ``spacy_ssvm/lattices/selection.py``."""

from typing import Any

import numpy as np
import pytest
from marks import PLAIN
from pipelines import MORPHOLOGIZER
from planted_chains import RUNS, Corpus, compare_weights, passes, selection
from tiny_lattices import LABELS, VIEWS, annotated, doc_of, new_model

from spacy_ssvm.decoders.lattice import make_levels
from spacy_ssvm.features.extraction import compile_templates
from spacy_ssvm.features.templates import find_refinements
from spacy_ssvm.lattices.layout import LabelParts
from spacy_ssvm.lattices.problem import LatticeProblem
from spacy_ssvm.lattices.selection import LazyLatticeProblem, lattice_selector
from spacy_ssvm.lattices.training import (
    LatticeTrainer,
    labels_of,
    learn_candidates,
    only_labels,
)
from spacy_ssvm.selection import Selection
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.prox_gradient import ProxGradient

SENTENCES = 30 if PLAIN else 60
MANY = 200  # enough to tell the templates that decide from others


class PlantedLattices(Corpus):
    """The same sentences: K labels in pairs, each of which has a part beside those of its labels.

    Half of the wrong labels are candidates; of tokens without gold labels, all that are agree.
    whole: whether labels have no other parts, and all are candidates, as those of chains.
    """

    def __init__(self, sentences: int = SENTENCES, *, whole: bool = False, **settings: Any) -> None:
        super().__init__(sentences, **settings)
        K, numbers = self.K, np.arange(self.K)
        if whole:
            self.parts = LabelParts(np.arange(K + 1), numbers.astype(np.int32), K)
            self.levels = make_levels(K, [numbers])
        else:
            parts = np.column_stack([numbers, K + numbers // 2]).ravel().astype(np.int32)
            self.parts = LabelParts(2 * np.arange(K + 1), parts, K + K // 2)
            self.levels = make_levels(K, [numbers // 2, numbers])
        share = 1.0 if whole else 0.5
        is_candidate = np.random.default_rng(7).random((len(self.gold), K)) < share
        is_gold = self.gold[:, None] == numbers
        is_candidate |= is_gold | ((self.gold < 0)[:, None] & (numbers == 0))
        tokens, labels = np.nonzero(is_candidate)
        starts = np.concatenate([[0], np.cumsum(is_candidate.sum(axis=1))])
        allowed = is_gold[tokens, labels] | (self.gold[tokens] < 0)
        self.candidates = starts, labels.astype(np.int32), allowed

    @property
    def sizes(self) -> dict[str, int]:
        return {"first": int(self.levels.starts[-1]), "width": self.parts.number}

    def lazy_lattices(self) -> LazyLatticeProblem:
        problem = LazyLatticeProblem(self.parts, self.levels)
        compiled = compile_templates(self.templates, self.names)
        sizes = self.statistics().features
        refines = find_refinements(self.all_templates)
        problem.set_features(compiled, sizes, refines, self.real_keys)
        problem.set_tokens(self.attributes, self.starts, *self.candidates, self.reals)
        return problem

    def all_rows(self) -> tuple[LatticeProblem, Any]:
        index, starts, rows = self.rows()
        problem = LatticeProblem(self.parts, self.levels)
        problem.row_templates = index.row_templates
        problem.refines = find_refinements(self.all_templates)
        problem.real_rows = np.arange(len(self.real_keys.keys), dtype=np.int32)
        problem.append(starts, rows, self.starts, *self.candidates, self.reals)
        return problem, index


@pytest.mark.parametrize("settings", RUNS)
@pytest.mark.parametrize(
    ("K", "unknown", "reals"),
    [
        (4, 0.0, 0),
        pytest.param(6, 0.3, 0, marks=pytest.mark.uncompiled),
        pytest.param(4, 0.2, 3, marks=pytest.mark.uncompiled),
    ],
)
def test_weights_allocated_on_first_use_are_those_of_all_features(
    settings: ProxGradient, K: int, unknown: float, reals: int
) -> None:
    corpus = PlantedLattices(seed=2, K=K, unknown=unknown, reals=reals)
    compare_weights(settings, corpus.lazy_lattices(), *corpus.all_rows(), **corpus.sizes)


@pytest.mark.uncompiled
@pytest.mark.parametrize("loss", ["perceptron", "hinge", "log"])
def test_labels_without_parts_are_selected_for_as_those_of_chains(loss: str) -> None:
    settings = ProxGradient(budget=5, prox_period=7, loss=loss, eta0=0.5)
    corpus = PlantedLattices(seed=3, K=4, whole=True)
    chains = passes(settings, corpus.lazy(), 0, epochs=3)
    lattices = passes(settings, corpus.lazy_lattices(), 0, epochs=3)
    np.testing.assert_allclose(lattices.norms, chains.norms, atol=1e-10)
    first = corpus.sizes["first"]
    np.testing.assert_allclose(lattices.w[:first], chains.w[:first], atol=1e-10)
    assert [step.templates for step in lattices.history] == [
        step.templates for step in chains.history
    ]


def test_the_templates_that_decide_are_found() -> None:
    corpus = PlantedLattices(MANY, seed=1)
    settings = ProxGradient(budget=3, prox_period=MANY)
    run = passes(settings, corpus.lazy_lattices(), 0, epochs=5)
    kept = {str(corpus.templates[m]) for m in np.flatnonzero(run.norms)}
    assert kept == set(corpus.RELEVANT)


def test_candidates_and_gold_of_a_selector_are_those_of_training() -> None:
    model = new_model()
    learn_candidates(model, [annotated(model)] * 20)
    determiner, verb = LABELS[0], LABELS[-1]
    batch = annotated(
        model,
        [doc_of(["the", "the", "walks"], ["walk"])],
        [[verb, determiner, None, [-1, VIEWS[LABELS.index(verb), 1]]]],
    )
    trainer = LatticeTrainer(model, DualCoordinateDescent())
    trainer.add(batch)
    expected = trainer.problem.examples()
    found = lattice_selector(model, batch).problem.examples()
    for name in ("token_starts", "candidate_starts", "candidates", "allowed", "completions"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert len(np.unique(np.diff(expected.candidate_starts))) > 1
    assert np.any(expected.completions == -1)


def test_the_gain_of_templates_is_that_about_labels_that_are_known() -> None:
    nlp = MORPHOLOGIZER.trained(epochs=1)
    pipe: Any = nlp.get_pipe(MORPHOLOGIZER.name)
    annotation = pipe.read_batch(pipe.gold_docs(MORPHOLOGIZER.examples(nlp.vocab))).annotation
    values = annotation.values.copy()
    values[0] = -1  # nothing is known
    values[1, 1] = -1  # only the part of speech, which several labels have
    labels = only_labels(annotation._replace(values=values))
    assert labels[0] == -1
    agree = np.count_nonzero(annotation.views[:, 0] == values[1, 0])
    assert (labels[1] == -1) == (agree > 1)
    words, all_labels = labels_of(annotation)
    np.testing.assert_array_equal(labels[2:], all_labels[words >= 2])
    selected = pipe.selector(MORPHOLOGIZER.examples(nlp.vocab)).select(
        Selection(method="information-gain", budget=3)
    )
    gains = {row.template: row.gain for row in selected.table}
    assert set(selected.texts) <= {text for text, gain in gains.items() if gain > 0}


def test_a_selection_without_candidates() -> None:
    nlp = MORPHOLOGIZER.trained(epochs=1, candidates=False, selection=selection(budget=4))
    assert len(nlp.get_pipe(MORPHOLOGIZER.name).model.templates) == 4  # type: ignore[attr-defined]
