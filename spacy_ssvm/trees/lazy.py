"""Trees whose features get rows of their own, and only where a learner steps.

The arcs are listed once, by a pruner that has learned before; their features are hashed anew
each time, to 64-bit keys. A feature without a row has weights of 0. What an oracle writes into
its difference gets rows: for the best wrong tree, features of the wrong arcs and of the gold
ones in their place; for expectations, those of all arcs of an example. First order alone.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import (
    AnyWeights,
    Flags,
    Floats,
    Ints,
    Keys,
    Rows,
    Weights,
    kernel,
    named_tuple,
)
from spacy_ssvm.decoders.tree_marginals import nonprojective_marginals, projective_marginals
from spacy_ssvm.features.statistics import Statistics
from spacy_ssvm.structure import NEEDS_CAPACITY, UNANNOTATED, Groups, Structure
from spacy_ssvm.trees.keys import (
    Arcs,
    ArcsType,
    EndpointHashes,
    fill_arc_keys,
    hash_endpoints,
    max_keys,
)
from spacy_ssvm.trees.layout import ArcFeatures, Pruner, TreeExamples, TreeExamplesType
from spacy_ssvm.trees.oracle import add_head_costs, complete_one, gold_heads
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner import likely_arcs
from spacy_ssvm.trees.scores import decode, max_rows
from spacy_ssvm.trees.statistics import measure_arc_templates
from spacy_ssvm.trees.templates import CompiledArcTemplates, compile_arc_templates
from spacy_ssvm.weights.lazy import (
    LazyIndex,
    LazyTable,
    LazyTableType,
    find_block,
    get_or_insert,
    has_capacity,
)
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table


class LazyTreeExamples(NamedTuple):
    """What kernels read of a problem."""

    trees: TreeExamples
    arcs: Arcs  #: those that are scored, gold ones among them
    table: LazyTable


LazyTreeExamplesType = named_tuple(LazyTreeExamples, TreeExamplesType, ArcsType, LazyTableType)


@kernel
def _list_arcs(
    pruner: Pruner, attributes: Keys, node_starts: Ints, gold: Ints
) -> tuple[Ints, Rows, Rows]:
    """The arcs that the pruner leaves, and the gold ones, of sentences with a gold head."""
    starts = np.zeros(len(node_starts), dtype=np.int64)
    heads = np.empty(1024, dtype=np.int32)
    dependents = np.empty(1024, dtype=np.int32)
    size = 0
    for i in range(len(starts) - 1):
        start, end = node_starts[i], node_starts[i + 1]
        given = gold[start : end - 1]
        N = len(given)
        starts[i + 1] = size
        if N < 2 or given[1:].max() < 0:
            continue
        allowed = np.empty((N, N), dtype=np.bool_)
        likely_arcs(pruner, attributes, start, end, allowed)
        for m in range(1, N):
            if given[m] >= 0:
                allowed[given[m], m] = True
        if size + N * N > len(heads):
            room = np.empty(2 * (size + N * N), dtype=np.int32)
            room[:size] = heads[:size]
            heads = room
            room = np.empty(len(heads), dtype=np.int32)
            room[:size] = dependents[:size]
            dependents = room
        for h in range(N):
            for m in range(1, N):
                if allowed[h, m]:
                    heads[size] = h
                    dependents[size] = m
                    size += 1
        starts[i + 1] = size
    return starts, heads[:size].copy(), dependents[:size].copy()


@kernel
def _endpoints(examples: LazyTreeExamples, i: int) -> EndpointHashes:
    """The endpoints of example i."""
    trees = examples.trees
    start, end = trees.node_starts[i], trees.node_starts[i + 1]
    return hash_endpoints(trees.features.arcs, trees.attributes, start, end)


@kernel
def _arc_scores(
    examples: LazyTreeExamples, i: int, endpoints: EndpointHashes, w: Floats, scores: Floats
) -> None:
    """Write the scores of the arcs of example i, minus infinity for those that are not listed."""
    templates, arcs, table = examples.trees.features.arcs, examples.arcs, examples.table
    size = max_rows(templates, len(scores))
    keys = np.empty(size, dtype=np.uint64)
    owners = np.empty(size, dtype=np.int64)
    active = np.flatnonzero(table.active)
    scores[:] = -np.inf
    for arc in range(arcs.starts[i], arcs.starts[i + 1]):
        h, m = arcs.heads[arc], arcs.dependents[arc]
        count = fill_arc_keys(templates, endpoints, h, m, active, keys, owners)
        total = 0.0
        for k in range(count):
            row, rows = find_block(table, owners[k], keys[k])
            if rows > 0:
                total += table.scales[owners[k]] * w[row]
        scores[h, m] = total


@kernel
def _add_arcs(
    examples: LazyTreeExamples,
    i: int,
    endpoints: EndpointHashes,
    w: Floats,
    coefficients: Floats,
    indices: Rows,
    values: AnyWeights,
) -> int:
    """Write the sum of coefficient x features over arcs, whose features get rows.

    coefficients: float64 [n + 1, n + 1], by head and dependent. Returns the size, each index
    once; NEEDS_CAPACITY where there are not so many rows. Raises ValueError, with nothing written,
    where more arcs have a coefficient than the buffers have room for.
    """
    templates, table = examples.trees.features.arcs, examples.table
    N = len(coefficients)
    most = 0
    for h in range(N):
        for m in range(1, N):
            if coefficients[h, m] != 0:
                most += max_keys(templates, h, m)
    if most > len(indices):
        raise ValueError("arcs that are not scored have coefficients: are all weights finite?")
    if not has_capacity(table, most):
        return NEEDS_CAPACITY
    keys = np.empty(max_rows(templates, N), dtype=np.uint64)
    owners = np.empty(len(keys), dtype=np.int64)
    everyone = np.arange(len(templates.head.seeds))
    places = scratch_table(most + 1)
    label, row = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    size = 0
    for h in range(N):
        for m in range(1, N):
            coefficient = coefficients[h, m]
            if coefficient != 0:
                count = fill_arc_keys(templates, endpoints, h, m, everyone, keys, owners)
                for k in range(count):
                    get_or_insert(table, w, owners[k], keys[k], label, row)
                    size = add_entry(indices, values, places, size, row[0], coefficient)
    return drop_zeros(indices, values, size)


@kernel
def loss_augmented_decode(
    examples: LazyTreeExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.loss_augmented_decode``; w is stored as ``Groups`` says."""
    trees = examples.trees
    heads = gold_heads(trees, i)
    N = len(heads)
    if N == 0:
        return UNANNOTATED
    endpoints = _endpoints(examples, i)
    scores = np.empty((N, N))
    _arc_scores(examples, i, endpoints, w, scores)
    outcome[1] = complete_one(trees, i, complete, scores)
    add_head_costs(heads, gamma, scores)
    y = np.empty(N, dtype=np.int64)
    decode(trees.features, endpoints, w, scores, y)
    outcome[0] = 0.0
    gold = trees.completions[trees.node_starts[i] : trees.node_starts[i] + N]
    coefficients = np.zeros((N, N))
    for m in range(1, N):
        if heads[m] >= 0 and y[m] != heads[m]:
            outcome[0] += 1.0
        coefficients[gold[m], m] += 1.0
        coefficients[y[m], m] -= 1.0
    return _add_arcs(examples, i, endpoints, w, coefficients, indices, values)


