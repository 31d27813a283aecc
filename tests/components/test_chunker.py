"""What ``ssvm_chunker`` does with span groups."""

import re
from typing import Any

import numpy as np
import pytest
from chunk_pipelines import NAME, Chunk, chunker_of, chunks
from corpora import CHUNKS, chunk_examples, make_doc, spans_of
from pipelines import CHUNKER, copy_of
from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, HEAD, LEMMA, MORPH, POS, SENT_START, TAG
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.chains.schemes import SCHEMES

schemes = pytest.mark.parametrize("scheme", SCHEMES)


def train(nlp: Language, examples: list[Example], epochs: int = 15) -> Any:
    """The chunker, trained on the examples."""
    nlp.initialize(lambda: examples)
    CHUNKER.train(nlp, examples, epochs)
    chunker = chunker_of(nlp)
    chunker(nlp.make_doc("now"))  # the weights that learn become those that predict
    return chunker


def example_of(
    nlp: Language,
    words: list[str],
    spans: list[Chunk] | None,
    *,
    key: str = "chunks",
    predicted: Doc | None = None,
    sent_starts: list[bool] | None = None,
) -> Example:
    """An example whose reference has these spans; None for no annotation."""
    reference = Doc(nlp.vocab, words=words)
    if spans is not None:
        reference.spans[key] = [Span(reference, *span) for span in spans]
    if predicted is None:
        predicted = Doc(nlp.vocab, words=words, sent_starts=sent_starts)
    return Example(predicted, reference)


def gold(chunker: Any, example: Example) -> list[str]:
    """The gold labels of an example, a dash for none."""
    (labels,) = chunker.gold_labels([example])
    return ["-" if label == -1 else chunker.model.labels[label] for label in labels]


@pytest.fixture(scope="module")
def trained_chunker() -> Language:
    """A pipeline with a trained chunker. Tests share it: they must not change it."""
    return CHUNKER.trained()


@pytest.fixture
def fresh(trained_chunker: Language) -> Language:
    """A pipeline that has not warned yet."""
    return copy_of(trained_chunker)


EVERYTHING = [DEP, ENT_IOB, ENT_TYPE, HEAD, LEMMA, MORPH, POS, SENT_START, TAG]


def annotated(nlp: Language, **changes: Any) -> Doc:
    """A Doc with all that spaCy can annotate."""
    words = ["The", "old", "dog", "barks", ".", "John", "likes", "water", "."]
    annotations: dict[str, Any] = {
        "tags": ["A", "B", "C", "D", "E", "F", "G", "H", "I"],
        "pos": ["DET", "ADJ", "NOUN", "VERB", "PUNCT", "PROPN", "VERB", "NOUN", "PUNCT"],
        "lemmas": [f"lemma{i}" for i in range(9)],
        "morphs": ["Number=Sing"] * 9,
        "heads": [2, 2, 3, 3, 3, 6, 6, 6, 6],
        "deps": ["det", "amod", "nsubj", "ROOT", "punct", "nsubj", "ROOT", "obj", "punct"],
        "ents": ["O", "O", "B-DOG", "I-DOG", "O", "B-PER", "O", "O", "O"],
    }
    doc = Doc(nlp.vocab, words=words, **{**annotations, **changes})
    doc.spans["others"] = [doc[0:4], doc[2:7]]
    doc.cats = {"funny": 0.5}
    doc.user_data["mine"] = "kept"
    return doc


def test_writes_its_span_group_and_nothing_else(trained_chunker: Language) -> None:
    doc = annotated(trained_chunker)
    columns = doc.to_array(EVERYTHING)
    ents, others = [str(ent) for ent in doc.ents], [str(span) for span in doc.spans["others"]]
    trained_chunker(doc)
    assert chunks(doc) == [(0, 3, "NP"), (3, 4, "VP"), (5, 6, "NP"), (6, 7, "VP"), (7, 8, "NP")]
    np.testing.assert_array_equal(doc.to_array(EVERYTHING), columns)
    assert [str(ent) for ent in doc.ents] == ents
    assert set(doc.spans) == {"others", "chunks"}
    assert [str(span) for span in doc.spans["others"]] == others
    assert doc.cats == {"funny": 0.5}
    assert doc.user_data == {"mine": "kept"}


