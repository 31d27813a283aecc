"""The search for templates: what it selects and learns, its folder, table and report."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from comparisons import CONFIG, config_of
from marks import compiled_only
from points import POINTS
from spacy.training import Corpus
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_ssvm.chains.training import ChainTrainer
from spacy_ssvm.cli import ssvm
from spacy_ssvm.lab.search import (
    METHODS,
    Point,
    Search,
    choose,
    conclusion,
    name_of,
    read_order,
    table,
)
from spacy_ssvm.selection import Selector

TEMPLATES = ["lower[0]", "suffix2[0]", "shape[0]", "lower[-1]", "lower[1]", "length_class[0]"]


def search_of(corpus: Path, *budgets: int, **overrides: Any) -> Search:
    config = config_of(corpus, **{"components.tagger.templates": TEMPLATES, **overrides})
    return Search(config, budgets=budgets)


def points_of(search: Search, *methods: str) -> list[Point]:
    search.prepare()
    return [point for method in methods for point in search.run(method)]


def timeless(points: list[Point]) -> list[Point]:
    return [point._replace(selecting=0.0, learning=0.0, speed=0.0) for point in points]


def command(corpus: Path, folder: Path, *arguments: Any) -> Any:
    config = corpus.with_name("search.cfg")
    listed = srsly.json_dumps(TEMPLATES)
    text = CONFIG.replace('"ssvm_tagger"\n', f'"ssvm_tagger"\ntemplates = {listed}\n', 1)
    config.write_text(text, encoding="utf8")
    given = ["lab", "select", config, "--output", folder / "out", *arguments]
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    return CliRunner().invoke(ssvm, [*map(str, [*given, *paths])])


def read(folder: Path) -> list[Point]:
    return [Point(**line) for line in srsly.read_jsonl(folder / "out" / "select.jsonl")]


@compiled_only
def test_a_point_is_what_training_on_its_templates_does(corpus: Path) -> None:
    point = points_of(search_of(corpus, 2), "group-lasso")[0]
    assert (point.method, point.budget, len(point.templates)) == ("group-lasso", 2, 2)
    config = config_of(corpus, **{"components.tagger.templates": point.templates})
    nlp = init_nlp(config.interpolate())
    examples = list(Corpus(corpus)(nlp))
    tagger: Any = nlp.get_pipe("tagger")
    scores = []
    for _ in range(3):
        nlp.update(examples)
        scores.append(nlp.evaluate(examples)["tag_acc"])
    assert point.score == max(scores)
    assert point.features == tagger.model.number_of_rows


@compiled_only
def test_every_method_meets_the_budgets_and_all_keeps_everything(corpus: Path) -> None:
    points = points_of(search_of(corpus, 1, 3), "all", *METHODS)
    assert points[0].templates == TEMPLATES
    assert [len(point.templates) for point in points[1:]] == [3, 1] * len(METHODS)
    assert {point.budget for point in points[1:]} == {1, 3}
    for point in points:
        assert set(point.templates) <= set(TEMPLATES)
        assert 0 < point.score <= 1
        assert bool(point.steps) == (point.method not in ("all", "information-gain"))
        assert (point.megabytes > 0) == bool(point.steps)


def test_the_settings_of_the_config_go_before_the_defaults(corpus: Path) -> None:
    """But for the budget, and for refits, which the search compares by templates."""
    settings = {"budget": 4, "epochs": 1, "prox_period": 7, "refit": "features"}
    block = {"@misc": "spacy_ssvm.Selection.v1", **settings}
    search = search_of(corpus, 2, **{"components.tagger.selection": block})
    assert search.config["components"]["tagger"]["selection"] is None
    steps = points_of(search, "group-lasso", "information-gain")[0].steps
    seen = [examples for examples, _ in steps]
    sentences = len(list(Corpus(corpus)(spacy.blank("en"))))
    assert seen == sorted({*range(7, sentences + 1, 7), sentences})


@compiled_only
def test_the_same_seed_gives_the_same_points(corpus: Path) -> None:
    first, again = (points_of(search_of(corpus, 2, 4), "group-lasso", "lasso") for _ in range(2))
    assert timeless(first) == timeless(again)


@compiled_only
def test_compilation_is_no_part_of_the_times(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only moves while kernels run: 100 s where one is new, else 1 s."""
    clock = 0.0
    used: set[str] = set()

    def slow_at_first(run: Callable[..., Any], kernel: Callable[..., str]) -> Callable[..., Any]:
        def timed(*arguments: Any, **settings: Any) -> Any:
            nonlocal clock
            name = kernel(*arguments, **settings)
            clock += 1.0 if name in used else 100.0
            used.add(name)
            return run(*arguments, **settings)

        return timed

    learning = iter(["first epoch", "second epoch"])
    monkeypatch.setattr(
        ChainTrainer,
        "epoch",
        slow_at_first(ChainTrainer.epoch, lambda *_: next(learning, "first epoch")),
    )
    monkeypatch.setattr(
        Selector,
        "select",
        slow_at_first(
            Selector.select, lambda _, settings, **__: str((settings.method, settings.groups))
        ),
    )
    monkeypatch.setattr(time, "process_time", lambda: clock)
    for point in points_of(search_of(corpus, 1, 3), "all", *METHODS):
        assert point.learning == 3.0, point.method
        assert point.selecting == (0.0 if point.method == "all" else 1.0), point.method


