"""A corpus annotated fold by fold, by models that have not seen the fold."""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import SENTENCES, make_doc, tagged_sentences
from marks import compiled_only
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from thinc.api import Config
from tokenizer_corpora import CONTRACTIONS, cut_doc
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.jackknife import Fold, Jackknife, annotate
from spacy_ssvm.components.annotated_corpus import write_docs
from spacy_ssvm.tokenizer import training

CONFIG = """
[paths]
train = null
dev = null

[nlp]
lang = "en"
pipeline = ["memory", "tagger"]

[components]

[components.memory]
factory = "memory"

[components.tagger]
factory = "ssvm_tagger"

[components.tagger.solver]
@misc = "spacy_ssvm.DualCoordinateDescent.v1"
C = 1.0

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}

[training]
seed = 1
gpu_allocator = null
max_epochs = 2
patience = 0
eval_frequency = 1

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 1000000

[initialize]

[initialize.components]

[initialize.components.tagger]
clusters = null
"""


@Language.factory("memory")
class Memory:
    """Remembers the texts it has learned from, and lemmatizes their tokens as 'seen'."""

    is_trainable = False

    def __init__(self, nlp: Language, name: str) -> None:
        self.name = name
        self.texts: list[str] = []

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Any) -> None:
        self.texts += [example.reference.text for example in get_examples()]

    def update(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, float]:
        self.texts += [example.reference.text for example in examples]
        return {}

    def __call__(self, doc: Doc) -> Doc:
        for token in doc:
            token.lemma_ = "seen" if doc.text in self.texts else "new"
        return doc

    def to_disk(self, path: Path, exclude: Iterable[str] = ()) -> None:
        path.write_text("\n".join(self.texts), encoding="utf8")

    def from_disk(self, path: Path, exclude: Iterable[str] = ()) -> None:
        self.texts = path.read_text(encoding="utf8").split("\n")


@Language.factory("tags_of_new_docs")
class TagsOfNewDocs(Memory):
    """Knows the gold tags of texts it has not learned from, and writes them as lemmas."""

    def __call__(self, doc: Doc) -> Doc:
        tags = {
            word: tag
            for words, tags in tagged_sentences(SENTENCES)
            for word, tag in zip(words, tags, strict=True)
        }
        for token in doc:
            token.lemma_ = "seen" if doc.text in self.texts else tags[token.text]
        return doc


@Language.factory("counter", default_config={"scores": [0.5]})
class Counter(Memory):
    """Counts its updates, and lemmatizes by their number.

    scores: what it scores on any corpus after one update, after two, ...; the last from there on.
    """

    def __init__(self, nlp: Language, name: str, scores: list[float]) -> None:
        super().__init__(nlp, name)
        self.scores = scores

    def update(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, float]:
        self.texts.append("update")
        return {}

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Any) -> None:
        pass

    def __call__(self, doc: Doc) -> Doc:
        for token in doc:
            token.lemma_ = str(len(self.texts))
        return doc

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, float]:
        return {"lemma_acc": self.scores[min(len(self.texts), len(self.scores)) - 1]}


@Language.factory("memory_of_tokens")
class MemoryOfTokens(Memory):
    """Remembers the tokens it has learned from, as they were cut."""

    def update(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, float]:
        self.texts += [token.text for example in examples for token in example.predicted]
        return {}

    def __call__(self, doc: Doc) -> Doc:
        for token in doc:
            token.lemma_ = "seen" if token.text in self.texts else "new"
        return doc


