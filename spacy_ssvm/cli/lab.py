"""Commands that compare: solvers and templates."""

from typing import Annotated

import typer
from wasabi import msg

from spacy_ssvm.cli.common import (
    Code,
    ConfigFile,
    Output,
    load_config,
    need_extra,
    read_names,
    show_errors,
)

_Resume = Annotated[
    bool, typer.Option("--resume", help="Keep what is finished in the output folder")
]
_Epochs = Annotated[
    int | None, typer.Option(help="Epochs of each model; by default max_epochs of the config")
]
_Component = Annotated[
    str | None, typer.Option("--components", help="Which to train, if several are of this package")
]


def compare(
    context: typer.Context,
    config: ConfigFile,
    output: Output,
    solvers: Annotated[
        str | None, typer.Option(help="Comma-separated names; by default all that can learn it")
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Number of runs of each, with seeds 0, 1, ...", min=1)
    ] = 3,
    component: _Component = None,
    epochs: _Epochs = None,
    resume: _Resume = False,
    code: Code = None,
) -> None:
    """Compare solvers on your data: accuracy, objective and time.

    Trains one component of the config with each solver and seed. Prints a table, and writes
    report.html (figures), compare.jsonl (a row for each epoch) and config.cfg. Settings can be
    overridden as for spacy train. Needs the extra "compare".

    \b
    Example:
      python -m spacy ssvm lab compare tagger.cfg --output compared \\
        --solvers dcd-ssvm,dcd-light \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    """
    from itertools import product

    from tqdm import tqdm

    from spacy_ssvm.lab.compare import (
        HEADER,
        SOLVERS,
        Comparison,
        conclusion,
        open_run_log,
        table,
        without_empty,
    )

    with need_extra("Cannot compare"):
        from spacy_ssvm.lab.compare_report import write_report
    with show_errors("Cannot compare"):
        names = read_names("solver", solvers, list(SOLVERS))
        settings = load_config(config, context, code)
        comparison = Comparison(settings, component=component, epochs=epochs)
        record = open_run_log(output, comparison.config, resume=resume)
        runs = [(name, seed) for seed, name in product(range(seeds), names)]
        there = {(row.solver, row.seed) for row in record.rows}
        missing = [run for run in runs if run not in there]
        _warn_of(comparison.left_out)
        if missing:
            msg.info("Reading the corpora and making features")
            comparison.prepare()
        refused = {name: comparison.refusal(name) for name in dict(missing)}
        unable = [name for name, reason in refused.items() if reason is not None]
        if unable and solvers is not None:
            raise ValueError(refused[unable[0]])
        if unable:
            msg.warn(f"Left out, because they cannot learn these structures: {', '.join(unable)}")
            missing = [run for run in missing if run[0] not in unable]
        with tqdm(total=len(missing) * comparison.epochs, unit="epoch", disable=None) as progress:
            for name, seed in missing:
                progress.set_description(f"{name}, seed {seed}")
                for row in comparison.run(name, seed):
                    record.add(row)
                    progress.update()
    rows = record.rows
    header, shown = without_empty(HEADER, table(rows))
    msg.table(shown, header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)
    report = output / "report.html"
    write_report(report, rows, comparison.facts)
    msg.good(f"Compared {len({row.solver for row in rows})} solvers", str(report))
    msg.info(conclusion(rows))


def select(
    context: typer.Context,
    config: ConfigFile,
    output: Output,
    budgets: Annotated[str, typer.Option(help="Comma-separated numbers of templates to keep")],
    methods: Annotated[
        str | None, typer.Option(help="Comma-separated names; all by default")
    ] = None,
    component: _Component = None,
    epochs: _Epochs = None,
    resume: _Resume = False,
    code: Code = None,
) -> None:
    """Search for a small set of feature templates, by method and budget.

    Methods: group-lasso, coarse-to-fine, lasso, information-gain, and all for no selection. A
    model is trained from scratch on the templates that each selection keeps. Prints a table, and
    writes report.html (figures), select.jsonl (a row for each model) and a config for each model
    in configs/. Settings can be overridden as for spacy train. Needs the extra "compare".

    \b
    Example:
      python -m spacy ssvm lab select ner.cfg --output selected --budgets 10,20,40 \\
        --components.ner.templates '["ner452"]' \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    """
    from tqdm import tqdm

    from spacy_ssvm.lab import search as searching

    with need_extra("Cannot select"):
        from spacy_ssvm.lab.search_report import write_report
    with show_errors("Cannot select"):
        names = read_names("method", methods, [searching.ALL, *searching.METHODS])
        wanted = budgets.split(",")
        if not all(number.strip().isdecimal() for number in wanted):
            raise ValueError(f"--budgets {budgets}: give comma-separated numbers")
        settings = load_config(config, context, code)
        search = searching.Search(
            settings, budgets=[*map(int, wanted)], component=component, epochs=epochs
        )
        record = searching.open_run_log(output, search, resume=resume)
        missing = [name for name in names if name not in {point.method for point in record.rows}]
        _warn_of(search.left_out)
        if missing:
            msg.info("Reading the corpora")
            search.prepare()
            searching.write_order(output, search)
        runs = sum(1 if name == searching.ALL else len(search.budgets) for name in missing)
        with tqdm(total=runs, unit="model", disable=None) as progress:
            for name in missing:
                progress.set_description(name)
                for point in search.run(name):
                    record.add(point)
                    progress.update()
        order = searching.read_order(output)
    points = record.rows
    for point in points:
        file = output / "configs" / f"{searching.name_of(point)}.cfg"
        searching.write_config(file, settings, search.component, point)
    msg.table(
        searching.table(points), header=searching.HEADER, aligns=("l", *"rrrrrrr"), divider=True
    )
    report = output / "report.html"
    write_report(report, points, search.facts, order)
    msg.good(f"Searched {len(points)} sets of templates", str(report))
    msg.info(searching.conclusion(points), f"See the configs in {output / 'configs'}")


def _warn_of(left_out: list[str]) -> None:
    """Warn of components that do not annotate what the trained one may read."""
    if left_out:
        msg.warn(
            f"Left out, because they are not frozen: {', '.join(left_out)}",
            "What they annotate, such as the tags that a parser reads, is missing then, and scores "
            "are low. Train them first, and take them as frozen components (docs/solvers.md)",
        )
