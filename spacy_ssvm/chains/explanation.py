"""Explains why a token gets its label: the features that fired, with their weights."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from spacy_ssvm.chains.inference import LabelConstraints
from spacy_ssvm.chains.model import TRANSITIONS, ChainModel
from spacy_ssvm.decoders.chain import max_marginals, viterbi
from spacy_ssvm.explanation import (
    Contrast,
    Explanation,
    Feature,
    Features,
    Reason,
    other_label,
    strongest,
)
from spacy_ssvm.features.attributes import AttributeReader, Doc, TokenTable
from spacy_ssvm.features.extraction import CompiledTemplates, fill_keys
from spacy_ssvm.features.templates import Template
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.labelings.linear_model import WordModel

OTHER_TOKENS = "labels of other tokens"


def explain_label(
    model: ChainModel,
    doc: Doc,
    i: int,
    label_constraints: LabelConstraints | None = None,
    *,
    top: int | None = None,
    against: str | None = None,
) -> Explanation:
    """Explain the label of token i of a Doc.

    label_constraints: as in ``ChainModel.predict``; other sequences are not considered.
    top: the number of features to show, see ``strongest``.
    against: the label to compare it with; None for the runner-up.
    Raises ValueError for whitespace, where only one label is possible, and where the token has
    the other label, or cannot have it.
    """
    tokens = model.reader.read([doc])
    s, t = place_of(tokens, i)
    emissions = model.emissions(tokens, s, label_constraints)
    transitions = model.label_pairs
    contrast = contrast_labels(
        emissions, transitions, t, model.labels, f"token {i}", against=against
    )
    texts = [
        (str(template), partial(feature_value, model.reader, doc, tokens, s, t, template))
        for template in model.templates
    ]
    features = fired_features(model, tokens, s, t, contrast.labels, texts)
    return contrast.explain(doc[i].text, strongest(features, top), OTHER_TOKENS)


def place_of(tokens: TokenTable, i: int) -> tuple[int, int]:
    """The sentence of token i, and its place in it. Raises ValueError for whitespace."""
    word = int(np.searchsorted(tokens.positions, i))
    if word == len(tokens.positions) or tokens.positions[word] != i:
        raise ValueError(f"token {i} is whitespace: it has no label")
    s = int(np.searchsorted(tokens.sentence_starts, word, side="right")) - 1
    return s, word - int(tokens.sentence_starts[s])


class TokenModel(Protocol):
    """A model whose features are those of words."""

    templates: tuple[Template, ...]
    compiled: CompiledTemplates
    reader: AttributeReader

    def row_of(self, tokens: TokenTable, sentence: int, t: int, template: int) -> int:
        """The row of the feature that a template fires at token t of a sentence, -1 for none."""

    def weights_of(self, row: int, labels: Iterable[int]) -> tuple[float, ...]:
        """The weights of the feature of a row, for some labels, or parts of labels."""


def strongest_features(
    model: TokenModel, docs: Sequence[Doc], label: str, columns: Sequence[int], top: int
) -> Features:
    """The features of Docs with the largest weights for a label, in size, the largest first.

    columns: what has weights: the number of the label, or those of its parts.
    Real-valued features are left out.
    """
    counts: Counter[int] = Counter()
    places: dict[int, tuple[int, int, int, int]] = {}  # Doc, sentence, word, template
    tables = [model.reader.read([doc]) for doc in docs]
    keys = np.empty(len(model.compiled.seeds), dtype=np.uint64)
    for n, tokens in enumerate(tables):
        for s, (start, end) in enumerate(pairwise(tokens.sentence_starts.tolist())):
            for word in range(start, end):
                fill_keys(model.compiled, tokens.attributes, start, end, word, keys)
                for m, key in enumerate(keys.tolist()):
                    if key:
                        counts[key] += 1
                        places.setdefault(key, (n, s, word - start, m))
    weights: dict[int, float] = {}
    for key, (n, *place) in places.items():
        row = model.row_of(tables[n], *place)
        if row >= 0:
            weights[key] = sum(model.weights_of(row, columns))
    found = []
    for key in sorted(weights, key=lambda key: -abs(weights[key]))[:top]:
        n, s, t, m = places[key]
        value = feature_value(model.reader, docs[n], tables[n], s, t, model.templates[m])
        found.append(Feature(str(model.templates[m]), value, weights[key], counts[key]))
    return Features(label, found)


def contrast_labels(
    emissions: Floats,
    transitions: Floats,
    t: int,
    labels: Sequence[str],
    what: str,
    *,
    against: str | None = None,
) -> Contrast:
    """Contrast the best label at position t with another one, the runner-up by default.

    emissions, transitions: see ``decoders.chain``. labels: the names of the labels.
    what: is there, for messages. against: the other label.
    Raises ValueError where only one label is possible, and where the other one is the best, or
    impossible.
    """
    best = np.empty(len(emissions), dtype=np.int64)
    score = viterbi(emissions, transitions, best)
    label = int(best[t])
    others = max_marginals(emissions, transitions)[t]
    others[label] = -np.inf
    runner_up = int(others.argmax())
    if against is not None:
        runner_up = other_label(labels, label, against, what)
    if not np.isfinite(others[runner_up]):
        if against is not None:
            raise ValueError(f"{what} cannot have the label '{against}'")
        raise ValueError(f"{what} can only have the label '{labels[label]}'")
    forced = emissions.copy()
    forced[t, np.arange(emissions.shape[1]) != runner_up] = -np.inf
    other = np.empty(len(emissions), dtype=np.int64)
    margin = score - viterbi(forced, transitions, other)
    at_best, at_other = (_around(transitions, y, t) for y in (best, other))
    elsewhere = np.arange(len(best)) != t
    rest, other_rest = (
        float(emissions[elsewhere, y[elsewhere]].sum()) + _path(transitions, y) - at
        for y, at in ((best, at_best), (other, at_other))
    )
    names = labels[label], labels[runner_up]
    around = (Reason(TRANSITIONS, "", at_best, at_other),)
    return Contrast((label, runner_up), names, float(margin), around, (rest, other_rest))


def fired_features(
    model: ChainModel,
    tokens: TokenTable,
    s: int,
    t: int,
    labels: tuple[int, int],
    texts: Sequence[tuple[str, Callable[[], str]]],
) -> list[Reason]:
    """The features of token t of sequence s, with their weights for two labels.

    texts: each template, and what its feature consists of.
    """
    features = []
    columns = [labels[0]], [labels[1]]
    for m, (template, (name, value)) in enumerate(zip(model.templates, texts, strict=True)):
        if template.is_real:
            features += real_reasons(model, tokens, s, t, m, columns)
            continue
        row = model.row_of(tokens, s, t, m)
        if row >= 0:
            features.append(Reason(name, value(), *model.weights_of(row, labels)))
    return features


def real_reasons(
    model: WordModel,
    tokens: TokenTable,
    s: int,
    t: int,
    template: int,
    columns: tuple[Sequence[int], Sequence[int]],
) -> list[Reason]:
    """The sum of the features of a real-valued template; none where all are 0.

    columns: what has weights for each of two labels.
    """
    own, sums = model.real_part(tokens, s, t, template)
    if not own.any():
        return []
    value = f"{len(own)} numbers of norm {np.linalg.norm(own):.2f}"
    weights = (float(sums[[*of_label]].sum()) for of_label in columns)
    return [Reason(str(model.templates[template]), value, *weights)]


def _path(transitions: Floats, y: Ints) -> float:
    """The sum of all transition scores of a label sequence, its start and end included."""
    K = transitions.shape[1]
    ends = transitions[K, y[0]] + transitions[K + 1, y[-1]]
    return float(ends + transitions[y[:-1], y[1:]].sum())


def _around(transitions: Floats, y: Ints, t: int) -> float:
    """The transition scores into and out of position t."""
    K = transitions.shape[1]
    into = transitions[K, y[0]] if t == 0 else transitions[y[t - 1], y[t]]
    out_of = transitions[K + 1, y[-1]] if t == len(y) - 1 else transitions[y[t], y[t + 1]]
    return float(into + out_of)


def feature_value(
    reader: AttributeReader, doc: Doc, tokens: TokenTable, s: int, t: int, template: Template
) -> str:
    """The values of the parts of a template, as text."""
    start, end = tokens.sentence_starts[s : s + 2]
    values = []
    for part in template.parts:
        word = int(start) + t + part.offset
        if word < start:
            values.append("<start>")
        elif word >= end:
            values.append("<end>")
        else:
            i = int(tokens.positions[word])
            values.append(str(reader.text_value(part.attribute, doc, i)))
    return " + ".join(values)
