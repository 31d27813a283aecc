"""Tests of ``spacy_ssvm/features/wildcards.py``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
from pipelines import PARSER, RECOGNIZER, TAGGER
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm.align.text_pairs import join_pair
from spacy_ssvm.components.initialization import find_features
from spacy_ssvm.features.attributes import is_attribute
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.features.wildcards import expand_wildcards
from spacy_ssvm.trees.families import ARC_FAMILIES

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
    ("family", "number"), [("tagger", 14), ("senter", 14), ("ner", 20), ("chunker", 20)]
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


def test_features_are_those_that_one_in_a_thousand_tokens_has() -> None:
    vocab = Vocab()
    rare, frequent = "Mood=Ind", "Case=Nom|Number[psor]=Sing"
    morphs = [rare, *[frequent] * 2, *[""] * 1997]
    doc = Doc(vocab, words=["w"] * len(morphs), morphs=morphs)
    plain = Doc(vocab, words=["w"] * len(morphs))
    assert find_features([Example(plain, doc)]) == ["Case", "Number[psor]"]
    assert find_features([Example(doc, plain)]) == ["Case", "Number[psor]"], "of the predicted Doc"
    empty = Doc(vocab, words=["w"] * len(morphs), morphs=["_"] * len(morphs))
    assert find_features([Example(doc, empty)]) == ["Case", "Number[psor]"], "as if not annotated"
    assert find_features([Example(plain, doc[:2000].as_doc())] * 2) == ["Case", "Number[psor]"]
    assert find_features([Example(plain[:1000].as_doc(), doc[:1000].as_doc())]) == [
        "Case",
        "Mood",
        "Number[psor]",
    ]
    odd = Doc(vocab, words=["a"], morphs=["Case-x=1|Case=2|A+B=3|X[=4|Y[1]=5"])
    assert find_features([Example(odd, odd)]) == ["Case"], "others cannot be written in templates"
    assert find_features([]) == []


def test_templates_of_features_are_used_once_for_each_feature_of_the_examples() -> None:
    nlp = PARSER.pipeline(
        templates=["head.pos+dependent.pos", "morphology"],
        label_templates=["label_morphology"],
        pruner_templates=["head.morph.*+dependent.pos"],
    )
    parser: Any = nlp.get_pipe(PARSER.name)
    doc = Doc(
        nlp.vocab,
        words=["My", "houses"],
        morphs=["Number[psor]=Sing", "Number=Plur"],
        heads=[1, 1],
        deps=["det", "ROOT"],
    )
    examples = [Example(doc.copy(), doc)]
    nlp.initialize(lambda: examples)
    arcs = list(map(str, parser.model.templates))
    assert len(arcs) == 1 + 2 * len(ARC_FAMILIES["morphology"])
    assert "head.morph.Number[psor]+dependent.morph.Number[psor]" in arcs
    assert "head.morph.Number+dependent.morph.Number[psor]" not in arcs
    labels = set(map(str, parser.model.label_templates))
    assert len(labels) == 2 * len(ARC_FAMILIES["label_morphology"])
    assert list(map(str, parser.model.pruner_templates)) == [
        "head.morph.Number+dependent.pos",
        "head.morph.Number[psor]+dependent.pos",
    ]
    for _ in range(5):
        nlp.update(examples)
    reasons = parser.explain(nlp(doc), 0).reasons
    assert any("dependent.morph.Number[psor]" in reason.template for reason in reasons)
    again: Any = PARSER.pipeline().from_bytes(nlp.to_bytes()).get_pipe(PARSER.name)
    assert list(map(str, again.model.templates)) == arcs
    plain = Doc(nlp.vocab, words=["a", "b"], heads=[1, 1], deps=["det", "ROOT"])
    with (
        pytest.warns(UserWarning, match=r"'head.morph.\*.*' is used for each .* have none"),
        pytest.raises(ConfigValidationError, match="all pruner_templates have wildcards"),
    ):
        nlp.initialize(lambda: [Example(plain.copy(), plain)])


def test_features_are_also_those_of_the_other_occurrences_of_a_word() -> None:
    nlp = TAGGER.pipeline(templates=["lower[0]", "doc_majority.morph.*[0]"])
    words, morphs = ["a", "b"], ["Case=Nom", "Mood=Ind"]
    doc = Doc(nlp.vocab, words=words, tags=["X", "Y"], morphs=morphs)
    nlp.initialize(lambda: [Example(doc.copy(), doc)])
    model: Any = nlp.get_pipe(TAGGER.name)
    assert list(map(str, model.model.templates)) == [
        "lower[0]",
        "doc_majority.morph.Case[0]",
        "doc_majority.morph.Mood[0]",
    ]


def test_features_that_frozen_components_write_are_used() -> None:
    """Where the corpus has none; without them, there is a warning."""
    nlp = spacy.blank("en")
    front: Any = nlp.add_pipe("attribute_ruler")
    front.add([[{"ORTH": "a"}]], {"MORPH": "Case=Nom"})
    tagger: Any = nlp.add_pipe(TAGGER.name, config={"templates": ["lower[0]", "morph.*[0]"]})
    empty = Doc(nlp.vocab, words=["a", "b"], tags=["X", "Y"], morphs=["_", "_"])

    def examples() -> list[Example]:
        return [Example(nlp.make_doc("a b"), empty)]

    with pytest.warns(UserWarning, match=r"'morph\.\*\[0\]' is used for each .* have none"):
        tagger.initialize(examples, nlp=nlp)
    assert list(map(str, tagger.model.templates)) == ["lower[0]"]
    names = {"frozen_components": [front.name], "annotating_components": [front.name]}
    nlp.config["training"].update(names)
    tagger.initialize(examples, nlp=nlp)
    assert list(map(str, tagger.model.templates)) == ["lower[0]", "morph.Case[0]"]


def test_an_aligner_counts_the_features_of_both_texts() -> None:
    """And can name those with a layer."""
    templates = ["source.morph.*", "target.morph.Number[psor][-1]", "same.lower"]
    nlp = spacy.blank("xx")
    aligner: Any = nlp.add_pipe("ssvm_aligner", config={"templates": templates})
    source = Doc(nlp.vocab, words=["a"], morphs=["Case=Nom"])
    target = Doc(nlp.vocab, words=["b"], morphs=["Mood=Ind"])
    source._.translation, source._.alignment = target, [(0, 0)]
    joined = join_pair(source)
    for pair in (source, joined):
        aligner.initialize(lambda pair=pair: [Example(pair, pair)])
        assert sorted(map(str, aligner.model.templates)) == [
            "same.lower",
            "source.morph.Case",
            "source.morph.Mood",
            "target.morph.Number[psor][-1]",
        ]
