"""Statistics of templates on a corpus: the number of features and the information gain.

The information gain of a template is, over its features f and the labels a [MSAF11 Eq. 16],

    IG_m = sum_f sum_a P(f, a) log2 P(f, a) / (P(f) P(a))

For templates of arcs, a is whether an arc is a gold one; P counts arcs, of words with a gold head.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import CompiledTemplates, fill_keys
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights
from spacy_ssvm.weights.hash_table import empty_slots, find_slot

_LABELS = np.uint64(0xC2B2AE3D27D4EB4F)


class Statistics(NamedTuple):
    """By template."""

    features: Ints  #: int64 [T]: the number of distinct features
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
    unlabelled = 0.0  # sum of log2 P(a), over all features that fire
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


def with_reals(
    statistics: Statistics, reals: Weights, templates: Rows, gold: Ints, K: int
) -> Statistics:
    """Add templates with real-valued features, which come after the others.

    A feature has no information gain of its own, since every word has it. That of its template is
    the mean, over the dimensions, of the gain of being above the median.
    reals: float32 [words, F]; templates: int32 [F], the template of each feature, rising.
    gold: int64 [words], a label, or -1 for none.
    """
    annotated = gold >= 0
    gains = np.zeros(len(templates))
    for d in range(len(templates)) if annotated.any() else ():
        values = reals[annotated, d]
        is_high = (values > np.median(values)).astype(np.int64)
        counts = np.bincount(2 * gold[annotated] + is_high, minlength=2 * K).reshape(K, 2)
        joint = counts / counts.sum()
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        some = joint > 0
        gains[d] = (joint[some] * np.log2(joint[some] / independent[some])).sum()
    numbers, widths = np.unique(templates, return_counts=True)
    means = [gains[templates == m].mean() for m in numbers]
    return Statistics(
        np.append(statistics.features, widths).astype(np.int64),
        np.append(statistics.gains, means).astype(np.float64),
    )


def measure_templates(
    templates: CompiledTemplates, attributes: Keys, sentence_starts: Ints, gold: Ints, K: int
) -> Statistics:
    """Count the features of each template, and measure their information gain on the labels.

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
