"""``ssvm_lemmatizer``: lemmas, which edit scripts make of words."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from spacy.attrs import IDS, LEMMA, ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.components.doc_arrays import columns_of, gold_columns, write_columns
from spacy_ssvm.components.lattice import LatticePipe, build_lattice_pipe
from spacy_ssvm.components.settings import check_number, config_error, initialize_error
from spacy_ssvm.features.attributes import TokenTable, base_attribute
from spacy_ssvm.features.edit_scripts import SAME, edit_script, read_script
from spacy_ssvm.features.lemmas import BACKOFFS, Lemmas
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.lattices.labels import WHOLE


class Lemmatizer(LatticePipe):
    """Writes ``token.lemma``.

    A label is an edit script (see ``features/edit_scripts.py``), such as ``lower, suffix -3 +y``,
    which makes city of Cities. Words that were seen in training with the same tags have the lemmas
    that they had there; others, scripts of words with the same ending and tags. Tags are those
    that components before have written: TAG, POS and MORPH, as templates read them.
    Without ``overwrite``, lemmas that a Doc has already are kept. Whitespace is its own lemma.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("ssvm_lemmatizer")
    >>> doc = nlp.make_doc("Dogs bark")
    >>> examples = [Example.from_dict(doc, {"lemmas": ["dog", "bark"]})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> [token.lemma_ for token in nlp("Dogs bark")]
    ['dog', 'bark']
    """

    kind = "ssvm_lemmatizer"

    _lemmas = Lemmas((), None)  #: of the labels
    _has_warned = False

    # Labels

    def annotation(self) -> str:
        """The attribute that is written."""
        return "LEMMA"

    def check_label(self, label: str) -> None:
        """Raise ConfigValidationError for what is no edit script."""
        try:
            read_script(label)
        except ValueError as error:
            raise initialize_error(self.name, "labels", f"{self.name}: {error}") from error

    def read_labels(self, labels: Iterable[str] | dict[str, Any]) -> list[str]:
        """Labels as they are. Raises ConfigValidationError for those of spaCy's lemmatizer."""
        if isinstance(labels, dict):
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: these labels are the edit trees of another component. Make those of "
                "this one with spacy init labels, or leave them out",
            )
        return list(labels)

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The scripts of the references, sorted; rare ones are left out, see ``min_freq``."""
        counts: Counter[tuple[str, str]] = Counter()
        for example in examples:
            doc, strings = example.reference, example.reference.vocab.strings
            pairs, numbers = np.unique(columns_of(doc, [ORTH, LEMMA]), axis=0, return_counts=True)
            for (orth, lemma), number in zip(pairs.tolist(), numbers.tolist(), strict=True):
                word = strings[orth]
                if lemma and word and not word.isspace():
                    counts[word, strings[lemma]] += number
        scripts: Counter[str] = Counter()
        for (word, lemma), number in counts.items():
            scripts[str(edit_script(word, lemma))] += number
        found = {script for script, n in scripts.items() if n >= self.cfg["min_freq"]}
        return sorted(found | {str(SAME)} if counts else found)

    def _add_strings(self, labels: Iterable[str]) -> None:
        """See ``SerializedPipe``: nothing is added before there are words."""
        self._lemmas = Lemmas(list(labels), self.cfg["backoff"])

    def views(self) -> Ints:
        """The labels themselves: int64 [K, 1]."""
        return np.arange(len(self.labels), dtype=np.int64)[:, None]

    def _labels_of(self, words: Doc, lemmas: Keys, strings: StringStore) -> Ints:
        """The labels that make lemmas of tokens: int64 [tokens], -1 for none.

        lemmas: uint64 [tokens], 0 for none. strings: those of the lemmas.
        """
        pairs = np.column_stack([columns_of(words, [ORTH])[:, 0], lemmas])
        different, inverse = np.unique(pairs, axis=0, return_inverse=True)
        numbers = np.full(len(different), -1, dtype=np.int64)
        for i, (orth, lemma) in enumerate(different.tolist()):
            if lemma:
                numbers[i] = self._lemmas.label(words.vocab.strings[orth], strings[lemma])
        found: Ints = numbers[inverse.reshape(-1)]
        return found

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The scripts of the gold lemmas: int64 [tokens, 1] each, -1 for none, or rare ones."""
        return [
            self._labels_of(
                example.predicted,
                gold_columns(example, [LEMMA])[:, 0],
                example.reference.vocab.strings,
            )[:, None]
            for example in examples
        ]

    def gold_names(self, example: Example) -> list[str]:
        strings = example.reference.vocab.strings
        lemmas = gold_columns(example, [LEMMA])[:, 0].tolist()
        return [
            str(edit_script(token.text, strings[lemma])) if lemma and not token.is_space else ""
            for token, lemma in zip(example.predicted, lemmas, strict=True)
        ]

    def inputs_of(self, example: Example, *, with_reals: bool) -> Keys:
        """See ``LatticePipe``. Tags are those of the reference where the predicted Doc has none."""
        inputs = super().inputs_of(example, with_reals=with_reals)
        for attribute, names in groupby(self.model.given, base_attribute):
            if not example.predicted.has_annotation(attribute.upper()):
                gold = gold_columns(example, [IDS[attribute.upper()]])[:, 0]
                strings = example.reference.vocab.strings
                self.model.reader.write_inputs(inputs, names, gold, strings)
        return inputs

    # Annotation

    def present(self, docs: Sequence[Doc]) -> Ints:
        """The scripts of the lemmas that the Docs have: int64 [tokens, 1]."""
        found = [
            self._labels_of(doc, columns_of(doc, [LEMMA])[:, 0], doc.vocab.strings) for doc in docs
        ]
        return np.concatenate(found)[:, None]

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write to each token: uint64 [tokens] for each Doc, hashes of the lemmas."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, dtype=np.uint64) for _ in docs]
        strings = docs[0].vocab.strings
        if any(doc.vocab.strings is not strings for doc in docs):
            return [lemmas for doc in docs for lemmas in self.predict([doc])]
        self._require_labels()
        self._sync()
        tokens = self.model.reader.read(docs)
        self._warn_of_missing_tags(docs, tokens)
        lemmas = np.concatenate([columns_of(doc, [ORTH])[:, 0] for doc in docs])
        words = tokens.positions
        labels = self.model.label(tokens, None)
        lemmas[words] = self._lemmas.find(lemmas[words], labels, strings)
        return [lemmas[start:end] for start, end in pairwise(tokens.doc_starts.tolist())]

    def _warn_of_missing_tags(self, docs: Sequence[Doc], tokens: TokenTable) -> None:
        given = self.model.given
        if not given or self._has_warned:
            return
        columns = [self.model.reader.names.index(name) for name in given]
        if tokens.attributes[:, columns].any():
            return
        names = list(dict.fromkeys(base_attribute(name).upper() for name in given))
        if not any(doc.has_annotation(name) for doc in docs for name in names):
            self._has_warned = True
            warnings.warn(
                f"{self.name}: Docs have no {' or '.join(names)}, from which it has learned. Put "
                "the components that write them before it, or train it in a pipeline without them",
                stacklevel=3,
            )

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Keys]) -> None:
        """Write what ``predict`` returned into the Docs."""
        for doc, lemmas in zip(docs, predictions, strict=True):
            if not self.cfg["overwrite"]:
                there = columns_of(doc, [LEMMA])[:, 0]
                lemmas = np.where(there != 0, there, lemmas)
            write_columns(doc, [LEMMA], lemmas)


def build_lemmatizer(
    vocab: Vocab, name: str, *, min_freq: int, backoff: str | None, **settings: Any
) -> Lemmatizer:
    """A lemmatizer with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    check_number(name, "min_freq", min_freq, 1)
    if backoff not in BACKOFFS:
        raise config_error(name, "backoff", f"'{backoff}': choose orth, lower or null")
    settings |= {"min_freq": min_freq, "backoff": backoff}
    component: Lemmatizer = build_lattice_pipe(Lemmatizer, vocab, name, scheme=WHOLE, **settings)
    return component
