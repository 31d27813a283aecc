"""The command, from corpora to a report."""

import re
from pathlib import Path
from typing import Any

import pytest
from marks import compiled_only
from reproductions import row_of, write_bitext, write_corpora, write_entities
from typer.testing import CliRunner

from benchmarks.papers.__main__ import app
from benchmarks.papers.cy13 import OnlineLearners
from benchmarks.papers.experiment import Limits
from benchmarks.papers.msaf11 import Phrases
from benchmarks.papers.reproduce import PAPERS, Reproduction
from benchmarks.papers.tasks import Run, Task

LIMITS = Limits(seeds=1, epochs=1)


def command(data: Path, out: Path, *arguments: Any) -> Any:
    given = ["--data", data, "--out", out, "--seeds", 1, "--epochs", 2, *arguments]
    return CliRunner().invoke(app, [*map(str, given)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_corpora(folder)
    return folder


def test_tasks_are_made_of_the_largest_corpora(data: Path, tmp_path: Path) -> None:
    for name, size in (("more", 90), ("most", 99)):
        write_entities(data / f"{name}-train.conll", size)
    work = Reproduction(data, tmp_path / "out", limits=LIMITS)
    assert work.tasks(OnlineLearners()) == [
        *("entities: most", "entities: more", "tags: trees", "arcs: trees")
    ]
    assert work.tasks(Phrases()) == ["phrases: trees"]
    fewer = Reproduction(data, tmp_path / "out", limits=LIMITS, most_corpora=1)
    assert fewer.tasks(OnlineLearners()) == ["entities: most", "tags: trees", "arcs: trees"]
    for only, expected in (("Table 1.*(tags|arcs): ", ["tags: trees", "arcs: trees"]), ("x", [])):
        some = Reproduction(data, tmp_path / "out", limits=LIMITS, only=only)
        assert some.tasks(OnlineLearners()) == expected
    assert "1 at most" in fewer.facts([])["corpora"]
    assert "at most" not in work.facts([])["corpora"]
    assert "entities: ents_f; tags: tag_acc; " in work.facts(["CY13", "MSAF11"])["scores"]
    file = data / "conll2000-train.txt"
    file.write_text("He PRP B-NP\n", encoding="utf8")
    work = Reproduction(data, tmp_path / "out", limits=LIMITS)
    assert work.tasks(Phrases()) == ["phrases: conll2000"]


def test_a_task_is_prepared_once_for_all_experiments(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def make(self: Reproduction, name: str) -> Any:
        made.append(name)
        return FakeTask(name)

    class FakeTask:
        def __init__(self, name: str) -> None:
            self.name = name

        def run(self, run: Run) -> Any:
            largest = 0.5 if run.setting is None else min(run.setting / 10, 0.9)
            return [row_of(run, run.epochs, largest, primal=1.0)]

    monkeypatch.setattr(Reproduction, "_make_task", make)
    work = Reproduction(data, tmp_path / "out", limits=LIMITS)
    planned = work.plan(["CY13"])
    runs = 0
    for run in work.missing("CY13"):
        work.make("CY13", run)
        runs += 1
    assert runs == planned > 50
    assert made == ["entities: names", "tags: trees", "arcs: trees"]
    assert work.plan(["CY13"]) == 0
    assert not list(work.missing("CY13"))


@compiled_only
def test_the_command_resumes_and_writes_a_report(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for file in data.glob("trees*"):
        file.unlink()
    first = command(data, out, "--papers", "TLJ05")
    assert first.exit_code == 0, first.output
    assert "Checked 4 claims" in first.output
    page = (out / "report.html").read_text(encoding="utf8")
    again = command(data, out, "--papers", "tlj05", "--resume")
    assert again.exit_code == 0, again.output
    assert (out / "report.html").read_text(encoding="utf8") == page
    assert "TLJ05, Figure 2" in page
    assert len(re.findall("<svg", page)) == 4

    lines = (out / "tlj05" / "runs.jsonl").read_text(encoding="utf8").splitlines(keepends=True)
    (out / "tlj05" / "runs.jsonl").write_text("".join(lines[:-1]), encoding="utf8")
    resumed = command(data, out, "--papers", "TLJ05", "--resume")
    assert resumed.exit_code == 0, resumed.output


def test_other_settings_and_corpora_are_not_resumed(data: Path, tmp_path: Path) -> None:
    work = Reproduction(data, tmp_path / "out", limits=LIMITS)
    results = work.results("CY13")
    (tmp_path / "out" / "cy13" / "runs.jsonl").write_text("", encoding="utf8")
    assert not results.seconds

    def again(**settings: Any) -> None:
        values = {"limits": LIMITS, "resume": True, **settings}
        Reproduction(data, tmp_path / "out", **values).results("CY13")

    again()
    again(most_corpora=1)
    again(only="Table")
    with pytest.raises(ValueError, match="other settings"):
        again(sentences=3)
    with pytest.raises(ValueError, match="other settings"):
        again(limits=Limits(seeds=2, epochs=1))
    with pytest.raises(ValueError, match="give --resume"):
        again(resume=False)
    write_entities(data / "names-dev.conll", 3)
    with pytest.raises(ValueError, match="other settings"):
        again()


def test_papers_without_corpora_are_an_error(tmp_path: Path) -> None:
    write_bitext(tmp_path / "train.align")
    shown = command(tmp_path, tmp_path / "out", "--papers", "CY13")
    assert shown.exit_code == 1
    assert "is one that CY13 can use" in " ".join(shown.output.split())
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--papers", "CY31"), "there is no paper 'CY31'"),
        (("--seeds", "0"), "Invalid value for '--seeds'"),
        (("--sentences", "0"), "Invalid value for '--sentences'"),
        (("--corpora", "0"), "Invalid value for '--corpora'"),
        (("--only", "("), "'(' is no regular expression: missing )"),
        (("--only", "Table 9", "--papers", "CY13"), "can use, for what contains 'Table 9'"),
    ],
)
def test_wrong_options_are_refused(
    data: Path, tmp_path: Path, arguments: Any, problem: str
) -> None:
    shown = command(data, tmp_path / "out", *arguments)
    assert shown.exit_code != 0
    assert problem in " ".join(shown.output.split())


def test_a_folder_without_corpora_is_refused(tmp_path: Path) -> None:
    shown = command(tmp_path, tmp_path / "out")
    assert shown.exit_code == 1
    assert "has no corpora" in " ".join(shown.output.split())


def test_each_experiment_has_a_name_of_its_own() -> None:
    names = [experiment.name for paper in PAPERS for experiment in PAPERS[paper]]
    assert len(set(names)) == len(names)
    for paper, experiments in PAPERS.items():
        assert all(experiment.name.startswith(f"{paper}, ") for experiment in experiments)


def test_only_one_task_is_kept(data: Path, tmp_path: Path) -> None:
    work = Reproduction(data, tmp_path / "out", limits=LIMITS)
    for name in ("tags: trees", "entities: names", "entities: names"):
        before: Task | None = work._task
        work.make("CY13", Run(name, "perceptron", None, 0, 1))
        assert work._task is not None
        assert work._task.name == name
        assert (work._task is before) == (before is not None and before.name == name)
