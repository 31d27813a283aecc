"""Examples of trees, checked once, as contiguous arrays to which more are appended."""

from copy import copy, deepcopy

import numpy as np

from spacy_ssvm.features.statistics import Statistics
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Rows
from spacy_ssvm.trees.layout import ArcFeatures, Arcs, HashedArcs, LazyArcs, Pruner, TreeExamples
from spacy_ssvm.trees.nodes import find_flaw
from spacy_ssvm.trees.oracle import LAZY_TREES, TREES
from spacy_ssvm.trees.pruner import likely_arcs
from spacy_ssvm.trees.scores import max_rows, max_word_rows
from spacy_ssvm.trees.statistics import measure_arc_templates
from spacy_ssvm.trees.templates import CompiledArcTemplates, compile_arc_templates
from spacy_ssvm.weights.groups import GroupedStore
from spacy_ssvm.weights.growing import GrowingArray, gather_ranges
from spacy_ssvm.weights.lazy import LazyWeights, frozen
from spacy_ssvm.weights.rows import PlainAddresses


class TreeProblem(PlainAddresses):
    """Sentences with their heads.

    features: the templates of arcs, and of pairs of arcs.
    pruner: chooses the arcs to score; it may be replaced at any time.
    columns: the number of attributes of a token.
    """

    structure = TREES
    nonnegative = 0

    def __init__(self, features: ArcFeatures, pruner: Pruner, columns: int) -> None:
        self.features = features
        self.pruner = pruner
        self._node_starts = GrowingArray(np.int64, [0])
        self._attributes = GrowingArray(np.uint64, np.zeros((0, columns)))
        self._heads = GrowingArray(np.int64)
        self._completions = GrowingArray(np.int64)

    @property
    def number_of_examples(self) -> int:
        """The number of sentences."""
        return self._node_starts.size - 1

    @property
    def max_entries(self) -> int:
        """The maximum number of entries of Phi_i(y), over all examples."""
        nodes = int(np.diff(self._node_starts.array).max(initial=0))
        return 2 * nodes * int(max_word_rows(self.features, nodes))

    @property
    def max_expected_entries(self) -> int:
        """The maximum number of entries of E[phi(x_i, Y)], over all examples."""
        nodes = int(np.diff(self._node_starts.array).max(initial=0))
        rows = int(max_rows(self.features.arcs, nodes))
        pair_rows = int(max_rows(self.features.pairs, 0))
        pair_rows += int(max_rows(self.features.grandparents, 0))
        return min(nodes * nodes * (rows + nodes * pair_rows), self.features.size)

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""
        return rows + 1

    def append(self, attributes: Keys, node_starts: Ints, heads: Ints) -> range:
        """Append sentences; return their numbers.

        attributes: uint64 [nodes, columns]; node_starts: int64 [examples + 1], the root of
            each sentence, followed by its words and its end.
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
        """Remove the gold annotation of examples: from now on, every tree is correct."""
        for i in numbers:
            first, last = self._node_starts.array[i : i + 2]
            self._heads.array[first:last] = -1
            self._completions.array[first:last] = -1

    def forget_completions(self) -> None:
        """Forget the completions of partial gold."""
        self._completions.array[:] = self._heads.array

    def completion(self, i: int) -> np.ndarray:
        """See ``AddressedProblem``."""
        first, last = self._node_starts.array[i : i + 2]
        return self._completions.array[first:last]

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
            self._arc_store(),
        )

    def _arc_store(self) -> HashedArcs | LazyArcs:
        return HashedArcs(self.pruner)


class LazyTreeProblem(TreeProblem):
    """Sentences with their heads, where each template has rows of its own.

    templates: of arcs, by ``compile_arc_keys``. columns: the number of attributes of a
        token.
    refines: see ``GroupedProblem``. Call ``prune`` after all sentences have been appended.
    """

    shrink_after = 1000  # examples: rows of wrong arcs accumulate faster than those of labels

    def __init__(
        self,
        templates: CompiledArcTemplates,
        columns: int,
        *,
        projective: bool,
        refines: Flags | None = None,
    ) -> None:
        no_templates = compile_arc_templates((), ())
        super().__init__(
            ArcFeatures(templates, no_templates, no_templates, 0, projective),
            Pruner(no_templates, 0, np.zeros(0), np.inf, 0),
            columns,
        )
        self.structure = LAZY_TREES
        self.refines = refines
        self.reset_weights()

    def reset_weights(self) -> None:
        """Reset the weights."""
        self._lazy = LazyWeights(self.features.arcs.codes.shape[1], first=0, labels=1)
        self.store: GroupedStore = self._lazy

    def prune(self, pruner: Pruner) -> None:
        """List the gold arcs and those that the pruner keeps, and measure templates on them."""
        nodes = self._attributes.array, self._node_starts.array
        self.arcs = Arcs(*_list_arcs(pruner, *nodes, self._heads.array))
        self.statistics: Statistics = measure_arc_templates(
            self.features.arcs, *nodes, self._heads.array, self.arcs
        )

    def reserve(self) -> None:
        """See ``AllocatingProblem``."""
        self._lazy.reserve()

    def with_own_weights(self) -> "LazyTreeProblem":
        """See ``AllocatingProblem``."""
        problem = copy(self)
        problem.store = problem._lazy = deepcopy(self._lazy)
        return problem

    def frozen_examples(self) -> TreeExamples:
        """See ``AllocatingProblem``."""
        return self.examples()._replace(store=LazyArcs(self.arcs, frozen(self._lazy.table)))

    def _arc_store(self) -> LazyArcs:
        return LazyArcs(self.arcs, self._lazy.table)

    def number_of_weights(self, rows: int) -> int:
        """The length of w. Ignores ``rows``: the store counts those that are allocated."""
        return len(self._lazy.table.entry_labels)

    @property
    def max_expected_entries(self) -> int:
        templates, arcs = self.features.arcs, self.arcs
        T, B = templates.codes.shape[1], len(templates.between)
        between = np.maximum(np.abs(arcs.heads - arcs.dependents) - 1, 0).astype(np.int64)
        sums = np.concatenate([[0], np.cumsum(T - B + B * between)])
        arc_entries = int(np.diff(sums[arcs.starts]).max(initial=0))
        return arc_entries + self.max_entries  # a completion may have arcs that are not listed

    @property
    def group_sizes(self) -> Ints:
        """See ``GroupedProblem``: the features of the arcs that are scored."""
        return self.statistics.features


@kernel
def _list_arcs(
    pruner: Pruner, attributes: Keys, node_starts: Ints, gold: Ints
) -> tuple[Ints, Rows, Rows]:
    """The gold arcs and those that the pruner keeps, of sentences with a gold head."""
    starts = np.zeros(len(node_starts), dtype=np.int64)
    heads = np.empty(1024, dtype=np.int32)
    dependents = np.empty(1024, dtype=np.int32)
    size = 0
    for i in range(len(starts) - 1):
        start, end = node_starts[i], node_starts[i + 1]
        sentence_heads = gold[start : end - 1]
        N = len(sentence_heads)
        starts[i + 1] = size
        if N < 2 or sentence_heads[1:].max() < 0:
            continue
        candidates = np.empty((N, N), dtype=np.bool_)
        likely_arcs(pruner, attributes, start, end, N, candidates)
        for m in range(1, N):
            if sentence_heads[m] >= 0:
                candidates[sentence_heads[m], m] = True
        if size + N * N > len(heads):
            room = np.empty(2 * (size + N * N), dtype=np.int32)
            room[:size] = heads[:size]
            heads = room
            room = np.empty(len(heads), dtype=np.int32)
            room[:size] = dependents[:size]
            dependents = room
        for h in range(N):
            for m in range(1, N):
                if candidates[h, m]:
                    heads[size] = h
                    dependents[size] = m
                    size += 1
        starts[i + 1] = size
    return starts, heads[:size].copy(), dependents[:size].copy()
