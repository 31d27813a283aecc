"""What all solvers have in common: settings that start runs, and weights that grow."""

from importlib.util import find_spec
from typing import Protocol

import numpy as np
from thinc.config import ConfigValidationError

from spacy_ssvm._jit import Floats, Ints
from spacy_ssvm.objective import Loss, Objective, evaluate
from spacy_ssvm.structure import Problem
from spacy_ssvm.weights.growing import longer

_MAX_WEIGHTS = 2**31 - 1  # indices into w are int32
_MIN_C, _MAX_C = 1e-30, 1e30


class Solver(Protocol):
    """The settings of a solver."""

    @property
    def C(self) -> float:
        """The weight of the losses against the squared norm of the weights, per example."""

    @property
    def seed(self) -> int:
        """Of all that is random."""

    @property
    def loss_function(self) -> Loss:
        """What is minimized over the examples."""

    @property
    def oracles(self) -> tuple[str, ...]:
        """The oracles of ``Structure`` that are asked."""

    def start(self, problem: Problem, prior: Floats | None = None) -> "Run":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""


class Run(Protocol):
    """The state of a solver on a problem, and the passes that improve it."""

    @property
    def settings(self) -> Solver:
        """What the run was started by."""

    @property
    def w(self) -> Floats:
        """The weights: float64, laid out as the problem says, with zeros behind them."""

    @property
    def dual(self) -> float | None:
        """The value of the dual problem; None for a solver without one."""

    @property
    def regularizer(self) -> float:
        """1/2 |w - w_0|^2."""

    @property
    def gap(self) -> float | None:
        """The relative duality gap as the last passes saw it; None without a dual."""

    def objective(self) -> Objective:
        """Primal, dual and gap, by inference on all examples with the weights as they are."""

    def grow(self, rows: int) -> None:
        """Make room for the problem's examples and for this many feature rows."""

    def epoch(self, numbers: Ints) -> float:
        """Improve the weights by a pass over these examples; return the sum of their losses."""

    def forget(self, numbers: Ints) -> None:
        """Examples are about to leave: take back what can be told apart as theirs."""

    def keep(self, numbers: Ints) -> None:
        """Follow ``Problem.keep``; the other examples must have been forgotten."""


class PrimalRun:
    """A run that has weights alone: what a solver without a dual starts from."""

    dual: float | None = None
    gap: float | None = None

    def __init__(self, settings: Solver, problem: Problem, prior: Floats | None) -> None:
        self.settings = settings
        self.problem = problem
        self._order = np.random.default_rng(settings.seed)
        self._prior = np.zeros(0) if prior is None else prior
        self._w: Floats = self._prior.copy()

    @property
    def w(self) -> Floats:
        """See ``Run``."""
        return self._w

    @property
    def regularizer(self) -> float:
        """See ``Run``."""
        change = self.w.copy()
        change[: len(self._prior)] -= self._prior
        return float(change @ change) / 2

    def objective(self) -> Objective:
        """See ``Run``."""
        return evaluate(
            self.problem,
            self.w,
            C=self.settings.C,
            regularizer=self.regularizer,
            dual=self.dual,
            loss=self.settings.loss_function,
        )

    def grow(self, rows: int) -> None:
        """See ``Run``."""
        size = size_of_weights(self.problem, rows)
        if size > len(self._w):
            self._w = longer(self._w, size)

    def forget(self, numbers: Ints) -> None:
        """Nothing to take back: a step leaves no record of its example."""

    def keep(self, numbers: Ints) -> None:
        """Nothing is kept by example."""

    def _shuffled(self, numbers: Ints) -> Ints:
        """The examples in an order that depends on the seed, not on that of the numbers."""
        return self._order.permutation(np.sort(numbers))


def size_of_weights(problem: Problem, rows: int) -> int:
    """The length of w. Raises ValueError where it is more than can be indexed."""
    size = problem.number_of_weights(rows)
    if size > _MAX_WEIGHTS:
        raise ValueError(
            f"{rows} feature rows make {size} weights, more than can be indexed "
            f"({_MAX_WEIGHTS}): raise min_count, or set hash_bits"
        )
    return size


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


def check_C(settings: Solver) -> None:
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


def check_whole(settings: object, *names: str, least: int = 0) -> None:
    """Raise ConfigValidationError, naming the setting, where one is no integer or too small."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, int):
            raise invalid_setting(settings, name, f"is {value}: it must be a whole number")
        if value < least:
            bound = "not be negative" if least == 0 else f"be at least {least}"
            raise invalid_setting(settings, name, f"is {value}: it must {bound}")


def check_installed(settings: object, *packages: str) -> None:
    """Raise ImportError, saying what to install, where one of the packages is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise ImportError(
                f"{type(settings).__name__} needs {package}, which is not "
                f'installed: pip install "spacy-ssvm[solvers]"'
            )


def check_choice(settings: object, name: str, choices: tuple[str, ...]) -> None:
    """Raise ConfigValidationError, naming the setting, where it is none of the choices."""
    value = getattr(settings, name)
    if value not in choices:
        quoted = [f"'{choice}'" for choice in choices]
        listed = " or ".join([", ".join(quoted[:-1]), quoted[-1]])
        raise invalid_setting(settings, name, f"is '{value}': choose {listed}")
