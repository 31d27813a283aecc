"""Online proximal gradient with groups of templates [MSAF11 Alg. 1].

    each example:                 w -= eta_t grad loss(w; x_i, y_i)
    each prox_period examples:    w = prox(w), of (sum_t eta_t) lambda sum_m d_m |w_m|,

where eta_t = eta0 / sqrt(epoch of t), and t runs over the examples since the last proximal step:
Algorithm 1 makes one of weight eta_t lambda after each example. With a budget, lambda is chosen
at each proximal step so that this number of templates is left; it may be frozen after some passes,
so that it is that of one objective [MSAF11, footnote 6]. With the perceptron loss and no l2, eta0
only scales the weights; with a budget this is the sparseptron. The result is the last w, which
selects templates and is not meant for prediction.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1, tuple_of
from spacy_ssvm.objective import HINGE, LOG_LOSS, PERCEPTRON_LOSS, Loss
from spacy_ssvm.penalties import (
    TemplateGroups,
    coarse_to_fine_groups,
    description_lengths,
    disjoint_groups,
    penalty,
    shrink,
    shrink_to_budget,
)
from spacy_ssvm.solvers.run import (
    PrimalRun,
    check_choice,
    check_not_negative,
    check_positive,
    check_whole,
    invalid_setting,
)
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    HINGE_ORACLES,
    NEEDS_CAPACITY,
    Decode,
    Difference,
    ExampleArrays,
    Expect,
    ExpectedDifference,
    GroupedProblem,
)
from spacy_ssvm.weights.groups import (
    GroupedWeights,
    GroupedWeightsType,
    add_to_groups,
    measure_groups,
    multiply_out,
    scaled_dot,
    square_features,
    threshold_features,
    threshold_weights,
)

LOSSES: dict[str, Loss] = {"perceptron": PERCEPTRON_LOSS, "hinge": HINGE, "log": LOG_LOSS}

#: Groups that are shrunk together: templates, with those that need them; a feature with all
#: labels; or each weight by itself, which makes the lasso.
TEMPLATE_GROUPS = ("template", "coarse-to-fine")
GROUPS = (*TEMPLATE_GROUPS, "attribute", "weight")


def check_penalties(settings: Any) -> None:
    """Raise ConfigValidationError where l1, l2, l2_norm or freeze_after is invalid."""
    check_not_negative(settings, "l1", "l2", "l2_norm")
    if settings.freeze_after is not None:
        check_whole(settings, "freeze_after", least=1)
        if settings.budget is None:
            problem = "is for a budget: a strength does not change"
            raise invalid_setting(settings, "freeze_after", problem)


@dataclass(frozen=True, kw_only=True)
class ProxGradient:
    """Settings of the solver.

    budget: the number of templates left after each proximal step.
    strength: instead of a budget, lambda, where losses are averaged over the examples.
    groups: one of GROUPS. Those of templates have the weight d = log2 of their number of weights,
        those of an attribute log2 of the number of labels, weights 1.
    l1, l2: additional lambdas of |w|_1 and 1/2 |w|^2: sparse group lasso, and elastic net.
    l2_norm: an additional lambda of |w|, not squared. With groups = 'weight', this is the elastic
        net as a tree of groups [MSAF11, section 3.1].
    freeze_after: with a budget, the number of passes over all examples after which lambda stays:
        at its mean over the proximal steps of the last of these passes. More or fewer templates
        than the budget may then be left. None to find it at each step.
    loss: 'perceptron', 'hinge' or 'log', which touches all features of an example.
    prox_period: examples between proximal steps. There is one after a pass over all examples, too.
    eta0: the first step.
    seed: of the order of examples.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.ProxGradient.v1", "strength": 1e-5}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.strength
    1e-05
    """

    budget: int | None = None
    strength: float | None = None
    groups: str = "template"
    l1: float = 0.0
    l2: float = 0.0
    l2_norm: float = 0.0
    freeze_after: int | None = None
    loss: str = "perceptron"
    prox_period: int = 1000
    eta0: float = 1.0
    seed: int = 0
    C: ClassVar[float] = 1.0
    allocates: ClassVar[bool] = False
    keeps_signs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choice(self, "groups", GROUPS)
        check_choice(self, "loss", tuple(LOSSES))
        if self.budget is None and self.strength is None:
            problem = "or strength must be set"
            raise invalid_setting(self, "budget", problem)
        if self.budget is not None:
            if self.strength is not None:
                problem = "and strength are both set: a budget finds its strength"
                raise invalid_setting(self, "budget", problem)
            check_whole(self, "budget", least=1)
            if self.groups not in TEMPLATE_GROUPS:
                problem = f"counts templates, but groups is '{self.groups}': set strength"
                raise invalid_setting(self, "budget", problem)
        else:
            check_not_negative(self, "strength")
        check_penalties(self)
        check_whole(self, "prox_period", least=1)
        check_positive(self, "eta0")
        check_whole(self, "seed")

    @property
    def loss_function(self) -> Loss:
        """The loss that is minimized over the examples."""
        return LOSSES[self.loss]

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that the solver calls."""
        return self.loss_function.oracles

    def start(self, problem: Any, prior: Floats | None = None) -> "ProxGradientRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return ProxGradientRun(self, problem, prior)


