"""Gazetteers: matching against an obvious matcher, files, and gazetteers in a component."""

import gzip
import json
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import entity_examples, make_doc
from growth import growth
from hypothesis import example, given, settings
from hypothesis import strategies as st
from marks import PLAIN
from pipelines import CHUNKER, RECOGNIZER, TAGGER, Component, copy_of, entity_of_each_token
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.features.attributes import words_of
from spacy_ssvm.features.gazetteers import (
    BEGIN,
    END,
    INSIDE,
    MAX_TYPES,
    SINGLE,
    Gazetteers,
    read_gazetteers,
)

# Types here have other names than the labels.
pytestmark = pytest.mark.filterwarnings("ignore:.* gazetteer types are no labels")

checked = settings(deadline=None, max_examples=30 if PLAIN else 300)


Entry = tuple[int, ...]


Files = dict[str, Path]


def add(gazetteers: Gazetteers, kind: str, entries: Iterable[Entry]) -> None:
    """Entries of a type, end to end as the table wants them."""
    entries = list(entries)
    words = np.array([word for entry in entries for word in entry], dtype=np.uint64)
    starts = np.array([0, *np.cumsum([len(entry) for entry in entries])], dtype=np.int64)
    gazetteers.add(kind, words, starts)


def longest_matches(
    entries: set[Entry], words: list[int], starts: list[bool]
) -> list[tuple[int, int]]:
    """From left to right the longest entry at each place, none across a sentence start."""
    found = []
    i = 0
    while i < len(words):
        ends = [
            end
            for end in range(i + 1, len(words) + 1)
            if tuple(words[i:end]) in entries and not any(starts[i + 1 : end])
        ]
        if ends:
            found.append((i, max(ends)))
        i = max(ends, default=i + 1)
    return found


def places(matches: list[tuple[int, int]], n: int) -> list[int]:
    """What each token is to the matches."""
    found = [0] * n
    for start, end in matches:
        found[start:end] = [INSIDE] * (end - start)
        found[start], found[end - 1] = BEGIN, END
        if end - start == 1:
            found[start] = SINGLE
    return found


@st.composite
def lists_and_texts(draw: Any) -> tuple[dict[str, list[Entry]], list[int], list[bool]]:
    """Entries by type and a text, over so few words that much overlaps."""
    vocabulary = draw(
        st.sampled_from([(1, 2), (1, 2, 3), (7, 2**64 - 1), (2**63, 1, 2**32, 2**32 + 1)])
    )
    word = st.sampled_from(vocabulary)
    entry = st.lists(word, min_size=1, max_size=5).map(tuple)
    lists = draw(
        st.dictionaries(st.sampled_from(["A", "B", "C"]), st.lists(entry, max_size=8), min_size=1)
    )
    words = draw(st.lists(word, max_size=14))
    starts = draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    return lists, words, [*[True][: len(words)], *starts[1:]]


@pytest.mark.uncompiled
@checked
@given(lists_and_texts())
@example(({"A": [(1, 2), (1, 2, 3)], "B": [(1, 2)]}, [1, 2, 3, 1, 2, 2], [True] + [False] * 5))
@example(({"A": [(1, 2, 3, 4), (2, 3), (1,)]}, [1, 2, 3, 5], [True] + [False] * 3))
@example(({"A": [(1, 2)], "B": []}, [1, 2, 1, 2], [True, False, False, True]))
def test_matches_are_those_of_an_obvious_matcher(
    drawn: tuple[dict[str, list[Entry]], list[int], list[bool]],
) -> None:
    lists, words, starts = drawn
    types = sorted(lists)
    gazetteers = Gazetteers(types)
    for kind, entries in lists.items():
        add(gazetteers, kind, entries)
    found = gazetteers.match(np.array(words, dtype=np.uint64), np.array(starts, dtype=bool))
    assert found.dtype == np.uint8
    assert found.shape == (len(words), len(types))
    for column, kind in enumerate(types):
        expected = places(longest_matches(set(lists[kind]), words, starts), len(words))
        assert found[:, column].tolist() == expected


