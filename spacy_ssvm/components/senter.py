"""``ssvm_senter``: where sentences begin."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm._jit import Ints, Keys
from spacy_ssvm.components.linear_pipe import Given, reference_columns
from spacy_ssvm.components.tokens import TokenPipe
from spacy_ssvm.features.attributes import scatter_to_tokens, sentence_firsts

LABELS = ("inside", "start")
INSIDE, START = range(2)

#: What spaCy stores in SENT_START; 0 is for tokens of which nothing is known.
IS_START, IS_INSIDE = 1, -1


class SentenceRecognizer(TokenPipe):
    """Writes ``token.is_sent_start``, for all tokens.

    A Doc is one label sequence. Without ``overwrite``, starts that a Doc has already, and
    tokens that are marked not to be one, are kept, and the best sequence with them is
    found. Whitespace tokens end the sentence before them, but for one that begins a Doc.
    """

    kind = "ssvm_senter"

    # Labels

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, which are always the same."""
        return LABELS

    @property
    def label_data(self) -> None:
        """Nothing for ``spacy init labels`` to save."""

    @property
    def hide_labels(self) -> bool:
        """The labels say nothing about a pipeline."""
        return True

    def add_label(self, label: str) -> int:
        """Raises NotImplementedError: the labels cannot be changed."""
        raise NotImplementedError(f"{self.name}: the labels are {' and '.join(LABELS)}, no others")

    def initialize(  # type: ignore[override]  # there are no labels to be given
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        clusters: str | Path | None = None,
        gazetteers: dict[str, str] | None = None,
        gazetteer_attribute: str = "lower",
    ) -> None:
        """Set the resources, and forget all weights; see ``LinearPipe.initialize``."""
        super().initialize(
            get_examples,
            nlp=nlp,
            clusters=clusters,
            gazetteers=gazetteers,
            gazetteer_attribute=gazetteer_attribute,
        )

    def chain_labels(self, labels: Sequence[str]) -> Sequence[str]:
        return LABELS

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:
        return not has_corpus

    def annotation(self) -> str:
        return "sentence boundary"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        marks = [_marks(example.reference)[1:] for example in examples]
        if not any(np.any(of_doc) for of_doc in marks):
            return []
        if not any(np.any(of_doc == IS_START) for of_doc in marks):
            warnings.warn(
                f"{self.name}: each Doc of the examples is one sentence, which teaches nothing "
                "about where the next one starts. Train on Docs of several sentences, such as "
                "'spacy convert -n 10' makes, and without gold_preproc",
                stacklevel=2,
            )
        return list(LABELS)

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        return [_gold_labels(example) for example in examples]

    # Annotation

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write to each token: uint64 [tokens] for each Doc, 1 for a start, else -1."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, dtype=np.uint64) for doc in docs]
        self._require_trainable()
        self._sync()
        marks, given = self._marks_and_labels(docs, self.cfg["overwrite"])
        labels, tokens = self.model.predict(docs, given)
        found = np.where(
            scatter_to_tokens(labels, tokens, fill=INSIDE) == START, IS_START, IS_INSIDE
        )
        starts = np.where(marks == 0, found, marks).astype(np.uint64)
        return [starts[start:end] for start, end in pairwise(tokens.doc_starts.tolist())]

    def given_labels(self, docs: Sequence[Doc], overwrite: bool) -> Given:
        return self._marks_and_labels(docs, overwrite)[1], None

    def _marks_and_labels(self, docs: Sequence[Doc], overwrite: bool) -> tuple[Ints, Ints]:
        """What is known of each token, and the labels that follow from it, -1 for none."""
        doc_starts = np.cumsum([0, *map(len, docs)])
        columns = np.concatenate([doc.to_array([SENT_START, IS_SPACE]) for doc in docs])
        words = np.flatnonzero(columns[:, 1] == 0)
        marks = columns[:, 0].astype(np.int64)
        if overwrite:
            marks[:] = 0
        marks[doc_starts[:-1][doc_starts[:-1] < len(marks)]] = IS_START

        given = np.where(marks == IS_INSIDE, INSIDE, -1)
        firsts = words[sentence_firsts(marks == IS_START, doc_starts, words)]
        given[firsts] = START
        marks[firsts[marks[firsts] == 0]] = IS_INSIDE  # their sentences begin with whitespace
        return marks, given

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Keys]) -> None:
        """Write what ``predict`` returned into the Docs.

        Raises ValueError for a Doc with a dependency parse, where it is to be overwritten.
        """
        attribute: Any = [SENT_START]
        for doc, starts in zip(docs, predictions, strict=True):
            if self.cfg["overwrite"] and doc.has_annotation("DEP"):
                raise ValueError(
                    f"{self.name}: the Doc has a dependency parse, whose trees are its "
                    f"sentences. Put {self.name} before the parser, or set overwrite = false in "
                    f"[components.{self.name}]"
                )
            if len(doc):
                doc.from_array(attribute, starts)  # type: ignore[arg-type]


def _marks(doc: Doc) -> Ints:
    """IS_START, IS_INSIDE or 0 for each token of a reference: int64 [tokens].

    Where starts are marked, tokens without a mark are inside, as for spaCy's senter:
    ``{"sent_starts": [1, 0, 0, 1, 0]}`` marks nothing else.
    """
    columns: Any = doc.to_array([SENT_START])
    marks: Ints = columns.ravel().astype(np.int64)
    if np.any(marks[1:] == IS_START):
        marks[1:][marks[1:] == 0] = IS_INSIDE
    return marks


def _gold_labels(example: Example) -> Ints:
    """The labels of the predicted tokens: int64 [tokens], -1 for none.

    A sentence that starts with whitespace starts with its first word.
    """
    marks = aligned_marks(example)
    labels = np.where(marks == IS_INSIDE, INSIDE, -1)
    if marks[1:].any():  # spaCy marks the first token in any case
        words = np.flatnonzero(example.predicted.to_array([IS_SPACE]).ravel() == 0)
        firsts = sentence_firsts(marks == IS_START, np.array([0, len(marks)]), words)
        labels[words[firsts]] = START
    return labels


def aligned_marks(example: Example) -> Ints:
    """The marks of the reference at the predicted tokens: int64 [tokens]."""
    return align_marks(example, _marks(example.reference))


def align_marks(example: Example, marks: Ints) -> Ints:
    """Marks of the reference's tokens at the predicted tokens: int64 [tokens].

    The first of the tokens that a reference token is split into may be a start, the others
    are not; of a token in whose middle a sentence starts, nothing is known.
    """
    if reference_columns(example, []) is not None:
        return marks
    to_reference, to_predicted = example.alignment.x2y, example.alignment.y2x
    aligned = np.zeros(len(example.predicted), dtype=np.int64)
    for i in range(len(aligned)):
        covered = to_reference[i]
        if len(covered) and not np.any(marks[covered[1:]] == IS_START):
            is_first = to_predicted[int(covered[0])][0] == i
            aligned[i] = marks[covered[0]] if is_first else IS_INSIDE
    return aligned
