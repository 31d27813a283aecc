"""Features of arcs: templates, rows against naive values, and the table that labels see."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import arc_rows, pair_rows, scores_of_arcs
from marks import PLAIN

from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.trees.families import ARC_FAMILIES
from spacy_ssvm.trees.keys import distance_class
from spacy_ssvm.trees.labels import (
    LABEL_ROLES,
    as_chain_templates,
    compile_columns,
    fill_arc_columns,
    order_dependents,
)
from spacy_ssvm.trees.templates import ARC_ROLES, ArcTemplate, parse_arc_templates

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=10 if PLAIN else 100)

BITS = 30  # so many rows that different features hardly share one
SIZE = 2**BITS


# --- Templates --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("head.tag", "head.tag"),
        ("head.tag[0]", "head.tag"),
        ("dependent.tag+head.tag", "head.tag+dependent.tag"),
        (" head.tag[1] + head.tag[-1]+head.lower", "head.tag[-1]+head.lower+head.tag[1]"),
        ("distance+dependent.tag+head.tag", "head.tag+dependent.tag+distance"),
        ("direction + sibling.pos", "sibling.pos+direction"),
        ("between.pos+head.pos", "head.pos+between.pos"),
        ("distance+between.pos+dependent.pos", "dependent.pos+between.pos+distance"),
        ("head._.kind+head._.kind", "head._.kind"),
        ("distance", "distance"),
        ("head.tag[16]+dependent.tag[-16]", "head.tag[16]+dependent.tag[-16]"),
    ],
)
def test_templates_are_printed_in_one_order(written, printed):
    assert str(ArcTemplate.parse(written)) == printed
    assert ArcTemplate.parse(printed) == ArcTemplate.parse(written)


part_texts = st.builds(
    "{}.{}[{}]".format,
    st.sampled_from(LABEL_ROLES),
    st.sampled_from(["lower", "tag", "_.bold"]),
    st.integers(-2, 2),
)


@checked
@given(
    st.lists(part_texts, min_size=1, max_size=5),
    st.sampled_from(["", "direction", "distance"]),
    st.randoms(use_true_random=False),
)
def test_the_order_of_parts_does_not_matter(parts, geometry, random):
    pieces = [*parts, geometry] if geometry else parts
    template = ArcTemplate.parse("+".join(pieces), LABEL_ROLES)
    random.shuffle(pieces)
    assert ArcTemplate.parse("+".join(pieces), LABEL_ROLES) == template
    assert ArcTemplate.parse(str(template), LABEL_ROLES) == template
    assert {f"{role}.{part.attribute}[{part.offset}]" for role, part in template.parts} == set(
        parts
    )
    assert template.geometry == (geometry or None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "cannot read ''"),
        ("tag", "cannot read 'tag'"),
        ("head.tag+", "cannot read ''"),
        ("head.tag[x]", r"cannot read 'head.tag\[x\]'"),
        ("head.tag dependent.tag", "cannot read 'head.tag dependent.tag'"),
        ("parent.tag", "cannot read 'parent.tag'.*roles: head, dependent, sibling"),
        ("head.tag+leftmost.tag", "cannot read 'leftmost.tag'"),
        ("between.tag+between.pos", "'between.pos': one part between.attribute"),
        ("between.tag[1]", r"'between.tag\[1\]': one part between.attribute, without offset"),
        ("head.tag[17]", "offset 17 is over 16 tokens away"),
        ("head.tag[-17]", "offset -17 is over 16 tokens away"),
        ("distance+distance", "names 'distance' beside 'distance': one is enough"),
        ("head.tag+direction+distance", "names 'distance' beside 'direction'"),
        ("between.tag+sibling.tag", "'between' is for templates of arcs alone"),
    ],
)
def test_malformed_templates_name_the_part(text, problem):
    with pytest.raises(TemplateError, match=problem):
        ArcTemplate.parse(text)


def test_templates_of_labels_have_more_roles_but_nothing_between():
    assert ArcTemplate.parse("leftmost.lower+grandparent.pos", LABEL_ROLES).attributes == {
        "lower",
        "pos",
    }
    with pytest.raises(TemplateError, match="'between' is for templates of arcs alone"):
        ArcTemplate.parse("head.tag+between.tag", LABEL_ROLES)


def parse(*items, roles=ARC_ROLES):
    return parse_arc_templates(
        items,
        families=ARC_FAMILIES,
        roles=roles,
        is_attribute=is_attribute,
        attributes=ATTRIBUTES,
    )


def test_items_are_merged_in_order():
    items = ["dependent.tag+head.tag", " pruner ", "head.tag+dependent.tag", "head.tag"]
    assert parse(*items) == (parse(items[0])[0], *parse("pruner"), parse("head.tag")[0])


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([], "there are no templates: give at least one"),
        (["head.tag", "head.colour"], "template 'head.colour': there is no attribute 'colour'"),
        (["between.colour"], "there is no attribute 'colour'. Attributes: .*any spaCy token"),
        (
            ["head"],
            f"template 'head': cannot read 'head'.*Families: {', '.join(ARC_FAMILIES)}",
        ),
    ],
)
def test_errors_name_the_item(items, problem):
    with pytest.raises(TemplateError, match=problem):
        parse(*items)


ROLES = {"pruner": ARC_ROLES[:2], "labels": LABEL_ROLES}


@pytest.mark.parametrize("family", ARC_FAMILIES)
def test_families_are_templates_that_exist_without_repetition(family):
    texts, roles = ARC_FAMILIES[family], ROLES.get(family, ARC_ROLES)
    templates = parse(family, roles=roles)
    assert [ArcTemplate.parse(text, roles) for text in texts] == list(templates)
    assert len(set(templates)) == len(texts) > 5
    assert any(t.has_sibling for t in templates) == (family in ("parser", "labels"))


# --- Rows -------------------------------------------------------------------------------

COLUMNS = ("lower", "tag", "pos")
ROOT, BEHIND = 1000, 2000


@st.composite
def sentences(draw, shortest=1, longest=6):
    """The nodes of a sentence: small values, 0 for none; the root and the node behind it."""
    word = st.lists(st.integers(0, 3), min_size=3, max_size=3)
    words = draw(st.lists(word, min_size=shortest, max_size=longest))
    return np.array([[ROOT] * 3, *words, [BEHIND] * 3], dtype=np.uint64)


def template_texts(roles):
    """Templates of one to four parts, with a place or without."""
    part = st.builds(
        lambda role, column, offset: f"{role}.{column}[{offset}]",
        st.sampled_from(roles),
        st.sampled_from(COLUMNS),
        st.integers(-2, 2),
    )
    return st.builds(
        lambda parts, places: "+".join([*parts, *places]),
        st.lists(part, min_size=1, max_size=4),
        st.sampled_from([[], ["direction"], ["distance"]]),
    )


def between(text):
    parts = text.split("+")
    at = len(parts) - (parts[-1] in ("direction", "distance"))
    return "+".join([*parts[:at], "between.tag", *parts[at:]])


arc_texts = template_texts(ARC_ROLES[:2]) | template_texts(ARC_ROLES[:2]).map(between)
pair_texts = st.builds(
    "sibling.{}[{}]+{}".format,
    st.sampled_from(COLUMNS),
    st.integers(-1, 1),
    template_texts(ARC_ROLES),
)


def templates_of(texts, roles=ARC_ROLES):
    return list(dict.fromkeys(ArcTemplate.parse(text, roles) for text in texts))


def arcs_of(nodes):
    n = len(nodes) - 2
    return [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]


def check_classes(values, rows):
    """Equal rows for equal values, and the row behind all others where there is none."""
    assert naive.same_classes([*values, None], [*rows, SIZE])
    assert all(0 <= row <= SIZE for row in rows)


@checked
@given(sentences(), st.lists(arc_texts, min_size=1, max_size=4))
def test_rows_of_arcs_are_equal_where_templates_see_the_same(nodes, texts):
    templates = templates_of(texts)
    values, rows = [], []
    for h, m in arcs_of(nodes):
        values += naive.arc_values(templates, COLUMNS, nodes.tolist(), h, m)
        rows += arc_rows(templates, COLUMNS, nodes, SIZE, h, m)
    check_classes(values, rows)


@checked
@given(sentences(), st.lists(pair_texts, min_size=1, max_size=3))
def test_rows_of_pairs_are_equal_where_templates_see_the_same(nodes, texts):
    templates = templates_of(texts)
    behind = len(nodes) - 1  # stands for a sibling that is not there
    values, rows = [], []
    for h, m in arcs_of(nodes):
        for s in [behind, *range(min(h, m) + 1, max(h, m))]:
            values += naive.arc_values(templates, COLUMNS, nodes.tolist(), h, m, s)
            rows += pair_rows(templates, COLUMNS, nodes, SIZE, h, m, s)
    check_classes(values, rows)


@settings(checked, max_examples=20)
@given(sentences(longest=14), st.lists(arc_texts, min_size=1, max_size=3))
def test_templates_that_differ_in_place_alone_share_all_but_the_last_4_bits(nodes, texts):
    for template in templates_of(texts):
        stems = {}
        for place in (None, "direction", "distance"):
            placed = ArcTemplate(template.parts, template.between, place)
            for h, m in arcs_of(nodes):
                rows = arc_rows([placed], COLUMNS, nodes, SIZE, h, m)
                assert stems.setdefault((h, m), [row >> 4 for row in rows]) == [
                    row >> 4 for row in rows
                ]


def test_what_stands_between_fires_once_for_each_value():
    tags = [5, 6, 5, 0, 6, 7, 5]
    nodes = np.array([[ROOT], *([tag] for tag in tags), [BEHIND]], dtype=np.uint64)
    template = ArcTemplate.parse("head.tag+between.tag+dependent.tag")
    rows = {
        arc: arc_rows([template], ["tag"], nodes, SIZE, *arc)
        for arc in [(1, 7), (7, 1), (1, 2), (1, 3), (1, 6), (0, 7)]
    }
    assert {arc: len(found) for arc, found in rows.items()} == {
        (1, 7): 3, (7, 1): 3, (1, 2): 0, (1, 3): 1, (1, 6): 2, (0, 7): 3,
    }  # fmt: skip
    assert sorted(rows[1, 7]) == sorted(rows[7, 1]), "both ends are alike, and there is no place"
    assert set(rows[1, 3]) < set(rows[1, 7])


@pytest.mark.parametrize("h", range(13))
def test_distance_classes_are_those_of_the_naive_twin(h):
    words = [m for m in range(1, 30) if m != h]
    assert naive.same_classes(
        [naive.geometry_value("distance", h, m) for m in words],
        [distance_class(h, m) for m in words],
    )


@checked
@given(st.data(), sentences(), st.lists(arc_texts, min_size=1, max_size=6))
def test_scores_of_arcs_are_the_sums_of_the_weights_of_their_rows(data, nodes, texts):
    templates = templates_of(texts)
    size = 64  # few enough that features share rows
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights = random.normal(size=size + 1).astype(data.draw(st.sampled_from([float, np.float32])))
    weights[size] = 0.0
    N = len(nodes) - 1
    allowed = random.random((N, N)) < 0.8
    scores = scores_of_arcs(templates, COLUMNS, nodes, size, weights, allowed)
    for h, m in arcs_of(nodes):
        rows = arc_rows(templates, COLUMNS, nodes, size, h, m)
        expected = weights[rows].astype(float).sum() if allowed[h, m] else -np.inf
        assert scores[h, m] == pytest.approx(expected, abs=1e-5)


# --- What labels see --------------------------------------------------------------------


@st.composite
def sentences_with_heads(draw):
    """A sentence, and heads: a tree or not, as partial gold may be."""
    nodes = draw(sentences(longest=7))
    n = len(nodes) - 2
    heads = draw(st.lists(st.integers(-1, n), min_size=n, max_size=n))
    return nodes, np.array([-1, *(h if h != m + 1 else 0 for m, h in enumerate(heads))])


def label_table(templates, nodes, heads):
    """The names of the columns, and what the kernels make of a tree: dependents and rows."""
    names = sorted({p.attribute for t in as_chain_templates(templates) for p in t.parts})
    order = np.empty(len(heads), dtype=np.int64)
    starts = np.empty(len(heads) + 1, dtype=np.int64)
    sequences = order_dependents(heads, order, starts)
    order = order[: starts[sequences]]
    columns = compile_columns(names, COLUMNS)
    table = np.empty((len(order), len(names)), dtype=np.uint64)
    fill_arc_columns(columns, nodes, 0, len(nodes), heads, order, table)
    return names, order, np.diff(starts[: sequences + 1]), table


@checked
@given(sentences_with_heads(), st.lists(template_texts(LABEL_ROLES), min_size=1, max_size=5))
def test_the_table_of_arcs_is_that_of_the_naive_twin(drawn, texts):
    nodes, heads = drawn
    names, order, sizes, table = label_table(templates_of(texts, LABEL_ROLES), nodes, heads)
    expected = naive.label_table(names, COLUMNS, nodes.tolist(), heads.tolist())
    assert order.tolist() == [m for m, _ in expected]
    for j, name in enumerate(names):
        values = [row[j] for _, row in expected]
        assert naive.same_classes(values, table[:, j].tolist())
        for value, found in zip(values, table[:, j].tolist(), strict=True):
            if isinstance(value, int):
                assert found == value, name
    by_head = [heads[m] for m in order]
    assert sizes.tolist() == [by_head.count(h) for h in dict.fromkeys(by_head)]


def test_chain_templates_are_conjunctions_of_columns():
    texts = ["dependent.tag[1]+head.lower+distance", "direction", "leftmost.pos"]
    found = as_chain_templates(ArcTemplate.parse(text, LABEL_ROLES) for text in texts)
    assert [{part.attribute for part in template.parts} for template in found] == [
        {"dependent.tag[1]", "head.lower[0]", "distance"},
        {"direction"},
        {"leftmost.pos[0]"},
    ]
    assert all(part.offset == 0 for template in found for part in template.parts)
