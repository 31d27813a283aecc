"""Reads the units of Docs: sentences, lines, paragraphs, or the spans of a key.

A unit is a run of tokens; units do not overlap, and need not cover the Doc. As everywhere, words
are the tokens that are not whitespace. Units without words are left out.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm.features.attributes import AttributeReader, Doc, TokenTable, count_line_breaks
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Flags, Ints, Keys
from spacy_ssvm.sentences.templates import UNIT_ATTRIBUTES

SENTENCES, LINES, PARAGRAPHS, SPANS = "sentences", "lines", "paragraphs", "spans"
UNITS = (SENTENCES, LINES, PARAGRAPHS, SPANS)

#: An attribute of units for edges, not for templates: the number of the paragraph.
PARAGRAPH = "paragraph"

_SENT_START = 1  # the column of ``AttributeReader.inputs``

#: The upper ends of classes of lengths and of other numbers; one more class is above.
_ENDS = np.array([1, 2, 3, 4, 6, 9, 14, 19, 24, 29, 39, 59])

#: Positions by name: the first unit, the last one, and tenths of the Doc between them.
POSITIONS = ("first", "last", *(f"tenth {k}" for k in range(1, 11)))


class Units(NamedTuple):
    """Which runs of tokens are units."""

    kind: str = SENTENCES  #: one of UNITS
    key: str = ""  #: of ``doc.spans``, where the kind is SPANS


class MissingUnitsError(ValueError):
    """A Doc without the annotation that divides it into units."""


class UnitTable(NamedTuple):
    """The units of a batch of Docs, as kernels read them, one Doc after another."""

    words: Keys  #: uint64 [words, attributes]
    starts: Ints  #: int64 [units]: the first word of each unit
    ends: Ints  #: int64 [units]: after its last word
    doc_units: Ints  #: int64 [docs + 1]: the first unit of each Doc
    attributes: Keys  #: uint64 [units, attributes of units]


class UnitBatch(NamedTuple):
    """The units of a batch of Docs, with their tokens."""

    table: UnitTable
    tokens: TokenTable
    bounds: Ints  #: int64 [units, 2]: first token, and after the last one, in its Doc


def has_units(doc: Doc, units: Units) -> bool:
    """Whether a Doc has the annotation that divides it into units."""
    if units.kind == SENTENCES:
        return doc.has_annotation("SENT_START")
    return units.kind != SPANS or units.key in doc.spans


def find_units(doc: Doc, units: Units) -> Ints:
    """The units of a Doc, in text order: int64 [units, 2], first token and after the last one.

    Raises MissingUnitsError where the Doc lacks the annotation, and ValueError for spans that
    overlap.
    """
    if not len(doc):
        return np.zeros((0, 2), dtype=np.int64)
    if not has_units(doc, units):
        if units.kind == SPANS:
            raise MissingUnitsError(f"'{shorten(doc.text)}' has no doc.spans['{units.key}']")
        raise MissingUnitsError(f"'{shorten(doc.text)}' has no sentence boundaries")
    if units.kind == SPANS:
        return _span_bounds(doc, units.key)
    if units.kind == SENTENCES:
        marks: Any = doc.to_array(["SENT_START"])
        is_start = marks.astype(np.int64) == 1
        is_start[0] = True
        starts = np.flatnonzero(is_start)
        return np.column_stack([starts, np.append(starts[1:], len(doc))])
    return _blocks(doc, 1 if units.kind == LINES else 2)


def _span_bounds(doc: Doc, key: str) -> Ints:
    """The bounds of the spans of a key."""
    bounds = sorted({(span.start, span.end) for span in doc.spans[key]})
    for (start, end), (other, _) in pairwise(bounds):
        if other < end:
            raise ValueError(
                f"the spans '{shorten(doc[start:end].text)}' (token {start} to {end}) and the one "
                f"from token {other} of doc.spans['{key}'] overlap: units cannot"
            )
    return np.array([b for b in bounds if b[0] < b[1]], dtype=np.int64).reshape(-1, 2)


def _blocks(doc: Doc, breaks: int) -> Ints:
    """The runs of tokens between whitespace with at least so many line breaks."""
    is_space: Any = doc.to_array(["IS_SPACE"])
    words = is_space == 0
    newlines = np.zeros(len(doc), dtype=np.int64)
    for i in np.flatnonzero(~words).tolist():
        newlines[i] = count_line_breaks(doc[i].text)
    positions = np.flatnonzero(words)
    if not len(positions):
        return np.zeros((0, 2), dtype=np.int64)
    total = np.cumsum(newlines)[positions]
    is_first = np.diff(total, prepend=total[0] - breaks) >= breaks
    starts = positions[is_first]
    ends = positions[np.append(np.flatnonzero(is_first)[1:], len(positions)) - 1] + 1
    return np.column_stack([starts, ends])


class UnitReader:
    """Reads units, with the attributes of their words and their own. Safe to use from threads.

    names: the attributes of words. unit_names: of units; ``unit_names`` gives the columns.
    """

    def __init__(
        self,
        units: Units,
        names: Iterable[str],
        unit_names: Iterable[str],
        resources: Resources = NO_RESOURCES,
    ) -> None:
        self.units = units
        self.unit_names = tuple(sorted(unit_names))
        self._words = AttributeReader(names, resources)
        self._read = [n for n in self.unit_names if n not in UNIT_ATTRIBUTES]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes of words, in the order of the columns."""
        return self._words.names

    def inputs(self, doc: Doc) -> Keys:
        """All that features depend on: uint64 [tokens, columns].

        The columns of ``AttributeReader.inputs``, the number of the token's unit, from 1, the
        extension attributes of its unit, 0 outside of units, and the token's paragraph.
        Raises the errors of ``find_units``, and ValueError for an extension that is not there.
        """
        bounds = find_units(doc, self.units)
        columns = np.zeros((len(doc), 1 + len(self._read)), dtype=np.uint64)
        for number, (start, end) in enumerate(bounds.tolist(), start=1):
            columns[start:end, 0] = number
            for j, name in enumerate(self._read, start=1):
                if name != PARAGRAPH:
                    columns[start:end, j] = _extension_value(doc[start:end], name[2:])
        if PARAGRAPH in self._read and len(doc):
            paragraphs = columns[:, 1 + self._read.index(PARAGRAPH)]
            for number, (start, end) in enumerate(_blocks(doc, 2).tolist(), start=1):
                paragraphs[start:end] = number
        return np.hstack([self._words.inputs(doc), columns])

    def read(self, docs: Sequence[Doc], inputs: Sequence[Keys] | None = None) -> UnitBatch:
        """The units of Docs.

        inputs: the result of ``inputs`` for each Doc; None to read it now.
        """
        if inputs is None:
            inputs = [self.inputs(doc) for doc in docs]
        own = 1 + len(self._read)
        tokens = self._words.read(docs, inputs=[columns[:, :-own] for columns in inputs])
        columns: Keys = np.concatenate([doc_columns[:, -own:] for doc_columns in inputs])
        starts = tokens.doc_starts
        owners = np.repeat(np.arange(len(docs)), np.diff(starts))
        all_runs = _runs(columns[:, 0], owners)
        runs = _runs(columns[tokens.positions, 0], owners[tokens.positions])
        # Units with words are a part of all units; both are numbered in text order.
        first = tokens.positions[runs[:, 0]]
        bounds = all_runs[np.searchsorted(all_runs[:, 0], first, side="right") - 1]
        owner = owners[first]
        doc_units = np.searchsorted(owner, np.arange(len(docs) + 1)).astype(np.int64)
        lengths = runs[:, 1] - runs[:, 0]
        table = UnitTable(
            tokens.attributes,
            np.ascontiguousarray(runs[:, 0]),
            np.ascontiguousarray(runs[:, 1]),
            doc_units,
            self._attributes(doc_units, lengths, columns[first, 1:]),
        )
        return UnitBatch(table, tokens, bounds - starts[owner][:, None])

    def _attributes(self, doc_units: Ints, lengths: Ints, read: Keys) -> Keys:
        """The attributes of units: uint64 [units, attributes], 0 for none."""
        counts = np.repeat(np.diff(doc_units), np.diff(doc_units))
        index = np.arange(len(lengths)) - np.repeat(doc_units[:-1], np.diff(doc_units))
        values = {
            "position": positions(index, counts),
            "index": _class(index + 1),
            "index_from_end": _class(counts - index),
            "count": _class(counts),
            "length": _class(lengths),
        }
        found = np.zeros((len(lengths), len(self.unit_names)), dtype=np.uint64)
        for j, name in enumerate(self.unit_names):
            if name in values:
                found[:, j] = values[name].astype(np.uint64) + np.uint64(1)
            else:
                found[:, j] = read[:, self._read.index(name)]
        return found

    def unit_value(self, name: str, batch: UnitBatch, doc: Doc, unit: int) -> str | None:
        """The readable value of an attribute of a unit of one Doc, None where it lacks it."""
        start, end = batch.bounds[unit].tolist()
        if name not in UNIT_ATTRIBUTES:
            value = doc[start:end]._.get(name[2:])
            return None if value is None else str(value)
        number = int(batch.table.attributes[unit, self.unit_names.index(name)]) - 1
        return POSITIONS[number] if name == "position" else class_text(number)

    def text_value(self, name: str, doc: Doc, i: int) -> str | None:
        """The readable value of an attribute of token i, None where it lacks it."""
        return self._words.text_value(name, doc, i)


