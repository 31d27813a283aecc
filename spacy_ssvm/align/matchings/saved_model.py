"""The saved form of a model of matchings, and the checks that make it safe for kernels."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.align.bitext.association import ARRAYS as ASSOCIATION_ARRAYS
from spacy_ssvm.align.bitext.association import Association, arrays_of, read_association
from spacy_ssvm.align.bitext.lexicon import ARRAYS as LEXICON_ARRAYS
from spacy_ssvm.align.bitext.lexicon import Lexicon, load_lexicon
from spacy_ssvm.align.matchings.templates import LEXICON, LinkTemplate
from spacy_ssvm.features.resources import ARRAYS as RESOURCE_ARRAYS
from spacy_ssvm.features.resources import Resources, check_resources, read_resources
from spacy_ssvm.kernels.types import Floats, Rows, Weights
from spacy_ssvm.solvers.summary import TrainingSummary, read_summary
from spacy_ssvm.storage import checked_texts, require
from spacy_ssvm.weights.key_table import KeyTable, read_keys

#: The largest number of links of a word.
MAX_FERTILITY = 16

#: The saved arrays with their types.
ARRAYS: dict[str, type] = {
    "keys": np.uint8,
    "row_templates": np.int32,
    "weights": np.float32,
    "penalties": np.float32,
    **RESOURCE_ARRAYS,
    **ASSOCIATION_ARRAYS,
    **LEXICON_ARRAYS,
}


def association_arrays(association: Association | None) -> storage.Arrays:
    """The saved arrays of an association, empty ones where there is none."""
    if association is None:
        return {name: np.zeros(0, dtype=dtype) for name, dtype in ASSOCIATION_ARRAYS.items()}
    return arrays_of(association)


class SavedMatchingModel(NamedTuple):
    """The content of a saved model."""

    templates: tuple[LinkTemplate, ...]
    labels: tuple[str, ...]
    fertilities: tuple[int, int]
    table: KeyTable
    row_templates: Rows
    weights: Weights
    penalties: Floats
    resources: Resources
    association: Association | None
    lexicon: Lexicon | None
    summary: TrainingSummary | None


def read_matching_model(
    header: storage.Header, arrays: storage.Arrays, templates: tuple[LinkTemplate, ...]
) -> SavedMatchingModel:
    """Check a saved model with these templates. Raises ValueError as ``MatchingModel.read``."""
    fertilities = header["fertilities"]
    require(
        type(fertilities) is list
        and len(fertilities) == 2
        and all(type(f) is int and 1 <= f <= MAX_FERTILITY for f in fertilities),
        f"the fertilities are not two numbers from 1 to {MAX_FERTILITY}",
    )
    row_templates, weights = arrays["row_templates"], arrays["weights"]
    penalties = arrays["penalties"].astype(np.float64)
    rows = len(weights)
    require(weights.ndim == 1 and bool(np.all(np.isfinite(weights))), "weights are not finite")
    require(row_templates.shape == (rows,), "the templates of rows do not fit the weights")
    require(
        rows == 0 or (int(row_templates.min()) >= 0 and int(row_templates.max()) < len(templates)),
        "a row belongs to no template",
    )
    require(penalties.shape == (sum(fertilities) - 2,), "the penalties do not fit the fertilities")
    require(
        bool(np.all(np.isfinite(penalties) & (penalties >= 0))),
        "penalties of further links are negative or not finite",
    )
    labels = checked_texts(header["labels"], "labels")
    resources = read_resources(header, arrays)
    lexicon = load_lexicon(arrays) if header["has_lexicon"] else None
    if labels:
        check_resources({name for t in templates for name in t.attributes}, resources)
        needs_lexicon = any(LEXICON in template.evidence for template in templates)
        require(lexicon is not None or not needs_lexicon, f"'{LEXICON}' needs a lexicon")
    return SavedMatchingModel(
        templates,
        labels,
        (fertilities[0], fertilities[1]),
        read_keys(arrays["keys"], rows),
        row_templates,
        weights,
        penalties,
        resources,
        read_association(arrays) if header["has_association"] else None,
        lexicon,
        read_summary(header["summary"]),
    )
