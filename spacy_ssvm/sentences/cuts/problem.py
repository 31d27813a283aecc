"""Examples of labelings of graphs, checked once, as arrays to which more are appended."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Labels, Rows
from spacy_ssvm.labelings.word_features import RowFeatures
from spacy_ssvm.sentences.cuts.layout import Examples
from spacy_ssvm.sentences.cuts.oracle import CUTS
from spacy_ssvm.weights.growing import GrowingArray, check_starts, gather_ranges
from spacy_ssvm.weights.rows import PlainAddresses, RowTable, kept_weights, measure_rows

#: The largest edge feature: sums over the edges of an example are finite in float32.
_MAX_FEATURE = 1e30


class CutProblem(PlainAddresses):
    """Examples for labelings of graphs with K labels and a number of edge features.

    costs: float64 [K, K], see ``ChainProblem``. Hamming by default.
    Raises ValueError for fewer than one label, a negative number of edge features, or bad costs.
    """

    def __init__(self, K: int, edge_features: int, *, costs: Floats | None = None) -> None:
        if edge_features < 0:
            raise ValueError(f"edge_features: {edge_features}, but it must not be negative")
        self.K = K
        self.nonnegative = edge_features  # the weights of edges
        self.structure = CUTS
        self.row_templates = np.zeros(0, dtype=np.int32)  # no solver selects among them
        self._nodes = ChainProblem(K, costs=costs)  # of which the transitions are not used
        self._edge_starts = GrowingArray(np.int64, [0])
        self._edges = GrowingArray(np.int64, np.zeros((0, 2)))
        self._edge_features = GrowingArray(np.float64, np.zeros((0, edge_features)))

    @property
    def any_label(self) -> int:
        """The label set of a node without gold annotation."""
        return self._nodes.any_label

    @property
    def table(self) -> RowTable:
        """Where the weights of rows are, behind those of edges."""
        return self._nodes.table

    def allocate(self, *, lazily: bool) -> None:
        """Does nothing: rows have weights for all labels, of which there are few."""

    def insert(self, starts: Ints, labels: Labels) -> Ints:
        """The entries of the weights of rows 0, 1, ...: see ``compact.Entries``."""
        return self._nodes.insert(starts, labels)

    @property
    def number_of_examples(self) -> int:
        return self._nodes.number_of_examples

    def label_set(self, labels: Sequence[int]) -> int:
        """The number of the set that allows these labels; its cost is their minimum."""
        return self._nodes.label_set(labels)

    def append(
        self,
        feature_starts: Ints,
        rows: Rows,
        node_starts: Ints,
        gold: Ints,
        edge_starts: Ints,
        edges: Ints,
        edge_features: Floats,
    ) -> range:
        """Append examples; return their numbers.

        feature_starts: int64 [nodes + 1]; rows: int32 [features], none negative.
        node_starts, edge_starts: int64 [examples + 1]; gold: int64 [nodes], label sets.
        edges: int64 [edges, 2], two different nodes, counted from 0 in each example.
        edge_features: float64 [edges, E], from 0 to 1e30.
        Raises ValueError where something is not so, naming it; then nothing is appended.
        """
        check_starts("node_starts", node_starts, len(gold))
        check_starts("edge_starts", edge_starts, len(edges))
        if len(edge_starts) != len(node_starts):
            raise ValueError(
                f"{len(node_starts) - 1} examples with nodes, {len(edge_starts) - 1} with edges"
            )
        shape = len(edges), self.nonnegative
        for name, array, expected in (
            ("edges", edges, (len(edges), 2)),
            ("edge_features", edge_features, shape),
        ):
            if array.shape != expected:
                raise ValueError(f"{name}: shape {array.shape}, expected {expected}")
        _check_edges(np.diff(node_starts), edge_starts, edges, edge_features)
        numbers = self._nodes.append(feature_starts, rows, node_starts, gold)
        self._edge_starts.extend(edge_starts[1:] + self._edge_starts.array[-1])
        self._edges.extend(edges)
        self._edge_features.extend(edge_features)
        return numbers

    def forget(self, numbers: range) -> None:
        """Remove the gold annotation of examples: from now on, every structure is correct."""
        self._nodes.forget(numbers)

    def forget_completions(self) -> None:
        """Forget the completions of partial gold."""
        self._nodes.forget_completions()

    def completion(self, i: int) -> np.ndarray:
        """See ``AddressedProblem``."""
        return self._nodes.completion(i)

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples: they get the numbers 0, 1, ... in this order."""
        self._nodes.keep(numbers)
        edges, self._edge_starts = gather_ranges(self._edge_starts, numbers)
        self._edges = GrowingArray(np.int64, self._edges.array[edges])
        self._edge_features = GrowingArray(np.float64, self._edge_features.array[edges])

    def count_rows(self, rows: int) -> Ints:
        """How often examples have each row as a feature, see ``IndexedProblem``."""
        return self._nodes.count_rows(rows)

    def number_rows(self, numbers: Rows, rows: int) -> None:
        """Give features other rows, see ``IndexedProblem``."""
        self._nodes.number_rows(numbers, rows)

    def measure_rows(self, w: Floats, rows: int) -> tuple[Floats, Ints]:
        """The largest weight and the number of weights of each row, see ``IndexedProblem``."""
        return measure_rows(self.table, w[self.nonnegative :], rows)

    def keep_rows(self, kept: Flags) -> Rows:
        """Keep only these of the rows, see ``IndexedProblem``."""
        self._nodes.keep_rows(kept)
        return kept_weights(kept, self.nonnegative, self.K)

    def examples(self) -> Examples:
        """The arrays, for kernels; valid until the next ``append``."""
        nodes = self._nodes.examples()
        return Examples(
            nodes,
            cast(RowFeatures, nodes.features),
            self._edge_starts.array,
            self._edges.array,
            self._edge_features.array,
        )

    @property
    def max_entries(self) -> int:
        """The maximum number of entries of Phi_i(y), over all examples."""
        nodes, features, *_ = self.examples()
        sizes = np.diff(features.starts[nodes.token_starts])
        return self.nonnegative + 2 * int(sizes.max(initial=0))

    @property
    def max_expected_entries(self) -> int:
        """See ``Problem``: as many as those of Phi_i(y)."""
        return self.max_entries

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""
        return self.nonnegative + rows * self.K


def _check_edges(sizes: Ints, starts: Ints, edges: Ints, features: Floats) -> None:
    """Raise ValueError for an edge that is not one of its example, or has bad features.

    sizes: int64 [examples], the numbers of nodes.
    """
    owners = np.repeat(np.arange(len(sizes)), np.diff(starts))
    inside = (edges >= 0) & (edges < sizes[owners][:, None])
    for good, flaw, array in (
        (inside, "expected nodes of the example, counted from 0", edges),
        (edges[:, :1] != edges[:, 1:], "expected two different nodes", edges),
        ((features >= 0) & (features <= _MAX_FEATURE), f"expected 0 to {_MAX_FEATURE}", features),
    ):
        bad = np.flatnonzero(~good.all(axis=1))
        if len(bad):
            i = owners[bad[0]]
            raise ValueError(
                f"edge {bad[0] - starts[i]} of example {i}: {flaw}, not {array[bad[0]].tolist()}"
            )