def test_a_bare_doc_gets_nothing_but_chunks(trained_chunker: Language) -> None:
    doc = trained_chunker("The old dog barks.")
    assert chunks(doc) == [(0, 3, "NP"), (3, 4, "VP")]
    assert [str(span) for span in doc.spans["chunks"]] == ["The old dog", "barks"]
    for annotation in ("ENT_IOB", "TAG", "POS", "DEP", "SENT_START", "LEMMA"):
        assert not doc.has_annotation(annotation)
    assert doc.user_data == {}


def test_a_doc_without_chunks_has_an_empty_group(trained_chunker: Language) -> None:
    doc = trained_chunker("Yes .")
    assert chunks(doc) == []
    assert list(doc.spans["chunks"].attrs["scores"]) == []
    empty = trained_chunker(Doc(trained_chunker.vocab))
    assert chunks(empty) == []


def test_a_group_that_is_there_is_replaced(trained_chunker: Language) -> None:
    doc = make_doc(trained_chunker.vocab, ["The", "old", "dog", "barks", "."])
    doc.spans["chunks"] = [Span(doc, 2, 5, "OLD")]
    for _ in range(2):
        trained_chunker.get_pipe(NAME)(doc)
        assert chunks(doc) == [(0, 3, "NP"), (3, 4, "VP")]
        assert len(doc.spans["chunks"].attrs["scores"]) == 2


def test_entities_do_not_stand_in_the_way(trained_chunker: Language) -> None:
    doc = make_doc(trained_chunker.vocab, ["The", "old", "dog", "barks", "."])
    doc.ents = [Span(doc, 1, 4, "THING")]
    trained_chunker(doc)
    assert chunks(doc) == [(0, 3, "NP"), (3, 4, "VP")]


def test_chunks_end_with_their_sentence(trained_chunker: Language) -> None:
    words = ["John", "likes", "the", "old", "dog", "."]
    whole = trained_chunker(make_doc(trained_chunker.vocab, words))
    assert (2, 5, "NP") in chunks(whole)
    starts = [i in (0, 4) for i in range(len(words))]
    divided = trained_chunker(make_doc(trained_chunker.vocab, words, sent_starts=starts))
    assert all(not (start < 4 < end) for start, end, _ in chunks(divided))


def test_the_factory_says_what_it_assigns() -> None:
    meta = CHUNKER.pipeline().get_pipe_meta(NAME)
    assert meta.assigns == ["doc.spans"]
    assert meta.default_score_weights["spans_chunks_f"] == 1.0


def test_another_key() -> None:
    nlp = CHUNKER.pipeline(spans_key="phrases")
    examples = chunk_examples(nlp.vocab, CHUNKS, key="phrases")
    for example in examples:
        reference = example.reference
        reference.spans["chunks"] = [Span(reference, 0, 1, "WRONG")]
    chunker = train(nlp, examples)
    assert chunker.labels == ("NP", "PP", "VP")
    doc = nlp("The old dog barks.")
    assert set(doc.spans) == {"phrases"}
    assert chunks(doc, "phrases") == [(0, 3, "NP"), (3, 4, "VP")]
    assert set(copy_of(nlp)("The old dog barks.").spans) == {"phrases"}
    scores = nlp.evaluate(examples)
    assert scores["spans_phrases_f"] == 1.0
    assert "spans_chunks_f" not in scores


def test_two_chunkers_in_one_pipeline() -> None:
    nlp = CHUNKER.pipeline()
    nlp.add_pipe(NAME, name="others", config={**CHUNKER.config, "spans_key": "others"})
    examples = chunk_examples(nlp.vocab)
    for example in examples:
        spans = example.reference.spans["chunks"]
        example.reference.spans["others"] = [span for span in spans if span.label_ == "VP"]
    nlp.initialize(lambda: examples)
    CHUNKER.train(nlp, examples, 12)
    doc = nlp("The old dog barks.")
    assert chunks(doc) == [(0, 3, "NP"), (3, 4, "VP")]
    assert chunks(doc, "others") == [(3, 4, "VP")]
    scores = nlp.evaluate(examples)
    assert scores["spans_chunks_f"] == scores["spans_others_f"] == 1.0


def test_scores_of_the_component(trained_chunker: Language) -> None:
    scores = trained_chunker.evaluate(chunk_examples(trained_chunker.vocab))
    for key in ("spans_chunks_f", "spans_chunks_p", "spans_chunks_r"):
        assert scores[key] == 1.0
    assert set(scores["spans_chunks_per_type"]) == {"NP", "PP", "VP"}
    examples = chunk_examples(trained_chunker.vocab, "The [old dog]NP [barks]VP .\n")
    wrong = trained_chunker.evaluate(examples)
    assert wrong["spans_chunks_p"] == wrong["spans_chunks_r"] == 0.5


