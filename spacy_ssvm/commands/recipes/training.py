"""Annotated files to a trained pipeline: convert, configure, jackknife, train."""

import io
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from spacy import util
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST

from spacy_ssvm.commands.conversion.convert import LEFT_OUT, convert_files, write_left_out
from spacy_ssvm.commands.conversion.files import Converted, Settings, split
from spacy_ssvm.commands.jackknife import Jackknife, Predicted, make_rounds
from spacy_ssvm.commands.recipes.config import EPOCHS, FOLD_EPOCHS, FOLDS, jackknife_rounds
from spacy_ssvm.components.annotated_corpus import write_docs
from spacy_ssvm.files import beside, replace_folder

#: Of a processor, roughly, for an epoch of a thousand words; with its evaluation.
_SECONDS = {
    "tagger": 0.035,
    "pos_tagger": 0.035,
    "morphologizer": 0.05,
    "lemmatizer": 0.01,
    "senter": 0.025,
    "parser": 0.15,
    "ner": 0.03,
    "chunker": 0.03,
    "sentence_labeler": 0.03,
}
_TOKENIZER = 0.05  #: the same, for all that it learns of a thousand words
_START, _LOOKUPS = 1.0, 3.0  #: the same, for each start, and to read what a package has
_TIMED = 20  #: Docs on which a pipeline is timed
_PARTS = ("train.spacy", "dev.spacy")


class Corpus(NamedTuple):
    """Examples to learn from, and to choose the best epoch by."""

    train: list[Doc]
    dev: list[Doc]
    converted: list[Converted]  #: as the files were read

    @property
    def repeated(self) -> int:
        """The number of Docs in dev whose text is also in train."""
        texts = {doc.text for doc in self.train}
        return sum(doc.text in texts for doc in self.dev)


def read_corpus(
    data: Sequence[Path],
    dev: Sequence[Path],
    lang: str,
    settings: Settings,
    *,
    share: float,
    seed: int,
) -> Corpus:
    """The examples of files of any known format.

    data: files; folders with train.spacy, and dev.spacy where there is one; folders of brat.
    dev: files like these; where neither they nor a dev.spacy are given, a share of the texts is
        drawn by the seed.
    Raises ValueError, naming file and line, where something is malformed.
    """
    files: list[Path] = []
    own_dev = list(dev)
    for path in data:
        parts = [path / part for part in _PARTS if (path / part).is_file()]
        if parts and parts[0].name != _PARTS[0]:
            raise ValueError(f"{path} has no {_PARTS[0]}")
        files.append(parts[0] if parts else path)
        own_dev += [] if dev else parts[1:]
    learned = convert_files(files, lang, settings)
    held_out = convert_files(own_dev, lang, settings)
    docs = [doc for own in learned.values() for doc in own.docs]
    parts_of = {"train": docs, "dev": [doc for own in held_out.values() for doc in own.docs]}
    if not own_dev:
        parts_of = split(docs, {"dev": share}, seed)
    converted = [*learned.values(), *held_out.values()]
    return Corpus(parts_of["train"], parts_of["dev"], converted)


class TrainingFolder(NamedTuple):
    """The files of a training in one folder."""

    path: Path

    @property
    def train(self) -> Path:
        """The examples."""
        return self.path / "corpus" / _PARTS[0]

    @property
    def dev(self) -> Path:
        """The examples by which the best epoch is chosen."""
        return self.path / "corpus" / _PARTS[1]

    @property
    def annotated(self) -> Path:
        """The examples with annotations of other models."""
        return self.path / "corpus" / "annotated.spacy"

    def pairs(self, part: str) -> tuple[Path, Path, Path]:
        """The files of pairs of texts: source, target and links. part: "train" or "dev"."""
        source, target, links = (
            self.path / "corpus" / f"{part}.{name}" for name in ("source", "target", "links")
        )
        return source, target, links

    @property
    def examples(self) -> list[Path]:
        """All files of examples that there may be, but for annotations of other models."""
        return [self.train, self.dev, *self.pairs("train"), *self.pairs("dev")]

    @property
    def left_out(self) -> Path:
        """The list of what could not be used."""
        return self.path / "corpus" / LEFT_OUT

    @property
    def config(self) -> Path:
        """The config."""
        return self.path / "config.cfg"

    @property
    def start(self) -> Path:
        """The pipeline that is trained further, with new labels or settings."""
        return self.path / "model-start"

    @property
    def last(self) -> Path:
        """The pipeline of the last epoch."""
        return self.path / DIR_MODEL_LAST

    @property
    def best(self) -> Path:
        """The trained pipeline."""
        return self.path / DIR_MODEL_BEST

    def check(self, inputs: Sequence[Path], *, overwrite: bool) -> None:
        """Raise ValueError where something would be replaced.

        inputs: what is read, which must not be in the folder.
        overwrite: whether what an earlier training has written may be replaced.
        """
        within = [file for file in inputs if file.resolve().is_relative_to(self.path.resolve())]
        if within:
            raise ValueError(
                f"{within[0]} lies in the output folder, {self.path}, and could be replaced: "
                "choose another folder"
            )
        written = self.config, *self.examples, self.annotated, self.left_out
        for there in (self.best, self.last, self.start, *written):
            if there.exists() and not overwrite:
                raise ValueError(
                    f"{there} exists: give --overwrite to replace it, or another folder"
                )

    @contextmanager
    def cleared_on_error(self) -> Iterator[None]:
        """Remove what was written where there is no trained pipeline in the end."""
        try:
            yield
        except (Exception, SystemExit):
            if not self.best.exists():
                for file in (self.config, *self.examples, self.annotated, self.left_out):
                    file.unlink(missing_ok=True)
                for made in (self.start, self.last):
                    shutil.rmtree(made, ignore_errors=True)
                for folder in (self.train.parent, self.path):
                    with suppress(OSError):  # not empty
                        folder.rmdir()
            raise

    def write(self, corpus: Corpus) -> None:
        """Write the examples, without annotations of other models, and what is left out."""
        self.annotated.unlink(missing_ok=True)
        shutil.rmtree(self.start, ignore_errors=True)
        write_docs(self.train, corpus.train)
        write_docs(self.dev, corpus.dev)
        write_left_out(self.left_out, corpus.converted)

    def write_annotated(self, docs: Sequence[Doc] | None) -> None:
        """Write the examples with annotations of other models, where there are any."""
        if docs:
            write_docs(self.annotated, docs)


