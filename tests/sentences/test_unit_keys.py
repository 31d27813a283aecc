"""Tests of ``spacy_ssvm/sentences/unit_keys.py``."""

from itertools import pairwise

import numpy as np
import pytest
from feature_strategies import VOCAB, checked, drawn_docs
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.sentences.templates import (
    BAG,
    FIRST,
    UNIT,
    SentenceTemplate,
    UnitPart,
    parse_sentence_templates,
)
from spacy_ssvm.sentences.unit_keys import (
    compile_unit_templates,
    extract_unit_keys,
    fill_unit_keys,
    keep_distinct,
    max_unit_keys,
    template_alone,
)
from spacy_ssvm.sentences.units import LINES, UnitBatch, UnitReader, Units

pytestmark = pytest.mark.uncompiled

Values = list[tuple[str, ...]]


def parse(*items: str) -> tuple[SentenceTemplate, ...]:
    return parse_sentence_templates(items, is_attribute=is_attribute, attributes=ATTRIBUTES)


def reader_of(templates: tuple[SentenceTemplate, ...]) -> UnitReader:
    parts = [part for template in templates for part in template.parts]
    return UnitReader(
        Units(LINES),
        {part.attribute for part in parts if part.kind != UNIT},
        {part.attribute for part in parts if part.kind == UNIT},
    )


