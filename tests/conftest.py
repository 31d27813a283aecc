"""Fixtures that several files of tests share."""

import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from corpora import tagging_examples
from marks import PLAIN
from pipelines import COMPONENTS, TAGGER, Component
from processes import ScriptRunner
from spacy.language import Language
from tiny_taggers import TINY, train
from unwritten import fill_unwritten

hypothesis.settings.register_profile(  # no change may fail by a draw that it is not to blame for
    "tests", deadline=None, max_examples=15 if PLAIN else 50, derandomize="CI" in os.environ
)
hypothesis.settings.load_profile("tests")

if PLAIN:
    fill_unwritten()


def _parameter(component: Component) -> Any:
    marks = [pytest.mark.filterwarnings(component.warning)] if component.warning else []
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
