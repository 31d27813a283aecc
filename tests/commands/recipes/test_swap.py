"""Components of trained pipelines, replaced."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import parsed_doc, tagging_examples
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.recipes.annotation import Annotation
from spacy_ssvm.commands.recipes.config import TOKENIZER
from spacy_ssvm.commands.recipes.swap import (
    annotate_before,
    annotate_between,
    compare,
    components_to_swap,
    config_of_new,
    idle_components,
    keep_meta,
    overwriting_components,
    pipeline_with,
    scores_of_new,
    swapped_config,
)

LEARNED = (
    "tagger",
    "pos_tagger",
    "morphologizer",
    "lemmatizer",
    "parser",
    "ner",
    "sentence_labeler",
)
LABELS = {name: Counter(["A"]) for name in LEARNED}
EVERYTHING = Annotation(2, 9, 4, 2, True, LABELS)


@Language.component("nouns", assigns=["token.tag", "token.pos"])
def nouns(doc: Doc) -> Doc:
    """Calls each word a noun, as fine-grained as coarse."""
    for token in doc:
        token.pos_ = "NOUN"
        token.tag_ = token.tag_ or "NN"
    return doc


@Language.component("pairs", assigns=["token.is_sent_start"])
def pairs(doc: Doc) -> Doc:
    """Finds a sentence at every other word."""
    for token in doc:
        token.is_sent_start = token.i % 2 == 0
    return doc


def pipeline_of(*names: str, disabled: str = "") -> Language:
    """A pipeline of factories, some of which have other names, as in "my_parser=parser"."""
    nlp = spacy.blank("en")
    for given in names:
        name, _, factory = given.partition("=")
        nlp.add_pipe(factory or name, name=name)
    if disabled:
        nlp.disable_pipe(disabled)
    return nlp


@pytest.mark.parametrize(
    ("there", "disabled", "asked", "new", "order"),
    [
        (["tagger", "parser", "ner"], "", ["ner"], ["ner"], ["tagger", "parser", "ner"]),
        (
            ["tagger", "parser", "ner"],
            "",
            ["parser"],
            ["senter", "parser"],
            ["tagger", "senter", "parser", "ner"],
        ),
        (
            ["tagger", "parser", "senter", "ner"],
            "senter",
            ["parser", "tagger"],
            ["tagger", "senter", "parser"],
            ["tagger", "senter", "parser", "ner"],
        ),
        (
            ["sentencizer", "tagger"],
            "",
            ["parser"],
            ["parser"],
            ["sentencizer", "tagger", "parser"],
        ),
        (
            ["my_tagger=ssvm_tagger", "trees=parser", "ner"],
            "",
            ["parser", "tagger"],
            ["tagger", "senter", "parser"],
            ["tagger", "senter", "parser", "ner"],
        ),
        (["a=ner", "ner"], "", ["ner"], ["ner"], ["a", "ner"]),
        (["a=ner", "b=beam_ner"], "", ["ner"], ["ner"], ["ner", "b"]),
        (["trees=parser", "ner"], "trees", ["ner"], ["ner"], ["trees", "ner"]),
        (["dots=sentencizer"], "", ["senter"], ["senter"], ["senter"]),
        (
            ["tagger", "attribute_ruler", "lemmatizer"],
            "",
            ["pos_tagger"],
            ["pos_tagger"],
            ["tagger", "attribute_ruler", "pos_tagger", "lemmatizer"],
        ),
        (
            ["sentencizer", "parser", "attribute_ruler"],
            "",
            ["pos_tagger", "parser"],
            ["pos_tagger", "parser"],
            ["sentencizer", "pos_tagger", "parser", "attribute_ruler"],
        ),
        (["ssvm_tagger"], "", ["pos_tagger"], ["pos_tagger"], ["ssvm_tagger", "pos_tagger"]),
        (
            ["attribute_ruler", "morphologizer", "lemmatizer"],
            "",
            ["pos_tagger"],
            ["pos_tagger"],
            ["attribute_ruler", "morphologizer", "pos_tagger", "lemmatizer"],
        ),
        (
            ["tagger", "features=morphologizer", "lemmatizer"],
            "",
            ["morphologizer"],
            ["morphologizer"],
            ["tagger", "morphologizer", "lemmatizer"],
        ),
        (
            ["tagger", "attribute_ruler", "lemmatizer"],
            "",
            ["morphologizer"],
            ["morphologizer"],
            ["tagger", "attribute_ruler", "morphologizer", "lemmatizer"],
        ),
        (
            ["tagger", "attribute_ruler", "lemmatizer"],
            "",
            ["morphologizer", "lemmatizer"],
            ["morphologizer", "lemmatizer"],
            ["tagger", "attribute_ruler", "morphologizer", "lemmatizer"],
        ),
        (
            ["tok2vec", "tagger", "trainable_lemmatizer", "ner"],
            "",
            ["lemmatizer"],
            ["lemmatizer"],
            ["tok2vec", "tagger", "lemmatizer", "ner"],
        ),
        (
            ["tagger", "ner"],
            "",
            ["lemmatizer"],
            ["lemmatizer"],
            ["tagger", "ner", "lemmatizer"],
        ),
        # In the order in which they read each other
        (
            ["sentencizer", "parser", "tagger"],
            "",
            ["parser", "tagger"],
            ["tagger", "parser"],
            ["sentencizer", "tagger", "parser"],
        ),
        (
            ["my_parser=ssvm_parser", "ner", "my_senter=ssvm_senter"],
            "",
            ["parser", "senter"],
            ["senter", "parser"],
            ["senter", "ner", "parser"],
        ),
        # Sentences that are found after the parser are no help to it
        (
            ["ssvm_parser", "ssvm_senter"],
            "",
            ["parser"],
            ["senter", "parser"],
            ["senter", "parser"],
        ),
        (["pairs", "parser"], "", ["parser"], ["parser"], ["pairs", "parser"]),
        (["ner"], "", ["sentence_labeler"], ["senter", "sentence_labeler"], None),
    ],
)
def test_the_places_of_new_components(
    there: list[str], disabled: str, asked: list[str], new: list[str], order: list[str] | None
) -> None:
    nlp = pipeline_of(*there, disabled=disabled)
    assert components_to_swap(nlp, asked, EVERYTHING) == new
    assert pipeline_with(nlp, new) == (order or [*there, *new])


def test_what_cannot_be_swapped() -> None:
    nlp = pipeline_of("tagger")
    with pytest.raises(ValueError, match="no component 'entity_ruler' to learn"):
        components_to_swap(nlp, ["entity_ruler"], EVERYTHING)
    with pytest.raises(ValueError, match="replace 'entity_ruler': leave it out, and it stays"):
        components_to_swap(pipeline_of("entity_ruler"), ["entity_ruler"], EVERYTHING)
    with pytest.raises(ValueError, match="'trees' of the pipeline is replaced by a parser"):
        components_to_swap(pipeline_of("trees=parser"), ["trees"], EVERYTHING)
    with pytest.raises(ValueError, match="nothing that 'chunker' could learn from"):
        components_to_swap(nlp, ["chunker"], EVERYTHING)
    with pytest.raises(ValueError, match="a component 'ner' of another kind, nouns: rename it"):
        components_to_swap(pipeline_of("ner=nouns"), ["ner"], EVERYTHING)
    with pytest.raises(ValueError, match="a component 'ner' of another kind, nouns: rename it"):
        components_to_swap(pipeline_of("ner=nouns", disabled="ner"), ["ner"], EVERYTHING)


def test_a_parser_without_a_senter() -> None:
    """Where each Doc is a sentence, there is nothing to learn boundaries from."""
    one_each = EVERYTHING._replace(boundaries=0)
    assert components_to_swap(pipeline_of("parser"), ["parser"], one_each) == ["parser"]


def test_others_that_write_parts_of_speech() -> None:
    nlp = pipeline_of("attribute_ruler", "parser", "later=attribute_ruler", "morphologizer")
    found = overwriting_components(nlp, ["pos_tagger", "parser"])
    assert found == ["later", "morphologizer"]
    assert overwriting_components(nlp, ["parser"]) == []
    assert overwriting_components(nlp, ["morphologizer"]) == []
    config = config_of_new(nlp, ["pos_tagger", "parser"], EVERYTHING)
    assert config["components"]["pos_tagger"]["overwrite"], "the rules' parts of speech"
    assert not config["components"]["parser"]["overwrite"]


def test_settings_follow_what_the_others_do() -> None:
    """Whatever their names, and where they are."""
    nlp = pipeline_of("my_tagger=tagger", "dots=sentencizer", "ner")
    senter = config_of_new(nlp, ["senter"], EVERYTHING)["components"]["senter"]
    assert senter["templates"] == ["senter", "senter_tags"]
    tagger = config_of_new(nlp, ["tagger"], EVERYTHING)["components"]["tagger"]
    assert tagger["whole_docs"]
    assert tagger["overwrite"]
    nlp = pipeline_of("sentencizer", "tagger")
    senter = config_of_new(nlp, ["senter"], EVERYTHING)["components"]["senter"]
    assert senter["templates"] == ["senter"], "tags come after it"


def test_meta_data_stay(tmp_path: Path) -> None:
    source = spacy.blank("en", meta={"name": "own", "license": "CC0", "author": "Ann"})
    spacy.blank("en").to_disk(tmp_path)
    keep_meta(tmp_path, source)
    meta = spacy.load(tmp_path).meta
    assert (meta["name"], meta["license"], meta["author"]) == ("own", "CC0", "Ann")


def test_scores_are_those_of_gold_tokens_where_spaces_are_not_known(tmp_path: Path) -> None:
    nlp = pipeline_of("entity_ruler")
    ruler: Any = nlp.get_pipe("entity_ruler")
    ruler.add_patterns([{"label": "X", "pattern": [{"ORTH": "cannot"}]}])
    assert not nlp("cannot go").ents, "the tokenizer makes two words of it"
    gold = Doc(nlp.vocab, words=["cannot", "go"], ents=["B-X", "O"])
    DocBin(docs=[gold]).to_disk(tmp_path / "dev.spacy")
    own = {"ents_f": 1.0, "ents_p": 0.0, "ents_r": None, "tag_acc": 1.0}
    rows, fallen = compare(nlp, nlp, own, tmp_path / "dev.spacy")
    shown = [row[0] for row in rows if row[0] not in ("entity precision", "entity recall")]
    assert shown == ["entity F1", "TAG accuracy", "words/s"]
    assert [row[1:] for row in rows if row[0] in shown[:2]] == [("100.00 %",) * 2, ("-",) * 2]
    assert fallen == []


@Language.factory("verbs", assigns=["token.pos"], default_score_weights={"pos_acc": 1.0})
class Verbs:
    """Calls each word a verb whose tag is not NN, and is judged by parts of speech."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.nlp = nlp

    def __call__(self, doc: Doc) -> Doc:
        for token in doc:
            token.pos_ = "NOUN" if token.tag_ == "NN" else "VERB"
        return doc

    def score(self, examples: Any, **_: Any) -> dict[str, Any]:
        return Scorer.score_token_attr(examples, "tag") | Scorer.score_token_attr(examples, "pos")


