"""The saved form of a parser model, and the checks that make it safe for kernels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.chains.model import ARRAYS as CHAIN_ARRAYS
from spacy_ssvm.chains.model import read_transitions
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.kernels.types import Codes
from spacy_ssvm.labelings.saved_model import SavedModel, read_model
from spacy_ssvm.solvers.summary import TrainingSummary, read_summary
from spacy_ssvm.storage import checked_texts, require
from spacy_ssvm.trees.labels import LABEL_ROLES, as_chain_templates
from spacy_ssvm.trees.templates import ARC_ROLES, ArcTemplate, parse_arc_templates
from spacy_ssvm.weights.quantized import QuantizedWeights

#: The pruner has 2**PRUNER_BITS hashed rows: enough for its few templates.
PRUNER_BITS = 20

_LARGEST_SCALE = float(np.finfo(np.float32).max)  # sums of weights stay finite

LABELS = "labels."  #: before the names of the arrays of the model of labels

#: The saved arrays with their types.
ARRAYS: dict[str, type] = {
    "arc_weights": np.int8,
    "pruner_weights": np.int8,
    "scales": np.float64,  # of both: see ``weights.quantized``
    **{f"{LABELS}{name}": dtype for name, dtype in CHAIN_ARRAYS.items()},
}


class SavedParserModel(NamedTuple):
    """The content of a saved parser model."""

    templates: tuple[ArcTemplate, ...]
    pruner_templates: tuple[ArcTemplate, ...]
    label_templates: tuple[ArcTemplate, ...]
    hash_bits: int
    arc_weights: QuantizedWeights
    pruner_weights: QuantizedWeights
    summary: TrainingSummary | None
    label_model: SavedModel

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels of arcs."""
        return self.label_model.labels


def read_parser_model(header: storage.Header, arrays: storage.Arrays) -> SavedParserModel:
    """Check a saved parser model. Raises ValueError as ``ParserModel.read`` does."""
    hash_bits = header["hash_bits"]
    require(type(hash_bits) is int and 8 <= hash_bits <= 28, "hash_bits is not in 8 to 28")
    scales = arrays["scales"]
    require(scales.shape == (2,), "the weights of arcs and of the pruner lack a scale")
    of_arcs, of_pruner = scales.tolist()
    label_templates = _read_templates(header, "label_templates", LABEL_ROLES)
    label_arrays = {name: arrays[f"{LABELS}{name}"] for name in CHAIN_ARRAYS}
    return SavedParserModel(
        _read_templates(header, "templates", ARC_ROLES),
        _read_templates(header, "pruner_templates", ARC_ROLES[:2]),
        label_templates,
        hash_bits,
        _read_weights(arrays["arc_weights"], of_arcs, hash_bits, "arcs"),
        _read_weights(arrays["pruner_weights"], of_pruner, PRUNER_BITS, "the pruner"),
        read_summary(header["summary"]),
        read_model(
            header["labels"], label_arrays, as_chain_templates(label_templates), read_transitions
        ),
    )


def _read_templates(
    header: storage.Header, key: str, roles: Sequence[str]
) -> tuple[ArcTemplate, ...]:
    texts = checked_texts(header[key], key)
    return parse_arc_templates(
        texts, families={}, roles=roles, is_attribute=is_attribute, attributes=ATTRIBUTES
    )


def _read_weights(codes: Codes, scale: float, bits: int, what: str) -> QuantizedWeights:
    require(codes.shape == (2**bits + 1,), f"the weights of {what} are not 2**{bits} and one")
    is_right = 0.0 <= scale <= _LARGEST_SCALE
    require(is_right, f"the scale of the weights of {what} is not finite, or out of range")
    require(codes[-1] == 0, f"the weight of {what} without a feature is not 0")
    return QuantizedWeights(codes, scale)
