"""Tests of ``spacy_ssvm/components/stacking.py``: recognizers that read each Doc twice."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from pipelines import RECOGNIZER, copy_of
from planted_chains import selection
from spacy.tokens import Doc
from spacy.training import Example
from thinc.config import ConfigValidationError
from two_pass_recognizers import CLUE, NAMES, examples_of, starts, trained, words_of

from spacy_ssvm.chains.stacked import predict_types
from spacy_ssvm.components import stacking
from spacy_ssvm.components.stacking import EPOCHS, FOLDS
from spacy_ssvm.storage import ModelFileError


def test_the_second_pass_finds_what_the_first_one_found_elsewhere(tmp_path: Path) -> None:
    nlp, recognizer, _ = trained()
    nlp.to_disk(tmp_path)
    pickled = pickle.loads(pickle.dumps(recognizer))
    assert recognizer._found_types
    assert not pickled._found_types  # of other Docs
    assert pickled.to_bytes(exclude=["vocab"]) == recognizer.to_bytes(exclude=["vocab"])
    for pipeline in (nlp, spacy.load(tmp_path), copy_of(nlp)):
        assert starts(pipeline) == [1, 4, 9]
        pipe: Any = pipeline.get_pipe("ssvm_ner")
        assert pipe.to_bytes(exclude=["vocab"]) == recognizer.to_bytes(exclude=["vocab"])
        doc = Doc(pipeline.vocab, words=words_of(NAMES[-1]))
        (types,) = predict_types(pipe.model.first, [doc])
        assert np.flatnonzero(types).tolist() == [1, 9]
        assert set(types[[1, 9]].tolist()) == {pipeline.vocab.strings["PER"]}


def test_types_in_training_come_from_models_that_have_not_seen_the_doc() -> None:
    _, recognizer, examples = trained(["orth[0]"])
    column = recognizer.model.reader.input_column("ent_type")
    for fold in range(FOLDS):
        nlp = spacy.blank("en")
        plain: Any = nlp.add_pipe("ssvm_ner", config={"templates": ["orth[0]"]})
        others = [example for i, example in enumerate(examples) if i % FOLDS != fold]
        plain.initialize(lambda others=others: others, nlp=nlp)
        for _ in range(EPOCHS):
            plain.update(others)
        for example in examples[fold::FOLDS]:
            doc = Doc(nlp.vocab, words=[token.text for token in example.predicted])
            expected = [token.ent_type for token in plain(doc)]
            assert recognizer.read_inputs(example)[:, column].tolist() == expected
    learned = predict_types(recognizer.model.first, [example.predicted for example in examples])
    assert all(np.flatnonzero(types).tolist() == [1, 4, 9] for types in learned)
    found = [recognizer.read_inputs(example)[:, column] for example in examples]
    assert any(types[7] for types in found), "what occurs once is known to its own model alone"


@pytest.mark.parametrize(("long", "number"), [(0, 1), (10**6, 0)])
def test_a_message_before_what_takes_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, long: int, number: int
) -> None:
    """spaCy shows warnings in its log, and nothing less."""
    monkeypatch.setattr(stacking, "_LONG", long)
    trained()  # compiles kernels, which has a message of its own
    caplog.clear()
    _, recognizer, examples = trained()
    tokens = sum(len(example.predicted) for example in examples)
    found = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(found) == number
    start = f"{recognizer.name}: document = true: the first pass is learned"
    assert all(message.startswith(start) for message in found)
    assert all(f"by {FOLDS + 1} models" in m and f"{tokens:,} tokens" in m for m in found)


def test_docs_that_were_not_there_at_initialize_are_learned_with_a_warning() -> None:
    nlp, _, _ = trained()
    new = examples_of(nlp, ["Another", "Third"])
    with pytest.warns(UserWarning, match="'Mr Another spoke .*' was not among the examples of"):
        nlp.update(new[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        nlp.update(new[1:])
        nlp.update([Example(Doc(nlp.vocab), Doc(nlp.vocab))])
    assert starts(nlp) == [1, 4, 9]


def test_training_goes_on_after_loading() -> None:
    nlp, _, examples = trained()
    loaded = copy_of(nlp)
    loaded.resume_training()
    with pytest.warns(UserWarning, match="not among the examples of initialize"):
        loaded.update(examples_of(loaded, NAMES[:3]))
    assert starts(loaded) == [1, 4, 9]
    assert len(examples) == 11


def test_batches_and_empty_docs() -> None:
    nlp, recognizer, _ = trained()
    docs = [Doc(nlp.vocab, words=words_of(name)) for name in ("A", "B")]
    docs = [Doc(nlp.vocab), docs[0], Doc(nlp.vocab, words=[" "]), docs[1], Doc(nlp.vocab)]
    found = [[e.start for e in doc.ents] for doc in recognizer.pipe(docs, batch_size=5)]
    assert found == [[], [1, 4, 9], [], [1, 4, 9], []]


def test_labels_can_be_added() -> None:
    nlp, recognizer, examples = trained()
    assert recognizer.add_label("LOC") == 1
    assert starts(nlp) == [1, 4, 9]
    assert recognizer.model.first.labels == recognizer.model.labels
    nlp.update(examples)
    assert starts(nlp) == [1, 4, 9]


def test_without_examples() -> None:
    nlp = spacy.blank("en")
    recognizer: Any = nlp.add_pipe("ssvm_ner", config={"document": True})
    nlp.initialize()
    recognizer.add_label("PER")
    examples = examples_of(nlp, NAMES[:3])
    recognizer.initialize(lambda: examples[:1], nlp=nlp)  # there are no other folds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.update(examples[:1])
    assert not recognizer.read_inputs(examples[0])[:, 2:].any()


def test_the_same_seed_gives_the_same_bytes() -> None:
    one, other = (trained()[1].to_bytes(exclude=["vocab"]) for _ in range(2))
    assert one == other


def test_settings() -> None:
    with pytest.raises(ConfigValidationError, match="select templates with document = false"):
        RECOGNIZER.pipeline(document=True, selection=selection(budget=3))
    _, recognizer, _ = trained()
    assert list(map(str, recognizer.model.first.templates)) == CLUE
    plain: Any = RECOGNIZER.pipeline(templates=CLUE).get_pipe("ssvm_ner")
    with pytest.raises(ModelFileError):
        recognizer.from_bytes(plain.to_bytes())
    assert recognizer.model.first.summary is not None
