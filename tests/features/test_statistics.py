"""Tests of ``spacy_ssvm/features/statistics.py``."""

import numpy as np
import pytest
from planted_chains import Corpus

from spacy_ssvm.features.extraction import compile_templates, extract_keys
from spacy_ssvm.features.statistics import (
    Statistics,
    measure_rows,
    measure_templates,
    with_reals,
)


@pytest.mark.uncompiled
def test_information_gain_and_counts():
    corpus = Corpus(40, unknown=0.2)
    compiled = compile_templates(corpus.templates, corpus.names)
    found = measure_templates(compiled, corpus.attributes, corpus.starts, corpus.gold, corpus.K)
    keys = np.empty((len(corpus.gold), len(corpus.templates)), dtype=np.uint64)
    extract_keys(compiled, corpus.attributes, corpus.starts, keys)
    known = corpus.gold >= 0
    for m in range(len(corpus.templates)):
        assert found.features[m] == len(set(keys[:, m].tolist()))
        gain = 0.0
        for f in set(keys[known, m].tolist()):
            for a in range(corpus.K):
                fires, is_a = keys[known, m] == f, corpus.gold[known] == a
                if joint := (fires & is_a).mean():
                    gain += joint * np.log2(joint / (fires.mean() * is_a.mean()))
        assert found.gains[m] == pytest.approx(gain)


def test_real_values_gain_what_being_above_the_median_tells():
    random = np.random.default_rng(3)
    reals = random.normal(size=(41, 3)).astype(np.float32)
    gold = (reals[:, 0] > 0.1).astype(np.int64) + (reals[:, 2] > 1)
    gold[::7] = -1
    known = gold >= 0
    gains = []
    for d in range(3):
        is_high = reals[known, d] > np.median(reals[known, d])
        gain = 0.0
        for side in (False, True):
            for a in range(3):
                is_a = gold[known] == a
                if joint := ((is_high == side) & is_a).mean():
                    gain += joint * np.log2(joint / ((is_high == side).mean() * is_a.mean()))
        gains.append(gain)
    others = Statistics(np.array([5]), np.array([0.25]))
    found = with_reals(others, reals, np.array([1, 1, 2], dtype=np.int32), gold, 3)
    assert found.features.tolist() == [5, 2, 1]
    assert found.gains == pytest.approx([0.25, (gains[0] + gains[1]) / 2, gains[2]])
    none = with_reals(others, reals, np.array([1, 1, 2], dtype=np.int32), np.full(41, -1), 3)
    assert none.gains.tolist() == [0.25, 0, 0]


def test_rows_gain_by_hand() -> None:
    """Eight units: two templates, one of which tells all about four of them."""
    labels = np.array([1, 1, 0, 0, 0, 0, -1, -1])
    features = [[0, 2], [0, 2], [1, 2], [1, 2], [2], [2], [0, 1, 2], []]
    starts = np.cumsum([0, *map(len, features)])
    rows, templates = np.concatenate(features).astype(np.int32), np.array([0, 0, 1], np.int32)
    found = measure_rows(starts, rows, labels, templates, 3)
    assert found.features.tolist() == [2, 1, 0]
    # p(feature, class) log2 p(class | feature) / p(class), of six units that are known
    gain = (2 * np.log2(1 / (2 / 6)) + 2 * np.log2(1 / (4 / 6))) / 6
    assert found.gains.tolist() == pytest.approx([gain, 0.0, 0.0])
    none = measure_rows(starts, rows, np.full(8, -1), templates, 3)
    assert none.features.tolist() == [2, 1, 0]
    assert none.gains.tolist() == [0.0] * 3
