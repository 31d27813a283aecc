"""Examples of trees, as kernels read them.

An example is a sentence of n words. Its nodes are the root (0), the words (1..n), and what
follows the sentence, which stands for a sibling that is not there. Features are computed
when they are asked for, into hashed rows, because those of all n^2 arcs would not fit. The
weights w are float64 [2**hash_bits + 1]; the last is always 0 and belongs to features that
do not fire.
"""

from typing import NamedTuple

from spacy_ssvm._jit import (
    AnyWeights,
    Bool,
    Float,
    Floats1,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys2,
    named_tuple,
)
from spacy_ssvm.trees.templates import CompiledArcTemplates, CompiledArcTemplatesType


class ArcFeatures(NamedTuple):
    """What makes the features of a tree."""

    arcs: CompiledArcTemplates
    pairs: CompiledArcTemplates  #: of siblings; without templates in a first-order model
    size: int  #: how many rows there are, a power of two
    projective: bool  #: whether trees must be


ArcFeaturesType = named_tuple(
    ArcFeatures, CompiledArcTemplatesType, CompiledArcTemplatesType, Int, Bool
)


class Pruner(NamedTuple):
    """A first-order model with few templates, which says what heads are worth scoring."""

    arcs: CompiledArcTemplates
    size: int
    weights: AnyWeights  #: [size + 1]; float64 while a model learns
    threshold: float  #: how much worse a tree with the arc may be than the best; inf for all


PrunerType = named_tuple(Pruner, CompiledArcTemplatesType, Int, Floats1, Float)


class TreeExamples(NamedTuple):
    """What kernels read of a problem."""

    node_starts: Ints  #: int64 [examples + 1]: the root of each example, among all nodes
    attributes: Keys  #: uint64 [nodes, columns]
    heads: Ints  #: int64 [nodes]: gold heads, as nodes of the sentence; -1 for no annotation
    completions: Ints  #: int64 [nodes]: gold heads, and those assumed now where there are none
    features: ArcFeatures
    pruner: Pruner


TreeExamplesType = named_tuple(
    TreeExamples, Ints1, Keys2, Ints1, Ints1, ArcFeaturesType, PrunerType
)
