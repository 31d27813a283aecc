"""Tests of ``spacy_ssvm/tokenizer/columns.py``."""

import numpy as np
import pytest
from character_texts import chunks_of, drawn_texts, gaps, read, same_partition
from hypothesis import given

from spacy_ssvm.tokenizer.characters import OTHER, class_of
from spacy_ssvm.tokenizer.chunks import NOTHING_KNOWN, KnownChunks, with_cases
from spacy_ssvm.tokenizer.columns import COLUMNS, REACH, read_columns
from spacy_ssvm.tokenizer.nodes import NOTHING_CERTAIN, find_nodes, find_patterns

pytestmark = pytest.mark.uncompiled

#: The number of tokens of some chunks.
WORDS = {"a": 1, "b.": 2, "www.": 1, "ab": 2}
KNOWN = with_cases(
    NOTHING_KNOWN,
    {chunk: [chunk] if number == 1 else [chunk[0], chunk[1:]] for chunk, number in WORDS.items()},
)


def kind(character: str) -> object:
    found = class_of(character)
    return character if found == OTHER else found


def link(chunk: str, i: int) -> object:
    """Whether a character is before or behind the mark of an address; None for no address."""
    for j in range(len(chunk)):
        is_mark = chunk[j] == "@" and 0 < j < len(chunk) - 1
        if j + 3 < len(chunk):
            is_mark |= chunk[j : j + 3] == "://" or chunk[j : j + 4] == "www."
        if is_mark:
            return "before" if i <= j else "behind"
    return None


def lower(chunk: str) -> str:
    return "".join(low if len(low := c.lower()) == 1 else c for c in chunk)


def own_value(name: str, offset: int, chunk: str, i: int) -> object:
    """The value of a column that depends on the chunk alone."""
    if name in ("char", "class"):
        at = i + offset
        outside = "before" if at < 0 else "behind" if at >= len(chunk) else None
        return outside or (chunk[at], 0) if name == "char" else outside or (kind(chunk[at]), 1)
    return {
        "left": chunk[:i],
        "right": chunk[i:],
        "first": i == 0,
        "link": link(chunk, i),
    }[name]


def value_of(name: str, chunk: str) -> object:
    """What a column says of a whole chunk; shapes are tested with chunks."""
    length = {"ending1": 1, "ending2": 2, "ending3": 3}.get(name)
    if length:
        return chunk[-length:]
    if name == "ending_class":
        return (*map(kind, chunk[-2:]),)
    return lower(chunk) if name == "lower" else chunk


def expected(texts: list[str], name: str, offset: int) -> list[object]:
    """The values of a column at all nodes; None for none."""
    values: list[object] = []
    for text in texts:
        chunks = text.split()
        for c, chunk in enumerate(chunks):
            for i in range(0 if c else 1, len(chunk)):
                if name in ("char", "class", "left", "right", "first", "link"):
                    values.append(own_value(name, offset, chunk, i))
                elif name in ("left_word", "right_word"):
                    part = chunk[:i] if name == "left_word" else chunk[i:]
                    values.append(WORDS.get(part, 0) if i else None)
                elif i and (name, offset) not in (
                    *(("chunk", 0), ("lower", 0), ("shape", 0), ("chunk", -1), ("chunk", 1)),
                ):
                    values.append(None)
                elif name == "space":
                    values.append(gap_class(gaps(text)[c]))
                elif not 0 <= c + offset < len(chunks):
                    values.append(("start",) if offset < 0 else ("end",))
                else:
                    values.append(value_of(name, chunks[c + offset]))
    return values


def gap_class(gap: str) -> object:
    breaks = len(f"{gap}.".splitlines()) - 1
    return min(breaks, 2), not breaks and len(gap) > 1


def columns_of(texts: list[str], known: KnownChunks = KNOWN) -> np.ndarray:
    codes, _, classes, chunks = read(texts)
    patterns = find_patterns(chunks, NOTHING_KNOWN)
    nodes = find_nodes(codes, classes, chunks, patterns, NOTHING_CERTAIN)
    return read_columns(codes, classes, chunks, nodes, known)


@given(drawn_texts)
def test_columns_say_what_is_around_a_node(texts: list[str]) -> None:
    columns = columns_of(texts)
    for j, (name, offset) in enumerate(COLUMNS):
        if name == "shape":
            continue
        values = expected(texts, name, offset)
        assert same_partition(columns[:, j], values), (name, offset)
        nothing = [value is None for value in values]
        assert (columns[:, j] == 0).tolist() == nothing, (name, offset)


@given(drawn_texts)
def test_shapes_are_those_of_chunks(texts: list[str]) -> None:
    columns, found = columns_of(texts), chunks_of(texts)
    shapes = dict(
        zip(expected(texts, "chunk", 0), columns[:, COLUMNS.index(("shape", 0))], strict=True)
    )
    for offset in (-1, 1):
        values = columns[:, COLUMNS.index(("shape", offset))].tolist()
        for value, chunk in zip(values, expected(texts, "chunk", offset), strict=True):
            if value and chunk in shapes:
                assert value in (0, shapes[chunk])
    assert {*shapes} <= {*found}


def test_parts_are_looked_up_as_chunks() -> None:
    places = [COLUMNS.index((name, 0)) for name in ("left_word", "right_word")]
    unknown, token, tokens = 1, 2, 3
    assert columns_of(["abb.", "xa"])[:, places].tolist() == [
        [token, unknown],
        [tokens, tokens],
        [unknown, unknown],
        [unknown, token],
    ]
    assert columns_of(["abb."], NOTHING_KNOWN)[:, places].tolist() == [[unknown, unknown]] * 3


def test_parts_of_more_than_32_characters_are_unknown() -> None:
    words = {"y" * length: ["y" * length] for length in (32, 33)}
    known = with_cases(NOTHING_KNOWN, words)
    columns = columns_of(["y" * 34], known)
    lengths = {name: columns[:, COLUMNS.index((name, 0))] for name in ("left_word", "right_word")}
    assert (np.flatnonzero(lengths["left_word"] == 2) + 1).tolist() == [32]
    assert (np.flatnonzero(lengths["right_word"] == 2) + 1).tolist() == [2]


def test_columns_reach_three_characters() -> None:
    assert {offset for name, offset in COLUMNS if name == "char"} == {*range(-REACH, REACH + 1)}
    assert len({*COLUMNS}) == len(COLUMNS)
