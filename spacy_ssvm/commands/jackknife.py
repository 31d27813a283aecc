"""Jackknifing: annotates a corpus with models that were trained on other parts of it.

The Docs are divided into folds. For each fold the pipeline of a config is trained on the other
folds and annotates this one, so that the annotations have as many errors as those of new text.
``AnnotatedCorpus`` reads them beside the gold corpus.
"""

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from spacy import util
from spacy.language import DEFAULT_CONFIG, Language
from spacy.schemas import ConfigSchemaTraining
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_evaluation_callback,
    train,
)
from spacy.util import registry, resolve_dot_names
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_ssvm.components.annotated_corpus import annotations_of, corpus_block, read_docs


class Fold(NamedTuple):
    """The Docs that one model has annotated."""

    number: int  #: from 0; of k folds, it has each k-th Doc from this one on
    docs: list[Doc]
    scores: dict[str, float | None]  #: of these Docs: those that training is judged by
    dev_docs: list[Doc]  #: those of the development corpus, where it is the first fold

    def __reduce__(self) -> tuple[Any, ...]:
        docs, dev_docs = _pack(self.docs), _pack(self.dev_docs)
        return Fold._unpacked, (self.number, docs, self.scores, dev_docs)

    @classmethod
    def _unpacked(
        cls, number: int, docs: bytes, scores: dict[str, float | None], dev_docs: bytes
    ) -> "Fold":
        return cls(number, _unpack(docs), scores, _unpack(dev_docs))


#: Calls a function with each number; yields what it returns in their order, as ``map`` does.
Each = Callable[[Callable[[int], Fold], Iterable[int]], Iterable[Fold]]


class Predicted(NamedTuple):
    """Docs of both corpora, annotated by other means than a jackknife."""

    found: list[Doc]
    found_in_dev: list[Doc]