@Language.component("nn")
def nn(doc: Doc) -> Doc:
    """Tags each word as NN."""
    for token in doc:
        token.tag_ = "NN"
    return doc


def test_components_that_stay_are_scored_first_and_warned_of(tmp_path: Path) -> None:
    """A rule that reads the tags writes other parts of speech, though nobody has touched it."""
    old, new = pipeline_of("nn", "verbs"), pipeline_of("verbs")
    words, nouns = ["Dogs", "run", "fast"], ["NOUN", "NOUN", "NOUN"]
    gold = Doc(old.vocab, words=words, tags=["NN", "VB", "RB"], pos=nouns)
    DocBin(docs=[gold]).to_disk(tmp_path / "dev.spacy")
    rows, fallen = compare(old, new, {"tag_acc": 1.0}, tmp_path / "dev.spacy")
    assert rows[:2] == [
        ("POS accuracy", "100.00 %", "0.00 %"),
        ("TAG accuracy", "33.33 %", "0.00 %"),
    ]
    assert fallen == [
        "POS accuracy falls from 100.00 % to 0.00 %; of 3 words that change: NOUN -> VERB 3"
    ]
    assert compare(new, old, {"tag_acc": 1.0}, tmp_path / "dev.spacy").fallen == []


def test_whose_scores_are_whose() -> None:
    """Scores that do not count are those of others where these are judged by them."""
    nlp = pipeline_of("tagger", "verbs", "sentencizer", "parser")
    own = scores_of_new(nlp, config_of_new(nlp, ["tagger"], EVERYTHING), ["tagger"])
    assert own == {"tag_acc": 1.0}, "parts of speech are those of others, such as rules"
    own = scores_of_new(nlp, config_of_new(nlp, ["parser"], EVERYTHING), ["parser"])
    assert "sents_f" not in own, "the sentencizer's"
    assert {"dep_uas", "dep_las"} <= {*own}
    rules = pipeline_of("tagger", "attribute_ruler")  # which names no scores
    own = scores_of_new(rules, config_of_new(rules, ["tagger"], EVERYTHING), ["tagger"])
    assert own == {"tag_acc": 1.0}
    alone = pipeline_of("parser")
    own = scores_of_new(alone, config_of_new(alone, ["parser"], EVERYTHING), ["parser"])
    assert {"sents_f", "dep_uas", "dep_las"} <= {*own}


