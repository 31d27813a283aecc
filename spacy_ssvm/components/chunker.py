"""``ssvm_chunker``: spans that do not overlap, into ``doc.spans``."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from spacy_ssvm.chains.schemes import BEGIN, INSIDE, MISSING, OUT
from spacy_ssvm.components.spans import GoldSpans, ScoredSpans, SpanPipe
from spacy_ssvm.files import shorten


class Chunker(SpanPipe):
    """Writes ``doc.spans[spans_key]``, with the scores as its attribute ``scores``.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("ssvm_chunker")
    >>> doc = nlp.make_doc("The old king sleeps")
    >>> examples = [Example.from_dict(doc, {"spans": {"chunks": [(0, 12, "NP")]}})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> doc = nlp("The old king sleeps")
    >>> [(span.text, span.label_) for span in doc.spans["chunks"]]
    [('The old king', 'NP')]
    """

    kind = "ssvm_chunker"

    def annotation(self) -> str:
        return f"doc.spans['{self.cfg['spans_key']}']"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The labels of the reference spans, sorted."""
        found = set()
        for example in examples:
            for span in example.reference.spans.get(self.cfg["spans_key"], []):
                found.add(span.label_)
        return sorted(found - {""})

    def gold_spans(self, example: Example) -> GoldSpans:
        """The spans of the reference.

        Raises ValueError for spans that overlap.
        """
        predicted, reference = example.predicted, example.reference
        iob = np.full(len(predicted), MISSING, dtype=np.int64)
        types = np.zeros(len(predicted), dtype=np.uint64)
        if self.cfg["spans_key"] not in reference.spans:
            return GoldSpans(iob, types, 0)
        gold = sorted(reference.spans[self.cfg["spans_key"]], key=lambda span: span.start)
        for one, other in pairwise(gold):
            if other.start < one.end:
                raise ValueError(
                    f"{self.name}: the spans '{shorten(one.text)}' ({one.label_}, tokens "
                    f"{one.start} to {one.end}) and '{shorten(other.text)}' ({other.label_}, "
                    f"tokens {other.start} to {other.end}) overlap in "
                    f"'{shorten(reference.text)}': a label sequence cannot express both"
                )
        iob[:] = OUT
        misaligned = 0
        for span in gold:
            start, end = span.start_char, span.end_char
            aligned = predicted.char_span(start, end)
            if aligned is None:
                misaligned += 1
                around = predicted.char_span(start, end, alignment_mode="expand")
                if around is not None:
                    iob[around.start : around.end] = MISSING
            else:
                iob[aligned.start : aligned.end] = INSIDE
                iob[aligned.start] = BEGIN
                types[aligned.start : aligned.end] = span.label
        return GoldSpans(iob, types, misaligned)

    def predict(self, docs: Iterable[Doc]) -> ScoredSpans:
        """The spans of all Docs."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            nothing = np.zeros(0, dtype=np.int64)
            return ScoredSpans(nothing, nothing, nothing, nothing, np.zeros(0))
        self._require_labels()
        self._sync()
        return self.find_spans(docs, None)[0]

    def set_annotations(self, docs: Iterable[Doc], predictions: ScoredSpans) -> None:
        """Write what ``predict`` returned into the Docs."""
        docs = list(docs)
        key = self.cfg["spans_key"]
        ends = np.searchsorted(predictions.docs, np.arange(len(docs) + 1))
        for doc, (first, last) in zip(docs, pairwise(ends.tolist()), strict=True):
            spans = [
                Span(doc, start, end, label=self.labels[kind])
                for start, end, kind in zip(
                    predictions.starts[first:last].tolist(),
                    predictions.ends[first:last].tolist(),
                    predictions.types[first:last].tolist(),
                    strict=True,
                )
            ]
            scores = predictions.scores[first:last].tolist()
            doc.spans[key] = SpanGroup(doc, name=key, spans=spans, attrs={"scores": scores})
