"""Tests of ``spacy_ssvm/sentences/unit_edges.py``: edges against a naive twin."""

from collections import Counter
from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest
import spacy
from feature_strategies import checked
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.sentences.unit_edges import (
    LEAST_SIMILARITY,
    MAX_SHARED,
    EdgeTable,
    UnitEdge,
    edge_attributes,
    find_edges,
    parse_unit_edges,
)
from spacy_ssvm.sentences.units import LINES, UnitReader, Units

pytestmark = pytest.mark.uncompiled

NLP = spacy.blank("en")


def parse(*items: str) -> tuple[UnitEdge, ...]:
    return parse_unit_edges(items, is_attribute=is_attribute, attributes=ATTRIBUTES)


def table_of(items: list[str], docs: list[list[str]]) -> EdgeTable:
    """The edges of Docs of lines."""
    edges = parse(*items)
    reader = UnitReader(Units(LINES), *edge_attributes(edges))
    made = [
        Doc(NLP.vocab, words=[w for line in lines for w in [*line.split(" "), "\n"] if w])
        for lines in docs
    ]
    return find_edges(edges, reader.names, reader.unit_names, reader.read(made).table)


def as_dicts(table: EdgeTable) -> list[dict[tuple[int, int], list[float]]]:
    """The features of the edges of each Doc, by their units."""
    found = []
    for a, b in pairwise(table.starts.tolist()):
        pairs = [(int(u), int(v)) for u, v in table.edges[a:b]]
        assert pairs == sorted(set(pairs))
        found.append(dict(zip(pairs, table.features[a:b].tolist(), strict=True)))
    return found


# The language


@pytest.mark.parametrize(
    ("text", "edge", "written"),
    [
        ("neighbor", UnitEdge("neighbor"), "neighbor"),
        ("neighbor(1)", UnitEdge("neighbor"), "neighbor"),
        (" neighbor( 2 ) ", UnitEdge("neighbor", 2), "neighbor(2)"),
        ("paragraph", UnitEdge("paragraph"), "paragraph"),
        ("similar(lower)", UnitEdge("similar", 5, "lower"), "similar(lower)"),
        ("similar(lower, 5)", UnitEdge("similar", 5, "lower"), "similar(lower)"),
        ("similar( lemma ,1)", UnitEdge("similar", 1, "lemma"), "similar(lemma, 1)"),
    ],
)
def test_edges_are_read_and_written(text: str, edge: UnitEdge, written: str) -> None:
    assert UnitEdge.parse(text) == edge
    assert str(edge) == written
    assert UnitEdge.parse(written) == edge


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("next", "'next': write neighbor"),
        ("similar", "write neighbor"),
        ("paragraph(2)", "write neighbor"),
        ("neighbor(0)", "0: 1 to 10"),
        ("neighbor(11)", "11: 1 to 10"),
        ("similar(lower, 21)", "21: 1 to 20"),
        ("similar(lower, 0)", "0: 1 to 20"),
        ("similar(morph.*, 2)", r"morph\.\* stands for several attributes"),
        ("similar(sound)", "no attribute 'sound'. Attributes: orth, lower"),
    ],
)
def test_what_is_not_an_edge_is_an_error(text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        parse("neighbor", text)


def test_edges_are_listed_once_in_their_order() -> None:
    assert list(map(str, parse("paragraph", "neighbor", "neighbor(1)"))) == [
        "paragraph",
        "neighbor",
    ]
    assert parse() == ()
    assert edge_attributes(parse("neighbor", "similar(lower)")) == ({"lower"}, set())
    assert edge_attributes(parse("similar(lower, 2)", "paragraph")) == ({"lower"}, {"paragraph"})


# What they mean


def test_neighbours() -> None:
    docs = [["a", "b", "c"], ["d"], [], ["e", "f"]]
    found = as_dicts(table_of(["neighbor(2)", "neighbor"], docs))
    assert found == [{(0, 1): [0, 1], (0, 2): [1, 0], (1, 2): [0, 1]}, {}, {}, {(0, 1): [0, 1]}]
    table = table_of(["neighbor(3)"], docs)
    assert table.starts.tolist() == [0] * 5
    assert table.edges.shape == (0, 2)
    assert table.features.shape == (0, 1)


def test_without_edge_features_there_are_no_edges() -> None:
    table = table_of([], [["a", "b"]])
    assert table.starts.tolist() == [0, 0]
    assert table.features.shape == (0, 0)


def test_paragraphs() -> None:
    found = as_dicts(table_of(["paragraph", "neighbor"], [["a", "b", "", "c", "d"], ["e", "f"]]))
    assert found == [
        {(0, 1): [1, 1], (1, 2): [0, 1], (2, 3): [1, 1]},
        {(0, 1): [1, 1]},
    ]


def test_a_line_break_at_the_start_of_a_doc_is_no_unit() -> None:
    found = as_dicts(table_of(["paragraph"], [["", "", "a", "b"]]))
    assert found == [{(0, 1): [1]}]


def similarities(lines: list[str]) -> np.ndarray:
    """By definition: float64 [n, n]."""
    sets = [set(line.split(" ")) for line in lines]
    counts = Counter(word for words in sets for word in words)
    weights = {w: log(len(lines) / c) if c <= MAX_SHARED else 0.0 for w, c in counts.items()}
    norms = [sqrt(sum(weights[w] ** 2 for w in words)) for words in sets]
    found = np.zeros((len(lines), len(lines)))
    for u, words in enumerate(sets):
        for v, others in enumerate(sets):
            shared = sum(weights[w] ** 2 for w in words & others)
            if u != v and shared > 0:
                found[u, v] = shared / (norms[u] * norms[v])
    return found


lines = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5).map(" ".join))


