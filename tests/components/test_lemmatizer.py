"""What ``ssvm_lemmatizer`` does with Docs, labels, tags and settings."""

import copy
import pickle
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from pipelines import EAGER
from refusals import refusal
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm.features import lemmas as lemmas_module
from spacy_ssvm.features.edit_scripts import read_script
from spacy_ssvm.features.text_hash import hash_word
from spacy_ssvm.lattices.candidates import _keys_of_entries
from spacy_ssvm.storage import ModelFileError

NAME = "ssvm_lemmatizer"
KINDS = ("tag", "pos", "morph")

#: Word, tag, part of speech, features and lemma; a sentence on each line.
CORPUS = """
The/DT/DET/Definite=Def/the leaves/NNS/NOUN/Number=Plur/leaf fell/VBD/VERB/Tense=Past/fall
She/PRP/PRON/Number=Sing/she leaves/VBZ/VERB/Tense=Pres/leave cities/NNS/NOUN/Number=Plur/city
Cities/NNS/NOUN/Number=Plur/city saw/VBD/VERB/Tense=Past/see parties/NNS/NOUN/Number=Plur/party
The/DT/DET/Definite=Def/the saw/NN/NOUN/Number=Sing/saw broke/VBD/VERB/Tense=Past/break
Dogs/NNS/NOUN/Number=Plur/dog chased/VBD/VERB/Tense=Past/chase cats/NNS/NOUN/Number=Plur/cat
Birds/NNS/NOUN/Number=Plur/bird walked/VBD/VERB/Tense=Past/walk home/RB/ADV//home
Stories/NNS/NOUN/Number=Plur/story talked/VBD/VERB/Tense=Past/talk far/RB/ADV//far
Trees/NNS/NOUN/Number=Plur/tree jumped/VBD/VERB/Tense=Past/jump twice/RB/ADV//twice
Anna/NNP/PROPN/Number=Sing/Anna saw/VBD/VERB/Tense=Past/see Berlin/NNP/PROPN/Number=Sing/Berlin
Ladies/NNS/NOUN/Number=Plur/lady asked/VBD/VERB/Tense=Past/ask Peter/NNP/PROPN/Number=Sing/Peter
Boys/NNS/NOUN/Number=Plur/boy played/VBD/VERB/Tense=Past/play USA/NNP/PROPN/Number=Sing/USA
"""


def read_line(line: str) -> dict[str, list[str]]:
    columns = zip(*(token.split("/") for token in line.split()), strict=True)
    names = ("words", "tags", "pos", "morphs", "lemmas")
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


SENTENCES = [read_line(line) for line in CORPUS.strip().splitlines()]


def doc_of(vocab: Vocab, sentence: dict[str, list[str]], names: Iterable[str]) -> Doc:
    return Doc(vocab, words=sentence["words"], **{name: sentence[name] for name in names})  # type: ignore[arg-type]


def examples_of(vocab: Vocab, *, predicted: Iterable[str] = ("tags", "pos", "morphs")) -> Any:
    """Examples whose predicted Docs have some annotation; the references have all."""
    return [
        Example(
            doc_of(vocab, sentence, predicted),
            doc_of(vocab, sentence, ("tags", "pos", "morphs", "lemmas")),
        )
        for sentence in SENTENCES
    ]


def pipeline(**config: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={**EAGER, **config})
    return nlp


def trained(
    *, predicted: Iterable[str] = ("tags", "pos", "morphs"), epochs: int = 10, **config: Any
) -> Language:
    nlp = pipeline(**config)
    examples = examples_of(nlp.vocab, predicted=predicted)
    nlp.initialize(lambda: examples)
    for _ in range(epochs):
        nlp.update(examples)
    return nlp


def lemmas(doc: Doc) -> list[str]:
    return [token.lemma_ for token in doc]


def found(nlp: Language, names: Iterable[str] = ("tags", "pos", "morphs")) -> list[list[str]]:
    docs = [doc_of(nlp.vocab, sentence, names) for sentence in SENTENCES]
    return [lemmas(doc) for doc in nlp.pipe(docs)]


GOLD = [sentence["lemmas"] for sentence in SENTENCES]


