"""What solvers see of structures, whatever they are: oracles and problems.

A structure (label sequences, dependency trees) is a set of compiled functions over the examples
of a problem: its oracles. A solver passes them to its kernels as function pointers, and sees of
a structure only costs Delta_i(y) and sparse differences of feature vectors,

    Phi_i(y) = phi(x_i, y_i) - phi(x_i, y).

An oracle writes a vector as indices into w (int32) and values: each index once, no zeros. It
returns a tuple (size, value, recompleted): the number of entries, a cost or loss, and whether the
completion of partial gold has changed. The size is ``UNANNOTATED`` for an example without gold
annotation, and ``NEEDS_CAPACITY`` where features of the example have no weights yet and there is
no capacity for them.

Partial gold is completed by decoding under w, among the structures that agree with it: where
``complete`` is set, and where there is no completion yet.

``docs/adding-a-structure.md`` adds a structure step by step.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from spacy_ssvm._jit import (
    Bool,
    Flags,
    Float,
    Floats1,
    FunctionType,
    Int,
    Ints,
    Ints1,
    Rows1,
    Weights1,
    tuple_of,
)
from spacy_ssvm.weights.groups import GroupedStore

#: The size of the difference for an example without gold annotation.
UNANNOTATED = -1

#: The size where weights must be allocated first: see ``GroupedStore.reserve``.
NEEDS_CAPACITY = -2

LossAugmentedDecode = Callable[..., tuple[int, float, bool]]
ExpectedGradient = Callable[..., tuple[int, float, bool]]
KBestDecode = Callable[..., int]


class Structure(NamedTuple):
    """A kind of structure."""

    #: The numba type of the arrays that hold examples.
    examples_type: Any

    #: (examples, i, w, gamma, complete, indices, values) -> (size, Delta_i(y), recompleted):
    #: y = argmax w . phi(x_i, y) + gamma Delta_i(y). Writes Phi_i(y), values in float32.
    #: gamma = 0 is plain decoding.
    loss_augmented_decode: LossAugmentedDecode

    #: (examples, i, w, beta, gamma, complete, indices, values) -> (size, loss, recompleted):
    #: writes E[phi(x_i, Y)] - phi(x_i, y_i), values in float64, where the log-potentials of Y
    #: are beta (w . phi(x_i, y) + gamma Delta_i(y)). This is the gradient of the loss
    #: L_{beta,gamma}(w; x_i, y_i) [MGS10 Eqs. 3 and 9]. beta is finite. None for a structure
    #: whose expectations are intractable.
    expected_gradient: ExpectedGradient | None = None

    #: (examples, i, w, gamma, k, complete, starts, costs, indices, values) -> count: the k best
    #: of ``loss_augmented_decode``, best first. Writes their Phi one after another, the m-th at
    #: starts[m] to starts[m + 1], and their costs. None where only the best is known.
    k_best_decode: KBestDecode | None = None

    def oracle_type(self, name: str) -> Any:
        """The numba type of an oracle."""
        return FunctionType(_SIGNATURES[name](self.examples_type))


_Returned = tuple_of(Int, Float, Bool)

_SIGNATURES: dict[str, Callable[[Any], Any]] = {
    "loss_augmented_decode": lambda examples: _Returned(
        *(examples, Int, Floats1, Float, Bool, Rows1, Weights1)
    ),
    "expected_gradient": lambda examples: _Returned(
        *(examples, Int, Floats1, Float, Float, Bool, Rows1, Floats1)
    ),
    "k_best_decode": lambda examples: Int(
        *(examples, Int, Floats1, Float, Int, Bool, Ints1, Floats1, Rows1, Weights1)
    ),
}


class Problem(Protocol):
    """Examples of a structure, as solvers need them."""

    structure: Structure

    @property
    def number_of_examples(self) -> int:
        """The number of examples."""

    @property
    def max_entries(self) -> int:
        """The largest number of entries of Phi_i(y) for any example."""

    @property
    def max_expected_entries(self) -> int:
        """The largest number of entries that ``Structure.expected_gradient`` writes."""

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""

    def examples(self) -> Any:
        """The arrays that kernels read, of type ``Structure.examples_type``."""


class GroupedProblem(Problem, Protocol):
    """What a solver needs of a problem to select among its templates."""

    store: GroupedStore

    #: Whether template b refines template a (bool [T, T]); None where that is not known.
    refines: Flags | None

    @property
    def group_sizes(self) -> Ints:
        """The number of weights that each template can have (int64 [T])."""
