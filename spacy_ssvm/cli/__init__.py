"""The commands ``python -m spacy ssvm``, in the order of its help.

spaCy imports this folder at each of its commands: heavy imports are inside the functions.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer
from spacy.cli._util import app

from spacy_ssvm import __version__
from spacy_ssvm.cli import cluster, data, inspection, production, training
from spacy_ssvm.cli import lab as experiments


class Command(NamedTuple):
    """A command as the help of all of them has it."""

    run: Callable[..., None]
    summary: str
    #: Whether it takes settings of a config, such as --training.max_epochs 5.
    has_settings: bool = False


#: By name; the first of two words is that of a group.
COMMANDS = {
    "train": Command(training.train, "Train a pipeline on annotated files, in one go", True),
    "train-ray": Command(
        cluster.train_ray, "Train on several processes or machines, with Ray", True
    ),
    "init": Command(training.init, "Write a config for what your examples annotate"),
    "swap": Command(training.swap, "Replace components of a trained pipeline", True),
    "jackknife": Command(
        training.jackknife, "Annotate a corpus by cross-validation (jackknifing)", True
    ),
    "convert": Command(data.convert, "Convert annotated files to .spacy files"),
    "resources gazetteers": Command(data.gazetteers, "Write name lists for entity recognizers"),
    "resources clusters": Command(data.clusters, "Cluster words by where they occur, for features"),
    "resources links": Command(
        production.links, "Link the words of parallel texts without any links to learn from"
    ),
    "rank": Command(data.rank, "Rank texts by uncertainty, for annotation"),
    "show": Command(inspection.show, "Annotate texts: on the screen, as a page, on a server"),
    "report": Command(inspection.report, "Report accuracy, speed and size of a pipeline"),
    "lab compare": Command(experiments.compare, "Compare solvers on your data", True),
    "lab select": Command(experiments.select, "Search for a small set of feature templates", True),
    "align": Command(production.align, "Align the words of parallel texts"),
    "annotate-ray": Command(
        cluster.annotate_ray, "Annotate texts on several processes or machines, with Ray"
    ),
    "warmup": Command(production.warmup, "Compile all kernels, so that first use does not wait"),
}

GROUPS = {
    "resources": "Make word clusters, lists of names, and links of words",
    "lab": "Experiments: compare solvers, search for templates",
}

ssvm = typer.Typer(
    name="ssvm",
    no_args_is_help=True,
    help="Linear structured prediction: prepare, train and inspect pipelines of spacy_ssvm.",
)
app.add_typer(ssvm)


def _show_version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@ssvm.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version"),
    ] = False,
) -> None:
    """Linear structured prediction: prepare, train and inspect pipelines of spacy_ssvm."""


_groups = {name: typer.Typer(no_args_is_help=True) for name in GROUPS}
for _name, _group in _groups.items():
    ssvm.add_typer(_group, name=_name, help=GROUPS[_name])
for _name, _command in COMMANDS.items():
    _settings: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
    *_first, _last = _name.split()
    (_groups[_first[0]] if _first else ssvm).command(
        _last,
        short_help=_command.summary,
        context_settings=_settings if _command.has_settings else None,
    )(_command.run)
