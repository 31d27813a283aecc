"""Records of JSON files: one a line, or in a list."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spacy_ssvm.files import read_text, shorten


def read_records(
    path: Path, encoding: str = "utf8", on_error: Callable[[ValueError], object] | None = None
) -> Iterator[tuple[str, Any]]:
    """The records of a file, plain or gzip, each after the place where it stands.

    JSON lines or, in a ``.json`` file, also one list, or Rasa's
    {"rasa_nlu_data": {"common_examples": [...]}}.
    on_error: takes the error for a line that is not JSON, which is else raised.
    Raises ValueError naming the file, and the line, where it is not JSON.
    """
    text = read_text(path, encoding)
    if ending_of(path) == ".json" and not _has_lines(text):
        records = _parse(text, str(path))
        if isinstance(records, dict) and isinstance(records.get("rasa_nlu_data"), dict):
            records = records["rasa_nlu_data"].get("common_examples")
        if not isinstance(records, list):
            raise ValueError(f"{path}: expected a list of records, found {shown(records)}")
        for number, record in enumerate(records, start=1):
            yield f"{path}, record {number}", record
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            record = _parse(line, place)
        except ValueError as error:
            if on_error is None:
                raise
            on_error(error)
        else:
            yield place, record


def _has_lines(text: str) -> bool:
    """Whether the first line of several is JSON by itself."""
    first, _, others = text.strip().partition("\n")
    try:
        return bool(others) and json.loads(first) is not None
    except (ValueError, RecursionError):
        return False


def ending_of(path: Path) -> str:
    """The ending of a file in small letters, before ``.gz`` of one that is compressed."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: this is not JSON: {error}") from error


def checked_text(text: str, place: str) -> str:
    """A text, unless it has halves of characters. Raises ValueError naming the place."""
    try:
        text.encode("utf8")
    except UnicodeError as error:
        raise ValueError(f"{place}: a text is not valid Unicode: {error}") from error
    return text


def shown(value: Any) -> str:
    """A value of a record for a message, or its beginning."""
    try:
        return shorten(printable(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        return "what is nested too deeply"


def printable(text: str) -> str:
    """A text with the numbers of characters of which there are halves."""
    return text.encode("utf8", "backslashreplace").decode("utf8")
