"""What ``ssvm_ner`` does with entities: legality, gold, preset ones, scores, costs."""

import math
import re
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import brute
import numpy as np
import pytest
import spacy
from compact_weights import compact_of
from corpora import entity_examples, make_doc, spans_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import compiled_only
from pipelines import RECOGNIZER, copy_of, entity_of_each_token
from spacy.cli.find_threshold import find_threshold
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_ssvm.chains.schemes import SCHEMES

NAME = RECOGNIZER.name


WORDS = "abcdefghijkl"


TYPES = ("LOC", "PER")


schemes = pytest.mark.parametrize("scheme", SCHEMES)


Entity = tuple[int, int, str]


def recognizer_of(nlp: Language) -> Any:
    return nlp.get_pipe(NAME)


def train(nlp: Language, examples: list[Example], epochs: int = 15) -> Any:
    """The recognizer, trained on the examples."""
    nlp.initialize(lambda: examples)
    RECOGNIZER.train(nlp, examples, epochs)
    recognizer = recognizer_of(nlp)
    recognizer(nlp.make_doc("now"))  # the weights that learn become those that predict
    return recognizer


@cache
def _small(scheme: str, overwrite: bool) -> Language:
    nlp = RECOGNIZER.pipeline(
        scheme=scheme, overwrite=overwrite, templates=["lower[0]", "lower[-1]+lower[0]"]
    )
    random = Random(0)
    lines = []
    for _ in range(60):
        words = random.choices(WORDS, k=6)
        words[2] = f"[{words[2]} {words[3]}]{random.choice(TYPES)}"
        words[5] = f"[{words[5]}]{random.choice(TYPES)}"
        lines.append(" ".join(words))
    train(nlp, entity_examples(nlp.vocab, "\n".join(lines)), 2)
    return nlp


def small(scheme: str, *, overwrite: bool = False) -> Language:
    """A pipeline of two types over the words a to l, whose weights may be set."""
    return copy_of(_small(scheme, overwrite))


def set_weights(recognizer: Any, transitions: np.ndarray, emissions: np.ndarray) -> None:
    """Transitions [K + 2, K], and the weights of each feature row [rows, K]."""
    model = recognizer.model
    weights, _ = compact_of(emissions)
    label_pairs = transitions + recognizer.scheme.legality()
    model.set_weights(model.table, label_pairs, weights, model.template_rows, None)


def shapes(recognizer: Any) -> tuple[int, int]:
    """Labels and feature rows of a model."""
    model = recognizer.model
    return len(model.labels), len(model.weights.row_starts) - 1


def set_random_weights(recognizer: Any, seed: int, scale: float = 1.0) -> None:
    """Weights without ties."""
    K, rows = shapes(recognizer)
    random = np.random.default_rng(seed)
    set_weights(
        recognizer,
        scale * random.normal(size=(K + 2, K)),
        scale * random.normal(size=(rows, K)),
    )


def force(recognizer: Any, doc: Doc, labels: list[int]) -> None:
    """Weights that make these labels by far the best ones of the words of a Doc."""
    K, rows = shapes(recognizer)
    emissions = np.zeros((rows, K))
    tokens = recognizer.model.reader.read([doc])
    words = [token for token in doc if not token.is_space]
    assert len({word.text for word in words}) == len(words), "a word has one label"
    for s in range(len(tokens.sentence_starts) - 1):
        first, end = tokens.sentence_starts[s : s + 2]
        for t in range(end - first):
            row = recognizer.model.row_of(tokens, s, t, 0)
            label = labels[words[first + t].i]
            assert row >= 0
            assert label >= 0
            emissions[row, label] = 10.0
    set_weights(recognizer, np.zeros((K + 2, K)), emissions)


def entities(doc: Doc) -> list[Entity]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def example_of(
    nlp: Language,
    words: list[str],
    ents: list[Entity],
    *,
    missing: tuple[int, ...] = (),
    blocked: tuple[int, ...] = (),
    predicted: Doc | None = None,
    sent_starts: list[bool] | None = None,
) -> Example:
    """An example whose reference has these entities."""
    reference = Doc(nlp.vocab, words=words)
    reference.set_ents(
        [Span(reference, *ent) for ent in ents],
        missing=[reference[i : i + 1] for i in missing],
        blocked=[reference[i : i + 1] for i in blocked],
    )
    if predicted is None:
        predicted = Doc(nlp.vocab, words=words, sent_starts=sent_starts)
    return Example(predicted, reference)


def gold(recognizer: Any, example: Example) -> list[str]:
    """The gold labels of an example, a dash for none."""
    (labels,) = recognizer.gold_labels([example])
    assert labels.dtype == np.int64
    return ["-" if label == -1 else recognizer.model.labels[label] for label in labels]


def table(draw: Any, shape: tuple[int, int]) -> np.ndarray:
    """Whole numbers, so that there are ties, and many of them zero."""
    whole = st.sampled_from([0.0, 1.0, -1.0, 3.0, -3.0, 50.0])
    return draw(arrays(float, shape, elements=whole, fill=st.just(0.0)))


@schemes
@given(data=st.data())
def test_whatever_the_weights_the_entities_are_legal(scheme: str, data: st.DataObject) -> None:
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    K, rows = shapes(recognizer)
    transitions = table(data.draw, (K + 2, K))
    emissions = table(data.draw, (rows, K))
    set_weights(recognizer, transitions, emissions)
    words = data.draw(st.lists(st.sampled_from([*WORDS, "?", "\n"]), min_size=1, max_size=12))
    starts = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    doc = Doc(nlp.vocab, words=words, sent_starts=[True, *starts[1:]])
    labels, tokens = recognizer.model.predict([doc])
    legal = recognizer.scheme.legality()
    for first, end in zip(tokens.sentence_starts[:-1], tokens.sentence_starts[1:], strict=True):
        sentence = tuple(labels[first:end].tolist())
        assert brute.score(np.zeros((end - first, K)), legal, sentence) == 0
    nlp(doc)
    covered = [i for ent in doc.ents for i in range(ent.start, ent.end)]
    assert len(covered) == len(set(covered)), "no entities overlap"
    for ent in doc.ents:
        assert ent.label_ in TYPES
        assert ent.sent.start <= ent.start < ent.end <= ent.sent.end
        assert not ent[0].is_space
        assert not ent[-1].is_space
        assert not any(token.is_sent_start for token in ent[1:])
        assert 0 <= ent._.ssvm_score <= 1
    assert doc.has_annotation("ENT_IOB", require_complete=True)


@cache
def small_shared(scheme: str) -> Language:
    """A pipeline whose weights each test sets anew."""
    return small(scheme)


