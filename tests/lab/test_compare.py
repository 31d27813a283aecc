"""Solvers compared on a component: rows, resuming, the table and the report."""

import builtins
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from comparisons import CONFIG, ROWS, config_of, rows_of
from marks import compiled_only
from spacy.training import Corpus
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.lab.compare import (
    SOLVERS,
    Comparison,
    Measure,
    Row,
    conclusion,
    make_solver,
    open_run_log,
    summarize,
    table,
    without_empty,
)
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent


def timeless(rows: Iterable[Row]) -> list[Row]:
    return [row._replace(seconds=0.0) for row in rows]


def command(corpus: Path, folder: Path, *arguments: Any) -> Any:
    config = corpus.with_name("config.cfg")
    config.write_text(CONFIG, encoding="utf8")
    given = ["lab", "compare", config, "--output", folder / "out", *arguments]
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    return CliRunner().invoke(ssvm, [*map(str, [*given, *paths])])


def read(folder: Path) -> list[Row]:
    return [Row(**line) for line in srsly.read_jsonl(folder / "out" / "compare.jsonl")]


both = pytest.mark.parametrize(
    "component",
    [
        "tagger",
        pytest.param("parser", marks=pytest.mark.filterwarnings("ignore:.*sentence boundaries")),
    ],
)


@compiled_only
def test_a_run_is_what_training_does(corpus: Path) -> None:
    comparison = Comparison(config_of(corpus), epochs=3)
    last = rows_of(comparison, ("dcd-light", 5))[-1]
    solver = {**SOLVERS["dcd-light"], "C": 1.0, "seed": 5}
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("ssvm_tagger", config={"solver": solver})
    examples = list(Corpus(corpus)(nlp))
    nlp.initialize(lambda: examples)
    for _ in range(3):
        tagger.update(examples)
    objective = tagger._trainer.run.objective()
    assert (last.primal, last.dual, last.gap) == pytest.approx(objective)
    assert last.score == pytest.approx(nlp.evaluate(examples)["tag_acc"])
    assert last.working_set == tagger._trainer.run.number_of_constraints > 0


@compiled_only
@both
def test_the_same_seed_gives_the_same_rows_whatever_ran_before(
    corpus: Path, component: str
) -> None:
    config = config_of(corpus, **{"nlp.pipeline": [component]})
    first = rows_of(Comparison(config), ("dcd-ssvm", 0), ("dcd-light", 0), ("dcd-ssvm", 1))
    again = rows_of(Comparison(config), ("dcd-ssvm", 1), ("dcd-light", 0), ("dcd-ssvm", 0))
    assert sorted(timeless(first)) == sorted(timeless(again))
    assert len({row.primal for row in first}) == len(first)
    assert [row.epoch for row in first] == 3 * [1, 2, 3]


@compiled_only
@both
def test_a_solver_starts_without_the_completions_of_another(corpus: Path, component: str) -> None:
    comparison = Comparison(config_of(corpus, **{"nlp.pipeline": [component]}))
    comparison.prepare()
    training: Any = comparison._trainer
    before = training.problem.examples().completions.copy()
    list(comparison.run("dcd-ssvm", 0))
    assert (training.problem.examples().completions != before).any()
    training.restart(DualCoordinateDescent())
    assert (training.problem.examples().completions == before).all()


@compiled_only
def test_what_a_solver_needs_does_not_depend_on_the_one_before(corpus: Path) -> None:
    """A tagger's weights are allocated on first use by some of the solvers only."""
    comparison = Comparison(config_of(corpus, **{"nlp.pipeline": ["tagger"]}))
    comparison.prepare()
    for name in ("crf", "perceptron", "lbfgs", "dcd-ssvm"):
        assert comparison.refusal(name) is None, name


