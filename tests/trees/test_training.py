"""Tests of ``spacy_ssvm/trees/training.py``."""

from typing import Any

import numpy as np
import pytest
from marks import compiled_only
from parses import GRANDPARENTS, LINES, example_of, learned, parser_of
from pipelines import PARSER, copy_of
from spacy.language import Language
from spacy.training import Example

pytestmark = pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")


def number_of_candidates(nlp: Language, examples: list[Example]) -> int:
    """The sentences that a selection learns from."""
    return int(parser_of(nlp).selector(examples).problem.number_of_examples)


def test_docs_without_boundaries_are_learned_by_those_of_the_references(
    caplog: pytest.LogCaptureFixture,
) -> None:
    results = []
    for starts in ([0, 4, 9], None):
        nlp = PARSER.pipeline()
        examples = [example_of(nlp, *LINES, starts=starts)]
        with caplog.at_level("INFO", logger="spacy"):
            results.append(learned(examples, nlp))
        assert PARSER.number_of_examples(nlp) == 3
        assert number_of_candidates(nlp, examples) == 3
        said = [r.message for r in caplog.records if "sentences of the references" in r.message]
        assert len(said) == (starts is None)
    assert results[0] == results[1]


def test_long_sentences_are_learned_in_pieces() -> None:
    line = "Birds:2:nsubj sang:0:ROOT in:2:prep trees:3:pobj now:2:advmod and:5:cc then:5:conj"
    whole, cut = PARSER.pipeline(max_length=3), PARSER.pipeline(max_length=100)
    pieces = [0, 3, 6]
    results = [
        learned([example_of(nlp, line, starts=starts)], nlp)
        for nlp, starts in ((whole, [0]), (cut, pieces))
    ]
    assert results[0] == results[1]
    examples = [example_of(whole, line, starts=[0])]
    assert number_of_candidates(whole, examples) == len(pieces)
    problem = parser_of(whole)._trainer.problem.examples()
    assert np.diff(problem.node_starts).tolist() == [5, 5, 3]
    assert problem.heads.tolist() == [-1, 2, 0, 2, -1, -1, -1, -1, 2, -1, -1, -1, -1]


@compiled_only
@pytest.mark.parametrize(
    "config",
    [{"order": 1}, {"order": 2}, GRANDPARENTS, GRANDPARENTS | {"order": 1}],
)
def test_both_orders_learn_the_corpus(config: dict[str, Any]) -> None:
    nlp = PARSER.trained(**config)
    assert PARSER.annotate(nlp) == PARSER.gold()
    model = parser_of(nlp).model
    assert any(not template.is_of_arc for template in model.templates) == (config["order"] == 2)
    assert PARSER.annotate(copy_of(nlp)) == PARSER.gold()
