"""Tests of ``spacy_ssvm/features/resources.py``."""

import naive
import numpy as np
import pytest
from feature_strategies import column
from refusals import refusal
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import (
    AttributeReader,
)
from spacy_ssvm.features.clusters import Clusters, read_clusters
from spacy_ssvm.features.dictionaries import Entry, make_dictionary
from spacy_ssvm.features.resources import (
    ARRAYS,
    OPTIONAL_ARRAYS,
    Resources,
    arrays_of,
    check_resources,
    header_of,
    read_resources,
)
from spacy_ssvm.features.text_hash import hash_word

pytestmark = pytest.mark.uncompiled


def test_clusters_are_attributes(nlp, tmp_path):
    path = tmp_path / "paths"
    path.write_text("001100\tcat\n001111\tdog\n001111\tmat\n", encoding="utf8")
    reader = AttributeReader(["cluster4", "cluster6"], Resources({"": read_clusters(path)}))
    doc = Doc(nlp.vocab, words=["cat", "Dog", "mat", "bird"])
    table = reader.read([doc])
    four, six = column(table, reader, "cluster4"), column(table, reader, "cluster6")
    assert naive.same_classes(four, ["0011", "0011", "0011", None])
    assert naive.same_classes(six, ["001100", "001111", "001111", None])
    assert four[3] == six[3] == 0
    assert [reader.text_value("cluster6", doc, i) for i in (1, 3)] == ["001111", None]


@pytest.fixture
def sets() -> Resources:
    """Two sets of clusters."""

    def clusters(words: list[int], bits: list[int]) -> Clusters:
        return Clusters(np.array(words, np.uint64), np.array(bits, np.uint64))

    news, tweets = clusters([3, 5, 2**64 - 1], [0b101, 0b11, 0b101]), clusters([5], [2**63])
    return Resources({"news": news, "tweets": tweets})


def test_saved_clusters_are_those_that_were_there(sets: Resources) -> None:
    arrays = arrays_of(sets)
    assert {name: array.dtype.type for name, array in arrays.items()} == ARRAYS
    read = read_resources(header_of(sets), arrays)
    assert list(read.clusters) == ["news", "tweets"]
    for name, clusters in sets.clusters.items():
        assert read.clusters[name].words.tolist() == clusters.words.tolist()
        assert read.clusters[name].bits.tolist() == clusters.bits.tolist()


def test_a_word_of_saved_clusters_takes_12_bytes() -> None:
    words, bits = np.arange(10_000, dtype=np.uint64), np.arange(1, 10_001, dtype=np.uint64)
    arrays = arrays_of(Resources({"": Clusters(words, bits % 50 + 1)}))
    assert sum(array.nbytes for array in arrays.values()) <= 12 * 10_000 + 8 * 50 + 16


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("cluster_starts", [0, 3], "do not fit the sets"),
        ("cluster_starts", [0, 3, 3], "do not fit the sets"),
        ("cluster_starts", [1, 3, 4], "do not fit the sets"),
        ("cluster_starts", [0, 5, 4], "do not fit the sets"),
        ("cluster_starts", [0, 3, 5], "do not fit the sets"),
        ("cluster_starts", [0, 2, 3], "do not fit the sets"),
        ("cluster_starts", [0, 4, 4], "do not fit the sets"),
        ("cluster_words", [3, 5, 7], "do not fit the sets"),
        ("cluster_words", [5, 3, 7, 5], "not sorted"),
        ("cluster_numbers", [0, 0, 0], "do not fit the sets"),
        ("cluster_numbers", [0, 1, 0, 3], "do not fit the bit strings"),
        ("cluster_bits", [[1, 1, 1]], "do not fit the bit strings"),
        ("cluster_bits", [3, 0, 5], "lack their bits"),
    ],
)
def test_saved_clusters_that_do_not_fit(
    sets: Resources, name: str, values: list[int], message: str
) -> None:
    arrays = arrays_of(sets)
    arrays[name] = np.array(values, dtype=ARRAYS[name])
    assert message in refusal(lambda: read_resources(header_of(sets), arrays))


