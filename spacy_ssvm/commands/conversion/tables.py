"""CSV and TSV files whose first line names the columns: a token a line, or a text a line.

    Sentence #,Word,POS,Tag                      text,entities
    Sentence: 1,Ann,NNP,B-per                    Ann sleeps,"[[0, 3, ""PER""]]"
    ,sleeps,VBZ,O

Sentences begin where the value in their column changes, or after an empty line. The spans of a text
are written as in records, in JSON or as Python writes them: ``[(0, 3, 'PER')]``.
"""

import ast
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from spacy_ssvm.commands.conversion.records import KEYS
from spacy_ssvm.components.columns import Token
from spacy_ssvm.components.json_records import ending_of
from spacy_ssvm.files import read_text, shorten

#: The names of columns, in small letters; the first of them that a file has counts.
_TEXTS = ("text",)
_WORDS = ("word", "words", "token", "tokens", "form")
_SPANS = ("ner", "ner_tag", "ner_tags", "entity", "entities", "iob", "bio", "label", "labels")
_TAGS = ("pos", "pos_tag", "pos_tags", "upos", "xpos")
_SPANS_OR_TAGS = ("tag", "tags")  # spans, unless others are
_SENTENCES = ("sentence", "sentence_id", "sentence_idx", "sentence_number", "sent_id", "sent")


class Table(NamedTuple):
    """The lines of a file after the first one."""

    names: list[str]  #: of the columns
    rows: list[Token]

    @property
    def word(self) -> int | None:
        """The column of words, None where a line is a text."""
        return self._find(_WORDS)

    @property
    def span(self) -> int | None:
        """The column of spans, None where there are none."""
        return self._find((*_SPANS, *_SPANS_OR_TAGS))

    @property
    def tag(self) -> int | None:
        """The column of part-of-speech tags, None where there are none."""
        found = self._find((*_TAGS, *_SPANS_OR_TAGS))
        return None if found == self.span else found

    def _find(self, names: tuple[str, ...]) -> int | None:
        return next((self.names.index(name) for name in names if name in self.names), None)

    @property
    def is_known(self) -> bool:
        """Whether there are columns to read."""
        of_words = self.word is not None and (self.span is not None or self.tag is not None)
        of_texts = self._find(_TEXTS) is not None and self._find(KEYS) is not None
        return of_words or of_texts

    def sentences(self) -> Iterator[list[Token]]:
        """The tokens of each sentence."""
        column = self._find(_SENTENCES)
        sentence, name = list[Token](), ""
        for token in self.rows:
            new = token.columns[column] if column is not None and token.columns else ""
            if not token.columns or new not in ("", name):
                if sentence:
                    yield sentence
                sentence = []
            name = new or name
            sentence += [token] if token.columns else []
        if sentence:
            yield sentence

    def record(self, row: Token, place: str) -> dict[str, Any]:
        """A text with its spans. Raises ValueError naming the place."""
        if len(row.columns) != len(self.names):
            raise ValueError(
                f"{place}: expected {len(self.names)} columns, found {len(row.columns)}"
            )
        record: dict[str, Any] = dict(zip(self.names, row.columns, strict=True))
        for key in KEYS:
            if key in record:
                record[key] = _parse(record[key], key, place)
        return record


def read_table(path: Path, encoding: str) -> Table | None:
    """A file with its columns, plain or gzip; None for a .tsv file that does not name them.

    Raises ValueError naming the file where it cannot be read, or is a .csv file without names.
    """
    text = read_text(path, encoding)
    first = text.partition("\n")[0]
    is_tabbed = ending_of(path) == ".tsv"
    delimiter = "\t" if is_tabbed else max(",;\t", key=first.count)
    names = [re.sub("[^a-z]+", "_", name.lower()).strip("_") for name in first.split(delimiter)]
    table = Table(names, [])
    if not table.is_known:
        if is_tabbed:
            return None
        raise ValueError(
            f"{path}: the first line must name the columns, such as sentence, word, pos and tag, "
            f"or text and entities; found {shorten(first)!r}"
        )
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    # Where each line is a token, a quotation mark without another one is that token.
    is_plain = table.word is not None and any(line.count('"') % 2 for line in text.split("\n"))
    dialect: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if is_plain else {}
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True, **dialect)
    number = 1
    try:
        for columns in reader:
            stripped = [column.strip() for column in columns] if table.word is not None else columns
            table.rows.append(Token(number, stripped if any(stripped) else []))
            number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {number}: the quotation marks are wrong: {error}"
        ) from error
    del table.rows[0]
    return table


def _parse(text: str, key: str, place: str) -> Any:
    """The spans of a text."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list):
            return [list(span) if isinstance(span, tuple) else span for span in value]
    raise ValueError(
        f"{place}: expected a list of spans in the column '{key}', such as "
        f'[[0, 3, "PER"]], found {shorten(text)!r}'
    )
