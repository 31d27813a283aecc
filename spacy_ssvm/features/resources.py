"""Clusters and gazetteers that attributes need: read at initialize, saved with the model."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.features.clusters import CLUSTER_ATTRIBUTES, Clusters
from spacy_ssvm.features.gazetteers import Gazetteers, is_gazetteer_attribute
from spacy_ssvm.storage import checked_texts, require


class Resources(NamedTuple):
    """Word clusters and gazetteers, where a component has them."""

    clusters: Clusters | None = None
    gazetteers: Gazetteers | None = None


NO_RESOURCES = Resources()

#: The saved arrays with their types.
ARRAYS: dict[str, type] = {
    "cluster_words": np.uint64,
    "cluster_bits": np.uint64,
    "gazetteer_slots": np.uint64,
}


def header_of(resources: Resources) -> storage.Header:
    """The saved settings of resources, see ``read_resources``."""
    clusters, gazetteers = resources
    settings = None
    if gazetteers is not None:
        settings = {"types": list(gazetteers.types), "attribute": gazetteers.attribute}
    return {"has_clusters": clusters is not None, "gazetteers": settings}


def arrays_of(resources: Resources) -> storage.Arrays:
    """The saved arrays of resources, by the names of ``ARRAYS``."""
    empty = np.zeros(0, dtype=np.uint64)
    clusters, gazetteers = resources
    return {
        "cluster_words": empty if clusters is None else clusters.words,
        "cluster_bits": empty if clusters is None else clusters.bits,
        "gazetteer_slots": empty if gazetteers is None else gazetteers.slots,
    }


def read_resources(header: storage.Header, arrays: storage.Arrays) -> Resources:
    """The resources of a saved model."""
    clusters, gazetteers = None, None
    if header["has_clusters"]:
        clusters = Clusters(arrays["cluster_words"], arrays["cluster_bits"])
    if settings := header["gazetteers"]:
        types = checked_texts(settings["types"], "types of gazetteers")
        gazetteers = Gazetteers(types, settings["attribute"], arrays["gazetteer_slots"])
    return Resources(clusters, gazetteers)


def check_resources(names: Iterable[str], resources: Resources) -> None:
    """Raise ValueError where an attribute of templates needs a resource that is missing."""
    for name in names:
        if name in CLUSTER_ATTRIBUTES:
            require(resources.clusters is not None, f"'{name}' needs word clusters")
        elif is_gazetteer_attribute(name):
            kind = name.partition(".")[2]
            found = resources.gazetteers is not None and (
                not kind or kind in resources.gazetteers.types
            )
            require(found, f"'{name}' needs a gazetteer")
