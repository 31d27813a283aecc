"""What ``ssvm_morphologizer`` does with Docs, labels, annotation and settings."""
# ruff: noqa: RUF001

import copy
import math
import pickle
import warnings
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import spacy
from marks import compiled_only
from pipelines import EAGER, Component, copy_of
from refusals import refusal
from saving import FILE, header_of
from spacy.attrs import MORPH, POS
from spacy.language import Language
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from spacy.vocab import Vocab
from thinc.config import Config, ConfigValidationError

from spacy_ssvm.storage import ModelFileError

NAME = "ssvm_morphologizer"

#: Word, part of speech and features; a sentence on each line.
SMALL = """
the/DET/Definite=Def walk/NOUN/Number=Sing ends/VERB/Number=Sing|Tense=Pres ./PUNCT/
they/PRON/Number=Plur walk/VERB/Number=Plur|Tense=Pres ./PUNCT/
the/DET/Definite=Def walks/NOUN/Number=Plur end/VERB/Number=Plur|Tense=Pres ./PUNCT/
she/PRON/Number=Sing walks/VERB/Number=Sing|Tense=Pres ./PUNCT/
the/DET/Definite=Def fish/NOUN/Number=Sing swims/VERB/Number=Sing|Tense=Pres ./PUNCT/
the/DET/Definite=Def fish/NOUN/Number=Plur swim/VERB/Number=Plur|Tense=Pres ./PUNCT/
they/PRON/Number=Plur fish/VERB/Number=Plur|Tense=Pres ./PUNCT/
a/DET/Definite=Ind fish/NOUN/Number=Sing swam/VERB/Tense=Past slowly/ADV/ ./PUNCT/
"""


def english() -> str:
    """Some 60 sentences, whose words have several labels."""
    lines = []
    nouns, verbs = ["walk", "fish", "dog", "plan", "run"], ["end", "walk", "fish", "plan", "run"]
    for i, (noun, verb) in enumerate(product(nouns, verbs)):
        adjective = ["", "old/ADJ/Degree=Pos ", "older/ADJ/Degree=Cmp "][i % 3]
        lines += [
            f"The/DET/Definite=Def|PronType=Art {adjective}{noun}/NOUN/Number=Sing "
            f"{verb}s/VERB/Number=Sing|Person=3|Tense=Pres|VerbForm=Fin ./PUNCT/",
            f"These/DET/Number=Plur|PronType=Dem {noun}s/NOUN/Number=Plur "
            f"{verb}/VERB/Number=Plur|Person=3|Tense=Pres|VerbForm=Fin ./PUNCT/",
        ]
        if i % 3 == 0:
            lines.append(f"Dogs/NOUN/Number=Plur will/AUX/VerbForm=Fin {verb}/VERB/VerbForm=Inf")
    return "\n".join(lines)


#: Of each language: lower case that depends on it, letters beyond the first plane, no letters.
LANGUAGES = {
    "turkish": """
    İstanbul/PROPN/Case=Nom güzel/ADJ/ ./PUNCT/
    ışık/NOUN/Case=Nom|Number=Sing söndü/VERB/Tense=Past ./PUNCT/
    IŞIK/NOUN/Case=Nom|Number=Sing yandı/VERB/Tense=Past ./PUNCT/
    iğne/NOUN/Case=Nom|Number=Sing ışığı/NOUN/Case=Acc|Number=Sing deldi/VERB/Tense=Past ./PUNCT/
    İğneler/NOUN/Case=Nom|Number=Plur battı/VERB/Tense=Past ./PUNCT/
    evi/NOUN/Case=Acc|Number=Sing gördü/VERB/Tense=Past ./PUNCT/
    """,
    "greek": """
    Ο/DET/Case=Nom|Gender=Masc σκύλος/NOUN/Case=Nom|Gender=Masc τρέχει/VERB/Tense=Pres ./PUNCT/
    ΤΟΝ/DET/Case=Acc|Gender=Masc σκύλο/NOUN/Case=Acc|Gender=Masc βλέπω/VERB/Tense=Pres ;/PUNCT/
    Η/DET/Case=Nom|Gender=Fem οδός/NOUN/Case=Nom|Gender=Fem τελειώνει/VERB/Tense=Pres ./PUNCT/
    ΟΔΟΣ/PROPN/Case=Nom|Gender=Fem ΕΡΜΟΥ/PROPN/Case=Gen
    """,
    "japanese": """
    猫/NOUN/ が/ADP/Case=Nom 鳴く/VERB/VerbForm=Fin 。/PUNCT/
    犬/NOUN/ を/ADP/Case=Acc 見た/VERB/Tense=Past|VerbForm=Fin 。/PUNCT/
    𠮷野/PROPN/NameType=Sur さん/NOUN/ が/ADP/Case=Nom 来た/VERB/Tense=Past|VerbForm=Fin 。/PUNCT/
    """,
    "emoji": """
    😀/SYM/Style=Expr 👍🏽/SYM/Style=Expr ok/INTJ/
    👩‍👩‍👧/SYM/Number=Plur ☕/SYM/Number=Sing
    e\u0301te\u0301/NOUN/Gender=Masc été/NOUN/Gender=Masc|Number=Sing
    """,
}  # the last line has letters with accents of their own


def read_line(line: str) -> tuple[list[str], list[str], list[str | None]]:
    """Words, parts of speech and features; '' and None where they are '?'."""
    triples = [token.split("/") for token in line.split()]
    words, tags, features = (list(column) for column in zip(*triples, strict=True))
    tags = ["" if tag == "?" else tag for tag in tags]
    return words, tags, [None if own == "?" else own or "_" for own in features]


def reference_of(vocab: Vocab, line: str) -> Doc:
    words, tags, features = read_line(line)
    doc = Doc(vocab, words=words, pos=tags)
    for token, own in zip(doc, features, strict=True):
        if own is not None:
            token.set_morph(own)
    return doc


def examples_of(vocab: Vocab, text: str = SMALL) -> list[Example]:
    references = [reference_of(vocab, line) for line in text.strip().splitlines()]
    return [Example(Doc(vocab, words=[t.text for t in doc]), doc) for doc in references]


def pairs(doc: Doc) -> list[str]:
    """The part of speech and the features of each token."""
    return [f"{token.pos_}/{token.morph}" for token in doc]


MORPHOLOGIZER = Component(
    NAME, examples=examples_of, annotations=pairs, score="pos_acc", config=EAGER
)


def pipeline(**config: Any) -> Language:
    return MORPHOLOGIZER.pipeline(**config)


def train(nlp: Language, examples: list[Example], epochs: int = 20) -> Any:
    """The component, trained on the examples."""
    nlp.initialize(lambda: examples)
    MORPHOLOGIZER.train(nlp, examples, epochs)
    return nlp.get_pipe(NAME)


