"""Tests of ``spacy_ssvm/features/documents.py``."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.features.attributes import AttributeReader, is_attribute
from spacy_ssvm.features.documents import NO_VALUE, majority_elsewhere
from spacy_ssvm.features.gazetteers import Gazetteers
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.features.text_hash import hash_word

pytestmark = pytest.mark.uncompiled

LARGE = 2**63 + 5


def counted(values: list[int], words: list[int], docs: list[int]) -> list[int]:
    """The majorities, by counting the other occurrences of each word."""
    majorities = []
    for i, (word, doc) in enumerate(zip(words, docs, strict=True)):
        others = Counter(
            value
            for j, value in enumerate(values)
            if j != i and words[j] == word and docs[j] == doc
        )
        best = max(others, key=lambda value: (others[value], value), default=None)
        majorities.append(0 if best is None else best or int(NO_VALUE))
    return majorities


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, LARGE]), st.integers(0, 3), st.integers(0, 2)),
        max_size=24,
    )
)
def test_majorities_are_those_that_counting_finds(occurrences: list[tuple[int, int, int]]) -> None:
    values, words, docs = ([o[k] for o in occurrences] for k in range(3))
    found = majority_elsewhere(
        np.array(values, dtype=np.uint64),
        np.array(words, dtype=np.uint64),
        np.array(docs, dtype=np.int64),
    )
    assert found.dtype == np.uint64
    assert found.tolist() == counted(values, words, docs)


def test_attributes_of_documents() -> None:
    assert is_attribute("doc_majority.ent_type")
    assert is_attribute("doc_majority.case")
    assert is_attribute("doc_majority.space_before")
    assert is_attribute("doc_majority._.color")
    for base in (
        "",
        "doc_majority.tag",
        "cluster4",
        "gazetteer",
        "gazetteer.city",
        "unheard",
        "_.",
    ):
        assert not is_attribute(f"doc_majority.{base}")


def documents(vocab: Vocab) -> list[Doc]:
    first = Doc(
        vocab,
        words=["Rice", " ", "ate", "rice", "\n", "RICE", "grows", ".", "Ate", "."],
        tags=["NNP", "_SP", "VBD", "NN", "_SP", "NNP", "VBZ", ".", "", "."],
        ents=["B-PER", "O", "O", "O", "O", "B-PER", "O", "O", "O", "O"],
    )
    return [first, Doc(vocab, words=["Rice"], tags=["NNP"]), Doc(vocab), first.copy()]


def test_documents_are_read_one_by_one() -> None:
    docs = documents(spacy.blank("en").vocab)
    bases = ["case", "ent_type", "tag"]
    reader = AttributeReader([*(f"doc_majority.{base}" for base in bases), "shape"])
    assert reader.names == ("shape", *(f"doc_majority.{base}" for base in bases))
    table = reader.read(docs)
    plain = AttributeReader([*bases, "lower"])
    values = dict(zip(plain.names, plain.read(docs).attributes.T.tolist(), strict=True))
    owners = [d for d, doc in enumerate(docs) for token in doc if not token.is_space]
    for base, found in zip(bases, table.attributes.T[1:].tolist(), strict=True):
        assert found == counted(values[base], values["lower"], owners), base
    alone = [reader.read([doc]).attributes for doc in docs]
    np.testing.assert_array_equal(np.vstack(alone), table.attributes)


def test_other_columns_are_read_as_without_documents() -> None:
    color = "color_in_documents"
    Token.set_extension(color, getter=lambda token: token.text[0])
    try:
        docs = documents(spacy.blank("en").vocab)
        gazetteers = Gazetteers(["food"])
        gazetteers.add("food", np.array([hash_word("rice")], dtype=np.uint64), np.array([0, 1]))
        resources = Resources(gazetteers=gazetteers)
        names = ["gazetteer.food", f"_.{color}", "tag", "space_before", "suffix2", "orth"]
        plain = AttributeReader(names, resources)
        majorities = [f"doc_majority.{name}" for name in (f"_.{color}", "pos", "shape", "orth")]
        reader = AttributeReader([*majorities, *names], resources)
        assert reader.names == (*plain.names, *sorted(majorities))
        table, expected = reader.read(docs), plain.read(docs)
        np.testing.assert_array_equal(table.attributes[:, : len(names)], expected.attributes)
        np.testing.assert_array_equal(table.group_keys, expected.group_keys)
        assert reader.column_groups == plain.column_groups
        column = reader.names.index(f"doc_majority._.{color}")
        letters = [hash_word(letter) for letter in "RrR"]
        rice = [max(letters), letters[0], max(letters)]
        assert table.attributes[[0, 2, 3], column].tolist() == rice
    finally:
        Token.remove_extension(color)


def test_readable_values() -> None:
    doc = documents(spacy.blank("en").vocab)[0]
    reader = AttributeReader(["doc_majority.ent_type", "doc_majority.tag", "doc_majority.lower"])
    values = {
        name: [reader.text_value(name, doc, token.i) for token in doc if not token.is_space]
        for name in reader.names
    }
    assert values["doc_majority.ent_type"] == ["PER", "none", "PER", "PER", None, *["none"] * 3]
    assert values["doc_majority.tag"][1:3] == ["none", "NNP"]
    assert values["doc_majority.tag"][4:] == [None, ".", "VBD", "."]
    assert values["doc_majority.lower"][:5] == ["rice", "ate", "rice", "rice", None]


def test_a_second_recognizer_reads_what_the_first_found_elsewhere(tmp_path: Path) -> None:
    words = ["Mr", "{0}", "spoke", ".", "{0}", "left", ".", "then", "Mr", "{0}", "slept"]
    names = [f"Name{number}" for number in range(12)]

    def gold(vocab: Vocab, name: str) -> Doc:
        filled = [word.format(name) for word in words]
        tags = ["B-PER" if word == "{0}" else "O" for word in words]
        return Doc(vocab, words=filled, ents=tags)

    nlp = spacy.blank("en")
    first = nlp.add_pipe("ssvm_ner", name="entities", config={"templates": ["lower[-1]"]})
    templates = ["lower[-1]", "doc_majority.ent_type[0]"]
    second = nlp.add_pipe("ssvm_ner", config={"templates": templates, "overwrite": True})
    references = [gold(nlp.vocab, name) for name in names[:-1]]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    for example in examples:  # what "lower[-1]" alone can find
        example.predicted.set_ents([Span(example.predicted, i, i + 1, "PER") for i in (1, 9)])
    for component in (first, second):
        component.initialize(lambda: examples, nlp=nlp)
        for _ in range(10):
            component.update(examples)
    nlp.to_disk(tmp_path / "saved")
    for pipeline in (nlp, spacy.load(tmp_path / "saved")):
        text = gold(pipeline.vocab, names[-1]).text
        with pipeline.select_pipes(disable="ssvm_ner"):
            assert [entity.start for entity in pipeline(text).ents] == [1, 9]
        doc = pipeline(text)
        assert [entity.start for entity in doc.ents] == [1, 4, 9]
        assert "doc_majority.ent_type[0]" in str(pipeline.get_pipe("ssvm_ner").explain(doc, 4))
