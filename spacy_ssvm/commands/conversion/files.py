"""Files of any known format to Docs, and the parts of a corpus."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from string import digits
from typing import Any, NamedTuple, TypeVar

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

from spacy_ssvm.commands.conversion.brat import read_brat
from spacy_ssvm.commands.conversion.conllu import read_conllu
from spacy_ssvm.commands.conversion.offsets import AnnotatedText, LeftOut, bad_record, make_docs
from spacy_ssvm.commands.conversion.records import parse_record
from spacy_ssvm.commands.conversion.tables import Table, read_table
from spacy_ssvm.commands.conversion.treebank import Treebank
from spacy_ssvm.commands.conversion.treebank import make_docs as make_treebank_docs
from spacy_ssvm.components.annotated_corpus import read_docs
from spacy_ssvm.components.columns import make_doc, read_documents
from spacy_ssvm.components.json_records import ending_of, read_records

_MOST_LISTED = 10

T = TypeVar("T")
FoundT = TypeVar("FoundT")

#: Sentences in a Doc of a treebank, where nothing else is asked for.
SENTENCES = 10


class Settings(NamedTuple):
    """How files are read; what one format needs is ignored by the others."""

    word: int = 0  #: column
    span: int | None = -1  #: column
    tag: int | None = None  #: column
    spans_key: str | None = None  #: of ``doc.spans``; None for ``doc.ents``
    #: In a Doc; 0 for those of a document; None for one in column files, ten in treebanks.
    sentences: int | None = None
    encoding: str = "utf8"
    as_words: bool = False  #: whether the tokens of treebanks are words, not pieces of the text
    #: Whether the tokens of treebanks that stand for several words are divided wherever possible.
    divides_all: bool = False
    utf16: bool = False  #: whether offsets count units of UTF-16, not characters


class Converted(NamedTuple):
    """What a file holds."""

    docs: list[Doc]
    left_out: list[LeftOut]  #: spans, and records that are wrong
    skipped: int  #: records that were rejected, or not annotated
    treebank: Treebank | None = None


def annotation_file(path: Path) -> Path:
    """The .ann file of a text of brat's; any other file itself."""
    beside = path.with_suffix(".ann")
    return beside if path.suffix.lower() == ".txt" and beside.exists() else path


def convert_file(path: Path, nlp: Language, settings: Settings) -> Converted:
    """The Docs of a file, told by its ending, or of a folder of brat's files.

    Raises ValueError, naming file and line, where nothing can be used.
    """
    converted = _convert(annotation_file(path), nlp, settings)
    if not converted.docs:
        raise ValueError(listed(converted.left_out) or f"{path}: there are no sentences")
    return converted


def listed(things: Sequence[object], most: int = _MOST_LISTED) -> str:
    """A line for each of the first ones, and how many more there are."""
    more = [f"... and {len(things) - most} more"] if len(things) > most else []
    return "\n".join([*map(str, things[:most]), *more])


def _read_each(
    path: Path, items: Iterable[T], read: Callable[[T], FoundT], bad: list[LeftOut]
) -> list[FoundT]:
    """What can be read; errors, whose messages begin with the path, are added to those before."""
    found = []
    for item in items:
        try:
            found.append(read(item))
        except ValueError as error:
            bad.append(bad_record(path, error))
    return found


def _convert(path: Path, nlp: Language, settings: Settings) -> Converted:
    encoding, ending = settings.encoding, ending_of(path)
    bad: list[LeftOut] = []
    if path.is_dir():
        files = sorted(path.rglob("*.ann"))
        if not files:
            raise ValueError(f"{path}: there are no .ann files of brat in this folder")
        return _convert_brat(files, nlp, settings)
    if ending == ".ann":
        return _convert_brat([path], nlp, settings)
    if ending == ".spacy":
        return Converted([filed.doc for filed in read_docs(path, nlp.vocab)], [], 0)
    if ending in (".json", ".jsonl"):
        return _convert_records(path, nlp, settings)
    if ending == ".conllu":
        number = SENTENCES if settings.sentences is None else settings.sentences
        read = read_conllu(path, encoding, lambda error: bad.append(bad_record(path, error)))
        groups = _groups(path, [(one.is_first, one) for one in read], number)
        docs, treebank = make_treebank_docs(
            nlp, groups, as_words=settings.as_words, divides_all=settings.divides_all
        )
        return Converted(docs, bad, 0, treebank)
    table = read_table(path, encoding) if ending in (".csv", ".tsv") else None
    if table is not None and table.word is None:
        places = ((f"{path}, line {row.number}", row) for row in table.rows if row.columns)
        records = _read_each(
            path, places, lambda found: (found[0], table.record(found[1], found[0])), bad
        )
        return _make_docs(path, records, bad, nlp, settings)
    made = _read_columns(path, table, nlp, settings, bad)
    groups = _groups(path, made, 1 if settings.sentences is None else settings.sentences)
    return Converted([_join(group) for group in groups], bad, 0)