def read(file: Path) -> list[Doc]:
    return list(DocBin().from_disk(file).get_docs(spacy.blank("en").vocab))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Tagged sentences, two a Doc, of which none is there twice."""
    nlp = spacy.blank("en")
    sentences = [
        make_doc(nlp.vocab, words, tags=tags, sent_starts=[i == 0 for i in range(len(words))])
        for words, tags in tagged_sentences(SENTENCES)
    ]
    docs = [Doc.from_docs(sentences[i : i + 2]) for i in range(0, len(sentences) - 1, 2)]
    DocBin(docs=[doc for doc in docs if doc]).to_disk(tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


def config_of(corpus: Path, **overrides: Any) -> Config:
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    return Config().from_str(CONFIG, overrides={**paths, **overrides}, interpolate=False)


def jackknifed(config: Config, **settings: Any) -> list[Doc]:
    knife = Jackknife(config, **settings)
    docs = list(knife.gold)
    for fold in knife.run():
        docs[fold.number :: settings["folds"]] = fold.docs
    return docs


def errors(docs: Iterable[Doc], gold: Iterable[Doc]) -> int:
    """The number of wrong tags."""
    pairs = [pair for two in zip(docs, gold, strict=True) for pair in zip(*two, strict=True)]
    return sum(token.tag_ != right.tag_ for token, right in pairs)


def command(*arguments: Any) -> Any:
    return CliRunner().invoke(ssvm, ["jackknife", *map(str, arguments)])


def test_a_corpus_anywhere_in_the_config_is_dealt_out(corpus: Path) -> None:
    """No model learns from what it annotates, wherever its corpus stands in the config."""
    reader = {"@readers": "spacy.Corpus.v1", "path": str(corpus), "gold_preproc": False}
    for place in ("corpora.all.gold", "data.gold"):
        config = config_of(corpus, **{"training.train_corpus": place})
        section, *inner = place.split(".")
        config[section] = {**config.get(section, {}), **_nested(inner, reader)}
        docs = jackknifed(config, folds=2, components=["memory"])
        assert {token.lemma_ for doc in docs for token in doc} == {"new"}


def _nested(names: list[str], block: dict[str, Any]) -> dict[str, Any]:
    return {names[0]: _nested(names[1:], block)} if names else block


@compiled_only
@pytest.mark.parametrize("folds", [2, 3])
def test_no_model_has_seen_what_it_annotates(corpus: Path, folds: int) -> None:
    docs = jackknifed(config_of(corpus), folds=folds)
    assert [doc.text for doc in docs] == [doc.text for doc in read(corpus)]
    assert {token.lemma_ for doc in docs for token in doc} == {"new"}
    assert all(token.tag_ for doc in docs for token in doc)


@compiled_only
def test_folds_may_be_run_by_other_processes(corpus: Path) -> None:
    def elsewhere(run: Any, numbers: Iterable[int]) -> Iterator[Fold]:
        sent = pickle.dumps(run)
        for number in numbers:
            yield pickle.loads(sent)(number)

    config = config_of(corpus)
    knives = [[Jackknife(config, folds=3, components=["memory"])] for _ in range(2)]
    for each, rounds in zip((map, elsewhere), knives, strict=True):
        rounds.append(Jackknife(config, folds=2, components=["tagger"], before=rounds[0]))
        for knife in rounds:
            list(knife.run(each))
    for here, there in zip(*knives, strict=True):
        for docs, same in ((here.found, there.found), (here.found_in_dev, there.found_in_dev)):
            assert [doc.to_json() for doc in docs] == [doc.to_json() for doc in same]


@compiled_only
def test_folds_and_their_scores(corpus: Path) -> None:
    for fold in Jackknife(config_of(corpus), folds=3).run():
        gold = read(corpus)[fold.number :: 3]
        assert [doc.text for doc in fold.docs] == [doc.text for doc in gold]
        wrong = errors(fold.docs, gold) / sum(map(len, gold))
        assert fold.scores == {"tag_acc": pytest.approx(1 - wrong)}


@compiled_only
def test_annotations_are_worse_than_those_of_a_model_that_has_seen_the_corpus(
    corpus: Path, tmp_path: Path
) -> None:
    gold = read(corpus)
    (tmp_path / "config.cfg").write_text(CONFIG)
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides=paths)
    nlp = spacy.load(tmp_path / "out" / "model-best")
    seen = annotate(nlp, gold, by_sentence=False)
    assert {token.lemma_ for doc in seen for token in doc} == {"seen"}
    assert errors(seen, gold) < errors(jackknifed(config_of(corpus), folds=3), gold)


@compiled_only
def test_only_some_components(corpus: Path) -> None:
    config = config_of(corpus, **{"training.score_weights": {"lemma_acc": 1.0}})
    knife = Jackknife(config, folds=2, components=["tagger"])
    for fold in knife.run():
        assert list(fold.scores) == ["tag_acc"]
        assert not any(token.lemma_ for doc in fold.docs for token in doc)
        assert all(token.tag_ for doc in fold.docs for token in doc)
    assert config["nlp"]["pipeline"] == ["memory", "tagger"], "the config given is not changed"


@compiled_only
def test_gold_sentences_where_the_reader_gives_them(corpus: Path) -> None:
    config = config_of(corpus, **{"corpora.train.gold_preproc": True})
    docs = jackknifed(config, folds=2)
    for doc, gold in zip(docs, read(corpus), strict=True):
        assert [(t.text, t.whitespace_) for t in doc] == [(t.text, t.whitespace_) for t in gold]
        assert [s.start for s in doc.sents] == [s.start for s in gold.sents]
        assert all(token.tag_ for token in doc)
        assert {token.lemma_ for token in doc} == {"new"}


def test_sentences_are_put_together_with_what_was_annotated(corpus: Path) -> None:
    nlp = spacy.blank("en")

    @Language.component("first_two")
    def first_two(doc: Doc) -> Doc:
        doc.spans["chunks"] = [Span(doc, 0, 2, "NP")]
        doc.set_ents([Span(doc, 1, 2, "X")])
        doc.user_data["seen"] = True
        return doc

    nlp.add_pipe("first_two")
    gold = read(corpus)
    for doc, reference in zip(annotate(nlp, gold, by_sentence=True), gold, strict=True):
        starts = [sentence.start for sentence in reference.sents]
        assert [span.start for span in doc.spans["chunks"]] == starts
        assert [entity.start - 1 for entity in doc.ents] == starts


@compiled_only
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"initialize.tokenizer": {"learn": True, "special_cases": None}}, [14]),
        ({}, [14]),
        ({"initialize.before_init": {"@callbacks": "spacy.copy_from_base_model.v1"}}, [7, 7]),
    ],
)
def test_a_tokenizer_learns_once_for_all_folds(
    settings: Any, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing else is to happen before a pipeline is initialized."""
    nlp = spacy.blank("en")
    docs = [cut_doc(nlp.vocab, marked) for marked in CONTRACTIONS]
    write_docs(tmp_path / "train.spacy", docs)
    overrides = {
        "nlp.tokenizer": {"@tokenizers": "spacy_ssvm.Tokenizer.v1"},
        "components.memory": {"factory": "memory_of_tokens"},
        **settings,
    }
    config = config_of(tmp_path / "train.spacy", **overrides)
    sizes, learn = [], training.learn
    monkeypatch.setattr(training, "learn", lambda *a: (sizes.append(len(a[1])), learn(*a)))
    found = jackknifed(config, folds=2, components=["memory"])
    assert sizes == expected
    lemmas = {token.text: token.lemma_ for doc in found for token in doc}
    assert lemmas["do"] == lemmas["n't"] == "seen"


