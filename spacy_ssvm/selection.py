"""Selection of templates before training [MSAF11, section 4].

    selector = chain_selector(model, docs, gold)
    for budget in (50, 40, 30):
        selected = selector.select(Selection(budget=budget), warm_start=True)
    model.define(selected.templates, ...)

The model is then trained from scratch on the selected templates, with any solver: the weights of
the selection are discarded.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from spacy_ssvm.features.statistics import Statistics
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.solvers.prox_gradient import (
    LOSSES,
    TEMPLATE_GROUPS,
    ProxGradient,
    ProxGradientRun,
    Step,
    TemplateWeights,
    check_penalties,
)
from spacy_ssvm.solvers.run import (
    check_choice,
    check_positive,
    check_whole,
    invalid_setting,
)
from spacy_ssvm.structure import GroupedProblem

METHODS = ("group-lasso", "lasso", "information-gain", "none")
REFITS = ("templates", "features")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Settings of a selection.

    method: 'group-lasso', over groups of templates; 'lasso', over single weights;
        'information-gain', which ranks templates without weights; 'none' keeps all.
    budget: the number of templates to keep; fewer are kept where no more have weights. The lasso,
        and groups of attributes, keep the largest norms divided by log2 of the template's size.
    strength: of the lassos instead of a budget, see ``ProxGradient``; keeps what has weights.
    groups: of the group lasso, 'template', 'coarse-to-fine' or 'attribute'.
    l1, l2, l2_norm, freeze_after, loss, eta0, seed: see ``ProxGradient``.
    epochs: passes over the examples.
    refit: what is learned then: 'templates', all features of the templates that are kept, or
        'features', only the features and labels that the selection has given weights, as in
        MSAF11, section 4, of components that label tokens.
    prox_period: examples between proximal steps; None for all label sequences, but 1000 of
        features, lemmas, trees, or tags with candidates.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> selection = {"@misc": "spacy_ssvm.Selection.v1", "budget": 20}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"selection": selection})
    >>> tagger.selection.budget
    20
    """

    method: str = "group-lasso"
    budget: int | None = None
    strength: float | None = None
    groups: str = "template"
    l1: float = 0.0
    l2: float = 0.0
    l2_norm: float = 0.0
    freeze_after: int | None = None
    loss: str = "perceptron"
    epochs: int = 5
    prox_period: int | None = None
    eta0: float = 1.0
    seed: int = 0
    refit: str = "templates"

    def __post_init__(self) -> None:
        check_choice(self, "method", METHODS)
        check_choice(self, "groups", (*TEMPLATE_GROUPS, "attribute"))
        check_choice(self, "loss", tuple(LOSSES))
        check_choice(self, "refit", REFITS)
        if self.refit == "features" and self.method in ("none", "information-gain"):
            problem = f"is '{self.refit}', but the method '{self.method}' gives no weights"
            raise invalid_setting(self, "refit", problem)
        if self.method != "none":
            if self.budget is None and self.strength is None:
                problem = "is not set: set it to the number of templates to keep, or set strength"
                raise invalid_setting(self, "budget", problem)
            if self.budget is not None and self.strength is not None:
                raise invalid_setting(self, "budget", "and strength are both set: choose one")
        if self.budget is not None:
            check_whole(self, "budget", least=1)
        if self.strength is not None:
            check_positive(self, "strength")
            if self.method == "information-gain":
                problem = "is set, but the information gain needs a budget"
                raise invalid_setting(self, "strength", problem)
        check_penalties(self)
        check_positive(self, "eta0")
        check_whole(self, "epochs", least=1)
        if self.prox_period is not None:
            check_whole(self, "prox_period", least=1)
        check_whole(self, "seed")

    def check_templates(self, number: int) -> None:
        """Raise ValueError where there are too few templates to choose from."""
        if self.budget is not None and self.budget > number:
            raise ValueError(f"budget is {self.budget}, but there are only {number} templates")

    def solver(self, problem: "LazyProblem") -> ProxGradient:
        """The solver of a method that has one, for a problem.

        Where single weights or attributes are shrunk, a budget does not determine the strength: a
        pass over the examples then shrinks by as much as one step of the perceptron adds.
        """
        groups = "weight" if self.method == "lasso" else self.groups
        budget, strength = self.budget, self.strength
        if strength is None and groups not in TEMPLATE_GROUPS:
            budget, strength = None, 1 / max(problem.number_of_examples, 1)
        return ProxGradient(
            budget=budget,
            strength=strength,
            groups=groups,
            l1=self.l1,
            l2=self.l2,
            l2_norm=self.l2_norm,
            freeze_after=None if budget is None else self.freeze_after,
            loss=self.loss,
            prox_period=problem.shrink_after if self.prox_period is None else self.prox_period,
            eta0=self.eta0,
            seed=self.seed,
        )


class SelectedTemplate(NamedTuple):
    """A template of those there were to choose from."""

    template: str
    is_kept: bool
    norm: float  #: of its weights; 0 without a solver
    rows: int  #: features with weights
    share: float  #: of the sum of all |w|, between 0 and 1
    features: int  #: in the corpus
    gain: float  #: information gain, in bits