def trained_on(text: str = SMALL, *, epochs: int = 20, **config: Any) -> Language:
    nlp = pipeline(**config)
    train(nlp, examples_of(nlp.vocab, text), epochs)
    return nlp


def found(nlp: Language, text: str = SMALL) -> list[list[str]]:
    """What the pipeline writes into the sentences of a corpus."""
    docs = [Doc(nlp.vocab, words=read_line(line)[0]) for line in text.strip().splitlines()]
    return [pairs(doc) for doc in nlp.pipe(docs)]


def gold(text: str = SMALL) -> list[list[str]]:
    vocab = Vocab()
    return [pairs(reference_of(vocab, line)) for line in text.strip().splitlines()]


def words_of(nlp: Language, *words: str, **annotation: Any) -> Doc:
    return Doc(nlp.vocab, words=list(words), **annotation)


@pytest.fixture(scope="module")
def small() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return trained_on()


@pytest.fixture
def mine(small: Language) -> Language:
    """A trained pipeline that may be changed."""
    return copy_of(small)


# --- What is learned --------------------------------------------------------------------


def test_a_corpus_is_learned_by_heart() -> None:
    text = english()
    assert 30 <= len(text.splitlines()) <= 100
    nlp = trained_on(text)
    assert found(nlp, text) == gold(text)
    scores = nlp.evaluate(examples_of(nlp.vocab, text))
    assert scores["pos_acc"] == scores["morph_acc"] == 1.0
    assert {own["f"] for own in scores["morph_per_feat"].values()} == {1.0}


def test_a_corpus_is_learned_by_heart_with_the_default_settings() -> None:
    text = english()
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME)
    train(nlp, examples_of(nlp.vocab, text), 30)
    assert found(nlp, text) == gold(text)


@pytest.mark.parametrize("text", LANGUAGES.values(), ids=LANGUAGES)
def test_words_of_other_scripts_are_learned(text: str, tmp_path: Path) -> None:
    nlp = trained_on(text, epochs=30)
    assert found(nlp, text) == gold(text)
    nlp.to_disk(tmp_path)
    assert found(spacy.load(tmp_path), text) == gold(text)


def test_all_languages_are_learned_together() -> None:
    text = "\n".join(
        line.strip() for own in LANGUAGES.values() for line in own.strip().splitlines()
    )
    assert found(trained_on(text, epochs=30), text) == gold(text)


def test_labels_are_those_that_spacy_would_have() -> None:
    nlp, other = pipeline(), spacy.blank("en")
    theirs: Any = other.add_pipe("morphologizer")
    ours = train(nlp, examples_of(nlp.vocab, english()), 1)
    theirs.initialize(lambda: examples_of(other.vocab, english()), nlp=other)
    assert set(ours.labels) == set(theirs.labels)
    assert ours.labels == tuple(sorted(ours.labels)) == ours.label_data


def test_features_in_any_order_and_with_several_values_are_one_label() -> None:
    nlp = pipeline()
    text = """
    a/NOUN/Number=Sing|Case=Nom b/NOUN/Case=Nom|Number=Sing
    c/PRON/PronType=Rel,Int|Number[psor]=Plur|abc=X|Abbr=Yes d/PRON/PronType=Int
    """
    ours = train(nlp, examples_of(nlp.vocab, text))
    assert len(ours.labels) == 3
    assert found(nlp, text) == gold(text)


