"""The report of a pipeline as a page: one self-contained HTML file with tables and figures.

Needs the extra ``compare``, and is imported only where a report is written.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.training import Example

from spacy_ssvm.commands.figures import Figure, FigureSpec, Points, draw, write_page
from spacy_ssvm.commands.reliability import Reliability, reliabilities
from spacy_ssvm.commands.report import Measured
from spacy_ssvm.commands.scores import label_tables, name_of, shown_scores, weighted
from spacy_ssvm.commands.thresholds import HEADER

_BY_CONFIDENCE = FigureSpec(
    "Accuracy by confidence",
    ("tenth of the decisions, from the least confidence to the most", "accuracy, %"),
    "Decisions are divided into tenths by confidence. The steeper the line at its beginning, the "
    "better confidence tells what is wrong.",
    counts=True,
)
_CALIBRATION = FigureSpec(
    "Calibration of probabilities",
    ("mean probability of a tenth of the decisions, %", "accuracy, %"),
    "Where probabilities are calibrated, as many decisions are right as their mean says.",
)


def write_report(file: Path, measured: Measured, model: str, corpus: Path) -> None:
    """Write the report. model, corpus: as the page names them."""
    nlp, examples = measured.nlp, measured.examples
    found = list(reliabilities(nlp, examples))
    write_page(
        file,
        "commands/pipeline_report.html",
        facts=facts(measured, model, corpus),
        title=f"{_name_of(nlp)} on {corpus.name}",
        conclusion=conclusion(measured, corpus.name),
        rows=measured.rows,
        label_tables=label_tables(examples, measured.scores),
        thresholds=measured.thresholds,
        threshold_header=HEADER,
        reliabilities=[_row(one) for one in found],
        drawings=_draw(found),
    )


def _name_of(nlp: Language) -> str:
    """As packages are called: language and name."""
    return f"{nlp.lang}_{nlp.meta['name']}"


def conclusion(measured: Measured, corpus: str) -> str:
    """The scores by which training chooses the best epoch, as a sentence.

    Those of the table where none of these has a value.
    """
    values = {name: value for name, value in measured.scores.items() if value is not None}
    weights = measured.nlp.config["training"]["score_weights"]
    judged = [name for name, weight in weights.items() if weight and name in values]
    scores = []
    for name in judged or shown_scores(values):
        interval = ""
        if name == "ents_f" and measured.interval is not None:
            low, high = measured.interval
            interval = f" (95 % interval: {100 * low:.1f} to {100 * high:.1f} %)"
        scores.append(f"{name_of(name)} is {100 * values[name]:.2f} %{interval}")
    if not scores:
        return f"{corpus} has no annotation by which the pipeline could be scored."
    *others, last = scores
    return f"On {corpus}, {', '.join(others)}{' and ' if others else ''}{last}."


def facts(measured: Measured, model: str, corpus: Path) -> dict[str, str]:
    """Names and values that the page shows at the top."""
    nlp, examples = measured.nlp, measured.examples
    tokens = sum(len(example.reference) for example in examples)
    return {
        "pipeline": f"{model}: {_name_of(nlp)} {nlp.meta['version']}",
        "components": ", ".join(nlp.pipe_names),
        "corpus": f"{corpus}: {len(examples):,} Docs, {tokens:,} tokens",
        "tokens": _tokens(examples, measured.gold_preproc),
        "sentences": _sentences(examples, measured.gold_preproc),
        "score": weighted(nlp.config["training"]["score_weights"]) or "none",
    }


def _tokens(examples: Sequence[Example], gold_preproc: bool) -> str:
    """Whose tokens the predicted Docs have."""
    gold = sum(example.reference.has_unknown_spaces for example in examples)
    if gold_preproc or gold == len(examples):
        return "gold"
    return f"predicted{f', but gold in {gold:,} Docs without spaces' if gold else ''}"


def _sentences(examples: Sequence[Example], gold_preproc: bool) -> str:
    """Whose sentences they have."""
    if gold_preproc:
        return "gold, each as a Doc"
    docs = [example.predicted for example in examples if len(example.predicted) > 1]
    return "predicted" if any(doc.has_annotation("SENT_START") for doc in docs) else "none"


def _row(one: Reliability) -> tuple[str, ...]:
    first = one.bins[0]
    return (
        one.name,
        f"{one.decisions:,}",
        f"{100 * (1 - one.wrong / one.decisions):.2f}",
        f"{one.wrong:,}",
        f"{100 * (first.decisions - first.right) / one.wrong:.0f}" if one.wrong else "-",
    )


def _draw(found: Sequence[Reliability]) -> list[Figure]:
    """The figures, those that have lines."""
    by_tenth: dict[str, list[Points]] = {}
    by_probability: dict[str, list[Points]] = {}
    for one in found:
        accuracies = [100 * bin.right / bin.decisions for bin in one.bins]
        by_tenth[one.name] = [list(enumerate(accuracies, start=1))]
        if one.has_probabilities:
            means = [100 * bin.confidence for bin in one.bins]
            by_probability[one.name] = [list(zip(means, accuracies, strict=True))]
    if by_probability:
        lowest = min(point[0] for (points,) in by_probability.values() for point in points)
        by_probability["calibrated"] = [[(lowest, lowest), (100.0, 100.0)]]
    specs: list[tuple[FigureSpec, dict[str, Any]]] = [
        (_BY_CONFIDENCE, by_tenth),
        (_CALIBRATION, by_probability),
    ]
    return [
        draw(number, spec, lines) for number, (spec, lines) in enumerate(specs, start=1) if lines
    ]
