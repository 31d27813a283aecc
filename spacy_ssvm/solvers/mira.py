"""The margin infused relaxed algorithm, k best [Crammer et al. 2006; McDonald et al. 2005].

    w_t = argmin_w 1/2 |w - w_t-1|^2 + C max(0, max_y Delta_i(y) - w . Phi_i(y)),

where y is one of the k structures that violate most at w_t-1 or, without loss augmentation, of
those that score best [McDonald et al. 2005]. For k = 1,

    w += tau Phi_i(y),    tau = min(C, H_i(y) / |Phi_i(y)|^2)    [MGS10 Eq. 15]

and for more the dual is solved by ``simplex_smo.py``. The model gets the average of w over all
steps.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Int, Ints, Ints1, Rows, Weights
from spacy_ssvm.objective import HINGE, Loss
from spacy_ssvm.solvers.averaging import (
    Averaged,
    AveragedRun,
    AveragedType,
    add_to_average,
    end_step,
)
from spacy_ssvm.solvers.run import Solver, check_C, check_whole
from spacy_ssvm.solvers.simplex_smo import hildreth
from spacy_ssvm.structure import (
    HINGE_ORACLES,
    Decode,
    Difference,
    ExampleArrays,
    KBestDecode,
    Problem,
)
from spacy_ssvm.weights.sparse import dot, squared_norm, violation_of


@dataclass(frozen=True, kw_only=True)
class Mira:
    """Settings of the solver.

    C: the largest step; the weight of the losses against the squared norm of the change.
    k: the number of structures that an example is compared with.
    loss_augmented: whether these are the ones that violate most, of Delta_i(y) - w . Phi_i(y), or
        else those of the highest scores w . phi(x_i, y), which is prediction-based MIRA.
    seed: of the order of examples.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.
    """

    C: float = 0.1
    k: int = 1
    loss_augmented: bool = True
    seed: int = 0
    loss_function: ClassVar[Loss] = HINGE
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_C(self)
        check_whole(self, "k", least=1)
        check_whole(self, "seed")

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that the solver calls."""
        return HINGE_ORACLES if self.k == 1 else (*HINGE_ORACLES, "k_best_decode")

    def start(self, problem: Problem, prior: Floats | None = None) -> "MiraRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero.

        Raises ValueError where k is above 1 and only the best structure can be found.
        """
        return MiraRun(self, problem, prior, k=self.k, loss_augmented=self.loss_augmented)


class MiraRun(AveragedRun):
    """The weights and their average, and the passes that change them."""

    def __init__(
        self,
        settings: Solver,
        problem: Problem,
        prior: Floats | None = None,
        *,
        k: int = 1,
        loss_augmented: bool = True,
    ) -> None:
        super().__init__(settings, problem, prior)
        self._k = k
        self._augmentation = float(loss_augmented)

    def epoch(self, numbers: Ints) -> float:
        problem, settings = self.problem, self.settings
        arrays = problem.structure, problem.examples(), self._shuffled(numbers)
        gamma = float(settings.loss_function.gamma)
        scales = float(settings.C), gamma, gamma * self._augmentation
        if self._k == 1:
            loss = _pass_over_best(*arrays, *scales, problem.max_entries, self._averaged)
        else:
            loss = _pass(*arrays, *scales, self._k, problem.max_entries, self._averaged)
        return float(loss)


@oracle_kernel(HINGE_ORACLES, Float, Ints1, Float, Float, Float, Int, AveragedType)
def _pass_over_best(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    C: float,
    gamma: float,
    augmentation: float,
    max_entries: int,
    averaged: Averaged,
) -> float:
    """One step for each example, k = 1; return the sum of their violations."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    total = 0.0
    for i in order:
        y, cost, _ = decode(examples, i, averaged.w, augmentation, True)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        violation = violation_of(gamma * cost, averaged.w, indices, values, 0, size)
        norm = squared_norm(values, size)
        if violation > 0 and norm > 0:
            add_to_average(averaged, indices, values, size, min(C, violation / norm))
        total += max(violation, 0.0)
        end_step(averaged)
    return total


@oracle_kernel(
    ("k_best_decode", "difference"), Float, Ints1, Float, Float, Float, Int, Int, AveragedType
)
def _pass(
    k_best_decode: KBestDecode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    C: float,
    gamma: float,
    augmentation: float,
    k: int,
    max_entries: int,
    averaged: Averaged,
) -> float:
    """One step for each example; return the sum of their violations."""
    starts = np.zeros(k + 1, dtype=np.int64)
    indices = np.empty(k * max_entries, dtype=np.int32)
    values = np.empty(k * max_entries, dtype=np.float32)
    scratch = np.zeros(len(averaged.w))
    total = 0.0
    for i in order:
        ys, costs = k_best_decode(examples, i, averaged.w, augmentation, k, True)
        count = len(ys)
        if count == 0:
            continue
        violations = np.empty(count)
        for m in range(count):
            start = starts[m]
            starts[m + 1] = start + difference(examples, i, ys[m], indices[start:], values[start:])
            violations[m] = violation_of(
                gamma * costs[m], averaged.w, indices, values, start, starts[m + 1]
            )
        total += max(violations.max(), 0.0)
        products = _products(starts[: count + 1], indices, values, scratch)
        alphas = hildreth(products, violations, C)
        for m in range(count):
            first, last = starts[m], starts[m + 1]
            if alphas[m] > 0:
                add_to_average(
                    averaged, indices[first:last], values[first:last], last - first, alphas[m]
                )
        end_step(averaged)
    return total


@kernel
def _products(starts: Ints, indices: Rows, values: Weights, scratch: Floats) -> Floats:
    """The inner products of sparse vectors; scratch: zeros, as long as w, before and after."""
    count = len(starts) - 1
    products = np.empty((count, count))
    for m in range(count):
        for entry in range(starts[m], starts[m + 1]):
            scratch[indices[entry]] = values[entry]
        for other in range(count):
            products[m, other] = dot(scratch, indices, values, starts[other], starts[other + 1])
        for entry in range(starts[m], starts[m + 1]):
            scratch[indices[entry]] = 0.0
    return products
