"""Tests of ``spacy_ssvm/features/templates.py``."""

import pytest
from feature_strategies import checked, parse
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.attributes import (
    ATTRIBUTES,
)
from spacy_ssvm.features.templates import PRESETS, Part, Template, TemplateError

pytestmark = pytest.mark.uncompiled


def texts(*items):
    return [str(template) for template in parse(*items)]


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("lower[0]", "lower[0]"),
        ("lower[0]+lower[-1]", "lower[-1]+lower[0]"),
        (" lower[1] +  suffix2[0]+ case[1]", "suffix2[0]+case[1]+lower[1]"),
        ("tag[-2]", "tag[-2]"),
        ("_.is_bold[0]+shape[0]", "_.is_bold[0]+shape[0]"),
        ("lower[0]+lower[0]", "lower[0]"),
        ("lower[-16]+lower[16]", "lower[-16]+lower[16]"),
        ("gazetteer.WORK OF ART[0]+shape[0]", "gazetteer.WORK OF ART[0]+shape[0]"),
        ("gazetteer.creative-work[1]", "gazetteer.creative-work[1]"),
    ],
)
def test_templates_are_printed_in_one_order(written, printed):
    assert texts(written) == [printed]
    assert Template.parse(printed) == Template.parse(written)
    assert str(Template.parse(printed)) == printed


part_texts = st.builds(
    "{}[{}]".format, st.sampled_from(["lower", "shape", "tag", "_.bold"]), st.integers(-3, 3)
)


@checked
@given(st.lists(part_texts, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_parts_does_not_matter(parts, random):
    template = Template.parse("+".join(parts))
    random.shuffle(parts)
    assert Template.parse("+".join(parts)) == template
    assert Template.parse(str(template)) == template
    assert {str(part) for part in template.parts} == set(parts)
    offsets = [part.offset for part in template.parts]
    assert offsets == sorted(offsets)


def test_layers_of_morphological_features_are_part_of_their_names():
    (template,) = parse("morph.Number[psor][-1] + lower[0]")
    assert str(template) == "morph.Number[psor][-1]+lower[0]"
    assert template.parts[0].attribute == "morph.Number[psor]"
    assert texts("ngrams(morph.Person[obj], 1, 1)") == [
        f"morph.Person[obj][{i}]" for i in (-1, 0, 1)
    ]
    for wrong in ("morph.Number[psor]", "morph.Number[1][0]", "morph.Number[psor][x][0]"):
        with pytest.raises(TemplateError, match="cannot read"):
            parse(wrong)


def test_ngrams_are_written_out():
    runs = ["lower[-1]", "lower[0]", "lower[1]", "lower[-1]+lower[0]", "lower[0]+lower[1]"]
    assert texts("ngrams(lower, 2, 1)") == runs
    assert texts("ngrams( _.bold,1 , 0 )") == ["_.bold[0]"]
    assert texts("ngrams(gazetteer.WORK OF ART, 1, 0)") == ["gazetteer.WORK OF ART[0]"]


@pytest.mark.parametrize("window", range(5))
def test_ngrams_are_all_runs_within_the_window(window):
    for n in range(1, 2 * window + 2):
        found = [template.parts for template in parse(f"ngrams(tag, {n}, {window})")]
        assert len(found) == sum(2 * window + 2 - length for length in range(1, n + 1))
        for parts in found:
            offsets = [part.offset for part in parts]
            assert offsets == list(range(offsets[0], offsets[0] + len(parts)))
            assert len(parts) <= n
            assert -window <= offsets[0]
            assert offsets[-1] <= window


def test_clusters_are_runs_of_one_or_two_for_each_set():
    runs = texts("ngrams(cluster4.*, 2, 1)", "ngrams(cluster10.*, 2, 1)")
    assert texts("clusters(4, 10)") == texts(" clusters( 4,10 )") == runs
    for wrong in ("clusters()", "clusters(4, 64)", "clusters(0)", "clusters(x)"):
        with pytest.raises(TemplateError):
            parse(wrong)


def test_templates_of_several_items_are_merged_in_order():
    items = ["lower[1]", "ngrams(lower, 1, 1)", "shape[0]+lower[0]", "lower[0]+shape[0]"]
    assert texts(*items) == ["lower[1]", "lower[-1]", "lower[0]", "lower[0]+shape[0]"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_families_of_templates_that_exist(preset):
    expanded = texts(preset)
    assert expanded == texts(*PRESETS[preset])
    assert texts(preset, preset, expanded[3]) == expanded
    assert len(expanded) > 3


@pytest.mark.parametrize(("preset", "size"), [("chunking96", 96), ("ner452", 452)])
def test_the_families_of_martins_et_al_have_as_many_templates_as_theirs(preset, size):
    assert len(parse(preset)) == size


def test_the_runs_of_the_families_share_a_token_with_the_window_of_the_paper():
    found = {template.parts for template in parse("ner452")}
    windows = {"tag": (5, 5), "lower": (3, 3), "shape": (3, 3), "case_class": (5, 5)}
    windows |= {"punctuation": (5, 5), "digit_class": (5, 5)}
    windows |= {f"{affix}{n}": (3, 3) for affix in ("prefix", "suffix") for n in (1, 2, 3)}
    expected = {
        tuple(Part(offset, attribute) for offset in range(first, last + 1))
        for attribute, (n, window) in windows.items()
        for first in range(-16, 17)
        for last in range(first, first + n)
        if first <= window and last >= -window
    }
    assert found == expected
    assert {t.parts for t in parse("chunking96")} < found


@pytest.mark.parametrize(
    "item",
    [
        "",
        "lower",
        "lower[0",
        "lower[]",
        "lower[x]",
        "lower[1.5]",
        "lower[0]lower[1]",
        "lower[0]+",
        "+lower[0]",
        "0lower[0]",
        "lower[17]",
        "lower[0]+shape[-17]",
        "taggers",
        "ngrams(lower, 2)",
        "ngrams(lower, 0, 1)",
        "ngrams(lower, 4, 1)",
        "ngrams(lower, -1, 1)",
        "ngrams(lower, 1, 17)",
        "ngrams(lower, 1, 1)+shape[0]",
    ],
)
def test_malformed_items_are_refused_by_name(item):
    with pytest.raises(TemplateError) as refusal:
        parse("lower[0]", item)
    assert f"template '{item}'" in str(refusal.value)


def test_a_malformed_item_is_told_what_is_possible():
    with pytest.raises(TemplateError) as refusal:
        parse("taggers")
    for name in ("attribute[offset]", "ngrams(attribute, n, window)", *PRESETS):
        assert name in str(refusal.value)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("lowre[0]", "lowre"),
        ("lower[0]+sufix2[0]", "sufix2"),
        ("ngrams(word, 2, 1)", "word"),
        ("LOWER[0]", "LOWER"),
        ("prefix6[0]", "prefix6"),
        ("flag20[0]", "flag20"),
    ],
)
def test_unknown_attributes_are_refused_and_those_that_exist_listed(item, name):
    with pytest.raises(TemplateError) as refusal:
        parse(item)
    message = str(refusal.value)
    assert f"template '{item}'" in message
    assert f"'{name}'" in message
    for attribute in (*ATTRIBUTES, "tag", "_.name"):
        assert attribute in message


def test_at_least_one_template_is_needed():
    with pytest.raises(TemplateError, match="no templates"):
        parse()
