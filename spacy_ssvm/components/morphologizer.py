"""``ssvm_morphologizer``: universal parts of speech and morphological features."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.attrs import MORPH, POS
from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.components.doc_arrays import (
    columns_of,
    doc_and_token,
    gold_columns,
    where_is,
    with_sentence_starts,
    write_columns,
)
from spacy_ssvm.components.lattice import LatticePipe, build_lattice_pipe
from spacy_ssvm.components.settings import initialize_error
from spacy_ssvm.features.attributes import NO_FEATURES, scatter_to_tokens
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.lattices.labels import FEATURES, features_of
from spacy_ssvm.lattices.labels import POS as POS_FEATURE

_SPACE = UNIVERSAL_TAGS["SPACE"]


class Morphologizer(LatticePipe):
    """Writes ``token.pos`` and ``token.morph``.

    A label is a part of speech with features, such as ``Number=Sing|POS=NOUN``, as in spaCy's
    component. Without ``overwrite``, what a Doc has already is kept, and labels are chosen that
    agree with it; with ``extend``, features that a token has are kept, and others are added.
    Sentences are decided one by one, or whole Docs, as by ``ssvm_tagger``.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("ssvm_morphologizer")
    >>> doc = nlp.make_doc("Dogs bark")
    >>> gold = {"pos": ["NOUN", "VERB"], "morphs": ["Number=Plur", "VerbForm=Fin"]}
    >>> examples = [Example.from_dict(doc, gold)]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> [(token.pos_, str(token.morph)) for token in nlp("Dogs bark")]
    [('NOUN', 'Number=Plur'), ('VERB', 'VerbForm=Fin')]
    """

    kind = "ssvm_morphologizer"

    #: What is written for labels: uint64 [K, 2], POS and MORPH as spaCy stores them.
    _values: Keys = np.zeros((0, 2), dtype=np.uint64)

    # Labels

    def annotation(self) -> str:
        """The attributes that are written."""
        return "POS or MORPH"

    def check_label(self, label: str) -> None:
        """Raise ConfigValidationError for a part of speech that is not universal."""
        tag = features_of(label).get(POS_FEATURE, "")
        if tag not in UNIVERSAL_TAGS:
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: '{shorten(tag)}' in the label '{shorten(label)}' is not a universal "
                f"part-of-speech tag. There are: {', '.join(filter(None, UNIVERSAL_TAGS))}",
            )

    def read_labels(self, labels: Iterable[str] | dict[str, dict[str, object]]) -> list[str]:
        """Labels with their features in order.

        labels: names, or what spaCy's morphologizer saves as its labels.
        Raises ConfigValidationError where one does not consist of features.
        """
        if isinstance(labels, dict):
            labels = labels["morph"] if labels.keys() == {"morph", "pos"} else labels
        return list(dict.fromkeys(map(self._normalized, labels)))

    def _normalized(self, label: str) -> str:
        parts = label.split("|") if label not in ("", "_") else []
        if not all(name and value for name, _, value in (part.partition("=") for part in parts)):
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: '{shorten(label)}' is no label: write features as Name=Value, with "
                "| between them, such as Number=Sing|POS=NOUN",
            )
        return str(self.vocab.strings[self.vocab.morphology.add(features_of(label))])

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The pairs of POS and MORPH in the references, sorted, without those of whitespace.

        Of tokens that have only one of them, those that no complete pair agrees with.
        """
        found: set[tuple[str, str | None]] = set()
        for example in examples:
            strings = example.reference.vocab.strings
            pairs = np.unique(columns_of(example.reference, [POS, MORPH]), axis=0)
            for tag, morph in pairs.tolist():
                if tag != _SPACE and (tag or morph):
                    found.add((strings[tag] if tag else "", strings[morph] if morph else None))
        whole = {(tag, morph or "") for tag, morph in found if tag and morph is not None}
        tags, features = {tag for tag, _ in whole}, {morph for _, morph in whole}
        for tag, morph in found:
            if (not tag and morph not in features) or (morph is None and tag not in tags):
                whole.add((tag, morph or ""))
        return sorted(self._label_of(*pair) for pair in whole)

    def _label_of(self, tag: str, morph: str) -> str:
        features = features_of(morph)
        if tag:
            features[POS_FEATURE] = tag
        number = self.vocab.morphology.add(features)
        return str(self.vocab.strings[number])

    def _add_strings(self, labels: Iterable[str]) -> None:
        labels = list(labels)
        super()._add_strings(labels)
        values = []
        for label in labels:
            features = features_of(label)
            tag = UNIVERSAL_TAGS[features.pop(POS_FEATURE, "")]
            values.append((tag, self.vocab.morphology.add(features)))
        self._values = np.array(values, dtype=np.uint64).reshape(len(values), 2)

    def views(self) -> Ints:
        """The POS and MORPH of labels, as spaCy stores them: int64 [K, 2]."""
        return self._values.view(np.int64)

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The gold POS and MORPH of the predicted tokens: int64 [tokens, 2] each, -1 for none.

        With ``whole_docs``, [tokens, 3]: the third column is 1 where a gold sentence starts.
        Raises ValueError, naming the token, for values that no label has.
        """
        if not examples:
            return []
        columns = [gold_columns(example, [POS, MORPH]) for example in examples]
        ends = np.cumsum([0, *map(len, columns)])
        gold = np.concatenate(columns).view(np.int64)
        gold[gold[:, 0] == _SPACE] = 0
        gold[gold == 0] = -1
        different, first = np.unique(gold, axis=0, return_index=True)
        views = self.views()
        for values, token in zip(different, first.tolist(), strict=True):
            if not np.all((values == -1) | (values == views), axis=1).any():
                number, i = doc_and_token(ends, token)
                self._refuse(examples[number], i, values)
        found = np.split(gold, ends[1:-1])
        return with_sentence_starts(found, examples) if self.model.whole_docs else found

    def _refuse(self, example: Example, i: int, values: Ints) -> None:
        """Raise an error for gold values of a predicted token that no label has."""
        strings = example.reference.vocab.strings
        tag, morph = (
            "" if value == -1 else strings[stored]
            for value, stored in zip(values.tolist(), values.view(np.uint64).tolist(), strict=True)
        )
        label = self._label_of(tag, "" if morph == "_" else morph)
        raise self.unknown_label_error(label, where_is(example, i))

    def gold_names(self, example: Example) -> list[str]:
        strings = example.reference.vocab.strings
        names = []
        for tag, morph in gold_columns(example, [POS, MORPH]).tolist():
            is_known = tag and morph and tag != _SPACE
            names.append(self._label_of(strings[tag], strings[morph]) if is_known else "")
        return names

    # Annotation

    def present(self, docs: Sequence[Doc]) -> Ints:
        """The POS, and without ``extend`` the MORPH, that the Docs have: int64 [tokens, 2]."""
        values = np.concatenate([columns_of(doc, [POS, MORPH]) for doc in docs]).view(np.int64)
        if self.cfg["extend"]:
            values[:, 1] = 0
        return np.where(values == 0, -1, values)

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write to each token: uint64 [tokens, 2] for each Doc, POS and MORPH."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros((0, 2), dtype=np.uint64) for _ in docs]
        self._require_labels()
        self._sync()
        space = np.array([[_SPACE, NO_FEATURES]], dtype=np.uint64)
        values = np.concatenate([self._values, space])  # the last is number -1
        tokens = self.model.reader.read(docs)
        labels = self.model.label(tokens, self.kept(docs, tokens, self.cfg["overwrite"]))
        found = values[scatter_to_tokens(labels, tokens, fill=-1)]
        return [found[start:end] for start, end in pairwise(tokens.doc_starts.tolist())]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Keys]) -> None:
        """Write what ``predict`` returned into the Docs."""
        overwrite, extend = self.cfg["overwrite"], self.cfg["extend"]
        for doc, values in zip(docs, predictions, strict=True):
            if not (overwrite and not extend):
                there = columns_of(doc, [POS, MORPH])
                if there.any():
                    values = self._merged(there, values)
            write_columns(doc, [POS, MORPH], values)

    def _merged(self, there: Keys, values: Keys) -> Keys:
        """What tokens have, with what is predicted for them."""
        overwrite, morphology = self.cfg["overwrite"], self.vocab.morphology
        merged: Keys = values.copy()
        if not overwrite:
            merged[:, 0] = np.where(there[:, 0] != 0, there[:, 0], values[:, 0])
        if not self.cfg["extend"]:
            merged[:, 1] = np.where(there[:, 1] != 0, there[:, 1], values[:, 1])
            return merged
        strings = self.vocab.strings
        for i in np.flatnonzero(there[:, 1]).tolist():
            old, new = (features_of(strings[int(column[i, 1])]) for column in (there, values))
            merged[i, 1] = morphology.add({**old, **new} if overwrite else {**new, **old})
        return merged


def build_morphologizer(vocab: Vocab, name: str, **settings: Any) -> Morphologizer:
    """A morphologizer with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    component: Morphologizer = build_lattice_pipe(
        Morphologizer, vocab, name, scheme=FEATURES, **settings
    )
    return component
