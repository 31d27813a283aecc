"""``python -m spacy ssvm``: commands of our own beside spaCy's.

spaCy imports this file at each of its commands: heavy imports are inside the functions.
"""

from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import app

ssvm = typer.Typer(
    name="ssvm",
    no_args_is_help=True,
    help="Linear structured prediction: prepare and inspect spacy_ssvm pipelines.",
)
app.add_typer(ssvm)


@ssvm.callback()
def main() -> None:
    """Linear structured prediction: prepare and inspect spacy_ssvm pipelines."""


@ssvm.command("warmup")
def warmup() -> None:
    """Compile all kernels into the cache, so that the first use does not wait.

    Run it once after installation, for example in the build of a container image. The
    cache lies in NUMBA_CACHE_DIR where that is set, else beside the package, else in the
    user's cache folder.
    """
    import time

    from wasabi import msg

    from spacy_ssvm._jit import cache_directory
    from spacy_ssvm.components.warmup import compile_kernels

    start = time.perf_counter()
    msg.info("Compiling kernels: about a quarter of a minute")
    compile_kernels()
    seconds = time.perf_counter() - start
    directory = cache_directory()
    if directory is None:
        msg.warn(
            f"Compiled in {seconds:.1f} s, but no folder for the cache can be written: set "
            "NUMBA_CACHE_DIR to one that can"
        )
    else:
        msg.good(f"Compiled in {seconds:.1f} s", str(directory))


@ssvm.command("report")
def report(
    model: Annotated[Path, typer.Argument(help="A trained pipeline, a folder", exists=True)],
    corpus: Annotated[Path, typer.Argument(help="A .spacy file to measure on", exists=True)],
    train: Annotated[
        Path | None,
        typer.Option(help="The .spacy file it was trained on: gives the gap", exists=True),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="What the logger spacy_ssvm.TrainingLog.v1 wrote", exists=True),
    ] = None,
    gold_preproc: Annotated[
        bool, typer.Option("--gold-preproc", "-G", help="Use the gold tokens and sentences")
    ] = False,
) -> None:
    """Print what a pipeline is worth: accuracy, speed, size, duality gap.

    Example: python -m spacy ssvm report training/model-best corpus/test.spacy
    """
    from wasabi import msg

    from spacy_ssvm.components.report import measure

    rows = measure(model, corpus, train=train, log=log, gold_preproc=gold_preproc)
    msg.table(rows, divider=False)
