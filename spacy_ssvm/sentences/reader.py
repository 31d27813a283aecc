"""The reader ``spacy_ssvm.LabeledSentences.v1``: Docs of sentences with labels, from JSON records.

A record holds one Doc, as data sets of sequential sentence classification do:

    {"sentences": ["We study chains.", "They work."], "labels": ["objective", "result"]}
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.components.json_records import (
    checked_text,
    ending_of,
    printable,
    read_records,
    shown,
)
from spacy_ssvm.files import shorten


class LabeledSentences:
    """Reads Docs whose sentences have labels.

    path: a file with a JSON object in each line, or a list of them in a ``.json`` file; or a folder
        of ``.jsonl`` files. All can be compressed (``.gz``). None, which paths of a config are
        until they are set, is an error.
    spans_key: the key of ``doc.spans`` for the labels.
    sentences_key, labels_key: the keys of the texts and of their labels, lists of one length; a
        label can be null for none. Other keys are ignored.
    encoding: of the files.
    limit: the number of Docs to read; 0 for all.

    A Doc has its sentences one after another, separated by spaces, each tokenized by itself. The
    predicted Docs have their boundaries, so that a component that finds sentences is not needed.
    Raises ValueError naming file and line for a record that is not as described.

    >>> import os, spacy, tempfile
    >>> record = '{"sentences": ["We test.", "It works."], "labels": ["AIM", "RESULT"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "abstracts.jsonl")
    ...     with open(path, "w", encoding="utf8") as opened:
    ...         _ = opened.write(record)
    ...     examples = [*LabeledSentences(path)(spacy.blank("en"))]
    >>> [(span.text, span.label_) for span in examples[0].reference.spans["sentence_labels"]]
    [('We test.', 'AIM'), ('It works.', 'RESULT')]
    """

    def __init__(
        self,
        path: str | Path | None,
        *,
        spans_key: str = "sentence_labels",
        sentences_key: str = "sentences",
        labels_key: str = "labels",
        encoding: str = "utf8",
        limit: int = 0,
    ) -> None:
        if path is None:
            raise ValueError(Errors.E913)
        self.path = Path(path)
        if not self.path.exists():
            raise ValueError(f"spacy_ssvm.LabeledSentences.v1: {path} does not exist")
        self.spans_key = spans_key
        self.sentences_key = sentences_key
        self.labels_key = labels_key
        self.encoding = encoding
        self.limit = limit

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """The examples."""
        for place, record in islice(self._records(), self.limit or None):
            yield self.make_example(nlp, record, place)

    def make_example(self, nlp: Language, record: Any, place: str) -> Example:
        """The example of a record. Raises ValueError naming the place."""
        texts, labels = self._parse(record, place)
        predicted = _make_doc(nlp, texts)
        reference = predicted.copy()
        sentences = zip(list(reference.sents), labels, strict=True)
        reference.spans[self.spans_key] = [
            Span(reference, sentence.start, sentence.end, label=label)
            for sentence, label in sentences
            if label is not None
        ]
        return Example(predicted, reference)

    def _records(self) -> Iterator[tuple[str, Any]]:
        """The records, each after its place."""
        files = [self.path]
        if self.path.is_dir():
            files = sorted(file for file in self.path.iterdir() if ending_of(file) == ".jsonl")
        if not files:
            raise ValueError(f"{self.path} has no .jsonl files")
        for file in files:
            yield from read_records(file, self.encoding)

    def _parse(self, record: Any, place: str) -> tuple[list[str], list[str | None]]:
        """The texts and labels of a record. Raises ValueError naming the place."""
        if not isinstance(record, dict):
            raise ValueError(f"{place}: expected a JSON object, found {shown(record)!r}")
        texts = _list_of(record, self.sentences_key, place)
        labels = _list_of(record, self.labels_key, place)
        if len(texts) != len(labels):
            raise ValueError(f"{place}: {len(texts)} sentences, but {len(labels)} labels")
        for i, (text, label) in enumerate(zip(texts, labels, strict=True)):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{place}: sentence {i} is {shorten(repr(text))}, not a text")
            if label is not None and (not isinstance(label, str) or not label):
                found = shorten(repr(label))
                raise ValueError(f"{place}: the label of sentence {i} is {found}, not a text")
            checked_text(text + (label or ""), place)
        return texts, labels


def _list_of(fields: dict[str, Any], key: str, place: str) -> list[Any]:
    """The list under a key of a record."""
    if not isinstance(fields.get(key), list):
        found = "nothing" if key not in fields else repr(fields[key])
        raise ValueError(
            f"{place}: expected a list under the key '{key}', found {shorten(found)}. Keys: "
            f"{shorten(printable(', '.join(fields)))}"
        )
    return list(fields[key])


def _make_doc(nlp: Language, texts: list[str]) -> Doc:
    """Sentences as a Doc with boundaries."""
    docs = [nlp.make_doc(text.strip()) for text in texts]
    return Doc(
        nlp.vocab,
        words=[token.text for doc in docs for token in doc],
        spaces=[
            bool(token.whitespace_) or token.i + 1 == len(doc) for doc in docs for token in doc
        ],
        sent_starts=[token.i == 0 for doc in docs for token in doc],
    )
