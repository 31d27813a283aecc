"""Tests of ``spacy_ssvm/sentences/reader.py``."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin
from spacy.util import registry
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.sentences.reader import LabeledSentences

NLP = spacy.blank("en")
KEY = "sentence_labels"


def write(path: Path, *lines: Any) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf8")
    return path


def row(sentences: Any, labels: Any) -> dict[str, Any]:
    return {"id": 3, "sentences": sentences, "labels": labels}


def test_docs_have_sentences_and_labels(tmp_path: Path) -> None:
    lines = [row(["We can't .", " It's (so) far. "], ["aim", None]), "", row(["Oh"], ["x"])]
    examples = list(LabeledSentences(write(tmp_path / "a.jsonl", *lines))(NLP))
    assert len(examples) == 2
    for doc in (examples[0].predicted, examples[0].reference):
        assert doc.text == "We can't . It's (so) far. "
        assert [s.text for s in doc.sents] == ["We can't .", "It's (so) far."]
        assert [t.text for t in doc] == [t.text for t in NLP.make_doc(doc.text)]
    assert examples[0].predicted.spans == {}
    spans = examples[0].reference.spans[KEY]
    assert [(s.text, s.label_) for s in spans] == [("We can't .", "aim")]
    assert [s.label_ for s in examples[1].reference.spans[KEY]] == ["x"]


def test_keys_limit_and_folders(tmp_path: Path) -> None:
    line = {"texts": ["a b", "c"], "roles": ["x", "y"]}
    write(tmp_path / "b.jsonl", line, line)
    write(tmp_path / "a.jsonl", line)
    make = registry.readers.get("spacy_ssvm.LabeledSentences.v1")
    settings = {"spans_key": "r", "sentences_key": "texts", "labels_key": "roles"}
    assert len(list(make(tmp_path, **settings)(NLP))) == 3
    examples = list(make(str(tmp_path), **settings, limit=2)(NLP))
    assert len(examples) == 2
    assert [s.label_ for s in examples[0].reference.spans["r"]] == ["x", "y"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"sentences": [', "this is not JSON"),
        ("[1, 2]", "expected a JSON object, found '[1, 2]'"),
        ({"labels": []}, "expected a list under the key 'sentences', found nothing. Keys: labels"),
        (row("text", ["a"]), "expected a list under the key 'sentences', found 'text'"),
        (row(["text"], None), "expected a list under the key 'labels', found None"),
        (row(["a", "b"], ["x"]), "2 sentences, but 1 labels"),
        (row(["a", 3], ["x", "y"]), "sentence 1 is 3, not a text"),
        (row(["a", " "], ["x", "y"]), "sentence 1 is ' ', not a text"),
        (row(["a", "b"], ["x", 4]), "the label of sentence 1 is 4, not a text"),
        (row(["a", "b"], ["x", ""]), "the label of sentence 1 is '', not a text"),
        (row(["a", "\ud800"], ["x", "y"]), "a text is not valid Unicode"),
        (row(["a"], ["\ud800"]), "a text is not valid Unicode"),
        ({"\ud800": 3}, "Keys: \\ud800"),
        (row(["a", ["x" * 2_000_000]], ["x", "y"]), "sentence 1 is ['xxx"),
        (row(["a", "b"], ["x", 4 * [2_000_000 * "x"]]), "the label of sentence 1 is ['xxx"),
        ("[" * 100_000, "this is not JSON"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, line: Any, message: str) -> None:
    path = write(tmp_path / "a.jsonl", row(["a"], ["x"]), line)
    reader = LabeledSentences(path)(NLP)
    next(reader)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        next(reader)
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500
    str(caught.value).encode("utf8")  # can be printed


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.jsonl.gz", "folder/a.jsonl.gz"])
def test_lists_and_compressed_files(tmp_path: Path, name: str) -> None:
    rows = [row(["a"], ["x"]), row(["b", "c"], ["y", "z"])]
    is_list = not name.removesuffix(".gz").endswith("l")
    text = json.dumps(rows, indent=1) if is_list else "\n".join(map(json.dumps, rows))
    data = text.encode()
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    source = path.parent if "/" in name else path
    labels = [[s.label_ for s in eg.reference.spans[KEY]] for eg in LabeledSentences(source)(NLP)]
    assert labels == [["x"], ["y", "z"]]
    result = CliRunner().invoke(ssvm, ["convert", str(path), "--output", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    docs = DocBin().from_disk(tmp_path / "new" / "a.spacy").get_docs(NLP.vocab)
    assert [[s.label_ for s in doc.spans[KEY]] for doc in docs] == labels


def test_wrong_records_are_left_out_by_convert(tmp_path: Path) -> None:
    lines = [{}, row(["a"], ["x"]), row(["a"], []), "{", row(["\ud800"], ["x"]), row(["b"], ["y"])]
    file = write(tmp_path / "a.jsonl", *lines)
    result = CliRunner().invoke(ssvm, ["convert", str(file), "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert len([*DocBin().from_disk(tmp_path / "a.spacy").get_docs(NLP.vocab)]) == 2
    listed = (tmp_path / "left_out.tsv").read_text(encoding="utf8").splitlines()[1:]
    places = [line.split("\t")[0].removeprefix(f"{file}, ") for line in listed]
    assert places == ["line 1", "line 3", "line 4", "line 5"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no \.jsonl files"):
        list(LabeledSentences(tmp_path)(NLP))
    with pytest.raises(ValueError, match=r"missing\.jsonl does not exist"):
        LabeledSentences(tmp_path / "missing.jsonl")
    (tmp_path / "a.jsonl").write_bytes(b'{"sentences": ["\xff"]}')
    with pytest.raises(ValueError, match=r"a\.jsonl: cannot be read as utf8"):
        list(LabeledSentences(tmp_path / "a.jsonl")(NLP))
    with pytest.raises(ValueError, match="E913"):
        LabeledSentences(None)


def test_docs_without_sentences_are_empty(tmp_path: Path) -> None:
    (example,) = LabeledSentences(write(tmp_path / "a.jsonl", row([], [])))(NLP)
    assert len(example.predicted) == 0


def test_spacy_train_with_the_config(tmp_path: Path) -> None:
    lines = [row(["We ask why.", "It fell!"], ["aim", "result"]), row(["It is."], ["result"])]
    path = write(tmp_path / "train.jsonl", *lines * 3)
    config = Path(__file__).parents[2] / "configs" / "sentences.cfg"
    overrides = {"paths.train": str(path), "paths.dev": str(path), "training.max_epochs": 8}
    spacy_train(config, tmp_path / "out", overrides={**overrides, "training.patience": 7})
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert nlp.meta["performance"]["sentence_labels_acc"] > 0.9
    examples = list(LabeledSentences(path)(nlp))
    doc = nlp(examples[0].predicted)
    assert [span.label_ for span in doc.spans[KEY]] == ["aim", "result"]


@pytest.mark.parametrize(("options", "key"), [([], KEY), (["--spans-key", "parts"], "parts")])
def test_json_lines_are_converted(tmp_path: Path, options: list[str], key: str) -> None:
    file = write(tmp_path / "a.jsonl", row(["We can't .", "Oh"], ["aim", None]), row(["So"], ["x"]))
    arguments = ["convert", str(file), "--lang", "en", "--output", str(tmp_path / "new"), *options]
    result = CliRunner().invoke(ssvm, arguments)
    assert result.exit_code == 0, result.output
    counts = next(line for line in result.output.splitlines() if "a.spacy" in line).split()[1:]
    assert counts == ["2", "6", "2"]  # Docs, tokens, spans
    docs = list(DocBin().from_disk(tmp_path / "new" / "a.spacy").get_docs(NLP.vocab))
    assert [[(s.text, s.label_) for s in doc.spans[key]] for doc in docs] == [
        [("We can't .", "aim")],
        [("So", "x")],
    ]
    assert [[s.text for s in doc.sents] for doc in docs] == [["We can't .", "Oh"], ["So"]]
    file.write_text("{}\n", encoding="utf8")
    result = CliRunner().invoke(ssvm, arguments)
    assert result.exit_code == 1
    assert "line 1" in result.output
