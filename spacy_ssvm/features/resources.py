"""Clusters and gazetteers that attributes need: read at initialize, saved with the model."""

from collections.abc import Iterable
from typing import NamedTuple

from spacy_ssvm import storage
from spacy_ssvm.features.clusters import CLUSTER_ATTRIBUTES, Clusters
from spacy_ssvm.features.gazetteers import Gazetteers, is_gazetteer_attribute
from spacy_ssvm.storage import checked_texts, require


class Resources(NamedTuple):
    """Word clusters and gazetteers, where a component has them."""

    clusters: Clusters | None = None
    gazetteers: Gazetteers | None = None


NO_RESOURCES = Resources()


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
