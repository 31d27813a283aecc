"""Feature templates of CRF++ and Wapiti, as templates of this package.

    U05:%x[-1,0]/%x[0,0]        orth[-1]+orth[0]
    u:sfx=%m[ 0,0,".?.?.?$"]    suffix3[0]

A column of theirs is an attribute of tokens here. Labels of two adjacent words, the line ``B`` or
``b``, are always scored here, without being a template.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from thinc.config import ConfigValidationError

from spacy_ssvm.components.settings import read_token_templates

_MACRO = re.compile(r'%([xtmXTM])\[\s*@?(-?\d+)\s*,\s*(\d+)\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]')
_BIGRAM = re.compile(r"[Bb*]\d*(?::\D*)?")
#: Patterns of Wapiti, and the attributes that have the same values.
_AFFIX = re.compile(r"(\^?)((?:\.\??){1,5})(\$?)")
_OF_WORDS = {"orth", "lower"}


class Converted(NamedTuple):
    """Templates, and the lines for which there is none."""

    templates: list[str]
    left_out: list[str]  #: each with its number and the reason


def convert_templates(lines: Sequence[str], columns: Sequence[str]) -> Converted:
    """The templates of a file.

    columns: the attributes that stand in its columns, from 0.
    """
    templates: dict[str, None] = {}
    left_out = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            template = _convert(text, columns)
        except ValueError as error:
            left_out.append(f"line {number}: {text}: {error}")
            continue
        if template is not None:
            templates[template] = None
    return Converted([*templates], left_out)


def _convert(line: str, columns: Sequence[str]) -> str | None:
    """The template of a line, None for labels alone. Raises ValueError where there is none."""
    macros = list(_MACRO.finditer(line))
    if not macros:
        if _BIGRAM.fullmatch(line):
            return None
        raise ValueError("it reads no column")
    if line[0] in "Bb*":
        raise ValueError("features of two labels are not supported")
    if line[0] not in "Uu" or "%" in _MACRO.sub("", line):
        raise ValueError("it cannot be read")
    text = "+".join(_part(match, columns) for match in macros)
    try:
        (template,) = read_token_templates("templates", [text])
    except ConfigValidationError as error:
        raise ValueError(error.errors[0]["msg"]) from error
    return str(template)


def _part(macro: re.Match[str], columns: Sequence[str]) -> str:
    kind, offset, column, pattern = macro.groups()
    if int(column) >= len(columns):
        raise ValueError(f"column {column} has no name: give one more in --columns")
    attribute = columns[int(column)]
    if kind in "mM" and pattern is not None:
        attribute = _affix(attribute, pattern)
    elif kind not in "xX" or pattern is not None:
        raise ValueError("tests by regular expressions are not supported: see shape, case, digits")
    elif kind == "X":
        attribute = {"orth": "lower"}.get(attribute, attribute)
    return f"{attribute}[{int(offset)}]"


def _affix(attribute: str, pattern: str) -> str:
    """The attribute for the first or last letters of a word."""
    match = _AFFIX.fullmatch(pattern)
    if match is None or attribute not in _OF_WORDS or bool(match[1]) == bool(match[3]):
        raise ValueError(f'"{pattern}" is not supported: only the first or last letters are')
    return f"{'prefix' if match[1] else 'suffix'}{match[2].count('.')}"
