"""The configs that lie in ``configs/`` show all settings of their components."""

import inspect
from typing import Any

import pytest
import spacy
from processes import TESTS
from spacy.util import load_config, registry

CONFIGS = sorted((TESTS.parent / "configs").glob("*.cfg"))


SETTINGS = [
    (path, name, block)
    for path in CONFIGS
    for name, block in load_config(path)["components"].items()
    if "factory" in block
]


def resolved(config: Any) -> Any:
    """Settings with their solvers and scorers made."""
    return registry.resolve({"system": {"seed": 0}, "it": config})["it"]


#: What is not at its default, by config and component.
CHOSEN = {
    ("ner-strong", "ner"): {"templates"},
    ("pipeline", "tagger"): {"templates", "whole_docs"},
    ("pipeline", "morphologizer"): {"templates", "whole_docs"},
    ("pipeline", "senter"): {"templates", "costs", "solver"},
    ("sentences", "sentence_labeler"): {"solver"},
    ("tagger-strong", "tagger"): {"templates"},
}


@pytest.mark.parametrize(
    ("path", "name", "block"), SETTINGS, ids=[f"{path.stem}-{name}" for path, name, _ in SETTINGS]
)
def test_configs_set_what_factories_set(path, name, block):
    """A config shows each setting, at its default but for a few."""
    defaults = spacy.blank("en").get_factory_meta(block["factory"]).default_config
    given = dict(load_config(path, interpolate=True)["components"][name])
    assert given.keys() - {"factory"} == defaults.keys()
    ours, theirs = resolved({k: given[k] for k in defaults}), resolved(dict(defaults))
    different = {k for k in defaults if ours[k] != theirs[k] and k != "scorer"}
    assert different == CHOSEN.get((path.stem, name), set())


@pytest.mark.parametrize(
    ("path", "name", "block"), SETTINGS, ids=[f"{path.stem}-{name}" for path, name, _ in SETTINGS]
)
def test_configs_set_what_initialize_takes(path, name, block):
    """A config shows each argument that the initialize of its components has."""
    pipe = spacy.blank("en").add_pipe(block["factory"])
    takes = inspect.signature(pipe.initialize).parameters.keys() - {"get_examples", "nlp"}
    assert load_config(path)["initialize"]["components"].get(name, {}).keys() == takes


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_each_epoch_is_evaluated(path):
    """``patience`` ends a training only after models that were scored; so the last one is."""
    training = load_config(path, interpolate=True)["training"]
    assert training["batcher"]["size"] >= 10**9, "a step is an epoch"
    assert training["eval_frequency"] == 1
    assert 1 < training["patience"] < training["max_epochs"]
    assert training["max_steps"] == 0
