"""From Docs to feature rows: templates, keys, rows, cluster files and the reader of Docs."""

import sys

import naive
import numpy as np
import pytest
import spacy
from feature_strategies import VOCAB, checked, column, drawn_docs
from hypothesis import given
from hypothesis import strategies as st
from spacy.attrs import IDS
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from spacy_ssvm.features import attributes as reading
from spacy_ssvm.features.attributes import (
    ATTRIBUTES,
    SPACES,
    TYPE_ATTRIBUTES,
    AttributeReader,
    is_attribute,
)

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("orth", {"Haus": "Haus", "haus": "haus"}),
        ("lower", {"Haus": "haus", "HAUS": "haus", "ÄÖ": "äö"}),
        ("prefix1", {"Haus": "h", "a": "a"}),
        ("prefix3", {"Haus": "hau", "HAU": "hau", "ab": None}),
        ("prefix5", {"Haus": None, "Hauses": "hause"}),
        ("suffix1", {"Haus": "s", "a": "a"}),
        ("suffix3", {"Haus": "aus", "AUS": "aus", "ab": None}),
        ("shape_full", {"McDonald-90s": "XxXxxxxx-ddx", "?!": "?!"}),
        ("shape", {"McDonald-90s": "XxXx-dx", "Ab1": "Xxd", "Abcd11": "Xxd", "...": "."}),
        ("case", {"ab": "lower", "AB": "upper", "Ab": "title", "aB": "mixed", "12": None}),
        ("case", {"كتاب": "uncased", "ספר": "uncased", "東京": "uncased", "東京2": "uncased"}),
        ("case", {"ال-USA": "upper", "東京a": "lower", "東京aB": "mixed", "...": None}),
        ("case", {"\u01c5": "title", "\u2163": "upper", "\u2172\u2163": "mixed", "\u00bd": None}),
        ("digits", {"12": "all", "1a": "some", "ab": None}),
        ("case_class", {"Anna": "title", "12": "none", "كتاب": "uncased"}),
        ("digit_class", {"12": "all", "1a": "some", "ab": "none"}),
        ("hyphen", {"a-b": "yes", "-a": None, "-": None, "ab": None}),
        ("punctuation", {"?!": "yes", "a.": "no", "1": "no"}),
        (
            "length_class",
            {"a": "1", "abcd": "4", "abcde": "5-6", "abcdefg": "7-9", "x" * 10: "10+"},
        ),
        ("like_num", {"12": "True", "ab": None}),
        ("space_before", {"first": None, "second": "space", "third": "space"}),
    ],
)
def test_the_attributes_of_words(nlp, name, values):
    """As text; and as numbers, which agree exactly where the texts do, and are 0 for none."""
    doc = Doc(nlp.vocab, words=list(values))
    reader = AttributeReader([name])
    expected = list(values.values())
    assert [reader.text_value(name, doc, i) for i in range(len(doc))] == expected
    numbers = column(reader.read([doc]), reader, name)
    assert naive.same_classes(numbers, expected)
    assert [number == 0 for number in numbers] == [value is None for value in expected]


LETTERS = "aZ\u00e9\u00c9\u0130\u01c5\u00aa\u2163\u24d0\u0645\u05d0\u6771\u3042\u0e01"


OTHERS = "19\u0663\u00b2\u00bd\u4e09.-\u3002\u0651 "


CODE_POINTS = [*range(0x3000), *range(0x3000, sys.maxunicode, 37)]


@pytest.mark.parametrize("name", ["case_class", "digit_class", "punctuation", "shape_full"])
def test_attributes_of_single_characters_follow_the_unicode_database(name):
    characters = map(chr, CODE_POINTS)
    naive_value = naive.TYPE_ATTRIBUTES[name]
    assert not [c for c in characters if TYPE_ATTRIBUTES[name](c) != naive_value(c)]


@given(text=st.text(st.sampled_from(LETTERS + OTHERS), max_size=6))
def test_attributes_of_words_follow_the_unicode_database(text):
    for name, naive_value in naive.TYPE_ATTRIBUTES.items():
        assert TYPE_ATTRIBUTES[name](text) == naive_value(text)


def test_all_attributes_that_templates_may_use_can_be_read(nlp):
    doc = Doc(nlp.vocab, words=["Hello", "10", "x"])
    names = {name.lower() for name in IDS if is_attribute(name.lower())} | set(ATTRIBUTES)
    assert {"tag", "pos", "lemma", "ent_type", "like_num", "dep", "cluster4"} <= names
    reader = AttributeReader(names)
    assert set(reader.names) == names
    assert reader.read([doc]).attributes.shape == (3, len(names))
    assert not is_attribute("")
    assert not is_attribute("Lower")


