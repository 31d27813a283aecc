"""What a solver may ask about structures, whatever they are: the oracles.

A kind of structure (chains, trees) comes as compiled functions over the examples of its
problems. A solver hands them to its kernels as function pointers, and sees of a structure
only sparse differences of feature vectors and costs.

Each writes its vectors as indices into w (int32) and values, each index once, without zeros,
and returns their size, or ``UNANNOTATED`` for an example without gold annotation. Partial
gold stands for its best completion under w, which is looked for where ``complete`` is set, or
there is none yet; outcome[1] is 1 where it has changed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from spacy_ssvm._jit import (
    Bool,
    Flags,
    Float,
    Floats,
    Floats1,
    FunctionType,
    Int,
    Ints,
    Ints1,
    Rows,
    Rows1,
    Weights1,
    named_tuple,
)

#: The size of the difference for an example without gold annotation.
UNANNOTATED = -1

#: That of an example whose features have no room: see ``GroupedProblem.reserve``.
NEEDS_CAPACITY = -2

LossAugmentedDecode = Callable[..., int]
ExpectedGradient = Callable[..., int]
KBest = Callable[..., int]


class Structure(NamedTuple):
    """A kind of structure."""

    #: The numba type of the arrays that hold examples.
    examples_type: Any

    #: (examples, i, w, gamma, complete, indices, values, outcome) -> size: loss-augmented
    #: inference, y = argmax w . phi(x_i, y) + gamma Delta_i(y). Writes Phi_i(y), with values
    #: in float32, and outcome[0] = Delta_i(y). gamma = 0 is plain decoding.
    loss_augmented_decode: LossAugmentedDecode

    #: (examples, w, changed): gives each example with partial gold its best completion
    #: under w; tells which (bool [examples]) changed.
    complete_gold: Callable[..., None]

    #: (examples, i, w, beta, gamma, complete, indices, values, outcome) -> size: writes
    #: E[phi(x_i, Y)] - phi(x_i, y_i), with values in float64, where the log-potentials of Y
    #: are beta (w . phi(x_i, y) + gamma Delta_i(y)); and outcome[0] = L_{beta,gamma}(w; x_i,
    #: y_i), of which that is the gradient [MGS10 Eqs. 3 and 9]. beta is finite.
    expected_gradient: ExpectedGradient

    #: (examples, i, w, gamma, k, complete, starts, costs, indices, values, outcome) -> count:
    #: the k best of ``loss_augmented_decode``, best first. Writes their Phi one after another,
    #: the m-th at starts[m] to starts[m + 1], and Delta_i of each into costs. None where a
    #: structure cannot tell.
    k_best_decode: KBest | None

    def oracle_type(self, name: str) -> Any:
        """The numba type of an oracle."""
        return FunctionType(_SIGNATURES[name](self.examples_type))


_SIGNATURES: dict[str, Callable[[Any], Any]] = {
    "loss_augmented_decode": lambda examples: Int(
        examples, Int, Floats1, Float, Bool, Rows1, Weights1, Floats1
    ),
    "expected_gradient": lambda examples: Int(
        examples, Int, Floats1, Float, Float, Bool, Rows1, Floats1, Floats1
    ),
    "k_best_decode": lambda examples: Int(
        *(examples, Int, Floats1, Float, Int, Bool, Ints1, Floats1, Rows1, Weights1, Floats1)
    ),
}


class Problem(Protocol):
    """What solvers need of a problem."""

    structure: Structure

    @property
    def number_of_examples(self) -> int:
        """How many examples there are."""

    @property
    def max_entries(self) -> int:
        """How many entries Phi_i(y) has at most, for any example."""

    @property
    def max_expected_entries(self) -> int:
        """How many entries ``Structure.expected_gradient`` writes at most, for any example."""

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""

    def examples(self) -> Any:
        """The arrays, for kernels."""


class Groups(NamedTuple):
    """The template of each weight, and how its weights are stored.

    The weight first + row * width + k, k < width, belongs to templates[row] and is stored divided
    by the scale of the template. Those before ``first`` belong to none, and are never shrunk.
    """

    first: int
    width: int
    labels: int  #: how many weights a feature can have
    templates: Rows  #: int32 [rows]
    scales: Floats  #: float64 [T]
    first_rows: Ints  #: int64 [T]: rows of the template before this one are stale


GroupsType = named_tuple(Groups, Int, Int, Int, Rows1, Floats1, Ints1)


class GroupedProblem(Problem, Protocol):
    """What a learner needs of a problem to select among its templates."""

    #: Whether template b needs template a (bool [T, T]); None where that is not known.
    refines: Flags | None

    @property
    def sizes(self) -> Ints:
        """How many weights each template can have (int64 [T])."""

    @property
    def allocated(self) -> int:
        """How many weights of templates have memory now."""

    def groups(self) -> Groups:
        """The template of each weight, as it is now."""

    def row_features(self) -> Rows:
        """The feature of each row, a number below that of rows: int32 [rows]."""

    def reserve(self, w: Floats) -> Floats:
        """Make room for the features of any example; return the weights with theirs."""

    def rescale(self, w: Floats, factors: Floats) -> None:
        """Multiply the weights of each template by its factor, float64 [T]."""

    def sweep(self, w: Floats) -> Floats:
        """Free the memory of templates whose factor was 0; return the weights."""
