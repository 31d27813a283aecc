"""From token attributes to feature keys.

A key is a 64-bit hash of its template and of the values of the template's parts. It is
the same in every process and on every machine, and depends on the template's text, not
on its index in a list. Key 0 means that the template does not fire.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.templates import Template
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel
from spacy_ssvm.kernels.types import Ints, Ints1, Keys, Keys1, named_tuple

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

#: The value of a token before the sentence; the distance is added.
BEFORE = np.uint64(0xD6E8FEB86659FD93)
#: The value of a token after it.
AFTER = np.uint64(0xA0761D6478BD642F)


class Window(NamedTuple):
    """Columns of the table of attributes that have few values together at neighbouring words."""

    columns: Collection[int]
    width: int  #: in words


class CompiledTemplates(NamedTuple):
    """Templates as arrays: template m has the parts part_starts[m] to part_starts[m + 1]."""

    seeds: Keys  #: uint64 [T]
    part_starts: Ints  #: int64 [T + 1]
    columns: Ints  #: int64 [parts]: the column of the attribute
    offsets: Ints  #: int64 [parts]


CompiledTemplatesType = named_tuple(CompiledTemplates, Keys1, Ints1, Ints1, Ints1)


def compile_templates(
    templates: Sequence[Template], attributes: Sequence[str]
) -> CompiledTemplates:
    """Templates over a table whose columns are these attributes."""
    parts = [part for template in templates for part in template.parts]
    return CompiledTemplates(
        seeds=np.array([hash_text(str(template)) for template in templates], dtype=np.uint64),
        part_starts=np.cumsum([0] + [len(template.parts) for template in templates]),
        columns=np.array([attributes.index(part.attribute) for part in parts], dtype=np.int64),
        offsets=np.array([part.offset for part in parts], dtype=np.int64),
    )


def select_templates(templates: CompiledTemplates, wanted: Sequence[int]) -> CompiledTemplates:
    """Some of the templates, by their numbers."""
    starts = templates.part_starts
    parts = [part for m in wanted for part in range(starts[m], starts[m + 1])]
    sizes = [int(starts[m + 1] - starts[m]) for m in wanted]
    return CompiledTemplates(
        templates.seeds[list(wanted)],
        np.cumsum([0, *sizes]).astype(np.int64),
        templates.columns[parts],
        templates.offsets[parts],
    )


@inlined_kernel
def mix(key: int, value: int) -> int:
    """The hash of a key with one more value (uint64)."""
    key = (key ^ value) * _MULTIPLIER
    return key ^ (key >> np.uint64(32))  # type: ignore[no-any-return]


@inner_kernel
def fill_group_keys(columns: Ints, starts: Ints, attributes: Keys, keys: Keys) -> None:
    """Write the key of what groups of columns hold at each word: uint64 [words, G], not 0.

    columns: int64, of all groups; group g has starts[g] to starts[g + 1].
    """
    for t in range(len(attributes)):
        for g in range(len(starts) - 1):
            key = np.uint64(g + 1) * _MULTIPLIER
            for i in range(starts[g], starts[g + 1]):
                key = mix(key, attributes[t, columns[i]])
            keys[t, g] = max(key, np.uint64(1))


@inlined_kernel
def outside_value(position: int, start: int, end: int) -> int:
    """The value of a position before or after the sentence [start, end)."""
    if position < start:
        return BEFORE + np.uint64(start - position)  # type: ignore[no-any-return]
    return AFTER + np.uint64(position - end)  # type: ignore[no-any-return]


@inlined_kernel
def template_key(
    templates: CompiledTemplates, m: int, attributes: Keys, start: int, end: int, t: int
) -> int:
    """The key of template m for token t in the sentence [start, end) of attributes; 0 for none."""
    key = templates.seeds[m]
    for part in range(templates.part_starts[m], templates.part_starts[m + 1]):
        position = t + templates.offsets[part]
        if start <= position < end:
            value = attributes[position, templates.columns[part]]
            if value == np.uint64(0):
                return np.uint64(0)  # type: ignore[no-any-return]
        else:
            value = outside_value(position, start, end)
        key = mix(key, value)
    return key  # type: ignore[no-any-return]


@inlined_kernel
def fill_keys(
    templates: CompiledTemplates, attributes: Keys, start: int, end: int, t: int, keys: Keys
) -> None:
    """Write the keys (uint64 [T]) of token t in the sentence [start, end) of attributes."""
    for m in range(len(templates.seeds)):
        keys[m] = template_key(templates, m, attributes, start, end, t)


@inner_kernel
def extract_keys(
    templates: CompiledTemplates, attributes: Keys, sentence_starts: Ints, keys: Keys
) -> None:
    """Write the keys of all tokens: uint64 [tokens, T].

    attributes: uint64 [tokens, columns], 0 where a token lacks the attribute.
    sentence_starts: int64 [sentences + 1], the first token of each sentence, and the end.
    """
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        for t in range(start, end):
            fill_keys(templates, attributes, start, end, t, keys[t])
