"""Texts with the decisions of a pipeline, and the reasons for them, as one HTML page."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.commands import pipelines
from spacy_ssvm.commands.conversion.files import (
    Converted,
    Settings,
    annotation_file,
    convert_file,
)
from spacy_ssvm.commands.pipelines import annotate_in_stages, finds_sentences, made, title_of
from spacy_ssvm.commands.scores import name_of, shown_with_arcs
from spacy_ssvm.components import page
from spacy_ssvm.components.json_records import ending_of
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.files import read_text, replacing, shorten


class Texts(NamedTuple):
    """Docs for a pipeline to annotate."""

    docs: list[Doc]
    golds: list[Doc] | None  #: with gold annotation; None where there is none
    converted: Sequence[Converted] = ()  #: as an annotated file was read


class Table(NamedTuple):
    """What is decided about units of one kind."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def choose(nlp: Language, names: Sequence[str] | None, *, pairs: bool = False) -> list[str]:
    """The components whose decisions can be shown, or those that are named.

    pairs: whether pairs of texts are shown, about which word aligners alone decide.
    Raises ValueError for one that cannot be shown, and where there is none.
    """
    able = [
        name
        for name, pipe in nlp.pipeline
        if isinstance(pipe, page.ExplainablePipe) and pipe.reads_pairs == pairs
    ]
    chosen = able if names is None else list(names)
    unable = [name for name in chosen if name not in able]
    if not any(isinstance(pipe, page.ExplainablePipe) for _, pipe in nlp.pipeline):
        raise ValueError(
            "decisions of this package's components can be shown, and the pipeline has none of "
            f"them: it has {', '.join(nlp.pipe_names) or 'no components'}. Train some with 'python "
            "-m spacy ssvm train', or replace its own with 'python -m spacy ssvm swap'"
        )
    if unable or not chosen:
        what = f"component '{unable[0]}'" if unable else "component"
        which = (
            "Of pairs of texts, word aligners of this package can"
            if pairs
            else "Taggers, senters, recognizers, chunkers, parsers and sentence labelers of this "
            "package can; word aligners need pairs of texts: 'show --target', or show(doc) in a "
            "notebook"
        )
        raise ValueError(
            f"the pipeline has no {what} that can be shown; it has: {', '.join(able) or 'none'}. "
            f"{which}"
        )
    return chosen


def tables_of(nlp: Language, text: str, names: Sequence[str]) -> list[Table]:
    """The decisions about a text, with confidence: first those about words, in one table."""
    of_words: list[_Column] = []
    others: list[list[_Column]] = []
    docs = [nlp.make_doc(text)]
    for pipe, (doc,) in annotate_in_stages(nlp, docs, names):
        column = _Column(pipe.name, pipe.units, pipe.decisions(doc))
        if pipe.units == page.WORDS:
            of_words.append(column)
        else:
            others.append([column])
    return [_table(docs[0], own) for own in ([of_words, *others] if of_words else others)]


class _Column(NamedTuple):
    """What a component has decided."""

    name: str
    units: str
    decisions: list[page.Decision[Any]]


def _table(doc: Doc, columns: Sequence[_Column]) -> Table:
    """A row for each unit: its text, and what each component has decided, with confidence."""
    cells: dict[tuple[int, int], list[str]] = {}
    for number, column in enumerate(columns):
        for d in column.decisions:
            row = cells.setdefault((d.start, d.end), [""] * 2 * len(columns))
            row[2 * number : 2 * number + 2] = str(d.label), f"{d.score:.2f}"
    header = (columns[0].units, *(title for column in columns for title in (column.name, "conf.")))
    return Table(header, [(shorten(doc[a:b].text), *row) for (a, b), row in sorted(cells.items())])


def read_texts(
    nlp: Language,
    file: Path,
    settings: Settings,
    target: Path | None = None,
    alignment: Path | None = None,
) -> Texts:
    """The texts of a file, annotated or not; or its pairs with the lines of a translation.

    alignment: the links of the pairs.
    Raises ValueError for a file that cannot be read, one without a text, and where the files do not
    fit together.
    """
    if target is not None:
        examples = pipelines.read_pairs(nlp, file, target, alignment)
        golds = None if alignment is None else [example.reference for example in examples]
        return Texts([example.predicted for example in examples], golds)
    if ending_of(annotation_file(file)) in (".txt", ".md"):
        return Texts(_texts(nlp, file, settings.encoding), None)
    # Scorers look strings of predicted Docs up in the vocabulary of gold ones.
    own = spacy.blank(nlp.lang or "xx", vocab=nlp.vocab)
    converted = convert_file(file, own, settings)
    return Texts(words_of(nlp, converted.docs), converted.docs, [converted])


