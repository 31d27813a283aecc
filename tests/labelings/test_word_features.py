"""Tests of ``spacy_ssvm/labelings/word_features.py``."""

from collections import Counter

import naive
import numpy as np
import pytest
from chain_scores import checked
from hypothesis import given
from hypothesis import strategies as st
from marks import PLAIN
from oracles import difference_of, gradient_of
from planted_chains import RUNS, Corpus, compare_weights

from spacy_ssvm.chains.oracle import (
    decode,
    expect,
)
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.k_best.chains import k_best_decode
from spacy_ssvm.lab.projections.chains import part_starts, project


@pytest.mark.parametrize("settings", RUNS)
@pytest.mark.parametrize(
    ("K", "unknown", "reals"),
    [
        (4, 0.0, 0),
        pytest.param(4, 0.4, 0, marks=pytest.mark.uncompiled),
        pytest.param(4, 0.2, 3, marks=pytest.mark.uncompiled),
        pytest.param(40, 0.0, 0, marks=pytest.mark.uncompiled),
    ],
)
def test_lazy_rows_and_scales_give_the_weights_of_all_rows_and_none(settings, K, unknown, reals):
    sentences = 6 if PLAIN and K == 40 else 60
    # With other seeds, rounding may break a tie.
    corpus = Corpus(sentences, seed=2, K=K, unknown=unknown, reals=reals)
    compare_weights(settings, corpus.lazy(), *corpus.eager(), first=(K + 2) * K, width=K)


def with_reals(chains: naive.Chains, reals: int, scales: np.ndarray) -> ChainProblem:
    """The same problem, whose first rows are real-valued features: how often they fire, scaled."""
    problem = ChainProblem(chains.K)
    problem.real_rows = np.arange(reals, dtype=np.int32)
    tokens = [token for example in chains.features for token in example]
    counts = [[Counter(token)[row] * scales[row] for row in range(reals)] for token in tokens]
    others = naive.Chains(
        chains.K,
        chains.rows,
        [[[row for row in token if row >= reals] for token in e] for e in chains.features],
        chains.gold,
    )
    values = np.array(counts, dtype=np.float32).reshape(len(tokens), reals)
    problem.append(*others.arrays(), values)
    return problem


def entries(indices: np.ndarray, values: np.ndarray) -> dict[int, float]:
    """A sparse vector that an oracle wrote."""
    return dict(zip(indices.tolist(), values.tolist(), strict=True))


def answers(problem: ChainProblem, w: np.ndarray) -> tuple[list[dict[int, float]], list[float]]:
    """What the oracles say of all examples: vectors, and numbers."""
    vectors: list[dict[int, float]] = []
    numbers: list[float] = []
    examples = problem.examples()
    for i in range(problem.number_of_examples):
        y, *rest = decode(examples, i, w, 1.0, False)
        vectors.append(entries(*difference_of(problem, i, y)))
        numbers += rest
        ys, costs = k_best_decode(examples, i, w, 1.0, 2, False)
        vectors += [entries(*difference_of(problem, i, y)) for y in ys]
        numbers += costs.tolist()
        z, *rest = expect(examples, i, w, 1.0, 1.0, False)
        vectors.append(entries(*gradient_of(problem, i, z)))
        numbers += rest
        parts = np.zeros(int(np.diff(part_starts(examples))[i]))
        z, *rest = project(examples, i, w, 0.5, True, parts, np.zeros_like(parts))
        vectors.append(entries(*gradient_of(problem, i, z)))
        numbers += rest
    return vectors, numbers


@pytest.mark.uncompiled
@checked
@given(naive.chains(shortest=1), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_real_values_scale_weights_and_differences(chains, seed, reals):
    """A value v with the weight w is a feature of weight v w, and its entries are v times those."""
    random = np.random.default_rng(seed)
    reals, first = min(reals, chains.rows), (chains.K + 2) * chains.K
    plain = ChainProblem(chains.K)
    plain.append(*chains.arrays())
    w = random.normal(size=plain.number_of_weights(chains.rows))
    scales = random.choice([-2.0, -0.5, 1.0, 4.0], size=reals)  # exact in binary
    by_weight = np.ones_like(w)
    by_weight[first : first + reals * chains.K] = np.repeat(scales, chains.K)
    vectors, numbers = answers(plain, w)
    found, same_numbers = answers(with_reals(chains, reals, scales), w / by_weight)
    assert same_numbers == pytest.approx(numbers)
    assert len(found) == len(vectors)
    for one, other in zip(found, vectors, strict=True):
        for index in one.keys() | other.keys():  # rounding may leave what cancels out
            expected = other.get(index, 0.0) * by_weight[index]
            assert one.get(index, 0.0) == pytest.approx(expected, abs=1e-6)


@pytest.mark.uncompiled
def test_examples_that_are_kept_keep_their_real_values():
    problem = ChainProblem(2)
    problem.real_rows = np.array([0, 1], dtype=np.int32)
    chains = naive.Chains(2, 2, [[[], []], [[]], [[], [], []]], [[0, 1], [1], [0, 0, 1]])
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    problem.append(*chains.arrays(), values)
    problem.keep(np.array([2, 0]))
    np.testing.assert_array_equal(problem.examples().features.reals, values[[3, 4, 5, 0, 1]])


@pytest.mark.uncompiled
def test_rows_of_real_values_are_in_use_and_get_other_numbers():
    problem = ChainProblem(2)
    problem.real_rows = np.array([3, 1], dtype=np.int32)
    chains = naive.Chains(2, 6, [[[0, 5], [5]]], [[0, 1]])
    problem.append(*chains.arrays(), np.ones((2, 2), dtype=np.float32))
    counts = problem.count_rows(6)
    assert (counts > 0).tolist() == [True, True, False, True, False, True]
    assert counts[[3, 1]].min() > counts[5] == 2  # features of all words
    problem.keep_rows(counts > 0)
    assert problem.real_rows.tolist() == [2, 1]
    features = problem.examples().features
    assert features.real_rows.tolist() == [2, 1]
    assert features.rows.tolist() == [0, 3, 3]
