"""Explains why a word gets its head, or its label: the features of its arc and of another one."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from spacy_ssvm.chains.explanation import contrast_labels, fired_features
from spacy_ssvm.explanation import Explanation, Reason, numbered, strongest
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.trees.inference import best_with_other_head
from spacy_ssvm.trees.keys import fill_arc_rows, hash_endpoints
from spacy_ssvm.trees.labels import LEFTMOST, RIGHTMOST
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.nodes import N, Nodes
from spacy_ssvm.trees.templates import (
    DEPENDENT,
    GRANDPARENT,
    HEAD,
    SIBLING,
    ArcTemplate,
    compile_arc_templates,
)
from spacy_ssvm.weights.quantized import QuantizedWeights, exact

OTHER_ARCS = "pairs of arcs, and other arcs"
OTHER_DEPENDENTS = "labels of other dependents of the head"
ROOT = "<root>"


def explain_arc(
    model: ParserModel, doc: Doc, i: int, *, top: int | None = None, against: int | None = None
) -> Explanation:
    """Explain the head of token i of a Doc, ignoring arcs that the Doc already has.

    The tree that is found is compared with the best one in which the token has another head.
    top: the number of features to show, see ``strongest``.
    against: the token that is the other head, i itself for the root; None for the runner-up.
    Raises ValueError for whitespace, where the token has only one possible head, and where it has
    the other one, or cannot have it.
    """
    nodes = model.pieces(model.nodes([doc]))
    s, m = _place(nodes, i)
    start, end = nodes.starts[s : s + 2]
    sentence_nodes = nodes.attributes[start:end]
    scorer, whole = model.scorer, np.array([0, end - start])
    heads = model.find_trees(scorer, sentence_nodes, whole)[:-1]
    names = [ROOT, *numbered([token.text for token in doc])]
    h = int(heads[m])
    other_head = -1 if against is None else _node_of_head(nodes, s, i, against)
    if other_head == h:
        raise ValueError(
            f"token {i} has the head '{names[_token(nodes, s, h) + 1]}': give another one to "
            "compare it with"
        )
    others = np.empty(len(heads), dtype=np.int64)
    best, other = best_with_other_head(scorer, sentence_nodes, m, other_head, heads, others)
    if not np.isfinite(other):
        if against is not None:
            raise ValueError(
                f"token {i} cannot have the head '{names[_token(nodes, s, other_head) + 1]}': the "
                "pruner discards the arc, or no tree has it"
            )
        raise ValueError(f"token {i} has only one possible head")
    ends = h, int(others[m])
    features = []
    for template in model.templates:
        if template.is_of_arc:
            weights = [_weight(model, template, sentence_nodes, head, m) for head in ends]
            if any(weights):
                arcs = [{HEAD: head, DEPENDENT: m} for head in ends]
                seen = [_value(model, doc, nodes, s, template, arc) for arc in arcs]
                features.append(Reason(str(template), " / ".join(dict.fromkeys(seen)), *weights))
    reasons = strongest(features, top)
    sums = [sum(reason.weight for reason in reasons)]
    sums.append(sum(reason.runner_up_weight for reason in reasons))
    reasons.append(Reason(OTHER_ARCS, "", best - sums[0], other - sums[1]))
    texts = [names[_token(nodes, s, head) + 1] for head in ends]
    return Explanation(doc[i].text, texts[0], texts[1], best - other, tuple(reasons))


def explain_arc_label(
    model: ParserModel, doc: Doc, i: int, *, against: str, top: int | None = None
) -> Explanation:
    """Explain the label of the arc to token i in the best tree, ignoring arcs of the Doc.

    The best labels of the dependents of its head are compared with the best ones in which it has
    another label.
    against: that label. top: the number of features to show, see ``strongest``.
    Raises ValueError for whitespace, a label that does not exist, and the one that is found.
    """
    nodes = model.nodes([doc])
    sentence, m = _place(nodes, i)
    heads, _ = model.parse(nodes)
    arcs, arc_nodes, _ = model.arc_table(nodes, heads)
    start, end = nodes.starts[sentence : sentence + 2]
    row = int(np.flatnonzero(arc_nodes == start + m)[0])
    s = int(np.searchsorted(arcs.sentence_starts, row, side="right")) - 1
    t = row - int(arcs.sentence_starts[s])
    labels = model.label_model
    emissions = labels.emissions(arcs, s)
    contrast = contrast_labels(
        emissions, labels.label_pairs, t, labels.labels, f"token {i}", against=against
    )
    roles = _label_roles(heads[start : end - 1], m)
    texts = [
        (str(template), partial(_value, model, doc, nodes, sentence, template, roles))
        for template in model.label_templates
    ]
    features = fired_features(labels, arcs, s, t, contrast.labels, texts)
    return contrast.explain(doc[i].text, strongest(features, top), OTHER_DEPENDENTS)


def _place(nodes: Nodes[N], i: int) -> tuple[int, int]:
    """The sentence, or piece, of a token, and its node there. Raises ValueError for whitespace."""
    word = int(np.searchsorted(nodes.tokens.positions, i))
    if word == len(nodes.tokens.positions) or nodes.tokens.positions[word] != i:
        raise ValueError(f"token {i} is whitespace: it has no head")
    s = int(np.searchsorted(nodes.tokens.sentence_starts, word, side="right")) - 1
    return s, int(nodes.words[word] - nodes.starts[s])


def _node_of_head(nodes: Nodes[N], s: int, i: int, head: int) -> int:
    """The node of the head of token i, which is i itself for a root, in its sentence or piece."""
    if head == i:
        return 0
    place, node = _place(nodes, head)
    if place != s:
        raise ValueError(
            f"token {head} cannot be the head of token {i}: it is in another sentence, or "
            "another piece of a long one"
        )
    return node


def _token(nodes: Nodes[N], s: int, node: int) -> int:
    """The token of a node of a sentence; -1 for its root."""
    return int(nodes.tokens.positions[nodes.tokens.sentence_starts[s] + node - 1]) if node else -1


def _weight(model: ParserModel, template: ArcTemplate, nodes: Keys, h: int, m: int) -> float:
    """The contribution of one template to the score of an arc."""
    compiled = compile_arc_templates([template], model.reader.names)
    rows = np.empty(1 + len(nodes), dtype=np.int32)
    endpoints = hash_endpoints(compiled, nodes, 0, len(nodes))
    count = fill_arc_rows(compiled, endpoints, model.features.size, h, m, rows)
    steps, scale = model.scorer.weights
    return float(exact(QuantizedWeights(steps[rows[:count]], scale)).sum())


def _label_roles(heads: Ints, m: int) -> dict[str, int]:
    """The nodes of the roles of templates of labels, as in ``fill_arc_columns``.

    heads: int64 [n + 1], of a sentence. m: the dependent.
    """
    end, h = len(heads), int(heads[m])
    earlier = np.flatnonzero(heads[:m] == h)
    own = np.flatnonzero(heads == m)
    return {
        HEAD: h,
        DEPENDENT: m,
        SIBLING: int(earlier[-1]) if len(earlier) else end,
        GRANDPARENT: int(heads[h]) if h else end,
        LEFTMOST: int(own[0]) if len(own) else end,
        RIGHTMOST: int(own[-1]) if len(own) else end,
    }


def _value(
    model: ParserModel,
    doc: Doc,
    nodes: Nodes[N],
    s: int,
    template: ArcTemplate,
    roles: Mapping[str, int],
) -> str:
    """The values of the parts of a template, as text. roles: the node of each role."""
    start, end = nodes.tokens.sentence_starts[s : s + 2]
    values = []
    for role, part in template.parts:
        node = roles[role] + part.offset
        word = int(start) + node - 1
        if node <= 0:
            values.append(ROOT if node == 0 else "<start>")
        elif word >= end:
            values.append("<end>")
        else:
            i = int(nodes.tokens.positions[word])
            values.append(str(model.reader.text_value(part.attribute, doc, i)))
    h, m = roles[HEAD], roles[DEPENDENT]
    if template.between is not None:
        between = nodes.tokens.positions[start + min(h, m) : start + max(h, m) - 1].tolist()
        seen = [str(model.reader.text_value(template.between, doc, i)) for i in between]
        values.append(", ".join(dict.fromkeys(seen)))
    if template.geometry is not None:
        values.append("left" if m < h else "right")
    return " + ".join(values)
