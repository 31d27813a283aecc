"""What ``spacy_ssvm.Tokenizer.v1`` does in pipelines."""

import copy
import json
import os
import pickle
import re
import threading
import time
import warnings
from collections import UserDict, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any

import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from marks import compiled_only
from processes import ScriptRunner, contents
from saving import FILE, header_of, with_header
from spacy.cli.init_config import fill_config
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.symbols import LEMMA, NORM, ORTH
from spacy.tokenizer import Tokenizer as RuleTokenizer
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.config import Config, ConfigValidationError
from tokenizer_corpora import (
    CONTRACTIONS,
    PORTUGUESE,
    PORTUGUESE_NORMS,
    SENTENCES,
    chunks_of,
    cut_doc,
    cut_examples,
    examples_of,
    pipeline,
    random_doc,
    teach,
    tokens_of,
    trained_on,
    words_of,
)

from spacy_ssvm.storage import ModelFileError
from spacy_ssvm.tokenizer import model
from spacy_ssvm.tokenizer.component import gold_text
from spacy_ssvm.tokenizer.special_cases import SpecialCase, make_special_case

#: Texts with all that a saved tokenizer has to know.
TEXTS = [
    "Didn't purr, e.g. cats.",
    "gimme\n the fim do sol,  n\u200da casa",
    " \r\n They weren't here. We left. She said no!",
    "",
    "\x00 na, do.do (do) do\u00a0da ",
]


def trained_pipeline(kind: str) -> Language:
    """A pipeline that has learned norms, and has a special case with one."""
    corpora = {"tokens": CONTRACTIONS, "sentences": SENTENCES}
    corpus = [*corpora[kind], *PORTUGUESE]
    nlp = trained_on(corpus, PORTUGUESE_NORMS, sentences=kind == "sentences")
    nlp.tokenizer.add_special_case("gimme", [{ORTH: "gim", NORM: "give"}, {ORTH: "me"}])
    return nlp


@pytest.fixture(scope="module")
def untrained() -> Language:
    """A pipeline that has not been initialized. Tests share it: they must not change it."""
    return pipeline()


@pytest.fixture(scope="module")
def contractions() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return trained_on(CONTRACTIONS)


@pytest.fixture(scope="module")
def sentences() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return trained_on(SENTENCES, sentences=True)


@pytest.fixture(scope="module")
def portuguese() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return trained_on(PORTUGUESE, PORTUGUESE_NORMS)


@pytest.fixture(scope="module", params=["tokens", "sentences"])
def trained(request: pytest.FixtureRequest) -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return trained_pipeline(request.param)


@pytest.fixture(scope="module", params=["untrained", "tokens", "sentences"])
def any_pipeline(request: pytest.FixtureRequest) -> Language:
    """Trained or not. Tests share it: they must not change it."""
    return pipeline() if request.param == "untrained" else trained_pipeline(request.param)


def annotate(nlp: Language) -> list[Any]:
    return [tokens_of(nlp(text)) for text in TEXTS]


def whitespace_of(doc: Doc) -> tuple[Any, ...]:
    """The tokens of whitespace, and the ends of tokens after which there is a space."""
    return (
        [(token.idx, token.text) for token in doc if token.is_space],
        [token.idx + len(token) for token in doc if token.whitespace_],
    )


def norms_of(doc: Doc) -> list[tuple[str, str]]:
    return [(token.text, token.norm_) for token in doc]


# Texts


STRANGE = [
    *("\x00", "\x01", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", "\xad", "\r\n", "\r", "\t", "\v"),
    *("\u200b", "\u200d", "\u2028", "\u2029", "\u202e", "\u3000", "\ufeff", "\ufffe", "\U0010ffff"),
    *("👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "e\u0301", "İ", "ß", "ŉ", "ﬁ", "Ǆ", "ب", "漢", "한"),
    *(" ", "  ", "\n", ".", ",", "'", "n't", "e.g.", "do", "Didn't", "gimme", "cats,", "na"),
]
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(STRANGE) | st.characters(exclude_categories=["Cs"]), max_size=30
).map("".join)


@given(text=texts)
@example(text="")
@example(text=" ")
@example(text=" \n \n")
@example(text="\u3000 a\u3000\u3000")
def test_no_character_is_lost(any_pipeline: Language, text: str) -> None:
    assert any_pipeline.tokenizer(text).text == text


@given(text=texts)
@example(text=" ")
@example(text="a  b \n\nc \t ")
@example(text="a\u00a0b \x85 c\x1c")
def test_whitespace_is_cut_as_spacy_cuts_it(any_pipeline: Language, text: str) -> None:
    doc = any_pipeline.tokenizer(text)
    assert whitespace_of(doc) == whitespace_of(RuleTokenizer(any_pipeline.vocab)(text))
    for token in doc:
        assert token.is_space == any(character.isspace() for character in token.text)


@given(text=texts)
@example(text="Hello, world. Didn't")
@example(text="\u00a0e.g.\x1c ab\r\n")
def test_an_untrained_tokenizer_cuts_at_whitespace(untrained: Language, text: str) -> None:
    doc, expected = untrained.tokenizer(text), RuleTokenizer(untrained.vocab)(text)
    assert tokens_of(doc) == tokens_of(expected)


@given(text=texts)
def test_tokens_are_explained_one_by_one(any_pipeline: Language, text: str) -> None:
    doc = any_pipeline.tokenizer(text)
    found = any_pipeline.tokenizer.explain(text)
    assert [(word, start) for _, word, start, _ in found] == [(t.text, t.idx) for t in doc]
    assert [source == "whitespace" for source, *_ in found] == [t.is_space for t in doc]
    sources = {source for source, *_ in found}
    assert sources <= {"special case", "known chunk", "model", "whitespace"}
    special_cases = any_pipeline.tokenizer.model.special_cases
    assert ("special case" in sources) == any(chunk in special_cases for chunk in text.split())


def test_characters_of_all_of_unicode(contractions: Language) -> None:
    text = "".join(chr(i) for i in range(0x110000) if not (0xD800 <= i < 0xE000 or i % 7))
    assert contractions.tokenizer(text).text == text


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000])
@pytest.mark.parametrize("whitespace", [" ", "\n", " \n", "\u00a0", "\r\n"])
def test_only_whitespace(any_pipeline: Language, whitespace: str, size: int) -> None:
    text = whitespace * size
    doc = any_pipeline.tokenizer(text)
    assert words_of(doc) == words_of(RuleTokenizer(any_pipeline.vocab)(text))
    assert doc.text == text


@compiled_only
@pytest.mark.parametrize("characters", ["a", "ab.,'n", "👍🏽\u200d"])
def test_a_chunk_of_a_million_characters(contractions: Language, characters: str) -> None:
    text = "".join(Random(0).choices(characters, k=1_000_000))
    start = time.monotonic()
    doc = contractions.tokenizer(text)
    assert time.monotonic() - start < 30
    assert doc.text == text


