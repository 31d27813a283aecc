"""The folder of an experiment: its config, and its results as JSON lines."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from spacy import util
from thinc.api import Config

from spacy_ssvm.files import replacing

AnyRow = TypeVar("AnyRow", bound=NamedTuple)


class RunLog(Generic[AnyRow]):
    """Rows that are written to a file one by one.

    file: of the rows; ``config.cfg`` beside it holds all settings that they depend on.
    make_row: a row from its fields.
    An incomplete last line, from a process that was stopped, is dropped. Raises ValueError where
    rows exist that are not to be resumed, depend on other settings, or are damaged.
    """

    def __init__(
        self, file: Path, config: Config, make_row: Callable[..., AnyRow], *, resume: bool = False
    ) -> None:
        self.file = file
        self.rows: list[AnyRow] = []
        settings = file.with_name("config.cfg")
        if not file.exists():
            with replacing(settings) as beside:
                config.to_disk(beside)
            return
        if not resume:
            raise ValueError(f"{file} exists: give --resume to continue, or another folder")
        if util.load_config(settings).to_str() != config.to_str():
            raise ValueError(f"{file.parent} was made with other settings: see {settings}")
        self.keep(self._read(make_row))

    def _read(self, make_row: Callable[..., AnyRow]) -> list[AnyRow]:
        *lines, _ = self.file.read_bytes().split(b"\n")  # what follows the last line break is torn
        rows = []
        for number, line in enumerate(lines, start=1):
            try:
                rows.append(make_row(**json.loads(line)))
            except (ValueError, TypeError, RecursionError) as error:
                raise ValueError(
                    f"{self.file}, line {number}, is damaged: remove the line, or choose another "
                    "folder"
                ) from error
        return rows

    def keep(self, rows: Iterable[AnyRow]) -> None:
        """Write these rows in place of those that are there."""
        self.rows = list(rows)
        with replacing(self.file) as beside:
            beside.write_text("".join(map(_line, self.rows)), encoding="utf8")

    def add(self, row: AnyRow) -> None:
        """Write one more row."""
        self.rows.append(row)
        with self.file.open("a", encoding="utf8") as stream:
            stream.write(_line(row))


def _line(row: NamedTuple) -> str:
    """A row as a line, from which the same numbers are read again."""
    return json.dumps(row._asdict(), allow_nan=False, ensure_ascii=False) + "\n"