def test_scores_of_the_evaluation(small: Language) -> None:
    examples = examples_of(small.vocab, SMALL)
    examples[0].reference[1].pos_ = "VERB"
    examples[1].reference[0].set_morph("Number=Sing")
    scores = small.evaluate(examples)
    tokens = sum(len(example.reference) for example in examples)
    assert scores["pos_acc"] == pytest.approx(1 - 1 / tokens)
    assert scores["morph_acc"] == pytest.approx(1 - 1 / tokens)
    assert scores["morph_per_feat"].keys() == {"Definite", "Number", "Tense"}
    assert scores["morph_per_feat"]["Tense"] == {"p": 1.0, "r": 1.0, "f": 1.0}
    assert scores["morph_per_feat"]["Number"]["f"] < 1
    meta = small.get_pipe_meta(NAME)
    assert meta.default_score_weights == {"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None}
    assert meta.assigns == ["token.pos", "token.morph"]
    assert "tag_acc" not in scores


def test_tokens_have_annotation(small: Language) -> None:
    doc = small(words_of(small, "the", "fish", "swims", "."))
    assert doc.has_annotation("POS", require_complete=True)
    assert doc.has_annotation("MORPH", require_complete=True)
    assert not doc.has_annotation("TAG")
    assert [token.morph.to_dict() for token in doc] == [
        {"Definite": "Def"}, {"Number": "Sing"}, {"Number": "Sing", "Tense": "Pres"}, {}
    ]  # fmt: skip


# --- Docs -------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("extend", [False, True])
def test_docs_without_words(mine: Language, overwrite: bool, extend: bool) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg |= {"overwrite": overwrite, "extend": extend}
    assert len(mine("")) == 0
    assert pipe.scores(Doc(mine.vocab)).shape == (0,)
    blank = mine(words_of(mine, " ", "\n\n", "\t"))
    assert pairs(blank) == ["SPACE/"] * 3
    assert all(token.has_morph() for token in blank)
    assert pipe.scores(blank).tolist() == [0.0] * 3
    docs = [Doc(mine.vocab), words_of(mine, "they", "walk"), words_of(mine, "\n"), Doc(mine.vocab)]
    found = [pairs(doc) for doc in mine.pipe(docs)]
    assert found == [[], ["PRON/Number=Plur", "VERB/Number=Plur|Tense=Pres"], ["SPACE/"], []]


def test_whitespace_is_no_part_of_the_sequence(small: Language) -> None:
    pipe: Any = small.get_pipe(NAME)
    plain = words_of(small, "the", "fish", "swims", ".")
    spaced = words_of(small, "\n", "the", " ", "fish", "swims", "\n\n", ".", " ")
    scores, expected = pipe.scores(spaced), pipe.scores(plain)
    whitespace = np.array([token.is_space for token in spaced])
    assert scores[whitespace].tolist() == [0.0] * 4
    assert scores[~whitespace] == pytest.approx(expected)
    of_words = [own for own in pairs(small(spaced)) if own != "SPACE/"]
    assert of_words == pairs(small(plain))


def test_whitespace_does_not_disturb_learning() -> None:
    def saved(spaced: bool) -> bytes:
        nlp, examples = pipeline(), []
        for line in SMALL.strip().splitlines():
            if spaced:
                first, *rest = line.split()
                line = " ".join([first, "\u3000/SPACE/", *rest])
            words, tags, features = read_line(line) if not spaced else read_spaced(line)
            reference = Doc(nlp.vocab, words=words, pos=tags, morphs=features)
            examples.append(Example(Doc(nlp.vocab, words=words), reference))
        return train(nlp, examples).to_bytes(exclude=["vocab"])

    def read_spaced(line: str) -> Any:
        triples = [token.split("/") for token in line.split(" ")]
        words, tags, features = (list(column) for column in zip(*triples, strict=True))
        return words, tags, [own or "_" for own in features]

    assert saved(False) == saved(True)


def test_whitespace_gives_no_label() -> None:
    nlp = pipeline()
    words, tags = ["a", "\n", "b"], ["NOUN", "SPACE", "VERB"]
    reference = Doc(nlp.vocab, words=words, pos=tags, morphs=["_"] * 3)
    pipe = train(nlp, [Example(Doc(nlp.vocab, words=words), reference)])
    assert pipe.labels == ("POS=NOUN", "POS=VERB")


def test_sentences_are_labelled_each_by_itself(small: Language) -> None:
    pipe: Any = small.get_pipe(NAME)
    one, other = ["the", "fish", "swims", "."], ["they", "fish", "."]
    starts = [i in (0, 4) for i in range(7)]
    both = words_of(small, *one, *other, sent_starts=starts)
    parts = [words_of(small, *one), words_of(small, *other)]
    scores = np.concatenate([pipe.scores(doc) for doc in parts])
    assert pipe.scores(both) == pytest.approx(scores)
    assert pairs(small(both)) == [own for doc in parts for own in pairs(small(doc))]
    # without boundaries, the Doc is one sentence
    whole = words_of(small, *one, *other)
    assert all(pairs(small(whole)))
    assert pipe.scores(whole) != pytest.approx(scores)


# --- Partial gold -----------------------------------------------------------------------


def test_gold_without_features_is_learned() -> None:
    """A corpus of parts of speech alone."""
    nlp = pipeline()
    text = "the/DET/? dog/NOUN/? barks/VERB/?\ndogs/NOUN/? bark/VERB/?\nthe/DET/? bark/NOUN/?"
    pipe = train(nlp, examples_of(nlp.vocab, text))
    assert pipe.labels == ("POS=DET", "POS=NOUN", "POS=VERB")
    assert found(nlp, text) == gold(text)
    assert nlp.evaluate(examples_of(nlp.vocab, text))["pos_acc"] == 1.0


def test_gold_without_parts_of_speech_is_learned() -> None:
    """A corpus of features alone."""
    nlp = pipeline()
    text = "the/?/Definite=Def dog/?/Number=Sing barks/?/Tense=Pres\nand/?/ dogs/?/Number=Plur"
    pipe = train(nlp, examples_of(nlp.vocab, text))
    assert set(pipe.labels) == {"_", "Definite=Def", "Number=Sing", "Number=Plur", "Tense=Pres"}
    assert found(nlp, text) == gold(text)


MIXED = """
the/DET/Definite=Def dog/NOUN/Number=Sing barks/?/Tense=Pres
the/DET/Definite=Def dogs/NOUN/Number=Plur quickly/ADV/? ran/?/Tense=Past
"""


@pytest.mark.parametrize("candidates", [False, True])
def test_labels_that_only_partial_gold_has_are_learned(candidates: bool) -> None:
    """Some words have both, others only one of them, which no complete label agrees with."""
    nlp = pipeline(candidates=candidates)
    pipe = train(nlp, examples_of(nlp.vocab, MIXED), 30)
    assert {"Tense=Pres", "Tense=Past", "POS=ADV"} < set(pipe.labels)
    assert found(nlp, MIXED) == gold(MIXED)


def test_the_corpus_of_spacys_own_test_is_learned() -> None:
    nlp = pipeline()
    data = [
        (
            "I like green eggs",
            {
                "morphs": ["Feat=N", "Feat=V", "Feat=J", "Feat=N"],
                "pos": ["NOUN", "VERB", "ADJ", "NOUN"],
            },
        ),
        ("Eat blue ham", {"morphs": ["Feat=V", "", ""], "pos": ["", "ADJ", ""]}),
    ]
    train(nlp, [Example.from_dict(nlp.make_doc(text), annotation) for text, annotation in data])
    doc = nlp("Eat blue eggs")
    assert [str(token.morph) for token in doc][::2] == ["Feat=V", "Feat=N"]
    assert [token.pos_ for token in doc][1:] == ["ADJ", "NOUN"]


def test_partial_gold_of_words_with_complete_labels() -> None:
    """A part of speech without features, and features without a part of speech."""
    text = SMALL + "the/DET/? fish/NOUN/? swims/?/Number=Sing|Tense=Pres ?/?/? ./PUNCT/\n"
    nlp = pipeline()
    examples = examples_of(nlp.vocab, text)
    pipe = train(nlp, examples)
    assert pipe.labels == trained_on(epochs=1).get_pipe(NAME).labels
    assert found(nlp, text)[:-1] == gold()
    last = found(nlp, text)[-1]
    assert last[0].startswith("DET/")
    assert last[1].startswith("NOUN/")
    assert last[2] == "VERB/Number=Sing|Tense=Pres"
    assert 0 <= pipe.objective(examples).gap < 0.5


def test_missing_gold_teaches_nothing() -> None:
    nlp, mixed = pipeline(), pipeline()
    train(nlp, examples_of(nlp.vocab, SMALL), 10)
    bare = "an/?/? unknown/?/? sentence/?/?\n"
    examples = examples_of(mixed.vocab, SMALL + bare)
    pipe = train(mixed, examples, 10)
    assert pipe.labels == nlp.get_pipe(NAME).labels
    assert pipe.objective(examples) == pipe.objective(examples[:-1])
    assert found(mixed) == gold()


def test_gold_of_tokens_that_are_cut_in_another_way() -> None:
    nlp = pipeline()
    pipe = train(nlp, examples_of(nlp.vocab), 3)
    cut = Example(
        Doc(nlp.vocab, words=["the", "fish", "es"], spaces=[True, False, False]),
        reference_of(nlp.vocab, "the/DET/Definite=Def fishes/NOUN/Number=Plur"),
    )
    joined = Example(
        Doc(nlp.vocab, words=["the", "walkend"], spaces=[True, False]),
        Doc(
            nlp.vocab, words=["the", "walk", "end"], spaces=[True, False, False],
            pos=["DET", "NOUN", "NOUN"], morphs=["Definite=Def", "Number=Sing", "Number=Plur"],
        ),
    )  # fmt: skip
    views = pipe.views()

    def view(label: str) -> list[int]:
        return views[pipe.labels.index(label)].tolist()

    noun, det = view("Number=Plur|POS=NOUN"), view("Definite=Def|POS=DET")
    of_cut, of_joined = pipe.gold_labels([cut, joined])
    assert of_cut.tolist() == [det, noun, noun]
    assert of_joined.tolist() == [det, [-1, -1]], "as for spaCy, it is missing where one differs"
    MORPHOLOGIZER.train(nlp, [*examples_of(nlp.vocab), cut, joined], 20)
    assert pairs(nlp(cut.predicted.copy())) == [
        "DET/Definite=Def", "NOUN/Number=Plur", "NOUN/Number=Plur"
    ]  # fmt: skip
    assert nlp.evaluate([cut, joined])["pos_acc"] is not None


def test_gold_of_empty_docs(small: Language) -> None:
    pipe: Any = small.get_pipe(NAME)
    empty = Example(Doc(small.vocab), Doc(small.vocab))
    assert pipe.gold_labels([]) == []
    for own in pipe.gold_labels([empty, empty]):
        assert (own.shape, own.dtype) == ((0, 2), np.int64)
    blank = Example(words_of(small, "\n"), words_of(small, "\n", pos=["SPACE"]))
    assert [own.tolist() for own in pipe.gold_labels([empty, blank])] == [[], [[-1, -1]]]


def test_a_corpus_with_empty_docs_is_learned() -> None:
    nlp = pipeline()
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    blank = Example(words_of(nlp, "\n"), words_of(nlp, "\n"))
    train(nlp, [empty, *examples_of(nlp.vocab), blank, empty])
    assert found(nlp) == gold()
    nlp.update([empty, blank])


# --- Labels -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("the/DET/Definite=Def fish/NOUN/Number=Dual", "Number=Dual|POS=NOUN"),
        ("the/DET/Definite=Def fish/PROPN/?", "POS=PROPN"),
        ("the/DET/Definite=Def fish/?/Case=Nom", "Case=Nom"),
    ],
)
def test_a_gold_label_that_was_not_there_at_initialize(line: str, label: str) -> None:
    nlp = trained_on(epochs=2)
    examples = examples_of(nlp.vocab, line)
    before = nlp.get_pipe(NAME).to_bytes(exclude=["vocab"])
    message = refusal(lambda: nlp.update([*examples_of(nlp.vocab), *examples]))
    assert f"the label '{label}' of token 1 ('fish') in 'the fish" in message
    assert "was not among the labels at initialize" in message
    assert nlp.get_pipe(NAME).to_bytes(exclude=["vocab"]) == before
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab), 20)
    assert found(nlp) == gold()


