"""Examples of chains, as kernels read them.

An example is a sequence of tokens; a token has features and a set of allowed labels.
Weights are one float64 vector w:

    w[p * K + k]                p < K: transition from label p to k; p = K: start with k;
                                p = K + 1: end with k
    w[(K + 2) * K + ...]        features, by label: see ``RowFeatures`` and ``LazyFeatures``

Label sets represent gold annotation, complete or partial: sets 0..K-1 allow one label each,
set K allows all (no annotation), further ones are defined by the problem.
"""

from typing import NamedTuple

from spacy_ssvm.features.extraction import CompiledTemplates, CompiledTemplatesType
from spacy_ssvm.kernels.types import (
    Flags,
    Flags2,
    Floats,
    Floats2,
    Ints,
    Ints1,
    Keys,
    Keys1,
    Keys2,
    Rows,
    Rows1,
    Weights,
    Weights2,
    named_tuple,
)
from spacy_ssvm.weights.lazy import LazyTable, LazyTableType
from spacy_ssvm.weights.rows import RowTable, RowTableType


class RowFeatures(NamedTuple):
    """Features that were extracted in advance; w[(K + 2) * K + entry] is a weight of the table.

    Those of ``rows`` have the value 1; F others have real values, see ``features/reals.py``.
    """

    starts: Ints  #: int64 [tokens + 1]: the first feature of each token
    rows: Rows  #: int32 [features]
    reals: Weights  #: float32 [tokens, F]
    real_rows: Rows  #: int32 [F]
    table: RowTable  #: has all rows above


class LazyFeatures(NamedTuple):
    """Features that are hashed on each use; w[(K + 2) * K + row] is a weight of the table.

    A feature without a row for a label has weight 0. Oracles insert rows for the entries that
    they write: loss-augmented decoding for the features of wrong tokens, with the predicted and
    the gold label; expectations for all features of an example, with all labels.
    """

    attributes: Keys  #: uint64 [tokens, columns]
    templates: CompiledTemplates
    table: LazyTable
    reals: Weights  #: float32 [tokens, F]: the values of real-valued features
    real_keys: Keys  #: uint64 [F]
    real_templates: Rows  #: int32 [F]


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


RowFeaturesType = named_tuple(RowFeatures, Ints1, Rows1, Weights2, Rows1, RowTableType)
LazyFeaturesType = named_tuple(
    LazyFeatures, Keys2, CompiledTemplatesType, LazyTableType, Weights2, Keys1, Rows1
)
_shared = Ints1, Ints1, Ints1, Flags2, Floats2, Floats2
ExamplesType = named_tuple(Examples, *_shared, RowFeaturesType)
LazyExamplesType = named_tuple(Examples, *_shared, LazyFeaturesType)
