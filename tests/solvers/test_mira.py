"""Tests of ``spacy_ssvm/solvers/mira.py``."""

import naive
import numpy as np
import pytest
from hypothesis import given
from referee import all_numbers
from small_problems import (
    checked,
    naive_loss,
    regularization,
    small,
    started,
)

from spacy_ssvm.objective import HINGE
from spacy_ssvm.solvers.mira import Mira

pytestmark = pytest.mark.uncompiled


@checked
@given(small, regularization)
def test_mira_takes_the_steps_of_its_definition(chains, C):
    """The violation is made up for, or the step is C long."""
    run = started(Mira(C=C), chains)
    for _ in range(3):
        for i in all_numbers(run):
            w = run._averaged.w.copy()
            violation = run.epoch(np.array([i]))
            if not chains.gold[i]:
                continue
            assert violation == pytest.approx(naive_loss(chains, i, w, HINGE), abs=1e-9)
            change = run._averaged.w - w
            norm = change @ change  # tau^2 |Phi|^2
            if violation == 0:
                assert norm == 0
            else:
                tau = norm / violation  # where tau < C, tau |Phi|^2 = H
                assert norm <= C * violation + 1e-9
                assert tau <= C + 1e-9


def test_without_loss_augmentation_mira_compares_with_the_prediction():
    chains = naive.random_chains(4, K=3, rows=6, examples=10, length=4)
    runs = [started(Mira(seed=1, loss_augmented=flag), chains) for flag in (True, False)]
    for run in runs:
        run.epoch(all_numbers(run))
    assert not np.allclose(runs[0].w, runs[1].w)
