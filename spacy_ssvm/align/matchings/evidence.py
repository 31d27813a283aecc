"""Evidence for links that does not depend on training: spelling, positions, further columns."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm.align.bitext.association import Association, is_known
from spacy_ssvm.align.bitext.lexicon import Lexicon, fill_numbers
from spacy_ssvm.align.bitext.link_scores import link_scores
from spacy_ssvm.align.matchings.keys import relative_position
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights

_MAX_LETTERS = 24  # of a word: spelling is compared up to there


def spellings(texts: Sequence[str]) -> Rows:
    """The letters of words in lower case: int32 [words, letters], padded with 0."""
    codes = np.zeros((len(texts), _MAX_LETTERS), dtype=np.int32)
    for row, text in zip(codes, texts, strict=True):
        letters = text.lower()[:_MAX_LETTERS]
        row[: len(letters)] = [ord(letter) for letter in letters]
    return codes


@kernel
def _length(letters: Rows) -> int:
    length = 0
    while length < len(letters) and letters[length] != 0:
        length += 1
    return length


@kernel
def similarity(a: Rows, b: Rows) -> float:
    """The longest common subsequence of two words, divided by the length of the longer one.

    [Melamed 1999] a, b: rows of ``spellings``.
    """
    return _similarity(a, _length(a), b, _length(b), np.empty(len(b) + 1, dtype=np.int64))


@kernel
def _similarity(a: Rows, m: int, b: Rows, n: int, best: Ints) -> float:
    """See ``similarity``. m, n: the lengths of both words. best: room for n + 1 numbers."""
    best[: n + 1] = 0  # with the letters of a so far and the first of b
    for i in range(m):
        diagonal = 0
        for j in range(n):
            above = best[j + 1]
            best[j + 1] = diagonal + 1 if a[i] == b[j] else max(above, best[j])
            diagonal = above
    return best[n] / max(m, n, 1)  # type: ignore[no-any-return]


@kernel
def fill_similarity(codes: Rows, source: Ints, target: Ints, evidence: Weights) -> None:
    """Write the similarity of all words of two sides (float32 [m, n]), as rows of ``codes``."""
    best = np.empty(codes.shape[1] + 1, dtype=np.int64)
    lengths = np.empty(len(target), dtype=np.int64)
    for k in range(len(target)):
        lengths[k] = _length(codes[target[k]])
    for j in range(len(source)):
        a = codes[source[j]]
        length = _length(a)
        for k in range(len(target)):
            evidence[j, k] = _similarity(a, length, codes[target[k]], lengths[k], best)


@kernel
def fill_distance(evidence: Weights) -> None:
    """Write the absolute difference of relative positions (float32 [m, n])."""
    m, n = evidence.shape
    for j in range(m):
        for k in range(n):
            evidence[j, k] = abs(relative_position(k, n) - relative_position(j, m))


class PairShapes(NamedTuple):
    """Where the words and links of pairs lie: see ``Pairs``."""

    starts: Ints  #: int64 [sides + 1]
    link_starts: Ints  #: int64 [pairs + 1]


@kernel
def fill_words(
    shapes: PairShapes,
    codes: Rows,
    types: Ints,
    similarity_column: int,
    distance_column: int,
    evidence: Weights,
) -> None:
    """Write similarities and distances of all pairs into columns of evidence, -1 for none.

    codes: by ``spellings``; types: int64 [words], the row of each word.
    """
    starts, link_starts = shapes
    for i in range(len(link_starts) - 1):
        a, b, end = starts[2 * i], starts[2 * i + 1], starts[2 * i + 2]
        links = evidence[link_starts[i] : link_starts[i + 1]]
        if len(links):
            table = links.reshape(b - a, end - b, evidence.shape[1])
            if similarity_column >= 0:
                source, target = types[a:b], types[b:end]
                fill_similarity(codes, source, target, table[:, :, similarity_column])
            if distance_column >= 0:
                fill_distance(table[:, :, distance_column])


@kernel
def fill_association(
    shapes: PairShapes,
    association: Association,
    source_ids: Ints,
    target_ids: Ints,
    columns: Ints,
    evidence: Weights,
) -> None:
    """Write the association of the words of all pairs into columns of evidence.

    The contribution of a pair that was in the bitext to its own scores is left out.

    source_ids, target_ids: int64 [words], of all words as source, and as target words.
    columns: int64, of each of the columns of ``link_scores``, -1 for those that are not wanted.
    """
    starts, link_starts = shapes
    for i in range(len(link_starts) - 1):
        source = source_ids[starts[2 * i] : starts[2 * i + 1]]
        target = target_ids[starts[2 * i + 1] : starts[2 * i + 2]]
        m, n = len(source), len(target)
        if m == 0 or n == 0:
            continue
        scores = np.empty((m, n, len(columns)), dtype=np.float32)
        is_in_bitext = is_known(association, source, target)
        link_scores(association, source, target, is_in_bitext, scores)
        for j in range(m):
            for k in range(n):
                for c in range(len(columns)):
                    if columns[c] >= 0:
                        evidence[link_starts[i] + j * n + k, columns[c]] = scores[j, k, c]


@kernel
def fill_lexicon(
    shapes: PairShapes, lexicon: Lexicon, words: Keys, column: int, evidence: Weights
) -> None:
    """Write the numbers of a lexicon for all pairs into a column of evidence.

    words: uint64 [words], the values by which the lexicon finds them.
    """
    starts, link_starts = shapes
    for i in range(len(link_starts) - 1):
        a, b, end = starts[2 * i], starts[2 * i + 1], starts[2 * i + 2]
        links = evidence[link_starts[i] : link_starts[i + 1]]
        if len(links):
            table = links.reshape(b - a, end - b, evidence.shape[1])
            fill_numbers(lexicon, words[a:b], words[b:end], table[:, :, column])


def extension_entries(doc: Doc, name: str, starts: tuple[int, int], sizes: Ints) -> Keys:
    """What an extension attribute of a Doc says of links: uint64 [entries, 3].

    The value is None; a list of links (source, target) or (source, target, number), whose tokens
    are counted as in ``doc._.alignment``; or an array of numbers, [source tokens, target tokens].
    starts: the first token of each side. sizes: the numbers of tokens of the sides.
    Returns the tokens of each link in their sides, and the number as the bits of a float64.
    Raises ValueError, naming the attribute, for other values.
    """
    if not doc.has_extension(name):
        raise ValueError(
            f"template evidence '_.{name}': Docs have no extension of that name. Name a file of "
            f"links in the corpus ([corpora.train.evidence]), or register the attribute before the "
            f"pipeline runs: Doc.set_extension('{name}', default=None)"
        )
    value: Any = doc._.get(name)
    if value is None:
        return np.zeros((0, 3), dtype=np.uint64)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        if value.shape != tuple(sizes):
            raise ValueError(
                f"doc._.{name} of '{shorten(doc.text)}' has the shape {value.shape}: the sides "
                f"have {sizes[0]} and {sizes[1]} tokens"
            )
        if value.dtype.kind not in "biuf":
            raise _not_links(doc, name)
        j, k = np.nonzero(value)
        numbers = value[j, k].astype(np.float64)
    else:
        j, k, numbers = _read_links(doc, name, value, starts)
        outside = (j < 0) | (j >= sizes[0]) | (k < 0) | (k >= sizes[1])
        if np.any(outside):
            first = np.argmax(outside)
            link = int(j[first]) + starts[0], int(k[first]) + starts[1]
            raise ValueError(
                f"doc._.{name} of '{shorten(doc.text)}': the link {link} is not between its sides. "
                f"Tokens are counted in the Doc: the source has {_tokens(starts[0], sizes[0])}, "
                f"the target has {_tokens(starts[1], sizes[1])}"
            )
    if not np.all(np.abs(numbers) <= np.finfo(np.float32).max):
        raise ValueError(
            f"doc._.{name} of '{shorten(doc.text)}' has a number that is not finite in float32"
        )
    return np.column_stack([j, k, numbers.view(np.int64)]).astype(np.uint64)


def _tokens(start: int, size: int) -> str:
    """The tokens of a side, for messages."""
    return f"tokens {start} to {start + size - 1}" if size else "no tokens"


def _read_links(
    doc: Doc, name: str, value: Any, starts: tuple[int, int]
) -> tuple[Ints, Ints, Floats]:
    """The tokens of a list of links, counted from the starts of their sides, and the numbers."""
    try:
        links = [tuple(link) if len(link) == 3 else (*link, 1.0) for link in value]
        table = np.array(links) if links else np.zeros((0, 3))
    except (TypeError, ValueError):
        raise _not_links(doc, name) from None
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind not in "iuf":
        raise _not_links(doc, name)
    tokens = table[:, :2]
    if not np.all((tokens == np.floor(tokens)) & (np.abs(tokens) < 2**31)):
        raise _not_links(doc, name)
    j, k = (tokens.astype(np.int64) - starts).T
    return j, k, table[:, 2].astype(np.float64)


def _not_links(doc: Doc, name: str) -> ValueError:
    return ValueError(
        f"doc._.{name} of '{shorten(doc.text)}' is not a list of links (source, target), a list of "
        "links with numbers, or an array of numbers"
    )