@kernel
def expected_gradient(
    examples: LazyTreeExamples,
    i: int,
    w: Floats,
    beta: float,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Floats,
    outcome: Floats,
) -> int:
    """See ``Structure.expected_gradient``; w is stored as ``Groups`` says."""
    trees = examples.trees
    heads = gold_heads(trees, i)
    N = len(heads)
    if N == 0:
        return UNANNOTATED
    endpoints = _endpoints(examples, i)
    scores = np.empty((N, N))
    _arc_scores(examples, i, endpoints, w, scores)
    outcome[1] = complete_one(trees, i, complete, scores)
    gold = trees.completions[trees.node_starts[i] : trees.node_starts[i] + N]
    right = 0.0
    for m in range(1, N):
        right += scores[gold[m], m]
    add_head_costs(heads, gamma, scores)
    coefficients = np.empty((N, N))
    if trees.features.projective:
        total = projective_marginals(beta * scores, coefficients)
    else:
        total = nonprojective_marginals(beta * scores, coefficients)
    outcome[0] = total / beta - right
    for m in range(1, N):
        coefficients[gold[m], m] -= 1.0
    return _add_arcs(examples, i, endpoints, w, coefficients, indices, values)


@kernel
def complete_gold(examples: LazyTreeExamples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``; w is stored as ``Groups`` says."""
    for i in range(len(changed)):
        heads = gold_heads(examples.trees, i)
        N = len(heads)
        if N and heads[1:].min() < 0:
            scores = np.empty((N, N))
            _arc_scores(examples, i, _endpoints(examples, i), w, scores)
            changed[i] = complete_one(examples.trees, i, True, scores)


#: Trees with lazy features, as solvers see them.
LAZY_TREES = Structure(
    LazyTreeExamplesType, loss_augmented_decode, complete_gold, expected_gradient, None
)


class LazyTreeProblem(TreeProblem):
    """Sentences with their heads, where each template has rows of its own.

    templates: of arcs, by ``compile_arc_keys``. columns: how many attributes a token has.
    refines: see ``GroupedProblem``. After all sentences have been appended, ``prune`` says which
    arcs are scored.
    """

    structure = LAZY_TREES
    shrink_after = 1000  # examples: rows of wrong arcs pile up faster than those of labels

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
            ArcFeatures(templates, no_templates, 0, projective),
            Pruner(no_templates, 0, np.zeros(0), np.inf),
            columns,
        )
        self.refines = refines
        self.forget_rows()

    def forget_rows(self) -> None:
        """Start again without features."""
        self.index = LazyIndex(len(self.features.arcs.head.seeds), first=0, labels=1)

    def prune(self, pruner: Pruner) -> None:
        """List the arcs that the pruner leaves, with the gold ones, and measure templates."""
        nodes = self._attributes.array, self._node_starts.array
        self.arcs = Arcs(*_list_arcs(pruner, *nodes, self._heads.array))
        self.statistics: Statistics = measure_arc_templates(
            self.features.arcs, *nodes, self._heads.array, self.arcs
        )

    def examples(self) -> LazyTreeExamples:  # type: ignore[override]
        """The arrays, for kernels; valid until ``reserve`` or ``sweep``."""
        return LazyTreeExamples(super().examples(), self.arcs, self.index.table)

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows."""
        return rows

    @property
    def max_expected_entries(self) -> int:
        """See ``Problem``."""
        templates, arcs = self.features.arcs, self.arcs
        T, B = len(templates.head.seeds), len(templates.between)
        between = np.maximum(np.abs(arcs.heads - arcs.dependents) - 1, 0).astype(np.int64)
        sums = np.concatenate([[0], np.cumsum(T - B + B * between)])
        of_arcs = int(np.diff(sums[arcs.starts]).max(initial=0))
        return of_arcs + self.max_entries  # a completion may have arcs that are not listed

    @property
    def sizes(self) -> Ints:
        """See ``GroupedProblem``: the features of the arcs that are scored."""
        return self.statistics.features

    @property
    def allocated(self) -> int:
        """See ``GroupedProblem``."""
        return self.index.number_of_rows

    @property
    def peak_bytes(self) -> int:
        """See ``LazyProblem``."""
        return self.index.peak_bytes

    def groups(self) -> Groups:
        """See ``GroupedProblem``."""
        table = self.index.table
        return Groups(0, 1, 1, table.row_templates, table.scales, table.first_rows)

    def row_features(self) -> Rows:
        """See ``GroupedProblem``."""
        return self.index.row_features()

    def reserve(self, w: Floats) -> Floats:
        """Make room for the features for which there was none; return the weights with theirs."""
        return self.index.reserve(w)

    def rescale(self, w: Floats, factors: Floats) -> None:
        """See ``GroupedProblem``."""
        self.index.rescale(w, factors)

    def sweep(self, w: Floats) -> Floats:
        """See ``GroupedProblem``."""
        return self.index.sweep(w)
