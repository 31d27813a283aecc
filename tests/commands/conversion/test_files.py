"""Files of all formats become Docs, and Docs are divided into the parts of a corpus."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from spacy_ssvm.commands.conversion.files import Converted, Settings, convert_file, split

NLP = spacy.blank("en")
RECORD = '{"text": "Ann sleeps", "entities": [[0, 3, "PER"]]}'
COLUMNS = "-DOCSTART- O\n\nAnn B-PER\nLee I-PER\n\nis O\n\n-DOCSTART- O\n\nLee B-PER\n"
ANN = [("Ann sleeps", ["Ann"])]


def converted(path: Path, text: str, **settings: Any) -> Converted:
    path.write_text(text, encoding=settings.get("encoding", "utf8"))
    return convert_file(path, NLP, Settings(**settings))


def entities(docs: Sequence[Doc]) -> list[tuple[str, list[str]]]:
    return [(doc.text.strip(), [entity.text for entity in doc.ents]) for doc in docs]


def treebank(*words: str) -> str:
    return "".join(w if w[0] == "#" else f"1\t{w}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for w in words)


@pytest.mark.parametrize(("name", "text", "settings"), [
    ("a.jsonl", RECORD, {"sentences": 0, "word": 3}), ("a.json", f"[{RECORD}]", {"tag": 3}),
    ("a.txt", "Ann B-PER\nsleeps O\n", {}),
    ("a", "1 B-PER Ann\n2 O sleeps\n", {"word": 2, "span": 1}),
])  # fmt: skip
def test_formats_by_ending(tmp_path: Path, name: str, text: str, settings: dict) -> None:
    docs, left_out, skipped, _ = converted(tmp_path / name, text, **settings)
    assert (entities(docs), list(left_out), skipped) == (ANN, [], 0)
    DocBin(docs=docs).to_disk(tmp_path / "a.spacy")
    assert entities(convert_file(tmp_path / "a.spacy", NLP, Settings()).docs) == ANN


@pytest.mark.parametrize("name", ["b/c/a.ann", "b/c/a.txt", "", "b"])
def test_brat(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "b" / "c"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("Ann sleeps", encoding="utf8")
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        convert_file(tmp_path, NLP, Settings())
    (folder / "a.ann").write_bytes(b"T1\tPER 0 3\t\nT2\tX 0 1;4 5\t\nT3\tY 4 6\tsl\n")
    docs, left_out, *_ = convert_file(tmp_path / name, NLP, Settings())
    assert entities(docs) == ANN
    assert sorted(span.label for span in left_out) == ["X", "Y"]


@pytest.mark.parametrize("encoding", ["utf8", "latin-1"])
def test_labelled_sentences(tmp_path: Path, encoding: str) -> None:
    text = '{"sentences": ["Ann study.", "Très bien."], "labels": ["aim", "result"]}\n'
    (doc,) = converted(tmp_path / "a.jsonl", text, encoding=encoding).docs
    spans = [(span.text, span.label_) for span in doc.spans["sentence_labels"]]
    assert spans == [("Ann study.", "aim"), ("Très bien.", "result")]


def test_what_is_skipped_or_left_out(tmp_path: Path) -> None:
    lines = ['{"answer": "reject"}', '{"data": {"text": "a"}, "annotations": []}',
             RECORD.replace("[[", '[[5, 6, "BAD"], ['), '{"text": "", "label": []}']  # fmt: skip
    docs, (left_out,), skipped, _ = converted(tmp_path / "a.jsonl", "\n".join(lines))
    assert (entities(docs), skipped) == (ANN, 2)
    assert left_out[:3] == (f"{tmp_path / 'a.jsonl'}, line 3", "l", "BAD")
    assert str(left_out).startswith(left_out.place)


def test_sentences_of_columns(tmp_path: Path) -> None:
    lengths = {None: [2, 1, 1], 1: [2, 1, 1], 2: [3, 1], 5: [3, 1], 0: [3, 1]}
    for sentences, expected in lengths.items():
        docs = converted(tmp_path / "a.conll", COLUMNS, sentences=sentences).docs
        assert [len(doc) for doc in docs] == expected
        assert [token.ent_iob_ for doc in docs for token in doc] == ["B", "I", "O", "B"]


def test_spans_of_columns_keep_their_places(tmp_path: Path) -> None:
    text = COLUMNS.replace("\n-DOCSTART- O\n\nLee", "\nLee")
    (doc,) = converted(tmp_path / "a.conll", text, sentences=3, spans_key="key").docs
    assert [(span.start, span.end) for span in doc.spans["key"]] == [(0, 2), (3, 4)]
    assert [len(sentence) for sentence in doc.sents] == [2, 1, 1]
    assert not doc.ents


def test_sentences_of_treebanks(tmp_path: Path) -> None:
    text = treebank("# newdoc\n", *"abcd", "# newdoc id = 2\n", *"efghijkl")
    for sentences, expected in {None: [4, 8], 1: [1] * 12, 3: [3, 1, 3, 3, 2], 0: [4, 8]}.items():
        docs = converted(tmp_path / "a.conllu", text, sentences=sentences).docs
        assert [len(list(doc.sents)) for doc in docs] == expected
        assert "".join(token.text for doc in docs for token in doc) == "abcdefghijkl"


@pytest.mark.parametrize(("name", "text", "problem"), [
    ("a.conll", "a O\n\nb O\n", "--sentences"), ("a.conllu", treebank(*"ab"), "--sentences"),
    *((name, text, "there are no sentences") for name, text in [
        ("a.jsonl", ""), ("a.json", "[]"), ("a.conllu", "# newdoc\n"), ("a.conll", "\n\n"),
        ("a.jsonl", '{"text": "a", "answer": "reject"}'), ("a.json", '[["", {"entities": []}]]'),
    ]),
])  # fmt: skip
def test_what_cannot_be_converted(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(str(tmp_path / name))}\\b.*{problem}"):
        converted(tmp_path / name, text, sentences=0)


@pytest.mark.parametrize(("number", "share", "size"), [(10, 0.2, 2), (3, 0.01, 1), (100, 0.29, 29)])
def test_sizes_of_parts(number: int, share: float, size: int) -> None:
    docs = [NLP.make_doc(str(i)) for i in [*range(number)] * 2]
    parts = [split(docs, {"dev": share}, seed) for seed in range(9)]
    assert {len(part["dev"]) for part in parts} == {2 * size}
    assert {len(part["train"]) for part in parts} == {2 * (number - size)}
    assert len({part["dev"][0].text for part in parts}) > 1


@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=30), st.integers(0, 9),
       st.sampled_from([{"dev": 0.2}, {"dev": 0.1, "test": 0.3}, {"test": 0.5}]))  # fmt: skip
def test_parts(texts: list[str], seed: int, shares: dict[str, float]) -> None:
    docs = [NLP.make_doc(text) for text in texts]
    if len(set(texts)) <= len(shares):
        with pytest.raises(ValueError, match=r"train|dev|test"):
            split(docs, shares, seed)
        return
    parts = split(docs, shares, seed)
    assert (parts, set(parts)) == (split(docs, shares, seed), {"train", *shares})
    numbers = [[docs.index(doc) for doc in part] for part in parts.values()]
    assert sorted(i for part in numbers for i in part) == list(range(len(docs)))
    assert all(part and part == sorted(part) for part in numbers)
    assert sum(len({texts[i] for i in part}) for part in numbers) == len(set(texts))
