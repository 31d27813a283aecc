"""What tests ask the oracles of a problem."""

import numpy as np

from spacy_ssvm.structure import NEEDS_CAPACITY


def dense(indices, values, size):
    """A sparse vector with these entries as an array."""
    found = np.zeros(size)
    found[indices] = values
    return found


def written(oracle, problem, i, structure, values):
    """The indices and values that a difference writes into a buffer: each index once, no zeros.

    Where weights are allocated on first use, they are allocated.
    """
    indices = np.full(len(values), -7, dtype=np.int32)
    values[:] = np.nan
    size = oracle(problem.examples(), i, structure, indices, values)
    if size == NEEDS_CAPACITY:
        assert (indices == -7).all()
        problem.store.reserve()
        size = oracle(problem.examples(), i, structure, indices, values)
    assert 0 <= size <= len(values)
    indices, values = indices[:size], values[:size]
    assert len(np.unique(indices)) == size
    assert np.all(values != 0)
    return indices, values


def difference_of(problem, i, y):
    """Phi_i(y): indices and values."""
    room = np.empty(problem.max_entries, dtype=np.float32)
    return written(problem.structure.difference, problem, i, np.asarray(y, dtype=np.int64), room)


def gradient_of(problem, i, z):
    """E[phi(x_i, Y)] - phi(x_i, y_i), where Y has the expectations z: indices and values."""
    room = np.empty(problem.max_expected_entries)
    return written(problem.structure.expected_difference, problem, i, z, room)


def violator(problem, i, w, gamma=1.0, *, complete=False):
    """The indices and values of Phi_i(y), Delta_i(y) and whether the completion has changed.

    Of the y that ``decode`` finds; None for an example without gold annotation.
    """
    y, cost, recompleted = problem.structure.decode(problem.examples(), i, w, gamma, complete)
    return (*difference_of(problem, i, y), cost, recompleted) if len(y) else None
