"""Tests of ``spacy_ssvm/sentences/training.py``."""

from typing import Any

import numpy as np
import pytest
from corpora import labelled_examples
from pipelines import LABELER
from saving import header_of

from spacy_ssvm.sentences.training import SentenceTrainer, read_labelled
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.weights.compact import entries_of

pytestmark = pytest.mark.uncompiled


@pytest.fixture
def labeler() -> Any:
    nlp = LABELER.pipeline()
    nlp.initialize(lambda: labelled_examples(nlp.vocab))
    return nlp.get_pipe("ssvm_sentence_labeler")


def test_a_doc_is_one_example(labeler: Any) -> None:
    make = labeler.vocab
    docs = [example.predicted for example in labelled_examples(make)[:2]]
    empty = docs[0].__class__(make, words=["\n"])
    batch = read_labelled(
        labeler.model,
        [empty, docs[0], empty, docs[1], empty],
        [
            np.zeros(0, dtype=np.int64),
            np.array([0, -1, 2]),
            *[np.zeros(0, dtype=np.int64)],
            np.array([1, 0, 2, 3]),
            np.zeros(0, dtype=np.int64),
        ],
    )
    trainer = SentenceTrainer(labeler.model, DualCoordinateDescent(C=1.0))
    assert trainer.add(batch) == [range(0), range(1), range(1, 1), range(1, 2), range(2, 2)]
    assert trainer.add(batch)[1] == range(2, 3)
    examples = trainer.problem.examples()
    assert examples.token_starts.tolist() == [0, 3, 7, 10, 14]
    K = len(labeler.model.labels)
    assert examples.gold[:7].tolist() == [0, K, 2, 1, 0, 2, 3]


def test_features_of_a_unit_have_distinct_rows(labeler: Any) -> None:
    examples = labelled_examples(labeler.vocab)
    trainer, numbers = labeler.featurize(examples)
    assert numbers.tolist() == list(range(len(examples)))
    features = trainer.problem.examples().features
    for start, end in zip(features.starts[:-1], features.starts[1:], strict=True):
        rows = features.rows[start:end].tolist()
        assert len(set(rows)) == len(rows) > 0


def test_min_count_counts_units(labeler: Any) -> None:
    examples = labelled_examples(labeler.vocab)
    rows = []
    for min_count in (1, 2, 100):
        labeler.min_count = min_count
        labeler._stop_training()
        rows.append(labeler.featurize(examples)[0].number_of_rows)
    assert rows[0] > rows[1] > rows[2] == 0


def test_the_objective_needs_a_trained_model(labeler: Any) -> None:
    with pytest.raises(ValueError, match="has not been trained"):
        labeler.objective([])


def test_training_goes_on_from_the_weights_of_the_model() -> None:
    nlp = LABELER.trained(epochs=3)
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    labeler._sync()
    trainer = SentenceTrainer(labeler.model, DualCoordinateDescent(C=1.0))
    _, before = header_of(labeler.model.to_bytes())
    K = len(labeler.labels)
    w = trainer.run.w[: trainer.problem.number_of_weights(trainer.number_of_rows)]
    assert w[: (K + 2) * K] == pytest.approx(labeler.model.label_pairs.ravel())
    assert np.abs(w[(K + 2) * K :]).sum() == pytest.approx(
        np.abs(entries_of(labeler.model.weights, K).weights).sum()
    )
    trainer.epochs = labeler.model.summary.epochs
    trainer._write()
    _, after = header_of(labeler.model.to_bytes())
    assert len(after) == len(before)
