"""Tests of ``spacy_ssvm/features/statistics.py``."""

import numpy as np
import pytest
from planted_chains import Corpus

from spacy_ssvm.features.extraction import compile_templates, extract_keys
from spacy_ssvm.features.statistics import measure_templates


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
