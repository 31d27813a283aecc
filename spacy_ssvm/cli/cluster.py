"""Commands for several machines: train-ray, annotate-ray."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from wasabi import msg

from spacy_ssvm.cli.common import (
    Address,
    Code,
    ConfigFile,
    Model,
    Overwrite,
    check_new,
    load_config,
    load_pipeline,
    need_extra,
    show_errors,
)

if TYPE_CHECKING:
    from spacy_ssvm.commands.jackknife import Each

_Workers = Annotated[
    int, typer.Option("--workers", "-n", help="Processes that share the corpus", min=1)
]


@contextmanager
def folds_at_a_time(
    workers: int | None, address: str | None, code: Path | None
) -> "Iterator[Each]":
    """What runs the folds of a jackknife: by workers, or one after another where there are none.

    Raises ValueError where a cluster cannot be reached.
    """
    if workers is None:
        if address:
            raise ValueError("--address names a cluster: say by --workers how many folds at a time")
        yield map
        return
    with need_extra("Cannot jackknife", "ray"):
        import ray

    from spacy_ssvm.distributed.cluster import map_by_ray, start_ray

    with start_ray(ray, address, workers) as where:
        msg.info(f"{workers} folds at a time {where}")
        yield partial(map_by_ray, ray, workers, code)


def train_ray(
    context: typer.Context,
    config: ConfigFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for model-best and model-last", file_okay=False
        ),
    ] = None,
    workers: _Workers = 2,
    least: Annotated[
        int | None,
        typer.Option(
            "--min-workers",
            help="Where the cluster has, or is left with, fewer processors than workers but at "
            "least so many, workers share them; by default they wait until there are more",
            min=1,
        ),
    ] = None,
    address: Address = None,
    block: Annotated[
        int | None,
        typer.Option(
            help="Examples that are decoded before weights change; by default as the solver's "
            "setting block says, where it is above 1, else a 50th of all",
            min=2,
        ),
    ] = None,
    every: Annotated[
        float,
        typer.Option(
            "--checkpoint-every",
            help="Seconds, after which the next epoch is followed by a checkpoint",
            min=0,
        ),
    ] = 300,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the last checkpoint in the output"),
    ] = False,
    overwrite: Overwrite = False,
    code: Code = None,
) -> None:
    """Train a pipeline on several processes or machines, with Ray.

    Takes the config of spacy train, and the same settings: --paths.train corpus/train.spacy. Each
    worker reads its part of the training corpus, whose files all machines must find under the same
    path or URL (s3://bucket/corpus), and keeps its features. This process learns the weights, and
    evaluates. The pipeline is the same, byte for byte, whatever the number of workers. A worker
    that dies is started anew, and nothing is lost. If this process dies, the same command with
    --resume goes on from the last checkpoint, and ends with the same pipeline.

    Needs the extra ray: pip install "spacy-ssvm[ray]".

    \b
    Examples:
      python -m spacy ssvm train-ray config.cfg --output training --workers 4 \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
      python -m spacy ssvm train-ray config.cfg --output training --workers 32 --address auto
    """
    import time

    with need_extra("Cannot train", "ray"):
        import ray

    from spacy_ssvm.distributed.cluster import RayWorkers, start_ray
    from spacy_ssvm.distributed.output import Output
    from spacy_ssvm.distributed.pipelines import Pipeline
    from spacy_ssvm.distributed.training import initialize, plan, train

    start = time.perf_counter()
    with show_errors("Cannot train"):
        settings = load_config(config, context, code)
        folder = Output(output, every)
        folder.check_new(overwrite=overwrite or resume)
        nlp = initialize(settings)
        planned = plan(nlp, workers, block)
        with start_ray(ray, address, workers) as where:
            msg.info(f"{workers} workers {where}")
            there = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
            if there < workers:
                do = "wait until it has more" if there < (least or workers) else "share them"
                msg.warn(f"The cluster has {there} processors: workers {do}")
            processes = RayWorkers(ray, Pipeline.of(nlp, code), workers, msg.warn, least)
            trainers = train(nlp, processes, planned, folder, resume=resume, report=msg.info)
            traffic = [x for trainer in trainers for x in trainer.traffic.items()]
    rows = [
        (name, t.rounds, f"{t.sent / 1e6:.1f}", f"{t.received / 1e6:.1f}", f"{t.waiting:.1f}")
        for name, t in traffic
    ]
    header = ("problem", "rounds", "MB sent to each", "MB received", "s waited")
    msg.table(rows, header=header, aligns=("l", "r", "r", "r", "r"), divider=True)
    msg.good(f"Trained in {time.perf_counter() - start:.0f} s", str(output or ""))


def annotate_ray(
    model: Model,
    source: Annotated[
        Path,
        typer.Argument(help="Texts: .jsonl, .parquet, .txt, .spacy, or a folder", exists=True),
    ],
    output: Annotated[Path, typer.Argument(help="A .jsonl or .parquet file", dir_okay=False)],
    workers: _Workers = 2,
    address: Address = None,
    column: Annotated[
        str | None, typer.Option(help="Column, or key of JSON, that has the texts; by default text")
    ] = None,
    overwrite: Overwrite = False,
    code: Code = None,
) -> None:
    """Annotate texts on several processes or machines, with Ray Data.

    The corpus may be larger than memory. Each row of the input is written once, in the same order,
    with all of its columns and two more: doc, what spaCy's Doc.to_json returns (in Parquet as
    text), and error, which says what went wrong where there is no doc. The file appears once all is
    done. All machines need the pipeline, and the files, under the same names.

    Needs the extra ray: pip install "spacy-ssvm[ray]".

    \b
    Example:
      python -m spacy ssvm annotate-ray training/model-best texts.jsonl docs.parquet --workers 8
    """
    import time

    from tqdm import tqdm

    with need_extra("Cannot annotate", "ray"):
        import ray
        import ray.data

    from spacy_ssvm.distributed.annotation import annotate
    from spacy_ssvm.distributed.cluster import start_ray

    start, done, failed = time.perf_counter(), 0, 0
    with show_errors("Cannot annotate"):
        check_new(output, overwrite=overwrite)
        load_pipeline(model, code)  # what is wrong with it is said at once
        load = partial(load_pipeline, model, code)
        with start_ray(ray, address, workers + 1) as where:
            msg.info(f"{workers} workers {where}")
            blocks = annotate(ray.data, source, output, load, column=column, workers=workers)
            with tqdm(unit=" rows", disable=None) as progress:
                for more, without in blocks:
                    done, failed = done + more, failed + without
                    progress.update(more + without)
    if failed:
        msg.warn(f"{failed:,} rows have no doc: their column error says why")
    seconds = time.perf_counter() - start
    msg.good(f"Annotated {done:,} texts: {done / seconds:,.0f} texts/s", str(output))
