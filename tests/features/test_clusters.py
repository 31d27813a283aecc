"""Tests of ``spacy_ssvm/features/clusters.py``."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from corpora import tagging_examples
from pipelines import TAGGER
from refusals import NAME, initialize, refusal
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import (
    AttributeReader,
)
from spacy_ssvm.features.clusters import read_clusters


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
        assert clusters.prefix("the", 4) == "0010"
        assert clusters.prefix("the", 2) == "00"
        assert clusters.prefix("cat", 20) == "1"
        assert clusters.prefix("straße", 10) == "0101010101"
        assert clusters.prefix("dog", 4) is None


@pytest.mark.uncompiled
def test_a_word_is_looked_up_as_written_and_then_in_lower_case(tmp_path):
    path = tmp_path / "paths"
    path.write_text(CLUSTERS, encoding="utf8")
    clusters = read_clusters(path)
    assert clusters.prefix("The", 6) == "001111"
    assert clusters.prefix("THE", 6) == "0010"
    assert clusters.prefix("Cat", 6) == "1"
    assert clusters.prefix("STRASSE", 6) is None


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
    assert read_clusters(path).prefix("word", 99) == bits


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
