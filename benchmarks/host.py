"""Where the time of `spacy train` goes: to spaCy, to features, to the solver, to evaluation.

    python benchmarks/host.py --data FOLDER [--sentences 1] [--epochs 6] [--config FILE ...]

FOLDER contains en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu, which become .spacy files with so
many sentences in each Doc. Each config is trained with a development corpus that is read once, as
the configs have it, and with one that is read at each evaluation. Seconds of an epoch, the mean of
all but the first and the last.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training.converters import conllu_to_docs
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels
from spacy_ssvm.components.pipe import Pipe

CONFIGS = [Path("configs/tagger.cfg")]
HEADER = (
    *("config", "dev is read", "epoch", "solver", "features", "rest of update", "evaluation"),
    *("without evaluation / solver", "of components / solver"),
)


class Timer:
    """The start and the seconds of all calls of a method."""

    def __init__(self, owner: type, name: str) -> None:
        self.starts: list[float] = []
        self.seconds: list[float] = []
        self._place, self._call = (owner, name), getattr(owner, name)

    def __enter__(self) -> "Timer":
        setattr(*self._place, self._wrapped())
        return self

    def __exit__(self, *_: object) -> None:
        setattr(*self._place, self._call)

    def _wrapped(self) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.starts.append(time.perf_counter())
            result = self._call(*args, **kwargs)
            self.seconds.append(time.perf_counter() - self.starts[-1])
            return result

        return call

    @property
    def mean(self) -> float:
        """Of all calls but the first and the last."""
        return mean(self.seconds[1:-1])


def convert(data: Path, folder: Path, sentences: int) -> dict[str, str]:
    """The corpora as .spacy files, as settings of a config."""
    paths = {}
    for part in ("train", "dev"):
        text = (data / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
        file = folder / f"{part}.spacy"
        DocBin(docs=conllu_to_docs(text, n_sents=sentences, no_print=True)).to_disk(file)
        paths[f"paths.{part}"] = str(file)
    return paths


def measure(file: Path, overrides: dict[str, Any], *, once: bool) -> list[str]:
    """A row of the table."""
    config = load_config(file, overrides=overrides)
    if not once:
        config["corpora"]["dev"]["@readers"] = "spacy.Corpus.v1"
    nlp = init_nlp(config)
    with (
        Timer(Language, "update") as update,
        Timer(Language, "evaluate") as evaluate,
        Timer(Pipe, "update") as own,
        Timer(Pipe, "featurize") as featurize,
    ):
        train(nlp, None, stdout=StringIO())
    starts = update.starts[1:]
    epoch = (starts[-1] - starts[0]) / (len(starts) - 1)
    solver = own.mean - featurize.mean
    times = epoch, solver, featurize.mean, update.mean - own.mean, evaluate.mean
    ratios = (epoch - evaluate.mean) / solver, own.mean / solver
    name = "once" if once else "each time"
    return [file.stem, name, *(f"{value:.2f}" for value in (*times, *ratios))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument("--sentences", type=int, default=1, help="in each Doc")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--config", type=Path, nargs="+", default=CONFIGS)
    arguments = parser.parse_args()
    compile_kernels()
    with tempfile.TemporaryDirectory() as folder:
        overrides = convert(arguments.data, Path(folder), arguments.sentences) | {
            "training.max_epochs": arguments.epochs,
            "training.patience": 0,
        }
        rows = [
            measure(file, overrides, once=once)
            for file in arguments.config
            for once in (True, False)
        ]
    msg.table(rows, header=HEADER, divider=True, aligns=["l", "l", *"r" * 7])


if __name__ == "__main__":
    main()
