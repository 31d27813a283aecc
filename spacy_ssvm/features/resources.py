"""What attributes need beside the text: read at initialize, and saved with the model."""

from typing import NamedTuple

from spacy_ssvm.features.clusters import Clusters
from spacy_ssvm.features.gazetteers import Gazetteers


class Resources(NamedTuple):
    """Word clusters and gazetteers, where a component has them."""

    clusters: Clusters | None = None
    gazetteers: Gazetteers | None = None


NO_RESOURCES = Resources()
