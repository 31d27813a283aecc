"""The extragradient method on the L1-loss structural SVM, as a saddle point [TLJ05].

    min_w max_z  L(w, z) = 1/(2C) |w - w_0|^2 + sum_i w . (F_i z_i - phi(x_i, y_i)) + Delta_i(z_i)

Each z_i is a point of the convex hull of the legal structures of example i, or of a polytope with
the same maximum (``projections``), so that C times the maximum over z is the primal of
``frank_wolfe.py``, and C times the minimum over w is a dual in closed form: with
G = sum_i F_i z_i - phi(x_i, y_i) it is at w = w_0 - C G, where negative ones of the weights that
are kept >= 0 become 0. An iteration makes two steps of length beta from (w, z), over all examples,
the second with the gradients met by the first [TLJ05 Eqs. 3 to 6]:

    (w', z') = proj(w - beta grad_w L(w, z),    z + beta grad_z L(w, z))
    (w, z)   = proj(w - beta grad_w L(w', z'),  z + beta grad_z L(w', z'))

Projections are those of one of two distances:

'euclidean'  [TLJ05], by the oracle ``project``; z starts at gold. Convergence is linear.
'entropic'   the Kullback-Leibler divergence of the distributions of greatest entropy with the
             expectations z (mirror prox [Nemirovski 2004]). Their log-potentials are sums of
             all steps, F_i^T A + B c_i with A = sum beta w' and B = sum beta, so z is never
             stored: it is what ``expect`` finds at A / B with the scale B. z starts
             at the uniform distribution over structures.

The step is short enough where

    beta (grad(w', z') - grad(w, z)) . ((w', z') - (w+, z+)) <= nu (V + V+),

grad = (grad_w L, -grad_z L), (w+, z+) is the result of the second step, and V and V+ are the
distances of the first point to the second and of the second to the third: half a squared norm for
w, and for z the same or the divergence [Nemirovski 2004]. With entropic projections the ratio r of
both sides is tested. With Euclidean ones the rule of [TLJ05] is, from which this follows:

    r = beta |grad(w', z') - grad(w, z)| / |(w', z') - (w, z)| <= nu

Norms are over w and z together; the paper adds up one of each in the denominator, which permits
steps up to 1.4 times as long. Where r > nu, the steps are made again with beta 2/3 min(1, 1/r);
where r < nu/3, the next beta is 3/2 as long. The average of all (w', z'), weighted by beta, has a
saddle gap of at most V of the start and the solution over sum beta.

The dual extragradient method [Taskar, Lacoste-Julien & Jordan 2006, JMLR 7] is the variant 'dual'.
Both steps start at the projection of the sum s of all gradients met so far, which the second adds
to, instead of the last projection:

    (w, z) = proj(s),    (w', z') = proj(w - beta grad_w L(w, z), z + beta grad_z L(w, z))
    s = s + beta (-grad_w L(w', z'), grad_z L(w', z'))

The part of s that belongs to z is F_i^T A + B c_i again, so z is found from A and B at each visit,
and no example stores any. It starts next to 0; where examples change, A and B start again. With
entropic projections, z is found like this in both variants.

Partial gold is completed at the first visit, and then as in ``dual_run.py``.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import (
    Bool,
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    named_tuple,
    tuple_of,
)
from spacy_ssvm.lab.projections import ProjectedProblem, with_projection
from spacy_ssvm.objective import HINGE, Loss, losses
from spacy_ssvm.solvers.dual_run import DualRun
from spacy_ssvm.solvers.lbfgs import add_gradients
from spacy_ssvm.solvers.run import (
    check_C,
    check_choice,
    check_not_negative,
    check_positive,
    check_whole,
    invalid_setting,
)
from spacy_ssvm.structure import (
    HINGE_ORACLES,
    ExampleArrays,
    ExpectedDifference,
    Problem,
    Project,
)
from spacy_ssvm.weights.growing import GrowingArray, gather_ranges, longer
from spacy_ssvm.weights.sparse import add_scaled

_SHRINK, _GROW = 2 / 3, 3 / 2
_FIRST_STEP = 1e-6  # from 0, to the structures that are closest to it
_SHORT = 1 / 3  # of nu: steps with a smaller ratio may be longer
_NOISE = 1e-13  # of log-partitions: smaller divergences are rounding


@dataclass(frozen=True, kw_only=True)
class Extragradient:
    """Settings of the solver.

    C: the weight of the losses against the squared norm of the weights, per example.
    variant: 'primal', the method of [TLJ05], or 'dual', which stores nothing for examples.
    projection: 'euclidean' or 'entropic'; None takes the entropic one for structures that have
        probabilities.
    nu: the largest ratio r of a step that is short enough, above 0 and below 1.
    beta: the length of the first step.
    average: whether the result is the average of all (w', z') instead of the last (w, z).
    iterations: in an epoch.
    seed: unused; every solver takes one.
    tolerance: weights no longer change once the relative duality gap, measured
        exactly, is at most this.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.Extragradient.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    C: float = 0.1
    variant: str = "primal"
    projection: str | None = None
    nu: float = 0.9
    beta: float = 1.0
    average: bool = False
    iterations: int = 10
    seed: int = 0
    tolerance: float = 1e-3
    loss_function: ClassVar[Loss] = HINGE
    allocates: ClassVar[bool] = False
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_C(self)
        check_choice(self, "variant", ("primal", "dual"))
        if self.projection is not None:
            check_choice(self, "projection", ("euclidean", "entropic"))
        check_positive(self, "nu", "beta")
        if self.nu >= 1:
            raise invalid_setting(self, "nu", f"is {self.nu}: it must be below 1")
        check_whole(self, "iterations", least=1)
        check_whole(self, "seed")
        check_not_negative(self, "tolerance")

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that the solver calls."""
        by = "project" if self.projection == "euclidean" else "expect"
        return (*HINGE_ORACLES, by, "expected_difference")

    def start(self, problem: Any, prior: Floats | None = None) -> "ExtragradientRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero.

        Raises ValueError where the structures of the problem lack the projection.
        """
        if self.projection is None:
            has_probabilities = problem.structure.expect is not None
            projection = "entropic" if has_probabilities else "euclidean"
            return replace(self, projection=projection).start(problem, prior)
        if self.projection == "entropic":
            return EntropicRun(self, problem, prior)
        problem = with_projection(problem)
        if self.variant == "primal":
            return StoredPointsRun(self, problem, prior)
        return SummedPointsRun(self, problem, prior)


