"""The examples of each kind of corpora."""

from pathlib import Path

import pytest
import spacy
from reproductions import write_abstracts, write_corpora, write_entities

from benchmarks.papers.corpora import find_corpora
from benchmarks.papers.kinds import (
    KINDS,
    Parts,
    corpus_of,
    kind_of,
    read_parts,
    read_tags,
)


def parts_of(folder: Path, kind: str, corpus: str | None = None) -> Parts:
    corpora = {found.kind: found for found in find_corpora(folder)}
    tags = read_tags(corpora.values())
    wanted = corpora[corpus or KINDS[kind].corpus]
    return read_parts(spacy.blank("xx"), KINDS[kind], wanted, tags)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_corpora(tmp_path)
    return tmp_path


def test_a_name_is_a_kind_and_a_corpus() -> None:
    assert (kind_of("links: a: b"), corpus_of("links: a: b")) == ("links", "a: b")


def test_arcs_have_one_label_beside_that_of_punctuation(folder: Path) -> None:
    file = folder / "trees-train.conllu"
    row = "{}\t{}\t{}\tNOUN\tNN\t_\t{}\t{}\t_\t_\n"
    arcs = [(0, "root"), (1, "obj"), (1, "nsubj"), (1, "punct")]
    lines = (row.format(i, f"w{i}", f"w{i}", *arc) for i, arc in enumerate(arcs, start=1))
    file.write_text("".join(lines) + "\n", encoding="utf8")
    example = parts_of(folder, "arcs").train[0]
    assert [token.dep_ for token in example.reference] == ["ROOT", "dep", "dep", "punct"]
    assert [token.head.i for token in example.reference] == [0, 0, 0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_predicted_docs_have_what_is_read_and_nothing_of_what_is_learned(
    folder: Path, kind: str
) -> None:
    corpus = "treebank" if kind == "phrases" else KINDS[kind].corpus
    for example in parts_of(folder, kind, corpus).train:
        gold, found = example.reference, example.predicted
        assert [t.text for t in found] == [t.text for t in gold]
        for annotation in ("DEP", "ENT_IOB", "MORPH"):
            assert not found.has_annotation(annotation)
        assert not found._.alignment
        assert not {"chunks", "sentence_labels"} & set(found.spans)
        reads = KINDS[kind].reads
        if "tags" in reads:
            assert [(t.tag_, t.pos_) for t in found] == [(t.tag_, t.pos_) for t in gold]
        else:
            assert not found.has_annotation("TAG")
            assert not found.has_annotation("POS")
        if "lemmas" in reads:
            assert [t.lemma_ for t in found] == [t.lemma_ for t in gold]
        else:
            assert not found.has_annotation("LEMMA")


def test_phrases_come_from_trees_where_there_are_no_chunks(folder: Path) -> None:
    parts = parts_of(folder, "phrases", "treebank")
    assert all(example.reference.spans["chunks"] for example in parts.train)
    assert not any(example.predicted.spans for example in parts.train)


def test_tags_of_entities_are_those_of_the_same_sentence(folder: Path) -> None:
    words = ["the", "Bob", "sleeps"]
    lines = [f"{i}\t{w}\t_\tX\tY\t_\t{i - 1}\tdep\t_\t_\n" for i, w in enumerate(words, start=1)]
    (folder / "trees-dev.conllu").write_text("".join(lines) + "\n", encoding="utf8")
    tagged = {
        example.predicted[1].text: [token.tag_ for token in example.predicted]
        for example in parts_of(folder, "entities, 452 templates").train
    }
    assert tagged["Bob"] == ["X", "X", "X"]
    assert tagged["Ann"] == ["", "", ""]
    others = parts_of(folder, "entities").train
    assert not any(token.tag_ for example in others for token in example.predicted)


def test_tags_of_a_chunk_corpus_are_its_own(folder: Path) -> None:
    row = "{}\t{}\t_\tNOUN\tNN\t_\t{}\tdep\t_\t_\n"
    words = enumerate(("He", "left"), start=1)
    lines = "".join(row.format(i, word, i - 1) for i, word in words)
    (folder / "trees-dev.conllu").write_text(f"{lines}\n", encoding="utf8")
    (folder / "train.txt").write_text("He PRP B-NP\nleft VBD B-VP\n", encoding="utf8")
    (folder / "dev.txt").write_text("He PRP B-NP\nleft VBD B-VP\n", encoding="utf8")
    (folder / "test.txt").write_text("He PRP B-NP\nleft VBD B-VP\n", encoding="utf8")
    for example in parts_of(folder, "phrases").train:
        assert [token.tag_ for token in example.predicted] == ["PRP", "VBD"]


@pytest.mark.parametrize(
    ("others", "sizes"),
    [
        ((), (81, 9, 10)),
        (("dev",), (90, 10, 4)),
        (("test",), (90, 10, 4)),
        (("dev", "test"), (100, 4, 4)),
    ],
)
def test_parts_without_a_file_are_taken_from_train(
    tmp_path: Path, others: tuple[str, ...], sizes: tuple[int, ...]
) -> None:
    file = tmp_path / "train.conll"
    lines = [f"w{i} B-PER\n" for i in range(100)]
    file.write_text("\n".join(lines), encoding="utf8")
    for part in others:
        write_entities(tmp_path / f"{part}.conll", 4)
    parts = parts_of(tmp_path, "entities")
    assert tuple(map(len, parts)) == sizes
    words = [example.reference[0].text for part in parts for example in part]
    assert set(words) >= {f"w{i}" for i in range(100)}
    assert len([word for word in words if word.startswith("w")]) == 100, "each is in one part"


def test_sentences_have_two_classes(tmp_path: Path) -> None:
    write_abstracts(tmp_path / "train.jsonl")
    write_abstracts(tmp_path / "dev.jsonl")
    write_abstracts(tmp_path / "test.jsonl")
    parts = parts_of(tmp_path, "sentences")
    for examples in parts:
        for example in examples:
            labels = [span.label_ for span in example.reference.spans["sentence_labels"]]
            assert labels == ["other", "method", "method"]


def test_pairs_have_links(folder: Path) -> None:
    parts = parts_of(folder, "links")
    assert len(parts.train) == 6
    assert parts.train[0].reference._.alignment == [(0, 2), (1, 3)]
    assert not parts.train[0].predicted._.alignment


def test_links_can_be_those_of_naacl(folder: Path) -> None:
    expected = [example.reference._.alignment for example in parts_of(folder, "links").train]
    for part in ("train", "dev", "test"):
        links = folder / f"pairs-{part}.align"
        numbers = range(1, 1 + len(links.read_text(encoding="utf8").splitlines()))
        lines = "".join(f"{i} 1 1 S\n{i} 2 2\n" for i in numbers)
        links.with_suffix(".naacl").write_text(lines, encoding="utf8")
        links.unlink()
    found = parts_of(folder, "links")
    assert [example.reference._.alignment for example in found.train] == expected
    assert len(found.dev) == len(found.test) == len(found.train) > 0
