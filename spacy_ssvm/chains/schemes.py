"""Spans as label sequences: the schemes biluo, iob2 and io.

A chain label is ``O`` or a tag with the type of a span: ``B-PER`` begins one, ``I-PER`` is
inside, ``L-PER`` ends it, ``U-PER`` is a span of one token. In iob2 a span is B and then I;
in io all its tokens are I, so that neighbouring spans of one type become one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.types import Flags, Floats, Ints

#: The tags of each scheme, in the order of the labels of a type.
SCHEMES = {"biluo": "BILU", "iob2": "BI", "io": "I"}

OUTSIDE = 0  #: the number of the label O

#: The position of a token in a span; numbered as spaCy's ENT_IOB.
MISSING, INSIDE, OUT, BEGIN = 0, 1, 2, 3


class Tokens(NamedTuple):
    """Spans by token."""

    iob: Ints  #: int64 [tokens]: MISSING, INSIDE, OUT or BEGIN
    types: Ints  #: int64 [tokens]: number of the type, of any meaning outside of spans


class SpanTable(NamedTuple):
    """Spans, in the order of the text."""

    starts: Ints  #: int64 [spans]: first token
    ends: Ints  #: int64 [spans]: after the last token
    types: Ints  #: int64 [spans]


class Scheme:
    """A scheme over span types.

    Labels are numbered O, then tag by tag for each type in turn.
    """

    def __init__(self, name: str, types: Sequence[str]) -> None:
        self.name = name
        self.types = tuple(types)
        self.tags = SCHEMES[name]
        self.labels = ("O", *(f"{tag}-{kind}" for kind in types for tag in self.tags))
        self._label_tags = np.array(["O", *(self.tags * len(self.types))])
        self._label_types = np.array([-1, *np.repeat(np.arange(len(types)), len(self.tags))])
        begins = np.isin(self._label_tags, ["B", "U"])
        self._iob = np.where(self._label_tags == "O", OUT, np.where(begins, BEGIN, INSIDE))

    def legality(self) -> Floats:
        """0 for the transitions that occur in well-formed sequences, else minus infinity.

        float64 [K + 2, K], laid out as in ``decoders.chain``.
        """
        K = len(self.labels)
        # Whether a span is open after a label, and before it, and of the same type.
        stays_open = np.isin(self._label_tags, ["B", "I"])
        continues = np.isin(self._label_tags, ["I", "L"])
        same_type = self._label_types[:, None] == self._label_types[None, :]
        legal = np.ones((K + 2, K), dtype=bool)
        if self.name == "biluo":
            both = stays_open[:, None] & continues[None, :] & same_type
            neither = ~stays_open[:, None] & ~continues[None, :]
            legal[:K] = both | neither
            legal[K + 1] = ~stays_open
        elif self.name == "iob2":
            legal[:K] = ~continues[None, :] | (stays_open[:, None] & same_type)
        if self.name != "io":
            legal[K] = ~continues
        return np.where(legal, 0.0, -np.inf)

    def neighbours(self, types: Ints) -> tuple[Ints, Ints]:
        """The labels before and after spans of these types that would extend them, -1 for none.

        int64 [spans] each. No other labels next to a span change its words or its type.
        """
        inside = 1 + types * len(self.tags) + self.tags.index("I")
        none = np.full(len(types), -1, dtype=np.int64)
        return inside if self.name == "io" else none, none if self.name == "biluo" else inside

    def encode(self, spans: Tokens, starts: Flags) -> Ints:
        """The label of each token, -1 where its annotation is missing: int64 [tokens].

        starts: bool [tokens], where a sentence begins. A span must not cross a start.
        """
        inside = (spans.iob == INSIDE) | (spans.iob == BEGIN)
        continues = np.append(spans.iob[1:] == INSIDE, False) & ~np.append(starts[1:], True)
        # B, I, L, U by whether the span begins at the token, and whether it continues after it.
        letters = {"biluo": "LIUB", "iob2": "IIBB", "io": "IIII"}[self.name]
        order = np.array([self.tags.index(letter) for letter in letters])
        tags = order[2 * (spans.iob == BEGIN) + continues]
        labels = 1 + np.where(inside, spans.types, 0) * len(self.tags) + tags
        labels[spans.iob == OUT] = OUTSIDE
        labels[spans.iob == MISSING] = -1
        return np.asarray(labels, dtype=np.int64)

    def decode(self, labels: Ints, starts: Flags) -> Tokens:
        """Spans of a legal label sequence, by token; a label of -1 is O."""
        labels = np.maximum(labels, OUTSIDE)
        iob, types = self._iob[labels], self._label_types[labels]
        if self.name == "io":
            before = np.append(-1, types[:-1])
            iob[(iob == INSIDE) & (starts | (before != types))] = BEGIN
        return Tokens(iob, types)


def spans_of(tokens: Tokens) -> SpanTable:
    """The spans of tokens."""
    starts = np.flatnonzero(tokens.iob == BEGIN)
    closed = np.append(tokens.iob[1:] != INSIDE, True)
    in_span = (tokens.iob == BEGIN) | (tokens.iob == INSIDE)
    ends = np.flatnonzero(closed & in_span) + 1
    return SpanTable(starts, ends, tokens.types[starts])
