"""What people see of training: a bar in long epochs, and a table of the steps.

The table is that of the logger ``spacy_ssvm.TrainingLog.v1``: loss, duality gap, scores and time.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import srsly
from spacy.language import Language
from wasabi.printer import Printer

from spacy_ssvm.files import show_sizes

if TYPE_CHECKING:  # spaCy imports this module where numba is missing, too
    from spacy_ssvm.solvers.run import Run

Info = dict[str, Any]
Log = tuple[Callable[[Info | None], None], Callable[[], None]]  #: log a step, and finish

_LONG = 2.0  # seconds: an epoch that takes longer has a bar
_FAR = 0.5  # the relative duality gap at the end of a training that should have gone on


@contextmanager
def progress_bar(name: str, run: "Run", examples: int, words: int) -> Iterator[None]:
    """Show how far an epoch of a run is, once it takes long: words, words/s and what is left.

    It is written to stderr where that is a terminal, and disappears at the end.
    examples, words: of the epoch.
    """
    start, done, before = time.perf_counter(), 0, run.report
    bar: Any = None

    def report(more: int) -> None:
        nonlocal bar, done
        if bar is None and time.perf_counter() - start > _LONG:
            from tqdm import tqdm

            bar = tqdm(
                desc=name, total=words, unit=" words", unit_scale=True, leave=False, disable=None
            )
            bar.start_t, bar.n = time.time() - _LONG, done * words // examples
        if bar is not None:
            bar.update((done + more) * words // examples - done * words // examples)
        done += more

    run.report = report
    try:
        yield
    finally:
        run.report = before
        if bar is not None:
            bar.close()


def make_training_log(
    output_file: str | Path | None = None,
) -> Callable[
    [Language, IO[str], IO[str]], tuple[Callable[[Info | None], None], Callable[[], None]]
]:
    """Print a row at each evaluation, and write it to a file of JSON lines.

    MB are those that the training of all components takes, see ``Pipe.training_memory``.
    Says at the end which components should be trained longer, and what memory they took, which is
    freed then: see ``Pipe.end_training``.

    output_file: replaced where it exists; None for no file.
    """

    def setup(nlp: Language, stdout: IO[str] = sys.stdout, stderr: IO[str] = sys.stderr) -> Log:  # noqa: ARG001
        printer = Printer(no_print=True)
        pipes = [name for name, pipe in nlp.pipeline if getattr(pipe, "is_trainable", False)]
        weights = nlp.config["training"]["score_weights"]
        scores = [name for name, weight in weights.items() if weight]
        header = ["epoch", "step", *(f"loss {name}" for name in pipes)]
        header += [*(f"gap {name}" for name in pipes), *scores, "score", "MB", "seconds"]
        widths = [max(len(column), 7) for column in header]
        rows: list[Info] = []
        start = time.perf_counter()

        def show(cells: list[str]) -> None:
            row = printer.row(cells, widths=widths, aligns=["r"] * len(widths), spacing=2)
            print(row, file=stdout, flush=True)

        def log_step(info: Info | None) -> None:
            if info is None:
                return
            row = _row(info, pipes, scores, _training_memory(nlp), time.perf_counter() - start)
            rows.append(row)
            show(_cells(row))
            if output_file is not None:
                Path(output_file).parent.mkdir(parents=True, exist_ok=True)
                srsly.write_jsonl(output_file, rows)

        def finish() -> None:
            for line in (*_far_from_best(rows[-1]["gaps"] if rows else {}), *_end_training(nlp)):
                print(line, file=stdout, flush=True)

        show(header)
        show(["-" * width for width in widths])
        return log_step, finish

    return setup


def _far_from_best(gaps: dict[str, float | None]) -> Iterator[str]:
    """Advice for components whose duality gap is still large."""
    for name, gap in gaps.items():
        if gap is not None and gap > _FAR:
            yield (
                f"{name}: training has ended far from the best weights (relative duality gap "
                f"{gap:.2f}), and the scores of other epochs may differ much: train longer, with "
                "a larger max_epochs or patience in [training]"
            )


def _end_training(nlp: Language) -> Iterator[str]:
    """Free the memory of training; say how much each component took, and for what."""
    for name, parts in _training_memory(nlp).items():
        yield f"{name}: training took {show_sizes(parts)}"
        pipe: Any = nlp.get_pipe(name)
        pipe.end_training()


def _training_memory(nlp: Language) -> dict[str, dict[str, int]]:
    """The bytes that training takes, by components that tell, and by what for."""
    pipes: list[tuple[str, Any]] = [*nlp.pipeline]
    memory = {
        name: pipe.training_memory() for name, pipe in pipes if hasattr(pipe, "training_memory")
    }
    return {name: parts for name, parts in memory.items() if parts}


def _row(
    info: Info,
    pipes: list[str],
    scores: list[str],
    memory: dict[str, dict[str, int]],
    seconds: float,
) -> Info:
    """What is logged of a step."""
    losses = info["losses"]
    return {
        "epoch": info["epoch"],
        "step": info["step"],
        "seconds": round(seconds, 3),
        "score": info["score"],
        "losses": {name: losses.get(name, 0.0) for name in pipes},
        "gaps": {name: losses.get(f"{name}_gap") for name in pipes},
        "scores": {name: info["other_scores"].get(name) for name in scores},
        "memory": memory,
    }


def _cells(row: Info) -> list[str]:
    """A row of the table."""
    cells = [str(row["epoch"]), str(row["step"])]
    cells += [f"{loss:.1f}" for loss in row["losses"].values()]
    cells += ["-" if gap is None else f"{gap:.4f}" for gap in row["gaps"].values()]
    cells += ["-" if x is None else f"{100 * x:.2f}" for x in row["scores"].values()]
    taken = sum(size for parts in row["memory"].values() for size in parts.values())
    return [*cells, f"{100 * row['score']:.2f}", f"{taken / 1e6:.0f}", f"{row['seconds']:.1f}"]
