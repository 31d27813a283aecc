"""How far confidence tells right decisions from wrong ones."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.training import Example

_BINS = 10


class Bin(NamedTuple):
    """Words of similar confidence."""

    confidence: float  #: the mean, infinite where one is
    words: int
    right: int


class Reliability(NamedTuple):
    """The decisions of a component, by their confidence."""

    name: str
    has_probabilities: bool  #: whether confidence is a probability, not a margin
    bins: list[Bin]  #: ten of as many words each, from the least confidence to the most

    @property
    def words(self) -> int:
        """The number of words with gold labels."""
        return sum(bin.words for bin in self.bins)

    @property
    def wrong(self) -> int:
        """How many of them are decided wrongly."""
        return self.words - sum(bin.right for bin in self.bins)


def reliabilities(nlp: Language, examples: Sequence[Example]) -> Iterator[Reliability]:
    """Those of the components that decide word by word, where the examples have gold labels.

    examples: with predicted Docs that the pipeline has annotated.
    """
    pipe: Any
    for name, pipe in nlp.pipeline:
        if hasattr(pipe, "decisions"):
            bins = _bins(pipe, examples)
            if bins:
                yield Reliability(name, pipe.model.beta is not None, bins)


def _bins(pipe: Any, examples: Sequence[Example]) -> list[Bin]:
    """Nothing where no gold label is known; fewer than ten where there are fewer words."""
    scores, is_right = [], []
    for example in examples:
        doc = example.predicted
        decided = pipe.decisions(doc, example.reference)
        for score, decision in zip(pipe.scores(doc).tolist(), decided, strict=True):
            if decision.label and decision.gold:
                scores.append(score)
                is_right.append(decision.label == decision.gold)
    order = np.argsort(scores, kind="stable")
    bins = np.array_split(order, min(_BINS, len(order)) or 1)
    return [
        Bin(float(np.mean(np.take(scores, own))), len(own), int(np.take(is_right, own).sum()))
        for own in bins
        if len(own)
    ]