def test_a_part_of_speech_that_is_not_universal_is_refused() -> None:
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    examples = examples_of(nlp.vocab)
    for label in ("POS=NN", "Number=Sing|POS=NNS"):
        action = lambda label=label: pipe.initialize(lambda: examples, nlp=nlp, labels=[label])  # noqa: E731
        message = refusal(action, ConfigValidationError)
        assert f"[initialize.components.{NAME}]" in message
        assert "is not a universal part-of-speech tag" in message
        assert label in message
        assert "ADJ, ADP" in message
        assert label in refusal(lambda label=label: pipe.add_label(label))
    assert pipe.labels == ()


@pytest.mark.parametrize("label", ["nonsense", "POS=NOUN|nonsense", "POS=NOUN|"])
def test_labels_that_are_no_features_are_refused(label: str) -> None:
    pipe: Any = pipeline().get_pipe(NAME)
    with pytest.raises(ValueError, match=r"\w"):
        pipe.add_label(label)
    assert pipe.labels == ()


def test_the_label_without_anything_is_that_of_spacy() -> None:
    pipe: Any = pipeline().get_pipe(NAME)
    for label in ("_", ""):
        try:
            pipe.add_label(label)
        except ValueError:
            assert label == ""
    assert pipe.labels == ("_",)


@pytest.mark.parametrize("label", [9, None, ["POS=NOUN"]])
def test_labels_that_are_no_texts_are_refused(label: Any) -> None:
    with pytest.raises(ValueError, match="must be a text"):
        pipeline().get_pipe(NAME).add_label(label)


def test_a_label_with_features_in_another_order_is_the_same_label() -> None:
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    assert pipe.add_label("POS=NOUN|Number=Sing") == 1
    train(nlp, examples_of(nlp.vocab))
    assert pipe.labels == trained_on(epochs=1).get_pipe(NAME).labels
    assert len({tuple(view) for view in pipe.views().tolist()}) == len(pipe.labels)


def test_labels_in_another_order_of_features_are_the_same_labels() -> None:
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    labels = trained_on(epochs=1).get_pipe(NAME).labels
    turned = ["|".join(label.split("|")[::-1]) for label in labels]
    pipe.initialize(lambda: examples_of(nlp.vocab), nlp=nlp, labels=turned)
    assert pipe.labels == labels


def test_labels_as_spacys_component_saves_them() -> None:
    nlp, other = pipeline(), spacy.blank("en")
    theirs: Any = other.add_pipe("morphologizer")
    theirs.initialize(lambda: examples_of(other.vocab), nlp=other)
    pipe: Any = nlp.get_pipe(NAME)
    message = ""
    try:
        pipe.initialize(lambda: examples_of(nlp.vocab), nlp=nlp, labels=theirs.label_data)
    except ValueError as error:
        message = str(error)
    if message:
        assert "labels" in message
        assert "was not among the labels at initialize" not in message
    else:
        assert set(pipe.labels) == set(theirs.labels)


def test_initialize_without_examples_explains_what_is_missing() -> None:
    message = refusal(lambda: pipeline().initialize(), ConfigValidationError)
    assert f"[initialize.components.{NAME}]" in message
    assert "the examples have no POS or MORPH annotation to learn from" in message
    nlp = pipeline()
    bare = [Example(words_of(nlp, "a", "b"), words_of(nlp, "a", "b"))]
    message = refusal(lambda: nlp.initialize(lambda: bare), ConfigValidationError)
    assert "no POS or MORPH annotation" in message


def test_use_without_labels_explains_what_is_missing() -> None:
    nlp = pipeline()
    with pytest.raises(ValueError, match="there are no labels"):
        nlp("a")
    with pytest.raises(ValueError, match="there are no labels"):
        nlp.update(examples_of(nlp.vocab))
    with pytest.raises(ValueError, match="there are no labels"):
        nlp.get_pipe(NAME).scores(words_of(nlp, "a"))


