"""Texts in the order in which it pays to annotate them: those that a pipeline is least sure of."""

from collections.abc import Iterator, Sequence
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


def rank(nlp: Language, names: Sequence[str], texts: Sequence[str]) -> list[Ranked]:
    """The texts with the least confidence first, by the least sure word for any component.

    names: of components, see ``choose``. With several, each counts by the rank of its confidence,
    since that of one cannot be compared with that of another.
    """
    docs = list(map(nlp.make_doc, texts))
    stages = annotate_in_stages(nlp, docs, names)
    columns = [list(_least_sure(pipe, found)) for pipe, found in stages]
    ranks = [_ranks([score for score, _ in column]) for column in columns]
    order = np.argsort(np.min(ranks, axis=0), kind="stable").tolist()
    worst = np.argmin(ranks, axis=0).tolist()
    return [Ranked(docs[i], *columns[worst[i]][i]) for i in order]


def _ranks(scores: Sequence[float]) -> list[float]:
    """The place of each score among all, the same for equal ones; infinite for infinite ones."""
    _, places = np.unique(scores, return_inverse=True)
    return [
        np.inf if np.isinf(s) else float(place) for s, place in zip(scores, places, strict=True)
    ]


def _least_sure(pipe: Any, docs: Sequence[Doc]) -> Iterator[tuple[float, str]]:
    """The least confidence of a component in a word, or another unit, of each Doc, and its text."""
    for doc in docs:
        pairs = [(d.score, doc[d.start : d.end].text) for d in pipe.decisions(doc)]
        yield min(pairs, key=lambda pair: pair[0], default=(np.inf, ""))


def write_ranked(file: Path, ranked: Sequence[Ranked]) -> None:
    """Write JSON lines: text, confidence, and the entities as spans that can be corrected.

    A text of a pipeline that does not look for entities has no spans: it may have some.
    """
    with replacing(file) as beside:
        srsly.write_jsonl(beside, map(_record, ranked))


def _record(one: Ranked) -> dict[str, Any]:
    confidence = None if np.isinf(one.confidence) else round(one.confidence, 4)
    record: dict[str, Any] = {"text": one.doc.text, "meta": {"confidence": confidence}}
    if one.doc.has_annotation("ENT_IOB"):
        record["spans"] = [
            {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
            for ent in one.doc.ents
        ]
    return record


def rows(ranked: Sequence[Ranked]) -> list[tuple[str, str, str]]:
    """Confidence, word and text."""
    return [(f"{one.confidence:.2f}", shorten(one.word), shorten(one.doc.text)) for one in ranked]
