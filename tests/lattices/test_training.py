"""Tests of ``spacy_ssvm/lattices/training.py``."""

import numpy as np
import pytest
from spacy.tokens import Doc
from tiny_lattices import (
    LABELS,
    VIEWS,
    VOCAB,
    annotated,
    by_word,
    doc_of,
    docs,
    gold,
    new_model,
    predicted,
    train,
    trained_model,
)

from spacy_ssvm.features.extraction import extract_keys
from spacy_ssvm.lattices.labels import WHOLE
from spacy_ssvm.lattices.model import Annotation
from spacy_ssvm.lattices.training import LatticeTrainer, labels_of, learn_candidates
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.perceptron import Perceptron

pytestmark = pytest.mark.uncompiled

DET, NOUN, NOUNS, VERB, VERBS = (
    f"Number={feature}|POS={tag}" if feature else f"POS={tag}"
    for tag, feature in [
        ("DET", ""), ("NOUN", "Sing"), ("NOUN", "Plur"), ("VERB", "Sing"), ("VERB", "Plur"),
    ]
)  # fmt: skip


def pairs_of(annotation: Annotation) -> list[tuple[int, int]]:
    """The words and the labels that agree with their annotation."""
    return list(zip(*(each.tolist() for each in labels_of(annotation)), strict=True))


def test_labels_of_whole_annotation() -> None:
    expected = list(enumerate(range(len(LABELS))))
    assert pairs_of(Annotation(VIEWS, VIEWS)) == expected
    backwards = Annotation(np.ascontiguousarray(VIEWS[::-1]), VIEWS)
    assert pairs_of(backwards) == [(i, len(LABELS) - 1 - i) for i, _ in expected]


def test_partial_annotation_has_all_labels_that_agree_with_it() -> None:
    views = np.array([[0, 5], [0, 6], [1, 6]], dtype=np.int64)
    values = np.array([[0, 6], [-1, -1], [0, -1], [-1, 6], [9, 9], [1, 5]], dtype=np.int64)
    expected = [(0, 1), (2, 0), (2, 1), (3, 1), (3, 2)]
    assert pairs_of(Annotation(values, views)) == expected


def test_no_words_have_no_labels() -> None:
    assert pairs_of(Annotation(np.zeros((0, 2), dtype=np.int64), VIEWS)) == []


def test_whitespace_is_left_out() -> None:
    model = new_model()
    doc = Doc(VOCAB, words=["the", "\n", "fish", " "])
    batch = annotated(model, [doc], [[DET, [7, 7], NOUN, [7, 7]]])
    assert batch.tokens.positions.tolist() == [0, 2]
    assert pairs_of(batch.annotation) == [(0, LABELS.index(DET)), (1, LABELS.index(NOUN))]


def test_candidates_are_learned() -> None:
    model = new_model()
    tokens = model.reader.read([doc_of(["the", "walks", "fish", "The", "zebra"])])
    assert by_word(model, model.candidates_to_choose(tokens, None)) == [[*LABELS]] * 5
    learn_candidates(model, [annotated(model, docs()[:3], gold()[:3])] * 20)
    learn_candidates(model, [annotated(model)] * 20)  # what was learned before is forgotten
    the, walks, fish, *others = by_word(model, model.candidates_to_choose(tokens, None))
    assert the == [DET]
    assert {NOUNS, VERB} <= set(walks) < set(LABELS)
    assert {NOUN, NOUNS, VERBS} <= set(fish) < set(LABELS)
    assert all(DET in labels for labels in others)


def test_candidates_of_a_corpus_in_batches() -> None:
    one, many = new_model(), new_model()
    learn_candidates(one, [annotated(one)])
    learn_candidates(
        many, (annotated(many, [doc], [own]) for doc, own in zip(docs(), gold(), strict=True))
    )
    tokens = one.reader.read([*docs(), doc_of(["zebra"])])
    found = [model.candidates_to_choose(tokens, None) for model in (one, many)]
    assert found[0].starts.tolist() == found[1].starts.tolist()
    assert found[0].labels.tolist() == found[1].labels.tolist()


