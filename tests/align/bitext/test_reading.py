"""Parallel texts and alignments from files, and what their errors say."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.align.bitext.reading import begins_with_links, read_bitext, read_naacl, read_pharaoh


def written(path, text):
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_pairs_of_lines_are_read_as_words(tmp_path):
    source = written(tmp_path / "a.en", "\ufeffa  b\tc\r\n\nd\u00a0e\u2028f\n")
    target = written(tmp_path / "a.cs.gz", "é ů\n\nx")
    pairs = list(read_bitext(source, target))
    assert pairs == [(["a", "b", "c"], ["é", "ů"]), ([], []), (["d\u00a0e\u2028f"], ["x"])]


@pytest.mark.parametrize(("first", "second"), [(1, 3), (3, 1), (0, 2)])
def test_unequal_numbers_of_lines_are_refused_with_both(tmp_path, first, second):
    source, target = (
        written(tmp_path / "a.en", "a\n" * first),
        written(tmp_path / "a.cs", "b\n" * second),
    )
    pairs = read_bitext(source, target)
    assert [next(pairs) for _ in range(min(first, second))] == [(["a"], ["b"])] * min(first, second)
    with pytest.raises(ValueError, match=f"{source} has {first} lines, but {target} has {second}:"):
        next(pairs)


def test_bytes_that_are_not_utf8_are_refused_by_line(tmp_path):
    source = written(tmp_path / "a.en", b"a\nb\nc \xff\n")
    target = written(tmp_path / "a.cs", "a\nb\nc\n")
    with pytest.raises(ValueError, match=f"{source}, line 3: not in UTF-8"):
        list(read_bitext(source, target))


@pytest.mark.parametrize(
    "content",
    [None, b"no gzip", gzip.compress(b"a\n" * 9999, mtime=0)[:-9]],
    ids=["missing", "no gzip", "cut off"],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    source, target = tmp_path / "a.en.gz", written(tmp_path / "a.cs", "a\n" * 9999)
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(ValueError, match=f"{source}: cannot be read after line "):
        list(read_bitext(source, target))


def test_links_are_read_sorted_and_once(tmp_path):
    path = written(tmp_path / "links", "10-2 1?2 0p3 1-2 10-2\n\n  \n4-4")
    links = read_pharaoh(path)
    assert [each.tolist() for each in links] == [
        [[0, 3, 0], [1, 2, 1], [10, 2, 1]],
        [],
        [],
        [[4, 4, 1]],
    ]
    assert all(each.dtype == np.int64 and each.shape[1] == 3 for each in links)


@pytest.mark.parametrize(
    "piece", ["1", "1-", "-1-2", "1--2", "1:2", "1-2-3", "a-b", "²-1", "1" * 10 + "-1"]
)
def test_a_malformed_link_is_refused_by_line(tmp_path, piece):
    path = written(tmp_path / "links", f"0-0\n\n1-1 {piece} 2-2\n")
    with pytest.raises(ValueError, match="expected links such as 0-0 or 0") as refusal:
        read_pharaoh(path)
    assert str(refusal.value).startswith(f"{path}, line 3: ")
    assert str(refusal.value).endswith(f"found {piece!r}")


@given(st.dictionaries(st.tuples(st.integers(0, 99), st.integers(0, 99)), st.integers(0, 1)))
def test_written_links_are_read_again(tmp_path_factory, links):
    rows = [[*words, links[words]] for words in sorted(links)]
    line = " ".join(f"{j}{'-' if sure else '?'}{k}" for j, k, sure in rows)
    path = written(tmp_path_factory.getbasetemp() / "links", f"{line}\n")
    assert [each.tolist() for each in read_pharaoh(path)] == [rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-0 1?2\n", True),
        ("\n \n3p4\nthe house\n", True),
        ("the 0-0\n", False),
        ("1-2\tO\n", False),
        ("\n", False),
        ("\ufeff0-0\n", True),
        (f"{'10-10 ' * 500}\n", True),
        (f"{'10-10 ' * 10}{'x' * 1000}\n", True),
        ("x" * 1000, False),
        (b"\xff0-0\n", False),
    ],
)
def test_the_first_line_tells_whether_a_file_holds_links(tmp_path, text, expected):
    path = tmp_path / "file"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert begins_with_links(path) == expected


def test_naacl_links_are_read_by_sentence(tmp_path):
    lines = [
        "0007 1 2",
        "0007 3 1 P",
        "2 5 5 S 0.5",
        "2 5 6 0.25",
        "",
        "7 1 2 P 1",
        "3 0 4",
        "3 4 0 P",
    ]
    links = read_naacl(written(tmp_path / "links", "\n".join(lines)))
    assert {sentence: found.tolist() for sentence, found in links.items()} == {
        6: [[0, 1, 1], [2, 0, 0]],
        1: [[4, 4, 1], [4, 5, 1]],
        2: [],
    }


@pytest.mark.parametrize(
    "line",
    ["1 2", "0 1 1", "1 a 1", "1 1 -1", "1 1 1 X", "1 1 1 S P", "1 1 1 0.5 S", "1 1 1 S 1 1"],
)
def test_a_malformed_naacl_line_is_refused(tmp_path, line):
    path = written(tmp_path / "links", f"1 1 1\n{line}\n")
    with pytest.raises(ValueError, match=f"{path}, line 2: expected .*, found {line!r}"):
        read_naacl(path)
