"""Aligns the words of parallel texts: a line of links, as of Pharaoh, for each pair of lines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.align.component import WordAligner
from spacy_ssvm.align.reader import NO_FILES, read_pairs
from spacy_ssvm.align.text_pairs import read_links, sides
from spacy_ssvm.files import replacing, shorten


def read_evidence(options: Sequence[str]) -> dict[str, Path]:
    """Files by extension attribute, from options such as "eflomal=links.align".

    Raises ValueError for another form, and for an attribute that is named twice.
    """
    found: dict[str, Path] = {}
    for option in options:
        name, sign, file = option.partition("=")
        if not (name.isidentifier() and sign and file) or name in found:
            raise ValueError(
                f"--evidence {option}: give NAME=FILE, each NAME once, for the links in FILE to be "
                "read as doc._.NAME"
            )
        found[name] = Path(file)
    return found


def check_evidence(nlp: Language, evidence: Mapping[str, Path]) -> list[str]:
    """The names that no template of the pipeline reads.

    Raises ValueError for a name that one reads, and that neither is among these nor an extension
    attribute of Docs.
    """
    models = [pipe.model for _, pipe in nlp.pipeline if isinstance(pipe, WordAligner)]
    wanted = {name for model in models for name in model.extensions}
    for name in sorted(wanted - evidence.keys()):
        if not Doc.has_extension(name):
            raise ValueError(
                f"the pipeline reads _.{name}, links of another aligner: give them by --evidence "
                f"{name}=FILE"
            )
    return sorted(evidence.keys() - wanted)


def aligned_lines(
    nlp: Language,
    source: Path,
    target: Path,
    batch_size: int | None,
    evidence: Mapping[str, Path] = NO_FILES,
) -> Iterator[str]:
    """The links of each pair of lines of two files, as of Pharaoh: "0-0 1-2", words from 0.

    evidence: see ``ParallelCorpus``. batch_size: of ``nlp.pipe``; None for that of the pipeline.
    Raises ValueError, naming the file and the line, for files that are not parallel, and where no
    component writes links.
    """
    pairs = nlp.pipe(read_pairs(nlp.vocab, source, target, evidence), batch_size=batch_size)
    for number, doc in enumerate(pairs, start=1):
        yield _line(doc, number)


def _line(doc: Doc, number: int) -> str:
    links = read_links(doc)
    if links is not None:
        return " ".join(f"{first}-{second}" for first, second in links.tolist())
    if not all(map(len, sides(doc))):
        return ""
    raise ValueError(
        f"line {number}, '{shorten(doc.text)}': no component has written doc._.alignment. A "
        "pipeline that aligns has the component ssvm_aligner"
    )


@contextmanager
def opened(file: Path | None, screen: TextIO) -> Iterator[TextIO]:
    """A file to write to, which takes its place once the block ends; None for the screen."""
    if file is None:
        yield screen
        return
    with replacing(file) as beside, beside.open("w", encoding="utf8", newline="\n") as lines:
        yield lines
