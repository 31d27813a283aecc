"""Tests of ``spacy_ssvm/features/extraction.py``."""

import naive
import numpy as np
import pytest
import spacy
from feature_strategies import checked, drawn_docs, parse, rows_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import (
    AttributeReader,
)
from spacy_ssvm.features.extraction import compile_templates, extract_keys
from spacy_ssvm.features.templates import Template
from spacy_ssvm.weights.feature_index import FeatureIndex

pytestmark = pytest.mark.uncompiled

COLUMNS = ("lower", "shape", "tag")


@st.composite
def tokens_and_templates(draw):
    """Sentences of tokens with few values, some lacking, and templates over three columns."""
    lengths = draw(st.lists(st.integers(0, 5), max_size=4))
    table = draw(arrays(np.uint64, (sum(lengths), 3), elements=st.integers(0, 2)))
    parts = st.builds("{}[{}]".format, st.sampled_from(COLUMNS), st.integers(-3, 3))
    items = st.lists(parts, min_size=1, max_size=3).map("+".join)
    return lengths, table, parse(*draw(st.lists(items, min_size=1, max_size=4)))


def keys_of(templates, table, lengths):
    keys = np.full((len(table), len(templates)), 7, dtype=np.uint64)
    starts = np.array([0, *np.cumsum(lengths)], dtype=np.int64)
    extract_keys(compile_templates(templates, COLUMNS), table, starts, keys)
    return keys


def naive_values(templates, table, lengths):
    """What each template sees at each token."""
    values = []
    first = 0
    for length in lengths:
        sentence = table[first : first + length].tolist()
        values += [
            [
                naive.template_value(
                    [(part.offset, COLUMNS.index(part.attribute)) for part in template.parts],
                    sentence,
                    t,
                )
                for template in templates
            ]
            for t in range(length)
        ]
        first += length
    return values


@checked
@given(tokens_and_templates())
def test_keys_are_equal_exactly_where_templates_see_the_same(drawn):
    lengths, table, templates = drawn
    keys = keys_of(templates, table, lengths).ravel().tolist()
    values = [
        None if value is None else (template, value)
        for row in naive_values(templates, table, lengths)
        for template, value in zip(templates, row, strict=True)
    ]
    assert naive.same_classes(keys, values)
    assert [key == 0 for key in keys] == [value is None for value in values]


@checked
@given(tokens_and_templates(), st.data())
def test_keys_do_not_depend_on_the_place_of_a_template_or_column(drawn, data):
    lengths, table, templates = drawn
    keys = keys_of(templates, table, lengths)
    order = data.draw(st.permutations(range(len(templates))))
    permuted = keys_of([templates[m] for m in order], table, lengths)
    np.testing.assert_array_equal(permuted, keys[:, order])


def test_a_place_outside_the_sentence_is_a_value_of_its_own():
    """Told apart: before, behind, one or two tokens away, and any token's value."""
    table = np.array([[5, 0, 0], [5, 0, 0], [5, 0, 0]], dtype=np.uint64)
    templates = [Template.parse(f"lower[{offset}]") for offset in (-2, 2)]
    before, behind = keys_of(templates, table, [2, 1]).T.tolist()
    two_before, one_before, alone = before
    assert len({two_before, one_before}) == 2
    assert alone == two_before  # sentences do not see each other
    one_behind, two_behind, alone = behind
    assert len({one_behind, two_behind}) == 2
    assert alone == two_behind
    assert 0 not in before + behind


def test_an_attribute_that_a_token_lacks_does_not_fire():
    table = np.array([[5, 0, 1], [0, 0, 1]], dtype=np.uint64)
    templates = parse("lower[0]", "shape[0]", "lower[0]+tag[0]", "shape[0]+tag[0]", "lower[1]")
    fires = keys_of(templates, table, [2]) != 0
    assert fires.tolist() == [
        [True, False, True, False, False],
        [False, False, False, False, True],  # behind the sentence is a value
    ]


def test_keys_are_the_same_in_every_process_and_version():
    """The features of a saved model would no longer fire if these changed."""
    table = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint64)
    keys = keys_of(parse("lower[0]", "lower[-1]+shape[0]", "tag[2]"), table, [2])
    assert keys.tolist() == [
        [3820754015150940065, 13603187507977299947, 14124634739243754760],
        [2157412140157832489, 5801261673910621600, 14759974796336614510],
    ]


@checked
@given(drawn_docs())
def test_tokens_share_a_row_exactly_where_a_template_sees_the_same(docs):
    templates = parse("lower[0]", "lower[-1]+tag[0]", "suffix2[1]", "tag[-2]+shape[2]")
    names = sorted({part.attribute for template in templates for part in template.parts})
    reader = AttributeReader(names)
    table = reader.read(docs)
    keys = np.empty((len(table.attributes), len(templates)), dtype=np.uint64)
    extract_keys(
        compile_templates(templates, reader.names), table.attributes, table.sentence_starts, keys
    )
    index = FeatureIndex(len(templates))
    index.insert(keys)
    found = [row for rows in rows_of(index, keys) for row in rows]

    see = {
        "lower": lambda token: token.text.lower(),
        "tag": lambda token: token.tag_ or 0,
        "suffix2": lambda token: token.text.lower()[-2:] if len(token) > 1 else 0,
        "shape": lambda token: reader.text_value("shape", token.doc, token.i),
    }
    expected = []
    for doc in docs:
        for sentence in naive.sentences(doc):
            values = [[see[name](doc[i]) for name in names] for i in sentence]
            for t in range(len(sentence)):
                for template in templates:
                    parts = [(part.offset, names.index(part.attribute)) for part in template.parts]
                    value = naive.template_value(parts, values, t)
                    if value is not None:
                        expected.append((template, value))
    assert naive.same_classes(found, expected)
    for row, (template, _) in zip(found, expected, strict=True):
        assert templates[index.row_templates[row]] == template


def test_a_token_without_morphological_features_has_no_value():
    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=["to", "dogs"], morphs=["", "Number=Plur"])
    reader = AttributeReader(["morph"])
    assert (reader.read([doc]).attributes[:, 0] != 0).tolist() == [False, True]
    assert [reader.text_value("morph", doc, i) for i in range(2)] == [None, "Number=Plur"]