def test_annotations_are_read_from_the_doc(nlp):
    words = ["cats", " ", "cat", "dogs"]
    doc = Doc(
        nlp.vocab, words=words, tags=["NNS", "_SP", "NN", "NNS"], lemmas=["cat", "", "cat", ""]
    )
    reader = AttributeReader(["tag", "lower", "lemma"])
    table = reader.read([doc])
    assert naive.same_classes(column(table, reader, "tag"), ["NNS", "NN", "NNS"])
    lemmas = column(table, reader, "lemma")
    assert lemmas[0] == lemmas[1] != 0
    assert lemmas[2] == 0
    assert column(table, reader, "tag")[0] == nlp.vocab.strings["NNS"]
    assert reader.text_value("tag", doc, 0) == "NNS"
    assert reader.text_value("lemma", doc, 3) is None


def test_annotations_are_not_remembered_with_the_word(nlp):
    reader = AttributeReader(["tag", "lower"])
    doc = Doc(nlp.vocab, words=["can", "can"], tags=["MD", "NN"])
    first = column(reader.read([doc]), reader, "tag")
    doc[0].tag_ = "NN"
    second = column(reader.read([doc]), reader, "tag")
    assert first[0] != first[1] == second[0] == second[1]


MORPHS = ["Case=Nom|Number=Sing", "Number=Plur", "", "Case=Acc,Dat|Number=Sing", "Case=Nom"]


def test_morphological_features_are_read_by_their_value(nlp):
    doc = Doc(nlp.vocab, words=["a", "b", " ", "c", "d", "e"], morphs=[*MORPHS, "Foreign=Yes"])
    reader = AttributeReader(["lower", "morph.Case", "morph", "tag", "morph.Number"])
    table = reader.read([Doc(nlp.vocab), doc])
    cases = ["Nom", None, "Acc,Dat", "Nom", None]
    numbers = ["Sing", "Plur", "Sing", None, None]
    for name, values in {"morph.Case": cases, "morph.Number": numbers}.items():
        found = column(table, reader, name)
        assert naive.same_classes(found, values)
        assert [value == 0 for value in found] == [value is None for value in values]
        words = [reader.text_value(name, doc, i) for i in range(6) if i != 2]
        assert words == values
    different = column(table, reader, "morph")
    assert len(set(different)) == 5  # whole ones stand beside them
    doc[0].set_morph("Case=Gen|Number=Plur")
    changed = column(reader.read([doc]), reader, "morph.Case")
    assert changed[0] not in (0, found[0])
    assert changed[1:] == column(table, reader, "morph.Case")[1:]


def test_morphological_features_are_those_of_the_vocabulary_of_a_doc(nlp):
    reader = AttributeReader(["morph.Case"])
    docs = [Doc(vocab, words=["a"], morphs=["Case=Nom"]) for vocab in (nlp.vocab, Vocab())]
    found = column(reader.read(docs), reader, "morph.Case")
    assert found[0] == found[1] != 0
    with nlp.memory_zone():
        doc = Doc(nlp.vocab, words=["a"], morphs=["Case=Never"])
        in_zone = column(reader.read([doc]), reader, "morph.Case")[0]
    after = Doc(nlp.vocab, words=["a"], morphs=["Case=Never"])
    assert column(reader.read([after]), reader, "morph.Case")[0] == in_zone


def test_few_morphologies_are_remembered(nlp, monkeypatch):
    monkeypatch.setattr(reading, "_KNOWN_MORPHOLOGIES", 2)
    reader = AttributeReader(["morph.Case"])
    doc = Doc(nlp.vocab, words=["a"] * 4, morphs=["Case=A", "Case=B", "Case=C", "Case=D"])
    expected = column(reader.read([doc]), reader, "morph.Case")
    assert len(set(expected)) == 4
    for start in (0, 2):
        part = column(reader.read([doc[start : start + 2].as_doc()]), reader, "morph.Case")
        assert part == expected[start : start + 2]
        assert len(reader._of_morphologies) <= 2


def test_names_of_morphological_features(nlp):
    assert is_attribute("morph.Case")
    assert is_attribute("doc_majority.morph.Gender")
    assert not is_attribute("morph.")
    doc = Doc(nlp.vocab, words=["x", "X", "y"], morphs=["Gender=Fem", "Gender=Fem", "Gender=Masc"])
    reader = AttributeReader(["doc_majority.morph.Gender"])
    values = [reader.text_value("doc_majority.morph.Gender", doc, i) for i in range(3)]
    assert values == ["Fem", "Fem", None]


