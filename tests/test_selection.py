"""Selection of templates: what is kept, what a run costs, and what is learned from the rest."""

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from marks import compiled_only
from pipelines import (
    CHUNKER,
    LABELER,
    LEMMATIZER,
    MORPHOLOGIZER,
    PARSER,
    RECOGNIZER,
    SENTER,
    TAGGER,
    copy_of,
)
from planted_chains import Corpus, passes, selection
from processes import TESTS
from saving import FILE, header_of
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example
from spacy.util import load_config
from thinc.config import ConfigValidationError

from spacy_ssvm.selection import Selection
from spacy_ssvm.solvers.prox_gradient import ProxGradient
from spacy_ssvm.trees.keys import compile_arc_keys
from spacy_ssvm.trees.problem import LazyTreeProblem
from spacy_ssvm.weights.compact import entries_of
from spacy_ssvm.weights.key_table import keys_of, short_keys
from spacy_ssvm.weights.lazy import Support


def test_the_objective_at_lazy_weights():
    """Weights are stored divided by a scale, which the objective must not count twice."""
    corpus, settings = Corpus(40), ProxGradient(budget=3, l2=0.01, prox_period=10)
    eager, index = corpus.eager()
    lazy = passes(settings, corpus.lazy(), 0, 2)
    assert (lazy.problem.store.table.scales != 1).any()
    before = lazy.problem.store.table.counts.copy()
    primal = lazy.objective().primal
    assert primal == pytest.approx(
        passes(settings, eager, index.number_of_rows, 2).objective().primal
    )
    assert primal > 0
    assert (lazy.problem.store.table.counts == before).all()


@pytest.mark.parametrize("groups", ["template", "coarse-to-fine"])
@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 13, 31, 32])
def test_budgets_are_met(groups, budget):
    selector = Corpus(30).selector()
    selected = selector.select(Selection(budget=budget, groups=groups, prox_period=11, epochs=2))
    assert len(selected.kept) == budget
    assert [selector.templates[m] for m in selected.kept] == list(selected.templates)
    assert all(step.templates <= budget for step in selected.history)


@pytest.mark.parametrize("method", ["lasso", "information-gain"])
def test_the_other_methods_meet_their_budget(method):
    selected = Corpus(30).selector().select(Selection(method=method, budget=7))
    assert len(selected.kept) == 7


@pytest.mark.uncompiled
def test_none_keeps_all():
    corpus = Corpus(30)
    selected = corpus.selector().select(Selection(method="none"))
    assert list(selected.templates) == corpus.templates


@compiled_only
@pytest.mark.parametrize("settings", [Selection(budget=3), Selection(budget=3, loss="hinge")])
@pytest.mark.parametrize("seed", range(3))
def test_planted_templates_are_found(settings, seed):
    corpus = Corpus(3000, seed=seed)
    assert corpus.texts(corpus.selector().select(settings)) == set(corpus.RELEVANT)


def test_a_selection_does_not_depend_on_those_before_unless_it_goes_on():
    def weights(selected: Any) -> list[float]:
        return [row.norm for row in selected.table]

    selector = Corpus().selector()
    first = selector.select(Selection(budget=4))
    selector.select(Selection(budget=9))
    assert weights(selector.select(Selection(budget=4))) == weights(first)
    further = selector.select(Selection(budget=3), warm_start=True)
    assert set(further.texts) <= {str(t) for t in Corpus().templates}
    assert len(further.kept) == 3
    assert further.history[0].examples > first.history[-1].examples
    assert weights(further) != weights(Corpus().selector().select(Selection(budget=3)))


