"""The reader ``spacy_ssvm.ParallelCorpus.v1``: examples of pairs from files of parallel texts.

The files hold a sentence a line, its words separated by spaces, and those that end in .gz are
compressed. A file of alignments gives the links between the words of each pair.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm._jit import Ints
from spacy_ssvm.bitext.reading import read_bitext, read_naacl, read_pharaoh
from spacy_ssvm.components.parallel import Pair, make_pair

_SURE = 1  # in the third column of links that are read


class _Format(NamedTuple):
    """A format of alignments."""

    read: Callable[[Path], dict[int, Ints]]  #: the links of each pair, by its number from 0
    unit: str  #: what holds the links of a pair
    first: int  #: the number of the first word


_FORMATS = {
    "pharaoh": _Format(lambda path: dict(enumerate(read_pharaoh(path))), "line", 0),
    "naacl": _Format(read_naacl, "sentence", 1),
}


def read_pairs(vocab: Vocab, source: Path, target: Path) -> Iterator[Doc]:
    """All pairs of lines of two files, without links.

    Raises ValueError, naming file and line, where one has more lines, and where both are empty.
    """
    doc = None
    for words in read_bitext(source, target):
        doc = make_pair(vocab, *words)
        yield doc
    if doc is None:
        raise ValueError(f"{source} and {target} are empty")


class ParallelCorpus:
    """Pairs of sentences as examples, each a Doc with both sides: see ``parallel.py``.

    source, target: files of as many lines; None, which paths of a config are until they are set,
        is an error.
    alignment: a file with the gold links of each pair; None for pairs without annotation.
    format: of the alignment: "pharaoh", a line of links 0-0 1-2 (sure) and 3?3 (possible) for each
        pair, whose words are counted from 0; or "naacl", a line for each link, with the numbers of
        its pair, its word in the source and that in the target, all from 1, and S or P.
    limit: the largest number of examples; 0 for all.

    Pairs with an empty side are left out. The predicted Docs have the words of the references, and
    no links. Raises ValueError, naming file and line, for files that do not fit together.
    """

    def __init__(
        self,
        source: str | Path | None,
        target: str | Path | None,
        alignment: str | Path | None = None,
        *,
        format: Literal["pharaoh", "naacl"] = "pharaoh",
        limit: int = 0,
    ) -> None:
        if source is None or target is None:
            raise ValueError(Errors.E913)
        if format not in _FORMATS:
            raise ValueError(
                f"spacy_ssvm.ParallelCorpus.v1: there is no format '{format}' of alignments: "
                f"choose one of {', '.join(_FORMATS)}"
            )
        self.source, self.target = Path(source), Path(target)
        self.alignment = None if alignment is None else Path(alignment)
        self.format = format
        self.limit = limit

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """The examples."""
        for source, target, links in islice(self._pairs(), self.limit or None):
            predicted = make_pair(nlp.vocab, source, target)
            if links is None:
                sure = possible = None
            else:
                is_sure = links[:, 2] == _SURE
                sure, possible = links[is_sure, :2], links[~is_sure, :2]
            yield Example(predicted, make_pair(nlp.vocab, source, target, sure, possible))

    def _pairs(self) -> Iterator[tuple[list[str], list[str], Ints | None]]:
        """The words of the two sides of each pair that has both, and its links."""
        alignments = None
        if self.alignment is not None:
            alignments = _FORMATS[self.format].read(self.alignment)
        is_empty, number = True, -1
        for number, (source, target) in enumerate(read_bitext(self.source, self.target)):
            links = None if alignments is None else self._links(alignments, number)
            if links is not None:
                self._check(number, links, source, target)
            if source and target:
                is_empty = False
                yield source, target, links
        if is_empty:
            raise ValueError(f"{self.source} and {self.target} hold no pairs of sentences")
        if alignments and max(alignments) > number:
            raise ValueError(
                f"{self._place(max(alignments))}: {self.source} has only {number + 1} lines"
            )

    def _links(self, alignments: dict[int, Ints], number: int) -> Ints:
        """The links of a pair. Raises ValueError where the alignments end before it."""
        if number in alignments:
            return alignments[number]
        if self.format == "pharaoh":
            raise ValueError(
                f"{self.alignment} ends before line {number + 1} of {self.source}: there must be "
                "a line of links, which may be empty, for each pair"
            )
        return np.empty((0, 3), dtype=np.int64)  # sentences without links have no lines

    def _check(self, number: int, links: Ints, source: list[str], target: list[str]) -> None:
        """Raise ValueError for the first link of a pair that is not between words of it."""
        sizes = np.array([len(source), len(target)])
        outside = links[:, :2] >= sizes
        if np.any(outside):
            row, column = np.argwhere(outside)[0]
            first, second = links[row, :2] + _FORMATS[self.format].first
            raise ValueError(
                f"{self._place(number)}: link {first}-{second}: the {Pair._fields[column]} has "
                f"{sizes[column]} words"
            )

    def _place(self, number: int) -> str:
        """Where the links of a pair are."""
        return f"{self.alignment}, {_FORMATS[self.format].unit} {number + 1}"
