"""Tests of ``spacy_ssvm/trees/labels.py``."""

import naive
import numpy as np
import pytest
from arc_strategies import COLUMNS, checked, sentences, template_texts, templates_of
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.trees.labels import (
    LABEL_ROLES,
    as_chain_templates,
    compile_columns,
    fill_arc_columns,
    order_dependents,
)
from spacy_ssvm.trees.templates import ArcTemplate

pytestmark = pytest.mark.uncompiled


def test_templates_of_labels_have_more_roles_but_nothing_between():
    assert ArcTemplate.parse("leftmost.lower+grandparent.pos", LABEL_ROLES).attributes == {
        "lower",
        "pos",
    }
    with pytest.raises(TemplateError, match="'between' is for templates of arcs alone"):
        ArcTemplate.parse("head.tag+between.tag", LABEL_ROLES)


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
