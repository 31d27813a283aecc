"""Kernels of arcs, called as several tests need them: one place that knows their arguments."""

from functools import cache

import numpy as np

from spacy_ssvm.trees.keys import (
    fill_arc_rows,
    fill_grandparent_rows,
    fill_pair_rows,
    hash_endpoints,
)
from spacy_ssvm.trees.scores import arc_scores
from spacy_ssvm.trees.templates import GRANDPARENT, SIBLING, compile_arc_templates


@cache
def compiled(templates, columns, third=SIBLING):
    """The templates as arrays; both are tuples."""
    return compile_arc_templates(templates, columns, third)


def arc_rows(templates, columns, nodes, size, h, m):
    """The rows of an arc; size stands for no feature."""
    arrays = compiled(tuple(templates), tuple(columns))
    rows = np.full(len(templates) * (len(nodes) + 1), -1, dtype=np.int32)
    endpoints = hash_endpoints(arrays, nodes, 0, len(nodes))
    return rows[: fill_arc_rows(arrays, endpoints, size, h, m, rows)].tolist()


def pair_rows(templates, columns, nodes, size, h, m, s):
    """The rows of a pair of arcs with one head."""
    arrays = compiled(tuple(templates), tuple(columns))
    rows = np.full(len(templates) + 1, -1, dtype=np.int32)
    endpoints = hash_endpoints(arrays, nodes, 0, len(nodes))
    return rows[: fill_pair_rows(arrays, endpoints, size, h, m, s, rows)].tolist()


def grandparent_rows(templates, columns, nodes, size, g, h, m):
    """The rows of two arcs, one below the other."""
    arrays = compiled(tuple(templates), tuple(columns), GRANDPARENT)
    rows = np.full(len(templates) + 1, -1, dtype=np.int32)
    endpoints = hash_endpoints(arrays, nodes, 0, len(nodes))
    return rows[: fill_grandparent_rows(arrays, endpoints, size, g, h, m, rows)].tolist()


def scores_of_arcs(templates, columns, nodes, size, weights, allowed):
    """The score table of a sentence."""
    arrays = compiled(tuple(templates), tuple(columns))
    scores = np.full(allowed.shape, np.nan)
    endpoints = hash_endpoints(arrays, nodes, 0, len(nodes))
    arc_scores(arrays, endpoints, size, weights, allowed, scores)
    return scores
