"""Edges between the units of a Doc, with features: a small language, and what it means.

    edge  =  "neighbor" ["(" n ")"]                  units n apart, 1 by default: the feature is 1
          |  "paragraph"                             neighbours in one paragraph: 1
          |  "similar(" attribute ["," k] ")"        a unit and the k units most similar to it, 5 by
                                                     default: their similarity, above 0, up to 1

Each entry is a feature of its own; a pair of units has one edge, with all its features. Similar
units have rare words in common. Their similarity is the cosine of vectors with log(n / m) for each
distinct value of the attribute that occurs in m of the Doc's n units. Values in more than
``MAX_SHARED`` units count for nothing, and similarities below ``LEAST_SIMILARITY`` for none.

The number of edges is linear in the number of units, and so is the time that they take: at most
MAX_SHARED steps for each distinct value of each unit.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.features.wildcards import EACH
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.sentences.units import PARAGRAPH, UnitTable

NEIGHBOR, SIMILAR = "neighbor", "similar"

MAX_DISTANCE = 10  #: of neighbours
MAX_SIMILAR = 20  #: units that a unit chooses
MAX_SHARED = 50  #: the most units of a Doc that a value may occur in
LEAST_SIMILARITY = 0.05

_DEFAULTS = {NEIGHBOR: 1, SIMILAR: 5}
_FORM = re.compile(
    r"(neighbor)(?:\(\s*(\d+)\s*\))?|(paragraph)|(similar)\(\s*([^(),]+?)\s*(?:,\s*(\d+)\s*)?\)"
)


@dataclass(frozen=True)
class UnitEdge:
    """A feature of edges between units."""

    kind: str  #: NEIGHBOR, PARAGRAPH or SIMILAR
    number: int = 1  #: the distance of neighbours, or the number of similar units
    attribute: str = ""  #: of words, for similar units

    def __str__(self) -> str:
        arguments = [self.attribute] if self.attribute else []
        if self.number != _DEFAULTS.get(self.kind, 1):
            arguments.append(str(self.number))
        return f"{self.kind}({', '.join(arguments)})" if arguments else self.kind

    @classmethod
    def parse(cls, text: str) -> "UnitEdge":
        """Read an edge. Raises TemplateError where that is not possible."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise TemplateError("write neighbor, neighbor(n), paragraph, or similar(attribute, k)")
        near, distance, paragraph, similar, attribute, number = match.groups()
        if paragraph:
            return cls(PARAGRAPH)
        edge = cls(near or similar, int(distance or number or _DEFAULTS[near or similar]))
        most = MAX_DISTANCE if near else MAX_SIMILAR
        if not 1 <= edge.number <= most:
            raise TemplateError(f"{edge.number}: 1 to {most} are possible")
        return cls(edge.kind, edge.number, attribute or "")


class EdgeTable(NamedTuple):
    """The edges of a batch of Docs, sorted, one Doc after another."""

    starts: Ints  #: int64 [docs + 1]: the first edge of each Doc
    edges: Ints  #: int64 [edges, 2]: two units, counted from 0 in each Doc, the first one first
    features: Floats  #: float64 [edges, E]


def parse_unit_edges(
    items: Iterable[str], *, is_attribute: Callable[[str], bool], attributes: Collection[str]
) -> tuple[UnitEdge, ...]:
    """Parse edges, in order and without duplicates.

    is_attribute: whether a name is an attribute of tokens. attributes: the names for errors.
    Raises TemplateError, which names the item and lists what exists.
    """
    edges: dict[UnitEdge, None] = {}
    for item in items:
        try:
            edge = UnitEdge.parse(item)
        except TemplateError as error:
            raise TemplateError(f"edge '{shorten(item)}': {error}") from None
        if edge.attribute.endswith(f".{EACH}"):
            raise TemplateError(
                f"edge '{shorten(item)}': {edge.attribute} stands for several attributes, but an "
                "edge has one. Write an edge for each"
            )
        if edge.attribute and not is_attribute(edge.attribute):
            raise TemplateError(
                f"edge '{shorten(item)}': words have no attribute '{shorten(edge.attribute)}'. "
                f"Attributes: {', '.join(attributes)}"
            )
        edges[edge] = None
    return tuple(edges)


def edge_attributes(edges: Iterable[UnitEdge]) -> tuple[set[str], set[str]]:
    """The attributes of words, and of units, that edges read."""
    edges = tuple(edges)
    words = {edge.attribute for edge in edges if edge.attribute}
    return words, {edge.kind for edge in edges if edge.kind == PARAGRAPH}


def find_edges(
    edges: Sequence[UnitEdge], names: Sequence[str], unit_names: Sequence[str], table: UnitTable
) -> EdgeTable:
    """The edges of the units of Docs.

    names, unit_names: the attributes of the columns of the table, see ``UnitReader``.
    """
    units = len(table.starts)
    owner = np.repeat(np.arange(len(table.doc_units) - 1), np.diff(table.doc_units))
    numbers, values = [], []
    for edge in edges:
        if edge.kind == SIMILAR:
            pairs, found = _similar_pairs(edge, table, names.index(edge.attribute))
        else:
            first = np.arange(max(units - edge.number, 0))
            same = owner[first] == owner[first + edge.number]
            if edge.kind == PARAGRAPH:
                paragraphs = table.attributes[:, unit_names.index(PARAGRAPH)]
                same &= paragraphs[first] == paragraphs[first + edge.number]
            pairs = np.column_stack([first[same], first[same] + edge.number])
            found = np.ones(len(pairs))
        numbers.append(pairs[:, 0] * units + pairs[:, 1])
        values.append(found)
    distinct = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *numbers]))
    features = np.zeros((len(distinct), len(edges)))
    for e, (number, value) in enumerate(zip(numbers, values, strict=True)):
        features[np.searchsorted(distinct, number), e] = value
    pairs = np.column_stack(np.divmod(distinct, max(units, 1)))
    starts = np.searchsorted(pairs[:, 0], table.doc_units).astype(np.int64)
    doc_start = table.doc_units[owner[pairs[:, 0]]]
    return EdgeTable(starts, pairs - doc_start[:, None], features)