class Step(NamedTuple):
    """The state after a proximal step."""

    examples: int  #: seen so far
    loss: float  #: mean per example, since the last step
    strength: float  #: lambda
    allocated_before: int  #: weights in memory before
    templates: int  #: the number with weights
    allocated: int  #: weights in memory after


class TemplateWeights(NamedTuple):
    """By template."""

    norms: Floats  #: float64 [T]
    rows: Ints  #: int64 [T]: features with weights
    masses: Floats  #: float64 [T]: the sum of |w|


class ProxGradientRun(PrimalRun):
    """The weights, which live in the store of the problem, and the passes that change them."""

    problem: GroupedProblem
    settings: ProxGradient
    _can_allocate = True  # where the problem has groups of weights

    def __init__(
        self, settings: ProxGradient, problem: GroupedProblem, prior: Floats | None
    ) -> None:
        self.store = problem.store
        super().__init__(settings, problem, prior)
        self.history: list[Step] = []
        self._start = 0  # what was seen before these settings
        self._seen = 0
        self._since = 0  # the last proximal step
        self._etas = 0.0  # their sum since then
        self._met = 0.0
        self._squares: Floats = np.zeros(0)

    @property
    def _w(self) -> Floats:
        """The weights as they are stored."""
        return self.store.w

    @_w.setter
    def _w(self, w: Floats) -> None:
        self.store.w = w

    def go_on(self, settings: ProxGradient) -> None:
        """Go on from the weights with other settings."""
        self.settings = settings
        self.history.clear()
        self._start = self._seen

    def grow(self, rows: int) -> None:
        super().grow(rows)
        if len(self.store.weights().scales) > len(self._squares):
            self._squares = self.template_weights().norms ** 2

    def template_weights(self) -> TemplateWeights:
        """Norms and counts of the weights of each template, computed from the weights."""
        weights = self.store.weights()
        T = len(weights.scales)
        squares, rows, masses = np.zeros(T), np.zeros(T, dtype=np.int64), np.zeros(T)
        measure_groups(weights, self.store.row_features(), squares, rows, masses)
        return TemplateWeights(np.sqrt(squares), rows, masses)

    @property
    def w(self) -> Floats:
        w: Floats = multiply_out(self.store.weights())
        return w

    @property
    def norms(self) -> Floats:
        """|w_m| of each template: float64 [T]."""
        norms: Floats = np.sqrt(np.maximum(self._squares, 0.0))  # a difference of rounded sums
        return norms

    @property
    def template_costs(self) -> Floats:
        """log2 of the number of weights that each template can have: float64 [T]."""
        return description_lengths(self.problem.group_sizes)

    @property
    def template_groups(self) -> TemplateGroups:
        """The groups as they are now: a problem may grow."""
        problem = self.problem
        if self.settings.groups == "coarse-to-fine":
            if problem.refines is None:
                raise ValueError(
                    "groups is 'coarse-to-fine': the problem has no order of templates"
                )
            return coarse_to_fine_groups(problem.group_sizes, problem.refines)
        return disjoint_groups(self.template_costs)

    @property
    def regularizer(self) -> float:
        """lambda sum_m d_m |w_m|, for all examples; 0 with a budget."""
        settings = self.settings
        if settings.strength is None:
            return 0.0
        groups, w = self.store.weights(), self.w
        weights = w[groups.first :]
        if settings.groups in TEMPLATE_GROUPS:
            value = penalty(self.norms, self.template_groups)
        elif settings.groups == "attribute":
            squares = np.zeros(len(groups.templates))
            square_features(groups, w, self.store.row_features(), squares)
            value = _feature_weight(groups.labels) * float(np.sqrt(squares).sum())
        else:
            value = float(np.abs(weights).sum())
        value = settings.strength * value + settings.l1 * float(np.abs(weights).sum())
        square = float(weights @ weights)
        value += settings.l2_norm * float(np.sqrt(square)) + settings.l2 / 2 * square
        return self.problem.number_of_examples * value

    def epoch(self, numbers: Ints) -> float:
        order = self._shuffled(numbers)
        total, done, size = 0.0, 0, self.problem.number_of_examples
        while done < len(order):
            due = min(self.settings.prox_period - self._since, size - self._seen % size)
            eta = self._eta
            steps, met = self._steps(order[done : done + due], eta)
            if steps < min(due, len(order) - done):
                self.store.reserve()
            done += steps
            total += met
            self._met += met
            self._seen += steps
            self._since += steps
            self._etas += steps * eta
            if self._since and (self._since == self.settings.prox_period or self._seen % size == 0):
                self.proximal_step()
        return total

    def _steps(self, order: Ints, eta: float) -> tuple[int, float]:
        """Gradient steps while the capacity suffices: the number of examples, and their losses."""
        problem, loss = self.problem, self.settings.loss_function
        arrays = problem.structure, problem.examples(), order, eta
        state = self.store.weights(), self._squares
        if loss.beta is None:
            found = _violator_steps(*arrays, float(loss.gamma), problem.max_entries, *state)
        else:
            scales = float(loss.beta), float(loss.gamma)
            found = _expected_steps(*arrays, *scales, problem.max_expected_entries, *state)
        steps, losses = found
        return int(steps), float(losses)

    @property
    def _eta(self) -> float:
        epoch = 1 + self._seen // max(self.problem.number_of_examples, 1)
        return self.settings.eta0 / float(np.sqrt(epoch))

    @property
    def _frozen_strength(self) -> float | None:
        """The mean lambda of the pass after which it stays; None where it does not, yet."""
        size, passes = self.problem.number_of_examples, self.settings.freeze_after
        if passes is None or self._seen <= self._start + passes * size:
            return None
        last = self._start + passes * size
        found = [step.strength for step in self.history if last - size < step.examples <= last]
        return sum(found) / len(found)

    def proximal_step(self) -> None:
        """Shrink the weights, in proportion to the gradient steps since the last time."""
        settings, store = self.settings, self.store
        weights = store.weights()
        weight = self._etas
        strength = settings.strength or 0.0
        l1 = settings.l1 + (strength if settings.groups == "weight" else 0.0)
        if l1 > 0:
            threshold_weights(weight * l1, weights)
        if settings.groups == "attribute":
            tau = weight * strength * _feature_weight(weights.labels)
            threshold_features(tau, weights, store.row_features())
        if l1 > 0 or settings.groups == "attribute":
            self._squares = self.template_weights().norms ** 2
        before = self.norms
        after = before
        frozen = self._frozen_strength
        if settings.budget is not None and frozen is None:
            after, tau = shrink_to_budget(before, self.template_groups, settings.budget)
            strength = tau / weight
        elif settings.groups in TEMPLATE_GROUPS:
            strength = strength if frozen is None else frozen
            after = shrink(before, self.template_groups, weight * strength)
        norm = float(np.sqrt(after @ after))
        after = after * max(1 - weight * settings.l2_norm / norm, 0.0) if norm > 0 else after
        factors = np.divide(after, before, out=np.zeros(len(after)), where=before > 0)
        factors /= 1 + weight * settings.l2
        allocated = store.allocated
        store.rescale(factors)
        self._squares = self._squares * factors**2
        store.sweep()
        left = int(np.count_nonzero(after)), store.allocated
        self.history.append(Step(self._seen, self._met / self._since, strength, allocated, *left))
        self._since, self._etas, self._met = 0, 0.0, 0.0


