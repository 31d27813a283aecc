"""Tests of ``spacy_ssvm/tokenizer/templates.py``."""

import pytest

from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.tokenizer.columns import COLUMNS
from spacy_ssvm.tokenizer.templates import (
    FAMILY,
    compile_character_templates,
    parse_character_templates,
)

pytestmark = pytest.mark.uncompiled


def test_the_family_is_that_of_the_default() -> None:
    family = parse_character_templates(["tokenizer"])
    assert len(family) == len(FAMILY) == len({*family})
    assert parse_character_templates(["tokenizer", "char[1]"])[:-1] == family


def test_templates_read_columns_of_their_own_node() -> None:
    templates = parse_character_templates(["char[-1]+char[0]", "chunk[1]"])
    compiled = compile_character_templates(templates)
    assert compiled.offsets.tolist() == [0, 0, 0]
    columns = [COLUMNS[column] for column in compiled.columns.tolist()]
    assert columns == [("char", -1), ("char", 0), ("chunk", 1)]
    assert len({*compiled.seeds.tolist()}) == 2


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("char[9]", r"does not read 'char\[9\]'. It reads char\[-3\], "),
        ("lower[0]+tag[0]", r"does not read 'tag\[0\]'"),
        ("char", "cannot read 'char'"),
    ],
)
def test_other_templates_are_refused(item: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        parse_character_templates([item])


def test_there_must_be_templates() -> None:
    with pytest.raises(TemplateError, match="there are no templates"):
        parse_character_templates([])
