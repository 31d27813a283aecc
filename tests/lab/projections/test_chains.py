"""Tests of ``spacy_ssvm/lab/projections/chains.py``."""

from copy import copy

import brute
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import gradient_of
from referee import Referee, checked

from spacy_ssvm.lab.projections import with_projection
from spacy_ssvm.lab.projections.chains import path, project

pytestmark = pytest.mark.uncompiled


def projected(problem, i, w, step, z, *, complete=False):
    """What the oracle makes of z: z', the direction, F_i z' - phi(x_i, y_i) and the cost."""
    moved, direction = z.copy(), np.empty(len(z))
    sums, cost, _ = project(problem.examples(), i, w, step, complete, moved, direction)
    indices, values = gradient_of(problem, i, sums)
    difference = np.zeros(len(w))
    difference[indices] = values
    return moved, direction, difference, cost


@checked
@given(st.data(), naive.chains(), st.integers(0, 99))
def test_projections_are_the_closest_flows(data, chains, seed):
    """No path lies on the far side; features and costs are those of the mixture of paths."""
    random, K = np.random.default_rng(seed), chains.K
    legality = np.where(random.random((K + 2, K)) < 0.2, -np.inf, 0.0)
    legality[:, 0] = legality[0] = 0.0
    referee = Referee(chains, legality=legality, C=1.0)
    problem = with_projection(referee.problem())
    w = random.normal(size=referee.size)
    for i, gold in enumerate(chains.gold):
        n, starts = len(gold), problem.part_starts
        legal = brute.legal_sequences(n, legality)
        if n == 0 or tuple(gold) not in legal:
            continue
        paths = np.empty((len(legal), starts[i + 1] - starts[i]))
        for row, y in zip(paths, legal, strict=True):
            path(np.array(y), K, row)
        step = data.draw(st.sampled_from([0.0, 0.1, 3.0]))
        shares = random.dirichlet(np.ones(len(legal)))
        z = shares @ paths
        moved, direction, difference, cost = projected(problem, i, w, step, z)
        phi, delta = referee.structures[i]
        np.testing.assert_allclose(
            (paths - paths[legal.index(tuple(gold))]) @ direction, delta - phi @ w, atol=1e-9
        )
        assert ((paths - moved) @ (z + step * direction - moved)).max() <= 1e-8
        shares, *_ = np.linalg.lstsq(paths.T, moved, rcond=None)
        np.testing.assert_allclose(shares @ paths, moved, atol=1e-8)
        np.testing.assert_allclose(difference, -shares @ phi, atol=1e-8)
        assert cost == pytest.approx(shares @ delta, abs=1e-8)
        assert moved.min() >= 0
        again = projected(problem, i, w, 0.0, moved)[0]
        np.testing.assert_allclose(again, moved, atol=1e-9)


def test_the_start_is_the_gold_path():
    chains = naive.random_chains(0, K=3, rows=4, examples=3, length=3)
    problem = with_projection(Referee(chains, C=1.0).problem())
    w = np.random.default_rng(0).normal(size=(5 + 4) * 3)
    for i, gold in enumerate(chains.gold):
        size = np.diff(problem.part_starts)[i]
        z, expected = np.full(size, 7.0), np.empty(size)
        path(np.array(gold), 3, expected)
        found, _, difference, cost = projected(problem, i, w, 0.0, z, complete=True)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(difference, 0.0, atol=1e-12)
        assert cost == pytest.approx(0.0, abs=1e-12)


def test_all_else_is_that_of_the_problem():
    problem = Referee(naive.random_chains(0, K=3, rows=4, examples=3, length=3), C=1.0).problem()
    found = copy(with_projection(problem))
    assert problem.structure.project is None
    assert found.structure.project is project
    assert found.structure.decode is problem.structure.decode
    assert found.number_of_examples == 3
    assert found.max_entries == problem.max_entries
    assert with_projection(found) is found
