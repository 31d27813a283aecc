"""Chunks, the runs of characters between whitespace, and those whose tokens are known.

Tokens never reach across whitespace. Most chunks are cut in the same way wherever they occur: how,
a table tells.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import mix
from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Codes, Flags, Ints, Keys, ShortKeys
from spacy_ssvm.storage import Arrays, require, rise_within
from spacy_ssvm.tokenizer.characters import BLANK, CHARACTERS, LINE_BREAK, OTHER
from spacy_ssvm.weights.hash_table import empty_slots, find_slot, numbered_keys, read_keys

#: What is known of a chunk: hashes of its text, of it in lower case, of its shape, of its last
#: one, two and three characters, of the classes of the last two; what is before it, see ``GAPS``.
TEXT, LOWER_TEXT, SHAPE, ENDING1, ENDING2, ENDING3, ENDING_CLASS, GAP = range(8)
_FIELDS = 8

#: The whitespace before a chunk. The first chunk of a text has "start", whatever is before it.
GAPS = ("start", "space", "spaces", "line", "paragraph")
START = np.uint64(1)
_SPACE, _SPACES, _LINE, _PARAGRAPH = range(2, 6)
#: The value of what is behind the end of a chunk or text.
END = np.uint64(3)

SEED = np.uint64(0x2545F4914F6CDD1D)
_ENDING = 3  # characters
_LONGEST_SHAPE = 12  # runs of characters of one class
#: Added to code points where they stand beside classes and other small numbers.
FIRST_CODE = 16

_PUNCTUATION = np.int8(OTHER)
LAST_BLANK = np.int8(BLANK)
_BREAK = np.int8(LINE_BREAK)
_LINE_FEED, _CARRIAGE_RETURN = np.uint32(10), np.uint32(13)


class Chunks(NamedTuple):
    """The chunks of a batch of texts."""

    starts: Ints  #: int64 [chunks]: the first character
    ends: Ints  #: int64 [chunks]: after the last one
    text_chunks: Ints  #: int64 [texts + 1]: the first chunk of each text
    fields: Keys  #: uint64 [chunks, 8], not 0: see ``TEXT``


def is_text(value: object) -> bool:
    """Whether a value is a text that can be a token."""
    if not isinstance(value, str):
        return False
    try:
        return bool(value.encode("utf8"))
    except UnicodeEncodeError:  # half of a character of UTF-16
        return False


def code_points(texts: Sequence[str]) -> tuple[ShortKeys, Ints]:
    """The code points of texts, one after another, and where each text begins.

    uint32 [characters], int64 [texts + 1].
    """
    encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
    ends = [0, *accumulate(map(len, texts))]
    return np.frombuffer(encoded, dtype=np.uint32), np.array(ends, dtype=np.int64)


def find_chunks(texts: Sequence[str]) -> tuple[ShortKeys, Ints, Chunks]:
    """The code points of texts and where each begins, see ``code_points``, and the chunks."""
    codes, text_starts = code_points(texts)
    CHARACTERS.look_up(codes)
    return codes, text_starts, read_chunks(codes, text_starts, CHARACTERS.classes, CHARACTERS.lower)


@inlined_kernel
def class_code(code: int, classes: Codes) -> int:
    """The class of a character, as a value of features; punctuation is a class each (uint64)."""
    kind = classes[code]
    if kind == _PUNCTUATION:
        return np.uint64(code) + np.uint64(FIRST_CODE)  # type: ignore[no-any-return]
    return np.uint64(kind)  # type: ignore[no-any-return]


@kernel
def read_chunks(codes: ShortKeys, text_starts: Ints, classes: Codes, lower: ShortKeys) -> Chunks:
    """The chunks of texts, see ``code_points``. classes, lower: see ``CharacterTable``."""
    number = 0
    for text in range(len(text_starts) - 1):
        i, end = text_starts[text], text_starts[text + 1]
        while True:
            i = _skip(codes, classes, i, end, True)
            if i == end:
                break
            i = _skip(codes, classes, i, end, False)
            number += 1
    starts = np.empty(number, dtype=np.int64)
    ends = np.empty(number, dtype=np.int64)
    text_chunks = np.empty(len(text_starts), dtype=np.int64)
    fields = np.empty((number, _FIELDS), dtype=np.uint64)
    chunk = 0
    for text in range(len(text_starts) - 1):
        text_chunks[text] = chunk
        i, end = text_starts[text], text_starts[text + 1]
        while True:
            before = i
            i = _skip(codes, classes, i, end, True)
            if i == end:
                break
            is_first = chunk == text_chunks[text]
            starts[chunk] = i
            i = _skip(codes, classes, i, end, False)
            ends[chunk] = i
            gap = np.uint64(_gap(codes, classes, before, starts[chunk]))
            fields[chunk, GAP] = START if is_first else gap
            _describe(codes, classes, lower, starts[chunk], i, fields[chunk])
            chunk += 1
    text_chunks[len(text_starts) - 1] = chunk
    return Chunks(starts, ends, text_chunks, fields)


@inlined_kernel
def _skip(codes: ShortKeys, classes: Codes, i: int, end: int, is_blank: bool) -> int:
    """The first character from i on that is not whitespace, or is, and ``end`` for none."""
    while i < end and (classes[codes[i]] <= LAST_BLANK) == is_blank:
        i += 1
    return i


@inlined_kernel
def _gap(codes: ShortKeys, classes: Codes, start: int, end: int) -> int:
    """Which of GAPS the whitespace [start, end) is."""
    breaks = 0
    for i in range(start, end):
        is_second = i > start and codes[i] == _LINE_FEED and codes[i - 1] == _CARRIAGE_RETURN
        breaks += classes[codes[i]] == _BREAK and not is_second
    if breaks > 0:
        return _LINE if breaks == 1 else _PARAGRAPH
    return _SPACE if end == start + 1 else _SPACES


@inlined_kernel
def _describe(
    codes: ShortKeys, classes: Codes, lower: ShortKeys, start: int, end: int, fields: Keys
) -> None:
    """Write the fields of the chunk [start, end) but GAP: none of them is 0."""
    text_key, lower_key, shape = SEED, SEED, SEED
    run_class, runs, run_length = np.uint64(0), 0, 0
    for i in range(start, end):
        text_key = mix(text_key, np.uint64(codes[i]))
        lower_key = mix(lower_key, np.uint64(lower[codes[i]]))
        code = class_code(codes[i], classes)
        if code != run_class:
            runs, run_length, run_class = runs + 1, 0, code
        run_length += 1
        if run_length <= 2 and runs <= _LONGEST_SHAPE:  # one character, or more
            shape = mix(shape, code)
    ending, ending_class = SEED, SEED
    for d in range(_ENDING):
        if end - d > start:
            ending = mix(ending, np.uint64(codes[end - 1 - d]))
            if d < _ENDING - 1:
                ending_class = mix(ending_class, class_code(codes[end - 1 - d], classes))
        fields[ENDING1 + d] = max(ending, np.uint64(1))
    fields[TEXT] = max(text_key, np.uint64(1))
    fields[LOWER_TEXT] = max(lower_key, np.uint64(1))
    fields[SHAPE] = max(shape, np.uint64(1))
    fields[ENDING_CLASS] = max(ending_class, np.uint64(1))


class KnownChunks(NamedTuple):
    """How chunks are cut that are always cut in the same way, by the key of their text."""

    slots: Keys  #: a hash table, see ``number_keys``: the payloads of patterns are 1, 2, ...
    cut_starts: Ints  #: int64 [patterns + 1]
    cuts: Ints  #: int64: where tokens begin in the chunk, but for the first one; they rise


NOTHING_KNOWN = KnownChunks(
    empty_slots(0), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
)

#: The saved arrays of a table, with their types.
ARRAYS = {"chunk_keys": np.uint64, "cut_numbers": np.uint16, "cuts": np.uint16}
LONGEST = 2**16 - 1  #: characters of a known chunk


def learn_chunks(chunks: Chunks, is_start: Flags, is_first: Flags, least: int = 2) -> KnownChunks:
    """The chunks that occur at least so often and are always cut in the same way.

    is_start, is_first: bool [characters], where tokens and sentences begin. A chunk in which a
    sentence begins is not among them.
    """
    lengths = chunks.ends - chunks.starts
    owner, characters = _characters(chunks)
    is_inner = characters > chunks.starts[owner]
    is_cut = is_start[characters] & is_inner
    weights = np.where(is_cut, _position_keys(characters - chunks.starts[owner]), 0)
    patterns = np.zeros(len(lengths), dtype=np.uint64)
    np.add.at(patterns, owner, weights.astype(np.uint64))
    bad = np.zeros(len(lengths), dtype=bool)
    bad[owner[is_first[characters] & is_inner]] = True
    bad |= lengths > LONGEST

    keys, first, index, counts = np.unique(
        chunks.fields[:, TEXT], return_index=True, return_inverse=True, return_counts=True
    )
    differs = bad | (patterns != patterns[first][index])
    is_known = (counts >= least) & (np.bincount(index, differs, minlength=len(keys)) == 0)
    kept = np.flatnonzero(is_known)
    cuts = [
        np.flatnonzero(is_start[a + 1 : b]) + 1
        for a, b in zip(
            chunks.starts[first[kept]].tolist(), chunks.ends[first[kept]].tolist(), strict=True
        )
    ]
    return _table(keys[kept], [*map(len, cuts)], cuts)


def _characters(chunks: Chunks) -> tuple[Ints, Ints]:
    """The chunk and the place of each character that is in one: int64 [n] each."""
    lengths = chunks.ends - chunks.starts
    owner = np.repeat(np.arange(len(lengths)), lengths)
    offsets = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return owner, chunks.starts[owner] + offsets


def _position_keys(positions: Ints) -> Keys:
    """A random number for each position, whose sums tell sets of positions apart."""
    keys = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(29)
    keys *= np.uint64(0xBF58476D1CE4E5B9)
    return keys ^ (keys >> np.uint64(32))  # type: ignore[no-any-return]


def with_cases(known: KnownChunks, cases: Mapping[str, Sequence[str]]) -> KnownChunks:
    """The table with special cases, which come before what it knows.

    cases: the tokens of each chunk.
    """
    if not cases:
        return known
    *_, chunks = find_chunks([*cases])
    keys = chunks.fields[:, TEXT]
    cuts = [np.cumsum([*map(len, tokens[:-1])], dtype=np.int64) for tokens in cases.values()]
    learned = numbered_keys(known.slots)
    is_kept = ~np.isin(learned, keys)
    numbers = np.diff(known.cut_starts)
    all_keys = np.concatenate([keys, learned[is_kept]])
    all_numbers = [*map(len, cuts), *numbers[is_kept].tolist()]
    return _table(all_keys, all_numbers, [*cuts, known.cuts[np.repeat(is_kept, numbers)]])


def _table(keys: Keys, numbers: Sequence[int], cuts: Sequence[Ints]) -> KnownChunks:
    """A table of chunks: the number of the cuts of each of them, and all cuts one after another."""
    cut_starts = np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])
    joined = np.concatenate([np.zeros(0, dtype=np.int64), *cuts]).astype(np.int64)
    return KnownChunks(read_keys(keys, "chunks"), cut_starts, joined)


def arrays_of(known: KnownChunks) -> Arrays:
    """The saved arrays."""
    return {
        "chunk_keys": numbered_keys(known.slots),
        "cut_numbers": np.diff(known.cut_starts).astype(np.uint16),
        "cuts": known.cuts.astype(np.uint16),
    }


def read_known(arrays: Arrays) -> KnownChunks:
    """The table of saved arrays. Raises ValueError, naming the flaw."""
    keys, numbers, cuts = (arrays[name] for name in ARRAYS)
    require(keys.ndim == 1 and numbers.shape == keys.shape, "the cuts do not fit the chunks")
    cut_starts = np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])
    require(cuts.shape == (cut_starts[-1],), "the cuts do not fit the chunks")
    rises = rise_within(cut_starts, cuts) and bool(cuts.all())
    require(rises, "the cuts of chunks do not rise")
    return KnownChunks(read_keys(keys, "chunks"), cut_starts, cuts.astype(np.int64))


@inlined_kernel
def pattern_of(known: KnownChunks, key: int, length: int) -> int:
    """The pattern of a chunk with this key and length, -1 where it is not known."""
    slot = find_slot(known.slots, key)
    if known.slots[slot, 0] != key:
        return -1
    pattern = np.int64(known.slots[slot, 1]) - 1
    end = known.cut_starts[pattern + 1]
    if end > known.cut_starts[pattern] and known.cuts[end - 1] >= length:
        return -1  # another chunk has the same key
    return pattern  # type: ignore[no-any-return]
