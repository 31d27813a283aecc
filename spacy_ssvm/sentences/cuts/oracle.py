"""The oracles of labelings of graphs: what solvers ask about example i (see ``structure.py``).

They are exact for two labels. For more they decode by alpha-expansion, which finds a labeling that
is nearly the best: see ``decoder.py``. A violation is then a lower bound of the largest one, but
never below that of the gold labels, which is 0, where no edge weight is negative.
"""

import numpy as np

from spacy_ssvm.chains.scores import (
    add_costs,
    cost,
    gold_of,
    is_annotated,
    is_partial,
    restrict_to_gold,
)
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Rows, Weights
from spacy_ssvm.sentences.cuts.decoder import best_labels, expand_labels, labeling_score
from spacy_ssvm.sentences.cuts.layout import Examples, ExamplesType
from spacy_ssvm.sentences.cuts.scores import (
    edge_penalties,
    labeling_difference,
    node_scores,
)
from spacy_ssvm.structure import Structure


@kernel
def score_example(examples: Examples, i: int, w: Floats) -> tuple[Floats, Ints, Floats]:
    """The scores [n, K], edges and penalties of an example under w, as decoders take them."""
    nodes = examples.nodes
    first, last = examples.edge_starts[i], examples.edge_starts[i + 1]
    n = nodes.token_starts[i + 1] - nodes.token_starts[i]
    scores, penalties = np.empty((n, nodes.costs.shape[1])), np.empty(last - first)
    node_scores(examples, i, w, scores)
    edge_penalties(examples, i, w, penalties)
    return scores, examples.edges[first:last], penalties


@kernel
def _decode(scores: Floats, edges: Ints, penalties: Floats, known: Ints, y: Ints) -> None:
    """Fill y with the best labeling that is found, at least as good as the known one."""
    score = best_labels(scores, edges, penalties, y)
    if score < labeling_score(scores, edges, penalties, known):
        y[:] = known
        expand_labels(scores, edges, penalties, y)


@kernel
def complete_example(
    examples: Examples, i: int, complete: bool, scores: Floats, edges: Ints, penalties: Floats
) -> bool:
    """Complete the gold of example i under its scores; return whether it changed.

    A completion is replaced by a better one alone.
    """
    nodes = examples.nodes
    gold = gold_of(nodes, i)
    if not is_partial(nodes, i) or not (complete or gold.min() < 0):
        return False
    restricted = scores.copy()
    restrict_to_gold(nodes, i, restricted)
    y = np.empty(len(gold), dtype=np.int64)
    if gold.min() < 0:
        best_labels(restricted, edges, penalties, y)
    else:
        _decode(restricted, edges, penalties, gold, y)
    changed = not np.array_equal(y, gold)
    gold[:] = y
    return changed


@kernel
def decode(
    examples: Examples, i: int, w: Floats, gamma: float, complete: bool
) -> tuple[Ints, float, bool]:
    """See ``Structure.decode``: a minimum cut, or alpha-expansion."""
    nodes = examples.nodes
    if not is_annotated(nodes, i):
        return np.empty(0, dtype=np.int64), 0.0, False
    scores, edges, penalties = score_example(examples, i, w)
    recompleted = complete_example(examples, i, complete, scores, edges, penalties)
    gold = gold_of(nodes, i)
    add_costs(nodes, i, gamma, scores)
    y = np.empty(len(gold), dtype=np.int64)
    _decode(scores, edges, penalties, gold, y)
    return y, cost(nodes, i, y), recompleted


@kernel
def difference(
    examples: Examples,
    i: int,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """See ``Structure.difference``."""
    return labeling_difference(examples, i, y, indices, values)


#: Labelings of graphs. Neither their expectations nor their k best are known from cuts.
CUTS = Structure(ExamplesType, decode, difference)
