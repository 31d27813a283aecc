"""Column files to Docs: one token a line, sentences separated by empty lines.

As the CoNLL shared tasks of 2000, 2002 and 2003 and their successors write them: IOB1,
IOB2 or BILUO tags in some column, ``-DOCSTART-`` lines, ``#`` comments. A line of
whitespace also separates sentences.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_ssvm.chains.schemes import SCHEMES
from spacy_ssvm.files import UNREADABLE, open_text, shorten


class Token(NamedTuple):
    """One line."""

    number: int
    columns: list[str]


def read_sentences(path: Path, *, encoding: str = "utf8") -> Iterator[list[Token]]:
    """The sentences of a file. Raises ValueError naming the file where it cannot be read."""
    return (sentence for _, sentence in read_documents(path, encoding=encoding))


def read_documents(path: Path, *, encoding: str = "utf8") -> Iterator[tuple[bool, list[Token]]]:
    """The sentences of a file, plain or gzip, each after whether a document begins with it.

    Raises ValueError naming the file where it cannot be read.
    """
    is_first, sentence = False, list[Token]()
    try:
        with open_text(path, encoding) as lines:
            for number, line in enumerate(lines, start=1):
                columns = line.split("\t") if "\t" in line.strip() else line.split()
                columns = [column.strip() for column in columns]
                if not line.strip() or columns[0] == "-DOCSTART-":
                    if sentence:
                        yield is_first, sentence
                        is_first, sentence = False, []
                    is_first |= columns[:1] == ["-DOCSTART-"]
                elif _is_comment(line):
                    is_first |= line.split()[1] == "newdoc"
                else:
                    sentence.append(Token(number, columns))
    except UNREADABLE as error:
        raise ValueError(f"{path}: cannot be read as {encoding}: {error}") from error
    if sentence:
        yield is_first, sentence


def _is_comment(line: str) -> bool:
    """Whether a line is a comment of CoNLL-U: a line may also begin with the token '#'."""
    return line.startswith("# ") and (
        " = " in line or line.split()[1:2] in (["newdoc"], ["newpar"])
    )


def make_doc(
    vocab: Vocab,
    path: Path,
    sentence: list[Token],
    *,
    word: int,
    span: int | None,
    tag: int | None = None,
    spans_key: str | None = None,
) -> Doc:
    """A sentence as a Doc.

    word, span, tag: the columns, from 0 or from the end (-1). There are no spans where their column
        is that of the tags, as in files of words and tags.
    spans_key: write the spans to ``doc.spans`` under this key; None writes ``doc.ents``.
    Raises ValueError naming file and line where a column is missing or a tag malformed.
    """
    words = [_column(path, token, word, "word") for token in sentence]
    tags = [_column(path, token, tag, "tag") for token in sentence] if tag is not None else None
    doc = Doc(vocab, words=words, tags=tags, sent_starts=[i == 0 for i in range(len(words))])
    width = len(sentence[0].columns) if sentence else 1
    if span is not None and (tag is None or span % width != tag % width):
        spans = [
            Span(doc, start, end, label=label) for start, end, label in _spans(path, sentence, span)
        ]
        if spans_key is None:
            doc.set_ents(spans)
        else:
            doc.spans[spans_key] = spans
    return doc


def _column(path: Path, token: Token, column: int, name: str) -> str:
    try:
        value = token.columns[column]
    except IndexError:
        value = ""
    if not value:
        raise ValueError(
            f"{path}, line {token.number}: there is no column {column} for the {name}, but "
            f"{len(token.columns)}: {shorten(' '.join(token.columns))!r}"
        )
    return value


def _spans(path: Path, sentence: list[Token], column: int) -> Iterator[tuple[int, int, str]]:
    """The spans of a sentence: first token, after the last token, label."""
    start, label = 0, ""
    for i, token in enumerate(sentence):
        value = _column(path, token, column, "spans")
        letter, _, kind = value.partition("-")
        if value != "O" and (letter not in (*SCHEMES["biluo"], "E", "S") or not kind):
            raise ValueError(
                f"{path}, line {token.number}: {shorten(value)!r}, in column "
                f"{column % len(token.columns)} (from 0), is no tag of a span: expected O or B-, "
                "I-, L-, U- (or E-, S-) with a label"
            )
        if label and (value == "O" or letter in "BUS" or kind != label):
            yield start, i, label
            label = ""
        if value != "O" and not label:
            start, label = i, kind
        if letter in "LUES" and label:
            yield start, i + 1, label
            label = ""
    if label:
        yield start, len(sentence), label
