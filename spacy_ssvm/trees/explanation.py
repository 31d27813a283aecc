"""Explains why a word gets its head: the features of its arc and of the runner-up."""

import numpy as np

from spacy_ssvm._jit import Keys
from spacy_ssvm.explanation import Explanation, Reason, strongest
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.features.coordinates import ByPieceNode
from spacy_ssvm.trees.inference import runner_up
from spacy_ssvm.trees.keys import fill_arc_rows, hash_endpoints
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.nodes import Nodes
from spacy_ssvm.trees.templates import ArcTemplate, compile_arc_templates

OTHER_ARCS = "pairs of arcs, and other arcs"
ROOT = "<root>"


def explain_arc(model: ParserModel, doc: Doc, i: int, *, top: int | None = None) -> Explanation:
    """Explain the head of token i of a Doc, ignoring arcs that the Doc already has.

    The tree that is found is compared with the best one in which the token has another head.
    top: the number of features to show, see ``strongest``.
    Raises ValueError for whitespace, and where the token has only one possible head.
    """
    nodes = model.pieces(model.nodes([doc]))
    word = int(np.searchsorted(nodes.tokens.positions, i))
    if word == len(nodes.tokens.positions) or nodes.tokens.positions[word] != i:
        raise ValueError(f"token {i} is whitespace: it has no head")
    s = int(np.searchsorted(nodes.tokens.sentence_starts, word, side="right")) - 1
    start, end = nodes.starts[s : s + 2]
    m = int(nodes.words[word] - start)
    sentence_nodes = nodes.attributes[start:end]
    scorer, whole = model.scorer, np.array([0, end - start])
    heads = model.find_trees(scorer, sentence_nodes, whole)[:-1]
    others = np.empty(len(heads), dtype=np.int64)
    best, other = runner_up(scorer, sentence_nodes, m, heads, others)
    if not np.isfinite(other):
        raise ValueError(f"token {i} has only one possible head")
    h, other_head = int(heads[m]), int(others[m])
    features = []
    for template in model.templates:
        if template.is_of_arc:
            weights = [
                _weight(model, template, sentence_nodes, head, m) for head in (h, other_head)
            ]
            if any(weights):
                seen = [_value(model, doc, nodes, s, template, x, m) for x in (h, other_head)]
                features.append(Reason(str(template), " / ".join(dict.fromkeys(seen)), *weights))
    reasons = strongest(features, top)
    sums = [sum(reason.weight for reason in reasons)]
    sums.append(sum(reason.runner_up_weight for reason in reasons))
    reasons.append(Reason(OTHER_ARCS, "", best - sums[0], other - sums[1]))
    names = [_text(doc, nodes, s, head) for head in (h, other_head)]
    return Explanation(doc[i].text, names[0], names[1], best - other, tuple(reasons))


def _weight(model: ParserModel, template: ArcTemplate, nodes: Keys, h: int, m: int) -> float:
    """The contribution of one template to the score of an arc."""
    compiled = compile_arc_templates([template], model.reader.names)
    rows = np.empty(1 + len(nodes), dtype=np.int32)
    endpoints = hash_endpoints(compiled, nodes, 0, len(nodes))
    count = fill_arc_rows(compiled, endpoints, model.features.size, h, m, rows)
    return float(model.weights[rows[:count]].sum(dtype=np.float64))


def _text(doc: Doc, nodes: Nodes[ByPieceNode], s: int, node: int) -> str:
    if node == 0:
        return ROOT
    word = int(nodes.tokens.sentence_starts[s]) + node - 1
    return str(doc[int(nodes.tokens.positions[word])].text)


def _value(
    model: ParserModel,
    doc: Doc,
    nodes: Nodes[ByPieceNode],
    s: int,
    template: ArcTemplate,
    h: int,
    m: int,
) -> str:
    """The values of the parts of a template at an arc, as text."""
    start, end = nodes.tokens.sentence_starts[s : s + 2]
    values = []
    for role, part in template.parts:
        node = (h if role == "head" else m) + part.offset
        word = int(start) + node - 1
        if node <= 0:
            values.append(ROOT if node == 0 else "<start>")
        elif word >= end:
            values.append("<end>")
        else:
            i = int(nodes.tokens.positions[word])
            values.append(str(model.reader.text_value(part.attribute, doc, i)))
    if template.between is not None:
        between = nodes.tokens.positions[start + min(h, m) : start + max(h, m) - 1].tolist()
        seen = [str(model.reader.text_value(template.between, doc, i)) for i in between]
        values.append(", ".join(dict.fromkeys(seen)))
    if template.geometry is not None:
        values.append("left" if m < h else "right")
    return " + ".join(values)
