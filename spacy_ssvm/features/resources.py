"""Clusters and gazetteers that attributes need: read at initialize, saved with the model."""

import re
from collections.abc import Iterable
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.features.clusters import Clusters, ClusterSets, needs_clusters, set_of
from spacy_ssvm.features.gazetteers import GAZETTEER, Gazetteers, needs_gazetteers
from spacy_ssvm.features.templates import ATTRIBUTE_NAME
from spacy_ssvm.features.wildcards import Names
from spacy_ssvm.storage import checked_texts, require


class Resources(NamedTuple):
    """Word clusters and gazetteers, where a component has them."""

    clusters: ClusterSets = MappingProxyType({})
    gazetteers: Gazetteers | None = None


NO_RESOURCES = Resources()


def names_of(resources: Resources) -> Names:
    """What the wildcards of templates stand for: types that templates can name, and all sets."""
    clusters, gazetteers = resources
    types = () if gazetteers is None else gazetteers.types
    readable = [
        kind for kind in types if kind and re.fullmatch(ATTRIBUTE_NAME, f"{GAZETTEER}.{kind}")
    ]
    return {"cluster": list(clusters), GAZETTEER: readable}


#: The saved arrays with their types.
ARRAYS: dict[str, type] = {
    "cluster_starts": np.int64,
    "cluster_words": np.uint64,
    "cluster_numbers": np.uint32,
    "cluster_bits": np.uint64,
    "gazetteer_slots": np.uint64,
}


def header_of(resources: Resources) -> storage.Header:
    """The saved settings of resources, see ``read_resources``."""
    clusters, gazetteers = resources
    settings = None
    if gazetteers is not None:
        settings = {"types": list(gazetteers.types), "attribute": gazetteers.attribute}
    return {"clusters": list(clusters), "gazetteers": settings}


def arrays_of(resources: Resources) -> storage.Arrays:
    """The saved arrays of resources, by the names of ``ARRAYS``."""
    empty = np.zeros(0, dtype=np.uint64)
    clusters, gazetteers = resources
    sets = clusters.values()
    bits, numbers = np.unique(
        np.concatenate([empty, *(found.bits for found in sets)]), return_inverse=True
    )
    return {
        "cluster_starts": np.cumsum([0, *(len(found.words) for found in sets)]),
        "cluster_words": np.concatenate([empty, *(found.words for found in sets)]),
        "cluster_numbers": numbers.astype(np.uint32),  # many words have the same few bit strings
        "cluster_bits": bits,
        "gazetteer_slots": empty if gazetteers is None else gazetteers.slots,
    }


def read_resources(header: storage.Header, arrays: storage.Arrays) -> Resources:
    """The resources of a saved model."""
    clusters, gazetteers = _read_clusters(header["clusters"], arrays), None
    if settings := header["gazetteers"]:
        types = checked_texts(settings["types"], "types of gazetteers")
        gazetteers = Gazetteers(types, settings["attribute"], arrays["gazetteer_slots"])
    return Resources(clusters, gazetteers)


def _read_clusters(header: object, arrays: storage.Arrays) -> ClusterSets:
    names = checked_texts(header, "names of word clusters")
    starts, words = arrays["cluster_starts"], arrays["cluster_words"]
    numbers, bits = arrays["cluster_numbers"], arrays["cluster_bits"]
    require(
        starts.shape == (len(names) + 1,)
        and starts[0] == 0
        and bool(np.all(np.diff(starts) > 0))
        and starts[-1] == len(words) == len(numbers),
        "the words of clusters do not fit the sets",
    )
    require(
        bits.ndim == 1 and bool(np.all(numbers < len(bits))),
        "the words of clusters do not fit the bit strings",
    )
    bounds = pairwise(starts.tolist())
    return {
        name: Clusters(words[start:end], bits[numbers[start:end]])
        for name, (start, end) in zip(names, bounds, strict=True)
    }


def check_resources(names: Iterable[str], resources: Resources) -> None:
    """Raise ValueError where an attribute of templates needs a resource that is missing."""
    for name in names:
        if needs_clusters(name):
            require(set_of(name) in resources.clusters, f"'{name}' needs word clusters")
        elif needs_gazetteers(name):
            kind = name.partition(".")[2]
            found = resources.gazetteers is not None and (
                not kind or kind in resources.gazetteers.types
            )
            require(found, f"'{name}' needs a gazetteer")
