"""Statistics of templates of arcs: see ``features/statistics.py``."""

import numpy as np

from spacy_ssvm.features.statistics import Statistics
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.trees.keys import fill_arc_keys, hash_endpoints
from spacy_ssvm.trees.layout import Arcs
from spacy_ssvm.trees.templates import CompiledArcTemplates, select_arc_templates
from spacy_ssvm.weights.hash_table import empty_slots, find_slot

_GOLD = np.uint64(32)  # above this bit of a count are gold arcs, below it all


@kernel
def _plogp(n: float) -> float:
    return n * np.log2(n) if n > 0 else 0.0


@kernel
def _measure_arcs(
    template: CompiledArcTemplates,
    attributes: Keys,
    node_starts: Ints,
    gold: Ints,
    arcs: Arcs,
    priors: Floats,
    slots: Keys,
) -> tuple[int, float]:
    """The features and the gain of one template; slots is an empty table."""
    features = 0
    wanted = np.zeros(1, dtype=np.int64)
    for i in range(len(node_starts) - 1):
        first, last = arcs.starts[i], arcs.starts[i + 1]
        if first == last:
            continue
        start = node_starts[i]
        endpoints = hash_endpoints(template, attributes, start, node_starts[i + 1])
        keys = np.empty(len(endpoints.head), dtype=np.uint64)
        owners = np.empty(len(keys), dtype=np.int64)
        for arc in range(first, last):
            h, m = arcs.heads[arc], arcs.dependents[arc]
            count = fill_arc_keys(template, endpoints, h, m, wanted, keys, owners)
            right = gold[start + m]
            for k in range(count):
                slot = find_slot(slots, keys[k])
                features += slots[slot, 0] == np.uint64(0)
                slots[slot, 0] = keys[k]
                if right >= 0:
                    slots[slot, 1] += np.uint64(1) + (np.uint64(right == h) << _GOLD)
    total = priors.sum()
    if total == 0:
        return features, 0.0
    gain = 0.0
    bits = np.log2(np.maximum(priors, 1.0) / total)
    for slot in range(len(slots)):
        if slots[slot, 1] > np.uint64(0):
            right = np.int64(slots[slot, 1] >> _GOLD)
            n = np.int64(slots[slot, 1] & np.uint64(0xFFFFFFFF))
            wrong = n - right
            gain += _plogp(right) + _plogp(wrong) - _plogp(n) - right * bits[1] - wrong * bits[0]
    return features, gain / total


def measure_arc_templates(
    templates: CompiledArcTemplates, attributes: Keys, node_starts: Ints, gold: Ints, arcs: Arcs
) -> Statistics:
    """Count the features of each template on some arcs, and measure their information gain.

    templates: by ``compile_arc_keys``. attributes: uint64 [nodes, columns]; node_starts: int64
        [sentences + 1]; gold: int64 [nodes], the head, as a node of the sentence, or -1.
    """
    heads = gold[np.repeat(node_starts[:-1], np.diff(arcs.starts)) + arcs.dependents]
    priors = np.bincount((heads == arcs.heads)[heads >= 0], minlength=2).astype(np.float64)
    T, B = templates.codes.shape[1], len(templates.between)
    features, gains = np.zeros(T, dtype=np.int64), np.zeros(T)
    slots = empty_slots(len(heads))
    for t in range(T):
        if t == T - B:
            between = np.abs(arcs.heads - arcs.dependents).sum(dtype=np.int64)
            slots = empty_slots(int(between))
        slots[:] = 0
        features[t], gains[t] = _measure_arcs(
            select_arc_templates(templates, [t]), attributes, node_starts, gold, arcs, priors, slots
        )
    return Statistics(features, gains)
