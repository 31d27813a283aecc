"""The language of templates of links: what can be written, how it is read, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_tables import checked

from spacy_ssvm.align.matchings.families import FAMILIES
from spacy_ssvm.align.matchings.templates import (
    COLUMN_KINDS,
    EVIDENCE,
    LinkPart,
    LinkTemplate,
    compile_link_templates,
    find_link_refinements,
    is_evidence,
    parse_link_templates,
)
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import MAX_OFFSET, Part, TemplateError

pytestmark = pytest.mark.uncompiled


def parsed(*items):
    """Templates of a config."""
    return parse_link_templates(items, is_attribute=is_attribute, attributes=ATTRIBUTES)


def texts(*items):
    return [str(template) for template in parsed(*items)]


def refusal(*items):
    with pytest.raises(TemplateError) as caught:
        parsed(*items)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("hmm + source.pos", "source.pos+hmm"),
        ("target.lower+source.lower", "source.lower+target.lower"),
        ("rank.hmm+bin.hmm+position+same.lower", "same.lower+position+bin.hmm+rank.hmm"),
        ("source.lower[1]+source.lower[0]+source.lower[-1]",
         "source.lower[-1]+source.lower+source.lower[1]"),
        ("source.suffix2+source.lower", "source.lower+source.suffix2"),
        ("same.lower+same.lower", "same.lower"),
        ("hmm+hmm", "hmm"),
        ("hmm[0]", "hmm"),
        ("_.score[-2]", "_.score[-2]"),
        ("bin._.score+source._.case", "source._.case+bin._.score"),
        ("rank.string_similarity[1]", "rank.string_similarity[1]"),
        ("target.gazetteer.PER", "target.gazetteer.PER"),
    ],
)  # fmt: skip
def test_templates_have_one_text(written, canonical):
    assert texts(written) == [canonical]
    assert texts(canonical) == [canonical]


def test_parts():
    assert LinkPart.parse("source.lower[-2]") == LinkPart("source", Part(-2, "lower"))
    assert LinkPart.parse("bin._.score") == LinkPart("bin", Part(0, "_.score"))
    assert LinkPart.parse("position") == LinkPart("position", Part(0, "position"))
    assert LinkPart.parse("hmm[1]") == LinkPart("", Part(1, "hmm"))
    is_number = {text: LinkPart.parse(text).is_evidence for text in ("hmm", "bin.hmm", "rank.hmm")}
    assert all(is_number.values())
    others = "source.hmm", "target.hmm", "same.hmm", "position"
    assert not any(LinkPart.parse(text).is_evidence for text in others)


def test_what_a_template_reads():
    (template,) = parsed("source.lower+target.pos+same.orth+bin.dice+rank._.x+string_similarity")
    assert template.attributes == {"lower", "pos", "orth"}
    assert template.evidence == {"dice", "_.x", "string_similarity"}
    assert template.needs_association
    assert not parsed("string_similarity+bin.distance+rank._.x+position")[0].needs_association
    assert not parsed("source.lower+position")[0].evidence


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("hmm+dice", r"'hmm\+dice': two numbers: one is enough"),
        ("hmm+hmm[1]", "two numbers"),
        ("bin.hmm2", "there is no number 'hmm2'. Numbers of links: dice, .*Families: association"),
        ("source.lower+HMM", "there is no number 'HMM'"),
        ("source", "there is no number 'source'"),
        ("alinger", "there is no number 'alinger'"),
        ("bin._.", "there is no number '_.'"),
        ("bin.position", "there is no number 'position'"),
        ("source.word", "there is no attribute 'word'. Attributes: orth"),
        ("same.hmm", "there is no attribute 'hmm'"),
        ("target.position", "there is no attribute 'position'"),
        ("source._.", "there is no attribute '_.'"),
        ("position[1]", r"'position\[1\]': position takes no offset"),
        ("position[0]", r"'position\[0\]': position takes no offset"),
        (f"source.lower[{MAX_OFFSET + 1}]", f"offset {MAX_OFFSET + 1} is over {MAX_OFFSET} words"),
        (f"hmm[-{MAX_OFFSET + 1}]", "words away"),
        ("source.lower[x]", r"cannot read 'source.lower\[x\]'"),
        ("source.lower++hmm", "cannot read ''"),
        ("", "cannot read ''"),
        ("hmm-dice", "cannot read 'hmm-dice'"),
        ("x" * 5000 + "!", "^template 'x.{40,70}': cannot read 'x.{40,70}'. A part is written"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(written, message):
    with pytest.raises(TemplateError, match=message):
        parsed("dice", written)


def test_no_templates_at_all():
    assert "give at least one, such as 'aligner'" in refusal()


def test_offsets_up_to_the_largest():
    largest = [f"hmm[{MAX_OFFSET}]", f"source.lower[-{MAX_OFFSET}]"]
    assert texts(*largest) == largest


@pytest.mark.parametrize("family", FAMILIES)
def test_families_can_be_read(family):
    """Each of their templates once."""
    found = texts(family)
    assert [sorted(text.split("+")) for text in found] == [
        sorted(text.split("+")) for text in FAMILIES[family]
    ]
    assert texts(f" {family} ", *found) == found


def test_the_standard_family_has_all_others():
    parts = [text for name, family in FAMILIES.items() if name != "aligner" for text in family]
    assert list(FAMILIES["aligner"]) == parts
    assert len(parts) == len(set(parts))


def test_evidence():
    assert all(map(is_evidence, EVIDENCE))
    assert is_evidence("_.x")
    assert not any(map(is_evidence, ("_.", "_", "x", "lower", "position", "")))


names = st.sampled_from(["lower", "pos", "_.x", "prefix2"])
numbers = st.sampled_from([*EVIDENCE, "_.x"])
offsets = st.integers(-2, 2).map(lambda offset: f"[{offset}]")
parts_of_templates = st.one_of(
    st.tuples(st.sampled_from(["source.", "target.", "same."]), names, offsets).map("".join),
    st.tuples(st.sampled_from(["bin.", "rank."]), numbers, offsets).map("".join),
    st.just("position"),
)


@checked
@given(
    st.lists(parts_of_templates, max_size=4),
    st.one_of(st.just([]), st.tuples(numbers, offsets).map("".join).map(lambda part: [part])),
    st.randoms(),
)
def test_the_order_of_parts_does_not_matter(parts, number, random):
    parts = [*parts, *number] or ["position"]
    template = LinkTemplate.parse("+".join(parts))
    random.shuffle(parts)
    assert LinkTemplate.parse(" + ".join(parts)) == template
    assert LinkTemplate.parse(str(template)) == template
    assert {str(LinkPart.parse(part)) for part in parts} == set(str(template).split("+"))
    assert len(template.side("")) == len(number)


def test_compiled_templates():
    templates = parsed(
        "source.lower[-1]+source.pos+hmm[2]",
        "target.pos+same.lower[1]+position+rank.dice",
        "bin.dice[-1]+bin.dice+rank.dice",
        "dice",
    )
    compiled = compile_link_templates(templates, ("lower", "pos"), ("dice", "hmm"))
    assert compiled.source.part_starts.tolist() == [0, 2, 2, 2, 2]
    assert compiled.source.columns.tolist() == [0, 1]
    assert compiled.source.offsets.tolist() == [-1, 0]
    assert compiled.target.part_starts.tolist() == [0, 0, 1, 1, 1]
    assert compiled.target.columns.tolist() == [1]
    assert compiled.numbers.tolist() == [1, -1, -1, 0]
    assert compiled.number_offsets.tolist() == [2, 0, 0, 0]
    assert compiled.part_starts.tolist() == [0, 0, 3, 6, 6]
    kinds = [COLUMN_KINDS[kind] for kind in compiled.column_kinds.tolist()]
    columns = list(zip(kinds, compiled.column_arguments.tolist(), strict=True))
    assert columns == [("same", 0), ("position", 0), ("rank", 0), ("bin", 0)]
    assert compiled.part_columns.tolist() == [0, 1, 2, 3, 3, 2]
    assert compiled.part_offsets.tolist() == [1, 0, 0, -1, 0, 0]
    seeds = np.concatenate([compiled.source.seeds, compiled.target.seeds])
    assert len(np.unique(seeds)) == 8, "keys of templates and of sides are not mixed up"
    assert np.all(seeds != 0)


def test_keys_depend_on_the_text_of_a_template_and_not_on_its_place():
    first, second = parsed("dice"), parsed("hmm", "dice")
    seeds = [compile_link_templates(t, (), ("dice", "hmm")).source.seeds for t in (first, second)]
    assert seeds[0][0] == seeds[1][1]
    assert seeds[0].dtype == np.uint64


def test_refinements():
    """What a template needs: parts that are there too, as they are or finer, at the same place."""
    templates = parsed(
        "source.prefix2",
        "source.lower",
        "source.lower+target.lower",
        "source.lower[1]+target.lower",
        "target.lower",
        "bin.hmm",
        "hmm",
        "source.lower+bin.hmm",
        "same.prefix2",
        "same.lower",
        "position",
        "position+rank.hmm",
    )
    refines = find_link_refinements(templates)
    found = {(str(templates[a]), str(templates[b])) for a, b in np.argwhere(refines)}
    assert found == {
        ("source.prefix2", "source.lower"),
        ("source.prefix2", "source.lower+target.lower"),
        ("source.prefix2", "source.lower+bin.hmm"),
        ("source.lower", "source.lower+target.lower"),
        ("source.lower", "source.lower+bin.hmm"),
        ("target.lower", "source.lower+target.lower"),
        ("target.lower", "source.lower[1]+target.lower"),
        ("bin.hmm", "source.lower+bin.hmm"),
        ("same.prefix2", "same.lower"),
        ("position", "position+rank.hmm"),
    }
