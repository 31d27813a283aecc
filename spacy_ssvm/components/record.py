"""The folder of what is learned again and again: its config, and rows as JSON lines."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import srsly
from spacy import util
from thinc.api import Config

AnyRow = TypeVar("AnyRow", bound=NamedTuple)


class Record(Generic[AnyRow]):
    """Rows that are written as they come.

    file: of the rows; ``config.cfg`` beside it holds all that they depend on.
    make_row: a row from its fields.
    Raises ValueError where there are rows already, and they are not to be resumed, or depend on
    something else.
    """

    def __init__(
        self, file: Path, config: Config, make_row: Callable[..., AnyRow], *, resume: bool = False
    ) -> None:
        self.file = file
        settings = file.with_name("config.cfg")
        if file.exists() and not resume:
            raise ValueError(f"{file} exists: give --resume to go on, or another folder")
        if file.exists() and util.load_config(settings).to_str() != config.to_str():
            raise ValueError(f"{file.parent} was made with other settings: see {settings}")
        file.parent.mkdir(parents=True, exist_ok=True)
        config.to_disk(settings)
        self.rows: list[AnyRow] = []
        if file.exists():
            self.rows = [make_row(**line) for line in srsly.read_jsonl(file, skip=True)]

    def keep(self, rows: Iterable[AnyRow]) -> None:
        """Write these rows in place of those that are there."""
        self.rows = list(rows)
        beside = self.file.with_name(f".{self.file.name}.writing")
        srsly.write_jsonl(beside, [row._asdict() for row in self.rows])
        os.replace(beside, self.file)

    def add(self, row: AnyRow) -> None:
        """Write one more row."""
        self.rows.append(row)
        with self.file.open("a", encoding="utf8") as stream:
            stream.write(srsly.json_dumps(row._asdict()) + "\n")
