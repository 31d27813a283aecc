"""Statistics of templates on a corpus: the number of features and the information gain.

The information gain of a template is, over its features f and the labels a [MSAF11 Eq. 16],

    IG_m = sum_f sum_a P(f, a) log2 P(f, a) / (P(f) P(a))

For templates of arcs and links, a is whether it is a gold one; P counts what has gold annotation.
"""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import CompiledTemplates, extract_keys
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights


class Statistics(NamedTuple):
    """By template."""

    features: Ints  #: int64 [T]: the number of distinct features
    gains: Floats  #: float64 [T]: the information gain, in bits


def information_gains(
    features: Ints, labels: Ints, priors: Ints, templates: Rows, T: int
) -> Floats:
    """The information gain of each template: float64 [T].

    features, labels: int64, where features fire: their numbers, and the label there, -1 for none.
    priors: int64 [K], how often there is each label, also where none of the features fires.
    templates: int32 [features], the template of each feature.
    """
    known, K, number = labels >= 0, len(priors), max(int(priors.sum()), 1)
    cells, counts = np.unique(features[known] * K + labels[known], return_counts=True)
    feature, label = cells // K, cells % K
    fired = np.bincount(feature, counts, minlength=len(templates))
    terms = counts * np.log2(counts * number / (fired[feature] * priors[label]))
    return np.bincount(templates[feature], terms, minlength=T) / number


def measure_rows(starts: Ints, rows: Rows, labels: Ints, templates: Rows, T: int) -> Statistics:
    """The statistics of templates whose features have rows.

    starts: int64 [units + 1]; rows: int32, those that fire at each unit, all different.
    labels: int64 [units], -1 for none. templates: int32 [rows], of T templates.
    """
    features = np.bincount(templates, minlength=T).astype(np.int64)
    where = rows.astype(np.int64), np.repeat(labels, np.diff(starts))
    priors = np.bincount(labels[labels >= 0])
    return Statistics(features, information_gains(*where, priors, templates, T))


def measure_keys(keys: Keys, labels: Ints, priors: Ints) -> tuple[int, float]:
    """The features of one template, and its information gain.

    keys: uint64, where it fires; 0 for no feature. labels, priors: as in ``information_gains``.
    """
    fires = keys != 0
    found, features = np.unique(keys[fires], return_inverse=True)
    one = np.zeros(len(found), dtype=np.int32)
    return len(found), float(information_gains(features, labels[fires], priors, one, 1)[0])


def measure_templates(
    templates: CompiledTemplates, attributes: Keys, sentence_starts: Ints, gold: Ints, K: int
) -> Statistics:
    """Count the features of each template, and measure their information gain on the labels.

    attributes: uint64 [tokens, columns]; gold: int64 [tokens], a label, or -1 for none.
    """
    priors = np.bincount(gold[gold >= 0], minlength=K)
    T = len(templates.seeds)
    features, gains = np.zeros(T, dtype=np.int64), np.zeros(T)
    keys = np.empty((len(gold), 1), dtype=np.uint64)
    for m in range(T):
        one = templates._replace(
            seeds=templates.seeds[m : m + 1], part_starts=templates.part_starts[m : m + 2]
        )
        extract_keys(one, attributes, sentence_starts, keys)
        features[m], gains[m] = measure_keys(keys[:, 0], gold, priors)
    return Statistics(features, gains)


def with_reals(
    statistics: Statistics, reals: Weights, templates: Rows, gold: Ints, K: int
) -> Statistics:
    """Add templates with real-valued features, which come after the others.

    A feature has no information gain of its own, since every word has it. That of its template is
    the mean, over the dimensions, of the gain of being above the median.
    reals: float32 [words, F]; templates: int32 [F], the template of each feature, rising.
    gold: int64 [words], a label, or -1 for none.
    """
    known = gold >= 0
    priors = np.bincount(gold[known], minlength=K)
    gains = np.zeros(len(templates))
    for d in range(len(templates)) if known.any() else ():
        values = reals[known, d]
        is_high = (values > np.median(values)).astype(np.int64)
        gains[d] = information_gains(is_high, gold[known], priors, np.zeros(2, np.int32), 1)[0]
    numbers, widths = np.unique(templates, return_counts=True)
    means = [gains[templates == m].mean() for m in numbers]
    return Statistics(
        np.append(statistics.features, widths).astype(np.int64),
        np.append(statistics.gains, means).astype(np.float64),
    )
