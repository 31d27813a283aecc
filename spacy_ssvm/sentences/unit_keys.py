"""From units and the attributes of their words to feature keys; see ``templates.py``.

A key is a 64-bit hash of its template and of the values of the template's parts, as in
``extraction.py``. A unit has a set of keys: each key counts once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import mix, outside_value
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Ints, Keys, Rows
from spacy_ssvm.sentences.templates import BAG, FIRST, LAST, UNIT, SentenceTemplate
from spacy_ssvm.sentences.units import UnitTable

_KINDS = (UNIT, FIRST, LAST, BAG)
_UNIT, _FIRST, _LAST, _BAG = range(4)


class CompiledUnitTemplates(NamedTuple):
    """Templates as arrays: template m has the parts part_starts[m] to part_starts[m + 1]."""

    seeds: Keys  #: uint64 [T]
    part_starts: Ints  #: int64 [T + 1]
    kinds: Ints  #: int64 [parts]; a bag is the last part of its template
    columns: Ints  #: int64 [parts]: of the attributes of words, or of units
    runs: Ints  #: int64 [parts]: the number of words in a run
    offsets: Ints  #: int64 [parts]


class UnitKeys(NamedTuple):
    """The features of units: unit u has those from starts[u] to starts[u + 1]."""

    starts: Ints  #: int64 [units + 1]
    keys: Keys  #: uint64 [features]
    templates: Rows  #: int32 [features]


def compile_unit_templates(
    templates: Sequence[SentenceTemplate], names: Sequence[str], unit_names: Sequence[str]
) -> CompiledUnitTemplates:
    """Templates over tables whose columns are these attributes of words and of units."""
    parts = [part for template in templates for part in template.parts]
    columns = [(unit_names if part.kind == UNIT else names).index(part.attribute) for part in parts]
    return CompiledUnitTemplates(
        seeds=np.array([hash_text(str(template)) for template in templates], dtype=np.uint64),
        part_starts=np.cumsum([0] + [len(template.parts) for template in templates]),
        kinds=np.array([_KINDS.index(part.kind) for part in parts], dtype=np.int64),
        columns=np.array(columns, dtype=np.int64),
        runs=np.array([part.run for part in parts], dtype=np.int64),
        offsets=np.array([part.offset for part in parts], dtype=np.int64),
    )


def template_alone(templates: CompiledUnitTemplates, m: int) -> CompiledUnitTemplates:
    """Template m alone."""
    return templates._replace(
        seeds=templates.seeds[m : m + 1], part_starts=templates.part_starts[m : m + 2]
    )


@kernel
def run_value(words: Keys, column: int, start: int, length: int) -> int:
    """The hash of a run of words, 0 where one lacks the attribute."""
    value = np.uint64(length)
    for t in range(start, start + length):
        if words[t, column] == np.uint64(0):
            return np.uint64(0)  # type: ignore[no-any-return]
        value = mix(value, words[t, column])
    return value  # type: ignore[no-any-return]


@kernel
def _single_value(
    templates: CompiledUnitTemplates, units: UnitTable, first: int, last: int, u: int, part: int
) -> int:
    """The value of a part that is not a bag within the Doc, at unit u of the Doc [first, last)."""
    unit = u + templates.offsets[part]
    if not first <= unit < last:
        return outside_value(unit, first, last)
    kind, column, run = templates.kinds[part], templates.columns[part], templates.runs[part]
    if kind == _UNIT:
        return units.attributes[unit, column]  # type: ignore[no-any-return]
    start, end = units.starts[unit], units.ends[unit]
    if end - start < run:
        return np.uint64(0)  # type: ignore[no-any-return]
    at = start if kind == _FIRST else end - run
    return run_value(units.words, column, at, run)


@kernel
def fill_unit_keys(
    templates: CompiledUnitTemplates,
    units: UnitTable,
    doc: tuple[int, int],
    u: int,
    keys: Keys,
    owners: Rows,
) -> int:
    """Write the keys of unit u of a Doc, and their templates; return their number.

    doc: the first unit of the Doc, and after the last one.
    keys: uint64, owners: int32, with room for ``max_unit_keys``.
    A bag has its runs by length, then by place: repeated ones as often as they occur, and 0 for
    those without a value.
    """
    first, last = doc
    size = 0
    for m in range(len(templates.seeds)):
        key = templates.seeds[m]
        begin, end = templates.part_starts[m], templates.part_starts[m + 1]
        bag = templates.kinds[end - 1] == _BAG
        for part in range(begin, end - 1 if bag else end):
            value = _single_value(templates, units, first, last, u, part)
            if value == np.uint64(0):
                key = np.uint64(0)
                break
            key = mix(key, value)
        if key == np.uint64(0):
            continue
        before = size
        if not bag:
            keys[size] = key
            size += 1
        else:
            part = end - 1
            unit = u + templates.offsets[part]
            if first <= unit < last:
                start, stop = units.starts[unit], units.ends[unit]
                for length in range(1, templates.runs[part] + 1):
                    for t in range(start, stop - length + 1):
                        value = run_value(units.words, templates.columns[part], t, length)
                        keys[size] = mix(key, value) if value != np.uint64(0) else np.uint64(0)
                        size += 1
            else:
                value = _single_value(templates, units, first, last, u, part)
                keys[size] = mix(key, value)
                size += 1
        owners[before:size] = m
    return size


@kernel
def keep_distinct(keys: Keys, owners: Rows, size: int) -> int:
    """Keep each key of a template once, in rising order, and no 0; return the number kept."""
    kept, start = 0, 0
    while start < size:
        m = owners[start]
        end = start + 1
        while end < size and owners[end] == m:
            end += 1
        if end - start > 1:
            keys[start:end].sort()
        previous = np.uint64(0)
        for i in range(start, end):
            if keys[i] != previous:
                previous = keys[i]
                keys[kept] = previous
                owners[kept] = m
                kept += 1
        start = end
    return kept


@kernel
def max_unit_keys(templates: CompiledUnitTemplates, units: UnitTable) -> int:
    """The most keys that ``fill_unit_keys`` writes for a unit."""
    longest = 1
    for u in range(len(units.starts)):
        longest = max(longest, units.ends[u] - units.starts[u])
    total = 0
    for m in range(len(templates.seeds)):
        part = templates.part_starts[m + 1] - 1
        total += longest * templates.runs[part] if templates.kinds[part] == _BAG else 1
    return total


@kernel
def _count_keys(templates: CompiledUnitTemplates, units: UnitTable, starts: Ints) -> None:
    """Write upper bounds of the starts of ``UnitKeys``."""
    starts[0] = 0
    for d in range(len(units.doc_units) - 1):
        first, last = units.doc_units[d], units.doc_units[d + 1]
        for u in range(first, last):
            total = 0
            for m in range(len(templates.seeds)):
                part = templates.part_starts[m + 1] - 1
                unit = u + templates.offsets[part]
                total += 1
                if templates.kinds[part] == _BAG and first <= unit < last:
                    total += (units.ends[unit] - units.starts[unit]) * templates.runs[part]
            starts[u + 1] = starts[u] + total


@kernel
def _extract(
    templates: CompiledUnitTemplates, units: UnitTable, starts: Ints, keys: Keys, owners: Rows
) -> None:
    """Write the distinct keys of all units one after another, and their starts."""
    size = 0
    for d in range(len(units.doc_units) - 1):
        first, last = units.doc_units[d], units.doc_units[d + 1]
        for u in range(first, last):
            found = fill_unit_keys(templates, units, (first, last), u, keys[size:], owners[size:])
            starts[u] = size
            size += keep_distinct(keys[size:], owners[size:], found)
    starts[len(starts) - 1] = size


def extract_unit_keys(templates: CompiledUnitTemplates, units: UnitTable) -> UnitKeys:
    """The keys of all units."""
    starts = np.zeros(len(units.starts) + 1, dtype=np.int64)
    _count_keys(templates, units, starts)
    keys = np.empty(starts[-1], dtype=np.uint64)
    owners = np.empty(starts[-1], dtype=np.int32)
    _extract(templates, units, starts, keys, owners)
    return UnitKeys(starts, keys[: starts[-1]].copy(), owners[: starts[-1]].copy())
