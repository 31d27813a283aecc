"""Keys and values of the features of links, from the words of a pair and the evidence."""

import numpy as np

from spacy_ssvm.align.matchings.templates import COLUMN_KINDS, LinkTemplates
from spacy_ssvm.features.extraction import fill_keys, mix
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Keys, Weights

_POSITION, _SAME, _BIN, _RANK = range(len(COLUMN_KINDS))
_OUTSIDE = np.uint64(0xA0761D6478BD642F)  # the value of a neighbour that does not exist

#: Upper ends of the classes of numbers; one more class is above. 0 has none.
CLASS_ENDS = np.array([0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99])

#: Upper ends of the classes of differences of relative positions, on either side of 0.
POSITION_ENDS = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6])


@kernel
def relative_position(j: int, m: int) -> float:
    """The position of the middle of word j of m, between 0 and 1."""
    return (j + 0.5) / m


@kernel
def _class_of(number: float, ends: Floats) -> int:
    """The class of a number, from 0: the first whose end is not below it."""
    c = 0
    while c < len(ends) and number > ends[c]:
        c += 1
    return c


@kernel
def _ranks(numbers: Weights, table: Keys) -> None:
    """Write where numbers are the largest: 1 of the source word, 2 of the target word, 3 of both.

    numbers: float32 [m, n]; table: uint64 [m, n]. 0 is nowhere the largest.
    """
    m, n = numbers.shape
    rows, columns = np.zeros(m), np.zeros(n)
    for j in range(m):
        for k in range(n):
            rows[j] = max(rows[j], numbers[j, k])
            columns[k] = max(columns[k], numbers[j, k])
    for j in range(m):
        for k in range(n):
            rank = 0
            if numbers[j, k] > 0:
                rank = int(numbers[j, k] == rows[j]) + 2 * int(numbers[j, k] == columns[k])
            table[j, k] = np.uint64(rank)


@kernel
def _fill_column(
    kind: int, argument: int, source: Keys, target: Keys, evidence: Weights, table: Keys
) -> None:
    """Write a column of discrete parts: uint64 [m, n], 0 where a link lacks it."""
    m, n = table.shape
    if kind == _RANK:
        _ranks(evidence[:, :, argument], table)
        return
    for j in range(m):
        for k in range(n):
            value = np.uint64(0)
            if kind == _SAME:
                is_same = source[j, argument] == target[k, argument]
                value = np.uint64(is_same and source[j, argument] != np.uint64(0))
            elif kind == _BIN:
                number = np.float64(evidence[j, k, argument])
                if number != 0.0:
                    value = np.uint64(1 + _class_of(number, CLASS_ENDS))
            else:
                difference = relative_position(k, n) - relative_position(j, m)
                classes = _class_of(abs(difference), POSITION_ENDS)
                value = np.uint64(100 + (classes if difference >= 0 else -classes))
            table[j, k] = value


@kernel
def fill_columns(templates: LinkTemplates, source: Keys, target: Keys, evidence: Weights) -> Keys:
    """The discrete parts of all links of a pair: uint64 [columns, m, n].

    source, target: uint64 [m, attributes], [n, attributes]; evidence: float32 [m, n, numbers].
    """
    m, n = len(source), len(target)
    table = np.empty((len(templates.column_kinds), m, n), dtype=np.uint64)
    for column in range(len(table)):
        kind, argument = templates.column_kinds[column], templates.column_arguments[column]
        _fill_column(kind, argument, source, target, evidence, table[column])
    return table


@kernel
def hash_sides(templates: LinkTemplates, source: Keys, target: Keys) -> tuple[Keys, Keys]:
    """The keys of the parts of each side: uint64 [m, T] and [n, T], 0 where one is missing."""
    T = len(templates.numbers)
    sources = np.empty((len(source), T), dtype=np.uint64)
    targets = np.empty((len(target), T), dtype=np.uint64)
    for j in range(len(source)):
        fill_keys(templates.source, source, 0, len(source), j, sources[j])
    for k in range(len(target)):
        fill_keys(templates.target, target, 0, len(target), k, targets[k])
    return sources, targets


@kernel
def fill_template_keys(
    templates: LinkTemplates,
    t: int,
    sources: Keys,
    targets: Keys,
    columns: Keys,
    evidence: Weights,
    keys: Keys,
    values: Weights,
) -> None:
    """Write the keys (uint64 [m, n], 0 for none) and values (float32 [m, n]) of a template.

    sources, targets: by ``hash_sides``; columns: by ``fill_columns``.
    """
    m, n = evidence.shape[:2]
    none = np.uint64(0)
    number, number_offset = templates.numbers[t], templates.number_offsets[t]
    first, end = templates.part_starts[t], templates.part_starts[t + 1]
    for j in range(m):
        for k in range(n):
            keys[j, k] = none
            values[j, k] = 1.0
            if sources[j, t] == none or targets[k, t] == none:
                continue
            if number >= 0:
                a, b = j + number_offset, k + number_offset
                if a < 0 or b < 0 or a >= m or b >= n or evidence[a, b, number] == 0.0:
                    continue
                values[j, k] = evidence[a, b, number]
            key = mix(sources[j, t], targets[k, t])
            for part in range(first, end):
                a, b = j + templates.part_offsets[part], k + templates.part_offsets[part]
                of_part = _OUTSIDE
                if 0 <= a < m and 0 <= b < n:
                    of_part = columns[templates.part_columns[part], a, b]
                    if of_part == none:
                        key = none
                        break
                key = mix(key, of_part)
            keys[j, k] = key
