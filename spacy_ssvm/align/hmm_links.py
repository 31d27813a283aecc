"""Links that are learned from texts alone, by HMM alignment models in both directions.

A model links each word to at most one of the other side [Vogel, Ney & Tillmann 1996]. What both say
is nearly always right, and what one of them says may be: sure and possible links, from which an
aligner learns as from those made by hand, or methods that make one alignment of both [Och & Ney
2003; Koehn, Och & Marcu 2003].
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from spacy_ssvm.align.bitext.association import Association, source_ids, target_ids
from spacy_ssvm.align.bitext.corpus import Bitext
from spacy_ssvm.align.bitext.link_scores import COLUMNS, link_scores
from spacy_ssvm.align.bitext.models import Report, train_association
from spacy_ssvm.align.bitext.reading import read_bitext
from spacy_ssvm.align.bitext.symmetrization import grow_diag, grow_diag_final_and, intersect
from spacy_ssvm.align.matchings.pairs import ASSOCIATION_ATTRIBUTE
from spacy_ssvm.features.attributes import type_values
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys

#: Methods that make one alignment of two: bool [m, n] of both -> the same.
SYMMETRIZED: dict[str, Callable[[Flags, Flags], Flags]] = {
    "intersection": intersect,
    "grow-diag": grow_diag,
    "grow-diag-final-and": grow_diag_final_and,
}
#: The method whose links of both directions are sure, and those of one merely possible.
SURE_AND_POSSIBLE = "sure-and-possible"


def linked_lines(
    files: tuple[Path, Path],
    *,
    more: tuple[Path, Path] | None = None,
    method: str = SURE_AND_POSSIBLE,
    report: Report | None = None,
) -> Iterator[str]:
    """The links of each pair of lines of two files, as of Pharaoh: "0-0 1?2", words from 0.

    more: parallel texts to learn from as well. report: called with the number of each pass over
    the texts and that of all passes.
    Raises ValueError, naming file and line, for files that are not parallel, and where there is
    nothing to learn from.
    """
    sides = _Words(), _Words()
    pairs = _read(files, sides)
    if more is not None:
        _read(more, sides)
    (sources, source_starts), (targets, target_starts) = (side.hashes() for side in sides)
    association = train_association(
        Bitext(sources, source_starts, targets, target_starts), report=report
    )
    for i in range(pairs):
        source = sources[source_starts[i] : source_starts[i + 1]]
        target = targets[target_starts[i] : target_starts[i + 1]]
        yield _line(*directed_links(association, source, target), method)


def directed_links(
    association: Association, source: Keys, target: Keys, model: str = "hmm"
) -> tuple[Flags, Flags]:
    """The links of a pair by the models of both directions: bool [m, n] each.

    source, target: uint64 [m], [n], the words as ``Bitext`` has them. model: "hmm" or "model1".
    The first alignment has at most one link of each target word, the second one of each source
    word.
    """
    scores = np.zeros((len(source), len(target), len(COLUMNS)), dtype=np.float32)
    ids = source_ids(association, source), target_ids(association, target)
    link_scores(association, *ids, False, scores)
    columns = (COLUMNS.index(model), COLUMNS.index(f"{model}_back"))
    forward, backward = (scores[:, :, column].astype(np.float64) for column in columns)
    return _most_probable(forward), np.ascontiguousarray(_most_probable(backward.T).T)


def _most_probable(posteriors: Floats) -> Flags:
    """The most probable link of each word of the second axis, unless that of NULL is better."""
    m, n = posteriors.shape
    links = np.zeros((m, n), dtype=np.bool_)
    if m:
        found = posteriors.max(axis=0) > 1 - posteriors.sum(axis=0)
        links[posteriors.argmax(axis=0), np.arange(n)] = found
    return links


class _Words:
    """The words of one side, each kept once, and their numbers."""

    def __init__(self) -> None:
        self._types: dict[str, int] = {}
        self._words, self._starts = array("i"), array("q", [0])

    def append(self, sentence: Iterable[str]) -> None:
        """Append the words of a line."""
        types = self._types
        self._words.extend([types.setdefault(word, len(types)) for word in sentence])
        self._starts.append(len(self._words))

    def hashes(self) -> tuple[Keys, Ints]:
        """The words as ``Bitext`` has them, and where lines start."""
        values = type_values(ASSOCIATION_ATTRIBUTE, [*self._types])
        return values[np.array(self._words, dtype=np.int64)], np.array(self._starts, dtype=np.int64)


def _read(files: tuple[Path, Path], sides: tuple[_Words, _Words]) -> int:
    """Append the lines of two files; return the number of pairs."""
    number = 0
    for pair in read_bitext(*files):
        for side, sentence in zip(sides, pair, strict=True):
            side.append(sentence)
        number += 1
    return number


def _line(forward: Flags, backward: Flags, method: str) -> str:
    if method != SURE_AND_POSSIBLE:
        found = SYMMETRIZED[method](forward, backward)
        return " ".join(f"{j}-{k}" for j, k in np.argwhere(found).tolist())
    sure = forward & backward
    links = np.argwhere(forward | backward).tolist()
    return " ".join(f"{j}-{k}" if sure[j, k] else f"{j}?{k}" for j, k in links)
