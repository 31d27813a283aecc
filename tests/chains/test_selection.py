"""Tests of ``spacy_ssvm/chains/selection.py``."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import make_doc
from pipelines import (
    CHUNKER,
    LEMMATIZER,
    MORPHOLOGIZER,
    RECOGNIZER,
    SENTER,
    TAGGER,
    Component,
    copy_of,
)
from planted_chains import selection
from spacy.tokens import Doc
from spacy.training import Example
from thinc.config import ConfigValidationError

from spacy_ssvm.selection import Selection

TOKEN_COMPONENTS = [TAGGER, MORPHOLOGIZER, LEMMATIZER, RECOGNIZER, CHUNKER, SENTER]


@pytest.mark.parametrize("component", TOKEN_COMPONENTS, ids=lambda c: c.name)
def test_a_budget_above_the_number_of_templates(component: Component) -> None:
    with pytest.raises(ConfigValidationError, match="only 2 templates") as caught:
        component.pipeline(templates=["lower[0]", "lower[1]"], selection=selection(budget=3))
    assert "selection.budget" in str(caught.value)


@pytest.mark.parametrize("component", TOKEN_COMPONENTS, ids=lambda c: c.name)
def test_what_is_left_is_learned_as_if_nothing_else_had_been_there(
    component: Component, tmp_path: Path
) -> None:
    nlp = component.trained(epochs=3, selection=selection(budget=6))
    pipe: Any = nlp.get_pipe(component.name)
    templates = pipe.selected.texts
    assert len(templates) == 6
    again = component.trained(epochs=3, templates=templates)
    assert pipe.to_bytes() == again.get_pipe(component.name).to_bytes()

    settings = nlp.config["components"][component.name]
    assert settings["templates"] == templates
    assert settings["selection"] is None
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.config["components"][component.name]["templates"] == templates
    assert component.annotate(loaded) == component.annotate(nlp)
    arrays = loaded.get_pipe(component.name).model.arrays()
    for name, array in pipe.model.arrays().items():
        np.testing.assert_array_equal(arrays[name], array)
    assert component.annotate(copy_of(nlp)) == component.annotate(nlp)


def test_empty_docs_and_partial_gold() -> None:
    nlp = TAGGER.pipeline(selection=selection(budget=4))
    examples = TAGGER.examples(nlp.vocab)
    words = ["The", "old", "dog", "barks"]
    examples += [
        Example(Doc(nlp.vocab), Doc(nlp.vocab)),
        Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words)),
        Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words, tags=["DT", "", "NN", ""])),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(lambda: examples)
    assert len(nlp.get_pipe("ssvm_tagger").model.templates) == 4  # type: ignore[attr-defined]


def test_nothing_to_learn_from() -> None:
    nlp = TAGGER.pipeline(selection=selection(budget=4))
    words = ["The", "dog"]
    example = Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words))
    nlp.config["initialize"]["components"] = {"ssvm_tagger": {"labels": ["DT", "NN"]}}
    message = (
        r"\[components\.ssvm_tagger\]\nInvalid setting\.\nselection\t.*no template has weights"
    )
    with pytest.raises(ConfigValidationError, match=message):
        nlp.get_pipe("ssvm_tagger").initialize(lambda: [example], labels=["DT", "NN"])  # type: ignore[attr-defined]


def test_a_selector_of_a_model() -> None:
    nlp = TAGGER.trained(epochs=1)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    examples = TAGGER.examples(nlp.vocab)
    selector = tagger.selector(examples)
    seen: list[int] = []
    selected = selector.select(
        Selection(budget=3, epochs=2), report=lambda epoch, step: seen.append(epoch)
    )
    assert seen == [1, 2]
    assert len(selected.texts) == 3
