"""A table of the accuracy, speed and size of a trained pipeline."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.util import resolve_dot_names

from spacy_ssvm.commands.pipelines import load_pipeline, read_pairs, without_annotation
from spacy_ssvm.commands.scores import (
    annotate_and_score,
    arc_scores,
    name_of,
    percent,
    shown_scores,
    shown_with_arcs,
)
from spacy_ssvm.commands.thresholds import Thresholds, entities_of, place_of, thresholds_of
from spacy_ssvm.components.annotated_corpus import corpus_block, read_docs
from spacy_ssvm.components.dependency_scorer import PUNCTUATION
from spacy_ssvm.components.page import ExplainablePipe
from spacy_ssvm.components.pipe import Pipe

Row = tuple[str, str]

_SPEED_ROUNDS = 5
_RESAMPLES = 1000
_NOTABLE = 0.01  # a difference of scores


class Measured(NamedTuple):
    """A pipeline, measured on a corpus."""

    nlp: Language
    examples: list[Example]  #: their predicted Docs as the pipeline has annotated them
    gold_preproc: bool  #: whether these have the tokens and sentences of the gold
    scores: dict[str, Any]  #: as ``spacy evaluate`` returns them
    interval: tuple[float, float] | None  #: of entity F1, see ``interval_of_f1``
    rows: list[Row]  #: name and value of each figure, for a table
    thresholds: Sequence[Thresholds] = ()  #: of components for spans


def measure(
    model: str,
    corpus: Path,
    *,
    gap: bool = False,
    log: Path | None = None,
    gold_preproc: bool = False,
    without: Sequence[str] = PUNCTUATION,
    target: Path | None = None,
    alignment: Path | None = None,
) -> Measured:
    """Accuracy, speed and size of a pipeline.

    model: its folder, or the name of its package.
    corpus: a .spacy file, or a folder of them, to score and time the pipeline on; with target, a
        text whose translation is there, line by line.
    alignment: the gold links of the lines.
    gap: whether to measure the duality gap of its weights, on its training corpus.
    log: the file that ``TrainingLog`` wrote, for the training time.
    gold_preproc: whether the predicted Docs have the tokens and sentences of the gold.
    without: labels of arcs to leave out from a second count of right arcs.
    Raises ValueError naming a folder or file that is invalid.
    """
    training = [] if log is None else [("training", _time_of_training(log))]
    start = time.perf_counter()
    nlp = load_pipeline(model)
    load = time.perf_counter() - start
    if target is not None:
        examples = read_pairs(nlp, corpus, target, alignment)
    else:
        _refuse_aligners(nlp)
        reader = Corpus(corpus)
        make = reader.make_examples_gold_preproc if gold_preproc else reader.make_examples
        examples = list(make(nlp, (filed.doc for filed in read_docs(corpus, nlp.vocab))))
    if not examples:
        raise ValueError(f"{corpus} has no Docs to measure on")
    learned = training_examples(nlp) if gap else []
    is_given = gold_preproc or all(e.reference.has_unknown_spaces for e in examples)
    tokens = "gold tokens" if is_given else "tokens of the pipeline"
    unit = "Docs" if target is None else "pairs"
    rows = [("corpus", f"{corpus}: {len(examples)} {unit}, {tokens}")]
    scores = annotate_and_score(nlp, examples)
    if not is_given and "token_f" in scores:
        rows.append(("token F1", percent(scores["token_f"])))
    rows += [(name_of(score), percent(scores[score])) for score in shown_scores(scores)]
    if scores.get("dep_uas") is not None:
        rows += _of_arcs(examples, ()) + _of_arcs(examples, without)
    if not all(map(_has_gold_tokens, examples)):
        rows += _on_gold_tokens(nlp, examples, scores)
    if not shown_scores(scores) and scores.get("dep_uas") is None:
        rows.append(("scores", "none: the corpus annotates nothing that the pipeline predicts"))
    interval = None
    if scores.get("ents_f") is not None:
        low, high = interval = interval_of_f1(examples)
        rows.append(("95 % interval", f"{100 * low:.1f} to {100 * high:.1f} %, by bootstrap"))
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, Pipe):
            rows += _of_component(nlp, name, pipe, examples, learned)
    size = sum(file.stat().st_size for file in nlp.path.rglob("*") if file.is_file())
    rows += [
        *([] if is_given else [("pipeline: speed", _speed_of_pipeline(nlp, examples))]),
        *training,
        ("load", f"{1000 * load:.0f} ms"),
        ("pipeline on disk", f"{size / 1e6:.1f} MB"),
    ]
    thresholds = list(thresholds_of(nlp, examples))
    return Measured(nlp, examples, gold_preproc, scores, interval, rows, thresholds)


def _refuse_aligners(nlp: Language) -> None:
    """Raise ValueError for a word aligner, which reads pairs of texts."""
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, ExplainablePipe) and pipe.reads_pairs:
            raise ValueError(
                f"'{name}' aligns pairs of texts: give a text, a sentence a line, with --target "
                "TARGET, its translation, and --alignment LINKS"
            )


def _time_of_training(log: Path) -> str:
    try:
        steps = list(srsly.read_jsonl(log))
        return f"{steps[-1]['seconds']:.1f} s, {len(steps)} evaluations"
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(
            f"{log} was not written by the logger spacy_ssvm.TrainingLog.v1"
        ) from error


def _has_gold_tokens(example: Example) -> bool:
    return [t.text for t in example.predicted] == [t.text for t in example.reference]


def _on_gold_tokens(
    nlp: Language, examples: Sequence[Example], scores: Mapping[str, Any]
) -> list[Row]:
    """The scores on the tokens of the corpus that differ by more than a point from ``scores``."""
    golds = [Example(without_annotation(e.reference), e.reference) for e in examples]
    on_gold = annotate_and_score(nlp, golds)
    return [
        (f"{name_of(score)}, gold tokens", percent(on_gold[score]))
        for score in shown_with_arcs(on_gold)
        if scores.get(score) is not None and abs(on_gold[score] - scores[score]) > _NOTABLE
    ]


def _of_arcs(examples: list[Example], without: Sequence[str]) -> list[Row]:
    scores = arc_scores(examples, without)
    which = f" without {', '.join(without)}" if without else ""
    return [
        (f"{name}{which}", percent(scores[key]))
        for name, key in (("UAS", "dep_uas"), ("LAS", "dep_las"))
    ]


def training_examples(nlp: Language) -> list[Example]:
    """The training examples of a pipeline, read by its config.

    Raises ValueError where that cannot be read, or no component has a duality gap.
    """
    config = nlp.config.interpolate()
    settings = config["training"]
    own = {name for name, pipe in nlp.pipeline if isinstance(pipe, Pipe)}
    if not own - set(settings["frozen_components"]):
        raise ValueError(
            "there is no duality gap to measure: the pipeline has no component of this package "
            "that its config trains"
        )
    name, block = corpus_block(config, "train_corpus")
    try:
        (corpus,) = resolve_dot_names(config, [settings["train_corpus"]])
        examples = list(corpus(nlp))
    except (OSError, ValueError) as error:
        raise ValueError(
            "the duality gap is measured on the training corpus, which cannot be read: "
            f"[{name}] has path = {block.get('path')}. Run the command in the folder where the "
            "pipeline was trained"
        ) from error
    with nlp.select_pipes(enable=settings["annotating_components"]):
        docs = nlp.pipe(example.predicted for example in examples)
        for example, doc in zip(examples, docs, strict=True):
            example.predicted = doc
    return examples


def _of_component(
    nlp: Language, name: str, pipe: Pipe[Any, Any], examples: list[Example], learned: list[Example]
) -> list[Row]:
    model = pipe.model
    rate, unit = speed(nlp, name, [example.reference for example in examples]), "tokens"
    if isinstance(pipe, ExplainablePipe) and pipe.reads_pairs:
        rate, unit = rate * len(examples) / sum(len(e.reference) for e in examples), "pairs"
    rows = [
        (f"{name}: speed", f"{rate:,.0f} {unit}/s, one thread"),
        (f"{name}: features", f"{model.number_of_rows:,} of {len(model.templates)} templates"),
    ]
    if model.summary is not None:
        rows.append((f"{name}: learning", f"{model.summary.epochs} epochs, C = {model.summary.C}"))
    if learned and name not in nlp.config["training"]["frozen_components"]:
        objective = pipe.objective(learned)
        primal = f"primal {objective.primal:.1f}"
        if objective.gap is None:
            rows.append((f"{name}: objective", primal))
        else:
            shown = f"{100 * objective.gap:.2f} % ({primal}, dual {objective.dual:.1f})"
            rows.append((f"{name}: duality gap", shown))
    return rows


def interval_of_f1(examples: list[Example]) -> tuple[float, float]:
    """The 95 % bootstrap interval of entity F1: annotated Docs are resampled with replacement."""
    counts = []
    for example in examples:
        if example.reference.has_annotation("ENT_IOB"):
            found, gold = ({*map(place_of, ents)} for ents in entities_of(example))
            counts.append((len(gold & found), len(gold) + len(found)))
    drawn = np.random.default_rng(0).integers(len(counts), size=(_RESAMPLES, len(counts)))
    right, total = np.array(counts)[drawn].sum(axis=1).T
    low, high = np.quantile(2 * right / np.maximum(total, 1), [0.025, 0.975])
    return float(low), float(high)


def _speed_of_pipeline(nlp: Language, examples: Sequence[Example]) -> str:
    """Tokens per second of all components, from texts on. The median of several rounds."""
    texts = [example.reference.text for example in examples]
    rate = median(_rate(nlp.pipe(texts)) for _ in range(_SPEED_ROUNDS))
    return f"{rate:,.0f} tokens/s from raw text, one thread"


def speed(nlp: Language, name: str, docs: list[Doc]) -> float:
    """Tokens per second of one component, on Docs annotated by those before it.

    The median of several rounds.
    """
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    pipe: Any = nlp.get_pipe(name)
    rates = []
    for _ in range(_SPEED_ROUNDS):
        with nlp.select_pipes(enable=before):
            annotated = list(nlp.pipe(map(without_annotation, docs)))
        rates.append(_rate(pipe.pipe(annotated, batch_size=1000)))
    return median(rates)


def _rate(docs: Iterable[Doc]) -> float:
    """Tokens per second of Docs that are made as they are asked for."""
    start = time.perf_counter()
    return sum(map(len, docs)) / (time.perf_counter() - start)
