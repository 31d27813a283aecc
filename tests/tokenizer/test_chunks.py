"""Tests of ``spacy_ssvm/tokenizer/chunks.py``."""

from collections import Counter
from itertools import groupby, pairwise

import numpy as np
import pytest
from character_texts import chunks_of, drawn_texts, gaps, read, same_partition
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.kernels.types import Flags
from spacy_ssvm.tokenizer.characters import OTHER, class_of
from spacy_ssvm.tokenizer.chunks import (
    ENDING1,
    ENDING2,
    ENDING3,
    ENDING_CLASS,
    GAP,
    GAPS,
    LOWER_TEXT,
    NOTHING_KNOWN,
    SHAPE,
    TEXT,
    KnownChunks,
    arrays_of,
    learn_chunks,
    pattern_of,
    read_known,
    with_cases,
)

pytestmark = pytest.mark.uncompiled


def kind(character: str) -> object:
    """What shapes tell of a character."""
    found = class_of(character)
    return character if found == OTHER else found


def shape(chunk: str) -> object:
    """Runs of characters of one class, one character or more, the first twelve."""
    return tuple((key, len([*run]) > 1) for key, run in groupby(chunk, kind))[:12]


def gap_name(gap: str, *, is_first: bool) -> str:
    if is_first:
        return "start"
    breaks = len(f"{gap}.".splitlines()) - 1
    if breaks:
        return "line" if breaks == 1 else "paragraph"
    return "space" if len(gap) == 1 else "spaces"


@given(drawn_texts)
def test_chunks_are_what_whitespace_separates(texts: list[str]) -> None:
    _, starts, _, chunks = read(texts)
    joined = "".join(texts)
    found = [joined[a:b] for a, b in zip(chunks.starts, chunks.ends, strict=True)]
    assert found == chunks_of(texts)
    ends = np.cumsum([0, *(len(text.split()) for text in texts)])
    assert chunks.text_chunks.tolist() == ends.tolist()
    for text, (a, b) in enumerate(pairwise(ends)):
        assert all(starts[text] <= start < starts[text + 1] for start in chunks.starts[a:b])


@given(drawn_texts)
def test_fields_tell_apart_what_they_are_of(texts: list[str]) -> None:
    fields, found = read(texts)[-1].fields, chunks_of(texts)
    assert fields.all()
    lower = ["".join(low if len(low := c.lower()) == 1 else c for c in one) for one in found]
    assert same_partition(fields[:, TEXT], [*found])
    assert same_partition(fields[:, LOWER_TEXT], [*lower])
    assert same_partition(fields[:, SHAPE], [*map(shape, found)])
    for field, length in ((ENDING1, 1), (ENDING2, 2), (ENDING3, 3)):
        assert same_partition(fields[:, field], [one[-length:] for one in found])
    assert same_partition(fields[:, ENDING_CLASS], [(*map(kind, one[-2:]),) for one in found])
    expected = [
        gap_name(gap, is_first=i == 0) for text in texts for i, gap in enumerate(gaps(text))
    ]
    assert [GAPS[gap - 1] for gap in fields[:, GAP].tolist()] == expected


def marks(texts: list[str], drawn: Flags) -> tuple[Flags, Flags]:
    """Tokens and sentences that begin at drawn characters, bool [characters, 2]."""
    begins = drawn[: sum(map(len, texts))]
    return begins.any(axis=1), begins.all(axis=1)


drawn_marks = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=120, max_size=120).map(
    lambda rows: np.array(rows, dtype=bool)
)


def cuts_by_chunk(texts: list[str], is_start: Flags, is_first: Flags) -> dict[str, Counter]:
    """How often each chunk is cut how; None where a sentence begins in it."""
    found: dict[str, Counter] = {}
    chunks = read(texts)[-1]
    joined = "".join(texts)
    for start, end in zip(chunks.starts.tolist(), chunks.ends.tolist(), strict=True):
        cuts = tuple(i - start for i in range(start + 1, end) if is_start[i])
        pattern = None if is_first[start + 1 : end].any() else cuts
        found.setdefault(joined[start:end], Counter())[pattern] += 1
    return found


def known_cuts(known: KnownChunks, chunk: str) -> tuple[int, ...] | None:
    """How a table says that a chunk is cut; None where it is not known."""
    key = read([chunk])[-1].fields[0, TEXT]
    pattern = pattern_of(known, key, len(chunk))
    if pattern < 0:
        return None
    start, end = known.cut_starts[pattern : pattern + 2]
    return tuple(known.cuts[start:end].tolist())


@given(drawn_texts, drawn_marks, st.integers(1, 3))
def test_what_is_always_cut_alike_is_known(texts: list[str], drawn: Flags, least: int) -> None:
    is_start, is_first = marks(texts, drawn)
    known = learn_chunks(read(texts)[-1], is_start, is_first, least)
    for chunk, patterns in cuts_by_chunk(texts, is_start, is_first).items():
        pattern, count = patterns.most_common(1)[0]
        is_known = len(patterns) == 1 and pattern is not None and count >= least
        assert known_cuts(known, chunk) == (pattern if is_known else None)


@given(drawn_texts, drawn_marks)
def test_special_cases_come_first_and_tables_are_saved(texts: list[str], drawn: Flags) -> None:
    learned = learn_chunks(read(texts)[-1], *marks(texts, drawn), 1)
    cases = {"a1": ["a", "1"], "new": ["n", "e", "w"], "one": ["one"]}
    known = with_cases(learned, cases)
    assert {case: known_cuts(known, case) for case in cases} == {
        "a1": (1,),
        "new": (1, 2),
        "one": (),
    }
    loaded = read_known(arrays_of(known))
    for chunk in {*chunks_of(texts)} - {*cases}:
        assert known_cuts(known, chunk) == known_cuts(learned, chunk)
    for chunk in {*chunks_of(texts), *cases}:
        assert known_cuts(loaded, chunk) == known_cuts(known, chunk)


def test_a_pattern_that_a_chunk_is_too_short_for_is_not_its_own() -> None:
    known = with_cases(NOTHING_KNOWN, {"abc": ["ab", "c"]})
    key = read(["abc"])[-1].fields[0, TEXT]
    assert pattern_of(known, key, 3) == 0
    assert pattern_of(known, key, 2) == -1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cuts", [3, 1], "do not rise"),
        ("cuts", [0, 1], "do not rise"),
        ("cuts", [1], "do not fit"),
        ("cut_numbers", [[2]], "do not fit"),
        ("chunk_keys", [5, 5], "do not fit"),
        ("chunk_keys", [0], "the chunks are not different"),
    ],
)
def test_damaged_tables_are_refused(name: str, value: list, message: str) -> None:
    arrays = arrays_of(with_cases(NOTHING_KNOWN, {"abc": ["a", "b", "c"]}))
    arrays[name] = np.array(value, dtype=arrays[name].dtype)
    with pytest.raises(ValueError, match=message):
        read_known(arrays)