@compiled_only
def test_a_hundred_thousand_words(any_pipeline: Language) -> None:
    text = "Didn't purr, e.g. cats.\n" * 25_000
    start = time.monotonic()
    doc = any_pipeline.tokenizer(text)
    assert time.monotonic() - start < 30
    assert doc.text == text


# Learning


def test_cuts_are_made_in_new_words(contractions: Language) -> None:
    assert words_of(contractions("Didn't purr.")) == ["Did", "n't", "purr", "."]
    assert words_of(contractions("Mustn't, she thinks.")) == [
        "Must",
        "n't",
        ",",
        "she",
        "thinks",
        ".",
    ]
    assert words_of(contractions("frogs, newts")) == ["frogs", ",", "newts"]


def test_what_was_whole_stays_whole(contractions: Language) -> None:
    words = ["Frogs", "wo", "n't", "eat", ",", "e.g.", "newts", "."]
    assert words_of(contractions("Frogs won't eat, e.g. newts.")) == words


def test_training_texts_are_cut_as_they_were(contractions: Language) -> None:
    for marked in CONTRACTIONS:
        gold = cut_doc(contractions.vocab, marked)
        doc = contractions(gold.text)
        assert words_of(doc) == words_of(gold)
        assert [t.whitespace_ for t in doc] == [t.whitespace_ for t in gold]


@pytest.mark.filterwarnings("ignore:.*nothing can be learned of where to cut")
@pytest.mark.parametrize("sentences", [False, True])
@pytest.mark.parametrize("characters", ["ab.,' \n", "aA1-\u2019 \n\t\u00a0👍🏽\u200d"])
def test_random_cuts_of_known_chunks(characters: str, sentences: bool) -> None:
    for seed in range(20):
        random = Random(seed)
        nlp = pipeline(epochs=30, C=10.0, sentences=sentences)
        gold = random_doc(nlp.vocab, random, characters)
        examples = examples_of([gold] * 3)
        nlp.tokenizer.initialize(lambda examples=examples: examples, nlp=nlp)
        ways = defaultdict(set)
        for chunk, pieces in chunks_of(gold):
            ways[chunk].add(pieces)
        chunks = gold.text.split()
        others = [" ".join(random.sample(chunks, len(chunks))), "\n\n".join(chunks) + "\u00a0"]
        others.append("".join(random.choices(characters, k=30)))
        for text in [gold.text, *others]:
            doc = nlp.tokenizer(text)
            assert doc.text == text
            for chunk, pieces in chunks_of(doc):
                if len(ways[chunk]) == 1:
                    assert pieces in ways[chunk], (seed, text)


def test_a_corpus_that_disagrees_with_itself() -> None:
    nlp = trained_on(["ca|n't stop|.", "can't stop|.", "ca|n|'t stop.", "c|a|n|'|t stop|."] * 3)
    for text in ["can't stop.", "can't", "cant can'"]:
        assert nlp(text).text == text


def test_the_order_of_learning_is_always_the_same() -> None:
    for corpus, with_sentences in [(CONTRACTIONS, False), (SENTENCES, True)]:
        found = {
            trained_on(corpus, sentences=with_sentences, seed=3).tokenizer.to_bytes()
            for _ in range(3)
        }
        assert len(found) == 1


TRAIN = """
import sys
from tokenizer_corpora import *

print(trained_on([*CONTRACTIONS, *PORTUGUESE], PORTUGUESE_NORMS).tokenizer.to_bytes().hex())
print(trained_on(SENTENCES, sentences=True).tokenizer.to_bytes().hex())
"""


@pytest.mark.slow
@compiled_only
def test_the_same_bytes_in_another_process(run_script: ScriptRunner) -> None:
    found = {run_script(TRAIN, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    expected = [
        trained_on([*CONTRACTIONS, *PORTUGUESE], PORTUGUESE_NORMS),
        trained_on(SENTENCES, sentences=True),
    ]
    assert found == {"".join(f"{nlp.tokenizer.to_bytes().hex()}\n" for nlp in expected)}


def test_learning_again_forgets(contractions: Language) -> None:
    nlp = trained_on(PORTUGUESE, PORTUGUESE_NORMS)
    teach(nlp, [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS])
    assert nlp.tokenizer.to_bytes() == contractions.tokenizer.to_bytes()
    assert norms_of(nlp("do")) == norms_of(contractions("do"))


def test_what_was_learned_can_stay(contractions: Language) -> None:
    nlp = pipeline()
    nlp.tokenizer.from_bytes(contractions.tokenizer.to_bytes())

    def unread() -> list[Example]:
        raise AssertionError("there is nothing to learn")

    nlp.tokenizer.initialize(unread, nlp=nlp, learn=False)
    assert nlp.tokenizer.to_bytes() == contractions.tokenizer.to_bytes()
    nlp.tokenizer.initialize(unread, learn=False, special_cases={"gimme": ["gim", "me"]})
    assert [token.text for token in nlp("gimme don't")] == ["gim", "me", "do", "n't"]


def test_what_was_not_learned_cannot_stay() -> None:
    nlp = pipeline()
    with pytest.raises(ConfigValidationError, match="nothing has been learned: copy a tokenizer"):
        nlp.tokenizer.initialize(list, nlp=nlp, learn=False)


def test_examples_can_come_one_by_one(contractions: Language) -> None:
    nlp = pipeline()
    examples = cut_examples(nlp.vocab, CONTRACTIONS)
    nlp.tokenizer.initialize(lambda: iter(examples), nlp=nlp)
    assert nlp.tokenizer.to_bytes() == contractions.tokenizer.to_bytes()


def test_only_references_are_learned(contractions: Language) -> None:
    nlp = pipeline()
    gold = [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS]
    examples = [
        Example(Doc(nlp.vocab, words=list(doc.text.replace(" ", "_"))), doc) for doc in gold
    ]
    nlp.tokenizer.initialize(lambda: examples, nlp=nlp)
    assert nlp.tokenizer.to_bytes() == contractions.tokenizer.to_bytes()


def test_references_with_whitespace_within_tokens() -> None:
    nlp = pipeline()
    gold = Doc(nlp.vocab, words=["New York", "is", "n't", "\n\n", "big", "."],
               spaces=[True, False, True, False, False, False])  # fmt: skip
    teach(nlp, [gold, gold, cut_doc(nlp.vocab, "It is|n't|.")])
    doc = nlp(gold.text)
    assert doc.text == gold.text
    assert words_of(doc) == ["New", "York", "is", "n't", "\n\n", "big", "."]


def test_empty_docs_among_others(contractions: Language) -> None:
    nlp = pipeline()
    docs = [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS]
    teach(nlp, [Doc(nlp.vocab), *docs, Doc(nlp.vocab, words=["\n"], spaces=[False])])
    for text in ["Didn't purr.", "They swam, e.g. yesterday."]:
        assert tokens_of(nlp(text)) == tokens_of(contractions(text))


@pytest.mark.parametrize("numbers", [0, 3])
def test_nothing_to_learn_from(numbers: int) -> None:
    nlp = pipeline()
    examples = examples_of([Doc(nlp.vocab)] * numbers)
    with pytest.raises(ValueError, match="no tokens to learn from"):
        nlp.tokenizer.initialize(lambda: examples, nlp=nlp)


def test_a_corpus_without_cuts_brings_a_warning() -> None:
    nlp = pipeline()
    docs = [Doc(nlp.vocab, words=["Do", "n't", "run", "."]) for _ in range(3)]
    with pytest.warns(UserWarning, match="nothing can be learned of where to cut"):
        teach(nlp, docs)


@pytest.mark.filterwarnings("ignore:.*nothing can be learned of where to cut")
def test_one_long_doc_without_cuts_is_a_corpus() -> None:
    nlp = pipeline(sentences=True)
    docs = [Doc(nlp.vocab, words=["a", "b"] * 500, spaces=[True] * 1000)]
    with pytest.raises(ConfigValidationError, match="no sentences are annotated"):
        teach(nlp, docs)
    nlp = pipeline()
    with pytest.warns(UserWarning, match="nothing can be learned of where to cut"):
        teach(nlp, docs)


def test_templates_are_those_of_the_settings(contractions: Language) -> None:
    """Not those of what was loaded, and forgotten."""
    nlp = pipeline(templates=["char[0]"])
    nlp.tokenizer.from_bytes(contractions.tokenizer.to_bytes())
    for copied in (nlp.tokenizer, pickle.loads(pickle.dumps(nlp.tokenizer))):
        assert len(copied.model.templates) > 1
        copied.initialize(lambda: cut_examples(nlp.vocab, CONTRACTIONS))
        assert [*map(str, copied.model.templates)] == ["char[0]"]


def test_a_pipeline_without_examples() -> None:
    nlp = pipeline()
    nlp.initialize()
    for text in TEXTS:
        assert nlp(text).text == text


def test_templates_tell_what_is_read() -> None:
    marked = ["so|.", "no|.", "a.b", "c.d"] * 3
    text, words = "zu. e.f", ["zu", ".", "e.f"]
    assert words_of(trained_on(marked, templates=["char[0]+char[1]"])(text)) == words
    assert words_of(trained_on(marked, templates=["char[-2]+char[-1]"])(text)) != words


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"templates": ["nonsense[0]"]}, "nonsense"),
        ({"templates": ["tokenizer", "char[0]+tag[0]"]}, "tag"),
        ({"templates": []}, "templates"),
        ({"epochs": 0}, "epochs"),
        ({"epochs": -1}, "epochs"),
        ({"C": 0}, "C"),
        ({"C": 0.0}, "C"),
        ({"C": -0.1}, "C"),
        ({"C": float("nan")}, "C"),
        ({"seed": -1}, "seed"),
        ({"sead": 1}, "sead"),
    ],
)
def test_invalid_settings(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigValidationError, match=named) as caught:
        pipeline(**settings)
    assert isinstance(caught.value, ValueError)
    assert "DualCoordinateDescent" not in str(caught.value)  # the user has not named it