def test_layers_that_nothing_reads_are_idle() -> None:
    nlp = pipeline_of("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    model = {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": model})
    assert idle_components(spacy.blank("en").from_config(nlp.config)) == []
    nlp.remove_pipe("tagger")
    assert idle_components(spacy.blank("en").from_config(nlp.config)) == ["tok2vec"]


def docs_of_two_sentences() -> list[Doc]:
    lines = ("Birds:2:nsubj sing:0:ROOT .:2:punct", "Dogs:2:nsubj bark:0:ROOT .:2:punct")
    return [parsed_doc(Vocab(), *lines) for _ in range(6)]


def test_components_before_that_annotate_nothing() -> None:
    nlp, docs = pipeline_of("merge_entities", "tagger"), docs_of_two_sentences()
    assert annotate_before(nlp, ["tagger"], docs, docs) is None
    assert annotate_between(nlp, ["tagger"], docs, None) == ((), [])


def test_components_before_annotate() -> None:
    nlp, docs = pipeline_of("sentencizer", "tagger", "nouns"), docs_of_two_sentences()
    before = annotate_before(nlp, ["tagger"], docs, docs[:1])
    assert before is not None
    assert [len(list(doc.sents)) for doc in before.found] == [2] * 6
    assert len(before.found_in_dev) == 1
    found, annotations = annotate_between(nlp, ["tagger"], docs, before.found)
    assert found == before.found
    assert annotations == ["SENT_START"]


