"""Entities from few annotated sentences: ssvm_ner and spaCy's ner.

    python benchmarks/learning_curve.py --data FOLDER --output FOLDER [--corpora en pt wnut17]

FOLDER contains uner_en_ewt, uner_pt_bosque and wnut17 as released by their publishers. Scores are
entity F1 on dev and test by exact match, with gold tokens and sentences. Each run learns from
sentences of train drawn by a seed, the same for all systems:

    bare        ssvm_ner as it is, ten epochs
    strong      with clusters of spacy-lookups-data and the lists of
                `python -m spacy ssvm resources gazetteers`, as in ner.py
    spacy       spaCy's ner from `init config`, until its score on dev stops rising

A second table has the mean number of annotated names of each type, and F1 by type on test.

Every result is added to learning-curve.jsonl at once, and runs found there are not repeated. At the
end learning-curve-en.svg and so on, for each corpus, show the mean and the range of the seeds.

Requires the extra `bench`.
"""

import argparse
import io
import random
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import ner
import numpy as np
import peers
import spacy
from spacy.cli.init_config import init_config
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from wasabi import msg

SIZES = (250, 500, 1000, 2000)
TITLES = {"en": "English", "pt": "Portuguese", "wnut17": "WNUT-2017"}
COLORS = {"strong": "#c44e52", "bare": "#4c72b0", "spacy": "#8c8c8c"}
LABELS = {
    "strong": "ssvm_ner with clusters and lists",
    "bare": "ssvm_ner",
    "spacy": "spaCy's ner",
}
RUN = ("corpus", "system", "size", "seed")


def run_ssvm(corpus: str, parts: dict[str, peers.Labelled], seed: int, *, strong: bool) -> dict:
    nlp = spacy.blank(ner.LANGUAGES[corpus])
    solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "seed": seed}
    pipe = nlp.add_pipe("ssvm_ner", config={"solver": solver})
    examples = ner.examples_of(ner.docs_of(nlp, parts["train"]), parts["train"])
    with tempfile.TemporaryDirectory() as folder:
        resources = ner.strong_resources(corpus, Path(folder)) if strong else {}
        pipe.initialize(lambda: examples, nlp=nlp, **resources)
    for _ in range(ner.EPOCHS):
        pipe.update(examples)
    return scores(nlp, parts)