@pytest.fixture(scope="module")
def english() -> Language:
    """Trained on the corpus; tests must not change it."""
    return trained()


def pipe_of(nlp: Language) -> Any:
    return nlp.get_pipe(NAME)


# --- Lemmas -----------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["tags"], ["pos"], ["morphs"], ["tags", "pos", "morphs"]])
def test_words_get_the_lemmas_that_they_have_with_their_tags(names: list[str]) -> None:
    assert found(trained(predicted=names), names) == GOLD


def test_new_words_get_the_lemmas_of_words_with_their_tag_and_ending(english: Language) -> None:
    for word, tags, lemma in (
        ("families", ("NNS", "NOUN", "Number=Plur"), "family"),
        ("Families", ("NNS", "NOUN", "Number=Plur"), "family"),
        ("rocks", ("NNS", "NOUN", "Number=Plur"), "rock"),
        ("barked", ("VBD", "VERB", "Tense=Past"), "bark"),
        ("Hamburg", ("NNP", "PROPN", "Number=Sing"), "Hamburg"),
    ):
        tag, pos, features = tags
        doc = Doc(english.vocab, words=[word], tags=[tag], pos=[pos], morphs=[features])
        assert lemmas(english(doc)) == [lemma], word


def test_what_only_real_values_tell_is_learned() -> None:
    """Tags are those of references, and say nothing. Values are there as late as in training."""
    nlp = pipeline(templates=["tensor[0]", "tag[0]"])
    random, examples = np.random.default_rng(0), []
    for is_verb in random.random(60) < 0.5:
        lemma = "leave" if is_verb else "leaf"
        gold = Doc(nlp.vocab, words=["leaves"], tags=["X"], lemmas=[lemma])
        examples.append(Example(Doc(nlp.vocab, words=["leaves"]), gold))
    nlp.initialize(lambda: examples)
    for example in examples:
        value = 1.0 if example.reference[0].lemma_ == "leave" else -1.0
        noise = 0.1 * random.normal(size=(1, 2))
        example.predicted.tensor = (np.array([[value, 0.0]]) + noise).astype(np.float32)
    for _ in range(20):
        nlp.update(examples)
    for example in examples:
        doc = Doc(nlp.vocab, words=["leaves"], tags=["X"])
        doc.tensor = example.predicted.tensor
        assert lemmas(pipe_of(nlp)(doc)) == lemmas(example.reference)


@pytest.mark.filterwarnings("ignore:.*have no TAG")
@pytest.mark.parametrize("word", ["猫", "北京", "كتاب", "😀", "👩‍👩‍👧", "1234", "3.14", "%", "ǅ"])
def test_what_is_like_nothing_in_the_corpus_stays_as_it_is(english: Language, word: str) -> None:
    assert lemmas(english(Doc(english.vocab, words=[word]))) == [word.lower()]


@pytest.mark.parametrize("word", ["http://X.org/Cities", "WWW.Dogs.com", "Ann.Dogs@cities.org"])
def test_addresses_stay_as_they_are(english: Language, word: str) -> None:
    doc = Doc(english.vocab, words=[word], tags=["NNS"], pos=["NOUN"], morphs=["Number=Plur"])
    assert lemmas(english(doc)) == [word]


@pytest.mark.parametrize("word", ["@Dogs", "@a.Cities", "www", "Cats@home"])
def test_what_is_no_address(word: str) -> None:
    assert not lemmas_module.is_address(word)


@pytest.mark.filterwarnings("ignore:.*have no TAG")
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_no_lemma_is_empty(words: list[str]) -> None:
    nlp = _shared()
    for token in nlp(Doc(nlp.vocab, words=words)):
        assert token.lemma_
        assert token.text.strip() or token.lemma_ == token.text, "whitespace is its own lemma"


_SHARED: list[Language] = []


def _shared() -> Language:
    if not _SHARED:
        _SHARED.append(trained())
    return _SHARED[0]


