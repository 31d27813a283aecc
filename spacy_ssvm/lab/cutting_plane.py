"""The cutting plane method on the L1-loss structural SVM, 1-slack [Joachims et al. 2009].

    P(w) = 1/2 |w - w_0|^2 + C xi    with    w . g_j + xi >= b_j for each plane j

Each round adds the plane that is violated most, g = sum_i Phi_i(y_i) and b = sum_i Delta_i(y_i)
over the violating structures of all examples, and solves the dual over all planes so far,

    max_alpha >= 0, sum_j alpha_j <= C    D(alpha) = -1/2 |v|^2 + sum_j alpha_j (b_j - w_0 . g_j)

with v = sum_j alpha_j g_j and w = w_0 + v, as in ``dual_coordinate_descent.py``. That is a
quadratic program as small as the number of planes, solved by the interior points of Clarabel:
``pip install "spacy-ssvm[solvers]"``.

A plane over part of the examples is a plane over all, with the gold structures of the others. But
many more are then needed: pass the entire corpus as one batch. Partial gold is completed at the
first visit, and then as in ``dual_run.py``: planes of other completions are removed.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import oracle_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int, Ints, Ints1
from spacy_ssvm.objective import HINGE, Loss
from spacy_ssvm.solvers.dual_run import DualRun
from spacy_ssvm.solvers.run import (
    check_C,
    check_installed,
    check_not_negative,
    check_whole,
)
from spacy_ssvm.structure import HINGE_ORACLES, Decode, Difference, ExampleArrays, Problem
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.sparse import add_scaled, violation_of

_MAX_IDLE = 50  # rounds that a plane stays without a dual variable above 0
_PRECISION = 1e-10  # of the quadratic programs
_MIN_SHARE = 1e-9  # of C: a dual variable below it is 0 up to the precision of interior points


class Plane(NamedTuple):
    """A constraint w . g + xi >= b."""

    indices: Ints  #: int64 [entries]: where g is not 0
    values: Floats  #: float64 [entries]
    bound: float  #: b - w_0 . g
    last_use: int  #: the last round with a dual variable above 0


@dataclass(frozen=True, kw_only=True)
class CuttingPlane:
    """Settings of the solver.

    C: the weight of the losses against the squared norm of the weights, per example.
    tolerance: epsilon; weights no longer change once the relative duality gap,
        measured exactly, is at most this.
    seed: unused; every solver takes one.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.CuttingPlane.v1", "C": 0.3}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.C
    0.3
    """

    C: float = 0.1
    tolerance: float = 1e-3
    seed: int = 0
    loss_function: ClassVar[Loss] = HINGE
    oracles: ClassVar[tuple[str, ...]] = HINGE_ORACLES
    allocates: ClassVar[bool] = False
    keeps_signs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_C(self)
        check_not_negative(self, "tolerance")
        check_whole(self, "seed")

    def start(self, problem: Problem, prior: Floats | None = None) -> "CuttingPlaneRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        check_installed(self, "clarabel")
        return CuttingPlaneRun(self, problem, prior)


class CuttingPlaneRun(DualRun):
    """The weights and planes of a problem, and the rounds that add planes."""

    settings: CuttingPlane

    def __init__(self, settings: CuttingPlane, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self._violations = np.zeros(0)
        self._clear()

    def _clear(self) -> None:
        """Forget all planes."""
        self._w[:] = 0.0
        self._w[: len(self._prior)] = self._prior
        self._planes: list[Plane] = []
        self._products = np.zeros((0, 0))
        self._alphas = np.zeros(0)
        self._rounds = 0

    @property
    def dual(self) -> float:  # type: ignore[override]
        """D(alpha)."""
        bounds = np.array([plane.bound for plane in self._planes])
        return float(self._alphas @ bounds - self._alphas @ self._products @ self._alphas / 2)

    @property
    def violations(self) -> Floats:
        return self._violations

    def grow(self, rows: int) -> None:
        super().grow(rows)
        examples = self.problem.number_of_examples
        if examples > len(self._violations):
            self._violations = longer(self._violations, examples)

    def _pass(self, numbers: Ints) -> None:
        """One round: add a plane, and solve the dual over all planes."""
        self._add_plane(np.unique(numbers))  # an example counts once in a plane
        self._solve()

    def _remove(self, numbers: Ints) -> None:
        """Remove all planes: each is a sum over examples, which cannot be separated."""
        self._violations[numbers] = 0.0
        self._clear()

    def keep(self, numbers: Ints) -> None:
        self._violations = self._violations[numbers]

    def _add_plane(self, numbers: Ints) -> None:
        """Add the plane that is violated most, and remove planes unused for long."""
        problem = self.problem
        arrays = problem.structure, problem.examples(), numbers, problem.max_entries
        g = np.zeros(len(self._w))
        bound = float(_add_violators(*arrays, self._w, g, self._violations))
        bound -= float(g[: len(self._prior)] @ self._prior)
        self._rounds += 1
        uses = np.array([plane.last_use for plane in self._planes], dtype=np.int64)
        kept = np.flatnonzero(uses >= self._rounds - _MAX_IDLE)
        self._planes = [self._planes[j] for j in kept]
        indices = np.flatnonzero(g)
        self._planes.append(Plane(indices, g[indices], bound, self._rounds))
        products = np.empty((len(self._planes), len(self._planes)))
        products[:-1, :-1] = self._products[np.ix_(kept, kept)]
        for j, plane in enumerate(self._planes):
            products[j, -1] = products[-1, j] = g[plane.indices] @ plane.values
        self._products = products
        self._alphas = np.append(self._alphas[kept], 0.0)

    def _solve(self) -> None:
        """Solve the dual over the planes, and set the weights."""
        bounds = np.array([plane.bound for plane in self._planes])
        self._alphas = _best_alphas(self._products, bounds, float(self.settings.C))
        self._w[:] = 0.0
        self._w[: len(self._prior)] = self._prior
        for j in np.flatnonzero(self._alphas):
            plane = self._planes[j]._replace(last_use=self._rounds)
            self._planes[j] = plane
            self._w[plane.indices] += self._alphas[j] * plane.values


def _best_alphas(products: Floats, bounds: Floats, C: float) -> Floats:
    """argmax_alpha bounds . alpha - 1/2 alpha . products . alpha: float64 [planes].

    Over alpha >= 0 with a sum of at most C.
    """
    import clarabel
    from scipy import sparse

    planes = len(bounds)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _PRECISION
    found = clarabel.DefaultSolver(
        sparse.triu(C * C * products, format="csc"),
        -C * bounds,
        sparse.vstack([sparse.eye(planes), -np.ones((1, planes))], format="csc") * -1.0,
        np.append(np.zeros(planes), 1.0),
        [clarabel.NonnegativeConeT(planes + 1)],
        settings,
    ).solve()
    shares = np.array(found.x)
    shares[shares < _MIN_SHARE] = 0.0
    alphas: Floats = C * shares / max(shares.sum(), 1.0)
    return alphas


@oracle_kernel(HINGE_ORACLES, Float, Ints1, Int, Floats1, Floats1, Floats1)
def _add_violators(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    numbers: Ints,
    max_entries: int,
    w: Floats,
    g: Floats,
    violations: Floats,
) -> float:
    """Add Phi of each example's most violating structure; return the sum of their costs."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    total = 0.0
    for i in numbers:
        y, cost, _ = decode(examples, i, w, 1.0, False)
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        violation = violation_of(cost, w, indices, values, 0, size)
        violations[i] = max(violation, 0.0)
        if violation > 0:
            total += cost
            add_scaled(g, indices, values, 0, size, 1.0)
    return total
