"""What ``ssvm_tagger`` does with Docs, tags, sentences and settings."""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import UNIVERSAL, make_doc, tagged_sentences, tagging_examples
from hypothesis import example, given
from hypothesis import strategies as st
from pipelines import TAGGER, copy_of
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

TINY = """
the/DT dog/NN barks/VB
a/DT cat/NN sleeps/VB
dogs/NN bark/VB
the/DT bark/NN falls/VB
sleeps/VB the/DT dog/NN
"""
TINY_WORDS = sorted({word for words, _ in tagged_sentences(TINY) for word in words})


def train(nlp: Language, examples: list[Example], epochs: int = 12) -> Any:
    """The tagger, trained on the examples."""
    nlp.initialize(lambda: examples)
    TAGGER.train(nlp, examples, epochs)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger(nlp.make_doc("now"))  # the weights that learn become those that tag
    return tagger


def example_of(
    nlp: Language, text: str, *, words: list[str] | None = None, **annotations: Any
) -> Example:
    """A sentence word/TAG word/TAG; a tag may be empty. words: other tokens to predict."""
    (gold_words, tags), *_ = tagged_sentences(text)
    reference = make_doc(nlp.vocab, gold_words, tags=tags)
    predicted = make_doc(nlp.vocab, words or gold_words, **annotations)
    assert predicted.text == reference.text
    return Example(predicted, reference)


def tags(doc: Doc) -> list[str]:
    return [token.tag_ for token in doc]


@pytest.fixture(scope="module")
def tiny() -> Language:
    """A tagger of few labels, whose label sequences can be enumerated."""
    nlp = TAGGER.pipeline()
    train(nlp, tagging_examples(nlp.vocab, TINY))
    return nlp


def sequence_scores(tagger: Any, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """All label sequences of a Doc of one sentence, and their scores."""
    tokens = tagger.model.reader.read([doc])
    emissions = tagger.model.emissions(tokens, 0)
    transitions = tagger.model.weights.transitions
    n, K = emissions.shape
    sequences = np.array(list(product(range(K), repeat=n)))
    scores = emissions[np.arange(n), sequences].sum(axis=1)
    scores += transitions[K, sequences[:, 0]] + transitions[K + 1, sequences[:, -1]]
    scores += transitions[sequences[:, :-1], sequences[:, 1:]].sum(axis=1)
    return sequences, scores


# TAG and POS


def test_tags_by_default(trained_tagger: Language) -> None:
    doc = trained_tagger("The old dog barks.")
    assert tags(doc) == ["DT", "JJ", "NN", "VBZ", "."]
    assert all(token.pos == 0 for token in doc)
    assert doc.has_annotation("TAG", require_complete=True)


def test_universal_tags(trained_tagger: Language) -> None:
    nlp = TAGGER.pipeline(attribute="POS")
    examples = tagging_examples(nlp.vocab)
    tagger = train(nlp, examples)
    assert set(tagger.labels) == set(UNIVERSAL.values())
    doc = nlp("The old dog \n barks.")
    assert [token.pos_ for token in doc] == ["DET", "ADJ", "NOUN", "SPACE", "VERB", "PUNCT"]
    assert all(token.tag == 0 for token in doc)
    scores = nlp.evaluate(examples)
    assert scores["pos_acc"] == 1.0
    assert "tag_acc" not in scores
    other = copy_of(nlp)
    assert [token.pos_ for token in other("The old dog.")] == ["DET", "ADJ", "NOUN", "PUNCT"]


def test_score_of_tags(trained_tagger: Language) -> None:
    scores = trained_tagger.evaluate(tagging_examples(trained_tagger.vocab))
    assert scores["tag_acc"] == 1.0
    assert "pos_acc" not in scores


def test_score_weights_of_the_config() -> None:
    nlp = TAGGER.pipeline()
    assert nlp.get_pipe_meta("ssvm_tagger").default_score_weights["tag_acc"] == 1.0
    assert nlp.get_pipe_meta("ssvm_tagger").assigns == ["token.tag"]


def test_both_attributes_in_one_pipeline_with_tags_as_features() -> None:
    nlp = TAGGER.pipeline(overwrite=True)
    nlp.add_pipe(
        "ssvm_tagger", name="universal", config={"attribute": "POS", "templates": ["tag[0]"]}
    )
    examples = tagging_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        losses = nlp.update(examples, annotates=["ssvm_tagger"])
    assert set(losses) == {"ssvm_tagger", "ssvm_tagger_gap", "universal", "universal_gap"}
    scores = nlp.evaluate(examples)
    assert scores["tag_acc"] == 1.0
    assert scores["pos_acc"] == 1.0
    doc = nlp("Mary cuts bread.")
    assert [token.pos_ for token in doc] == [UNIVERSAL[tag] for tag in tags(doc)]


# Gold that is missing or cut in another way


def test_gold_labels(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    DT, NN, VB = map(tagger.labels.index, ("DT", "NN", "VB"))
    whole = example_of(tiny, "the/DT dog/NN barks/VB")
    partly = example_of(tiny, "the/ dog/NN barks/")
    missing = example_of(tiny, "the/ dog/")
    empty = Example(Doc(tiny.vocab), Doc(tiny.vocab))
    # one token of the reference is two in the prediction
    cut = Example(
        Doc(tiny.vocab, words=["the", "watch", "dog"], spaces=[True, False, False]),
        Doc(tiny.vocab, words=["the", "watchdog"], tags=["DT", "NN"]),
    )
    # two of the reference are one in the prediction
    joined = Example(
        Doc(tiny.vocab, words=["the", "watchdog"]),
        Doc(
            tiny.vocab,
            words=["the", "watch", "dog"],
            spaces=[True, False, False],
            tags=["DT", "VB", "NN"],
        ),
    )
    gold = tagger.gold_labels([whole, partly, missing, empty, cut, joined])
    assert [list(labels) for labels in gold] == [
        [DT, NN, VB],
        [-1, NN, -1],
        [-1, -1],
        [],
        [DT, NN, NN],
        [DT, -1],
    ]
    assert tagger.gold_labels([]) == []


def test_whitespace_has_no_gold_label(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    words, gold = ["the", "\n", "dog"], ["DT", "_SP", "NN"]
    reference = Doc(tiny.vocab, words=words, tags=gold)
    (labels,) = tagger.gold_labels([Example(Doc(tiny.vocab, words=words), reference)])
    assert labels[1] == -1
    assert [tagger.labels[k] for k in labels[[0, 2]]] == ["DT", "NN"]


def test_whitespace_is_no_label() -> None:
    nlp = TAGGER.pipeline()
    words, gold = ["the", "\n", "dog"], ["DT", "_SP", "NN"]
    examples = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=gold))]
    assert train(nlp, examples).labels == ("DT", "NN")


