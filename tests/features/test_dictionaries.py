"""Tests of ``spacy_ssvm/features/dictionaries.py``."""

import gzip
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from spacy_ssvm.features.dictionaries import (
    Column,
    Dictionary,
    Entry,
    column_of,
    is_dictionary_attribute,
    make_dictionary,
    needs_dictionary,
    read_dictionary,
)
from spacy_ssvm.features.edit_scripts import edit_script
from spacy_ssvm.features.text_hash import hash_word

pytestmark = pytest.mark.uncompiled

Line = tuple[str, str, str]

TEXT = "leaves\tleaf\tN;PL\nleaves\tleave\tV;3;SG\n\nMay\t=\n  cities \t city\tN;PL \nthe\tthe\n"


class NaiveDictionary:
    """What a dictionary has, as the module describes it."""

    def __init__(self, lines: list[Line]) -> None:
        self.readings: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for word, lemma, features in lines:
            self.readings[word].append((lemma, features))
        for _, lemma, _ in lines:
            self.readings[lemma].append((lemma, ""))

    def find(self, name: str, word: str) -> str | None:
        known = word if word in self.readings else word.lower()
        readings = self.readings.get(known, [])
        if name == "lemmas":
            found = {str(edit_script(word, lemma)) for lemma, _ in readings}
        else:
            found = {features for _, features in readings} - {""}
        return " | ".join(sorted(found)) or None


texts = st.text(st.sampled_from("abAİs\u03c3-"), min_size=1, max_size=4)


@given(
    st.lists(st.tuples(texts, texts, st.sampled_from(["", "N", "V;X"])), min_size=1),
    st.lists(texts),
    st.randoms(use_true_random=False),
)
def test_a_dictionary_finds_what_the_naive_twin_finds(
    lines: list[Line], words: list[str], random: Random
) -> None:
    naive = NaiveDictionary(lines)
    words += [form for line in lines for word in line[:2] for form in (word, word.upper())]
    shuffled = random.sample(lines, len(lines))
    for own in (lines, shuffled):
        found = make_dictionary(Entry(hash_word(word), *reading) for word, *reading in own)
        again = Dictionary(found.words, found.columns)
        assert ("features" in found.columns) == any(features for *_, features in lines)
        for name in ("lemmas", "features"):
            expected = [naive.find(name, word) for word in words]
            assert found.find(name, words) == expected
            assert again.find(name, words) == expected


@given(st.lists(st.tuples(texts, texts, st.sampled_from(["", "N", "V;X"])), min_size=1))
def test_words_are_sorted_hashes_and_numbers_fit_the_texts(lines: list[Line]) -> None:
    found = make_dictionary(Entry(hash_word(word), *reading) for word, *reading in lines)
    known = NaiveDictionary(lines).readings
    assert found.words.dtype == np.uint64
    ignored = 64 - 18 - len(known).bit_length()
    assert found.words.tolist() == sorted(hash_word(word) >> ignored for word in known)
    for numbers, column_texts in found.columns.values():
        assert numbers.dtype == np.uint32
        assert numbers.shape == found.words.shape
        assert max(numbers.tolist()) < len(column_texts)


parts = texts | st.sampled_from(["=", "a b"])
spaces = st.sampled_from(["", " ", "\u00a0"])
ends = st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\n"])


