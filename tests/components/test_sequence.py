"""Tests of ``spacy_ssvm/components/sequence.py``."""

import math
from typing import Any

import pytest
from corpora import tagging_examples
from pipelines import TAGGER
from refusals import NAME, initialize, refusal
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.factories import make_tagger
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent


@pytest.mark.parametrize("cost", [-1.0, 1e45])
def test_a_cost_out_of_range(cost: float) -> None:
    """Weights that grow with it are kept in float32."""
    nlp = TAGGER.pipeline(costs={"NN": {"VB": cost}})
    message = refusal(lambda: initialize(nlp))
    assert f"{NAME}: the cost of predicting 'VB' for 'NN' is {cost}" in message
    assert "at least 0 and at most 1e+06" in message


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_a_cost_that_is_no_number(cost: float) -> None:
    nlp = TAGGER.pipeline()
    tagger = make_tagger(
        nlp,
        "made",
        attribute="TAG",
        whole_docs=False,
        templates=["lower[0]"],
        min_count=1,
        hash_bits=None,
        costs={"NN": {"VB": cost}},
        solver=DualCoordinateDescent(),
        candidates=False,
        selection=None,
        memory=None,
        overwrite=False,
        scorer=None,
    )
    message = refusal(lambda: tagger.initialize(lambda: tagging_examples(nlp.vocab)))
    assert f"made: the cost of predicting 'VB' for 'NN' is {cost}" in message
    # spaCy itself refuses such values in a config, and shows them
    assert f"'VB': {cost}" in refusal(lambda: TAGGER.pipeline(costs={"NN": {"VB": cost}}))


def test_a_cost_of_the_right_label() -> None:
    nlp = TAGGER.pipeline(costs={"NN": {"NN": 0.5}})
    assert "0 for the right label" in refusal(lambda: initialize(nlp))


@pytest.mark.parametrize("costs", [{"XY": {"NN": 2.0}}, {"NN": {"XY": 2.0}}])
def test_costs_of_an_unknown_label(costs: dict[str, dict[str, float]]) -> None:
    nlp = TAGGER.pipeline(costs=costs)
    message = refusal(lambda: initialize(nlp))
    assert f"{NAME}: costs name the label 'XY', which does not exist" in message
    assert "NN, NNP, NNS" in message


def test_margins_of_an_empty_doc(tiny: Language) -> None:
    assert tiny.get_pipe("ssvm_tagger").scores(Doc(tiny.vocab)).shape == (0,)


def test_margins_are_larger_where_words_are_known(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    known = tagger.scores(Doc(tiny.vocab, words=["the", "dog", "barks"]))
    unknown = tagger.scores(Doc(tiny.vocab, words=["vvv", "www", "xxx"]))
    assert known.min() > unknown.max()


def test_explain_refuses_tokens_that_are_not_there(tiny: Language) -> None:
    with pytest.raises(IndexError):
        tiny.get_pipe("ssvm_tagger").explain(tiny("the dog"), 2)