class Jackknife:
    """The folds of the training corpus of a config.

    config: as for ``spacy train``.
    folds: their number, at least 2.
    components: the names of those to train; empty for the entire pipeline.
    before: annotations of other components, or a jackknife of them that has run: these
        components learn from them, and add their own.

    ``gold`` holds the Docs, but for empty ones; ``found`` and ``found_in_dev`` hold the annotated
    Docs of both corpora once all folds have run, the latter by the model of the first fold.
    Raises ValueError where the config has no such components, or no corpus that can be divided,
    where training would not end, and for too many folds.
    """

    def __init__(
        self,
        config: Config,
        *,
        folds: int,
        components: Sequence[str] = (),
        before: "Jackknife | Predicted | None" = None,
    ) -> None:
        self.config = config.interpolate()
        self.folds = folds
        self.before = before
        if components:
            keep_components(self.config, components)
        if not self.config["nlp"]["pipeline"]:
            raise ValueError("there are no components to train: [nlp] has an empty pipeline")
        self._use_all_of_training()
        reader = self._reader("train_corpus")
        self._by_sentence = bool(reader.get("gold_preproc"))
        if reader.get("annotated_path"):
            raise ValueError(
                "the training corpus has an annotated_path, whose Docs cannot be dealt out to "
                "folds: choose components that need no annotations, and a reader without them"
            )
        self.path = Path(reader["path"])
        self.dev_path = Path(self._reader("dev_corpus")["path"])
        self.gold = [filed.doc for filed in read_docs(self.path, Vocab())]
        self._dev = [filed.doc for filed in read_docs(self.dev_path, Vocab())]
        self.found: list[Doc] = list(self.gold)
        self.found_in_dev: list[Doc] = []
        if not 2 <= folds <= len(self.gold):
            raise ValueError(
                f"{self.path} has {len(self.gold)} Docs for {folds} folds: there must be two "
                "folds at least, and a Doc for each ('spacy convert -n 1' makes a Doc of each "
                "sentence)"
            )

    def _reader(self, key: str) -> dict[str, Any]:
        """The block of a corpus that training names. Raises ValueError where it has no path."""
        name, block = corpus_block(self.config, key)
        if not block.get("path"):
            raise ValueError(
                f"[{name}], the {key} of the config, has no path of .spacy files. Set it there, "
                "or on the command line, such as --paths.train train.spacy"
            )
        return block

    def _use_all_of_training(self) -> None:
        """Turn off a ``patience`` that ends training before its second evaluation.

        spaCy evaluates at each step that ``eval_frequency`` divides, the first included, and stops
        ``patience`` steps after the best of these. Raises ValueError where nothing else ends it.
        """
        filled = Config(DEFAULT_CONFIG).merge(self.config).interpolate()["training"]
        training = registry.resolve(filled, schema=ConfigSchemaTraining)
        frequency, patience = training["eval_frequency"], training["patience"]
        if frequency < 1 or training["max_steps"] < 0:
            raise ValueError(
                "[training] needs an eval_frequency above 0, and max_steps of at least 0"
            )
        if patience >= frequency:
            return
        if training["max_epochs"] < 1 and training["max_steps"] == 0:
            raise ValueError(
                f"training does not end: set max_epochs or max_steps in [training], or a patience "
                f"of at least eval_frequency steps. They are: patience = {patience}, "
                f"eval_frequency = {frequency}"
            )
        self.config["training"]["patience"] = 0

    def run(self, each: Each = map) -> Iterator[Fold]:
        """Train and annotate, fold by fold.

        each: calls a function for each fold, which depends on no other one.
        """
        for fold in each(partial(self._run_fold, _tokenizer(self.config)), range(self.folds)):
            self.found[fold.number :: self.folds] = fold.docs
            self.found_in_dev = fold.dev_docs or self.found_in_dev
            yield fold

    def _run_fold(self, tokenizer: dict[str, bytes], number: int) -> Fold:
        """Train a model, and annotate what it has not seen. tokenizer: see ``_tokenizer``."""
        by_sentence = self._by_sentence
        references = self.gold[number :: self.folds]
        sources = self.before.found[number :: self.folds] if self.before else None
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            config = _with_tokenizer(self.config.copy(), tokenizer, Path(folder) / "tokenizer")
            nlp = self._train(config, number, Path(folder))
            docs = annotate(nlp, references, by_sentence=by_sentence, sources=sources)
        dev_docs: list[Doc] = []
        if number == 0:
            sources = self.before.found_in_dev if self.before else None
            dev_docs = annotate(nlp, self._dev, by_sentence=by_sentence, sources=sources)
        examples = [Example(*pair) for pair in zip(docs, references, strict=True)]
        scores = Scorer(nlp=nlp).score(examples)
        weights = nlp.config["training"]["score_weights"]
        judged = [name for name, weight in weights.items() if weight and name in scores]
        return Fold(number, docs, {name: scores[name] for name in judged}, dev_docs)

    # Other processes get Docs as files have them: each alone would bring its vocabulary.

    def __getstate__(self) -> dict[str, Any]:
        before = self.before and (self.before.found, self.before.found_in_dev)
        return {
            **vars(self),
            "gold": _pack(self.gold),
            "_dev": _pack(self._dev),
            "before": before and tuple(map(_pack, before)),
            "found": [],
            "found_in_dev": [],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        before = state["before"] and Predicted(*map(_unpack, state["before"]))
        docs = {name: _unpack(state[name]) for name in ("gold", "_dev")}
        vars(self).update(state, before=before, **docs)

    def _train(self, config: Config, number: int, folder: Path) -> Language:
        """The best pipeline of ``spacy train`` on all Docs but those of a fold.

        The one after the last step counts among those evaluated, whatever ``eval_frequency`` is.
        """
        others = [i for i in range(len(self.gold)) if i % self.folds != number]
        file = folder / "folds.spacy"
        DocBin(docs=[self.gold[i] for i in others], store_user_data=True).to_disk(file)
        found = [self.before.found[i] for i in others] if self.before else []
        for name, path, its_found in (
            ("folds", self.path, found),
            ("dev", self.dev_path, self.before.found_in_dev if self.before else []),
        ):
            for reader in _readers(config):
                if Path(reader["path"]).resolve() != path.resolve():
                    continue
                if path.resolve() == self.path.resolve():
                    reader["path"] = str(file)
                if its_found:
                    annotated = folder / f"{name}-annotated.spacy"
                    DocBin(docs=its_found).to_disk(annotated)
                    reader["@readers"] = "spacy_ssvm.AnnotatedCorpus.v1"
                    reader["annotated_path"] = str(annotated)
                    reader["annotations"] = list(annotations_of(its_found))
        train(init_nlp(config), folder, stdout=io.StringIO(), stderr=io.StringIO())
        if not (folder / DIR_MODEL_BEST).exists():
            raise ValueError("the batcher of [training.batcher] has made no batches to learn from")
        best, last = (util.load_model(folder / name) for name in (DIR_MODEL_BEST, DIR_MODEL_LAST))
        return last if _score_on_dev(last) >= _score_on_dev(best) else best


def _pack(docs: Sequence[Doc]) -> bytes:
    """Docs as a file has them."""
    return DocBin(docs=docs, store_user_data=True).to_bytes()


def _unpack(packed: bytes) -> list[Doc]:
    """What ``_pack`` has packed."""
    return list(DocBin(store_user_data=True).from_bytes(packed).get_docs(Vocab()))


def _tokenizer(config: Config) -> dict[str, bytes]:
    """The files of a pipeline with a tokenizer that has learned, where each fold would do so.

    It learns from the whole corpus: Docs are annotated with gold tokens.
    """
    start = config.get("initialize", {})
    used = config["nlp"].get("tokenizer", {}).get("@tokenizers")
    learns = used == "spacy_ssvm.Tokenizer.v1" and start.get("tokenizer", {}).get("learn", True)
    if not learns or start.get("before_init"):
        return {}
    tokenizer_alone = config.copy()
    keep_components(tokenizer_alone, ())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        init_nlp(tokenizer_alone).to_disk(folder)
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _with_tokenizer(config: Config, files: dict[str, bytes], folder: Path) -> Config:
    """The config, with the tokenizer of these files, if there are any, in a new folder."""
    if not files:
        return config
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    start = config.setdefault("initialize", {})
    start.setdefault("tokenizer", {})["learn"] = False
    copy = {"@callbacks": "spacy.copy_from_base_model.v1", "tokenizer": str(folder)}
    start["before_init"] = copy
    return config


def make_rounds(
    config: Config,
    folds: int,
    rounds: Sequence[Sequence[str]],
    predicted: Predicted | None = None,
) -> list[Jackknife]:
    """A jackknife for each round of components, each of which learns from the one before.

    predicted: annotations that the first one learns from.
    """
    knives: list[Jackknife] = []
    for components in rounds:
        before = knives[-1] if knives else predicted
        knives.append(Jackknife(config, folds=folds, components=components, before=before))
    return knives


def _readers(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The blocks of a config, wherever they are, that read a path."""
    for value in block.values():
        if isinstance(value, dict):
            if "@readers" in value and value.get("path"):
                yield value
            yield from _readers(value)


def _score_on_dev(nlp: Language) -> float:
    """The score by which ``spacy train`` selects a pipeline."""
    config = nlp.config.interpolate()
    settings = config["training"]
    (corpus,) = resolve_dot_names(config, [settings["dev_corpus"]])
    score, _ = create_evaluation_callback(nlp, corpus, settings["score_weights"])()
    return score


def annotate(
    nlp: Language,
    references: Iterable[Doc],
    *,
    by_sentence: bool,
    sources: Sequence[Doc] | None = None,
) -> list[Doc]:
    """The words of some Docs, annotated by a pipeline.

    by_sentence: whether the pipeline gets each gold sentence as a Doc of its own.
    sources: Docs of the same words, with existing annotations; None for none.
    """
    parts = [
        list(doc.sents) if by_sentence and doc.has_annotation("SENT_START") else [doc[:]]
        for doc in references
    ]
    if sources is None:
        texts: Iterable[Doc] = (
            _words(nlp.vocab, part) for doc_parts in parts for part in doc_parts
        )
    else:
        shared = DocBin(docs=sources).get_docs(nlp.vocab)
        texts = (
            doc[part.start : part.end].as_doc()
            for doc, doc_parts in zip(shared, parts, strict=True)
            for part in doc_parts
        )
    docs = nlp.pipe(texts)
    annotated = []
    for doc_parts in parts:
        pieces = [next(docs) for _ in doc_parts]
        joined = Doc.from_docs(  # type: ignore[call-arg]
            pieces, ensure_whitespace=False, exclude=("tensor", "user_data")
        )
        annotated.append(joined or Doc(nlp.vocab))
    return annotated


def _words(vocab: Vocab, part: Span) -> Doc:
    spaces = [bool(token.whitespace_) for token in part]
    return Doc(vocab, words=[token.text for token in part], spaces=spaces)


def keep_components(config: Config, names: Sequence[str]) -> None:
    """Reduce the pipeline of a config to some components."""
    pipeline = config["nlp"]["pipeline"]
    unknown = [name for name in names if name not in pipeline]
    if unknown:
        raise ValueError(f"there is no component '{unknown[0]}' among {', '.join(pipeline)}")
    for section in (config, config.get("initialize", {})):
        blocks = section.get("components", {})
        section["components"] = {name: blocks[name] for name in blocks if name in names}
    config["nlp"]["pipeline"] = [name for name in pipeline if name in names]
    for section, key in (
        ("nlp", "disabled"),
        ("training", "frozen_components"),
        ("training", "annotating_components"),
    ):
        kept = [name for name in config[section].get(key, []) if name in names]
        config[section][key] = kept
    weights = config["training"].get("score_weights", {})  # spaCy adds those of the components
    config["training"]["score_weights"] = {name: value for name, value in weights.items() if value}