@pytest.mark.uncompiled
@checked
@given(lists_and_texts(), st.randoms(use_true_random=False))
def test_the_order_and_number_of_additions_do_not_matter(
    drawn: tuple[dict[str, list[Entry]], list[int], list[bool]], random: Any
) -> None:
    lists, words, starts = drawn
    types = sorted(lists)
    at_once, one_by_one = Gazetteers(types), Gazetteers(types)
    for kind, entries in lists.items():
        add(at_once, kind, entries)
    single = [(kind, entry) for kind in types for entry in lists[kind] * 2]
    random.shuffle(single)
    for kind, entry in single:
        add(one_by_one, kind, [entry])
    text = np.array(words, dtype=np.uint64), np.array(starts, dtype=bool)
    np.testing.assert_array_equal(at_once.match(*text), one_by_one.match(*text))
    for gazetteers in (at_once, one_by_one):
        gazetteers.trim()
    np.testing.assert_array_equal(at_once.slots, one_by_one.slots)


@pytest.mark.uncompiled
def test_a_table_from_the_slots_of_another_goes_on_growing() -> None:
    """Slots are what is saved."""
    first = Gazetteers(["A", "B"])
    add(first, "A", [(i, i + 1) for i in range(1, 50)])
    second = Gazetteers(["A", "B"], slots=first.slots.copy())
    add(second, "B", [(i,) for i in range(1, 400)])
    words = np.array([3, 4, 398], dtype=np.uint64)
    starts = np.array([True, False, False])
    assert second.match(words, starts).tolist() == [[BEGIN, SINGLE], [END, SINGLE], [0, SINGLE]]
    assert first.match(words, starts).tolist() == [[BEGIN, 0], [END, 0], [0, 0]]


def test_no_entries_and_no_types() -> None:
    words, starts = np.array([1, 2], dtype=np.uint64), np.array([True, False])
    assert not Gazetteers(["A"]).match(words, starts).any()
    assert Gazetteers([]).match(words, starts).shape == (2, 0)


def test_as_many_types_as_there_may_be() -> None:
    types = [f"type{i:02}" for i in range(MAX_TYPES)]
    gazetteers = Gazetteers(types)
    for i, kind in enumerate(types):
        add(gazetteers, kind, [(5, 6), (i + 100,)])
    words = np.array([5, 6, 100, 131], dtype=np.uint64)
    found = gazetteers.match(words, np.array([True, False, False, False]))
    assert (found[0] == BEGIN).all()
    assert (found[1] == END).all()
    assert np.flatnonzero(found[2]).tolist() == [0]
    assert np.flatnonzero(found[3]).tolist() == [31]
    with pytest.raises(ValueError, match="33 types of gazetteers: at most 32"):
        Gazetteers([*types, "more"])


@pytest.mark.parametrize("batch", [100_000, 1_000])
def test_many_entries_are_found_again_in_bounded_memory(batch: int) -> None:
    number = 2_000 if PLAIN else 100_000
    random = np.random.default_rng(0)
    known = random.integers(1, 2**64 - 1, size=(number, 3), dtype=np.uint64)
    sizes = random.integers(1, 4, size=number)
    entries = [tuple(row[:size].tolist()) for row, size in zip(known, sizes, strict=True)]
    gazetteers = Gazetteers(["even", "odd"])
    for start in range(0, number, batch):
        add(gazetteers, "even", entries[start : start + batch : 2])
        add(gazetteers, "odd", entries[start + 1 : start + batch : 2])

    prefixes = int(sizes.sum())  # random words: no prefix is shared
    assert gazetteers.slots.nbytes <= 48 * prefixes + 4096

    words = np.array([word for entry in entries for word in entry], dtype=np.uint64)
    starts = np.zeros(len(words), dtype=bool)
    starts[np.cumsum(sizes) - sizes] = True
    expected = np.zeros((len(words), 2), dtype=np.uint8)
    ends = np.cumsum(sizes)
    for i, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        expected[end - size : end, i % 2] = places([(0, size)], size)
    np.testing.assert_array_equal(gazetteers.match(words, starts), expected)

    unknown = random.integers(1, 2**64 - 1, size=number, dtype=np.uint64)
    assert not gazetteers.match(unknown, np.zeros(number, dtype=bool)).any()
    longer = known[sizes == 3][:, 1:].ravel()  # without the first word, nothing is an entry
    assert not gazetteers.match(longer, np.zeros(len(longer), dtype=bool)).any()


@pytest.fixture(scope="module")
def blank() -> Language:
    return spacy.blank("en")


def read(nlp: Language, files: Files, attribute: str = "lower") -> Gazetteers:
    """Read files with the tokenizer of a pipeline."""
    values = partial(words_of, nlp, attribute)
    return read_gazetteers(files, values, attribute=attribute)


