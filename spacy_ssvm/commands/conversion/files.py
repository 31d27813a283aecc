"""Files of any known format to Docs, and the parts of a corpus."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.commands.conversion.brat import read_brat
from spacy_ssvm.commands.conversion.conllu import read_conllu
from spacy_ssvm.commands.conversion.offsets import LeftOut, make_docs
from spacy_ssvm.commands.conversion.records import ending_of, parse_record, read_records
from spacy_ssvm.commands.conversion.treebank import Treebank
from spacy_ssvm.commands.conversion.treebank import make_docs as make_treebank_docs
from spacy_ssvm.components.annotated_corpus import read_docs
from spacy_ssvm.components.columns import make_doc, read_documents
from spacy_ssvm.components.labeled_sentences import LabeledSentences

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


class Converted(NamedTuple):
    """What a file holds."""

    docs: list[Doc]
    left_out: list[LeftOut]
    skipped: int  #: records that were rejected, or not annotated
    treebank: Treebank | None = None


def annotation_file(path: Path) -> Path:
    """The .ann file of a text of brat's; any other file itself."""
    beside = path.with_suffix(".ann")
    return beside if path.suffix.lower() == ".txt" and beside.exists() else path


def convert_file(path: Path, nlp: Language, settings: Settings) -> Converted:
    """The Docs of a file, told by its ending, or of a folder of brat's files.

    Raises ValueError, naming file and line, where something is malformed, or there is no Doc.
    """
    converted = _convert(annotation_file(path), nlp, settings)
    if not converted.docs:
        raise ValueError(f"{path}: there are no sentences")
    return converted


def _convert(path: Path, nlp: Language, settings: Settings) -> Converted:
    key, encoding, ending = settings.spans_key, settings.encoding, ending_of(path)
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
        records = list(read_records(path, encoding))
        if records and _has_labelled_sentences(records[0][1]):
            reader = LabeledSentences(path, spans_key=key or "sentence_labels", encoding=encoding)
            return Converted([example.reference for example in reader(nlp)], [], 0)
        texts = [parse_record(record, place) for place, record in records]
        kept = [text for text in texts if text is not None]
        return Converted(*make_docs(nlp, kept, key), len(texts) - len(kept))
    if ending == ".conllu":
        number = SENTENCES if settings.sentences is None else settings.sentences
        sentences = [(one.is_first, one) for one in read_conllu(path, encoding)]
        groups = _groups(path, sentences, number)
        docs, treebank = make_treebank_docs(nlp, groups, as_words=settings.as_words)
        return Converted(docs, [], 0, treebank)
    make = partial(
        make_doc, word=settings.word, span=settings.span, tag=settings.tag, spans_key=key
    )
    made = [
        (is_first, make(nlp.vocab, path, tokens))
        for is_first, tokens in read_documents(path, encoding=encoding)
    ]
    groups = _groups(path, made, 1 if settings.sentences is None else settings.sentences)
    return Converted([_join(group) for group in groups], [], 0)


def _join(docs: Sequence[Doc]) -> Doc:
    """The Docs as one."""
    joined = docs[0] if len(docs) == 1 else Doc.from_docs([*docs], ensure_whitespace=False)
    assert joined is not None
    return joined


def _has_labelled_sentences(record: Any) -> bool:
    return isinstance(record, dict) and "sentences" in record


def _convert_brat(files: Sequence[Path], nlp: Language, settings: Settings) -> Converted:
    read = [read_brat(file, settings.encoding) for file in files]
    docs, left_out = make_docs(nlp, [text for text, _ in read], settings.spans_key)
    return Converted(docs, [*(one for _, pieces in read for one in pieces), *left_out], 0)


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
