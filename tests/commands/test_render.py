"""Texts with the decisions of a pipeline, as one page."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from pipelines import LABELER, MORPHOLOGIZER, RECOGNIZER, TAGGER
from planted_pairs import EAGER, planted_examples, planted_words
from processes import plain
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.sentences.reader import LabeledSentences


@Language.component("dots", assigns=["token.is_sent_start"])
def dots(doc: Doc) -> Doc:
    """Finds a sentence at every other word."""
    for token in doc:
        token.is_sent_start = token.i % 2 == 0
    return doc


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline, a text, and annotated texts, the second of which is wrong."""
    folder = tmp_path_factory.mktemp("render")
    nlp = RECOGNIZER.trained()
    nlp.to_disk(folder / "pipeline")
    (folder / "letter.txt").write_text("Mary Smith sings .\n\n\nThe end .\n", encoding="utf8")
    packed = gzip.compress(b"Mary Smith sings .\n \t\nThe end .\n")
    (folder / "letter.TXT.gz").write_bytes(packed)
    records = [
        {"text": "Mary Smith sings .", "entities": [[0, 10, "PER"]]},
        {"text": "Mary Smith sings .", "entities": [[0, 4, "PER"]]},
    ]
    lines = "\n".join(map(json.dumps, records))
    (folder / "gold.jsonl").write_text(lines, encoding="utf8")
    docs = [example.reference for example in RECOGNIZER.examples(nlp.vocab)]
    DocBin(docs=docs).to_disk(folder / "gold.spacy")
    return folder


def render(folder: Path, file: str, *arguments: str) -> Any:
    return show(folder, str(folder / file), "--html", str(folder / "page.html"), *arguments)


def row(output: str) -> list[str]:
    """The row of the table that is printed, without the unit."""
    line = next(line for line in output.splitlines() if line.startswith("ssvm_"))
    return [
        cell for cell in line.split()[1:] if cell not in ("words", "lines", "sentences", "entities")
    ]


def test_features_that_only_the_pipeline_knows(tmp_path: Path) -> None:
    """Scorers look their strings up."""
    nlp = MORPHOLOGIZER.trained()
    nlp.to_disk(tmp_path / "pipeline")
    bare = spacy.blank("en")
    docs = [
        Doc(
            bare.vocab, words=[t.text for t in doc], pos=["X"] * len(doc), morphs=["A=B"] * len(doc)
        )
        for doc in (example.reference for example in MORPHOLOGIZER.examples(nlp.vocab))
    ]
    DocBin(docs=docs).to_disk(tmp_path / "gold.spacy")
    result = render(tmp_path, "gold.spacy", "--errors")
    assert result.exit_code == 0, result.output
    assert "A=B" in (tmp_path / "page.html").read_text(encoding="utf8")


@pytest.mark.parametrize(
    ("file", "arguments", "counts"),
    [
        ("letter.txt", [], ["2", "-", "0"]),
        ("letter.txt", ["--number", "1"], ["1", "-", "0"]),
        ("letter.TXT.gz", ["--components", "ssvm_ner,ssvm_ner"], ["2", "-", "0"]),
        ("gold.jsonl", [], ["2", "2", "1"]),
        ("gold.jsonl", ["--errors"], ["1", "2", "1"]),
        ("gold.jsonl", ["--number", "1"], ["1", "1", "0"]),
        ("gold.jsonl", ["--number", "1", "--errors"], ["1", "2", "1"]),
        ("gold.jsonl", ["--components", "ssvm_ner"], ["2", "2", "1"]),
    ],
)
def test_pages(file: str, arguments: list[str], counts: list[str], saved: Path) -> None:
    result = render(saved, file, *arguments)
    assert result.exit_code == 0, result.output
    assert row(result.output) == counts
    page = (saved / "page.html").read_text(encoding="utf8")
    assert page.count('class="text entities"') == int(counts[0])
    assert ("entities are wrong" in page or "entities is wrong" in page) == (counts[1] != "-")
    assert ("Entity precision" in page) == (counts[1] != "-")
    assert re.search(r"<h1>pipeline on \w+", page), "not the whole path"
    assert ('class="gold"' in page) == (counts[2] != "0")


