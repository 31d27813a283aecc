"""Label schemes against their definition: all short sequences, one after the other."""

from itertools import product

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.chains.schemes import BEGIN, INSIDE, MISSING, OUT, SCHEMES, Scheme, Tokens, spans_of

TYPES = ("LOC", "PER")


Span = tuple[int, int, int]  #: first token, behind the last token, number of the type


schemes = pytest.mark.parametrize("name", SCHEMES)


def segmentations(n: int, number_of_types: int = len(TYPES)) -> list[list[Span]]:
    """All sets of spans of n tokens that do not overlap."""

    def behind(start: int) -> list[list[Span]]:
        if start >= n:
            return [[]]
        found = behind(start + 1)
        for end in range(start + 1, n + 1):
            for kind in range(number_of_types):
                found = [*found, *([(start, end, kind), *rest] for rest in behind(end))]
        return found

    return behind(0)


def written(name: str, n: int, spans: list[Span]) -> tuple[str, ...]:
    """Spans as labels, by the book."""
    labels = ["O"] * n
    for start, end, kind in spans:
        size = end - start
        tags = {
            "biluo": "U" if size == 1 else "B" + "I" * (size - 2) + "L",
            "iob2": "B" + "I" * (size - 1),
            "io": "I" * size,
        }[name]
        labels[start:end] = [f"{tag}-{TYPES[kind]}" for tag in tags]
    return tuple(labels)


def merged(spans: list[Span], starts: tuple[int, ...] = ()) -> list[Span]:
    """Neighbours of one type as one span, except where a sentence starts between them."""
    found: list[Span] = []
    for start, end, kind in sorted(spans):
        if found and found[-1][1:] == (start, kind) and start not in starts:
            found[-1] = (found[-1][0], end, kind)
        else:
            found.append((start, end, kind))
    return found


def tokens_of(n: int, spans: list[Span], missing: tuple[int, ...] = ()) -> Tokens:
    """Spans by token."""
    places, types = np.full(n, OUT, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for start, end, kind in spans:
        places[start:end] = INSIDE
        places[start] = BEGIN
        types[start:end] = kind
    places[list(missing)] = MISSING
    return Tokens(places, types)


def found_spans(tokens: Tokens) -> list[Span]:
    """Spans from what is known of each token."""
    table = spans_of(tokens)
    return list(zip(table.starts.tolist(), table.ends.tolist(), table.types.tolist(), strict=True))


def starts_at(n: int, *starts: int) -> np.ndarray:
    """Sentence starts, the first token always among them."""
    return np.array([i == 0 or i in starts for i in range(n)], dtype=bool)


def names(scheme: Scheme, labels: np.ndarray) -> tuple[str, ...]:
    return tuple("-" if label == -1 else scheme.labels[label] for label in labels)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("biluo", ["O", "B-X", "I-X", "L-X", "U-X", "B-Y", "I-Y", "L-Y", "U-Y"]),
        ("iob2", ["O", "B-X", "I-X", "B-Y", "I-Y"]),
        ("io", ["O", "I-X", "I-Y"]),
    ],
)
def test_labels(name: str, labels: list[str]) -> None:
    assert list(Scheme(name, ["X", "Y"]).labels) == labels
    assert list(Scheme(name, []).labels) == ["O"]


@schemes
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_legal_sequences_are_those_that_spans_make(name: str, n: int) -> None:
    scheme = Scheme(name, TYPES)
    legal = [names(scheme, np.array(y)) for y in brute.legal_sequences(n, scheme.legality())]
    expected = {written(name, n, spans) for spans in segmentations(n)}
    assert len(legal) == len(set(legal))
    assert set(legal) == expected
    if name == "io":
        assert len(expected) == len(scheme.labels) ** n, "every sequence is legal"
    else:
        assert len(expected) == len(segmentations(n)), "spans can be told from the labels"


@schemes
@pytest.mark.parametrize("types", [(), ("X",), ("X", "Y", "Z")])
def test_legality_is_a_table_of_zeros_and_minus_infinity(name: str, types: tuple[str, ...]) -> None:
    legality = Scheme(name, types).legality()
    K = 1 + len(types) * len(SCHEMES[name])
    assert legality.dtype == np.float64
    assert legality.shape == (K + 2, K)
    assert set(legality.ravel().tolist()) <= {0.0, -np.inf}
    assert (legality[[0, K, K + 1], 0] == 0).all(), "there may always be no span"


@schemes
def test_every_label_and_every_legal_transition_is_of_use(name: str) -> None:
    """What the table allows occurs in a well-formed sequence."""
    scheme = Scheme(name, TYPES)
    K = len(scheme.labels)
    used = np.full((K + 2, K), -np.inf)
    for spans in segmentations(4):
        y = [scheme.labels.index(label) for label in written(name, 4, spans)]
        used[[K, *y[:-1]], y] = 0
        used[K + 1, y[-1]] = 0
    np.testing.assert_array_equal(used, scheme.legality())


@schemes
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_every_set_of_spans_becomes_labels_and_comes_back(name: str, n: int) -> None:
    scheme = Scheme(name, TYPES)
    starts = starts_at(n)
    for spans in segmentations(n):
        tokens = tokens_of(n, spans)
        assert found_spans(tokens) == spans
        labels = scheme.encode(tokens, starts)
        assert labels.dtype == np.int64
        assert names(scheme, labels) == written(name, n, spans)
        expected = merged(spans) if name == "io" else spans
        assert found_spans(scheme.decode(labels, starts)) == expected