def test_illegal_sequences_are_not_learned_from_illegal_looking_words() -> None:
    """Every word was only ever an I: the first one of an entity must still begin it."""
    nlp = RECOGNIZER.pipeline(templates=["lower[0]"])
    lines = [f"[x{i} {word} y{i}]PER o" for i, word in enumerate("abcabc")]
    train(nlp, entity_examples(nlp.vocab, "\n".join(lines)))
    labels = recognizer_of(nlp).model.labels
    predicted, _ = recognizer_of(nlp).model.predict([Doc(nlp.vocab, words=["a", "b", "c"])])
    assert labels[predicted[0]][0] in "OBU"
    assert labels[predicted[2]][0] in "OLU"


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="bilou") as caught:
        RECOGNIZER.pipeline(scheme="bilou")
    for scheme in SCHEMES:
        assert scheme in str(caught.value)


def test_labels_of_model_and_component() -> None:
    for scheme, size in [("biluo", 9), ("iob2", 5), ("io", 3)]:
        recognizer = recognizer_of(small(scheme))
        assert recognizer.labels == recognizer.label_data == TYPES
        assert recognizer.model.labels == recognizer.scheme.labels
        assert len(recognizer.model.labels) == size


def test_labels_with_hyphens() -> None:
    nlp = RECOGNIZER.pipeline(templates=["lower[0]"])
    words = ["a", "b", "c", "d"]
    example = example_of(nlp, words, [(0, 2, "I-am-odd"), (3, 4, "am-odd")])
    recognizer = train(nlp, [example])
    assert recognizer.labels == ("I-am-odd", "am-odd")
    expected = [(0, 2, "I-am-odd"), (3, 4, "am-odd")]
    assert entities(nlp(Doc(nlp.vocab, words=words))) == expected
    other = copy_of(nlp)
    assert recognizer_of(other).labels == ("I-am-odd", "am-odd")
    assert entities(other(Doc(other.vocab, words=words))) == expected


@pytest.mark.parametrize("label", ["O", "*"])
def test_labels_that_stand_for_others_in_costs_are_refused(label: str) -> None:
    nlp = RECOGNIZER.pipeline()
    recognizer: Any = nlp.get_pipe(RECOGNIZER.name)
    with pytest.raises(ValueError, match=f"cannot have the label '{re.escape(label)}'"):
        recognizer.add_label(label)
    doc = Doc(nlp.vocab, words=["Ann"], ents=[f"B-{label}"])
    with pytest.raises(ValueError, match="Rename it"):
        nlp.initialize(lambda: [Example(nlp.make_doc("Ann"), doc)])


def test_add_label_before_training() -> None:
    nlp = RECOGNIZER.pipeline()
    recognizer = recognizer_of(nlp)
    assert recognizer.add_label("MISC") == 1
    assert recognizer.add_label("MISC") == 0
    train(nlp, entity_examples(nlp.vocab, "[Ann]PER saw [Rome]LOC"))
    assert set(recognizer.labels) == {"LOC", "MISC", "PER"}
    assert entities(nlp("Ann saw Rome")) == [(0, 1, "PER"), (2, 3, "LOC")]


def test_a_type_added_to_a_trained_component_is_learned() -> None:
    nlp = RECOGNIZER.pipeline()
    recognizer = train(nlp, entity_examples(nlp.vocab, "[Ann]PER saw [Rome]LOC"))
    with pytest.raises(ValueError, match="cannot have the label 'O'"):
        recognizer.add_label("O")
    assert recognizer.labels == ("LOC", "PER")
    assert recognizer.add_label("ORG") == 1
    new = entity_examples(nlp.vocab, "[Acme Ltd]ORG hired [Bob]PER")
    for _ in range(15):
        nlp.update(new, sgd=nlp.resume_training())
    for pipeline in (nlp, copy_of(nlp)):
        assert entities(pipeline("Ann saw Rome")) == [(0, 1, "PER"), (2, 3, "LOC")]
        assert entities(pipeline("Acme Ltd hired Bob")) == [(0, 2, "ORG"), (3, 4, "PER")]


def test_without_types_all_tokens_are_outside() -> None:
    nlp = RECOGNIZER.pipeline()
    nlp.initialize()
    nlp.update(entity_examples(nlp.vocab, "Ann saw Rome"))
    for pipeline in (nlp, copy_of(nlp)):
        assert [token.ent_iob_ for token in pipeline("Ann saw Rome")] == ["O", "O", "O"]
        doc = pipeline.make_doc("Ann saw Rome")
        doc.ents = [Span(doc, 0, 1, "PER")]
        assert entities(recognizer_of(pipeline)(doc)) == [(0, 1, "PER")]


A, B, C, D, E = "abcde"


EDGES: dict[str, tuple[list[str], list[Entity], dict[str, list[str]]]] = {
    "none": ([A, B], [], {
        "biluo": ["O", "O"], "iob2": ["O", "O"], "io": ["O", "O"]}),
    "at the start and the end": ([A, B, C], [(0, 1, "PER"), (2, 3, "LOC")], {
        "biluo": ["U-PER", "O", "U-LOC"], "iob2": ["B-PER", "O", "B-LOC"],
        "io": ["I-PER", "O", "I-LOC"]}),
    "a single token": ([A], [(0, 1, "LOC")], {
        "biluo": ["U-LOC"], "iob2": ["B-LOC"], "io": ["I-LOC"]}),
    "the whole Doc": ([A, B, C, D], [(0, 4, "PER")], {
        "biluo": ["B-PER", "I-PER", "I-PER", "L-PER"],
        "iob2": ["B-PER", "I-PER", "I-PER", "I-PER"], "io": ["I-PER"] * 4}),
    "neighbours of two types": ([A, B, C], [(0, 2, "PER"), (2, 3, "LOC")], {
        "biluo": ["B-PER", "L-PER", "U-LOC"], "iob2": ["B-PER", "I-PER", "B-LOC"],
        "io": ["I-PER", "I-PER", "I-LOC"]}),
    "neighbours of one type": ([A, B, C, D], [(0, 1, "PER"), (1, 3, "PER"), (3, 4, "PER")], {
        "biluo": ["U-PER", "B-PER", "L-PER", "U-PER"],
        "iob2": ["B-PER", "B-PER", "I-PER", "B-PER"], "io": ["I-PER"] * 4}),
    "whitespace inside": ([A, "\n", B, " ", " \n", C], [(0, 6, "PER")], {
        "biluo": ["B-PER", "-", "I-PER", "-", "-", "L-PER"],
        "iob2": ["B-PER", "-", "I-PER", "-", "-", "I-PER"],
        "io": ["I-PER", "-", "I-PER", "-", "-", "I-PER"]}),
    "whitespace around": (["\n", A, "\n", B, "\n"], [(1, 2, "PER"), (3, 4, "LOC")], {
        "biluo": ["-", "U-PER", "-", "U-LOC", "-"], "iob2": ["-", "B-PER", "-", "B-LOC", "-"],
        "io": ["-", "I-PER", "-", "I-LOC", "-"]}),
    "whitespace between neighbours": ([A, "\n", B], [(0, 1, "PER"), (2, 3, "PER")], {
        "biluo": ["U-PER", "-", "U-PER"], "iob2": ["B-PER", "-", "B-PER"],
        "io": ["I-PER", "-", "I-PER"]}),
    "nothing but whitespace": (["\n", " "], [], {
        "biluo": ["-", "-"], "iob2": ["-", "-"], "io": ["-", "-"]}),
}  # fmt: skip