def test_labels_that_are_given_suffice() -> None:
    labels = trained_on(epochs=1).get_pipe(NAME).label_data
    nlp = pipeline()
    nlp.config["initialize"]["components"][NAME] = {"labels": list(labels)}
    nlp.initialize()
    pipe: Any = nlp.get_pipe(NAME)
    assert pipe.labels == labels
    assert all(pairs(nlp(words_of(nlp, "the", "fish"))))
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab), 20)
    assert found(nlp) == gold()


def test_labels_that_no_example_has() -> None:
    labels = [*trained_on(epochs=1).get_pipe(NAME).labels, "Case=Voc|POS=NOUN", "POS=X"]
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    pipe.initialize(lambda: examples_of(nlp.vocab), nlp=nlp, labels=labels)
    assert pipe.labels == tuple(sorted(labels))
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab), 20)
    assert found(nlp) == gold()


def test_labels_round_trip_as_label_data(small: Language) -> None:
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    data = small.get_pipe(NAME).label_data
    pipe.initialize(lambda: examples_of(nlp.vocab), nlp=nlp, labels=list(data))
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab), 20)
    assert pipe.to_bytes(exclude=["vocab"]) == small.get_pipe(NAME).to_bytes(exclude=["vocab"])


def test_add_label_before_initialize() -> None:
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    assert pipe.add_label("Case=Voc|POS=NOUN") == 1
    assert pipe.add_label("Case=Voc|POS=NOUN") == 0
    assert pipe.labels == ("Case=Voc|POS=NOUN",)
    nlp.initialize()
    assert pipe.labels == ("Case=Voc|POS=NOUN",)
    train(nlp, examples_of(nlp.vocab))
    assert set(pipe.labels) > {"Case=Voc|POS=NOUN", "POS=PUNCT"}
    assert pipe.add_label("POS=PUNCT") == 0
    assert found(nlp) == gold()


def test_add_label_between_initialize_and_update() -> None:
    nlp = pipeline()
    pipe: Any = nlp.get_pipe(NAME)
    nlp.initialize(lambda: examples_of(nlp.vocab))
    assert pipe.add_label("POS=INTJ") == 1
    text = SMALL + "oh/INTJ/ the/DET/Definite=Def fish/NOUN/Number=Sing ./PUNCT/\n"
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab, text), 20)
    assert found(nlp, text) == gold(text)


@pytest.mark.parametrize("loaded", [False, True], ids=["learning", "loaded"])
def test_add_label_after_training_explains_why_not(loaded: bool) -> None:
    nlp = trained_on(epochs=2)
    nlp = copy_of(nlp) if loaded else nlp
    pipe: Any = nlp.get_pipe(NAME)
    labels = pipe.labels
    with pytest.raises(ValueError, match="cannot add the label 'POS=X' to a trained model"):
        pipe.add_label("POS=X")
    assert pipe.labels == labels
    assert pipe.add_label(labels[0]) == 0


def test_initialize_again_forgets_what_was_learned(mine: Language) -> None:
    text = "猫/NOUN/ が/ADP/Case=Nom\n犬/NOUN/ を/ADP/Case=Acc"
    pipe = train(mine, examples_of(mine.vocab, text))
    assert set(pipe.labels) == {"Case=Acc|POS=ADP", "Case=Nom|POS=ADP", "POS=NOUN"}
    assert found(mine, text) == gold(text)


# --- Annotation that is there: spaCy's rules ----------------------------------------------

COMBINATIONS = list(product([False, True], repeat=2))

PRESENT: list[tuple[str, str | None]] = [
    ("", None), ("NOUN", None), ("", "Number=Plur"), ("NOUN", "Number=Plur"), ("", "_"),
    ("ADV", "_"), ("X", "Case=Voc"), ("VERB", "Case=Voc|Number=Dual"), ("", "Tense=Fut|Zzz=1"),
    ("PROPN", "Number=Sing"),
]  # fmt: skip


def spacys_rules(
    there: tuple[str, str | None], new: tuple[str, str], overwrite: bool, extend: bool
) -> tuple[str, str]:
    """What spaCy's component writes: ``Morphologizer.set_annotations``."""
    tag, morph = there
    written = morph
    old, own = Morphology.feats_to_dict(morph or ""), Morphology.feats_to_dict(new[1])
    if morph is None or overwrite or extend:
        if overwrite and extend:
            own = {**old, **own}
        elif extend:
            own = {**own, **old}
        written = Morphology.dict_to_feats(own)
    return new[0] if not tag or overwrite else tag, "" if written in (None, "_") else written


def annotated_doc(nlp: Language, random: Random, number: int) -> tuple[Doc, list[Any]]:
    """A Doc with some annotation."""
    words = random.choices(["the", "fish", "walks", "they", "swam", "zebras", "\n", "."], k=number)
    there = [random.choice(PRESENT) for _ in words]
    doc = words_of(nlp, *words, pos=[tag for tag, _ in there])
    for token, (_, morph) in zip(doc, there, strict=True):
        if morph is not None:
            token.set_morph(morph)
    return doc, there


@pytest.mark.parametrize(("overwrite", "extend"), COMBINATIONS)
def test_annotation_is_kept_extended_and_replaced_as_in_spacy(
    mine: Language, overwrite: bool, extend: bool
) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg |= {"overwrite": overwrite, "extend": extend}
    strings, tags = mine.vocab.strings, {number: tag for tag, number in IDS.items()}
    for seed in range(30):
        doc, there = annotated_doc(mine, Random(seed), seed)
        (values,) = pipe.predict([doc])
        new = [(tags[int(tag)], strings[int(morph)]) for tag, morph in values]
        expected = [spacys_rules(*pair, overwrite, extend) for pair in zip(there, new, strict=True)]
        pipe.set_annotations([doc], [values])
        assert [(token.pos_, str(token.morph)) for token in doc] == expected
        assert all(token.has_morph() for token in doc)


@pytest.mark.parametrize("overwrite", [False, True])
def test_predictions_that_nothing_is_kept_of_do_not_depend_on_annotation(
    mine: Language, overwrite: bool
) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg |= {"overwrite": True, "extend": overwrite}
    for seed in range(10):
        doc, _ = annotated_doc(mine, Random(seed), 8)
        plain = words_of(mine, *[token.text for token in doc])
        assert pipe.predict([doc])[0].tolist() == pipe.predict([plain])[0].tolist()


def test_labels_agree_with_annotation_that_is_kept(mine: Language) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg |= {"overwrite": False, "extend": False}
    views = [tuple(view) for view in pipe.views().tolist()]
    for seed in range(30):
        doc, _ = annotated_doc(mine, Random(seed), seed)
        before = doc.to_array([POS, MORPH]).reshape(len(doc), 2).astype(np.int64)
        (values,) = pipe.predict([doc])
        for token, there, own in zip(doc, before, values.view(np.int64), strict=True):
            agreeing = [
                view
                for view in views
                if all(old in (0, new) for old, new in zip(there, view, strict=True))
            ]
            if token.is_space:
                assert own[0] == IDS["SPACE"]
            else:
                assert tuple(own.tolist()) in (agreeing or views)


