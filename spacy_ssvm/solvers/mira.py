"""The margin infused relaxed algorithm [Crammer et al. 2006; McDonald et al. 2005].

    w_t = argmin_w 1/2 |w - w_t-1|^2 + C max(0, max_y Delta_i(y) - w . Phi_i(y)),

where y is the structure that violates most at w_t-1 or, without loss augmentation, the one that
scores best [McDonald et al. 2005]:

    w += tau Phi_i(y),    tau = min(C, H_i(y) / |Phi_i(y)|^2)    [MGS10 Eq. 15]

The model gets the average of w over all steps. ``lab/k_best_mira.py`` compares with k of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1
from spacy_ssvm.objective import HINGE, Loss
from spacy_ssvm.solvers.averaging import (
    Averaged,
    AveragedRun,
    AveragedType,
    add_to_average,
    end_step,
)
from spacy_ssvm.solvers.run import check_C, check_whole
from spacy_ssvm.structure import (
    HINGE_ORACLES,
    NEEDS_CAPACITY,
    Decode,
    Decoded,
    DecodedType,
    Difference,
    ExampleArrays,
    Problem,
)
from spacy_ssvm.weights.sparse import squared_norm, violation_of


@dataclass(frozen=True, kw_only=True)
class Mira:
    """Settings of the solver.

    C: the largest step; the weight of the losses against the squared norm of the change.
    loss_augmented: whether an example is compared with the structure that violates most, of
        Delta_i(y) - w . Phi_i(y), or else with that of the highest score w . phi(x_i, y), which
        is prediction-based MIRA.
    block: how many examples are decoded before weights change, for threads to share in; 1 for the
        algorithm as published. The result depends on it, and not on the number of threads.
    seed: of the order of examples.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.Mira.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    C: float = 0.1
    loss_augmented: bool = True
    block: int = 1
    seed: int = 0
    loss_function: ClassVar[Loss] = HINGE
    oracles: ClassVar[tuple[str, ...]] = HINGE_ORACLES
    allocates: ClassVar[bool] = True
    keeps_signs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_C(self)
        check_whole(self, "seed")
        check_whole(self, "block", least=1)

    def start(self, problem: Problem, prior: Floats | None = None) -> "MiraRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return MiraRun(self, problem, prior)


class MiraRun(AveragedRun):
    """The weights and their average, and the passes that change them."""

    settings: Mira  # or DualCoordinateAscent, for the hinge

    def epoch(self, numbers: Ints) -> float:
        return self._mira_steps(_pass, numbers)

    def _mira_steps(self, kernel: Callable[..., int], numbers: Ints, *more: int) -> float:
        """See ``_steps``; the kernel takes ``more`` after its scales."""
        settings = self.settings
        gamma = float(settings.loss_function.gamma)
        scales = gamma * settings.loss_augmented, float(settings.C), gamma, *more
        return self._steps(kernel, numbers, settings.block, *scales)


@oracle_kernel(
    HINGE_ORACLES,
    Int,
    *(Ints1, Int, Int, Float, Float, Float, DecodedType, AveragedType, Floats1),
)
def _pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    augmentation: float,
    C: float,
    gamma: float,
    decoded: Decoded,
    averaged: Averaged,
    total: Floats,
) -> int:
    """One step for each of order[done:]; return how far the memory sufficed.

    decoded: what has been found for the order, or ``NOTHING``.
    Adds the violations to total (float64 [1]).
    """
    ahead = len(decoded.starts) > 0
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    for position in range(done, len(order)):
        i = order[position]
        if ahead:
            y = decoded.ys[decoded.starts[position] : decoded.starts[position + 1]]
            cost = decoded.costs[position]
        else:
            y, cost, _ = decode(examples, i, averaged.w, augmentation, True)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        if size == NEEDS_CAPACITY:
            return position
        violation = violation_of(gamma * cost, averaged.w, indices, values, 0, size)
        norm = squared_norm(values, size)
        if violation > 0 and norm > 0:
            add_to_average(averaged, indices, values, size, min(C, violation / norm))
        total[0] += max(violation, 0.0)
        end_step(averaged)
    return len(order)
