"""What the tests of reproductions share: corpora of a few sentences, and made-up results."""

from collections.abc import Callable, Iterable
from pathlib import Path

from corpora import SENTENCES, tagged_sentences
from thinc.api import Config

from benchmarks.papers.experiment import Experiment, Limits
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import Row, Run

PARTS = ("train", "dev", "test")


def write_treebank(file: Path, sentences: int = 6) -> None:
    """Sentences with tags, whose trees are chains."""
    lines = []
    for words, tags in list(tagged_sentences(SENTENCES))[:sentences]:
        for i, (word, tag) in enumerate(zip(words, tags, strict=True), start=1):
            pos = {"DT": "DET", "NN": "NOUN", "VB": "VERB"}.get(tag[:2], "PUNCT")
            dep = "root" if i == 1 else "obj"
            lines.append(f"{i}\t{word}\t{word}\t{pos}\t{tag}\t_\t{i - 1}\t{dep}\t_\t_")
        lines.append("")
    file.write_text("\n".join([*lines, ""]), encoding="utf8")


def write_entities(file: Path, sentences: int = 8) -> None:
    """Columns of words and spans, the second word of each sentence an entity."""
    lines = []
    for number in range(sentences):
        name = ("Ann", "Bob", "Eva")[number % 3]
        lines += ["the O", f"{name} B-PER", "sleeps O", ""]
    file.write_text("\n".join([*lines, ""]), encoding="utf8")


def write_bitext(links: Path, pairs: int = 6) -> None:
    """Pairs of two words, which are linked in order."""
    for side, words in ((".src", "ein haus"), (".tgt", "a house")):
        links.with_suffix(side).write_text(f"{words}\n" * pairs, encoding="utf8")
    links.write_text("0-0 1-1\n" * pairs, encoding="utf8")


def write_abstracts(file: Path, documents: int = 6) -> None:
    """Three sentences each, with three labels."""
    sentences = '["We ask.", "We try.", "It works."]'
    line = f'{{"sentences": {sentences}, "labels": ["aim", "method", "method"]}}\n'
    file.write_text(line * documents, encoding="utf8")


def write_corpora(folder: Path) -> None:
    """One corpus of each kind but chunks, with all parts."""
    for part in PARTS:
        write_treebank(folder / f"trees-{part}.conllu")
        write_entities(folder / f"names-{part}.conll")
        write_bitext(folder / f"pairs-{part}.align")
        write_abstracts(folder / f"abstracts-{part}.jsonl")


def row_of(
    run: Run, epoch: int, test: float, *, dev: float | None = None, primal: float | None = None
) -> Row:
    return Row(
        run=run,
        epoch=epoch,
        seconds=float(epoch),
        dev=test if dev is None else dev,
        test=test,
        primal=primal,
        weights=10,
        templates=[],
        steps=[],
    )


def made(
    folder: Path,
    experiment: Experiment,
    task: str,
    limits: Limits,
    rows: Callable[[Run], list[Row]],
) -> Results:
    """The results of an experiment whose runs have the rows that a function makes."""
    results = Results(folder / "runs.jsonl", Config({"made": {"up": True}}), resume=True)
    for run in experiment.runs(task, limits, results.best):
        if run not in results:
            results.record(run, rows(run))
    return results


def verdicts(claims: Iterable) -> list[str]:
    return [claim.verdict for claim in claims]
