"""The interfaces of solvers, their common base, and checks of settings."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol, cast

import numpy as np
from thinc.config import ConfigValidationError

from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows
from spacy_ssvm.objective import Loss, Objective, evaluate
from spacy_ssvm.solvers.decoding import NOTHING, decode_blocks
from spacy_ssvm.structure import AllocatingProblem, Decoded, Problem
from spacy_ssvm.weights.growing import bytes_of, longer
from spacy_ssvm.weights.sparse import move

_PART = 1000  # examples of a pass, after which progress is reported
_MAX_WEIGHTS = 2**31 - 1  # indices into w are int32
_MAX_WHOLE = 2**63 - 1  # what kernels are given is int64
_MIN_C, _MAX_C = 1e-30, 1e30


class Solver(Protocol):
    """The settings of a solver."""

    @property
    def C(self) -> float:
        """The weight of the losses against the squared norm of the weights, per example."""

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""

    @property
    def loss_function(self) -> Loss:
        """The loss that is minimized over the examples."""

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that the solver calls."""

    @property
    def allocates(self) -> bool:
        """Whether it can learn weights that are allocated on first use."""

    @property
    def keeps_signs(self) -> bool:
        """Whether it keeps the first ``Problem.nonnegative`` weights >= 0."""

    def start(self, problem: Problem, prior: Floats | None = None) -> "Run":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""


class Run(Protocol):
    """The state of a solver on a problem, and the passes that improve it."""

    @property
    def settings(self) -> Solver:
        """The settings that the run was started with."""

    @property
    def w(self) -> Floats:
        """The weights: float64, in the layout of the problem, followed by zeros."""

    @property
    def prior(self) -> Floats:
        """w_0: float64, in the layout of the problem, or shorter where the others are 0."""

    @property
    def dual(self) -> float | None:
        """The value of the dual problem; None for a solver without one."""

    @property
    def regularizer(self) -> float:
        """1/2 |w - w_0|^2."""

    @property
    def gap(self) -> float | None:
        """The relative duality gap, estimated during the last passes; None without a dual."""

    def memory(self) -> dict[str, int]:
        """The bytes of what it keeps, by what that is: weights, constraints."""

    def objective(self) -> Objective:
        """Primal, dual and gap, by inference on all examples with the weights as they are."""

    def grow(self, rows: int) -> None:
        """Allocate memory for the problem's examples and for this number of feature rows."""

    #: Called during a pass with the number of examples that it has visited since the last call.
    report: Callable[[int], None]

    def epoch(self, numbers: Ints) -> float:
        """Improve the weights by a pass over these examples; return the sum of their losses."""

    def forget(self, numbers: Ints) -> None:
        """Remove the contribution of examples that are about to be removed, where it is known."""

    def absorb(self, numbers: Ints) -> None:
        """Let examples become part of the prior: their contribution to the weights stays.

        It is added to w_0, where it is known. The examples are about to be removed.
        """

    def keep(self, numbers: Ints) -> None:
        """Follow ``Problem.keep``; the other examples must have been forgotten or absorbed."""

    def renumber(self, numbers: Rows) -> None:
        """Move weights, and what else there is for each of them: see ``AllocatingProblem``."""


