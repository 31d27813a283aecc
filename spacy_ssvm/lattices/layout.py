"""Examples of lattices, as kernels read them.

An example is a sequence of tokens; a token has features and candidates, which are labels. A label
has parts: a weight belongs to a feature and a part, and the weights of a label's parts add up.
Weights are one float64 vector w:

    w[...]                  steps from class to class, at each level: see ``decoders.lattice``
    w[first + ...]          features, by part: see ``labelings.word_features``

Gold annotation, complete or partial, is the set of the candidates that agree with it.
"""

from typing import NamedTuple

from spacy_ssvm.decoders.lattice import Levels, LevelsType
from spacy_ssvm.kernels.types import (
    Flags,
    Flags1,
    Int,
    Ints,
    Ints1,
    Rows,
    Rows1,
    named_tuple,
)
from spacy_ssvm.labelings.word_features import (
    LazyFeatures,
    LazyFeaturesType,
    RowFeatures,
    RowFeaturesType,
)


class LabelParts(NamedTuple):
    """What labels consist of."""

    starts: Ints  #: int64 [K + 1]: the first part of each label
    parts: Rows  #: int32, those of a label are different
    number: int  #: P, the number of parts


class Lattices(NamedTuple):
    """The arrays of a problem."""

    token_starts: Ints  #: int64 [examples + 1]: the first token of each example
    candidate_starts: Ints  #: int64 [tokens + 1]: the first candidate of each token
    candidates: Rows  #: int32 [candidates]: labels
    allowed: Flags  #: bool [candidates]: whether it agrees with the gold annotation
    completions: Ints  #: int64 [tokens]: the gold candidate, counted at its token, or the imputed
    #: one; -1 where several are allowed and none has been imputed
    labels: LabelParts
    levels: Levels
    features: RowFeatures | LazyFeatures  #: of tokens with one candidate, there may be none


LabelPartsType = named_tuple(LabelParts, Ints1, Rows1, Int)
_shared = Ints1, Ints1, Rows1, Flags1, Ints1, LabelPartsType, LevelsType
LatticesType = named_tuple(Lattices, *_shared, RowFeaturesType)
LazyLatticesType = named_tuple(Lattices, *_shared, LazyFeaturesType)
