"""Searches for a small set of templates: scores and costs of selections, by method and budget.

Each method selects among the templates of the config, once for each budget, from the largest to
the smallest; the solver starts from the weights of the next larger budget. A model is trained
from scratch on the selected templates by the solver of the config. Times are processor times,
without compilation: a short run of each kind precedes the first that is timed.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from spacy.util import registry
from thinc.api import Config

from spacy_ssvm.files import replacing
from spacy_ssvm.lab.experiment import ComponentExperiment
from spacy_ssvm.lab.run_log import RunLog
from spacy_ssvm.selection import Selected, Selection

#: How each method selects.
METHODS: dict[str, dict[str, Any]] = {
    "group-lasso": {"method": "group-lasso", "groups": "template"},
    "coarse-to-fine": {"method": "group-lasso", "groups": "coarse-to-fine"},
    "lasso": {"method": "lasso"},
    "information-gain": {"method": "information-gain"},
}
ALL = "all"  #: no selection

_ORDER = "order.json"
_WARM_UP_EPOCHS = 2  # some kernels are first used in the second epoch

#: A score counts as good as the best if it is lower by at most this.
SCORE_TOLERANCE = 0.002

#: The columns of the table at the end.
HEADER = (
    "method",
    "templates",
    "features",
    "dev score",
    "selection s",
    "selection MB",
    "learning s",
    "tokens/s",
)


class Point(NamedTuple):
    """The result of a selection."""

    method: str
    budget: int | None  #: None for all templates
    templates: list[str]  #: the selected ones, as a config lists them
    features: int  #: with weights, in the trained model
    score: float  #: the best on the development corpus, between 0 and 1
    selecting: float  #: seconds
    megabytes: float  #: peak memory of features and weights while selecting
    learning: float  #: seconds
    speed: float  #: tokens a second, annotated
    steps: list[tuple[int, int]]  #: while selecting: examples seen, weights in memory


class Search(ComponentExperiment):
    """Selects among the templates of a component, and trains on the selected ones.

    The settings of the selection that the methods and budgets leave open are those of the
    component's ``selection`` in the config, if it has any. What is compared are templates: they
    are trained with all their features, whatever ``refit`` is.
    """

    def __init__(
        self,
        config: Config,
        *,
        budgets: Sequence[int],
        component: str | None = None,
        epochs: int | None = None,
    ) -> None:
        super().__init__(config, component=component, epochs=epochs)
        if not budgets or min(budgets) < 1:
            raise ValueError("budgets are numbers of templates above 0")
        self.budgets = sorted(set(budgets), reverse=True)
        block = self.config["components"][self.component]
        base = registry.resolve({"base": block.get("selection")})["base"]
        base = Selection(budget=1) if base is None else base
        self._base = replace(base, strength=None, budget=1, refit="templates")
        block["selection"] = None
        self.config["search"] = {"budgets": self.budgets}
        self.facts["budgets"] = ", ".join(map(str, self.budgets))

    def prepare(self) -> None:
        """Read the corpora.

        Raises ValueError where there are too few templates, or nothing can be selected.
        """
        settings = self.config.pop("search")
        self._examples = self.read()
        self.config["search"] = settings
        self._labels = self._pipe.labels
        self._selector = self._pipe.selector(self._examples)
        Selection(budget=self.budgets[0]).check_templates(len(self._selector.templates))
        self.facts["to choose from"] = str(len(self._selector.templates))
        self.order = self._selector.order()
        self._everything = (*self._selector.templates, *self._selector.others)
        self._learn(self._everything, epochs=_WARM_UP_EPOCHS)

    def run(self, method: str) -> Iterator[Point]:
        """Select by a method with each budget, the largest first."""
        if method == ALL:
            yield self._point(method, None)
            return
        for number, budget in enumerate(self.budgets):
            settings = replace(self._base, **METHODS[method], budget=budget)
            if number == 0:
                self._warm_up(settings)
            start = time.process_time()
            selected = self._selector.select(settings, warm_start=number > 0)
            yield self._point(method, selected, time.process_time() - start)

    def _warm_up(self, settings: Selection) -> None:
        """Compile what the selection needs, before its time is taken."""
        with suppress(ValueError):  # one epoch may leave no template
            self._selector.select(replace(settings, epochs=1))

    def _point(self, method: str, selected: Selected | None, seconds: float = 0.0) -> Point:
        templates = self._everything if selected is None else selected.templates
        score, learning, speed = self._learn(templates, epochs=self.epochs)
        steps = () if selected is None else selected.history
        return Point(
            method=method,
            budget=None if selected is None else selected.settings.budget,
            templates=[str(template) for template in templates],
            features=self._pipe.model.number_of_rows,
            score=score,
            selecting=seconds,
            megabytes=selected.peak_bytes / 1e6 if selected is not None and steps else 0.0,
            learning=learning,
            speed=speed,
            steps=[(step.examples, step.allocated) for step in steps],
        )

    def _learn(self, templates: Sequence[Any], epochs: int) -> tuple[float, float, float]:
        """Learn from scratch; return the best score, seconds of learning and tokens a second."""
        self._pipe.use_templates(templates)
        trainer, numbers = self._pipe.featurize(self._examples)
        best, seconds, speed = 0.0, 0.0, 0.0
        for _ in range(epochs):
            start = time.process_time()
            trainer.epoch(numbers)
            seconds += time.process_time() - start
            best = max(best, self._score())
        docs = [doc.copy() for doc in self._texts]
        start = time.process_time()
        for _ in self._pipe.pipe(docs, batch_size=1000):
            pass
        speed = sum(map(len, docs)) / max(time.process_time() - start, 1e-9)
        return best, seconds, speed


def open_run_log(folder: Path, search: Search, *, resume: bool = False) -> RunLog[Point]:
    """The record of a search, with the points of the methods that have ended."""
    record = RunLog(folder / "select.jsonl", search.config, Point, resume=resume)
    wanted = set(search.budgets)
    found = [(point.method, point.budget) for point in record.rows]
    ended = {
        method
        for method, _ in found
        if method == ALL or wanted <= {budget for other, budget in found if other == method}
    }
    if record.rows:
        record.keep(point for point in record.rows if point.method in ended)
    return record


def write_order(folder: Path, search: Search) -> None:
    """Write the order of the templates to choose from, see ``Selector.order``."""
    with replacing(folder / _ORDER) as beside:
        beside.write_text(json.dumps(search.order), encoding="utf8")


def read_order(folder: Path) -> list[tuple[str, str]]:
    """The order of the templates of a search; nothing where none was written.

    Raises ValueError for a damaged file.
    """
    file = folder / _ORDER
    if not file.exists():
        return []
    try:
        return [(str(coarse), str(fine)) for coarse, fine in json.loads(file.read_bytes())]
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: remove it, or choose another folder") from error


def choose(points: Sequence[Point]) -> Point:
    """The point with the fewest features whose score is near the best."""
    best = max(point.score for point in points)
    return min(
        (point for point in points if point.score >= best - SCORE_TOLERANCE),
        key=lambda point: (point.features, -point.score),
    )


def conclusion(points: Sequence[Point]) -> str:
    """Which point to choose, as a sentence."""
    chosen, best = choose(points), max(points, key=lambda point: point.score)
    size = f"{len(chosen.templates)} templates and {chosen.features:,} features"
    if chosen.score == best.score:
        return f"{name_of(chosen)} has the best score, {100 * best.score:.2f}, with {size}."
    return (
        f"{name_of(chosen)} scores {100 * chosen.score:.2f} with {size}: it is the smallest model "
        f"within {100 * SCORE_TOLERANCE:.1f} of the best score, {100 * best.score:.2f} by "
        f"{name_of(best)}."
    )


def write_config(file: Path, config: Config, component: str, point: Point) -> None:
    """Write a config with the templates of a point in place of those to choose from."""
    written = config.copy()
    written["components"][component].update(templates=point.templates, selection=None)
    file.parent.mkdir(parents=True, exist_ok=True)
    written.to_disk(file, interpolate=False)


def name_of(point: Point) -> str:
    """The name of a point."""
    return point.method if point.budget is None else f"{point.method}-{point.budget}"


def table(points: Sequence[Point]) -> list[tuple[str, ...]]:
    """The points as text, by the columns of ``HEADER``."""
    return [
        (
            point.method,
            str(len(point.templates)),
            f"{point.features:,}",
            f"{100 * point.score:.2f}",
            "-" if point.budget is None else f"{point.selecting:.1f}",
            "-" if not point.megabytes else f"{point.megabytes:.1f}",
            f"{point.learning:.1f}",
            f"{point.speed:,.0f}",
        )
        for point in points
    ]
