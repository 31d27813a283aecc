"""Examples of chains, as kernels read them.

An example is a sequence of tokens; a token has features and a set of allowed labels.
Weights are one float64 vector w:

    w[p * K + k]                p < K: transition from label p to k; p = K: start with k;
                                p = K + 1: end with k
    w[(K + 2) * K + ...]        features, by label: see ``labelings.word_features``

Label sets represent gold annotation, complete or partial: sets 0..K-1 allow one label each,
set K allows all (no annotation), further ones are defined by the problem.
"""

from typing import NamedTuple

from spacy_ssvm.kernels.types import Flags, Flags2, Floats, Floats2, Ints, Ints1, named_tuple
from spacy_ssvm.labelings.word_features import (
    LazyFeatures,
    LazyFeaturesType,
    RowFeatures,
    RowFeaturesType,
)


class Examples(NamedTuple):
    """The arrays of a problem."""

    token_starts: Ints  #: int64 [examples + 1]: the first token of each example
    gold: Ints  #: int64 [tokens]: label sets
    completions: Ints  #: int64 [tokens]: gold labels; -1 or the imputed label where gold is a set
    label_sets: Flags  #: bool [sets, K]: the labels that a set allows
    costs: Floats  #: float64 [sets, K]: Delta of a label where the gold is a set
    legality: Floats  #: float64 [K + 2, K]: 0, or minus infinity for an illegal transition; or
    #: [0, K] where all are legal
    features: RowFeatures | LazyFeatures


_shared = Ints1, Ints1, Ints1, Flags2, Floats2, Floats2
ExamplesType = named_tuple(Examples, *_shared, RowFeaturesType)
LazyExamplesType = named_tuple(Examples, *_shared, LazyFeaturesType)