def keys_of(
    templates: tuple[SentenceTemplate, ...], docs: list[Doc]
) -> list[list[tuple[int, int]]]:
    """The (template, key) pairs of each unit."""
    reader = reader_of(templates)
    compiled = compile_unit_templates(templates, reader.names, reader.unit_names)
    found = extract_unit_keys(compiled, reader.read(docs).table)
    assert len(found.keys) == len(found.templates) == found.starts[-1]
    pairs = list(zip(found.templates.tolist(), found.keys.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(found.starts.tolist())]


# The naive twin: features are tuples of texts.


def naive_part(reader: UnitReader, batch: UnitBatch, doc: Doc, u: int, part: UnitPart) -> Values:
    """The values of a part at a unit of one Doc."""
    if u < 0:
        return [("before", str(-u))]
    if u >= len(batch.bounds):
        return [("after", str(u - len(batch.bounds)))]
    if part.kind == UNIT:
        value = reader.unit_value(part.attribute, batch, doc, u)
        return [] if value is None else [(value,)]
    start, end = batch.bounds[u].tolist()
    words = [
        reader.text_value(part.attribute, doc, token.i)
        for token in doc[start:end]
        if not token.is_space
    ]
    n = part.run
    if part.kind == BAG:
        runs = [words[t : t + k] for k in range(1, n + 1) for t in range(len(words) - k + 1)]
    elif len(words) < n:
        runs = []
    else:
        runs = [words[:n] if part.kind == FIRST else words[-n:]]
    return [tuple(run) for run in runs if None not in run]


def naive_features(templates: tuple[SentenceTemplate, ...], doc: Doc) -> list[set]:
    """The features of each unit of a Doc."""
    reader = reader_of(templates)
    batch = reader.read([doc])
    units = []
    for u in range(len(batch.bounds)):
        features = set()
        for m, template in enumerate(templates):
            combinations = [()]
            for part in template.parts:
                values = naive_part(reader, batch, doc, u + part.offset, part)
                combinations = [(*done, value) for done in combinations for value in values]
            features |= {(m, combination) for combination in combinations}
        units.append(features)
    return units


attributes = st.sampled_from(["lower", "tag", "suffix3", "digits"])
word_parts = st.builds(
    "{}({}, {})[{}]".format,
    st.sampled_from(["first", "last"]),
    attributes,
    st.integers(1, 3),
    st.integers(-2, 2),
)
unit_parts = st.builds(
    "{}[{}]".format,
    st.sampled_from(["position", "index", "index_from_end", "count", "length"]),
    st.integers(-2, 2),
)
bags = st.builds("bag({}, {})[{}]".format, attributes, st.integers(1, 3), st.integers(-2, 2))
written = st.tuples(
    st.lists(st.one_of(word_parts, unit_parts), max_size=2), st.lists(bags, max_size=1)
).filter(any)


@checked
@given(drawn_docs(), st.lists(written, min_size=1, max_size=4))
def test_keys_are_the_features_of_the_naive_twin(docs: list[Doc], items: list) -> None:
    templates = parse(*("+".join([*parts, *bag]) for parts, bag in items))
    expected = [features for doc in docs if len(doc) for features in naive_features(templates, doc)]
    found = keys_of(templates, docs)
    assert len(found) == len(expected)
    names: dict = {}  # the keys of features: the same for the same feature, others for others
    for pairs, features in zip(found, expected, strict=True):
        assert len(set(pairs)) == len(pairs) == len(features)
        counts = [sum(m == k for k, _ in features) for m in range(len(templates))]
        assert [sum(m == k for k, _ in pairs) for m in range(len(templates))] == counts
    everything = sorted({f for features in expected for f in features}, key=repr)
    for feature in everything:
        having = [
            set(p) for p, features in zip(found, expected, strict=True) if feature in features
        ]
        lacking = [set(p) for p, fs in zip(found, expected, strict=True) if feature not in fs]
        common = set.intersection(*having).difference(*lacking)
        names[feature] = {pair for pair in common if pair[0] == feature[0]}
        assert names[feature], f"{feature} has no key of its own"


def test_a_bag_is_a_set_of_runs() -> None:
    doc = Doc(VOCAB, words=["a", "b", "a", "b"])
    (pairs,) = keys_of(parse("bag(lower, 2)"), [doc])
    assert len(pairs) == 4  # a, b, a b, b a
    (pairs,) = keys_of(parse("bag(lower)"), [doc])
    assert len(pairs) == 2


def test_keys_do_not_depend_on_the_other_templates() -> None:
    docs = [Doc(VOCAB, words=["a", "b", "\n", "c"], spaces=[False] * 4)]
    items = ["bag(lower, 2)", "first(lower)", "position", "bag(lower)[-1]", "length+bag(lower)"]
    together = keys_of(parse(*items), docs)
    for order in (items, items[::-1]):
        for m, item in enumerate(items):
            alone = keys_of(parse(item), docs)
            found = keys_of(parse(*order), docs)
            number = order.index(item)
            for u in range(2):
                keys = [key for _, key in alone[u]]
                assert keys == [key for k, key in together[u] if k == m]
                assert keys == [key for k, key in found[u] if k == number]


def test_keys_are_the_same_everywhere() -> None:
    """The keys of a saved model must stay as they are."""
    doc = Doc(VOCAB, words=["the", "cat", "\n", "sat"], spaces=[False] * 4)
    templates = parse("bag(lower, 2)", "first(lower)[1]", "position", "length+last(lower)[-1]")
    found = keys_of(templates, [doc])
    assert [[key for _, key in unit] for unit in found] == FROZEN


FROZEN = [
    [
        1372526759728315325,
        3976357421496786424,
        6667204513492723635,
        7669397931829355053,
        4453133800620324290,
        13099715410963327985,
    ],
    [9507576788629847070, 13536126088441876194, 7144477491112510576, 10598907459614876790],
]


def test_runs_of_a_template_come_in_text_order() -> None:
    templates = parse("position", "bag(lower, 2)")
    doc = Doc(VOCAB, words=["b", "a", "b"])
    reader = reader_of(templates)
    compiled = template_alone(compile_unit_templates(templates, reader.names, reader.unit_names), 1)
    units = reader.read([doc]).table
    size = max_unit_keys(compiled, units)
    keys, owners = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int32)
    assert fill_unit_keys(compiled, units, (0, 1), 0, keys, owners) == 5
    b, a, again, ba, ab = keys[:5].tolist()
    assert b == again
    assert len({a, b, ba, ab}) == 4
    assert owners[:5].tolist() == [0] * 5


@checked
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 4), max_size=5)), max_size=3))
def test_distinct_keys(groups: list) -> None:
    merged: dict[int, list[int]] = {}
    for m, keys in sorted(groups):
        merged.setdefault(m, []).extend(keys)
    keys = np.array([k for of_m in merged.values() for k in of_m], dtype=np.uint64)
    owners = np.array([m for m, of_m in merged.items() for _ in of_m], dtype=np.int32)
    size = keep_distinct(keys, owners, len(keys))
    expected = [(m, k) for m, of_m in merged.items() for k in sorted(set(of_m) - {0})]
    assert list(zip(owners[:size].tolist(), keys[:size].tolist(), strict=True)) == expected