# Sentences


def test_sentences(sentences: Language) -> None:
    doc = sentences("They ate. She sang, e.g. today. We left.")
    assert [sentence.text for sentence in doc.sents] == [
        "They ate.",
        "She sang, e.g. today.",
        "We left.",
    ]
    starts = [0, 3, 9]
    assert [token.is_sent_start for token in doc] == [i in starts for i in range(len(doc))]


def test_sentences_of_training_texts(sentences: Language) -> None:
    for marked in SENTENCES:
        gold = cut_doc(sentences.vocab, marked)
        doc = sentences(gold.text)
        found = [(token.text, token.is_sent_start) for token in doc]
        assert found == [(token.text, token.is_sent_start) for token in gold]


@given(text=texts)
@example(text=" \n They left. \n We left.")
@example(text=" ")
def test_every_token_knows_whether_a_sentence_starts(sentences: Language, text: str) -> None:
    doc = sentences(text)
    marks = [token.is_sent_start for token in doc]
    assert marks[:1] == [True] * bool(doc)
    assert all(mark is True or mark is False for mark in marks)
    assert not doc or doc.has_annotation("SENT_START", require_complete=True)
    explained = sentences.tokenizer.explain(text)
    assert [begins for *_, begins in explained] == marks


def test_sentences_that_nobody_asked_for() -> None:
    nlp = trained_on(SENTENCES)
    doc = nlp("They ate. She sang.")
    assert len(doc) == 6
    assert not doc.has_annotation("SENT_START")


def test_no_sentences_to_learn_from() -> None:
    nlp = pipeline(sentences=True)
    examples = cut_examples(nlp.vocab, CONTRACTIONS)
    with pytest.raises(ConfigValidationError, match="sentences"):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize("order", [1, -1])
def test_docs_with_and_without_sentences(order: int) -> None:
    nlp = trained_on([*SENTENCES, *CONTRACTIONS][::order], sentences=True)
    doc = nlp("They ate. She sang, e.g. yesterday. We shouldn't.")
    assert [sentence.text for sentence in doc.sents] == [
        "They ate.",
        "She sang, e.g. yesterday.",
        "We shouldn't.",
    ]
    assert words_of(doc)[-3:] == ["should", "n't", "."]


def test_tokens_without_marks_may_begin_sentences() -> None:
    """Each of many Docs says of one word alone that no sentence begins there."""
    nlp = pipeline(sentences=True)
    partial = [cut_doc(nlp.vocab, "It ran|. We sat|.") for _ in range(60)]
    for doc in partial:
        for token in doc:
            token.is_sent_start = False if token.i == 1 else None
    teach(nlp, [*(cut_doc(nlp.vocab, marked) for marked in SENTENCES), *partial])
    assert [sentence.text for sentence in nlp("It ran. We sat.").sents] == ["It ran.", "We sat."]


def test_tokens_that_begin_with_a_blank() -> None:
    vocab = spacy.blank("en").vocab
    words, starts = ["a", ".", " B", "."], [1, -1, 1, -1]
    gold = gold_text(Doc(vocab, words=words, spaces=[False] * 4, sent_starts=starts))
    assert gold.starts.tolist() == [0, 1, 3, 4]
    assert gold.sentences is not None
    assert gold.sentences.tolist() == [0, 3]


def test_sentences_of_parsed_references(sentences: Language) -> None:
    nlp = pipeline(sentences=True)
    docs = []
    for marked in SENTENCES:
        gold = cut_doc(nlp.vocab, marked)
        heads = [sentence.start for sentence in gold.sents for _ in sentence]
        spaces = [bool(token.whitespace_) for token in gold]
        deps = ["dep"] * len(gold)
        docs.append(Doc(nlp.vocab, words_of(gold), spaces, heads=heads, deps=deps))
    teach(nlp, docs)
    assert nlp.tokenizer.to_bytes() == sentences.tokenizer.to_bytes()


# Norms


@pytest.mark.parametrize("text", ["do sol", "o sol do mar", "do", "\ndo\n", "mar do\u00a0sol"])
def test_norms_of_pairs(portuguese: Language, text: str) -> None:
    doc = portuguese(text)
    ((first, second),) = [(t, doc[t.i + 1]) for t in doc if t.text == "d"]
    assert (first.norm_, second.text, second.norm_) == ("de", "o", "o")


