"""What ``ssvm_senter`` does with Docs, sentence boundaries, whitespace and settings."""

import math
import pickle
import warnings
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import paragraph_examples
from pipelines import SENTER, copy_of, start_of_each_token
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

Marks = list[bool | None]


@pytest.fixture(scope="module")
def trained() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return SENTER.trained()


def sentences(doc: Doc) -> list[str]:
    return [sentence.text for sentence in doc.sents]


def marks(doc: Doc) -> Marks:
    return [token.is_sent_start for token in doc]


def marked(nlp: Language, text: str, starts: dict[int, bool]) -> Doc:
    """A Doc of which some tokens are known to be starts, or not to be."""
    doc = nlp.make_doc(text)
    for i, is_start in starts.items():
        doc[i].is_sent_start = is_start
    return doc


def example_of(
    nlp: Language, words: list[str], starts: Marks, predicted: list[str] | None = None
) -> Example:
    """One example; predicted: other tokens of the same text."""
    reference = Doc(nlp.vocab, words=words, spaces=[False] * len(words))
    for token, is_start in zip(reference, starts, strict=True):
        if is_start is not None:
            token.is_sent_start = is_start
    other = predicted or words
    assert "".join(other) == reference.text
    return Example(Doc(nlp.vocab, words=other, spaces=[False] * len(other)), reference)


def gold(*args: Any) -> list[str]:
    """The gold labels of an example, readable."""
    nlp = SENTER.pipeline()
    senter: Any = nlp.get_pipe("ssvm_senter")
    (labels,) = senter.gold_labels([example_of(nlp, *args)])
    return [{-1: "?", 0: "-", 1: "S"}[label] for label in labels.tolist()]


def test_sentences(trained: Language) -> None:
    doc = trained("Wait... what is that? It is a bird. We met Dr. Smith at noon.")
    assert sentences(doc) == [
        "Wait... what is that?",
        "It is a bird.",
        "We met Dr. Smith at noon.",
    ]
    assert doc.has_annotation("SENT_START", require_complete=True)
    assert not doc.has_annotation("DEP")


def test_the_first_token_is_a_start_even_of_a_model_that_has_learned_nothing() -> None:
    nlp = SENTER.pipeline()
    nlp.initialize(lambda: paragraph_examples(nlp.vocab))
    for text in ["It rains. It pours.", "It", " \n It rains", " "]:
        assert nlp(text)[0].is_sent_start is True
        assert all(token.is_sent_start is not None for token in nlp(text))


def test_boundaries_of_the_doc_are_not_seen_as_input(trained: Language) -> None:
    text = "He met Dr. Smith at noon. They talked for an hour."
    nlp = copy_of(trained)
    senter: Any = nlp.get_pipe("ssvm_senter")
    senter.cfg["overwrite"] = True
    doc = marked(nlp, text, {4: True, 5: True})
    assert np.array_equal(senter.scores(doc), senter.scores(nlp.make_doc(text)))
    assert sentences(nlp(doc)) == sentences(trained(text))
    for copy in (senter, pickle.loads(pickle.dumps(senter))):
        tokens = copy.model.reader.read([doc, doc])
        assert tokens.sentence_starts.tolist() == [0, len(doc), 2 * len(doc)]


def test_preset_boundaries_are_kept(trained: Language) -> None:
    text = "He met Dr. Smith at noon. They talked for an hour."
    assert [i for i, mark in enumerate(marks(trained(text))) if mark] == [0, 7]
    for starts in ({4: True}, {7: False}, {0: True}, {1: False, 7: True, 9: True}):
        found = marks(trained(marked(trained, text, starts)))
        expected = {0: True, 7: True, **starts}
        assert [i for i, mark in enumerate(found) if mark] == sorted(
            i for i, is_start in expected.items() if is_start
        )


def test_the_best_sequence_with_preset_boundaries_is_found(trained: Language) -> None:
    senter: Any = trained.get_pipe("ssvm_senter")
    text = "They talk. we went"
    starts = {2: True, 3: False}
    doc = marked(trained, text, starts)
    tokens = senter.model.reader.read([doc])
    emissions = senter.model.emissions(tokens, 0)
    transitions = senter.model.label_pairs
    best, best_score = None, -math.inf
    for y in product(range(2), repeat=len(doc)):
        if all(y[i] == int(is_start) for i, is_start in {**starts, 0: True}.items()):
            score = sum(emissions[t, k] for t, k in enumerate(y))
            score += transitions[2, y[0]] + transitions[3, y[-1]]
            score += sum(transitions[a, b] for a, b in pairwise(y))
            if score > best_score:
                best, best_score = y, score
    assert marks(trained(doc)) == [bool(k) for k in best or ()]


