"""Examples of chains, checked once, as contiguous arrays to which more are appended."""

from collections.abc import Sequence

import numpy as np

from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.chains.oracle import CHAINS, SPARSE_CHAINS
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import LazyFeatures, RowFeatures, WordProblem
from spacy_ssvm.structure import Structure
from spacy_ssvm.weights.growing import GrowingArray


def hamming_costs(K: int) -> Floats:
    """1 for each wrong label: float64 [K, K], by gold and predicted label."""
    return np.ones((K, K)) - np.eye(K)


class ChainProblem(WordProblem):
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
        self._gold = GrowingArray(np.int64)
        self._completions = GrowingArray(np.int64)
        self._longest, self._most_features, self._most_of_both = 0, 0, 0

    @property
    def structure(self) -> Structure:
        """Chains, by where their weights are."""
        return CHAINS if self._sparse is None else SPARSE_CHAINS

    @property
    def any_label(self) -> int:
        """The label set of a token without gold annotation."""
        return self.K

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
        reals = self.check_words(len(gold), feature_starts, rows, token_starts, reals)
        if len(gold) and not 0 <= gold.min() <= gold.max() < len(self._label_sets):
            raise ValueError(f"gold: label sets 0 to {len(self._label_sets) - 1} exist")
        first = self.number_of_examples
        self._measure(feature_starts[token_starts], token_starts)
        self.append_words(feature_starts, rows, token_starts, reals)
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
        tokens = self.keep_words(numbers)
        self._gold = GrowingArray(np.int64, self._gold.array[tokens])
        self._completions = GrowingArray(np.int64, self._completions.array[tokens])
        self._longest, self._most_features, self._most_of_both = 0, 0, 0
        starts = self._token_starts.array
        self._measure(self._feature_starts.array[starts], starts)

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

    @property
    def max_entries(self) -> int:
        """The largest number of entries that Phi_i(y) can have, over all examples."""
        return 2 * (self._most_of_both + 1) + self._most_real_entries

    @property
    def _most_real_entries(self) -> int:
        """The largest number of entries of real-valued features, over all examples."""
        return min(2 * self._longest, self.K) * len(self._real_rows)

    @property
    def max_expected_entries(self) -> int:
        """The largest number of entries that E[phi(x_i, Y)] can have, over all examples."""
        return (self._most_features + len(self._real_rows) + self.K + 2) * self.K
