"""``ssvm_ner``: named entities."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm._jit import Flags, Ints, Keys
from spacy_ssvm.chains.schemes import BEGIN, INSIDE, MISSING, OUT, OUTSIDE, Tokens
from spacy_ssvm.components.linear_pipe import Given, reference_columns
from spacy_ssvm.components.spans import GoldSpans, SpanPipe

#: The extension attribute of entities that holds their score.
SCORE = "ssvm_score"

_COLUMNS = [ENT_IOB, ENT_TYPE, ENT_KB_ID, ENT_ID]
_PLACES = {"B": BEGIN, "U": BEGIN, "I": INSIDE, "L": INSIDE, "O": OUT}


class Entities(NamedTuple):
    """What to write to a Doc."""

    columns: Keys  #: uint64 [tokens, 4]: ENT_IOB, ENT_TYPE, ENT_KB_ID, ENT_ID
    scores: list[tuple[int, int, float]]  #: first token, behind the last token, score


class EntityRecognizer(SpanPipe):
    """Writes ``doc.ents``, and the score of each to ``ent._.ssvm_score``.

    Entities that a Doc has already are kept, unless ``overwrite`` is set, and the best
    label sequence with them is found.
    """

    kind = "ssvm_ner"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if not Span.has_extension(SCORE):
            Span.set_extension(SCORE, default=None)

    def annotation(self) -> str:
        return "entity"

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:
        # Without types of entities, all tokens are O: labels may be added later.
        return bool(self.labels) or not has_corpus

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        found = set()
        for example in examples:
            reference = example.reference
            for value in np.unique(reference.to_array([ENT_TYPE])).tolist():
                if value:
                    found.add(reference.vocab.strings[value])
        return sorted(found)

    def gold_spans(self, example: Example) -> GoldSpans:
        columns = reference_columns(example, [ENT_IOB, ENT_TYPE])
        if columns is not None:
            places, types = columns[:, 0].astype(np.int64), columns[:, 1].copy()
            places[(types == 0) & (places != MISSING)] = OUT  # blocked tokens too
            return GoldSpans(places, types, 0)
        spans, tags = example.get_aligned_ents_and_ner()
        strings = example.reference.vocab.strings
        places = np.array([_PLACES.get((tag or "-")[0], MISSING) for tag in tags], dtype=np.int64)
        types = np.array(
            [strings[tag[2:]] if tag and tag[1:2] == "-" else 0 for tag in tags], dtype=np.uint64
        )
        return GoldSpans(places, types, len(example.reference.ents) - len(spans))

    def predict(self, docs: Iterable[Doc]) -> list[Entities]:
        """What to write to each Doc."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [Entities(np.zeros((0, len(_COLUMNS)), dtype=np.uint64), []) for _ in docs]
        self._require_trainable()
        self._sync()
        present = self._present(docs, self.cfg["overwrite"])
        kept = _in_entity(present)
        spans, tokens, words = self.find_spans(
            docs, *self.given_labels(docs, self.cfg["overwrite"])
        )

        hashes = np.array([*map(self.vocab.strings.__getitem__, self.labels), 0], dtype=np.uint64)
        columns = np.zeros((len(present), len(_COLUMNS)), dtype=np.uint64)
        columns[:, 0] = OUT
        columns[words.positions, 0] = tokens.places
        outside = tokens.places == OUT
        columns[words.positions, 1] = hashes[np.where(outside, -1, tokens.types)]
        if len(words.positions) < len(columns):
            _fill_whitespace(columns, words.positions)
        columns[kept] = present[kept]
        scores: list[list[tuple[int, int, float]]] = [[] for _ in docs]
        given = kept[words.doc_starts[spans.docs] + spans.starts]
        for number, *span in zip(
            spans.docs[~given].tolist(),
            spans.starts[~given].tolist(),
            spans.ends[~given].tolist(),
            spans.scores[~given].tolist(),
            strict=True,
        ):
            scores[number].append(tuple(span))
        return [
            Entities(columns[start:end], of_doc)
            for (start, end), of_doc in zip(
                pairwise(words.doc_starts.tolist()), scores, strict=True
            )
        ]

    def given_labels(self, docs: Sequence[Doc], overwrite: bool) -> Given:
        kept = _in_entity(self._present(docs, overwrite))
        return self._preset(docs, kept) if kept.any() else (None, None)

    def _present(self, docs: Sequence[Doc], overwrite: bool) -> Keys:
        """What the Docs have already: uint64 [tokens, 4], all 0 where it is passed over."""
        if overwrite or not any(doc.has_annotation("ENT_IOB") for doc in docs):
            return np.zeros((sum(map(len, docs)), len(_COLUMNS)), dtype=np.uint64)
        return np.concatenate([doc.to_array(_COLUMNS) for doc in docs])

    def _preset(self, docs: Sequence[Doc], kept: np.ndarray) -> tuple[Ints, Flags]:
        """Sets of labels for the tokens around entities that the Docs have.

        An entity that the scheme or the labels cannot express is O for the decoder.
        Returns int64 [tokens], numbers of sets, -1 for all labels, and bool [sets, K]: a set
        for each label alone, and then for each type all labels but those that go on with
        an entity of the type.
        """
        scheme, K = self.scheme, len(self.model.labels)
        numbers = {self.vocab.strings[label]: k for k, label in enumerate(self.labels)}
        inside = np.array([f"I-{kind}" for kind in self.labels])
        stops = inside[:, None] != np.array(self.model.labels)
        allowed = np.vstack([np.eye(K, dtype=bool), stops])
        preset = np.full(len(kept), -1, dtype=np.int64)
        preset[kept] = OUTSIDE
        start = 0
        for doc in docs:
            for entity in doc.ents:
                words = [token.i for token in entity if not token.is_space]
                crosses = any(t.is_sent_start for t in entity if words and t.i > words[0])
                if entity.label in numbers and words and not crosses:
                    kind = numbers[entity.label]
                    places = np.full(len(words), INSIDE, dtype=np.int64)
                    places[0] = BEGIN
                    labels = scheme.encode(
                        Tokens(places, np.full(len(words), kind)), np.arange(len(words)) == 0
                    )
                    preset[start + np.array(words)] = labels
                    if scheme.name != "biluo":  # only there a label says where an entity ends
                        _hold_back(preset, doc, start, entity, K + kind, scheme.name == "io")
            start += len(doc)
        return preset, allowed

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Entities]) -> None:
        """Write what ``predict`` returned into the Docs."""
        attributes: Any = _COLUMNS
        for doc, entities in zip(docs, predictions, strict=True):
            if len(doc):
                doc.from_array(attributes, entities.columns)  # type: ignore[arg-type]
            for start, end, score in entities.scores:
                doc[start:end]._.set(SCORE, score)


