"""The report of a pipeline: its figures, and what cannot be reported."""

import functools
import io
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from corpora import tagging_examples
from marks import compiled_only
from pipelines import RECOGNIZER, TAGGER
from planted_pairs import planted_examples, write_bitext
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_config
from tqdm import tqdm
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.report import interval_of_f1
from spacy_ssvm.components.training_log import make_training_log
from spacy_ssvm.solvers.run import ignore_progress


@pytest.fixture(scope="module")
def saved(trained_tagger: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline and the corpus that it was trained on."""
    folder = tmp_path_factory.mktemp("report")
    examples = tagging_examples(trained_tagger.vocab)
    DocBin(docs=[example.reference for example in examples]).to_disk(folder / "train.spacy")
    trained_tagger.to_disk(folder / "pipeline")
    for name in ("train", "dev"):
        set_config(folder / "pipeline", f"corpora.{name}.path", str(folder / "train.spacy"))
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy, for the test to change; its config names the corpus of the original."""
    shutil.copytree(saved, tmp_path / "copy")
    return tmp_path / "copy"


def set_config(pipeline: Path, key: str, value: Any) -> None:
    file = pipeline / "config.cfg"
    load_config(file, overrides={key: value}).to_disk(file)


def report(pipeline: Path, corpus: Path, *options: Any) -> Any:
    arguments = ["report", pipeline, corpus, *options]
    return CliRunner().invoke(ssvm, [*map(str, arguments)])


def refused(pipeline: Path, corpus: Path, *options: Any) -> str:
    """What the command says, on one line, where it refuses."""
    result = report(pipeline, corpus, *options)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert "Cannot report" in result.output
    return " ".join(result.output.split())


def quoted(path: Path) -> str:
    """A pattern for a path that the width of the terminal may have broken."""
    return r"\s?".join(map(re.escape, str(path)))


@compiled_only
def test_a_report(saved: Path) -> None:
    log = saved / "log.jsonl"
    srsly.write_jsonl(log, [{"seconds": 1.0}, {"seconds": 2.5}])
    result = report(saved / "pipeline", saved / "train.spacy", "--gap", "--log", log)
    assert result.exit_code == 0, result.output
    rows = dict(re.findall(r"(?m)^(\S.*?)  +(\S.*?) *$", result.output))
    assert rows["corpus"].endswith(f"{len(TAGGER.gold())} Docs, tokens of the pipeline")
    assert not any("gold tokens" in name for name in rows)
    assert rows["TAG accuracy"] == rows["token F1"] == "100.00 %"
    assert re.fullmatch(r"[\d,]+ tokens/s from raw text, one thread", rows["pipeline: speed"])
    assert rows["training"] == "2.5 s, 2 evaluations"
    assert re.fullmatch(
        r"\d+\.\d\d % \(primal \d+\.\d, dual \d+\.\d\)", rows[f"{TAGGER.name}: duality gap"]
    )


def test_the_interval_is_of_annotated_docs() -> None:
    nlp = RECOGNIZER.trained(epochs=1)
    examples = [Example(nlp(eg.predicted), eg.reference) for eg in RECOGNIZER.examples(nlp.vocab)]
    unknown = [Example(eg.predicted, nlp.make_doc(eg.reference.text)) for eg in examples]
    assert any(example.predicted.ents for example in unknown)
    low, high = interval_of_f1(examples)
    assert 0 < low <= nlp.evaluate(examples)["ents_f"] <= high
    assert interval_of_f1(examples + unknown) == (low, high)


@compiled_only
def test_scores_on_gold_tokens_where_others_are_lower(
    saved: Path, trained_tagger: Language
) -> None:
    golds = [example.reference for example in tagging_examples(trained_tagger.vocab)]
    words = [[token.text for token in gold] for gold in golds]
    joined = [  # the first two words are written as one
        Doc(
            gold.vocab, words=own, tags=[token.tag_ for token in gold],
            spaces=[i > 0 for i in range(len(own))],
        )
        for own, gold in zip(words, golds, strict=True)
    ]  # fmt: skip
    DocBin(docs=joined).to_disk(saved / "joined.spacy")
    result = report(saved / "pipeline", saved / "joined.spacy")
    assert result.exit_code == 0, result.output
    rows = dict(re.findall(r"(?m)^(\S.*?)  +(\S.*?) *$", result.output))
    assert rows["corpus"].endswith(f"{len(golds)} Docs, tokens of the pipeline")
    assert float(rows["TAG accuracy"].split()[0]) < 95
    assert float(rows["token F1"].split()[0]) < 95
    assert rows["TAG accuracy, gold tokens"] == "100.00 %"
    result = report(saved / "pipeline", saved / "joined.spacy", "--gold-preproc")
    rows = dict(re.findall(r"(?m)^(\S.*?)  +(\S.*?) *$", result.output))
    assert rows["corpus"].endswith("Docs, gold tokens")
    assert rows["TAG accuracy"] == "100.00 %"
    assert not {"token F1", "pipeline: speed"} & {*rows}


def test_a_folder_that_is_no_pipeline(folder: Path) -> None:
    (folder / "training").mkdir()
    message = refused(folder / "training", folder / "train.spacy")
    assert "cannot be loaded as a pipeline" in message
    assert "Did you mean" not in message
    shutil.move(folder / "pipeline", folder / "training" / "model-best")
    message = refused(folder / "training", folder / "train.spacy")
    assert re.search(rf"Did you mean {quoted(folder / 'training' / 'model-best')}\?", message)


def test_a_damaged_pipeline(folder: Path) -> None:
    (folder / "pipeline" / "tokenizer").write_bytes(b"\xc1")
    message = refused(folder / "pipeline", folder / "train.spacy")
    assert re.search(quoted(folder / "pipeline") + " cannot be loaded as a pipeline", message)


@pytest.mark.parametrize("name", ["text.txt", "folder", "text.spacy", "cut.spacy", "none.spacy"])
def test_a_corpus_that_is_none(folder: Path, name: str) -> None:
    corpus = folder / name
    if name == "folder":
        corpus.mkdir()
    elif name == "cut.spacy":
        corpus.write_bytes((folder / "train.spacy").read_bytes()[:-100])
    elif name == "none.spacy":
        DocBin(docs=[spacy.blank("en")("")]).to_disk(corpus)
    else:
        corpus.write_text("root:x:0:0\n", encoding="utf8")
    problem = {
        "text.txt": " is not a .spacy file, nor a folder of such files",
        "folder": " is not a .spacy file, nor a folder of such files",
        "none.spacy": " has no Docs to measure on",
    }.get(name, " is damaged, or not a .spacy file")
    assert re.search(quoted(corpus) + problem, refused(folder / "pipeline", corpus))


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"text", b"[1]\n", b"3\n", b'{"step": 1}\n'])
def test_a_log_of_something_else(folder: Path, data: bytes) -> None:
    log = folder / "log.jsonl"
    log.write_bytes(data)
    message = refused(folder / "pipeline", folder / "train.spacy", "--log", log)
    problem = " was not written by the logger spacy_ssvm.TrainingLog.v1"
    assert re.search(quoted(log) + problem, message)