@pytest.mark.parametrize(("backoff", "lemma"), [("orth", "Es"), ("lower", "es"), (None, "")])
def test_words_that_are_too_short_for_their_script(backoff: str | None, lemma: str) -> None:
    nlp = pipeline(backoff=backoff, candidates=False)
    nlp.initialize(labels_only(["lower, suffix -3 +y"]))
    nlp.update(examples_of(nlp.vocab))
    assert lemmas(nlp(Doc(nlp.vocab, words=["Es", "Parties"]))) == [lemma, "party"]


def labels_only(labels: list[str]) -> Any:
    """Examples of one sentence whose lemmas are made by these labels."""
    vocab = spacy.blank("en").vocab
    words = ["Parties"] * len(labels)
    made = [read_script(label).apply(word) for label, word in zip(labels, words, strict=True)]
    doc = Doc(vocab, words=words, lemmas=made)
    pairs = [Example(Doc(vocab, words=words), doc)]
    return lambda: pairs


# --- Dictionaries -----------------------------------------------------------------------


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    file = tmp_path / "dictionary.tsv"
    pairs = (("leaves", "leave"), ("cities", "city"), ("Vosges", "="), ("gases", "gas"))
    pairs += (("parties", "party"), ("stories", "story"), ("was", "="))
    file.write_text("".join(f"{word}\t{lemma}\n" for word, lemma in pairs), encoding="utf8")
    return file


def taught(dictionary: Any, **config: Any) -> Language:
    nlp = pipeline(**config)
    examples = examples_of(nlp.vocab)
    nlp.config["initialize"]["components"][NAME] = {"dictionary": dictionary}
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    return nlp


NEW = [("gas", "NN"), ("gases", "NNS"), ("Vosges", "NNPS"), ("Gases", "NNS"), ("miles", "NNS")]


def new_lemmas(nlp: Language) -> list[str]:
    words, tags = zip(*NEW, strict=True)
    return lemmas(nlp(Doc(nlp.vocab, words=words, tags=tags)))


def test_a_dictionary_has_lemmas_of_words_that_were_not_seen(
    dictionary: Path, tmp_path: Path
) -> None:
    nlp = taught(str(dictionary))
    assert found(nlp) == GOLD, "words that were seen keep to their lemmas"
    pipe = pipe_of(nlp)
    doc = Doc(nlp.vocab, words=["was", "Stories"], tags=["NNS", "NNS"], pos=["NOUN", "NOUN"])
    assert lemmas(nlp(doc)) == ["was", "story"]
    plain = trained()
    assert lemmas(plain(Doc(plain.vocab, words=["was"], tags=["NNS"], pos=["NOUN"]))) == ["wa"]
    pipe.to_disk(tmp_path / "saved")
    again = pipeline()
    pipe_of(again).from_disk(tmp_path / "saved")
    assert new_lemmas(again) == new_lemmas(nlp)
    assert new_lemmas(pickle.loads(pickle.dumps(nlp))) == new_lemmas(nlp)
    pipe_of(again).initialize(lambda: examples_of(again.vocab))
    assert pipe_of(again).model.resources.dictionary is None


def test_only_with_a_dictionary_candidates_depend_on_its_lemmas(
    dictionary: Path, english: Language
) -> None:
    for nlp, expected in ((english, False), (taught(str(dictionary)), True)):
        pipe = pipe_of(nlp)
        values = np.array([hash_word(label) for label in pipe.labels], dtype=np.uint64)
        known = np.isin(_keys_of_entries(values), pipe.model.table_of_candidates.words[:, 0])
        assert known.all() if expected else not known.any()


def test_lookups_are_a_dictionary(dictionary: Path) -> None:
    lookups = Lookups()
    table: dict[str, Any] = {
        "leaves": "leave",
        "cities": "city",
        "Vosges": "Vosges",
        "gases": ["gas"],
    }
    lookups.add_table(
        "lemma_lookup", {**table, "parties": "party", "stories": "story", "was": "was"}
    )
    nlp, other = pipeline(), taught(str(dictionary))
    examples = examples_of(nlp.vocab)
    pipe_of(nlp).initialize(lambda: examples, nlp=nlp, dictionary=lookups)
    (words, columns), (same, others) = (
        (found.words.tolist(), found.columns)
        for found in (pipe_of(each).model.resources.dictionary for each in (nlp, other))
    )
    assert words == same
    assert {*columns["lemmas"].texts} == {*others["lemmas"].texts}
    without = Lookups()
    without.add_table("lemma_rules", {})
    problem = refusal(lambda: pipe_of(nlp).initialize(lambda: examples, dictionary=without))
    assert "no table 'lemma_lookup'. Their tables: lemma_rules" in problem