def test_overwrite(trained: Language) -> None:
    text = "It rained. We stayed in."
    nlp = copy_of(trained)
    nlp.get_pipe("ssvm_senter").cfg["overwrite"] = True
    assert marks(nlp(marked(nlp, text, {1: True, 3: False}))) == marks(trained(text))
    assert SENTER.pipeline(overwrite=True).get_pipe("ssvm_senter").cfg["overwrite"] is True


def test_a_parsed_doc_is_left_alone_or_refused(trained: Language) -> None:
    words = ["It", "rained", ".", "We", "stayed"]

    def parsed(nlp: Language) -> Doc:
        return Doc(nlp.vocab, words=words, heads=[1, 1, 1, 4, 4], deps=["dep"] * 5)

    doc = trained(parsed(trained))
    assert marks(doc) == marks(parsed(trained))
    assert [token.head.i for token in doc] == [1, 1, 1, 4, 4]
    nlp = copy_of(trained)
    nlp.get_pipe("ssvm_senter").cfg["overwrite"] = True
    with pytest.raises(ValueError, match="before the parser"):
        nlp(parsed(nlp))


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("It rained. \n\n We stayed in.", ["It", "We"]),
        (" \n It rained.", [" \n "]),
        ("It rained. We stayed in. \n ", ["It", "We"]),
        (" ", [" "]),
        ("\n\n \n", ["\n\n \n"]),
    ],
)
def test_whitespace_belongs_to_the_sentence_before(
    trained: Language, text: str, starts: list[str]
) -> None:
    doc = trained(text)
    assert [token.text for token in doc if token.is_sent_start] == starts
    assert all(token.is_sent_start is not None for token in doc)


def test_preset_boundaries_at_whitespace(trained: Language) -> None:
    text = "It rained \n and rained"
    doc = trained(marked(trained, text, {2: True}))
    assert [sentence.text for sentence in doc.sents] == ["It rained", "\n and rained"]
    doc = trained(marked(trained, text, {2: True, 3: True}))
    assert [token.i for token in doc if token.is_sent_start] == [0, 2, 3]
    doc = trained(marked(trained, " It rained", {1: False, 2: True}))
    assert marks(doc) == [True, False, True]


def test_batches_with_empty_and_blank_docs(trained: Language) -> None:
    texts = ["", "It rained. We left.", " ", "", "\n", "We left."]
    docs = list(trained.pipe(texts))
    assert [len(list(doc.sents)) for doc in docs if len(doc)] == [2, 1, 1, 1]
    assert [marks(doc) for doc in docs] == [marks(trained(text)) for text in texts]


def test_a_long_doc(trained: Language) -> None:
    text = "It rained. And then it rained again. We stayed in. "
    doc = trained(text * 2000)
    assert len(list(doc.sents)) == 6000


def test_training_on_line_breaks() -> None:
    nlp = SENTER.pipeline(templates=["space_before[0]"])
    words = ["a", "b", "\n", "a", "b", "\n\n", "b", "a"]
    paragraphs = example_of(nlp, words, [True, *[False] * 5, True, False])
    nlp.initialize(lambda: [paragraphs])
    for _ in range(10):
        nlp.update([paragraphs])
    doc = Doc(nlp.vocab, words=["c", "\n\n", "c", "c", "\n", "c"], spaces=[False] * 6)
    assert [token.i for token in nlp(doc) if token.is_sent_start] == [0, 2]


def test_gold_labels() -> None:
    assert gold(["a", "b", "c"], [True, False, True]) == ["S", "-", "S"]
    assert gold(["a", "b", "c"], [True, None, False]) == ["S", "?", "-"]
    assert gold(["a", "b", "c"], [None, None, None]) == ["?", "?", "?"]


def test_where_starts_are_marked_other_tokens_are_inside() -> None:
    assert gold(["a", "b", "c"], [True, None, True]) == ["S", "-", "S"]
    assert gold(["a", "b", "c", "d"], [True, None, True, None], ["ab", "c", "d"]) == ["S", "S", "-"]