@pytest.mark.parametrize("text", ["d o", "d", "o d", "d  o", "d o d", "o"])
def test_norms_of_words_on_their_own(portuguese: Language, text: str) -> None:
    assert all(token.norm_ == token.text for token in portuguese(text) if not token.is_space)


def test_a_norm_is_one_of_a_pair(portuguese: Language) -> None:
    assert norms_of(portuguese("na rua, da avó")) == [
        ("n", "em"), ("a", "a"), ("rua", "rua"), (",", ","), ("d", "de"), ("a", "a"), ("avó", "avó")
    ]  # fmt: skip


def test_norms_of_both_tokens_and_of_three() -> None:
    nlp = pipeline()
    pair = Doc(nlp.vocab, words=["dá", "lo", "x"], spaces=[False, True, False])
    pair[1].norm_ = "o"
    triple = Doc(nlp.vocab, words=["a", "b", "c"], spaces=[False, False, False])
    for token in triple:
        token.norm_ = token.text.upper()
    teach(nlp, [pair, triple])
    doc = nlp("abc dálo lo a b c")
    assert norms_of(doc) == [
        *[("a", "A"), ("b", "B"), ("c", "C"), ("dá", "dá"), ("lo", "o")],
        *[("lo", "lo"), ("a", "a"), ("b", "b"), ("c", "c")],
    ]


def test_a_norm_between_whitespace_is_not_learned() -> None:
    nlp = pipeline()
    doc = Doc(nlp.vocab, words=["the", "cat", "sat", "."], spaces=[True, True, False, False])
    doc[1].norm_ = "dog"
    teach(nlp, [doc])
    assert norms_of(nlp("the cat sat.")) == [(word, word) for word in words_of(doc)]


def test_norms_do_not_change_the_vocabulary(portuguese: Language) -> None:
    portuguese("do sol")
    assert portuguese.vocab["d"].norm_ == "d"
    assert norms_of(Doc(portuguese.vocab, words=["d", "o"], spaces=[False, False])) == [
        ("d", "d"),
        ("o", "o"),
    ]


# Special cases


def with_special_cases(special_cases: Any) -> Language:
    nlp = pipeline()
    examples = cut_examples(nlp.vocab, CONTRACTIONS)
    nlp.tokenizer.initialize(lambda: examples, nlp=nlp, special_cases=special_cases)
    return nlp


def test_special_cases_of_initialize(contractions: Language) -> None:
    text = "gimme cats, gimme\n\u00a0gimme e.g. birds."
    assert "gim" not in words_of(contractions(text))
    nlp = with_special_cases({"gimme": ["gim", "me"], "e.g.": ["e.", "g."], "cats,": ["cats,"]})
    doc = nlp(text)
    assert doc.text == text
    assert [pieces for _, pieces in chunks_of(doc)] == [
        *[("gim", "me"), ("cats,",), ("gim", "me"), ("gim", "me"), ("e.", "g."), ("birds", ".")]
    ]


def test_special_cases_in_a_config() -> None:
    nlp = pipeline()
    nlp.config["initialize"]["tokenizer"] = {"special_cases": {"gimme": ["gim", "me"]}}
    teach(nlp, [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS])
    assert words_of(nlp("gimme")) == ["gim", "me"]


@pytest.mark.parametrize(
    "special_cases",
    [
        {"gimme": ["gim"]},
        {"gimme": ["me", "gim"]},
        {"gimme": ["gim", "me", "!"]},
        {"gimme": []},
        {"gimme": ["gim", "", "me"]},
        {"Gimme": ["gim", "me"]},
        {"gim me": ["gim", " ", "me"]},
        {"gim me": ["gim", "me"]},
        {"gimme ": ["gim", "me "]},
        {"\u00a0": ["\u00a0"]},
        {"": []},
        {"": [""]},
        {"fine": ["fi", "ne"], "gimme": ["gim"]},
    ],
)
def test_invalid_special_cases_of_initialize(special_cases: dict[str, list[str]]) -> None:
    with pytest.raises(ConfigValidationError, match="special_cases"):
        with_special_cases(special_cases)


GIMME = [{ORTH: "gim", NORM: "give"}, {ORTH: "me"}]


def test_special_cases_of_an_untrained_tokenizer() -> None:
    nlp = pipeline()
    nlp.tokenizer.add_special_case("gimme", GIMME)
    assert norms_of(nlp("gimme gimme")) == [("gim", "give"), ("me", "me")] * 2
    assert nlp(" gimme  gimme").text == " gimme  gimme"


def test_special_cases_come_before_what_was_learned(contractions: Language) -> None:
    nlp = trained_on(CONTRACTIONS)
    for chunk, pieces in [("e.g.", ["e.", "g", "."]), ("cats,", ["cats,"]), ("Kneel.", ["Kneel."])]:
        assert words_of(nlp(chunk)) == words_of(contractions(chunk)) != pieces
        nlp.tokenizer.add_special_case(chunk, [{ORTH: piece} for piece in pieces])
        assert words_of(nlp(chunk)) == pieces
        sources = [source for source, *_ in nlp.tokenizer.explain(chunk)]
        assert sources == ["special case"] * len(pieces)
    found = [(source, word) for source, word, *_ in nlp.tokenizer.explain(" cats, Kneel. Kneel.,")]
    assert found[:3] == [("whitespace", " "), *[("special case", w) for w in ("cats,", "Kneel.")]]
    assert {source for source, _ in found[3:]} == {"model"}
    assert words_of(nlp("Sit. Kneel. dogs,")) == ["Sit", ".", "Kneel.", "dogs", ","]


def test_the_last_special_case_counts() -> None:
    nlp = trained_on(CONTRACTIONS)
    nlp.tokenizer.add_special_case("gimme", GIMME)
    nlp.tokenizer.add_special_case("gimme", [{ORTH: "g"}, {ORTH: "imme"}])
    assert words_of(nlp("gimme")) == ["g", "imme"]
    nlp.tokenizer.add_special_case("gimme", [{ORTH: "gimme"}])
    assert norms_of(nlp("gimme")) == [("gimme", "gimme")]


@pytest.mark.parametrize("keys", [("ORTH", "NORM"), (ORTH, NORM)])
def test_attributes_by_name_and_by_number(keys: tuple[Any, Any]) -> None:
    orth, norm = keys
    nlp = trained_on(CONTRACTIONS)
    nlp.tokenizer.add_special_case("gimme", [{orth: "gim"}, {orth: "me", norm: "I"}])
    assert norms_of(nlp("gimme")) == [("gim", "gim"), ("me", "I")]


def test_a_special_case_within_a_chunk_is_none() -> None:
    nlp = trained_on(CONTRACTIONS)
    before = words_of(nlp("gimme, xgimme gimmex"))
    nlp.tokenizer.add_special_case("gimme", GIMME)
    assert words_of(nlp("gimme, xgimme gimmex")) == before