def check_corpus(components: Sequence[str], corpus: Corpus) -> None:
    """Raise ValueError for a corpus that cannot be divided where components learn from others."""
    if len(corpus.train) < 2 and jackknife_rounds(components):
        raise ValueError(
            f"{', '.join(components)} learn from each other, which takes several texts: there is "
            "one to learn from"
        )


def make_jackknives(
    folder: TrainingFolder,
    components: Sequence[str],
    corpus: Corpus,
    overrides: dict[str, Any],
    predicted: Predicted | None = None,
    folds: int = FOLDS,
) -> list[Jackknife]:
    """The jackknives that annotate the examples for components that learn from others.

    predicted: annotations of other components, which the first models learn from.
    """
    settings = {"training.max_epochs": FOLD_EPOCHS, **overrides}
    config = util.load_config(folder.config, overrides=settings)
    folds = min(folds, len(corpus.train))
    return make_rounds(config, folds, jackknife_rounds(components), predicted)


class Cost(NamedTuple):
    """What a training will take."""

    models: int  #: that annotate examples which they have not seen
    fold_epochs: int  #: the most that each of them is trained for
    epochs: int  #: the most that the components themselves are trained for
    seconds: float  #: of a processor, roughly, for all of it


def cost_of(
    components: Sequence[str],
    corpus: Corpus,
    overrides: dict[str, Any],
    folds: int,
    *,
    reads_lookups: bool = False,
    learns_tokens: bool = False,
    others: Language | None = None,
) -> Cost:
    """What the training of components will take, by the number of words to learn from.

    reads_lookups: whether each component reads spacy-lookups-data.
    learns_tokens: whether the tokenizer learns, which it does once for each round of models.
    others: a pipeline that runs in each evaluation, too; it is timed on some texts.
    """
    folds = min(folds, len(corpus.train))
    epochs, fold_epochs = (
        overrides.get("training.max_epochs") or default for default in (EPOCHS, FOLD_EPOCHS)
    )
    rounds = jackknife_rounds(components)
    passes = Counter(dict.fromkeys(components, epochs))
    for name in chain(*rounds):
        passes[name] += fold_epochs * (folds - 1)
    words, dev_words = (sum(map(len, docs)) for docs in (corpus.train, corpus.dev))
    seconds = sum(_SECONDS[name] * number * words / 1000 for name, number in passes.items())
    seconds += _TOKENIZER * learns_tokens * (1 + len(rounds)) * words / 1000
    starts = len(components) + folds * sum(map(len, rounds))
    seconds += starts * (_START + _LOOKUPS * reads_lookups)
    if others is not None:
        start = time.process_time()
        tried = sum(map(len, others.pipe([doc.text for doc in corpus.dev[:_TIMED]])))
        seconds += (time.process_time() - start) / max(tried, 1) * dev_words * (epochs + 2)
    return Cost(folds * len(rounds), fold_epochs, epochs, seconds)


def train(folder: TrainingFolder, overrides: dict[str, Any]) -> None:
    """Train the pipeline, as ``spacy train`` does.

    What was trained takes the place of an earlier pipeline in one step, at the end, or with what
    was best so far where training is interrupted. Raises an error where it cannot be loaded.
    """
    if folder.annotated.exists():
        overrides = {"paths.annotated": str(folder.annotated), **overrides}
    with beside(folder.best) as work:
        try:
            with redirect_stdout(_Renaming(work, folder.path)):
                spacy_train(folder.config, work, overrides=overrides)
        finally:
            if (work / DIR_MODEL_BEST).exists():
                util.load_model(work / DIR_MODEL_BEST)
                replace_folder(work / DIR_MODEL_BEST, folder.best)
                replace_folder(work / DIR_MODEL_LAST, folder.last)


class _Renaming(io.TextIOBase):
    """Writes to the standard output, with the name of one folder in place of another's."""

    def __init__(self, folder: Path, shown: Path) -> None:
        self._names, self._screen = (str(folder), str(shown)), sys.stdout

    def write(self, text: str) -> int:
        return self._screen.write(text.replace(*self._names))

    def flush(self) -> None:
        self._screen.flush()