def test_the_table_and_the_memory():
    corpus = Corpus(200)
    selector = corpus.selector()
    selected = selector.select(Selection(budget=4, prox_period=20))
    assert [row.template for row in selected.table if row.is_kept] == selected.texts
    assert sum(row.share for row in selected.table) == pytest.approx(1)
    assert all((row.norm > 0) == (row.rows > 0) == row.is_kept for row in selected.table)
    assert all(row.rows <= row.features for row in selected.table)
    store = selector.problem.store
    assert selected.peak_bytes >= store.bytes > 0
    features = sum(row.rows for row in selected.table)
    assert features < store.allocated <= corpus.K * features
    assert store.allocated == selected.history[-1].allocated < selected.history[-1].allocated_before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "budget is not set"),
        ({"budget": 3, "strength": 0.1}, "budget and strength are both set"),
        ({"budget": 0}, "budget is 0"),
        ({"budget": 3, "groups": "label"}, "groups is 'label'"),
        ({"budget": 3, "method": "ridge"}, "method is 'ridge'"),
        ({"budget": 3, "prox_period": 0}, "prox_period is 0"),
        ({"budget": 3, "epochs": 0}, "epochs is 0"),
        ({"budget": 3, "l1": -1.0}, "l1 is -1.0"),
        ({"budget": 3, "eta0": 0.0}, "eta0 is 0.0"),
        ({"strength": -1.0}, "strength is -1.0"),
        ({"strength": 0.1, "method": "information-gain"}, "needs a budget"),
        ({"budget": 3, "loss": "squared"}, "loss is 'squared'"),
        ({"budget": 3, "refit": "all"}, "refit is 'all'"),
        (
            {"budget": 3, "refit": "features", "method": "information-gain"},
            "refit is 'features', but the method 'information-gain' gives no weights",
        ),
    ],
)
def test_bad_settings(settings, message):
    block = {"@misc": "spacy_ssvm.Selection.v1", **settings}
    with pytest.raises(ConfigValidationError, match=message) as caught:
        TAGGER.pipeline(selection=block)
    assert "Selection.v1" in str(caught.value)


def test_a_budget_of_single_weights_shrinks_by_a_step_in_a_pass() -> None:
    problem = Corpus(sentences=40).lazy()
    for settings in ({"method": "lasso"}, {"groups": "attribute"}):
        solver = Selection(budget=3, **settings).solver(problem)
        assert (solver.budget, solver.strength) == (None, 1 / 40)


def test_how_often_weights_shrink_goes_with_the_structure() -> None:
    trees = LazyTreeProblem(compile_arc_keys((), ()), 0, projective=True)
    for problem, K in ((Corpus(sentences=40).lazy(), 40), (trees, 1000)):
        assert Selection(budget=1).solver(problem).prox_period == K
        assert Selection(budget=1, prox_period=7).solver(problem).prox_period == 7


def test_something_else_than_a_selection() -> None:
    with pytest.raises(ConfigValidationError, match=r"spacy_ssvm\.Selection\.v1"):
        TAGGER.pipeline(selection={"budget": 3})


@pytest.mark.parametrize("method", ["group-lasso", "lasso", "information-gain"])
def test_the_same_seed_selects_the_same(method: str) -> None:
    settings = selection(budget=6, method=method)
    one, other = (TAGGER.trained(epochs=2, selection=settings) for _ in range(2))
    assert one.to_bytes() == other.to_bytes()


NAME = attrgetter("name")


def weights_of(component: Any) -> dict[tuple[int, int], float]:
    """The weights of a trained model that are not zero, by the key of their feature and label."""
    component._sync()
    model = component.model
    entries = entries_of(model.weights, model.number_of_columns)
    keys = np.repeat(keys_of(model.table), np.diff(entries.row_starts))
    pairs = zip(keys.tolist(), entries.labels.tolist(), strict=True)
    return dict(zip(pairs, entries.weights.tolist(), strict=True))


def support_of(component: Any) -> set[tuple[int, int]]:
    support = component.selected.support
    keys = np.repeat(short_keys(support.keys), np.diff(support.starts))
    return {*zip(keys.tolist(), support.labels.tolist(), strict=True)}


@pytest.mark.parametrize("kind", [TAGGER, RECOGNIZER, CHUNKER, SENTER, MORPHOLOGIZER], ids=NAME)
@pytest.mark.parametrize("solver", ["DualCoordinateDescent", "Mira", "Perceptron", "FrankWolfe"])
def test_only_features_with_weights_are_refitted(kind: Any, solver: str) -> None:
    block = {"@misc": f"spacy_ssvm.{solver}.v1"}
    settings = {"budget": 6, "epochs": 3, "prox_period": 5}
    found = {}
    for refit in ("templates", "features"):
        nlp = kind.trained(epochs=4, solver=block, selection=selection(**settings, refit=refit))
        component: Any = nlp.get_pipe(kind.name)
        found[refit] = {*weights_of(component)}
    support = support_of(component)
    assert found["features"] <= support
    assert len(found["features"]) > len(support) / 3
    assert not found["templates"] <= support


@pytest.mark.parametrize("kind", [TAGGER, MORPHOLOGIZER, LEMMATIZER], ids=NAME)
def test_of_words_with_candidates_only_features_with_weights_are_refitted(kind: Any) -> None:
    settings = selection(budget=6, epochs=3, prox_period=5, refit="features")
    nlp = kind.trained(epochs=4, candidates=True, selection=settings)
    component: Any = nlp.get_pipe(kind.name)
    weights, support = {*weights_of(component)}, support_of(component)
    assert weights <= support
    assert len(weights) > len(support) / 3
    assert kind.accuracy(nlp) > 0.9


