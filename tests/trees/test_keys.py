"""Features of arcs: templates, rows against naive values, and the table that labels see."""

import naive
import numpy as np
import pytest
from arc_strategies import (
    BEHIND,
    COLUMNS,
    ROOT,
    arc_texts,
    arcs_of,
    checked,
    sentences,
    template_texts,
    templates_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import arc_rows, grandparent_rows, pair_rows

from spacy_ssvm.trees.keys import distance_class
from spacy_ssvm.trees.templates import ARC_ROLES, ArcTemplate

pytestmark = pytest.mark.uncompiled

BITS = 30  # so many rows that different features hardly share one


SIZE = 2**BITS


pair_texts = st.builds(
    "sibling.{}[{}]+{}".format,
    st.sampled_from(COLUMNS),
    st.integers(-1, 1),
    template_texts(ARC_ROLES[:3]),
)


grandparent_texts = pair_texts.map(lambda text: text.replace("sibling", "grandparent"))


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


@checked
@given(sentences(), st.lists(grandparent_texts, min_size=1, max_size=3))
def test_rows_of_grandparents_are_equal_where_templates_see_the_same(nodes, texts):
    templates = templates_of(texts)
    values, rows = [], []
    for h, m in arcs_of(nodes):
        for g in range(len(nodes) - 1):
            if h > 0 and g not in (h, m):
                values += naive.arc_values(templates, COLUMNS, nodes.tolist(), h, m, g=g)
                rows += grandparent_rows(templates, COLUMNS, nodes, SIZE, g, h, m)
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
