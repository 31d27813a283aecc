"""The interfaces between structures and solvers.

A structure (label sequences, dependency trees) is a set of compiled functions over the examples
of a problem: its oracles. A solver passes them to its kernels as function pointers. All it
sees of a structure are costs Delta_i(y) and sparse differences of feature vectors,

    Phi_i(y) = phi(x_i, y_i) - phi(x_i, y).

Oracles come in pairs. ``decode`` and ``expect`` read w, and write nothing that examples share: y
or z is all they return of a structure. ``difference`` and ``expected_difference`` write what that
means for w, as indices (int32) and values: each index once, no zeros. They return the number of
entries, and alone ask the store for indices: ``NEEDS_CAPACITY`` where features have no weights
yet and there is no capacity for them, in which case nothing else has been written.

Partial gold is completed by decoding under w, among the structures that agree with it: where
``complete`` is set, and where there is no completion yet. A difference is that of the last
completion.

``docs/adding-a-structure.md`` adds a structure step by step.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from spacy_ssvm.kernels.types import (
    Bool,
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    FunctionType,
    Int,
    Ints,
    Ints1,
    Ints2,
    Rows,
    Rows1,
    Type,
    Weights1,
    named_tuple,
    tuple_of,
)
from spacy_ssvm.weights.groups import GroupedStore

#: The size of a difference where weights must be allocated first.
NEEDS_CAPACITY = -2

#: The arrays that hold the examples of a problem: a ``NamedTuple`` of each structure's own.
ExampleArrays = tuple[object, ...]

Decode = Callable[..., tuple[Ints, float, bool]]
Difference = Callable[..., int]
Expect = Callable[..., tuple[Floats, float, bool, float]]
ExpectedDifference = Callable[..., int]
KBestDecode = Callable[..., tuple[Ints, Floats]]
Project = Callable[..., tuple[Floats, float, bool]]

#: The oracles of solvers with a hinge or perceptron loss, and those of the losses with a finite
#: beta, by their names in ``Structure``.
HINGE_ORACLES = ("decode", "difference")
EXPECTED_ORACLES = ("expect", "expected_difference")


class Structure(NamedTuple):
    """A kind of structure."""

    #: The numba type of ``ExampleArrays``.
    examples_type: Type

    #: (examples, i, w, gamma, complete) -> (y, Delta_i(y), recompleted): y = argmax
    #: w . phi(x_i, y) + gamma Delta_i(y), as int64 [parts], empty for an example without gold
    #: annotation; and whether the completion of partial gold has changed. gamma = 0 is plain
    #: decoding.
    decode: Decode

    #: (examples, i, y, indices, values) -> size: writes Phi_i(y), values in float32.
    difference: Difference

    #: (examples, i, w, beta, gamma, complete) -> (z, loss, recompleted, E[Delta_i(Y)]): z holds the
    #: expectations of parts (float64, laid out as the structure likes; empty for an example
    #: without gold annotation), where the log-potentials of Y are
    #: beta (w . phi(x_i, y) + gamma Delta_i(y)), and loss is L_{beta,gamma}(w; x_i, y_i)
    #: [MGS10 Eqs. 3 and 9]. beta is finite. None for a structure whose expectations are
    #: intractable.
    expect: Expect | None = None

    #: (examples, i, z, indices, values) -> size: writes E[phi(x_i, Y)] - phi(x_i, y_i), values
    #: in float64, at most ``Problem.max_expected_entries``. This is the gradient of the loss.
    expected_difference: ExpectedDifference | None = None

    #: (examples, i, w, gamma, k, complete) -> (ys, costs): the k best of ``decode``, best first:
    #: int64 [up to k, parts], float64 [up to k]. None where only the best is known.
    k_best_decode: KBestDecode | None = None

    #: (examples, i, w, step, complete, parts, direction) -> (z, Delta_i(z'), recompleted): moves a
    #: point z of the convex hull of the legal structures, or of a polytope around it whose best
    #: point is always a structure, as that of cuts [TLJ05, section 2], by step (at least 0) times
    #: g_i = F_i^T w + c_i, and projects it back [TLJ05 Eqs. 5 and 6]: z' is the closest
    #: point of it to z + step g_i. A structure is the indicator vector of its parts, of
    #: which phi and Delta are affine functions: phi(x_i, z) = F_i z and Delta_i(z) = c_i . z, up
    #: to constants.
    #: parts (float64 [parts of example i]) has z and receives z'; with ``complete`` it receives
    #: the completed gold structure before the step, whatever it had. direction (float64, as long)
    #: receives g_i, 0 at parts that no legal structure has. Returns z' as ``expected_difference``
    #: takes it, for F_i z' - phi(x_i, y_i). With step = 0 this describes z itself.
    #: The problem then says where the parts of examples start, as ``part_starts`` of
    #: ``lab.projections.ProjectedProblem``. None where there is no such projection, or
    #: ``lab/projections`` adds it.
    project: Project | None = None

    #: Whether weights are allocated on first use: differences can return ``NEEDS_CAPACITY``, and
    #: the problem is an ``AllocatingProblem``.
    is_lazy: bool = False

    #: Whether blocks of new examples can be decoded ahead (``solvers.decoding.block_size``).
    decodes_new_ahead: bool = False

    #: Whether other processes have the examples: the problem is a ``RemoteProblem``.
    is_remote: bool = False

    def oracle_type(self, name: str) -> Type:
        """The numba type of an oracle."""
        returned, arguments = _SIGNATURES[name]
        return FunctionType(returned(self.examples_type, Int, *arguments))


_SIGNATURES: dict[str, tuple[Type, tuple[Type, ...]]] = {
    "decode": (tuple_of(Ints1, Float, Bool), (Floats1, Float, Bool)),
    "difference": (Int, (Ints1, Rows1, Weights1)),
    "expect": (tuple_of(Floats1, Float, Bool, Float), (Floats1, Float, Float, Bool)),
    "expected_difference": (Int, (Floats1, Rows1, Floats1)),
    "k_best_decode": (tuple_of(Ints2, Floats1), (Floats1, Float, Int, Bool)),
    "project": (tuple_of(Floats1, Float, Bool), (Floats1, Float, Bool, Floats1, Floats1)),
}


class Problem(Protocol):
    """The examples of a structure, as solvers need them."""

    @property
    def structure(self) -> Structure:
        """Its oracles."""

    #: The first this many weights are kept >= 0; it never changes. A solver that cannot keep
    #: them so refuses the problem.
    nonnegative: int

    @property
    def number_of_examples(self) -> int:
        """The number of examples."""

    @property
    def max_entries(self) -> int:
        """The largest number of entries of Phi_i(y) for any example."""

    @property
    def max_expected_entries(self) -> int:
        """The largest number of entries that ``Structure.expected_difference`` writes."""

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""

    def examples(self) -> ExampleArrays:
        """The arrays that kernels read, of type ``Structure.examples_type``."""


class AllocatingProblem(Problem, Protocol):
    """A problem whose weights are allocated on first use."""

    def reserve(self) -> Rows | None:
        """Make room for the weights that an oracle has asked for; ``number_of_weights`` grows.

        Returns None, or where the weights have moved to: int32 [weights before], -1 for those
        without a meaning.
        """

    def with_own_weights(self) -> "AllocatingProblem":
        """The same examples, for a copy of a run: what it allocates is its own."""

    def frozen_examples(self) -> ExampleArrays:
        """The arrays, for kernels that allocate nothing.

        Differences leave out what has no weight yet: it would be 0.
        """


class Decoded(NamedTuple):
    """What was found for each of some examples."""

    ys: Ints  #: int64 [parts]: the structures, one after another
    starts: Ints  #: int64 [examples + 1]: where those of each example begin
    costs: Floats  #: float64 [examples]: Delta_i(y)
    recompleted: Flags  #: bool [examples]: whether the completion of partial gold has changed


DecodedType = named_tuple(Decoded, Ints1, Ints1, Floats1, Flags1)


class AddressedProblem(AllocatingProblem, Protocol):
    """A problem that processes share: each knows weights by their addresses.

    A process has its own layout of w. The address of a weight is the index that it would have if
    all of them existed.
    """

    def request(self, addresses: Rows) -> None:
        """Ask for the capacity for weights, which ``reserve`` then makes."""

    def find(self, addresses: Rows) -> Ints:
        """The indices of weights (int64), which are allocated where they are missing.

        There must be capacity for them.
        """

    @property
    def addresses(self) -> tuple[int, Any]:
        """The number of weights before those of rows, and where the others are."""

    def make_room(self, entries: int) -> None:
        """Let there be room for this many weights of rows: see ``rows.RowTable``."""

    def completion(self, i: int) -> Any:
        """The completion of the partial gold of an example."""

    def restore_completion(self, i: int, completion: Any) -> None:
        """Complete the partial gold of an example as another process has completed it."""

    def addressed_examples(self) -> ExampleArrays:
        """The arrays, for kernels whose differences have addresses instead of indices."""


class Gradient(NamedTuple):
    """The losses of examples and their gradient."""

    loss: float  #: the sum of all
    gradient: Floats  #: float64 [weights]
    recompleted: bool  #: whether the completion of any partial gold has changed


class RemoteProblem(AllocatingProblem, Protocol):
    """A problem whose examples are in other processes, which decode them.

    Kernels see what has been found for the last block: ``decode`` is never called.
    """

    words: int  #: of the Docs of all examples

    def decode_blocks(
        self,
        parts: Iterable[Ints],
        weights: Callable[[], Floats],
        gamma: float,
        due: Callable[[Ints], Flags],
    ) -> Iterator[tuple[Ints, Decoded]]:
        """See ``solvers.decoding.decode_blocks``."""

    def touch(self, numbers: Ints, sets: Any) -> None:
        """Note that a run is about to change weights of the constraints of these examples.

        A run that calls this changes no others, but those of what it has been given since. sets:
        ``WorkingSets``.
        """

    def compute(
        self, function: Callable[..., Any], w: Floats, numbers: Ints, *arguments: Any
    ) -> list[tuple[Ints, Any]]:
        """Let each process call a function of its problem, w, its own of these examples, and more.

        Returns the positions of these examples among all, in order, and what has been found.
        """

    def release(self) -> None:
        """Let the other processes forget a copy of the problem, see ``with_own_weights``."""

    def complete_all(self, w: Floats) -> Flags:
        """Complete all partial gold under w; return which examples have changed."""

    def gradient(self, w: Floats, loss: tuple[object, ...], *, complete: bool) -> Gradient:
        """The losses of all examples and their gradient, where all weights exist.

        loss: an ``objective.Loss`` with a finite beta. complete: whether to complete partial gold
        first, under w.
        """


class GroupedProblem(Problem, Protocol):
    """A problem whose templates a solver can select."""

    @property
    def store(self) -> GroupedStore:
        """Where the weights are."""

    #: Whether template b refines template a (bool [T, T]); None where that is not known.
    refines: Flags | None

    @property
    def group_sizes(self) -> Ints:
        """The number of weights that each template can have (int64 [T])."""