def test_special_cases_have_sentences() -> None:
    nlp = trained_on(SENTENCES, sentences=True)
    nlp.tokenizer.add_special_case("gimme", GIMME)
    doc = nlp("gimme food. They left. gimme")
    assert words_of(doc) == ["gim", "me", "food", ".", "They", "left", ".", "gim", "me"]
    assert doc.has_annotation("SENT_START", require_complete=True)
    assert doc[0].is_sent_start is True


@pytest.mark.parametrize(
    ("string", "pieces"),
    [
        ("gimme", [{ORTH: "gim"}]),
        ("gimme", [{ORTH: "me"}, {ORTH: "gim"}]),
        ("gimme", []),
        ("gimme", [{ORTH: "gim"}, {NORM: "me"}]),
        ("gimme", [{ORTH: "gim", LEMMA: "give"}, {ORTH: "me"}]),
        ("gimme", [{ORTH: "gim", "TAG": "VB"}, {ORTH: "me"}]),
        ("gimme", [{ORTH: "gim", "norme": "give"}, {ORTH: "me"}]),
        ("", [{ORTH: ""}]),
    ],
)
def test_invalid_special_cases(string: str, pieces: Any) -> None:
    nlp = trained_on(CONTRACTIONS)
    before = nlp.tokenizer.to_bytes()
    with pytest.raises(ValueError, match="special case"):
        nlp.tokenizer.add_special_case(string, pieces)
    assert nlp.tokenizer.to_bytes() == before


# Explanations


def test_sources(contractions: Language) -> None:
    found = [row[:3] for row in contractions.tokenizer.explain("Didn't  e.g.\n cats,")]
    assert found == [
        ("model", "Did", 0),
        ("model", "n't", 3),
        ("whitespace", " ", 7),
        ("known chunk", "e.g.", 8),
        ("whitespace", "\n ", 12),
        ("known chunk", "cats", 14),
        ("known chunk", ",", 18),
    ]
    assert contractions.tokenizer.explain("") == []


def test_why_a_token_begins(contractions: Language) -> None:
    explanation = contractions.tokenizer.explain_character("Didn't purr.", 3)
    assert explanation.label == "token"
    assert explanation.runner_up != "token"
    assert explanation.margin > 0
    assert any("n't" in reason.value.replace(" + ", "") for reason in explanation.reasons)
    table = str(explanation)
    assert explanation.reasons[0].template in table
    assert f"{explanation.margin:+.3f}" in table


@pytest.mark.parametrize("kind", ["tokens", "sentences"])
def test_differences_add_up_to_the_margin(
    contractions: Language, sentences: Language, kind: str
) -> None:
    nlp = sentences if kind == "sentences" else contractions
    text = "Mustn't they swim?  She'd sing, e.g. today.We left.\nShe's here"
    starts = {token.idx: token for token in nlp(text)}
    explained = set()
    for i, character in enumerate(text):
        try:
            found = nlp.tokenizer.explain_character(text, i)
        except ValueError:
            continue
        explained.add(i)
        assert not character.isspace()
        assert found.label != found.runner_up
        assert found.margin >= 0
        for explanation in (found, nlp.tokenizer.explain_character(text, i, top=2)):
            differences = [reason.difference for reason in explanation.reasons]
            assert sum(differences) == pytest.approx(found.margin, abs=1e-5)
        assert (found.label != "inside") == (i in starts)
        if kind == "sentences" and i in starts:
            assert (found.label == "sentence") == starts[i].is_sent_start
    assert explained >= {text.index("n't"), text.index("?"), text.index("'d")}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Didn't purr.", 6),
        ("Didn't \n purr.", 7),
        ("Didn't purr.", 12),
        ("Didn't purr.", -1),
        ("Didn't purr.", 0),
        ("now e.g. now", 5),
        ("frogs cats,", 10),
        ("", 0),
        (" ", 0),
    ],
)
def test_where_nothing_was_to_be_decided(contractions: Language, text: str, place: int) -> None:
    with pytest.raises(ValueError, match="nothing is decided at character"):
        contractions.tokenizer.explain_character(text, place)


# Many texts


def test_pipe(trained: Language) -> None:
    docs = list(trained.tokenizer.pipe(iter(TEXTS)))
    assert all(isinstance(doc, Doc) for doc in docs)
    assert [tokens_of(doc) for doc in docs] == annotate(trained)
    assert [tokens_of(doc) for doc in trained.pipe(TEXTS, batch_size=2)] == annotate(trained)
    assert list(trained.tokenizer.pipe([])) == []


def test_pipe_takes_texts_one_by_one(contractions: Language) -> None:
    docs = contractions.tokenizer.pipe(repeat("Didn't purr."), batch_size=10)
    assert words_of(next(iter(docs))) == ["Did", "n't", "purr", "."]


def test_scores(contractions: Language) -> None:
    texts = ["Didn't purr.", "gimme, e.g. now."]
    golds = [
        cut_doc(contractions.vocab, "Did|n't purr|."),
        cut_doc(contractions.vocab, "gim|me|, e.g. now|."),
    ]
    examples = [Example(contractions(text), gold) for text, gold in zip(texts, golds, strict=True)]
    scores = contractions.tokenizer.score(examples)
    expected = Scorer.score_tokenization(examples)
    for name in ("token_acc", "token_p", "token_r", "token_f"):
        assert scores[name] == expected[name]
    assert 0 < scores["token_f"] < 1
    golds = [cut_doc(contractions.vocab, marked) for marked in CONTRACTIONS]
    perfect = contractions.evaluate([Example(contractions(gold.text), gold) for gold in golds])
    assert perfect["token_acc"] == perfect["token_f"] == 1.0
    assert "sents_f" not in scores


def test_scores_of_sentences() -> None:
    nlp = trained_on(SENTENCES, sentences=True)
    right = nlp.make_doc("She ran. It rained.")
    wrong = Doc(nlp.vocab, words=[t.text for t in right], sent_starts=[t.i == 0 for t in right])
    scores = nlp.evaluate([Example(right.copy(), gold) for gold in (right, wrong)])
    assert (scores["sents_p"], scores["sents_r"]) == (0.5, 2 / 3)


PROCESSES = """
import json, multiprocessing, sys
from tokenizer_corpora import CONTRACTIONS, PORTUGUESE, PORTUGUESE_NORMS, tokens_of, trained_on

if __name__ == "__main__":
    nlp = trained_on([*CONTRACTIONS, *PORTUGUESE], PORTUGUESE_NORMS)
    nlp.tokenizer.add_special_case("gimme", [{"ORTH": "gim", "NORM": "give"}, {"ORTH": "me"}])
    texts = json.loads(sys.argv[1]) * 5
    found = {"serial": [tokens_of(nlp(text)) for text in texts]}
    for method in ["fork", "spawn"]:
        multiprocessing.set_start_method(method, force=True)
        found[method] = [tokens_of(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=4)]
    print(json.dumps(found))
"""


