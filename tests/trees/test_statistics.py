"""Tests of ``spacy_ssvm/trees/statistics.py``."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pipelines import PARSER
from planted_trees import Corpus, values_of

from spacy_ssvm.trees.templates import (
    ArcTemplate,
    in_order,
)

pytestmark = pytest.mark.filterwarnings(PARSER.warning or "")


@pytest.mark.uncompiled
@pytest.mark.parametrize("unknown", [0.0, 0.3])
@pytest.mark.parametrize("between", [0, 1, 2, 6])
def test_information_gain_and_counts(unknown: float, between: int) -> None:
    corpus = Corpus(12, unknown=unknown)
    plain = [template for template in corpus.templates if template.between is None]
    names = pairwise(["r0", "n0", "r1", "n1", "r0", "r1", "n0"])
    texts = [f"head.{one}+between.{other}+dependent.{one}" for one, other in names]
    corpus.templates = in_order([*plain, *map(ArcTemplate.parse, texts[:between])])
    found = corpus.lazy().statistics
    counts: list[Counter[Any]] = [Counter() for _ in corpus.templates]
    right: list[Counter[Any]] = [Counter() for _ in corpus.templates]
    features: list[set[Any]] = [set() for _ in corpus.templates]
    known = []
    for nodes, heads, h, m in corpus.arcs():
        if heads[m] >= 0:
            known.append(heads[m] == h)
        for t, value in values_of(corpus.templates, corpus.NAMES, nodes, h, m):
            features[t].add(value)
            if heads[m] >= 0:
                counts[t][value] += 1
                right[t][value] += heads[m] == h
    total, prior = len(known), np.mean(known)
    for t in range(len(corpus.templates)):
        assert found.features[t] == len(features[t])
        gain = 0.0
        for value, n in counts[t].items():
            for joint, p in ((right[t][value], prior), (n - right[t][value], 1 - prior)):
                if joint:
                    gain += joint / total * np.log2(joint / n / p)
        assert found.gains[t] == pytest.approx(gain)