@pytest.fixture
def bold():
    Token.set_extension("is_bold_in_test", default=None)
    yield "_.is_bold_in_test"
    Token.remove_extension("is_bold_in_test")


def test_extensions_are_read_by_their_value(nlp, bold):
    doc = Doc(nlp.vocab, words=["a", "b", " ", "c", "d", "e"])
    values = [True, False, "in between", True, None, 3]
    for token, value in zip(doc, values, strict=True):
        token._.is_bold_in_test = value
    reader = AttributeReader(["lower", bold, "tag"])
    found = column(reader.read([doc]), reader, bold)
    assert naive.same_classes(found, [value for i, value in enumerate(values) if i != 2])
    assert [value == 0 for value in found] == [False, False, False, True, False]
    assert reader.text_value(bold, doc, 0) == "True"
    assert reader.text_value(bold, doc, 4) is None


def test_an_unknown_extension_is_an_error_that_says_what_to_do(nlp):
    reader = AttributeReader(["_.nobody_registered_this"])
    with pytest.raises(ValueError, match=r"_\.nobody_registered_this.*\s.*set_extension"):
        reader.read([Doc(nlp.vocab, words=["a"])])


def check_table(table, docs):
    """The sentences and places of a table, against the Docs themselves."""
    doc_starts = [0, *np.cumsum([len(doc) for doc in docs]).tolist()]
    assert table.doc_starts.tolist() == doc_starts
    sentences = [
        [doc_starts[d] + i for i in sentence]
        for d, doc in enumerate(docs)
        for sentence in naive.sentences(doc)
    ]
    bounds = table.sentence_starts.tolist()
    assert bounds == [0, *np.cumsum([len(sentence) for sentence in sentences]).tolist()]
    assert table.positions.tolist() == [place for sentence in sentences for place in sentence]
    numbers = [len(naive.sentences(doc)) for doc in docs]
    assert table.doc_sentences.tolist() == [0, *np.cumsum(numbers).tolist()]
    assert len(table.attributes) == bounds[-1]


@checked
@given(drawn_docs())
def test_sentences_are_the_words_between_starts(docs):
    reader = AttributeReader(["lower", "tag", "suffix2"])
    table = reader.read(docs)
    check_table(table, docs)
    tokens = [token for doc in docs for token in doc if not token.text.isspace()]
    for name, values in (
        ("lower", [token.text.lower() for token in tokens]),
        ("tag", [token.tag_ or None for token in tokens]),
        ("suffix2", [token.text[-2:].lower() if len(token) > 1 else None for token in tokens]),
    ):
        numbers = column(table, reader, name)
        assert naive.same_classes(numbers, values)
        assert [number == 0 for number in numbers] == [value is None for value in values]


@checked
@given(drawn_docs())
def test_docs_are_read_alike_alone_and_in_batches(docs):
    names = ["lower", "tag", "shape", "space_before"]
    together = AttributeReader(names).read(docs)
    for d, doc in enumerate(docs):
        alone = AttributeReader(names).read([doc])
        first, last = together.doc_sentences[d : d + 2]
        bounds = together.sentence_starts[first : last + 1]
        np.testing.assert_array_equal(alone.sentence_starts, bounds - bounds[0])
        np.testing.assert_array_equal(alone.attributes, together.attributes[bounds[0] : bounds[-1]])


@checked
@given(drawn_docs())
def test_whole_docs_are_one_sentence_each(docs):
    reader = AttributeReader(["lower"], whole_docs=True)
    table = reader.read(docs)
    words_of_docs = [[token for token in doc if not token.text.isspace()] for doc in docs]
    sizes = [len(tokens) for tokens in words_of_docs if tokens]
    assert table.sentence_starts.tolist() == [0, *np.cumsum(sizes).tolist()]
    for doc in docs:
        bare = Doc(VOCAB, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])
        np.testing.assert_array_equal(reader.inputs(doc), reader.inputs(bare))


@checked
@given(drawn_docs())
def test_what_lies_before_a_word(docs):
    def between(doc, i):
        start = i
        while start and doc[start - 1].text.isspace():
            start -= 1
        blanks = [token.text for token in doc[start:i]]
        if any("\n\n" in text for text in blanks):
            return "paragraph"
        if blanks:
            return "spaces"
        return None if i == 0 else "space" if doc[i - 1].whitespace_ else "none"

    reader = AttributeReader(["tag", "space_before"])
    places = [(doc, i) for doc in docs for i in range(len(doc)) if not doc[i].text.isspace()]
    expected = [between(doc, i) for doc, i in places]
    numbers = column(reader.read(docs), reader, "space_before")
    assert [SPACES[number] or None for number in numbers] == expected
    assert [reader.text_value("space_before", doc, i) for doc, i in places] == expected


