"""The parts and classes of labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.decoders.lattice import Levels, make_levels
from spacy_ssvm.kernels.types import Ints
from spacy_ssvm.lattices.layout import LabelParts

POS = "POS"  #: the name of the part of speech among the features of a label

FEATURES, WHOLE, TAGS = SCHEMES = ("features", "whole", "tags")

_MOST_WHOLE = 2**12  # labels that are compared as a whole with the next one: 16 million weights
_MOST_CLASSES = 10**7  # of all labels at all levels


class LabelSystem(NamedTuple):
    """What is shared between labels: their parts, and the classes that steps are scored by."""

    parts: LabelParts
    part_names: tuple[str, ...]
    levels: Levels


def features_of(label: str) -> dict[str, str]:
    """The features of a label such as POS=NOUN|Number=Sing, by attribute."""
    pairs = (part.partition("=") for part in label.split("|") if "=" in part)
    return {name: value for name, _, value in pairs}


def label_system(labels: Sequence[str], scheme: str) -> LabelSystem:
    """The parts and levels of labels.

    scheme: FEATURES for labels such as POS=NOUN|Number=Sing, which share the weights of their
        features, and whose steps are scored by part of speech, by the values of each other
        attribute that two labels in a row have, and, up to 4,096 labels, by label. WHOLE for
        labels without parts, each of which is decided by itself. TAGS for labels without parts
        whose steps are scored by label, up to 4,096.
    Raises ValueError for too many attributes.
    """
    numbers: dict[str, int] = {}
    parts: list[int] = []
    starts = [0]
    for label in labels:
        own = [part for part in label.split("|") if part] if scheme == FEATURES else []
        parts += [numbers.setdefault(part, len(numbers)) for part in dict.fromkeys([*own, label])]
        starts.append(len(parts))
    of_labels = LabelParts(
        np.array(starts, dtype=np.int64), np.array(parts, dtype=np.int32), len(numbers)
    )
    classes = {FEATURES: _classes, WHOLE: lambda _: [], TAGS: _whole_labels}[scheme](labels)
    return LabelSystem(of_labels, tuple(numbers), make_levels(len(labels), classes))


def _classes(labels: Sequence[str]) -> list[Ints]:
    """Parts of speech, the values of each other attribute, and whole labels if they are few."""
    features = [features_of(label) for label in labels]
    attributes = sorted({name for own in features for name in own} - {POS})
    if len(labels) * len(attributes) > _MOST_CLASSES:
        raise ValueError(f"{len(labels):,} labels have {len(attributes):,} attributes: too many")
    classes = [_number([own.get(name, "") for own in features]) for name in (POS, *attributes)]
    return [*classes, *_whole_labels(labels)]


def _whole_labels(labels: Sequence[str]) -> list[Ints]:
    """A class for each label, if they are few."""
    return [np.arange(len(labels), dtype=np.int64)] if len(labels) <= _MOST_WHOLE else []


def _number(values: Sequence[str]) -> Ints:
    """Numbers for texts, 0 for the first of them in alphabetical order."""
    order = {value: i for i, value in enumerate(sorted(set(values)))}
    return np.array([order[value] for value in values], dtype=np.int64)
