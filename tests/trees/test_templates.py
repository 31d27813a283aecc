"""Tests of ``spacy_ssvm/trees/templates.py``."""

import numpy as np
import pytest
from arc_strategies import COLUMNS, arc_texts, arcs_of, checked, sentences, templates_of
from hypothesis import given
from hypothesis import strategies as st
from pipelines import PARSER

from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.trees.keys import fill_arc_rows, fill_pair_rows, hash_endpoints
from spacy_ssvm.trees.labels import (
    LABEL_ROLES,
)
from spacy_ssvm.trees.templates import (
    ArcTemplate,
    compile_arc_templates,
    find_arc_refinements,
    select_arc_templates,
    that_fire,
)


@pytest.mark.uncompiled
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


@pytest.mark.uncompiled
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


@pytest.mark.uncompiled
def test_layers_of_morphological_features_are_part_of_their_names():
    text = "head.morph.Number[psor]+dependent.morph.Number[psor][-1]"
    template = ArcTemplate.parse(text)
    assert str(template) == text
    assert template.attributes == {"morph.Number[psor]"}


@pytest.mark.uncompiled
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
        ("between.tag+grandparent.tag", "'between' is for templates of arcs alone"),
        ("grandparent.tag+sibling.tag", "names a sibling and a grandparent: one of them is enough"),
    ],
)
def test_malformed_templates_name_the_part(text, problem):
    with pytest.raises(TemplateError, match=problem):
        ArcTemplate.parse(text)


@pytest.mark.filterwarnings(PARSER.warning or "")
@pytest.mark.parametrize(
    ("coarse", "fine"),
    [
        ("head.tag", "head.tag+dependent.tag"),
        ("head.tag", "head.tag+distance"),
        ("head.tag+direction", "head.tag+distance"),
        ("head.pos", "head.lower+dependent.pos"),
        ("head.pos+dependent.pos", "head.pos+between.pos+dependent.pos"),
        ("head.pos+between.pos", "head.pos+between.lower+direction"),
        ("head.shape[1]", "head.orth[1]"),
    ],
)
def test_coarse_templates_come_before_finer_ones(coarse: str, fine: str) -> None:
    templates = [ArcTemplate.parse(coarse), ArcTemplate.parse(fine)]
    assert find_arc_refinements(templates).tolist() == [[False, True], [False, False]]


@pytest.mark.filterwarnings(PARSER.warning or "")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("head.tag", "dependent.tag+distance"),
        ("head.tag", "head.tag[1]+dependent.tag"),
        ("head.pos+between.pos", "head.pos+dependent.pos"),
        ("head.lower", "head.lemma"),
    ],
)
def test_templates_that_say_different_things_need_not_each_other(one: str, other: str) -> None:
    assert not find_arc_refinements([ArcTemplate.parse(one), ArcTemplate.parse(other)]).any()


SIZE = 2**12


def rows_of(templates, nodes, *, of_pairs):
    """The rows of the features that fire, for each arc or pair of arcs, sorted."""
    endpoints = hash_endpoints(templates, nodes, 0, len(nodes))
    rows = np.empty(templates.codes.shape[1] * (len(nodes) + 1) + 1, dtype=np.int32)
    found = []
    for h, m in arcs_of(nodes):
        for s in range(1, len(nodes)) if of_pairs else [0]:
            if of_pairs:
                count = fill_pair_rows(templates, endpoints, SIZE, h, m, s, rows)
            else:
                count = fill_arc_rows(templates, endpoints, SIZE, h, m, rows)
            found.append(sorted(row for row in rows[:count].tolist() if row != SIZE))
    return found


@pytest.mark.uncompiled
@pytest.mark.parametrize("of_pairs", [False, True])
@checked
@given(
    sentences(),
    st.lists(arc_texts, min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_templates_that_fire_have_all_features_where_attributes_are_absent(
    of_pairs, nodes, texts, absent
):
    is_absent = np.array(absent)
    nodes[1:-1, is_absent] = 0
    if of_pairs:
        texts = [f"{text}+sibling.tag[1]" for text in texts if "between" not in text]
    templates = compile_arc_templates(templates_of(texts or ["sibling.lower"]), COLUMNS)
    expected = rows_of(templates, nodes, of_pairs=of_pairs)
    assert rows_of(that_fire(templates, is_absent), nodes, of_pairs=of_pairs) == expected


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("head.tag+dependent.lower dependent.pos", "dependent.pos"),
        ("head.lower+dependent.tag dependent.lower", "head.lower+dependent.tag"),  # the root
        ("dependent.lower[1] dependent.lower", "dependent.lower[1]"),  # the end
        (
            "head.pos+between.lower head.pos+between.tag dependent.tag",
            "dependent.tag head.pos+between.tag",
        ),
        ("dependent.tag+sibling.lower dependent.lower+sibling.tag", "dependent.tag+sibling.lower"),
        ("dependent.lower dependent.lower+distance", "dependent.lower dependent.lower+distance"),
    ],
)
def test_templates_that_cannot_fire_are_left_out(texts, expected):
    templates, wanted = (
        compile_arc_templates([ArcTemplate.parse(text) for text in items.split()], COLUMNS)
        for items in (texts, expected)
    )
    found = that_fire(templates, np.array([True, False, False]))
    assert arrays_of(found) == arrays_of(wanted)
    assert arrays_of(that_fire(templates, np.zeros(3, dtype=bool))) == arrays_of(templates)


def arrays_of(templates):
    """All numbers of compiled templates."""
    sides = [array.tolist() for array in (*templates.parts, *templates[1:3])]
    return [*sides, templates.has_third, templates.codes.tolist(), templates.between.tolist()]


@pytest.mark.uncompiled
def test_selected_templates_are_those_compiled_alone():
    texts = ["head.tag+distance", "dependent.tag[1]+head.lower", "sibling.pos+dependent.pos"]
    texts += ["head.pos+between.tag", "dependent.lower+between.pos+direction"]
    templates = [ArcTemplate.parse(text) for text in texts]
    for wanted in ([0], [1, 3], [0, 1, 2, 3, 4], [4], []):
        selected = select_arc_templates(compile_arc_templates(templates, COLUMNS), wanted)
        alone = compile_arc_templates([templates[t] for t in wanted], COLUMNS)
        assert arrays_of(selected) == arrays_of(alone)
