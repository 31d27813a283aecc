"""Chains whose features are found anew each time, and get rows only where a learner steps.

A token has its attributes; the kernels hash its features as they need them. A feature without
a row has weights of 0. What an oracle writes into its difference gets rows: for the best wrong
sequence, features of the tokens that are labelled wrong; for expectations, all of an example.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import (
    Flags,
    Floats,
    Ints,
    Keys,
    Keys2,
    Rows,
    Weights,
    kernel,
    named_tuple,
)
from spacy_ssvm.chains.examples import Examples, ExamplesType
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
from spacy_ssvm.features.lazy_index import (
    LazyIndex,
    LazyTable,
    LazyTableType,
    admit,
    find_live_rows,
    has_room,
)
from spacy_ssvm.sparse import scratch_table
from spacy_ssvm.structure import NO_ROOM, NOTHING_TO_LEARN, Groups, Structure


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
def _alone(examples: LazyExamples, i: int, feature_starts: Ints, rows: Rows) -> Examples:
    """Example i as the only one, with these features."""
    chains = examples.chains
    first, last = chains.token_starts[i], chains.token_starts[i + 1]
    token_starts = np.zeros(2, dtype=np.int64)
    token_starts[1] = last - first
    return Examples(
        token_starts,
        feature_starts,
        rows,
        chains.gold[first:last],
        chains.completions[first:last],
        chains.label_sets,
        chains.costs,
        chains.legality,
    )


@kernel
def _without_features(examples: LazyExamples, i: int) -> Examples:
    n = examples.chains.token_starts[i + 1] - examples.chains.token_starts[i]
    return _alone(examples, i, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32))


@kernel
def _with_features(examples: LazyExamples, i: int, wanted: Flags) -> Examples:
    """Example i with features of the tokens wanted (bool [n]), which get rows."""
    first, last = examples.chains.token_starts[i], examples.chains.token_starts[i + 1]
    keys = np.empty(len(examples.templates.seeds), dtype=np.uint64)
    feature_starts = np.zeros(last - first + 1, dtype=np.int64)
    rows = np.empty(wanted.sum() * len(keys), dtype=np.int32)
    size = 0
    for t in range(first, last):
        if wanted[t - first]:
            fill_keys(examples.templates, examples.attributes, first, last, t, keys)
            for m in range(len(keys)):
                if keys[m] != np.uint64(0):
                    rows[size] = admit(examples.table, m, keys[m])
                    size += 1
        feature_starts[t - first + 1] = size
    return _alone(examples, i, feature_starts, rows)


@kernel
def _emission_scores(examples: LazyExamples, i: int, w: Floats, emissions: Floats) -> None:
    """Write the emission table [n, K] of example i: sum_m scale_m w[row of m]."""
    first, last = examples.chains.token_starts[i], examples.chains.token_starts[i + 1]
    K = emissions.shape[1]
    T = len(examples.templates.seeds)
    keys = np.empty(T, dtype=np.uint64)
    rows = np.empty(T, dtype=np.int64)
    scales = examples.table.scales
    emissions[:] = 0.0
    for t in range(first, last):
        fill_keys(examples.templates, examples.attributes, first, last, t, keys)
        find_live_rows(examples.table, keys, rows)
        scores = emissions[t - first]
        for m in range(T):
            if rows[m] >= 0:
                offset = (K + 2 + rows[m]) * K
                row = w[offset : offset + K]
                for k in range(K):
                    scores[k] += scales[m] * row[k]


@kernel
def find_violator(
    examples: LazyExamples,
    i: int,
    w: Floats,
    gamma: float,
    complete: bool,
    indices: Rows,
    values: Weights,
    outcome: Floats,
) -> int:
    """See ``Structure.find_violator``; w is stored as ``Groups`` says."""
    example = _without_features(examples, i)
    if not is_annotated(example, 0):
        return NOTHING_TO_LEARN
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
    if not has_room(examples.table, wrong.sum() * len(examples.templates.seeds)):
        return NO_ROOM
    example = _with_features(examples, i, wrong)
    places = scratch_table(difference_size(example, 0))
    return difference(example, 0, example.completions, y, indices, values, places)


@kernel
def expect(
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
    """See ``Structure.expect``; w is stored as ``Groups`` says."""
    example = _without_features(examples, i)
    if not is_annotated(example, 0):
        return NOTHING_TO_LEARN
    n, K = len(example.gold), example.legality.shape[1]
    if not has_room(examples.table, n * len(examples.templates.seeds)):
        return NO_ROOM
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
    example = _with_features(examples, i, np.ones(n, dtype=np.bool_))
    return expected_difference(example, 0, gold, labels, pairs, indices, values)


@kernel
def complete_gold(examples: LazyExamples, w: Floats, changed: Flags) -> None:
    """See ``Structure.complete_gold``; w is stored as ``Groups`` says."""
    K = examples.chains.legality.shape[1]
    transitions = np.empty((K + 2, K))
    transition_scores(w, examples.chains.legality, transitions)
    for i in range(len(changed)):
        example = _without_features(examples, i)
        if is_annotated(example, 0):
            emissions = np.empty((len(example.gold), K))
            _emission_scores(examples, i, w, emissions)
            changed[i] = complete_one(example, 0, True, emissions, transitions)


#: Chains with lazy features, as solvers see them.
LAZY_CHAINS = Structure(LazyExamplesType, find_violator, complete_gold, expect, None)


class LazyChainProblem(ChainProblem):
    """Chains over K labels whose features are those of compiled templates.

    sizes, finer: see ``GroupedProblem``. costs, legality: see ``ChainProblem``.
    """

    structure = LAZY_CHAINS

    def __init__(
        self,
        K: int,
        templates: CompiledTemplates,
        *,
        sizes: Ints,
        finer: Flags | None = None,
        costs: Floats | None = None,
        legality: Floats | None = None,
    ) -> None:
        super().__init__(K, costs=costs, legality=legality)
        self.templates = templates
        self._sizes = sizes
        self.finer = finer
        self.forget_rows()
        self._attributes = np.zeros((0, 0), dtype=np.uint64)

    def forget_rows(self) -> None:
        """Start again without features."""
        T, K = len(self.templates.seeds), self.K
        self.index = LazyIndex(T, first=(K + 2) * K, width=K)

    def set_tokens(self, attributes: Keys, token_starts: Ints, gold: Ints) -> None:
        """Set the examples of a problem that has none: see ``ChainProblem.append``.

        attributes: uint64 [tokens, columns].
        """
        empty = np.zeros(len(gold) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.append(*empty, token_starts, gold)
        self._attributes = attributes

    def examples(self) -> LazyExamples:  # type: ignore[override]
        """The arrays, for kernels; valid until ``make_room`` or ``sweep``."""
        return LazyExamples(super().examples(), self._attributes, self.templates, self.index.table)

    @property
    def most_features(self) -> int:
        """How many features an example has at most."""
        lengths = np.diff(self._token_starts.array)
        return int(lengths.max(initial=0)) * len(self.templates.seeds)

    @property
    def most_entries(self) -> int:
        """See ``AnyProblem``."""
        lengths = np.diff(self._token_starts.array)
        return 2 * (self.most_features + int(lengths.max(initial=0)) + 1)

    @property
    def most_expected_entries(self) -> int:
        """See ``AnyProblem``."""
        return (self.most_features + self.K + 2) * self.K

    @property
    def sizes(self) -> Ints:
        """See ``GroupedProblem``."""
        return self._sizes

    @property
    def number_of_rows(self) -> int:
        """See ``GroupedProblem``."""
        return self.index.number_of_rows

    def groups(self) -> Groups:
        """See ``GroupedProblem``."""
        index, table = self.index, self.index.table
        scales = table.scales, table.first_rows
        return Groups(index.first, index.width, table.row_templates, *scales)

    def make_room(self, w: Floats) -> Floats:
        """See ``GroupedProblem``."""
        return self.index.make_room(w, self.most_features)

    def rescale(self, w: Floats, factors: Floats) -> None:
        """See ``GroupedProblem``."""
        self.index.rescale(w, factors)

    def sweep(self, w: Floats) -> Floats:
        """See ``GroupedProblem``."""
        return self.index.sweep(w)
