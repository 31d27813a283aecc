"""Examples of lattices, checked once, as contiguous arrays to which more are appended."""

import numpy as np

from spacy_ssvm.decoders.lattice import Levels
from spacy_ssvm.kernels.types import Flags, Ints, Rows, Weights
from spacy_ssvm.labelings.word_features import LazyFeatures, RowFeatures, WordProblem
from spacy_ssvm.lattices.layout import LabelParts, Lattices
from spacy_ssvm.lattices.oracle import LATTICES, SPARSE_LATTICES
from spacy_ssvm.structure import Structure
from spacy_ssvm.weights.growing import GrowingArray, check_starts, gather_ranges


class LatticeProblem(WordProblem):
    """Examples for lattices over K labels, which consist of P parts.

    labels: the parts of each label. levels: its classes, see ``decoders.lattice``.
    """

    nonnegative = 0
    refines: Flags | None = None  # see ``GroupedProblem``

    def __init__(self, labels: LabelParts, levels: Levels) -> None:
        self.K, self.P = len(labels.starts) - 1, labels.number
        if self.K < 1:
            raise ValueError("a problem needs at least one label")
        super().__init__(first=int(levels.starts[-1]), width=self.P)
        self._labels, self._levels = labels, levels
        self._candidate_starts = GrowingArray(np.int64, [0])
        self._candidates = GrowingArray(np.int32)
        self._allowed = GrowingArray(np.bool_)
        self._completions = GrowingArray(np.int64)
        self._most_parts = int(np.diff(labels.starts).max())
        self._longest, self._most_features, self._most_pairs, self._most_candidates = 0, 0, 0, 0

    @property
    def structure(self) -> Structure:
        """Lattices, by where their weights are."""
        return LATTICES if self._sparse is None else SPARSE_LATTICES

    def append(
        self,
        feature_starts: Ints,
        rows: Rows,
        token_starts: Ints,
        candidate_starts: Ints,
        candidates: Rows,
        allowed: Flags,
        reals: Weights | None = None,
    ) -> range:
        """Append examples; return their numbers.

        feature_starts: int64 [tokens + 1]; rows: int32 [features], none negative.
        token_starts: int64 [examples + 1]. candidate_starts: int64 [tokens + 1]; each token has
            candidates: int32 [candidates], labels, different at a token.
        allowed: bool [candidates], which agree with the gold annotation: one or more of each token.
        reals: float32 [tokens, F], finite, the values of real-valued features; None for none.
        """
        tokens = len(candidate_starts) - 1
        check_starts("candidate_starts", candidate_starts, len(candidates))
        reals = self.check_words(tokens, feature_starts, rows, token_starts, reals)
        if len(allowed) != len(candidates):
            raise ValueError(f"{len(allowed)} flags for {len(candidates)} candidates")
        if len(candidates) and not 0 <= candidates.min() <= candidates.max() < self.K:
            raise ValueError(f"candidates: labels 0 to {self.K - 1} exist")
        owners = np.repeat(np.arange(tokens), np.diff(candidate_starts))
        if len(np.unique(owners * self.K + candidates)) != len(candidates):
            raise ValueError("candidates: those of a token must be different")
        numbers = np.bincount(owners[allowed], minlength=tokens)
        if tokens and numbers.min() < 1:
            raise ValueError("allowed: each token needs a candidate that is")
        first = self.number_of_examples
        self._measure(feature_starts, token_starts, candidate_starts)
        self._candidate_starts.extend(candidate_starts[1:] + self._candidates.size)
        self.append_words(feature_starts, rows, token_starts, reals)
        self._candidates.extend(candidates)
        self._allowed.extend(allowed)
        self._completions.extend(_complete_gold(candidate_starts, allowed))
        return range(first, self.number_of_examples)

    def _measure(self, feature_starts: Ints, token_starts: Ints, candidate_starts: Ints) -> None:
        """Let the maxima over examples include these."""
        sizes = np.diff(candidate_starts)
        pairs = np.concatenate([[0, 0], np.cumsum(sizes[:-1] * sizes[1:])])[: len(sizes) + 1]
        first, last = token_starts[:-1], token_starts[1:]
        if not len(first):
            return
        inside = np.where(last > first, pairs[last] - pairs[np.minimum(first + 1, last)], 0)
        self._longest = max(self._longest, int((last - first).max()))
        found = feature_starts[last] - feature_starts[first]
        self._most_features = max(self._most_features, int(found.max()))
        self._most_pairs = max(self._most_pairs, int(inside.max()))
        of_examples = candidate_starts[last] - candidate_starts[first]
        self._most_candidates = max(self._most_candidates, int(of_examples.max()))

    def forget(self, numbers: range) -> None:
        """Remove the gold annotation of examples: from now on, every structure is correct."""
        for i in numbers:
            first, last = self._token_starts.array[i : i + 2]
            start, end = self._candidate_starts.array[[first, last]]
            self._allowed.array[start:end] = True
            self._completions.array[first:last] = -1

    def forget_completions(self) -> None:
        """Forget the completions of partial gold."""
        starts, allowed = self._candidate_starts.array, self._allowed.array
        self._completions.array[:] = _complete_gold(starts, allowed)

    def completion(self, i: int) -> np.ndarray:
        """See ``AddressedProblem``."""
        first, last = self._token_starts.array[i : i + 2]
        return self._completions.array[first:last]

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples: they get the numbers 0, 1, ... in this order."""
        tokens = self.keep_words(numbers)
        candidates, self._candidate_starts = gather_ranges(self._candidate_starts, tokens)
        self._candidates = GrowingArray(np.int32, self._candidates.array[candidates])
        self._allowed = GrowingArray(np.bool_, self._allowed.array[candidates])
        self._completions = GrowingArray(np.int64, self._completions.array[tokens])
        self._longest, self._most_features, self._most_pairs, self._most_candidates = 0, 0, 0, 0
        starts = self._feature_starts, self._token_starts, self._candidate_starts
        self._measure(*(s.array for s in starts))

    def _arrays(self, features: RowFeatures | LazyFeatures) -> Lattices:
        return Lattices(
            self._token_starts.array,
            self._candidate_starts.array,
            self._candidates.array,
            self._allowed.array,
            self._completions.array,
            self._labels,
            self._levels,
            features,
        )

    @property
    def max_entries(self) -> int:
        """The largest number of entries that Phi_i(y) can have, over all examples."""
        steps = 2 * (self._longest + 1) * len(self._levels.sizes)
        of_reals = min(2 * self._most_parts * self._longest, self.P) * len(self._real_rows)
        return steps + 2 * self._most_parts * self._most_features + of_reals

    @property
    def max_expected_entries(self) -> int:
        """The largest number of entries that E[phi(x_i, Y)] can have, over all examples."""
        steps = (self._most_pairs + 2 * self._most_candidates) * len(self._levels.sizes)
        return steps + (self._most_features + len(self._real_rows)) * self.P


def _complete_gold(starts: Ints, allowed: Flags) -> Ints:
    """The allowed candidate of each token, counted at it; -1 where there are several."""
    tokens = len(starts) - 1
    if not tokens:
        return np.zeros(0, dtype=np.int64)
    numbers = np.add.reduceat(allowed.astype(np.int64), starts[:-1])
    places = np.arange(len(allowed)) - np.repeat(starts[:-1], np.diff(starts))
    first = np.maximum.reduceat(np.where(allowed, places, -1), starts[:-1])
    return np.where(numbers == 1, first, -1)