def test_a_part_of_speech_that_is_there_decides_on_the_features(mine: Language) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg["overwrite"] = False
    doc = mine(words_of(mine, "they", "fish", "zebra", pos=["", "NOUN", "VERB"]))
    assert [token.pos_ for token in doc] == ["PRON", "NOUN", "VERB"]
    assert str(doc[1].morph) in ("Number=Sing", "Number=Plur")
    assert "Tense" in doc[2].morph.to_dict()
    other = words_of(mine, "they", "fish")
    other[1].set_morph("Number=Plur|Tense=Pres")
    assert pairs(mine(other)) == ["PRON/Number=Plur", "VERB/Number=Plur|Tense=Pres"]


def test_annotation_of_one_doc_leaves_others_alone(mine: Language) -> None:
    mine.get_pipe(NAME).cfg["overwrite"] = False
    words = ["they", "fish"]
    docs = [words_of(mine, *words), words_of(mine, *words, pos=["X", "X"]), words_of(mine, *words)]
    plain, kept, last = mine.pipe(docs)
    expected = ["PRON/Number=Plur", "VERB/Number=Plur|Tense=Pres"]
    assert pairs(plain) == pairs(last) == expected
    assert [token.pos_ for token in kept] == ["X", "X"]


def test_annotation_is_overwritten_by_default(small: Language) -> None:
    annotation = {"pos": ["X", "X"], "morphs": ["A=B", "A=B"]}
    doc = small(words_of(small, "they", "fish", **annotation))
    assert pairs(doc) == ["PRON/Number=Plur", "VERB/Number=Plur|Tense=Pres"]


def test_scores_do_not_depend_on_annotation(mine: Language) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg["overwrite"] = False
    plain = words_of(mine, "they", "fish")
    kept = words_of(mine, "they", "fish", pos=["DET", "NOUN"])
    assert pipe.scores(kept).tolist() == pipe.scores(plain).tolist()


# --- Scores -----------------------------------------------------------------------------


def test_scores_are_margins(small: Language) -> None:
    pipe: Any = small.get_pipe(NAME)
    scores = pipe.scores(words_of(small, "the", "fish", "\n", "walks", "zebra"))
    assert scores[2] == 0
    assert (np.delete(scores, 2) >= 0).all()
    assert np.isfinite(np.delete(scores, 2)).all(), "small corpora let words have all labels"


def test_words_with_one_candidate_have_infinite_margins() -> None:
    nlp = pipeline()
    frequent = "\n".join(["the/DET/Definite=Def walk/NOUN/Number=Sing ./PUNCT/"] * 30)
    pipe = train(nlp, examples_of(nlp.vocab, SMALL + frequent))
    scores = pipe.scores(words_of(nlp, "the", "walk", "."))
    assert math.isinf(scores[0])
    assert np.isfinite(scores[1])
    assert pairs(nlp(words_of(nlp, "the", "walk", ".")))[0] == "DET/Definite=Def"


def test_scores_of_a_crf_are_probabilities() -> None:
    solver = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 1.0}
    nlp = trained_on(solver=solver, epochs=30)
    pipe: Any = nlp.get_pipe(NAME)
    assert found(nlp) == gold()
    known = pipe.scores(words_of(nlp, "they", "walk", "\n", "."))
    unknown = pipe.scores(words_of(nlp, "qqq", "vvv"))
    assert known[2] == 0
    assert ((np.delete(known, 2) > 0.5) & (np.delete(known, 2) <= 1 + 1e-9)).all()
    assert ((unknown > 0) & (unknown < known[0])).all()
    loaded: Any = copy_of(nlp).get_pipe(NAME)
    doc = words_of(nlp, "they", "fish")
    assert loaded.scores(doc) == pytest.approx(pipe.scores(doc))


# --- Settings ---------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "perceptron": {"solver": {"@misc": "spacy_ssvm.Perceptron.v1"}},
    "crf": {"solver": {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 1.0}},
    "hashed": {"hash_bits": 16},
    "frequent features": {"min_count": 2},
    "all candidates": {"candidates": False},
    "other templates": {"templates": ["lower[0]", "lower[-1]", "lower[1]"]},
    "memory": {"memory": 100},
    "whole Docs": {"whole_docs": True},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings_learn_the_corpus(settings: dict[str, Any]) -> None:
    text = english()
    nlp = trained_on(text, epochs=25, **settings)
    assert found(nlp, text) == gold(text)
    other = copy_of(nlp)
    assert found(other, text) == gold(text)
    loaded: Any = other.get_pipe(NAME)
    MORPHOLOGIZER.train(other, examples_of(other.vocab, text), 1)
    assert found(other, text) == gold(text)
    assert loaded.labels == nlp.get_pipe(NAME).labels


def test_candidates_make_no_difference_on_a_corpus_that_is_fitted() -> None:
    text = english()
    few, all_of_them = trained_on(text), trained_on(text, candidates=False)
    assert found(few, text) == found(all_of_them, text) == gold(text)
    scores: list[Any] = [
        nlp.get_pipe(NAME).scores(words_of(nlp, "The", "dog")) for nlp in (few, all_of_them)
    ]
    assert np.isfinite(scores[1]).all()


def test_min_count_leaves_rare_features_out() -> None:
    sizes: list[int] = []
    for min_count in (1, 2):
        nlp = trained_on(min_count=min_count, templates=["lower[0]"])
        pipe: Any = nlp.get_pipe(NAME)
        pipe.scores(words_of(nlp, "now"))  # the weights that learn become those that are used
        sizes.append(pipe.model.number_of_rows)
    assert sizes[0] > sizes[1] > 0


def test_what_only_real_values_tell_is_learned() -> None:
    """Other components may write them as late as in training."""
    nlp = pipeline(templates=["lower[0]", "tensor[0]"])
    text = "fish/NOUN/Number=Sing fish/NOUN/Number=Plur fish/VERB/Number=Sing fish/VERB/Number=Plur"
    examples = examples_of(nlp.vocab, "\n".join([text] * 5))
    nlp.initialize(lambda: examples)
    random = np.random.default_rng(0)
    for example in examples:
        parts = [[token.pos_ == "VERB", "Plur" in str(token.morph)] for token in example.reference]
        noise = 0.1 * random.normal(size=(len(parts), 2))
        example.predicted.tensor = (np.array(parts) + noise).astype(np.float32)
    MORPHOLOGIZER.train(nlp, examples, 20)
    pipe: Any = nlp.get_pipe(NAME)
    loaded = copy_of(nlp).get_pipe(NAME)
    for example in examples:
        expected = pairs(example.reference)
        for component in (pipe, loaded):
            assert pairs(component(example.predicted.copy())) == expected  # type: ignore[operator]
    doc = examples[0].predicted
    for i, by_part in product(range(len(doc)), (False, True)):
        explanation = pipe.explain(doc, i, by_part=by_part)
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin, abs=1e-6)
        names = [reason.template for reason in explanation.reasons]
        assert by_part or "tensor[0]" in names
    with pytest.raises(ValueError, match="has no tensor for its tokens"):
        nlp("fish")