@pytest.mark.parametrize(
    ("new", "annotations"),
    [
        (["tagger", "ner"], ["TAG", "POS", "SENT_START"]),
        (["parser", "ner"], ["SENT_START"]),
    ],
)
def test_components_between_annotate_what_later_ones_read(
    new: list[str], annotations: list[str]
) -> None:
    """A parser before them would read tags in training that it does not have in use."""
    there = ["sentencizer", *(name for name in new if name != "ner"), "nouns", "ner"]
    nlp, docs = pipeline_of(*there), docs_of_two_sentences()
    before = annotate_before(nlp, new, docs, docs)
    assert before is not None
    found, read = annotate_between(nlp, new, docs, before.found)
    assert read == annotations
    for doc in found:
        assert {token.pos_ for token in doc} == {"NOUN"}
        assert len(list(doc.sents)) == 2, "what comes before is there, too"


def test_the_tokenizer_stays() -> None:
    """Also one that is not the default of the language."""
    characters = {"@tokenizers": "spacy.zh.ChineseTokenizer", "segmenter": "char"}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": characters}})
    config = swapped_config(config_of_new(nlp, ["ner"], EVERYTHING), nlp, "source", ["ner"], [])
    assert config["nlp"]["tokenizer"] == characters


def test_tokenizers_without_scores_are_compared_by_others(tmp_path: Path) -> None:
    old, new = spacy.blank("en"), spacy.blank("en")
    old.tokenizer = lambda text: Doc(old.vocab, words=text.split())
    gold = Doc(Vocab(), words=["ab", "c"], spaces=[True, False])
    DocBin(docs=[gold]).to_disk(tmp_path / "dev.spacy")
    both = compare(old, old, {}, tmp_path / "dev.spacy")
    assert [name for name, *_ in both.rows] == ["words/s"]
    other = compare(old, new, {}, tmp_path / "dev.spacy")
    assert other.rows[0] == ("token F1", "-", "100.00 %")


def test_a_tokenizer_that_has_learned_does_not_learn_again() -> None:
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": TOKENIZER}})
    new = config_of_new(nlp, ["ner"], EVERYTHING, learns_tokens=True)
    config = swapped_config(new, nlp, "source", ["ner"], [])
    assert config["nlp"]["tokenizer"] == nlp.config["nlp"]["tokenizer"]
    assert config["initialize"]["tokenizer"]["learn"] is False
    config = swapped_config(new, nlp, "source", ["ner"], [], keeps_tokenizer=False)
    assert config["initialize"]["tokenizer"]["learn"] is True
    assert config["initialize"]["before_init"]["tokenizer"] is None