@given(
    st.lists(st.tuples(parts, parts, st.sampled_from(["", "N", "V X"]), spaces, ends), min_size=1),
    st.booleans(),
)
def test_a_file_has_what_the_naive_twin_has(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], is_marked: bool
) -> None:
    lines = [(word, word if lemma == "=" else lemma, tags) for word, lemma, tags, *_ in rows]
    shown = [
        "\t".join(f"{space}{part}{space}" for part in row if part) + end
        for *row, space, end in rows
    ]
    content = "".join(shown).encode("utf-8-sig" if is_marked else "utf8")
    naive = NaiveDictionary(lines)
    words = [form for line in lines for word in line[:2] for form in (word, word.upper())]
    folder = tmp_path_factory.mktemp("dictionaries")
    (folder / "plain.tsv").write_bytes(content)
    (folder / "zipped.tsv.gz").write_bytes(gzip.compress(content))
    for path in folder.iterdir():
        found = read_dictionary(path)
        for name in ("lemmas", "features"):
            assert found.find(name, words) == [naive.find(name, word) for word in words]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("plain.tsv", lambda file: file.write_text(TEXT, encoding="utf8")),
        ("marked.tsv", lambda file: file.write_text(TEXT, encoding="utf-8-sig")),
        ("zipped.tsv.gz", lambda file: file.write_bytes(gzip.compress(TEXT.encode(), mtime=0))),
        ("ends.tsv", lambda file: file.write_bytes(TEXT.replace("\n", "\r\n").encode())),
    ],
)
def test_files_are_read(name: str, write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / name)
    found = read_dictionary(str(tmp_path / name))
    words = ["Leaves", "May", "may", "cities", "city", "the", "dog"]
    assert found.find("lemmas", words) == [
        "lower, suffix -1 | lower, suffix -3 +f",
        "keep",
        None,
        "lower, suffix -3 +y",
        "lower",
        "lower",
        None,
    ]
    features = ["N;PL | V;3;SG", None, None, "N;PL", None, None, None]
    assert found.find("features", words) == features


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("cities", "line 2: expected a word, a lemma and perhaps features, separated by tabs"),
        ("cities\t", "line 2: expected a word"),
        ("\tcity", "line 2: expected a word"),
        (" \tcity\tN", "line 2: expected a word"),
        ("cities\t\tN", "line 2: expected a word"),
        ("cities\t \tN", "line 2: expected a word"),
        ("\n \ncities", "line 4: expected a word"),
        ("a\tb\tc\td", "line 2: expected a word"),
        ("x" * 99, "found '" + "x" * 57 + "...'"),
        ("x\t" + "y" * 10_000, "line 2: has more than 10,000 characters"),
    ],
)
def test_lines_that_cannot_be_read(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "dictionary.tsv"
    file.write_text(f"dogs\tdog\n{line}\n", encoding="utf8")
    found = refusal(lambda: read_dictionary(file))
    assert problem in found
    assert found.startswith(str(file))


def test_the_longest_line_is_read(tmp_path: Path) -> None:
    file = tmp_path / "dictionary.tsv"
    line = "x\ty\t" + "N" * 9_996
    file.write_text(f"{line}\nz\ty\n", encoding="utf8")
    assert read_dictionary(file).find("features", ["x"]) == ["N" * 9_996]
    file.write_text(f"{line}N\nz\ty\n", encoding="utf8")
    assert refusal(lambda: read_dictionary(file)).startswith(f"{file}, line 1: has more than")


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.tsv"
    assert str(path) in refusal(lambda: read_dictionary(path), OSError)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("empty.tsv", b"", "the dictionary has no words"),
        ("blank.tsv", b"\n \n\t\n", "the dictionary has no words"),
        ("latin.tsv", "café\tcafé\n".encode("latin1"), "cannot be read as a dictionary in UTF-8"),
        (
            "cut.tsv.gz",
            gzip.compress(TEXT.encode(), mtime=0)[:-9],
            "cannot be read as a dictionary",
        ),
        ("bad.tsv.gz", gzip.compress(b"", mtime=0)[:10] + b"\xff" * 60, "cannot be read as"),
        ("no.tsv.gz", TEXT.encode(), "cannot be read as a dictionary in UTF-8"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    found = refusal(lambda: read_dictionary(tmp_path / name))
    assert problem in found
    assert name in found


def test_there_is_no_dictionary_without_words() -> None:
    assert "no words" in refusal(lambda: make_dictionary([]))


ONE = Column(np.zeros(2, np.uint32), ("city",))


@pytest.mark.parametrize(
    ("words", "column"),
    [
        ([2, 1], ONE),
        ([[1, 2]], ONE),
        ([[1, 2]], Column(np.zeros((1, 2), np.uint32), ("city",))),
        ([], Column(np.zeros(0, np.uint32), ("city",))),
        ([1, 2], Column(np.zeros(1, np.uint32), ("city",))),
        ([1, 2], Column(np.zeros((2, 1), np.uint32), ("city",))),
        ([1, 2], Column(np.uint32([0, 1]), ("city",))),
        ([1, 2], Column(np.zeros(2, np.uint32), ())),
    ],
)
def test_arrays_that_do_not_fit(words: list[int], column: Column) -> None:
    with pytest.raises(ValueError, match="of a dictionary"):
        Dictionary(np.array(words, dtype=np.uint64), {"lemmas": column})
    assert Dictionary(np.uint64([1, 2]), {"lemmas": ONE}).find("features", ["a"]) == [None]


def test_names_of_attributes() -> None:
    own = {"dictionary.lemmas": "lemmas", "dictionary.features": "features", "dictionary.*": "*"}
    for name, column in own.items():
        assert is_dictionary_attribute(name)
        assert column_of(name) == column
        assert needs_dictionary(name) == (column != "*")
    for name in ("dictionary", "dictionary.", "dictionary.words", "xdictionary.lemmas", "lemmas"):
        assert not is_dictionary_attribute(name)
    for name in ("dictionary.lemmas.x", "dictionary.lemmas ", "Dictionary.lemmas", "dictionary*"):
        assert not is_dictionary_attribute(name)
        assert not needs_dictionary(name)