def test_tokens_of_gold_stay_where_spaces_are_not_known(saved: Path) -> None:
    result = render(saved, "gold.spacy")
    assert result.exit_code == 0, result.output
    assert row(result.output)[2] == "0"


@pytest.fixture(scope="module")
def labeled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a labeler of sentences, and Docs, the second of which has a wrong label."""
    folder = tmp_path_factory.mktemp("labeled")
    lines = [
        {"sentences": ["We ask why.", "Birds sing."], "labels": ["aim", "result"]},
        {"sentences": ["We ask why.", "Birds sing.", "So."], "labels": ["result", "result", None]},
    ]
    file = folder / "gold.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf8")
    nlp = LABELER.pipeline(units="sentences")
    examples = list(LabeledSentences(file)(nlp))[:1]
    nlp.initialize(lambda: examples)
    LABELER.train(nlp, examples, 10)
    nlp.to_disk(folder / "pipeline")
    (folder / "letter.txt").write_text("We ask why. Birds sing.", encoding="utf8")
    return folder


@pytest.mark.slow
def test_labels_of_sentences(labeled: Path) -> None:
    """The sentences are those of the file where the pipeline finds none."""
    result = render(labeled, "gold.jsonl", "--errors")
    assert result.exit_code == 0, result.output
    assert row(result.output) == ["1", "4", "1"]
    page = (labeled / "page.html").read_text(encoding="utf8")
    assert "1 of 4 sentences is wrong" in page
    assert '<small class="gold">result</small>' in page
    assert "<strong>aim</strong>, not result" in page
    assert page.count('class="unit') == 3
    assert page.count('class="why"') == 1, "what is wrong is explained"
    result = render(labeled, "letter.txt")
    assert result.exit_code == 1
    assert "Put a component that finds sentences before it" in " ".join(result.output.split())


@pytest.mark.slow
def test_a_table_of_sentences_on_the_screen(labeled: Path) -> None:
    nlp = spacy.load(labeled / "pipeline")
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("ssvm_ner", source=RECOGNIZER.trained())
    (labeled / "both").mkdir()
    nlp.to_disk(labeled / "both" / "pipeline")
    result = show(labeled / "both", "We ask Mary Smith. Birds sing.")
    assert result.exit_code == 0, result.output
    words, sentences = result.output.split("sentences")
    assert [line.split()[0] for line in words.splitlines() if "PER" in line] == ["Mary", "Smith"]
    found = [line.split() for line in sentences.splitlines() if "." in line and "conf." not in line]
    assert [row[:4] for row in found] == [
        ["We", "ask", "Mary", "Smith."],
        ["Birds", "sing.", "result", found[1][3]],
    ]
    page = render(labeled / "both", "../letter.txt")
    assert page.exit_code == 0, page.output


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an aligner, and pairs of lines; the links of the second one are others."""
    folder = tmp_path_factory.mktemp("aligned")
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_aligner", config={"solver": EAGER, "min_count": 1})
    examples = planted_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    nlp.to_disk(folder / "pipeline")
    pairs = [planted_words(seed) for seed in range(2)]
    links = [" ".join(f"{j}-{k}" for j, k in gold) for _, _, gold in pairs]
    for name, lines in {
        "text.en": [" ".join(source) for source, _, _ in pairs],
        "text.cs": [" ".join(target) for _, target, _ in pairs],
        "gold.align": [links[0], ""],
    }.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf8")
    return folder