def positions(index: Ints, counts: Ints) -> Ints:
    """The numbers of POSITIONS of the units with these indices in Docs of so many units."""
    tenths = 2 + 10 * index // counts
    return np.where(index == 0, 0, np.where(index == counts - 1, 1, tenths))


def class_text(number: int) -> str:
    """A class of lengths, as text."""
    if number == len(_ENDS):
        return f"{_ENDS[-1] + 1}+"
    least, most = (int(_ENDS[number - 1]) + 1 if number else 1), int(_ENDS[number])
    return str(most) if least == most else f"{least}-{most}"


def _class(numbers: Ints) -> Ints:
    return np.searchsorted(_ENDS, numbers)


def _runs(numbers: Keys, owners: Ints) -> Ints:
    """The runs of equal numbers, not 0, of one owner: int64 [runs, 2], first and after the last."""
    is_first: Flags = np.ones(len(numbers), dtype=bool)
    is_first[1:] = (numbers[1:] != numbers[:-1]) | (owners[1:] != owners[:-1])
    starts = np.flatnonzero(is_first)
    runs = np.column_stack([starts, np.append(starts[1:], len(numbers))[: len(starts)]])
    return np.asarray(runs[numbers[starts] != 0].astype(np.int64))


def _extension_value(span: Any, name: str) -> int:
    if not span.has_extension(name):
        raise ValueError(
            f"template attribute '_.{name}': spans have no extension of that name. "
            f"Register it before the pipeline runs: Span.set_extension('{name}', ...)"
        )
    value = span._.get(name)
    return 0 if value is None else hash_text(str(value))
