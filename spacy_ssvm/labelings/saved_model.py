"""The saved form of a linear model of labels, and the checks that make it safe for kernels."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.features.reals import NO_SCALES, Scales
from spacy_ssvm.features.resources import ARRAYS as RESOURCE_ARRAYS
from spacy_ssvm.features.resources import Resources, read_resources
from spacy_ssvm.features.templates import Template
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.solvers.summary import TrainingSummary, read_summary
from spacy_ssvm.storage import checked_texts, require
from spacy_ssvm.weights.compact import CompactWeights, check_compact, starts_of
from spacy_ssvm.weights.key_table import KeyTable, read_keys
from spacy_ssvm.weights.narrow import widen


def arrays_with(label_pairs: str) -> dict[str, type]:
    """The saved arrays with their types. label_pairs: the name of that of these weights."""
    return {
        "keys": np.uint8,
        "template_rows": np.int64,
        label_pairs: np.float32,
        "row_sizes": np.uint8,
        "rows": np.int8,
        "scales": np.float32,
        **RESOURCE_ARRAYS,
    }


MAX_LABELS = 2**16 - 2  #: the largest number of labels, for arrays of labels


class Curve(NamedTuple):
    """A logistic curve, the probability of being right by margin: 1 / (1 + exp(-s m - o))."""

    slope: float
    offset: float


class Calibration(NamedTuple):
    """The curves of a model of spans, see ``chains/calibration.py``."""

    spans: Curve
    outside: Curve  #: of words outside of spans


class SavedModel(NamedTuple):
    """The content of a saved model, in the order of the settings and weights of ``LinearModel``."""

    templates: tuple[Template, ...]
    labels: tuple[str, ...]
    resources: Resources
    table: KeyTable
    label_pairs: Floats
    weights: CompactWeights
    template_rows: Ints
    summary: TrainingSummary | None
    scales: Scales = NO_SCALES  #: of real-valued attributes
    first: "SavedModel | None" = None  #: of a ``StackedModel``
    calibration: Calibration | None = None  #: of a model of spans
    candidates: tuple[Any, ...] = ()  #: of a ``LatticeModel``: its ``CandidateTable``


def read_calibration(saved: Any) -> Calibration | None:
    """The saved curves; None for none. Raises ValueError for anything else."""
    if saved is None:
        return None
    require(
        isinstance(saved, dict)
        and saved.keys() == set(Calibration._fields)
        and all(isinstance(curve, (list, tuple)) and len(curve) == 2 for curve in saved.values())
        and all(
            type(value) in (int, float) and np.isfinite(value)
            for curve in saved.values()
            for value in curve
        )
        and all(curve[0] >= 0 for curve in saved.values()),
        "the calibration of its scores is invalid",
    )
    return Calibration(**{name: Curve(*map(float, curve)) for name, curve in saved.items()})


def read_model(
    header: storage.Header,
    arrays: storage.Arrays,
    templates: tuple[Template, ...],
    read_label_pairs: Callable[[storage.Arrays, tuple[str, ...]], Floats],
    count_columns: Callable[[tuple[str, ...]], int] = len,
) -> SavedModel:
    """Check a saved model with these templates. Raises ValueError as ``LinearModel.read`` does.

    read_label_pairs: (arrays, labels) -> the checked ``LinearModel.label_pairs``.
    count_columns: the number of weights that a feature can have, by the labels.
    """
    labels = checked_texts(header["labels"], "labels")
    K, T = count_columns(labels), len(templates)
    rows_per_template = header["rows_per_template"]
    template_rows = arrays["template_rows"]
    require(
        type(rows_per_template) is int and 0 <= rows_per_template < 2**40,
        "rows_per_template is not a number of rows",
    )
    most = max(K, len(labels))
    require(most <= MAX_LABELS, f"{most} labels: at most {MAX_LABELS} are possible")
    label_pairs = read_label_pairs(arrays, labels)
    row_sizes = widen(arrays["row_sizes"], "sizes of rows")
    rows = len(row_sizes)
    require(int(row_sizes.max(initial=0)) <= K + 1, "the rows of weights do not fit their number")
    weights = CompactWeights(starts_of(row_sizes), arrays["rows"], arrays["scales"])
    check_compact(weights, K)
    require(
        template_rows.shape == (T + 1,)
        and template_rows[0] == 0
        and template_rows[-1] == rows
        and bool(np.all(np.diff(template_rows) >= 0)),
        "the rows do not fit the templates",
    )
    of_hashed = rows_per_template * T
    require(not of_hashed or rows == of_hashed, "the rows do not fit rows_per_template")
    table = read_keys(arrays["keys"], rows, rows_per_template)
    return SavedModel(
        templates,
        labels,
        read_resources(header, arrays),
        table,
        label_pairs,
        weights,
        template_rows,
        read_summary(header["summary"]),
    )