@pytest.mark.slow
def test_links_of_words(aligned: Path) -> None:
    target = ["--target", str(aligned / "text.cs")]
    result = render(aligned, "text.en", *target)
    assert result.exit_code == 0, result.output
    assert row(result.output) == ["2", "-", "0"]
    result = render(aligned, "text.en", *target, "--alignment", str(aligned / "gold.align"))
    sizes = [len(planted_words(seed)[0]) for seed in range(2)]
    assert row(result.output) == ["2", str(sum(sizes)), str(sizes[1])]
    page = (aligned / "page.html").read_text(encoding="utf8")
    assert "<strong>linked</strong>, not apart" in page
    assert re.search(r"Link precision [\d.]+ %, link recall 100.0 %, .*alignment error rate", page)
    result = render(aligned, "text.en", *target, "--errors")
    assert result.exit_code == 1
    assert "there is no annotation that tells what is wrong" in " ".join(result.output.split())


@pytest.mark.slow
def test_no_text_is_replaced(aligned: Path) -> None:
    target = aligned / "text.cs"
    before = target.read_text(encoding="utf8")
    result = render(aligned, "text.en", "--target", str(target), "--html", str(target))
    assert result.exit_code == 1
    assert "must be a file that ends in .html" in " ".join(result.output.split())
    assert target.read_text(encoding="utf8") == before
    page = target.with_suffix(".html")
    page.write_text(before, encoding="utf8")
    for given in (["--target", str(page)], ["--target", str(target), "--alignment", str(page)]):
        result = render(aligned, "text.en", *given, "--html", str(page))
        assert result.exit_code == 1
        assert "would replace a file to show" in " ".join(result.output.split())
    assert page.read_text(encoding="utf8") == before


@pytest.mark.parametrize(
    ("fixture", "arguments", "problem"),
    [
        pytest.param(
            "aligned",
            [],
            "word aligners need pairs of texts: 'show --target', or show(doc)",
            marks=pytest.mark.slow,
        ),
        ("saved", ["--target", __file__], "Of pairs of texts, word aligners of this package can"),
    ],
)
def test_pairs_and_texts_are_for_different_components(
    fixture: str, arguments: list[str], problem: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(fixture)
    (folder / "some.txt").write_text("Words.", encoding="utf8")
    result = render(folder, "some.txt", *arguments)
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())


def test_spans_that_are_left_out_are_shown(saved: Path) -> None:
    """They are not silently taken for right."""
    record = {"text": "Mary Smith sings .", "entities": [[1, 3, "PER"]]}
    (saved / "shifted.jsonl").write_text(json.dumps(record), encoding="utf8")
    result = render(saved, "shifted.jsonl")
    assert result.exit_code == 0, result.output
    assert "Left out 1 span" in result.output
    page = (saved / "page.html").read_text(encoding="utf8")
    assert "1 spans that do not match the words" in page


def test_no_annotation_of_what_is_decided(saved: Path) -> None:
    gold = Doc(spacy.blank("en").vocab, words=["Mary", "sings"], tags=["NNP", "VBZ"])
    DocBin(docs=[gold]).to_disk(saved / "tags.spacy")
    result = render(saved, "tags.spacy", "--errors")
    assert result.exit_code == 1
    assert "the file has no annotation for ssvm_ner" in " ".join(result.output.split())


def test_later_components_do_not_change_what_is_shown(tmp_path: Path) -> None:
    """The tagger has decided without the sentences that come after it."""
    nlp = TAGGER.trained()
    nlp.add_pipe("dots")
    nlp.to_disk(tmp_path / "pipeline")
    words = [token.text for example in TAGGER.examples(nlp.vocab) for token in example.reference]
    golds = list(nlp.pipe(Doc(nlp.vocab, words=words[::step]) for step in (1, -1, 2, -2, 3)))
    again = (nlp(Doc(nlp.vocab, words=[token.text for token in gold])) for gold in golds)
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    decided = [[d.label for d in pipe.decisions(doc)] for doc in again]
    assert decided != [[token.tag_ for token in gold] for gold in golds], "this test can fail"
    DocBin(docs=golds).to_disk(tmp_path / "gold.spacy")
    result = render(tmp_path, "gold.spacy", "--components", "ssvm_tagger")
    assert result.exit_code == 0, result.output
    (found,) = [line for line in result.output.splitlines() if line.startswith("ssvm_tagger")]
    assert found.split()[-1] == "0"