@checked
@given(st.lists(lines, min_size=1, max_size=3), st.integers(1, 3))
def test_similar_units_are_the_most_similar_ones(docs: list[list[str]], k: int) -> None:
    found = as_dicts(table_of([f"similar(orth, {k})"], docs))
    for doc, edges in zip(docs, found, strict=True):
        expected = similarities(doc)
        for (u, v), (value,) in edges.items():
            assert u < v
            assert value == pytest.approx(expected[u, v])
            assert LEAST_SIMILARITY <= value <= 1
        for u in range(len(doc)):
            chosen = [max(value for value in [0.0, *edges.get(p, [])]) for p in pairs(u, len(doc))]
            best = np.sort(expected[u][expected[u] >= LEAST_SIMILARITY + 1e-9])[::-1][:k]
            assert np.sort(chosen)[::-1][: len(best)] == pytest.approx(best)
        assert len(edges) <= k * len(doc)


def pairs(u: int, n: int) -> list[tuple[int, int]]:
    return [(min(u, v), max(u, v)) for v in range(n)]


def test_equally_similar_units_are_chosen_by_distance() -> None:
    others = [f"o{i}" for i in range(40)]
    found = as_dicts(table_of(["similar(orth, 1)"], [["q x", "r x", "s x", "t x", *others]]))[0]
    assert set(found) == {(0, 1), (1, 2), (2, 3)}
    found = as_dicts(table_of(["similar(orth, 1)"], [["x a", "b", "x c", "d", "x e", *others]]))[0]
    assert set(found) == {(0, 2), (2, 4)}


def test_frequent_words_do_not_count() -> None:
    def some(shared: int) -> int:
        lines = [f"x w{i}" if i < shared else f"w{i}" for i in range(shared + 200)]
        return len(table_of(["similar(orth, 1)"], [lines]).edges)

    assert some(MAX_SHARED) > 0
    assert some(MAX_SHARED + 1) == 0


def test_dissimilar_units_have_no_edge() -> None:
    def found(words: int) -> int:
        one, other = (" ".join(f"{name}{i}" for i in range(words)) for name in "ab")
        return len(table_of(["similar(orth)"], [[f"x {one}", f"x {other}", *"pqrstuv"]]).edges)

    assert found(5) == 1
    assert found(15) == 0


def test_words_without_the_attribute_do_not_count() -> None:
    assert len(table_of(["similar(digits)"], [["a 1990", "b 1990", "c", "d"]]).edges) == 1
    assert len(table_of(["similar(digits)"], [["a b", "a c", "d", "e"]]).edges) == 0
