"""Chains whose features are found anew each time, and get rows only where a learner steps.

A token has its attributes; the kernels hash its features as they need them. A feature without
a row for a label has a weight of 0. What an oracle writes into its difference gets rows: for the
best wrong sequence, features of the tokens that are labelled wrong, with the labels there and in
gold; for expectations, all of an example, with all labels.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints, Keys, Keys2, Rows, Weights, kernel, named_tuple
from spacy_ssvm.chains.layout import Examples, ExamplesType
from spacy_ssvm.chains.oracle import complete_one
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    difference,
    difference_size,
    expected_difference,
    is_annotated,
    path_score,
    transition_scores,
)
from spacy_ssvm.decoders.chain import viterbi
from spacy_ssvm.decoders.chain_marginals import marginals
from spacy_ssvm.features.extraction import CompiledTemplates, CompiledTemplatesType, fill_keys
from spacy_ssvm.structure import NEEDS_CAPACITY, UNANNOTATED, Groups, Structure
from spacy_ssvm.weights.lazy import (
    LazyIndex,
    LazyTable,
    LazyTableType,
    find_blocks,
    get_or_insert,
    has_capacity,
)
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, find_place, scratch_table


class LazyExamples(NamedTuple):
    """What kernels read of a problem."""

    chains: Examples  #: without features
    attributes: Keys  #: uint64 [tokens, columns]
    templates: CompiledTemplates
    table: LazyTable


LazyExamplesType = named_tuple(
    LazyExamples, ExamplesType, Keys2, CompiledTemplatesType, LazyTableType
)


@kernel
def _alone(examples: LazyExamples, i: int) -> Examples:
    """Example i as the only one, without features."""
    chains = examples.chains
    first, last = chains.token_starts[i], chains.token_starts[i + 1]
    token_starts = np.zeros(2, dtype=np.int64)
    token_starts[1] = last - first
    return Examples(
        token_starts,
        np.zeros(last - first + 1, dtype=np.int64),
        np.empty(0, dtype=np.int32),
        chains.gold[first:last],
        chains.completions[first:last],
        chains.label_sets,
        chains.costs,
        chains.legality,
    )


@kernel
def _add_tokens(
    examples: LazyExamples,
    i: int,
    w: Floats,
    gold: Ints,
    y: Ints,
    size: int,
    indices: Rows,
    values: Weights,
) -> int:
    """Write phi(x_i, gold) - phi(x_i, y) of features, which get rows, behind ``size`` entries.

    Returns the size then, each index once.
    """
    table, templates = examples.table, examples.templates
    first, last = examples.chains.token_starts[i], examples.chains.token_starts[i + 1]
    K = examples.chains.legality.shape[1]
    offset = (K + 2) * K
    weights = w[offset:]
    keys = np.empty(len(templates.seeds), dtype=np.uint64)
    labels, rows = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    indices, values = indices[size:], values[size:]
    while True:
        places = scratch_table(2 * (y != gold).sum() * len(keys) + 1)
        added, moves = 0, table.counts[2]
        for t in range(first, last):
            labels[0], labels[1] = gold[t - first], y[t - first]
            if labels[0] != labels[1]:
                fill_keys(templates, examples.attributes, first, last, t, keys)
                for m in range(len(keys)):
                    if keys[m] != np.uint64(0):
                        get_or_insert(table, weights, m, keys[m], labels, rows)
                        index = offset + rows[0]
                        added = add_entry(indices, values, places, added, index, 1.0)
                        index = offset + rows[1]
                        added = add_entry(indices, values, places, added, index, -1.0)
        if table.counts[2] == moves:  # no row moved after it had been written
            return size + drop_zeros(indices, values, added)


@kernel
def _add_expected_tokens(
    examples: LazyExamples,
    i: int,
    w: Floats,
    gold: Ints,
    labels: Floats,
    size: int,
    indices: Rows,
    values: Floats,
) -> int:
    """The same of E[phi(x_i, Y)] - phi(x_i, gold), where P(y_t = k) is labels[t, k]."""
    table, templates = examples.table, examples.templates
    first, last = examples.chains.token_starts[i], examples.chains.token_starts[i + 1]
    n, K = labels.shape
    offset = (K + 2) * K
    weights = w[offset:]
    keys = np.empty(len(templates.seeds), dtype=np.uint64)
    everything, rows = np.arange(K), np.empty(K, dtype=np.int64)
    indices, values = indices[size:], values[size:]
    places = scratch_table(n * len(keys) + 1)  # of the blocks of K entries of features
    added = 0
    for t in range(first, last):
        fill_keys(templates, examples.attributes, first, last, t, keys)
        for m in range(len(keys)):
            if keys[m] == np.uint64(0):
                continue
            get_or_insert(table, weights, m, keys[m], everything, rows)
            place = find_place(indices, places, offset + rows[0])
            if places[place] < 0:
                places[place] = added
                for k in range(K):
                    indices[added + k] = offset + rows[k]
                    values[added + k] = 0.0
                added += K
            block = values[places[place] : places[place] + K]
            block += labels[t - first]
            block[gold[t - first]] -= 1.0
    return size + drop_zeros(indices, values, added)


@kernel
def _emission_scores(examples: LazyExamples, i: int, w: Floats, emissions: Floats) -> None:
    """Write the emission table [n, K] of example i: sum_m scale_m w[row of m and k]."""
    first, last = examples.chains.token_starts[i], examples.chains.token_starts[i + 1]
    K = emissions.shape[1]
    T = len(examples.templates.seeds)
    keys = np.empty(T, dtype=np.uint64)
    starts = np.empty(T, dtype=np.int64)
    counts = np.empty(T, dtype=np.int64)
    table, scales = examples.table, examples.table.scales
    weights = w[(K + 2) * K :]
    emissions[:] = 0.0
    for t in range(first, last):
        fill_keys(examples.templates, examples.attributes, first, last, t, keys)
        find_blocks(table, keys, starts, counts)
        scores = emissions[t - first]
        for m in range(T):
            if counts[m] == K:
                block = weights[starts[m] : starts[m] + K]
                for k in range(K):
                    scores[k] += scales[m] * block[k]
            else:
                for row in range(starts[m], starts[m] + counts[m]):
                    scores[table.row_labels[row]] += scales[m] * weights[row]


@kernel
def loss_augmented_decode(
    examples: LazyExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.loss_augmented_decode``; w is stored as ``Groups`` says."""
    example = _alone(examples, i)
    if not is_annotated(example, 0):
        return UNANNOTATED
    n, K = len(example.gold), example.legality.shape[1]
    transitions = np.empty((K + 2, K))
    emissions = np.empty((n, K))
    transition_scores(w, example.legality, transitions)
    _emission_scores(examples, i, w, emissions)
    outcome[1] = complete_one(example, 0, complete, emissions, transitions)
    add_costs(example, 0, gamma, emissions)
    y = np.empty(n, dtype=np.int64)
    viterbi(emissions, transitions, y)
    outcome[0] = cost(example, 0, y)
    wrong = y != example.completions
    if not has_capacity(examples.table, wrong.sum() * len(examples.templates.seeds)):
        return NEEDS_CAPACITY
    places = scratch_table(difference_size(example, 0))
    size = difference(example, 0, example.completions, y, indices, values, places)
    return _add_tokens(examples, i, w, example.completions, y, size, indices, values)


