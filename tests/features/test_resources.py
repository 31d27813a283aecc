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
from spacy_ssvm.features.resources import (
    ARRAYS,
    Resources,
    arrays_of,
    check_resources,
    header_of,
    read_resources,
)

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


def test_named_sets_of_clusters_are_there(sets: Resources) -> None:
    names = ["cluster6.news", "cluster.tweets", "cluster4.*", "gazetteer.*", "lower"]
    check_resources(names, sets)


@pytest.mark.parametrize("name", ["cluster6.mail", "cluster6"])
def test_sets_of_clusters_that_are_not_there(sets: Resources, name: str) -> None:
    assert f"'{name}' needs word clusters" in refusal(lambda: check_resources([name], sets))
