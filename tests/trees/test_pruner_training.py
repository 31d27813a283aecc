"""Tests of ``spacy_ssvm/trees/pruner_training.py``."""

import math
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import brute
import numpy as np
import pytest
from kernels import arc_rows
from pipelines import PARSER
from planted_trees import Trees
from written_trees import BEHIND, ROOT

from spacy_ssvm.trees.layout import Pruner
from spacy_ssvm.trees.pruner_training import PASSES, PrunerTrainer
from spacy_ssvm.trees.saved_model import PRUNER_BITS
from spacy_ssvm.trees.templates import ArcTemplate, compile_arc_templates

pytestmark = pytest.mark.filterwarnings(PARSER.warning or "")


@pytest.mark.uncompiled
def test_the_pruner_says_which_arcs_are_scored_and_gold_ones_always_are() -> None:
    random = np.random.default_rng(0)
    examples = []
    for _ in range(20):
        words = random.integers(1, 9, (5, 2)).tolist()
        nodes = np.array([[ROOT] * 2, *words, [BEHIND] * 2], dtype=np.uint64)
        examples.append((nodes, random.choice(brute.trees(5, True)).tolist()))
    everything = Trees(examples).lazy().arcs
    problem = Trees(examples, threshold=0.5).lazy()
    arcs = problem.arcs
    assert len(everything.heads) == 20 * 25
    assert 20 * 5 <= len(arcs.heads) < len(everything.heads)
    for i, (_, heads) in enumerate(examples):
        first, last = arcs.starts[i : i + 2]
        found = set(
            zip(arcs.heads[first:last].tolist(), arcs.dependents[first:last].tolist(), strict=True)
        )
        assert {(h, m) for m, h in enumerate(heads) if m} <= found


COLUMNS = ["lower", "tag"]
TEMPLATES = ["head.lower+dependent.tag+direction", "head.tag+between.tag+dependent.tag"]
SIZE = 2**PRUNER_BITS


class Learner:
    """A pruner with few templates, and one that is written out."""

    def __init__(self, seed: int, prior: Any = None) -> None:
        templates = [ArcTemplate.parse(text) for text in TEMPLATES]
        model: Any = SimpleNamespace(
            pruner=lambda w: Pruner(compile_arc_templates(templates, COLUMNS), SIZE, w, 1.0, 9)
        )
        self.templates = templates
        self.trainer = PrunerTrainer(model, seed, prior)
        self.random = np.random.default_rng(seed)

    def rows(self, nodes: Any, h: int, m: int) -> list[int]:
        return [row for row in arc_rows(self.templates, COLUMNS, nodes, SIZE, h, m) if row != SIZE]

    def log_likelihood(self, nodes: Any, heads: list[int], w: Any) -> float:
        n = len(nodes) - 2
        total = 0.0
        for m in range(1, n + 1):
            if heads[m] < 0:
                continue
            others = [h for h in range(n + 1) if h != m]
            scores = [math.fsum(w[row] for row in self.rows(nodes, h, m)) for h in others]
            total += scores[others.index(heads[m])] - math.log(sum(map(math.exp, scores)))
        return total

    def gradient(self, nodes: Any, heads: list[int], w: Any) -> dict[int, float]:
        """By finite differences."""
        n = len(nodes) - 2
        every = {r for m in range(1, n + 1) for h in range(n + 1) for r in self.rows(nodes, h, m)}
        found = {}
        for row in every:
            values = []
            for change in (1e-5, -1e-5):
                moved = dict(w) | {row: w[row] + change}
                values.append(self.log_likelihood(nodes, heads, defaultdict(float, moved)))
            found[row] = (values[0] - values[1]) / 2e-5
        return found


def drawn_sentences(seed: int, number: int = 4) -> list[tuple[Any, list[int]]]:
    random = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        n = int(random.integers(1, 5))
        words = random.integers(0, 6, (n, 2)).tolist()  # 0: no value
        nodes = np.array([[ROOT] * 2, *words, [BEHIND] * 2], dtype=np.uint64)
        heads = random.choice(brute.trees(n, True)).tolist()
        found.append((nodes, [h if random.random() < 0.8 else -1 for h in heads]))
    return found


def arrays_of(sentences: list[tuple[Any, list[int]]]) -> tuple[Any, Any, Any]:
    starts = np.cumsum([0, *(len(nodes) for nodes, _ in sentences)])
    heads = np.concatenate([[*heads, -1] for _, heads in sentences]).astype(np.int64)
    return np.concatenate([nodes for nodes, _ in sentences]), starts, heads


@pytest.mark.uncompiled
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_the_mean_of_steps_along_the_gradient(seed: int) -> None:
    """Of the log-likelihood of heads, each word by itself, known heads alone."""
    learner = Learner(seed)
    w: Any = defaultdict(float)
    sums: Any = defaultdict(float)
    step, steps = 1.5 / len(TEMPLATES), 0
    for batch in (drawn_sentences(seed), drawn_sentences(seed + 100, 3)):
        learner.trainer.learn(*arrays_of(batch))
        for _ in range(PASSES):
            for i in learner.random.permutation(len(batch)):
                for row, slope in learner.gradient(*batch[i], w).items():
                    w[row] += step * slope
                steps += 1
                for row, value in w.items():
                    sums[row] += value
        rows = sorted(w)
        expected = np.array([sums[row] / steps for row in rows])
        assert np.abs(expected).max() > 0.1
        assert learner.trainer.w[rows] == pytest.approx(expected, abs=1e-6)
        others = np.delete(learner.trainer.w, rows)
        assert not others.any()


@pytest.mark.uncompiled
def test_training_goes_on_from_a_prior() -> None:
    prior = np.zeros(SIZE + 1)
    learner = Learner(0, prior)
    nodes, heads = drawn_sentences(3, 1)[0]
    rows = learner.rows(nodes, max(heads[1], 0), 1)
    prior[rows] = 5.0
    trainer = Learner(0, prior).trainer
    assert trainer.w[rows].tolist() == [5.0] * len(rows)
    unknown = [-1] * len(heads)
    trainer.learn(*arrays_of([(nodes, unknown)]))
    assert trainer.w[rows].tolist() == [5.0] * len(rows)
    trainer.learn(*arrays_of([(nodes, [-1, 0, *unknown[2:]])]))
    assert prior[rows].tolist() == [5.0] * len(rows)
    assert trainer.bytes == 3 * 8 * (SIZE + 1)


@pytest.mark.uncompiled
def test_workers_in_turn_learn_what_one_learns() -> None:
    sentences = drawn_sentences(7, 6)
    whole, parts = Learner(0).trainer, Learner(0).trainer
    for _ in range(PASSES):
        whole.pass_over(*arrays_of(sentences), np.arange(6))
        for first, end in ((0, 1), (1, 4), (4, 4), (4, 6)):
            if first < end:
                other = Learner(1).trainer
                other.state = parts.state
                other.pass_over(*arrays_of(sentences[first:end]), np.arange(end - first))
                parts.state = other.state
    whole.average()
    parts.average()
    assert whole.w.any()
    assert whole.w.tobytes() == parts.w.tobytes()
