"""``ssvm_tagger``: part-of-speech tags as label sequences."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.attrs import POS, TAG
from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.chains.inference import LabelConstraints, fix_labels
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.training import LabelledTokens
from spacy_ssvm.components.doc_arrays import (
    UNKNOWN,
    columns_of,
    doc_and_token,
    gold_columns,
    label_numbers,
    where_is,
    with_sentence_starts,
    write_columns,
)
from spacy_ssvm.components.linear import LinearModelT, TokenPipe
from spacy_ssvm.components.pipe import Batch
from spacy_ssvm.components.sequence import SequencePipe
from spacy_ssvm.components.settings import build_chain_pipe, config_error
from spacy_ssvm.features.attributes import ByToken, ByWord, TokenTable, scatter_to_tokens
from spacy_ssvm.features.text_hash import string_ids
from spacy_ssvm.kernels.types import Ints, Keys

ATTRIBUTES = {"TAG": TAG, "POS": POS}

#: The tags of whitespace tokens, which are not part of the sequence.
WHITESPACE = {"TAG": "_SP", "POS": "SPACE"}


def tagger_score(examples: Iterable[Example], *, attribute: str, **kwargs: Any) -> dict[str, Any]:
    """The accuracy of the attribute that the tagger writes: tag_acc or pos_acc."""
    scores: dict[str, Any] = Scorer.score_token_attr(examples, attribute.lower(), **kwargs)
    return scores


class TagPipe(TokenPipe[LinearModelT, Batch]):
    """A component that gives a tag to each token, whatever its model is."""

    kind = "ssvm_tagger"

    # Labels

    def fewer_labels(self, labels: Sequence[str]) -> str:
        """See ``Pipe``."""
        advice = super().fewer_labels(labels)
        if not self.compares_all_labels:
            return advice
        return f"Set candidates = true, by which words have few of them. {advice}"

    def annotation(self) -> str:
        """The attribute that is written: TAG or POS."""
        return str(self.cfg["attribute"])

    def check_label(self, label: str) -> None:
        """Raise ConfigValidationError for a POS that is not universal."""
        if self.cfg["attribute"] == "POS" and label not in UNIVERSAL_TAGS:
            raise config_error(
                self.name,
                "attribute",
                f"{self.name}: '{label}' is not a universal part-of-speech tag. Write TAG "
                'instead (attribute = "TAG"), or map the labels to '
                f"{', '.join(tag for tag in UNIVERSAL_TAGS if tag)}",
            )

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The tags of the references, sorted, without those of whitespace."""
        attribute = ATTRIBUTES[self.cfg["attribute"]]
        found = set()
        for example in examples:
            reference = example.reference
            for value in np.unique(reference.to_array([attribute])).tolist():
                found.add(reference.vocab.strings[value] if value else "")
        return sorted(found - {"", WHITESPACE[self.cfg["attribute"]]})

    def gold_tags(self, examples: Sequence[Example]) -> list[Ints]:
        """The numbers of the gold tags of the predicted tokens: int64 [tokens] each, -1 for none.

        Raises ValueError, naming the token, for a tag that is not a label.
        """
        attribute = ATTRIBUTES[self.cfg["attribute"]]
        columns = [gold_columns(example, [attribute])[:, 0] for example in examples]
        if not columns:
            return []
        ends = np.cumsum([0, *map(len, columns)])
        values = np.concatenate(columns)
        labels = label_numbers(values, self._values(self.labels))
        blanks = self._values((WHITESPACE[self.cfg["attribute"]],))
        unknown = np.flatnonzero((labels == UNKNOWN) & (values != blanks))
        if len(unknown):
            number, i = doc_and_token(ends, unknown[0])
            raise self._unknown_label(examples[number], i, int(values[unknown[0]]))
        return np.split(np.maximum(labels, -1), ends[1:-1])

    def gold_names(self, example: Example) -> list[str]:
        values = gold_columns(example, [ATTRIBUTES[self.cfg["attribute"]]])[:, 0].tolist()
        strings = example.reference.vocab.strings
        names = [strings[value] if value else "" for value in values]
        return ["" if name == WHITESPACE[self.cfg["attribute"]] else name for name in names]

    def _unknown_label(self, example: Example, i: int, value: int) -> ValueError:
        label = example.reference.vocab.strings[value]
        return self.unknown_label_error(label, where_is(example, i))

    def _add_strings(self, labels: Iterable[str]) -> None:
        super()._add_strings((*labels, WHITESPACE[self.cfg["attribute"]]))

    def _values(self, labels: tuple[str, ...]) -> Keys:
        """The numbers that spaCy stores for labels: uint64 [labels]."""
        if self.cfg["attribute"] == "POS":
            return np.array([UNIVERSAL_TAGS[label] for label in labels], dtype=np.uint64)
        return string_ids(labels)

    # Annotation

    def label_numbers(self, values: Keys) -> Ints:
        """The numbers of tags as spaCy stores them, -1 for those that are no labels: int64."""
        if not values.any():
            return np.full(len(values), -1, dtype=np.int64)
        return np.maximum(label_numbers(values, self._values(self.labels)), -1)

    def present_tags(self, docs: Sequence[Doc]) -> Keys:
        """The tags that the Docs have: uint64 [tokens], 0 for none."""
        attribute = ATTRIBUTES[self.cfg["attribute"]]
        return np.concatenate([columns_of(doc, [attribute])[:, 0] for doc in docs])

    def label_docs(self, docs: list[Doc], overwrite: bool) -> tuple[ByWord, TokenTable]:
        """The label of each word, and the words; implemented by subclasses.

        overwrite: whether tags that the Docs already have are ignored.
        """
        raise NotImplementedError

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write to each token: uint64 [tokens] for each Doc, hashes of the tags."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, dtype=np.uint64) for _ in docs]
        self._require_labels()
        self._sync()
        attribute, overwrite = self.cfg["attribute"], self.cfg["overwrite"]
        values = self._values((*self.labels, WHITESPACE[attribute]))  # the last is number -1
        labels, tokens = self.label_docs(docs, overwrite)
        tags = values[scatter_to_tokens(labels, tokens, fill=-1)]
        if not overwrite and any(doc.has_annotation(attribute) for doc in docs):
            present = self.present_tags(docs)
            tags = np.where(present != 0, present, tags)
        return [tags[start:end] for start, end in pairwise(tokens.doc_starts.tolist())]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Keys]) -> None:
        """Write what ``predict`` returned into the Docs."""
        for doc, tags in zip(docs, predictions, strict=True):
            write_columns(doc, [ATTRIBUTES[self.cfg["attribute"]]], tags)