def test_the_others_stay_as_they_are(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("ssvm_tagger", name="tagger")
    nlp.add_pipe("sentencizer", name="dots")
    examples = tagging_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    source, output, data = tmp_path / "source", tmp_path / "out", tmp_path / "train.spacy"
    nlp.tokenizer.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])  # type: ignore[attr-defined]
    nlp.to_disk(source)
    DocBin(docs=docs_of_two_sentences()).to_disk(data)
    arguments: list[Any] = ["swap", source, data, "--dev", data, "--components", "parser"]
    arguments += ["-o", output, "--training.max_epochs", "2", "--clusters", "none"]
    result = CliRunner().invoke(ssvm, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    announced = " ".join(result.output.split())
    assert "To train: parser, at most 2 epochs" in announced
    assert re.search("roughly [0-9]+ s of processor time", announced)
    swapped = spacy.load(output / "model-best")
    assert swapped.pipe_names == ["tagger", "dots", "parser"]
    assert [token.text for token in swapped.make_doc("gimme")] == ["gim", "me"]
    same: Any = swapped.get_pipe("tagger")
    assert same.to_bytes(exclude=["vocab"]) == tagger.to_bytes(exclude=["vocab"])  # type: ignore[attr-defined]
    parser: Any = swapped.get_pipe("parser")
    assert "tag" in parser.model.reader.names
    rows = {line.split()[0]: line.split()[-2:] for line in result.output.splitlines() if line}
    assert rows["LAS"] == ["100.00", "%"]
    assert all(float(speed.replace(",", "")) > 0 for speed in rows["words/s"])
    judged = {name: w for name, w in swapped.config["training"]["score_weights"].items() if w}
    assert judged == {"dep_uas": 0.5, "dep_las": 0.5}, "others have no say in the best epoch"
    within: list[Any] = ["swap", output / "model-best", *arguments[2:], "--overwrite"]
    again = CliRunner().invoke(ssvm, list(map(str, within)))
    assert again.exit_code == 1
    assert "lies in the output folder" in " ".join(again.output.split())
    reader = swapped.config["corpora"]["train"]
    assert {"TAG", "SENT_START"} <= {*reader["annotations"]}


@pytest.mark.parametrize(
    ("tokenizer", "tokens"),
    [
        ("learned", ["Bi", "rds", "Dogs"]),
        ("rules", ["Birds", "Dogs"]),
        (None, ["Birds", "D", "ogs"]),
    ],
)
def test_a_new_tokenizer(tokenizer: str | None, tokens: list[str], tmp_path: Path) -> None:
    """Components that stay, and have learned from the tokens of the old one, are named."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger", name="tagger")
    nlp.add_pipe("sentencizer", name="dots")
    nlp.initialize(lambda: tagging_examples(nlp.vocab))
    source, output, data = tmp_path / "source", tmp_path / "out", tmp_path / "train.spacy"
    nlp.tokenizer.add_special_case("Dogs", [{"ORTH": "D"}, {"ORTH": "ogs"}])  # type: ignore[attr-defined]
    nlp.to_disk(source)
    words, pos = ["Bi", "rds", "sing", "."], ["NOUN", "X", "VERB", "PUNCT"]
    spaces = [False, True, False, False]
    DocBin(docs=[Doc(Vocab(), words=words, spaces=spaces, pos=pos)] * 6).to_disk(data)
    arguments: list[Any] = ["swap", source, data, "--dev", data, "--components", "pos_tagger"]
    arguments += ["-o", output, "--training.max_epochs", "1", "--clusters", "none"]
    arguments += ["--tokenizer", tokenizer] if tokenizer else []
    result = CliRunner().invoke(ssvm, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    swapped = spacy.load(output / "model-best")
    assert swapped.pipe_names == ["tagger", "dots", "pos_tagger"]
    assert [token.text for token in swapped.make_doc("Birds Dogs")] == tokens
    share = {"learned": "50.0", "rules": "0.0"}.get(tokenizer or "")
    warning = "tagger learned from the tokens of the old tokenizer, which cuts"
    shown = " ".join(result.output.split())
    assert (f"{warning} {share} % of the tokens otherwise" in shown) == (share is not None)
    assert ("token F1 57.14 % 100.00 %" in shown) == (tokenizer == "learned")
