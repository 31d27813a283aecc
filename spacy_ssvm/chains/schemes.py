"""Spans as label sequences: the schemes biluo, iob2 and io.

A chain label is ``O`` or a tag with the type of a span: ``B-PER`` begins one, ``I-PER`` is
inside, ``L-PER`` ends it, ``U-PER`` is a span of one token. In iob2 a span is B and then I;
in io all its tokens are I, so that neighbouring spans of one type become one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints

#: The tags of each scheme, in the order of the labels of a type.
SCHEMES = {"biluo": "BILU", "iob2": "BI", "io": "I"}

OUTSIDE = 0  #: the number of the label O

#: What a token is to a span; numbered as spaCy's ENT_IOB.
MISSING, INSIDE, OUT, BEGIN = 0, 1, 2, 3


class Tokens(NamedTuple):
    """Spans by token."""

    places: Ints  #: int64 [tokens]: MISSING, INSIDE, OUT or BEGIN
    types: Ints  #: int64 [tokens]: number of the type, of any meaning outside of spans


class SpanTable(NamedTuple):
    """Spans, in the order of the text."""

    starts: Ints  #: int64 [spans]: first token
    ends: Ints  #: int64 [spans]: behind the last token
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
        self._tag_of = np.array(["O", *(self.tags * len(self.types))])
        self._type_of = np.array([-1, *np.repeat(np.arange(len(types)), len(self.tags))])
        begins = np.isin(self._tag_of, ["B", "U"])
        self._place_of = np.where(self._tag_of == "O", OUT, np.where(begins, BEGIN, INSIDE))

    def legality(self) -> Floats:
        """0 for the transitions that occur in well-formed sequences, else minus infinity.

        float64 [K + 2, K], laid out as in ``decoders.chain``.
        """
        K = len(self.labels)
        # May a span be open behind a label, or before it, and of which type?
        stays_open = np.isin(self._tag_of, ["B", "I"])
        goes_on = np.isin(self._tag_of, ["I", "L"])
        same_type = self._type_of[:, None] == self._type_of[None, :]
        legal = np.ones((K + 2, K), dtype=bool)
        if self.name == "biluo":
            both = stays_open[:, None] & goes_on[None, :] & same_type
            neither = ~stays_open[:, None] & ~goes_on[None, :]
            legal[:K] = both | neither
            legal[K + 1] = ~stays_open
        elif self.name == "iob2":
            legal[:K] = ~goes_on[None, :] | (stays_open[:, None] & same_type)
        if self.name != "io":
            legal[K] = ~goes_on
        return np.where(legal, 0.0, -np.inf)

    def neighbours(self, types: Ints) -> tuple[Ints, Ints]:
        """The labels by which spans of these types would go on, before and after: -1 for none.

        int64 [spans] each. Other labels do not change what the labels of a span make up.
        """
        inside = 1 + types * len(self.tags) + self.tags.index("I")
        none = np.full(len(types), -1, dtype=np.int64)
        return inside if self.name == "io" else none, none if self.name == "biluo" else inside

    def encode(self, spans: Tokens, starts: Flags) -> Ints:
        """The label of each token, -1 where its annotation is missing: int64 [tokens].

        starts: bool [tokens], where a sentence begins. A span must not cross a start.
        """
        inside = (spans.places == INSIDE) | (spans.places == BEGIN)
        goes_on = np.append(spans.places[1:] == INSIDE, False) & ~np.append(starts[1:], True)
        # B, I, L, U by whether the span goes on, and whether it begins.
        letters = {"biluo": "LIUB", "iob2": "IIBB", "io": "IIII"}[self.name]
        order = np.array([self.tags.index(letter) for letter in letters])
        place = order[2 * (spans.places == BEGIN) + goes_on]
        labels = 1 + np.where(inside, spans.types, 0) * len(self.tags) + place
        labels[spans.places == OUT] = OUTSIDE
        labels[spans.places == MISSING] = -1
        return np.asarray(labels, dtype=np.int64)

    def decode(self, labels: Ints, starts: Flags) -> Tokens:
        """Spans of a legal label sequence, by token; a label of -1 stands for O."""
        labels = np.maximum(labels, OUTSIDE)
        places, types = self._place_of[labels], self._type_of[labels]
        if self.name == "io":
            before = np.append(-1, types[:-1])
            places[(places == INSIDE) & (starts | (before != types))] = BEGIN
        return Tokens(places, types)


def spans_of(tokens: Tokens) -> SpanTable:
    """The spans that tokens make up."""
    starts = np.flatnonzero(tokens.places == BEGIN)
    closed = np.append(tokens.places[1:] != INSIDE, True)
    in_span = (tokens.places == BEGIN) | (tokens.places == INSIDE)
    ends = np.flatnonzero(closed & in_span) + 1
    return SpanTable(starts, ends, tokens.types[starts])