@schemes
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_legal_sequence_becomes_spans_and_comes_back(name: str, n: int) -> None:
    scheme = Scheme(name, TYPES)
    starts = starts_at(n)
    sequences = brute.legal_sequences(n, scheme.legality())
    assert len(sequences) > 2**n
    for y in sequences:
        tokens = scheme.decode(np.array(y), starts)
        assert tuple(scheme.encode(tokens, starts)) == y
        spans = found_spans(tokens)
        covered = {i for start, end, _ in spans for i in range(start, end)}
        assert covered == {i for i, label in enumerate(y) if scheme.labels[label] != "O"}
        places = [tokens.iob[i] for i in range(n) if i not in covered]
        assert places == [OUT] * (n - len(covered))


@schemes
@pytest.mark.parametrize("start", [1, 2, 3])
def test_sentences_are_label_sequences_of_their_own(name: str, start: int) -> None:
    """Spans of two sentences, encoded at once and each by itself."""
    n = 4
    scheme = Scheme(name, TYPES)
    starts = starts_at(n, start)
    legal = [set(brute.legal_sequences(size, scheme.legality())) for size in (start, n - start)]
    seen = 0
    for spans in segmentations(n):
        if any(first < start < end for first, end, _ in spans):
            continue
        seen += 1
        labels = scheme.encode(tokens_of(n, spans), starts)
        assert names(scheme, labels) == written(name, n, spans)
        assert tuple(labels[:start].tolist()) in legal[0]
        assert tuple(labels[start:].tolist()) in legal[1]
        expected = merged(spans, (start,)) if name == "io" else spans
        assert found_spans(scheme.decode(labels, starts)) == expected
    assert seen == len(segmentations(start)) * len(segmentations(n - start))


def test_in_io_a_sentence_start_divides_what_would_be_one_span() -> None:
    scheme = Scheme("io", ["X"])
    labels = np.array([1, 1, 1, 1])
    assert found_spans(scheme.decode(labels, starts_at(4))) == [(0, 4, 0)]
    assert found_spans(scheme.decode(labels, starts_at(4, 2))) == [(0, 2, 0), (2, 4, 0)]


@schemes
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_missing_tokens_have_no_label_and_leave_spans_whole(name: str, n: int) -> None:
    """All ways to leave tokens outside of spans unknown."""
    scheme = Scheme(name, TYPES)
    starts = starts_at(n)
    for spans in segmentations(n):
        outside = set(range(n)).difference(*(range(start, end) for start, end, _ in spans))
        for unknown in product([False, True], repeat=n):
            missing = tuple(i for i in range(n) if unknown[i])
            if not outside.issuperset(missing):
                continue
            tokens = tokens_of(n, spans, missing)
            expected = list(written(name, n, spans))
            for i in missing:
                expected[i] = "-"
            labels = scheme.encode(tokens, starts)
            assert list(names(scheme, labels)) == expected
            decoded = scheme.decode(labels, starts)
            assert found_spans(decoded) == (merged(spans) if name == "io" else spans)
            assert (decoded.iob[list(missing)] == OUT).all()


@schemes
def test_all_missing(name: str) -> None:
    scheme = Scheme(name, TYPES)
    tokens = tokens_of(3, [], (0, 1, 2))
    assert list(scheme.encode(tokens, starts_at(3))) == [-1, -1, -1]


@schemes
def test_types_outside_of_spans_are_of_no_meaning(name: str) -> None:
    scheme = Scheme(name, TYPES)
    places = np.array([OUT, BEGIN, INSIDE, MISSING, OUT])
    expected = scheme.encode(Tokens(places, np.array([0, 1, 1, 0, 0])), starts_at(5))
    for other in (-1, 1, 17):
        types = np.array([other, 1, 1, other, other])
        labels = scheme.encode(Tokens(places, types), starts_at(5))
        np.testing.assert_array_equal(labels, expected)


@schemes
@given(data=st.data())
def test_long_texts_with_sentences_and_gaps(name: str, data: st.DataObject) -> None:
    """Drawn piece by piece: a piece is a span, a token outside, an unknown one, a start."""
    types = ("A", "B", "C")
    scheme = Scheme(name, types)
    pieces = data.draw(
        st.lists(
            st.one_of(
                st.sampled_from(["outside", "missing", "start"]),
                st.tuples(st.integers(1, 5), st.integers(0, len(types) - 1)),
            ),
            min_size=1,
            max_size=60,
        )
    )
    spans, missing, starts, n = [], [], [], 0
    for piece in pieces:
        if piece == "start":
            starts.append(n)
        elif isinstance(piece, tuple):
            spans.append((n, n + piece[0], piece[1]))
            n += piece[0]
        else:
            missing += [n] * (piece == "missing")
            n += 1
    flags = starts_at(n, *starts)
    labels = scheme.encode(tokens_of(n, spans, tuple(missing)), flags)
    assert set(np.flatnonzero(labels == -1)) == set(missing)
    expected = merged(spans, tuple(starts)) if name == "io" else spans
    assert found_spans(scheme.decode(labels, flags)) == expected