@pytest.mark.parametrize("path", [None, "nowhere/train.spacy"])
def test_a_gap_without_the_training_corpus(folder: Path, path: str | None) -> None:
    set_config(folder / "pipeline", "corpora.train.path", path)
    message = refused(folder / "pipeline", folder / "train.spacy", "--gap")
    assert f"cannot be read: [corpora.train] has path = {path}. Run the command in" in message


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An aligner that knows planted words."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_aligner", name="aligner", config={"min_count": 1})
    examples = planted_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update(examples)
    folder = tmp_path_factory.mktemp("aligner") / "pipeline"
    nlp.to_disk(folder)
    return folder


def test_a_report_of_an_aligner(aligner: Path, tmp_path: Path) -> None:
    source, target, links = write_bitext(tmp_path, "test", range(40, 50), possible=True)
    page = tmp_path / "report.html"
    result = report(aligner, source, "--target", target, "--alignment", links, "--html", page)
    assert result.exit_code == 0, result.output
    rows = dict(re.findall(r"(?m)^(\S.*?)  +(\S.*?) *$", result.output))
    assert rows["corpus"].endswith("10 pairs, gold tokens")
    assert rows["link precision"] == rows["link recall"] == "100.00 %"
    assert rows["alignment error rate"] == "0.00 %"
    assert rows["link F1"] != "100.00 %"
    assert re.fullmatch(r"[\d,]+ pairs/s, one thread", rows["aligner: speed"])
    text = page.read_text(encoding="utf8")
    assert "alignment error rate" in text
    assert "Accuracy by confidence" in text


def test_an_aligner_needs_pairs_of_texts(aligner: Path, saved: Path, tmp_path: Path) -> None:
    source, target, links = write_bitext(tmp_path, "test", range(3))
    message = refused(aligner, saved / "train.spacy")
    assert "'aligner' aligns pairs of texts: give a text, a sentence a line, with" in message
    for options in (["--target", target], ["--alignment", links]):
        assert "--target and --alignment, the gold links, go together" in refused(
            aligner, source, *options
        )


