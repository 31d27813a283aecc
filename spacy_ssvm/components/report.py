"""The table at the end: how good, how fast, how large a trained pipeline is."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from spacy_ssvm.components.linear_pipe import LinearPipe

Row = tuple[str, str]

#: Scores that are shown, as ``spacy evaluate`` names them.
SCORES = {
    "tag_acc": "TAG accuracy",
    "pos_acc": "POS accuracy",
    "ents_p": "entity precision",
    "ents_r": "entity recall",
    "ents_f": "entity F1",
}

_SPEED_ROUNDS = 5
_RESAMPLES = 1000


def measure(
    model: Path,
    corpus: Path,
    *,
    train: Path | None = None,
    log: Path | None = None,
    gold_preproc: bool = False,
) -> list[Row]:
    """Name and value of each figure.

    corpus: a .spacy file to score and time the pipeline on.
    train: what it was trained on, to measure the duality gap of its weights.
    log: what ``TrainingLog`` wrote, for the time that training took.
    gold_preproc: whether the predicted Docs have the tokens and sentences of the gold.
    """
    start = time.perf_counter()
    nlp = spacy.load(model)
    load = time.perf_counter() - start
    examples = list(Corpus(corpus, gold_preproc=gold_preproc)(nlp))
    rows = [("corpus", f"{corpus}: {len(examples)} Docs")]
    scores = nlp.evaluate(examples)
    rows += [
        (label, f"{100 * scores[name]:.2f} %")
        for name, label in SCORES.items()
        if scores.get(name) is not None
    ]
    if scores.get("ents_f") is not None:
        for example in examples:
            example.predicted = nlp(example.predicted.copy())
        low, high = interval_of_f1(examples)
        rows.append(("95 % interval", f"{100 * low:.1f} to {100 * high:.1f} %, by bootstrap"))
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, LinearPipe):
            rows += _of_component(nlp, name, pipe, examples, train, gold_preproc)
    if log is not None:
        steps = list(srsly.read_jsonl(log))
        rows.append(("training", f"{steps[-1]['seconds']:.1f} s, {len(steps)} evaluations"))
    size = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
    return [*rows, ("load", f"{1000 * load:.0f} ms"), ("pipeline on disk", f"{size / 1e6:.1f} MB")]


def _of_component(
    nlp: Language,
    name: str,
    pipe: LinearPipe,
    examples: Iterable[Example],
    train: Path | None,
    gold_preproc: bool,
) -> list[Row]:
    docs = [example.reference for example in examples]
    model = pipe.model
    rows = [
        (f"{name}: speed", f"{speed(pipe, docs):,.0f} tokens/s, one thread"),
        (f"{name}: features", f"{model.number_of_rows:,} of {len(model.templates)} templates"),
    ]
    if model.trace is not None:
        rows.append((f"{name}: learning", f"{model.trace.epochs} epochs, C = {model.trace.C}"))
    if train is not None:
        corpus = list(Corpus(train, gold_preproc=gold_preproc)(nlp))
        gap = pipe.objective(corpus)
        rows.append(
            (
                f"{name}: duality gap",
                f"{100 * gap.gap:.2f} % (primal {gap.primal:.1f}, dual {gap.dual:.1f})",
            )
        )
    return rows


def interval_of_f1(examples: list[Example]) -> tuple[float, float]:
    """The 95 % bootstrap interval of entity F1: Docs are drawn again, with replacement."""
    counts = []
    for example in examples:
        gold = {(e.start_char, e.end_char, e.label_) for e in example.reference.ents}
        found = {(e.start_char, e.end_char, e.label_) for e in example.predicted.ents}
        counts.append((len(gold & found), len(gold) + len(found)))
    drawn = np.random.default_rng(0).integers(len(counts), size=(_RESAMPLES, len(counts)))
    right, total = np.array(counts)[drawn].sum(axis=1).T
    low, high = np.quantile(2 * right / np.maximum(total, 1), [0.025, 0.975])
    return float(low), float(high)


def speed(pipe: Any, docs: list[Doc]) -> float:
    """Tokens a second from tokenized Docs to annotated ones; the median of some rounds."""
    rates = []
    for _ in range(_SPEED_ROUNDS):
        blank = [
            Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])
            for doc in docs
        ]
        start = time.perf_counter()
        tokens = sum(len(doc) for doc in pipe.pipe(blank, batch_size=1000))
        rates.append(tokens / (time.perf_counter() - start))
    return sorted(rates)[len(rates) // 2]
