"""Annotated files to a trained pipeline: convert, configure, jackknife, train."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy import util
from spacy.cli.train import train as spacy_train
from spacy.tokens import Doc
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST
from spacy.vocab import Vocab

from spacy_ssvm.commands.conversion.convert import convert_files
from spacy_ssvm.commands.conversion.files import Converted, Settings, split
from spacy_ssvm.commands.jackknife import Fold, Predicted, make_rounds
from spacy_ssvm.commands.quickstart.config import jackknife_rounds
from spacy_ssvm.components.annotated_corpus import annotations_of, read_docs, write_docs

#: Folds of a jackknife, and epochs of each model.
FOLDS = 5
_EPOCHS = 8
_PARTS = ("train.spacy", "dev.spacy")


class Corpus(NamedTuple):
    """Examples to learn from, and to choose the best epoch by."""

    train: list[Doc]
    dev: list[Doc]
    converted: list[Converted]  #: as the files were read


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


class Workplace(NamedTuple):
    """The files of a training in one folder."""

    folder: Path

    @property
    def train(self) -> Path:
        """The examples."""
        return self.folder / "corpus" / _PARTS[0]

    @property
    def dev(self) -> Path:
        """The examples by which the best epoch is chosen."""
        return self.folder / "corpus" / _PARTS[1]

    @property
    def annotated(self) -> Path:
        """The examples with annotations of other models."""
        return self.folder / "corpus" / "annotated.spacy"

    @property
    def config(self) -> Path:
        """The config."""
        return self.folder / "config.cfg"

    @property
    def best(self) -> Path:
        """The trained pipeline."""
        return self.folder / DIR_MODEL_BEST

    def annotations(self) -> tuple[str, ...]:
        """What the annotated examples have, as ``AnnotatedCorpus`` names it."""
        if not self.annotated.exists():
            return ()
        return annotations_of([filed.doc for filed in read_docs(self.annotated, Vocab())])

    def check(self, inputs: Sequence[Path], *, overwrite: bool) -> None:
        """Raise ValueError where something would be replaced.

        inputs: what is read, which must not be in the folder.
        overwrite: whether what an earlier training has written may be replaced.
        """
        within = [file for file in inputs if file.resolve().is_relative_to(self.folder.resolve())]
        if within:
            raise ValueError(
                f"{within[0]} lies in the output folder, {self.folder}, and could be replaced: "
                "choose another folder"
            )
        last = self.folder / DIR_MODEL_LAST
        for there in (self.best, last, self.config, self.train, self.dev):
            if there.exists() and not overwrite:
                raise ValueError(
                    f"{there} exists: give --overwrite to replace it, or another folder"
                )

    def write(self, corpus: Corpus) -> None:
        """Write the examples, without annotations of other models."""
        self.annotated.unlink(missing_ok=True)
        write_docs(self.train, corpus.train)
        write_docs(self.dev, corpus.dev)


def number_of_folds(components: Sequence[str], corpus: Corpus) -> int:
    """The number of models that a jackknife trains; 0 where a pipeline needs none."""
    return min(FOLDS, len(corpus.train)) * len(jackknife_rounds(components))


def jackknife(
    place: Workplace,
    components: Sequence[str],
    corpus: Corpus,
    overrides: dict[str, Any],
    predicted: Predicted | None = None,
) -> Iterator[Fold]:
    """Annotate the examples by models that have not seen them; yields each fold.

    predicted: annotations of other components, which the first models learn from.
    """
    config = util.load_config(place.config, overrides={"training.max_epochs": _EPOCHS, **overrides})
    folds = min(FOLDS, len(corpus.train))
    knives = make_rounds(config, folds, jackknife_rounds(components), predicted)
    for knife in knives:
        yield from knife.run()
    last = knives[-1] if knives else predicted
    if last is not None:
        write_docs(place.annotated, last.found)


def train(place: Workplace, overrides: dict[str, Any]) -> None:
    """Train the pipeline, as ``spacy train`` does."""
    if place.annotated.exists():
        overrides = {"paths.annotated": str(place.annotated), **overrides}
    spacy_train(place.config, place.folder, overrides=overrides)
