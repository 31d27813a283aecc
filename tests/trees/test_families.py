"""Tests of ``spacy_ssvm/trees/families.py``."""

import pytest

from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.features.wildcards import expand_wildcards
from spacy_ssvm.trees.families import ARC_FAMILIES
from spacy_ssvm.trees.labels import (
    LABEL_ROLES,
)
from spacy_ssvm.trees.templates import ARC_ROLES, ArcTemplate, parse_arc_templates

pytestmark = pytest.mark.uncompiled


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
    assert any(not t.is_of_arc for t in templates) == (
        family in ("parser", "parser114", "grandparents", "labels")
    )


@pytest.mark.parametrize(
    ("family", "roles", "number", "words"),
    [("parser", ARC_ROLES, 9, "head.lower"), ("labels", LABEL_ROLES, 9, "head.cluster6.news")],
)
def test_families_read_clusters_where_there_are_some(family, roles, number, words):
    templates = parse(family, roles=roles)

    def expanded(*names):
        names = {"cluster": names}
        return expand_wildcards(templates, names, lambda text: parse(text, roles=roles)[0])

    without = [template for template in templates if "cluster" not in str(template)]
    assert list(expanded()) == without
    news, both = expanded("news"), expanded("news", "tweets")
    own = [str(template) for template in news if ".news" in str(template)]
    assert len(own) == len(news) - len(without) == number
    assert f"{words}+dependent.cluster.news" in own
    assert {*map(str, both)} == {*map(str, news), *(s.replace("news", "tweets") for s in own)}
