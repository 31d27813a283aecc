"""The k best label sequences: Viterbi with lists [Seshadri & Sundberg 1994]."""

import numpy as np

from spacy_ssvm.chains.layout import Examples
from spacy_ssvm.chains.oracle import complete_example, score_example
from spacy_ssvm.chains.scores import add_costs, cost, is_annotated
from spacy_ssvm.kernels.compile import inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints


@kernel
def k_best(emissions: Floats, transitions: Floats, k: int) -> tuple[Ints, Floats]:
    """The k best label sequences, best first.

    Returns (sequences int64 [m, n], scores float64 [m]), where m <= k is the number of
    sequences with a score above minus infinity. All sequences are different.
    Raises ValueError where k is below 1.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    n, K = emissions.shape
    if n == 0:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    best = np.full((n, K, k), -np.inf)  # the k best prefixes for each last label
    previous = np.full((n, K, k), -1, dtype=np.int64)  # label * k + rank of the prefix before
    for label in range(K):
        best[0, label, 0] = transitions[K, label] + emissions[0, label]
    for t in range(1, n):
        for label in range(K):
            for j in range(K):
                for rank in range(k):
                    score = best[t - 1, j, rank] + transitions[j, label] + emissions[t, label]
                    if not score > best[t, label, k - 1]:
                        break  # prefixes are sorted: none of the others enters
                    _insert(best[t, label], previous[t, label], score, j * k + rank)
    scores = np.full(k, -np.inf)
    last = np.full(k, -1, dtype=np.int64)
    for j in range(K):
        for rank in range(k):
            score = best[n - 1, j, rank] + transitions[K + 1, j]
            if not score > scores[k - 1]:
                break
            _insert(scores, last, score, j * k + rank)
    found = 0
    while found < k and scores[found] > -np.inf:
        found += 1
    sequences = np.empty((found, n), dtype=np.int64)
    for m in range(found):
        state = last[m]
        for t in range(n - 1, -1, -1):
            sequences[m, t] = state // k
            state = previous[t, state // k, state % k]
    return sequences, scores[:found].copy()


@inner_kernel
def _insert(scores: Floats, states: Ints, score: float, state: int) -> None:
    """Insert a score into a list sorted in descending order, after its equals; drop the last."""
    rank = len(scores) - 1
    while rank > 0 and scores[rank - 1] < score:
        scores[rank] = scores[rank - 1]
        states[rank] = states[rank - 1]
        rank -= 1
    scores[rank] = score
    states[rank] = state


@kernel
def k_best_decode(
    examples: Examples, i: int, w: Floats, gamma: float, k: int, complete: bool
) -> tuple[Ints, Floats]:
    """See ``Structure.k_best_decode``: Viterbi with lists."""
    if not is_annotated(examples, i):
        return np.empty((0, 0), dtype=np.int64), np.empty(0)
    emissions, transitions = score_example(examples, i, w)
    complete_example(examples, i, complete, emissions, transitions)
    add_costs(examples, i, gamma, emissions)
    sequences, _ = k_best(emissions, transitions, k)
    costs = np.empty(len(sequences))
    for m in range(len(sequences)):
        costs[m] = cost(examples, i, sequences[m])
    return sequences, costs
