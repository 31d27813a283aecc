"""Features of arcs, as hashed rows or as 64-bit keys.

The endpoints of an arc are hashed once for each token. In a hashed space of rows, the row of a
feature is the exclusive or of its endpoints and of a code for direction or distance, which changes
only the last bits: the weights of templates that differ only in distance share a cache line.

A 64-bit key identifies a feature. It mixes both endpoints, the value of ``between``, and a code of
the template and of its class of distance. The dependent is multiplied first, so that equal values
of head and dependent do not cancel out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import mix, template_key
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.kernels.compile import inlined_kernel, inner_kernel, kernel, outlined_kernel
from spacy_ssvm.kernels.types import Int, Ints, Ints2, Keys, Keys2, Rows, named_tuple
from spacy_ssvm.trees.layout import ArcFeatures
from spacy_ssvm.trees.templates import (
    DISTANCE_CLASSES,
    FARTHEST,
    ArcTemplate,
    CompiledArcTemplates,
    CompiledArcTemplatesType,
    compile_arc_templates,
    in_order,
)

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_DEPENDENT = np.uint64(0xC2B2AE3D27D4EB4F)


@inlined_kernel
def distance_class(h: int, m: int) -> int:
    """The class of the distance from head to dependent, the direction included."""
    if h == 0:
        return DISTANCE_CLASSES - 1
    distance = abs(m - h)
    number = 0
    while number < len(FARTHEST) and distance > FARTHEST[number]:
        number += 1
    return number if m < h else number + len(FARTHEST) + 1


class EndpointHashes(NamedTuple):
    """The hashes of the nodes of one sentence: the root, its words, its end."""

    head: Keys  #: uint64 [nodes, T]: hashes of the parts of the head, 0 where one is missing
    dependent: Keys  #: uint64 [nodes, T]
    third: Keys  #: uint64 [nodes, T]: sibling or grandparent; not set where no template has it
    values: Keys  #: uint64 [B, nodes]: of the attributes of ``between``
    previous: Ints  #: int64 [B, nodes]: the last node before with the same value, 0 for none


EndpointHashesType = named_tuple(EndpointHashes, Keys2, Keys2, Keys2, Keys2, Ints2)


@inner_kernel
def _hash_nodes(
    templates: CompiledArcTemplates,
    attributes: Keys,
    start: int,
    end: int,
    of_parts: Keys,
    keys: tuple[Keys, Keys, Keys],
) -> None:
    """Write what nodes have in each role: uint64 [nodes, T], 0 where a part is missing.

    of_parts: uint64, scratch for all sets of parts.
    """
    for node in range(end - start):
        for number in range(len(of_parts)):
            of_parts[number] = template_key(
                templates.parts, number, attributes, start, end, start + node
            )
        for role in range(3 if templates.has_third else 2):
            numbers, seeds = templates.numbers[role], templates.seeds[role]
            of_role = keys[role][node]
            for t in range(len(numbers)):
                key = of_parts[numbers[t]]
                of_role[t] = mix(seeds[t], key) if key != np.uint64(0) else np.uint64(0)


@outlined_kernel(EndpointHashesType(CompiledArcTemplatesType, Keys2, Int, Int))
def hash_endpoints(
    templates: CompiledArcTemplates, attributes: Keys, start: int, end: int
) -> EndpointHashes:
    """Hash the endpoints of the sentence whose nodes are rows start to end of attributes."""
    nodes, T, B = end - start, templates.codes.shape[1], len(templates.between)
    head = np.empty((nodes, T), dtype=np.uint64)
    dependent = np.empty((nodes, T), dtype=np.uint64)
    third = np.empty((nodes, T), dtype=np.uint64)
    values = np.empty((B, nodes), dtype=np.uint64)
    previous = np.zeros((B, nodes), dtype=np.int64)
    of_parts = np.empty(len(templates.parts.seeds), dtype=np.uint64)
    _hash_nodes(templates, attributes, start, end, of_parts, (head, dependent, third))
    for node in range(nodes):
        for b in range(B):
            value = attributes[start + node, templates.between[b]]
            if value != np.uint64(0):
                value *= _MULTIPLIER
                value ^= value >> np.uint64(32)
            values[b, node] = value
            earlier = node - 1
            while earlier > 0 and values[b, earlier] != value:
                earlier -= 1
            previous[b, node] = max(earlier, 0)
    return EndpointHashes(head, dependent, third, values, previous)


class PairHashes(NamedTuple):
    """The hashes of the nodes of one sentence for pairs of arcs."""

    siblings: EndpointHashes
    grandparents: EndpointHashes


PairHashesType = named_tuple(PairHashes, EndpointHashesType, EndpointHashesType)


@kernel
def hash_pairs(features: ArcFeatures, attributes: Keys, start: int, end: int) -> PairHashes:
    """Hash the nodes of a sentence for pairs of arcs: see ``hash_endpoints``."""
    return PairHashes(
        hash_endpoints(features.pairs, attributes, start, end),
        hash_endpoints(features.grandparents, attributes, start, end),
    )


@inner_kernel
def fill_arc_rows(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    size: int,
    h: int,
    m: int,
    rows: Rows,
) -> int:
    """Write the rows of the features of the arc (h, m), which may repeat; return their number.

    size: the number of rows, a power of two; the row ``size`` means no feature.
    """
    T, B = templates.codes.shape[1], len(templates.between)
    zero = np.uint64(0)
    mask = np.uint64(size - 1)
    head, dependent = endpoints.head[h], endpoints.dependent[m]
    codes = templates.codes[distance_class(h, m)]
    for t in range(T - B):
        fires = (head[t] != zero) & (dependent[t] != zero)
        row = ((head[t] ^ dependent[t]) & mask) ^ codes[t]
        rows[t] = np.int32(row) if fires else np.int32(size)
    count = T - B
    low, high = min(h, m), max(h, m)
    for b in range(B):
        t = T - B + b
        if head[t] == zero or dependent[t] == zero:
            continue
        for node in range(low + 1, high):
            if endpoints.previous[b, node] <= low and endpoints.values[b, node] != zero:
                row = ((head[t] ^ dependent[t] ^ endpoints.values[b, node]) & mask) ^ codes[t]
                rows[count] = np.int32(row)
                count += 1
    return count  # type: ignore[no-any-return]


@inner_kernel
def fill_pair_rows(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    size: int,
    h: int,
    m: int,
    s: int,
    rows: Rows,
) -> int:
    """Write the rows of the features of the arcs (h, s) and (h, m); return their number."""
    return _fill_rows(templates, endpoints, size, (h, m, s), distance_class(h, m), rows)


@inner_kernel
def grandparent_class(g: int, h: int, m: int) -> int:
    """The row of ``CompiledArcTemplates.codes`` for the grandparent g of the arc (h, m)."""
    return distance_class(h, m) + (DISTANCE_CLASSES if g > h else 0)


@inner_kernel
def fill_grandparent_rows(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    size: int,
    g: int,
    h: int,
    m: int,
    rows: Rows,
) -> int:
    """Write the rows of the features of the arcs (g, h) and (h, m); return their number."""
    return _fill_rows(templates, endpoints, size, (h, m, g), grandparent_class(g, h, m), rows)


@inner_kernel
def _fill_rows(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    size: int,
    nodes: tuple[int, int, int],
    number: int,
    rows: Rows,
) -> int:
    """Write the rows of a pair of arcs; nodes: head, dependent and third; number: of its codes."""
    zero, mask = np.uint64(0), np.uint64(size - 1)
    head, dependent = endpoints.head[nodes[0]], endpoints.dependent[nodes[1]]
    third, codes = endpoints.third[nodes[2]], templates.codes[number]
    for t in range(len(head)):
        fires = (head[t] != zero) & (dependent[t] != zero) & (third[t] != zero)
        row = ((head[t] ^ dependent[t] ^ third[t]) & mask) ^ codes[t]
        rows[t] = np.int32(row) if fires else np.int32(size)
    return len(head)


def compile_arc_keys(
    templates: Sequence[ArcTemplate], attributes: Sequence[str]
) -> CompiledArcTemplates:
    """Templates with 64-bit codes that distinguish templates; see ``in_order``."""
    compiled = compile_arc_templates(templates, attributes)
    seeds = np.array([hash_text(str(t)) for t in in_order(templates)], dtype=np.uint64)
    geometry_codes = compiled.codes * _DEPENDENT
    return compiled._replace(codes=(geometry_codes ^ seeds) * _MULTIPLIER)


@inner_kernel
def _mixed(head: int, dependent: int, value: int, code: int) -> int:
    key = (head ^ (dependent * _DEPENDENT) ^ value ^ code) * _MULTIPLIER
    key ^= key >> np.uint64(32)
    return key if key != np.uint64(0) else np.uint64(1)  # type: ignore[no-any-return]


@inner_kernel
def max_keys(templates: CompiledArcTemplates, h: int, m: int) -> int:
    """The maximum number of features of the arc (h, m)."""
    T, B = templates.codes.shape[1], len(templates.between)
    return T - B + B * max(abs(h - m) - 1, 0)  # type: ignore[no-any-return]


@inner_kernel
def fill_arc_keys(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    h: int,
    m: int,
    wanted: Ints,
    keys: Keys,
    owners: Ints,
) -> int:
    """Write the keys of the features of the arc (h, m); return their number.

    wanted: int64: the templates whose keys are written.
    owners: int64, gets the template of each key.
    """
    plain = templates.codes.shape[1] - len(templates.between)
    zero = np.uint64(0)
    head, dependent = endpoints.head[h], endpoints.dependent[m]
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
        values, previous = endpoints.values[t - plain], endpoints.previous[t - plain]
        for node in range(low + 1, high):
            if previous[node] <= low and values[node] != zero:
                keys[count] = _mixed(head[t], dependent[t], values[node], codes[t])
                owners[count] = t
                count += 1
    return count