def found(nlp: Language, gazetteers: Gazetteers, text: str) -> dict[str, str]:
    """By type what lies in entries, a letter a token."""
    (words,) = words_of(nlp, gazetteers.attribute, [text])
    starts = np.array([i == 0 for i in range(len(words))], dtype=bool)
    matrix = gazetteers.match(words, starts)
    return {
        kind: "".join(".BIES"[place] for place in matrix[:, column])
        for column, kind in enumerate(gazetteers.types)
    }


def plain(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf8"))
    return path


def zipped(path: Path, text: str) -> Path:
    path = path.with_name(path.name + ".gz")
    path.write_bytes(gzip.compress(text.encode("utf8")))
    return path


Writer = Callable[[Path, str], Path]


writers = pytest.mark.parametrize("write", [plain, zipped])


@writers
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_a_file_for_each_type(blank: Language, tmp_path: Path, write: Writer, newline: str) -> None:
    cities = newline.join(["New York", "", "Łódź", "  ", "  San Francisco Bay \t", "San Francisco"])
    people = newline.join(["", "York", "Mary-Ann O'Neill", "d'Artagnan", "York", ""])
    files = {"LOC": write(tmp_path / "cities.txt", cities),
             "PER": write(tmp_path / "people.txt", people)}  # fmt: skip
    gazetteers = read(blank, files)
    assert gazetteers.types == ("LOC", "PER")
    assert found(blank, gazetteers, "In New York and NEW york !") == {
        "LOC": ".BE.BE.",
        "PER": "..S..S.",
    }
    assert found(blank, gazetteers, "san francisco bay , San Francisco") == {
        "LOC": "BIE.BE",
        "PER": "......",
    }
    assert found(blank, gazetteers, "łódź")["LOC"] == "S"
    for name in ("Mary-Ann O'Neill", "d'Artagnan"):
        letters = found(blank, gazetteers, f"with {name} there")["PER"]
        assert letters.strip(".")[0] in "BS"
        assert letters.strip(".")[-1] in "ES"
        assert letters[0] == letters[-1] == "."
        assert "." not in letters.strip(".")


@pytest.mark.parametrize("number", [1, 10_001])
def test_an_entry_that_cannot_be_tokenized(tmp_path: Path, number: int) -> None:
    """A tokenizer that splits at spaces has no word between two of them (spaCy's E031)."""
    nlp = spacy.blank("en")
    nlp.tokenizer = lambda text: Doc(nlp.vocab, words=text.split(" "))
    names = [f"Zora {i}" for i in range(number - 1)]
    lists = {"PER": plain(tmp_path / "a.txt", "\n".join([*names, "Zora  Quist\n"]))}
    with pytest.raises(ValueError, match=rf"a\.txt, line {number}: 'Zora  Quist' cannot be token"):
        read(nlp, lists)
    pattern = json.dumps({"label": "PER", "pattern": "Zora  Quist"})
    lists = {"PER": plain(tmp_path / "a.jsonl", f"\n{pattern}\n")}
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2: 'Zora  Quist' cannot be tokenized"):
        read(nlp, lists)


@pytest.mark.parametrize("write", [plain, zipped])
@pytest.mark.parametrize(("name", "number"), [("a.txt", 1_000), ("a.jsonl", 10_000)])
def test_lines_that_are_too_long(
    blank: Language, tmp_path: Path, write: Writer, name: str, number: int
) -> None:
    def entry(letters: int) -> str:
        empty = json.dumps({"label": "PER", "pattern": ""}) if name.endswith("l") else ""
        long = "b" * (letters - len(empty))
        return json.dumps({"label": "PER", "pattern": long}) if name.endswith("l") else long

    path = write(tmp_path / name, f"{entry(number)}\n\n{entry(number)}")
    assert read(blank, {"PER": path}).types == ("PER",)
    path = write(tmp_path / name, f"{entry(number)}\n\n{entry(number + 1)}\n")
    with pytest.raises(ValueError, match=rf"{name}(.gz)?, line 3: has more than {number:,} char"):
        read(blank, {"PER": path})


def test_a_small_file_of_a_large_text_is_not_read_whole(blank: Language, tmp_path: Path) -> None:
    path = tmp_path / "zeros.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(10**6))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"zeros\.txt\.gz, line 1: has more than"):
            read(blank, {"PER": path})
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_time_is_linear_in_the_entries(blank: Language, tmp_path: Path) -> None:
    def written(number: int) -> Files:
        names = "\n".join(f"Zora{i} Quist of {i % 7}" for i in range(number))
        return {"PER": plain(tmp_path / f"{number}.txt", names)}

    files = {number: written(number) for number in (1_000, 8_000)}
    assert growth(lambda number: read(blank, files[number]), 1_000, times=8) < 24


@writers
def test_patterns_bring_their_own_types(blank: Language, tmp_path: Path, write: Writer) -> None:
    patterns = [
        {"label": "ORG", "pattern": "Bank of Delhi"},
        {"label": "LOC", "pattern": "Delhi", "id": "delhi"},
        {"pattern": "Łódź", "label": "LOC"},
    ]
    lines = [json.dumps(patterns[0]), "", *map(json.dumps, patterns[1:]), "  ", ""]
    path = write(tmp_path / "patterns.jsonl", "\n".join(lines))
    extra = write(tmp_path / "more.txt", "Bank\n")
    gazetteers = read(blank, {"anything": path, "LOC": extra})
    assert gazetteers.types == ("LOC", "ORG")
    assert found(blank, gazetteers, "the bank of delhi in Łódź") == {
        "LOC": ".S.S.S",
        "ORG": ".BIE..",
    }


def test_the_same_patterns_as_the_entity_ruler(blank: Language, tmp_path: Path) -> None:
    """What spaCy's own component writes to disk can be read."""
    nlp = spacy.blank("en")
    ruler: Any = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LOC", "pattern": "New York"}, {"label": "PER", "pattern": "Al"}])
    ruler.to_disk(tmp_path / "ruler.jsonl")
    gazetteers = read(blank, {"any": tmp_path / "ruler.jsonl"}, "orth")
    text = "Al likes New York"
    assert found(blank, gazetteers, text) == {"LOC": "..BE", "PER": "S..."}
    assert [(ent.text, ent.label_) for ent in nlp(text).ents] == [("Al", "PER"),
                                                                  ("New York", "LOC")]  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "expected"), [("lower", "SSS.BEBEBE"), ("orth", "S...BE....")]
)
def test_lower_and_orth(blank: Language, tmp_path: Path, attribute: str, expected: str) -> None:
    files = {"X": plain(tmp_path / "list.txt", "Apple\nNew York\n")}
    gazetteers = read(blank, files, attribute)
    text = "Apple apple APPLE is New York new york NEW YORK"
    assert found(blank, gazetteers, text) == {"X": expected}


