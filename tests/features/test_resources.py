"""Tests of ``spacy_ssvm/features/resources.py``."""

import gc
import weakref

import naive
import numpy as np
import pytest
from feature_strategies import column
from refusals import refusal
from spacy.tokens import Doc

from spacy_ssvm.features import resources
from spacy_ssvm.features.attributes import AttributeReader
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
from spacy_ssvm.features.text_hash import hash_word, short_hashes

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


def test_a_word_of_saved_clusters_takes_five_bytes() -> None:
    hashes = np.array(sorted(hash_word(f"word{n}") for n in range(10_000)), dtype=np.uint64)
    clusters = Clusters(short_hashes(hashes), hashes % 500 + 1)
    arrays = arrays_of(Resources({"": clusters}))
    assert sum(array.nbytes for array in arrays.values()) <= 5 * 10_000 + 8 * 500 + 18


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
        ("cluster_words", [[3], [2], [2]], "do not fit the sets"),
        ("cluster_words", [[255] * 8] * 4, "not sorted"),
        ("cluster_words", [3, 5, 7, 5], "words of clusters are no list of numbers"),
        ("cluster_numbers", [[0], [0], [0]], "do not fit the sets"),
        ("cluster_numbers", [[0], [1], [0], [3]], "do not fit the bit strings"),
        ("cluster_numbers", [0, 1, 0, 2], "numbers of clusters are no list of numbers"),
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


def test_models_with_the_same_resources_have_them_once(
    sets: Resources, dictionary: Resources
) -> None:
    one, other = (read_resources(header_of(sets), arrays_of(sets)) for _ in range(2))
    assert [*map(id, one.clusters.values())] == [*map(id, other.clusters.values())]
    assert one.clusters["news"] is not one.clusters["tweets"]
    words, bits = one.clusters["news"].words, one.clusters["news"].bits
    changed = Clusters(words, np.roll(bits, 1)), Clusters(words - np.uint64(1), bits)
    for name, others in zip(("bits", "words"), changed, strict=True):
        others_read = Resources({"news": others})
        found = read_resources(header_of(others_read), arrays_of(others_read)).clusters["news"]
        assert found is not one.clusters["news"], name
        assert found.bits.tolist() == others.bits.tolist()
        assert found.words.tolist() == others.words.tolist()
    first, second = (read_resources(header_of(dictionary), arrays_of(dictionary)) for _ in range(2))
    assert first.dictionary is second.dictionary is not None
    header = header_of(dictionary)
    header["dictionary"]["lemmas"][0] += "x"
    assert read_resources(header, arrays_of(dictionary)).dictionary is not first.dictionary


def test_contents_that_are_divided_in_another_way_are_others(sets: Resources) -> None:
    one, other = sets.clusters.values()
    assert resources._shared(one, np.uint8([1, 2]), np.uint8([3])) is one
    assert resources._shared(other, np.uint8([1]), np.uint8([2, 3])) is other
    assert resources._shared(other, np.uint8([1, 2]), np.uint8([3])) is one


def test_resources_that_no_model_has_any_more_are_freed(sets: Resources) -> None:
    read = read_resources(header_of(sets), arrays_of(sets))
    clusters = weakref.ref(read.clusters["news"])
    assert clusters() is not None
    del read
    gc.collect()
    assert clusters() is None


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
        ("dictionary_words", np.zeros((0, 1), np.uint8), "or there are none"),
        ("dictionary_words", np.full((4, 8), 255, np.uint8), "are not sorted"),
        ("dictionary_words", np.uint8([1, 2, 3, 4]), "a dictionary are no list of numbers"),
        ("dictionary_lemmas", np.zeros(4, np.uint8), "a dictionary are no list of numbers"),
        ("dictionary_lemmas", np.zeros((3, 1), np.uint8), "lemmas of a dictionary do not fit"),
        ("dictionary_features", np.uint8([[0], [0], [0], [9]]), "features of a dictionary do not"),
        ("dictionary_features", np.uint8([[0, 0, 0, 0, 1]] * 4), "features of a dictionary do not"),
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