@kernel
def expected_gradient(
    examples: LazyExamples,
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
    example = _alone(examples, i)
    if not is_annotated(example, 0):
        return UNANNOTATED
    n, K = len(example.gold), example.legality.shape[1]
    if not has_capacity(examples.table, n * len(examples.templates.seeds)):
        return NEEDS_CAPACITY
    transitions = np.empty((K + 2, K))
    emissions = np.empty((n, K))
    transition_scores(w, example.legality, transitions)
    _emission_scores(examples, i, w, emissions)
    outcome[1] = complete_one(example, 0, complete, emissions, transitions)
    gold = example.completions
    right = path_score(emissions, transitions, gold)
    add_costs(example, 0, gamma, emissions)
    labels = np.empty((n, K))
    pairs = np.empty((K, K))
    outcome[0] = marginals(beta * emissions, beta * transitions, labels, pairs) / beta - right
    size = expected_difference(example, 0, gold, labels, pairs, indices, values)
    return _add_expected_tokens(examples, i, w, gold, labels, size, indices, values)


@kernel
def complete_gold(examples: LazyExamples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``; w is stored as ``Groups`` says."""
    K = examples.chains.legality.shape[1]
    transitions = np.empty((K + 2, K))
    transition_scores(w, examples.chains.legality, transitions)
    for i in range(len(changed)):
        example = _alone(examples, i)
        if is_annotated(example, 0):
            emissions = np.empty((len(example.gold), K))
            _emission_scores(examples, i, w, emissions)
            changed[i] = complete_one(example, 0, True, emissions, transitions)


#: Chains with lazy features, as solvers see them.
LAZY_CHAINS = Structure(
    LazyExamplesType, loss_augmented_decode, complete_gold, expected_gradient, None
)


class LazyChainProblem(ChainProblem):
    """Chains over K labels whose features are those of compiled templates.

    sizes, refines: see ``GroupedProblem``. costs, legality: see ``ChainProblem``.
    """

    structure = LAZY_CHAINS

    def __init__(
        self,
        K: int,
        templates: CompiledTemplates,
        *,
        sizes: Ints,
        refines: Flags | None = None,
        costs: Floats | None = None,
        legality: Floats | None = None,
    ) -> None:
        super().__init__(K, costs=costs, legality=legality)
        self.templates = templates
        self._sizes = sizes
        self.refines = refines
        self.forget_rows()
        self._attributes = np.zeros((0, 0), dtype=np.uint64)

    def forget_rows(self) -> None:
        """Start again without features."""
        T, K = len(self.templates.seeds), self.K
        self.index = LazyIndex(T, first=(K + 2) * K, labels=K)

    def set_tokens(self, attributes: Keys, token_starts: Ints, gold: Ints) -> None:
        """Set the examples of a problem that has none: see ``ChainProblem.append``.

        attributes: uint64 [tokens, columns].
        """
        empty = np.zeros(len(gold) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.append(*empty, token_starts, gold)
        self._attributes = attributes

    def examples(self) -> LazyExamples:  # type: ignore[override]
        """The arrays, for kernels; valid until ``reserve`` or ``sweep``."""
        return LazyExamples(super().examples(), self._attributes, self.templates, self.index.table)

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of rows."""
        return (self.K + 2) * self.K + rows

    @property
    def max_features(self) -> int:
        """How many features an example has at most."""
        lengths = np.diff(self._token_starts.array)
        return int(lengths.max(initial=0)) * len(self.templates.seeds)

    @property
    def max_entries(self) -> int:
        """See ``Problem``."""
        lengths = np.diff(self._token_starts.array)
        return 2 * (self.max_features + int(lengths.max(initial=0)) + 1)

    @property
    def max_expected_entries(self) -> int:
        """See ``Problem``."""
        return (self.max_features + self.K + 2) * self.K

    @property
    def shrink_after(self) -> int:
        """See ``LazyProblem``: all examples, for fewer favour templates with few values."""
        return max(self.number_of_examples, 1)

    @property
    def sizes(self) -> Ints:
        """See ``GroupedProblem``."""
        return self._sizes

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
        index, table = self.index, self.index.table
        scales = table.scales, table.first_rows
        return Groups(index.first, 1, self.K, table.row_templates, *scales)

    def row_features(self) -> Rows:
        """See ``GroupedProblem``."""
        return self.index.row_features()

    def reserve(self, w: Floats) -> Floats:
        """See ``GroupedProblem``."""
        return self.index.reserve(w)

    def rescale(self, w: Floats, factors: Floats) -> None:
        """See ``GroupedProblem``."""
        self.index.rescale(w, factors)

    def sweep(self, w: Floats) -> Floats:
        """See ``GroupedProblem``."""
        return self.index.sweep(w)