@compiled_only
def test_the_command_leaves_points_configs_and_a_report(corpus: Path, tmp_path: Path) -> None:
    result = command(
        corpus, tmp_path, "--budgets", "4,2", "--methods", "all,group-lasso", "--epochs", 2
    )
    assert result.exit_code == 0, result.output
    points = read(tmp_path)
    assert [name_of(point) for point in points] == ["all", "group-lasso-4", "group-lasso-2"]
    for row in table(points):
        assert all(cell in result.output for cell in row)
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf8")
    assert f"<strong>{conclusion(points)}</strong>" in html
    for point in points:
        config = load_config(tmp_path / "out" / "configs" / f"{name_of(point)}.cfg")
        assert config["components"]["tagger"]["templates"] == point.templates
        assert config["paths"]["train"] == str(corpus)
        assert config["corpora"]["train"]["path"] == "${paths.train}"
        nlp = init_nlp(config.interpolate())
        assert [str(template) for template in nlp.get_pipe("tagger").model.templates] == (
            point.templates
        )


@compiled_only
def test_a_resumed_search_does_what_is_missing(corpus: Path, tmp_path: Path) -> None:
    given = "--budgets", "3,2", "--methods"
    assert command(corpus, tmp_path, *given, "all,lasso").exit_code == 0
    whole = read(tmp_path)
    file = tmp_path / "out" / "select.jsonl"
    lines = file.read_text(encoding="utf8").splitlines(keepends=True)
    file.write_text("".join(lines[:2]), encoding="utf8")
    assert "give --resume" in command(corpus, tmp_path, *given, "all,lasso").output
    report = tmp_path / "out" / "report.html"
    assert b"Hasse diagram" in report.read_bytes()
    assert command(corpus, tmp_path, *given, "all,lasso", "--resume").exit_code == 0
    assert b"Hasse diagram" in report.read_bytes()
    assert read(tmp_path)[0] == whole[0]
    assert timeless(read(tmp_path)) == timeless(whole), "a method starts with its largest budget"
    other = command(corpus, tmp_path, "--budgets", "3,1", "--methods", "lasso", "--resume")
    assert "was made with other settings" in " ".join(other.output.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--budgets", "2,few"), "--budgets 2,few: give comma-separated numbers"),
        (("--budgets", "0"), "budgets are numbers of templates above 0"),
        (("--budgets", "7"), "budget is 7, but there are only 6 templates"),
        (("--budgets", "2", "--methods", "lasso,magic"), "there is no method 'magic'"),
        (("--budgets", "2", "--components", "ner"), "there is no component 'ner'"),
    ],
)
def test_what_cannot_be_searched(
    corpus: Path, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    result = command(corpus, tmp_path, *arguments)
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())
    assert not list((tmp_path / "out").glob("*.jsonl"))


def test_the_smallest_model_that_is_near_the_best_is_chosen() -> None:
    assert choose(POINTS) is POINTS[1]
    assert choose([POINTS[0], POINTS[2]]) is POINTS[0]
    assert conclusion(POINTS) == (
        "lasso-2 scores 94.90 with 2 templates and 500 features: it is the smallest model within "
        "0.2 of the best score, 95.00 by all."
    )
    assert conclusion([POINTS[0], POINTS[2]]) == (
        "all has the best score, 95.00, with 3 templates and 3,000 features."
    )


@pytest.mark.parametrize("text", ["", "{", "3", '[["a"]]', "[1]", "[" * 100_000])
def test_a_damaged_order_is_refused(tmp_path: Path, text: str) -> None:
    assert read_order(tmp_path) == []
    (tmp_path / "order.json").write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match=r"order\.json is damaged"):
        read_order(tmp_path)