class Selected(NamedTuple):
    """The result of a selection."""

    settings: Selection
    kept: Ints  #: int64: the numbers of the templates kept, rising
    templates: tuple[Any, ...]  #: the selected ones, and those not subject to selection
    table: tuple[SelectedTemplate, ...]  #: all candidate templates
    history: tuple[Step, ...]  #: of the solver's run: one entry for each proximal step
    peak_bytes: int  #: the peak memory of the features and weights of the solver
    seconds: float
    support: object  #: where ``refit`` is 'features', a ``weights.lazy.Support``; or None

    @property
    def texts(self) -> list[str]:
        """The templates of the model, as a config lists them."""
        return [str(template) for template in self.templates]


class LazyProblem(GroupedProblem, Protocol):
    """A problem, as selections need it."""

    @property
    def shrink_after(self) -> int:
        """The default of ``prox_period``, in examples."""

    def forget_completions(self) -> None:
        """Discard the completions of partial gold."""

    def reset_weights(self) -> None:
        """Start again without weights."""


class Selector:
    """Selects among the templates of a problem, once or several times.

    templates: the candidates.
    statistics: of the templates.
    others: templates that the model keeps in any case, and that the problem does not know.
    """

    def __init__(
        self,
        templates: Sequence[Any],
        problem: LazyProblem,
        statistics: Statistics,
        *,
        others: Sequence[Any] = (),
    ) -> None:
        self.templates = tuple(templates)
        self.others = tuple(others)
        self.problem = problem
        self.statistics = statistics
        self._run: ProxGradientRun | None = None

    def select(
        self,
        settings: Selection,
        *,
        warm_start: bool = False,
        report: Callable[[int, Step], None] | None = None,
    ) -> Selected:
        """Select templates.

        warm_start: whether the solver starts from the weights of the previous selection, for a path
            of budgets.
        report: called with the number of each epoch, from 1, and its last proximal step.
        Raises ValueError where the budget is above the number of templates, and where none
        has weights in the end.
        """
        settings.check_templates(len(self.templates))
        start = time.perf_counter()
        T = len(self.templates)
        weights = TemplateWeights(np.zeros(T), np.zeros(T, dtype=np.int64), np.zeros(T))
        history: tuple[Step, ...] = ()
        if settings.method == "none":
            kept = np.arange(T)
        elif settings.method == "information-gain":
            kept = _best(self.statistics.gains, settings.budget)
        else:
            run = self._start(settings, warm_start)
            numbers = np.arange(self.problem.number_of_examples)
            for epoch in range(settings.epochs):
                run.epoch(numbers)
                if report is not None and run.history:
                    report(epoch + 1, run.history[-1])
            history = tuple(run.history)
            weights = run.template_weights()
            kept = _best(weights.norms / run.template_costs, settings.budget)
            kept = kept[weights.norms[kept] > 0]
        if not len(kept):
            raise ValueError("no template has weights: is there anything to learn?")
        return Selected(
            settings=settings,
            kept=kept,
            templates=(*(self.templates[m] for m in kept), *self.others),
            table=self._table(kept, weights),
            history=history,
            peak_bytes=self.problem.store.peak_bytes,
            seconds=time.perf_counter() - start,
            support=self._support(kept) if settings.refit == "features" else None,
        )

    def order(self) -> list[tuple[str, str]]:
        """The Hasse diagram of the templates [MSAF11, Fig. 1], from coarse to fine.

        Pairs of a template and one that refines it, with none between them; none at all where
        the order of the templates is not known.
        """
        if self.problem.refines is None:
            return []
        refines = self.problem.refines & ~self.problem.refines.T  # of equals, neither
        counts = refines.astype(np.float32)
        pairs = np.argwhere(refines & (counts @ counts == 0))
        return [(str(self.templates[a]), str(self.templates[b])) for a, b in pairs]

    def _start(self, settings: Selection, warm_start: bool) -> ProxGradientRun:
        solver = settings.solver(self.problem)
        if self._run is None or not warm_start:
            self.problem.forget_completions()
            self.problem.reset_weights()
            self._run = solver.start(self.problem)
            self._run.grow(0)
        self._run.go_on(solver)
        return self._run

    def _support(self, kept: Ints) -> object:
        """The weights of templates that are not zero."""
        return cast(Any, self.problem).support(kept)  # of words, see ``Pipe.check_selection``

    def _table(self, kept: Ints, weights: TemplateWeights) -> tuple[SelectedTemplate, ...]:
        shares = weights.masses / max(weights.masses.sum(), np.finfo(float).tiny)
        arrays = weights.norms, weights.rows, shares, *self.statistics
        columns = [column.tolist() for column in arrays]
        is_kept = np.isin(np.arange(len(self.templates)), kept).tolist()
        return tuple(
            SelectedTemplate(str(template), *row)
            for template, *row in zip(self.templates, is_kept, *columns, strict=True)
        )


def _best(values: Floats, budget: int | None) -> Ints:
    """The numbers of the largest values, of equal ones the first; all without a budget."""
    kept: Ints = np.sort(np.argsort(-values, kind="stable")[:budget])
    return kept
