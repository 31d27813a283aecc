"""Tests of ``spacy_ssvm/features/wildcards.py``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pipelines import PARSER, RECOGNIZER
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import is_attribute
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.features.wildcards import expand_wildcards

pytestmark = pytest.mark.uncompiled


def expanded(texts: list[str], **names: list[str]) -> list[str]:
    return list(map(str, expand_wildcards(map(Template.parse, texts), names, Template.parse)))


def test_templates_with_wildcards_are_used_once_for_each_name() -> None:
    texts = ["lower[0]", "cluster4.*[-1]+cluster6.*[0]+lower[0]", "cluster6.news[1]"]
    others = [texts[0], texts[2]]
    assert expanded(texts) == texts
    assert expanded(texts, gazetteer=["city"]) == texts
    assert expanded(texts, cluster=[]) == others
    unnamed = "cluster4[-1]+cluster6[0]+lower[0]"
    assert expanded(texts, cluster=[""]) == [texts[0], unnamed, texts[2]]
    assert expanded(texts, cluster=["a", "b"]) == [
        texts[0],
        "cluster4.a[-1]+cluster6.a[0]+lower[0]",
        "cluster4.b[-1]+cluster6.b[0]+lower[0]",
        texts[2],
    ]


def test_no_template_is_used_twice() -> None:
    texts = ["cluster6.news[1]", "cluster6.*[1]", "lower[0]"]
    assert expanded(texts, cluster=["news", "mail"]) == [
        "cluster6.news[1]",
        "cluster6.mail[1]",
        "lower[0]",
    ]


def test_wildcards_of_two_kinds_are_used_once_for_each_pair() -> None:
    texts = ["gazetteer.*[0]+cluster6.*[1]"]
    assert expanded(texts, cluster=["a"], gazetteer=["city", "first name"]) == [
        "gazetteer.city[0]+cluster6.a[1]",
        "gazetteer.first name[0]+cluster6.a[1]",
    ]
    assert expanded(texts, cluster=["a"], gazetteer=[]) == []


def test_names_are_taken_as_they_are() -> None:
    names = ["a\\1", "\\g<0>", "of us", "1"]
    assert expanded(["gazetteer.*[0]"], gazetteer=names) == [
        f"gazetteer.{name}[0]" for name in names
    ]


def test_names_that_end_in_those_of_resources_have_no_wildcards() -> None:
    assert expanded(["_.my_gazetteer.*[0]"], gazetteer=["city"]) == ["_.my_gazetteer.*[0]"]


@pytest.fixture
def lists(tmp_path: Path) -> dict[str, str]:
    """Gazetteers by type. Templates can name the first one only."""
    entries = {"first_name": "Mary\nJohn\n", "a+b (old)": "Smith\n", "": "Jones\n"}
    for kind, text in entries.items():
        (tmp_path / f"{len(kind)}.txt").write_text(text, encoding="utf8")
    return {kind: str(tmp_path / f"{len(kind)}.txt") for kind in entries}


@pytest.mark.filterwarnings("ignore:.*these gazetteer types are no labels")
def test_default_families_read_each_type_of_gazetteers(lists: dict[str, str]) -> None:
    nlp = RECOGNIZER.pipeline(templates=["ner", "gazetteer[0]"])
    ner: Any = nlp.get_pipe(RECOGNIZER.name)
    examples = RECOGNIZER.examples(nlp.vocab)
    for given in (lists, {"first_name": lists["first_name"]}):
        ner.initialize(lambda: examples, nlp=nlp, gazetteers=given)
        found = [text for text in map(str, ner.model.templates) if "gazetteer" in text]
        assert found == [
            *(f"gazetteer.first_name[{i}]" for i in (-1, 0, 1)),
            "gazetteer.first_name[-1]+gazetteer.first_name[0]",
            "gazetteer.first_name[0]+gazetteer.first_name[1]",
            "gazetteer[0]",
        ]
        doc = Doc(nlp.vocab, words=["mary", "Smith"])
        values = [ner.model.reader.text_value("gazetteer.first_name", doc, i) for i in range(2)]
        assert values == ["S", None]


def test_default_families_without_gazetteers() -> None:
    nlp = RECOGNIZER.pipeline(templates=["ner"])
    ner: Any = nlp.get_pipe(RECOGNIZER.name)
    examples = RECOGNIZER.examples(nlp.vocab)
    ner.initialize(lambda: examples, nlp=nlp)
    assert not [text for text in map(str, ner.model.templates) if "*" in text or "gaz" in text]


@pytest.mark.parametrize(
    ("wildcard", "name", "resources"),
    [
        ("cluster1.*", "cluster1.news", lambda path: {"clusters": {"news": path}}),
        ("gazetteer.*", "gazetteer.city", lambda path: {"gazetteers": {"city": path}}),
    ],
)
def test_templates_of_arcs_and_of_their_labels(
    tmp_path: Path, wildcard: str, name: str, resources: Callable[[str], dict[str, Any]]
) -> None:
    path = tmp_path / "resource"
    path.write_text("00\tdog\n01\tbarks\n", encoding="utf8")
    nlp = PARSER.pipeline(
        templates=[f"head.{wildcard}+dependent.tag", "head.tag+dependent.tag"],
        label_templates=["dependent.tag", f"head.{wildcard}"],
    )
    parser: Any = nlp.get_pipe(PARSER.name)
    examples = PARSER.examples(nlp.vocab)
    parser.initialize(lambda: examples, nlp=nlp, **resources(str(path)))
    assert next(map(str, parser.model.templates)) == f"head.{name}+dependent.tag"
    texts = list(map(str, parser.model.label_templates))
    assert texts == ["dependent.tag", f"head.{name}"]
    parser.initialize(lambda: examples, nlp=nlp)
    assert list(map(str, parser.model.label_templates)) == ["dependent.tag"]


@pytest.mark.parametrize(
    ("family", "number"), [("tagger", 20), ("senter", 14), ("ner", 20), ("chunker", 20)]
)
def test_families_read_each_set_of_clusters_where_there_are_some(family: str, number: int) -> None:
    templates = parse_templates([family], is_attribute=is_attribute, attributes=())

    def texts(*sets: str) -> list[str]:
        return list(map(str, expand_wildcards(templates, {"cluster": sets}, Template.parse)))

    without = [str(template) for template in templates if "cluster" not in str(template)]
    assert texts() == without
    news = [text for text in texts("news") if "cluster" in text]
    assert len(news) == number
    assert all(".news[" in text for text in news)
    both = {text for text in texts("news", "tweets") if "cluster" in text}
    assert both == {*news, *(text.replace("news", "tweets") for text in news)}
