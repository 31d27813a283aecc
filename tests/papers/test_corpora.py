"""Corpora found by the names and contents of their files."""

from pathlib import Path

import pytest
from reproductions import write_abstracts, write_bitext, write_corpora, write_entities
from spacy.vocab import Vocab

from benchmarks.papers.corpora import (
    CHUNKS,
    Corpus,
    find_corpora,
    read_columns,
    read_treebank,
)


def found(folder: Path) -> dict[str, Corpus]:
    return {corpus.kind: corpus for corpus in find_corpora(folder)}


def test_corpora_of_all_kinds_are_found(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    corpora = found(tmp_path)
    assert {kind: corpus.name for kind, corpus in corpora.items()} == {
        "treebank": "trees",
        "entities": "names",
        "bitext": "pairs",
        "sentences": "abstracts",
    }
    assert corpora["treebank"] == Corpus(
        "trees",
        "treebank",
        *(tmp_path / f"trees-{part}.conllu" for part in ("train", "dev", "test")),
    )


def test_a_corpus_in_a_folder_of_its_own_has_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "wnut"
    folder.mkdir()
    write_entities(folder / "train.conll")
    write_entities(folder / "valid.conll")
    (corpus,) = find_corpora(tmp_path)
    assert (corpus.name, corpus.dev, corpus.test) == ("wnut", folder / "valid.conll", None)


@pytest.mark.parametrize(
    ("file", "language"),
    [
        ("en_ewt-ud-train.conllu", "en"),
        ("grc_perseus-ud-train.conllu", "grc"),
        ("trees-train.conllu", None),
        ("en-train.conllu", None),
        ("english_ewt-train.conllu", None),
    ],
)
def test_names_of_treebanks_begin_with_the_language(
    tmp_path: Path, file: str, language: str | None
) -> None:
    (tmp_path / file).touch()
    (corpus,) = find_corpora(tmp_path)
    assert corpus.language == language
    moved = corpus._replace(name=f"my_folder/{corpus.name}")
    assert moved.language == language


@pytest.mark.parametrize("name", ["training.conll", "eng.trainings.conll", "notes.txt"])
def test_train_is_a_word_of_its_own(tmp_path: Path, name: str) -> None:
    write_entities(tmp_path / name)
    write_entities(tmp_path / "eng.train.conll")
    assert [corpus.name for corpus in find_corpora(tmp_path)] == ["eng"]


def test_the_largest_comes_first(tmp_path: Path) -> None:
    for name, sentences in (("a", 3), ("b", 9), ("c", 6)):
        write_entities(tmp_path / f"{name}-train.conll", sentences)
    assert [corpus.name for corpus in find_corpora(tmp_path)] == ["b", "c", "a"]


def test_phrases_are_told_from_entities(tmp_path: Path) -> None:
    file = tmp_path / "conll2000-train.txt"
    file.write_text("He PRP B-NP\nreckons VBZ B-VP\nit PRP B-NP\n", encoding="utf8")
    (corpus,) = find_corpora(tmp_path)
    assert corpus.kind == "chunks"
    (doc,) = read_columns(file, Vocab())
    assert [token.tag_ for token in doc] == ["PRP", "VBZ", "PRP"]
    assert [(span.start, span.label_) for span in doc.spans[CHUNKS]] == [
        (0, "NP"),
        (1, "VP"),
        (2, "NP"),
    ]


def test_chunks_beside_the_words_are_no_tags(tmp_path: Path) -> None:
    file = tmp_path / "train.txt"
    file.write_text("1 He B-NP\n2 reckons B-VP\n\n1 It B-NP\n", encoding="utf8")
    assert [doc.has_annotation("TAG") for doc in read_columns(file, Vocab())] == [False, False]
    file.write_text("1 He PRP B-NP\n2 reckons VBZ B-VP\n", encoding="utf8")
    (doc,) = read_columns(file, Vocab())
    assert [token.tag_ for token in doc] == ["PRP", "VBZ"]


def test_corpora_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_entities(tmp_path / folder / "en-train.conll", 3 if folder == "a" else 6)
    write_bitext(tmp_path / "a" / "en-train.align")
    assert {(corpus.kind, corpus.name) for corpus in find_corpora(tmp_path)} == {
        ("entities", "a/en-train.conll"),
        ("entities", "b/en-train.conll"),
        ("bitext", "en"),
    }


def test_the_last_of_several_columns_with_spans_counts(tmp_path: Path) -> None:
    file = tmp_path / "eng.train.conll"
    file.write_text("EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n", encoding="utf8")
    assert found(tmp_path).keys() == {"entities"}
    (doc,) = read_columns(file, Vocab())
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("EU", "ORG")]


def test_words_follow_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "a-train.iob2"
    file.write_text("# sent_id = 1\n1\tAnn\tB-PER\t-\n2\tleft\tO\t-\n", encoding="utf8")
    (doc,) = read_columns(file, Vocab())
    assert [token.text for token in doc] == ["Ann", "left"]
    assert [ent.text for ent in doc.ents] == ["Ann"]


def test_a_file_without_spans_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("some prose\n", encoding="utf8")
    (tmp_path / "train.conll").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "train.md").write_text("He O\n", encoding="utf8")
    (tmp_path / "lonely-train.align").write_text("0-0\n", encoding="utf8")
    with pytest.raises(ValueError, match="has no corpora: training files have 'train'"):
        find_corpora(tmp_path)
    with pytest.raises(ValueError, match=r"train\.txt: no column has spans"):
        read_columns(tmp_path / "train.txt", Vocab())


def test_the_checksum_is_of_all_files(tmp_path: Path) -> None:
    write_bitext(tmp_path / "train.align")
    write_bitext(tmp_path / "valid.align")
    before = found(tmp_path)["bitext"].checksum
    assert found(tmp_path)["bitext"].checksum == before
    source = tmp_path / "valid.src"
    source.write_text(source.read_text(encoding="utf8").replace("ein", "das"), encoding="utf8")
    assert found(tmp_path)["bitext"].checksum != before


def test_a_damaged_treebank_is_named(tmp_path: Path) -> None:
    file = tmp_path / "train.conllu"
    file.write_text("1\tone\tone\tNUM\tCD\t_\tx\troot\t_\t_\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"train\.conllu: cannot be read as CoNLL-U"):
        read_treebank(file)


def test_sizes_are_those_of_the_training_file(tmp_path: Path) -> None:
    write_abstracts(tmp_path / "train.jsonl", 2)
    write_abstracts(tmp_path / "dev.jsonl", 9)
    (corpus,) = find_corpora(tmp_path)
    assert corpus.size == (tmp_path / "train.jsonl").stat().st_size
