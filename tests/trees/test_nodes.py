"""Tests of ``spacy_ssvm/trees/nodes.py``."""

import numpy as np
import pytest
from written_trees import Trees

from spacy_ssvm.trees.nodes import find_flaw
from spacy_ssvm.trees.problem import TreeProblem

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize(
    ("heads", "flaw"),
    [
        ([-1, 0, 1, 1, -1], None),
        ([-1, -1, -1, -1, -1], None),
        ([-1, 2, -1, 2, -1], None),
        ([-1, 2, 1, 0, -1], ("a cycle", [1, 2])),
        ([-1, 2, 3, 1, -1], ("a cycle", [1, 2, 3])),
        ([-1, -1, 3, 2, -1], ("a cycle", [2, 3])),
        ([-1, 1, 0, -1, -1], ("a cycle", [1])),
        ([-1, 0, 0, 1, -1], ("several roots", [1, 2])),
        ([-1, 0, -1, 0, -1], ("several roots", [1, 3])),
    ],
)
def test_gold_that_is_no_tree_is_named(heads, flaw):
    """The first sentence is whole; the node behind the words counts for nothing."""
    both = np.array([-1, 0, -1, *heads])
    starts = np.array([0, 3, 8])
    problem = TreeProblem(Trees("first", []).features(), Trees("first", []).pruner(), 1)
    attributes = np.zeros((8, 1), dtype=np.uint64)
    if flaw is None:
        assert find_flaw(starts, both) is None
        assert problem.append(attributes, starts, both) == range(2)
        return
    assert find_flaw(starts, both) == (1, *flaw)
    words = ", ".join(map(str, flaw[1]))
    with pytest.raises(ValueError, match=f"sentence 1: {flaw[0]}, words {words}"):
        problem.append(attributes, starts, both)
    assert problem.number_of_examples == 0
