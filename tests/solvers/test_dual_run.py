"""Tests of ``spacy_ssvm/solvers/dual_run.py``."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from marks import compiled_only
from referee import all_numbers
from small_problems import started

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe

pytestmark = pytest.mark.uncompiled


@compiled_only
@pytest.mark.parametrize(
    "solver",
    [
        DualCoordinateDescent(C=0.5),
        FrankWolfe(C=0.5),
        PairwiseFrankWolfe(C=0.5),
        CuttingPlane(C=0.5),
    ],
    ids=repr,
)
def test_an_example_that_fits_into_spare_capacity_is_learned(solver):
    chains = naive.random_chains(5, K=3, rows=8, examples=6, length=3)
    feature_starts, rows, token_starts, gold = chains.arrays()
    problem = ChainProblem(chains.K)
    run = solver.start(problem)
    for first, last in ((0, 3), (3, 5), (5, 6)):
        tokens = token_starts[first : last + 1]
        features = feature_starts[tokens[0] : tokens[-1] + 1]
        problem.append(
            features - features[0],
            rows[features[0] : features[-1]],
            tokens - tokens[0],
            gold[tokens[0] : tokens[-1]],
        )
        run.grow(8)
        for _ in range(1000):
            run.epoch(all_numbers(run))
        assert run.objective().gap <= 1e-2


def test_small_updates_do_not_measure_the_exact_gap_each_time(monkeypatch):
    chains = naive.random_chains(1, K=3, rows=12, examples=20, length=4)
    run = started(DualCoordinateDescent(), chains)
    measured = []
    objective = run.objective
    monkeypatch.setattr(run, "objective", lambda: measured.append(1) or objective())
    monkeypatch.setattr(type(run), "gap", property(lambda _: 0.0))  # as if it was always small
    monkeypatch.setattr(run, "settings", replace(run.settings, tolerance=0.0))
    for _ in range(10):
        for i in range(20):
            run.epoch(np.array([i]))
    assert 0 < len(measured) <= 10
