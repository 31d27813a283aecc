"""Explains why a node gets its label: the best labeling against the best one with another label."""

from collections.abc import Sequence

import numpy as np

from spacy_ssvm.explanation import Contrast, Reason, other_label
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.sentences.cuts.decoder import best_labels, labeling_score


def contrast_labels(
    scores: Floats,
    edges: Ints,
    features: Floats,
    weights: Floats,
    t: int,
    labels: Sequence[str],
    names: Sequence[str],
    what: str,
    *,
    against: str | None = None,
) -> Contrast:
    """Contrast the label of node t of a graph with another one, the runner-up by default.

    scores: float64 [n, K]. edges: int64 [edges, 2].
    features: float64 [edges, E]. weights: float64 [E], the penalties of edge features.
    labels: the names of the labels. names: those of the edge features.
    For more than two labels, both labelings are what alpha-expansion finds; the second one can
    then have the higher score, and the margin is negative.
    what: is there, for messages. against: the other label.
    Raises ValueError where only one label is possible, and where the other one is the best, or
    impossible.
    """
    parts = features * weights
    penalties = parts.sum(axis=1)
    best, other = (np.empty(len(scores), dtype=np.int64) for _ in range(2))
    best_labels(scores, edges, penalties, best)
    label = int(best[t])
    forced = scores.copy()
    forced[t, label] = -np.inf
    if against is not None:
        forced[t, np.arange(len(labels)) != other_label(labels, label, against, what)] = -np.inf
        if np.isneginf(forced[t]).all():
            raise ValueError(f"{what} cannot have the label '{against}'")
    if np.isneginf(forced[t]).all():
        raise ValueError(f"{what} can only have the label '{labels[label]}'")
    best_labels(forced, edges, penalties, other)
    runner_up = int(other[t])
    totals = [float(labeling_score(scores, edges, penalties, y)) for y in (best, other)]
    here = np.flatnonzero((edges == t).any(axis=1))
    paid = [-_is_cut(edges[here], y) @ parts[here] for y in (best, other)]
    around = [
        Reason(name, f"{np.count_nonzero(features[here, e])} edges", float(a), float(b))
        for e, (name, a, b) in enumerate(zip(names, *paid, strict=True))
    ]
    elsewhere = [
        total - float(scores[t, y[t]]) - float(penalty.sum())
        for total, y, penalty in zip(totals, (best, other), paid, strict=True)
    ]
    return Contrast(
        (label, runner_up),
        (labels[label], labels[runner_up]),
        totals[0] - totals[1],
        tuple(around),
        (elsewhere[0], elsewhere[1]),
    )


def _is_cut(edges: Ints, y: Ints) -> Floats:
    """1 for each edge between different labels, else 0."""
    return np.asarray(y[edges[:, 0]] != y[edges[:, 1]], dtype=np.float64)
