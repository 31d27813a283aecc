"""Selection among templates of arcs: oracles against all trees, rows, what a parser keeps."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import make_doc, parsed_doc
from marks import compiled_only
from pipelines import PARSER, copy_of
from planted_trees import Corpus
from processes import TESTS
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_config
from thinc.config import ConfigValidationError

from spacy_ssvm.lab.search import ALL, Search
from spacy_ssvm.selection import Selection

pytestmark = pytest.mark.filterwarnings(PARSER.warning or "")


@compiled_only
@pytest.mark.parametrize("method", ["group-lasso", "lasso"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_templates_are_found(method: str, seed: int) -> None:
    selected = Corpus(2000, seed=seed).selector().select(Selection(method=method, budget=2))
    assert set(selected.texts) == set(Corpus.RELEVANT)


@pytest.mark.parametrize("groups", ["template", "coarse-to-fine"])
@pytest.mark.parametrize("budget", [1, 2, 5, 17, 33])
def test_budgets_are_met(groups: str, budget: int) -> None:
    selector = Corpus(20).selector()
    selected = selector.select(Selection(budget=budget, groups=groups, prox_period=9, epochs=2))
    assert len(selected.kept) == budget
    assert all(step.templates <= budget for step in selected.history)
    further = selector.select(Selection(budget=1, prox_period=9, epochs=1), warm_start=True)
    assert len(further.kept) == 1


@pytest.mark.parametrize("method", ["lasso", "information-gain", "none"])
def test_the_other_methods_meet_their_budget(method: str) -> None:
    selected = Corpus(20).selector().select(Selection(method=method, budget=7))
    assert len(selected.kept) == (37 if method == "none" else 7)


SIBLINGS = 12  # in the family
MANY = ["parser114"]


def selection(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.Selection.v1", "prox_period": 10, **settings}


@pytest.mark.parametrize(
    ("config", "siblings"),
    [({}, SIBLINGS), ({"order": 1}, 0), ({"order": 1, "projective": False}, 0)],
)
@pytest.mark.parametrize("settings", [{}, {"method": "information-gain"}])
def test_what_is_left_is_learned_as_if_nothing_else_had_been_there(
    config: dict[str, Any], siblings: int, settings: dict[str, Any], tmp_path: Path
) -> None:
    selected = selection(budget=6, **settings)
    nlp = PARSER.trained(epochs=2, templates=MANY, selection=selected, **config)
    pipe: Any = nlp.get_pipe(PARSER.name)
    texts = pipe.selected.texts
    assert len(pipe.selected.kept) == 6
    assert len(texts) == 6 + siblings == len(pipe.model.templates)
    assert sum("sibling" in text for text in texts) == siblings
    again = PARSER.trained(epochs=2, templates=texts, **config)
    assert pipe.to_bytes() == again.get_pipe(PARSER.name).to_bytes()  # type: ignore[attr-defined]

    written = nlp.config["components"][PARSER.name]
    assert written["templates"] == texts
    assert written["selection"] is None
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.config["components"][PARSER.name]["templates"] == texts
    assert PARSER.annotate(loaded) == PARSER.annotate(nlp)
    assert PARSER.annotate(copy_of(nlp)) == PARSER.annotate(nlp)


@pytest.mark.parametrize("settings", [{}, {"method": "lasso"}, {"loss": "log"}])
def test_the_same_seed_selects_the_same(settings: dict[str, Any]) -> None:
    wanted = selection(budget=6, epochs=2, **settings)
    one, other = (PARSER.trained(epochs=1, selection=wanted) for _ in range(2))
    assert one.to_bytes() == other.to_bytes()


def test_initialize_selects_anew_among_all() -> None:
    nlp = PARSER.trained(epochs=1, selection=selection(budget=4))
    pipe: Any = nlp.get_pipe(PARSER.name)
    first = pipe.selected.texts
    examples = PARSER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    assert pipe.selected.texts == first
    assert len(pipe.selected.table) > 4


def test_all_arcs_are_scored_without_pruning() -> None:
    nlp = PARSER.pipeline(selection=selection(budget=4), pruning=None)
    examples = PARSER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(PARSER.name)
    problem = pipe.selector(examples).problem
    words = sum(len(e.reference) ** 2 for e in examples)
    assert len(problem.arcs.heads) == words


def test_the_budget_counts_templates_of_arcs() -> None:
    templates = ["head.lower", "dependent.lower", "dependent.lower+sibling.lower"]
    with pytest.raises(ConfigValidationError, match="only 2 templates") as caught:
        PARSER.pipeline(templates=templates, selection=selection(budget=3))
    assert "selection.budget" in str(caught.value)
    nlp = PARSER.trained(epochs=1, templates=templates, selection=selection(budget=1))
    kept = nlp.config["components"][PARSER.name]["templates"]
    assert len(kept) == 2
    assert kept[-1] == templates[-1]


def test_something_else_than_a_selection() -> None:
    with pytest.raises(ConfigValidationError, match=r"spacy_ssvm\.Selection\.v1"):
        PARSER.pipeline(selection={"budget": 3})


def test_empty_docs_and_partial_trees() -> None:
    nlp = PARSER.pipeline(templates=MANY, selection=selection(budget=4))
    examples = PARSER.examples(nlp.vocab)
    words = ["The", "old", "dog", "barks"]
    partial = parsed_doc(nlp.vocab, "The:3:det old:3:amod dog:4:nsubj barks:0:ROOT")
    partial[1].dep_ = ""
    examples += [
        Example(Doc(nlp.vocab), Doc(nlp.vocab)),
        Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words)),
        Example(make_doc(nlp.vocab, words), partial),
    ]
    nlp.initialize(lambda: examples)
    assert len(nlp.get_pipe(PARSER.name).selected.kept) == 4  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["The", "dog"], []])
def test_nothing_to_learn_from(words: list[str]) -> None:
    nlp = PARSER.pipeline(selection=selection(budget=4))
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))
    pipe: Any = nlp.get_pipe(PARSER.name)
    message = (
        r"\[components\.ssvm_parser\]\nInvalid setting\.\nselection\t.*no template has weights"
    )
    with pytest.raises(ConfigValidationError, match=message):
        pipe.initialize(lambda: [example], labels=["det", "ROOT"])


def test_there_is_no_report_of_templates_that_share_rows() -> None:
    assert not hasattr(PARSER.pipeline().get_pipe(PARSER.name), "templates_report")


def test_spacy_train_selects(tmp_path: Path) -> None:
    nlp = PARSER.pipeline()
    file = tmp_path / "all.spacy"
    DocBin(docs=[e.reference for e in PARSER.examples(nlp.vocab)]).to_disk(file)
    config = config_of(file)
    config.to_disk(tmp_path / "config.cfg")
    train(tmp_path / "config.cfg", tmp_path / "out")
    trained = spacy.load(tmp_path / "out" / "model-last")
    written = load_config(tmp_path / "out" / "model-last" / "config.cfg")
    templates = written["components"]["parser"]["templates"]
    assert len(templates) == 5 + SIBLINGS
    assert written["components"]["parser"]["selection"] is None
    model: Any = trained.get_pipe("parser").model  # type: ignore[attr-defined]
    assert list(map(str, model.templates)) == templates


def config_of(file: Path) -> Any:
    """A config for ``spacy train`` with a parser that selects."""
    config = load_config(TESTS.parent / "configs" / "parser.cfg")
    del config["components"]["tagger"]
    config["nlp"]["pipeline"] = ["parser"]
    config["training"].update(frozen_components=[], annotating_components=[], max_epochs=2)
    config["components"]["parser"].update(
        templates=MANY, selection=selection(budget=5), hash_bits=16
    )
    config["paths"].update(train=str(file), dev=str(file))
    return config


@compiled_only
def test_a_search_keeps_the_siblings(tmp_path: Path) -> None:
    nlp = PARSER.pipeline()
    file = tmp_path / "all.spacy"
    DocBin(docs=[e.reference for e in PARSER.examples(nlp.vocab)]).to_disk(file)
    search = Search(config_of(file), budgets=[6, 3])
    search.prepare()
    points = [*search.run("group-lasso"), *search.run("information-gain"), *search.run(ALL)]
    counts = [len(point.templates) - SIBLINGS for point in points]
    assert counts[:4] == [6, 3, 6, 3]
    assert counts[4] == len(search._selector.templates) == int(search.facts["to choose from"])
    assert all(point.features > 0 and point.score > 0.5 for point in points)
    assert set(points[1].templates) <= set(points[4].templates)