def test_the_conclusion() -> None:
    assert conclusion(ROWS) == "far has the best score, 94.00 ± 1.41."
    slow = [Row("slow", 0, epoch, 9.0 * epoch, 0.8 + epoch / 20, *[None] * 4) for epoch in (1, 2)]
    assert conclusion(slow) == (
        "slow has the best score, 90.00, and is within 0.1 of it first, after 18.00 s."
    )
    fast = Row("fast", 0, 1, 2.0, 0.8995, *[None] * 4)
    assert conclusion([*slow, fast]) == (
        "slow has the best score, 90.00; fast is within 0.1 of it first, after 2.00 s."
    )


@compiled_only
def test_only_learning_takes_time(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score = Comparison._score

    def slow_score(self: Comparison) -> float:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        return score(self)

    monkeypatch.setattr(Comparison, "_score", slow_score)
    rows = rows_of(Comparison(config_of(corpus)), ("dcd-ssvm", 0))
    seconds = [row.seconds for row in rows]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] < 0.5


@compiled_only
def test_solvers_share_settings() -> None:
    like = DualCoordinateDescent(C=0.3, inner_passes=2, seed=9)
    assert make_solver(SOLVERS["dcd-light"], 4, like) == DualCoordinateDescent(
        C=0.3, inner_passes=2, seed=4, variant="light"
    )


@compiled_only
@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_learns(corpus: Path, name: str) -> None:
    rows = rows_of(Comparison(config_of(corpus), epochs=9), (name, 0))
    assert max(row.score for row in rows) > 0.9


@compiled_only
def test_the_command(corpus: Path, tmp_path: Path) -> None:
    result = command(corpus, tmp_path, "--seeds", 2, "--epochs", 2)
    assert result.exit_code == 0, result.output
    rows = read(tmp_path)
    assert [(row.solver, row.seed, row.epoch) for row in rows] == [
        (solver, seed, epoch) for seed in (0, 1) for solver in SOLVERS for epoch in (1, 2)
    ]
    for name in SOLVERS:
        assert f"\n{name} " in result.output
        assert f">{name}</th>" in (tmp_path / "out" / "report.html").read_text(encoding="utf8")
    assert (tmp_path / "out" / "config.cfg").exists()


@compiled_only
def test_components_that_are_left_out_are_named(corpus: Path, tmp_path: Path) -> None:
    pipeline = ("--nlp.pipeline", '["tagger", "other"]', "--components", "other")
    run = ("--solvers", "perceptron", "--seeds", 1, "--epochs", 1)
    result = command(corpus, tmp_path, *pipeline, *run)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    assert "Left out, because they are not frozen: tagger" in shown
    assert "scores are low" in shown


@compiled_only
def test_an_interrupted_run_is_done_again(corpus: Path, tmp_path: Path) -> None:
    arguments = ["--solvers", "dcd-ssvm,dcd-light", "--seeds", 1]
    assert command(corpus, tmp_path, *arguments).exit_code == 0
    file = tmp_path / "out" / "compare.jsonl"
    whole, lines = read(tmp_path), file.read_text(encoding="utf8").splitlines()
    file.write_text("\n".join([*lines[:4], lines[4][:20]]), encoding="utf8")
    assert command(corpus, tmp_path, *arguments, "--resume").exit_code == 0
    rows = read(tmp_path)
    assert timeless(rows) == timeless(whole)
    assert rows[:3] == whole[:3], "the run that had ended is kept as it is"
    assert command(corpus, tmp_path, *arguments, "--resume").exit_code == 0
    assert read(tmp_path) == rows, "nothing is left to do"