@compiled_only
def test_a_second_round_learns_from_what_the_first_has_found(corpus: Path, tmp_path: Path) -> None:
    """The tagger sees lemmas alone: tags, but in Docs that their model has learned from."""
    (tmp_path / "dev.spacy").write_bytes(corpus.read_bytes())
    overrides = {
        "paths.dev": str(tmp_path / "dev.spacy"),
        "components.memory": {"factory": "tags_of_new_docs"},
        "components.tagger.templates": ["lemma[0]"],
    }
    config = config_of(corpus, **overrides)
    first = Jackknife(config, folds=2, components=["memory"])
    list(first.run())
    second = Jackknife(config, folds=3, components=["tagger"], before=first)
    list(second.run())
    for docs, file in ((second.found, corpus), (second.found_in_dev, tmp_path / "dev.spacy")):
        assert [doc.text for doc in docs] == [doc.text for doc in read(file)]
        assert all(token.tag_ and token.lemma_ for doc in docs for token in doc)
    tokens = [token for doc in second.found for token in doc]
    assert "seen" not in {token.lemma_ for token in tokens}
    assert sum(token.tag_ == token.lemma_ for token in tokens) > 0.9 * len(tokens)


@compiled_only
def test_a_second_round_without_the_first_knows_nothing(corpus: Path) -> None:
    overrides = {
        "components.memory": {"factory": "tags_of_new_docs"},
        "components.tagger.templates": ["lemma[0]"],
    }
    docs = jackknifed(config_of(corpus, **overrides), folds=2, components=["tagger"])
    assert errors(docs, read(corpus)) > 0.5 * sum(map(len, docs))


