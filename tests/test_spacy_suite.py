"""spaCy's own tests, with our components under the names of spaCy's."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from marks import compiled_only
from pipelines import PARSER, copy_of
from processes import environment
from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from spacy_names import MODULES


@compiled_only
def test_spacy_s_own_tests_pass(tmp_path: Path) -> None:
    modules = [f"spacy.tests.{name}" for name in MODULES]
    options = ["-q", "-p", "spacy_names", "-p", "no:cacheprovider", "-W", "ignore"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *modules],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == pytest.ExitCode.OK, result.stdout + result.stderr


TAGS = [
    ("I like green eggs", {"tags": ["N", "V", "J", "N"]}),
    ("Eat blue ham", {"tags": ["V", "J", "N"]}),
]


PARTIAL_TAGS = [
    ("I like green eggs", {"tags": ["", "V", "J", ""]}),
    (
        "He hates green eggs",
        {"words": ["He", "hate", "s", "green", "eggs"], "tags": ["", "V", "S", "J", ""]},
    ),
]


ENTITIES = [
    ("Who is Shaka Khan?", {"entities": [(7, 17, "PERSON")]}),
    ("I like London and Berlin.", {"entities": [(7, 13, "LOC"), (18, 24, "LOC")]}),
]


TREES = [
    (
        "They trade mortgage-backed securities.",
        {
            "heads": [1, 1, 4, 4, 5, 1, 1],
            "deps": ["nsubj", "ROOT", "compound", "punct", "nmod", "dobj", "punct"],
        },
    ),
    (
        "I like London and Berlin.",
        {
            "heads": [1, 1, 1, 2, 2, 1],
            "deps": ["nsubj", "ROOT", "dobj", "cc", "conj", "punct"],
        },
    ),
]


def taught(factory: str, data: list[Any], key: str | None = None, **config: Any) -> Language:
    """A pipeline trained as spaCy's tests do: labels under a key are added, if there is one."""
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(factory, config=config)
    examples = [Example.from_dict(nlp.make_doc(text), given) for text, given in data]
    for _, given in data:
        for label in given[key] if key else ():
            pipe.add_label(label[2] if key == "entities" else label)
    optimizer = nlp.initialize() if key else nlp.initialize(get_examples=lambda: examples)
    for _ in range(50):
        nlp.update(examples, sgd=optimizer, losses={})
    return nlp


def test_a_tagger_learns_from_two_sentences() -> None:
    doc = taught("ssvm_tagger", TAGS)("I like blue eggs")
    assert [token.tag_ for token in doc] == ["N", "V", "J", "N"]


def test_a_tagger_learns_from_partial_and_misaligned_tags() -> None:
    doc = taught("ssvm_tagger", PARTIAL_TAGS)("I like blue eggs")
    assert [token.tag_ for token in doc][1:3] == ["V", "J"]


def test_entities_are_found_beside_those_that_are_there() -> None:
    nlp = taught("ssvm_ner", ENTITIES, "entities")
    for pipeline in (nlp, copy_of(nlp)):
        (entity,) = pipeline("I like London.").ents
        assert (entity.text, entity.label_) == ("London", "LOC")
        doc = pipeline.make_doc("I like London and London.")
        doc.ents = [Span(doc, 2, 3, label="LOC", kb_id=1234)]
        found = pipeline.get_pipe("ssvm_ner")(doc).ents
        assert [(e.text, e.label_, e.kb_id) for e in found] == [
            ("London", "LOC", 1234),
            ("London", "LOC", 0),
        ]


@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")
def test_a_parser_learns_from_two_trees() -> None:
    nlp = taught("ssvm_parser", TREES, "deps", **PARSER.config)
    for pipeline in (nlp, copy_of(nlp)):
        doc = pipeline("I like securities.")
        assert [token.dep_ for token in doc] == ["nsubj", "ROOT", "dobj", "punct"]
        assert [token.head.i for token in doc] == [1, 1, 1, 1]
