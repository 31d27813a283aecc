"""The reader ``spacy_ssvm.ParallelCorpus.v1``: examples of pairs from files of parallel texts.

The files hold a sentence a line, its words separated by spaces, and those that end in .gz are
compressed. A file of alignments gives the links between the words of each pair.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.align.bitext.reading import begins_with_links, read_bitext, read_naacl, read_pharaoh
from spacy_ssvm.align.text_pairs import (
    ALIGNMENT,
    POSSIBLE,
    TRANSLATION,
    Pair,
    make_pair,
    read_links,
    sides,
    write_links,
)
from spacy_ssvm.files import replacing
from spacy_ssvm.kernels.types import Ints

#: No links of other aligners.
NO_FILES: Mapping[str, Path] = {}

_SURE = 1  # in the third column of links that are read


class _Format(NamedTuple):
    """A format of alignments."""

    read: Callable[[Path], dict[int, Ints]]  #: the links of each pair, by its number from 0
    unit: str  #: what holds the links of a pair
    first: int  #: the number of the first word
    has_all: bool  #: whether pairs without links are there too


PHARAOH = "pharaoh"
_FORMATS = {
    PHARAOH: _Format(lambda path: dict(enumerate(read_pharaoh(path))), "line", 0, True),
    "naacl": _Format(read_naacl, "sentence", 1, False),
}


def read_pairs(
    vocab: Vocab, source: Path, target: Path, evidence: Mapping[str, str | Path] = NO_FILES
) -> Iterator[Doc]:
    """All pairs of lines of two files, without links.

    evidence: see ``ParallelCorpus``.
    Raises ValueError, naming file and line, where one has more lines, and where both are empty.
    """
    others = _Evidence(source, evidence)
    number = -1
    for number, words in enumerate(read_bitext(source, target)):
        doc = make_pair(vocab, *words)
        for name, links in others.links(number, *words).items():
            write_links(doc, links, name)
        yield doc
    if number < 0:
        raise ValueError(f"{source} and {target} are empty")
    others.check_end(number + 1)


def are_parallel(files: Sequence[Path]) -> bool:
    """Whether files are a source, its translation and the links of each pair, in this order.

    The last one tells: its first line that is not blank holds links, as of Pharaoh.
    Raises ValueError for links in another place.
    """
    linked = [file for file in files if file.is_file() and begins_with_links(file)]
    if linked and (len(files) != 3 or linked != [files[2]]):
        raise ValueError(
            f"{linked[0]} holds links between words: to learn from them, give three files, SOURCE "
            "TARGET LINKS, in this order"
        )
    return bool(linked)


def write_pairs(files: Sequence[Path], docs: Iterable[Doc]) -> None:
    """Write pairs of one Doc each as a source, its translation and links, a line for each."""
    lines: list[list[str]] = [[], [], []]
    for doc in docs:
        for own, side in zip(lines, sides(doc), strict=False):
            own.append(" ".join(token.text for token in side))
        links = [
            f"{first}{sign}{second}"
            for found, sign in ((read_links(doc), "-"), (read_links(doc, POSSIBLE), "?"))
            if found is not None
            for first, second in found.tolist()
        ]
        lines[2].append(" ".join(links))
    for file, own in zip(files, lines, strict=True):
        with replacing(file) as beside:
            beside.write_text("".join(f"{line}\n" for line in own), encoding="utf8", newline="\n")


class _Alignment:
    """The links of a file, for the pairs of lines of a bitext."""

    def __init__(self, path: Path, format: str, source: Path) -> None:
        self.path, self.source = path, source
        self._format = _FORMATS[format]
        self._links = self._format.read(path)

    def links(self, number: int, source: list[str], target: list[str]) -> Ints:
        """The links of a pair: int64 [links, 3], see ``bitext.reading``.

        Raises ValueError where the file ends before it, and for links of words that it lacks.
        """
        links = self._links.get(number)
        if links is None:
            if self._format.has_all:
                raise ValueError(
                    f"{self.path} ends before line {number + 1} of {self.source}: there must be "
                    "a line of links, which may be empty, for each pair"
                )
            return np.empty((0, 3), dtype=np.int64)
        sizes = np.array([len(source), len(target)])
        outside = links[:, :2] >= sizes
        if np.any(outside):
            row, column = np.argwhere(outside)[0]
            first, second = links[row, :2] + self._format.first
            raise ValueError(
                f"{self._place(number)}: link {first}-{second}: the {Pair._fields[column]} has "
                f"{sizes[column]} words"
            )
        return links

    def check_end(self, pairs: int) -> None:
        """Raise ValueError where there are links of pairs after these."""
        last = max(self._links, default=-1)
        if last >= pairs:
            raise ValueError(f"{self._place(last)}: {self.source} has only {pairs} lines")

    def _place(self, number: int) -> str:
        """Where the links of a pair are."""
        return f"{self.path}, {self._format.unit} {number + 1}"


class _Evidence:
    """Links of other aligners, for extension attributes of Docs."""

    def __init__(self, source: Path, files: Mapping[str, str | Path]) -> None:
        for name in {TRANSLATION, ALIGNMENT, POSSIBLE} & set(files):
            raise ValueError(f"evidence cannot be written to doc._.{name}: choose another name")
        self._files = {
            name: _Alignment(Path(path), PHARAOH, source) for name, path in files.items()
        }
        for name in files:
            if not Doc.has_extension(name):
                Doc.set_extension(name, default=None)

    def links(self, number: int, source: list[str], target: list[str]) -> dict[str, Ints]:
        """The links of a pair by attribute: int64 [links, 2] each."""
        return {
            name: file.links(number, source, target)[:, :2] for name, file in self._files.items()
        }

    def check_end(self, pairs: int) -> None:
        for file in self._files.values():
            file.check_end(pairs)


class ParallelCorpus:
    """Pairs of sentences as examples, each a Doc with both sides: see ``text_pairs.py``.

    source, target: files of as many lines; None, which paths of a config are until they are set,
        is an error.
    alignment: a file with the gold links of each pair; None for pairs without annotation.
    format: of the alignment: "pharaoh", a line of links 0-0 1-2 (sure) and 3?3 (possible) for each
        pair, whose words are counted from 0; or "naacl", a line for each link, with the numbers of
        its pair, its word in the source and that in the target, all from 1, and S or P.
    limit: the largest number of examples; 0 for all.
    evidence: files of links of other aligners, in the format "pharaoh", by the extension
        attributes of the predicted Docs that they are written to. An attribute that does not exist
        is registered.

    Pairs with an empty side are left out. The predicted Docs have the words of the references, and
    no links. Raises ValueError for files that do not exist, and, naming file and line, for those
    that do not fit together.

    >>> import os, spacy, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in ("en.txt", "de.txt", "links.txt")]
    ...     for path, line in zip(paths, ("the house", "das Haus", "0-0 1-1")):
    ...         with open(path, "w", encoding="utf8") as opened:
    ...             _ = opened.write(line)
    ...     examples = [*ParallelCorpus(*paths)(spacy.blank("xx"))]
    >>> [token.text for token in examples[0].reference]
    ['the', 'house', 'das', 'Haus']
    """

    def __init__(
        self,
        source: str | Path | None,
        target: str | Path | None,
        alignment: str | Path | None = None,
        *,
        format: Literal["pharaoh", "naacl"] = "pharaoh",
        limit: int = 0,
        evidence: Mapping[str, str | Path] = NO_FILES,
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
        self.evidence = {name: Path(path) for name, path in evidence.items()}
        for path in (self.source, self.target, self.alignment, *self.evidence.values()):
            if path is not None and not path.exists():  # before the first is read, which takes long
                raise ValueError(f"spacy_ssvm.ParallelCorpus.v1: {path} does not exist")

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """The examples."""
        for source, target, links, evidence in islice(self._pairs(), self.limit or None):
            predicted = make_pair(nlp.vocab, source, target)
            for name, others in evidence.items():
                write_links(predicted, others, name)
            if links is None:
                sure = possible = None
            else:
                is_sure = links[:, 2] == _SURE
                sure, possible = links[is_sure, :2], links[~is_sure, :2]
            yield Example(predicted, make_pair(nlp.vocab, source, target, sure, possible))

    def _pairs(self) -> Iterator[tuple[list[str], list[str], Ints | None, dict[str, Ints]]]:
        """The words of the two sides of each pair that has both, its links, and the evidence."""
        others = _Evidence(self.source, self.evidence)
        alignment = None
        if self.alignment is not None:
            alignment = _Alignment(self.alignment, self.format, self.source)
        is_empty, number = True, -1
        for number, (source, target) in enumerate(read_bitext(self.source, self.target)):
            links = None if alignment is None else alignment.links(number, source, target)
            evidence = others.links(number, source, target)
            if source and target:
                is_empty = False
                yield source, target, links, evidence
        if is_empty:
            raise ValueError(f"{self.source} and {self.target} hold no pairs of sentences")
        if alignment is not None:
            alignment.check_end(number + 1)
        others.check_end(number + 1)