@pytest.fixture
def dictionary() -> Resources:
    """A dictionary of lemmas and features."""
    entries = [("cities", "city", "N;PL"), ("leaves", "leaf", "N;PL"), ("leaves", "leave", "V")]
    return Resources(
        dictionary=make_dictionary(Entry(hash_word(word), *reading) for word, *reading in entries)
    )


def test_a_saved_dictionary_is_the_one_that_was_there(dictionary: Resources) -> None:
    arrays = arrays_of(dictionary)
    types = {name: array.dtype.type for name, array in arrays.items()}
    assert types == {**ARRAYS, **OPTIONAL_ARRAYS}
    words = ["Cities", "leaves", "city", "dog"]
    before, after = dictionary, read_resources(header_of(dictionary), arrays)
    assert before.dictionary is not None
    assert after.dictionary is not None
    for name in ("lemmas", "features"):
        found = after.dictionary.find(name, words)
        assert found == before.dictionary.find(name, words)
        assert None in found
        assert any(found)


def test_models_without_a_dictionary_have_no_arrays_of_one(sets: Resources) -> None:
    assert not {*arrays_of(sets)} & {*OPTIONAL_ARRAYS}
    assert {*header_of(sets)} == {"clusters", "gazetteers"}, "as in models of earlier versions"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("dictionary_words", None, "lacks its array 'dictionary_words'"),
        ("dictionary_lemmas", None, "lacks its array 'dictionary_lemmas'"),
        ("dictionary_words", np.zeros(4, np.int64), "lacks its array 'dictionary_words'"),
        ("dictionary_lemmas", np.zeros(4, np.uint64), "lacks its array 'dictionary_lemmas'"),
        ("dictionary_words", np.zeros(0, np.uint64), "or there are none"),
        ("dictionary_words", np.uint64([1, 2, 2, 3]), "are not sorted"),
        ("dictionary_words", np.uint64([[1, 2, 3, 4]]), "are not sorted"),
        ("dictionary_lemmas", np.zeros(3, np.uint32), "lemmas of a dictionary do not fit"),
        ("dictionary_features", np.uint32([0, 0, 0, 9]), "features of a dictionary do not fit"),
    ],
)
def test_a_saved_dictionary_that_does_not_fit(
    dictionary: Resources, name: str, values: np.ndarray | None, message: str
) -> None:
    arrays = arrays_of(dictionary)
    if values is None:
        del arrays[name]
    else:
        arrays[name] = values
    assert message in refusal(lambda: read_resources(header_of(dictionary), arrays))


def test_saved_texts_of_a_dictionary_that_do_not_fit(dictionary: Resources) -> None:
    arrays, header = arrays_of(dictionary), header_of(dictionary)
    for texts, message in (
        (header["dictionary"]["lemmas"][:-1], "do not fit its words"),
        (["city", "city", "leaf"], "not a list of different texts"),
        ([1, 2, 3], "not a list of different texts"),
        (["city", "leaf", "\ud800"], "surrogates not allowed"),
    ):
        damaged = {**header, "dictionary": {**header["dictionary"], "lemmas": texts}}
        assert message in refusal(lambda damaged=damaged: read_resources(damaged, arrays))


def test_a_dictionary_that_is_needed(dictionary: Resources, sets: Resources) -> None:
    check_resources(["dictionary.lemmas", "dictionary.features", "dictionary.*"], dictionary)
    check_resources(["dictionary.*"], sets)
    message = "'dictionary.features' needs a dictionary"
    assert message in refusal(lambda: check_resources(["dictionary.features"], sets))
    lemmas = make_dictionary([Entry(hash_word("dogs"), "dog")])
    without = Resources(dictionary=lemmas)
    assert message in refusal(lambda: check_resources(["dictionary.features"], without))


def test_named_sets_of_clusters_are_there(sets: Resources) -> None:
    names = ["cluster6.news", "cluster.tweets", "cluster4.*", "gazetteer.*", "lower"]
    check_resources(names, sets)


@pytest.mark.parametrize("name", ["cluster6.mail", "cluster6"])
def test_sets_of_clusters_that_are_not_there(sets: Resources, name: str) -> None:
    assert f"'{name}' needs word clusters" in refusal(lambda: check_resources([name], sets))
