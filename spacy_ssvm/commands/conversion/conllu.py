"""Treebanks in CoNLL-U, checked line by line."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.parts_of_speech import IDS

from spacy_ssvm.files import shorten, with_mark

_COLUMNS = 10
_NUMBER = re.compile(r"0|[1-9][0-9]{0,6}")
_RANGE = re.compile(r"([0-9]{1,7})([-.])([0-9]{1,7})")
_MARK = re.compile(r"#\s*(newdoc|newpar)(?:[\s_]|$)")
_TEXT = re.compile(r"#\s*text\s*=(.*)")
_ENTITY = re.compile(r"(?:(?:name|NE)=)?([BILU])-([A-Z_]+)")


class Word(NamedTuple):
    """A syntactic word."""

    form: str
    lemma: str
    pos: str
    tag: str
    features: str
    head: int  #: number in the sentence, from 0; its own for a root, -1 where there is no tree
    label: str  #: "" where there is no tree
    entity: str  #: B-, I-, L- or U- with a type; "" for none


class Token(NamedTuple):
    """A piece of the text without spaces around it: a word, or several written as one."""

    text: str
    first: int  #: number of its first word
    end: int  #: after that of its last word
    misc: str  #: the last column

    @property
    def has_several(self) -> bool:
        """Whether it stands for several words."""
        return self.end > self.first + 1


class Sentence(NamedTuple):
    """A sentence as its lines have it."""

    place: str  #: file and line where it begins
    is_first: bool  #: whether a document begins with it
    begins_paragraph: bool
    text: str | None  #: of its comment "# text"
    words: list[Word]
    tokens: list[Token]

    @property
    def has_tree(self) -> bool:
        """Whether its words have heads; either all or none have."""
        return self.words[0].head >= 0


def read_conllu(
    path: Path, encoding: str = "utf8", report: Callable[[ValueError], object] | None = None
) -> Iterator[Sentence]:
    """The sentences of a treebank; "_" stands for "" in their columns.

    Words that are not in the text (8.1) are left out. Documents and paragraphs are marked by
    comments ``# newdoc`` and ``# newpar``, also ``# newdoc_id = ...``.

    report: takes an error, naming file and line, for each malformed sentence, which is left out;
        None raises the first one. Raises ValueError for a file that cannot be read.
    """
    marks = set[str]()  # those of a sentence that is left out go to the next one
    for number, comments, lines in _blocks(path, encoding):
        marks |= {match[1] for match in map(_MARK.match, comments) if match}
        rows = [line.split("\t") for line in lines]
        try:
            _check(path, number, rows)
        except ValueError as error:
            if report is None:
                raise
            report(error)
            continue
        texts = [match[1].strip() for match in map(_TEXT.match, comments) if match]
        yield Sentence(
            f"{path}, line {number}",
            "newdoc" in marks,
            "newpar" in marks,
            texts[-1] if texts else None,
            [_word(i, row) for i, row in enumerate(_words(rows))],
            list(_tokens(rows)),
        )
        marks.clear()


def _words(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    return (row for row in rows if _NUMBER.fullmatch(row[0]))


def _word(number: int, row: Sequence[str]) -> Word:
    form, lemma, pos, tag, features, head, label = (
        "" if column == "_" else column for column in row[1:8]
    )
    form, lemma = form or "_", lemma or ("_" if row[1] == "_" else "")
    at = -1 if not head else number if head == "0" else int(head) - 1
    label = {"root": "ROOT", "": "dep"}.get(label, label) if head else ""
    entity = "" if row[9] == "_" else _entity(row[9])
    return Word(form, lemma, pos, tag or pos, features, at, label, entity)


def _entity(misc: str) -> str:
    found = map(_ENTITY.match, misc.split("|"))
    return next((f"{match[1]}-{match[2]}" for match in found if match), "")


def _tokens(rows: Sequence[Sequence[str]]) -> Iterator[Token]:
    end = 0
    for row in rows:
        span = _RANGE.fullmatch(row[0])
        if span is None and int(row[0]) > end:
            yield Token(row[1], end, end + 1, row[9])
            end += 1
        elif span is not None and span[2] == "-":
            yield Token(row[1], end, int(span[3]), row[9])
            end = int(span[3])


def _blocks(path: Path, encoding: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """The number of the first line, the comments and the other lines of each sentence.

    Comments without a sentence are those of the next one.
    """
    comments, lines, first_number = list[str](), list[str](), 1
    try:
        with path.open(encoding=with_mark(encoding)) as file:
            for number, line in enumerate(file, start=1):
                line = line.rstrip("\n")
                if line.startswith("#"):
                    comments.append(line)
                elif line.strip():
                    first_number = first_number if lines else number
                    lines.append(f"{line}_" if line.endswith("\t") else line)
                elif lines:
                    yield first_number, comments, lines
                    comments, lines = [], []
    except (OSError, LookupError, UnicodeError) as error:
        if isinstance(error, UnicodeError) or not isinstance(error, ValueError):
            raise ValueError(f"{path}: cannot be read as {encoding}: {error}") from error
        raise
    if lines:
        yield first_number, comments, lines


def _check(path: Path, first_number: int, rows: Sequence[Sequence[str]]) -> None:
    """Raise ValueError for a sentence that is not valid."""
    heads: list[int] = []
    words = sum(1 for _ in _words(rows))
    end = 0  # of the last token of several words
    for number, columns in enumerate(rows, start=first_number):
        place = f"{path}, line {number}"
        _check_columns(columns, place)
        span = _RANGE.fullmatch(columns[0])
        if span is not None:
            if span[2] == "-":
                _check_range(int(span[1]), int(span[3]), max(end, len(heads)), words, place)
                end = int(span[3])
            continue
        if int(columns[0]) != len(heads) + 1:
            raise ValueError(
                f"{place}: expected token {len(heads) + 1}, found {shorten(columns[0])}"
            )
        heads.append(_head(columns[6], words, place))
    place = f"{path}, line {first_number}"
    if not heads:
        raise ValueError(f"{place}: the sentence has no words")
    if -1 in heads and max(heads) >= 0:
        raise ValueError(f"{place}: only some words of the sentence have heads")
    if max(heads) >= 0 and _has_cycle(heads):
        raise ValueError(f"{place}: the heads of the sentence form a cycle")


def _check_range(first: int, last: int, before: int, words: int, place: str) -> None:
    """Raise ValueError for numbers that are not those of the next words."""
    if first != before + 1 or not first < last <= words:
        raise ValueError(
            f"{place}: {first}-{last} are not the numbers of the next words: expected "
            f"{before + 1}-N, with N from {before + 2} to {words}"
        )


def _check_columns(columns: Sequence[str], place: str) -> None:
    """Raise ValueError for a line that is not valid by itself."""
    if len(columns) != _COLUMNS:
        raise ValueError(
            f"{place}: expected {_COLUMNS} columns separated by tabs, as in CoNLL-U, found "
            f"{len(columns)}: {shorten(' '.join(columns))!r}"
        )
    if "" in columns:
        raise ValueError(f"{place}: column {columns.index('') + 1} is empty; write _ for none")
    if not (_NUMBER.fullmatch(columns[0]) or _RANGE.fullmatch(columns[0])):
        raise ValueError(f"{place}: {shorten(columns[0])!r} is no number of a token")
    if columns[3] != "_" and columns[3] not in IDS:
        raise ValueError(
            f"{place}: {shorten(columns[3])!r} is not one of the universal parts of speech, "
            f"{', '.join(sorted(tag for tag in IDS if tag))}"
        )
    if columns[5] != "_" and not all("=" in part for part in columns[5].split("|")):
        raise ValueError(
            f"{place}: {shorten(columns[5])!r} are no features: expected Name=Value|Name=Value"
        )


def _head(text: str, words: int, place: str) -> int:
    """The head of a word, 0 for a root, -1 where it is not annotated."""
    if text == "_":
        return -1
    if not _NUMBER.fullmatch(text) or int(text) > words:
        raise ValueError(f"{place}: the head is {shorten(text)!r}, not a number from 0 to {words}")
    return int(text)


def _has_cycle(heads: list[int]) -> bool:
    """Whether some word does not lead to a root.

    heads: of words counted from 1; 0 is that of a root.
    """
    leads_to_root = {0}
    for word in range(1, len(heads) + 1):
        path: set[int] = set()
        while word not in leads_to_root:
            if word in path:
                return True
            path.add(word)
            word = heads[word - 1]
        leads_to_root.update(path)
    return False
