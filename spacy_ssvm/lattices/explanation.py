"""Explains why a token gets its label: the features that fired, or the parts of the labels."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spacy_ssvm.chains.explanation import OTHER_TOKENS, feature_value, place_of, real_reasons
from spacy_ssvm.decoders.lattice import (
    Candidates,
    best_path,
    end_score,
    no_bounds,
    node_scores,
    start_score,
    step_score,
)
from spacy_ssvm.decoders.semirings import MAX
from spacy_ssvm.explanation import Contrast, Explanation, Reason, other_label, strongest
from spacy_ssvm.features.attributes import Doc, TokenTable
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.lattices.model import STEPS, LatticeModel


class _Place(NamedTuple):
    """A word in a Doc."""

    doc: Doc
    tokens: TokenTable
    sentence: int
    t: int  #: counted in the sentence


class _Choice(NamedTuple):
    """The best labels of a sentence, or the best ones with another label at some word."""

    labels: Ints  #: int64 [n]
    score: float
    emission: float  #: of the word


def explain_label(
    model: LatticeModel, doc: Doc, i: int, *, top: int | None, against: str | None, by_part: bool
) -> Explanation:
    """Explain the label of token i of a Doc, see ``LatticePipe.explain``."""
    tokens = model.reader.read([doc])
    place = _Place(doc, tokens, *place_of(tokens, i))
    candidates, emissions = model.sentence(tokens, place.sentence)
    first, last = candidates.starts[place.t : place.t + 2].tolist()
    best = _best(model, candidates, emissions, place.t)
    own = int(best.labels[place.t])
    others = node_scores(MAX, candidates, emissions, model.system.levels, model.label_pairs)
    others[:first] = others[last:] = -np.inf
    others[candidates.labels == own] = -np.inf
    name = f"token {i}"
    if against is not None:
        others[candidates.labels != other_label(model.labels, own, against, name)] = -np.inf
    if not np.isfinite(others).any():
        if against is not None:
            raise ValueError(f"{name} cannot have the label '{against}'")
        raise ValueError(f"{name} can only have the label '{model.labels[own]}'")
    forced = emissions.copy()
    forced[first:last] = -np.inf
    chosen = int(others.argmax())
    forced[chosen] = emissions[chosen]
    runner_up = _best(model, candidates, forced, place.t)
    numbers = own, int(candidates.labels[chosen])
    around, other_around = (_steps_around(model, c.labels, place.t) for c in (best, runner_up))
    contrast = Contrast(
        numbers,
        (model.labels[own], model.labels[numbers[1]]),
        best.score - runner_up.score,
        (Reason(STEPS, "", around, other_around),),
        (best.score - best.emission - around, runner_up.score - runner_up.emission - other_around),
    )
    rows = (_parts if by_part else _features)(model, place, numbers)
    return contrast.explain(doc[i].text, strongest(rows, top), OTHER_TOKENS)


def _best(model: LatticeModel, candidates: Candidates, emissions: Floats, t: int) -> _Choice:
    y = np.empty(len(candidates.starts) - 1, dtype=np.int64)
    score = best_path(candidates, emissions, model.system.levels, model.label_pairs, no_bounds(), y)
    chosen = candidates.starts[:-1] + y
    labels = candidates.labels[chosen].astype(np.int64)
    return _Choice(labels, float(score), float(emissions[chosen[t]]))


def _steps_around(model: LatticeModel, labels: Ints, t: int) -> float:
    """The scores of the steps into and out of position t."""
    levels, weights = model.system.levels, model.label_pairs
    into: Callable[..., float] = start_score if t == 0 else step_score
    out: Callable[..., float] = end_score if t == len(labels) - 1 else step_score
    pairs = labels[max(t - 1, 0) : t + 1].tolist(), labels[t : t + 2].tolist()
    return float(into(levels, weights, *pairs[0]) + out(levels, weights, *pairs[1]))


def _features(model: LatticeModel, place: _Place, labels: tuple[int, int]) -> list[Reason]:
    """The features of a word, with their weights for two labels, each a sum over its parts."""
    reasons = []
    parts = model.parts_of(labels[0]), model.parts_of(labels[1])
    where = place.tokens, place.sentence, place.t
    for m, template in enumerate(model.templates):
        if template.is_real:
            reasons += real_reasons(model, *where, m, parts)
            continue
        row = model.row_of(*where, m)
        if row >= 0:
            value = feature_value(model.reader, place.doc, *where, template)
            weights = (sum(model.weights_of(row, own)) for own in parts)
            reasons.append(Reason(str(template), value, *weights))
    return reasons


def _parts(model: LatticeModel, place: _Place, labels: tuple[int, int]) -> list[Reason]:
    """The parts of two labels, with their scores, 0 for a label that does not have one."""
    totals: dict[int, float] = {}
    parts = [model.parts_of(label) for label in labels]
    for part in dict.fromkeys(part for own in parts for part in own):
        totals[part] = 0.0
    where = place.tokens, place.sentence, place.t
    for m, template in enumerate(model.templates):
        if template.is_real:
            weights = tuple(model.real_part(*where, m)[1][[*totals]])
        else:
            row = model.row_of(*where, m)
            weights = model.weights_of(row, totals) if row >= 0 else (0.0,) * len(totals)
        for part, weight in zip(totals, weights, strict=True):
            totals[part] += weight
    return [
        Reason(model.system.part_names[part], "", *(total * (part in own) for own in parts))
        for part, total in totals.items()
    ]
