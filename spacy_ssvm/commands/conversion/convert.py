"""Converts files to .spacy files, and sums up what they hold."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from spacy_ssvm.commands.conversion.offsets import LeftOut
from spacy_ssvm.components.annotated_corpus import write_docs
from spacy_ssvm.files import replacing, shorten

#: The list of what could not be used, in the folder of what could.
LEFT_OUT = "left_out.tsv"
_OTHER_TEXT = "kept: its text is made from its tokens, which are not those of '# text'"
#: The endings that name a format. Others, such as those of eng.testa and eng.testb, name a part.
FORMATS = (
    *(".jsonl", ".json", ".csv", ".tsv", ".conllu", ".ann", ".spacy"),
    *(".txt", ".conll", ".iob", ".iob2", ".bio", ".bioes", ".data", ".dat", ".tags"),
)
_MOST_WORDS = 60  # of a span that is shown


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
    """Write .spacy files, and the list of what is left out; return the Docs of each.

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
            target = folder / name_of(file)
            if target in parts:
                raise ValueError(f"two of the files would be written to {target}")
            parts[target] = found.docs
    inputs = {file.resolve() for file in converted}
    for target in parts:
        if target.resolve() in inputs:
            raise ValueError(f"{target} would replace the file that it is made of")
    for target, docs in parts.items():
        write_docs(target, docs)
    write_left_out(folder / LEFT_OUT, converted.values())
    return parts


def name_of(file: Path) -> str:
    """The name of the .spacy file that is made of a file, or of a folder."""
    file = file.resolve()
    name = file.name if file.is_dir() else file.name.removesuffix(".gz")
    stem, _, ending = name.rpartition(".")
    has_format = stem and not file.is_dir() and f".{ending.lower()}" in FORMATS
    return f"{stem if has_format else name}.spacy"


def write_left_out(file: Path, converted: Iterable[Converted]) -> None:
    """Write a line for each record and span that is left out; without any, remove the file.

    And for each sentence of a treebank whose text is not what the treebank says.
    """
    left_out = []
    for own in converted:
        left_out += own.left_out
        places = own.treebank.different if own.treebank else []
        left_out += [LeftOut(place, "", "", _OTHER_TEXT) for place in places]
    if not left_out:
        file.unlink(missing_ok=True)
        return
    with replacing(file) as beside, beside.open("w", encoding="utf8", newline="") as lines:
        rows = csv.writer(lines, "excel-tab", lineterminator="\n")
        rows.writerow(["place", "label", "text", "reason"])
        rows.writerows([one.place, one.label, one.text, one.reason] for one in left_out)


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
            words = span[:_MOST_WORDS].text.replace("\n", " ")
            texts.setdefault(span.label_, Counter())[shorten(words)] += 1
    rows = [
        (shorten(label), found.total(), ", ".join(text for text, _ in found.most_common(3)))
        for label, found in texts.items()
    ]
    return sorted(rows, key=lambda row: -row[1])


def labels_by_case(converted: Iterable[Converted]) -> list[str]:
    """The labels of spans that differ from others in case only, each with those."""
    same: dict[str, set[str]] = {}
    for own in converted:
        for label in {span.label_ for span in _spans(own.docs)}:
            same.setdefault(label.casefold(), set()).add(shorten(label))
    return [", ".join(sorted(labels)) for labels in same.values() if len(labels) > 1]


def _spans(docs: Sequence[Doc]) -> Iterator[Span]:
    for doc in docs:
        yield from doc.ents
        for group in doc.spans.values():
            yield from group
