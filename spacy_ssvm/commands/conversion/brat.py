"""The standoff format of brat: a text in FILE.txt, its spans in FILE.ann.

    T1<tab>PER 0 3<tab>Ann

Other lines (relations, events, attributes, notes) are ignored. A span of several pieces,
``PER 0 3;8 12``, cannot be an entity of spaCy.
"""

import re
from pathlib import Path

from spacy_ssvm.commands.conversion.offsets import AnnotatedText, LeftOut, Offsets
from spacy_ssvm.files import shorten

_SPAN = re.compile(r"(\S+) +([0-9]{1,9}) +([0-9]{1,9})((?:;[0-9]{1,9} +[0-9]{1,9})*) *")


def read_brat(path: Path, encoding: str = "utf8") -> tuple[AnnotatedText, list[LeftOut]]:
    """The text of an .ann file with its spans, and those of several pieces.

    Raises ValueError naming file and line where one is malformed, or the text is missing.
    """
    text = _read(path.with_suffix(".txt"), encoding)
    spans: list[Offsets] = []
    unknown: list[tuple[int, int]] = []
    in_pieces: list[LeftOut] = []
    lines = _read(path, encoding).removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.startswith("T"):
            continue
        place, columns = f"{path}, line {number}", line.rstrip("\r").split("\t")
        read = _SPAN.fullmatch(columns[1]) if len(columns) > 1 else None
        if read is None:
            raise ValueError(
                f"{place}: {shorten(' '.join(columns))!r} is no span: expected T1, a tab, and "
                "LABEL START END"
            )
        label, start, end, others = read.groups()
        if others:
            in_pieces.append(LeftOut(place, columns[-1], label, "has several pieces"))
            pieces = [piece.split() for piece in f"{start} {end}{others}".split(";")]
            unknown += [(int(first), int(last)) for first, last in pieces]
        else:
            spans.append(Offsets(int(start), int(end), label))
    return AnnotatedText(str(path), text, tuple(spans), tuple(unknown)), in_pieces


def _read(path: Path, encoding: str) -> str:
    try:
        with path.open(encoding=encoding, newline="") as file:  # offsets count each character
            return file.read()
    except (OSError, LookupError, UnicodeError) as error:
        raise ValueError(f"{path}: cannot be read as {encoding}: {error}") from error