def run_spacy(corpus: str, parts: dict[str, peers.Labelled], seed: int) -> dict:
    config = init_config(
        lang=ner.LANGUAGES[corpus], pipeline=["ner"], optimize="efficiency", gpu=False
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vocab = spacy.blank(ner.LANGUAGES[corpus])
        for part in ("train", "dev"):
            examples = ner.examples_of(ner.docs_of(vocab, parts[part]), parts[part])
            config["paths"][part] = str(folder / f"{part}.spacy")
            DocBin(docs=[example.reference for example in examples]).to_disk(config["paths"][part])
        config["training"]["seed"] = seed
        train(init_nlp(config), folder, stdout=io.StringIO(), stderr=io.StringIO())
        return scores(spacy.load(folder / "model-best"), parts)


def scores(nlp: spacy.Language, parts: dict[str, peers.Labelled]) -> dict:
    found = {part: ner.labels_of(nlp, ner.docs_of(nlp, parts[part])) for part in ("dev", "test")}
    types = sorted({kind for labels in gold_of(parts["test"]) for *_, kind in ner.spans_of(labels)})
    return {
        **{part: ner.f1(labels, parts[part]) for part, labels in found.items()},
        "types": {
            kind: {
                "annotated": sum(map(len, map(ner.spans_of, only(kind, gold_of(parts["train"]))))),
                "test": ner.f1(
                    only(kind, found["test"]),
                    [*zip(parts["test"], only(kind, gold_of(parts["test"])), strict=True)],
                ),
            }
            for kind in types
        },
    }


def gold_of(sentences: peers.Labelled) -> list[list[str]]:
    return [labels for _, labels in sentences]


def only(kind: str, sequences: Iterable[list[str]]) -> list[list[str]]:
    """The labels of one type; the others become O."""
    return [[y if y.endswith(f"-{kind}") else "O" for y in labels] for labels in sequences]


SYSTEMS = {
    "bare": lambda *run: run_ssvm(*run, strong=False),
    "strong": lambda *run: run_ssvm(*run, strong=True),
    "spacy": run_spacy,
}


def run_system(
    whole: dict[str, peers.Labelled], corpus: str, system: str, size: int, seed: int
) -> dict:
    """The scores of a system that learns from some sentences of train."""
    drawn = random.Random(seed).sample(whole["train"], k=size)
    return SYSTEMS[system](corpus, {**whole, "train": drawn}, seed)


def means(results: Iterable[dict], part: str) -> dict[tuple, tuple[float, float, float]]:
    """The mean, lowest and highest score of the seeds: corpus, system and size -> these."""
    found: dict[tuple, list[float]] = {}
    for result in results:
        found.setdefault(tuple(result[key] for key in RUN[:3]), []).append(result[part])
    return {run: (sum(f1s) / len(f1s), min(f1s), max(f1s)) for run, f1s in found.items()}


def show(results: list[dict]) -> None:
    dev, test = means(results, "dev"), means(results, "test")
    for corpus in sorted({corpus for corpus, *_ in dev}):
        sizes = sorted({size for name, _, size in dev if name == corpus})
        rows = [
            (
                system,
                *(
                    f"{dev[run][0]:.1f}, {test[run][0]:.1f}"
                    if (run := (corpus, system, size)) in dev
                    else ""
                    for size in sizes
                ),
            )
            for system in SYSTEMS
        ]
        header = (f"{corpus}, F1 on dev, test", *map(str, sizes))
        msg.table(rows, header=header, aligns=("l", *"r" * len(sizes)), divider=True)


def show_types(results: list[dict]) -> None:
    """The mean number of annotated names and F1 on test, by type: annotated: F1."""
    found: dict[tuple, list[tuple[int, float]]] = {}
    for result in results:
        for kind, figures in result.get("types", {}).items():
            run = (result["corpus"], result["system"], kind, result["size"])
            found.setdefault(run, []).append((figures["annotated"], figures["test"]))
    for corpus in sorted({corpus for corpus, *_ in found}):
        sizes = sorted({size for name, *_, size in found if name == corpus})
        systems = [name for name in SYSTEMS if any(run[:2] == (corpus, name) for run in found)]
        kinds = sorted({kind for name, _, kind, _ in found if name == corpus})
        rows = [
            (
                system,
                kind,
                *(
                    "{:.0f}: {:.1f}".format(*np.mean(found[run], axis=0))
                    if (run := (corpus, system, kind, size)) in found
                    else ""
                    for size in sizes
                ),
            )
            for system in systems
            for kind in kinds
        ]
        header = (f"{corpus}, names: F1 on test", "type", *map(str, sizes))
        msg.table(rows, header=header, aligns=("l", "l", *"r" * len(sizes)), divider=True)


def draw(results: list[dict], folder: Path) -> None:
    """A plot of each corpus: the mean and the range of the seeds."""
    from matplotlib.figure import Figure

    test = means(results, "test")
    for corpus in sorted({corpus for corpus, *_ in test}):
        figure = Figure(figsize=(4.4, 3.4), layout="constrained")
        axes = figure.subplots()
        for system in COLORS:
            sizes = sorted(size for *run, size in test if run == [corpus, system])
            if not sizes:
                continue
            curve = [test[corpus, system, size] for size in sizes]
            means_, lows, highs = zip(*curve, strict=True)
            axes.plot(sizes, means_, "o-", color=COLORS[system], ms=4, label=LABELS[system])
            axes.fill_between(sizes, lows, highs, color=COLORS[system], alpha=0.2, lw=0)
        ticks = sorted({size for name, _, size in test if name == corpus})
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
        axes.minorticks_off()
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set(title=TITLES[corpus], xlabel="annotated sentences", ylabel="entity F1 on test")
        figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
        figure.savefig(folder / f"learning-curve-{corpus}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--output", type=Path, required=True, help="folder of the results")
    parser.add_argument("--corpora", nargs="+", default=["en", "pt"], choices=[*TITLES])
    parser.add_argument("--sizes", nargs="+", type=int, default=[*SIZES], help="sentences")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each size")
    parser.add_argument("--systems", nargs="+", default=[*SYSTEMS], choices=[*SYSTEMS])
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "learning-curve.jsonl"
    results: list[dict] = []
    for corpus in options.corpora:
        whole = {part: ner.read(options.data, corpus, part) for part in ner.PARTS}
        runs = (
            dict(zip(RUN, (corpus, system, size, seed), strict=True))
            for size in options.sizes
            for seed in range(options.seeds)
            for system in options.systems
        )
        results = peers.run_missing(path, runs, partial(run_system, whole))
    show(results)
    show_types(results)
    draw(results, options.output)
    msg.good(f"results: {path}")


if __name__ == "__main__":
    main()