@pytest.mark.parametrize("marked_inside", [[], [2, 10]], ids=["starts", "some-marked-inside"])
def test_learns_from_starts_as_zeros_and_ones(marked_inside: list[int]) -> None:
    starts = [1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    nlp = SENTER.pipeline()
    examples = [
        Example.from_dict(nlp.make_doc(text), {"sent_starts": starts})
        for text in (
            "I like green eggs. Eat blue ham. I like purple eggs.",
            "She likes purple eggs. They hate ham. You like yellow eggs.",
        )
    ]
    for i in marked_inside:
        examples[0].reference[i].is_sent_start = False
    nlp.initialize()
    for _ in range(20):
        nlp.update(examples)
    doc = nlp("I like green eggs. Eat blue ham. I like purple eggs.")
    assert [int(token.is_sent_start) for token in doc] == starts


def test_a_gold_start_at_whitespace_moves_to_the_next_word() -> None:
    assert gold(["a", "\n", "b", "c"], [True, True, False, False])[2:] == ["S", "-"]
    assert gold(["\n", "b", "c"], [True, False, False])[1:] == ["S", "-"]


def test_gold_labels_of_other_tokens() -> None:
    starts: Marks = [True, False, True, False]
    reference = ["ab", "c", "de", "f"]
    assert gold(reference, starts, ["a", "b", "c", "d", "e", "f"]) == ["S", "-", "-", "S", "-", "-"]
    assert gold(reference, starts, ["abc", "def"]) == ["S", "S"]
    assert gold(reference, starts, ["ab", "cde", "f"]) == ["S", "?", "-"]
    assert gold(reference, [None, None, True, False], ["abc", "d", "ef"]) == ["S", "S", "-"]


def test_what_is_not_annotated_teaches_nothing() -> None:
    nlp = SENTER.pipeline()
    examples = paragraph_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    senter: Any = nlp.get_pipe("ssvm_senter")
    bare = Example(nlp.make_doc("It rained. We left."), nlp.make_doc("It rained. We left."))
    assert senter.update([bare])["ssvm_senter"] == 0.0
    assert senter.update([bare, *examples])["ssvm_senter"] > 0.0


def test_no_annotation_to_learn_from() -> None:
    nlp = SENTER.pipeline()
    bare = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in ("It rained.", "Oh no!")]
    with pytest.raises(ValueError, match="no sentence boundary annotation to learn from"):
        nlp.initialize(lambda: bare)


def test_docs_of_one_sentence_bring_a_warning() -> None:
    nlp = SENTER.pipeline()
    single = [example_of(nlp, ["a", "b"], [True, False])]
    with pytest.warns(UserWarning, match="convert -n 10") as caught:
        nlp.initialize(lambda: single)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(lambda: [*single, example_of(nlp, ["a", "b"], [True, True])])


def test_labels() -> None:
    nlp = SENTER.pipeline()
    senter: Any = nlp.get_pipe("ssvm_senter")
    for _ in range(2):
        assert senter.labels == ("inside", "start")
        assert senter.label_data is None
        for label in ("begin", "start"):
            with pytest.raises(NotImplementedError, match="the labels are inside and start"):
                senter.add_label(label)
        nlp.initialize(lambda: paragraph_examples(nlp.vocab))
    assert "ssvm_senter" not in nlp.pipe_labels


def test_scores_and_weights(trained: Language) -> None:
    meta = trained.get_pipe_meta("ssvm_senter")
    assert meta.assigns == ["token.is_sent_start"]
    assert meta.default_score_weights["sents_f"] == 1.0
    scores = trained.evaluate(paragraph_examples(trained.vocab))
    assert scores["sents_f"] == scores["sents_p"] == scores["sents_r"] == 1.0


def test_confidence_and_reasons(trained: Language) -> None:
    senter: Any = trained.get_pipe("ssvm_senter")
    doc = trained("It rained. \n We stayed in.")
    scores = senter.scores(doc)
    assert scores.shape == (len(doc),)
    assert scores[3] == 0.0
    assert np.all(np.delete(scores, 3) > 0)
    explanation = senter.explain(doc, 4)
    assert (explanation.label, explanation.runner_up) == ("start", "inside")
    assert explanation.margin == pytest.approx(scores[4])
    values = {reason.template: reason.value for reason in explanation.reasons}
    assert values.get("space_before[0]", "line") == "line"


def test_costs_of_missed_starts_buy_recall() -> None:
    def recall(cost: float) -> float:
        nlp = SENTER.pipeline(templates=["case[0]"], costs={"start": {"inside": cost}})
        examples = paragraph_examples(nlp.vocab)
        nlp.initialize(lambda: examples)
        SENTER.train(nlp, examples, 12)
        return float(nlp.evaluate(paragraph_examples(nlp.vocab))["sents_r"])

    assert recall(0.0) < recall(10.0)


def test_the_corpus_of_the_tests_is_tokenized_as_spacy_does() -> None:
    nlp = spacy.blank("en")
    for example in paragraph_examples(nlp.vocab):
        assert [t.text for t in nlp.make_doc(example.text)] == [t.text for t in example.reference]
        assert all(start_of_each_token(example.reference))