@dataclass(frozen=True, kw_only=True)
class LossSettings:
    """The settings of solvers that minimize L_{beta,gamma}.

    C: the weight of the losses against the squared norm of the weights, per example.
    beta, gamma: of the loss: (None, 1) for the hinge, where None means infinity; (1, 0) for a
        CRF, (1, 1) for the softmax margin.
    """

    C: float = 0.1
    beta: float | None = None
    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_C(self)
        check_loss(self)

    @property
    def loss_function(self) -> Loss:
        """The loss that is minimized over the examples."""
        return Loss(self.beta, self.gamma)

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that the solver calls."""
        return self.loss_function.oracles

    @property
    def allocates(self) -> bool:
        """Whether it can learn weights that are allocated on first use: with the hinge."""
        return self.beta is None


#: What oracles that a structure can lack compute, for messages.
_MEANINGS = {
    "expect": "probabilities of structures",
    "k_best_decode": "the k best structures",
    "project": "projections onto the convex hull of structures",
}

#: The solvers that keep weights >= 0, for messages.
_KEEP_SIGNS = (
    "DualCoordinateDescent",
    "Extragradient",
    "KBestMira",
    "Mira",
    "Perceptron",
    "StochasticGradient",
)


class PrimalRun:
    """A run that has weights alone: the base of solvers without a dual.

    Negative ones among the first ``Problem.nonnegative`` weights of the prior count as 0.
    Raises ValueError where the structures of the problem lack an oracle that the solver needs,
    need weights >= 0 that it does not keep so, or weights that it does not allocate.
    """

    dual: float | None = None
    gap: float | None = None

    def __init__(self, settings: Solver, problem: Problem, prior: Floats | None) -> None:
        self.settings = settings
        self.problem = problem
        for oracle in settings.oracles:
            if getattr(problem.structure, oracle) is None:
                raise ValueError(
                    f"{settings} needs {_MEANINGS.get(oracle, oracle)}, which these structures "
                    "do not have: choose another solver, or other settings"
                )
        if problem.nonnegative > 0 and not settings.keeps_signs:
            raise ValueError(
                f"{settings} does not keep weights from being negative, as these structures need "
                f"it: choose {', '.join(_KEEP_SIGNS[:-1])} or {_KEEP_SIGNS[-1]}"
            )
        if problem.structure.is_lazy and not self._can_allocate:
            raise ValueError(
                f"{settings} does not allocate weights on first use, as this problem needs it: "
                "choose another solver, or a problem whose weights all exist"
            )
        self.report: Callable[[int], None] = ignore_progress
        self._order = np.random.default_rng(settings.seed)
        self._prior = np.zeros(0) if prior is None else prior
        if problem.nonnegative > 0:
            self._prior = self._prior.copy()
            self._allow(self._prior)
        self._w: Floats = self._prior.copy()

    @property
    def prior(self) -> Floats:
        """See ``Run``."""
        return self._prior

    @property
    def _can_allocate(self) -> bool:
        """Whether it allocates the weights that oracles ask for."""
        return self.settings.allocates

    @property
    def w(self) -> Floats:
        return self._w

    @property
    def regularizer(self) -> float:
        change = self.w.copy()
        change[: len(self._prior)] -= self._prior
        return float(change @ change) / 2

    def memory(self) -> dict[str, int]:
        weights, stored = bytes_of(tuple(vars(self).values())), bytes_of(self._stored)
        return {"weights": weights - stored} | ({"constraints": stored} if stored else {})

    @property
    def _stored(self) -> tuple[object, ...]:
        """The arrays of stored constraints; none for a solver without any."""
        return ()

    def objective(self) -> Objective:
        return evaluate(
            self.problem,
            self.w,
            C=self.settings.C,
            regularizer=self.regularizer,
            dual=self.dual,
            loss=self.settings.loss_function,
        )

    def grow(self, rows: int) -> None:
        self._lengthen(size_of_weights(self.problem, rows))

    def _lengthen(self, size: int) -> None:
        """Let there be this many weights, or more, and what else there is for each of them."""
        if size > len(self._w):
            self._w = longer(self._w, size)

    def renumber(self, numbers: Rows) -> None:
        self._w, self._prior = move(self._w, numbers), move(self._prior, numbers)

    def _allocate(self) -> None:
        """Allocate the weights that an oracle has asked for."""
        if self.problem.structure.is_lazy:
            numbers = cast(AllocatingProblem, self.problem).reserve()
            if numbers is not None:
                self.renumber(numbers)
            self._lengthen(size_of_weights(self.problem, 0))

    def _make_room(self) -> None:
        """Allocate the memory that has made a pass return."""
        self._allocate()

    def _parts(self, order: Ints, size: int | None = None) -> Iterator[Ints]:
        """The parts of a pass, each of so many examples; reports each when it has been visited."""
        size = size or _PART
        for start in range(0, len(order), size):
            part = order[start : start + size]
            yield part
            self.report(len(part))

    def _decoded(
        self, parts: Iterable[Ints], block: int, gamma: float, due: Callable[[Ints], Flags]
    ) -> Iterator[tuple[Ints, Decoded]]:
        """The parts of a pass, and what has been found for each; nothing with a block of 1.

        due: see ``decode_blocks``.
        """
        if block == 1:
            return ((part, NOTHING) for part in parts)

        def weights() -> Floats:
            self._allocate()
            return self._w

        return decode_blocks(self.problem, parts, weights, gamma, due)

    def _repeat(self, one_pass: Callable[[int], int], size: int) -> None:
        """Repeat a pass from where it lacked memory, until it is complete.

        one_pass: takes and returns the number of examples that are done. size: of all.
        """
        self._allocate()
        done = 0
        while (done := one_pass(done)) < size:
            self._make_room()

    def forget(self, numbers: Ints) -> None:
        """Does nothing: a step leaves no record of its example."""

    def absorb(self, numbers: Ints) -> None:
        self.forget(numbers)

    def keep(self, numbers: Ints) -> None:
        """Does nothing: there is no state by example."""

    def _allow(self, w: Floats) -> None:
        """Set negative ones of the weights that are kept >= 0 to 0, in place."""
        kept = w[: self.problem.nonnegative]
        np.maximum(kept, 0.0, out=kept)

    def _shuffled(self, numbers: Ints) -> Ints:
        """The examples in an order that depends on the seed, not on that of the numbers."""
        return self._order.permutation(np.sort(numbers))


def ignore_progress(examples: int) -> None:
    """Nobody wants to know how far a pass is."""


def with_own_weights(problem: Problem) -> Problem:
    """The same examples, for a copy of a run: what it allocates is its own."""
    if problem.structure.is_lazy or problem.structure.is_remote:
        return cast(AllocatingProblem, problem).with_own_weights()
    return problem


def size_of_weights(problem: Problem, rows: int) -> int:
    """The length of w. Raises ValueError where it is more than can be indexed."""
    size = problem.number_of_weights(rows)
    check_indices(size)
    return size


def check_indices(weights: int) -> None:
    """Raise ValueError where so many weights cannot be indexed."""
    if weights > _MAX_WEIGHTS:
        raise ValueError(
            f"the features make {weights} weights, more than can be indexed ({_MAX_WEIGHTS}): "
            "raise min_count, or set hash_bits"
        )


def invalid_setting(settings: object, name: str, problem: str) -> ConfigValidationError:
    """An error about a setting, for ``__post_init__`` of the settings of a solver.

    problem: continues the name, as in "is -1: it must not be negative".
    ``spacy train`` prints the error without a traceback. It is a ValueError.
    """
    return ConfigValidationError(
        title=f"@misc = spacy_ssvm.{type(settings).__name__}.v1",
        desc="Invalid setting.",
        errors=[{"loc": [name], "msg": f"{name} {problem}"}],
    )


def check_positive(settings: object, *names: str) -> None:
    """Raise ConfigValidationError, naming the setting, where one is not a number above 0."""
    for name in names:
        value = getattr(settings, name)
        if not (np.isfinite(value) and value > 0):
            raise invalid_setting(settings, name, f"is {value}: it must be a number above 0")


def check_C(settings: Solver | LossSettings) -> None:
    """Raise ConfigValidationError where C is not above 0, or out of range for the arithmetic.

    For small C the weights are proportional to it, and models keep them in float32.
    """
    check_positive(settings, "C")
    if not _MIN_C <= settings.C <= _MAX_C:
        problem = f"is {settings.C}: it must be between {_MIN_C} and {_MAX_C}"
        raise invalid_setting(settings, "C", problem)


def check_not_negative(settings: object, *names: str) -> None:
    """Raise ConfigValidationError, naming the setting, where one is not a number, at least 0."""
    for name in names:
        value = getattr(settings, name)
        if not (np.isfinite(value) and value >= 0):
            raise invalid_setting(settings, name, f"is {value}: it must be a number, at least 0")


def check_loss(settings: LossSettings) -> None:
    """Raise ConfigValidationError where beta or gamma of a loss L_{beta,gamma} is invalid."""
    if settings.beta is not None:
        check_positive(settings, "beta")
    check_not_negative(settings, "gamma")


def check_whole(settings: object, *names: str, least: int = 0) -> None:
    """Raise ConfigValidationError, naming the setting, where one is no integer or out of range."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, int):
            raise invalid_setting(settings, name, f"is {value}: it must be a whole number")
        if value < least:
            bound = "not be negative" if least == 0 else f"be at least {least}"
            raise invalid_setting(settings, name, f"is {value}: it must {bound}")
        if value > _MAX_WHOLE:
            raise invalid_setting(settings, name, f"is {value}: it must not exceed {_MAX_WHOLE}")


def check_installed(settings: object, *packages: str) -> None:
    """Raise ImportError, with the command that installs it, where a package is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise ImportError(
                f"{type(settings).__name__} needs {package}, which is not "
                f'installed: pip install "spacy-ssvm[solvers]"'
            )


def check_choice(settings: object, name: str, choices: tuple[str, ...]) -> None:
    """Raise ConfigValidationError, naming the setting, where it is not one of the choices."""
    value = getattr(settings, name)
    if value not in choices:
        quoted = [f"'{choice}'" for choice in choices]
        listed = " or ".join([", ".join(quoted[:-1]), quoted[-1]])
        raise invalid_setting(settings, name, f"is '{value}': choose {listed}")
