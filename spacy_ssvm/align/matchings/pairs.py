"""Reads pairs of sentences: the attributes of their words, and the evidence for their links."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from spacy_ssvm.align.bitext.association import Association, source_ids, target_ids
from spacy_ssvm.align.bitext.lexicon import Lexicon
from spacy_ssvm.align.bitext.link_scores import COLUMNS as ASSOCIATION
from spacy_ssvm.align.matchings.evidence import (
    PairShapes,
    extension_entries,
    fill_association,
    fill_lexicon,
    fill_words,
    spellings,
)
from spacy_ssvm.align.matchings.templates import DISTANCE, LEXICON, STRING_SIMILARITY
from spacy_ssvm.features.attributes import AttributeReader, Doc
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Rows, Weights

#: The attribute by which words are found in an association.
ASSOCIATION_ATTRIBUTE = "stem4"

#: The attribute by which words are found in a lexicon.
LEXICON_ATTRIBUTE = "lower"

_EXTENSION = "_."
_SOURCE, _TARGET, _LINK = np.array([1, 2, 3], dtype=np.uint64)  # what a row of inputs describes
_ENTRY = 4  # columns of a row that describes a link: evidence, source, target, number


class Side(Protocol):
    """The tokens of one side of a pair, such as a Span: [start, end) of a Doc."""

    @property
    def doc(self) -> Doc:
        """The Doc."""

    @property
    def start(self) -> int:
        """The first token."""

    @property
    def end(self) -> int:
        """The end."""


#: How a Doc holds a pair: its source side and its target side.
Sides = Callable[[Doc], tuple[Side, Side]]


class Pairs(NamedTuple):
    """The words of pairs (tokens without whitespace), as kernels read them.

    Side 2i is the source of pair i, side 2i + 1 its target.
    """

    attributes: Keys  #: uint64 [words, attributes]
    starts: Ints  #: int64 [sides + 1]: the first word of each side
    positions: Ints  #: int64 [words]: the token of each word, in its side
    link_starts: Ints  #: int64 [pairs + 1]: the first link of each pair
    evidence: Weights  #: float32 [links, numbers]

    @property
    def shapes(self) -> Ints:
        """The numbers of source and target words: int64 [pairs, 2]."""
        shapes: Ints = np.diff(self.starts).reshape(-1, 2)
        return shapes

    def words(self, i: int) -> tuple[Keys, Keys]:
        """The attributes of the source and of the target words of pair i: uint64 [m, columns]."""
        a, b, end = self.starts[2 * i : 2 * i + 3]
        return self.attributes[a:b], self.attributes[b:end]

    def tokens(self, i: int) -> tuple[Ints, Ints]:
        """The source and the target words of pair i, as tokens of their sides."""
        a, b, end = self.starts[2 * i : 2 * i + 3]
        return self.positions[a:b], self.positions[b:end]

    def evidence_of(self, i: int) -> Weights:
        """The evidence for the links of pair i: float32 [m, n, numbers]."""
        first, last = self.link_starts[i : i + 2]
        return self.evidence[first:last].reshape(*self.shapes[i], self.evidence.shape[1])


class PairReader:
    """Reads pairs. Safe to use from several threads.

    attributes: the names of attributes of words. evidence: the names of numbers of links; those of
        extension attributes are ``extensions``.
    sides: how a Doc holds a pair.
    association, lexicon: for evidence that needs them; 0 without.
    """

    def __init__(
        self,
        attributes: Iterable[str],
        evidence: Iterable[str],
        sides: Sides,
        *,
        resources: Resources = NO_RESOURCES,
        association: Association | None = None,
        lexicon: Lexicon | None = None,
    ) -> None:
        self.evidence = tuple(sorted(evidence))
        self._sides = sides
        self._association = association
        self._lexicon = lexicon
        needed = set(attributes)
        if not set(self.evidence).isdisjoint(ASSOCIATION):
            needed.add(ASSOCIATION_ATTRIBUTE)
        if LEXICON in self.evidence:
            needed.add(LEXICON_ATTRIBUTE)
        self._words = AttributeReader(needed, resources, whole_docs=True)
        extensions = (name for name in self.evidence if name.startswith(_EXTENSION))
        self.extensions = tuple(name[len(_EXTENSION) :] for name in extensions)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of ``Pairs.attributes``."""
        return self._words.names

    def inputs(self, doc: Doc) -> Keys:
        """All that features depend on: uint64 [rows, columns].

        A row describes a token (ORTH, ..., and in the last column 1 for the source, 2 for the
        target), or a number of a link (which, its tokens, the number, and 3).
        """
        source, target = self._sides(doc)
        of_source = self._words.inputs(source.doc)
        of_target = of_source if target.doc is source.doc else self._words.inputs(target.doc)
        sides = of_source[source.start : source.end], of_target[target.start : target.end]
        entries = self._extension_rows(doc, source, target)
        columns = max(of_source.shape[1], _ENTRY) + 1
        rows = np.zeros((sum(map(len, (*sides, entries))), columns), dtype=np.uint64)
        start = 0
        for kind, block in zip((_SOURCE, _TARGET, _LINK), (*sides, entries), strict=True):
            rows[start : start + len(block), : block.shape[1]] = block
            rows[start : start + len(block), -1] = kind
            start += len(block)
        return rows

    def text_value(self, name: str, doc: Doc, i: int) -> str | None:
        return self._words.text_value(name, doc, i)

    def _extension_rows(self, doc: Doc, source: Side, target: Side) -> Keys:
        sizes = np.array([source.end - source.start, target.end - target.start])
        found = [np.zeros((0, _ENTRY), dtype=np.uint64)]
        for name in self.extensions:
            starts = source.start, target.start
            entries = extension_entries(doc, name, starts, sizes)
            column = self.evidence.index(_EXTENSION + name)
            number = np.full((len(entries), 1), column, dtype=np.uint64)
            found.append(np.hstack([number, entries]))
        return np.concatenate(found)

    def read(self, docs: Sequence[Doc], *, inputs: Sequence[Keys] | None = None) -> Pairs:
        """The words of pairs, and the evidence for their links.

        inputs: the result of ``inputs`` for each Doc; None to read it now.
        """
        if inputs is None:
            inputs = [self.inputs(doc) for doc in docs]
        width = self._words.number_of_inputs
        sides = [
            np.ascontiguousarray(rows[rows[:, -1] == kind, :width])
            for rows in inputs
            for kind in (_SOURCE, _TARGET)
        ]
        owners = [side.doc for doc in docs for side in self._sides(doc)]
        words = self._words.read(owners, inputs=sides)
        starts = np.searchsorted(words.positions, words.doc_starts).astype(np.int64)
        sizes = np.diff(starts)
        first_tokens = np.repeat(words.doc_starts[:-1], sizes)
        positions = words.positions - first_tokens
        shapes = sizes.reshape(-1, 2)
        link_starts = np.concatenate([[0], np.cumsum(shapes.prod(axis=1))]).astype(np.int64)
        evidence = np.zeros((link_starts[-1], len(self.evidence)), dtype=np.float32)
        pairs = Pairs(words.attributes, starts, positions, link_starts, evidence)
        if len(evidence):
            self._fill_words(pairs, self._spellings(sides, words.positions, owners))
            self._fill_entries(pairs, inputs)
        return pairs

    def _spellings(
        self, sides: Sequence[Keys], kept: Ints, owners: Sequence[Doc]
    ) -> tuple[Rows, Ints]:
        """The letters of word types, and the type of each word; nothing where they are not read."""
        if STRING_SIMILARITY not in self.evidence:
            return spellings([]), np.zeros(len(kept), dtype=np.int64)
        orths = np.concatenate([side[:, 0] for side in sides])[kept]
        types, first, numbers = np.unique(orths, return_index=True, return_inverse=True)
        doc_ends = np.cumsum([len(side) for side in sides])
        docs = np.searchsorted(doc_ends, kept[first], side="right")
        texts = [
            owners[d].vocab.strings[orth]
            for orth, d in zip(types.tolist(), docs.tolist(), strict=True)
        ]
        return spellings(texts), numbers.astype(np.int64)

    def _fill_words(self, pairs: Pairs, letters: tuple[Rows, Ints]) -> None:
        """Write the evidence that does not come from extension attributes."""
        shapes, evidence = PairShapes(pairs.starts, pairs.link_starts), pairs.evidence
        similarity, distance = self._column(STRING_SIMILARITY), self._column(DISTANCE)
        fill_words(shapes, *letters, similarity, distance, evidence)
        columns = np.array([self._column(name) for name in ASSOCIATION], dtype=np.int64)
        if self._association is not None and columns.max() >= 0:
            words = pairs.attributes[:, self.names.index(ASSOCIATION_ATTRIBUTE)]
            ids = source_ids(self._association, words), target_ids(self._association, words)
            fill_association(shapes, self._association, *ids, columns, evidence)
        if self._lexicon is not None and LEXICON in self.evidence:
            words = pairs.attributes[:, self.names.index(LEXICON_ATTRIBUTE)].copy()
            fill_lexicon(shapes, self._lexicon, words, self._column(LEXICON), evidence)

    def _column(self, name: str) -> int:
        return self.evidence.index(name) if name in self.evidence else -1

    def _fill_entries(self, pairs: Pairs, inputs: Sequence[Keys]) -> None:
        """Write the evidence of extension attributes; whitespace has none."""
        for i, rows in enumerate(inputs):
            entries = rows[rows[:, -1] == _LINK, :_ENTRY]
            if not len(entries):
                continue
            a, b, end = pairs.starts[2 * i : 2 * i + 3].tolist()
            j, k = entries[:, 1].astype(np.int64), entries[:, 2].astype(np.int64)
            words_j, are_j = _words_at(pairs.positions[a:b], j)
            words_k, are_k = _words_at(pairs.positions[b:end], k)
            are = are_j & are_k
            links = int(pairs.link_starts[i]) + words_j * (end - b) + words_k
            columns = entries[:, 0].astype(np.int64)
            numbers = np.ascontiguousarray(entries[:, 3]).view(np.float64)
            pairs.evidence[links[are], columns[are]] = numbers[are]


def _words_at(positions: Ints, tokens: Ints) -> tuple[Ints, Flags]:
    """The words at some tokens of a side, and whether there are any."""
    words = np.minimum(np.searchsorted(positions, tokens), max(len(positions) - 1, 0))
    return words, (positions[words] == tokens) if len(positions) else np.zeros(len(tokens), bool)