def updates_of(
    corpus: Path, scores: list[float], components: Sequence[str] = (), **training: int
) -> set[str]:
    """How often the models that annotate were updated."""
    overrides = {f"training.{key}": value for key, value in training.items()}
    config = config_of(corpus, **overrides)
    config["nlp"]["pipeline"] = ["counter"]
    config["components"] = {"counter": {"factory": "counter", "scores": scores}}
    config["initialize"] = {}
    config["training"]["score_weights"] = {"lemma_acc": 1.0}
    return {
        token.lemma_ for doc in jackknifed(config, folds=2, components=components) for token in doc
    }


RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


@pytest.mark.parametrize(("scores", "training", "updates"), [
    (RISING, {"max_epochs": 5, "eval_frequency": 5, "patience": 5}, 5),
    (RISING, {"max_epochs": 6, "eval_frequency": 4, "patience": 3}, 6),
    (RISING, {"max_epochs": 6, "eval_frequency": 2, "patience": 2}, 6),
    (RISING, {"max_epochs": 0, "max_steps": 3, "eval_frequency": 2, "patience": 1}, 4),
    (RISING, {"max_epochs": -1, "max_steps": 3, "eval_frequency": 9}, 4),
    ([0.5], {"max_epochs": 3, "eval_frequency": 9}, 3),
    ([0.5, 0.4], {"max_epochs": 3, "eval_frequency": 9}, 1),
    ([0.5, 0.4, 0.9, 0.3], {"max_epochs": 5, "eval_frequency": 2}, 3),
    ([0.5, 0.4, 0.3, 0.2, 0.9], {"max_epochs": 6, "eval_frequency": 2, "patience": 2}, 1),
    ([0.5, 0.4, 0.3, 0.9], {"max_epochs": 9, "eval_frequency": 1, "patience": 2}, 1),
    ([0.5, 0.4, 0.3, 0.9], {"max_epochs": 0, "eval_frequency": 1, "patience": 3}, 7),
])  # fmt: skip
def test_the_best_model_annotates_and_the_last_is_evaluated(
    corpus: Path, scores: list[float], training: dict[str, int], updates: int
) -> None:
    assert updates_of(corpus, scores, **training) == {str(updates)}


def test_the_last_model_of_small_batches_is_evaluated(corpus: Path) -> None:
    """Each fold learns from 10 or 11 Docs, in batches of 4: in 3 steps an epoch."""
    sizes = {"max_epochs": 2, "eval_frequency": 5, "patience": 1, "batcher.size": 4}
    assert updates_of(corpus, [*RISING, 0.7], **sizes) == {"6"}


def test_chosen_components_are_judged_by_the_weights_of_the_config(corpus: Path) -> None:
    settings = {"max_epochs": 3, "eval_frequency": 1}
    assert updates_of(corpus, [0.5, 0.9, 0.4], ["counter"], **settings) == {"2"}


def test_no_batches(corpus: Path) -> None:
    batcher = {"@batchers": "spacy.batch_by_words.v1", "size": 1, "tolerance": 0.0}
    config = config_of(corpus, **{"training.batcher": {**batcher, "discard_oversize": True}})
    with pytest.raises(ValueError, match=r"training\.batcher\] has made no batches"):
        jackknifed(config, folds=2, components=["memory"])


@compiled_only
def test_a_second_round_by_the_command(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "config.cfg").write_text(CONFIG)
    output = tmp_path / "annotated.spacy"
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    arguments = [tmp_path / "config.cfg", "--folds", 2, "--output", output, *paths]
    result = command(*arguments, "--components", "memory", "--next", "tagger,tagger")
    assert result.exit_code == 0, result.output
    docs = read(output)
    assert {token.lemma_ for doc in docs for token in doc} == {"new"}
    assert all(token.tag_ for doc in docs for token in doc)


@compiled_only
def test_command(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "config.cfg").write_text(CONFIG)
    output = tmp_path / "new" / "annotated.spacy"
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    arguments = [tmp_path / "config.cfg", "--folds", 2, "--components", "tagger", *paths]
    result = command(*arguments, "--output", output)
    assert result.exit_code == 0, result.output
    assert "tag_acc" in result.output
    assert [path.name for path in output.parent.iterdir()] == ["annotated.spacy"]
    docs, gold = read(output), read(corpus)
    assert [doc.text for doc in docs] == [doc.text for doc in gold]
    assert all(token.tag_ for doc in docs for token in doc)

    other = tmp_path / "other.spacy"
    assert command(*arguments, "--output", other, "--training.max_epochs", 1).exit_code == 0
    assert other.read_bytes() != output.read_bytes()

    arguments += ["--output", other]
    assert command(*arguments, "--overwrite").exit_code == 0
    assert other.read_bytes() == output.read_bytes()


