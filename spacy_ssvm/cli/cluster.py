"""Commands for several machines: train-ray."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_ssvm.cli.common import (
    Code,
    ConfigFile,
    Overwrite,
    check_new,
    load_config,
    need_extra,
    show_errors,
)


def train_ray(
    context: typer.Context,
    config: ConfigFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for model-best and model-last", file_okay=False
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", "-n", help="Processes that share the corpus", min=1)
    ] = 2,
    address: Annotated[
        str | None,
        typer.Option(help="A cluster's address, or auto; by default Ray starts on this machine"),
    ] = None,
    block: Annotated[
        int | None,
        typer.Option(
            help="Examples that are decoded before weights change; by default a 200th of them",
            min=2,
        ),
    ] = None,
    overwrite: Overwrite = False,
    code: Code = None,
) -> None:
    """Train a pipeline on several processes or machines, with Ray.

    Takes the config of spacy train, and the same settings: --paths.train corpus/train.spacy. Each
    worker reads its part of the training corpus, whose files all machines must find under the same
    path, and keeps its features. This process learns the weights, and evaluates. The pipeline is
    the same, byte for byte, whatever the number of workers. A worker that dies is started anew, and
    nothing is lost.

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
    from spacy_ssvm.distributed.pipelines import Pipeline, initialize
    from spacy_ssvm.distributed.training import plan, train

    start = time.perf_counter()
    with show_errors("Cannot train"):
        settings = load_config(config, context, code, interpolate=False)
        if output is not None:
            for name in ("model-best", "model-last"):
                check_new(output / name, overwrite=overwrite)
        nlp = initialize(settings)
        planned = plan(nlp, workers, block)
        with start_ray(ray, address, workers) as where:
            msg.info(f"{workers} workers {where}")
            processes = RayWorkers(ray, Pipeline.of(nlp, code), workers, msg.warn)
            trainers = train(nlp, processes, planned, output)
            traffic = [x for trainer in trainers for x in trainer.traffic.items()]
    rows = [
        (name, t.rounds, f"{t.sent / 1e6:.1f}", f"{t.received / 1e6:.1f}", f"{t.waiting:.1f}")
        for name, t in traffic
    ]
    header = ("problem", "rounds", "MB sent to each", "MB received", "s waited")
    msg.table(rows, header=header, aligns=("l", "r", "r", "r", "r"), divider=True)
    msg.good(f"Trained in {time.perf_counter() - start:.0f} s", str(output or ""))