@pytest.mark.slow
@compiled_only
def test_two_processes_cut_as_one(run_script: ScriptRunner) -> None:
    texts = [text.replace("\x00", "\x01") for text in TEXTS]  # an argument has no NUL
    found = json.loads(run_script(PROCESSES, json.dumps(texts)))
    serial = found.pop("serial")
    nlp = trained_pipeline("tokens")
    assert serial == [json.loads(json.dumps(tokens_of(nlp(text)))) for text in texts] * 5
    assert found == {"fork": serial, "spawn": serial}


def test_threads_at_once_cut_as_one(trained: Language) -> None:
    random = Random(0)
    letters = "abcdo.,' n't"
    texts = ["".join(random.choices(letters, k=40)) for _ in range(100)] + TEXTS * 10
    expected = [tokens_of(trained(text)) for text in texts]
    for _ in range(3):
        nlp = copy.deepcopy(trained)  # without what has been kept of texts
        barrier = threading.Barrier(4)

        def cut(_: int, nlp: Language = nlp, barrier: Any = barrier) -> list[Any]:
            barrier.wait(timeout=60)
            return [tokens_of(nlp.tokenizer(text)) for text in texts]

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(cut, range(4))) == [expected] * 4


def test_memory_zones() -> None:
    nlp = trained_pipeline("tokens")
    texts = [f"Mustn't rain{i}, e.g. snow{i}. do mar{i}" for i in range(100)]
    other = trained_pipeline("tokens")
    expected = [tokens_of(other(text)) for text in texts]
    known = annotate(other)
    before = set(nlp.vocab.strings)
    for _ in range(3):
        with nlp.memory_zone():
            assert [tokens_of(doc) for doc in nlp.pipe(texts)] == expected
            assert annotate(nlp) == known
            assert len(nlp.vocab.strings) > len(before)
        assert set(nlp.vocab.strings) <= before
    assert annotate(nlp) == known
    assert [tokens_of(doc) for doc in nlp.pipe(texts)] == expected


def test_learning_in_a_memory_zone() -> None:
    nlp = pipeline()
    with nlp.memory_zone():
        examples = cut_examples(nlp.vocab, [*CONTRACTIONS, *PORTUGUESE], PORTUGUESE_NORMS)
        nlp.tokenizer.initialize(lambda: examples, nlp=nlp)
        nlp.tokenizer.add_special_case("gimme", GIMME)
    assert annotate(nlp) == annotate(trained_pipeline("tokens"))


# Saving


def through_disk(nlp: Language, path: Path) -> Language:
    nlp.to_disk(path / "pipeline")
    return spacy.load(path / "pipeline")


def through_bytes(nlp: Language, path: Path) -> Language:
    return load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())


def through_pickle(nlp: Language, path: Path) -> Language:
    return pickle.loads(pickle.dumps(nlp))


def through_deepcopy(nlp: Language, path: Path) -> Language:
    return copy.deepcopy(nlp)


def through_tokenizer_disk(nlp: Language, path: Path) -> Language:
    other = pipeline(sentences=nlp.tokenizer.sentences)
    nlp.tokenizer.to_disk(path / "tokenizer")
    other.tokenizer.from_disk(str(path / "tokenizer"))
    return other


def through_tokenizer_bytes(nlp: Language, path: Path) -> Language:
    other = pipeline(sentences=nlp.tokenizer.sentences)
    other.tokenizer.from_bytes(nlp.tokenizer.to_bytes())
    return other


def through_tokenizer_pickle(nlp: Language, path: Path) -> Language:
    other = spacy.blank("en")
    other.tokenizer = pickle.loads(pickle.dumps(nlp.tokenizer))
    return other


def through_tokenizer_deepcopy(nlp: Language, path: Path) -> Language:
    other = spacy.blank("en")
    other.tokenizer = copy.deepcopy(nlp.tokenizer)
    return other


ROUNDTRIPS = [
    through_disk,
    through_bytes,
    through_pickle,
    through_deepcopy,
    through_tokenizer_disk,
    through_tokenizer_bytes,
    through_tokenizer_pickle,
    through_tokenizer_deepcopy,
]


@pytest.mark.parametrize("roundtrip", ROUNDTRIPS)
def test_a_copy_cuts_alike(
    any_pipeline: Language, tmp_path: Path, roundtrip: Callable[[Language, Path], Language]
) -> None:
    expected = annotate(any_pipeline)
    other = roundtrip(any_pipeline, tmp_path)
    assert other.tokenizer is not any_pipeline.tokenizer
    assert annotate(other) == expected
    assert other.tokenizer.to_bytes() == any_pipeline.tokenizer.to_bytes()
    for text in TEXTS:
        assert other.tokenizer.explain(text) == any_pipeline.tokenizer.explain(text)


@pytest.mark.parametrize("roundtrip", ROUNDTRIPS)
def test_a_copy_learns_without_its_original(
    trained: Language, tmp_path: Path, roundtrip: Callable[[Language, Path], Language]
) -> None:
    before = trained.tokenizer.to_bytes()
    other = roundtrip(trained, tmp_path)
    other.tokenizer.add_special_case("sol,", [{ORTH: "so"}, {ORTH: "l,"}])
    assert trained.tokenizer.to_bytes() == before != other.tokenizer.to_bytes()
    teach(other, [cut_doc(other.vocab, marked) for marked in SENTENCES])
    assert trained.tokenizer.to_bytes() == before
    assert words_of(other("Mustn't.")) == ["Must", "n't", "."]


def test_saving_twice_into_one_folder(trained: Language, tmp_path: Path) -> None:
    trained.tokenizer.to_disk(tmp_path)
    first = contents(tmp_path)
    other = pipeline(sentences=trained.tokenizer.sentences)
    other.tokenizer.from_disk(tmp_path)
    other.tokenizer.to_disk(tmp_path)
    assert contents(tmp_path) == first
    assert annotate(other) == annotate(trained)


def test_the_saved_form_is_json_and_numbers(trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path)
    files = contents(tmp_path / "tokenizer")
    assert files.keys() == {FILE}
    header, arrays = header_of(files[FILE])
    assert isinstance(json.loads(header.pop("__metadata__")["parts"]), dict)
    places = [described["data_offsets"] for described in header.values()]
    assert sum(end - begin for begin, end in places) == len(arrays)
    assert all(re.fullmatch(r"BOOL|[FIU]\d+", described["dtype"]) for described in header.values())


def refused(nlp: Language, load: Callable[[], Any], before: tuple[bytes, Any]) -> None:
    """Assert that nothing could be loaded, and that the tokenizer is what it was."""
    with pytest.raises(ModelFileError):
        load()
    assert nlp.tokenizer.to_bytes() == before[0]
    assert annotate(nlp) == before[1]


def state_of(nlp: Language) -> tuple[bytes, Any]:
    return nlp.tokenizer.to_bytes(), annotate(nlp)


