"""Tests of ``spacy_ssvm/solvers/working_sets.py``."""

import brute
import naive
import numpy as np
import pytest
from hypothesis import given
from marks import compiled_only
from referee import (
    Referee,
    all_numbers,
    check_expansion,
    checked,
    constraints,
    regularization,
    start,
    trained,
)

from spacy_ssvm.chains.problem import hamming_costs
from spacy_ssvm.solvers.dual_coordinate_descent import inner_pass
from spacy_ssvm.solvers.working_sets import pack

pytestmark = pytest.mark.uncompiled


@checked
@given(naive.chains(), regularization)
def test_stored_constraints_are_structures_of_their_example_and_all_different(chains, C):
    run = start(Referee(chains, C=C).problem(), chains.rows, C=C)
    costs = hamming_costs(chains.K)
    for _ in range(5):
        run.epoch(all_numbers(run))
    for i, (features, gold) in enumerate(zip(chains.features, chains.gold, strict=True)):
        structures = [
            (naive.cost(costs, gold, y), naive.difference(chains.K, features, gold, y))
            for y in brute.label_sequences(len(gold), chains.K)
        ]
        stored = [(delta, phi) for _, delta, phi in constraints(run, i)]
        assert all(constraint in structures for constraint in stored)
        assert all(constraint not in stored[:m] for m, constraint in enumerate(stored))


@pytest.mark.parametrize("passes", [1, 3])
def test_ssvm_is_light_after_passes_over_the_stored_constraints(passes):
    """[CY13 Alg. 3]: r passes without inference, each in an order of its own, then one with it."""
    chains = naive.random_chains(1, K=3, rows=8, examples=8, length=3)
    run = trained(chains, 3, variant="ssvm", inner_passes=passes)
    twin = trained(chains, 0, variant="light")
    for _ in range(3):
        for _ in range(passes):
            inner_pass(twin._order.permutation(8), twin.sets, twin._state)
        twin.epoch(all_numbers(twin))
    assert run.w.tobytes() == twin.w.tobytes()


def test_constraints_below_delta_are_not_stored():
    chains = naive.Chains(2, 1, [[[0]]], [[1]])
    problem = Referee(chains, C=1.0).problem()
    run = start(problem, 1, C=1.0, delta=1.01)
    assert run.epoch(np.array([0])) == 1.0
    assert constraints(run, 0) == []
    run = start(problem, 1, C=1.0, delta=0.99)
    assert run.epoch(np.array([0])) == 1.0
    assert len(constraints(run, 0)) == 1


@compiled_only
def test_working_sets_survive_packing():
    """Packed after each epoch or only when there is no room: the same bytes."""
    chains = naive.random_chains(3, K=4, rows=40, examples=300, length=8)
    run, packed = trained(chains, 0), trained(chains, 0)
    for _ in range(8):
        run.epoch(all_numbers(run))
        packed.epoch(all_numbers(packed))
        before = [constraints(packed, i) for i in all_numbers(packed)]
        pack(packed.sets)
        assert [constraints(packed, i) for i in all_numbers(packed)] == before
        assert packed.sets.used[2:4].tolist() == [0, 0]
        rest = [v for own in before for *_, phi in own for v in phi.values() if abs(v) != 1]
        assert packed.sets.used[4] == len(rest)
        assert packed.sets.used[1] == sum(len(phi) for own in before for _, _, phi in own)
        assert packed.sets.used[0] == sum(map(len, before))
    assert run.sets.used[0] > 1000
    assert run.w.tobytes() == packed.w.tobytes()
    check_expansion(run)
    check_expansion(packed)


def test_constraints_whose_dual_variable_becomes_0_leave():
    chains = naive.random_chains(4, K=3, rows=4, examples=10, length=3)
    run = trained(chains, 30)
    live = sum(len(constraints(run, i)) for i in all_numbers(run))
    assert run.sets.used[2] > 0
    assert run.sets.used[0] - run.sets.used[2] == live
