"""Scores and costs of trees: score tables, decoding, gold annotation."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.belief_propagation import propagate_beliefs
from spacy_ssvm.decoders.grandparent_marginals import (
    grandparent_marginals,
    grandparent_max_marginals,
)
from spacy_ssvm.decoders.hill_climbing import best_projective, climb_trees
from spacy_ssvm.decoders.parts import (
    PartTable,
    PartTableType,
    number_parts,
    scaled_parts,
)
from spacy_ssvm.decoders.sibling_marginals import sibling_marginals, sibling_max_marginals
from spacy_ssvm.decoders.tree import chu_liu_edmonds, eisner
from spacy_ssvm.decoders.tree_marginals import (
    max_marginals,
    nonprojective_marginals,
    projective_marginals,
)
from spacy_ssvm.kernels.compile import inner_kernel, kernel, outlined_kernel, sum_kernel
from spacy_ssvm.kernels.types import (
    Bool,
    Flags,
    Floats,
    Floats1,
    Floats2,
    Ints,
    Ints1,
    Keys,
    ShortKeys,
)
from spacy_ssvm.trees.keys import (
    EndpointHashes,
    PairHashes,
    PairHashesType,
    distance_class,
    grandparent_class,
)
from spacy_ssvm.trees.layout import ArcFeatures, ArcFeaturesType, TreeExamples
from spacy_ssvm.trees.templates import CompiledArcTemplates
from spacy_ssvm.weights.quantized import (
    QuantizedWeightsType,
    TableWeights,
    Values,
    dequantize,
    scale_of,
    values_of,
)

# Bits above all rows: which side of a feature is missing.
_NO_HEAD, _NO_DEPENDENT, _NO_THIRD = 1 << 31, 1 << 30, 1 << 29
_LANES = 16  # numbers of 32 bits that a vector instruction handles at once
_PRUNED = -1e6  # the score of an arc that the pruner has discarded


@inner_kernel
def is_second_order(features: ArcFeatures) -> bool:
    """Whether trees are scored by pairs of arcs, too."""
    return has_grandparents(features) or features.pairs.codes.shape[1] > 0


@inner_kernel
def has_grandparents(features: ArcFeatures) -> bool:
    """Whether trees are scored by grandparents, too."""
    return features.grandparents.codes.shape[1] > 0  # type: ignore[no-any-return]


@inner_kernel
def max_rows(templates: CompiledArcTemplates, nodes: int) -> int:
    """The maximum number of rows of an arc."""
    return templates.codes.shape[1] + len(templates.between) * nodes  # type: ignore[no-any-return]


@inner_kernel
def max_word_rows(features: ArcFeatures, nodes: int) -> int:
    """The maximum number of rows of the parts of one word."""
    rows = max_rows(features.arcs, nodes)
    return rows + max_rows(features.pairs, 0) + max_rows(features.grandparents, 0)


@kernel
def short_sides(sides: Keys, templates: int, size: int, missing: int) -> ShortKeys:
    """The hashes of one side as far as rows need them: uint32 [nodes, ``padded`` templates].

    Rows are the exclusive or of sides and codes, below ``size``. Where a side is missing, the bit
    ``missing`` is set, another one for each side: all such rows are above ``size``.
    """
    short = np.full((len(sides), padded(templates)), missing, dtype=np.uint32)
    mask = np.uint64(size - 1)
    for node in range(len(sides)):
        for t in range(templates):
            side = sides[node, t]
            if side != np.uint64(0):
                short[node, t] = np.uint32(side & mask)
    return short


@kernel
def short_codes(codes: Keys, templates: int) -> ShortKeys:
    """The codes of distances for ``short_sides``: uint32 [classes, ``padded`` templates]."""
    short = np.zeros((len(codes), padded(templates)), dtype=np.uint32)
    short[:, :templates] = codes[:, :templates]
    return short


@inner_kernel
def padded(templates: int) -> int:
    """The number of templates with those that never fire, which fill up vector instructions."""
    return -(-templates // _LANES) * _LANES


@sum_kernel
def _sum_arc(
    values: Values, head: ShortKeys, dependent: ShortKeys, codes: ShortKeys, size: int
) -> float:
    """The sum of the weights of the templates at one arc, to be scaled by ``scale_of``."""
    total = dequantize(values[size])  # 0
    last = np.uint32(size)
    for t in range(len(head)):
        total += dequantize(values[min(head[t] ^ dependent[t] ^ codes[t], last)])
    return total  # type: ignore[no-any-return]


@sum_kernel
def _sum_pair(
    values: Values,
    head: ShortKeys,
    dependent: ShortKeys,
    third: ShortKeys,
    codes: ShortKeys,
    size: int,
) -> float:
    """The sum of the weights of the templates at one pair of arcs, to be scaled."""
    total = dequantize(values[size])  # 0
    last = np.uint32(size)
    for t in range(len(head)):
        total += dequantize(values[min(head[t] ^ dependent[t] ^ third[t] ^ codes[t], last)])
    return total  # type: ignore[no-any-return]


class _ShortHashes(NamedTuple):
    """The ``short_sides`` of head, dependent and third, and the ``short_codes``."""

    heads: ShortKeys
    dependents: ShortKeys
    thirds: ShortKeys
    codes: ShortKeys


@kernel
def _shorten(
    templates: CompiledArcTemplates, endpoints: EndpointHashes, T: int, size: int
) -> _ShortHashes:
    """The short hashes of the first T templates."""
    return _ShortHashes(
        short_sides(endpoints.head, T, size, _NO_HEAD),
        short_sides(endpoints.dependent, T, size, _NO_DEPENDENT),
        short_sides(endpoints.third, T if templates.has_third else 0, size, _NO_THIRD),
        short_codes(templates.codes, T),
    )


@kernel
def arc_scores(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    size: int,
    weights: TableWeights,
    candidates: Flags,
    scores: Floats,
) -> None:
    """Write the score of each candidate arc, minus infinity for the others.

    candidates: bool [n + 1, n + 1], by head and dependent; scores: float64, the same shape.
    Sums the weights of the rows of ``fill_arc_rows`` without storing the rows.
    """
    N, B = len(scores), len(templates.between)
    plain = templates.codes.shape[1] - B
    short = _shorten(templates, endpoints, plain, size)
    between = np.empty((B, N), dtype=np.uint64)
    found = np.empty(B, dtype=np.int64)
    values, scale = values_of(weights), scale_of(weights)
    _fill_arc_scores(
        templates, endpoints, short, size, values, scale, between, found, candidates, scores
    )


@inner_kernel
def _fill_arc_scores(
    templates: CompiledArcTemplates,
    endpoints: EndpointHashes,
    short: _ShortHashes,
    size: int,
    values: Values,
    scale: float,
    between: Keys,
    found: Ints,
    candidates: Flags,
    scores: Floats,
) -> None:
    """See ``arc_scores``.

    between, found: uint64 [B, n + 1] and int64 [B], scratch for the distinct values between two
    nodes and their numbers.
    """
    N, B = len(scores), len(templates.between)
    plain = templates.codes.shape[1] - B
    zero = np.uint64(0)
    mask = np.uint64(size - 1)
    scores[:] = -np.inf
    for low in range(N):
        found[:] = 0
        for high in range(low + 1, N):
            for b in range(B):
                value = endpoints.values[b, high - 1]
                if low < high - 1 and endpoints.previous[b, high - 1] <= low and value != zero:
                    between[b, found[b]] = value
                    found[b] += 1
            for h, m in ((low, high), (high, low)):
                if not candidates[h, m]:
                    continue
                distance = distance_class(h, m)
                total = _sum_arc(
                    values, short.heads[h], short.dependents[m], short.codes[distance], size
                )
                for b in range(B):
                    t = plain + b
                    head, dependent = endpoints.head[h, t], endpoints.dependent[m, t]
                    if head == zero or dependent == zero:
                        continue
                    side, code = head ^ dependent, templates.codes[distance, t]
                    for i in range(found[b]):
                        row = np.int64(((side ^ between[b, i]) & mask) ^ code)
                        total += dequantize(values[row])
                scores[h, m] = scale * total


@inner_kernel
def _fill_pairs(
    short: _ShortHashes, size: int, values: Values, scale: float, parts: PartTable
) -> None:
    """Write the scores of pairs of siblings."""
    scores, N = parts.arcs, len(parts.arcs)
    for h in range(N):
        for m in range(1, N):
            if h == m or not scores[h, m] > -np.inf:
                continue
            slot = parts.starts[h, m]
            head, dependent = short.heads[h], short.dependents[m]
            codes = short.codes[distance_class(h, m)]
            total = _sum_pair(values, head, dependent, short.thirds[N], codes, size)
            parts.pairs[slot] = scale * total
            if h == 0:
                continue
            step = 1 if m > h else -1
            s = h + step
            while s != m:
                if scores[h, s] > -np.inf:
                    slot += 1
                    total = _sum_pair(values, head, dependent, short.thirds[s], codes, size)
                    parts.pairs[slot] = scale * total
                s += step


@inner_kernel
def _fill_grandparents(
    short: _ShortHashes, size: int, values: Values, scale: float, parts: PartTable
) -> None:
    """Write the scores of grandparents."""
    scores, N = parts.arcs, len(parts.arcs)
    for h in range(1, N):
        for m in range(1, N):
            if h == m or not scores[h, m] > -np.inf:
                continue
            slot, head, dependent = parts.triple_starts[h, m], short.heads[h], short.dependents[m]
            for g in range(N):
                if g != h and scores[g, h] > -np.inf:
                    codes = short.codes[grandparent_class(g, h, m)]
                    total = _sum_pair(values, head, dependent, short.thirds[g], codes, size)
                    parts.grandparents[slot] = scale * total
                    slot += 1


@outlined_kernel(
    PartTableType(ArcFeaturesType, PairHashesType, Floats1, Floats2),
    PartTableType(ArcFeaturesType, PairHashesType, QuantizedWeightsType, Floats2),
)
def score_parts(
    features: ArcFeatures, endpoints: PairHashes, weights: TableWeights, scores: Floats
) -> PartTable:
    """A table of the scores of arcs, and of those of their pairs and grandparents."""
    has_pairs = is_second_order(features)
    parts = number_parts(scores, has_pairs, has_grandparents(features))
    size, values, scale = features.size, values_of(weights), scale_of(weights)
    if has_pairs:
        templates = features.pairs
        short = _shorten(templates, endpoints.siblings, templates.codes.shape[1], size)
        _fill_pairs(short, size, values, scale, parts)
    if has_grandparents(features):
        templates = features.grandparents
        short = _shorten(templates, endpoints.grandparents, templates.codes.shape[1], size)
        _fill_grandparents(short, size, values, scale, parts)
    return parts


@kernel
def best_tree(
    projective: bool,
    features: ArcFeatures,
    endpoints: PairHashes,
    weights: TableWeights,
    scores: Floats,
    heads: Ints,
) -> float:
    """Fill heads with the best tree by the scores of arcs and, in second order, of pairs.

    In second order, the search for trees that are not projective is approximate.
    """
    if not is_second_order(features):
        return eisner(scores, heads) if projective else chu_liu_edmonds(scores, heads)
    parts = score_parts(features, endpoints, weights, scores)
    return best_projective(parts, heads) if projective else climb_trees(parts, heads)


@kernel
def best_with_each_arc(
    features: ArcFeatures,
    endpoints: PairHashes,
    weights: TableWeights,
    scores: Floats,
    best: Floats,
) -> float:
    """Write the score of the best projective tree with each arc; return the best of all."""
    if not is_second_order(features):
        return max_marginals(scores, best)
    parts = score_parts(features, endpoints, weights, scores)
    if not has_grandparents(features):
        return sibling_max_marginals(scores, parts.starts, parts.pairs, best)
    found = scaled_parts(parts, 1.0)
    total = grandparent_max_marginals(parts, found)
    best[:] = found.arcs
    return total


@kernel
def marginals(projective: bool, beta: float, parts: PartTable) -> tuple[float, PartTable]:
    """The log-partition of beta x scores, and the probability of each part.

    Both are approximate for second-order trees that need not be projective. Probabilities are
    arbitrary where the log-partition is minus infinity.
    """
    scores, found = scaled_parts(parts, beta), scaled_parts(parts, 1.0)
    if len(parts.pairs) == 0:
        if projective:
            return projective_marginals(scores.arcs, found.arcs), found
        return nonprojective_marginals(scores.arcs, found.arcs), found
    if not projective:
        return propagate_beliefs(scores, found).log_partition, found
    if len(parts.grandparents):
        return grandparent_marginals(scores, found), found
    arrays = scores.arcs, scores.starts, scores.pairs, found.arcs, found.pairs
    return sibling_marginals(*arrays), found


@kernel
def gold_heads(examples: TreeExamples, i: int) -> Ints:
    """The gold heads of example i; empty where no word is annotated."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    heads = examples.heads[start : end - 1]
    if len(heads) < 2 or heads[1:].max() < 0:
        return heads[:0]
    return heads


