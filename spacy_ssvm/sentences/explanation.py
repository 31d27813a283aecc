"""Explains why a unit gets its label: the features that fired, with their weights."""

from collections.abc import Iterator

import numpy as np

from spacy_ssvm.explanation import Explanation, Reason, strongest
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Ints
from spacy_ssvm.sentences.model import SentenceModel
from spacy_ssvm.sentences.templates import BAG, FIRST, UNIT, UnitPart
from spacy_ssvm.sentences.unit_keys import fill_unit_keys, max_unit_keys, template_alone
from spacy_ssvm.sentences.units import UnitBatch
from spacy_ssvm.weights.key_table import find_row

OTHER_UNITS = "labels of other units"


def explain_unit(
    model: SentenceModel,
    doc: Doc,
    unit: int,
    *,
    top: int | None = None,
    against: str | None = None,
) -> Explanation:
    """Explain the label of a unit of a Doc, by its number.

    top: the number of features to show, see ``strongest``.
    against: the label to compare it with; None for the runner-up.
    Raises ValueError where the model has only one label, and where the unit has the other label,
    or cannot have it.
    """
    batch = model.reader.read([doc])
    emissions = model.emissions(batch.table)
    start, end = batch.bounds[unit].tolist()
    text = shorten(doc[start:end].text)
    contrast = model.contrast(batch.table, emissions, unit, f"'{text}'", against)
    features = _fired_features(model, doc, batch, unit, contrast.labels)
    return contrast.explain(text, strongest(features, top), OTHER_UNITS)


def _fired_features(
    model: SentenceModel, doc: Doc, batch: UnitBatch, unit: int, labels: tuple[int, int]
) -> Iterator[Reason]:
    """The features of a unit that have rows, with their weights for two labels."""
    size = max_unit_keys(model.compiled, batch.table)
    keys, owners = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.int32)
    for m, template in enumerate(model.templates):
        alone = template_alone(model.compiled, m)
        last = len(batch.table.starts)
        size = fill_unit_keys(alone, batch.table, (0, last), unit, keys, owners)
        if not size:
            continue
        texts = _texts(model, doc, batch, unit, template.parts)
        by_key = dict(zip(keys[:size].tolist(), texts, strict=True))  # each key once
        for key, text in by_key.items():
            row = int(find_row(model.table, np.uint64(key), m))
            if row >= 0:
                yield Reason(str(template), text, *model.weights_of(row, labels))


def _texts(
    model: SentenceModel, doc: Doc, batch: UnitBatch, unit: int, parts: tuple[UnitPart, ...]
) -> list[str]:
    """The values of the features of a template, in the order of ``fill_unit_keys``."""
    values = [_part_texts(model, doc, batch, unit + part.offset, part) for part in parts]
    single = [texts[0] for texts in values[:-1]]
    return [" + ".join([*single, text]) for text in values[-1]]


def _part_texts(
    model: SentenceModel, doc: Doc, batch: UnitBatch, unit: int, part: UnitPart
) -> list[str]:
    """The values of a part at a unit: those of a bag, or one."""
    if unit < 0:
        return ["<start>"]
    if unit >= len(batch.table.starts):
        return ["<end>"]
    if part.kind == UNIT:
        return [str(model.reader.unit_value(part.attribute, batch, doc, unit))]
    words = batch.tokens.positions[batch.table.starts[unit] : batch.table.ends[unit]]
    if part.kind != BAG:
        run = words[: part.run] if part.kind == FIRST else words[-part.run :]
        return [_run_text(model, doc, part.attribute, run)]
    return [
        _run_text(model, doc, part.attribute, words[t : t + length])
        for length in range(1, part.run + 1)
        for t in range(len(words) - length + 1)
    ]


def _run_text(model: SentenceModel, doc: Doc, attribute: str, words: Ints) -> str:
    """The values of an attribute at some words, as text."""
    return " ".join(str(model.reader.text_value(attribute, doc, i)) for i in words.tolist())