@pytest.fixture
def length() -> Iterator[str]:
    """A real-valued attribute of words."""
    Token.set_extension("length_in_test", getter=lambda token: float(len(token)))
    yield "real._.length_in_test[0]"
    Token.remove_extension("length_in_test")


def test_numbers_of_words_are_refitted_where_they_have_weights(length: str) -> None:
    settings = selection(budget=2, epochs=2, prox_period=4, refit="features")
    templates = [length, "lower[0]", "suffix2[0]", "shape[0]"]
    nlp = TAGGER.trained(epochs=3, templates=templates, selection=settings)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    assert length in tagger.selected.texts
    weights, support = {*weights_of(tagger)}, support_of(tagger)
    assert weights <= support
    (row,) = np.flatnonzero(
        tagger.selected.support.templates == tagger.selected.texts.index(length)
    )
    (key,) = short_keys(tagger.selected.support.keys[[row]]).tolist()
    assert key in {found for found, _ in weights}


def test_a_refit_of_all_features_changes_nothing() -> None:
    nlp = TAGGER.trained(epochs=3, solver={"@misc": "spacy_ssvm.Perceptron.v1"})
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    expected = weights_of(tagger)
    index, K = tagger._trainer.index, len(tagger.labels)
    support = Support(
        index.row_keys,
        index.row_templates,
        K * np.arange(index.number_of_rows + 1),
        np.tile(np.arange(K, dtype=np.uint16), index.number_of_rows),
    )
    tagger.use_templates(tagger.model.templates, support)
    TAGGER.train(nlp, TAGGER.examples(nlp.vocab), 3)
    assert weights_of(tagger) == expected


def test_a_refit_ends_with_the_training() -> None:
    """What has been trained or loaded learns all features from then on."""
    settings = selection(budget=6, epochs=1, refit="features")
    nlp = TAGGER.trained(epochs=2, selection=settings)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    support = support_of(tagger)
    assert weights_of(tagger).keys() <= support
    loaded = copy_of(nlp)
    for pipeline in (nlp, loaded):
        further: Any = pipeline.get_pipe("ssvm_tagger")
        further.end_training()
        TAGGER.train(pipeline, TAGGER.examples(pipeline.vocab), 3)
        assert not weights_of(further).keys() <= support


@pytest.mark.parametrize("change", ["a label", "a model"])
def test_a_refit_ends_with_the_labels_and_templates_that_it_is_of(change: str) -> None:
    nlp = TAGGER.pipeline(selection=selection(budget=6, epochs=1, refit="features"))
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    if change == "a label":
        tagger.add_label("NEW")  # others get other numbers
    else:
        tagger.from_bytes(TAGGER.trained(epochs=0).get_pipe("ssvm_tagger").to_bytes())
    TAGGER.train(nlp, examples, 2)
    assert not weights_of(tagger).keys() <= support_of(tagger)


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        (TAGGER, {"hash_bits": 14}, "where hash_bits is set, features share weights"),
        (TAGGER, {"solver": {"@misc": "spacy_ssvm.LBFGS.v1"}}, "LBFGS needs weights for all"),
        (PARSER, {}, "only components that label tokens"),
        (LABELER, {}, "only components that label tokens"),
    ],
    ids=["hash_bits", "LBFGS", "parser", "sentence_labeler"],
)
def test_where_features_cannot_be_refitted(kind: Any, config: Any, message: str) -> None:
    nlp = kind.pipeline(**config, selection=selection(budget=3, refit="features"))
    examples = kind.examples(nlp.vocab)
    with pytest.raises(ConfigValidationError, match=message) as caught:
        nlp.initialize(lambda: examples)
    assert "selection.refit" in str(caught.value)
    assert "Set it to 'templates'" in str(caught.value)


def test_initialize_selects_anew_among_all() -> None:
    nlp = TAGGER.trained(epochs=1, selection=selection(budget=4))
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    first = tagger.selected.texts
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    assert tagger.selected.texts == first
    assert len(tagger.selected.table) > 4


