"""Problems whose features are hashed on each use, with weights allocated on first use.

Selections of templates need them: most features of most templates never get a weight.
"""

from copy import copy, deepcopy
from typing import NamedTuple, TypeVar

from spacy_ssvm.features.attributes import TokenTable
from spacy_ssvm.features.extraction import CompiledTemplates
from spacy_ssvm.features.reals import NO_REALS, RealKeys, measure_scales
from spacy_ssvm.features.statistics import Statistics, measure_templates, with_reals
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Weights
from spacy_ssvm.labelings.linear_model import WordModel
from spacy_ssvm.labelings.word_features import LazyFeatures
from spacy_ssvm.weights.growing import GrowingArray
from spacy_ssvm.weights.lazy import LazyWeights, Support

Self = TypeVar("Self", bound="LazyProblem")


class Measured(NamedTuple):
    """What a selection needs to know of the features of words."""

    statistics: Statistics  #: of all templates
    keys: RealKeys
    reals: Weights  #: float32 [words, F], the values of real-valued features


def measure_words(model: WordModel, tokens: TokenTable, labels: Ints) -> Measured:
    """Measure the templates of a model. labels: int64 [words], -1 where none is known."""
    K, words = len(model.labels), (tokens.attributes, tokens.sentence_starts)
    statistics = measure_templates(model.compiled, *words, labels, K)
    scales = measure_scales(tokens.reals)
    reals, keys = model.real_values(tokens, scales), model.real_keys(scales)
    return Measured(with_reals(statistics, reals, keys.templates, labels, K), keys, reals)


class LazyProblem:
    """What makes a problem with ``RowWeights`` a ``selection.LazyProblem``.

    It comes before the problem among the bases of a class.
    """

    _first: int
    _width: int
    _longest: int
    _token_starts: GrowingArray

    def set_features(
        self,
        templates: CompiledTemplates,
        sizes: Ints,
        refines: Flags | None,
        reals: RealKeys = NO_REALS,
    ) -> None:
        """Set the templates, the number of features of each (int64 [T]) and the real-valued ones.

        refines: see ``GroupedProblem``.
        """
        self.templates, self.refines = templates, refines
        self._sizes, self._real_keys = sizes, reals
        self.reset_weights()

    def set_words(self, attributes: Keys, reals: Weights) -> None:
        """Set the attributes of the words of all examples: uint64 [words, columns].

        reals: float32 [words, F], the values of real-valued features.
        """
        self._attributes, self._values = attributes, reals

    @property
    def store(self) -> LazyWeights:
        """See ``GroupedProblem``."""
        return self._lazy

    def support(self, kept: Ints) -> Support:
        """The weights of some templates that are not zero: see ``Support.of_templates``."""
        return self._lazy.support().of_templates(kept)

    def reserve(self) -> None:
        """See ``AllocatingProblem``."""
        self._lazy.reserve()

    def with_own_weights(self: Self) -> Self:
        """See ``AllocatingProblem``."""
        problem = copy(self)
        problem._lazy = deepcopy(self._lazy)
        return problem

    def reset_weights(self) -> None:
        """Reset the weights of features."""
        self._lazy = LazyWeights(len(self._sizes), first=self._first, labels=self._width)

    def _features(self) -> LazyFeatures:
        table = self._lazy.table
        return LazyFeatures(self._attributes, self.templates, table, self._values, *self._real_keys)

    def number_of_weights(self, rows: int) -> int:  # noqa: ARG002
        """The length of w. Ignores ``rows``: the store counts those that are allocated."""
        return self._first + len(self._lazy.table.entry_labels)

    @property
    def max_features(self) -> int:
        """The maximum number of features of an example without real values."""
        return self._longest * len(self.templates.seeds)

    @property
    def shrink_after(self) -> int:
        """See ``selection.LazyProblem``: all, since fewer favour templates with few values."""
        return max(self._token_starts.size - 1, 1)

    @property
    def group_sizes(self) -> Ints:
        """See ``GroupedProblem``."""
        return self._width * self._sizes
