"""Kernels of arcs, called as several tests need them: one place that knows their arguments."""

import numpy as np

from spacy_ssvm.features.arcs import (
    compile_arc_templates,
    fill_arc_rows,
    fill_pair_rows,
    make_sides,
)
from spacy_ssvm.trees.scores import arc_scores


def arc_rows(templates, columns, nodes, size, h, m):
    """The rows of an arc; size stands for no feature."""
    compiled = compile_arc_templates(templates, columns)
    rows = np.full(len(templates) * (len(nodes) + 1), -1, dtype=np.int32)
    sides = make_sides(compiled, nodes, 0, len(nodes))
    return rows[: fill_arc_rows(compiled, sides, size, h, m, rows)].tolist()


def pair_rows(templates, columns, nodes, size, h, m, s):
    """The rows of a pair of arcs with one head."""
    compiled = compile_arc_templates(templates, columns)
    rows = np.full(len(templates) + 1, -1, dtype=np.int32)
    sides = make_sides(compiled, nodes, 0, len(nodes))
    return rows[: fill_pair_rows(compiled, sides, size, h, m, s, rows)].tolist()


def scores_of_arcs(templates, columns, nodes, size, weights, allowed):
    """The score table of a sentence."""
    compiled = compile_arc_templates(templates, columns)
    scores = np.full(allowed.shape, np.nan)
    sides = make_sides(compiled, nodes, 0, len(nodes))
    arc_scores(compiled, sides, size, weights, allowed, scores)
    return scores
