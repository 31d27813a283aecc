"""A pytest plugin that runs spaCy's own tests with our components under spaCy's names.

``nlp.add_pipe("ner")`` makes an ``ssvm_ner``. Tests that cannot pass are listed below, each with
its reason. They run all the same: one that passes is an error, and so is one that does not exist.
"""

from collections.abc import Callable
from typing import Any

import pytest
from spacy.language import Language

#: Ours by spaCy's names, with settings that save time.
FACTORIES: dict[str, tuple[str, dict[str, Any]]] = {
    "tagger": ("ssvm_tagger", {}),
    "morphologizer": ("ssvm_morphologizer", {}),
    "trainable_lemmatizer": ("ssvm_lemmatizer", {}),
    "senter": ("ssvm_senter", {}),
    "ner": ("ssvm_ner", {}),
    "parser": ("ssvm_parser", {"hash_bits": 12}),
}

#: The files of spaCy's tests that use these names, and are not about neural networks alone.
MODULES = [
    "parser.test_add_label",
    "parser.test_ner",
    "parser.test_parse",
    "pipeline.test_edit_tree_lemmatizer",
    "pipeline.test_models",
    "pipeline.test_morphologizer",
    "pipeline.test_pipe_factories",
    "pipeline.test_pipe_methods",
    "pipeline.test_senter",
    "pipeline.test_tagger",
    "serialize.test_resource_warning",
    "serialize.test_serialize_doc",
    "serialize.test_serialize_language",
    "serialize.test_serialize_pipeline",
    "training.test_logger",
    "training.test_rehearse",
    "training.test_training",
]

_LOSS = "expects a loss of nearly 0, which a margin loss with a regularizer does not have"
_MODEL = "looks into the neural network"
_MOVES = "looks into the transition system"
_NAME = "compares the names of factories, which the plugin changes"
_SETTINGS = "sets what only the neural component has"
_TREES = "compares edit trees, which are scripts here"
_UNKNOWN = "expects unknown labels to be added silently, which is an error here"

EXCLUSIONS = {
    "parser.test_add_label::test_ner_labels_added_implicitly_on_predict": _UNKNOWN,
    "parser.test_add_label::test_ner_labels_added_implicitly_on_update": _UNKNOWN,
    "parser.test_ner::test_issue1967[U-JOB-NAME]": _MOVES,
    "parser.test_ner::test_issue2179": _MODEL,
    "parser.test_ner::test_issue3209": _MOVES,
    "parser.test_ner::test_labels_from_BILUO": _MOVES,
    "parser.test_ner::test_accept_blocked_token": _MOVES,
    "parser.test_ner::test_overwrite_token": _MOVES,
    "parser.test_ner::test_overfitting_IO[True]": _SETTINGS,
    "parser.test_ner::test_overfitting_IO[False]": _SETTINGS,
    "parser.test_parse::test_incomplete_data[parser]": _LOSS,
    "parser.test_parse::test_overfitting_IO[parser]": _LOSS,
    "pipeline.test_edit_tree_lemmatizer::test_initialize_from_labels": _TREES,
    "pipeline.test_edit_tree_lemmatizer::test_lemmatizer_label_data": _TREES,
    "pipeline.test_edit_tree_lemmatizer::test_no_data[1]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_no_data[5]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_no_data[30]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_incomplete_data[1]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_incomplete_data[5]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_incomplete_data[30]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_overfitting_IO[1]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_overfitting_IO[5]": _SETTINGS,
    "pipeline.test_edit_tree_lemmatizer::test_overfitting_IO[30]": _SETTINGS,
    "pipeline.test_models::test_components_batching_list[tagger]": _MODEL,
    "pipeline.test_models::test_components_batching_list[senter]": _MODEL,
    "pipeline.test_models::test_components_batching_list[morphologizer]": _MODEL,
    "pipeline.test_morphologizer::test_label_smoothing": _SETTINGS,
    "pipeline.test_morphologizer::test_no_resize": _MODEL,
    "pipeline.test_morphologizer::test_overfitting_IO": _LOSS,
    "pipeline.test_pipe_factories::test_pipe_factory_meta_config_cleanup": _NAME,
    "pipeline.test_pipe_factories::test_pipe_factories_from_source_config": _NAME,
    "pipeline.test_senter::test_overfitting_IO": _LOSS,
    "pipeline.test_tagger::test_incomplete_data": _LOSS,
    "pipeline.test_tagger::test_label_smoothing": _SETTINGS,
    "pipeline.test_tagger::test_no_resize": _MODEL,
    "pipeline.test_tagger::test_overfitting_IO": _MODEL,
    "serialize.test_serialize_language::test_issue6950": _SETTINGS,
    "serialize.test_serialize_pipeline::test_issue4725_1": _SETTINGS,
    "training.test_training::test_issue7029": _SETTINGS,
}

SKIPPED = {"parser.test_ner::test_issue2800": "adds 1,000 labels, which takes half a minute"}

_PACKAGE = "spacy.tests."


def _under_our_name(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of Language that takes the name of a factory, with ours for spaCy's."""

    def call(nlp: Language, factory: Any, name: str | None = None, **settings: Any) -> Any:
        if settings.get("source") is None and isinstance(factory, str) and factory in FACTORIES:
            name = factory if name is None else name
            factory, config = FACTORIES[factory]
            settings["config"] = {**config, **settings.get("config", {})}
        return method(nlp, factory, name, **settings)

    return call


def pytest_configure(config: pytest.Config) -> None:
    for method in ("add_pipe", "create_pipe"):
        setattr(Language, method, _under_our_name(getattr(Language, method)))


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    tests = {f"{item.module.__name__.removeprefix(_PACKAGE)}::{item.name}": item for item in items}
    unknown = [name for name in (*EXCLUSIONS, *SKIPPED) if name not in tests]
    if unknown:
        raise pytest.UsageError(f"no such tests: {', '.join(unknown)}")
    for name, reason in EXCLUSIONS.items():
        tests[name].add_marker(pytest.mark.xfail(reason=reason, strict=True))
    for name, reason in SKIPPED.items():
        tests[name].add_marker(pytest.mark.skip(reason=reason))