def test_an_output_that_exists_is_refused_before_anything_is_read(
    corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.cfg").write_text("no config", encoding="utf8")
    output = tmp_path / "annotated.spacy"
    output.write_bytes(b"what is there")
    result = command(tmp_path / "config.cfg", "--output", output)
    assert result.exit_code == 1
    assert "exists: give --overwrite" in " ".join(result.output.split())
    assert output.read_bytes() == b"what is there"


@pytest.mark.parametrize("folder", [False, True])
def test_the_output_does_not_become_part_of_a_corpus(
    corpus: Path, tmp_path: Path, folder: bool
) -> None:
    (tmp_path / "config.cfg").write_text(CONFIG)
    data = corpus.read_bytes()
    output = corpus.with_name("other.spacy") if folder else corpus
    for role, other in (("train", "dev"), ("dev", "train")):
        paths = [f"--paths.{role}", corpus.parent if folder else corpus]
        (tmp_path / "apart").mkdir(exist_ok=True)
        (tmp_path / "apart" / "corpus.spacy").write_bytes(data)
        paths += [f"--paths.{other}", tmp_path / "apart" / "corpus.spacy"]
        result = command(tmp_path / "config.cfg", *paths, "--output", output, "--overwrite")
        assert result.exit_code == 1
        assert "would become part of the corpus" in " ".join(result.output.split())
    assert corpus.read_bytes() == data
    assert folder is not (output.exists())


@pytest.mark.parametrize(("overrides", "settings", "message"), [
    ({"paths.train": None}, {}, r"\[corpora.train\].* no path"),
    ({"paths.dev": None}, {}, r"\[corpora.dev\].* no path"),
    ({"training.train_corpus": "corpora.other"}, {}, r"\[corpora.other\].* no path"),
    ({}, {"folds": 1}, "two folds at least"),
    ({}, {"folds": 22}, "has 21 Docs for 22 folds"),
    ({}, {"components": ["parser"]}, "no component 'parser' among memory, tagger"),
    ({"training.max_epochs": 0, "training.max_steps": 0}, {}, r"training does not end.*= 0, .*= 1"),
    (
        {"training.max_epochs": -1, "training.max_steps": 0, "training.patience": 5,
         "training.eval_frequency": 6},
        {}, "does not end.*patience = 5, eval_frequency = 6",
    ),
    ({"training.eval_frequency": 0}, {}, "an eval_frequency above 0"),
    ({"training.max_steps": -1}, {}, "max_steps of at least 0"),
    ({"training.patience": "long"}, {}, "patience\tInput should be a valid integer"),
])  # fmt: skip
def test_what_makes_no_sense(
    corpus: Path, overrides: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Jackknife(config_of(corpus, **overrides), **{"folds": 2, **settings})


def test_an_annotated_corpus_cannot_be_dealt_out(corpus: Path) -> None:
    reader = {
        "@readers": "spacy_ssvm.AnnotatedCorpus.v1",
        "path": str(corpus),
        "annotated_path": str(corpus),
        "annotations": ["TAG"],
    }
    with pytest.raises(ValueError, match="annotated_path"):
        Jackknife(config_of(corpus, **{"corpora.train": reader}), folds=2)


@pytest.mark.parametrize(("arguments", "message"), [
    (["--folds", 1000], "1000 folds"),
    (["--components", "tagger, parser"], "no component 'parser'"),
    (["--components", "parser,tagger"], "no component 'parser'"),
    (["--next", ""], "no component ''"),
    (["--output", "annotated.txt"], "must be a file that ends in .spacy"),
    (["--paths.dev", "config.cfg"], "config.cfg is not a .spacy file, nor a folder"),
    (["--paths.train", "nowhere.spacy"], "nowhere.spacy"),
    (["--training.max_epochs", "many"], "max_epochs"),
    (["--nosuch", 1], "No such option '--nosuch'"),
    (["--address", "auto"], "say by --workers how many folds at a time"),
    (["--nlp.pipeline", "[]"], "there are no components to train"),
    (["--components.tagger.templates", '["nosuch[0]"]'], "there is no attribute 'nosuch'"),
])  # fmt: skip
def test_errors_of_the_command(
    corpus: Path, tmp_path: Path, arguments: list[Any], message: str
) -> None:
    (tmp_path / "config.cfg").write_text(CONFIG)
    paths = ["--paths.train", corpus, "--paths.dev", corpus]
    output = tmp_path / "annotated.spacy"
    result = command(tmp_path / "config.cfg", *paths, "--output", output, *arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert message in " ".join(result.output.split())
    assert not output.exists()


def test_an_interrupted_run_leaves_nothing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = read(corpus)
    file = tmp_path / "new" / "annotated.spacy"

    def fail(*args: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="no space"):
            write_docs(file, docs)
    assert list(file.parent.iterdir()) == []
    write_docs(file, docs)
    assert len(read(file)) == len(docs)


PIPELINE = """
[paths]
train = null
annotated = null

[nlp]
lang = "en"
pipeline = ["tagger", "chunker"]

[components]

[components.tagger]
factory = "ssvm_tagger"

[components.chunker]
factory = "ssvm_chunker"
templates = ["tag[0]"]

[components.chunker.solver]
@misc = "spacy_ssvm.DualCoordinateDescent.v1"
C = 1.0

[corpora]

[corpora.train]
@readers = "spacy_ssvm.AnnotatedCorpus.v1"
path = ${paths.train}
annotated_path = ${paths.annotated}
annotations = ["TAG"]

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[training]
seed = 1
gpu_allocator = null
max_epochs = 8
patience = 0
eval_frequency = 1

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 1000000

[initialize]
"""


def write_pair(folder: Path, gold: Iterable[Doc], annotated: Iterable[Doc]) -> dict[str, str]:
    """Both corpora, and the settings that name them."""
    paths = {}
    for name, docs in (("train", gold), ("annotated", annotated)):
        paths[f"paths.{name}"] = str(folder / f"{name}.spacy")
        DocBin(docs=docs).to_disk(paths[f"paths.{name}"])
    (folder / "config.cfg").write_text(PIPELINE)
    return paths


@compiled_only
def test_the_references_keep_the_gold_tags(tmp_path: Path) -> None:
    """The tagger learns the gold tags, the chunker from the other ones: here, swapped."""
    nlp = spacy.blank("en")
    words = ["dogs", "bark", "and", "cats", "sleep"]
    gold = Doc(nlp.vocab, words=words, tags=["N", "V", "C", "N", "V"])
    gold.spans["chunks"] = [Span(gold, 0, 1, "NP"), Span(gold, 3, 4, "NP")]
    swapped = Doc(nlp.vocab, words=words, tags=["V", "N", "C", "V", "N"])
    paths = write_pair(tmp_path, [gold] * 3, [swapped] * 3)
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides=paths)
    doc = spacy.load(tmp_path / "out" / "model-last")(gold.text)
    assert [token.tag_ for token in doc] == ["N", "V", "C", "N", "V"]
    assert [span.text for span in doc.spans["chunks"]] == ["bark", "sleep"]


@compiled_only
def test_from_the_command_to_a_trained_pipeline(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    docs = [make_doc(nlp.vocab, words, tags=tags) for words, tags in tagged_sentences(SENTENCES)]
    for doc in docs:
        doc.spans["chunks"] = [doc[t.i : t.i + 1] for t in doc if t.tag_[0] == "N"]
        doc.spans["chunks"] = [Span(doc, s.start, s.end, "NP") for s in doc.spans["chunks"]]
    paths = write_pair(tmp_path, docs, [])
    annotated = tmp_path / "annotated.spacy"
    annotated.unlink()
    config = tmp_path / "config.cfg"
    arguments = ["--output", annotated, "--folds", 3, "--components", "tagger"]
    assert command(config, *arguments, "--paths.train", paths["paths.train"]).exit_code == 0
    wrong = errors(read(annotated), docs)
    assert 0 < wrong < sum(map(len, docs)) / 2

    spacy_train(config, tmp_path / "out", overrides=paths)
    trained = spacy.load(tmp_path / "out" / "model-best")
    references = read(tmp_path / "train.spacy")
    assert errors(annotate(trained, references, by_sentence=False), docs) < wrong
    examples = [Example(trained.make_doc(doc.text), doc) for doc in references]
    assert trained.evaluate(examples)["spans_chunks_f"] > 0.5  # the tags are those of a beginner