def test_a_gap_on_a_corpus_of_something_else(folder: Path) -> None:
    nlp = spacy.blank("en")
    doc = nlp("An unknown tag")
    doc[0].tag_ = "XYZ"
    DocBin(docs=[doc]).to_disk(folder / "other.spacy")
    set_config(folder / "pipeline", "corpora.train.path", str(folder / "other.spacy"))
    assert "the label 'XYZ'" in refused(folder / "pipeline", folder / "train.spacy", "--gap")


def test_a_gap_of_components_that_have_none(folder: Path) -> None:
    set_config(folder / "pipeline", "training.frozen_components", [TAGGER.name])
    message = refused(folder / "pipeline", folder / "train.spacy", "--gap")
    assert "no component of this package that its config trains" in message


def test_code_that_a_pipeline_needs(folder: Path) -> None:
    pipeline, corpus = folder / "pipeline", folder / "train.spacy"
    set_config(pipeline, "nlp.before_creation", {"@callbacks": "report_test"})
    assert "report_test" in refused(pipeline, corpus)
    code = folder / "code.py"
    code.write_text(
        "import spacy\n"
        "spacy.registry.callbacks('report_test', func=lambda: lambda language: language)\n",
        encoding="utf8",
    )
    result = report(pipeline, corpus, "--code", code)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("gap", "is_far"), [(0.99, True), (0.2, False), (None, False)])
def test_a_training_that_ends_far_from_done_says_so(gap: float | None, is_far: bool) -> None:
    nlp = TAGGER.pipeline()
    output = io.StringIO()
    log_step, finish = make_training_log()(nlp, output, output)
    losses = {TAGGER.name: 1.0} | ({} if gap is None else {f"{TAGGER.name}_gap": gap})
    for epoch in range(2):
        log_step(
            {"epoch": epoch, "step": epoch, "score": 0.5, "losses": losses, "other_scores": {}}
        )
    finish()
    found = f"{TAGGER.name}: training has ended far from the best weights" in output.getvalue()
    assert found == is_far


def test_a_training_without_a_step_says_nothing() -> None:
    output = io.StringIO()
    make_training_log()(TAGGER.pipeline(), output, output)[1]()
    assert "far from" not in output.getvalue()


def test_each_row_says_what_memory_training_takes(tmp_path: Path) -> None:
    nlp = TAGGER.pipeline()
    nlp.add_pipe("sentencizer")
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(TAGGER.name)
    output = io.StringIO()
    log_step, _ = make_training_log(tmp_path / "log.jsonl")(nlp, output, output)
    info = {"epoch": 0, "step": 0, "score": 0.5, "losses": {}, "other_scores": {}}
    log_step(info)
    nlp.update(examples)
    log_step(info)
    header, _, *rows = (line.split() for line in output.getvalue().splitlines())
    taken = sum(pipe.training_memory().values())
    column = len(header) - 1 - header[::-1].index("MB") - len(header)
    assert [row[column] for row in rows] == ["0", f"{taken / 1e6:.0f}"]
    logged = [row["memory"] for row in srsly.read_jsonl(tmp_path / "log.jsonl")]
    assert logged == [{}, {TAGGER.name: pipe.training_memory()}]


def test_a_training_ends_with_the_memory_that_it_took() -> None:
    nlp = TAGGER.pipeline()
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    output = io.StringIO()
    _, finish = make_training_log()(nlp, output, output)
    nlp.update(examples)
    finish()
    line = rf"{TAGGER.name}: training took \d+ MB \((\w+ \d+ MB, )*constraints \d+ MB"
    assert re.search(line, output.getvalue())
    assert nlp.get_pipe(TAGGER.name).training_memory() == {}
    finish()
    assert output.getvalue().count("training took") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_terminal", [True, False])
def test_long_epochs_have_a_bar(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr("spacy_ssvm.components.training_log._LONG", 0.0)
    monkeypatch.setattr("spacy_ssvm.solvers.run._PART", 2)
    monkeypatch.setattr("tqdm.tqdm", functools.partial(tqdm, mininterval=0, ascii=True))
    nlp = TAGGER.trained()
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    examples = TAGGER.examples(nlp.vocab) * 3
    words = sum(len(example.predicted) for example in examples)
    pipe.update(examples)
    bars = [line for line in seen.getvalue().split("\r") if f"/{words}" in line]
    assert bool(bars) == is_terminal
    if is_terminal:
        assert bars[-1].startswith("ssvm_tagger: 100%")
        assert f"| {words}/{words} [" in bars[-1]
        assert len(bars) > 5
    assert pipe.featurize([])[0].run.report is ignore_progress


def test_short_epochs_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    nlp = TAGGER.trained()
    nlp.update(TAGGER.examples(nlp.vocab))
    assert seen.getvalue() == ""
