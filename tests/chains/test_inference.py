"""Tests of ``spacy_ssvm/chains/inference.py``."""

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from corpora import tagged_sentences
from hypothesis import example, given
from hypothesis import strategies as st
from pipelines import TAGGER
from spacy.language import Language
from spacy.tokens import Doc
from tiny_taggers import TINY, example_of, tags, train

from spacy_ssvm.chains.inference import fix_labels
from spacy_ssvm.features.attributes import ByToken

TINY_WORDS = sorted({word for words, _ in tagged_sentences(TINY) for word in words})


def sequence_scores(tagger: Any, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """All label sequences of a Doc of one sentence, and their scores."""
    tokens = tagger.model.reader.read([doc])
    emissions = tagger.model.emissions(tokens, 0)
    transitions = tagger.model.label_pairs
    n, K = emissions.shape
    sequences = np.array(list(product(range(K), repeat=n)))
    scores = emissions[np.arange(n), sequences].sum(axis=1)
    scores += transitions[K, sequences[:, 0]] + transitions[K + 1, sequences[:, -1]]
    scores += transitions[sequences[:, :-1], sequences[:, 1:]].sum(axis=1)
    return sequences, scores


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


@given(st.lists(word_lists, min_size=1, max_size=3), st.booleans())
def test_labels_with_margins_are_those_without(
    tiny: Language, sentences: list[list[str]], fixed: bool
) -> None:
    """Sentences whose words all have the first label are left out."""
    model: Any = tiny.get_pipe("ssvm_tagger").model
    tokens = model.reader.read([Doc(tiny.vocab, words=words) for words in sentences])
    only_first = np.where(np.arange(sum(map(len, sentences))) < len(sentences[0]), 0, -1)
    constraints = fix_labels(ByToken(only_first), len(model.labels)) if fixed else None
    y, margins = model.label_with_margins(tokens, constraints)
    assert y.tolist() == model.label(tokens, constraints).tolist()
    numbers = np.arange(len(tokens.sentence_starts) - 1)
    expected = model.margins(tokens, y, numbers, constraints)
    for start, end in pairwise(tokens.sentence_starts.tolist()):
        if not y[start:end].any():
            expected[start:end] = 0.0
    assert margins == pytest.approx(expected)


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
