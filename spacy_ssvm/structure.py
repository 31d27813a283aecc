"""What a solver may ask about structures, whatever they are: the oracle.

A kind of structure (chains, trees) comes as compiled functions over the examples of its
problems. A solver hands them to its kernels as function pointers, and sees of a structure
only the sparse difference Phi_i(y) of feature vectors and the cost Delta_i(y).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from spacy_ssvm._jit import (
    Bool,
    Floats1,
    FunctionType,
    Int,
    Rows1,
    Weights1,
)

#: The size of the difference for an example without gold annotation.
NOTHING_TO_LEARN = -1

FindViolator = Callable[..., int]


class Structure(NamedTuple):
    """A kind of structure."""

    #: The numba type of the arrays that hold examples.
    examples_type: Any

    #: (examples, i, w, complete, indices, values, outcome) -> size: loss-augmented
    #: inference, y = argmax w . phi(x_i, y) + Delta_i(y). Writes Phi_i(y) as indices into w
    #: (int32) and values (float32), each index once, without zeros, and outcome: Delta_i(y),
    #: and 1 where the completion of partial gold has changed. That is looked for where
    #: ``complete`` is set, or there is none yet.
    find_violator: FindViolator

    #: (examples, w, changed): gives each example with partial gold its best completion
    #: under w; tells which (bool [examples]) changed.
    complete_gold: Callable[..., None]

    @property
    def oracle_type(self) -> Any:
        """The numba type of ``find_violator``."""
        return FunctionType(Int(self.examples_type, Int, Floats1, Bool, Rows1, Weights1, Floats1))


class AnyProblem(Protocol):
    """What solvers need of a problem."""

    structure: Structure

    @property
    def number_of_examples(self) -> int:
        """How many examples there are."""

    @property
    def most_entries(self) -> int:
        """How many entries Phi_i(y) has at most, for any example."""

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""

    def examples(self) -> Any:
        """The arrays, for kernels."""