def merged(words: list[str], ents: list[Entity], starts: tuple[int, ...] = ()) -> list[Entity]:
    """What io makes of entities: neighbours of one type are one."""
    found: list[Entity] = []
    for start, end, kind in ents:
        if found and found[-1][2] == kind:
            gap = range(found[-1][1], start)
            divided = any(i in starts for i in range(found[-1][1], start + 1))
            if not divided and all(words[i].isspace() for i in gap):
                found[-1] = (found[-1][0], end, kind)
                continue
        found.append((start, end, kind))
    return found


@schemes
@pytest.mark.parametrize("case", EDGES)
def test_gold_labels_there_and_back(scheme: str, case: str) -> None:
    words, ents, labels = EDGES[case]
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    example = example_of(nlp, words, ents)
    assert gold(recognizer, example) == labels[scheme]
    force(recognizer, example.predicted, list(recognizer.gold_labels([example])[0]))
    expected = merged(words, ents) if scheme == "io" else ents
    assert entities(nlp(example.predicted)) == expected


@st.composite
def annotated_texts(draw: Any) -> tuple[list[str], list[Entity], tuple[int, ...]]:
    """Words and whitespace, entities that begin and end with words, and sentence starts."""
    words: list[str] = []
    ents: list[Entity] = []
    starts: list[int] = []
    left = list(WORDS)
    while left and draw(st.booleans()) | (len(words) == 0):
        if draw(st.booleans()):
            starts.append(len(words))
        words += ["\n"] * draw(st.integers(0, 1))
        kind = draw(st.sampled_from([None, *TYPES]))
        first = len(words)
        words.append(left.pop(0))
        if kind is not None:
            for _ in range(draw(st.integers(0, min(3, len(left))))):
                words += ["\n"] * draw(st.integers(0, 1))
                words.append(left.pop(0))
            ents.append((first, len(words), kind))
    words += ["\n"] * draw(st.integers(0, 1))
    return words, ents, tuple(starts)


@schemes
@given(text=annotated_texts())
def test_drawn_gold_there_and_back(
    scheme: str, text: tuple[list[str], list[Entity], tuple[int, ...]]
) -> None:
    words, ents, starts = text
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    flags = [i == 0 or i in starts for i in range(len(words))]
    example = example_of(nlp, words, ents, sent_starts=flags)
    force(recognizer, example.predicted, list(recognizer.gold_labels([example])[0]))
    expected = merged(words, ents, starts) if scheme == "io" else ents
    doc = nlp(example.predicted)
    assert entities(doc) == expected
    assert doc.has_annotation("ENT_IOB", require_complete=True)


@schemes
def test_edge_cases_are_learned(scheme: str) -> None:
    """The words of each case are its own, so that nothing stands against learning it."""
    nlp = RECOGNIZER.pipeline(scheme=scheme, templates=["lower[0]"])
    examples, expected = [], []
    for i, (words, ents, _) in enumerate(EDGES.values()):
        own = [word if word.isspace() else f"{word}{i}" for word in words]
        examples.append(example_of(nlp, own, ents))
        expected.append(merged(words, ents) if scheme == "io" else ents)
    train(nlp, examples)
    docs = nlp.pipe(Doc(nlp.vocab, words=[t.text for t in eg.reference]) for eg in examples)
    assert [entities(doc) for doc in docs] == expected


@schemes
@pytest.mark.parametrize(
    ("entity", "inner"),
    [
        ((2, 6, "PER"), (3, 6, "PER")),
        ((3, 7, "PER"), (3, 6, "PER")),
        ((0, 2, "PER"), (1, 2, "PER")),
        ((0, 7, "PER"), (1, 6, "PER")),
        ((6, 7, "PER"), None),
        ((0, 1, "PER"), None),
    ],
)
def test_only_the_words_of_a_gold_entity_count(
    scheme: str, entity: Entity, inner: Entity | None
) -> None:
    """Whitespace at its start or end is no part of it, on whitespace alone there is none."""
    nlp = small(scheme)
    recognizer = recognizer_of(nlp)
    words = ["\n", "a", "\n", "b", " ", "c", "\n", "d"]
    example = example_of(nlp, words, [entity])
    assert gold(recognizer, example) == gold(
        recognizer, example_of(nlp, words, [inner] if inner else [])
    )


@schemes
def test_learns_from_entities_that_begin_with_whitespace(scheme: str) -> None:
    nlp = RECOGNIZER.pipeline(scheme=scheme)
    words = ["see", "\n", "Ann", "Lee", "\n", "there"]
    examples = [
        *entity_examples(nlp.vocab, "see [Bob]PER there\nsee me there"),
        example_of(nlp, words, [(1, 4, "PER")]),
    ]
    recognizer = train(nlp, examples)
    assert np.isfinite(recognizer.objective(examples).primal)
    assert entities(nlp(Doc(nlp.vocab, words=words))) == [(2, 4, "PER")]


def test_no_examples_and_empty_docs() -> None:
    recognizer = recognizer_of(small_shared("biluo"))
    assert recognizer.gold_labels([]) == []
    nlp = small_shared("biluo")
    assert gold(recognizer, Example(Doc(nlp.vocab), Doc(nlp.vocab))) == []


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("biluo", ["-", "U-PER", "-", "B-LOC", "L-LOC", "O"]),
        ("iob2", ["-", "B-PER", "-", "B-LOC", "I-LOC", "O"]),
        ("io", ["-", "I-PER", "-", "I-LOC", "I-LOC", "O"]),
    ],
)
def test_missing_tokens_next_to_entities(scheme: str, labels: list[str]) -> None:
    nlp = small_shared(scheme)
    example = example_of(nlp, list("abcdef"), [(1, 2, "PER"), (3, 5, "LOC")], missing=(0, 2))
    assert gold(recognizer_of(nlp), example) == labels


def test_a_doc_without_annotation_is_missing_as_a_whole() -> None:
    nlp = small_shared("biluo")
    doc = Doc(nlp.vocab, words=list("abc"))
    assert gold(recognizer_of(nlp), Example(doc, doc.copy())) == ["-", "-", "-"]