@schemes
def test_the_corpus_there_and_back(scheme: str) -> None:
    nlp = CHUNKER.pipeline(scheme=scheme)
    lines = [*CHUNKS.strip().splitlines(), "[Cats]NP", "[He]NP [gave]VP [Ann]NP [Bo]VP [it]PP"]
    examples = chunk_examples(nlp.vocab, "\n".join(lines))
    train(nlp, examples, 20)
    for example, line in zip(examples, lines, strict=True):
        words, spans = spans_of(line)
        if scheme == "io":  # neighbours of one type become one
            for i in range(len(spans) - 1, 0, -1):
                if spans[i - 1][1:] == (spans[i][0], spans[i][2]):
                    spans[i - 1 : i + 1] = [(spans[i - 1][0], spans[i][1], spans[i][2])]
        assert [token.text for token in example.predicted] == words
        assert chunks(nlp(example.predicted.copy())) == spans


def test_gold_labels(trained_chunker: Language) -> None:
    chunker = chunker_of(trained_chunker)
    words = ["a", "b", "\n", "c", "d", "e"]
    spans = [(3, 4, "VP"), (0, 2, "NP"), (4, 6, "NP")]
    expected = ["B-NP", "L-NP", "-", "U-VP", "B-NP", "L-NP"]
    assert gold(chunker, example_of(trained_chunker, words, spans)) == expected
    assert gold(chunker, example_of(trained_chunker, words, spans[::-1])) == expected
    whole = example_of(trained_chunker, words, [(0, 6, "NP")])
    assert gold(chunker, whole) == ["B-NP", "I-NP", "-", "I-NP", "I-NP", "L-NP"]
    none = example_of(trained_chunker, words, [])
    assert gold(chunker, none) == ["O", "O", "-", "O", "O", "O"]


def test_a_reference_without_the_key_is_not_annotated(trained_chunker: Language) -> None:
    chunker = chunker_of(trained_chunker)
    words = ["a", "b"]
    assert gold(chunker, example_of(trained_chunker, words, None)) == ["-", "-"]
    other = example_of(trained_chunker, words, [(0, 1, "NP")], key="other")
    assert gold(chunker, other) == ["-", "-"]


def test_what_is_not_annotated_teaches_nothing() -> None:
    text = "[The dog]NP [barks]VP .\n[Dogs]NP [bark]VP ."

    def learned(extra: list[Chunk] | None) -> list[Chunk]:
        nlp = CHUNKER.pipeline(templates=["lower[0]"])
        bare = [example_of(nlp, ["The", "dog", "barks", "."], extra) for _ in range(6)]
        chunker = train(nlp, [*chunk_examples(nlp.vocab, text), *bare])
        assert chunker.labels == ("NP", "VP")
        return chunks(nlp("The dog barks ."))

    assert learned(None) == [(0, 2, "NP"), (2, 3, "VP")]
    assert learned([]) == [], "an empty group says that there are none"


def test_whether_there_are_entities_does_not_matter(trained_chunker: Language) -> None:
    example = example_of(trained_chunker, ["a", "b"], [(0, 1, "NP")])
    example.reference.ents = [Span(example.reference, 0, 2, "PER")]
    assert gold(chunker_of(trained_chunker), example) == ["U-NP", "O"]


def test_labels_come_from_the_key() -> None:
    nlp = CHUNKER.pipeline()
    examples = [
        example_of(nlp, ["a", "b"], [(0, 1, "X")], key="other"),
        example_of(nlp, ["a", "b"], [(0, 1, "Z"), (1, 2, "Y")]),
        example_of(nlp, ["a", "b"], None),
    ]
    nlp.initialize(lambda: examples)
    assert chunker_of(nlp).labels == chunker_of(nlp).label_data == ("Y", "Z")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1, 3, "NP"), (2, 4, "VP")),
        ((0, 4, "NP"), (1, 2, "NP")),
        ((1, 2, "NP"), (0, 2, "VP")),
        ((1, 3, "NP"), (1, 3, "VP")),
    ],
)
def test_overlapping_gold_is_an_error_that_names_it(first: Chunk, second: Chunk) -> None:
    nlp = CHUNKER.pipeline()
    words = ["alpha", "beta", "gamma", "delta", "."]
    examples = [
        *chunk_examples(nlp.vocab, "[The dog]NP [barks]VP ."),
        example_of(nlp, words, [first, second]),
    ]
    nlp.get_pipe(NAME).initialize(list, nlp=nlp, labels=["NP", "VP"])
    with pytest.raises(ValueError, match="overlap") as caught:
        nlp.update(examples)
    message = str(caught.value)
    assert "alpha beta gamma delta" in message
    for start, end, label in (first, second):
        assert f"'{' '.join(words[start:end])}'" in message
        assert label in message


