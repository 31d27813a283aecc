"""Tests of ``spacy_ssvm/trees/explanation.py``."""

import pytest
from parses import parser_of, sentences_of
from pipelines import PARSER

pytestmark = pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")


def test_reasons_show_what_lies_between_in_aligned_columns() -> None:
    nlp = PARSER.trained(templates=["head.lower+between.lower+dependent.lower+distance"])
    doc = sentences_of(nlp, "The old dog barks .")
    explanation = parser_of(nlp).explain(doc, 0)
    assert any("old" in reason.value for reason in explanation.reasons)
    lines = [line for line in str(explanation).splitlines()[1:] if line]
    assert len(lines) > 3
    assert len({len(line) for line in lines}) == 1
