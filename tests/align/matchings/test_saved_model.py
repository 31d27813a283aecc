"""Saved models of matchings, damaged in each way: refused before any kernel sees them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spacy
from planted_pairs import EAGER, planted_examples

from spacy_ssvm import storage
from spacy_ssvm.storage import ModelFileError

pytestmark = pytest.mark.uncompiled

NAME = "ssvm_aligner"


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A trained component with an association and a lexicon. Source words may have three links."""
    nlp = spacy.blank("xx")
    templates = ["source.lower+target.lower", "bin.dice", "distance", "lexicon"]
    config = {"templates": templates, "min_count": 1, "source_fertility": 3, "solver": EAGER}
    nlp.add_pipe(NAME, config=config)
    examples = planted_examples(nlp.vocab, range(8), doubled=True)
    lexicon = tmp_path_factory.mktemp("lexicon") / "words.tsv"
    lexicon.write_text("s1\tt1\ns2\tt2\n", encoding="utf8")
    nlp.get_pipe(NAME).initialize(lambda: examples, nlp=nlp, lexicon=lexicon)
    for _ in range(4):
        nlp.update(examples)
    return nlp.get_pipe(NAME)


def load(aligner: Any, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Load a model with other settings and other arrays."""
    parts, saved = aligner._saved(["vocab"])
    parts = {**parts, "model": {**parts["model"], **header}}
    aligner.from_bytes(storage.to_bytes(NAME, parts, {**saved, **arrays}), exclude=["vocab"])


def replaced(place: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    """An array with another value at some place."""

    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[place] = value
        return array

    return change


#: (array, what takes its place, what is wrong with it)
FORGED_ARRAYS: list[tuple[str, Callable[[np.ndarray], np.ndarray], str]] = [
    ("keys", lambda a: replaced(0, a[1])(a), "the keys of rows are not different"),
    ("keys", replaced(1, 0), "the keys of rows are not different"),
    ("keys", lambda a: a[1:], "the rows do not fit their keys"),
    ("keys", lambda a: a[:, None], "keys of rows are no list of numbers"),
    ("weights", lambda a: a[:-1], "do not fit the weights"),
    ("weights", lambda a: a[:, None], "weights are not finite"),
    ("weights", replaced(1, np.nan), "weights are not finite"),
    ("weights", replaced(1, np.inf), "weights are not finite"),
    ("row_templates", lambda a: a[:-1], "do not fit the weights"),
    ("row_templates", lambda a: a[:, None], "do not fit the weights"),
    ("row_templates", replaced(0, -1), "a row belongs to no template"),
    ("row_templates", replaced(-1, 4), "a row belongs to no template"),
    ("penalties", lambda a: a[:-1], "penalties do not fit the fertilities"),
    ("penalties", lambda a: np.append(a, a), "penalties do not fit the fertilities"),
    ("penalties", replaced(0, -0.5), "further links are negative or not finite"),
    ("penalties", replaced(0, np.nan), "further links are negative or not finite"),
    ("penalties", replaced(0, np.inf), "further links are negative or not finite"),
    ("association_targets", replaced(0, -1), "belongs to no target word"),
    ("lexicon_pairs", lambda a: a[::-1].copy(), "words of the lexicon are not sorted"),
    ("lexicon_numbers", lambda a: a[1:], "lexicon lacks numbers or words"),
    ("lexicon_numbers", replaced(0, np.nan), "numbers of the lexicon are not finite"),
    ("association_known", lambda a: a[::-1].copy(), "known pairs of associations are not sorted"),
]


@pytest.mark.parametrize(("name", "forge", "message"), FORGED_ARRAYS)
def test_arrays_that_do_not_fit_are_refused(
    aligner: Any, name: str, forge: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    _, arrays = aligner._saved(["vocab"])
    before = aligner.to_bytes()
    with pytest.raises(ModelFileError, match=f"the bytes of '{NAME}': .*{message}"):
        load(aligner, {}, {name: forge(arrays[name])})
    assert aligner.to_bytes() == before


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"fertilities": [3]}, "not two numbers from 1 to 16"),
        ({"fertilities": [3, 17]}, "not two numbers from 1 to 16"),
        ({"fertilities": [0, 1]}, "not two numbers from 1 to 16"),
        ({"fertilities": [True, 3]}, "not two numbers from 1 to 16"),
        ({"fertilities": [3.0, 1]}, "not two numbers from 1 to 16"),
        ({"fertilities": "31"}, "not two numbers from 1 to 16"),
        ({"fertilities": [1, 1]}, "penalties do not fit the fertilities"),
        ({"fertilities": [4, 1]}, "penalties do not fit the fertilities"),
        ({"templates": ["distance"]}, "a row belongs to no template"),
        ({"templates": ["hm", "bin.dice", "distance"]}, "there is no number 'hm'"),
        ({"templates": [1, 2, 3]}, "list of different texts"),
        ({"templates": ["source.cluster4", "dice", "distance", "hmm"]}, "needs word clusters"),
        ({"has_lexicon": False}, "'lexicon' needs a lexicon"),
        ({"labels": ["link", "link"]}, "list of different texts"),
        ({"labels": ["other"]}, "labels are not those of this component"),
        ({"labels": ["link", "other"]}, "labels are not those of this component"),
        ({"summary": {"C": "x"}}, "TrainingSummary"),
    ],
)
def test_headers_that_do_not_fit_are_refused(
    aligner: Any, header: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelFileError, match=f"the bytes of '{NAME}': .*{message}"):
        load(aligner, header, {})


@pytest.mark.parametrize(
    "key", ["fertilities", "templates", "labels", "has_association", "has_lexicon"]
)
def test_headers_without_a_key_are_refused(aligner: Any, key: str) -> None:
    parts, arrays = aligner._saved(["vocab"])
    model = {name: value for name, value in parts["model"].items() if name != key}
    data = storage.to_bytes(NAME, {**parts, "model": model}, arrays)
    with pytest.raises(ModelFileError, match=key):
        aligner.from_bytes(data, exclude=["vocab"])


def test_a_model_without_an_association(aligner: Any) -> None:
    """What it is, it stays: nothing but zeros is read then."""
    parts, arrays = aligner._saved(["vocab"])
    before = aligner.to_bytes(exclude=["vocab"])
    load(aligner, {"has_association": False}, {})
    assert aligner.model.association is None
    doc = planted_examples(aligner.vocab, [0])[0].predicted
    assert not aligner.model.reader.read([doc]).evidence[:, 0].any()
    aligner.from_bytes(before, exclude=["vocab"])
    assert aligner.model.association is not None
    assert aligner._saved(["vocab"])[0] == parts
    assert aligner._saved(["vocab"])[1].keys() == arrays.keys()