@compiled_only
def test_rows_are_written_as_they_come(corpus: Path, tmp_path: Path) -> None:
    comparison = Comparison(config_of(corpus))
    comparison.prepare()
    record = open_run_log(tmp_path / "new" / "folder", comparison.config)
    for number, row in enumerate(comparison.run("dcd-light", 0), start=1):
        record.add(row)
        assert len(list(srsly.read_jsonl(record.file))) == number


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--solvers", "dcd-ssvm,astrology"],
            r"no solver 'astrology': choose one of dcd-ssvm, dcd-light",
        ),
        (["--components", "parser"], "no component 'parser' among tagger"),
        (["--paths.dev", "nowhere.spacy"], r"\[corpora.dev\].*'nowhere.spacy' does not exist"),
        (["--training.dev_corpus", "corpora.test"], r"\[corpora.test\].*it is not set"),
        (["--epochs", "0"], "0 epochs: give --epochs"),
        (["--training.max_epochs", "-1"], "-1 epochs: give --epochs"),
        (["--nlp.pipeline", '["tagger","parser"]'], "--components; .*there are: tagger, parser"),
        (["--nlp.pipeline", '["lemmas"]'], "--components; .*there are: none"),
        (["--training.frozen_components", '["tagger"]', "--components", "tagger"], "is frozen"),
    ],
)
def test_errors_of_the_command(
    corpus: Path, tmp_path: Path, arguments: Sequence[str], message: str
) -> None:
    config = corpus.with_name("config.cfg")
    config.write_text(CONFIG, encoding="utf8")
    paths = {"--paths.train": str(corpus), "--paths.dev": str(corpus)}
    rest = [part for pair in paths.items() if pair[0] not in arguments for part in pair]
    given = ["lab", "compare", str(config), "--output", str(tmp_path / "out"), *arguments, *rest]
    result = CliRunner().invoke(ssvm, given)
    assert result.exit_code == 1
    assert re.search(message, " ".join(result.output.split())), result.output
    assert not (tmp_path / "out").exists()


@compiled_only
def test_errors_of_the_output(corpus: Path, tmp_path: Path) -> None:
    comparison = Comparison(config_of(corpus))
    record = open_run_log(tmp_path, comparison.config)
    record.add(Row("dcd-ssvm", 0, 1, 0.1, 0.9, None, None, None, None))
    with pytest.raises(ValueError, match=r"compare\.jsonl exists: give --resume"):
        open_run_log(tmp_path, comparison.config)
    other = Comparison(config_of(corpus), epochs=9)
    with pytest.raises(ValueError, match=r"was made with other settings: see .*config\.cfg"):
        open_run_log(tmp_path, other.config, resume=True)


def test_a_missing_extra(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = builtins.__import__

    def without(name: str, *arguments: Any, **settings: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named '{name}'", name="matplotlib")
        return import_module(name, *arguments, **settings)

    for module in ("lab.compare_report", "commands.figures"):
        monkeypatch.delitem(sys.modules, f"spacy_ssvm.{module}")
    monkeypatch.setattr(builtins, "__import__", without)
    result = command(corpus, tmp_path)
    assert result.exit_code == 1
    assert 'matplotlib is missing: pip install "spacy-ssvm[compare]"' in result.output
    assert not (tmp_path / "out").exists()


def test_summaries() -> None:
    near, far = summarize(ROWS)
    assert near.score == (0.90, 0.0)
    assert near.seconds == (1.5, pytest.approx(0.5**0.5))
    assert near.seconds_to_best is None
    assert near.primal == (21.0, pytest.approx(2**0.5))
    assert near.gap is None
    assert far.score == pytest.approx((0.94, 0.02 / 2**0.5))
    assert far.seconds == (6.5, pytest.approx(5 / 2**0.5))
    assert far.seconds_to_best is None, "one run ends below the best mean"
    assert far.gap == pytest.approx((0.325, 0.15 / 2**0.5))
    assert summarize(ROWS[:6])[1].seconds_to_best == Measure(4.0, None)


def test_the_table() -> None:
    assert table(ROWS[:2] + ROWS[4:6]) == [
        ("near", "90.00", "2.00", "-", "20.0", "-"),
        ("far", "95.00", "4.00", "4.00", "8.0", "25.00"),
    ]
    assert table(ROWS)[1][1:3] == ("94.00 ± 1.41", "6.50 ± 3.54")


def test_columns_without_values_are_not_shown() -> None:
    rows = [("near", "90.00", "-", "-"), ("far", "95.00", "-", "4.00")]
    header, shown = without_empty(["solver", "score", "gap", "time"], rows)
    assert header == ["solver", "score", "time"]
    assert shown == [("near", "90.00", "-"), ("far", "95.00", "4.00")]