class Sums(NamedTuple):
    """Sums over all examples, at one z."""

    gradient: Floats  #: float64 [weights], G
    cost: float  #: sum_i Delta_i(z_i)
    log_partition: float = 0.0  #: entropic: of the log-potentials less those of gold
    distance: float = 0.0  #: Euclidean: |z - z'|^2, of the z before the step
    turn: float = 0.0  #: Euclidean: |g(w) - g(w')|^2, of the directions of both steps


class Trial(NamedTuple):
    """Both steps of an iteration."""

    beta: float
    w: Floats  #: float64 [weights], as are all w
    start: Sums  #: at z
    predicted_w: Floats  #: w'
    predicted: Sums  #: at z'
    base: Floats  #: w+, or in the dual variant w_0 + s, before signs are kept
    corrected_w: Floats  #: w+
    corrected: Sums  #: at z+


class ExtragradientRun(DualRun):
    """The point (w, z) and the iterations that move it; z is up to the subclass."""

    settings: Extragradient

    def __init__(self, settings: Extragradient, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self._violations = np.zeros(0)
        self._present = np.zeros(0, dtype=bool)  # examples that have not been forgotten
        self._beta = float(settings.beta)
        self._sums = Sums(np.zeros(len(self._w)), 0.0)
        self._is_measured = True  # whether the sums are those of the examples as they are
        self._base = self._w  # of the second step
        self._total_w = np.zeros(len(self._w))
        self._totals = self._sums
        self._total_beta = 0.0
        self._starts_again = False  # whether the averages do, at the next iteration

    # Implemented by subclasses

    def _move(self, w: Floats, beta: float, *, corrects: bool) -> Sums:
        """Step from z by the gradient at w; the result is kept until the next call."""
        raise NotImplementedError

    def _accept(self, w: Floats, beta: float) -> None:
        """Make the result of the last step z. w, beta: of that step."""
        raise NotImplementedError

    def _ratio(self, trial: Trial) -> float:
        """r: up to nu, the steps are short enough."""
        raise NotImplementedError

    # Common to all

    @property
    def _sums_gradients(self) -> bool:
        """Whether the second step starts at the sum of gradients, not at the last weights."""
        return self.settings.variant == "dual"

    @property
    def w(self) -> Floats:
        return self._point()[0]

    @property
    def dual(self) -> float:  # type: ignore[override]
        """The minimum over w at z, or at the gold structures, where it is 0."""
        self._measure()
        _, gradient, cost = self._point()
        w = -self.settings.C * gradient
        w[: len(self._prior)] += self._prior
        self._allow(w)
        change = self._change(w)
        value = float(change @ change) / 2 + self.settings.C * (float(w @ gradient) + cost)
        return max(value, 0.0)

    @property
    def violations(self) -> Floats:
        return self._violations

    def grow(self, rows: int) -> None:
        super().grow(rows)
        size, examples = len(self._w), self.problem.number_of_examples
        self._base = longer(self._base, size)[:size] if self._sums_gradients else self._w
        self._total_w = longer(self._total_w, size)[:size]
        self._sums, self._totals = (
            sums._replace(gradient=longer(sums.gradient, size)[:size])
            for sums in (self._sums, self._totals)
        )
        if examples > len(self._present):
            added = examples - len(self._present)
            self._present = np.append(self._present, np.ones(added, dtype=bool))
            self._violations = np.append(self._violations, np.zeros(added))
            self._is_measured = False

    def forget(self, numbers: Ints) -> None:
        """See ``Run``. The weights forget during the next iterations."""
        self._present[numbers] = False
        self._violations[numbers] = 0.0
        super().forget(numbers)

    def keep(self, numbers: Ints) -> None:
        self._present, self._violations = self._present[numbers], self._violations[numbers]

    def _remove(self, numbers: Ints) -> None:  # noqa: ARG002
        self._is_measured = False

    def _pass(self, numbers: Ints) -> None:  # noqa: ARG002
        """Iterations over all examples, whatever the numbers."""
        self._measure()
        if self._starts_again:
            self._total_w = np.zeros(len(self._w))
            self._totals, self._total_beta = Sums(np.zeros(len(self._w)), 0.0), 0.0
            self._starts_again = False
        for _ in range(self.settings.iterations):
            self._iterate()
        everything = self._numbers()
        self._violations[everything] = losses(self.problem, self.w, everything, HINGE)

    def _numbers(self) -> Ints:
        """The examples that have not been forgotten."""
        return np.flatnonzero(self._present)

    def _measure(self) -> None:
        """Measure z by a step of length 0, where examples have changed.

        The averages of z are no longer those of the examples then; the weights do not change.
        """
        if not self._is_measured:
            self._sums = self._move(self._w, 0.0, corrects=False)
            self._accept(self._w, 0.0)
            self._is_measured = True
            self._starts_again = True

    def _iterate(self) -> None:
        """One iteration, with a step that is short enough."""
        while True:
            trial = self._try(self._beta)
            ratio = self._ratio(trial)
            if not ratio > self.settings.nu:
                break
            self._beta *= _SHRINK * min(1.0, 1 / ratio)
        self._accept(trial.predicted_w, trial.beta)
        self._base = trial.base
        self._w, self._sums = trial.corrected_w, trial.corrected
        self._total_w += trial.beta * trial.predicted_w
        self._totals = Sums(
            self._totals.gradient + trial.beta * trial.predicted.gradient,
            self._totals.cost + trial.beta * trial.predicted.cost,
        )
        self._total_beta += trial.beta
        if ratio < _SHORT * self.settings.nu:
            self._beta *= _GROW

    def _try(self, beta: float) -> Trial:
        """Both steps of an iteration."""
        w, start = self._w, self._sums
        predicted = self._move(w, beta, corrects=False)
        predicted_w = w - beta * self._w_gradient(w, start)
        self._allow(predicted_w)
        corrected = self._move(predicted_w, beta, corrects=True)
        corrected_w = self._base - beta * self._w_gradient(predicted_w, predicted)
        base = corrected_w.copy() if self._sums_gradients else corrected_w
        self._allow(corrected_w)
        return Trial(beta, w, start, predicted_w, predicted, base, corrected_w, corrected)

    def _w_gradient(self, w: Floats, sums: Sums) -> Floats:
        """grad_w L"""
        gradient: Floats = self._change(w) / self.settings.C + sums.gradient
        return gradient

    def _change(self, w: Floats) -> Floats:
        """w - w_0"""
        change: Floats = w.copy()
        change[: len(self._prior)] -= self._prior
        return change

    def _point(self) -> tuple[Floats, Floats, float]:
        """The result: w, and at its z, G and the cost."""
        w, (gradient, cost, *_), total = self._w, self._sums, self._total_beta
        if self.settings.average and total > 0:
            w = self._total_w / total
            if not self._starts_again:
                gradient, cost = self._totals.gradient / total, self._totals.cost / total
        return w, gradient, cost


class SummedRun(ExtragradientRun):
    """A run whose z are found from the sums of all steps: nothing is stored for examples."""

    def __init__(self, settings: Extragradient, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self._potentials = np.zeros(len(self._w))  # A
        self._scale = 0.0  # B

    def grow(self, rows: int) -> None:
        super().grow(rows)
        size = len(self._w)
        self._potentials = longer(self._potentials, size)[:size]

    def _accept(self, w: Floats, beta: float) -> None:
        self._potentials += beta * w
        self._scale += beta


class EntropicRun(SummedRun):
    """A run whose z are distributions, by their log-potentials."""

    def _move(self, w: Floats, beta: float, *, corrects: bool) -> Sums:  # noqa: ARG002
        problem, gradient = self.problem, np.zeros(len(w))
        A, B = self._potentials + beta * w, self._scale + beta
        arrays = problem.structure, problem.examples(), self._numbers()
        scales = (B, 1.0) if B > 0 else (1.0, 0.0)
        state = False, problem.max_expected_entries, A / scales[0], gradient
        loss, _, cost = add_gradients(*arrays, *scales, *state)
        return Sums(gradient, float(cost), log_partition=scales[0] * float(loss))

    def _ratio(self, trial: Trial) -> float:
        """See ``ExtragradientRun``: of both sides of the condition."""
        beta, start, predicted, corrected = (
            trial.beta,
            trial.start,
            trial.predicted,
            trial.corrected,
        )
        first, second = trial.predicted_w - trial.w, trial.predicted_w - trial.corrected_w
        difference = first / self.settings.C + predicted.gradient - start.gradient
        product = difference @ second - first @ (predicted.gradient - corrected.gradient)
        partitions = np.array([sums.log_partition for sums in (start, predicted, corrected)])
        divergences = -np.diff(partitions)
        divergences[0] += beta * (trial.w @ predicted.gradient + predicted.cost)
        divergences[1] += beta * (first @ corrected.gradient)
        bound = (first @ first + second @ second) / 2 + np.maximum(divergences, 0.0).sum()
        if bound <= _NOISE * np.abs(partitions).sum():
            return self.settings.nu
        return float(beta * product / bound)


class EuclideanRun(ExtragradientRun):
    """A run that measures z by Euclidean distances."""

    problem: ProjectedProblem

    def _ratio(self, trial: Trial) -> float:
        """See ``ExtragradientRun``: the r of [TLJ05]."""
        first = trial.predicted_w - trial.w
        difference = first / self.settings.C + trial.predicted.gradient - trial.start.gradient
        distance = float(first @ first) + trial.predicted.distance
        if distance == 0:
            return self.settings.nu
        turn = float(difference @ difference) + trial.corrected.turn
        return float(trial.beta * np.sqrt(turn / distance))


class Points(NamedTuple):
    """The z of all examples, and what the steps from it have found."""

    starts: Ints  #: int64 [examples + 1]: the first part of each example
    is_new: Flags  #: bool [examples]: whether z is still to be set to gold
    z: Floats  #: float64 [parts]
    moved: Floats  #: float64 [parts], the result of the last step
    predicted: Floats  #: float64 [parts], the direction of the first step, g(w)
    corrected: Floats  #: float64 [parts], the direction of the second one, g(w')


PointsType = named_tuple(Points, Ints1, Flags1, Floats1, Floats1, Floats1, Floats1)


class StoredPointsRun(EuclideanRun):
    """A run whose z are vectors of parts."""

    def __init__(
        self, settings: Extragradient, problem: ProjectedProblem, prior: Floats | None
    ) -> None:
        super().__init__(settings, problem, prior)
        nothing = (np.zeros(0) for _ in range(4))
        self._points = Points(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=bool), *nothing)

    def grow(self, rows: int) -> None:
        super().grow(rows)
        starts = self.problem.part_starts.copy()
        added = len(starts) - len(self._points.starts)
        if added > 0:
            is_new = np.append(self._points.is_new, np.ones(added, dtype=bool))
            arrays = (np.append(a, np.zeros(starts[-1] - len(a))) for a in self._points[2:])
            self._points = Points(starts, is_new, *arrays)

    def keep(self, numbers: Ints) -> None:
        super().keep(numbers)
        starts, is_new, *arrays = self._points
        kept, new_starts = gather_ranges(GrowingArray(np.int64, starts), numbers)
        self._points = Points(new_starts.array, is_new[numbers], *(array[kept] for array in arrays))

    def _remove(self, numbers: Ints) -> None:
        """See ``DualRun``: z starts at gold again."""
        super()._remove(numbers)
        self._points.is_new[numbers] = True

    def _move(self, w: Floats, beta: float, *, corrects: bool) -> Sums:
        problem, gradient = self.problem, np.zeros(len(w))
        arrays = problem.structure, problem.examples(), self._numbers(), w, beta, corrects
        state = problem.max_expected_entries, self._points, gradient
        cost, distance, turn = _project_all(*arrays, *state)
        return Sums(gradient, float(cost), distance=float(distance), turn=float(turn))

    def _accept(self, w: Floats, beta: float) -> None:  # noqa: ARG002
        points = self._points
        points.is_new[self._numbers()] = False
        self._points = points._replace(z=points.moved, moved=points.z)


@oracle_kernel(
    ("project", "expected_difference"),
    tuple_of(Float, Float, Float),
    *(Ints1, Floats1, Float, Bool, Int, PointsType, Floats1),
)
def _project_all(
    project: Project,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    numbers: Ints,
    w: Floats,
    beta: float,
    corrects: bool,
    max_entries: int,
    points: Points,
    gradient: Floats,
) -> tuple[float, float, float]:
    """Step from the z of these examples, and add to G; return the other ``Sums``."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    total_cost, distance, turn = 0.0, 0.0, 0.0
    directions = points.corrected if corrects else points.predicted
    for i in numbers:
        first, last = points.starts[i], points.starts[i + 1]
        z, moved = points.z[first:last], points.moved[first:last]
        direction, before = directions[first:last], points.predicted[first:last]
        moved[:] = z
        is_new = points.is_new[i]
        point, cost, _ = project(examples, i, w, beta, is_new, moved, direction)
        if len(point) == 0:
            continue
        size = expected_difference(examples, i, point, indices, values)
        total_cost += cost
        add_scaled(gradient, indices, values, 0, size, 1.0)
        for part in range(last - first):
            distance += (moved[part] - z[part]) ** 2
            turn += (direction[part] - before[part]) ** 2
    return total_cost, distance, turn


class SummedPointsRun(SummedRun, EuclideanRun):
    """A run of the dual variant, whose z are vectors of parts."""

    def _measure(self) -> None:
        """See ``ExtragradientRun``. Where examples have changed, the sums start again."""
        if not self._is_measured:
            self._base = self._w.copy()
            self._potentials[:] = 0.0
            self._scale = 0.0
        super()._measure()

    def _move(self, w: Floats, beta: float, *, corrects: bool) -> Sums:
        problem, gradient = self.problem, np.zeros(len(w))
        A, B, step = self._potentials, self._scale, beta
        if corrects:
            A, B, step = A + beta * w, B + beta, 0.0
        center = A / B if B > 0 else self._w, max(B, _FIRST_STEP)
        arrays = problem.structure, problem.examples(), self._numbers(), problem.part_starts
        state = self._w, problem.max_expected_entries, gradient
        cost, distance, turn = _project_sums(*arrays, *center, w, step, *state)
        return Sums(gradient, float(cost), distance=float(distance), turn=float(turn))


@oracle_kernel(
    ("project", "expected_difference"),
    tuple_of(Float, Float, Float),
    *(Ints1, Ints1, Floats1, Float, Floats1, Float, Floats1, Int, Floats1),
)
def _project_sums(
    project: Project,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    numbers: Ints,
    part_starts: Ints,
    center: Floats,
    scale: float,
    w: Floats,
    beta: float,
    before: Floats,
    max_entries: int,
    gradient: Floats,
) -> tuple[float, float, float]:
    """Step from the projections of scale g(center), and add to G; return the other ``Sums``.

    distance is that of the step, and turn that of g from the weights ``before`` to w.
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    parts = np.max(part_starts[1:] - part_starts[:-1]) if len(part_starts) > 1 else 0
    arrays = np.empty((4, parts))
    total_cost, distance, turn = 0.0, 0.0, 0.0
    for i in numbers:
        parts_of_i = part_starts[i + 1] - part_starts[i]
        z, moved = arrays[0, :parts_of_i], arrays[1, :parts_of_i]
        direction, other = arrays[2, :parts_of_i], arrays[3, :parts_of_i]
        z[:] = 0.0
        point, _, _ = project(examples, i, center, scale, False, z, direction)
        if len(point) == 0:
            continue
        moved[:] = z
        project(examples, i, before, 0.0, False, moved, other)
        point, cost, _ = project(examples, i, w, beta, False, moved, direction)
        size = expected_difference(examples, i, point, indices, values)
        total_cost += cost
        add_scaled(gradient, indices, values, 0, size, 1.0)
        for part in range(len(z)):
            distance += (moved[part] - z[part]) ** 2
            turn += (direction[part] - other[part]) ** 2
    return total_cost, distance, turn
