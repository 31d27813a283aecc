"""Examples of matchings, as kernels read them.

An example is a pair of sentences, with m source and n target words. Its links are numbered
j * n + k. Weights are one float64 vector w:

    w[c]                 0 <= c < f - 1: what a source word pays for each link after its
                         (c + 1)-th; at least 0, so that what links cost never falls
    w[f - 1 + c]         0 <= c < g - 1: the same for target words
    w[f + g - 2 + row]   the weight of a feature of links

where f and g are the largest numbers of links of a source and of a target word. A word with d
links pays w[0] for its second, w[0] + w[1] for its third, and so on.
"""

from typing import NamedTuple

from spacy_ssvm.kernels.types import (
    Flags,
    Flags1,
    Floats,
    Floats1,
    Ints,
    Ints1,
    Rows,
    Rows1,
    Weights,
    Weights1,
    named_tuple,
)

#: What gold annotation says of a link.
WRONG, SURE, POSSIBLE, ALTERNATIVE = range(4)


class LinkFeatures(NamedTuple):
    """The features of links, one link after another."""

    starts: Ints  #: int64 [links + 1]: the first feature of each link
    rows: Rows  #: int32 [features]
    values: Weights  #: float32 [features]


class MatchingExamples(NamedTuple):
    """The arrays of a problem."""

    link_starts: Ints  #: int64 [examples + 1]: the first link of each example
    source_words: Ints  #: int64 [examples]: m
    gold: Rows  #: int32 [links]: WRONG, SURE, POSSIBLE or ALTERNATIVE
    completions: Flags  #: bool [links]: the gold matching, as it is assumed now
    is_complete: Flags  #: bool [examples]: whether ``completions`` holds one
    fertilities: Ints  #: int64 [2]: f and g
    costs: Floats  #: float64 [2]: of a sure link that is missing, and of a wrong link
    features: LinkFeatures


LinkFeaturesType = named_tuple(LinkFeatures, Ints1, Rows1, Weights1)
MatchingExamplesType = named_tuple(
    MatchingExamples, Ints1, Ints1, Rows1, Flags1, Flags1, Ints1, Floats1, LinkFeaturesType
)
