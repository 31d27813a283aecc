"""Commands that show what a pipeline does: show, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from spacy.cli._util import import_code
from wasabi import msg

from spacy_ssvm.cli.common import (
    FILE_OPTIONS,
    Alignment,
    Code,
    Model,
    Shown,
    Target,
    check_page,
    check_there,
    load_pipeline,
    need_extra,
    needing,
    reads_files,
    refuse,
    show_errors,
    show_thresholds,
    split_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spacy_ssvm.commands.conversion.files import Settings
    from spacy_ssvm.commands.render import Table


@needing("html", "errors", "target", "number", "top", *FILE_OPTIONS)
@needing("target", "alignment")
@needing("serve", "port", "host", "allow_host")
@reads_files
def show(
    context: typer.Context,
    model: Model,
    settings: "Settings",
    text: Annotated[
        list[str] | None,
        typer.Argument(
            help="Texts to annotate; with --html, a file: text, paragraphs parted by empty lines, "
            "or annotated, as for convert"
        ),
    ] = None,
    components: Shown = None,
    code: Code = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open a page on which texts are annotated")
    ] = False,
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
    html: Annotated[
        Path | None, typer.Option(help="Write a page on the texts of a file, to this .html file")
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Only what is wrong, by the file's annotation")
    ] = False,
    target: Target = None,
    alignment: Alignment = None,
    number: Annotated[int, typer.Option(help="The most texts to show", min=1)] = 50,
    top: Annotated[int, typer.Option(help="Features in an explanation", min=1)] = 8,
) -> None:
    """Show what a pipeline makes of texts: on the screen, as an HTML page, or on a page to try.

    Prints each word with what it is, and the confidence in that; labels of sentences, or of other
    units, in a table of their own. Confidence is the probability that a span, such as an entity, is
    right, the same at each of its words. Of other components it is a margin, comparable within a
    component, or a probability where the solver has any; "inf" where nothing else is possible.

    With --html, writes one page on a file, with explanations. The least sure words are dotted.
    Where the file is annotated, wrong ones are marked, and explained against what would be right.
    With --errors, texts without errors are left out, and --number counts those that are left. With
    --target, words have those that they are linked with.

    With --serve, opens a page for texts of up to 5,000 characters. Programs post {"text": "..."} to
    /annotate and get words with what they are, entities, and spans of labelled sentences, as JSON.
    Sentences of more than 100 words are parsed in pieces. Word aligners, which read pairs of texts,
    are not shown. Needs the extra "demo-server": pip install "spacy-ssvm[demo-server]".

    \b
    Examples:
      python -m spacy ssvm show model/model-best "She lives in New York."
      python -m spacy ssvm show model/model-best letter.txt --html letter.html
      python -m spacy ssvm show model/model-best dev.jsonl --errors --html errors.html
      python -m spacy ssvm show MODEL text.en --target text.cs --alignment LINKS --html pairs.html
      python -m spacy ssvm show model/model-best --serve --port 8000
    """
    from spacy_ssvm.cli.data import show_left_out
    from spacy_ssvm.commands import render

    given = text or []
    if html is not None:
        refuse(context, ["serve"], "it does not go with --html")
        if len(given) != 1:
            raise typer.BadParameter(f"--html takes one file, not {len(given)}", param_hint="TEXT")
    elif serve:
        refuse(context, ["text"], "it does not go with --serve")
        with need_extra("Cannot open a page", "demo-server"):
            from spacy_ssvm.commands import demo
    else:
        _check_texts(given)
    with show_errors("Cannot open a page" if serve else "Cannot show"):
        if html is not None:
            check_page(html)
            check_there(given[0])
        nlp = load_pipeline(model, code)
        names = render.choose(nlp, split_names(components), pairs=target is not None)
        if html is not None:
            file = Path(given[0])
            if html.resolve() in [each.resolve() for each in (file, target, alignment) if each]:
                raise ValueError(f"the page, {html}, would replace a file to show")
            found = render.read_texts(nlp, file, settings, target, alignment)
            show_left_out(found.converted)
            parts = render.read_parts(nlp, found, names, texts=number, top=top, only_errors=errors)
            render.write_page(html, nlp, model, file, found, parts)
            msg.table(
                render.rows_of(parts),
                header=("component", "texts shown", "compared with gold", "wrong"),
                aligns=("l", "r", "r", "r"),
                divider=True,
            )
            msg.good("Rendered", str(html))
        elif serve:
            app = demo.make_app(nlp, model, names, [*demo.hosts_of(host), *(allow_host or ())])
            place = demo.listen(host, port)
            msg.good(f"Open http://{host}:{port} in a browser; stop with Ctrl-C")
            demo.run(app, place)
        else:
            _print_tables([render.tables_of(nlp, each, names) for each in given])


def _check_texts(given: "Sequence[str]") -> None:
    """End the command where there is no text, or the name of a file in place of one."""
    if not given:
        raise typer.BadParameter("give a text, a file and --html, or --serve", param_hint="TEXT")
    from spacy_ssvm.commands.conversion.convert import FORMATS
    from spacy_ssvm.components.json_records import ending_of

    for text in given:
        if len(text.split()) == 1 and ending_of(Path(text)) in (*FORMATS, ".md"):
            raise typer.BadParameter(
                f"{text} is the name of a file, not a text: files are shown by --html PAGE.html",
                param_hint="TEXT",
            )


def _print_tables(texts: "Sequence[Sequence[Table]]") -> None:
    """Print what is decided about texts. Raises ValueError for one without words."""
    for own in texts:
        tables = [table for table in own if table.rows]
        if not tables:
            raise ValueError("the text has no words")
        for header, rows in tables:
            aligns = ("l", *("l", "r") * (len(header) // 2))
            msg.table(rows, header=header, aligns=aligns, divider=True, max_col=60)
    print(
        "conf.: of spans, the probability that they are right; else the lead over the next best "
        "choice, or the probability where the solver has any"
    )


def report(
    model: Model,
    corpus: Annotated[
        Path,
        typer.Argument(
            help="A .spacy file, or a folder of them, to measure on; with --target, a text",
            exists=True,
        ),
    ],
    target: Target = None,
    alignment: Alignment = None,
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
        typer.Option(
            help="Score arcs again without this label, in capitals or not; by default without "
            "punct and p, as spaCy does (repeatable)"
        ),
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
    from spacy_ssvm.components.dependency_scorer import PUNCTUATION

    if html is not None:
        with need_extra("Cannot report"):
            from spacy_ssvm.commands.pipeline_report import write_report
    with show_errors("Cannot report"):
        if html is not None:
            check_page(html)
        if (target is None) != (alignment is None):
            raise ValueError("--target and --alignment, the gold links, go together")
        import_code(code)
        measured = measure(
            model,
            corpus,
            gap=gap,
            log=log,
            gold_preproc=gold_preproc,
            without=without or PUNCTUATION,
            target=target,
            alignment=alignment,
        )
    msg.table(measured.rows, divider=False)
    show_thresholds(measured.thresholds)
    if html is not None:
        with show_errors("Cannot report"):
            write_report(html, measured, model, corpus)
        msg.good("Wrote the report", str(html))
