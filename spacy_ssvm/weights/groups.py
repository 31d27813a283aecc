"""Weights in groups, one for each template, as proximal solvers shrink them.

The weight first + row * width + k, k < width, belongs to template templates[row] and is stored
divided by the scale of that template: shrinking a template is one multiplication. Weights before
``first`` belong to no template and are never shrunk.
"""

from typing import NamedTuple, Protocol

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import (
    AnyWeights,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Rows,
    Rows1,
    named_tuple,
)


class GroupedWeights(NamedTuple):
    """The weights of templates, as kernels read and write them."""

    w: Floats  #: float64 [weights], as stored
    first: int
    width: int
    labels: int  #: the number of weights that a feature can have
    templates: Rows  #: int32 [rows]
    scales: Floats  #: float64 [T]
    first_rows: Ints  #: int64 [T]: rows of the template before this one are stale


GroupedWeightsType = named_tuple(GroupedWeights, Floats1, Int, Int, Int, Rows1, Floats1, Ints1)


class GroupedStore(Protocol):
    """The storage of the weights of a problem during the selection of templates."""

    w: Floats  #: float64 [weights], as stored

    @property
    def allocated(self) -> int:
        """The number of weights of templates that have memory now."""

    @property
    def peak_bytes(self) -> int:
        """The peak memory of features and weights, in bytes."""

    def weights(self) -> GroupedWeights:
        """The current weights."""

    def row_features(self) -> Rows:
        """The feature of each row, numbered from 0 to rows - 1: int32 [rows]."""

    def reserve(self) -> None:
        """Allocate the capacity requested by an oracle that has returned ``NEEDS_CAPACITY``."""

    def rescale(self, factors: Floats) -> None:
        """Multiply the weights of each template by its factor, float64 [T]."""

    def sweep(self) -> None:
        """Free the memory of templates with a factor of 0."""


@kernel
def scaled_dot(
    weights: GroupedWeights, indices: Rows, values: AnyWeights, start: int, end: int
) -> float:
    """w . v of the sparse vector v in entries start to end, w multiplied out."""
    total = 0.0
    for entry in range(start, end):
        index = np.int64(indices[entry])
        scale = 1.0
        if index >= weights.first:
            row = (index - weights.first) // weights.width
            scale = weights.scales[weights.templates[row]]
        total += scale * weights.w[index] * values[entry]
    return total


@kernel
def add_to_groups(
    weights: GroupedWeights,
    indices: Rows,
    values: AnyWeights,
    size: int,
    scale: float,
    squares: Floats,
) -> None:
    """w += scale v for a sparse vector v; keeps the squared norms of templates up to date."""
    w = weights.w
    for entry in range(size):
        index = np.int64(indices[entry])
        change = scale * np.float64(values[entry])
        if index >= weights.first:
            m = weights.templates[(index - weights.first) // weights.width]
            squares[m] += change * (2 * weights.scales[m] * w[index] + change)
            change /= weights.scales[m]
        w[index] += change


@kernel
def measure_groups(
    weights: GroupedWeights, features: Rows, squares: Floats, rows: Ints, masses: Floats
) -> None:
    """Write the squared norm of each template, its number of features with weights, and |w|_1."""
    squares[:] = 0.0
    rows[:] = 0
    masses[:] = 0.0
    is_counted = np.zeros(len(features), dtype=np.bool_)
    for row in range(len(weights.templates)):
        m = weights.templates[row]
        if row >= weights.first_rows[m]:
            mass = 0.0
            start = weights.first + row * weights.width
            for index in range(start, start + weights.width):
                weight = weights.scales[m] * weights.w[index]
                mass += abs(weight)
                squares[m] += weight**2
            masses[m] += mass
            if mass > 0 and not is_counted[features[row]]:
                is_counted[features[row]] = True
                rows[m] += 1


@kernel
def multiply_out(weights: GroupedWeights) -> Floats:
    """The weights multiplied by the scales of their templates: float64 [weights]."""
    w = weights.w.copy()
    for row in range(len(weights.templates)):
        m = weights.templates[row]
        scale = weights.scales[m] if row >= weights.first_rows[m] else 0.0
        start = weights.first + row * weights.width
        for index in range(start, start + weights.width):
            w[index] *= scale
    return w  # type: ignore[no-any-return]


@kernel
def threshold_weights(tau: float, weights: GroupedWeights) -> None:
    """The proximal operator of tau |w|_1 [MSAF11 Eq. 13]."""
    w = weights.w
    for row in range(len(weights.templates)):
        stored = tau / weights.scales[weights.templates[row]]
        start = weights.first + row * weights.width
        for index in range(start, start + weights.width):
            w[index] = np.sign(w[index]) * max(abs(w[index]) - stored, 0.0)


@kernel
def square_features(weights: GroupedWeights, w: Floats, features: Rows, squares: Floats) -> None:
    """Write the squared norm of each feature's weights in w, laid out like ``weights``."""
    squares[:] = 0.0
    for row in range(len(features)):
        if row >= weights.first_rows[weights.templates[row]]:
            start = weights.first + row * weights.width
            for index in range(start, start + weights.width):
                squares[features[row]] += w[index] ** 2


@kernel
def threshold_features(tau: float, weights: GroupedWeights, features: Rows) -> None:
    """The proximal operator of tau sum |w_f| over features f [MSAF11 Eq. 14]."""
    squares = np.empty(len(features))
    square_features(weights, weights.w, features, squares)
    for row in range(len(features)):
        stored = tau / weights.scales[weights.templates[row]]
        norm = np.sqrt(squares[features[row]])
        start = weights.first + row * weights.width
        weights.w[start : start + weights.width] *= 1 - stored / norm if norm > stored else 0.0