@pytest.mark.parametrize(
    ("text", "templates", "problem"),
    [
        ("cities city", ["lemmatizer"], "dictionary.tsv, line 1: expected a word, a lemma"),
        ("", ["lemmatizer"], "dictionary.tsv: the dictionary has no words"),
        ("cities\tcity", ["dictionary.features[0]"], "features, but this one has: lemmas"),
        (None, ["lemmatizer"], "No such file or directory"),
        (None, ["dictionary.lemmas[0]"], "needs a dictionary. Set dictionary = PATH"),
    ],
)
def test_dictionaries_that_cannot_be_read(
    text: str | None, templates: list[str], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "dictionary.tsv"
    if text is not None:
        file.write_text(text, encoding="utf8")
    given = None if "needs" in problem else str(file)
    found = refusal(lambda: taught(given, templates=templates))
    assert problem in found
    assert f"components.{NAME}]" in found


def test_a_dictionary_that_no_template_reads(dictionary: Path) -> None:
    with pytest.warns(UserWarning, match=r"gives a dictionary, which no template reads"):
        taught(str(dictionary), templates=["suffix3[0]"])


# --- Tags -------------------------------------------------------------------------------


def test_tags_that_predicted_docs_lack_are_those_of_the_references() -> None:
    """Where a component before it writes them."""
    nlp = spacy.blank("en")
    for name in ("ssvm_tagger", "ssvm_morphologizer", NAME):
        nlp.add_pipe(name, config=EAGER)
    with_tags, without = examples_of(nlp.vocab), examples_of(nlp.vocab, predicted=())
    nlp.initialize(lambda: without)
    pipe = pipe_of(nlp)
    assert pipe.model.given == KINDS
    for example, plain in zip(with_tags, without, strict=True):
        assert np.array_equal(pipe.read_inputs(example), pipe.read_inputs(plain))
    own = Example(doc_of(nlp.vocab, SENTENCES[0], ["tags"]), without[0].reference)
    own.predicted[0].tag_ = "XX"
    column = pipe.model.reader.input_column("tag")
    assert pipe.read_inputs(own)[0, column] == nlp.vocab.strings["XX"]
    for _ in range(10):
        nlp.update(without)
    assert found(nlp, ()) == GOLD


def test_single_features_that_predicted_docs_lack_are_those_of_the_references() -> None:
    """And candidates depend on them, as on all features together."""
    nlp = spacy.blank("en")
    templates = ["suffix3[0]", "morph.Number[0]", "morph.Tense[0]", "morph.Case[1]"]
    for name, config in (("ssvm_morphologizer", {}), (NAME, {"templates": templates})):
        nlp.add_pipe(name, config={**EAGER, **config})
    with_features, without = examples_of(nlp.vocab), examples_of(nlp.vocab, predicted=())
    nlp.initialize(lambda: without)
    pipe = pipe_of(nlp)
    assert pipe.model.given == ("morph.Number", "morph.Tense")
    column = pipe.model.reader.input_column("morph.Number")
    assert pipe.model.reader.input_column("morph.Person") is None
    for example, plain in zip(with_features, without, strict=True):
        inputs = pipe.read_inputs(plain)
        assert np.array_equal(pipe.read_inputs(example), inputs)
        has_number = ["Number=" in str(token.morph) for token in plain.reference]
        assert (inputs[:, column] != 0).tolist() == has_number
    for _ in range(10):
        nlp.update(without)
    assert found(nlp, ()) == GOLD
    with pytest.warns(UserWarning, match="Docs have no MORPH, from which"):
        pipe.predict([nlp.make_doc("Stories fell")])


def test_words_without_the_features_that_it_learned_from_are_no_reason_to_warn() -> None:
    nlp = pipeline(templates=["suffix3[0]", "morph.Number[0]", "morph.Tense[0]"])
    nlp.initialize(lambda: examples_of(nlp.vocab))
    assert pipe_of(nlp).model.given
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp(Doc(nlp.vocab, words=["Well", "here"], morphs=["_", "Case=Nom"]))
    with pytest.warns(UserWarning, match="Docs have no MORPH, from which"):
        nlp(Doc(nlp.vocab, words=["Well", "here"]))


def test_a_selection_reads_what_frozen_components_write() -> None:
    """Its candidates are those of words with the tags of these, not of the references."""
    front = spacy.blank("en")
    tagger: Any = front.add_pipe("ssvm_tagger", config=EAGER)
    tagger.initialize(list, labels=["XX"])
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger", source=front)
    choice = {"@misc": "spacy_ssvm.Selection.v1", "budget": 1, "prox_period": 10}
    config = {**EAGER, "selection": choice, "templates": ["tag[0]", "tag[0]+suffix3[0]"]}
    nlp.add_pipe(NAME, config=config)
    training = {"frozen_components": ["ssvm_tagger"], "annotating_components": ["ssvm_tagger"]}
    nlp.config["training"].update(training)
    pipe, keys = pipe_of(nlp), []
    word_keys = type(pipe.model).word_keys

    class Model(type(pipe.model)):  # type: ignore[misc]
        def word_keys(self, tokens: Any, given: Any = None) -> Any:
            tags = {*tokens.attributes[:, self.reader.names.index("tag")].tolist()}
            keys.append((given is not None, tags))  # candidates are learned by what is given
            return word_keys(self, tokens, given)

    pipe.model.__class__ = Model
    pipe.initialize(lambda: examples_of(nlp.vocab, predicted=()), nlp=nlp)
    assert keys[0] == (True, {nlp.vocab.strings["XX"]})


def test_without_components_that_write_tags_it_learns_from_words() -> None:
    nlp = trained(predicted=())
    assert pipe_of(nlp).model.given == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = found(nlp, ())
    same = [
        (a, b)
        for own, gold in zip(plain, GOLD, strict=True)
        for a, b in zip(own, gold, strict=True)
    ]
    assert sum(a == b for a, b in same) >= len(same) - 2, "saw and leaves can be two things each"


def test_docs_without_the_tags_that_it_learned_from() -> None:
    nlp = trained()
    with pytest.warns(UserWarning, match="have no TAG or POS or MORPH, from which it has learned"):
        doc = nlp(Doc(nlp.vocab, words=["Cities", "fell"]))
    assert lemmas(doc) == ["city", "fall"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp(Doc(nlp.vocab, words=["Cities"]))  # it says so once


# --- Annotation -------------------------------------------------------------------------


def test_lemmas_that_are_there_are_kept_or_replaced() -> None:
    nlp = trained()
    sentence = SENTENCES[1]
    given = {**sentence, "lemmas": ["X", "", ""]}
    names = ("tags", "pos", "morphs", "lemmas")
    assert lemmas(nlp(doc_of(nlp.vocab, given, names))) == ["X", "leave", "city"]
    pipe_of(nlp).cfg["overwrite"] = True
    assert lemmas(nlp(doc_of(nlp.vocab, given, names))) == ["she", "leave", "city"]


def test_partial_and_misaligned_lemmas_teach_what_they_have() -> None:
    nlp = pipeline()
    examples = examples_of(nlp.vocab)
    examples[0].reference[1].lemma_ = ""
    reference = Doc(nlp.vocab, words=["Foxes", "'", "dens"], lemmas=["fox", "'", "den"])
    examples.append(Example(Doc(nlp.vocab, words=["Foxes'", "dens"]), reference))
    pipe = pipe_of(nlp)
    nlp.initialize(lambda: examples)
    gold = pipe.gold_labels(examples)
    assert gold[0][:, 0].tolist()[1] == -1
    assert pipe.labels[gold[-1][1, 0]] == "lower, suffix -1"
    assert gold[-1][0, 0] == -1
    for _ in range(10):
        nlp.update(examples)
    assert found(nlp)[1:] == GOLD[1:]


@pytest.mark.filterwarnings("ignore:.*have no TAG")
@pytest.mark.parametrize("words", [[], [" "], ["\n", "\t"], [" ", "Cities", "\n\n"]])
def test_docs_without_words(english: Language, words: list[str]) -> None:
    doc = english(Doc(english.vocab, words=words))
    assert lemmas(doc) == ["city" if word == "Cities" else word for word in words]


def test_scores_count_lemmas(english: Language) -> None:
    assert english.evaluate(examples_of(english.vocab))["lemma_acc"] == 1.0


# --- Labels and settings ----------------------------------------------------------------


def test_labels_are_the_scripts_of_the_corpus(english: Language) -> None:
    labels = pipe_of(english).labels
    assert list(labels) == sorted(labels)
    assert {"lower", "keep", "lower, suffix -3 +y", "lower, suffix -2", "lower, suffix -2 +ee"} <= {
        *labels
    }
    other = pipeline()
    other.initialize(lambda: examples_of(other.vocab))
    again = pipeline()
    pipe_of(again).initialize(
        lambda: examples_of(again.vocab), nlp=again, labels=pipe_of(other).label_data
    )
    assert pipe_of(again).labels == labels


def test_rare_scripts_can_be_left_out() -> None:
    nlp = trained(min_freq=2)
    pipe = pipe_of(nlp)
    assert "lower, suffix -3 +y" in pipe.labels
    assert "lower, suffix -3 +f" not in pipe.labels, "one leaf"
    (gold,) = pipe.gold_labels(examples_of(nlp.vocab)[:1])
    assert gold[:, 0].tolist()[1] == -1
    assert "lower" in trained(min_freq=1000).get_pipe(NAME).labels  # type: ignore[attr-defined]


def test_what_is_no_label_is_refused() -> None:
    pipe = pipe_of(pipeline())
    assert "is no edit script" in refusal(lambda: pipe.add_label("-s"), ConfigValidationError)
    assert pipe.add_label("lower, suffix -1") == 1
    trees = {"trees": [], "labels": []}
    message = refusal(lambda: pipe.initialize(list, labels=trees), ConfigValidationError)
    assert f"{NAME}: these labels are the edit trees of another component" in message


@pytest.mark.parametrize(("key", "value"), [("min_freq", 0), ("backoff", "norm")])
def test_settings_that_cannot_be(key: str, value: Any) -> None:
    assert key in refusal(lambda: pipeline(**{key: value}), ConfigValidationError)
    nlp = trained(epochs=1)
    pipe_of(nlp).cfg[key] = value
    data = pipe_of(nlp).to_bytes()
    other = pipe_of(pipeline())
    with pytest.raises(ModelFileError, match=key):
        other.from_bytes(data)
    assert other.labels == ()


@pytest.mark.parametrize("names", [["lemma"], ["tag", "dep"], "tag", None, [["tag"]]])
def test_saved_candidates_depend_on_what_is_read(names: Any) -> None:
    nlp = trained(epochs=1, templates=["lower[0]", "tag[0]"])
    model = pipe_of(nlp).model
    assert model.given == ("tag",)
    header = model.header()

    class Spoiled:
        def header(self) -> Any:
            return {**header, "given": names}

        arrays = staticmethod(model.arrays)

    with pytest.raises(ValueError, match="depend on what it does not read"):
        model.read(Spoiled().header(), Spoiled.arrays())


def test_labels_of_a_file_that_are_no_scripts(tmp_path: Path) -> None:
    nlp = trained(epochs=1)
    pipe = pipe_of(nlp)
    pipe.model.labels = ("upwards", *pipe.model.labels[1:])
    data = pipe.to_bytes()
    with pytest.raises(ModelFileError, match="no edit script"):
        pipe_of(pipeline()).from_bytes(data)


# --- Copies, threads and memory -----------------------------------------------------------


def test_copies_write_the_same_lemmas(english: Language, tmp_path: Path) -> None:
    english.to_disk(tmp_path)
    pipe = pipe_of(english)
    nlp = pipeline()
    nlp._components = [(NAME, pickle.loads(pickle.dumps(pipe)))]
    for other in (spacy.load(tmp_path), nlp, copy.deepcopy(english)):
        assert found(other) == GOLD
    assert pipe_of(trained()).to_bytes() == pipe_of(trained()).to_bytes()


def test_processes_write_the_same_lemmas(english: Language) -> None:
    docs = [doc_of(english.vocab, s, ("tags", "pos", "morphs")) for s in SENTENCES]
    assert [*map(lemmas, english.pipe(docs, n_process=2, batch_size=3))] == GOLD


def test_lemmas_are_strings_in_each_memory_zone(english: Language) -> None:
    """New lemmas, which a zone drops at its end, are known here, and must be added again."""
    words = {"words": ["zebras", "quokkas"], "tags": ["NNS"] * 2, "pos": ["NOUN"] * 2}
    for _ in range(3):
        with english.memory_zone():
            doc = english(doc_of(english.vocab, words, ["tags", "pos"]))
            assert lemmas(doc) == ["zebra", "quokka"]
    assert lemmas(english(doc_of(english.vocab, words, ["tags", "pos"]))) == ["zebra", "quokka"]


def test_docs_of_another_vocabulary(english: Language) -> None:
    nlp = spacy.blank("en")
    words = {"words": ["Zebras", "Tapirs"], "tags": ["NNS"] * 2, "pos": ["NOUN"] * 2}
    own, other = (doc_of(v, words, ["tags", "pos"]) for v in (english.vocab, nlp.vocab))
    pipe = pipe_of(english)
    pipe.set_annotations([own, other], pipe.predict([own, other]))
    assert lemmas(own) == lemmas(other) == ["zebra", "tapir"]


@pytest.mark.parametrize("cached", [1, 4, 9])
def test_lemmas_are_right_when_there_are_too_many_to_keep(
    monkeypatch: pytest.MonkeyPatch, cached: int
) -> None:
    monkeypatch.setattr(lemmas_module, "CACHED_TYPES", cached)
    nlp = trained()
    for _ in range(2):
        docs = [doc_of(nlp.vocab, s, ("tags", "pos", "morphs")) for s in SENTENCES]
        assert [lemmas(nlp(doc)) for doc in docs] == GOLD
        assert found(nlp) == GOLD
        assert len(pipe_of(nlp)._lemmas._texts) <= max(cached, 40)


# --- Confidence and explanations ----------------------------------------------------------


def test_confidence_and_explanations() -> None:
    nlp = trained(candidates=False)
    pipe = pipe_of(nlp)
    doc = doc_of(nlp.vocab, SENTENCES[1], ("tags", "pos", "morphs"))
    scores = pipe.scores(doc)
    assert (scores > 0).all()
    decisions = pipe.decisions(doc, doc_of(nlp.vocab, SENTENCES[1], ["lemmas"]))
    assert [decision.gold for decision in decisions] == [decision.label for decision in decisions]
    explanation = pipe.explain(doc, 1, against="lower, suffix -3 +f")
    assert explanation.label == "lower, suffix -1"
    assert explanation.runner_up == "lower, suffix -3 +f"
    assert pipe.top_features("lower, suffix -3 +y", [doc])
    assert np.isinf(pipe_of(trained()).scores(doc)).all(), "each has one candidate"


def test_probabilities() -> None:
    solver = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 1.0}
    nlp = trained(candidates=False, solver=solver)
    doc = doc_of(nlp.vocab, SENTENCES[1], ("tags", "pos", "morphs"))
    table = pipe_of(nlp).marginals(doc)
    assert table.sum(axis=1) == pytest.approx(1.0)
    labels = [pipe_of(nlp).labels[k] for k in table.argmax(axis=1)]
    assert labels == ["lower", "lower, suffix -1", "lower, suffix -3 +y"]
    kept = doc_of(nlp.vocab, {**SENTENCES[1], "lemmas": ["", "leaf", ""]}, ["tags", "lemmas"])
    certain = pipe_of(nlp).marginals(kept)[1]
    assert certain[pipe_of(nlp).labels.index("lower, suffix -3 +f")] == pytest.approx(1.0)