def test_an_unannotated_corpus_leaves_all_labels() -> None:
    model = new_model()
    learn_candidates(model, [annotated(model, docs(), [[None] * len(own) for own in gold()])])
    tokens = model.reader.read(docs())
    assert all(
        len(own) == len(LABELS) for own in by_word(model, model.candidates_to_choose(tokens, None))
    )


def test_only_words_with_a_choice_have_features() -> None:
    model = new_model()
    learn_candidates(model, [annotated(model)] * 20)
    trainer = LatticeTrainer(model, DualCoordinateDescent(C=1.0))
    batch = annotated(model)
    numbers = trainer.add(batch)
    assert [list(own) for own in numbers] == [[i] for i in range(len(docs()))]
    examples = trainer.problem.examples()
    candidates = np.diff(examples.candidate_starts)
    features = np.diff(examples.features.starts)
    assert set(candidates) > {1}
    assert (features[candidates == 1] == 0).all()
    keys = np.empty((len(features), len(model.templates)), dtype=np.uint64)
    tokens = batch.tokens
    extract_keys(model.compiled, tokens.attributes, tokens.sentence_starts, keys)
    expected = np.count_nonzero(keys, axis=1)
    assert features[candidates > 1].tolist() == expected[candidates > 1].tolist()
    # and no row is of a feature that only words without a choice have
    rows = np.unique(examples.features.rows)
    assert trainer.number_of_rows == len(rows)


def test_gold_that_is_no_candidate_is_added() -> None:
    model = new_model()
    learn_candidates(model, [annotated(model)] * 20)
    trainer = LatticeTrainer(model, DualCoordinateDescent(C=1.0))
    words = ["the", "the", "walks", "the"]
    labels = [VERB, DET, VERB, [99, 99]]
    trainer.add(annotated(model, [doc_of(words)], [labels]))
    examples = trainer.problem.examples()
    first, second, third, last = by_word(model, (examples.candidate_starts, examples.candidates))
    assert sorted(first) == sorted([DET, VERB])
    assert second == last == [DET]
    assert len(set(third)) == len(third)
    starts = examples.candidate_starts
    allowed = [
        [
            name
            for name, is_right in zip(own, examples.allowed[starts[t] :], strict=False)
            if is_right
        ]
        for t, own in enumerate([first, second, third, last])
    ]
    assert allowed == [[VERB], [DET], [VERB], [DET]]


def test_partial_gold_allows_all_candidates_that_agree() -> None:
    model = new_model()
    learn_candidates(model, [annotated(model)])
    trainer = LatticeTrainer(model, DualCoordinateDescent(C=1.0))
    verb = VIEWS[LABELS.index(VERB)]
    trainer.add(annotated(model, [doc_of(["fish", "fish"])], [[[verb[0], -1], None]]))
    examples = trainer.problem.examples()
    names = by_word(model, (examples.candidate_starts, examples.candidates))
    allowed = np.split(examples.allowed, examples.candidate_starts[1:-1])
    found = [
        {name for name, is_right in zip(own, flags, strict=True) if is_right}
        for own, flags in zip(names, allowed, strict=True)
    ]
    assert found == [{VERB, VERBS} & set(names[0]), set(names[1])]


def test_sentences_are_examples_and_docs_without_words_have_none() -> None:
    model = new_model()
    trainer = LatticeTrainer(model, DualCoordinateDescent(C=1.0))
    two = doc_of(["the", "fish"], ["they", "walk"])
    batch = [Doc(VOCAB), two, Doc(VOCAB, words=["\n"]), docs()[0]]
    labels = [[], [None] * 4, [None], [None] * 3]
    assert trainer.add(annotated(model, batch, labels)) == [
        range(0), range(2), range(2, 2), range(2, 3)
    ]  # fmt: skip
    assert trainer.add(annotated(model, [two], [[None] * 4])) == [range(3, 5)]


