"""Active learning, simulated: how many sentences need annotation in which order.

    python benchmarks/active_learning.py --data FOLDER --output FOLDER [--tasks en pt tags]

FOLDER contains uner_en_ewt, uner_pt_bosque and ud_en_ewt as released by their publishers. A
component learns from 100 sentences drawn at random, then chooses others of the rest, up to 200,
300, 500, 700 and 1,000. It is trained from scratch in each round. Tokens and sentences are gold.

    en, pt    names in English and Portuguese: F1 of ssvm_ner with the clusters and lists of ner.py
    tags      XPOS of English: accuracy of ssvm_tagger

The orders, by u = max(0, 1 - confidence) of each word:

    random       without a model
    rank         that of `python -m spacy ssvm rank`: the sum of u, divided by the square root of
                 the number of words
    least-sure   the least confidence in a word of the sentence
    sum          the sum of u
    mean         the mean of u

The table has scores on dev and test by annotated sentences, and how many sentences and words are
saved: those that an order needs to reach the mean score of random order with 500, 700 and 1,000,
for the same seeds.
Every result is added to active-learning.jsonl at once, and runs found there are not repeated.
active-learning-en.svg and so on show the mean and the range of the seeds. Requires the extra
`bench`.
"""

import argparse
import random
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ner
import numpy as np
import parser
import peers
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.rank import rank

SIZES, TARGETS = (100, 200, 300, 500, 700, 1000), (500, 700, 1000)  # sentences
EPOCHS = 10
TASKS = {"en": "names, English", "pt": "names, Portuguese", "tags": "tags, English"}
NAMES = ("en", "pt")
UNCERTAINTIES: dict[str, Callable[[np.ndarray], float]] = {  # of the confidence in words
    "least-sure": lambda scores: -scores.min(),
    "sum": lambda scores: np.maximum(1 - scores, 0).sum(),
    "mean": lambda scores: np.maximum(1 - scores, 0).mean(),
}
ORDERS = ("random", "rank", *UNCERTAINTIES)
COLORS = ("#8c8c8c", "#c44e52", "#4c72b0", "#55a868", "#dd8452")
UNITS = ("sentences", "words")
Parts = dict[str, list[Doc]]  # the gold Docs of train, dev and test


def read(data: Path, task: str) -> Parts:
    if task not in NAMES:
        return {part: parser.read(data, "en", part) for part in parser.PARTS}
    nlp = spacy.blank(ner.LANGUAGES[task])
    found = {}
    for part in ner.PARTS:
        sentences = ner.read(data, task, part)
        examples = ner.examples_of(ner.docs_of(nlp, sentences), sentences)
        found[part] = [example.reference for example in examples]
    return found