def show(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(ssvm, ["show", str(folder / "pipeline"), *arguments])


def test_a_text_on_the_screen(saved: Path) -> None:
    result = show(saved, "Mary Smith\n sings .")
    assert result.exit_code == 0, result.output
    *rows, legend = [line.split() for line in result.output.splitlines() if line.strip()]
    assert legend[0] == "conf.:"
    assert rows[0] == ["words", "ssvm_ner", "conf."]
    assert [row[:2] for row in rows[2:]] == [
        ["Mary", "B-PER"],
        ["Smith", "L-PER"],
        ["sings", "O"],
        [".", "O"],
    ]
    assert all(float(row[2]) > 0 for row in rows[2:])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["  "], "the text has no words"), (["a", "--components", "b"], "no component 'b' that can")],
)
def test_what_cannot_be_shown(arguments: list[str], problem: str, saved: Path) -> None:
    result = show(saved, *arguments)
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())


def test_a_text_that_ends_with_the_name_of_a_file(saved: Path) -> None:
    result = show(saved, "Mary Smith reads letter.txt")
    assert result.exit_code == 0, result.output
    assert "letter.txt" in result.output


def test_several_texts_on_the_screen(saved: Path) -> None:
    output = show(saved, "Mary Smith sings .", "The end .").output
    rows = [line.split()[0] for line in output.splitlines() if line.strip()]
    first, second = (number for number, word in enumerate(rows) if word == "words")
    assert "Mary" in rows[first:second]
    assert rows[second + 2 :] == ["The", "end", ".", "conf.:"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "TEXT: give a text, a file and --html, or --serve"),
        (["a", "nope.txt"], "TEXT: nope.txt is the name of a file, not a text"),
        (["a", "--errors"], "'--errors': it needs --html"),
        (["a", "--encoding", "utf8"], "'--encoding': it needs --html"),  # as by default
        (["a", "--port", "8000"], "'--port': it needs --serve"),
        (["a", "--serve"], "': it does not go with --serve"),
        (["a", "--html", "page.html", "--alignment", __file__], "'--alignment': it needs --target"),
        (["--serve", "--top", "3"], "'--top': it needs --html"),
        (["--serve", "--words"], "'--words': it needs --html"),
        (["a", "--html", "page.html", "--serve"], "'--serve': it does not go with --html"),
        (["a", "--html", "page.html", "--allow-host", "b"], "'--allow-host': it needs --serve"),
        (["--html", "page.html"], "TEXT: --html takes one file, not 0"),
        (["a", "b", "--html", "page.html"], "TEXT: --html takes one file, not 2"),
    ],
)
def test_options_of_another_mode_are_refused(arguments: list[str], problem: str) -> None:
    """Before the pipeline is loaded."""
    result = CliRunner().invoke(ssvm, ["show", "nosuch", *arguments])
    assert result.exit_code == 2
    assert problem in plain(result.output)


@pytest.mark.parametrize(
    ("file", "arguments", "problem"),
    [
        ("letter.txt", ["--errors"], "there is no annotation that tells what is wrong"),
        ("empty.txt", [], "empty.txt has no text"),
        ("nosuch.txt", [], "nosuch.txt does not exist"),
        ("gold.jsonl", ["--components", "nosuch"], "no component 'nosuch' that can be shown"),
        ("broken.jsonl", [], "broken.jsonl, line 1: this is not JSON"),
    ],
)
def test_what_cannot_be_rendered(
    file: str, arguments: list[str], problem: str, saved: Path
) -> None:
    (saved / "empty.txt").write_text("\n \n", encoding="utf8")
    (saved / "broken.jsonl").write_text("{", encoding="utf8")
    (saved / "page.html").unlink(missing_ok=True)
    result = render(saved, file, *arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert problem in " ".join(result.output.split())
    assert not (saved / "page.html").exists()
