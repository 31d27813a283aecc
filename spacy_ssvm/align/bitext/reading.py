"""Files of parallel texts and of word alignments.

Links are int64 [links, 3]: source word, target word, and 1 for sure or 0 for possible; sorted,
each pair of words once. Words are numbered from 0.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Ints

_LINK = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_CONFIDENCE = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_SAMPLE = 1000  # bytes by which the format of a file is told
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_bitext(source: str | Path, target: str | Path) -> Iterator[tuple[list[str], list[str]]]:
    """The words of each pair of lines of two files, plain or gzip (``.gz``), in UTF-8.

    Words are separated by spaces or tabs; lines may be empty.
    Raises ValueError, naming file and line, for a file that cannot be read and for bytes that
    are not UTF-8; and, with both numbers, where one file has more lines than the other.
    """
    paths = Path(source), Path(target)
    numbers = [0, 0]
    for pair in zip_longest(_sentences(paths[0]), _sentences(paths[1])):
        for side in range(2):
            numbers[side] += pair[side] is not None
        if numbers[0] == numbers[1]:
            yield pair
    if numbers[0] != numbers[1]:
        raise ValueError(
            f"{paths[0]} has {numbers[0]} lines, but {paths[1]} has {numbers[1]}: line n of one "
            "must translate line n of the other"
        )


def read_pharaoh(path: str | Path) -> list[Ints]:
    """The links of each line of a file, plain or gzip (``.gz``), such as ``0-0 1-2 3?4``.

    A link ``j-k`` is sure, ``j?k`` and ``jpk`` are possible. A blank line has no links.
    Raises ValueError, naming file, line and link, for anything else.
    """
    path = Path(path)
    sentences = []
    for number, pieces in enumerate(_sentences(path), start=1):
        links: dict[tuple[int, int], bool] = {}
        for piece in pieces:
            match = _LINK.fullmatch(piece)
            if match is None:
                raise ValueError(
                    f"{path}, line {number}: expected links such as 0-0 or 0?1, found "
                    f"{shorten(piece)!r}"
                )
            _add(links, int(match[1]), int(match[3]), match[2] == "-")
        sentences.append(_as_array(links))
    return sentences


def begins_with_links(path: str | Path) -> bool:
    """Whether the first line of a file that is not blank holds links as of ``read_pharaoh``.

    Of a long line, the first are looked at; what cannot be read holds none.
    """
    path = Path(path)
    try:
        with _opened(path) as lines:
            line = next(filter(bytes.strip, iter(partial(lines.readline, _SAMPLE), b"")), b"")
    except (OSError, EOFError, zlib.error):
        return False
    pieces = line.removeprefix(_BYTE_ORDER_MARK).decode("utf8", "replace").split()
    whole = pieces[:-1] if len(line) == _SAMPLE else pieces
    return bool(whole) and all(map(_LINK.fullmatch, whole))


def read_naacl(path: str | Path) -> dict[int, Ints]:
    """The links of a file in the format of the NAACL 2003 shared task, by sentence from 0.

    A line is `sentence source target [S|P] [confidence]`, with numbers from 1. Links are sure
    unless marked P; links to word 0, which is NULL, are left out, confidences are ignored.
    Raises ValueError, naming file and line, for anything else.
    """
    path = Path(path)
    sentences: dict[int, dict[tuple[int, int], bool]] = {}
    for number, pieces in enumerate(_sentences(path), start=1):
        if not pieces:
            continue
        if not _is_naacl(pieces):
            raise ValueError(
                f"{path}, line {number}: expected `sentence source target [S|P] [confidence]`, "
                f"sentences from 1, found {shorten(' '.join(pieces))!r}"
            )
        sentence, j, k = (int(piece) - 1 for piece in pieces[:3])
        links = sentences.setdefault(sentence, {})
        if j >= 0 and k >= 0:
            _add(links, j, k, "P" not in pieces[3:4])
    return {sentence: _as_array(links) for sentence, links in sentences.items()}


def _is_naacl(pieces: list[str]) -> bool:
    numbers, rest = pieces[:3], pieces[3:]
    if len(numbers) < 3 or not all(map(_NUMBER.fullmatch, numbers)) or int(numbers[0]) == 0:
        return False
    if rest and rest[0] in ("S", "P"):
        rest = rest[1:]
    return len(rest) <= 1 and all(map(_CONFIDENCE.fullmatch, rest))


def _add(links: dict[tuple[int, int], bool], j: int, k: int, is_sure: bool) -> None:
    links[j, k] = links.get((j, k), False) or is_sure


def _as_array(links: dict[tuple[int, int], bool]) -> Ints:
    rows = [(j, k, int(links[j, k])) for j, k in sorted(links)]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _sentences(path: Path) -> Iterator[list[str]]:
    """The words of each line."""
    number = 0
    try:
        with _opened(path) as lines:
            for line in lines:
                number += 1
                if number == 1:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                # No byte of a longer UTF-8 character is white space in ASCII.
                yield [piece.decode("utf8") for piece in line.split()]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, line {number}: not in UTF-8: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: cannot be read after line {number}: {error}") from error
