"""Explains why two words are linked or not: the features that fired, with their weights."""

import numpy as np

from spacy_ssvm.align.matchings.decoder import best_matching
from spacy_ssvm.align.matchings.inference import extract_link_keys, keep_links
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.pairs import Pairs, Side
from spacy_ssvm.align.matchings.templates import SAME, SOURCE, TARGET, LinkPart
from spacy_ssvm.explanation import Explanation, Reason, strongest
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.kernels.types import Flags, Floats, Ints
from spacy_ssvm.weights.key_table import find_row

LINKED, APART = "linked", "apart"
OTHER_LINKS = "other links"


def explain_link(
    model: MatchingModel, doc: Doc, source: int, target: int, *, top: int | None = None
) -> Explanation:
    """Explain why two words of a pair are linked or not.

    source, target: their tokens, as indices in their sides.
    top: the number of features to show, see ``strongest``.
    The reasons compare the best matching with the link to the best one without it.
    Raises IndexError for tokens that do not exist, and ValueError for whitespace.
    """
    pairs = model.reader.read([doc])
    j, k = (
        _word_of(token, side, tokens)
        for token, side, tokens in zip(
            (source, target), model.sides(doc), pairs.tokens(0), strict=True
        )
    )
    scores = model.link_scores(pairs, 0)
    without = scores.copy()
    without[j, k] = -np.inf
    best_without = _best(model, without, np.zeros(scores.shape, dtype=bool))
    forced = np.zeros(scores.shape, dtype=bool)
    forced[j, k] = True
    best_with = _best(model, scores, forced) + scores[j, k]
    is_linked = best_with > best_without
    features = [
        Reason(template, value, *((weight, 0.0) if is_linked else (0.0, weight)))
        for template, value, weight in _fired_features(model, doc, pairs, j, k)
    ]
    reasons = strongest(features, top)
    others = best_with - scores[j, k], best_without
    reasons.append(Reason(OTHER_LINKS, "", *(others if is_linked else others[::-1])))
    names = (LINKED, APART) if is_linked else (APART, LINKED)
    sides = model.sides(doc)
    tokens = zip(sides, (source, target), strict=True)
    words = [side.doc[side.start + token].text for side, token in tokens]
    margin = abs(best_with - best_without)
    return Explanation(" - ".join(words), *names, float(margin), tuple(reasons))


def _word_of(token: int, side: Side, tokens: Ints) -> int:
    """The word of a token of a side. Raises IndexError where there is none."""
    size = side.end - side.start
    if not 0 <= token < size:
        raise IndexError(f"there is no token {token}: the side has {size} tokens")
    word = int(np.searchsorted(tokens, token))
    if word == len(tokens) or tokens[word] != token:
        raise ValueError(f"token {token} is whitespace: it has no links")
    return word


def _best(model: MatchingModel, scores: Floats, kept: Flags) -> float:
    """The score of the best links beside those that are kept: bool [m, n], one at most."""
    scores = scores.copy()
    steps = model.steps(*scores.shape)
    keep_links(kept, scores, *steps)
    return float(best_matching(scores, *steps, np.empty(scores.shape, dtype=bool)))


def _fired_features(
    model: MatchingModel, doc: Doc, pairs: Pairs, j: int, k: int
) -> list[tuple[str, str, float]]:
    """The features of a link: template, value, and weight times value."""
    T = len(model.templates)
    words, evidence = pairs.words(0), pairs.evidence_of(0)
    m, n = evidence.shape[:2]
    all_keys = np.empty((m * n, T), dtype=np.uint64)
    all_values = np.empty((m * n, T), dtype=np.float32)
    extract_link_keys(model.compiled, *words, evidence, all_keys, all_values)
    keys, values = all_keys[j * n + k], all_values[j * n + k]
    found = []
    for t in range(T):
        row = int(find_row(model.table, keys[t], t))
        if row < 0:
            continue
        parts = model.templates[t].parts
        text = " + ".join(_value(model, doc, pairs, part, j, k) for part in parts)
        found.append((str(model.templates[t]), text, float(model.weights[row] * values[t])))
    return found


def _value(model: MatchingModel, doc: Doc, pairs: Pairs, part: LinkPart, j: int, k: int) -> str:
    """The value of a part of a template, as text."""
    offset, name = part.part.offset, part.part.attribute
    evidence = pairs.evidence_of(0)
    a, b = j + offset, k + offset
    is_inside = 0 <= a < evidence.shape[0] and 0 <= b < evidence.shape[1]
    if (part.is_evidence or part.role == SAME) and not is_inside:
        return "<outside>"
    if part.is_evidence:
        return f"{evidence[a, b, model.reader.evidence.index(name)]:.3g}"
    if part.role not in (SOURCE, TARGET, SAME):
        return f"{j + 1} of {len(pairs.tokens(0)[0])}, {k + 1} of {len(pairs.tokens(0)[1])}"
    at = int(part.role == TARGET)
    tokens, word = pairs.tokens(0)[at], (j, k)[at] + offset
    if not 0 <= word < len(tokens):
        return "<start>" if word < 0 else "<end>"
    side = model.sides(doc)[at]
    return str(model.reader.text_value(name, side.doc, side.start + int(tokens[word])))
