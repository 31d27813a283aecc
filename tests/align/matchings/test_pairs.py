"""Pairs of sentences as kernels read them, from both ways in which Docs hold them."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_pairs import two_docs
from small_bitexts import hash_bitext
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_ssvm.align.bitext.association import source_ids, target_ids
from spacy_ssvm.align.bitext.lexicon import read_lexicon
from spacy_ssvm.align.bitext.link_scores import COLUMNS, link_scores
from spacy_ssvm.align.bitext.models import train_association
from spacy_ssvm.align.matchings.pairs import ASSOCIATION_ATTRIBUTE, PairReader, Pairs
from spacy_ssvm.align.text_pairs import make_pair, sides
from spacy_ssvm.features.attributes import type_values

pytestmark = pytest.mark.uncompiled

VOCAB = Vocab()
EVIDENCE = ["string_similarity", "distance", "_.numbers"]
KNOWN = [(["the", "house"], ["das", "haus"]), (["the", "dog"], ["der", "hund"]),
         (["a", "house"], ["ein", "haus"])]  # fmt: skip
UNKNOWN = (["the", "house"], ["der", "haus"])


@pytest.fixture(autouse=True)
def extension() -> Any:
    Doc.set_extension("numbers", default=None)
    yield
    Doc.remove_extension("numbers")


@pytest.fixture(scope="module")
def association() -> Any:
    return train_association(
        hash_bitext(KNOWN, lambda word: int(type_values(ASSOCIATION_ATTRIBUTE, [word])[0]))
    )


def reader(*evidence: str, attributes: tuple[str, ...] = ("lower",), **options: Any) -> PairReader:
    return PairReader(attributes, evidence, sides, **options)


def numbered(source: list[str], target: list[str], numbers: Any = None) -> Doc:
    doc = make_pair(VOCAB, source, target)
    doc._.numbers = numbers
    return doc


def same(a: Pairs, b: Pairs) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def test_numbers_of_a_lexicon(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("house\tHAUS\nthe\tdas\t0.5\n", encoding="utf8")
    lexicon = read_lexicon(path, partial(type_values, "lower"))
    docs = [numbered(["The", "House"], ["das", "Haus"]), numbered(["house"], ["x", "haus", "das"])]
    pairs = reader("lexicon", "distance", attributes=(), lexicon=lexicon).read(docs)
    assert pairs.evidence_of(0)[:, :, 1].tolist() == [[0.5, 0.0], [0.0, 1.0]]
    assert pairs.evidence_of(1)[:, :, 1].tolist() == [[0.0, 1.0, 0.0]]
    without = reader("lexicon", attributes=()).read(docs)
    assert not without.evidence.any()


def pair_docs() -> list[Doc]:
    """Pairs held in one Doc and in two, with whitespace, and with sides without words."""
    two = two_docs(VOCAB, ["The", " ", "House"], ["\n", "das", "Haus", "hier"])
    two._.numbers = [(0, 1, 0.5), (2, 2, 2.0), (1, 1, 9.0), (2, 0, 9.0)]
    last = numbered(["x", "\n", "y"], ["\n", "y"], [(2, 4, 3.0), (1, 4, 9.0)])
    return [
        numbered(["a"], ["b", "c"], [(0, 2)]),
        two,
        numbered([], ["z"]),
        numbered(["z"], []),
        numbered([], []),
        numbered([" "], ["a", "b"], [(0, 1)]),
        last,
    ]


def test_words_and_links() -> None:
    pairs = reader(*EVIDENCE).read(pair_docs())
    assert pairs.shapes.tolist() == [[1, 2], [2, 3], [0, 1], [1, 0], [0, 0], [0, 2], [2, 1]]
    assert pairs.link_starts.tolist() == [0, 2, 8, 8, 8, 8, 8, 10]
    assert [t.tolist() for t in pairs.tokens(1)] == [[0, 2], [1, 2, 3]]
    assert [t.tolist() for t in pairs.tokens(5)] == [[], [0, 1]]
    assert [t.tolist() for t in pairs.tokens(6)] == [[0, 2], [1]]
    lower = type_values("lower", ["the", "house", "das", "haus", "hier"])
    assert [side.ravel().tolist() for side in pairs.words(1)] == [
        lower[:2].tolist(),
        lower[2:].tolist(),
    ]


def test_evidence() -> None:
    pair_reader = reader(*EVIDENCE)
    assert pair_reader.evidence == ("_.numbers", "distance", "string_similarity")
    pairs = pair_reader.read(pair_docs())
    assert pairs.evidence.dtype == np.float32
    table = pairs.evidence_of(1)
    assert table[:, :, 0].tolist() == [[0.5, 0, 0], [0, 2.0, 0]]
    np.testing.assert_allclose(table[0, :, 1], [1 / 6 - 1 / 4, 1 / 4, 7 / 12], atol=0.17)
    assert table[1, 1, 2] == np.float32(0.6)
    assert pairs.evidence_of(0)[0, :, 0].tolist() == [0, 1.0]
    assert pairs.evidence_of(6)[:, 0, 0].tolist() == [0, 3.0]
    assert pairs.evidence_of(6)[:, 0, 2].tolist() == [0, 1.0]
    np.testing.assert_allclose(pairs.evidence_of(6)[:, 0, 1], [0.25, 0.25])
    assert pairs.evidence_of(2).shape == (0, 1, 3)


def test_a_doc_and_two_docs_are_the_same_pair() -> None:
    words = ["The", "house", " ", "stands"], ["das", "Haus", "steht"]
    one, two = make_pair(VOCAB, *words), two_docs(VOCAB, *words)
    one._.numbers, two._.numbers = [(1, 5, 0.5)], [(1, 1, 0.5)]
    pair_reader = reader(*EVIDENCE, attributes=("lower", "suffix2"))
    same(pair_reader.read([one]), pair_reader.read([two]))
    np.testing.assert_array_equal(pair_reader.inputs(one), pair_reader.inputs(two))


def test_inputs_are_all_that_is_read() -> None:
    pair_reader = reader(*EVIDENCE)
    docs = pair_docs()
    inputs = [pair_reader.inputs(doc) for doc in docs]
    before = [rows.copy() for rows in inputs]
    same(pair_reader.read(docs, inputs=inputs), pair_reader.read(docs))
    for rows, copy in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(rows, copy)
    for doc in docs:
        doc._.numbers = None
    same(pair_reader.read(docs, inputs=inputs), pair_reader.read(pair_docs()))


def test_inputs_change_with_what_is_read() -> None:
    pair_reader = reader(*EVIDENCE)
    variants = [
        numbered(["a", "b"], ["c"]),
        numbered(["a"], ["b", "c"]),
        numbered(["a", "x"], ["c"]),
        numbered(["a", "b"], ["c"], [(0, 2)]),
        numbered(["a", "b"], ["c"], [(0, 2, 0.5)]),
        numbered(["a", "b"], ["c"], [(1, 2)]),
    ]
    found = {pair_reader.inputs(doc).tobytes() for doc in variants}
    assert len(found) == len(variants)
    again = numbered(["a", "b"], ["c"], np.zeros((2, 1)))
    assert pair_reader.inputs(again).tobytes() == pair_reader.inputs(variants[0]).tobytes()
    assert len({reader().inputs(doc).tobytes() for doc in variants}) == 3


def test_annotations_of_tokens_are_inputs() -> None:
    pair_reader = reader(attributes=("tag",))
    doc, other = make_pair(VOCAB, ["a"], ["b"]), make_pair(VOCAB, ["a"], ["b"])
    other[1].tag_ = "NN"
    assert pair_reader.inputs(doc).tobytes() != pair_reader.inputs(other).tobytes()
    values = pair_reader.read([other]).attributes.ravel().tolist()
    assert values == [0, VOCAB.strings["NN"]]
    assert pair_reader.text_value("tag", other, 1) == "NN"


def test_templates_without_attributes_and_without_evidence() -> None:
    pairs = reader(attributes=()).read(pair_docs())
    assert pairs.attributes.shape == (15, 0)
    assert pairs.evidence.shape == (10, 0)


@pytest.mark.parametrize("repeated", [False, True])
def test_known_pairs_lose_their_own_contribution(association: Any, repeated: bool) -> None:
    """And only those: their scores would be better than those of new pairs."""
    pair_reader = reader("distance", *COLUMNS, association=association)
    assert ASSOCIATION_ATTRIBUTE in pair_reader.names
    for words, is_known in [(KNOWN[0], True), (KNOWN[2], True), (UNKNOWN, False)]:
        docs = [make_pair(VOCAB, [w.title() for w in words[0]], words[1])] * (1 + repeated)
        pairs = pair_reader.read(docs)
        ids = [type_values(ASSOCIATION_ATTRIBUTE, side) for side in words]
        tables = {}
        for leave_one_out in (False, True):
            tables[leave_one_out] = np.empty((2, 2, len(COLUMNS)), dtype=np.float32)
            link_scores(
                association,
                source_ids(association, ids[0]),
                target_ids(association, ids[1]),
                leave_one_out,
                tables[leave_one_out],
            )
        assert not np.allclose(tables[False], tables[True])
        columns = [pair_reader.evidence.index(name) for name in COLUMNS]
        for i in range(len(docs)):
            np.testing.assert_array_equal(pairs.evidence_of(i)[:, :, columns], tables[is_known])


def test_some_columns_of_the_association(association: Any) -> None:
    docs = [make_pair(VOCAB, *UNKNOWN)]
    everything = reader(*COLUMNS, association=association)
    some = reader("hmm_back", "dice", "string_similarity", association=association)
    table = everything.read(docs).evidence_of(0)
    found = some.read(docs).evidence_of(0)
    for name in ("hmm_back", "dice"):
        column = found[:, :, some.evidence.index(name)]
        np.testing.assert_array_equal(column, table[:, :, everything.evidence.index(name)])
    assert not reader("hmm").read(docs).evidence.any(), "there is no association"


def test_a_doc_without_sides() -> None:
    with pytest.raises(ValueError, match="has neither spans 'source'"):
        reader().read([Doc(VOCAB, words=["a"])])
