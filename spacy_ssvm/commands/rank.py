"""Active learning: texts in the order in which it pays to annotate them.

The uncertainty of a pipeline in a text is the sum of max(0, 1 - confidence) over its words, divided
by the square root of their number. Where confidence is a probability, that sum is the number of
words that are probably wrong; where it is a margin, it is their hinge loss. The sum alone prefers
long texts, which take long to annotate; the mean prefers texts of one or two words, from which
little is learned.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.commands.pipelines import annotate_in_stages
from spacy_ssvm.components.json_records import ending_of, read_records
from spacy_ssvm.files import read_text, replacing, shorten


class Ranked(NamedTuple):
    """A text that a pipeline has annotated."""

    doc: Doc
    uncertainty: float  #: in all of it, of the component for which it ranks highest
    confidence: float  #: in the least sure word; infinite where nothing else is possible
    word: str  #: that one; the text of another unit, such as a sentence, where it is that


def read_texts(file: Path, encoding: str = "utf8") -> list[str]:
    """The texts of a file, each once: lines, or JSON records with the key "text".

    Raises ValueError, naming file and line, for a record without a text, and where there is none.
    """
    if ending_of(file) in (".json", ".jsonl"):
        texts = []
        for place, record in read_records(file, encoding):
            text = record.get("text") if isinstance(record, dict) else None
            if not isinstance(text, str):
                raise ValueError(f'{place}: expected a record such as {{"text": "Ann sleeps"}}')
            texts.append(text)
    else:
        texts = [line.strip() for line in read_text(file, encoding).split("\n")]
    found = [*dict.fromkeys(text for text in texts if text.strip())]
    if not found:
        raise ValueError(f"{file} has no text")
    return found


def rank(nlp: Language, names: Sequence[str], docs: Sequence[Doc]) -> list[Ranked]:
    """The Docs that the pipeline is most uncertain about first, for any of its components.

    names: of components, see ``choose``. With several, each counts by the rank of its uncertainty,
    since that of one cannot be compared with that of another. Of Docs whose margins are all above
    1, those with the least sure word come first.
    docs: not annotated.
    """
    columns = [
        [_ranked(pipe, doc) for doc in found]
        for pipe, found in annotate_in_stages(nlp, docs, names)
    ]
    ranks = list(map(_ranks, columns))
    order = np.argsort(np.min(ranks, axis=0), kind="stable").tolist()
    worst = np.argmin(ranks, axis=0).tolist()
    return [columns[worst[i]][i] for i in order]


def _ranks(column: Sequence[Ranked]) -> list[float]:
    """The place of each among all, the same for equal ones; infinite for certain ones."""
    keys = np.array([(-one.uncertainty, one.confidence) for one in column]).reshape(-1, 2)
    _, places = np.unique(keys, axis=0, return_inverse=True)
    return [
        np.inf if np.isinf(one.confidence) else float(place)
        for one, place in zip(column, places.ravel(), strict=True)
    ]


def _ranked(pipe: Any, doc: Doc) -> Ranked:
    """A Doc for one component."""
    decisions = pipe.decisions(doc)
    if not decisions:
        return Ranked(doc, 0.0, np.inf, "")
    scores = np.array([decision.score for decision in decisions])
    least = decisions[int(np.argmin(scores))]
    uncertainty = float(np.maximum(1 - scores, 0).sum()) / len(decisions) ** 0.5
    return Ranked(doc, uncertainty, least.score, doc[least.start : least.end].text)


def write_ranked(file: Path, ranked: Sequence[Ranked]) -> None:
    """Write JSON lines: text, uncertainty, and the entities as spans that can be corrected.

    A text of a pipeline that does not look for entities has no spans: it may have some.
    """
    with replacing(file) as beside:
        srsly.write_jsonl(beside, map(_record, ranked))


def _record(one: Ranked) -> dict[str, Any]:
    confidence = None if np.isinf(one.confidence) else round(one.confidence, 4)
    meta = {"uncertainty": round(one.uncertainty, 4), "confidence": confidence}
    record: dict[str, Any] = {"text": one.doc.text, "meta": meta}
    if one.doc.has_annotation("ENT_IOB"):
        record["spans"] = [
            {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
            for ent in one.doc.ents
        ]
    return record


def rows(ranked: Sequence[Ranked]) -> list[tuple[str, str, str, str]]:
    """Uncertainty, the least sure word with its confidence, and the text."""
    return [
        (
            f"{one.uncertainty:.2f}",
            shorten(one.word),
            f"{one.confidence:.2f}",
            shorten(one.doc.text),
        )
        for one in ranked
    ]
