"""A conditional random field by L-BFGS, on all examples at once.

    P(w) = 1/2 |w - w_0|^2 + C sum_i L_{beta,gamma}(w; x_i, y_i)

with the log loss, beta = 1 and gamma = 0, by default. Values and gradients are exact
[MGS10 Eq. 9]. Needs scipy: ``pip install "spacy-ssvm[solvers]"``.

An epoch runs ``iterations`` over all examples of the problem, whichever it is given: pass the
entire corpus as one batch. Partial gold is completed at the beginning of each epoch. The curvature
estimate of earlier iterations is kept, unless the problem has changed since. Gradients are sums of
those of four parts of the examples, by up to four threads, with the same result. The directions are
those of Nocedal (1980), the lengths of steps those of scipy's line search.
"""

import warnings
from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.threads import map_by_all_threads
from spacy_ssvm.kernels.types import Bool, Float, Floats, Floats1, Int, Ints, Ints1, tuple_of
from spacy_ssvm.objective import losses
from spacy_ssvm.solvers.run import (
    LossSettings,
    PrimalRun,
    check_installed,
    check_not_negative,
    check_positive,
    check_whole,
)
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    ExampleArrays,
    Expect,
    ExpectedDifference,
    Gradient,
    Problem,
    RemoteProblem,
)
from spacy_ssvm.weights.sparse import add_scaled

_PAIRS = 10  # of changes of weights and gradients that are kept
_PARTS = 4  # of the examples: the gradient of each is a sum of its own, for threads to share in


