"""Pairs of parallel texts as Docs: a source, its translation, and the links between their words.

A pair is one Doc with both texts, whose ``doc.spans["source"]`` and ``doc.spans["target"]`` hold a
span each (or none, where that text is empty), or two Docs, of which ``doc._.translation`` of the
first is the second. Links are in ``doc._.alignment``, a list of pairs (index of a token of the
source, index of a token of the target). The indices are those in the Doc that the token belongs
to. ``doc._.possible_alignment`` holds further gold links that are neither right nor wrong, the
possible ones of Och & Ney (2003). An attribute that is None is not annotated.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import ORTH
from spacy.tokens import Doc, Span
from spacy.training import Alignment, Example
from spacy.vocab import Vocab

from spacy_ssvm.components.doc_arrays import SOURCE, TARGET, columns_of
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Flags, Ints

#: The extension attributes of Docs.
TRANSLATION, ALIGNMENT, POSSIBLE = "translation", "alignment", "possible_alignment"

for _name in (TRANSLATION, ALIGNMENT, POSSIBLE):
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, default=None)


class Pair(NamedTuple):
    """The two sides of a pair, as spans of one Doc or of two."""

    source: Span
    target: Span


def sides(doc: Doc) -> Pair:
    """The two sides of a pair. Spans of the Doc come before ``doc._.translation``.

    Raises ValueError where there are none, or where they are not one text each.
    """
    there = [key for key in (SOURCE, TARGET) if key in doc.spans]
    if len(there) == 2:
        pair = Pair(_side(doc, SOURCE), _side(doc, TARGET))
        if max(pair.source.start, pair.target.start) < min(pair.source.end, pair.target.end):
            raise ValueError(
                f"the spans '{SOURCE}' and '{TARGET}' of '{shorten(doc.text)}' overlap, from token "
                f"{pair.source.start} to {pair.source.end} and {pair.target.start} to "
                f"{pair.target.end}: they must be different texts"
            )
        return pair
    translation = doc._.get(TRANSLATION)
    if isinstance(translation, Doc):
        return Pair(doc[:], translation[:])
    if translation is not None:
        raise ValueError(
            f"doc._.{TRANSLATION} of '{shorten(doc.text)}' is not a Doc: "
            f"{shorten(repr(translation))}"
        )
    missing = f"no spans '{TARGET if SOURCE in there else SOURCE}'" if there else "neither spans"
    raise ValueError(
        f"the Doc '{shorten(doc.text)}' has {missing} "
        + (f"but '{there[0]}'" if there else f"'{SOURCE}' and '{TARGET}' nor doc._.{TRANSLATION}")
        + ": make pairs with spacy_ssvm.align.text_pairs.make_pair, or read them with "
        "spacy_ssvm.ParallelCorpus.v1"
    )


def has_sides(doc: Doc) -> bool:
    """Whether a Doc is meant as a pair: whether it has any of what ``sides`` reads."""
    return bool({SOURCE, TARGET} & set(doc.spans)) or doc._.get(TRANSLATION) is not None


def _side(doc: Doc, key: str) -> Span:
    """The one span under a key; an empty one where there is none."""
    try:
        spans = list(doc.spans[key])
    except IndexError as error:  # tokens were merged after the spans were made
        raise ValueError(
            f"the spans '{key}' of '{shorten(doc.text)}' are outside the Doc, whose tokens were "
            "merged: make pairs of the final tokens"
        ) from error
    if len(spans) > 1:
        raise ValueError(
            f"there are {len(spans)} spans '{key}' in '{shorten(doc.text)}': there must be one"
        )
    return spans[0] if spans else doc[:0]


def read_links(doc: Doc, attribute: str = ALIGNMENT) -> Ints | None:
    """The links of a pair: int64 [links, 2], sorted, each once; None where it is not annotated.

    The two indices of a link are those of words within the source and within the target.

    attribute: ALIGNMENT or POSSIBLE.
    Raises ValueError, naming the first that is wrong, unless all are pairs of integers and tokens
    of the source and of the target.
    """
    value = doc._.get(attribute)
    if value is None:
        return None
    links = _table_of_integers(value)
    if links is None:
        wrong = value
        if isinstance(value, (list, tuple)):
            wrong = next((pair for pair in value if _table_of_integers([pair]) is None), value)
        raise ValueError(
            f"doc._.{attribute} of '{shorten(doc.text)}': {shorten(repr(wrong))} is not a pair of "
            "integers. A list of pairs (token of the source, token of the target) is expected"
        )
    return _within(links, doc, sides(doc), attribute)


def _table_of_integers(value: object) -> Ints | None:
    """What was given, as an array of two columns of integers; None where it is not that."""
    if isinstance(value, (list, tuple)) and not value:
        return np.empty((0, 2), dtype=np.int64)
    try:
        table = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths
        return None
    is_table = table.ndim == 2 and table.shape[1] == 2 and table.dtype.kind in "iu"
    return table if is_table else None


def _within(links: Ints, doc: Doc, pair: Pair, attribute: str) -> Ints:
    """Links between tokens as links between words of the sides: int64 [links, 2], sorted, unique.

    Raises ValueError for the first one with a token of another side, or of none.
    """
    starts = np.array([side.start for side in pair])
    outside = (links < starts) | (links >= [side.end for side in pair])
    if np.any(outside):
        row, column = np.argwhere(outside)[0]
        side = pair[column]
        tokens = f"tokens {side.start} to {side.end - 1}" if len(side) else "no tokens"
        raise ValueError(
            f"doc._.{attribute} of '{shorten(doc.text)}': the link {tuple(links[row].tolist())} is "
            f"of the token {links[row, column]} in the {Pair._fields[column]}, which has {tokens}"
        )
    words = links.astype(np.int64) - starts
    numbers = np.unique(words[:, 0] * len(pair.target) + words[:, 1])
    return np.stack(np.divmod(numbers, len(pair.target)), axis=1)


def write_links(doc: Doc, links: Ints, attribute: str = ALIGNMENT) -> None:
    """Write the links of a pair, as ``read_links`` reads them, sorted and each once.

    links: int64 [links, 2], of indices of words within the source and within the target.
    Raises ValueError for those of words that are not there.
    """
    pair = sides(doc)
    starts = np.array([pair.source.start, pair.target.start])
    tokens = np.asarray(links, dtype=np.int64).reshape(-1, 2) + starts
    checked = _within(tokens, doc, pair, attribute) + starts
    doc._.set(attribute, [(source, target) for source, target in checked.tolist()])


def make_pair(
    vocab: Vocab,
    source_words: Sequence[str],
    target_words: Sequence[str],
    links: Ints | None = None,
    possible: Ints | None = None,
    spaces: list[bool] | None = None,
) -> Doc:
    """A pair as one Doc.

    links, possible: int64 [links, 2], of indices of words within the source and within the
        target; None where it is not annotated.
    spaces: whether a space follows each word, first those of the source; None for spaces after
        all.
    Raises ValueError for links of words that are not there, and TypeError for a text instead of its
    words.
    """
    if isinstance(source_words, str) or isinstance(target_words, str):
        raise TypeError("make_pair takes the words of each side: a list of texts, not one text")
    doc = Doc(vocab, words=[*source_words, *target_words], spaces=spaces)
    _set_sides(doc, len(source_words))
    for attribute, values in ((ALIGNMENT, links), (POSSIBLE, possible)):
        if values is not None:
            write_links(doc, values, attribute)
    return doc


def _set_sides(doc: Doc, source_words: int) -> None:
    """Make the first words of a Doc its source, and all others its target."""
    # spaCy cannot copy a Doc with empty spans.
    source, target = doc[:source_words], doc[source_words:]
    doc.spans[SOURCE] = [source] if len(source) else []
    doc.spans[TARGET] = [target] if len(target) else []


def join_pair(doc: Doc) -> Doc:
    """A pair of two Docs as one, which can be saved and sent to other processes.

    Annotations of tokens and links are kept. Raises ValueError where ``sides`` does.
    """
    source, target = (side.as_doc() for side in sides(doc))
    translation = Doc(source.vocab).from_bytes(target.to_bytes())
    joined = Doc.from_docs([source, translation]) or Doc(source.vocab)
    _set_sides(joined, len(source))
    for attribute in (ALIGNMENT, POSSIBLE):
        links = read_links(doc, attribute)
        if links is not None:
            write_links(joined, links, attribute)
    return joined


class AlignedLinks(NamedTuple):
    """Gold links at the words of a predicted Doc."""

    links: Ints  #: int64 [links, 2]: word of the source, word of the target; sorted
    source_known: Flags  #: [words of the source]: whether a word is exactly one of the reference
    target_known: Flags  #: [words of the target]


def aligned_links(example: Example, attribute: str = ALIGNMENT) -> AlignedLinks | None:
    """The gold links between words of the predicted Doc; None where there is no annotation.

    A link is kept if both of its words are exactly one word of the predicted Doc. Links of words
    that are not known may be missing.

    attribute: ALIGNMENT or POSSIBLE.
    Raises ValueError where the two Docs are not the same texts.
    """
    links = read_links(example.reference, attribute)
    if links is None:
        return None
    predicted, reference = sides(example.predicted), sides(example.reference)
    aligned, known = np.empty_like(links), []
    for column, name in enumerate(Pair._fields):
        to_predicted = _one_to_one(predicted[column], reference[column], name)
        is_known = np.zeros(len(predicted[column]), dtype=np.bool_)
        is_known[to_predicted[to_predicted >= 0]] = True
        known.append(is_known)
        aligned[:, column] = to_predicted[links[:, column]]
    return AlignedLinks(aligned[np.all(aligned >= 0, axis=1)], *known)


def _one_to_one(predicted: Span, reference: Span, name: str) -> Ints:
    """The words of a predicted side that are exactly one of the reference.

    int64 [words of the reference], -1 where there is none.
    """
    words, gold_words = (
        columns_of(side.doc, [ORTH])[side.start : side.end] for side in (predicted, reference)
    )
    if np.array_equal(words, gold_words):
        return np.arange(len(reference))
    try:
        alignment = Alignment.from_strings(
            [token.orth_ for token in predicted], [token.orth_ for token in reference]
        )
    except ValueError as error:
        raise ValueError(
            f"the {name} of the predicted Doc, '{shorten(predicted.text)}', and that of the "
            f"reference, '{shorten(reference.text)}', must be the same text but for spaces and "
            "capitals"
        ) from error
    backward, forward = alignment.y2x, alignment.x2y
    single = np.flatnonzero(backward.lengths == 1)
    partners = backward.data[(np.cumsum(backward.lengths) - backward.lengths)[single]]
    is_mutual = forward.lengths[partners] == 1
    to_predicted = np.full(len(reference), -1, dtype=np.int64)
    to_predicted[single[is_mutual]] = partners[is_mutual]
    return to_predicted
