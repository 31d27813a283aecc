"""Treebanks in CoNLL-U, checked line by line before spaCy's converter reads them."""

import re
from collections.abc import Iterator
from pathlib import Path

from spacy.parts_of_speech import IDS
from spacy.tokens import Doc, Span
from spacy.training.converters.conllu_to_docs import conllu_to_docs

from spacy_ssvm.storage import shorten, with_mark

_COLUMNS = 10
_NUMBER = re.compile(r"0|[1-9][0-9]{0,6}")
_RANGE = re.compile(r"[0-9]+[-.][0-9]+")


def read_conllu(path: Path, encoding: str = "utf8") -> list[tuple[bool, Doc]]:
    """The sentences of a treebank, each as a Doc, and whether a document begins with it.

    Documents are marked by ``# newdoc`` comments. Raises ValueError naming file and line where a
    line is malformed.
    """
    blocks = list(_blocks(path, encoding))
    if not blocks:
        return []
    text = "\n\n".join("\n".join(lines) for _, lines in blocks)
    docs: Iterator[Doc] = conllu_to_docs(  # type: ignore[no-untyped-call]
        text, n_sents=1, no_print=True
    )
    return [
        (is_first, doc if _has_tree(lines) else _without_tree(doc))
        for (is_first, lines), doc in zip(blocks, docs, strict=True)
    ]


def _blocks(path: Path, encoding: str) -> Iterator[tuple[bool, list[str]]]:
    """Whether a document begins with it, and the lines without comments, of each sentence."""
    is_first, lines, first_number = False, list[str](), 1
    try:
        with path.open(encoding=with_mark(encoding)) as file:
            for number, line in enumerate(file, start=1):
                if line.startswith("#"):
                    is_first |= line.split()[1:2] == ["newdoc"]
                elif line.strip():
                    first_number = first_number if lines else number
                    line = line.rstrip("\n")
                    lines.append(f"{line}_" if line.endswith("\t") else line)
                elif lines:
                    _check(path, first_number, lines)
                    yield is_first, lines
                    is_first, lines = False, []
    except (OSError, LookupError, UnicodeError) as error:
        if isinstance(error, UnicodeError) or not isinstance(error, ValueError):
            raise ValueError(f"{path}: cannot be read as {encoding}: {error}") from error
        raise
    if lines:
        _check(path, first_number, lines)
        yield is_first, lines


def _check(path: Path, first_number: int, lines: list[str]) -> None:
    """Raise ValueError for a sentence that is not valid."""
    heads: list[int] = []
    rows = [line.split("\t") for line in lines]
    words = sum(_NUMBER.fullmatch(columns[0]) is not None for columns in rows)
    for number, columns in enumerate(rows, start=first_number):
        place = f"{path}, line {number}"
        _check_columns(columns, place)
        if not _NUMBER.fullmatch(columns[0]):  # several tokens, or one that is not in the text
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


def _check_columns(columns: list[str], place: str) -> None:
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
        path: list[int] = []
        while word not in leads_to_root:
            if word in path:
                return True
            path.append(word)
            word = heads[word - 1]
        leads_to_root.update(path)
    return False


def _has_tree(lines: list[str]) -> bool:
    rows = [line.split("\t") for line in lines]
    return any(columns[6] != "_" for columns in rows if _NUMBER.fullmatch(columns[0]))


def _without_tree(doc: Doc) -> Doc:
    """The sentence without the heads that spaCy's converter gives each word."""
    tags = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        tags=[token.tag_ for token in doc],
        pos=[token.pos_ for token in doc],
        morphs=[str(token.morph) for token in doc],
        lemmas=[token.lemma_ for token in doc],
        sent_starts=[token.i == 0 for token in doc],
    )
    if doc.has_annotation("ENT_IOB"):
        tags.set_ents([Span(tags, ent.start, ent.end, label=ent.label) for ent in doc.ents])
    return tags
