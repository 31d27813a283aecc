"""Texts with the decisions of a pipeline, and the reasons for them, as one HTML page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.commands.conversion.files import Settings, convert_file
from spacy_ssvm.commands.provenance import made
from spacy_ssvm.components import page
from spacy_ssvm.components.parser import DependencyParser
from spacy_ssvm.components.sequence import SequencePipe
from spacy_ssvm.storage import open_text, replacing


def choose(nlp: Language, names: Sequence[str] | None) -> list[str]:
    """The components whose decisions can be shown, or those that are named.

    Raises ValueError for one that cannot be shown, and where there is none.
    """
    able = [
        name for name, pipe in nlp.pipeline if isinstance(pipe, SequencePipe | DependencyParser)
    ]
    chosen = able if names is None else [name.strip() for name in names]
    unable = [name for name in chosen if name not in able]
    if unable or not chosen:
        what = f"component '{unable[0]}'" if unable else "component"
        raise ValueError(
            f"the pipeline has no {what} that can be shown; it has: {', '.join(able) or 'none'}. "
            "Taggers, senters, recognizers, chunkers and parsers of this package can"
        )
    return chosen


def rows_of(nlp: Language, doc: Doc, names: Sequence[str]) -> list[tuple[str, ...]]:
    """A row for each word of a Doc: the word, and the decision and confidence of each component.

    doc: as the pipeline has annotated it.
    """
    columns = []
    for name in names:
        pipe: Any = nlp.get_pipe(name)
        pairs = zip(pipe.decisions(doc), pipe.scores(doc).tolist(), strict=True)
        columns += list(zip(*((d.label, f"{score:.2f}") for d, score in pairs), strict=True))
    rows = zip([token.text for token in doc], *columns, strict=True)
    return [row for row, token in zip(rows, doc, strict=True) if not token.is_space]


def read_parts(
    nlp: Language,
    file: Path,
    names: Sequence[str] | None,
    *,
    texts: int,
    top: int,
    only_errors: bool,
) -> list[page.Part]:
    """The decisions of components about the texts of a file.

    names: of the components; None for all that can be shown.
    texts: the most texts to show. only_errors: whether to leave out those without errors.
    Raises ValueError for components that cannot be shown, a file that cannot be read, and one that
    has no annotation where only errors are asked for.
    """
    chosen = choose(nlp, names)
    references = _read(nlp, file)
    if only_errors and references is None:
        raise ValueError(f"{file} is plain text: only annotated files tell what is wrong")
    golds = [] if references is None else references
    docs = _texts(nlp, file) if references is None else _words(nlp, golds)
    if not only_errors:
        docs, golds = docs[:texts], golds[:texts]
    annotated = list(nlp.pipe(docs))
    parts = []
    for name in chosen:
        pipe: Any = nlp.get_pipe(name)
        part = page.read_part(pipe, annotated, golds or None, top=top, only_errors=only_errors)
        parts.append(part._replace(docs=part.docs[:texts]))
    return parts


def _read(nlp: Language, file: Path) -> list[Doc] | None:
    """The gold Docs of a file; None for plain text."""
    if file.suffix in (".txt", ".md") and not file.with_suffix(".ann").exists():
        return None
    return convert_file(file, spacy.blank(nlp.lang or "xx"), Settings()).docs


def _texts(nlp: Language, file: Path) -> list[Doc]:
    with open_text(file) as opened:
        paragraphs = [text.strip() for text in opened.read().split("\n\n")]
    docs = [nlp.make_doc(text) for text in paragraphs if text]
    if not docs:
        raise ValueError(f"{file} has no text")
    return docs


def _words(nlp: Language, golds: Sequence[Doc]) -> list[Doc]:
    """The Docs of gold texts; with their tokens where it is not known where spaces are."""
    return [
        Doc(nlp.vocab, words=[token.text for token in gold])
        if gold.has_unknown_spaces
        else nlp.make_doc(gold.text)
        for gold in golds
    ]


def write_page(
    file: Path, nlp: Language, model: str, source: Path, parts: Sequence[page.Part]
) -> None:
    """Write the page."""
    facts = {
        "pipeline": f"{model}: {', '.join(nlp.pipe_names)}",
        "texts": str(source),
        "made": made(),
    }
    html = page.render_page(f"{source.name}, as {model} reads it", facts, parts)
    with replacing(file) as beside:
        beside.write_text(html, encoding="utf8")
