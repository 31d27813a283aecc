"""Kernels that label the nodes of graphs, given the scores of labels and the penalties of edges."""

from typing import NamedTuple

from spacy_ssvm.decoders.chain import fill_margins
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.sentences.cuts.decoder import best_labels, cut_margins

#: The most nodes of a graph whose margins are exact: their time grows with the square.
MAX_EXACT = 1000


class Graphs(NamedTuple):
    """Graphs whose nodes are those of a table of scores, one graph after another."""

    node_starts: Ints  #: int64 [graphs + 1]
    edge_starts: Ints  #: int64 [graphs + 1]
    edges: Ints  #: int64 [edges, 2]: two nodes, counted from 0 in each graph
    penalties: Floats  #: float64 [edges], none negative


@kernel
def label_graphs(scores: Floats, graphs: Graphs, y: Ints) -> None:
    """Fill y (int64 [nodes]) with the best labels that are found: see ``best_labels``."""
    for g in range(len(graphs.node_starts) - 1):
        first, last = graphs.node_starts[g], graphs.node_starts[g + 1]
        begin, end = graphs.edge_starts[g], graphs.edge_starts[g + 1]
        penalties = graphs.penalties[begin:end]
        best_labels(scores[first:last], graphs.edges[begin:end], penalties, y[first:last])


@kernel
def measure_margins(scores: Floats, graphs: Graphs, y: Ints, margins: Floats) -> None:
    """Write how much lower the score is with another label than y at each node.

    y: int64 [nodes], the result of ``label_graphs``.
    For two labels, and up to MAX_EXACT nodes, this is the difference to the best labeling with
    the other one. Else the other nodes keep their labels: an upper bound of that difference.
    """
    K = scores.shape[1]
    for g in range(len(graphs.node_starts) - 1):
        first, last = graphs.node_starts[g], graphs.node_starts[g + 1]
        begin, end = graphs.edge_starts[g], graphs.edge_starts[g + 1]
        edges, penalties = graphs.edges[begin:end], graphs.penalties[begin:end]
        table, found, written = scores[first:last], y[first:last], margins[first:last]
        if K == 2 and last - first <= MAX_EXACT:
            cut_margins(table, edges, penalties, found.copy(), written)
        else:
            table = table.copy()
            for e in range(len(edges)):
                a, b = edges[e, 0], edges[e, 1]
                table[a, found[b]] += penalties[e]
                table[b, found[a]] += penalties[e]
            fill_margins(table, found, written)