def _join(docs: Sequence[Doc]) -> Doc:
    """The Docs as one."""
    joined = docs[0] if len(docs) == 1 else Doc.from_docs([*docs], ensure_whitespace=False)
    assert joined is not None
    return joined


def _read_columns(
    path: Path, table: Table | None, nlp: Language, settings: Settings, bad: list[LeftOut]
) -> list[tuple[bool, Doc]]:
    """The sentences of a file of columns, or of a table of words.

    The columns of the settings count, and where these are not given, those that a table names.
    """
    word, span, tag = settings.word, settings.span, settings.tag
    if table is None:
        documents = read_documents(path, encoding=settings.encoding)
    else:
        documents = ((False, sentence) for sentence in table.sentences())
        word = word or table.word or 0
        span = table.span if span == -1 else span
        tag = table.tag if tag is None else tag
    make = partial(make_doc, word=word, span=span, tag=tag, spans_key=settings.spans_key)
    sentences, is_first = list[tuple[bool, Doc]](), False
    for begins, tokens in documents:
        is_first |= begins
        for doc in _read_each(path, [tokens], partial(make, nlp.vocab, path), bad):
            sentences.append((is_first, doc))
            is_first = False
    return sentences


def _convert_records(path: Path, nlp: Language, settings: Settings) -> Converted:
    key, bad = settings.spans_key, list[LeftOut]()
    records = list(
        read_records(path, settings.encoding, lambda error: bad.append(bad_record(path, error)))
    )
    if not any(isinstance(record, dict) and "sentences" in record for _, record in records):
        return _make_docs(path, records, bad, nlp, settings)
    make_reader = registry.readers.get("spacy_ssvm.LabeledSentences.v1")
    reader = make_reader(path, spans_key=key or "sentence_labels")
    examples = _read_each(
        path, records, lambda found: reader.make_example(nlp, found[1], found[0]), bad
    )
    return Converted([example.reference for example in examples], _in_order(bad), 0)


def _make_docs(
    path: Path,
    records: Iterable[tuple[str, Any]],
    bad: list[LeftOut],
    nlp: Language,
    settings: Settings,
) -> Converted:
    """The Docs of texts with character offsets. bad: other records of the file."""
    texts = _read_each(path, records, lambda found: parse_record(found[1], found[0]), bad)
    kept = [text for text in texts if text is not None]
    docs, left_out = make_docs(nlp, kept, settings.spans_key, utf16=settings.utf16)
    return Converted(docs, _in_order([*bad, *left_out]), len(texts) - len(kept))


def _in_order(left_out: Sequence[LeftOut]) -> list[LeftOut]:
    """What is left out of one file, by the number of the line or record."""
    return sorted(left_out, key=lambda one: int(one.place[len(one.place.rstrip(digits)) :] or 0))


def _convert_brat(files: Sequence[Path], nlp: Language, settings: Settings) -> Converted:
    texts: list[AnnotatedText] = []
    left_out: list[LeftOut] = []
    for file in files:
        for text, pieces in _read_each(
            file, [file], lambda path: read_brat(path, settings.encoding), left_out
        ):
            texts.append(text)
            left_out += pieces
    docs, spans = make_docs(nlp, texts, settings.spans_key, utf16=settings.utf16)
    return Converted(docs, [*left_out, *spans], 0)


def _groups(path: Path, sentences: Sequence[tuple[bool, Any]], number: int) -> list[list[Any]]:
    """The sentences of each Doc: so many, 0 for all of a document, and never of two documents.

    sentences: each after whether a document begins with it.
    """
    if not number and sentences and not any(is_first for is_first, _ in sentences):
        raise ValueError(
            f"{path}: no line -DOCSTART- or '# newdoc' tells where a document begins; give the "
            "number of sentences in a Doc with --sentences"
        )
    groups: list[list[Any]] = []
    for is_first, sentence in sentences:
        if not groups or is_first or len(groups[-1]) == number:
            groups.append([])
        groups[-1].append(sentence)
    return groups


def split(docs: Sequence[Doc], shares: dict[str, float], seed: int) -> dict[str, list[Doc]]:
    """The Docs of each part, in their order, at random; copies of a text are in one part.

    shares: of the texts, by the name of the part; "train" has the others.
    Raises ValueError where a part would be empty.
    """
    texts = [*dict.fromkeys(doc.text for doc in docs)]
    Random(seed).shuffle(texts)
    part_of = dict.fromkeys(texts, "train")
    start = 0
    for name, share in shares.items():
        end = start + max(1, round(share * len(texts)))
        part_of.update(dict.fromkeys(texts[start:end], name))
        start = end
    parts = {
        name: [doc for doc in docs if part_of[doc.text] == name] for name in ("train", *shares)
    }
    empty = [name for name, own in parts.items() if not own]
    if empty:
        raise ValueError(
            f"{len(texts)} different texts are too few for the parts {', '.join(parts)}: nothing "
            f"would be left for {', '.join(empty)}"
        )
    return parts
