"""Posteriors of links against enumeration of all alignments, and EM against dictionaries."""

from itertools import product
from math import log

import numpy as np
import pytest

from spacy_ssvm.align.bitext.kernels import fill_steps, hmm_posteriors, model1_posteriors

pytestmark = pytest.mark.uncompiled


def naive_steps(jumps, m, null):
    """p(next position | last), by classes of widths; positions from 1, 0 for the start."""
    widest = len(jumps) // 2
    steps = np.zeros((m + 1, m))
    for i in range(m + 1):
        classes = [max(-widest, min(widest, j - i)) for j in range(1, m + 1)]
        total = sum(jumps[width + widest] for width in set(classes))
        for j, width in enumerate(classes):
            steps[i, j] = (1 - null) * jumps[width + widest] / total / classes.count(width)
    return steps


def enumerated(emissions, steps, null):
    """Posteriors, expected moves, and the log-likelihood, over all alignments."""
    n, m = emissions.shape[0], emissions.shape[1] - 1
    posteriors, moves, total = np.zeros(emissions.shape), np.zeros(steps.shape), 0.0
    for a in product(range(m + 1), repeat=n):
        last, p, taken = 0, 1.0, []
        for k, j in enumerate(a):
            p *= emissions[k, j] * (steps[last, j - 1] if j else null)
            if j:
                taken.append((last, j - 1))
                last = j
        total += p
        for k, j in enumerate(a):
            posteriors[k, j] += p
        for i, j in taken:
            moves[i, j] += p
    return posteriors / total, moves / total, log(total)


@pytest.mark.parametrize(("m", "widest"), [(1, 1), (2, 1), (5, 2), (4, 8), (7, 3)])
def test_steps_follow_the_classes_of_widths(m, widest):
    jumps = np.random.default_rng(m).dirichlet(np.ones(2 * widest + 1))
    steps = np.empty((m + 1, m))
    fill_steps(jumps, 0.25, steps)
    np.testing.assert_allclose(steps, naive_steps(jumps, m, 0.25), rtol=1e-12)
    np.testing.assert_allclose(steps.sum(axis=1), 0.75)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (3, 1), (4, 3), (3, 4)])
def test_hmm_posteriors_are_those_of_all_alignments(n, m):
    rng = np.random.default_rng(10 * n + m)
    emissions = rng.random((n, m + 1)) ** 4
    steps = naive_steps(rng.dirichlet(np.ones(5)), m, 0.3)
    posteriors, moves = np.full((n, m + 1), np.nan), np.zeros((m + 1, m))
    found = hmm_posteriors(emissions, steps, 0.3, posteriors, moves)
    expected = enumerated(emissions, steps, 0.3)
    np.testing.assert_allclose(posteriors, expected[0], rtol=1e-10)
    np.testing.assert_allclose(moves, expected[1], rtol=1e-10)
    assert found == pytest.approx(expected[2])
    without = np.empty((n, m + 1))
    hmm_posteriors(emissions, steps, 0.3, without, np.empty((0, 0)))
    np.testing.assert_array_equal(without, posteriors)


def test_hmm_posteriors_of_long_sentences_do_not_underflow():
    emissions = np.full((400, 3), 1e-40)
    posteriors = np.empty((400, 3))
    found = hmm_posteriors(emissions, naive_steps([0.2, 0.3, 0.5], 2, 0.3), 0.3, posteriors,
                           np.empty((0, 0)))  # fmt: skip
    assert found == pytest.approx(400 * log(1e-40))
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)


def test_model1_posteriors_are_shares():
    emissions = np.array([[1.0, 2.0, 1.0], [0.0, 0.5, 0.0]])
    posteriors = np.empty((2, 3))
    found = model1_posteriors(emissions, posteriors)
    assert posteriors.tolist() == [[0.25, 0.5, 0.25], [0.0, 1.0, 0.0]]
    assert found == pytest.approx(sum(map(log, (4 / 3, 0.5 / 3))))
