"""The model of label sequences: templates, labels, feature index and weights.

docs -> token attributes -> feature keys -> rows -> emissions -> decoder -> labels
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.chains.inference import (
    LabelConstraints,
    Scorer,
    WordConstraints,
    measure_margins,
    predict_sentences,
    score_sentence,
)
from spacy_ssvm.decoders.chain import Pruning, prune
from spacy_ssvm.features.attributes import ByWord, Doc, TokenTable
from spacy_ssvm.features.reals import NO_SCALES, Scales
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.templates import Template
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.labelings.cached_sums import CachedSums, Features, find_sums, useful_cache
from spacy_ssvm.labelings.linear_model import LinearModel, WordModel
from spacy_ssvm.labelings.saved_model import Calibration, SavedModel, arrays_with, read_calibration
from spacy_ssvm.storage import require

TRANSITIONS = "transitions"

#: The saved arrays of models of label sequences, with their types.
ARRAYS = arrays_with(TRANSITIONS)


class TransitionModel(LinearModel):
    """A linear model of label sequences.

    ``label_pairs`` has the transitions: float64 [K + 2, K], laid out as in ``decoders.chain``, with
    legality.
    """

    label_pairs_name = TRANSITIONS

    def _zero_label_pairs(self, labels: int, legality: Floats | None) -> Floats:
        return np.zeros((labels + 2, labels)) if legality is None else legality.copy()

    def _extended_label_pairs(self, labels: int, legality: Floats | None) -> Floats:
        before, label_pairs = len(self.labels), self._zero_label_pairs(labels, legality)
        label_pairs[[*range(before), labels, labels + 1], :before] = self.label_pairs
        return label_pairs

    def _read_label_pairs(self, arrays: storage.Arrays, labels: tuple[str, ...]) -> Floats:
        return read_transitions(arrays, labels)


def read_transitions(arrays: storage.Arrays, labels: tuple[str, ...]) -> Floats:
    """The transitions of labels. Raises ValueError where they are not such."""
    K, label_pairs = len(labels), arrays[TRANSITIONS].astype(np.float64)
    require(label_pairs.shape == (K + 2, K), "the transitions do not fit the labels")
    require(
        bool(np.all(np.isfinite(label_pairs) | np.isneginf(label_pairs))),
        "the weights of transitions are not finite",
    )
    return label_pairs


class ChainModel(WordModel, TransitionModel):
    """A linear model of label sequences.

    templates: they define the features.
    labels: the names of the labels, in the order of the columns of all score tables.
    whole_docs: see ``WordModel``.
    """

    kind = "chain model"

    def __init__(
        self,
        templates: Sequence[Template],
        *,
        labels: Sequence[str] = (),
        resources: Resources = NO_RESOURCES,
        legality: Floats | None = None,
        whole_docs: bool = False,
    ) -> None:
        self.whole_docs = whole_docs
        self.define(templates, labels, resources, legality)

    def set_weights(self, *weights: Any, scales: Scales = NO_SCALES) -> None:
        """See ``WordModel``."""
        super().set_weights(*weights, scales=scales)
        self.calibration: Calibration | None = None  # of the scores of spans
        self._prepared: _Prepared | None = None

    def add_labels(self, labels: Sequence[str], legality: Floats | None = None) -> None:
        super().add_labels(labels, legality)
        self._prepared = None

    def scorer(self, tokens: TokenTable) -> Scorer:
        """Templates, table and weights, for kernels that score the labels of these words."""
        prepared = self._for_labels()
        reals = self.real_values(tokens, self.scales), self.real_weights.weights
        words = tokens.group_keys, tokens.attributes, tokens.sentence_starts
        sums = find_sums(prepared.cache, prepared.features, *words)
        return Scorer(*sums, *reals, self.label_pairs)

    def predict(
        self, docs: Sequence[Doc], label_constraints: LabelConstraints | None = None
    ) -> tuple[ByWord, TokenTable]:
        """The best labels of the words of the Docs, and the words.

        label_constraints: of the tokens of all Docs. The best sequence that satisfies them is
            found.
        Returns labels (int64 [words], whitespace is left out) and the words that have them.
        """
        tokens = self.reader.read(docs)
        return self.label(tokens, label_constraints), tokens

    def label(
        self, tokens: TokenTable, label_constraints: LabelConstraints | None = None
    ) -> ByWord:
        """The best labels of the words of a table, see ``predict``."""
        return self._label(tokens, label_constraints, np.empty(0))

    def label_with_margins(
        self, tokens: TokenTable, label_constraints: LabelConstraints | None = None
    ) -> tuple[ByWord, Floats]:
        """The same, and the margins of the words in sentences that have any label but the first.

        Takes less time than ``margins``, which scores all labels again.
        """
        margins = np.zeros(len(tokens.positions))
        return self._label(tokens, label_constraints, margins), margins

    def _label(
        self, tokens: TokenTable, label_constraints: LabelConstraints | None, margins: Floats
    ) -> ByWord:
        y = ByWord(np.empty(len(tokens.positions), dtype=np.int64))
        constraints = self.constrain_words(tokens, label_constraints)
        pruning = self._for_labels().pruning
        words = tokens.attributes, tokens.sentence_starts
        predict_sentences(self.scorer(tokens), pruning, *words, constraints, y, margins)
        return y

    def _for_labels(self) -> "_Prepared":
        """What ``label`` needs of the weights as they are, computed once."""
        if self._prepared is None:
            features, groups = self._features, (self.reader.column_groups, self.reader.windows)
            cache = useful_cache(features, len(self.labels), *groups)
            self._prepared = _Prepared(features, prune(self.label_pairs), cache)
        return self._prepared

    def constrain_words(
        self, tokens: TokenTable, label_constraints: LabelConstraints | None
    ) -> WordConstraints:
        """The constraints on the words of a table, from those on all tokens; None for none."""
        if label_constraints is None:
            free = np.full(len(tokens.positions), -1, dtype=np.int64)
            return WordConstraints(ByWord(free), np.eye(len(self.labels), dtype=bool))
        fixed_labels = label_constraints.fixed_labels[tokens.positions]
        return WordConstraints(ByWord(fixed_labels), label_constraints.label_sets)

    def margins(
        self,
        tokens: TokenTable,
        y: ByWord,
        sentences: Ints,
        label_constraints: LabelConstraints | None = None,
    ) -> Floats:
        """The margin of y at each word: how much lower the best score is with another label there.

        sentences: int64, the numbers of the sentences to measure.
        label_constraints: as in ``predict``; other sequences are not considered.
        Returns float64 [words], 0 for the words of other sentences, infinite where a word can
        have only one label.
        """
        margins = np.zeros(len(y))
        measure_margins(
            self.scorer(tokens),
            tokens.attributes,
            tokens.sentence_starts,
            self.constrain_words(tokens, label_constraints),
            sentences,
            y,
            margins,
        )
        return margins

    def emissions(
        self,
        tokens: TokenTable,
        sentence: int,
        label_constraints: LabelConstraints | None = None,
    ) -> Floats:
        """The emission table of one sentence: float64 [n, K], -inf for excluded labels.

        label_constraints: as in ``predict``.
        """
        start, end = tokens.sentence_starts[sentence : sentence + 2].tolist()
        constraints = self.constrain_words(tokens, label_constraints)
        emissions: Floats = score_sentence(
            self.scorer(tokens), tokens.attributes, constraints, start, end
        )
        return emissions

    # Saving and loading

    def header(self) -> storage.Header:
        calibration = {"calibration": self.calibration._asdict()} if self.calibration else {}
        return {**super().header(), **calibration}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        saved = super().read(header, arrays)
        calibration = read_calibration(header.get("calibration"))
        return saved._replace(calibration=calibration)

    def become(self, saved: SavedModel) -> None:
        super().become(saved)
        self.calibration = saved.calibration

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.whole_docs, self.to_bytes())


class _Prepared(NamedTuple):
    features: Features  #: all of them
    pruning: Pruning
    cache: CachedSums | None  #: of scores; None where it is of no use


def _from_bytes(whole_docs: bool, data: bytes) -> ChainModel:
    return ChainModel((), whole_docs=whole_docs).from_bytes(data)