@outlined_kernel(Bool(Floats2, Ints1, Bool, Ints1))
def complete_heads(scores: Floats, heads: Ints, projective: bool, completion: Ints) -> bool:
    """Fill completion with the best tree that has the gold heads; return whether it changed.

    projective: whether to prefer a projective tree, if one has the gold heads. Arcs that the
    pruner has discarded are used only if no other tree exists.
    """
    N = len(heads)
    restricted = np.maximum(scores, _PRUNED)
    for m in range(1, N):
        if heads[m] >= 0:
            restricted[:, m] = -np.inf
            restricted[heads[m], m] = 0.0
    y = np.empty(N, dtype=np.int64)
    if not projective or eisner(restricted, y) == -np.inf:
        chu_liu_edmonds(restricted, y)
    changed = not np.array_equal(y, completion)
    completion[:] = y
    return changed


@kernel
def complete_one(examples: TreeExamples, i: int, complete: bool, scores: Floats) -> bool:
    """Complete partial gold, see ``structure.py``; return whether the completion changed."""
    start, end = examples.node_starts[i], examples.node_starts[i + 1]
    heads = examples.heads[start : end - 1]
    completion = examples.completions[start : end - 1]
    if heads[1:].min() < 0 and (complete or completion[1:].min() < 0):
        return bool(complete_heads(scores, heads, examples.features.projective, completion))
    return False


@inner_kernel
def add_head_costs(heads: Ints, gamma: float, scores: Floats) -> None:
    """Augment scores with gamma for each wrong head."""
    for m in range(1, len(heads)):
        if heads[m] >= 0:
            for h in range(len(heads)):
                if h != heads[m]:
                    scores[h, m] += gamma


@inner_kernel
def expected_wrong_heads(heads: Ints, probabilities: Floats) -> float:
    """E[Delta_i(Y)]: the expected number of words whose head is not the gold one.

    probabilities: float64 [n + 1, n + 1], of arcs, by head and dependent.
    """
    total = 0.0
    for m in range(1, len(heads)):
        if heads[m] >= 0:
            total += 1.0 - probabilities[heads[m], m]
    return total


@inner_kernel
def count_wrong_heads(gold: Ints, heads: Ints) -> float:
    """Delta: the number of words with another head than the gold one (-1 for none)."""
    wrong = 0.0
    for m in range(1, len(gold)):
        wrong += gold[m] >= 0 and heads[m] != gold[m]
    return wrong
