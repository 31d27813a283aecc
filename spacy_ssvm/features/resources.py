"""What attributes look words up in: read at initialize, saved with the model."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.features.clusters import Clusters, ClusterSets, needs_clusters, set_of
from spacy_ssvm.features.dictionaries import (
    COLUMNS,
    DICTIONARY,
    Column,
    Dictionary,
    column_of,
    needs_dictionary,
)
from spacy_ssvm.features.gazetteers import GAZETTEER, Gazetteers, needs_gazetteers
from spacy_ssvm.features.templates import ATTRIBUTE_NAME
from spacy_ssvm.features.wildcards import Names
from spacy_ssvm.storage import checked_texts, require
from spacy_ssvm.weights.hash_table import empty_slots, read_slots, saved_slots
from spacy_ssvm.weights.narrow import narrow, numbers_of, steps_of, widen


class Resources(NamedTuple):
    """Word clusters, gazetteers and a dictionary, where a component has them."""

    clusters: ClusterSets = MappingProxyType({})
    gazetteers: Gazetteers | None = None
    dictionary: Dictionary | None = None


NO_RESOURCES = Resources()

#: Clusters and dictionaries that loaded models have, by digests of their contents.
_LOADED: WeakValueDictionary[bytes, Clusters | Dictionary] = WeakValueDictionary()
LoadedT = TypeVar("LoadedT", Clusters, Dictionary)


def names_of(resources: Resources) -> Names:
    """What wildcards of templates stand for: types that templates can name, sets and columns."""
    clusters, gazetteers, dictionary = resources
    types = () if gazetteers is None else gazetteers.types
    readable = [
        kind for kind in types if kind and re.fullmatch(ATTRIBUTE_NAME, f"{GAZETTEER}.{kind}")
    ]
    columns = () if dictionary is None else dictionary.columns
    return {"cluster": list(clusters), GAZETTEER: readable, DICTIONARY: list(columns)}


_GAZETTEERS = ("gazetteer_keys", "gazetteer_types")
#: The saved arrays with their types.
ARRAYS: dict[str, type] = {
    "cluster_starts": np.int64,
    "cluster_words": np.uint8,
    "cluster_numbers": np.uint8,
    "cluster_bits": np.uint64,
    **dict.fromkeys(_GAZETTEERS, np.uint8),
}
_DICTIONARY_WORDS = "dictionary_words"
_DICTIONARY_COLUMNS = {name: f"dictionary_{name}" for name in COLUMNS}
#: Those that are saved where there is a dictionary that has them.
OPTIONAL_ARRAYS: dict[str, type] = {
    _DICTIONARY_WORDS: np.uint8,
    **dict.fromkeys(_DICTIONARY_COLUMNS.values(), np.uint8),
}


def header_of(resources: Resources) -> storage.Header:
    """The saved settings of resources, see ``read_resources``."""
    clusters, gazetteers, dictionary = resources
    settings = None
    if gazetteers is not None:
        settings = {"types": list(gazetteers.types), "attribute": gazetteers.attribute}
    header: storage.Header = {"clusters": list(clusters), "gazetteers": settings}
    if dictionary is not None:
        texts = {name: list(column.texts) for name, column in dictionary.columns.items()}
        header[DICTIONARY] = texts
    return header


def arrays_of(resources: Resources) -> storage.Arrays:
    """The saved arrays of resources, by the names of ``ARRAYS`` and ``OPTIONAL_ARRAYS``."""
    empty = np.zeros(0, dtype=np.uint64)
    clusters, gazetteers, dictionary = resources
    sets = clusters.values()
    bits, numbers = np.unique(
        np.concatenate([empty, *(found.bits for found in sets)]), return_inverse=True
    )
    arrays: storage.Arrays = {
        "cluster_starts": np.cumsum([0, *(len(found.words) for found in sets)]),
        "cluster_words": narrow(np.concatenate([empty, *(steps_of(own.words) for own in sets)])),
        "cluster_numbers": narrow(numbers),  # many words have the same few bit strings
        "cluster_bits": bits,
    }
    slots = empty_slots(0) if gazetteers is None else gazetteers.slots
    arrays |= zip(_GAZETTEERS, saved_slots(slots), strict=True)
    if dictionary is not None:
        arrays[_DICTIONARY_WORDS] = narrow(steps_of(dictionary.words))
        for name, column in dictionary.columns.items():
            arrays[_DICTIONARY_COLUMNS[name]] = narrow(column.numbers)
    return arrays


def read_resources(header: storage.Header, arrays: storage.Arrays) -> Resources:
    """The resources of a saved model."""
    clusters, gazetteers = _read_clusters(header["clusters"], arrays), None
    if settings := header["gazetteers"]:
        types = checked_texts(settings["types"], "types of gazetteers")
        keys, types_of_keys = (arrays[name] for name in _GAZETTEERS)
        slots = read_slots(keys, types_of_keys, "entries of gazetteers")
        gazetteers = Gazetteers(types, settings["attribute"], slots)
    return Resources(clusters, gazetteers, _read_dictionary(header.get(DICTIONARY), arrays))


def _read_dictionary(texts: dict[str, object] | None, arrays: storage.Arrays) -> Dictionary | None:
    if texts is None:
        return None
    for name in (_DICTIONARY_WORDS, *(_DICTIONARY_COLUMNS[column] for column in texts)):
        is_there = name in arrays and arrays[name].dtype == OPTIONAL_ARRAYS[name]
        require(is_there, f"a dictionary lacks its array '{name}'")
    columns = {}
    for name, own in texts.items():
        numbers = widen(arrays[_DICTIONARY_COLUMNS[name]], f"{name} of a dictionary")
        column = Column(numbers, checked_texts(own, f"{name} of words"))
        "".join(column.texts).encode()  # half a character is none
        columns[name] = column
    words = numbers_of(widen(arrays[_DICTIONARY_WORDS], "words of a dictionary"))
    found = Dictionary(words, columns)
    parts = (part for name, own in found.columns.items() for part in (name, own.numbers, own.texts))
    return _shared(found, found.words, *parts)


def _read_clusters(header: object, arrays: storage.Arrays) -> ClusterSets:
    names = checked_texts(header, "names of word clusters")
    starts, bits = arrays["cluster_starts"], arrays["cluster_bits"]
    steps = widen(arrays["cluster_words"], "words of clusters")
    numbers = widen(arrays["cluster_numbers"], "numbers of clusters")
    require(
        starts.shape == (len(names) + 1,)
        and starts[0] == 0
        and bool(np.all(np.diff(starts) > 0))
        and starts[-1] == len(steps) == len(numbers),
        "the words of clusters do not fit the sets",
    )
    require(
        bits.ndim == 1 and bool(np.all(numbers < len(bits))),
        "the words of clusters do not fit the bit strings",
    )
    bounds = pairwise(starts.tolist())
    sets = [Clusters(numbers_of(steps[i:j]), bits[numbers[i:j]]) for i, j in bounds]
    return {name: _shared(own, own.words, own.bits) for name, own in zip(names, sets, strict=True)}


def _shared(loaded: LoadedT, *contents: object) -> LoadedT:
    """What a model has loaded, or the same of another one: in memory once, as none is changed."""
    digest = blake2b(type(loaded).__name__.encode())
    for content in contents:
        part = content.tobytes() if isinstance(content, np.ndarray) else repr(content).encode()
        digest.update(len(part).to_bytes(8, "little") + part)
    return _LOADED.setdefault(digest.digest(), loaded)  # type: ignore[return-value]


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
        elif needs_dictionary(name):
            dictionary = resources.dictionary
            is_there = dictionary is not None and column_of(name) in dictionary.columns
            require(is_there, f"'{name}' needs a dictionary")
