"""Annotation of Docs as arrays, and gold annotation at the tokens of predicted Docs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from spacy.attrs import ORTH, SENT_START, SPACY
from spacy.tokens import Doc, Token
from spacy.training import Example

from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Ints, Keys

#: The keys of ``doc.spans`` in a Doc that is a pair of parallel texts.
SOURCE, TARGET = "source", "target"

#: What spaCy stores in SENT_START; 0 is for tokens without annotation.
IS_START, IS_INSIDE = 1, -1

#: The share of punctuation that is written together with the word before it, at least.
_JOINED = 0.2

#: The number of a value that no label has.
UNKNOWN = -2


def columns_of(doc: Doc, attributes: Sequence[int]) -> Keys:
    """The attributes of all tokens of a Doc: uint64 [tokens, attributes]."""
    columns = doc.to_array(list(attributes))
    return np.asarray(columns, dtype=np.uint64).reshape(len(doc), len(attributes))


def write_columns(doc: Doc, attributes: Sequence[int], columns: Keys) -> None:
    """Write attributes of all tokens of a Doc, as ``columns_of`` reads them."""
    if len(doc):
        doc.from_array(attributes, columns)  # type: ignore[arg-type]


def reference_columns(example: Example, attributes: Sequence[int]) -> Keys | None:
    """The attributes of a reference that has the tokens of the predicted Doc, else None.

    uint64 [tokens, attributes].
    """
    predicted = columns_of(example.predicted, [ORTH, SPACY])
    reference = columns_of(example.reference, [ORTH, SPACY, *attributes])
    # Of short arrays, bytes are compared in half of the time that numpy takes.
    has_same = predicted.tobytes() == reference[:, :2].tobytes()
    return reference[:, 2:] if has_same else None


def gold_columns(example: Example, attributes: Sequence[int]) -> Keys:
    """The attributes of the reference at the predicted tokens: uint64 [tokens, attributes].

    All 0 where one of them is not known, as where tokens are misaligned.
    """
    columns = reference_columns(example, attributes)
    if columns is not None:
        return np.ascontiguousarray(columns)
    by_attribute = [example.get_aligned(a) for a in attributes]  # type: ignore[arg-type]
    aligned = zip(*by_attribute, strict=True)
    known = [[0] * len(row) if None in row else row for row in aligned]
    shape = len(example.predicted), len(attributes)
    return np.array(known, dtype=np.uint64).reshape(shape)


def label_numbers(values: Keys, ids: Keys) -> Ints:
    """The numbers of labels: int64 [values], -1 for none, ``UNKNOWN`` for those that are no labels.

    values: uint64, as spaCy stores labels, 0 for none. ids: uint64 [labels], those of the labels.
    """
    different, indices = np.unique(values, return_inverse=True)
    numbers = {value: k for k, value in enumerate(ids.tolist())} | {0: -1}
    found = np.array([numbers.get(value, UNKNOWN) for value in different.tolist()], dtype=np.int64)
    return found[indices.reshape(-1)]


def doc_and_token(starts: Ints, token: int) -> tuple[int, int]:
    """The Doc and the token of the Doc that one of all tokens is.

    starts: int64 [docs + 1], the first token of each.
    """
    number = int(np.searchsorted(starts, token, side="right")) - 1
    return number, int(token - starts[number])


def with_sentence_starts(gold: Sequence[Ints], examples: Sequence[Example]) -> list[Ints]:
    """Gold annotation with a further column, 1 where a sentence of the reference starts.

    gold: int64 [tokens] or [tokens, columns] for each example.
    """
    marks = [aligned_marks(example) == IS_START for example in examples]
    return [np.column_stack(pair) for pair in zip(gold, marks, strict=True)]


def where_is(example: Example, i: int) -> str:
    """Which predicted token it is, for messages: such as " of token 3 ('fish') in 'We fish'"."""
    text, token = example.predicted.text, example.predicted[i].text
    return f" of token {i} ('{shorten(token)}') in '{shorten(text)}'"


def align_marks(example: Example, marks: Ints) -> Ints:
    """Sentence marks of the reference's tokens at the predicted tokens: int64 [tokens].

    marks: int64 [tokens of the reference], IS_START, IS_INSIDE or 0.
    The first of the tokens that a reference token is split into may be a start, the others
    are not; a token in whose middle a sentence starts gets 0.
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


def sentence_marks(doc: Doc) -> Ints:
    """IS_START, IS_INSIDE or 0 for each token of a reference: int64 [tokens].

    Where starts are marked, tokens without a mark are inside, as for spaCy's senter:
    ``{"sent_starts": [1, 0, 0, 1, 0]}`` sets no other marks.
    """
    marks = columns_of(doc, [SENT_START])[:, 0].astype(np.int64)
    if np.any(marks[1:] == IS_START):
        marks[1:][marks[1:] == 0] = IS_INSIDE
    return marks


def aligned_marks(example: Example) -> Ints:
    """The marks of the reference at the predicted tokens: int64 [tokens]."""
    return align_marks(example, sentence_marks(example.reference))


def token_index(doc: Doc, token: int | Token) -> int:
    """The index of a token in its Doc, at least 0.

    Raises IndexError for an index out of range, ValueError for a token of another Doc.
    """
    if isinstance(token, Token):
        if token.doc is not doc:
            raise ValueError(f"the token '{token.text}' belongs to another Doc")
        return token.i
    if not -len(doc) <= token < len(doc):
        raise IndexError(f"there is no token {token}: the Doc has {len(doc)} tokens")
    return int(token) % len(doc)


def marks_of(doc: Doc) -> Iterator[bool]:
    """Of each punctuation mark that has a token before it: whether both are written together."""
    if not doc.has_unknown_spaces:
        for before, token in pairwise(doc):
            if not (any(map(str.isalnum, token.text)) or token.text.isspace()):
                yield not (before.whitespace_ or before.text.isspace())


def are_joined(marks: Counter[bool]) -> bool:
    """Whether marks are written together with words, as in texts that people write."""
    return marks[True] > _JOINED * marks.total()