def test_another_attribute_is_refused(blank: Language, tmp_path: Path) -> None:
    files = {"X": plain(tmp_path / "list.txt", "Apple\n")}
    with pytest.raises(ValueError, match=r"'norm' or 'lemma', not on 'shape'"):
        read(blank, files, "shape")


def test_whitespace_within_entries_and_texts_is_passed_over(
    blank: Language, tmp_path: Path
) -> None:
    files = {"X": plain(tmp_path / "list.txt", "New  York\nLos\u00a0 Angeles\n")}
    gazetteers = read(blank, files)
    assert found(blank, gazetteers, "New York Los Angeles") == {"X": "BEBE"}
    assert found(blank, gazetteers, "New \n York") == {"X": "BE"}


def test_what_is_read_has_no_room_to_spare(blank: Language, tmp_path: Path) -> None:
    entries = [f"name{i} street{i}" for i in range(300)]
    gazetteers = read(blank, {"X": plain(tmp_path / "list.txt", "\n".join(entries))})
    assert gazetteers.slots.nbytes <= 24 * 2 * len(entries) + 16
    assert found(blank, gazetteers, "in name7 street7")["X"] == ".BE"
    before = gazetteers.slots.copy()
    gazetteers.trim()
    np.testing.assert_array_equal(np.sort(gazetteers.slots, axis=0), np.sort(before, axis=0))


def test_reading_adds_nothing_to_the_vocabulary(blank: Language, tmp_path: Path) -> None:
    files = {"X": plain(tmp_path / "list.txt", "Qwertz Uiop\nAsdfg's\n")}
    before = set(blank.vocab.strings), {lexeme.text for lexeme in blank.vocab}
    gazetteers = read(blank, files)
    assert (set(blank.vocab.strings), {lexeme.text for lexeme in blank.vocab}) == before
    assert found(blank, gazetteers, "Qwertz Uiop") == {"X": "BE"}
    with blank.memory_zone():  # one of the user's, which must outlive the reading
        doc = blank("Yxcvb Uiop")
        assert found(blank, read(blank, files), "Qwertz Uiop") == {"X": "BE"}
        assert [token.text for token in doc] == ["Yxcvb", "Uiop"]