@pytest.mark.parametrize(
    "solver",
    [DualCoordinateDescent(C=1.0), Perceptron(), DualCoordinateAscent(C=0.5)],
    ids=lambda solver: type(solver).__name__,
)
@pytest.mark.parametrize("restricted", [True, False], ids=["restricted", "free"])
def test_solvers_learn_the_corpus(solver: object, restricted: bool) -> None:
    model = trained_model(solver, restricted=restricted, epochs=30)
    assert predicted(model, docs()) == gold()


def test_training_continues_from_the_weights_of_a_model() -> None:
    model = trained_model()
    before = {name: array.copy() for name, array in model.arrays().items()}
    trainer = LatticeTrainer(model, DualCoordinateDescent(C=1.0))
    numbers = np.concatenate([np.array(own) for own in trainer.add(annotated(model))])
    trainer.epoch(numbers[:0])  # a pass over no examples
    trainer.update_model()
    after = model.arrays()
    for name in ("steps", "rows", "scales", "keys"):
        assert after[name].tolist() == before[name].tolist()
        assert np.any(after[name])
    assert predicted(model, docs()) == gold()
    for name in ("candidate_words", "candidate_lists", "candidate_starts", "candidate_labels"):
        assert after[name].tolist() == before[name].tolist(), "candidates stay"


@pytest.mark.parametrize(
    "solver",
    [DualCoordinateDescent(C=1.0), Perceptron(), DualCoordinateAscent(C=0.5)],
    ids=lambda solver: type(solver).__name__,
)
def test_a_trained_model_has_less_to_learn_than_a_new_one(solver: object) -> None:
    def first_loss(epochs: int) -> float:
        model = new_model()
        learn_candidates(model, [annotated(model)])
        if epochs:
            train(model, solver, epochs=epochs)
        trainer = LatticeTrainer(model, solver)
        numbers = np.concatenate([np.array(own) for own in trainer.add(annotated(model))])
        return trainer.epoch(numbers)

    assert first_loss(30) < first_loss(0) / 2


def test_a_model_learns_on_with_new_words() -> None:
    model = trained_model()
    trainer = LatticeTrainer(model, DualCoordinateDescent(C=1.0))
    words, labels = ["the", "zebra", "swims"], [DET, NOUN, VERB]
    (numbers,) = trainer.add(annotated(model, [doc_of(words)], [labels]))
    for _ in range(10):
        trainer.epoch(np.array(numbers))
    trainer.update_model()
    assert predicted(model, [doc_of(words)]) == [labels]
    assert predicted(model, docs()) == gold()


def test_another_number_of_hashed_rows_is_refused() -> None:
    model = trained_model()
    with pytest.raises(ValueError, match="hash_bits has changed"):
        LatticeTrainer(model, DualCoordinateDescent(C=1.0), rows_per_template=64)


def test_labels_without_parts_are_learned_one_by_one() -> None:
    model = trained_model(scheme=WHOLE)
    assert len(model.label_pairs) == 0
    assert model.system.parts.number == len(LABELS)
    one, other = ["fish", "zebra"], ["fish", "walk"]
    found = predicted(model, [doc_of(one[:1]), doc_of(other[:1])])
    assert found[0] == found[1]


def test_the_same_training_gives_the_same_bytes() -> None:
    assert len({trained_model().to_bytes() for _ in range(2)}) == 1
    others = [DualCoordinateDescent(C=1.0, seed=seed) for seed in (1, 2)]
    assert len({trained_model(solver, epochs=1).to_bytes() for solver in others}) == 2


def test_further_epochs_use_the_examples_that_are_there() -> None:
    model = new_model()
    trainer = train(model, epochs=3)
    assert trainer.problem.number_of_examples == len(docs())
    assert predicted(model, docs()) == gold()