@schemes
def test_blocked_tokens_are_outside(scheme: str) -> None:
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    words = list("abcd")
    blocked = example_of(nlp, words, [(1, 2, "PER")], blocked=(0, 2), missing=(3,))
    assert blocked.reference[0].ent_iob_ == "B", "spaCy writes blocked tokens so"
    assert gold(recognizer, blocked) == gold(
        recognizer, example_of(nlp, words, [(1, 2, "PER")], missing=(3,))
    )
    assert gold(recognizer, blocked)[2:] == ["O", "-"]


def test_blocked_tokens_are_no_label() -> None:
    nlp = RECOGNIZER.pipeline()
    examples = [example_of(nlp, list("ab"), [(0, 1, "PER")], blocked=(1,))]
    assert train(nlp, examples).labels == ("PER",)


def test_missing_gold_teaches_nothing() -> None:
    """Examples without annotation change neither the labels nor the objective."""
    nlp = RECOGNIZER.pipeline()
    examples = entity_examples(nlp.vocab, "[Ann]PER saw [Rome]LOC\nwe saw it")
    words = ["Ann", "and", "we"]
    bare = [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words)),
        example_of(nlp, words, [], missing=(0, 1, 2)),
    ]
    recognizer = train(nlp, [bare[0], *examples, bare[1]], 5)
    assert recognizer.labels == TYPES
    assert recognizer.objective([*examples, *bare]) == recognizer.objective(examples)
    assert recognizer.objective(examples).gap < 0.9
    assert entities(nlp("Ann saw Rome")) == [(0, 1, "PER"), (2, 3, "LOC")]


@schemes
def test_partial_gold_is_never_worse_than_whole_gold(scheme: str) -> None:
    nlp = small(scheme)
    recognizer = recognizer_of(nlp)
    words, ents = list("abcdef"), [(1, 3, "PER"), (4, 5, "LOC")]
    values = [
        recognizer.objective([example_of(nlp, words, ents, missing=missing)]).primal
        for missing in [(), (0,), (0, 3), (0, 3, 5)]
    ]
    nothing = recognizer.objective([]).primal
    assert values == sorted(values, reverse=True)
    assert values[0] > nothing
    assert values[-1] >= nothing


@schemes
def test_learns_from_partial_gold_and_fills_in_the_rest(scheme: str) -> None:
    nlp = RECOGNIZER.pipeline(scheme=scheme)
    examples = entity_examples(nlp.vocab)
    whole = [entity_of_each_token(eg.reference) for eg in examples]
    random = Random(1)
    hidden = 0
    for eg in examples:
        reference = eg.reference
        ents = [ent for ent in reference.ents if random.random() < 0.8]
        kept = {i for ent in ents for i in range(ent.start, ent.end)}
        named = {i for ent in reference.ents for i in range(ent.start, ent.end)}
        missing = [
            reference[i : i + 1]
            for i in range(len(reference))
            if (i in named and i not in kept) or (i not in named and random.random() < 0.2)
        ]
        hidden += len(missing)
        reference.set_ents(ents, missing=missing)
    assert hidden > 30
    recognizer = train(nlp, examples)
    assert recognizer.labels == ("LOC", "ORG", "PER")
    right = total = 0
    for eg, truth in zip(examples, whole, strict=True):
        predicted = entity_of_each_token(nlp(eg.predicted.copy()))
        known = entity_of_each_token(eg.reference)
        assert all(predicted), "what is missing in the reference is not in the prediction"
        for i, label in enumerate(known):
            if label:
                # in io the borders to what is missing and between neighbours are not known
                assert predicted[i][1:] == label[1:] if scheme == "io" else predicted[i] == label
            else:
                right += predicted[i][1:] == truth[i][1:]
                total += 1
    assert total == hidden
    assert right > 0.6 * total


def cut(nlp: Language, ents: list[Entity], joined: bool) -> Example:
    """The watchdog barks loudly: one of the two endpoints has two tokens for the second one."""
    divided = {"words": ["the", "watch", "dog", "barks", "loudly"],
               "spaces": [True, False, True, True, False]}  # fmt: skip
    whole = {"words": ["the", "watchdog", "barks", "loudly"]}
    predicted, reference = (
        Doc(nlp.vocab, **words) for words in ((whole, divided) if joined else (divided, whole))
    )
    reference.set_ents([Span(reference, *ent) for ent in ents])
    return Example(predicted, reference)


@pytest.fixture
def fresh() -> Language:
    """A pipeline that has not warned yet."""
    return small("biluo")


@pytest.mark.parametrize(
    ("ents", "joined", "labels"),
    [
        ([(1, 2, "LOC"), (3, 4, "PER")], False, ["O", "B-LOC", "L-LOC", "O", "U-PER"]),
        ([(0, 2, "LOC")], False, ["B-LOC", "I-LOC", "L-LOC", "O", "O"]),
        ([(1, 3, "LOC")], True, ["O", "U-LOC", "O", "O"]),
        ([(0, 4, "LOC")], True, ["B-LOC", "I-LOC", "L-LOC", "O"]),
        ([], True, ["O", "O", "O", "O"]),
    ],
)
def test_gold_of_other_tokens_that_can_be_aligned(
    fresh: Language, ents: list[Entity], joined: bool, labels: list[str]
) -> None:
    assert gold(recognizer_of(fresh), cut(fresh, ents, joined)) == labels


@pytest.mark.parametrize(
    ("ents", "labels"),
    [
        ([(2, 3, "LOC")], ["O", "-", "O", "O"]),
        ([(2, 4, "LOC"), (4, 5, "PER")], ["O", "-", "-", "U-PER"]),
        ([(0, 2, "LOC")], ["-", "-", "O", "O"]),
    ],
)
def test_misaligned_gold_is_missing(fresh: Language, ents: list[Entity], labels: list[str]) -> None:
    with pytest.warns(UserWarning, match=NAME):
        assert gold(recognizer_of(fresh), cut(fresh, ents, True)) == labels


def test_one_warning_for_all_lost_entities(fresh: Language) -> None:
    """Two misaligned, three across a sentence start, in one batch: one warning, and no more."""
    crossing = [i in (0, 2) for i in range(4)]
    lost = [
        cut(fresh, [(2, 3, "LOC")], True),
        example_of(fresh, list("abcd"), [(1, 3, "PER")], sent_starts=crossing),
        cut(fresh, [(0, 2, "LOC")], True),
        example_of(fresh, list("abcd"), [(0, 4, "PER")], sent_starts=crossing),
        example_of(fresh, list("efgh"), [(1, 4, "LOC")], sent_starts=crossing),
    ]
    good = entity_examples(fresh.vocab, "a [b c]PER")
    with pytest.warns(UserWarning, match=NAME) as caught:
        fresh.update([*good, *lost])
    (warning,) = caught.list
    assert re.findall(r"\d+", str(warning.message)) == ["2", "3"]
    fresh.update([*good, *lost])  # would fail with another warning
    fresh.update([cut(fresh, [(1, 2, "LOC")], False), cut(fresh, [(2, 4, "LOC")], True)])