def test_missing_gold_teaches_nothing() -> None:
    """Examples without tags change neither the weights nor the objective."""
    nlp = TAGGER.pipeline()
    tagger = train(nlp, tagging_examples(nlp.vocab, TINY), 5)
    mixed = TAGGER.pipeline()
    examples = tagging_examples(mixed.vocab, TINY)
    bare = [example_of(mixed, "an/ unknown/ word/"), example_of(mixed, "the/ dog/")]
    with_bare = train(mixed, [examples[0], bare[0], *examples[1:], bare[1]], 5)
    assert with_bare.labels == tagger.labels
    objective = with_bare.objective([*examples, *bare])
    assert objective == with_bare.objective(examples)
    assert objective.gap < 0.9
    assert [tags(doc) for doc in mixed.pipe(TINY.replace("/DT", "").splitlines())]


def test_partial_gold_is_never_worse_than_whole_gold(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    values = [
        tagger.objective([example_of(tiny, text)]).primal
        for text in (
            "the/DT bark/DT falls/VB",
            "the/DT bark/ falls/VB",
            "the/ bark/ falls/VB",
            "the/ bark/ falls/",
        )
    ]
    assert values[0] > values[1] >= values[2] >= values[3]
    # what is left of the last is the norm of the weights alone
    assert values[3] == tagger.objective([]).primal


def test_learns_from_partial_gold() -> None:
    nlp = TAGGER.pipeline()
    text = (
        TINY.replace("bark/NN", "bark/")
        .replace("a/DT", "a/")
        .replace("sleeps/VB the", "sleeps/ the")
    )
    examples = [example_of(nlp, line) for line in text.strip().splitlines()]
    assert sum(token.tag == 0 for eg in examples for token in eg.reference) == 3
    tagger = train(nlp, examples)
    assert tagger.labels == ("DT", "NN", "VB")
    for words, gold in tagged_sentences(text):
        predicted = tags(nlp(make_doc(nlp.vocab, words)))
        assert all(predicted)
        assert [tag if known else "" for tag, known in zip(predicted, gold, strict=True)] == gold
    assert tagger.objective(examples).gap < 0.5


def test_learns_from_tokens_that_are_cut_in_another_way() -> None:
    nlp = TAGGER.pipeline()
    examples = tagging_examples(nlp.vocab, TINY)
    reference = Doc(nlp.vocab, words=["a", "watchdog", "barks"], tags=["DT", "NN", "VB"])
    predicted = Doc(
        nlp.vocab, words=["a", "watch", "dog", "barks"], spaces=[True, False, True, False]
    )
    train(nlp, [*examples, Example(predicted, reference)])
    assert tags(nlp(predicted.copy())) == ["DT", "NN", "NN", "VB"]
    assert nlp.evaluate([Example(predicted, reference)])["tag_acc"] is not None


# Whitespace


def test_whitespace_tokens_are_not_part_of_the_sequence(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    plain = trained_tagger("The old dog barks.")
    spaced = trained_tagger(" The  old \n\n dog\tbarks .\n")
    whitespace = np.array([token.is_space for token in spaced])
    assert whitespace.sum() >= 4
    assert {token.tag_ for token in spaced if token.is_space} == {"_SP"}
    assert [token.tag_ for token in spaced if not token.is_space] == tags(plain)
    margins = tagger.scores(spaced)
    assert (margins[whitespace] == 0).all()
    assert margins[~whitespace] == pytest.approx(tagger.scores(plain))


def test_nothing_but_whitespace(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    doc = trained_tagger(" \n \n\n")
    assert len(doc) > 0
    assert set(tags(doc)) == {"_SP"}
    assert list(tagger.scores(doc)) == [0.0] * len(doc)
    with pytest.raises(ValueError, match="whitespace"):
        tagger.explain(doc, 0)


def test_whitespace_does_not_disturb_learning() -> None:
    def tagger_of(spaced: bool) -> Any:
        nlp = TAGGER.pipeline()
        examples = []
        for words, gold in tagged_sentences(TINY):
            if spaced:
                words, gold = [words[0], "\n", *words[1:]], [gold[0], "_SP", *gold[1:]]
            reference = Doc(nlp.vocab, words=words, tags=gold)
            examples.append(Example(Doc(nlp.vocab, words=words), reference))
        return train(nlp, examples)

    saved = [tagger_of(spaced).to_bytes(exclude=["vocab"]) for spaced in (False, True)]
    assert saved[0] == saved[1]


# Sentences


TWO = ["The", "old", "dog", "barks", ".", "Open", "the", "door", "now", "!"]
STARTS = [i in (0, 5) for i in range(len(TWO))]


def test_sentences_are_tagged_each_by_itself(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    both = trained_tagger(make_doc(trained_tagger.vocab, TWO, sent_starts=STARTS))
    parts = [make_doc(trained_tagger.vocab, words) for words in (TWO[:5], TWO[5:])]
    assert tags(both) == [tag for doc in parts for tag in tags(trained_tagger(doc))]
    margins = np.concatenate([tagger.scores(doc) for doc in parts])
    assert tagger.scores(both) == pytest.approx(margins)
    whole = make_doc(trained_tagger.vocab, TWO)
    assert tagger.scores(whole) != pytest.approx(margins)


def test_features_do_not_reach_over_the_end_of_a_sentence(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")

    def seen(doc: Doc, i: int, template: str) -> str | None:
        reasons = {reason.template: reason.value for reason in tagger.explain(doc, i).reasons}
        return reasons.get(template)

    divided = make_doc(trained_tagger.vocab, TWO, sent_starts=STARTS)
    whole = make_doc(trained_tagger.vocab, TWO)
    assert seen(divided, 4, "lower[1]") == "<end>"
    assert seen(divided, 5, "lower[-1]") == "<start>"
    assert seen(divided, 0, "lower[-1]") == seen(whole, 0, "lower[-1]") == "<start>"
    # in the whole Doc the ends are not there, and the token beyond can be seen
    assert seen(whole, 4, "lower[1]") != "<end>"
    assert seen(whole, 5, "lower[-1]") != "<start>"
    assert seen(divided, 5, "shape[1]") == seen(whole, 5, "shape[1]") == "x"
    assert seen(divided, 4, "shape[1]") == "<end>"
    assert seen(whole, 5, "shape[0]") == "Xx"


def test_a_sentence_is_an_example() -> None:
    nlp = TAGGER.pipeline()
    gold = ["DT", "JJ", "NN", "VBZ", ".", "VB", "DT", "NN", "RB", "."]
    for starts, number in [(STARTS, 2), (None, 1)]:
        reference = make_doc(nlp.vocab, TWO, tags=gold, sent_starts=STARTS)
        predicted = make_doc(nlp.vocab, TWO, sent_starts=starts)
        train(nlp, [Example(predicted, reference)], 2)
        assert TAGGER.number_of_examples(nlp) == number


# Preset tags


def test_preset_tags_are_kept(trained_tagger: Language) -> None:
    doc = make_doc(trained_tagger.vocab, ["The", "old", "dog", "barks", "."])
    doc[1].tag_ = "NN"
    doc[3].tag_ = "unheard of"
    predicted = tags(trained_tagger(doc))
    assert predicted[1] == "NN"
    assert predicted[3] == "unheard of"
    assert predicted[0] == "DT"
    assert all(predicted)


def test_a_wholly_preset_doc_stays_as_it_is(trained_tagger: Language) -> None:
    words = ["The", "old", "dog", "barks"]
    preset = ["VB", "VB", "IN", "other"]
    doc = make_doc(trained_tagger.vocab, words, tags=preset)
    assert tags(trained_tagger(doc)) == preset


def test_overwrite_replaces_tags(trained_tagger: Language) -> None:
    nlp = TAGGER.pipeline(overwrite=True)
    source: Any = trained_tagger.get_pipe("ssvm_tagger")
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger.from_bytes(source.to_bytes(), exclude=["cfg"])
    words = ["The", "old", "dog", "barks"]
    doc = nlp(make_doc(nlp.vocab, words, tags=["VB", "VB", "IN", "other"]))
    assert tags(doc) == ["DT", "JJ", "NN", "VBZ"]


def test_preset_tags_of_one_doc_leave_others_alone(trained_tagger: Language) -> None:
    plain, preset = (make_doc(trained_tagger.vocab, ["The", "old", "dog"]) for _ in range(2))
    preset[0].tag_ = "VB"
    docs = list(trained_tagger.pipe([plain, preset]))
    assert tags(docs[0]) == ["DT", "JJ", "NN"]
    assert tags(docs[1])[0] == "VB"


@given(
    words=st.lists(st.sampled_from([*TINY_WORDS, "cats", "Q"]), min_size=1, max_size=6),
    data=st.data(),
)
def test_the_best_sequence_with_the_preset_tags_is_found(
    tiny: Language, words: list[str], data: st.DataObject
) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    options = [None, *range(len(tagger.labels))]
    n = len(words)
    preset = data.draw(st.lists(st.sampled_from(options), min_size=n, max_size=n))
    doc = Doc(tiny.vocab, words=words)
    sequences, scores = sequence_scores(tagger, doc)
    for token, label in zip(doc, preset, strict=True):
        if label is not None:
            token.tag_ = tagger.labels[label]
            scores[sequences[:, token.i] != label] = -np.inf
    found = [tagger.labels.index(tag) for tag in tags(tiny(doc))]
    assert scores[(sequences == found).all(axis=1)].item() == pytest.approx(scores.max())


# Labels


def test_labels_round_trip_without_a_corpus_pass(tiny: Language) -> None:
    data = tiny.get_pipe("ssvm_tagger").label_data
    nlp = TAGGER.pipeline()
    passes = 0

    def get_examples() -> list[Example]:
        nonlocal passes
        passes += 1
        return tagging_examples(nlp.vocab, TINY)

    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger.initialize(get_examples, nlp=nlp, labels=list(data))
    assert passes == 0
    assert tagger.labels == data == tagger.label_data
    TAGGER.train(nlp, tagging_examples(nlp.vocab, TINY), 12)
    assert tagger.to_bytes(exclude=["vocab"]) == tiny.get_pipe("ssvm_tagger").to_bytes(
        exclude=["vocab"]
    )
    tagger.initialize(get_examples, nlp=nlp)
    assert passes == 1


def test_labels_that_no_example_has(tiny: Language) -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger.initialize(list, nlp=nlp, labels=["UH", "VB", "NN", "DT"])
    assert set(tagger.labels) == {"UH", "VB", "NN", "DT"}
    TAGGER.train(nlp, tagging_examples(nlp.vocab, TINY), 12)
    assert [tags(nlp(Doc(nlp.vocab, words=words))) for words, _ in tagged_sentences(TINY)] == [
        gold for _, gold in tagged_sentences(TINY)
    ]


def test_labels_are_strings_of_the_vocabulary(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    other = spacy.blank("en")
    loaded: Any = other.add_pipe("ssvm_tagger")
    loaded.from_bytes(tagger.to_bytes(exclude=["vocab"]))
    assert all(label in other.vocab.strings for label in (*tagger.labels, "_SP"))
    assert tags(other("the\n\ndog")) == ["DT", "_SP", "NN"]


def test_add_label_before_training() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    assert tagger.add_label("UH") == 1
    assert tagger.add_label("UH") == 0
    assert tagger.labels == ("UH",)
    train(nlp, tagging_examples(nlp.vocab, TINY))
    assert set(tagger.labels) == {"DT", "NN", "UH", "VB"}
    assert tagger.add_label("DT") == 0


def test_add_label_between_initialize_and_update() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    nlp.initialize(lambda: tagging_examples(nlp.vocab, TINY))
    assert tagger.add_label("UH") == 1
    assert set(tagger.labels) == {"DT", "NN", "UH", "VB"}
    example = example_of(nlp, "oh/UH the/DT dog/NN")
    TAGGER.train(nlp, [*tagging_examples(nlp.vocab, TINY), example], 12)
    assert tags(nlp(make_doc(nlp.vocab, ["oh", "the", "dog"]))) == ["UH", "DT", "NN"]


@pytest.mark.parametrize("loaded", [False, True], ids=["learning", "loaded"])
def test_add_label_after_training_explains_why_not(tiny: Language, loaded: bool) -> None:
    nlp = copy_of(tiny) if loaded else tiny
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    with pytest.raises(ValueError, match="cannot add the label 'UH' to a trained model"):
        tagger.add_label("UH")
    assert tagger.labels == ("DT", "NN", "VB")
    assert tagger.add_label("NN") == 0


# Confidence and reasons


word_lists = st.lists(st.sampled_from([*TINY_WORDS, "cats", "Q", "\n"]), min_size=1, max_size=6)


@given(words=word_lists)
@example(words=["the", "\n", "dog", "barks"])
@example(words=["Q"])
def test_margins_against_enumeration(tiny: Language, words: list[str]) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    doc = Doc(tiny.vocab, words=words)
    margins = tagger.scores(doc)
    assert margins.dtype == np.float64
    assert margins.shape == (len(doc),)
    positions = [token.i for token in doc if not token.is_space]
    assert (np.delete(margins, positions) == 0).all()
    if positions:
        sequences, scores = sequence_scores(tagger, doc)
        best = sequences[scores.argmax()]
        for t, i in enumerate(positions):
            others = scores[sequences[:, t] != best[t]]
            assert margins[i] == pytest.approx(scores.max() - others.max(), abs=1e-9)


@given(words=word_lists)
def test_the_best_sequence_is_found(tiny: Language, words: list[str]) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    doc = Doc(tiny.vocab, words=words)
    if all(token.is_space for token in doc):
        assert set(tags(tiny(doc))) == {"_SP"}
        return
    sequences, scores = sequence_scores(tagger, doc)
    found = [tagger.labels.index(token.tag_) for token in tiny(doc) if not token.is_space]
    assert scores[(sequences == found).all(axis=1)].item() == pytest.approx(scores.max())


def test_margins_ignore_preset_tags(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    words = ["the", "dog", "barks"]
    preset = Doc(tiny.vocab, words=words, tags=["VB", "VB", "DT"])
    margins = tagger.scores(preset)
    assert margins == pytest.approx(tagger.scores(Doc(tiny.vocab, words=words)))
    assert (margins > 0).all()
    assert tags(preset) == ["VB", "VB", "DT"]


def test_margins_with_a_single_label_are_infinite() -> None:
    nlp = TAGGER.pipeline()
    tagger = train(nlp, [example_of(nlp, "dog/NN cat/NN")], 2)
    assert tags(nlp("dog bird")) == ["NN", "NN"]
    assert all(math.isinf(margin) and margin > 0 for margin in tagger.scores(nlp("dog bird")))
    with pytest.raises(ValueError, match="token 0 can only have the label 'NN'"):
        tagger.explain(nlp("dog bird"), 0)


def test_margins_of_an_empty_doc(tiny: Language) -> None:
    assert tiny.get_pipe("ssvm_tagger").scores(Doc(tiny.vocab)).shape == (0,)


def test_margins_are_larger_where_words_are_known(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    known = tagger.scores(Doc(tiny.vocab, words=["the", "dog", "barks"]))
    unknown = tagger.scores(Doc(tiny.vocab, words=["vvv", "www", "xxx"]))
    assert known.min() > unknown.max()


@pytest.mark.parametrize("text", ["The old dog barks.", "Kings  saw \n the ship.", "Unseen words"])
def test_reasons_add_up_to_the_margin(trained_tagger: Language, text: str) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    doc = trained_tagger(text)
    margins = tagger.scores(doc)
    explained = 0
    for token in doc:
        if token.is_space:
            continue
        explanation = tagger.explain(doc, token)
        assert explanation == tagger.explain(doc, token.i)
        assert explanation.token == token.text
        assert explanation.label == token.tag_ != explanation.runner_up
        assert explanation.runner_up in tagger.labels
        assert explanation.margin == pytest.approx(margins[token.i])
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin, abs=1e-9)
        explained += 1
    assert explained >= 2


def test_reasons_add_up_in_docs_of_many_sentences(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    doc = trained_tagger(make_doc(trained_tagger.vocab, TWO, sent_starts=STARTS))
    for token, margin in zip(doc, tagger.scores(doc), strict=True):
        explanation = tagger.explain(doc, token)
        assert explanation.label == token.tag_
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(margin, abs=1e-9)


def test_reasons_name_templates_and_values() -> None:
    templates = ["lower[0]", "suffix2[-1]", "shape[0]+lower[1]"]
    nlp = TAGGER.pipeline(templates=templates)
    tagger = train(nlp, tagging_examples(nlp.vocab, TINY))
    doc = nlp("the dog barks")
    reasons = {reason.template: reason for reason in tagger.explain(doc, 1).reasons}
    assert set(reasons) == {*templates, "transitions", "labels of other tokens"}
    assert reasons["lower[0]"].value == "dog"
    assert reasons["suffix2[-1]"].value == "he"
    assert reasons["shape[0]+lower[1]"].value == "x + barks"
    assert reasons["lower[0]"].weight > reasons["lower[0]"].runner_up_weight
    first = {reason.template: reason.value for reason in tagger.explain(doc, 0).reasons}
    assert first["suffix2[-1]"] == "<start>"
    last = {reason.template: reason.value for reason in tagger.explain(doc, -1).reasons}
    assert last["shape[0]+lower[1]"] == "x + <end>"


def test_weights_of_reasons_make_the_emissions(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    doc = tiny("the dog barks")
    explanation = tagger.explain(doc, 1)
    emissions = tagger.model.emissions(tagger.model.reader.read([doc]), 0)[1]
    features = explanation.reasons[:-2]
    assert sum(r.weight for r in features) == pytest.approx(
        emissions[tagger.labels.index(explanation.label)]
    )
    assert sum(r.runner_up_weight for r in features) == pytest.approx(
        emissions[tagger.labels.index(explanation.runner_up)]
    )


def test_an_explanation_prints_as_a_table(tiny: Language) -> None:
    explanation = tiny.get_pipe("ssvm_tagger").explain(tiny("the dog barks"), 1)
    lines = str(explanation).splitlines()
    assert lines[0].startswith("'dog': NN, not ")
    rows = [line for line in lines if line.strip()]
    header = next(row for row in rows if row.startswith("template"))
    assert header.split() == ["template", "value", "NN", explanation.runner_up, "difference"]
    for reason in explanation.reasons:
        row = next(row for row in rows if row.startswith(reason.template + " "))
        assert f"{reason.difference:+.3f}" in row
        assert reason.value in row
    assert rows[-1].split() == ["margin", f"{explanation.margin:+.3f}"]


def test_explain_refuses_tokens_that_are_not_there(tiny: Language) -> None:
    with pytest.raises(IndexError):
        tiny.get_pipe("ssvm_tagger").explain(tiny("the dog"), 2)


# Settings


def test_costs_change_the_objective(tiny: Language) -> None:
    source: Any = tiny.get_pipe("ssvm_tagger")

    def objective(costs: dict[str, dict[str, float]]) -> float:
        nlp = TAGGER.pipeline(costs=costs)
        tagger: Any = nlp.get_pipe("ssvm_tagger").from_bytes(source.to_bytes())
        return float(tagger.objective(tagging_examples(nlp.vocab, TINY)).primal)

    plain = objective({})
    assert plain == pytest.approx(source.objective(tagging_examples(tiny.vocab, TINY)).primal)
    assert objective({"NN": {"VB": 1.0}}) == plain
    assert objective({"NN": {"VB": 9.0}}) > 1.5 * plain
    free = {gold: dict.fromkeys({"DT", "NN", "VB"} - {gold}, 0.0) for gold in ("DT", "NN", "VB")}
    assert objective(free) < plain


def test_costs_change_what_is_learned() -> None:
    """Of two readings that occur equally often, the one that is dear to miss wins."""

    def learned(costs: dict[str, dict[str, float]]) -> list[str]:
        nlp = TAGGER.pipeline(templates=["lower[0]"], costs=costs)
        train(nlp, [example_of(nlp, "bark/NN"), example_of(nlp, "bark/VB")], 30)
        return tags(nlp("bark"))

    assert learned({"NN": {"VB": 4.0}}) == ["NN"]
    assert learned({"VB": {"NN": 4.0}}) == ["VB"]


def test_min_count_leaves_rare_features_out() -> None:
    text = "dog/NN\ndog/NN\nbarks/VB\nbarks/VB\nfalls/VB\n"

    def tagger_of(min_count: int) -> tuple[Language, Any]:
        nlp = TAGGER.pipeline(templates=["lower[0]"], min_count=min_count)
        return nlp, train(nlp, [example_of(nlp, line) for line in text.split()])

    nlp, tagger = tagger_of(1)
    assert tagger.model.number_of_rows == 3
    assert tags(nlp("falls")) == ["VB"]
    nlp, tagger = tagger_of(2)
    assert tagger.model.number_of_rows == 2
    assert tagger.scores(nlp("falls")) == pytest.approx(tagger.scores(nlp("unseen")))
    assert tags(nlp("dog")) == ["NN"]
    assert tags(nlp("barks")) == ["VB"]


def test_hashed_features() -> None:
    nlp = TAGGER.pipeline(hash_bits=16)
    examples = tagging_examples(nlp.vocab)
    tagger = train(nlp, examples)
    assert nlp.evaluate(examples)["tag_acc"] == 1.0
    other = copy_of(nlp)
    assert TAGGER.annotate(other) == TAGGER.gold()
    loaded: Any = other.get_pipe("ssvm_tagger")
    assert loaded.objective(examples).primal == pytest.approx(tagger.objective(examples).primal)
    doc = nlp("The old dog barks.")
    explanation = tagger.explain(doc, 2)
    assert sum(r.difference for r in explanation.reasons) == pytest.approx(explanation.margin)


def test_few_hashed_rows_are_shared() -> None:
    def number_of_rows(hash_bits: int | None) -> int:
        nlp = TAGGER.pipeline(hash_bits=hash_bits, templates=["lower[0]"])
        lines = [f"word{i}/{('NN', 'VB')[i % 2]}" for i in range(1000)]
        tagger = train(nlp, [example_of(nlp, line) for line in lines], 2)
        return int(tagger.model.number_of_rows)

    assert number_of_rows(None) == 1000
    assert number_of_rows(8) <= 256


# Word clusters

CLUSTERS = "0010\tdog\t10\n0010\thound\t3\n110100\tbarks\t5\n110100\tyelps\n0111\tthe\t9\n"


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    path = tmp_path / "clusters.tsv"
    path.write_text(CLUSTERS, encoding="utf8")
    return path


def test_clusters_help_with_unseen_words(clusters: Path, tmp_path: Path) -> None:
    text = "dog/NN\nbarks/VB\nthe/DT\n"

    def pipeline() -> Language:
        nlp = TAGGER.pipeline(templates=["lower[0]", "cluster4[0]", "cluster6[0]"])
        tagger: Any = nlp.get_pipe("ssvm_tagger")
        examples = [example_of(nlp, line) for line in text.split()]
        tagger.initialize(lambda: examples, nlp=nlp, clusters=clusters)
        TAGGER.train(nlp, examples, 10)
        return nlp

    nlp = pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    known, unknown = nlp("hound"), nlp("stone")
    assert tags(known) == ["NN"]
    assert tags(nlp("Yelps")) == ["VB"], "a word is looked up in lower case too"
    assert tagger.scores(known)[0] > tagger.scores(unknown)[0]
    reasons = {r.template: r.value for r in tagger.explain(known, 0).reasons}
    assert reasons["cluster4[0]"] == "0010"

    nlp.to_disk(tmp_path / "pipeline")
    data = tagger.to_bytes()
    clusters.unlink()
    other = TAGGER.pipeline(templates=["lower[0]"])
    other.get_pipe("ssvm_tagger").from_bytes(data)
    for loaded in (spacy.load(tmp_path / "pipeline"), other):
        assert tags(loaded("hound")) == ["NN"]
        assert tags(loaded("yelps")) == ["VB"]
        copied: Any = loaded.get_pipe("ssvm_tagger")
        assert copied.scores(loaded("hound")) == pytest.approx(tagger.scores(known))


def test_clusters_from_the_config(clusters: Path) -> None:
    nlp = TAGGER.pipeline(templates=["cluster4[0]"])
    nlp.config["initialize"]["components"]["ssvm_tagger"] = {"clusters": str(clusters)}
    train(nlp, [example_of(nlp, line) for line in ("dog/NN", "barks/VB")])
    assert tags(nlp("hound")) == ["NN"]
    assert tags(nlp("yelps")) == ["VB"]


# Other annotations as features


@pytest.fixture
def is_bold() -> Iterator[None]:
    Token.set_extension("is_bold", default=None)
    yield
    Token.remove_extension("is_bold")


@pytest.mark.usefixtures("is_bold")
def test_extension_attributes_are_features() -> None:
    nlp = TAGGER.pipeline(templates=["_.is_bold[0]", "lower[0]+_.is_bold[1]"])
    examples = [example_of(nlp, "bark/NN"), example_of(nlp, "bark/VB")]
    examples[0].predicted[0]._.is_bold = True
    tagger = train(nlp, examples)
    bold, plain = nlp.make_doc("anything"), nlp.make_doc("bark")
    bold[0]._.is_bold = True
    explanation = tagger.explain(bold, 0)
    assert explanation.label == "NN"
    assert ("_.is_bold[0]", "True") in {(r.template, r.value) for r in explanation.reasons}
    assert tags(nlp(bold)) == ["NN"]
    assert tags(nlp(plain)) == ["VB"]
    lacking = {r.template for r in tagger.explain(plain, 0).reasons}
    assert "_.is_bold[0]" not in lacking, "an attribute that is not set fires nothing"


def test_token_attributes_are_features() -> None:
    nlp = TAGGER.pipeline(templates=["lemma[0]", "ent_type[0]", "like_num[0]"])
    examples = [example_of(nlp, "a/NN"), example_of(nlp, "a/VB")]
    for eg, lemma in zip(examples, ("one", "two"), strict=True):
        eg.predicted[0].lemma_ = lemma
    tagger = train(nlp, examples)
    docs = [Doc(nlp.vocab, words=["x"], lemmas=[lemma]) for lemma in ("one", "two")]
    assert [tags(doc) for doc in nlp.pipe(docs)] == [["NN"], ["VB"]]
    reasons = tagger.explain(docs[1], 0).reasons
    assert (reasons[0].template, reasons[0].value) == ("lemma[0]", "two")


def test_templates_are_part_of_the_saved_model(tiny: Language) -> None:
    """A component with other templates in its config takes those of what it loads."""
    source: Any = tiny.get_pipe("ssvm_tagger")
    nlp = TAGGER.pipeline(templates=["lower[0]"])
    loaded: Any = nlp.get_pipe("ssvm_tagger").from_bytes(source.to_bytes())
    for words, gold in tagged_sentences(TINY):
        doc = Doc(nlp.vocab, words=words)
        assert loaded.scores(doc) == pytest.approx(source.scores(Doc(tiny.vocab, words=words)))
        assert tags(nlp(doc)) == gold
