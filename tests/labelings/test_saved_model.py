"""Tests of ``spacy_ssvm/labelings/saved_model.py``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pipelines import MORPHOLOGIZER, PARSER, RECOGNIZER, TAGGER, Component

from spacy_ssvm import storage
from spacy_ssvm.storage import ModelFileError


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    """A trained component of each kind that is saved differently."""
    return {
        component.name: component.trained(epochs=1).get_pipe(component.name)
        for component in (TAGGER, PARSER, RECOGNIZER, MORPHOLOGIZER)
    }


def replaced(array: np.ndarray, place: Any, value: Any) -> np.ndarray:
    """A copy with another value at some place."""
    array = array.copy()
    array[place] = value
    return array


#: (component, array, what takes its place, what is wrong with it)
FORGED_ARRAYS: list[tuple[Component, str, Callable[[np.ndarray], np.ndarray], str]] = [
    (TAGGER, "keys", lambda a: replaced(a, 1, a[0]), "the keys of rows are not different"),
    (TAGGER, "keys", lambda a: replaced(a, 5, 0), "the keys of rows are not different"),
    (TAGGER, "keys", lambda a: a[1:], "do not fit their keys"),
    (TAGGER, "keys", lambda a: a[:, :, None], "keys of rows are no list of numbers"),
    (TAGGER, "keys", lambda a: a.ravel(), "keys of rows are no list of numbers"),
    (TAGGER, "row_sizes", lambda a: replaced(a, -1, a[-1] + 2), "do not fit their number"),
    (TAGGER, "row_sizes", lambda a: a[:, 0], "sizes of rows are no list of numbers"),
    (TAGGER, "row_sizes", lambda a: np.full((len(a), 8), 255, np.uint8), "do not fit their number"),
    (TAGGER, "row_sizes", lambda a: a[1:], "do not fit their number"),
    (TAGGER, "rows", lambda a: a[:-1], "do not fit their number"),
    (TAGGER, "rows", lambda a: a[:, None], "do not fit their number"),
    (TAGGER, "rows", lambda a: np.full_like(a, 99), "the labels of a row are not in order"),
    (TAGGER, "scales", lambda a: replaced(a, 3, np.nan), "weights are not finite"),
    (TAGGER, "scales", lambda a: replaced(a, 255, np.inf), "weights are not finite"),
    (TAGGER, "scales", lambda a: a[:-1], "weights are not finite"),
    (TAGGER, "transitions", lambda a: replaced(a, (0, 0), np.nan), "transitions are not finite"),
    (TAGGER, "transitions", lambda a: replaced(a, (0, 0), np.inf), "transitions are not finite"),
    (TAGGER, "transitions", lambda a: a[:-1], "do not fit the labels"),
    (TAGGER, "template_rows", lambda a: replaced(a, -1, a[-1] - 1), "do not fit the templates"),
    (TAGGER, "template_rows", lambda a: replaced(a, 0, 1), "do not fit the templates"),
    (TAGGER, "template_rows", lambda a: replaced(a, 2, a[-1]), "do not fit the templates"),
    (TAGGER, "template_rows", lambda a: a[:-1], "do not fit the templates"),
    (PARSER, "arc_weights", lambda a: a[:-1], "weights of arcs are not 2"),
    (PARSER, "arc_weights", lambda a: replaced(a, -1, 1), "of arcs without a feature is not 0"),
    (PARSER, "pruner_weights", lambda a: a[:-1], "weights of the pruner are not 2"),
    (PARSER, "pruner_weights", lambda a: replaced(a, -1, 1), "pruner without a feature is not 0"),
    (PARSER, "scales", lambda a: replaced(a, 0, np.nan), "scale of the weights of arcs is not"),
    (PARSER, "scales", lambda a: replaced(a, 1, np.inf), "weights of the pruner is not finite"),
    (PARSER, "scales", lambda a: replaced(a, 0, 1e300), "weights of arcs is not .* out of range"),
    (PARSER, "scales", lambda a: -a, "scale of the weights of arcs is not"),
    (PARSER, "scales", lambda a: a[:1], "the pruner lack a scale"),
    (PARSER, "labels.rows", lambda a: np.full_like(a, 99), "labels of a row are not in order"),
    (RECOGNIZER, "transitions", np.zeros_like, "its transitions are not those of the scheme"),
]


@pytest.mark.parametrize(("component", "name", "forge", "message"), FORGED_ARRAYS)
def test_arrays_that_do_not_fit_are_refused(
    models: dict[str, Any],
    component: Component,
    name: str,
    forge: Callable[[np.ndarray], np.ndarray],
    message: str,
) -> None:
    pipe = models[component.name]
    parts, arrays = pipe._saved(["vocab"])
    forged = storage.to_bytes(pipe.kind, parts, arrays | {name: forge(arrays[name])})
    with pytest.raises(ModelFileError, match=f"the bytes of '{pipe.kind}': .*{message}"):
        pipe.from_bytes(forged, exclude=["vocab"])


#: (component, key of the model's header, what takes its place, what is wrong with it)
FORGED_HEADERS: list[tuple[Component, str, Callable[[Any], Any], str]] = [
    (TAGGER, "labels", lambda labels: [*labels[1:], labels[1]], "list of different texts"),
    (TAGGER, "labels", lambda labels: labels[1:], "do not fit the labels"),
    (TAGGER, "labels", lambda _: "text", "list of different texts"),
    (TAGGER, "templates", lambda texts: ["cluster4[0]", *texts[1:]], "needs word clusters"),
    (TAGGER, "templates", lambda texts: ["gazetteer[0]", *texts[1:]], "needs a gazetteer"),
    (TAGGER, "templates", lambda texts: ["nothing[0]", *texts[1:]], "no attribute 'nothing'"),
    (TAGGER, "templates", lambda texts: texts[1:], "do not fit the templates"),
    (TAGGER, "rows_per_template", lambda _: -1, "not a number of rows"),
    (TAGGER, "rows_per_template", lambda _: 7, "do not fit rows_per_template"),
    (TAGGER, "summary", lambda summary: summary | {"C": 0}, "summary of its training is invalid"),
    (
        TAGGER,
        "summary",
        lambda summary: summary | {"beta": -1.0},
        "summary of its training is invalid",
    ),
    (TAGGER, "summary", lambda summary: summary | {"more": 1}, "TypeError"),
    (TAGGER, "templates", lambda texts: ["tensor[0]", *texts[1:]], "do not come last"),
    (TAGGER, "templates", lambda texts: [*texts[:-1], "tensor[0]"], "scales are not those of"),
    (TAGGER, "scales", lambda _: {"tensor": [3, 1.0]}, "scales are not those of the real-valued"),
    (TAGGER, "scales", lambda _: {"tensor": [3]}, "is not a width and a factor"),
    (MORPHOLOGIZER, "templates", lambda t: ["tensor[0]", *t[1:]], "do not come last"),
    (MORPHOLOGIZER, "templates", lambda t: [*t[:-1], "tensor[0]"], "scales are not those of"),
    (MORPHOLOGIZER, "scales", lambda _: {"tensor": [3, 1.0]}, "scales are not those of"),
    (PARSER, "hash_bits", lambda bits: bits + 1, "weights of arcs are not 2"),
    (PARSER, "hash_bits", lambda _: 60, "hash_bits is not in 8 to 28"),
    (PARSER, "templates", lambda texts: ["head.cluster4", *texts[1:]], "needs word clusters"),
]


@pytest.mark.parametrize(("component", "key", "forge", "message"), FORGED_HEADERS)
def test_headers_that_do_not_fit_are_refused(
    models: dict[str, Any],
    component: Component,
    key: str,
    forge: Callable[[Any], Any],
    message: str,
) -> None:
    pipe = models[component.name]
    parts, arrays = pipe._saved(["vocab"])
    header = parts["model"] | {key: forge(parts["model"].get(key))}
    forged = storage.to_bytes(pipe.kind, parts | {"model": header}, arrays)
    with pytest.raises(ModelFileError, match=f"(?s)the bytes of '{pipe.kind}': .*{message}"):
        pipe.from_bytes(forged, exclude=["vocab"])
