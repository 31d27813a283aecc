"""What the tests of roundtrips share."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
from pipelines import Component, copy_of
from processes import contents
from spacy.language import Language
from spacy.training import Example


def save_component(component: Component, nlp: Language, path: Path) -> dict[str, bytes]:
    """The files of the saved component."""
    nlp.to_disk(path)
    return contents(path / component.name)


def solver(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 1.0, **settings}


def primal(component: Component, nlp: Language, examples: list[Example]) -> float:
    return float(nlp.get_pipe(component.name).objective(examples).primal)


def through_disk(component: Component, nlp: Language, path: Path) -> Language:
    nlp.to_disk(path / "pipeline")
    return spacy.load(path / "pipeline")


def through_bytes(component: Component, nlp: Language, path: Path) -> Language:
    return copy_of(nlp)


def through_component(
    change: Callable[[Any], Any],
) -> Callable[[Component, Language, Path], Language]:
    def roundtrip(component: Component, nlp: Language, path: Path) -> Language:
        pipe = change(nlp.get_pipe(component.name))
        other = copy_of(nlp)
        other._components = [(component.name, pipe)]
        return other

    return roundtrip


ROUNDTRIPS = {
    "disk": through_disk,
    "bytes": through_bytes,
    "pickle": through_component(lambda pipe: pickle.loads(pickle.dumps(pipe))),
    "deepcopy": through_component(copy.deepcopy),
}


roundtrips = pytest.mark.parametrize("roundtrip", ROUNDTRIPS.values(), ids=ROUNDTRIPS)
