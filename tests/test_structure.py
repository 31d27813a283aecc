"""Tests of ``spacy_ssvm/structure.py``: the interface, on each structure.

Decoding reads the weights and the examples, and writes nothing but the completions of partial
gold: what threads and several machines rely on, and weights that are allocated on first use.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import naive
import numpy as np
import planted_chains
import planted_trees
import pytest
from small_cuts import planted_cuts
from small_matchings import POSSIBLE, SURE, WRONG, made
from written_trees import BEHIND, ROOT, Trees

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.lab.k_best import with_k_best
from spacy_ssvm.lab.projections import with_projection
from spacy_ssvm.solvers.prox_gradient import ProxGradient
from spacy_ssvm.weights.lazy import LazyWeights

#: Arrays that decoding may change.
COMPLETIONS = {"completions", "is_complete"}


def chains() -> tuple[Any, int]:
    drawn = naive.random_chains(1, K=3, rows=8, examples=12, length=6)
    problem = ChainProblem(3)
    starts, rows, token_starts, gold = drawn.arrays()
    gold[::3] = problem.any_label
    problem.append(starts, rows, token_starts, gold)
    return problem, 8


def trees(kind: str) -> tuple[Any, int]:
    random = np.random.default_rng(0)
    sentences = []
    for n in (3, 5, 7, 8):
        words = random.integers(1, 9, (n, 2)).tolist()
        nodes = np.array([[ROOT] * 2, *words, [BEHIND] * 2], dtype=np.uint64)
        sentences.append((nodes, [-1, 0, *[1] * (n - 2), -1]))
    problem = Trees(kind, sentences).problem()
    return problem, problem.features.size


def matchings() -> tuple[Any, int]:
    gold = [[SURE, WRONG, POSSIBLE], [WRONG, POSSIBLE, SURE]]
    small = made(gold, gold[::-1], fertilities=(2, 2))
    return small.problem(), small.size


def cuts() -> tuple[Any, int]:
    drawn = planted_cuts()
    return drawn.problem(), drawn.size


def learned(problem: Any) -> tuple[Any, int]:
    """A problem with lazily allocated weights, a few allocated, without room for more."""
    run = ProxGradient(budget=2).start(problem)
    run.grow(0)
    run.epoch(np.arange(problem.number_of_examples // 4))
    problem.store.table.requested[:] = 0
    problem.store._resize(int(problem.store.table.counts[1]))
    return problem, 0


PROBLEMS = {
    "chains": chains,
    "lazy chains": lambda: learned(planted_chains.Corpus(20, unknown=0.3).lazy()),
    "trees": lambda: trees("first"),
    "trees of second order": lambda: trees("second"),
    "trees that may cross": lambda: trees("crossing"),
    "lazy trees": lambda: learned(planted_trees.Corpus(20, unknown=0.3).lazy()),
    "matchings": matchings,
    "cuts": cuts,
}


@pytest.fixture(params=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> tuple[Any, np.ndarray]:
    """A problem with partial gold, and weights."""
    made, rows = PROBLEMS[request.param]()
    if made.structure.is_lazy:
        return made, made.store.w
    w = np.random.default_rng(0).normal(size=made.number_of_weights(rows))
    w[: made.nonnegative] = abs(w[: made.nonnegative])
    w[-1] *= not request.param.startswith("trees")  # what is no feature
    return made, w


def bytes_of(arrays: Any) -> dict[str, bytes]:
    """All arrays but those of completions, by their names in nested tuples."""
    found = {}
    for name, value in arrays._asdict().items():
        if hasattr(value, "_asdict"):
            found |= {f"{name}.{inner}": data for inner, data in bytes_of(value).items()}
        elif name not in COMPLETIONS and not isinstance(value, tuple):
            found[name] = np.asarray(value).tobytes()
    return found


def decoded(problem: Any, i: int, w: np.ndarray) -> list[Any]:
    """What all oracles but the differences return for an example."""
    problem = with_k_best(with_projection(problem))
    structure, examples = problem.structure, problem.examples()
    found = [*structure.decode(examples, i, w, 1.0, True)]
    if structure.expect is not None:
        found += structure.expect(examples, i, w, 1.0, 0.5, True)
    if structure.k_best_decode is not None:
        found += structure.k_best_decode(examples, i, w, 1.0, 3, True)
    if structure.project is not None and not structure.is_lazy:
        parts = np.zeros(int(np.diff(problem.part_starts)[i]))
        found += structure.project(examples, i, w, 0.5, True, parts, np.zeros_like(parts))
    return [np.array(value).tobytes() for value in found]


def test_decoding_changes_completions_alone(problem: tuple[Any, np.ndarray]) -> None:
    made, w = problem
    before, weights = bytes_of(made.examples()), w.copy()
    assert len(before) > 5
    for i in range(made.number_of_examples):
        decoded(made, i, w)
    assert bytes_of(made.examples()) == before
    np.testing.assert_array_equal(w, weights)


def test_threads_decode_the_same(problem: tuple[Any, np.ndarray]) -> None:
    made, w = problem
    numbers = range(made.number_of_examples)
    made.forget_completions()
    alone = [decoded(made, i, w) for i in numbers]
    made.forget_completions()
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda i: decoded(made, i, w), numbers))
    assert together == alone


@pytest.mark.parametrize("name", ["lazy chains", "lazy trees"])
def test_differences_allocate_weights(name: str) -> None:
    made, _ = PROBLEMS[name]()
    store: LazyWeights = made.store
    i = made.number_of_examples - 1
    y, *_ = made.structure.decode(made.examples(), i, store.w, 5.0, True)
    before = store.allocated
    indices, values = np.empty(made.max_entries, np.int32), np.empty(made.max_entries, np.float32)
    store.table.requested[:] = 10**5, 10**5
    store.reserve()
    made.structure.difference(made.examples(), i, y, indices, values)
    assert store.allocated > before
