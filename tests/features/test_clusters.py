"""Tests of ``spacy_ssvm/features/clusters.py``."""

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import tagging_examples
from hypothesis import given
from hypothesis import strategies as st
from pipelines import TAGGER
from refusals import NAME, initialize, refusal
from spacy.lookups import Lookups
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import AttributeReader
from spacy_ssvm.features.clusters import (
    Clusters,
    clusters_of_numbers,
    is_cluster_attribute,
    prefixes,
    read_clusters,
    show_bits,
)
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.features.text_hash import hash_word


def prefix(clusters: Clusters, text: str, length: int) -> str | None:
    """The first bits of a word's cluster, None for an unknown word."""
    return show_bits(int(prefixes(clusters.find([text]), length)[0])) or None


def test_cluster_templates_without_clusters() -> None:
    nlp = TAGGER.pipeline(templates=["lower[0]", "cluster4[-1]+cluster6[0]"])
    message = refusal(lambda: initialize(nlp))
    assert f"{NAME}: the template 'cluster4[-1]+cluster6[0]' needs word clusters" in message
    assert f"clusters = PATH in [initialize.components.{NAME}]" in message


@pytest.mark.parametrize(
    "line", ["0110", "0110 dog", "01a0\tdog", "\tdog", "0110\t", "dog\t0110\t7"]
)
def test_a_malformed_line_of_a_cluster_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "clusters.tsv"
    path.write_text(f"0010\tcat\t4\n{line}\n", encoding="utf8")
    nlp = TAGGER.pipeline(templates=["cluster4[0]"])
    examples = tagging_examples(nlp.vocab)
    tagger: Any = nlp.get_pipe(NAME)
    message = refusal(lambda: tagger.initialize(lambda: examples, nlp=nlp, clusters=path))
    assert f"{path}, line 2: expected a bit string, a tab and a word" in message
    assert f"found {line.rstrip()!r}" in message


def test_a_bit_string_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "clusters.tsv"
    path.write_text("01" * 40 + "\tdog\n", encoding="utf8")
    assert f"{path}, line 1: a bit string of 80 bits" in refusal(lambda: read_clusters(path))


def test_an_empty_cluster_file(tmp_path: Path) -> None:
    path = tmp_path / "clusters.tsv"
    path.touch()
    assert f"{path}: the cluster file has no words" in refusal(lambda: read_clusters(path))


def test_a_missing_cluster_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.tsv"
    assert str(path) in refusal(lambda: read_clusters(path), OSError)


CLUSTERS = "0010\tthe\t120\n001111\tThe\n\n1\tcat\t3\r\n0101010101010101010101010\tstraße\n"


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", ["paths", "paths.txt", "paths.gz", "paths.txt.gz"])
def test_cluster_files_are_read_plain_or_compressed(tmp_path, name):
    path = tmp_path / name
    text = CLUSTERS.encode("utf8")
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    for clusters in (read_clusters(path), read_clusters(str(path))):
        assert prefix(clusters, "the", 4) == "0010"
        assert prefix(clusters, "the", 2) == "00"
        assert prefix(clusters, "cat", 20) == "1"
        assert prefix(clusters, "straße", 10) == "0101010101"
        assert prefix(clusters, "dog", 4) is None


@pytest.mark.uncompiled
def test_a_word_is_looked_up_as_written_and_then_in_lower_case(tmp_path):
    path = tmp_path / "paths"
    path.write_text(CLUSTERS, encoding="utf8")
    clusters = read_clusters(path)
    assert prefix(clusters, "The", 6) == "001111"
    assert prefix(clusters, "THE", 6) == "0010", "the three letters may be an abbreviation"
    assert prefix(clusters, "Cat", 6) == "1"
    assert prefix(clusters, "STRASSE", 6) is None


