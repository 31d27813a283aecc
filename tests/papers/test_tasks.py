"""Runs of a task: the rows they give, whatever has run before."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import spacy
from marks import compiled_only
from reproductions import write_corpora

from benchmarks.papers import tasks
from benchmarks.papers.corpora import find_corpora
from benchmarks.papers.kinds import KINDS, kind_of
from benchmarks.papers.tasks import (
    DETERMINISTIC,
    LASSO,
    LEARNERS,
    SELECTING_EPOCHS,
    Row,
    Run,
    Task,
    make_row,
    templates_of,
)

pytestmark = compiled_only


def task_of(folder: Path, name: str, sentences: int | None = None) -> Task:
    corpora = {corpus.kind: corpus for corpus in find_corpora(folder)}
    return Task(name, corpora[KINDS[kind_of(name)].corpus], tags={}, sentences=sentences)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_corpora(tmp_path)
    return tmp_path


@pytest.fixture
def entities(folder: Path) -> Task:
    return task_of(folder, "entities: names")


def run_of(learner: str, setting: float | None = None, **values: Any) -> Run:
    return Run("entities: names", learner, setting, 0, 3)._replace(**values)


def timeless(rows: Any) -> list[Row]:
    return [row._replace(seconds=0.0) for row in rows]


def test_a_run_is_what_training_does(entities: Task) -> None:
    (row,) = entities.run(run_of("dcd-light", 0.5, seed=4))
    nlp = spacy.blank("xx")
    solver = {**LEARNERS["dcd-light"], "C": 0.5, "seed": 4}
    pipe: Any = nlp.add_pipe("ssvm_ner", config={"solver": solver})
    nlp.initialize(lambda: entities._train)
    for _ in range(3):
        pipe.update(entities._train)
    assert row.test == nlp.evaluate(entities._test)["ents_f"]
    assert row.dev == nlp.evaluate(entities._dev)["ents_f"]
    assert row.weights == (pipe._trainer.run.w != 0).sum() > 0
    assert (row.epoch, row.primal, row.templates) == (3, None, [])
    (curve,) = list(entities.run(run_of("dcd-light", 0.5, seed=4, rows_every=1)))[-1:]
    assert curve.primal == pytest.approx(pipe._trainer.run.objective().primal)
    assert curve.weights == row.weights


def test_a_curve_has_a_row_for_each_epoch(entities: Task) -> None:
    rows = list(entities.run(run_of("mira", rows_every=1)))
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert all(0 < a.seconds < b.seconds for a, b in pairwise(rows))
    assert all(row.primal is not None for row in rows)


def test_a_curve_may_have_fewer_rows(entities: Task) -> None:
    run = run_of("perceptron", epochs=5)
    rows = timeless(entities.run(run._replace(rows_every=2)))
    assert [row.epoch for row in rows] == [2, 4, 5]
    every = timeless(entities.run(run._replace(rows_every=1)))
    assert [row._replace(run=run) for row in rows] == [
        every[i - 1]._replace(run=run) for i in (2, 4, 5)
    ]


def test_the_same_run_gives_the_same_rows_whatever_ran_before(entities: Task) -> None:
    runs = [run_of("dcd-ssvm", 0.1), run_of("group-lasso", 3, epochs=7), run_of(LASSO, 1.0)]
    first = [timeless(entities.run(run)) for run in runs]
    again = [timeless(entities.run(run)) for run in reversed(runs)]
    assert first == again[::-1]


@pytest.mark.parametrize("learner", ["group-lasso", "coarse-to-fine", "information-gain"])
def test_a_selection_keeps_templates_and_refits(entities: Task, learner: str) -> None:
    (row,) = entities.run(run_of(learner, 3, epochs=SELECTING_EPOCHS + 2))
    assert 1 <= len(row.templates) <= 3
    assert set(row.templates) <= set(templates_of(KINDS["entities"]))
    assert row.epoch == SELECTING_EPOCHS + 2
    if learner == "information-gain":
        assert not row.steps
    else:
        examples, weights = zip(*row.steps, strict=True)
        assert max(examples) == SELECTING_EPOCHS * 8
        assert list(examples) == sorted(examples)
        assert weights[0] > weights[1] > 0


def test_features_without_weights_can_be_left_out(entities: Task) -> None:
    runs = [
        run_of(learner, 3, epochs=SELECTING_EPOCHS + 2)
        for learner in ("group-lasso", "group-lasso, features", "group-lasso")
    ]
    whole, sparse, again = (timeless(entities.run(run))[0] for run in runs)
    assert whole == again
    assert sparse.templates == whole.templates
    assert 0 < sparse.weights < whole.weights


def test_the_lasso_leaves_fewer_features_the_lower_its_c(entities: Task) -> None:
    sizes = [next(entities.run(run_of(LASSO, C))).weights for C in (0.01, 100.0)]
    assert sizes[0] < sizes[1]


def test_the_first_step_is_the_best_on_dev(entities: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tasks.STEPS, "entities", (1e-9, 0.5, 1e-8))
    (chosen,) = entities.run(run_of("sgd-crf", 1.0, chooses_step=True))
    block = {**LEARNERS["sgd-crf"], "eta0": 0.5}
    monkeypatch.setitem(tasks.LEARNERS, "sgd-crf", block)
    (expected,) = entities.run(run_of("sgd-crf", 1.0))
    assert chosen.test == expected.test
    assert chosen.weights == expected.weights


def test_entities_read_the_resources_of_their_language(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resources_of(language: str | None, into: Path) -> dict[str, Any]:
        if language is None:
            return {}
        file = into / f"{language}.txt"
        file.write_text("0101\tAnn\n0111\tBob\n", encoding="utf8")
        return {"clusters": {"own": str(file)}}

    monkeypatch.setattr(tasks, "resources_of", resources_of)
    for file in folder.glob("names-*"):
        file.rename(file.with_name(f"en_{file.name}"))
    task = task_of(folder, "entities: names")
    assert "cluster4.own[0]" in map(str, task._templates)
    (row,) = task.run(run_of("perceptron"))
    assert row.weights > 0
    assert not any("cluster" in str(t) for t in task_of(folder, "tags: trees")._templates)


@pytest.mark.parametrize(
    ("sentences", "period"), [(5, 1), (500, 55), (8_936, 992), (9_000, 1000), (12_543, 1000)]
)
def test_small_corpora_have_as_many_proximal_steps(
    entities: Task, monkeypatch: pytest.MonkeyPatch, sentences: int, period: int
) -> None:
    monkeypatch.setattr(entities, "_train", entities._train[:1] * sentences)
    assert entities._prox_period == period


@pytest.mark.parametrize("learner", sorted(DETERMINISTIC))
def test_some_learners_do_not_depend_on_the_seed(folder: Path, learner: str) -> None:
    name = "links: pairs" if learner == "extragradient" else "entities: names"
    task = task_of(folder, name)
    runs = (Run(name, learner, 1.0, seed, 3) for seed in (0, 1))
    first, second = (timeless(task.run(run))[0]._replace(run=None) for run in runs)
    assert first == second
    assert first.weights > 0


def test_training_takes_as_many_sentences_as_are_allowed(folder: Path) -> None:
    assert task_of(folder, "tags: trees", sentences=2).sizes == (2, 6, 6)
    assert task_of(folder, "tags: trees").sizes == (6, 6, 6)


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("tags: trees", "perceptron"),
        ("arcs: trees", "mira"),
        ("crossing arcs: trees", "mira"),
        ("links: pairs", "perceptron"),
        ("sentences: abstracts", "perceptron"),
        ("phrases: trees", "mira"),
    ],
)
def test_each_kind_is_learned(folder: Path, name: str, learner: str) -> None:
    corpora = {corpus.name: corpus for corpus in find_corpora(folder)}
    task = Task(name, corpora[name.partition(": ")[2]], tags={})
    (row,) = task.run(Run(name, learner, None, 0, 6))
    assert row.test > 0.9  # as on train, whose copy it is
    assert row.weights > 0


def test_a_row_is_read_from_what_is_written() -> None:
    row = Row(run_of("mira", 0.5), 3, 1.5, 0.25, 0.5, None, 7, ["lower[0]"], [(8, 9)])
    values = row._asdict()
    assert make_row(list(values.pop("run")), **values) == row
