"""``ssvm_tagger`` with candidates; ``test_tagger.py`` has what both kinds have in common."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import make_doc, tagging_examples
from pipelines import TAGGER, copy_of
from spacy.tokens import Doc
from spacy.training import Example
from thinc.config import ConfigValidationError
from tiny_taggers import STARTS, TWO, tags, train

from spacy_ssvm.storage import ModelFileError

#: Nouns that end in a, verbs that end in b: enough rare ones that endings have candidates.
STEMS = ["".join(f"{a}{b}") for a in "bcdfghklmnprst" for b in ("aro", "ise", "ulo", "ete")]


def rare_words(nlp: spacy.Language) -> list[Example]:
    """Two words a sentence, each seen once, but for the first."""
    examples = []
    for i in range(2 * len(STEMS)):
        stem = f"{STEMS[i % len(STEMS)]}{'x' if i < len(STEMS) else 'y'}"
        words, own = ["the", f"{stem}aaa", f"{stem}bbb"], ["DT", "NN", "VB"]
        examples.append(Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words, tags=own)))
    words = ["dog", "cat"]
    examples.append(
        Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words, tags=["X1", "X2"]))
    )
    return examples


@pytest.fixture(scope="module")
def nlp() -> spacy.Language:
    nlp = TAGGER.pipeline(candidates=True)
    train(nlp, rare_words(nlp), epochs=6)
    return nlp


def candidates_of(nlp: spacy.Language, words: list[str]) -> list[set[str]]:
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    tokens = pipe.model.reader.read([make_doc(nlp.vocab, words)])
    starts, labels = pipe.model.candidates_to_choose(tokens, None)
    names = [pipe.labels[k] for k in labels]
    return [{*names[a:b]} for a, b in pairwise(starts)]


def test_words_have_the_tags_of_words_with_their_ending(nlp: spacy.Language) -> None:
    words = ["the", "newaaa", "newbbb"]
    the, noun, verb = candidates_of(nlp, words)
    assert the == {"DT"}
    assert noun == {"NN"}
    assert verb == {"VB"}
    assert tags(nlp(" ".join(words))) == ["DT", "NN", "VB"]


def test_a_pipeline_is_saved_with_its_candidates(nlp: spacy.Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path)
    words = ["the", "newaaa", "newbbb"]
    for other in (spacy.load(tmp_path), copy_of(nlp)):
        assert other.config["components"]["ssvm_tagger"]["candidates"] is True
        assert candidates_of(other, words) == candidates_of(nlp, words)
        assert tags(other(" ".join(words))) == ["DT", "NN", "VB"]


@pytest.mark.parametrize("candidates", [False, True])
def test_the_model_of_the_other_kind_is_refused(candidates: bool) -> None:
    nlp = TAGGER.trained(epochs=1, candidates=candidates)
    other = TAGGER.pipeline(candidates=not candidates)
    with pytest.raises(ModelFileError, match="load it with the settings it was saved with"):
        other.get_pipe("ssvm_tagger").from_bytes(nlp.get_pipe("ssvm_tagger").to_bytes())  # type: ignore[attr-defined]


def test_costs_are_refused() -> None:
    with pytest.raises(ConfigValidationError, match="with candidates, each wrong tag costs 1"):
        TAGGER.pipeline(candidates=True, costs={"NN": {"VB": 2.0}})


@pytest.mark.parametrize("candidates", [False, True])
def test_many_tags_are_no_reason_for_a_warning(
    candidates: bool, recwarn: pytest.WarningsRecorder
) -> None:
    nlp = TAGGER.pipeline(candidates=candidates)
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    examples = tagging_examples(nlp.vocab)
    labels = [*pipe.collect_labels(examples), *(f"T{k}" for k in range(600))]
    pipe.initialize(lambda: examples, labels=labels)
    warned = [str(warning.message) for warning in recwarn]
    assert bool(warned) == (not candidates)
    assert all("Set candidates = true" in message for message in warned)


def test_parts_of_speech_and_whole_docs() -> None:
    nlp = TAGGER.pipeline(candidates=True, whole_docs=True)
    examples = tagging_examples(nlp.vocab)
    two = make_doc(nlp.vocab, TWO, tags=[t for e in examples for t in tags(e.reference)][:10])
    sentences = Doc(nlp.vocab, words=TWO, tags=tags(two), sent_starts=STARTS)
    tagger = train(nlp, [*examples, Example(make_doc(nlp.vocab, TWO), sentences)])
    problem = tagger._trainer.problem
    assert problem.number_of_examples == len(examples) + sum(STARTS)
    with pytest.raises(ConfigValidationError, match="not a universal part-of-speech tag"):
        TAGGER.trained(epochs=1, candidates=True, attribute="POS").get_pipe(
            "ssvm_tagger"
        ).initialize(lambda: examples, labels=["NN"])  # type: ignore[attr-defined]


def test_tags_that_are_no_labels_are_kept(nlp: spacy.Language) -> None:
    doc = make_doc(nlp.vocab, ["the", "newaaa", "newbbb"], tags=["", "OTHER", "DT"])
    assert tags(nlp.get_pipe("ssvm_tagger")(doc)) == ["DT", "OTHER", "DT"]


def test_explanations_and_probabilities(nlp: spacy.Language) -> None:
    trained = TAGGER.trained(
        candidates=True, solver={"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 0.5}
    )
    pipe: Any = trained.get_pipe("ssvm_tagger")
    doc = trained("The old dog barks.")
    rows = pipe.marginals(doc, overwrite=True)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    best = [pipe.labels[k] for k in rows.argmax(axis=1)]
    assert pipe.explain(doc, 2).label == best[2] == tags(doc)[2]
    assert ((pipe.scores(doc) > 0) & (pipe.scores(doc) <= 1)).all()
