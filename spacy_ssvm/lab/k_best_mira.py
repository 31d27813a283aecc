"""K-best MIRA: each example is compared with its k worst structures [McDonald et al. 2005].

    w_t = argmin_w 1/2 |w - w_t-1|^2 + C max(0, max_y Delta_i(y) - w . Phi_i(y)),

where y is one of the k structures that violate most at w_t-1 or, without loss augmentation, of
those that score best. ``simplex_smo.py`` solves the dual. The model gets the average of w over all
steps. With k = 1, this is ``solvers/mira.py``.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1, Rows, Weights
from spacy_ssvm.lab.k_best import with_k_best
from spacy_ssvm.lab.simplex_smo import solve_on_simplex
from spacy_ssvm.solvers.averaging import (
    Averaged,
    AveragedType,
    add_to_average,
    end_step,
)
from spacy_ssvm.solvers.mira import Mira, MiraRun
from spacy_ssvm.solvers.run import check_whole
from spacy_ssvm.structure import (
    NEEDS_CAPACITY,
    Decoded,
    DecodedType,
    Difference,
    ExampleArrays,
    KBestDecode,
    Problem,
)
from spacy_ssvm.weights.sparse import dot, violation_of

_ORACLES = ("k_best_decode", "difference")


@dataclass(frozen=True, kw_only=True)
class KBestMira(Mira):
    """Settings of the solver.

    k: the number of structures that an example is compared with.
    C, loss_augmented, seed: see ``Mira``.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.KBestMira.v1", "k": 3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.k
    3
    """

    k: int = 5
    block: ClassVar[int] = 1  # type: ignore[misc]
    oracles: ClassVar[tuple[str, ...]] = _ORACLES

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "k", least=1)

    def start(self, problem: Problem, prior: Floats | None = None) -> "KBestMiraRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero.

        Raises ValueError where only the best structure can be found.
        """
        return KBestMiraRun(self, with_k_best(problem), prior)


class KBestMiraRun(MiraRun):
    """The weights and their average, and the passes that change them."""

    settings: KBestMira

    def epoch(self, numbers: Ints) -> float:
        return self._mira_steps(_pass, numbers, self.settings.k)


@oracle_kernel(
    _ORACLES,
    Int,
    *(Ints1, Int, Int, Float, Float, Float, Int, DecodedType, AveragedType, Floats1),
)
def _pass(
    k_best_decode: KBestDecode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    augmentation: float,
    C: float,
    gamma: float,
    k: int,
    decoded: Decoded,  # noqa: ARG001
    averaged: Averaged,
    total: Floats,
) -> int:
    """See ``mira._pass``: steps with the k best of each example."""
    starts = np.zeros(k + 1, dtype=np.int64)
    indices = np.empty(k * max_entries, dtype=np.int32)
    values = np.empty(k * max_entries, dtype=np.float32)
    scratch = np.zeros(len(averaged.w))
    for position in range(done, len(order)):
        i = order[position]
        ys, costs = k_best_decode(examples, i, averaged.w, augmentation, k, True)
        count = len(ys)
        if count == 0:
            continue
        violations = np.empty(count)
        for m in range(count):
            start = starts[m]
            size = difference(examples, i, ys[m], indices[start:], values[start:])
            if size == NEEDS_CAPACITY:
                return position
            starts[m + 1] = start + size
            violations[m] = violation_of(
                gamma * costs[m], averaged.w, indices, values, start, starts[m + 1]
            )
        total[0] += max(violations.max(), 0.0)
        products = _products(starts[: count + 1], indices, values, scratch)
        alphas = solve_on_simplex(products, violations, C)
        for m in range(count):
            first, last = starts[m], starts[m + 1]
            if alphas[m] > 0:
                add_to_average(
                    averaged, indices[first:last], values[first:last], last - first, alphas[m]
                )
        end_step(averaged)
    return len(order)


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
