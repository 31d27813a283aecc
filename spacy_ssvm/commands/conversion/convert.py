"""Converts files to .spacy files, and sums up what they hold."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import spacy
from spacy.tokens import Doc, Span

from spacy_ssvm.commands.conversion.files import (
    Converted,
    Settings,
    annotation_file,
    convert_file,
    split,
)
from spacy_ssvm.components.annotated_corpus import write_docs
from spacy_ssvm.storage import shorten


def convert_files(files: Sequence[Path], lang: str, settings: Settings) -> dict[Path, Converted]:
    """What each file holds, once where it is named twice, as a text of brat's and its annotation.

    Raises ValueError as ``convert_file`` does.
    """
    nlp = spacy.blank(lang)
    different = dict.fromkeys(map(annotation_file, files))
    return {file: convert_file(file, nlp, settings) for file in different}


def write(
    folder: Path, converted: dict[Path, Converted], shares: dict[str, float], seed: int
) -> dict[Path, list[Doc]]:
    """Write .spacy files, and return the Docs of each.

    shares: of the parts besides train, as in ``split``; empty to write a file for each file.
    Raises ValueError, before anything is written, where two files would be written to one.
    """
    parts: dict[Path, list[Doc]] = {}
    if shares:
        docs = [doc for own in converted.values() for doc in own.docs]
        for name, own in split(docs, shares, seed).items():
            parts[folder / f"{name}.spacy"] = own
    else:
        for file, found in converted.items():
            target = folder / f"{file.resolve().stem}.spacy"
            if target in parts:
                raise ValueError(f"two of the files would be written to {target}")
            parts[target] = found.docs
    inputs = {file.resolve() for file in converted}
    for target in parts:
        if target.resolve() in inputs:
            raise ValueError(f"{target} would replace the file that it is made of")
    for target, docs in parts.items():
        write_docs(target, docs)
    return parts


def table(parts: dict[Path, list[Doc]]) -> list[tuple[str, int, int, int]]:
    """File, Docs, tokens and spans."""
    return [
        (str(file), len(docs), sum(map(len, docs)), sum(1 for _ in _spans(docs)))
        for file, docs in parts.items()
    ]


def labels_of(parts: dict[Path, list[Doc]]) -> list[tuple[str, int, str]]:
    """Label, number and most frequent texts of the spans."""
    texts: dict[str, Counter[str]] = {}
    for docs in parts.values():
        for span in _spans(docs):
            texts.setdefault(span.label_, Counter())[shorten(span.text.replace("\n", " "))] += 1
    rows = [
        (label, found.total(), ", ".join(text for text, _ in found.most_common(3)))
        for label, found in texts.items()
    ]
    return sorted(rows, key=lambda row: -row[1])


def _spans(docs: Sequence[Doc]) -> Iterator[Span]:
    for doc in docs:
        yield from doc.ents
        for group in doc.spans.values():
            yield from group
