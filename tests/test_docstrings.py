"""The examples in docstrings."""

import doctest
from importlib import import_module

import pytest

#: Modules of public classes, each with an example.
MODULES = [
    *(f"components.{name}" for name in ("tagger", "senter", "ner", "chunker", "parser")),
    pytest.param("sentences.component", marks=pytest.mark.slow),
    pytest.param("align.component", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_happens(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"spacy_ssvm.{name}"))
    assert not failed
    assert tried > 5