def test_misaligned_gold_warns_in_initialize_or_update_but_once() -> None:
    nlp = RECOGNIZER.pipeline()
    examples = [
        *entity_examples(nlp.vocab, "[Ann]PER saw [Rome]LOC"),
        *(cut(nlp, [(2, 3, "LOC")], True) for _ in range(7)),
    ]
    with pytest.warns(UserWarning, match="7") as caught:
        train(nlp, examples)
    assert len(caught.list) == 1
    assert entities(nlp("Ann saw Rome")) == [(0, 1, "PER"), (2, 3, "LOC")]


@schemes
def test_gold_across_a_sentence_start_of_the_predicted_doc(scheme: str) -> None:
    nlp = small(scheme)
    starts = [i in (0, 2) for i in range(5)]
    example = example_of(nlp, list("abcde"), [(1, 3, "PER"), (4, 5, "LOC")], sent_starts=starts)
    with pytest.warns(UserWarning, match=NAME):
        labels = gold(recognizer_of(nlp), example)
    assert labels[:4] == ["O", "-", "-", "O"]
    assert labels[4][1:] == "-LOC"


def test_sentences_of_the_reference_do_not_matter() -> None:
    nlp = small("biluo")
    example = example_of(nlp, list("abc"), [(0, 3, "PER")])
    example.reference[1].is_sent_start = True
    assert gold(recognizer_of(nlp), example) == ["B-PER", "I-PER", "L-PER"]


def preset_doc(
    nlp: Language,
    words: list[str],
    ents: list[Entity],
    *,
    blocked: tuple[int, ...] = (),
    sent_starts: list[bool] | None = None,
) -> Doc:
    """A Doc with entities, all else open."""
    doc = Doc(nlp.vocab, words=words, sent_starts=sent_starts)
    doc.set_ents(
        [Span(doc, *ent) for ent in ents],
        blocked=[doc[i : i + 1] for i in blocked],
        default="missing",
    )
    return doc


@cache
def legal_sequences(scheme: str, n: int) -> np.ndarray:
    recognizer = recognizer_of(small_shared(scheme))
    return np.array(brute.legal_sequences(n, recognizer.scheme.legality()))


