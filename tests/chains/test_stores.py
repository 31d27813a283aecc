"""Tests of ``spacy_ssvm/chains/stores.py``."""

from typing import Any

import numpy as np
import pytest
from marks import PLAIN
from planted_chains import Corpus, passes

from spacy_ssvm.solvers.prox_gradient import ProxGradient
from spacy_ssvm.weights.lazy import find_block


def rows_in_use(table: Any) -> dict[tuple[int, int], int]:
    """The row of each feature, by its key, and label that has one."""
    found = {}
    for key in table.slots[:, 0].tolist():
        for m in range(len(table.active)) if key else ():  # a feature is that of one template
            start, count = find_block(table, m, np.uint64(key))
            for row in range(start, start + count):
                if table.row_templates[row] == m:
                    found[key, int(table.row_labels[row])] = row
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


@pytest.mark.parametrize("settings", RUNS)
@pytest.mark.parametrize(
    ("K", "unknown"),
    [
        (4, 0.0),
        pytest.param(4, 0.4, marks=pytest.mark.uncompiled),
        pytest.param(40, 0.0, marks=pytest.mark.uncompiled),
    ],
)
def test_lazy_rows_and_scales_give_the_weights_of_all_rows_and_none(settings, K, unknown):
    sentences = 6 if PLAIN and K == 40 else 60
    # With other seeds, rounding may break a tie.
    corpus = Corpus(sentences, seed=2, K=K, unknown=unknown)
    eager, index = corpus.eager()
    naive = passes(settings, eager, index.number_of_rows, epochs=3)
    lazy = corpus.lazy()
    run = passes(settings, lazy, 0, epochs=3)

    first = (K + 2) * K
    np.testing.assert_allclose(run.w[:first], naive.w[:first], atol=1e-10)
    rows = naive.w[first : first + len(index.row_keys) * K].reshape(-1, K)
    expected = dict(zip(index.row_keys.tolist(), rows, strict=True))
    table = lazy.store.table
    found = run.w[first:]
    assert len(found) == len(table.row_labels)
    seen = {key: np.zeros(K) for key in expected}
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
    norms = [np.linalg.norm(found[table.row_templates == m]) for m in range(len(run.norms))]
    np.testing.assert_allclose(run.norms, norms, atol=1e-7)
