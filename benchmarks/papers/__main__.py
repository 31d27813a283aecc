"""Repeat the experiments of the papers: ``python -m benchmarks.papers --help``."""

from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from benchmarks.papers.experiment import Limits
from benchmarks.papers.report import write_report
from benchmarks.papers.reproduce import PAPERS, Reproduction
from spacy_ssvm.cli.common import read_names, show_errors

app = typer.Typer(add_completion=False)


@app.command()
def reproduce(
    data: Annotated[
        Path, typer.Option(help="Folder with corpora, also in folders of it", exists=True)
    ],
    out: Annotated[Path, typer.Option("--output", "-o", "--out", help="Folder to write to")],
    papers: Annotated[
        str | None, typer.Option(help="Comma-separated: CY13, MGS10, MSAF11, TLJ05; all by default")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(help="Learn from at most as many examples of each corpus", min=1)
    ] = None,
    corpora: Annotated[
        int | None, typer.Option(help="Use at most as many of each kind in an experiment", min=1)
    ] = None,
    only: Annotated[
        str, typer.Option(help="Only what a regular expression finds in EXHIBIT, KIND: CORPUS")
    ] = "",
    seeds: Annotated[int, typer.Option(help="Seeds for the scores of tables", min=1)] = 3,
    epochs: Annotated[
        int | None, typer.Option(help="At most as many in each run, for a quick look", min=1)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the finished runs in the output folder")
    ] = False,
) -> None:
    """Repeat the experiments of the papers on your corpora, and check what they claim.

    Learns with gold tokens, sentences and tags from the corpora that are found, by the names and
    contents of their files: *train*.conllu (tags and trees, and phrases by rule), *train*.conll,
    .iob2 or .txt (entities or chunks in columns), *train*.align (Pharaoh) or .naacl with .src and
    .tgt (aligned texts), *train*.jsonl (labeled sentences), each with dev and test in place of
    train. Writes report.html:
    each claim, what was found, and whether it holds, then all tables and figures. All experiments
    on corpora of 12,000 sentences take hours: --papers can be run in several processes, then
    together with --resume for one report. Needs the extras "compare" and "gazetteers", and for
    entities spacy-lookups-data.

    \b
    Example:
      python -m benchmarks.papers --data corpora/ -o reproduced --papers CY13 --sentences 1000
      python -m benchmarks.papers --data corpora/ -o arcs --papers MGS10 --only "Figure 4.*arcs: en"
    """
    with show_errors("Cannot reproduce"):
        names = read_names("paper", papers, [*PAPERS])
        limits = Limits(seeds, epochs)
        work = Reproduction(
            data,
            out,
            limits=limits,
            sentences=sentences,
            most_corpora=corpora,
            only=only,
            resume=resume,
        )
        found = [(corpus.name, corpus.kind, str(corpus.train)) for corpus in work.corpora]
        msg.table(found, header=("corpus", "kind", "training file"), divider=True)
        with tqdm(total=work.plan(names), unit="run", disable=None) as progress:
            for name in names:
                for run in work.missing(name):
                    progress.set_description(f"{name}, {run.task}, {run.learner}")
                    work.make(name, run)
                    progress.update()
        exhibits = work.exhibits(names)
        if not exhibits:
            which = f", for what contains {only!r}" if only else ""
            raise ValueError(
                f"none of the corpora in {data} is one that {', '.join(names)} can use{which}"
            )
        report = out / "report.html"
        write_report(report, exhibits, work.facts(names))
    for exhibit in exhibits:
        msg.divider(exhibit.name)
        msg.table([(claim.verdict, claim.task, claim.text) for claim in exhibit.claims])
    msg.good(f"Checked {sum(len(exhibit.claims) for exhibit in exhibits)} claims", str(report))


if __name__ == "__main__":
    app()
