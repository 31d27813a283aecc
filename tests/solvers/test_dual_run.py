"""Tests of ``spacy_ssvm/solvers/dual_run.py``."""

import naive
import pytest
from marks import compiled_only
from referee import all_numbers

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
