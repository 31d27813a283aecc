"""``ssvm_ner``: named entities."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from spacy.attrs import ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.chains.inference import LabelConstraints
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.schemes import BEGIN, INSIDE, MISSING, OUT, OUTSIDE, Tokens
from spacy_ssvm.chains.stacked import StackedModel
from spacy_ssvm.components.doc_arrays import (
    columns_of,
    reference_columns,
    write_columns,
)
from spacy_ssvm.components.example_cache import GoldDoc, digest
from spacy_ssvm.components.initialization import annotate_as_in_training
from spacy_ssvm.components.settings import config_error
from spacy_ssvm.components.spans import GoldSpans, SpanPipe, build_span_pipe
from spacy_ssvm.components.stacking import FoundTypes, learn_first_pass
from spacy_ssvm.features.attributes import ByToken
from spacy_ssvm.features.text_hash import string_ids
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Flags, Ints, Keys

if TYPE_CHECKING:
    from spacy_ssvm.selection import Selection

#: The extension attribute of entities that holds their score.
SCORE = "ssvm_score"
if not Span.has_extension(SCORE):
    Span.set_extension(SCORE, default=None)

_COLUMNS = [ENT_IOB, ENT_TYPE, ENT_KB_ID, ENT_ID]
_IOB = {"B": BEGIN, "U": BEGIN, "I": INSIDE, "L": INSIDE, "O": OUT}


class Entities(NamedTuple):
    """What to write to a Doc."""

    columns: Keys  #: uint64 [tokens, 4]: ENT_IOB, ENT_TYPE, ENT_KB_ID, ENT_ID
    scores: list[tuple[int, int, float]]  #: first token, after the last token, score


class EntityRecognizer(SpanPipe):
    """Writes ``doc.ents``, and the score of each to ``ent._.ssvm_score``.

    Entities that a Doc has already are kept, unless ``overwrite`` is set, and the best
    label sequence with them is found.

    With the setting ``document``, the model is a ``StackedModel``: its first pass is trained at the
    end of ``initialize``, on all examples, and ``update`` trains the second.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("ssvm_ner")
    >>> doc = nlp.make_doc("Ada went to Paris")
    >>> examples = [Example.from_dict(doc, {"entities": [(0, 3, "PER"), (12, 17, "LOC")]})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> [(ent.text, ent.label_) for ent in nlp("Ada went to Paris").ents]
    [('Ada', 'PER'), ('Paris', 'LOC')]
    """

    kind = "ssvm_ner"
    _found_types = FoundTypes()
    _has_warned_of_docs = False

    @property
    def marked(self) -> str:
        return "entities"

    def annotation(self) -> str:
        return "entity"

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:
        """See ``Pipe``. Labels can be added later, so an empty Doc suffices."""
        # Without types of entities, all tokens are O: labels may be added later.
        return bool(self.labels) or not has_corpus

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The entity types of the references, sorted."""
        found = set()
        for example in examples:
            reference = example.reference
            for value in np.unique(reference.to_array([ENT_TYPE])).tolist():
                if value:
                    found.add(reference.vocab.strings[value])
        return sorted(found)

    def learn_first_pass(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Language | None
    ) -> None:
        if not isinstance(self.model, StackedModel) or not self.model.labels:
            return
        examples = list(get_examples())
        if nlp is not None:
            annotate_as_in_training(nlp, self, examples)
        docs = [example.predicted for example in examples]
        inputs = map(self.model.first.reader.inputs, docs)
        gold = list(map(GoldDoc, docs, self.gold_labels(examples), inputs))
        self._found_types = learn_first_pass(self.name, self.model, gold, self.trainer_of)

    def read_inputs(self, example: Example) -> Keys:
        """See ``Pipe``. Types of the first pass are those of models that have not seen the Doc."""
        model, doc = self.model, example.predicted
        if not isinstance(model, StackedModel):
            return super().read_inputs(example)
        types = self._found_types.get(digest(model.first.reader.inputs(doc).tobytes()))
        if types is None and len(doc) and not self._has_warned_of_docs:
            self._has_warned_of_docs = True
            warnings.warn(
                f"{self.name}: the Doc '{shorten(doc[:8].text)}' was not among the examples of "
                "initialize, from which document = true learns. If its first pass has learned from "
                "this text in another form, the second pass will trust it too much",
                stacklevel=2,
            )
        if types is None:
            return super().read_inputs(example)
        reader: Any = model.reader
        return reader.inputs_with(doc, types)  # type: ignore[no-any-return]

    def gold_spans(self, example: Example) -> GoldSpans:
        """The entities of the reference; blocked tokens are outside."""
        columns = reference_columns(example, [ENT_IOB, ENT_TYPE])
        if columns is not None:
            iob, types = columns[:, 0].astype(np.int64), columns[:, 1].copy()
            iob[(types == 0) & (iob != MISSING)] = OUT  # blocked tokens too
            return GoldSpans(iob, types, 0)
        spans, tags = example.get_aligned_ents_and_ner()
        strings = example.reference.vocab.strings
        iob = np.array([_IOB.get((tag or "-")[0], MISSING) for tag in tags], dtype=np.int64)
        types = np.array(
            [strings[tag[2:]] if tag and tag[1:2] == "-" else 0 for tag in tags], dtype=np.uint64
        )
        return GoldSpans(iob, types, len(example.reference.ents) - len(spans))

    def predict(self, docs: Iterable[Doc]) -> list[Entities]:
        """What to write to each Doc."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [Entities(np.zeros((0, len(_COLUMNS)), dtype=np.uint64), []) for _ in docs]
        self._require_labels()
        self._sync()
        present = self._present(docs, self.cfg["overwrite"])
        kept = _in_entity(present)
        spans, tokens, words = self.find_spans(docs, self._constraints(docs, kept))

        hashes = string_ids((*self.labels, ""))
        columns = np.zeros((len(present), len(_COLUMNS)), dtype=np.uint64)
        columns[:, 0] = OUT
        columns[words.positions, 0] = tokens.iob
        outside = tokens.iob == OUT
        columns[words.positions, 1] = hashes[np.where(outside, -1, tokens.types)]
        if len(words.positions) < len(columns):
            _fill_whitespace(columns, words.positions)
        columns[kept] = present[kept]
        scores: list[list[tuple[int, int, float]]] = [[] for _ in docs]
        found = ~kept[words.doc_starts[spans.docs] + spans.starts]
        for number, *span in zip(
            spans.docs[found].tolist(),
            spans.starts[found].tolist(),
            spans.ends[found].tolist(),
            spans.scores[found].tolist(),
            strict=True,
        ):
            scores[number].append(tuple(span))
        return [
            Entities(columns[start:end], doc_scores)
            for (start, end), doc_scores in zip(
                pairwise(words.doc_starts.tolist()), scores, strict=True
            )
        ]

    def label_constraints(self, docs: Sequence[Doc], overwrite: bool) -> LabelConstraints | None:
        """The labels allowed by entities that the Docs already have."""
        return self._constraints(docs, _in_entity(self._present(docs, overwrite)))

    def _present(self, docs: Sequence[Doc], overwrite: bool) -> Keys:
        """The existing annotation of the Docs: uint64 [tokens, 4], all 0 where it is ignored."""
        if overwrite or not any(doc.has_annotation("ENT_IOB") for doc in docs):
            return np.zeros((sum(map(len, docs)), len(_COLUMNS)), dtype=np.uint64)
        return np.concatenate([columns_of(doc, _COLUMNS) for doc in docs])

    def _constraints(self, docs: Sequence[Doc], kept: Flags) -> LabelConstraints | None:
        """Constraints on tokens in and around the entities that the Docs have; None without any.

        An entity that the scheme or the labels cannot express is O for the decoder. There is a
        label set for each label alone, and one for the types of entities next to a word, with
        all labels but those that extend one of them.
        kept: bool [tokens], those in entities.
        """
        if not kept.any():
            return None
        scheme, K = self.scheme, len(self.model.labels)
        numbers = {self.vocab.strings[label]: k for k, label in enumerate(self.labels)}
        inside = np.array([f"I-{kind}" for kind in self.labels])
        others = inside[:, None] != np.array(self.model.labels)
        fixed_labels = np.full(len(kept), -1, dtype=np.int64)
        fixed_labels[kept] = OUTSIDE
        adjacent: dict[int, set[int]] = {}  # by word, the types of entities next to it
        start = 0
        for doc in docs:
            for entity in doc.ents:
                words = [token.i for token in entity if not token.is_space]
                crosses = any(t.is_sent_start for t in entity if words and t.i > words[0])
                if entity.label in numbers and words and not crosses:
                    kind = numbers[entity.label]
                    iob = np.full(len(words), INSIDE, dtype=np.int64)
                    iob[0] = BEGIN
                    labels = scheme.encode(
                        Tokens(iob, np.full(len(words), kind)), np.arange(len(words)) == 0
                    )
                    fixed_labels[start + np.array(words)] = labels
                    if scheme.name != "biluo":  # the only scheme that marks the ends of entities
                        neighbours = _neighbours(doc, entity, before=scheme.name == "io")
                        for i in neighbours:
                            adjacent.setdefault(start + i, set()).add(kind)
            start += len(doc)
        sets: dict[tuple[int, ...], int] = {}
        for i, kinds in adjacent.items():
            if fixed_labels[i] < 0:
                fixed_labels[i] = sets.setdefault(tuple(sorted(kinds)), K + len(sets))
        allowed = [others[list(kinds)].all(axis=0) for kinds in sets]
        label_sets = np.vstack([np.eye(K, dtype=bool), *allowed])
        return LabelConstraints(ByToken(fixed_labels), label_sets)

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Entities]) -> None:
        """Write what ``predict`` returned into the Docs."""
        for doc, entities in zip(docs, predictions, strict=True):
            write_columns(doc, _COLUMNS, entities.columns)
            for start, end, score in entities.scores:
                doc[start:end]._.set(SCORE, score)


def _in_entity(columns: Keys) -> Flags:
    found: Flags = (columns[:, 0] == BEGIN) | (columns[:, 0] == INSIDE)
    return found


def _neighbours(doc: Doc, entity: Span, *, before: bool) -> list[int]:
    """The word after an entity, and, where wanted, the word before it."""
    following = next((t.i for t in doc[entity.end :] if not t.is_space), None)
    preceding = next((t.i for t in reversed(doc[: entity.start]) if not t.is_space), None)
    return [i for i in (following, preceding if before else None) if i is not None]


def _fill_whitespace(columns: Keys, words: Ints) -> None:
    """Make whitespace within an entity a part of it."""
    before = np.zeros(len(columns), dtype=np.int64)
    before[words] = words
    before = np.maximum.accumulate(before)
    after = np.searchsorted(words, np.arange(len(columns)))
    has_after = after < len(words)
    next_words = words[np.minimum(after, len(words) - 1)] if len(words) else after
    inside = has_after & (columns[next_words, 0] == INSIDE)
    blank = np.ones(len(columns), dtype=bool)
    blank[words] = False
    columns[blank & inside, 0] = INSIDE
    columns[blank & inside, 1] = columns[before[blank & inside], 1]


def build_recognizer(
    vocab: Vocab,
    name: str,
    *,
    document: bool,
    templates: Sequence[str],
    selection: "Selection | None",
    **settings: Any,
) -> EntityRecognizer:
    """A recognizer with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    if document and selection is not None:
        message = "select templates with document = false, and then set those that were kept"
        raise config_error(name, "document", message)
    return build_span_pipe(
        EntityRecognizer,
        vocab,
        name,
        document=document,
        templates=[*templates, "document"] if document else templates,
        model_class=StackedModel if document else ChainModel,
        selection=selection,
        **settings,
    )