def test_an_empty_file_is_a_type_without_entries(blank: Language, tmp_path: Path) -> None:
    files = {"X": plain(tmp_path / "x.txt", ""), "Y": plain(tmp_path / "y.txt", "\n \n"),
             "Z": plain(tmp_path / "z.txt", "a")}  # fmt: skip
    gazetteers = read(blank, files)
    assert gazetteers.types == ("X", "Y", "Z")
    assert found(blank, gazetteers, "a b") == {"X": "..", "Y": "..", "Z": "S."}


def test_a_file_without_entries_and_a_file_after_it(blank: Language, tmp_path: Path) -> None:
    assert read(blank, {}).types == ()
    files = {"anything": plain(tmp_path / "x.jsonl", "\n\n")}
    assert read(blank, files).types == ()


def refusal(nlp: Language, files: Files) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read(nlp, files)
    return str(caught.value)


@writers
@pytest.mark.parametrize("name", ["list.txt", "patterns.jsonl"])
def test_not_utf8(blank: Language, tmp_path: Path, write: Writer, name: str) -> None:
    path = write(tmp_path / name, "")
    data = '{"label": "A", "pattern": "Łódź"}\n'.encode("iso-8859-2") * 3
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    message = refusal(blank, {"X": path})
    assert str(path) in message
    assert "UTF-8" in message or "utf-8" in message


@writers
@pytest.mark.parametrize(
    "line",
    [
        '{"label": "A", "pattern": ',
        '{"label": "A"}',
        '{"pattern": "York"}',
        '{"label": "A", "pattern": [{"LOWER": "york"}]}',
        '{"label": "A", "pattern": null}',
        '{"label": 3, "pattern": "York"}',
        '["A", "York"]',
        '"York"',
        "York",
    ],
)
def test_malformed_patterns_are_named_by_file_and_line(
    blank: Language, tmp_path: Path, write: Writer, line: str
) -> None:
    good = '{"label": "A", "pattern": "York"}'
    path = write(tmp_path / "patterns.jsonl", "\n".join([good, "", good, line, good]))
    message = refusal(blank, {"X": path})
    assert str(path) in message
    assert "4" in message.replace(str(path), "")


@pytest.mark.parametrize("cut", [slice(0, -12), slice(5, None)])
def test_a_damaged_gzip_file_is_named(blank: Language, tmp_path: Path, cut: slice) -> None:
    path = tmp_path / "list.txt.gz"
    data = gzip.compress(b"\n".join(b"entry %d" % i for i in range(1000)))
    path.write_bytes(data[cut])
    assert str(path) in refusal(blank, {"X": path})


def test_a_file_that_is_not_there(blank: Language, tmp_path: Path) -> None:
    path = tmp_path / "missing.txt"
    with pytest.raises((OSError, ValueError), match=r"missing\.txt"):
        read(blank, {"X": path})


NAME = RECOGNIZER.name


PEOPLE = ["Karla Ost", "Otto", "Ruth", "Jan Kip", "Wim", "Asta", "Bo Lind", "Elke", "Olaf", "Uwe"]


PLACES = ["Ulm", "Bad Ems", "Kiel", "Jena", "Alt Daber", "Hof", "Trier", "Wesel", "Gera", "Aalen"]


#: names in places where they stand for people, for places, and other words in the same places
TRAINING = "\n".join(
    f"then [{person}]PER left [{place}]LOC at {time}\nthen {word} left it at {time}"
    for person, place, word, time in zip(
        PEOPLE,
        PLACES,
        ["nobody", "she", "he", "all", "many", "few", "some", "one", "they", "two"],
        ["noon", "night", "once", "last", "dawn"] * 2,
        strict=True,
    )
)