def test_the_report_of_a_trained_model(trained_tagger: spacy.Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    report = tagger.templates_report()
    assert {row.template for row in report} == set(map(str, tagger.model.templates))
    assert sum(row.share for row in report) == pytest.approx(1)
    assert [row.share for row in report] == sorted((row.share for row in report), reverse=True)
    assert sum(row.rows for row in report) == tagger.model.number_of_rows
    hashed: Any = TAGGER.trained(hash_bits=14).get_pipe("ssvm_tagger")
    shares = {row.template: row.share for row in report}
    for row in hashed.templates_report():
        assert row.share == pytest.approx(shares[row.template], abs=0.02)


def test_spacy_train_selects(tmp_path: Path) -> None:
    nlp = TAGGER.pipeline()
    DocBin(docs=[e.reference for e in TAGGER.examples(nlp.vocab)]).to_disk(tmp_path / "all.spacy")
    config = load_config(TESTS.parent / "configs" / "tagger.cfg")
    config["components"]["tagger"]["selection"] = selection(budget=5)
    config.to_disk(tmp_path / "config.cfg")
    paths = {"paths.train": str(tmp_path / "all.spacy"), "paths.dev": str(tmp_path / "all.spacy")}
    train(tmp_path / "config.cfg", tmp_path / "out", overrides={**paths, "training.max_epochs": 2})
    trained = spacy.load(tmp_path / "out" / "model-last")
    written = load_config(tmp_path / "out" / "model-last" / "config.cfg")
    assert len(written["components"]["tagger"]["templates"]) == 5
    assert written["components"]["tagger"]["selection"] is None
    templates: Any = trained.get_pipe("tagger").model.templates  # type: ignore[attr-defined]
    assert list(map(str, templates)) == written["components"]["tagger"]["templates"]

    config = load_config(tmp_path / "out" / "model-last" / "config.cfg")
    config.to_disk(tmp_path / "again.cfg")
    train(tmp_path / "again.cfg", tmp_path / "again", overrides={**paths})
    models = [tmp_path / name / "model-last" / "tagger" for name in ("out", "again")]
    files = [sorted(f.read_bytes() for f in m.rglob("*") if f.is_file()) for m in models]
    assert files[0] == files[1]
    header, _ = header_of((models[0] / FILE).read_bytes())
    parts = json.loads(header["__metadata__"]["parts"])
    assert parts["cfg"] == {"attribute": "TAG", "overwrite": False}


class TagByHand:
    """A component that tags, as a frozen tagger does."""

    def __init__(self, tags: dict[str, str]) -> None:
        self.tags = tags

    def __call__(self, doc: Any) -> Any:
        for token in doc:
            token.tag_ = self.tags.get(token.text, "X")
        return doc

    def pipe(self, docs: Any, **_: Any) -> Any:
        return map(self, docs)


@spacy.Language.factory("tag_by_hand")
def make_tag_by_hand(nlp: spacy.Language, name: str) -> TagByHand:
    return TagByHand({"dog": "NN", "dogs": "NN", "the": "DT", "The": "DT"})


def test_frozen_components_annotate_for_the_selection() -> None:
    nlp = CHUNKER.pipeline(templates=["tag[0]", "lower[0]"], selection=selection(budget=2))
    nlp.add_pipe("tag_by_hand", first=True)
    nlp.config["training"]["frozen_components"] = ["tag_by_hand"]
    nlp.config["training"]["annotating_components"] = ["tag_by_hand"]
    examples = CHUNKER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    table = nlp.get_pipe("ssvm_chunker").selected.table  # type: ignore[attr-defined]
    assert table[0].features == 3


def test_the_order_of_the_templates_is_its_hasse_diagram() -> None:
    nlp = spacy.blank("xx")
    templates = ["lower[0]", "suffix2[0]", "suffix3[0]", "lower[0]+lower[1]", "lower[1]", "tag[0]"]
    tagger: Any = nlp.add_pipe("ssvm_tagger", config={"templates": templates})
    examples = [
        Example(Doc(nlp.vocab, words=["a", "b"]), Doc(nlp.vocab, words=["a", "b"], tags=["A", "B"]))
    ]
    nlp.initialize(lambda: examples)
    selector = tagger.selector(examples)
    assert set(selector.order()) == {
        ("suffix2[0]", "suffix3[0]"),
        ("suffix3[0]", "lower[0]"),
        ("lower[0]", "lower[0]+lower[1]"),
        ("lower[1]", "lower[0]+lower[1]"),
        ("tag[0]", "lower[0]"),
    }
    refines = selector.problem.refines
    assert refines[1, 3], "suffix2[0] comes before lower[0]+lower[1], with others between"
    selector.problem.refines = None
    assert selector.order() == []
