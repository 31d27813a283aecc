"""Tests of ``spacy_ssvm/solvers/perceptron.py``."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import given
from referee import all_numbers
from small_problems import checked, naive_loss, small, started

from spacy_ssvm.objective import PERCEPTRON_LOSS
from spacy_ssvm.solvers.perceptron import Perceptron

pytestmark = pytest.mark.uncompiled


@checked
@given(small)
def test_the_perceptron_takes_the_steps_of_its_definition(chains):
    run = started(Perceptron(), chains)
    w = np.zeros(len(run.w))
    for _ in range(3):
        for i in all_numbers(run):
            loss = run.epoch(np.array([i]))
            gold = chains.gold[i]
            if not gold:
                continue
            assert loss == pytest.approx(naive_loss(chains, i, w, PERCEPTRON_LOSS), abs=1e-9)
            change = run._averaged.w - w
            candidates = [
                naive.dense(naive.difference(chains.K, chains.features[i], gold, y), len(w))
                for y in brute.label_sequences(len(gold), chains.K)
            ]
            best = max(-w @ phi for phi in candidates)
            assert any(
                np.allclose(change, phi) and -w @ phi == pytest.approx(best) for phi in candidates
            )
            w = run._averaged.w.copy()