@pytest.mark.parametrize("target", ["trained", "untrained"])
def test_damaged_files(trained: Language, tmp_path: Path, target: str) -> None:
    nlp = trained_on(SENTENCES) if target == "trained" else pipeline()
    before = state_of(nlp)
    trained.tokenizer.to_disk(tmp_path)
    data = (tmp_path / FILE).read_bytes()
    random = Random(0)
    for number in range(150):
        damaged = bytearray(data)
        place = number if number < 30 else random.randrange(len(data))
        if number % 3:
            damaged[place] ^= random.choice([1, 0x80, 0xFF, random.randrange(1, 256)])
        else:
            del damaged[place:]
        (tmp_path / FILE).write_bytes(damaged)
        refused(nlp, lambda: nlp.tokenizer.from_disk(tmp_path), before)
        refused(nlp, lambda damaged=damaged: nlp.tokenizer.from_bytes(bytes(damaged)), before)
    (tmp_path / FILE).write_bytes(data)
    nlp.tokenizer.from_disk(tmp_path)
    assert nlp.tokenizer.to_bytes() == data


def test_a_damaged_pipeline(trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path)
    file = tmp_path / "tokenizer" / FILE
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(ModelFileError, match=FILE):
        spacy.load(tmp_path)
    file.unlink()
    with pytest.raises(ModelFileError, match=FILE):
        spacy.load(tmp_path)


def test_what_is_no_tokenizer(trained: Language, tmp_path: Path) -> None:
    nlp = trained_on(SENTENCES)
    before = state_of(nlp)
    tagger: Any = spacy.blank("en").add_pipe("ssvm_tagger")
    tagger.to_disk(tmp_path / "tagger")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / FILE).write_text("no model")
    (tmp_path / "folder" / FILE).mkdir(parents=True)
    for folder in ("tagger", "text", "folder", "missing"):
        refused(nlp, lambda folder=folder: nlp.tokenizer.from_disk(tmp_path / folder), before)
    data = trained.tokenizer.to_bytes()
    for other in (b"", b"no model", tagger.to_bytes(), pickle.dumps(nlp.tokenizer), data + b"\0"):
        refused(nlp, lambda other=other: nlp.tokenizer.from_bytes(other), before)


@pytest.mark.parametrize(
    "change",
    [
        {"special_cases": {"gimme": ["gim"]}},
        {"special_cases": {"gim me": ["gim", "me"]}},
        {"special_cases": {"gimme": 5}},
        {"special_cases": None},
        {"norms": [["d", "o", "de"]]},
        {"norms": [["d", "o", "de", 5]]},
        {"norms": None},
        {"labels": ["token", "inside"]},
        {"templates": ["nonsense[0]"]},
        {"templates": []},
    ],
)
def test_a_forged_file_changes_nothing(trained: Language, change: dict[str, Any]) -> None:
    """Its checksums are right, but it says what cannot be."""
    nlp = trained_on(SENTENCES)
    before = state_of(nlp)
    header, arrays = header_of(trained.tokenizer.to_bytes())
    parts = json.loads(header["__metadata__"]["parts"])
    assert parts["model"].keys() >= change.keys()
    parts["model"].update(change)
    header["__metadata__"]["parts"] = json.dumps(parts)
    data = with_header(header, arrays)
    refused(nlp, lambda: nlp.tokenizer.from_bytes(data), before)


@pytest.mark.parametrize("name", ["replace", "fsync"])
def test_an_interrupted_save(
    trained: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    trained.tokenizer.to_disk(tmp_path)
    before = contents(tmp_path)

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("no space left on device")

    other = trained_on(CONTRACTIONS)
    monkeypatch.setattr(os, name, fail)
    with pytest.raises((OSError, ModelFileError)):
        other.tokenizer.to_disk(tmp_path)
    assert contents(tmp_path) == before


# Training with spaCy's commands


CONFIG = """
[paths]
corpus = null

[nlp]
lang = "en"
pipeline = ["ssvm_tagger"]

[nlp.tokenizer]
@tokenizers = "spacy_ssvm.Tokenizer.v1"

[components]

[components.ssvm_tagger]
factory = "ssvm_tagger"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.corpus}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.corpus}

[training]
max_epochs = 6
patience = 0
eval_frequency = 1

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 100000

[initialize]

[initialize.tokenizer]
special_cases = {"gimme": ["gim", "me"]}
"""

SETTINGS = {
    "@tokenizers": "spacy_ssvm.Tokenizer.v1",
    "templates": ["tokenizer"],
    "C": 0.3,
    "epochs": 12,
    "sentences": False,
    "seed": 0,
}


def test_a_filled_config_has_all_settings(tmp_path: Path) -> None:
    (tmp_path / "base.cfg").write_text(CONFIG)
    fill_config(tmp_path / "full.cfg", tmp_path / "base.cfg", silent=True)
    assert Config().from_disk(tmp_path / "full.cfg")["nlp"]["tokenizer"] == SETTINGS


def test_settings_are_saved(tmp_path: Path) -> None:
    settings = {"templates": ["char[-1]+char[0]", "char[0]+char[1]"], "C": 0.5, "epochs": 3}
    nlp = trained_on(SENTENCES, sentences=True, seed=5, **settings)
    nlp.to_disk(tmp_path)
    found = Config().from_disk(tmp_path / "config.cfg")["nlp"]["tokenizer"]
    assert found == {**SETTINGS, **settings, "sentences": True, "seed": 5}
    again = spacy.load(tmp_path)
    teach(again, [cut_doc(again.vocab, marked) for marked in SENTENCES])
    assert again.tokenizer.to_bytes() == nlp.tokenizer.to_bytes()


@compiled_only
def test_spacy_train(tmp_path: Path) -> None:
    vocab = spacy.blank("en").vocab
    docs = [cut_doc(vocab, marked) for marked in CONTRACTIONS]
    for doc in docs:
        for token in doc:
            token.tag_ = {"n't": "NEG", ".": "STOP", ",": "COMMA"}.get(token.text, "WORD")
    DocBin(docs=docs).to_disk(tmp_path / "corpus.spacy")
    (tmp_path / "base.cfg").write_text(CONFIG)
    fill_config(tmp_path / "full.cfg", tmp_path / "base.cfg", silent=True)
    overrides = {"paths.corpus": str(tmp_path / "corpus.spacy")}
    spacy_train(tmp_path / "full.cfg", tmp_path / "output", overrides=overrides)
    for name in ("model-best", "model-last"):
        nlp = spacy.load(tmp_path / "output" / name)
        doc = nlp("Mustn't purr, e.g. gimme now.")
        assert words_of(doc) == ["Must", "n't", "purr", ",", "e.g.", "gim", "me", "now", "."]
        assert [doc[i].tag_ for i in (1, 3, 8)] == ["NEG", "COMMA", "STOP"]
    assert spacy.load(tmp_path / "output" / "model-best").meta["performance"]["tag_acc"] == 1.0


def test_other_components_learn_from_the_tokens_that_it_makes() -> None:
    nlp = pipeline()
    nlp.add_pipe("ssvm_tagger")
    golds = [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS]
    for gold in golds:
        for token in gold:
            token.tag_ = {"n't": "NEG", ".": "STOP", ",": "COMMA"}.get(token.text, "WORD")

    def examples() -> list[Example]:
        return [Example(nlp.make_doc(gold.text), gold) for gold in golds]

    nlp.initialize(examples)
    assert all(words_of(each.predicted) == words_of(each.reference) for each in examples())
    for _ in range(8):
        nlp.update(examples())
    doc = nlp("Mustn't purr, e.g. now.")
    assert [doc[i].tag_ for i in (1, 3, 6)] == ["NEG", "COMMA", "STOP"]


def test_special_cases_do_not_share_their_norms() -> None:
    nlp = pipeline()
    nlp.tokenizer.add_special_case("ab", [{ORTH: "a", NORM: "X"}, {ORTH: "b"}])
    nlp.tokenizer.add_special_case("abc", [{ORTH: "a"}, {ORTH: "b"}, {ORTH: "c"}])
    nlp.tokenizer.add_special_case("gimme", [{ORTH: "gimme", NORM: "give"}])
    assert [token.norm_ for token in nlp("ab abc gimme")] == ["X", "b", "a", "b", "c", "give"]


def test_special_cases_that_were_added_outlive_the_training() -> None:
    nlp = pipeline()
    nlp.tokenizer.add_special_case("gimme", GIMME)
    nlp.tokenizer.initialize(lambda: cut_examples(nlp.vocab, CONTRACTIONS))
    assert [token.text for token in nlp("gimme")] == ["gim", "me"]


def test_without_examples_chunks_stay_whole() -> None:
    nlp = pipeline()
    nlp.initialize()
    assert [token.text for token in nlp("Hello, world.")] == ["Hello,", "world."]


def test_what_teaches_nothing_leaves_what_was_learned() -> None:
    nlp = trained_on(CONTRACTIONS)
    before = words_of(nlp("Didn't purr."))
    nlp.initialize()
    assert words_of(nlp("Didn't purr.")) == before
    spaced = Doc(nlp.vocab, words=["Do", "n't", "run", ".", "\n"], spaces=[True] * 3 + [False] * 2)
    with pytest.warns(UserWarning, match="whitespace between all tokens"):
        nlp.tokenizer.initialize(lambda: examples_of([spaced] * 3))
    with pytest.warns(UserWarning, match="whitespace between all tokens"):
        nlp.tokenizer.initialize(lambda: examples_of([Doc(nlp.vocab, words=["Do", "n't"])] * 3))
    assert words_of(nlp("Didn't purr.")) == before


def test_a_doc_of_one_word_annotates_no_sentences() -> None:
    with pytest.raises(ConfigValidationError, match="no sentences are annotated"):
        trained_on([*CONTRACTIONS, "Hi"], sentences=True)


def test_special_cases_are_added_while_others_are_at_work() -> None:
    nlp = pipeline()
    errors: list[BaseException] = []
    is_done = threading.Event()

    def work() -> None:
        try:
            while not is_done.is_set():
                nlp("gimme c1 c20 the fish")
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for i in range(40):
        nlp.tokenizer.add_special_case(f"c{i}", [{ORTH: "c", NORM: "see"}, {ORTH: str(i)}])
        assert [token.text for token in nlp(f"c{i}")] == ["c", str(i)]
    is_done.set()
    for worker in workers:
        worker.join()
    assert errors == []


@compiled_only
def test_special_cases_of_threads_are_all_there() -> None:
    nlp = pipeline()

    def add(thread: int) -> None:
        for i in range(300):
            nlp.tokenizer.add_special_case(f"c{thread}:{i}", [{ORTH: "c"}, {ORTH: f"{thread}:{i}"}])

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(add, range(4)))
    assert len(nlp.tokenizer.model.special_cases) == 1200