def read_parts(
    nlp: Language, found: Texts, names: Sequence[str], *, texts: int, top: int, only_errors: bool
) -> list[page.ComponentView]:
    """The decisions of components about texts.

    names: of the components, see ``choose``.
    texts: the most texts to show. only_errors: whether to leave out those without errors.
    Raises ValueError where only errors are asked for and nothing tells what is wrong.
    """
    docs, golds = found.docs, found.golds
    if only_errors and golds is None:
        raise ValueError("there is no annotation that tells what is wrong")
    if not only_errors:
        docs, golds = docs[:texts], golds and golds[:texts]
    parts = [
        page.read_part(pipe, found, golds, top=top, texts=texts, only_errors=only_errors)._replace(
            scores=_scores(pipe, found, golds)
        )
        for pipe, found in annotate_in_stages(nlp, docs, names)
    ]
    if only_errors and not any(part.known for part in parts):
        raise ValueError(f"the file has no annotation for {', '.join(names)}")
    return parts


def _scores(pipe: Any, docs: Sequence[Doc], golds: Sequence[Doc] | None) -> str:
    """The scores of what a component has annotated, as text; "" where none are known."""
    if golds is None:
        return ""
    found = pipe.score([Example(*pair) for pair in zip(docs, golds, strict=True)])
    names = shown_with_arcs(found)
    return ", ".join(f"{name_of(name)} {100 * found[name]:.1f} %" for name in names)


def _texts(nlp: Language, file: Path, encoding: str) -> list[Doc]:
    text = read_text(file, encoding)
    paragraphs = [text.strip() for text in re.split(r"\n[^\S\n]*\n", text)]
    docs = [nlp.make_doc(text) for text in paragraphs if text]
    if not docs:
        raise ValueError(f"{file} has no text")
    return docs


def words_of(nlp: Language, golds: Sequence[Doc]) -> list[Doc]:
    """The Docs of gold texts; with their tokens where it is not known where spaces are.

    With their sentences where those get labels and no component finds them.
    """
    if _needs_sentences(nlp):
        return [
            Doc(
                nlp.vocab,
                words=[token.text for token in gold],
                spaces=[bool(token.whitespace_) for token in gold],
                sent_starts=[bool(token.is_sent_start) for token in gold],
            )
            for gold in golds
        ]
    return [
        Doc(nlp.vocab, words=[token.text for token in gold])
        if gold.has_unknown_spaces
        else nlp.make_doc(gold.text)
        for gold in golds
    ]


def _needs_sentences(nlp: Language) -> bool:
    return not any(finds_sentences(nlp, name) for name in nlp.pipe_names) and any(
        isinstance(pipe, Pipe) and pipe.needs_sentences for _, pipe in nlp.pipeline
    )


def rows_of(parts: Sequence[page.ComponentView]) -> list[tuple[str, int, str, int]]:
    """Of each component: the number of texts that are shown, of known units, and of wrong ones."""
    return [
        (
            part.name,
            len(part.docs),
            f"{part.known:,} {part.units}" if part.known else "-",
            part.wrong,
        )
        for part in parts
    ]


def write_page(
    file: Path,
    nlp: Language,
    model: str,
    source: Path,
    found: Texts,
    parts: Sequence[page.ComponentView],
) -> None:
    """Write the page."""
    left_out = [one for own in found.converted for one in own.left_out]
    spans = sum(bool(one.label) for one in left_out)
    wrong = len(left_out) - spans
    facts = {
        "pipeline": f"{model}: {', '.join(nlp.pipe_names)}",
        "texts": str(source),
        **({"left out": f"{spans} spans that do not match the words"} if spans else {}),
        **({"left out as well": f"{wrong} records that cannot be used"} if wrong else {}),
        "made": made(),
    }
    html = page.render_page(f"{title_of(model)} on {source.name}", facts, parts)
    with replacing(file) as beside:
        beside.write_text(html, encoding="utf8")
