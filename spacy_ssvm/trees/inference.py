"""Kernels that parse sentences: nodes and weights to heads, heads to the table of arcs.

Nodes are laid out as in ``trees/layout.py``: the root of each sentence, its words, and its end.
"""

import numpy as np

from spacy_ssvm.decoders.hill_climbing import best_other_head, look_up
from spacy_ssvm.decoders.parts import tree_score
from spacy_ssvm.kernels.compile import inner_kernel, kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.trees.keys import hash_pairs
from spacy_ssvm.trees.labels import Columns, fill_arc_columns, order_dependents
from spacy_ssvm.trees.layout import Scorer
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.scores import best_tree, best_with_each_arc, is_second_order, score_parts

#: Words of a sentence, at most, for whose margins trees are searched for once for each word.
LONGEST_SEARCH = 100


@inner_kernel
def fix_heads(fixed_heads: Ints, scores: Floats) -> bool:
    """Forbid all other heads of words whose head is fixed; return whether there are any."""
    N = len(scores)
    restricted = False
    for m in range(1, N):
        if fixed_heads[m] >= 0:
            restricted = True
            for h in range(N):
                if h != fixed_heads[m]:
                    scores[h, m] = -np.inf
    return restricted


@kernel
def parse_sentence(scorer: Scorer, nodes: Keys, fixed_heads: Ints, heads: Ints) -> float:
    """Fill heads with the best tree of one sentence; return its score.

    fixed_heads: int64 [n + 1], heads that the tree must have, -1 for none. Where no projective
    tree has them, the best non-projective one is taken; where no tree has, they are ignored.
    """
    N = len(heads)
    scores = score_arcs(scorer, nodes, 0, N + 1, fixed_heads)
    free = scores.copy()
    restricted = fix_heads(fixed_heads, scores)
    endpoints = hash_pairs(scorer.features, nodes, 0, N + 1)
    projective, weights = scorer.features.projective, scorer.weights
    score = best_tree(projective, scorer.features, endpoints, weights, scores, heads)
    if restricted and score == -np.inf:
        score = best_tree(False, scorer.features, endpoints, weights, scores, heads)
        if score == -np.inf:
            score = best_tree(projective, scorer.features, endpoints, weights, free, heads)
    return score


@kernel
def parse_sentences(
    scorer: Scorer, nodes: Keys, node_starts: Ints, fixed_heads: Ints, heads: Ints
) -> None:
    """Fill heads (int64 [nodes]) with the best trees; root and end nodes get -1."""
    heads[:] = -1
    for s in range(len(node_starts) - 1):
        start, end = node_starts[s], node_starts[s + 1]
        fixed, found = fixed_heads[start : end - 1], heads[start : end - 1]
        parse_sentence(scorer, nodes[start:end], fixed, found)


@kernel
def fill_arc_table(
    columns: Columns,
    nodes: Keys,
    node_starts: Ints,
    heads: Ints,
    table: Keys,
    arc_nodes: Ints,
    sequence_starts: Ints,
    sentence_sequences: Ints,
) -> int:
    """Write the table of all arcs (``trees/labels.py``); return the number of sequences.

    table: uint64 [arcs, columns]; arc_nodes: int64 [arcs], the dependents; sequence_starts:
    int64 [arcs + 1], of which a part is used; sentence_sequences: int64 [sentences + 1],
    the first sequence of each sentence.
    """
    max_nodes = 0
    for s in range(len(node_starts) - 1):
        max_nodes = max(max_nodes, node_starts[s + 1] - node_starts[s])
    order = np.empty(max_nodes, dtype=np.int64)
    starts = np.empty(max_nodes + 1, dtype=np.int64)
    rows, sequences = 0, 0
    for s in range(len(node_starts) - 1):
        start, end = node_starts[s], node_starts[s + 1]
        sentence_sequences[s] = sequences
        sentence_heads = heads[start : end - 1]
        found = order_dependents(sentence_heads, order, starts)
        n = starts[found]
        fill_arc_columns(
            columns, nodes, start, end, sentence_heads, order[:n], table[rows : rows + n]
        )
        for row in range(n):
            arc_nodes[rows + row] = start + order[row]
        for sequence in range(found):
            sequence_starts[sequences] = rows + starts[sequence]
            sequences += 1
        rows += n
    sequence_starts[sequences] = rows
    sentence_sequences[len(node_starts) - 1] = sequences
    return sequences


@kernel
def arc_margins(scorer: Scorer, nodes: Keys, margins: Floats) -> None:
    """Write the margin of each word (float64 [n + 1]): how much less trees with another head score.

    Infinite where every tree has the arc. Where trees are searched for, those of sentences of more
    than ``LONGEST_SEARCH`` words differ in this head alone.
    """
    N = len(margins)
    nothing_fixed = np.full(N, -1, dtype=np.int64)
    scores = score_arcs(scorer, nodes, 0, N + 1, nothing_fixed)
    endpoints = hash_pairs(scorer.features, nodes, 0, N + 1)
    if scorer.features.projective:
        best_with = np.empty((N, N))
        best = best_with_each_arc(scorer.features, endpoints, scorer.weights, scores, best_with)
        for m in range(1, N):
            best_with[best_with[:, m].argmax(), m] = -np.inf
            margins[m] = best - best_with[:, m].max()
        return
    heads, other = np.empty(N, dtype=np.int64), np.empty(N, dtype=np.int64)
    best = best_tree(False, scorer.features, endpoints, scorer.weights, scores, heads)
    is_long = is_second_order(scorer.features) and N > LONGEST_SEARCH + 1 and abs(best) < np.inf
    if is_long:
        parts = score_parts(scorer.features, endpoints, scorer.weights, scores)
        tree = look_up(heads)
        for m in range(1, N):
            if heads[m] > 0:
                gain, _ = best_other_head(parts, tree, m)
                margins[m] = max(-gain, 0.0)
    for m in range(1, N):
        if is_long and heads[m] > 0:
            continue
        score = scores[heads[m], m]
        scores[heads[m], m] = -np.inf
        second = best_tree(False, scorer.features, endpoints, scorer.weights, scores, other)
        margins[m] = max(best - second, 0.0)  # an approximate search can find a better tree
        scores[heads[m], m] = score


@kernel
def best_with_other_head(
    scorer: Scorer, nodes: Keys, m: int, h: int, heads: Ints, others: Ints
) -> tuple[float, float]:
    """Fill others (int64 [n + 1]) with the best tree in which word m has not the head of heads.

    h: its head in others; -1 for whichever is best. Returns the scores of both trees, minus
    infinity where there is no other one.
    """
    features, weights, N = scorer.features, scorer.weights, len(heads)
    fixed_heads = np.full(N, -1, dtype=np.int64)
    scores = score_arcs(scorer, nodes, 0, N + 1, fixed_heads)
    endpoints = hash_pairs(features, nodes, 0, N + 1)
    score = tree_score(score_parts(features, endpoints, weights, scores), heads)
    scores[heads[m], m] = -np.inf
    fixed_heads[m] = h
    fix_heads(fixed_heads, scores)
    return score, best_tree(features.projective, features, endpoints, weights, scores, others)
