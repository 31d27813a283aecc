"""Fixtures that several files of tests share."""

import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import spacy
from corpora import SENTENCES, make_doc, tagged_sentences, tagging_examples
from marks import PLAIN
from pipelines import CHUNKER, COMPONENTS, LABELER, SENTER, TAGGER, Component
from processes import TESTS, ScriptRunner
from spacy.language import Language
from spacy.tokens import DocBin
from tiny_taggers import TINY, train
from unwritten import fill_unwritten

hypothesis.settings.register_profile(  # no change may fail by a draw that it is not to blame for
    "tests", deadline=None, max_examples=15 if PLAIN else 50, derandomize="CI" in os.environ
)
hypothesis.settings.load_profile("tests")

if PLAIN:
    fill_unwritten()


#: Folders and files whose tests are slow: of rooms that the core does not know, and of what takes
#: long to compile or to run.
SLOW = {
    *("align", "distributed", "lab", "papers", "sentences", "tokenizer"),
    *(f"chains/test_{name}.py" for name in ("probabilities", "selection")),
    "labelings/test_word_features.py",
    "lattices/test_selection.py",
    *(f"trees/test_{name}.py" for name in ("probabilities", "selection", "statistics", "stores")),
    *(
        f"decoders/test_{name}.py"
        for name in (
            *("belief_propagation", "grandparent_marginals", "grandparents", "hill_climbing"),
            *("sibling_marginals", "tree_marginals"),
        )
    ),
    *(
        f"solvers/test_{name}.py"
        for name in (
            *("dual_coordinate_ascent", "frank_wolfe", "lbfgs", "mira"),
            *("prox_gradient", "run", "signs", "stochastic_gradient"),
        )
    ),
    *(
        f"commands/test_{name}.py"
        for name in ("clusters", "figures", "gazetteers", "jackknife", "kills", "pages", "warmup")
    ),
    "commands/conversion/test_treebank.py",
    *(f"commands/recipes/test_{name}.py" for name in ("continuing", "swap")),
    *(
        f"test_{name}.py"
        for name in (
            *("adding_a_structure", "deployment", "document_commands", "documents", "installs"),
            *("kernel_cache", "objective", "penalties", "selection", "site", "spacy_suite"),
            "structure",
        )
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests."""
    for item in items:
        path = item.path.relative_to(TESTS)
        if not SLOW.isdisjoint({path.as_posix(), path.parts[0]}):
            item.add_marker(pytest.mark.slow)


def pytest_configure() -> None:
    """Raise AssertionError for a name of ``SLOW`` that is of no file."""
    missing = [name for name in sorted(SLOW) if not (TESTS / name).exists()]
    assert not missing, missing


def _parameter(component: Component) -> Any:
    marks = [pytest.mark.filterwarnings(component.warning)] if component.warning else []
    if component in (CHUNKER, LABELER, SENTER):  # the core is tested on the others
        marks.append(pytest.mark.slow)
    return pytest.param(component, marks=marks, id=component.factory)


@pytest.fixture(scope="session", params=map(_parameter, COMPONENTS))
def component(request: pytest.FixtureRequest) -> Component:
    return request.param


@pytest.fixture(scope="session")
def trained(component: Component) -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return component.trained()


@pytest.fixture(scope="session")
def trained_tagger() -> Language:
    """A pipeline with a trained tagger. Tests share it: they must not change it."""
    return TAGGER.trained()


@pytest.fixture
def run_script(tmp_path: Path) -> ScriptRunner:
    folder = tmp_path / "scripts"
    folder.mkdir()
    return ScriptRunner(folder)


@pytest.fixture(scope="module")
def tiny() -> Language:
    """A tagger of few labels, whose label sequences can be enumerated."""
    nlp = TAGGER.pipeline()
    train(nlp, tagging_examples(nlp.vocab, TINY))
    return nlp


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences with tags, and with trees that are chains; some tags and arcs are not known."""
    nlp = spacy.blank("en")
    docs = []
    for i, (words, tags) in enumerate(tagged_sentences(SENTENCES)):
        known = [tag if (i + j) % 7 else "" for j, tag in enumerate(tags)]
        heads = [max(j - 1, 0) for j in range(len(words))]
        deps = ["ROOT", *known[1:]]
        docs.append(make_doc(nlp.vocab, words, tags=known, heads=heads, deps=deps))
    file = tmp_path_factory.mktemp("corpus") / "train.spacy"
    DocBin(docs=docs).to_disk(file)
    return file


@pytest.fixture
def report(tmp_path: Path) -> Path:
    from comparisons import ROWS

    from spacy_ssvm.lab.compare_report import write_report

    file = tmp_path / "report.html"
    write_report(file, ROWS, {"component": "<tagger>"})
    return file
