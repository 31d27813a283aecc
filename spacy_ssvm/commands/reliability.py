"""How far confidence tells right decisions from wrong ones."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.commands.pipelines import annotate_in_stages, without_annotation
from spacy_ssvm.components.page import ExplainablePipe

_BINS = 10


class Bin(NamedTuple):
    """Decisions of similar confidence."""

    confidence: float  #: the mean, infinite where one is
    decisions: int
    right: int


class Reliability(NamedTuple):
    """The decisions of a component, by their confidence."""

    name: str
    has_probabilities: bool  #: whether confidence is a probability, not a margin
    bins: list[Bin]  #: ten of about the same size, from the least confidence to the most

    @property
    def decisions(self) -> int:
        """The number of those with gold labels."""
        return sum(bin.decisions for bin in self.bins)

    @property
    def wrong(self) -> int:
        """How many of them are wrong."""
        return self.decisions - sum(bin.right for bin in self.bins)


def reliabilities(nlp: Language, examples: Sequence[Example]) -> Iterator[Reliability]:
    """Those of the components whose decisions have gold labels in the examples.

    examples: the words of their predicted Docs are annotated again.
    """
    golds = [example.reference for example in examples]
    docs = [without_annotation(example.predicted) for example in examples]
    names = [name for name, pipe in nlp.pipeline if isinstance(pipe, ExplainablePipe)]
    for pipe, found in annotate_in_stages(nlp, docs, names):
        bins = _bins(pipe, found, golds)
        if bins:
            probable = getattr(pipe, "has_probabilities", pipe.model.beta is not None)
            yield Reliability(pipe.name, probable, bins)


def _bins(pipe: ExplainablePipe[Any], docs: Sequence[Doc], golds: Sequence[Doc]) -> list[Bin]:
    """Nothing where no gold label is known; fewer than ten where there are fewer decisions."""
    known = [
        decision
        for pair in zip(docs, golds, strict=True)
        for decision in pipe.decisions(*pair)
        if decision.gold is not None
    ]
    scores = [decision.score for decision in known]
    is_right = [not decision.is_wrong for decision in known]
    order = np.argsort(scores, kind="stable")
    bins = np.array_split(order, min(_BINS, len(order)) or 1)
    return [
        Bin(float(np.mean(np.take(scores, own))), len(own), int(np.take(is_right, own).sum()))
        for own in bins
        if len(own)
    ]