REFUSED: dict[str, dict[str, Any]] = {
    "hash_bits": {"hash_bits": 4},
    "min_count": {"min_count": 0},
    "templates": {"templates": ["lower["]},
    "memory": {"memory": 0},
    "overwrite": {"overwrite": "perhaps"},
    "extend": {"extend": [1]},
    "candidates": {"candidates": "few"},
    "label_smoothing": {"label_smoothing": 0.1},
}


@pytest.mark.parametrize(("key", "config"), REFUSED.items(), ids=REFUSED)
def test_settings_that_are_refused(key: str, config: dict[str, Any]) -> None:
    assert key in refusal(lambda: pipeline(**config), ConfigValidationError)


def test_the_config_of_a_pipeline_makes_the_same_pipeline(small: Language) -> None:
    nlp = pipeline(candidates=False, extend=True, overwrite=False, hash_bits=12, memory=7)
    text = nlp.config.to_str()
    config = Config().from_str(text)
    other = load_model_from_config(config, auto_fill=False, validate=True)
    assert other.config["components"] == nlp.config["components"]
    pipe: Any = other.get_pipe(NAME)
    assert not pipe.candidates
    assert (pipe.cfg["extend"], pipe.cfg["overwrite"]) == (True, False)
    assert (pipe.hash_bits, pipe.memory) == (12, 7)
    again = spacy.blank("en").from_config(small.config)
    again.from_bytes(small.to_bytes())
    assert found(again) == gold()


def test_a_config_is_filled_with_the_defaults() -> None:
    config = {
        "nlp": {"lang": "en", "pipeline": [NAME]},
        "components": {NAME: {"factory": NAME}},
    }
    nlp = load_model_from_config(config, auto_fill=True)
    filled = nlp.config["components"][NAME]
    assert filled["candidates"] is True
    assert (filled["overwrite"], filled["extend"]) == (True, False)
    assert filled["scorer"] == {"@scorers": "spacy.morphologizer_scorer.v1"}
    assert nlp.config["training"]["score_weights"] == {
        "pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None
    }  # fmt: skip
    assert load_model_from_config(nlp.config).config == nlp.config


# --- Training ---------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes() -> None:
    def saved(**solver: Any) -> bytes:
        solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 1.0, **solver}
        nlp = trained_on(english(), epochs=2, solver=solver)
        return nlp.get_pipe(NAME).to_bytes(exclude=["vocab"])

    assert saved() == saved() == saved(seed=0)
    assert saved(seed=1) != saved()


def test_updates_with_the_whole_corpus_add_examples_once() -> None:
    nlp = pipeline()
    examples = examples_of(nlp.vocab, english())
    nlp.initialize(lambda: examples_of(nlp.vocab, english()))
    losses = [nlp.update(examples)[NAME]]
    losses += [nlp.update(examples)[NAME] for _ in range(5)]
    assert MORPHOLOGIZER.number_of_examples(nlp) == len(examples)
    assert losses[-1] < losses[0] / 2
    # as a reader does, with Docs that are new each time
    fresh = examples_of(nlp.vocab, english())
    del examples
    nlp.update(fresh)
    assert MORPHOLOGIZER.number_of_examples(nlp) == len(fresh)


def test_changed_gold_is_learned_anew() -> None:
    nlp = pipeline()
    text = "ab/NOUN/ cd/VERB/\ncd/NOUN/ ab/VERB/"
    train(nlp, examples_of(nlp.vocab, text))
    other = "ab/NOUN/ cd/NOUN/\ncd/NOUN/ ab/NOUN/"
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab, other), 40)
    assert found(nlp, other) == gold(other)


def test_the_end_of_training_frees_memory() -> None:
    nlp = trained_on(epochs=3)
    pipe: Any = nlp.get_pipe(NAME)
    assert set(pipe.training_memory()) == {"weights", "constraints", "features"}
    before = pipe.to_bytes()
    pipe.end_training()
    assert pipe.training_memory() == {}
    assert pipe.to_bytes() == before
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab), 10)
    assert found(nlp) == gold()


def test_a_loaded_component_learns_on(small: Language) -> None:
    nlp = copy_of(small)
    examples = examples_of(nlp.vocab)
    beginner = pipeline()
    beginner.initialize(lambda: examples_of(beginner.vocab))
    first = beginner.update(examples_of(beginner.vocab))[NAME]
    assert nlp.update(examples)[NAME] < first / 4
    text = (
        SMALL + "she/PRON/Number=Sing swam/VERB/Tense=Past a/DET/Definite=Ind walk/NOUN/Number=Sing"
    )
    MORPHOLOGIZER.train(nlp, examples_of(nlp.vocab, text), 20)
    assert found(nlp, text) == gold(text)


def test_the_objective_is_that_of_the_loaded_component(small: Language) -> None:
    pipe: Any = small.get_pipe(NAME)
    objective = pipe.objective(examples_of(small.vocab))
    assert 0 <= objective.gap < 0.1
    other = copy_of(small)
    loaded: Any = other.get_pipe(NAME)
    assert loaded.objective(examples_of(other.vocab)).primal == pytest.approx(objective.primal)


def test_parts_of_speech_of_an_earlier_component_are_features() -> None:
    nlp = pipeline(templates=["tag[0]", "tag[-1]"])
    text = "a/DET/ b/NOUN/Number=Sing\nc/NOUN/Number=Plur d/VERB/"
    examples = examples_of(nlp.vocab, text)
    for example in examples:
        for i, token in enumerate(example.predicted):
            token.tag_ = example.reference[i].pos_[0] + str(example.reference[i].morph)
    train(nlp, examples)
    for example in examples:
        doc = Doc(nlp.vocab, words=["x", "y"], tags=[token.tag_ for token in example.predicted])
        assert pairs(nlp(doc)) == pairs(example.reference)


