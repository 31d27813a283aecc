"""The k best projective trees without grandparents."""

import numpy as np

from spacy_ssvm.decoders.parts import PartTable, number_pairs
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.lab.k_best.siblings import k_best_siblings
from spacy_ssvm.trees.layout import TreeExamples
from spacy_ssvm.trees.oracle import pair_hashes, score_example
from spacy_ssvm.trees.scores import add_head_costs, count_wrong_heads, gold_heads, score_parts


@kernel
def k_best(parts: PartTable, heads: Ints) -> int:
    """Fill heads (int64 [k, n + 1]) with the k best projective trees; return their number.

    parts: without grandparents.
    """
    starts, pairs = parts.starts, parts.pairs
    if len(pairs) == 0:  # of first order
        starts = np.empty(parts.arcs.shape, dtype=np.int64)
        pairs = np.zeros(number_pairs(parts.arcs, starts))
    return k_best_siblings(parts.arcs, starts, pairs, np.empty(len(heads)), heads)


@kernel
def k_best_decode(
    examples: TreeExamples, i: int, w: Floats, gamma: float, k: int, complete: bool
) -> tuple[Ints, Floats]:
    """See ``Structure.k_best_decode``."""
    heads = gold_heads(examples, i)
    trees, costs = np.empty((k, len(heads)), dtype=np.int64), np.empty(k)
    if len(heads) == 0:
        return trees[:0], costs[:0]
    scores, _ = score_example(examples, i, w, complete)
    add_head_costs(heads, gamma, scores)
    count = k_best(score_parts(examples.features, pair_hashes(examples, i), w, scores), trees)
    for m in range(count):
        costs[m] = count_wrong_heads(heads, trees[m])
    return trees[:count], costs[:count]
