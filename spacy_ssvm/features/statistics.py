"""What a corpus says of templates before any weights: how many features, how much they tell.

The information gain of a template is, over its features f and the labels a [MSAF11 Eq. 16],

    IG_m = sum_f sum_a P(f, a) log2 P(f, a) / (P(f) P(a))

For templates of arcs, a is whether an arc is a gold one; P counts arcs, of words with a gold head.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm._jit import Floats, Ints, Keys, kernel
from spacy_ssvm.features.arc_keys import Arcs, fill_arc_keys, one_of
from spacy_ssvm.features.arcs import CompiledArcTemplates, make_sides
from spacy_ssvm.features.extraction import CompiledTemplates, fill_keys
from spacy_ssvm.features.index import empty_slots, find_slot

_LABELS = np.uint64(0xC2B2AE3D27D4EB4F)


class Statistics(NamedTuple):
    """By template."""

    features: Ints  #: int64 [T]: how many different ones there are
    gains: Floats  #: float64 [T]: the information gain, in bits


@kernel
def _plogp_sum(slots: Keys) -> float:
    """sum n log2 n over all counts n."""
    total = 0.0
    for slot in range(len(slots)):
        if slots[slot, 1] > np.uint64(0):
            n = np.float64(slots[slot, 1])
            total += n * np.log2(n)
    return total


@kernel
def _measure(
    template: CompiledTemplates,
    attributes: Keys,
    sentence_starts: Ints,
    gold: Ints,
    priors: Floats,
    slots: Keys,
    joint: Keys,
) -> tuple[int, float]:
    """The features and the gain of one template; slots and joint are empty tables."""
    features, annotated = 0, priors.sum()
    unlabelled = 0.0  # sum of log2 P(a), over all that fires
    keys = np.empty(1, dtype=np.uint64)
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        for t in range(start, end):
            fill_keys(template, attributes, start, end, t, keys)
            if keys[0] == np.uint64(0):
                continue
            slot = find_slot(slots, keys[0])
            features += slots[slot, 0] == np.uint64(0)
            slots[slot, 0] = keys[0]
            if gold[t] < 0:
                continue
            slots[slot, 1] += np.uint64(1)
            key = (keys[0] ^ np.uint64(gold[t] + 1)) * _LABELS
            key ^= key >> np.uint64(29)
            slot = find_slot(joint, key)
            joint[slot, 0] = key
            joint[slot, 1] += np.uint64(1)
            unlabelled += np.log2(priors[gold[t]] / annotated)
    if annotated == 0:
        return features, 0.0
    # Of counts: n(f,a) log2 n(f,a) - n(f,a) log2 n(f) - n(f,a) log2 P(a), where N cancels.
    return features, (_plogp_sum(joint) - _plogp_sum(slots) - unlabelled) / annotated


def measure_templates(
    templates: CompiledTemplates, attributes: Keys, sentence_starts: Ints, gold: Ints, K: int
) -> Statistics:
    """Count the features of each template, and measure what they tell of the labels.

    attributes: uint64 [tokens, columns]; gold: int64 [tokens], a label, or -1 for none.
    """
    priors = np.bincount(gold[gold >= 0], minlength=K).astype(np.float64)
    T = len(templates.seeds)
    features, gains = np.zeros(T, dtype=np.int64), np.zeros(T)
    slots, joint = empty_slots(len(gold)), empty_slots(len(gold))
    for m in range(T):
        slots[:] = joint[:] = 0
        one = templates._replace(
            seeds=templates.seeds[m : m + 1], part_starts=templates.part_starts[m : m + 2]
        )
        features[m], gains[m] = _measure(
            one, attributes, sentence_starts, gold, priors, slots, joint
        )
    return Statistics(features, gains)


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
        sides = make_sides(template, attributes, start, node_starts[i + 1])
        keys = np.empty(len(sides.head), dtype=np.uint64)
        owners = np.empty(len(keys), dtype=np.int64)
        for arc in range(first, last):
            h, m = arcs.heads[arc], arcs.dependents[arc]
            count = fill_arc_keys(template, sides, h, m, wanted, keys, owners)
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
    """Count the features of each template on some arcs, and measure what they tell.

    templates: by ``compile_arc_keys``. attributes: uint64 [nodes, columns]; node_starts: int64
        [sentences + 1]; gold: int64 [nodes], the head, as a node of the sentence, or -1.
    """
    heads = gold[np.repeat(node_starts[:-1], np.diff(arcs.starts)) + arcs.dependents]
    priors = np.bincount((heads == arcs.heads)[heads >= 0], minlength=2).astype(np.float64)
    T, B = len(templates.head.seeds), len(templates.between)
    features, gains = np.zeros(T, dtype=np.int64), np.zeros(T)
    slots = empty_slots(len(heads))
    for t in range(T):
        if t == T - B:
            between = np.abs(arcs.heads - arcs.dependents).sum(dtype=np.int64)
            slots = empty_slots(int(between))
        slots[:] = 0
        features[t], gains[t] = _measure_arcs(
            one_of(templates, t), attributes, node_starts, gold, arcs, priors, slots
        )
    return Statistics(features, gains)