def test_what_a_first_component_found_around_a_word_is_a_feature() -> None:
    """Parts of speech and features, which the second one replaces."""
    nlp = pipeline(templates=["second_pass"])
    examples = examples_of(nlp.vocab, "the/DET/ fish/NOUN/Number=Sing\nthey/PRON/ fish/VERB/")
    for example in examples:
        for token, gold in zip(example.predicted, example.reference, strict=True):
            token.pos_ = "ADJ" if gold.pos_ in ("DET", "NOUN") else "ADV"
            token.set_morph("Degree=Pos" if gold.pos_ == "DET" else "")
    train(nlp, examples)
    for example in examples:
        doc = example.predicted.copy()
        assert pairs(nlp(doc)) == pairs(example.reference)


# --- Saving, processes, memory zones ----------------------------------------------------


def through_disk(nlp: Language, path: Path) -> Language:
    nlp.to_disk(path)
    return spacy.load(path)


def through_component(nlp: Language, path: Path) -> Language:
    """Only the component, into a new pipeline with a vocabulary of its own."""
    nlp.get_pipe(NAME).to_disk(path / "component", exclude=["vocab"])
    other = pipeline()
    other.get_pipe(NAME).from_disk(path / "component", exclude=["vocab"])
    return other


def through_pickle(nlp: Language, path: Path) -> Language:
    return pickle.loads(pickle.dumps(nlp))


ROUNDTRIPS = {
    "disk": through_disk,
    "component": through_component,
    "bytes": lambda nlp, _: copy_of(nlp),
    "pickle": through_pickle,
    "deepcopy": lambda nlp, _: copy.deepcopy(nlp),
}


@pytest.mark.parametrize("roundtrip", ROUNDTRIPS.values(), ids=ROUNDTRIPS)
def test_a_copy_annotates_the_same(small: Language, tmp_path: Path, roundtrip: Any) -> None:
    other = roundtrip(small, tmp_path)
    ours: Any = small.get_pipe(NAME)
    copied: Any = other.get_pipe(NAME)
    assert other.vocab is not small.vocab
    assert copied.labels == ours.labels
    assert copied.candidates == ours.candidates
    assert copied.views().tolist() == ours.views().tolist()
    assert found(other) == gold()
    words = ["they", "zebra", "Walk", "\n", "."]
    assert pairs(other(words_of(other, *words))) == pairs(small(words_of(small, *words)))
    assert copied.scores(words_of(other, *words)) == pytest.approx(
        ours.scores(words_of(small, *words))
    )
    doc = other(words_of(other, "they", "fish"))
    assert doc[1].morph.to_dict() == {"Number": "Plur", "Tense": "Pres"}


def test_a_component_is_refused_that_was_damaged(small: Language, tmp_path: Path) -> None:
    small.get_pipe(NAME).to_disk(tmp_path, exclude=["vocab"])
    data = (tmp_path / FILE).read_bytes()
    _, rest = header_of(data)
    (tmp_path / FILE).write_bytes(data[: len(data) - len(rest) // 2])
    nlp = pipeline()
    with pytest.raises(ModelFileError, match=FILE):
        nlp.get_pipe(NAME).from_disk(tmp_path, exclude=["vocab"])
    assert nlp.get_pipe(NAME).labels == ()


@pytest.mark.parametrize("key", ["overwrite", "extend"])
def test_saved_settings_that_cannot_be_are_refused(mine: Language, key: str) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg[key] = "perhaps"
    data = pipe.to_bytes()
    other: Any = pipeline().get_pipe(NAME)
    with pytest.raises(ModelFileError, match=key):
        other.from_bytes(data)


def test_a_saved_label_that_cannot_be_written_is_refused(mine: Language) -> None:
    pipe: Any = mine.get_pipe(NAME)
    labels = [label.replace("POS=NOUN", "POS=NN") for label in pipe.model.labels]
    pipe.model.labels = tuple(labels)
    data = pipe.to_bytes()
    other: Any = pipeline().get_pipe(NAME)
    with pytest.raises(ModelFileError, match="universal"):
        other.from_bytes(data)


@compiled_only
@pytest.mark.slow
def test_two_processes_annotate_what_one_does(small: Language) -> None:
    texts = ["the fish swims.", "", "\n", "they walk", "Zebras fish the walk."] * 8
    one = [pairs(doc) for doc in small.pipe(texts)]
    assert [pairs(doc) for doc in small.pipe(texts, n_process=2, batch_size=4)] == one


@pytest.mark.parametrize(("overwrite", "extend"), COMBINATIONS)
def test_memory_zones(mine: Language, overwrite: bool, extend: bool) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg |= {"overwrite": overwrite, "extend": extend}

    def annotated(words: Iterable[str]) -> list[str]:
        annotation = {"pos": ["", "NOUN", "X"], "morphs": ["", "Foreign=Yes|New=1", "A=B"]}
        return pairs(mine(words_of(mine, *words, **annotation)))

    words = ["they", "fish", "unseen"]
    expected = annotated(words)
    before = set(mine.vocab.strings)
    for i in range(3):
        with mine.memory_zone():
            assert annotated(words) == expected
            assert len(annotated([f"new{i}", f"newer{i}", f"newest{i}"])) == 3
        added = set(mine.vocab.strings) - before
        assert all("=" in text for text in added), "spaCy keeps features, but no words"
        assert found(mine, SMALL) == gold()
    assert annotated(words) == expected


def test_features_are_merged_in_a_memory_zone(mine: Language) -> None:
    pipe: Any = mine.get_pipe(NAME)
    pipe.cfg |= {"overwrite": False, "extend": True}
    for i in range(3):
        with mine.memory_zone():
            doc = mine(words_of(mine, "they", "fish", morphs=["", f"Fresh=V{i % 2}"]))
            assert doc[1].morph.to_dict()["Fresh"] == f"V{i % 2}"
            assert doc[1].morph.to_dict()["Number"] == "Plur"


def test_annotating_adds_no_strings(small: Language) -> None:
    docs = [words_of(small, "they", "fish", f"new{i}", "\n") for i in range(10)]
    before = set(small.vocab.strings)
    list(small.pipe(docs))
    assert set(small.vocab.strings) == before


@pytest.mark.parametrize("candidates", [True, False])
def test_many_labels_take_long_where_there_are_no_candidates(candidates: bool) -> None:
    nlp = pipeline(candidates=candidates)
    examples = examples_of(nlp.vocab)
    labels = [f"Number=N{i}|POS=NOUN" for i in range(501)]
    own = list(nlp.get_pipe(NAME).collect_labels(examples))  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlp.get_pipe(NAME).initialize(lambda: examples, nlp=nlp, labels=[*labels, *own])  # type: ignore[attr-defined]
    said = [str(warning.message) for warning in caught]
    assert any("time grows with the square" in message for message in said) == (not candidates)