class Tagger(TagPipe[ChainModel, LabelledTokens], SequencePipe):
    """Writes ``token.tag`` or ``token.pos``.

    Sentences are label sequences: those of the Doc, where it has boundaries, else, or with
    ``whole_docs``, the whole Doc. With ``whole_docs``, too, it learns from gold sentences, as long
    sequences teach less in each epoch; the features see the whole Doc. Without ``overwrite``,
    tags that a Doc has already are kept, and the best sequence with these tags is found.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("ssvm_tagger")
    >>> doc = nlp.make_doc("Dogs bark")
    >>> examples = [Example.from_dict(doc, {"tags": ["NNS", "VBP"]})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> [token.tag_ for token in nlp("Dogs bark")]
    ['NNS', 'VBP']
    """

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The numbers of the gold tags: int64 [tokens] each, -1 for none.

        With ``whole_docs``, [tokens, 2]: the second column is 1 where a gold sentence starts.
        """
        gold = self.gold_tags(examples)
        return with_sentence_starts(gold, examples) if self.model.whole_docs else gold

    def label_docs(self, docs: list[Doc], overwrite: bool) -> tuple[ByWord, TokenTable]:
        return self.model.predict(docs, self.label_constraints(docs, overwrite))

    def label_constraints(self, docs: Sequence[Doc], overwrite: bool) -> LabelConstraints | None:
        """The tags that the Docs already have, as fixed labels."""
        attribute = self.cfg["attribute"]
        if overwrite or not any(doc.has_annotation(attribute) for doc in docs):
            return None
        fixed_labels = ByToken(self.label_numbers(self.present_tags(docs)))
        return fix_labels(fixed_labels, len(self.labels))


def make_tagger_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer ``spacy_ssvm.tagger_scorer.v1``: tag_acc or pos_acc."""
    return tagger_score


def build_tagger(
    vocab: Vocab, name: str, *, attribute: str, candidates: bool, **settings: Any
) -> TagPipe[Any, Any]:
    """A tagger with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    if attribute not in ATTRIBUTES:
        raise config_error(name, "attribute", f"'{attribute}': choose {' or '.join(ATTRIBUTES)}")
    if candidates:
        from spacy_ssvm.components.candidate_tagger import build_candidate_tagger

        return build_candidate_tagger(vocab, name, attribute=attribute, **settings)
    return build_chain_pipe(Tagger, vocab, name, attribute=attribute, **settings)