@pytest.mark.parametrize(
    ("blank", "value"),
    [
        (" ", "spaces"), ("\t", "spaces"), ("\u00a0", "spaces"),
        ("\n", "line"), (" \r\n ", "line"), ("\u2028", "line"),
        ("\n\n", "paragraph"), ("\r\n \r\n", "paragraph"), ("\n\n\n", "paragraph"),
    ],
)  # fmt: skip
def test_kinds_of_whitespace(nlp, blank, value):
    reader = AttributeReader(["space_before"])
    assert reader.text_value("space_before", Doc(nlp.vocab, words=["a", blank, "b"]), 2) == value


def test_a_start_on_whitespace_moves_on_to_the_next_word(nlp):
    doc = Doc(nlp.vocab, words=["\n", "A", "b", " ", " ", "C"], sent_starts=[1, 0, 0, 1, 0, 0])
    table = AttributeReader(["lower"]).read([doc])
    assert table.sentence_starts.tolist() == [0, 2, 3]
    assert table.positions.tolist() == [1, 2, 5]


def test_a_doc_without_starts_is_one_sentence(nlp):
    table = AttributeReader(["lower"]).read([Doc(nlp.vocab, words=["A", ".", "B", "."])])
    assert table.sentence_starts.tolist() == [0, 4]


def test_docs_without_words_have_no_sentences(nlp):
    empty, blank = Doc(nlp.vocab), Doc(nlp.vocab, words=[" ", "\n"])
    docs = [empty, Doc(nlp.vocab, words=["A"]), blank, empty, Doc(nlp.vocab, words=["B"]), empty]
    for reader in (AttributeReader(["lower", "tag"]), AttributeReader(["tag"])):
        table = reader.read(docs)
        check_table(table, docs)
        assert table.doc_sentences.tolist() == [0, 0, 1, 1, 1, 2, 2]
        for none in ([empty], [blank], [empty, empty]):
            check_table(reader.read(none), none)


def test_docs_of_several_vocabularies_can_be_read_together():
    docs = [Doc(spacy.blank("en").vocab, words=[word, "same"]) for word in ("one", "two")]
    reader = AttributeReader(["lower"])
    assert naive.same_classes(
        column(reader.read(docs), reader, "lower"), ["one", "same", "two", "same"]
    )


def test_a_full_cache_changes_no_value_and_does_not_grow(nlp, monkeypatch):
    random = np.random.default_rng(0)
    batches = [
        [
            Doc(nlp.vocab, words=[f"word{number}" for number in random.integers(60, size=size)])
            for size in sizes
        ]
        for sizes in random.integers(1, 12, size=(60, 2))
    ]
    batches.append([Doc(nlp.vocab, words=[f"word{number}" for number in range(60)])])
    batches += batches[:20]
    names = ["lower", "suffix1", "digits"]
    unbounded = AttributeReader(names)
    expected = [unbounded.read(docs).attributes for docs in batches]
    monkeypatch.setattr(reading, "CACHED_TYPES", 8)
    reader = AttributeReader(names)
    most = 8  # or as many types as the largest batch has of its own
    for docs, values in zip(batches, expected, strict=True):
        np.testing.assert_array_equal(reader.read(docs).attributes, values)
        most = max(most, len({token.orth for doc in docs for token in doc}))
        assert reader._number_of_types <= most
        assert len(reader._values) <= 4 * most
        assert len(reader._slots) <= max(16, 2 * most)


def test_reading_adds_no_strings(nlp):
    doc = Doc(nlp.vocab, words=["Unheard-of", "WORDS", "12x", " "], tags=["A", "B", "C", "D"])
    before = len(nlp.vocab.strings)
    reader = AttributeReader([*ATTRIBUTES, "tag", "lemma"])
    reader.read([doc])
    for name in reader.names:
        reader.text_value(name, doc, 0)
    assert len(nlp.vocab.strings) == before


def test_the_cache_outlives_a_memory_zone(nlp):
    reader = AttributeReader(["lower", "suffix3", "tag"])
    seen = []
    for _ in range(3):
        with nlp.memory_zone():
            doc = nlp("Transient words that only this zone knows.")
            seen.append(reader.read([doc]).attributes.tolist())
    outside = Doc(nlp.vocab, words=["Transient", "words", "that"])
    assert seen[0] == seen[1] == seen[2]
    assert reader.read([outside]).attributes.tolist() == seen[0][:3]