def _in_entity(columns: Keys) -> Flags:
    return np.isin(columns[:, 0], [BEGIN, INSIDE])


def _hold_back(preset: Ints, doc: Doc, start: int, entity: Span, number: int, before: bool) -> None:
    """Keep the words next to an entity from going on with it, or it with the one before."""
    following = next((t.i for t in doc[entity.end :] if not t.is_space), -1)
    preceding = next((t.i for t in reversed(doc[: entity.start]) if not t.is_space), -1)
    for i in (following, preceding if before else -1):
        if i >= 0 and preset[start + i] < 0:
            preset[start + i] = number


def _fill_whitespace(columns: Keys, words: Ints) -> None:
    """Make whitespace within an entity a part of it."""
    before = np.zeros(len(columns), dtype=np.int64)
    before[words] = words
    before = np.maximum.accumulate(before)
    after = np.searchsorted(words, np.arange(len(columns)))
    has_after = after < len(words)
    behind = words[np.minimum(after, len(words) - 1)] if len(words) else after
    inside = has_after & (columns[behind, 0] == INSIDE)
    blank = np.ones(len(columns), dtype=bool)
    blank[words] = False
    columns[blank & inside, 0] = INSIDE
    columns[blank & inside, 1] = columns[before[blank & inside], 1]
