"""Features of arcs as 64-bit keys: no two share one, where those of ``arcs.py`` share rows.

A key mixes both sides of an arc, what lies between, and a code of the template and of its class
of distance. The side of the dependent is multiplied before: head and dependent may have the same
value without undoing each other.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Ints, Ints1, Keys, Rows, Rows1, kernel, named_tuple
from spacy_ssvm.features.arcs import (
    ArcTemplate,
    CompiledArcTemplates,
    Sides,
    compile_arc_templates,
    distance_class,
    in_order,
)
from spacy_ssvm.features.text_hash import hash_text

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_DEPENDENT = np.uint64(0xC2B2AE3D27D4EB4F)


class Arcs(NamedTuple):
    """Arcs of sentences, those of each behind one another."""

    starts: Ints  #: int64 [sentences + 1]
    heads: Rows  #: int32 [arcs]
    dependents: Rows  #: int32 [arcs]


ArcsType = named_tuple(Arcs, Ints1, Rows1, Rows1)


def compile_arc_keys(
    templates: Sequence[ArcTemplate], attributes: Sequence[str]
) -> CompiledArcTemplates:
    """Templates whose codes have 64 bits, and tell templates apart; see ``in_order``."""
    compiled = compile_arc_templates(templates, attributes)
    names = [hash_text(str(template)) for template in in_order(templates)]
    places = compiled.codes * _DEPENDENT
    return compiled._replace(codes=(places ^ np.array(names, dtype=np.uint64)) * _MULTIPLIER)


def one_of(templates: CompiledArcTemplates, t: int) -> CompiledArcTemplates:
    """Template t alone."""
    b = t - len(templates.head.seeds) + len(templates.between)
    head, dependent, sibling = (
        side._replace(seeds=side.seeds[t : t + 1], part_starts=side.part_starts[t : t + 2])
        for side in templates[:3]
    )
    codes = np.ascontiguousarray(templates.codes[:, t : t + 1])
    between = templates.between[b : b + 1] if b >= 0 else templates.between[:0]
    return CompiledArcTemplates(head, dependent, sibling, codes, between)


@kernel
def _mixed(head: int, dependent: int, value: int, code: int) -> int:
    key = (head ^ (dependent * _DEPENDENT) ^ value ^ code) * _MULTIPLIER
    key ^= key >> np.uint64(32)
    return key if key != np.uint64(0) else np.uint64(1)  # type: ignore[no-any-return]


@kernel
def most_keys(templates: CompiledArcTemplates, h: int, m: int) -> int:
    """How many features the arc (h, m) has at most."""
    T, B = len(templates.head.seeds), len(templates.between)
    return T - B + B * max(abs(h - m) - 1, 0)


@kernel
def fill_arc_keys(
    templates: CompiledArcTemplates,
    sides: Sides,
    h: int,
    m: int,
    wanted: Ints,
    keys: Keys,
    owners: Ints,
) -> int:
    """Write the keys of the features of the arc (h, m); return how many.

    wanted: int64: templates, the only ones whose keys are written.
    owners: int64, gets the template of each key.
    """
    plain = len(templates.head.seeds) - len(templates.between)
    zero = np.uint64(0)
    head, dependent = sides.head[h], sides.dependent[m]
    codes = templates.codes[distance_class(h, m)]
    low, high = min(h, m), max(h, m)
    count = 0
    for t in wanted:
        if (head[t] == zero) | (dependent[t] == zero):
            continue
        if t < plain:
            keys[count] = _mixed(head[t], dependent[t], zero, codes[t])
            owners[count] = t
            count += 1
            continue
        values, previous = sides.values[t - plain], sides.previous[t - plain]
        for node in range(low + 1, high):
            if previous[node] <= low and values[node] != zero:
                keys[count] = _mixed(head[t], dependent[t], values[node], codes[t])
                owners[count] = t
                count += 1
    return count