def test_overlapping_spans_of_another_key_are_no_error(trained_chunker: Language) -> None:
    example = example_of(trained_chunker, ["a", "b"], [(0, 1, "NP")])
    example.reference.spans["sc"] = [example.reference[0:2], example.reference[1:2]]
    assert gold(chunker_of(trained_chunker), example) == ["U-NP", "O"]


def test_misaligned_and_crossing_gold_is_missing_with_one_warning(fresh: Language) -> None:
    chunker = chunker_of(fresh)
    words, spaces = ["the", "watch", "dog", "barks"], [True, False, True, False]
    reference = Doc(fresh.vocab, words=words, spaces=spaces)
    predicted = Doc(fresh.vocab, words=["the", "watchdog", "barks"], spaces=[True, True, False])
    reference.spans["chunks"] = [Span(reference, 0, 2, "NP"), Span(reference, 3, 4, "VP")]
    misaligned = Example(predicted, reference)
    starts = [i in (0, 2) for i in range(4)]
    crossing = example_of(
        fresh, ["a", "b", "c", "d"], [(1, 3, "NP"), (3, 4, "VP")], sent_starts=starts
    )
    with pytest.warns(UserWarning, match=NAME) as caught:
        labels = chunker.gold_labels([misaligned, crossing])
    assert len(caught.list) == 1
    assert re.findall(r"\d+", str(caught.list[0].message)) == ["1", "1"]
    verb = chunker.model.labels.index("U-VP")
    assert list(map(list, labels)) == [[-1, -1, verb], [0, -1, -1, verb]]
    assert gold(chunker, misaligned) == ["-", "-", "U-VP"]  # would fail with another warning


@schemes
def test_only_the_words_of_a_gold_chunk_count(scheme: str) -> None:
    nlp = CHUNKER.pipeline(scheme=scheme)
    chunker = train(nlp, chunk_examples(nlp.vocab, "[a]NP b"), 1)
    words = ["a", "\n", "b", "c", "\n"]
    for outer, inner in [((1, 4, "NP"), (2, 4, "NP")), ((2, 5, "NP"), (2, 4, "NP"))]:
        assert gold(chunker, example_of(nlp, words, [outer])) == gold(
            chunker, example_of(nlp, words, [inner])
        )


def test_explain_gives_an_explanation_a_token(trained_chunker: Language) -> None:
    doc = trained_chunker("The old dog barks.")
    chunker = chunker_of(trained_chunker)
    first, second = (chunker.explain(span) for span in doc.spans["chunks"])
    assert [(e.token, e.label) for e in (*first, *second)] == [
        ("The", "B-NP"),
        ("old", "I-NP"),
        ("dog", "L-NP"),
        ("barks", "U-VP"),
    ]
    for explanation in (*first, *second):
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin, abs=1e-6)


def test_tags_are_features_of_the_preset() -> None:
    """The same words, told apart by tags that another component has set."""
    nlp = CHUNKER.pipeline()
    words = ["so", "be", "it"]
    examples = []
    for tags, spans in [(["X", "Y", "Z"], [(0, 2, "NP")]), (["X", "X", "Z"], [(1, 3, "VP")])]:
        predicted = Doc(nlp.vocab, words=words, tags=tags)
        examples.append(example_of(nlp, words, spans, predicted=predicted))
    train(nlp, examples, 30)
    for example, expected in zip(examples, [[(0, 2, "NP")], [(1, 3, "VP")]], strict=True):
        assert chunks(nlp(example.predicted.copy())) == expected


def test_costs_by_type() -> None:
    def learned(costs: dict[str, dict[str, float]]) -> list[Chunk]:
        nlp = CHUNKER.pipeline(templates=["lower[0]"], costs=costs)
        train(nlp, chunk_examples(nlp.vocab, "[x y]NP o\nx y o\n"), 30)
        return chunks(nlp(Doc(nlp.vocab, words=["x", "y", "o"])))

    assert learned({"*": {"O": 5.0}}) == [(0, 2, "NP")]
    assert learned({"O": {"*": 5.0}}) == []