def learn(nlp: spacy.Language, golds: Sequence[Doc], resources: dict, task: str, seed: int) -> None:
    """Put a component that has learned from these Docs alone in place of the one before."""
    name = "ssvm_ner" if task in NAMES else "ssvm_tagger"
    if name in nlp.pipe_names:
        nlp.remove_pipe(name)
    solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "seed": seed}
    pipe: Any = nlp.add_pipe(name, config={"solver": solver})
    examples = [Example(parser.plain(nlp, gold), gold) for gold in golds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lists of names have types that are no labels
        pipe.initialize(lambda: examples, nlp=nlp, **resources)
    for _ in range(EPOCHS):
        pipe.update(examples)


def score(nlp: spacy.Language, golds: Sequence[Doc], task: str) -> float:
    scores = nlp.evaluate([Example(parser.plain(nlp, gold), gold) for gold in golds])
    return 100 * scores["ents_f" if task in NAMES else "tag_acc"]


def choose(nlp: spacy.Language, golds: Sequence[Doc], order: str) -> list[int]:
    """The numbers of the Docs, those first that are to be annotated."""
    docs = [parser.plain(nlp, gold) for gold in golds]
    if order == "rank":
        numbers = {id(doc): number for number, doc in enumerate(docs)}
        return [numbers[id(one.doc)] for one in rank(nlp, nlp.pipe_names, docs)]
    pipe: Any = nlp.pipeline[-1][1]
    values = []
    for doc in docs:
        scores = np.array([decision.score for decision in pipe.decisions(doc)])
        values.append(UNCERTAINTIES[order](scores) if len(scores) else -np.inf)
    return np.argsort(-np.array(values), kind="stable").tolist()


def run(parts: Parts, resources: dict, task: str, order: str, seed: int) -> dict[str, list[dict]]:
    """The scores by number of sentences, and how many words these have: the key "curve"."""
    nlp = spacy.blank(ner.LANGUAGES.get(task, "en"))
    left = random.Random(seed).sample(parts["train"], k=len(parts["train"]))
    chosen: list[Doc] = []
    curve = []
    for size in SIZES:
        at_random = order == "random" or not chosen
        numbers = [*range(len(left))] if at_random else choose(nlp, left, order)
        more = size - len(chosen)
        chosen += [left[i] for i in numbers[:more]]
        left = [left[i] for i in sorted(numbers[more:])]
        learn(nlp, chosen, resources, task, seed)
        scores = {part: score(nlp, parts[part], task) for part in ("dev", "test")}
        curve.append({"sentences": len(chosen), "words": sum(map(len, chosen)), **scores})
    return {"curve": curve}


def curves_of(results: Sequence[dict], task: str) -> dict[str, dict[int, list[dict]]]:
    """The curves of a task by order and seed."""
    found: dict[str, dict[int, list[dict]]] = {order: {} for order in ORDERS}
    for result in results:
        if result["task"] == task:
            found[result["order"]][result["seed"]] = result["curve"]
    return {order: by_seed for order, by_seed in found.items() if by_seed}


def mean(curves: Iterable[list[dict]]) -> dict[str, np.ndarray]:
    """Sentences, words, dev and test, the means of the seeds."""
    in_order = [*curves]
    return {
        key: np.mean([[point[key] for point in curve] for curve in in_order], axis=0)
        for key in in_order[0][0]
    }


def needed(curve: dict[str, np.ndarray], target: float, key: str) -> float:
    """How many sentences or words reach the mean of dev and test; infinite where none do."""
    scores = np.maximum.accumulate((curve["dev"] + curve["test"]) / 2)
    if scores[-1] < target:
        return float("inf")
    return float(np.interp(target, scores, curve[key]))


def saved_by(curve: dict[str, np.ndarray], base: dict[str, np.ndarray]) -> list[str]:
    """The shares of sentences and words that are saved, by target; empty where it is not reached.

    base: the curve of random order.
    """
    cells = []
    for i in map(SIZES.index, TARGETS):
        target = (base["dev"][i] + base["test"][i]) / 2
        shares = [1 - needed(curve, target, unit) / base[unit][i] for unit in UNITS]
        is_reached = np.isfinite(shares).all()
        cells.append(", ".join(f"{100 * share:.0f} %" for share in shares) if is_reached else "")
    return cells


def show(results: Sequence[dict]) -> None:
    for task, title in TASKS.items():
        curves = curves_of(results, task)
        if not curves:
            continue
        rows, saved = [], []
        for order, by_seed in curves.items():
            curve = mean(by_seed.values())
            both = zip(curve["dev"], curve["test"], strict=True)
            cells = (f"{dev:.1f}, {test:.1f}" for dev, test in both)
            rows.append((order, str(len(by_seed)), *cells))
            at_random = curves.get("random", {})
            if at_random.keys() >= by_seed.keys():
                base = mean(at_random[seed] for seed in by_seed)
                saved.append((order, *saved_by(curve, base)))
        header = [f"{title}: dev, test", "seeds", *(f"{n:,}" for n in SIZES)]
        msg.table(rows, header=header, aligns=("l", "r", *"r" * len(SIZES)), divider=True)
        header = ["sentences, words saved", *(f"as random, {n:,}" for n in TARGETS)]
        msg.table(saved, header=header, aligns=("l", *"r" * len(TARGETS)), divider=True)


def draw(results: Sequence[dict], folder: Path) -> None:
    """A plot of each task, by sentences and by words: the mean and the range of the seeds."""
    from matplotlib.figure import Figure

    for task, title in TASKS.items():
        curves = curves_of(results, task)
        if not curves:
            continue
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        for axes, unit in zip(figure.subplots(1, 2, sharey=True), UNITS, strict=True):
            for order, color in zip(ORDERS, COLORS, strict=True):
                if order not in curves:
                    continue
                x = mean(curves[order].values())[unit]
                of_seeds = np.array(
                    [[point["test"] for point in curve] for curve in curves[order].values()]
                )
                label = order if unit == UNITS[0] else None
                axes.plot(x, of_seeds.mean(axis=0), "o-", color=color, ms=3, label=label)
                low, high = of_seeds.min(axis=0), of_seeds.max(axis=0)
                axes.fill_between(x, low, high, color=color, alpha=0.15, lw=0)
            axes.set(title=title, xlabel=f"annotated {unit}")
            axes.grid(axis="y", alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        figure.axes[0].set_ylabel("score on test")
        figure.legend(loc="outside upper center", ncols=5, frameon=False, fontsize="small")
        figure.savefig(folder / f"active-learning-{task}.svg")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    options.add_argument("--output", type=Path, required=True, help="folder of the results")
    options.add_argument("--tasks", nargs="+", default=[*TASKS], choices=[*TASKS])
    options.add_argument("--orders", nargs="+", default=[*ORDERS], choices=[*ORDERS])
    options.add_argument("--seeds", type=int, default=5, help="runs of each order")
    args = options.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / "active-learning.jsonl"
    results: list[dict] = []
    for task in args.tasks:
        parts = read(args.data, task)
        runs = (
            {"task": task, "order": order, "seed": seed}
            for seed in range(args.seeds)
            for order in args.orders
        )
        with tempfile.TemporaryDirectory() as folder:
            resources = ner.strong_resources(task, Path(folder)) if task in NAMES else {}
            results = peers.run_missing(path, runs, partial(run, parts, resources))
    show(results)
    draw(results, args.output)
    msg.good(f"results: {path}")


if __name__ == "__main__":
    main()
