"""Examples of trees, as kernels read them.

An example is a sentence of n words. Its nodes are the root (0), the words (1..n), and the end
of the sentence (n + 1), used where there is no sibling. Features are computed on demand, because
those of all n^2 arcs would not fit into memory; ``HashedArcs`` and ``LazyArcs`` are the two ways
to store their weights.
"""

from typing import NamedTuple

from spacy_ssvm.kernels.types import (
    Bool,
    Float,
    Floats1,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys2,
    Rows,
    Rows1,
    named_tuple,
)
from spacy_ssvm.trees.templates import CompiledArcTemplates, CompiledArcTemplatesType
from spacy_ssvm.weights.lazy import LazyTable, LazyTableType
from spacy_ssvm.weights.quantized import QuantizedWeightsType, TableWeights


class ArcFeatures(NamedTuple):
    """The templates of a tree."""

    arcs: CompiledArcTemplates
    pairs: CompiledArcTemplates  #: of siblings; there are none in a first-order model
    grandparents: CompiledArcTemplates  #: there may be none
    size: int  #: the number of hashed rows, a power of two
    projective: bool  #: whether trees must be projective


_groups = CompiledArcTemplatesType, CompiledArcTemplatesType, CompiledArcTemplatesType
ArcFeaturesType = named_tuple(ArcFeatures, *_groups, Int, Bool)


class Pruner(NamedTuple):
    """A logistic regression of heads with few templates, which discards unlikely arcs."""

    arcs: CompiledArcTemplates
    size: int
    weights: TableWeights  #: [size + 1]; quantized, or float64 during training
    threshold: float  #: how far a head may score below the best of the word; inf for all
    max_heads: int  #: how many heads of each word it leaves to the parser, at most


PrunerType, SavedPrunerType = (
    named_tuple(Pruner, CompiledArcTemplatesType, Int, weights, Float, Int)
    for weights in (Floats1, QuantizedWeightsType)
)


class Scorer(NamedTuple):
    """Everything that kernels need to score arcs, given the attributes of nodes."""

    features: ArcFeatures
    pruner: Pruner
    weights: TableWeights  #: [size + 1]; quantized, or float64 during training


ScorerType = named_tuple(Scorer, ArcFeaturesType, PrunerType, Floats1)
SavedScorerType = named_tuple(Scorer, ArcFeaturesType, SavedPrunerType, QuantizedWeightsType)


class HashedArcs(NamedTuple):
    """The pruner chooses the arcs; features share the rows w[:size], and w[size] is 0."""

    pruner: Pruner


class Arcs(NamedTuple):
    """Arcs of sentences, one sentence after another."""

    starts: Ints  #: int64 [sentences + 1]
    heads: Rows  #: int32 [arcs]
    dependents: Rows  #: int32 [arcs]


class LazyArcs(NamedTuple):
    """Arcs are listed, gold ones among them; features have rows of a table, w[row]. First order.

    A feature without a row has weight 0. Oracles insert rows for the entries that they write:
    loss-augmented decoding for wrong arcs and the gold arcs of the same words, expectations for
    all listed arcs.
    """

    arcs: Arcs
    table: LazyTable


class TreeExamples(NamedTuple):
    """The arrays of a problem."""

    node_starts: Ints  #: int64 [examples + 1]: the root of each example, among all nodes
    attributes: Keys  #: uint64 [nodes, columns]
    heads: Ints  #: int64 [nodes]: gold heads, as nodes of the sentence; -1 for no annotation
    completions: Ints  #: int64 [nodes]: gold heads, imputed where they are missing
    features: ArcFeatures
    store: HashedArcs | LazyArcs


HashedArcsType = named_tuple(HashedArcs, PrunerType)
ArcsType = named_tuple(Arcs, Ints1, Rows1, Rows1)
LazyArcsType = named_tuple(LazyArcs, ArcsType, LazyTableType)
_shared = Ints1, Keys2, Ints1, Ints1, ArcFeaturesType
TreeExamplesType = named_tuple(TreeExamples, *_shared, HashedArcsType)
LazyTreeExamplesType = named_tuple(TreeExamples, *_shared, LazyArcsType)
