"""What templates for entities know besides examples: clusters and names, as packages have them."""

from pathlib import Path
from typing import Any

from spacy_ssvm.commands.gazetteers import collect_names, write_lists
from spacy_ssvm.commands.recipes.config import Resources, clusters_of, has_lookups


def resources_of(language: str | None, folder: Path) -> dict[str, Any]:
    """What initialize gives to ssvm_ner; nothing for a language without clusters.

    The clusters are those of spacy-lookups-data, the lists of names those of
    `ssvm resources gazetteers`.

    language: that of the corpus, if it is known.
    folder: where to write the lists; its files are read when the component is initialized.
    """
    if language is None or not has_lookups(language):
        return {}
    return {
        "clusters": clusters_of("ner", language, Resources(lookups=True)),
        "gazetteers": {
            kind: str(file) for kind, file in write_lists(folder, collect_names(language)).items()
        },
    }
