"""Martins, Smith, Aguiar & Figueiredo 2011: templates selected by the group lasso.

Structured Sparsity in Structured Prediction, EMNLP.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.papers.exhibits import (
    Claim,
    Exhibit,
    Plot,
    Points,
    Table,
    is_above,
    percent,
    worst,
)
from benchmarks.papers.experiment import Choose, Limits, grid, seeds_of
from benchmarks.papers.kinds import KINDS, corpus_of, kind_of
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import (
    LASSO,
    SELECTING_EPOCHS,
    Row,
    Run,
    templates_of,
)

_EPOCHS = 15
_MIRA_SETTINGS = (0.001, 0.01, 0.1, 1.0)
_LASSO_SETTINGS = (0.1, 0.5, 1.0)
_GROUP_LASSO = "group-lasso"
_FEATURES = "group-lasso, features"  # of which only the features with weights are refitted
_REFITS = (
    f'The paper refits the features with weights alone, as "{_FEATURES}" does; "{_GROUP_LASSO}" '
    "refits all features of the templates that are left."
)
_TITLES = {"information-gain": "information gain"}

#: The last rows of a run and of those that differ from it in their seed, as far as there are any.
_Seeds = Callable[[Row], list[Row]]

_SETUP = (
    f"{SELECTING_EPOCHS} epochs of the sparseptron with a proximal step every 1,000 examples, or "
    "nine in an epoch where that is more, then "
    f"{_EPOCHS - SELECTING_EPOCHS} of unregularized MIRA on what it leaves; MIRA with all "
    f"templates has {_EPOCHS} epochs, and the best C on dev of 0.001, 0.01, 0.1 and 1."
)


class _Selections:
    """Scores and sizes of models with selected templates."""

    name: str
    kinds: Mapping[str, int]
    text: str
    methods: tuple[str, ...] = (_FEATURES, _GROUP_LASSO)
    budgets: tuple[float, ...]
    lasso: tuple[float, ...] = ()
    has_baseline = True
    shown_budget: float

    def _groups(self, task: str, limits: Limits) -> dict[str, list[Run]]:
        """The runs by method; those of MIRA differ in C, of which one is chosen."""
        epochs = limits.of(_EPOCHS)
        sparse = max(epochs, SELECTING_EPOCHS + 1)  # at least one epoch to refit
        groups = {}
        if self.has_baseline:
            groups["mira"] = grid(Run(task, "mira", None, 0, epochs), _MIRA_SETTINGS)
        if self.lasso:
            groups[LASSO] = grid(Run(task, LASSO, None, 0, epochs), self.lasso)
        for method in self.methods:
            groups[method] = grid(Run(task, method, None, 0, sparse), self.budgets)
        return groups

    def _shown(self, of_budgets: Sequence[Any]) -> Any:
        """Of runs or rows by budget, the one that a figure or table shows."""
        return of_budgets[self.budgets.index(self.shown_budget)]

    def runs(self, task: str, limits: Limits, best: Choose) -> Iterator[Run]:
        """See ``Experiment``."""
        groups = self._groups(task, limits)
        for runs in groups.values():
            yield from runs
        for run in self._compared(groups, best):
            yield from seeds_of(run, limits)

    def _compared(self, groups: Mapping[str, list[Run]], best: Choose) -> list[Run]:
        """The runs that claims compare, which are made with each seed: the best on dev of each."""
        return [best(runs) for runs in groups.values()]

    def _found(self, task: str, limits: Limits, results: Results) -> dict[str, list[Row]]:
        """The last row of each run by method, for MIRA of the best one alone."""
        groups = self._groups(task, limits)
        if self.has_baseline:
            groups["mira"] = [results.best(groups["mira"])]
        return {method: [results.last(run) for run in runs] for method, runs in groups.items()}

    def show(self, tasks: Sequence[str], limits: Limits, results: Results) -> Exhibit:
        """See ``Experiment``."""
        rows, claims, plots = [], [], []

        def seeds(row: Row) -> list[Row]:
            return [results.last(run) for run in seeds_of(row.run, limits) if run in results]

        for task in tasks:
            found = self._found(task, limits, results)
            rows += [
                (
                    task,
                    method,
                    _setting(row),
                    percent(row.dev),
                    percent(_tests(seeds(row))),
                    f"{row.weights:,}",
                )
                for method, last in found.items()
                for row in last
            ]
            claims += self._claims(task, found, seeds, results)
            lines = {method: _by_size(last) for method, last in found.items()}
            plots.append(Plot(task, ("features", "score on test"), lines, (True, False)))
        header = ("task", "method", "setting", "dev, %", "test, %", "features")
        table = Table(
            "Scores and sizes with the first seed; what claims compare has the scores of all",
            header,
            rows,
        )
        tables = [table, *self._further_tables(tasks, limits, results)]
        plots += self._further_plots(tasks, limits, results)
        return Exhibit(self.name, self.text, claims, tables, plots)

    def _claims(
        self, task: str, found: Mapping[str, list[Row]], seeds: _Seeds, results: Results
    ) -> list[Claim]:
        raise NotImplementedError

    def _further_tables(
        self, tasks: Sequence[str], limits: Limits, results: Results
    ) -> list[Table]:
        return []

    def _further_plots(self, tasks: Sequence[str], limits: Limits, results: Results) -> list[Plot]:
        return []


def _setting(row: Row) -> str:
    name = "C" if row.run.learner in ("mira", LASSO) else "templates"
    return f"{name} = {row.run.setting:g}"


def _by_size(rows: Sequence[Row]) -> Points:
    return sorted((row.weights, 100 * row.test) for row in rows)


def _best(rows: Sequence[Row]) -> Row:
    """The best row on dev."""
    return max(rows, key=lambda row: row.dev)


def _tests(rows: Sequence[Row]) -> list[float]:
    return [row.test for row in rows]


def _show(rows: Sequence[Row]) -> str:
    """A run with each seed."""
    first, weights = rows[0], fmean(row.weights for row in rows)
    score = percent(_tests(rows))
    return f"{first.run.learner} ({_setting(first)}) {score} with {weights:,.0f} features"


def _is_share_below(most: float, shares: Sequence[float]) -> str:
    """The verdict on shares of each seed that are to be below a number."""
    return is_above([most] * len(shares), shares)


class Phrases(_Selections):
    """Table 1 and Figure 2: chunks, and the memory that learning takes."""

    name = "MSAF11, Table 1 and Figure 2: chunks"
    kinds: Mapping[str, int] = {"phrases": 1}
    budgets = (10, 20, 30, 40, 50)
    text = (
        f"96 templates. {_SETUP} {_REFITS} The paper has CoNLL-2000, whose tags are predicted. "
        "Where no such corpus is given, phrases are taken from trees by rule, and tags are gold. "
        "Figure 2 counts the features with weights, with 30 templates."
    )
    shown_budget = 30

    def _compared(self, groups: Mapping[str, list[Run]], best: Choose) -> list[Run]:
        curves = best(groups["mira"]), self._shown(groups[_FEATURES])
        return [
            *super()._compared(groups, best),
            *(run._replace(rows_every=1) for run in curves),
        ]

    def _claims(
        self, task: str, found: Mapping[str, list[Row]], seeds: _Seeds, results: Results
    ) -> list[Claim]:
        mira, best = seeds(found["mira"][0]), seeds(_best(found[_FEATURES]))
        curves = [self._memory(found, results, row.run.seed).values() for row in mira]
        peaks = [[max(size for _, size in line) for line in lines] for lines in curves]
        shares = [sparse / dense for dense, sparse in peaks]
        scores = ", ".join(percent(row.test) for row in found[_FEATURES])
        return [
            Claim(
                "Selected templates score as high as all of them (within 0.2), or higher",
                task,
                f"{_show(mira)}; the best budget on dev: {_show(best)}; all budgets: {scores}",
                is_above(_tests(best), _tests(mira), slack=0.002),
            ),
            Claim(
                "The sparseptron needs less than 7.5 % of the memory of MIRA (Figure 2)",
                task,
                f"at its peak {percent(shares, 1)} % of the features of MIRA",
                _is_share_below(0.075, shares),
            ),
        ]

    def _memory(
        self, found: Mapping[str, list[Row]], results: Results, seed: int = 0
    ) -> dict[str, Points]:
        """The features in memory by epoch, of MIRA and with the budget that is shown."""
        chosen = found["mira"][0], self._shown(found[_FEATURES])
        mira, rows = (results.rows(row.run._replace(seed=seed, rows_every=1)) for row in chosen)
        examples = rows[0].steps[-1][0] / SELECTING_EPOCHS  # of an epoch
        steps = [(seen / examples, size) for seen, size in rows[0].steps]
        return {
            "MIRA": [(row.epoch, row.weights) for row in mira],
            f"sparseptron + MIRA ({self.shown_budget} templates)": [
                *steps,
                *((row.epoch, row.weights) for row in rows),
            ],
        }

    def _further_plots(self, tasks: Sequence[str], limits: Limits, results: Results) -> list[Plot]:
        """Figure 2."""
        return [
            Plot(
                f"{task}: features in memory",
                ("epochs", "features with weights"),
                self._memory(self._found(task, limits, results), results),
            )
            for task in tasks
        ]


class Entities(_Selections):
    """Table 2: entities in several languages."""

    name = "MSAF11, Table 2: entities"
    kinds: Mapping[str, int] = {"entities, 452 templates": 3}
    budgets = (100, 200, 300)
    lasso = _LASSO_SETTINGS
    text = (
        f"452 templates. {_SETUP} {_REFITS} The lasso is over single features, for {_EPOCHS} "
        "epochs, with C = 1 / (lambda m), and is not refitted. The paper has CoNLL-2002 and 2003 "
        "in Spanish, Dutch and English. Tags are those of a treebank with the same sentences, if "
        "one is given."
    )

    def _claims(
        self, task: str, found: Mapping[str, list[Row]], seeds: _Seeds, results: Results
    ) -> list[Claim]:
        mira, lasso = seeds(found["mira"][0]), seeds(_best(found[LASSO]))
        best = seeds(_best(found[_FEATURES]))
        shares = [own.weights / whole.weights for own, whole in zip(best, mira, strict=True)]
        return [
            Claim(
                "Selected templates score higher than all templates and than the lasso",
                task,
                f"the best on dev of each: {_show(best)}; {_show(mira)}; {_show(lasso)}",
                worst([is_above(_tests(best), _tests(rival)) for rival in (mira, lasso)]),
            ),
            Claim(
                "Models with selected templates have less than half of the features",
                task,
                f"{percent(shares, 1)} %",
                _is_share_below(0.5, shares),
            ),
        ]


class Arcs(_Selections):
    """Figure 3 and Table 3: arcs in several languages, and the templates that are kept."""

    name = "MSAF11, Figure 3 and Table 3: arcs"
    kinds: Mapping[str, int] = {"crossing arcs, 684 templates": 6}
    methods = (_GROUP_LASSO, "coarse-to-fine", "lasso by template", "information-gain")
    budgets = (200, 300, 400)
    has_baseline = False
    _rivals = ("information-gain", "coarse-to-fine")
    text = (
        f"684 templates, trees whose arcs may cross, the first 1,000 sentences of train. {_SETUP} "
        "The lasso shrinks single features, and keeps the templates with the largest norms; that "
        "of the paper keeps features. The paper has the six smallest treebanks of CoNLL-X."
    )
    shown_budget = 200

    def _compared(self, groups: Mapping[str, list[Run]], best: Choose) -> list[Run]:
        return [run for method in (_GROUP_LASSO, *self._rivals) for run in groups[method]]

    def _claims(
        self, task: str, found: Mapping[str, list[Row]], seeds: _Seeds, results: Results
    ) -> list[Claim]:
        by_budget = {
            method: [_tests(seeds(row)) for row in found[method]]
            for method in (_GROUP_LASSO, *self._rivals)
        }
        means = {
            method: [*map(fmean, zip(*scores, strict=True))] for method, scores in by_budget.items()
        }

        def claim(rival: str) -> Claim:
            budgets = zip(by_budget[_GROUP_LASSO], by_budget[rival], strict=True)
            pairs = ", ".join(f"{percent(own)} / {percent(other)}" for own, other in budgets)
            return Claim(
                f"The group lasso selects better than {_TITLES.get(rival, rival)}",
                task,
                f"by budget, from the smallest: {pairs}",
                is_above(means[_GROUP_LASSO], means[rival]),
            )

        return [*map(claim, self._rivals)]

    def _further_tables(
        self, tasks: Sequence[str], limits: Limits, results: Results
    ) -> list[Table]:
        """Table 3."""
        found = (self._found(task, limits, results)[_GROUP_LASSO] for task in tasks)
        kept = [set(self._shown(rows).templates) for rows in found]
        every = templates_of(KINDS[kind_of(tasks[0])])
        marks = [
            (category, *(_mark(category, every, templates) for templates in kept))
            for category in CATEGORIES
        ]
        title = (
            f"Templates kept of {len(every)}, with a budget of {self.shown_budget}: ++ for more "
            "than half of a category, + for more than a tenth"
        )
        return [Table(title, ("templates", *map(corpus_of, tasks)), marks)]


def _side(template: str, side: str) -> str:
    """What a template reads of the head or the dependent itself."""
    names = {part.partition(".")[2] for part in template.split("+") if part.startswith(side)}
    if names & {"lower", "lemma"}:
        return "word"
    return "shape" if "shape" in names else "tag"


#: The rows of Table 3: which templates they are about.
CATEGORIES: dict[str, Callable[[str], bool]] = {
    "bilexical": lambda t: (_side(t, "head"), _side(t, "dependent")) == ("word", "word"),
    "word -> tag": lambda t: (_side(t, "head"), _side(t, "dependent")) == ("word", "tag"),
    "tag -> word": lambda t: (_side(t, "head"), _side(t, "dependent")) == ("tag", "word"),
    "tag -> tag": lambda t: (_side(t, "head"), _side(t, "dependent")) == ("tag", "tag"),
    "tags beside": lambda t: "pos[" in t,
    "shape": lambda t: "shape" in t,
    "direction": lambda t: "direction" in t,
    "distance": lambda t: "distance" in t,
}


def _mark(category: str, every: Sequence[str], kept: set[str]) -> str:
    members = [template for template in every if CATEGORIES[category](template)]
    share = sum(template in kept for template in members) / len(members)
    return "++" if share > 0.5 else "+" if share > 0.1 else ""


EXPERIMENTS = (Phrases(), Entities(), Arcs())
