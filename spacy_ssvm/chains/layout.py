"""Examples of chains, as kernels read them.

An example is a sequence of tokens; a token has feature rows and the set of its allowed
labels. Weights are one float64 vector w:

    w[p * K + k]                p < K: transition from label p to k; p = K: start with k;
                                p = K + 1: end with k
    w[(K + 2) * K + row * K + k]    feature row with label k

Label sets stand for gold annotation, whole or partial: sets 0..K-1 allow one label each,
set K allows all (no annotation), further ones whatever is asked for.
"""

from typing import NamedTuple

from spacy_ssvm._jit import Flags, Flags2, Floats, Floats2, Ints, Ints1, Rows, Rows1, named_tuple


class Examples(NamedTuple):
    """What kernels read of a problem."""

    token_starts: Ints  #: int64 [examples + 1]: the first token of each example
    feature_starts: Ints  #: int64 [tokens + 1]: the first feature of each token
    rows: Rows  #: int32 [features]
    gold: Ints  #: int64 [tokens]: label sets
    completions: Ints  #: int64 [tokens]: gold labels; of label sets, those assumed now, or -1
    label_sets: Flags  #: bool [sets, K]: the labels that a set allows
    costs: Floats  #: float64 [sets, K]: Delta of a label where the gold is a set
    legality: Floats  #: float64 [K + 2, K]: 0, or minus infinity for an illegal transition


ExamplesType = named_tuple(Examples, Ints1, Ints1, Rows1, Ints1, Ints1, Flags2, Floats2, Floats2)
