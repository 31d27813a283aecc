"""Pairs of parallel texts: how Docs hold them, and what survives spaCy's ways with Docs."""

import pickle
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from processes import TESTS
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.align.text_pairs import (
    ALIGNMENT,
    POSSIBLE,
    aligned_links,
    join_pair,
    make_pair,
    read_links,
    sides,
    write_links,
)

VOCAB = Vocab()
SOURCE, TARGET = ["the", "green", "house"], ["das", "grüne", "Haus", "steht"]
LINKS = [[0, 0], [1, 1], [2, 2]]
NOT_SERIALIZABLE = r"can not serialize 'spacy\.tokens\.doc\.Doc'"

WAYS: dict[str, Callable[[Doc], Doc]] = {
    "copy": Doc.copy,
    "bytes": lambda doc: Doc(VOCAB).from_bytes(doc.to_bytes()),
    "pickle": lambda doc: pickle.loads(pickle.dumps(doc)),
    "example": lambda doc: Example(doc, doc).reference,
    "docbin": lambda doc: next(
        DocBin()
        .from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes())
        .get_docs(VOCAB)
    ),
}  # fmt: skip


def array(links: Any) -> np.ndarray:
    return np.array(links, dtype=np.int64).reshape(-1, 2)


def pair_of(links: Any = LINKS, possible: Any = None) -> Doc:
    made = [None if value is None else array(value) for value in (links, possible)]
    return make_pair(VOCAB, SOURCE, TARGET, *made)


def two_docs(links: Any = LINKS) -> Doc:
    """A source, and its translation with a vocabulary of its own."""
    doc = Doc(VOCAB, words=SOURCE)
    doc._.translation = Doc(Vocab(), words=TARGET)
    doc._.alignment = links
    return doc


def words(doc: Doc) -> list[list[str]]:
    return [[token.text for token in side] for side in sides(doc)]


def as_list(links: np.ndarray | None) -> list[list[int]] | None:
    if links is None:
        return None
    assert links.dtype == np.int64
    assert links.shape == (len(links), 2)
    return links.tolist()


# Sides


@pytest.mark.parametrize("make", [pair_of, two_docs])
def test_sides(make: Callable[[], Doc]) -> None:
    doc = make()
    assert words(doc) == [SOURCE, TARGET]
    assert [side.start for side in sides(doc)] == [0, 3 if make is pair_of else 0]


def test_a_source_may_come_after_its_target() -> None:
    doc = Doc(VOCAB, words=["x", *TARGET, "y", *SOURCE])
    doc.spans["source"], doc.spans["target"] = [doc[6:9]], [doc[1:5]]
    assert words(doc) == [SOURCE, TARGET]
    doc._.alignment = [(6, 1), (8, 3)]
    assert as_list(read_links(doc)) == [[0, 0], [2, 2]]
    write_links(doc, array([[2, 3], [1, 0], [2, 3]]))
    assert doc._.alignment == [(7, 1), (8, 4)]


@pytest.mark.parametrize(("source", "target"), [(2, 0), (0, 2), (0, 0)])
@pytest.mark.parametrize("way", WAYS)
def test_empty_sides(source: int, target: int, way: str) -> None:
    doc = make_pair(VOCAB, SOURCE[:source], TARGET[:target], array([]))
    again = WAYS[way](doc)
    assert words(again) == [SOURCE[:source], TARGET[:target]]
    assert as_list(read_links(again)) == []


def test_spans_come_before_a_translation() -> None:
    doc = pair_of()
    doc._.translation = Doc(VOCAB, words=["other"])
    assert words(doc) == [SOURCE, TARGET]


def spoil_spans(doc: Doc, **spans: tuple[int, int] | list[tuple[int, int]]) -> Doc:
    for key, value in spans.items():
        doc.spans[key] = [doc[i:j] for i, j in (value if isinstance(value, list) else [value])]
    return doc


def without(doc: Doc, *keys: str) -> Doc:
    for key in keys:
        del doc.spans[key]
    return doc


def merged(doc: Doc) -> Doc:
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    return doc


def with_translation(doc: Doc, value: Any) -> Doc:
    doc._.translation = value
    return doc