@dataclass(frozen=True, kw_only=True)
class LBFGS(LossSettings):
    """Settings of the solver.

    C: the weight of the losses against the squared norm of the weights, per example.
    beta, gamma: of the loss: (1, 0) for a CRF, (1, 1) for the softmax margin.
    iterations: of L-BFGS in an epoch.
    tolerance: weights no longer change once no entry of the gradient is larger.
    seed: unused; every solver takes one.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.LBFGS.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    beta: float = 1.0
    gamma: float = 0.0
    iterations: int = 20
    tolerance: float = 1e-5
    seed: int = 0
    keeps_signs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "beta")
        check_not_negative(self, "tolerance")
        check_whole(self, "iterations", least=1)
        check_whole(self, "seed")

    def start(self, problem: Problem, prior: Floats | None = None) -> "LBFGSRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        check_installed(self, "scipy")
        return LBFGSRun(self, problem, prior)


class LBFGSRun(PrimalRun):
    """The weights, and the iterations that change them."""

    settings: LBFGS

    def __init__(self, settings: LBFGS, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        #: Changes of weights s and of gradients y, and 1 / s . y, of the last iterations.
        self._pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_PAIRS)
        self._size = 0, 0

    def epoch(self, numbers: Ints) -> float:
        """See ``Run``: iterations over all examples; returns the losses of these."""
        problem, settings = self.problem, self.settings
        examples = problem.number_of_examples
        value, gradient, recompleted = self._evaluate(self._w, complete=True)
        if recompleted or self._size != (examples, len(self._w)):
            self._pairs.clear()
            self._size = examples, len(self._w)
        for _ in range(settings.iterations):
            if np.abs(gradient).max(initial=0.0) <= settings.tolerance:
                break
            found = self._iterate(value, gradient)
            if found is None and self._pairs:  # no descent along this direction: restart
                self._pairs.clear()
                found = self._iterate(value, gradient)
            if found is None:
                break
            value, gradient = found
        return float(losses(problem, self._w, numbers, settings.loss_function).sum())

    def forget(self, numbers: Ints) -> None:  # noqa: ARG002
        """See ``Run``. Discards the curvature estimate, which depends on these examples."""
        self._pairs.clear()

    def _iterate(self, value: float, gradient: Floats) -> tuple[float, Floats] | None:
        """A step; returns value and gradient after it, None where no step is found."""
        from scipy.optimize import line_search

        direction = self._direction(gradient)
        last: list[Any] = [self._w, value, gradient]

        def at(w: Floats) -> list[Any]:  # the line search asks for values, then for gradients
            if not np.array_equal(w, last[0]):
                last[:] = [w.copy(), *self.value_and_gradient(w)]
            return last

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a failed search returns None
            length = line_search(
                lambda w: at(w)[1], lambda w: at(w)[2], self._w, direction, gradient, value
            )[0]
        if length is None:
            return None
        change = length * direction
        _, value, following = at(self._w + change)
        product = float(change @ (following - gradient))
        if product > 0:
            self._pairs.append((change, following - gradient, 1 / product))
        self._w += change
        return value, following

    def _direction(self, gradient: Floats) -> Floats:
        """Minus the inverse of the curvature, as far as it is known, times the gradient."""
        direction: Floats = -gradient
        if not self._pairs:
            return direction / float(np.linalg.norm(gradient))
        shares = []
        for change, gradient_change, inverse in reversed(self._pairs):
            shares.append(inverse * float(change @ direction))
            direction -= shares[-1] * gradient_change
        _, gradient_change, inverse = self._pairs[-1]
        direction /= inverse * float(gradient_change @ gradient_change)
        for (change, gradient_change, inverse), share in zip(
            self._pairs, reversed(shares), strict=True
        ):
            direction += (share - inverse * float(gradient_change @ direction)) * change
        return direction

    def value_and_gradient(self, w: Floats) -> tuple[float, Floats]:
        """P(w) and its gradient."""
        return self._evaluate(w, complete=False)[:2]

    def _evaluate(self, w: Floats, *, complete: bool) -> tuple[float, Floats, bool]:
        """P(w), its gradient, and whether the completion of any partial gold has changed.

        complete: whether to complete partial gold again, under w.
        """
        settings = self.settings
        if self.problem.structure.is_remote:
            problem = cast(RemoteProblem, self.problem)
            found = problem.gradient(w, settings.loss_function, complete=complete)
        else:
            found = self._local_gradient(w, complete=complete)
        change = w.copy()
        change[: len(self._prior)] -= self._prior
        value = float(change @ change / 2 + settings.C * found.loss)
        return value, change + settings.C * found.gradient, found.recompleted

    def _local_gradient(self, w: Floats, *, complete: bool) -> Gradient:
        """The losses of the examples of this process and their gradient."""
        problem, settings = self.problem, self.settings
        arrays, examples = (problem.structure, problem.examples()), problem.number_of_examples
        scales = float(settings.beta), float(settings.gamma)

        def sums(part: int) -> Gradient:
            numbers, gradient = np.arange(part, examples, _PARTS), np.zeros(len(w))
            state = complete, problem.max_expected_entries, w, gradient
            loss, recompleted, _ = add_gradients(*arrays, numbers, *scales, *state)
            return Gradient(loss, gradient, recompleted)

        losses, gradients, recompleted = zip(*map_by_all_threads(sums, range(_PARTS)), strict=True)
        return Gradient(sum(losses), sum(gradients), any(recompleted))


@oracle_kernel(
    EXPECTED_ORACLES,
    tuple_of(Float, Bool, Float),
    *(Ints1, Float, Float, Bool, Int, Floats1, Floats1),
)
def add_gradients(
    expect: Expect,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    numbers: Ints,
    beta: float,
    gamma: float,
    complete: bool,
    max_entries: int,
    w: Floats,
    gradient: Floats,
) -> tuple[float, bool, float]:
    """Add the gradients of the losses.

    Returns the sum of the losses, whether any completion of partial gold has changed, and the sum
    of the expected costs.
    """
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    total, any_recompleted, total_cost = 0.0, False, 0.0
    for i in numbers:
        z, loss, recompleted, cost = expect(examples, i, w, beta, gamma, complete)
        if len(z) > 0:
            size = expected_difference(examples, i, z, indices, values)
            total += loss
            any_recompleted |= recompleted
            total_cost += cost
            add_scaled(gradient, indices, values, 0, size, 1.0)
    return total, any_recompleted, total_cost
