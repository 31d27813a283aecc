"""Examples of chains, checked once, as contiguous arrays to which more are appended."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.chains.oracle import CHAINS, SPARSE_CHAINS
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import LazyFeatures, RowFeatures, without_growth
from spacy_ssvm.structure import Structure
from spacy_ssvm.weights.growing import GrowingArray, check_starts, drop_negative, gather_ranges
from spacy_ssvm.weights.rows import RowWeights


def hamming_costs(K: int) -> Floats:
    """1 for each wrong label: float64 [K, K], by gold and predicted label."""
    return np.ones((K, K)) - np.eye(K)


class ChainProblem(RowWeights):
    """Examples for chains over K labels.

    costs: float64 [K, K], the cost of each (gold, predicted) pair: finite, not negative,
        0 on the diagonal. Hamming by default.
    legality: float64 [K + 2, K], minus infinity where a transition, start or end is
        illegal, else 0. All are legal by default.
    """

    nonnegative = 0
    refines: Flags | None = None  # see ``GroupedProblem``

    def __init__(
        self, K: int, *, costs: Floats | None = None, legality: Floats | None = None
    ) -> None:
        if K < 1:
            raise ValueError("a problem needs at least one label")
        super().__init__(first=(K + 2) * K, width=K)
        self.K = K
        costs = hamming_costs(K) if costs is None else np.asarray(costs, dtype=np.float64)
        if costs.shape != (K, K):
            raise ValueError(f"costs: shape {costs.shape}, expected {(K, K)}")
        if not (np.isfinite(costs).all() and (costs >= 0).all() and (np.diag(costs) == 0).all()):
            raise ValueError(
                "costs must be finite and not negative, and 0 where the prediction is right"
            )
        legality = np.zeros((K + 2, K)) if legality is None else np.asarray(legality)
        if legality.shape != (K + 2, K) or not ((legality == 0) | np.isneginf(legality)).all():
            raise ValueError(f"legality: expected {(K + 2, K)} values, each 0 or minus infinity")
        if not legality.any():
            legality = legality[:0]
        self._legality = np.ascontiguousarray(legality, dtype=np.float64)
        self._label_sets = np.vstack([np.eye(K, dtype=bool), np.ones((1, K), dtype=bool)])
        self._costs = np.vstack([costs, np.zeros((1, K))])
        self._set_numbers = {row.tobytes(): i for i, row in enumerate(self._label_sets)}
        self._token_starts = GrowingArray(np.int64, [0])
        self._feature_starts = GrowingArray(np.int64, [0])
        self._rows = GrowingArray(np.int32)
        self._gold = GrowingArray(np.int64)
        self._completions = GrowingArray(np.int64)
        self._longest, self._most_features, self._most_of_both = 0, 0, 0
        self.real_rows = np.zeros(0, dtype=np.int32)

    @property
    def structure(self) -> Structure:
        """Chains, by where their weights are."""
        return CHAINS if self._sparse is None else SPARSE_CHAINS

    @property
    def any_label(self) -> int:
        """The label set of a token without gold annotation."""
        return self.K

    @property
    def real_rows(self) -> Rows:
        """The row of each real-valued feature: int32 [F]; those of earlier examples are 0."""
        return self._real_rows

    @real_rows.setter
    def real_rows(self, rows: Rows) -> None:
        self._real_rows = rows
        self._extend(int(rows.max(initial=-1)) + 1)
        self._reals = GrowingArray(np.float32, np.zeros((self._gold.size, len(rows))))

    @property
    def _number_of_reals(self) -> int:
        return len(self._real_rows)

    @property
    def number_of_examples(self) -> int:
        return self._token_starts.size - 1

    def label_set(self, labels: Sequence[int]) -> int:
        """The number of the set that allows these labels; its cost is their minimum."""
        if any(not 0 <= label < self.K for label in labels):
            raise ValueError(f"labels of a set: {list(labels)}, but only 0 to {self.K - 1} exist")
        members = np.zeros(self.K, dtype=bool)
        members[list(labels)] = True
        if not members.any():
            raise ValueError("a label set must allow at least one label")
        number = self._set_numbers.setdefault(members.tobytes(), len(self._label_sets))
        if number == len(self._label_sets):
            costs = np.where(members, 0.0, self._costs[: self.K][members].min(axis=0))
            self._label_sets = np.vstack([self._label_sets, members])
            self._costs = np.vstack([self._costs, costs])
        return number

    def append(
        self,
        feature_starts: Ints,
        rows: Rows,
        token_starts: Ints,
        gold: Ints,
        reals: Weights | None = None,
    ) -> range:
        """Append examples; return their numbers.

        feature_starts: int64 [tokens + 1]; rows: int32 [features], none negative.
        token_starts: int64 [examples + 1]; gold: int64 [tokens], label sets.
        reals: float32 [tokens, F], finite, the values of real-valued features; None for none.
        """
        tokens = len(gold)
        shape = tokens, self._number_of_reals
        reals = np.zeros((tokens, 0), dtype=np.float32) if reals is None else reals
        if reals.shape != shape:
            raise ValueError(f"reals: shape {reals.shape}, expected {shape}")
        if not np.isfinite(reals).all():
            raise ValueError("reals: must be finite")
        check_starts("feature_starts", feature_starts, len(rows))
        check_starts("token_starts", token_starts, tokens)
        if len(feature_starts) != tokens + 1:
            raise ValueError(f"{len(feature_starts) - 1} tokens with features, {tokens} with gold")
        if tokens and not 0 <= gold.min() <= gold.max() < len(self._label_sets):
            raise ValueError(f"gold: label sets 0 to {len(self._label_sets) - 1} exist")
        if len(rows) and rows.min() < 0:
            raise ValueError("rows: must not be negative")
        first = self.number_of_examples
        self._measure(feature_starts[token_starts], token_starts)
        self._token_starts.extend(token_starts[1:] + self._gold.size)
        self._feature_starts.extend(feature_starts[1:] + self._rows.size)
        self._rows.extend(rows)
        self._extend(int(rows.max(initial=-1)) + 1)
        self._reals.extend(reals)
        self._gold.extend(gold)
        self._completions.extend(np.where(gold < self.K, gold, -1))
        return range(first, self.number_of_examples)

    def _measure(self, feature_bounds: Ints, token_starts: Ints) -> None:
        """Let the maxima over examples include these; bounds as of their features."""
        features, lengths = np.diff(feature_bounds), np.diff(token_starts)
        self._longest = max(self._longest, int(lengths.max(initial=0)))
        self._most_features = max(self._most_features, int(features.max(initial=0)))
        self._most_of_both = max(self._most_of_both, int((features + lengths).max(initial=0)))

    def forget(self, numbers: range) -> None:
        """Remove the gold annotation of examples: from now on, every structure is correct."""
        for i in numbers:
            first, last = self._token_starts.array[i : i + 2]
            self._gold.array[first:last] = self.any_label
            self._completions.array[first:last] = -1

    def forget_completions(self) -> None:
        """Forget the completions of partial gold."""
        gold = self._gold.array
        self._completions.array[:] = np.where(gold < self.K, gold, -1)

    def completion(self, i: int) -> np.ndarray:
        """See ``AddressedProblem``."""
        first, last = self._token_starts.array[i : i + 2]
        return self._completions.array[first:last]

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples: they get the numbers 0, 1, ... in this order."""
        tokens, self._token_starts = gather_ranges(self._token_starts, numbers)
        features, self._feature_starts = gather_ranges(self._feature_starts, tokens)
        self._gold = GrowingArray(np.int64, self._gold.array[tokens])
        self._completions = GrowingArray(np.int64, self._completions.array[tokens])
        self._rows = GrowingArray(np.int32, self._rows.array[features])
        self._reals = GrowingArray(np.float32, self._reals.array[tokens])
        self._longest, self._most_features, self._most_of_both = 0, 0, 0
        starts = self._token_starts.array
        self._measure(self._feature_starts.array[starts], starts)

    def count_rows(self, rows: int) -> Ints:
        """How often examples have each row as a feature, see ``IndexedProblem``."""
        counts = np.bincount(self._rows.array, minlength=rows)
        counts[self._real_rows] = self._gold.size + 1
        return counts

    def number_rows(self, numbers: Rows, rows: int) -> None:
        """Give features other rows, see ``IndexedProblem``."""
        new_rows = numbers[self._rows.array]
        self._feature_starts, self._rows = drop_negative(self._feature_starts, new_rows)
        self._real_rows = numbers[self._real_rows]
        self._extend(rows)

    def keep_rows(self, kept: Flags) -> Rows:
        """Keep only these of the rows, see ``IndexedProblem``."""
        self.number_rows((np.cumsum(kept) - 1).astype(np.int32), int(kept.sum()))
        return self._keep_weights(kept)

    def examples(self) -> Examples:
        """The arrays, for kernels; valid until the next ``append``, or change of the store."""
        return self._arrays(self._features())

    def frozen_examples(self) -> Examples:
        """See ``AllocatingProblem``."""
        return self._arrays(without_growth(self._features()))

    def addressed_examples(self) -> Examples:
        """See ``AddressedProblem``."""
        features = cast(RowFeatures, self._features())
        return self._arrays(features._replace(table=self._dense_table))

    def _arrays(self, features: RowFeatures | LazyFeatures) -> Examples:
        return Examples(
            self._token_starts.array,
            self._gold.array,
            self._completions.array,
            self._label_sets,
            self._costs,
            self._legality,
            features,
        )

    def _features(self) -> RowFeatures | LazyFeatures:
        return RowFeatures(
            self._feature_starts.array,
            self._rows.array,
            self._reals.array,
            self._real_rows,
            self.table,
        )

    @property
    def max_entries(self) -> int:
        """The largest number of entries that Phi_i(y) can have, over all examples."""
        return 2 * (self._most_of_both + 1) + self._most_real_entries

    @property
    def _most_real_entries(self) -> int:
        """The largest number of entries of real-valued features, over all examples."""
        return min(2 * self._longest, self.K) * self._number_of_reals

    @property
    def max_expected_entries(self) -> int:
        """The largest number of entries that E[phi(x_i, Y)] can have, over all examples."""
        return (self._most_features + self._number_of_reals + self.K + 2) * self.K