@pytest.mark.parametrize(("doc", "message"), [
    (
        Doc(VOCAB, words=SOURCE),
        "the Doc 'the green house ' has neither spans 'source' and 'target' nor doc._.translation: "
        "make pairs with spacy_ssvm.align.text_pairs.make_pair, or read them with "
        "spacy_ssvm.ParallelCorpus.v1",
    ),
    (without(pair_of(), "target"), "has no spans 'target' but 'source': make pairs"),
    (without(pair_of(), "source"), "has no spans 'source' but 'target': make pairs"),
    (
        spoil_spans(pair_of(), source=[(0, 1), (2, 3)]),
        "there are 2 spans 'source' in 'the green house das grüne Haus steht ': there must be one",
    ),
    (
        spoil_spans(pair_of(), target=(2, 5)),
        "overlap, from token 0 to 3 and 2 to 5: they must be different texts",
    ),
    (merged(pair_of()), "outside the Doc, whose tokens were merged"),
    (
        with_translation(Doc(VOCAB, words=SOURCE), "das Haus"),
        "doc._.translation of 'the green house ' is not a Doc: 'das Haus'",
    ),
])  # fmt: skip
def test_docs_that_are_no_pairs(doc: Doc, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        sides(doc)


def test_attributes_of_other_packages_are_left_alone(run_script: Any) -> None:
    output = run_script(
        "from spacy.tokens import Doc\n"
        "Doc.set_extension('alignment', default='theirs')\n"
        "import spacy_ssvm.align.text_pairs, importlib\n"
        "importlib.reload(spacy_ssvm.align.text_pairs)\n"
        "print([Doc.get_extension(n)[0] for n in ('alignment', 'possible_alignment')])\n"
    )
    assert output.strip() == "['theirs', None]"


# Links


def test_links_are_token_indices_in_the_attribute() -> None:
    doc = pair_of(links=[[2, 2], [0, 0], [2, 2]], possible=[[1, 3]])
    assert doc._.alignment == [(0, 3), (2, 5)]
    assert doc._.possible_alignment == [(1, 6)]
    assert all(type(index) is int for pair in doc._.alignment for index in pair)
    assert as_list(read_links(doc)) == [[0, 0], [2, 2]]
    assert as_list(read_links(doc, POSSIBLE)) == [[1, 3]]


def test_links_of_two_docs_are_indices_in_each() -> None:
    doc = two_docs([[2, 3], (0, 0), (2, 3)])
    assert as_list(read_links(doc)) == [[0, 0], [2, 3]]
    write_links(doc, array([[2, 1]]))
    assert doc._.alignment == [(2, 1)]


@pytest.mark.parametrize("make", [pair_of, two_docs])
def test_what_is_not_annotated(make: Callable[[Any], Doc]) -> None:
    doc = make(None)
    assert doc._.alignment is None
    assert read_links(doc) is None
    doc._.alignment = []
    assert as_list(read_links(doc)) == []


@pytest.mark.parametrize("way", WAYS)
def test_links_survive(way: str) -> None:
    doc = pair_of(possible=[[1, 3]])
    again = WAYS[way](doc)
    assert words(again) == [SOURCE, TARGET]
    assert as_list(read_links(again)) == LINKS
    assert as_list(read_links(again, POSSIBLE)) == [[1, 3]]
    write_links(again, array([[0, 3]]))  # in the form of another Doc
    assert as_list(read_links(again)) == [[0, 3]]
    if again is not doc:
        assert as_list(read_links(doc)) == LINKS


NOT_A_PAIR = "is not a pair of integers. A list of pairs (token of the source, token of the target)"


@pytest.mark.parametrize(("value", "problem"), [
    ([(0, 3), (1, 4, 5)], f"(1, 4, 5) {NOT_A_PAIR}"),
    ([(0, 3), (1,)], f"(1,) {NOT_A_PAIR}"),
    ([[0, 3], [1, 4.0]], f"[1, 4.0] {NOT_A_PAIR}"),
    ([(True, False)], f"(True, False) {NOT_A_PAIR}"),
    ([(0, 3), (1, None)], f"(1, None) {NOT_A_PAIR}"),
    ([(0, 3), 7], f"7 {NOT_A_PAIR}"),
    (["0-3"], f"'0-3' {NOT_A_PAIR}"),
    ([(0, 2**70)], f"(0, {2**70}) {NOT_A_PAIR}"),
    ([[]], f"[] {NOT_A_PAIR}"),
    ("0-3", f"'0-3' {NOT_A_PAIR}"),
    ({0: 3}, f"{{0: 3}} {NOT_A_PAIR}"),
    (3, f"3 {NOT_A_PAIR}"),
    (
        [(0, 3), (3, 0)],
        "the link (3, 0) is of the token 3 in the source, which has tokens 0 to 2",
    ),
    ([(0, 3), (-1, 3)], "the link (-1, 3) is of the token -1 in the source"),
    ([(2, 6), (2, 2)], "the link (2, 2) is of the token 2 in the target, which has tokens 3 to 6"),
    ([(2, 6), (2, 7)], "the link (2, 7) is of the token 7 in the target, which has tokens 3 to 6"),
])  # fmt: skip
@pytest.mark.parametrize("attribute", [ALIGNMENT, POSSIBLE])
def test_links_that_are_wrong(value: Any, problem: str, attribute: str) -> None:
    doc = pair_of(links=None)
    doc._.set(attribute, value)
    where = f"doc._.{attribute} of 'the green house das grüne Haus steht ': "
    with pytest.raises(ValueError, match=re.escape(where + problem)):
        read_links(doc, attribute)


@pytest.mark.parametrize("links", [[[0, 0], [3, 0]], [[0, 4]], [[-1, 0]], [[0, -1]]])
def test_links_that_cannot_be_written(links: list[list[int]]) -> None:
    for doc in (pair_of(), two_docs()):
        before = doc._.alignment
        with pytest.raises(ValueError, match=r"doc\._\.alignment of 'the green house.* the link "):
            write_links(doc, array(links))
        assert doc._.alignment == before


def test_links_to_an_empty_side() -> None:
    with pytest.raises(ValueError, match="in the target, which has no tokens"):
        make_pair(VOCAB, SOURCE, [], array([[0, 0]]))


def test_spaces() -> None:
    doc = make_pair(VOCAB, ["a", "!"], ["b", "."], spaces=[False, True, False, False])
    assert doc.text == "a! b."
    assert not doc.has_unknown_spaces
    assert make_pair(VOCAB, ["a"], ["b"]).has_unknown_spaces


# Two Docs as one


def test_two_docs_cannot_be_saved_but_joined() -> None:
    doc = two_docs()
    doc[1].tag_, doc._.translation[2].tag_ = "JJ", "NN"
    with pytest.raises(TypeError, match=NOT_SERIALIZABLE):
        doc.to_bytes()
    with pytest.raises(TypeError, match=NOT_SERIALIZABLE):
        DocBin(docs=[doc], store_user_data=True).to_bytes()
    assert doc.copy()._.translation.vocab is not doc._.translation.vocab, (
        "else docs/aligner.md errs"
    )
    joined = WAYS["docbin"](join_pair(doc))
    assert words(joined) == [SOURCE, TARGET]
    assert [token.tag_ for token in joined] == ["", "JJ", "", "", "", "NN", ""]
    assert as_list(read_links(joined)) == LINKS
    assert joined._.translation is None
    assert joined._.possible_alignment is None


@pytest.mark.parametrize(("source", "target"), [(2, 0), (0, 2), (0, 0)])
def test_joining_empty_sides(source: int, target: int) -> None:
    doc = Doc(VOCAB, words=SOURCE[:source])
    doc._.translation = Doc(Vocab(), words=TARGET[:target])
    assert words(join_pair(doc)) == [SOURCE[:source], TARGET[:target]]


def test_the_code_of_the_docs() -> None:
    text = (TESTS.parent / "docs" / "aligner.md").read_text(encoding="utf8")
    (code,) = (c for c in re.findall(r"```python\n(.*?)```", text, re.S) if "links=" in c)
    names: dict[str, Any] = {}
    exec(code, names)
    for expression, value in re.findall(r"^(\S+) +# (\[.*\])", code, re.M):
        assert repr(eval(expression, names)) == value
    assert [names["source"].text, names["target"].text] == ["the house", "das Haus"]


# Gold links at predicted tokens


def test_gold_links_of_the_same_tokens() -> None:
    for predicted in (pair_of(None), two_docs(None)):
        for reference in (pair_of(), two_docs()):
            aligned = aligned_links(Example(predicted, reference))
            assert as_list(aligned.links) == LINKS
            assert aligned.source_known.tolist() == [True] * 3
            assert aligned.target_known.tolist() == [True] * 4
            assert aligned_links(Example(predicted, reference), POSSIBLE) is None
    assert aligned_links(Example(pair_of(), pair_of(None))) is None


def test_gold_links_of_other_tokens() -> None:
    predicted = make_pair(VOCAB, ["I", "can", "not", "go"], ["ich", "kann", "nicht", "zum", "Haus"])
    links = array([[0, 0], [1, 1], [2, 3], [2, 2], [0, 5]])
    possible = array([[1, 2], [2, 0]])
    reference = make_pair(
        VOCAB, ["I", "cannot", "go"], ["ich", "kann", "nicht", "zu", "m", "Haus"], links, possible
    )
    aligned = aligned_links(Example(predicted, reference))
    assert aligned.source_known.tolist() == [True, False, False, True]
    assert aligned.target_known.tolist() == [True, True, True, False, True]
    assert as_list(aligned.links) == [[0, 0], [0, 4], [3, 2]]
    assert as_list(aligned_links(Example(predicted, reference), POSSIBLE).links) == [[3, 0]]


def test_words_that_overlap_without_being_one_are_not_known() -> None:
    predicted = make_pair(VOCAB, ["ab", "c", "d"], ["x"])
    reference = make_pair(VOCAB, ["a", "bc", "d"], ["x"], array([[0, 0], [1, 0], [2, 0]]))
    aligned = aligned_links(Example(predicted, reference))
    assert aligned.source_known.tolist() == [False, False, True]
    assert as_list(aligned.links) == [[2, 0]]


def test_gold_links_of_other_texts() -> None:
    predicted = make_pair(VOCAB, SOURCE, ["die", "Burg"])
    message = "the target of the predicted Doc, 'die Burg', and that of the reference, 'das grüne"
    with pytest.raises(ValueError, match=message):
        aligned_links(Example(predicted, pair_of()))


@given(st.data())
def test_links_through_cuts_of_the_same_texts(data: st.DataObject) -> None:
    """Each side is cut twice; words that both cuts have are known, and keep their links."""
    cuts = [[data.draw(st.sets(st.integers(1, 7))) for _ in range(2)] for _ in range(2)]
    spans = [[cut_spans(cut, 8) for cut in side] for side in cuts]
    texts = ["abcdefgh", "stuvwxyz"]
    tokens = [
        [[text[i:j] for i, j in cut] for cut in side]
        for text, side in zip(texts, spans, strict=True)
    ]
    pairs = st.tuples(*(st.integers(0, len(side[1]) - 1) for side in spans))
    links = sorted(data.draw(st.sets(pairs, max_size=8)))
    predicted = make_pair(VOCAB, tokens[0][0], tokens[1][0])
    reference = make_pair(VOCAB, tokens[0][1], tokens[1][1], array(links))
    aligned = aligned_links(Example(predicted, reference))
    for side, known in zip(spans, (aligned.source_known, aligned.target_known), strict=True):
        assert known.tolist() == [span in side[1] for span in side[0]]
    expected = [
        [side[0].index(side[1][word]) for side, word in zip(spans, link, strict=True)]
        for link in links
        if all(side[1][word] in side[0] for side, word in zip(spans, link, strict=True))
    ]
    assert as_list(aligned.links) == expected


def cut_spans(cuts: set[int], length: int) -> list[tuple[int, int]]:
    return list(pairwise([0, *sorted(cuts), length]))


# Pipelines


class Diagonal:
    """Links the first words, the second words, and so on."""

    def __init__(self) -> None:
        self.model = None

    def __call__(self, doc: Doc) -> Doc:
        n = min(map(len, sides(doc)))
        write_links(doc, np.repeat(np.arange(n), 2).reshape(-1, 2))
        return doc


@pytest.fixture
def nlp() -> Language:
    Language.factory("diagonal_in_test", func=lambda nlp, name: Diagonal())
    nlp = spacy.blank("xx", vocab=VOCAB)
    nlp.add_pipe("diagonal_in_test")
    return nlp


@pytest.mark.parametrize("n_process", [1, 2])
def test_pairs_through_a_pipeline(nlp: Language, n_process: int) -> None:
    docs = [pair_of(None), make_pair(VOCAB, ["x"], []), make_pair(VOCAB, SOURCE[:2], TARGET)]
    out = list(nlp.pipe(docs, n_process=n_process))
    assert [words(doc) for doc in out] == [[SOURCE, TARGET], [["x"], []], [SOURCE[:2], TARGET]]
    assert [as_list(read_links(doc)) for doc in out] == [LINKS, [], LINKS[:2]]
    assert as_list(read_links(nlp(pair_of(None)))) == LINKS
    ((doc, context),) = nlp.pipe([(pair_of(None), "context")], as_tuples=True, n_process=n_process)
    assert (as_list(read_links(doc)), context) == (LINKS, "context")


def test_two_docs_through_a_pipeline(nlp: Language) -> None:
    (doc,) = nlp.pipe([two_docs(None)])
    assert as_list(read_links(doc)) == LINKS
    with pytest.raises(TypeError, match=NOT_SERIALIZABLE):
        list(nlp.pipe([two_docs(None)], n_process=2))
    (doc,) = nlp.pipe([join_pair(two_docs(None))], n_process=2)
    assert as_list(read_links(doc)) == LINKS


@pytest.mark.parametrize("texts", [("a b", ["c"]), (["a"], "c d")])
def test_a_text_is_not_taken_for_its_words(texts: Any) -> None:
    with pytest.raises(TypeError, match="a list of texts, not one text"):
        make_pair(Vocab(), *texts)
