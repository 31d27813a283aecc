"""What the tests of planted chains share."""

from typing import Any

import numpy as np
import pytest

from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.chains.selection import LazyChainProblem
from spacy_ssvm.features.extraction import compile_templates, extract_keys
from spacy_ssvm.features.reals import Scale, real_keys
from spacy_ssvm.features.statistics import Statistics, measure_templates, with_reals
from spacy_ssvm.features.templates import Template, find_refinements
from spacy_ssvm.kernels.types import Ints, Rows
from spacy_ssvm.selection import Selector
from spacy_ssvm.solvers.prox_gradient import ProxGradient, ProxGradientRun
from spacy_ssvm.weights.feature_index import FeatureIndex, find_rows
from spacy_ssvm.weights.lazy import block_before, find_block


class Corpus:
    """Random sentences whose labels depend on three templates.

    Of the columns r0 and r1, the value here and, for r0, one token before tell the label. The
    columns c0 and c1 are copies with noise, the others are noise.
    reals: how many real numbers tell the label, too, those of the template vector[0].
    """

    RELEVANT = ("r0[0]", "r1[0]", "r0[-1]")

    def __init__(
        self,
        sentences: int = 60,
        *,
        seed: int = 0,
        K: int = 4,
        unknown: float = 0.0,
        reals: int = 0,
    ):
        random = np.random.default_rng(seed)
        lengths = random.integers(1, 9, sentences)
        n = int(lengths.sum())
        values = random.integers(1, 6, (n, 8))
        for copy, original in ((2, 0), (3, 1)):
            values[:, copy] = np.where(random.random(n) < 0.8, values[:, original], values[:, copy])
        self.names = ["r0", "r1", "c0", "c1", "n0", "n1", "n2", "n3"]
        self.K = K
        self.attributes = (values + 10 * np.arange(8)).astype(np.uint64) * np.uint64(0x9E3779B9)
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        before = np.concatenate([[0], values[:-1, 0]])
        before[self.starts[:-1]] = 0
        tables = random.normal(size=(3, 7, K)) * np.array([2.0, 2.0, 1.5])[:, None, None]
        scores = tables[0, values[:, 0]] + tables[1, values[:, 1]] + tables[2, before]
        self.reals = np.zeros((n, 0), dtype=np.float32)
        if reals:
            self.reals = random.normal(size=(n, reals)).astype(np.float32)
            scores += 2 * self.reals @ random.normal(size=(reals, K))
        self.gold = scores.argmax(axis=1)
        self.gold[random.random(n) < unknown] = -1
        self.templates = [
            Template.parse(text)
            for name in self.names
            for text in (f"{name}[-1]", f"{name}[0]", f"{name}[1]", f"{name}[-1]+{name}[0]")
        ]
        vectors = [Template.parse("vector[0]")] if reals else []
        self.all_templates = [*self.templates, *vectors]
        self.real_keys = real_keys(vectors, len(self.templates), {"vector": Scale(reals, 1.0)})

    def lazy(self) -> LazyChainProblem:
        problem = LazyChainProblem(self.K)
        compiled = compile_templates(self.templates, self.names)
        refines = find_refinements(self.all_templates)
        problem.set_features(compiled, self.statistics().features, refines, self.real_keys)
        gold = np.where(self.gold < 0, problem.any_label, self.gold)
        problem.set_tokens(self.attributes, self.starts, gold, self.reals)
        return problem

    def statistics(self) -> Statistics:
        compiled = compile_templates(self.templates, self.names)
        found = measure_templates(compiled, self.attributes, self.starts, self.gold, self.K)
        return with_reals(found, self.reals, self.real_keys.templates, self.gold, self.K)

    def selector(self) -> Selector:
        return Selector(self.all_templates, self.lazy(), self.statistics())

    def eager(self) -> tuple[ChainProblem, FeatureIndex]:
        """The same problem with rows for all features, whose weights are scaled one by one."""
        index, feature_starts, rows = self.rows()
        problem = ChainProblem(self.K)
        problem.row_templates = index.row_templates
        problem.refines = find_refinements(self.all_templates)
        problem.real_rows = np.arange(len(self.real_keys.keys), dtype=np.int32)
        gold = np.where(self.gold < 0, problem.any_label, self.gold)
        problem.append(feature_starts, rows, self.starts, gold, self.reals)
        return problem, index

    def rows(self) -> tuple[FeatureIndex, Ints, Rows]:
        """All features, and those of each token: see ``RowFeatures``."""
        keys = np.empty((len(self.gold), len(self.templates)), dtype=np.uint64)
        compiled = compile_templates(self.templates, self.names)
        extract_keys(compiled, self.attributes, self.starts, keys)
        index = FeatureIndex(len(self.all_templates))
        index.insert_sparse(*self.real_keys)
        index.insert(keys)
        starts = np.empty(len(self.gold) + 1, dtype=np.int64)
        rows = np.empty(keys.size, dtype=np.int32)
        size = find_rows(index.table, keys, starts, rows)
        return index, starts, rows[:size]

    def texts(self, selected: Any) -> set[str]:
        return set(selected.texts)


