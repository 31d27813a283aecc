"""``ssvm_senter``: sentence boundaries."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.chains.inference import LabelConstraints, fix_labels
from spacy_ssvm.components.doc_arrays import (
    IS_INSIDE,
    IS_START,
    aligned_marks,
    columns_of,
    sentence_marks,
    write_columns,
)
from spacy_ssvm.components.initialization import WordSource
from spacy_ssvm.components.sequence import SequencePipe
from spacy_ssvm.features.attributes import ByToken, scatter_to_tokens, sentence_firsts
from spacy_ssvm.kernels.types import Ints, Keys

LABELS = ("inside", "start")
INSIDE, START = range(2)


class SentenceRecognizer(SequencePipe):
    """Writes ``token.is_sent_start``, for all tokens.

    A Doc is one label sequence. Without ``overwrite``, starts that a Doc has already, and
    tokens that are marked not to be one, are kept, and the best sequence with them is
    found. Whitespace tokens end the sentence before them, but for one that begins a Doc.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("ssvm_senter")
    >>> doc = nlp.make_doc("Dogs bark. Cats purr.")
    >>> examples = [Example.from_dict(doc, {"sent_starts": [1, 0, 0, 1, 0, 0]})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> [sentence.text for sentence in nlp("Dogs bark. Cats purr.").sents]
    ['Dogs bark.', 'Cats purr.']
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
        """Whether ``nlp.meta`` leaves out the labels, which are always the same."""
        return True

    def add_label(self, label: str) -> int:
        """Raises NotImplementedError: the labels cannot be changed."""
        raise NotImplementedError(f"{self.name}: the labels are {' and '.join(LABELS)}, no others")

    def initialize(  # type: ignore[override]  # there are no labels to be given
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        clusters: WordSource | dict[str, WordSource] | None = None,
        gazetteers: dict[str, str] | None = None,
        gazetteer_attribute: str = "lower",
        dictionary: WordSource | None = None,
    ) -> None:
        """Set the resources, and forget all weights; see ``Pipe.initialize``."""
        super().initialize(
            get_examples,
            nlp=nlp,
            clusters=clusters,
            gazetteers=gazetteers,
            gazetteer_attribute=gazetteer_attribute,
            dictionary=dictionary,
        )

    def model_labels(self, labels: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """The two labels, whatever the examples have."""
        return LABELS

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:
        return not has_corpus

    def annotation(self) -> str:
        return "sentence boundary"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The two labels; none where no sentence boundary is annotated."""
        marks = [sentence_marks(example.reference)[1:] for example in examples]
        if not any(np.any(doc_marks) for doc_marks in marks):
            return []
        if not any(np.any(doc_marks == IS_START) for doc_marks in marks):
            warnings.warn(
                f"{self.name}: each Doc of the examples is one sentence, which teaches nothing "
                "about where the next one starts. Train on Docs of several sentences, such as "
                "'spacy convert -n 10' makes, and without gold_preproc",
                stacklevel=2,
            )
        return list(LABELS)

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """INSIDE, START or -1 for each predicted token: int64 [tokens] each."""
        return [_gold_labels(example) for example in examples]

    # Annotation

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write to each token: uint64 [tokens] for each Doc, 1 for a start, else -1."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, dtype=np.uint64) for doc in docs]
        self._require_labels()
        self._sync()
        marks, fixed_labels = self._marks_and_labels(docs, self.cfg["overwrite"])
        labels, tokens = self.model.predict(docs, fix_labels(fixed_labels, len(LABELS)))
        found = np.where(
            scatter_to_tokens(labels, tokens, fill=INSIDE) == START, IS_START, IS_INSIDE
        )
        starts = np.where(marks == 0, found, marks).astype(np.uint64)
        return [starts[start:end] for start, end in pairwise(tokens.doc_starts.tolist())]

    def label_constraints(self, docs: Sequence[Doc], overwrite: bool) -> LabelConstraints:
        """The labels fixed by sentence boundaries that the Docs already have."""
        return fix_labels(self._marks_and_labels(docs, overwrite)[1], len(LABELS))

    def _marks_and_labels(self, docs: Sequence[Doc], overwrite: bool) -> tuple[ByToken, ByToken]:
        """The marks of the tokens, and the labels that follow from them, -1 for none."""
        doc_starts = np.cumsum([0, *map(len, docs)])
        columns = np.concatenate([columns_of(doc, [SENT_START, IS_SPACE]) for doc in docs])
        words = np.flatnonzero(columns[:, 1] == 0)
        marks = columns[:, 0].astype(np.int64)
        if overwrite:
            marks[:] = 0
        marks[doc_starts[:-1][doc_starts[:-1] < len(marks)]] = IS_START

        fixed_labels = np.where(marks == IS_INSIDE, INSIDE, -1)
        firsts = words[sentence_firsts(marks == IS_START, doc_starts, words)]
        fixed_labels[firsts] = START
        marks[firsts[marks[firsts] == 0]] = IS_INSIDE  # their sentences begin with whitespace
        return ByToken(marks), ByToken(fixed_labels)

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Keys]) -> None:
        """Write what ``predict`` returned into the Docs.

        Raises ValueError for a Doc with a dependency parse, where it is to be overwritten.
        """
        for doc, starts in zip(docs, predictions, strict=True):
            if self.cfg["overwrite"] and doc.has_annotation("DEP"):
                raise ValueError(
                    f"{self.name}: the Doc has a dependency parse, whose trees are its "
                    f"sentences. Put {self.name} before the parser, or set overwrite = false in "
                    f"[components.{self.name}]"
                )
            write_columns(doc, [SENT_START], starts)


def _gold_labels(example: Example) -> Ints:
    """The labels of the predicted tokens: int64 [tokens], -1 for none.

    A sentence that starts with whitespace starts with its first word.
    """
    marks = aligned_marks(example)
    labels = np.where(marks == IS_INSIDE, INSIDE, -1)
    if marks[1:].any():  # spaCy marks the first token in any case
        words = np.flatnonzero(columns_of(example.predicted, [IS_SPACE])[:, 0] == 0)
        firsts = sentence_firsts(marks == IS_START, np.array([0, len(marks)]), words)
        labels[words[firsts]] = START
    return labels
