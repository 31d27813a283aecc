"""Fixtures that several files of tests share."""

import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from corpora import tagging_examples
from marks import PLAIN
from pipelines import CHUNKER, COMPONENTS, LABELER, TAGGER, Component
from processes import TESTS, ScriptRunner
from spacy.language import Language
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
    *("align", "papers", "sentences"),
    *(f"chains/test_{name}.py" for name in ("probabilities", "selection", "stores", "trellis")),
    *(f"trees/test_{name}.py" for name in ("probabilities", "selection", "statistics", "stores")),
    *(
        f"decoders/test_{name}.py"
        for name in (
            *("chain_projection", "grandparent_marginals", "grandparents"),
            *("k_best_siblings", "hill_climbing"),
            "belief_propagation",
        )
    ),
    *(
        f"solvers/test_{name}.py"
        for name in (
            *("cutting_plane", "dual_coordinate_ascent", "extragradient", "frank_wolfe"),
            *("simplex_smo", "lbfgs", "mira", "pairwise_steps", "prox_gradient", "run", "signs"),
            "stochastic_gradient",
        )
    ),
    *(
        f"commands/test_{name}.py"
        for name in (
            *("clusters", "compare", "compare_report", "figures", "gazetteers"),
            *("jackknife", "kills", "pages", "search", "search_report", "warmup"),
        )
    ),
    *(f"commands/quickstart/test_{name}.py" for name in ("continuing", "swap")),
    *(
        f"test_{name}.py"
        for name in (
            *("adding_a_structure", "deployment", "document_commands", "documents", "installs"),
            *("kernel_cache", "penalties", "selection", "site", "spacy_suite", "structure"),
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
    if component in (CHUNKER, LABELER):
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