LISTS = {
    "people.txt": "\n".join([*PEOPLE, "Zora", "Zora Quist", "Ida", "Mia Falk"]),
    "places.txt": "\n".join([*PLACES, "Quist", "Lug", "Zora"]),
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Files by type."""
    folder = tmp_path / "gazetteers"
    folder.mkdir()
    for name, text in LISTS.items():
        plain(folder / name, text)
    return {"PERSON": str(folder / "people.txt"), "PLACE": str(folder / "places.txt")}


def trained_with(
    files: dict[str, str] | None, *templates: str, epochs: int = 15, **initialize: Any
) -> Language:
    """A recognizer with gazetteers, given as in a config."""
    nlp = RECOGNIZER.pipeline(templates=list(templates))
    nlp.config["initialize"]["components"][NAME] = {"gazetteers": files, **initialize}
    examples = entity_examples(nlp.vocab, TRAINING)
    nlp.initialize(lambda: examples)
    RECOGNIZER.train(nlp, examples, epochs)
    return nlp


def entities(nlp: Language, words: str, **annotations: Any) -> list[tuple[str, str]]:
    doc = nlp(make_doc(nlp.vocab, words.split(), **annotations))
    return [(ent.text, ent.label_) for ent in doc.ents]


def seen(nlp: Language, words: str, attribute: str, **annotations: Any) -> list[str]:
    """The value of an attribute of each token, a dash where it has none."""
    recognizer: Any = nlp.get_pipe(NAME)
    doc = make_doc(nlp.vocab, words.split(), **annotations)
    reader = recognizer.model.reader
    return [reader.text_value(attribute, doc, i) or "-" for i in range(len(doc))]


TEMPLATES = ("lower[0]", "gazetteer.PERSON[0]", "gazetteer.PLACE[0]")


@pytest.mark.parametrize("templates", [TEMPLATES, ("lower[0]", "gazetteer[0]")])
def test_gazetteers_find_names_that_were_never_seen(
    files: dict[str, str], templates: tuple[str, ...]
) -> None:
    nlp = trained_with(files, *templates)
    assert [entity_of_each_token(eg.reference) for eg in entity_examples(nlp.vocab, TRAINING)] == [
        entity_of_each_token(nlp(eg.predicted)) for eg in entity_examples(nlp.vocab, TRAINING)
    ]
    assert entities(nlp, "then IDA left Lug") == [("IDA", "PER"), ("Lug", "LOC")]
    assert entities(nlp, "then Zara left Lag") == []


def test_values_of_the_attributes(files: dict[str, str]) -> None:
    nlp = trained_with(files, "gazetteer[0]", *TEMPLATES, epochs=1)
    text = "Zora Quist or Quist and Karla Ost"
    assert seen(nlp, text, "gazetteer.PERSON") == ["B", "E", "-", "-", "-", "B", "E"]
    assert seen(nlp, text, "gazetteer.PLACE") == ["S", "S", "-", "S", "-", "-", "-"]
    assert seen(nlp, text, "gazetteer") == [
        "B-PERSON S-PLACE", "E-PERSON S-PLACE", "-", "S-PLACE", "-", "B-PERSON", "E-PERSON",
    ]  # fmt: skip


def test_explanations_show_gazetteers(files: dict[str, str]) -> None:
    templates = ["gazetteer.PERSON[0]", "gazetteer[-1]", "lower[-1]+gazetteer.PLACE[0]"]
    nlp = trained_with(files, "lower[0]", *templates)
    recognizer: Any = nlp.get_pipe(NAME)
    doc = nlp(make_doc(nlp.vocab, ["then", "Bo", "Lind", "left", "Lug", "at", "noon"]))
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Bo Lind", "PER"), ("Lug", "LOC")]
    reasons = [
        {reason.template: reason for reason in explanation.reasons}
        for ent in doc.ents
        for explanation in recognizer.explain(ent)
    ]
    assert [values["gazetteer.PERSON[0]"].value for values in reasons[:2]] == ["B", "E"]
    assert all(values["gazetteer.PERSON[0]"].difference > 0 for values in reasons[:2])
    assert reasons[1]["gazetteer[-1]"].value == "B-PERSON"
    assert reasons[2]["lower[-1]+gazetteer.PLACE[0]"].value == "left + S"
    assert "gazetteer.PERSON[0]" not in reasons[2], "what is in no list fires nothing"


@pytest.mark.parametrize("kind", ["PERSON", "PLACE"])
def test_types_are_features_of_their_own(files: dict[str, str], kind: str) -> None:
    """What one list teaches does not carry over to another of other names."""
    nlp = trained_with(files, "lower[0]", f"gazetteer.{kind}[0]")
    known = {"PERSON": ("Ida", "PER"), "PLACE": ("Lug", "LOC")}[kind]
    assert entities(nlp, "then Ida left Lug") == [known]


def test_entries_do_not_reach_over_the_end_of_a_sentence(files: dict[str, str]) -> None:
    nlp = trained_with(files, *TEMPLATES, epochs=1)
    text = "there was Zora Quist came"
    starts = [True, False, False, True, False]
    assert seen(nlp, text, "gazetteer.PERSON") == ["-", "-", "B", "E", "-"]
    divided = seen(nlp, text, "gazetteer.PERSON", sent_starts=starts)
    assert divided == ["-", "-", "S", "-", "-"]


def test_whitespace_tokens_do_not_divide_entries(files: dict[str, str]) -> None:
    nlp = trained_with(files, *TEMPLATES)
    doc = nlp(Doc(nlp.vocab, words=["then", "Mia", "\n", "Falk", "left"]))
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [(1, 4, "PER")]


@pytest.mark.parametrize(("attribute", "expected"), [("lower", ["S", "S"]), ("orth", ["S", "-"])])
def test_the_attribute_of_the_config(
    files: dict[str, str], attribute: str, expected: list[str]
) -> None:
    nlp = trained_with(files, *TEMPLATES, gazetteer_attribute=attribute, epochs=1)
    assert seen(nlp, "Otto otto", "gazetteer.PERSON") == expected
    assert seen(copy_of(nlp), "Otto otto", "gazetteer.PERSON") == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("lower", ["S", "-", "-", "-"]),
        ("norm", ["S", "S", "-", "-"]),
        ("lemma", ["-", "-", "S", "-"]),
    ],
)
def test_entries_match_other_forms(
    tmp_path: Path, files: dict[str, str], attribute: str, expected: list[str]
) -> None:
    places = plain(tmp_path / "places.txt", "Praha\n")
    files = {**files, "LOC": str(places)}
    nlp = trained_with(files, "gazetteer.LOC[0]", gazetteer_attribute=attribute, epochs=1)
    for pipeline in (nlp, copy_of(nlp)):
        doc = Doc(pipeline.vocab, words=["praha", "Prag", "Prahou", "Brno"])
        doc[1].norm_ = "praha"
        doc[2].lemma_ = "Praha"
        recognizer: Any = pipeline.get_pipe(NAME)
        reader = recognizer.model.reader
        values = [reader.text_value("gazetteer.LOC", doc, i) or "-" for i in range(4)]
        assert values == expected


def test_gazetteers_are_part_of_what_is_saved(files: dict[str, str], tmp_path: Path) -> None:
    nlp = trained_with(files, *TEMPLATES)
    text = "then IDA left Mia Falk at Lug"
    expected = entities(nlp, text)
    assert expected == [("IDA", "PER"), ("Mia Falk", "PER"), ("Lug", "LOC")]
    nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    for path in files.values():
        Path(path).unlink()
    assert entities(nlp, text) == expected
    loaded = [spacy.load(tmp_path / "pipeline"), spacy.blank("en").from_config(nlp.config)]
    loaded[1].from_bytes(data)
    for other in loaded:
        assert entities(other, text) == expected
        assert seen(other, text, "gazetteer.PERSON") == ["-", "S", "-", "B", "E", "-", "-"]
    # and again, from a pipeline that was itself loaded
    loaded[0].to_disk(tmp_path / "again")
    assert entities(spacy.load(tmp_path / "again"), text) == expected


def test_a_loaded_component_learns_on_with_its_gazetteers(
    files: dict[str, str], tmp_path: Path
) -> None:
    trained_with(files, *TEMPLATES).to_disk(tmp_path / "pipeline")
    for path in files.values():
        Path(path).unlink()
    nlp = spacy.load(tmp_path / "pipeline")
    examples = entity_examples(nlp.vocab, "[Ida]PER came\nthey came\n")
    RECOGNIZER.train(nlp, examples, 20)
    assert entities(nlp, "Mia Falk came") == [("Mia Falk", "PER")]
    assert entities(nlp, "they came") == []
    assert entities(nlp, "then Ida left Lug") == [("Ida", "PER"), ("Lug", "LOC")]


def test_initialize_anew_replaces_gazetteers(files: dict[str, str], tmp_path: Path) -> None:
    nlp = trained_with(files, *TEMPLATES, epochs=1)
    other = {"PERSON": str(plain(tmp_path / "a.txt", "Lug")),
             "PLACE": str(plain(tmp_path / "b.txt", "Ida"))}  # fmt: skip
    examples = entity_examples(nlp.vocab, TRAINING)
    recognizer: Any = nlp.get_pipe(NAME)
    recognizer.initialize(lambda: examples, nlp=nlp, gazetteers=other)
    RECOGNIZER.train(nlp, examples, 1)
    assert seen(nlp, "Ida Lug Otto", "gazetteer.PERSON") == ["-", "S", "-"]


def unpredictable(component: Component, files: dict[str, str], **initialize: Any) -> list[str]:
    """The warnings of initialize about types that are never predicted, by component."""
    nlp = component.pipeline(templates=["lower[0]", "gazetteer[0]"])
    nlp.config["initialize"]["components"][component.name] = {"gazetteers": files, **initialize}
    examples = component.examples(nlp.vocab)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlp.initialize(lambda: examples)
    return [str(w.message) for w in caught if "gazetteer types" in str(w.message)]


@pytest.mark.parametrize("component", [RECOGNIZER, CHUNKER])
def test_types_that_only_gazetteers_have_are_named_once(
    component: Component, tmp_path: Path
) -> None:
    lists = {kind: str(plain(tmp_path / f"{kind}.txt", "oak")) for kind in ("LOC", "NP", "TREE")}
    other = "NP" if component is RECOGNIZER else "LOC"
    (message,) = unpredictable(component, lists)
    named = ", ".join(sorted([other, "TREE"]))
    assert message.startswith(
        f"{component.name}: these gazetteer types are no labels of the training examples: {named}."
    )
    assert "will never be predicted" in message
    assert f"[initialize.components.{component.name}.gazetteers]" in message


def test_types_that_are_labels_give_no_warning(tmp_path: Path) -> None:
    lists = {kind: str(plain(tmp_path / f"{kind}.txt", "oak")) for kind in ("LOC", "PER")}
    assert unpredictable(RECOGNIZER, lists) == []
    lists["TREE"] = lists["LOC"]
    assert unpredictable(RECOGNIZER, lists, labels=["LOC", "ORG", "PER", "TREE"]) == []
    assert unpredictable(TAGGER, lists) == [], "types are features of tags alone"


def test_types_in_small_letters_are_features_where_labels_are_in_capitals(tmp_path: Path) -> None:
    lists = {kind: str(plain(tmp_path / f"{kind}.txt", "oak")) for kind in ("first_name", "Tree")}
    (message,) = unpredictable(RECOGNIZER, lists)
    assert "training examples: Tree." in message
    (message,) = unpredictable(RECOGNIZER, lists, labels=["LOC", "ORG", "PER", "river"])
    assert "training examples: Tree, first_name." in message


def test_a_template_of_a_type_that_no_gazetteer_has(files: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="gazetteer") as caught:
        trained_with(files, "lower[0]", "gazetteer.RIVER[0]+lower[1]")
    message = str(caught.value)
    assert NAME in message
    assert "gazetteer.RIVER[0]+lower[1]" in message
    for kind in ("RIVER", "PERSON", "PLACE"):
        assert kind in message


@pytest.mark.parametrize("template", ["gazetteer[0]", "gazetteer.PERSON[0]", "gazetteer[1]"])
@pytest.mark.parametrize("files_given", [None, {}])
def test_a_template_without_gazetteers(template: str, files_given: dict[str, str] | None) -> None:
    with pytest.raises(ValueError, match="gazetteer") as caught:
        trained_with(files_given, "lower[0]", template)
    message = str(caught.value)
    assert NAME in message
    assert template in message
    assert "gazetteers" in message


def test_a_type_by_another_spelling_of_an_attribute_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gazetteers\.PERSON"):
        RECOGNIZER.pipeline(templates=["gazetteers.PERSON[0]"])


def test_a_gazetteer_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises((OSError, ValueError), match=r"missing\.txt"):
        trained_with({"PERSON": str(tmp_path / "missing.txt")}, "gazetteer[0]")


def test_gazetteer_features_of_examples_are_compiled_once_and_not_again(
    files: dict[str, str],
) -> None:
    """Fresh copies of the Docs, as spaCy makes them, are the same examples."""
    nlp = trained_with(files, *TEMPLATES, epochs=1)
    examples = entity_examples(nlp.vocab, TRAINING)
    nlp.initialize(lambda: examples)
    for _ in range(3):
        fresh = [Example(eg.predicted.copy(), eg.reference) for eg in examples]
        nlp.update(fresh)
        assert RECOGNIZER.number_of_examples(nlp) == len(examples)
