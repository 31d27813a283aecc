"""Examples of labelings of graphs, as kernels read them.

An example is a graph, such as the sentences of a document. Its nodes have features and a set of
allowed labels, as the tokens of chains have; its edges have E features that are not negative.
The score of a labeling y of the graph x is

    w . phi(x, y) = sum_i s(i, y_i) - sum_(a, b) [y_a != y_b] sum_e w[e] f(a, b, e)

where s(i, k) is the sum of the weights of the features of node i for label k. Weights are one
float64 vector w:

    w[e]                e < E: the penalty of different labels, per unit of the edge feature e
    w[E + row * K + k]  features of nodes, by label

The first E weights must not be negative, or a best labeling could not be found by cuts: see
``CutProblem.nonnegative``. Decoding takes negative ones for 0.
"""

from typing import NamedTuple

from spacy_ssvm.chains import layout
from spacy_ssvm.kernels.types import Floats, Floats2, Ints, Ints1, Ints2, named_tuple
from spacy_ssvm.labelings.word_features import RowFeatures, RowFeaturesType


class Examples(NamedTuple):
    """The arrays of a problem."""

    nodes: layout.Examples  #: nodes as tokens of chains, with gold label sets and costs
    features: RowFeatures  #: those of the nodes
    edge_starts: Ints  #: int64 [examples + 1]: the first edge of each example
    edges: Ints  #: int64 [edges, 2]: the nodes of an edge, by their place in the example
    edge_features: Floats  #: float64 [edges, E]


ExamplesType = named_tuple(Examples, layout.ExamplesType, RowFeaturesType, Ints1, Ints2, Floats2)
