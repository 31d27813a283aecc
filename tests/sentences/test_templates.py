"""Tests of ``spacy_ssvm/sentences/templates.py``."""

import pytest
from feature_strategies import checked
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.sentences.templates import (
    SENTENCE_FAMILIES,
    SentenceTemplate,
    parse_sentence_templates,
)

pytestmark = pytest.mark.uncompiled


def parse(*items: str) -> list[str]:
    found = parse_sentence_templates(items, is_attribute=is_attribute, attributes=ATTRIBUTES)
    return list(map(str, found))


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("bag(lower)", "bag(lower)"),
        ("bag(lower, 1)", "bag(lower)"),
        (" bag( lower ,2 ) [0] ", "bag(lower, 2)"),
        ("bag(lower,2)[-1]", "bag(lower, 2)[-1]"),
        ("first(suffix3, 3)[16]", "first(suffix3, 3)[16]"),
        ("last(_.kind, 8)[-16]", "last(_.kind, 8)[-16]"),
        ("position", "position"),
        ("length[1]+position", "position+length[1]"),
        ("bag(lower)+position", "position+bag(lower)"),
        ("bag(lower)[-1]+position[1]", "position[1]+bag(lower)[-1]"),
        ("first(lower)+first(lower)", "first(lower)"),
        ("last(lower)+first(lower)", "first(lower)+last(lower)"),
        ("_.section+index", "_.section+index"),
    ],
)
def test_templates_are_printed_in_one_form(written: str, printed: str) -> None:
    assert parse(written) == [printed]
    assert SentenceTemplate.parse(printed) == SentenceTemplate.parse(written)


texts = st.builds(
    "{}({}, {})[{}]".format,
    st.sampled_from(["first", "last"]),
    st.sampled_from(["lower", "tag", "_.bold"]),
    st.integers(1, 3),
    st.integers(-2, 2),
)
plain = st.sampled_from(["position", "length[1]", "_.x[-1]", "bag(lower, 2)[1]"])


@checked
@given(st.lists(texts, max_size=4), st.lists(plain, min_size=1, max_size=4), st.randoms())
def test_the_order_of_parts_does_not_matter(parts: list[str], others: list[str], random) -> None:
    pieces = [*parts, *others]
    template = SentenceTemplate.parse("+".join(pieces))
    random.shuffle(pieces)
    assert SentenceTemplate.parse("+".join(pieces)) == template
    assert SentenceTemplate.parse(str(template)) == template


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bag(lower", "cannot read 'bag(lower'. A part is written bag(attribute, n)"),
        ("+", "cannot read ''"),
        ("bag()", "cannot read"),
        ("set(lower)", r"cannot read 'set(lower)'"),
        ("bag(lower)[x]", "cannot read"),
        ("bag(lower)[17]", "offset 17 is over 16 units away"),
        ("position[-17]", "offset -17 is over"),
        ("bag(lower, 9)", "runs of 9 words: 1 to 8 are possible"),
        ("first(lower, 0)", "runs of 0 words"),
        ("bag(lower)+bag(tag)", "conjoins two bags"),
        ("lower", "units have no attribute 'lower'. Attributes: position, index"),
        ("lower", "For words, write bag(lower)"),
        ("_.", "units have no attribute '_.'"),
        ("bag(position)", "words have no attribute 'position'"),
        ("bag(nothing)", "words have no attribute 'nothing'. Attributes: orth, lower"),
    ],
)
def test_what_is_no_template(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse("position", text)
    assert message in str(caught.value)
    assert f"template '{text.strip()}'" in str(caught.value)


def test_syntax_errors_name_the_families() -> None:
    with pytest.raises(TemplateError, match="Families: sentences"):
        parse("sentence")
    with pytest.raises(TemplateError, match="there are no templates"):
        parse()


def test_families_are_expanded_without_duplicates() -> None:
    assert parse("position", " sentences ", "position")[0] == "position"
    assert sorted(parse("position", "sentences")) == sorted(parse("sentences"))
    assert parse("sentences") == list(SENTENCE_FAMILIES["sentences"])
