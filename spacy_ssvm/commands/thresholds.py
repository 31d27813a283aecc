"""Which spans a component keeps by their score, and what that costs in recall."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.components.chunker import Chunker
from spacy_ssvm.components.ner import SCORE
from spacy_ssvm.components.spans import SpanPipe

_PRECISIONS = (0.8, 0.85, 0.9, 0.95)
_EXAMPLE = 0.85
_PRIOR = 300  # spans of the corpus that count as much as what the scores promise

_STEPS = [step / 100 for step in range(1, 100)]

Place = tuple[int, int, str]

HEADER = ("threshold", "", "precision", "recall", "F1")


class ThresholdRow(NamedTuple):
    """What is kept with a threshold."""

    aim: float | None  #: the precision that is wanted; None for the threshold as it is
    threshold: float
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.precision * self.recall / ((self.precision + self.recall) or 1)


class Thresholds(NamedTuple):
    """The thresholds of a component for some precisions."""

    name: str
    rows: list[ThresholdRow]

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A row for each, in words and percent."""
        return [
            (
                "as it is" if row.aim is None else f"for a precision of {100 * row.aim:.0f} %",
                f"{row.threshold:.2f}",
                *(f"{100 * value:.1f}" for value in (row.precision, row.recall, row.f1)),
            )
            for row in self.rows
        ]

    @property
    def note(self) -> str:
        """How to read the table, with an example where a threshold reaches one of the aims."""
        found = [row for row in self.rows if row.aim is not None]
        if not found:
            reached = "as it is" if self.rows[0].precision >= _PRECISIONS[0] else "by no threshold"
            return f"{self.name}: a precision of {100 * _PRECISIONS[0]:.0f} % is reached {reached}"
        row = min(found, key=lambda row: abs(row.aim - _EXAMPLE))  # type: ignore[operator]
        return (
            f"{self.name}: for a precision of {100 * (row.aim or 0):.0f} %: threshold "
            f"{row.threshold:.2f}, recall {100 * row.recall:.0f} %. These figures are estimates, "
            "in part from the scores themselves"
        )


def thresholds_of(nlp: Language, examples: Sequence[Example]) -> Iterator[Thresholds]:
    """Those of the components for spans whose scores are calibrated or probabilities.

    examples: with annotated predicted Docs.
    """
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, SpanPipe) and pipe.has_probabilities:
            pairs = [_spans_of(pipe, example) for example in examples]
            scores = np.array([score for found, _ in pairs for score in found.values()])
            right = np.array([span in gold for found, gold in pairs for span in found], dtype=bool)
            gold = sum(len(own) for _, own in pairs)
            if len(scores) and gold:
                yield Thresholds(name, _rows(scores, right, gold, pipe.cfg["threshold"]))


def _rows(scores: Any, right: Any, gold: int, threshold: float) -> list[ThresholdRow]:
    """The row of the threshold as it is, and one for each higher precision that is reached.

    How many of the spans above a threshold are right is counted, and stands beside how many the
    scores promise, which counts as ``_PRIOR`` spans at most: a corpus of a hundred spans tells
    little about a threshold.
    """

    def row_of(aim: float | None, least: float, prior: int) -> ThresholdRow:
        kept = scores >= least
        number = np.count_nonzero(kept)
        hits = np.count_nonzero(right[kept])
        if prior:
            weight = prior / (prior + len(scores))
            hits = weight * scores[kept].sum() + (1 - weight) * hits
        return ThresholdRow(aim, least, hits / (number or 1), min(hits / gold, 1.0))

    rows = [row_of(None, threshold, 0)]
    steps = [row_of(None, least, _PRIOR) for least in _STEPS if threshold < least <= scores.max()]
    for aim in _PRECISIONS:
        found = next((row for row in steps if row.precision >= aim), None)
        if found and found.threshold > steps[0].threshold:
            rows.append(found._replace(aim=aim))
    return rows


def _spans_of(pipe: SpanPipe, example: Example) -> tuple[dict[Place, float], set[Place]]:
    """Predicted spans with their scores, and gold ones; see ``entities_of``."""
    if not isinstance(pipe, Chunker):
        found, gold = entities_of(example)
        scored = {place_of(ent): ent._.get(SCORE) for ent in found}
        known = {place: score for place, score in scored.items() if score is not None}
        return known, {*map(place_of, gold)}
    key = pipe.cfg["spans_key"]
    if key not in example.reference.spans:
        return {}, set()
    group = example.predicted.spans.get(key, [])
    scores = group.attrs["scores"] if len(group) else []
    places = map(place_of, group)
    return dict(zip(places, scores, strict=True)), {*map(place_of, example.reference.spans[key])}


def entities_of(example: Example) -> tuple[list[Span], list[Span]]:
    """Predicted and gold entities.

    As in spaCy's scorer, predicted ones are left out where the reference does not say of all their
    tokens whether they are entities.
    """
    reference = example.reference
    found = [ent for ent in example.predicted.ents if _is_annotated(ent, reference)]
    return found, list(reference.ents)


def _is_annotated(ent: Span, reference: Doc) -> bool:
    tokens = reference.char_span(ent.start_char, ent.end_char, alignment_mode="expand")
    return tokens is not None and all(token.ent_iob for token in tokens)


def place_of(span: Span) -> Place:
    """Where a span is, by characters, and its label."""
    return span.start_char, span.end_char, span.label_
