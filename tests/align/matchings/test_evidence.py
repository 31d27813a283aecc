"""Evidence for links: spelling, positions, and extension attributes of Docs."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab
from tree_tables import checked

from spacy_ssvm.align.matchings.evidence import (
    extension_entries,
    fill_distance,
    fill_similarity,
    similarity,
    spellings,
)

pytestmark = pytest.mark.uncompiled

DOC = Doc(Vocab(), words=list("abcdefg"))
STARTS, SIZES = (1, 4), np.array([3, 2])


@pytest.fixture(autouse=True)
def extension():
    Doc.set_extension("numbers", default=None)
    yield
    Doc.remove_extension("numbers")


def common(a, b):
    """The length of the longest common subsequence, by definition."""
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + common(a[1:], b[1:])
    return max(common(a[1:], b), common(a, b[1:]))


@checked
@given(st.text("abAÉß", max_size=7), st.text("abaéß", max_size=7))
def test_similarity(a, b):
    codes = spellings([a, b])
    lengths = len(a.lower()), len(b.lower())
    expected = common(a.lower(), b.lower()) / max(*lengths, 1)
    assert similarity(*codes) == pytest.approx(expected, abs=0)


def test_spellings_are_cut():
    codes = spellings(["x" * 30, "X" * 24 + "y", ""])
    assert codes.shape == (3, 24)
    assert similarity(codes[0], codes[1]) == 1.0
    assert similarity(codes[0], codes[2]) == 0.0
    assert spellings([]).shape == (0, 24)


def test_tables():
    codes = spellings(["night", "nacht", "day"])
    table = np.full((2, 3, 2), 9, dtype=np.float32)
    fill_similarity(codes, np.array([0, 2]), np.array([0, 1, 2]), table[:, :, 1])
    np.testing.assert_allclose(table[:, :, 1], [[1, 0.6, 0], [0, 0.2, 1]], atol=1e-7)
    assert np.all(table[:, :, 0] == 9)
    fill_distance(table[:, :, 0])
    expected = [[abs((k + 0.5) / 3 - (j + 0.5) / 2) for k in range(3)] for j in range(2)]
    np.testing.assert_allclose(table[:, :, 0], expected, atol=1e-7)


def entries(value):
    """(source token, target token, number) of each entry."""
    DOC._.numbers = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = extension_entries(DOC, "numbers", STARTS, SIZES)
    assert found.dtype == np.uint64
    assert found.shape[1] == 3
    numbers = np.ascontiguousarray(found[:, 2]).view(np.float64).tolist()
    return list(zip(*found[:, :2].T.tolist(), numbers, strict=True))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ([], []),
        ([(1, 4)], [(0, 0, 1.0)]),
        ([(3, 5), (1, 5, 0.25), [2, 4, -2]], [(2, 1, 1.0), (0, 1, 0.25), (1, 0, -2.0)]),
        (((1.0, 4.0, 0.0),), [(0, 0, 0.0)]),
        (np.array([[1, 4], [3, 5], [2, 5]]).tolist(), [(0, 0, 1.0), (2, 1, 1.0), (1, 1, 1.0)]),
        (np.array([[0, 1], [0, 0], [2, 0]]), [(0, 1, 1.0), (2, 0, 2.0)]),
        (np.array([[0, 0.5], [0, 0], [0, 0]], dtype=np.float32), [(0, 1, 0.5)]),
        (np.array([[True, False], [False, False], [False, True]]), [(0, 0, 1.0), (2, 1, 1.0)]),
        ([(1, 4, 3e38)], [(0, 0, 3e38)]),
    ],
)
def test_links_and_tables_of_an_extension(value, expected):
    assert entries(value) == expected


NOT_LINKS = "doc._.numbers of 'a b c d e f g .*' is not a list of links"
OUT = r"is not between its sides. .* source has tokens 1 to 3, the target has tokens 4 to 5"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, NOT_LINKS), ("text", NOT_LINKS), (["14"], NOT_LINKS), ({1: 2}, NOT_LINKS),
        ([(1,)], NOT_LINKS), ([(1,)] * 3, NOT_LINKS), ([(1, 4, 0.5, 2)], NOT_LINKS),
        ([1, 4], NOT_LINKS), ([(1, "x")], NOT_LINKS), ([("1", "4")], NOT_LINKS),
        ([(1, None)], NOT_LINKS), ([(1.5, 4)], NOT_LINKS), ([(float("nan"), 4)], NOT_LINKS),
        ([(10**30, 4)], NOT_LINKS), ([((1, 2), (3, 4))], NOT_LINKS), ([(1e300, 4)], NOT_LINKS),
        (np.zeros((3, 2, 2)), NOT_LINKS), (np.array([["x", "y"]] * 3), NOT_LINKS),
        (np.zeros((3, 2), dtype=complex), NOT_LINKS), (np.full((3, 2), None), NOT_LINKS),
        (np.zeros((2, 3)), r"has the shape \(2, 3\): the sides have 3 and 2 tokens"),
        ([(0, 4)], rf"the link \(0, 4\) {OUT}"), ([(1, 5), (4, 4)], rf"link \(4, 4\) {OUT}"),
        ([(1, 3)], OUT), ([(1, 6)], OUT), ([(-1, 4)], OUT),
        ([(0.0, 4)], OUT), ([(1, 4, float("inf"))], "not finite"),
        ([(1, 4, float("nan"))], "not finite"), ([(1, 4, 1e300)], "not finite in float32"),
        (np.full((3, 2), np.inf), "not finite"), (np.full((3, 2), 1e39), "not finite"),
    ],
)  # fmt: skip
def test_other_values_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        entries(value)


def test_an_extension_that_is_not_registered():
    with pytest.raises(ValueError, match=r"evidence '_.nothing': .*set_extension\('nothing'"):
        extension_entries(DOC, "nothing", STARTS, SIZES)