def sequence_scores(recognizer: Any, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """All legal label sequences of a Doc of one sentence, and their scores."""
    tokens = recognizer.model.reader.read([doc])
    emissions = recognizer.model.emissions(tokens, 0)
    transitions = recognizer.model.label_pairs
    n, K = emissions.shape
    sequences = legal_sequences(recognizer.scheme.name, n)
    scores = emissions[np.arange(n), sequences].sum(axis=1)
    scores += transitions[K, sequences[:, 0]] + transitions[K + 1, sequences[:, -1]]
    scores += transitions[sequences[:, :-1], sequences[:, 1:]].sum(axis=1)
    return sequences, scores


def spans_of_labels(recognizer: Any, y: np.ndarray) -> list[Entity]:
    """The entities of a legal biluo sequence, by reading it from left to right."""
    found = []
    for t, label in enumerate(y):
        tag, _, kind = recognizer.model.labels[label].partition("-")
        if tag in ("B", "U"):
            start = t
        if tag in ("L", "U"):
            found.append((start, t + 1, kind))
    return found


@st.composite
def words_with_presets(draw: Any) -> tuple[list[str], list[Entity], int]:
    words = draw(st.lists(st.sampled_from([*WORDS, "?"]), min_size=1, max_size=4))
    ents: list[Entity] = []
    i = 0
    while i < len(words):
        size = draw(st.integers(0, len(words) - i))
        if size:
            ents.append((i, i + size, draw(st.sampled_from([*TYPES, "UNKNOWN"]))))
        i += max(size, 1)
    return words, ents, draw(st.integers(0, 10**6))


@given(drawn=words_with_presets())
def test_the_best_sequence_with_the_preset_entities_is_found(
    drawn: tuple[list[str], list[Entity], int],
) -> None:
    words, ents, seed = drawn
    nlp = small_shared("biluo")
    recognizer = recognizer_of(nlp)
    set_random_weights(recognizer, seed)
    doc = preset_doc(nlp, words, ents)
    sequences, scores = sequence_scores(recognizer, doc)
    for start, end, kind in ents:
        size = end - start
        tags = "U" if size == 1 else "B" + "I" * (size - 2) + "L"
        for i, tag in zip(range(start, end), tags, strict=True):
            label = "O" if kind == "UNKNOWN" else f"{tag}-{kind}"
            scores[sequences[:, i] != recognizer.model.labels.index(label)] = -np.inf
    best = spans_of_labels(recognizer, sequences[scores.argmax()])
    unknown = [ent for ent in ents if ent[2] == "UNKNOWN"]
    nlp(doc)
    assert entities(doc) == sorted([*best, *unknown])
    for ent in doc.ents:
        if (ent.start, ent.end, ent.label_) not in ents:
            assert 0 <= ent._.ssvm_score < 1


@schemes
@given(drawn=words_with_presets(), data=st.data())
def test_preset_entities_are_kept_whatever_the_weights(
    scheme: str, drawn: tuple[list[str], list[Entity], int], data: st.DataObject
) -> None:
    """In any scheme, across sentence starts, beside blocked tokens and neighbours."""
    words, ents, seed = drawn
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    set_random_weights(recognizer, seed, 3.0)
    covered = {i for start, end, _ in ents for i in range(start, end)}
    free = [i for i in range(len(words)) if i not in covered]
    blocked = tuple(i for i in free if data.draw(st.booleans()))
    starts = [True, *(data.draw(st.booleans()) for _ in words[1:])]
    doc = nlp(preset_doc(nlp, words, ents, blocked=blocked, sent_starts=starts))
    assert set(ents) <= set(entities(doc))
    for start, end, kind in set(entities(doc)) - set(ents):
        assert kind in TYPES
        assert covered.isdisjoint(range(start, end))
        assert set(blocked).isdisjoint(range(start, end))
        assert not any(starts[start + 1 : end])
        span = Span(doc, start, end, kind)
        assert 0 <= span._.ssvm_score < 1
    assert doc.has_annotation("ENT_IOB", require_complete=True)


def test_a_word_between_preset_entities_extends_neither() -> None:
    """In the scheme io, where a label does not say where an entity starts or ends."""
    nlp = small_shared("io")
    recognizer = recognizer_of(nlp)
    ents = [(0, 1, "LOC"), (2, 3, "PER")]
    for seed in range(20):
        set_random_weights(recognizer, seed, 3.0)
        doc = nlp(preset_doc(nlp, ["a"] * 4, ents))
        assert (1, 2) not in {(ent.start, ent.end) for ent in doc.ents}


def test_a_preset_entity_changes_its_surroundings() -> None:
    nlp = RECOGNIZER.pipeline(templates=["lower[0]"])
    lines = ["[Ann]PER [Lee]LOC", "[Ann]PER [Lee]LOC", "[Rome]LOC [Lee]PER", "[Rome]LOC [Lee]PER"]
    train(nlp, entity_examples(nlp.vocab, "\n".join(lines)), 30)
    for kind, other in [("PER", "LOC"), ("LOC", "PER")]:
        doc = nlp(preset_doc(nlp, ["Someone", "Lee"], [(0, 1, kind)]))
        assert entities(doc) == [(0, 1, kind), (1, 2, other)]


@schemes
@pytest.mark.parametrize("kind", TYPES)
def test_preset_entities_do_not_grow(scheme: str, kind: str) -> None:
    """Everything asks for a token inside of an entity of the type."""
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    K, rows = shapes(recognizer)
    transitions = np.zeros((K + 2, K))
    transitions[:, [label.endswith(kind) for label in recognizer.model.labels]] = 5.0
    transitions[:, recognizer.model.labels.index(f"I-{kind}")] = 6.0
    set_weights(recognizer, transitions, np.zeros((rows, K)))
    words = ["?"] * 5
    for ents in ([(2, 3, kind)], [(0, 1, kind), (3, 5, kind)], [(1, 2, kind), (2, 4, kind)]):
        doc = nlp(preset_doc(nlp, words, ents))
        assert set(ents) <= set(entities(doc))


def test_whitespace_in_a_preset_entity_changes_nothing_around_it() -> None:
    nlp = small_shared("biluo")
    recognizer = recognizer_of(nlp)
    around = 0
    for seed in range(40):
        set_random_weights(recognizer, seed)
        plain = nlp(preset_doc(nlp, ["a", "b", "c", "d"], [(1, 3, "PER")]))
        spaced = nlp(preset_doc(nlp, ["a", "b", "\n", "c", "d"], [(1, 4, "PER")]))
        assert (1, 4, "PER") in entities(spaced)
        assert [(ent.text.split(), ent.label_) for ent in spaced.ents] == [
            (ent.text.split(), ent.label_) for ent in plain.ents
        ]
        around += len(plain.ents) - 1
    assert around > 10


def test_overwrite_replaces_preset_entities() -> None:
    words = list("abcde")
    nlp = small("biluo", overwrite=True)
    recognizer = recognizer_of(nlp)
    example = example_of(nlp, words, [(1, 3, "PER"), (4, 5, "LOC")])
    force(recognizer, example.predicted, list(recognizer.gold_labels([example])[0]))
    for ents in ([(0, 2, "LOC")], [(0, 5, "UNKNOWN")], [(1, 3, "PER"), (3, 4, "LOC")], []):
        doc = nlp(preset_doc(nlp, words, ents, sent_starts=[True] + [False] * 4))
        assert entities(doc) == [(1, 3, "PER"), (4, 5, "LOC")]
        assert all(ent._.ssvm_score > 0 for ent in doc.ents)
    kept = small("biluo")
    assert recognizer_of(kept).cfg["overwrite"] is False
    doc = kept(preset_doc(kept, words, [(0, 5, "UNKNOWN")]))
    assert entities(doc) == [(0, 5, "UNKNOWN")]


@pytest.mark.parametrize("overwrite", [False, True])
def test_links_of_preset_entities(overwrite: bool) -> None:
    """A kept entity keeps its identifiers; a new one does not inherit those of an old one."""
    words = list("abcd")
    nlp = small("biluo", overwrite=overwrite)
    recognizer = recognizer_of(nlp)
    example = example_of(nlp, words, [(0, 2, "PER"), (3, 4, "LOC")])
    force(recognizer, example.predicted, list(recognizer.gold_labels([example])[0]))
    doc = Doc(nlp.vocab, words=words)
    doc.set_ents([Span(doc, 0, 1, "LOC", kb_id="Q90", span_id="paris")], default="missing")
    nlp(doc)
    first, *_, last = doc.ents
    if overwrite:
        assert entities(doc) == [(0, 2, "PER"), (3, 4, "LOC")]
        assert (first.kb_id_, first.ent_id_) == ("", "")
    else:
        assert (first.start, first.end, first.label_) == (0, 1, "LOC")
        assert (first.kb_id_, first.ent_id_) == ("Q90", "paris")
    assert (last.start, last.kb_id_, last.ent_id_) == (3, "", "")


def test_entities_of_two_recognizers_in_one_pipeline() -> None:
    nlp = RECOGNIZER.pipeline()
    nlp.add_pipe(NAME, name="second", config=RECOGNIZER.config)
    examples = entity_examples(nlp.vocab, "[Ann]PER saw [Rome]LOC\nwe saw it")
    nlp.get_pipe(NAME).initialize(lambda: examples[:0], nlp=nlp, labels=["PER"])
    nlp.get_pipe("second").initialize(lambda: examples[:0], nlp=nlp, labels=["LOC"])
    people, places = (
        entity_examples(nlp.vocab, text)
        for text in ("[Ann]PER saw Rome\nwe saw it", "Ann saw [Rome]LOC\nwe saw it")
    )
    for _ in range(15):
        nlp.get_pipe(NAME).update(people)
        nlp.get_pipe("second").update(places)
    alone = nlp.get_pipe(NAME)(nlp.make_doc("Ann saw Rome"))
    assert entities(alone) == [(0, 1, "PER")]
    score = alone.ents[0]._.ssvm_score
    doc = nlp("Ann saw Rome")
    assert entities(doc) == [(0, 1, "PER"), (2, 3, "LOC")]
    assert doc.ents[0]._.ssvm_score == pytest.approx(score)
    assert doc.ents[1]._.ssvm_score > 0


def test_annotating_twice_changes_nothing() -> None:
    nlp = RECOGNIZER.trained()
    for text in RECOGNIZER.texts()[:10]:
        once = nlp(text)
        scores = [ent._.ssvm_score for ent in once.ents]
        before = entities(once)
        twice = recognizer_of(nlp)(once)
        assert entities(twice) == before
        assert [ent._.ssvm_score for ent in twice.ents] == pytest.approx(scores)


@given(
    words=st.lists(st.sampled_from([*WORDS, "?"]), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
)
def test_scores_against_enumeration(words: list[str], seed: int) -> None:
    nlp = small_shared("biluo")
    recognizer = recognizer_of(nlp)
    set_random_weights(recognizer, seed)
    doc = nlp(Doc(nlp.vocab, words=words))
    sequences, scores = sequence_scores(recognizer, doc)
    decoded = [set(spans_of_labels(recognizer, y)) for y in sequences]
    assert decoded[scores.argmax()] == set(entities(doc))
    for ent in doc.ents:
        entity = (ent.start, ent.end, ent.label_)
        without = max(s for s, ents in zip(scores, decoded, strict=True) if entity not in ents)
        margin = scores.max() - without
        assert margin >= 0
        assert ent._.ssvm_score == pytest.approx(1 - math.exp(-margin), abs=1e-6)
        explained = recognizer.explain(ent)
        assert min(e.margin for e in explained) == pytest.approx(margin, abs=1e-6)


@schemes
@given(
    words=st.lists(st.sampled_from([*WORDS, "?"]), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
)
def test_scores_are_those_of_the_least_sure_token_of_an_entity(
    scheme: str, words: list[str], seed: int
) -> None:
    nlp = small_shared(scheme)
    recognizer = recognizer_of(nlp)
    set_random_weights(recognizer, seed)
    doc = nlp(Doc(nlp.vocab, words=words))
    sequences, scores = sequence_scores(recognizer, doc)
    best = sequences[scores.argmax()]
    margins = [scores.max() - scores[sequences[:, t] != best[t]].max() for t in range(len(doc))]
    for ent in doc.ents:
        margin = min(margins[ent.start : ent.end])
        margins[ent.start : ent.end] = [margin] * len(ent)
        assert ent._.ssvm_score == pytest.approx(1 - math.exp(-margin), abs=1e-6)
    assert recognizer.scores(doc) == pytest.approx(-np.expm1(-np.array(margins)), abs=1e-6)


def test_scores_are_below_one_however_sure_the_model_is() -> None:
    nlp = small("biluo")
    recognizer = recognizer_of(nlp)
    set_random_weights(recognizer, 1, 1000.0)
    docs = [nlp(Doc(nlp.vocab, words=list(WORDS))) for _ in range(3)]
    scores = [ent._.ssvm_score for doc in docs for ent in doc.ents]
    assert scores
    assert all(0 <= score < 1 for score in scores)


def test_scores_of_docs_do_not_depend_on_their_batch() -> None:
    nlp = RECOGNIZER.trained(epochs=3)
    texts = RECOGNIZER.texts()
    alone = [[ent._.ssvm_score for ent in nlp(text).ents] for text in texts]
    together = [[ent._.ssvm_score for ent in doc.ents] for doc in nlp.pipe(texts)]
    assert sum(map(len, alone)) > 20
    for some, others in zip(alone, together, strict=True):
        assert some == pytest.approx(others)


def test_scores_travel_with_their_docs() -> None:
    nlp = RECOGNIZER.trained(epochs=3)
    doc = nlp(RECOGNIZER.texts()[0])
    scores = [ent._.ssvm_score for ent in doc.ents]
    assert len(scores) == 2
    copied = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [ent._.ssvm_score for ent in copied.ents] == scores
    assert [ent._.ssvm_score for ent in doc.copy().ents] == scores


def test_sure_where_the_words_are_known() -> None:
    nlp = RECOGNIZER.trained()
    (known,) = nlp("John likes it .").ents
    assert known.label_ == "PER"
    unknown = list(nlp("Xkq Zzv qq Rrt .").ents)
    assert all(ent._.ssvm_score < known._.ssvm_score for ent in unknown)
    assert 0 < known._.ssvm_score < 1


@pytest.fixture(scope="module")
def noisy() -> Language:
    """A pipeline that is unsure of much."""
    nlp = RECOGNIZER.pipeline(templates=["lower[0]"])
    train(nlp, noisy_examples(nlp, 0, 150), 10)
    return nlp


def noisy_examples(nlp: Language, seed: int, number: int) -> list[Example]:
    """Word wI is an entity in I of 10 cases, and o never is one."""
    random = Random(seed)
    lines = []
    for _ in range(number):
        words = []
        for _ in range(4):
            i = random.randrange(11)
            is_entity = random.randrange(10) < i
            words += ["o", f"[w{i}]{random.choice(TYPES[:1])}" if is_entity else f"w{i}"]
        lines.append(" ".join(words))
    return entity_examples(nlp.vocab, "\n".join(lines))


def test_a_higher_threshold_leaves_more_out(noisy: Language) -> None:
    nlp = copy_of(noisy)
    recognizer = recognizer_of(nlp)
    docs = [eg.predicted for eg in noisy_examples(nlp, 1, 40)]
    assert recognizer.cfg["threshold"] == 0.0
    scored = [
        {(ent.start, ent.end, ent.label_): ent._.ssvm_score for ent in nlp(doc.copy()).ents}
        for doc in docs
    ]
    values = sorted({score for ents in scored for score in ents.values()})
    assert len(values) > 3
    counts = []
    for threshold in [0.0, *values, (values[0] + values[-1]) / 2, 1.0]:
        recognizer.cfg["threshold"] = threshold
        found = [entities(nlp(doc.copy())) for doc in docs]
        expected = [[ent for ent, s in ents.items() if s >= threshold] for ents in scored]
        assert found == expected
        counts.append(sum(map(len, found)))
    assert counts[0] > counts[-2] > counts[-1] == 0


def test_what_the_threshold_leaves_out_is_outside(noisy: Language) -> None:
    nlp = copy_of(noisy)
    recognizer_of(nlp).cfg["threshold"] = 1.0
    doc = nlp(Doc(nlp.vocab, words=["w10", "o", "w10"]))
    assert [token.ent_iob_ for token in doc] == ["O", "O", "O"]
    assert [token.ent_type_ for token in doc] == ["", "", ""]


def test_the_threshold_does_not_touch_preset_entities(noisy: Language) -> None:
    nlp = copy_of(noisy)
    recognizer_of(nlp).cfg["threshold"] = 1.0
    for kind in ("LOC", "UNKNOWN"):
        doc = nlp(preset_doc(nlp, ["o", "w1", "o"], [(0, 2, kind)]))
        assert entities(doc) == [(0, 2, kind)]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        RECOGNIZER.pipeline(threshold=threshold)


@compiled_only
def test_find_threshold(noisy: Language, tmp_path: Path) -> None:
    noisy.to_disk(tmp_path / "model")
    corpus = [eg.reference for eg in noisy_examples(noisy, 2, 60)]
    DocBin(docs=corpus).to_disk(tmp_path / "corpus.spacy")
    threshold, score, scores = find_threshold(
        tmp_path / "model",
        tmp_path / "corpus.spacy",
        pipe_name=NAME,
        threshold_key="threshold",
        scores_key="ents_p",
        n_trials=9,
        silent=True,
    )
    assert list(scores) == list(np.linspace(0, 1, 9))
    assert len(set(scores.values())) > 2
    assert scores[threshold] == score == max(scores.values()) > scores[0.0]
    assert scores[1.0] == 0.0


def score_of(nlp: Language, examples: list[Example]) -> dict[str, float]:
    return nlp.evaluate([Example(eg.predicted.copy(), eg.reference) for eg in examples])


@compiled_only
@schemes
def test_costs_buy_recall_or_precision(scheme: str) -> None:
    def measured(costs: dict[str, dict[str, float]]) -> dict[str, float]:
        nlp = RECOGNIZER.pipeline(scheme=scheme, templates=["lower[0]"], costs=costs)
        train(nlp, noisy_examples(nlp, 0, 150), 15)
        return score_of(nlp, noisy_examples(nlp, 1, 150))

    plain = measured({})
    recall = measured({"*": {"O": 5.0}})
    precision = measured({"O": {"*": 5.0}})
    assert recall["ents_r"] > plain["ents_r"] + 0.03
    assert recall["ents_p"] < plain["ents_p"]
    assert precision["ents_p"] > plain["ents_p"] + 0.03
    assert precision["ents_r"] < plain["ents_r"]


def test_costs_of_a_single_type() -> None:
    """Of two types that are equally often right, the one that is dear to miss wins."""

    def learned(costs: dict[str, dict[str, float]]) -> list[Entity]:
        nlp = RECOGNIZER.pipeline(templates=["lower[0]"], costs=costs)
        train(nlp, entity_examples(nlp.vocab, "[x y]PER o\n[x y]LOC o\n"), 30)
        return entities(nlp(Doc(nlp.vocab, words=["x", "y", "o"])))

    assert learned({"PER": {"LOC": 5.0}}) == [(0, 2, "PER")]
    assert learned({"LOC": {"PER": 5.0}}) == [(0, 2, "LOC")]
    assert learned({"LOC": {"*": 5.0}}) == [(0, 2, "LOC")]
    assert learned({"*": {"PER": 5.0}}) == [(0, 2, "LOC")]


@schemes
def test_without_costs_each_wrong_label_costs_one(scheme: str) -> None:
    recognizer = recognizer_of(small_shared(scheme))
    K = len(recognizer.model.labels)
    np.testing.assert_array_equal(recognizer.label_costs(), 1 - np.eye(K))


@schemes
def test_costs_by_type_are_costs_of_all_its_labels(scheme: str) -> None:
    nlp = RECOGNIZER.pipeline(scheme=scheme, costs={"*": {"O": 3.0}, "PER": {"LOC": 2.5, "O": 7.0}})
    recognizer = recognizer_of(nlp)
    recognizer.initialize(list, nlp=nlp, labels=list(TYPES))
    costs = recognizer.label_costs()
    expected = {("LOC", "O"): 3.0, ("PER", "O"): 7.0, ("PER", "LOC"): 2.5}
    names = recognizer.model.labels
    for (i, right), (j, wrong) in product(enumerate(names), repeat=2):
        pair = right.partition("-")[2] or "O", wrong.partition("-")[2] or "O"
        assert costs[i, j] == (0 if i == j else expected.get(pair, 1.0))


def test_costs_of_an_unknown_type_are_refused() -> None:
    nlp = RECOGNIZER.pipeline(costs={"PERSON": {"O": 2.0}})
    with pytest.raises(ValueError, match="PERSON"):
        train(nlp, entity_examples(nlp.vocab, "[Ann]PER saw [Rome]LOC"))


@compiled_only
@schemes
def test_a_sentence_of_a_thousand_tokens(scheme: str) -> None:
    nlp = RECOGNIZER.pipeline(scheme=scheme)
    lines = RECOGNIZER.examples(nlp.vocab)
    words = [token.text for eg in lines for token in eg.reference]
    ents, start = [], 0
    for eg in lines:
        ents += [(start + ent.start, start + ent.end, ent.label_) for ent in eg.reference.ents]
        start += len(eg.reference)
    times = 1000 // start + 1
    words = [word for _ in range(times) for word in words]
    ents = [(a + i * start, b + i * start, kind) for i in range(times) for a, b, kind in ents]
    example = example_of(nlp, words, ents)
    assert len(example.predicted) >= 1000
    train(nlp, [example], 20)
    assert RECOGNIZER.number_of_examples(nlp) == 1
    doc = nlp(example.predicted.copy())
    assert entities(doc) == (merged(words, ents) if scheme == "io" else ents)
    assert all(0 <= ent._.ssvm_score <= 1 for ent in doc.ents)


def test_an_entity_of_a_thousand_tokens() -> None:
    nlp = small("biluo")
    recognizer = recognizer_of(nlp)
    K, rows = shapes(recognizer)
    transitions = np.zeros((K + 2, K))
    inside = recognizer.model.labels.index("I-PER")
    transitions[inside, inside] = 5.0
    set_weights(recognizer, transitions, np.zeros((rows, K)))
    doc = nlp(Doc(nlp.vocab, words=["?"] * 1000))
    assert entities(doc) == [(0, 1000, "PER")]


def test_explain_gives_an_explanation_a_token() -> None:
    nlp = RECOGNIZER.trained()
    recognizer = recognizer_of(nlp)
    doc = nlp("Yesterday Paris Jones sang in Berlin .")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Paris Jones", "PER"),
                                                            ("Berlin", "LOC")]  # fmt: skip
    for ent, labels in zip(doc.ents, [["B-PER", "L-PER"], ["U-LOC"]], strict=True):
        explained = recognizer.explain(ent)
        assert [e.token for e in explained] == [token.text for token in ent]
        assert [e.label for e in explained] == labels
        for e in explained:
            assert e.runner_up != e.label
            assert sum(r.difference for r in e.reasons) == pytest.approx(e.margin, abs=1e-6)
            assert e.label in str(e)
        margin = min(e.margin for e in explained)
        assert ent._.ssvm_score == pytest.approx(1 - math.exp(-margin), abs=1e-6)
    outside = recognizer.explain(doc[3:5])
    assert [e.label for e in outside] == ["O", "O"]


def test_explain_passes_over_whitespace() -> None:
    nlp = RECOGNIZER.trained()
    doc = nlp(Doc(nlp.vocab, words=["Yesterday", "Paris", "\n", "Jones", "sang", "."]))
    assert entities(doc) == [(1, 4, "PER")]
    assert [e.token for e in recognizer_of(nlp).explain(doc.ents[0])] == ["Paris", "Jones"]


def test_bracketed_lines() -> None:
    assert spans_of("[Mary Smith]PER sings in [Rome]LOC .") == (
        ["Mary", "Smith", "sings", "in", "Rome", "."],
        [(0, 2, "PER"), (4, 5, "LOC")],
    )
    (example,) = entity_examples(spacy.blank("en").vocab, "[Mary Smith]PER sings")
    assert entity_of_each_token(example.reference) == ["BPER", "IPER", "O"]
    doc = make_doc(example.reference.vocab, ["Mary", "Smith", "sings"])
    assert entity_of_each_token(doc) == ["", "", ""]