@pytest.mark.uncompiled
def test_a_word_in_capitals_is_looked_up_as_a_name_first(tmp_path):
    path = tmp_path / "paths"
    path.write_text("00\tObama\n01\tOBAMA\n10\tobama\n110\tNASA\n1110\tSt.-Malo\n1111\tus\n")
    with path.open("a") as file:
        file.write("0110\tRome\n0111\tROME\n1010\tAbc-1\n1011\tABC-1\n")
    clusters = read_clusters(path)
    assert prefix(clusters, "ROME", 9) == "0110", "four letters are enough"
    assert prefix(clusters, "ABC-1", 9) == "1011", "three are not, whatever else there is"
    words = ["OBAMA", "Obama", "obama", "ObAMA", "NASA", "ST.-MALO", "US", "Nasa", "1234"]
    wanted = ["00", "00", "10", "10", "110", "1110", "1111", None, None]
    assert [prefix(clusters, word, 9) for word in words] == wanted


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    "line",
    ["0101", "0101 word", "0121\tword", "\tword", "0101\t", "word\t0101", "x", "1" * 64 + "\tword"],
)
def test_a_malformed_line_is_refused_by_file_and_number(tmp_path, line):
    path = tmp_path / "paths"
    path.write_text(f"0\ta\n\n{line}\n1\tb\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"paths, line 3: ") as refusal:
        read_clusters(path)
    assert str(path) in str(refusal.value)


@pytest.mark.uncompiled
def test_the_longest_bit_string_is_kept_whole(tmp_path):
    path = tmp_path / "paths"
    bits = "0" * 62 + "1"
    path.write_text(f"{bits}\tword\n", encoding="utf8")
    assert prefix(read_clusters(path), "word", 63) == bits


@pytest.mark.uncompiled
def test_a_cluster_file_has_words(tmp_path):
    path = tmp_path / "paths"
    path.write_text("\n\n", encoding="utf8")
    with pytest.raises(ValueError, match="no words") as refusal:
        read_clusters(path)
    assert str(path) in str(refusal.value)


@pytest.mark.uncompiled
def test_without_a_cluster_file_no_word_has_a_cluster(nlp):
    reader = AttributeReader(["cluster4"])
    assert reader.read([Doc(nlp.vocab, words=["cat"])]).attributes.tolist() == [[0]]


@pytest.mark.uncompiled
@given(st.lists(st.text("01", min_size=1, max_size=63), min_size=1, max_size=5), st.integers(1, 63))
def test_prefixes_are_the_first_bits(texts: list[str], length: int) -> None:
    bits = np.array([int(f"1{text}", 2) for text in texts] + [0], dtype=np.uint64)
    found = prefixes(bits, length)
    assert [show_bits(value) for value in found.tolist()] == [t[:length] for t in texts] + [""]


@pytest.mark.uncompiled
def test_names_of_attributes_that_read_clusters() -> None:
    right = [
        "cluster",
        "cluster.news",
        "cluster.*",
        "cluster1",
        "cluster63",
        "cluster6.news",
        "cluster6._2",
        "cluster6.*",
    ]
    wrong = [
        "clusters",
        "cluster0",
        "cluster64",
        "cluster06",
        "cluster6.",
        "cluster6.2",
        "cluster6.a.b",
    ]
    assert all(map(is_cluster_attribute, right))
    assert not any(map(is_cluster_attribute, wrong))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Two cluster files by name: they differ in the clusters of dog and barks."""
    lines = {"news": "00\tdog\n01\tbarks\n", "tweets": "11\tdog\n10\tsleeps\n"}
    for name, text in lines.items():
        (tmp_path / name).write_text(text, encoding="utf8")
    return {name: str(tmp_path / name) for name in lines}


def initialized(templates: list[str], clusters: Any) -> Any:
    """A tagger with these templates and clusters."""
    nlp = TAGGER.pipeline(templates=templates)
    examples = tagging_examples(nlp.vocab)
    nlp.get_pipe(NAME).initialize(lambda: examples, nlp=nlp, clusters=clusters)
    return nlp.get_pipe(NAME)


def test_several_sets_of_clusters(files: dict[str, str]) -> None:
    tagger = initialized(["cluster1.news[0]", "cluster2.tweets[0]"], files)
    doc = Doc(tagger.vocab, words=["dog", "barks", "sleeps"])
    for model in (tagger.model, pickle.loads(pickle.dumps(tagger.model))):
        values = {
            name: [model.reader.text_value(name, doc, i) for i in range(3)]
            for name in model.reader.names
        }
        assert values == {
            "cluster1.news": ["0", "0", None],
            "cluster2.tweets": ["11", None, "10"],
        }
        table = model.reader.read([doc])
        assert (table.attributes == 0).tolist() == [[False, False], [False, True], [True, False]]


def test_templates_follow_the_clusters_of_each_initialize(files: dict[str, str]) -> None:
    tagger = initialized(["lower[0]", "cluster2.*[0]"], files)
    assert list(map(str, tagger.model.templates)) == [
        "lower[0]",
        "cluster2.news[0]",
        "cluster2.tweets[0]",
    ]
    examples = tagging_examples(tagger.vocab)
    tagger.initialize(lambda: examples, clusters=files["news"])
    assert list(map(str, tagger.model.templates)) == ["lower[0]", "cluster2[0]"]
    tagger.initialize(lambda: examples)
    assert list(map(str, tagger.model.templates)) == ["lower[0]"]


def test_default_families_read_clusters_where_there_are_some(files: dict[str, str]) -> None:
    for sets in ({}, {"news": files["news"]}, files):
        tagger = initialized(["tagger"], sets)
        found = [text for text in map(str, tagger.model.templates) if "cluster" in text]
        lengths = {"4": 2, "6": 1, "10": 1, "": 1}
        runs = [f"ngrams(cluster{b}.{name}, {n}, 1)" for b, n in lengths.items() for name in sets]
        wanted = parse_templates(runs or ["lower[0]"], is_attribute=bool, attributes=())
        assert sorted(found) == sorted(map(str, wanted if sets else ()))


@pytest.mark.parametrize(
    ("templates", "names", "messages"),
    [
        (["cluster6.mail[0]"], ["news"], ["word clusters named 'mail'", "There are: news."]),
        (["cluster6[0]"], ["news", "tweets"], ["cluster6.news[0]", "news, tweets"]),
        (["cluster6.news[0]"], None, ["named 'news'", "one set without a name", "cluster6.*[0]"]),
        (["cluster6.*[0]"], [], ["all templates read clusters, gazetteers, a dictionary or"]),
    ],
)
def test_clusters_that_do_not_fit_the_templates(
    files: dict[str, str], templates: list[str], names: list[str] | None, messages: list[str]
) -> None:
    clusters: Any = files["news"] if names is None else {name: files[name] for name in names}
    found = refusal(lambda: initialized(templates, clusters))
    for message in messages:
        assert message in found


@pytest.mark.parametrize("name", ["*", "", "two words", "2", "a.b"])
def test_names_that_sets_of_clusters_cannot_have(files: dict[str, str], name: str) -> None:
    found = refusal(lambda: initialized(["lower[0]"], {name: files["news"]}))
    assert f"'{name}' cannot be the name of word clusters" in found


@pytest.mark.uncompiled
def test_numbers_are_bit_strings_read_backwards() -> None:
    paths = {"the": "01", "dog": "10", "cat": "110", "Cat": "1110", "mat": "1111"}
    numbers = [*(int(path[::-1], 2) for path in paths.values()), 0]
    words = np.array([hash_word(word) for word in (*paths, "bird")], dtype=np.uint64)
    clusters = clusters_of_numbers(words, np.array(numbers, dtype=np.uint64))
    assert {word: prefix(clusters, word, 63) for word in paths} == {
        word: f"{path:0<4}" for word, path in paths.items()
    }
    assert [prefix(clusters, word, 2) for word in ("THE", "CAT", "bird")] == ["01", "11", None]


def test_lookups_without_clusters() -> None:
    lookups = Lookups()
    lookups.add_table("lexeme_prob", {"the": -3.5})
    found = refusal(lambda: initialized(["cluster[0]"], {"spacy": lookups}))
    assert "no table 'lexeme_cluster'. Their tables: lexeme_prob" in found
    lookups.add_table("lexeme_cluster", {})
    assert "or none" in refusal(lambda: initialized(["cluster[0]"], lookups))


def test_clusters_of_lookups_in_a_config() -> None:
    pytest.importorskip("spacy_lookups_data", reason="needs spacy-lookups-data")
    nlp = TAGGER.pipeline(templates=["cluster6.spacy[0]", "cluster.spacy[0]"])
    nlp.config["initialize"]["components"][NAME] = {
        "clusters": {
            "spacy": {
                "@misc": "spacy.LookupsDataLoader.v1",
                "lang": "en",
                "tables": ["lexeme_cluster"],
            }
        }
    }
    nlp.initialize(lambda: tagging_examples(nlp.vocab))
    tagger: Any = nlp.get_pipe(NAME)
    doc = Doc(nlp.vocab, words=["Monday", "Tuesday", "London", "Paris"])
    values = [tagger.model.reader.text_value("cluster.spacy", doc, i) for i in range(4)]
    assert values[0] == values[1] != values[2] == values[3]
