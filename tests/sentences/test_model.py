"""Tests of ``spacy_ssvm/sentences/model.py``."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sentence_labelers import lines_of, tiny_labeler
from spacy.language import Language

from spacy_ssvm.sentences.model import SentenceModel
from spacy_ssvm.sentences.units import PARAGRAPHS, SPANS, Units
from spacy_ssvm.storage import ModelFileError

pytestmark = pytest.mark.uncompiled


@pytest.fixture(scope="module")
def nlp() -> Language:
    return tiny_labeler()


def model_of(nlp: Language) -> Any:
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    labeler._sync()
    return labeler.model


def test_a_copy_scores_as_the_model_does(nlp: Language) -> None:
    model = model_of(nlp)
    table = model.reader.read([lines_of(nlp, ["we sing", "old trees fall ."])]).table
    expected = model.emissions(table)
    loaded = SentenceModel((), model.units).from_bytes(model.to_bytes())
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), loaded):
        assert np.array_equal(other.emissions(table), expected)
        assert other.templates == model.templates
        assert other.units == model.units
        assert other.summary == model.summary


@pytest.mark.parametrize("units", [Units(), Units(PARAGRAPHS), Units(SPANS, "x")])
def test_a_model_of_other_units_is_refused(nlp: Language, units: Units) -> None:
    data = model_of(nlp).to_bytes()
    with pytest.raises(ModelFileError, match="labels other units than " + units.kind):
        SentenceModel((), units).from_bytes(data)


def test_fixed_labels_exclude_all_others(nlp: Language) -> None:
    model = model_of(nlp)
    table = model.reader.read([lines_of(nlp, ["we sing", "old trees"])]).table
    free = model.emissions(table)
    fixed = model.emissions(table, np.array([-1, 1]))
    assert np.array_equal(fixed[0], free[0])
    assert fixed[1, 1] == free[1, 1]
    assert np.isneginf(np.delete(fixed[1], 1)).all()
    assert model.label(table, fixed)[1] == 1
    assert np.isposinf(model.margins(table, fixed, model.label(table, fixed))[1])


def test_a_damaged_template_is_refused(nlp: Language) -> None:
    model = model_of(nlp)
    header = model.header()
    for texts in (["lower[0]"], ["bag(lower)"], ["bag(cluster4)", "position"]):
        with pytest.raises(ValueError):  # noqa: PT011
            model.read(header | {"templates": texts}, model.arrays())
    assert model.read(header, model.arrays()).templates == model.templates
