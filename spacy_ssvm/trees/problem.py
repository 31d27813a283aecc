"""Examples of trees, checked once, as contiguous arrays to which more are appended."""

import numpy as np

from spacy_ssvm._jit import Ints, Keys
from spacy_ssvm.trees.layout import ArcFeatures, Pruner, TreeExamples
from spacy_ssvm.trees.nodes import find_flaw
from spacy_ssvm.trees.oracle import TREES
from spacy_ssvm.trees.scores import max_rows
from spacy_ssvm.weights.growing import GrowingArray, gather_ranges


class TreeProblem:
    """Sentences with their heads.

    features: what makes the features of a tree.
    pruner: says which arcs are scored; it may be changed at any time.
    columns: how many attributes a token has.
    """

    structure = TREES

    def __init__(self, features: ArcFeatures, pruner: Pruner, columns: int) -> None:
        self.features = features
        self.pruner = pruner
        self._node_starts = GrowingArray(np.int64, [0])
        self._attributes = GrowingArray(np.uint64, np.zeros((0, columns)))
        self._heads = GrowingArray(np.int64)
        self._completions = GrowingArray(np.int64)

    @property
    def number_of_examples(self) -> int:
        """How many sentences there are."""
        return self._node_starts.size - 1

    @property
    def max_entries(self) -> int:
        """How many entries Phi_i(y) has at most, for any example."""
        nodes = int(np.diff(self._node_starts.array).max(initial=0))
        features = self.features
        return 2 * nodes * int(max_rows(features.arcs, nodes) + max_rows(features.pairs, 0))

    @property
    def max_expected_entries(self) -> int:
        """How many entries E[phi(x_i, Y)] has at most, for any example."""
        nodes = int(np.diff(self._node_starts.array).max(initial=0))
        rows = int(max_rows(self.features.arcs, nodes))
        return min(nodes * nodes * rows, self.features.size)

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""
        return rows + 1

    def append(self, attributes: Keys, node_starts: Ints, heads: Ints) -> range:
        """Append sentences; return their numbers.

        attributes: uint64 [nodes, columns]; node_starts: int64 [examples + 1], the root of
            each sentence, behind which its words and one more node follow.
        heads: int64 [nodes], the gold heads as nodes of the sentence, -1 for none.
        """
        flaw = find_flaw(node_starts, heads)
        if flaw is not None:
            s, what, members = flaw
            raise ValueError(f"sentence {s}: {what}, words {', '.join(map(str, members))}")
        first = self.number_of_examples
        self._node_starts.extend(node_starts[1:] + self._heads.size)
        self._attributes.extend(attributes)
        self._heads.extend(heads)
        self._completions.extend(heads)
        return range(first, self.number_of_examples)

    def forget(self, numbers: range) -> None:
        """Take the gold annotation of examples away: any tree is right from now on."""
        for i in numbers:
            first, last = self._node_starts.array[i : i + 2]
            self._heads.array[first:last] = -1
            self._completions.array[first:last] = -1

    def forget_completions(self) -> None:
        """Take back what was assumed where there is no gold annotation."""
        self._completions.array[:] = self._heads.array

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples: they get the numbers 0, 1, ... in this order."""
        nodes, self._node_starts = gather_ranges(self._node_starts, numbers)
        self._attributes = GrowingArray(np.uint64, self._attributes.array[nodes])
        self._heads = GrowingArray(np.int64, self._heads.array[nodes])
        self._completions = GrowingArray(np.int64, self._completions.array[nodes])

    def examples(self) -> TreeExamples:
        """The arrays, for kernels; valid until the next ``append``."""
        return TreeExamples(
            self._node_starts.array,
            self._attributes.array,
            self._heads.array,
            self._completions.array,
            self.features,
            self.pruner,
        )