@compiled_only
def test_a_special_case_waits_for_others_that_are_being_added() -> None:
    added = pipeline().tokenizer.model
    case = make_special_case("ab", ["a", "b"])
    other = threading.Thread(target=added.add_special_cases, args=({"other": case},))

    class Slow(UserDict[str, SpecialCase]):
        def keys(self) -> Any:
            other.start()
            other.join(0.2)
            return super().keys()

    added.add_special_cases(Slow(ab=case))
    other.join()
    assert {*added.special_cases} == {"ab", "other"}


def test_special_cases_are_put_together_for_the_next_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one that was added would take as long as there are others."""
    nlp = trained_on(CONTRACTIONS)
    calls = []
    put_together = model.with_cases
    monkeypatch.setattr(model, "with_cases", lambda *a: calls.append(a) or put_together(*a))
    for i in range(50):
        nlp.tokenizer.add_special_case(f"c{i}", [{ORTH: "c"}, {ORTH: str(i)}])
    assert words_of(nlp("c0 c49")) == words_of(nlp("c0 c49")) == ["c", "0", "c", "49"]
    assert len(calls) == 1


def test_the_file_of_another_tokenizer_is_kept_until_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spacy.blank("en").to_disk(tmp_path)
    before = contents(tmp_path)
    nlp = trained_on(CONTRACTIONS)

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises((OSError, ModelFileError)):
            nlp.tokenizer.to_disk(tmp_path / "tokenizer")
    assert contents(tmp_path) == before
    nlp.tokenizer.to_disk(tmp_path / "tokenizer")
    assert [*(tmp_path / "tokenizer").iterdir()]
    assert [path.name for path in tmp_path.iterdir() if "tokenizer" in path.name] == ["tokenizer"]


def test_a_file_of_another_tokenizer(tmp_path: Path) -> None:
    nlp = trained_on(CONTRACTIONS)
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(ModelFileError, match="saved by another tokenizer"):
        nlp.tokenizer.from_disk(tmp_path / "tokenizer")
    nlp.to_disk(tmp_path)
    assert words_of(spacy.load(tmp_path)("Didn't purr.")) == words_of(nlp("Didn't purr."))


def test_punctuation_between_spaces_brings_a_warning() -> None:
    """Also where pieces of words, such as "n't", are written together."""
    nlp = pipeline()
    words, spaces = ["Do", "n't", "run", ",", "Ann", "."], [False, *[True] * 5]
    docs = [Doc(nlp.vocab, words=words, spaces=spaces) for _ in range(10)]
    with pytest.warns(UserWarning, match="punctuation of the examples stands between spaces"):
        teach(nlp, docs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        teach(nlp, docs[:9])  # too few marks to tell
        teach(nlp, [*docs, *[Doc(nlp.vocab, words=words, spaces=[False] * 6)] * 3])


def test_examples_with_the_tokens_of_before_bring_a_warning() -> None:
    nlp = pipeline()
    nlp.add_pipe("sentencizer")
    golds = [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS]

    def made() -> list[Example]:
        return [Example(nlp.make_doc(gold.text), gold) for gold in golds]

    old = made()
    with pytest.warns(UserWarning, match="components are going to learn from examples that were"):
        nlp.initialize(lambda: old)
    anew = made()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(made)
        nlp.initialize(lambda: anew)  # they have the tokens that it writes now
