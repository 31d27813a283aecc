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

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from spacy_ssvm._jit import (
    Bool,
    Flags,
    Float,
    Floats1,
    FunctionType,
    Int,
    Ints,
    Ints1,
    Keys,
    Rows1,
    Signature,
    Type,
    Weights1,
    tuple_of,
)
from spacy_ssvm.weights.groups import GroupedStore

#: The size of the difference for an example without gold annotation.
UNANNOTATED = -1

#: The size where weights must be allocated first: see ``GroupedStore.reserve``.
NEEDS_CAPACITY = -2

#: The arrays that hold the examples of a problem: a ``NamedTuple`` of each structure's own.
ExampleArrays = tuple[Any, ...]

LossAugmentedDecode = Callable[..., tuple[int, float, bool]]
ExpectedGradient = Callable[..., tuple[int, float, bool]]
KBestDecode = Callable[..., int]


class Structure(NamedTuple):
    """A kind of structure."""

    #: The numba type of ``ExampleArrays``.
    examples_type: Type

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

    def oracle_type(self, name: str) -> Type:
        """The numba type of an oracle."""
        return FunctionType(_SIGNATURES[name](self.examples_type))


_Returned = tuple_of(Int, Float, Bool)

_SIGNATURES: dict[str, Callable[[Type], Signature]] = {
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

    def examples(self) -> ExampleArrays:
        """The arrays that kernels read, of type ``Structure.examples_type``."""


class GroupedProblem(Problem, Protocol):
    """What a solver needs of a problem to select among its templates."""

    store: GroupedStore

    #: Whether template b refines template a (bool [T, T]); None where that is not known.
    refines: Flags | None

    @property
    def group_sizes(self) -> Ints:
        """The number of weights that each template can have (int64 [T])."""


class Reader(Protocol):
    """What a component needs of the reader of a model: what it sees of Docs."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes that it reads."""

    def inputs(self, doc: Any) -> Keys:
        """All that features see of a Doc: uint64 [tokens, columns], the words first."""


class Model(Protocol):
    """What a component needs of a model: what it is about, its weights, saving and loading.

    ``chains.model.ChainModel`` and ``trees.model.ParserModel`` are models.
    """

    @property
    def templates(self) -> tuple[Any, ...]:
        """What makes features; as text, they are what a config lists."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels; none before ``define``."""

    @property
    def max_labels(self) -> int:
        """How many labels it can have at most."""

    @property
    def resources(self) -> Any:
        """What templates read beside the Docs: a ``features.resources.Resources``."""

    @property
    def reader(self) -> Reader:
        """What reads the attributes that the templates name."""

    @property
    def summary(self) -> Any:
        """The ``solvers.summary.TrainingSummary`` of a trained model, else None."""

    @property
    def beta(self) -> float | None:
        """By which exp(beta score) is a probability; None where there is none."""

    @property
    def number_of_rows(self) -> int:
        """How many rows have weights."""

    def define(self, templates: Iterable[Any], labels: Iterable[str], resources: Any) -> None:
        """Set what the model is about, and start from zero weights."""

    def add_labels(self, labels: Sequence[str]) -> None:
        """Append labels with zero weights; all other weights stay."""

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates that name an attribute of some kind."""

    @property
    def types(self) -> Mapping[str, type]:
        """The saved arrays with their types."""

    def header(self) -> dict[str, Any]:
        """What is saved beside the arrays."""

    def arrays(self) -> dict[str, Any]:
        """What is saved, by the names of ``types``."""

    def read(self, header: dict[str, Any], arrays: dict[str, Any]) -> Any:
        """What was saved, with its ``labels``, once it is known to be safe for kernels.

        Raises ValueError, saying what is wrong.
        """

    def become(self, saved: Any) -> None:
        """Become the model that was saved, as ``read`` returned it."""


Batch = TypeVar("Batch", contravariant=True)


class Trainer(Protocol[Batch]):
    """What a component needs to train a model on batches of Docs that were read with their gold.

    Where the model has weights, training continues from them. ``chains.training.ChainTrainer`` and
    ``trees.training.TreeTrainer`` are trainers.
    """

    @property
    def problem(self) -> Problem:
        """The examples."""

    @property
    def run(self) -> Any:
        """The ``solvers.run.Run`` that improves the weights."""

    def restart(self, solver: Any) -> None:
        """Start again from the weights of the model, with another ``solvers.run.Solver``."""

    def add(self, batch: Batch) -> list[range]:
        """Make examples of Docs; return the numbers of those of each Doc."""

    def remove(self, numbers: range) -> None:
        """Take examples out of the problem, and their share out of the weights."""

    def reclaim(self) -> Ints | None:
        """Free the memory of removed examples, once they are the larger part.

        Returns None, or the new number of each example (int64 [examples before]).
        """

    def epoch(self, numbers: Ints) -> float:
        """One pass of the solver over these examples; returns the sum of their losses."""

    def update_model(self) -> None:
        """Give the model the weights as they are now."""
