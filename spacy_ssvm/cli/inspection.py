"""Commands that show what a pipeline does: show, render, demo, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from spacy.cli._util import import_code
from wasabi import msg

from spacy_ssvm.cli.common import (
    Code,
    Model,
    Shown,
    load_pipeline,
    need_extra,
    reads_files,
    show_errors,
    show_thresholds,
    split_names,
)

if TYPE_CHECKING:
    from spacy_ssvm.commands.conversion.files import Settings


def show(
    model: Model,
    text: Annotated[str, typer.Argument(help="What to annotate")],
    components: Shown = None,
    code: Code = None,
) -> None:
    """Annotate a text, and print each word with what it is, and the confidence in that.

    Labels of sentences, or of other units, come in a table of their own.

    Confidence is the probability that a span, such as an entity, is right, the same at each of its
    words. Of other components it is a margin, comparable within a component, or a probability where
    the solver has any; "inf" where nothing else is possible.

    \b
    Example:
      python -m spacy ssvm show model/model-best "She lives in New York."
    """
    from spacy_ssvm.commands.render import choose, tables_of

    with show_errors("Cannot show"):
        nlp = load_pipeline(model, code)
        names = choose(nlp, split_names(components))
        tables = [table for table in tables_of(nlp, text, names) if table.rows]
        if not tables:
            raise ValueError("the text has no words")
    for header, rows in tables:
        aligns = ("l", *("l", "r") * (len(header) // 2))
        msg.table(rows, header=header, aligns=aligns, divider=True, max_col=60)
    print(
        "conf.: of spans, the probability that they are right; else the lead over the next best "
        "choice, or the probability where the solver has any"
    )


@reads_files
def render(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            help="Text, paragraphs parted by empty lines; or annotated, as for convert", exists=True
        ),
    ],
    settings: "Settings",
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write")] = Path(
        "render.html"
    ),
    errors: Annotated[
        bool, typer.Option("--errors", help="Show only what is wrong, by the file's annotation")
    ] = False,
    components: Shown = None,
    target: Annotated[
        Path | None,
        typer.Option(help="The translation of FILE, line by line, to show links", exists=True),
    ] = None,
    alignment: Annotated[
        Path | None,
        typer.Option(help="With --target: gold links, such as 0-0 1-2, line by line", exists=True),
    ] = None,
    texts: Annotated[int, typer.Option(help="The most texts to show", min=1)] = 50,
    top: Annotated[int, typer.Option(help="Features in an explanation", min=1)] = 8,
    code: Code = None,
) -> None:
    """Write one HTML page: the predictions of a pipeline with explanations.

    Words have their tags, entities or arcs, and sentences their labels; the least sure ones are
    dotted. Where the file is annotated, wrong ones are marked, and explained against what would be
    right. With --errors, texts without errors are left out, and --texts counts those that are left.
    With --target, words have those that they are linked with.

    \b
    Examples:
      python -m spacy ssvm render model/model-best letter.txt
      python -m spacy ssvm render model/model-best dev.jsonl --errors --output errors.html
      python -m spacy ssvm render MODEL text.en --target text.cs --alignment text.align
    """
    from spacy_ssvm.cli.data import show_left_out
    from spacy_ssvm.commands.render import choose, read_pairs, read_parts, read_texts, write_page

    with show_errors("Cannot render"):
        if output.suffix != ".html" or output.is_dir():
            raise ValueError(f"the page, {output}, must be a file that ends in .html")
        nlp = load_pipeline(model, code)
        for given in (file, target, alignment):
            if given is not None and output.resolve() == given.resolve():
                raise ValueError(f"the output, {output}, would replace a file to show")
        names = choose(nlp, split_names(components), pairs=target is not None)
        if target is not None:
            found = read_pairs(nlp, file, target, alignment)
        elif alignment is not None:
            raise ValueError("--alignment needs --target, the other text")
        else:
            found = read_texts(nlp, file, settings)
        show_left_out(found.converted)
        parts = read_parts(nlp, found, names, texts=texts, top=top, only_errors=errors)
        write_page(output, nlp, model, file, found, parts)
    rows = [
        (
            part.name,
            len(part.docs),
            f"{part.known:,} {part.units}" if part.known else "-",
            part.wrong,
        )
        for part in parts
    ]
    msg.table(
        rows,
        header=("component", "texts shown", "compared with gold", "wrong"),
        aligns=("l", "r", "r", "r"),
        divider=True,
    )
    msg.good("Rendered", str(output))


def demo(
    model: Model,
    port: Annotated[int, typer.Option(help="Port to listen on", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="Address; by default, of this machine alone")] = (
        "127.0.0.1"
    ),
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Answer to this name too, * for any; else to those of this machine (repeatable)"
        ),
    ] = None,
    components: Shown = None,
    code: Code = None,
) -> None:
    """Open a page on which texts are annotated, with confidence and reasons.

    Programs post {"text": "..."} to /annotate and get words with what they are, entities, and spans
    of labelled sentences, as JSON. Texts have up to 5,000 characters. Sentences of more than 100
    words are parsed in pieces. Word aligners, which read pairs of texts, are not shown. Needs the
    extra "demo-server": pip install "spacy-ssvm[demo-server]".

    \b
    Example:
      python -m spacy ssvm demo model/model-best --port 8000
    """
    with need_extra("Cannot open a page", "demo-server"):
        import uvicorn

        from spacy_ssvm.commands.demo import MOST_REQUESTS, hosts_of, listen, make_app
    from spacy_ssvm.commands.render import choose

    with show_errors("Cannot open a page"):
        nlp = load_pipeline(model, code)
        names = choose(nlp, split_names(components))
        app = make_app(nlp, model, names, [*hosts_of(host), *(allow_host or ())])
        place = listen(host, port)
    msg.good(f"Open http://{host}:{port} in a browser; stop with Ctrl-C")
    config = uvicorn.Config(app, log_level="warning", limit_concurrency=MOST_REQUESTS)
    uvicorn.Server(config).run(sockets=[place])


def report(
    model: Model,
    corpus: Annotated[
        Path,
        typer.Argument(
            help="A .spacy file, or a folder of them, to measure on; with --target, a text",
            exists=True,
        ),
    ],
    target: Annotated[
        Path | None,
        typer.Option(help="Of a word aligner: the translation, line by line", exists=True),
    ] = None,
    alignment: Annotated[
        Path | None,
        typer.Option(help="With --target: gold links, such as 0-0 1-2, line by line", exists=True),
    ] = None,
    gap: Annotated[
        bool,
        typer.Option("--gap", help="Measure the duality gap on the training corpus of its config"),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(help="File that the logger spacy_ssvm.TrainingLog.v1 wrote", exists=True),
    ] = None,
    gold_preproc: Annotated[
        bool, typer.Option("--gold-preproc", "-G", help="Use gold tokens and sentences")
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Score arcs again without this label, punct by default (repeatable)"),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page too, to this .html file, which is replaced if it exists"),
    ] = None,
    code: Code = None,
) -> None:
    """Report accuracy, speed and size of a pipeline, as a table on the screen.

    With --html, also as a page that needs no other files: with the scores of each label, and
    accuracy by confidence. That needs the extra "compare".

    \b
    Examples:
      python -m spacy ssvm report training/model-best corpus/test.spacy
      python -m spacy ssvm report training/model-best corpus/test.spacy --html report.html
      python -m spacy ssvm report MODEL text.en --target text.cs --alignment text.align
    """
    from spacy_ssvm.commands.report import measure

    if html is not None:
        with need_extra("Cannot report"):
            from spacy_ssvm.commands.pipeline_report import write_report
    with show_errors("Cannot report"):
        if html is not None and (html.suffix != ".html" or html.is_dir()):
            raise ValueError(f"the page, {html}, must be a file that ends in .html")
        if (target is None) != (alignment is None):
            raise ValueError("--target and --alignment, the gold links, go together")
        import_code(code)
        measured = measure(
            model,
            corpus,
            gap=gap,
            log=log,
            gold_preproc=gold_preproc,
            without=without or ("punct",),
            target=target,
            alignment=alignment,
        )
    msg.table(measured.rows, divider=False)
    show_thresholds(measured.thresholds)
    if html is not None:
        with show_errors("Cannot report"):
            write_report(html, measured, model, corpus)
        msg.good("Wrote the report", str(html))
