"""Examples of matchings, checked once, as contiguous arrays to which more are appended."""

import numpy as np

from spacy_ssvm.align.matchings.layout import (
    ALTERNATIVE,
    POSSIBLE,
    SURE,
    LinkFeatures,
    MatchingExamples,
)
from spacy_ssvm.align.matchings.oracle import MATCHINGS
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Rows, Weights
from spacy_ssvm.weights.groups import GroupedStore
from spacy_ssvm.weights.growing import GrowingArray, drop_negative, gather_ranges
from spacy_ssvm.weights.rows import DenseWeights, PlainAddresses, kept_weights

#: The cost of a sure link that is missing, and of a wrong link.
HAMMING = (1.0, 1.0)


class MatchingProblem(PlainAddresses):
    """Pairs of sentences with their gold links.

    fertilities: the largest numbers of links of a source and of a target word.
    costs: of a sure link that is missing, and of a wrong link.
    templates: the number of templates, for a selection among them; refines: see
        ``GroupedProblem``.
    """

    structure = MATCHINGS

    def __init__(
        self,
        fertilities: tuple[int, int] = (1, 1),
        *,
        costs: tuple[float, float] = HAMMING,
        templates: int = 0,
        refines: Flags | None = None,
    ) -> None:
        self._fertilities = np.array(fertilities, dtype=np.int64)
        self._costs = np.array(costs, dtype=np.float64)
        self.refines = refines
        self.nonnegative = int(self._fertilities.sum()) - 2
        self._dense = DenseWeights(first=self.nonnegative, width=1, number=templates)
        self.store: GroupedStore = self._dense
        self._link_starts = GrowingArray(np.int64, [0])
        self._source_words = GrowingArray(np.int64)
        self._gold = GrowingArray(np.int32)
        self._completions = GrowingArray(np.bool_)
        self._is_complete = GrowingArray(np.bool_)
        self._starts = GrowingArray(np.int64, [0])
        self._rows = GrowingArray(np.int32)
        self._values = GrowingArray(np.float32)

    @property
    def row_templates(self) -> Rows:
        """The template of each row: int32 [rows]."""
        return self._dense.templates

    @row_templates.setter
    def row_templates(self, templates: Rows) -> None:
        self._dense.templates = templates

    @property
    def group_sizes(self) -> Ints:
        return np.bincount(self._dense.templates, minlength=self._dense.number)

    @property
    def shrink_after(self) -> int:
        """See ``LazyProblem``: all examples."""
        return max(self.number_of_examples, 1)

    def reset_weights(self) -> None:
        self._dense.w = np.zeros(0)

    @property
    def number_of_examples(self) -> int:
        """The number of pairs."""
        return self._source_words.size

    @property
    def max_entries(self) -> int:
        """The largest number of entries of Phi_i(y): two matchings have at most so many links."""
        starts, m = self._link_starts.array, self._source_words.array
        sizes = np.diff(starts)
        used = np.flatnonzero(sizes)
        if not len(used):
            return self.nonnegative + 1
        features = np.maximum.reduceat(np.diff(self._starts.array), starts[:-1][used])
        m, sizes = m[used], sizes[used]
        f, g = self._fertilities
        links = np.minimum(np.minimum(m * f, sizes // m * g), sizes)
        most = int((2 * links * features).max())
        return most + self.nonnegative

    @property
    def max_expected_entries(self) -> int:
        """The largest number of features of an example, over all examples."""
        features = self._starts.array[self._link_starts.array]
        return int(np.diff(features).max(initial=0)) + self.nonnegative

    def number_of_weights(self, rows: int) -> int:
        """The length of w for a number of feature rows, or for those that examples have now."""
        return self.nonnegative + max(rows, len(self.row_templates))

    def append(self, shapes: Ints, starts: Ints, rows: Rows, values: Weights, gold: Rows) -> range:
        """Append pairs; return their numbers.

        shapes: int64 [pairs, 2]: m and n; a pair without words on one side has no links.
        starts, rows, values: the features of all links, see ``LinkFeatures``.
        gold: int32 [links]: WRONG, SURE or POSSIBLE. Where words have more sure links than they
            may have, these become alternatives, of which as many are learned as fit.
        """
        sizes = shapes.prod(axis=1)
        link_starts = np.concatenate([[0], np.cumsum(sizes)])
        gold = gold.copy()
        for i, (m, n) in enumerate(shapes.tolist()):
            table = gold[link_starts[i] : link_starts[i + 1]].reshape(m, n)
            limit_sure_links(table, self._fertilities)
        first = self.number_of_examples
        self._link_starts.extend(link_starts[1:] + self._gold.size)
        self._source_words.extend(shapes[:, 0])
        self._gold.extend(gold)
        self._completions.extend(gold == SURE)
        self._is_complete.extend(np.ones(len(shapes), dtype=bool))
        self._starts.extend(starts[1:] + self._rows.size)
        self._rows.extend(rows)
        self._values.extend(values)
        self._forget_completions(range(first, self.number_of_examples))
        return range(first, self.number_of_examples)

    def forget(self, numbers: range) -> None:
        """Remove the gold annotation of examples: from now on, every matching is correct."""
        starts = self._link_starts.array
        self._gold.array[starts[numbers.start] : starts[numbers.stop]] = POSSIBLE

    def forget_completions(self) -> None:
        """Forget the completions of partial gold."""
        self._forget_completions(range(self.number_of_examples))

    def _forget_completions(self, numbers: range) -> None:
        starts, gold = self._link_starts.array, self._gold.array
        for i in numbers:
            links = gold[starts[i] : starts[i + 1]]
            self._is_complete.array[i] = links.max(initial=0) <= SURE

    def completion(self, i: int) -> np.ndarray:
        """See ``AddressedProblem``."""
        first, last = self._link_starts.array[i : i + 2]
        return self._completions.array[first:last]

    def restore_completion(self, i: int, completion: np.ndarray) -> None:
        """See ``AddressedProblem``."""
        super().restore_completion(i, completion)
        self._is_complete.array[i] = True

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples: they get the numbers 0, 1, ... in this order."""
        links, self._link_starts = gather_ranges(self._link_starts, numbers)
        features, self._starts = gather_ranges(self._starts, links)
        self._rows = GrowingArray(np.int32, self._rows.array[features])
        self._values = GrowingArray(np.float32, self._values.array[features])
        self._gold = GrowingArray(np.int32, self._gold.array[links])
        self._completions = GrowingArray(np.bool_, self._completions.array[links])
        self._is_complete = GrowingArray(np.bool_, self._is_complete.array[numbers])
        self._source_words = GrowingArray(np.int64, self._source_words.array[numbers])

    def count_rows(self, rows: int) -> Ints:
        """How often examples have each row as a feature, see ``IndexedProblem``."""
        return np.bincount(self._rows.array, minlength=rows)

    def measure_rows(self, w: Floats, rows: int) -> tuple[Floats, Ints]:
        """The largest weight and the number of weights of each row, see ``IndexedProblem``."""
        return np.abs(w[self.nonnegative :][:rows]), np.ones(rows, dtype=np.int64)

    def number_rows(self, numbers: Rows, rows: int) -> None:  # noqa: ARG002
        """Give features other rows, see ``IndexedProblem``."""
        new_rows = numbers[self._rows.array]
        if (new_rows < 0).any():
            self._values = GrowingArray(np.float32, self._values.array[new_rows >= 0])
        self._starts, self._rows = drop_negative(self._starts, new_rows)

    def keep_rows(self, kept: Flags) -> Rows:
        """Keep only these of the rows, see ``IndexedProblem``."""
        self.number_rows((np.cumsum(kept) - 1).astype(np.int32), int(kept.sum()))
        return kept_weights(kept, self.nonnegative, 1)

    def examples(self) -> MatchingExamples:
        """The arrays, for kernels; valid until the next ``append``."""
        return MatchingExamples(
            self._link_starts.array,
            self._source_words.array,
            self._gold.array,
            self._completions.array,
            self._is_complete.array,
            self._fertilities,
            self._costs,
            LinkFeatures(self._starts.array, self._rows.array, self._values.array),
        )


def limit_sure_links(gold: Rows, fertilities: Ints) -> None:
    """Make the sure links of words that have too many of them alternatives, in place.

    gold: int32 [m, n].
    """
    is_sure = gold == SURE
    too_many = (is_sure.sum(axis=1) > fertilities[0])[:, None] | (
        is_sure.sum(axis=0) > fertilities[1]
    )[None, :]
    gold[is_sure & too_many] = ALTERNATIVE