def _feature_weight(labels: int) -> float:
    """d of a feature with so many labels."""
    return float(description_lengths(np.array([labels]))[0])


@oracle_kernel(
    HINGE_ORACLES,
    tuple_of(Int, Float),
    *(Ints1, Float, Float, Int, GroupedWeightsType, Floats1),
)
def _violator_steps(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    eta: float,
    gamma: float,
    max_entries: int,
    weights: GroupedWeights,
    squares: Floats,
) -> tuple[int, float]:
    """A step for each example, as long as the capacity suffices.

    Returns the number of examples, and the sum of their losses.
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    total = 0.0
    for position in range(len(order)):
        i = order[position]
        y, cost, _ = decode(examples, i, weights.w, gamma, True)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        if size == NEEDS_CAPACITY:
            return position, total
        total += gamma * cost - scaled_dot(weights, indices, values, 0, size)
        add_to_groups(weights, indices, values, size, eta, squares)
    return len(order), total


@oracle_kernel(
    EXPECTED_ORACLES,
    tuple_of(Int, Float),
    *(Ints1, Float, Float, Float, Int, GroupedWeightsType, Floats1),
)
def _expected_steps(
    expect: Expect,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    order: Ints,
    eta: float,
    beta: float,
    gamma: float,
    max_entries: int,
    weights: GroupedWeights,
    squares: Floats,
) -> tuple[int, float]:
    """``_violator_steps`` for losses with a finite beta."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    total = 0.0
    for position in range(len(order)):
        i = order[position]
        z, loss, _, _ = expect(examples, i, weights.w, beta, gamma, True)
        if len(z) == 0:
            continue
        size = expected_difference(examples, i, z, indices, values)
        if size == NEEDS_CAPACITY:
            return position, total
        total += loss
        add_to_groups(weights, indices, values, size, -eta, squares)
    return len(order), total
