"""The examples in docstrings."""

import doctest
from importlib import import_module

import pytest

#: Modules of public classes, each with an example.
MODULES = [
    *(f"components.{name}" for name in ("tagger", "senter", "ner", "chunker", "parser")),
    *(
        f"solvers.{name}"
        for name in (
            *("dual_coordinate_ascent", "dual_coordinate_descent", "frank_wolfe", "lbfgs", "mira"),
            *("perceptron", "prox_gradient", "stochastic_gradient"),
        )
    ),
    *(
        f"lab.{name}"
        for name in ("cutting_plane", "extragradient", "k_best_mira", "pairwise_frank_wolfe")
    ),
    *("selection", "components.annotated_corpus", "align.reader", "sentences.reader"),
    pytest.param("sentences.component", marks=pytest.mark.slow),
    pytest.param("align.component", marks=pytest.mark.slow),
    pytest.param("tokenizer.component", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_happens(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"spacy_ssvm.{name}"))
    assert not failed
    assert tried >= 3