def passes(settings: ProxGradient, problem: Any, rows: int, epochs: int) -> ProxGradientRun:
    run = settings.start(problem)
    run.grow(rows)
    for _ in range(epochs):
        run.epoch(np.arange(problem.number_of_examples))
    return run


def rows_in_use(table: Any) -> dict[tuple[int, int], int]:
    """The row of each feature, by the bits that tell it apart, and label that has one."""
    found = {}
    for key in table.slots[:, 0].tolist():
        for m in range(len(table.active)) if key else ():  # a feature is that of one template
            start, count = find_block(table, m, np.uint64(key))
            while count > 0 and table.entry_templates[start] == m:
                for row in range(start, start + count):
                    found[key >> 24 << 24, int(table.entry_labels[row])] = row
                start, count = block_before(table, start)
    return found


RUNS = [
    ProxGradient(budget=5, prox_period=7),
    ProxGradient(budget=1, prox_period=13),
    ProxGradient(budget=5, prox_period=7, groups="coarse-to-fine"),
    ProxGradient(budget=6, prox_period=10, loss="hinge"),
    ProxGradient(budget=6, prox_period=10, loss="log", eta0=0.3),
    ProxGradient(budget=6, prox_period=10, l1=0.01, l2=0.05),
    ProxGradient(strength=0.02, prox_period=9),
    ProxGradient(strength=0.02, prox_period=9, groups="coarse-to-fine", l2=0.01),
    ProxGradient(strength=0.02, prox_period=9, groups="attribute"),
    ProxGradient(strength=0.02, prox_period=9, groups="weight"),
    ProxGradient(strength=3.0, prox_period=20),
]


def compare_weights(
    settings: ProxGradient, lazy: Any, eager: Any, index: FeatureIndex, *, first: int, width: int
) -> None:
    """Assert that a problem learns the same as one with rows for all features.

    first, width: the number of weights before those of features, and of a feature.
    """
    naive = passes(settings, eager, index.number_of_rows, epochs=3)
    run = passes(settings, lazy, 0, epochs=3)
    np.testing.assert_allclose(run.w[:first], naive.w[:first], atol=1e-10)
    rows = naive.w[first : first + len(index.row_keys) * width].reshape(-1, width)
    expected = dict(zip(index.row_keys.tolist(), rows, strict=True))
    table = lazy.store.table
    found = run.w[first:]
    assert len(found) == len(table.entry_labels)
    seen = {key: np.zeros(width) for key in expected}
    in_use = np.zeros(len(found), dtype=bool)
    for (key, label), row in rows_in_use(table).items():
        seen[key][label] = found[row]
        in_use[row] = True
    assert not found[~in_use].any()
    assert in_use.sum() == lazy.store.allocated
    for key, weights in expected.items():
        np.testing.assert_allclose(seen[key], weights, atol=1e-10)
    np.testing.assert_allclose(run.norms, naive.norms, atol=1e-7)
    for step, naive_step in zip(run.history, naive.history, strict=True):
        assert step.templates == naive_step.templates
        assert step.loss == pytest.approx(naive_step.loss)
        assert step.strength == pytest.approx(naive_step.strength)
    norms = [np.linalg.norm(found[table.entry_templates == m]) for m in range(len(run.norms))]
    np.testing.assert_allclose(run.norms, norms, atol=1e-7)


def selection(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.Selection.v1", "prox_period": 10, **settings}