def _similar_pairs(edge: UnitEdge, table: UnitTable, column: int) -> tuple[Ints, Floats]:
    """Pairs of similar units, the first one first, perhaps twice, and their similarities."""
    room = len(table.starts) * edge.number
    pairs, values = np.empty((room, 2), dtype=np.int64), np.empty(room)
    size = _fill_similar(table, column, edge.number, pairs, values)
    return pairs[:size], values[:size]


class _Words(NamedTuple):
    """The distinct values of the units of a Doc: entries, sorted by value and unit."""

    owners: Ints  #: int64 [entries]: the unit, counted from 0
    firsts: Ints  #: int64 [entries]: the first entry with the same value
    lasts: Ints  #: int64 [entries]: after the last one
    weights: Floats  #: float64 [entries]: of each unit a vector of length 1, 0 for frequent values
    unit_starts: Ints  #: int64 [units + 1]
    of_unit: Ints  #: int64 [entries]: those of each unit


@kernel
def _fill_similar(units: UnitTable, column: int, most: int, pairs: Ints, values: Floats) -> int:
    """Write the pairs of all Docs, by the numbers of units in the batch; return how many."""
    size = 0
    for d in range(len(units.doc_units) - 1):
        first, last = units.doc_units[d], units.doc_units[d + 1]
        words = _weigh(*_sorted_words(units, column, first, last), last - first)
        similarities, met = np.zeros(last - first), np.empty(last - first, dtype=np.int64)
        for u in range(last - first):
            count = _measure(words, u, similarities, met)
            for _ in range(most):
                v = _most_similar(u, similarities, met[:count])
                if v < 0:
                    break
                pairs[size, 0], pairs[size, 1] = first + min(u, v), first + max(u, v)
                values[size] = min(similarities[v], 1.0)
                similarities[v] = 0.0
                size += 1
            for i in range(count):
                similarities[met[i]] = 0.0
    return size


@kernel
def _sorted_words(units: UnitTable, column: int, first: int, last: int) -> tuple[Keys, Ints]:
    """The distinct pairs of a value and a unit, counted from 0, of a Doc, sorted."""
    total = 0
    for u in range(first, last):
        total += units.ends[u] - units.starts[u]
    words, owners = np.empty(total, dtype=np.uint64), np.empty(total, dtype=np.int64)
    size = 0
    for u in range(first, last):
        for t in range(units.starts[u], units.ends[u]):
            if units.words[t, column] != np.uint64(0):
                words[size], owners[size] = units.words[t, column], u - first
                size += 1
    order = np.argsort(words[:size], kind="mergesort")  # stable: units stay in order
    words, owners = words[:size][order], owners[:size][order]
    kept = 0
    for i in range(size):
        if kept == 0 or words[i] != words[kept - 1] or owners[i] != owners[kept - 1]:
            words[kept], owners[kept] = words[i], owners[i]
            kept += 1
    return words[:kept], owners[:kept]


@kernel
def _weigh(words: Keys, owners: Ints, n: int) -> _Words:
    """Weigh the result of ``_sorted_words``, of n units."""
    size = len(words)
    firsts, lasts = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    weights, squares = np.zeros(size), np.zeros(n)
    starts = np.zeros(n + 2, dtype=np.int64)
    first = 0
    while first < size:
        last = first
        while last < size and words[last] == words[first]:
            last += 1
        weight = np.log(n / (last - first)) if last - first <= MAX_SHARED else 0.0
        for i in range(first, last):
            firsts[i], lasts[i], weights[i] = first, last, weight
            squares[owners[i]] += weight * weight
            starts[owners[i] + 2] += 1
        first = last
    for u in range(n):
        starts[u + 2] += starts[u + 1]
    of_unit = np.empty(size, dtype=np.int64)
    for i in range(size):
        u = owners[i]
        of_unit[starts[u + 1]] = i
        starts[u + 1] += 1
        if weights[i] > 0:
            weights[i] /= np.sqrt(squares[u])
    return _Words(owners, firsts, lasts, weights, starts[: n + 1], of_unit)


@kernel
def _measure(words: _Words, u: int, similarities: Floats, met: Ints) -> int:
    """Add up the similarities of unit u and others, which are 0 before; return how many.

    met: int64 [n], receives these other units.
    """
    count = 0
    for place in range(words.unit_starts[u], words.unit_starts[u + 1]):
        entry = words.of_unit[place]
        if words.weights[entry] == 0:
            continue
        for i in range(words.firsts[entry], words.lasts[entry]):
            v = words.owners[i]
            if v != u:
                if similarities[v] == 0:
                    met[count] = v
                    count += 1
                similarities[v] += words.weights[entry] * words.weights[i]
    return count


@kernel
def _most_similar(u: int, similarities: Floats, met: Ints) -> int:
    """The unit most similar to u, of equal ones the closest and then the first; -1 for none."""
    best = -1
    for v in met:
        if similarities[v] < LEAST_SIMILARITY:
            continue
        if best < 0 or similarities[v] > similarities[best]:
            best = v
        elif similarities[v] == similarities[best]:
            distance, least = abs(v - u), abs(best - u)
            if distance < least or (distance == least and v < best):
                best = v
    return best
