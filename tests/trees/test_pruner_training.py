"""Tests of ``spacy_ssvm/trees/pruner_training.py``."""

import brute
import numpy as np
import pytest
from pipelines import PARSER
from planted_trees import Trees
from written_trees import BEHIND, ROOT

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
