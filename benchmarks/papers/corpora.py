"""The corpora of a folder: what they annotate, found by their names and contents."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from spacy.tokens import Doc
from spacy.training.converters.conllu_to_docs import conllu_to_docs
from spacy.vocab import Vocab

from spacy_ssvm.components.columns import Token, make_doc, read_sentences

#: The key of ``doc.spans`` with the phrases of a chunk corpus.
CHUNKS = "chunks"

#: The formats of files of links, by their endings: see ``ParallelCorpus``.
LINKS: dict[str, Literal["pharaoh", "naacl"]] = {".align": "pharaoh", ".naacl": "naacl"}

_TRAIN = re.compile(r"(?<![a-z])train(?![a-z])")
_DEV = ("dev", "valid", "val", "testa")
_TEST = ("test", "testb")
_COLUMNS = {".conll", ".iob", ".iob2", ".bio", ".txt"}
_IOB = re.compile(r"O|[BILUES]-.+")
_INSPECTED = 200  # sentences from which the columns of a file are told


class Corpus(NamedTuple):
    """A corpus, and its files."""

    name: str  #: of its own among those of its kind
    kind: str  #: "treebank", "entities", "chunks", "bitext" or "sentences"
    train: Path
    dev: Path | None
    test: Path | None

    @property
    def files(self) -> list[Path]:
        """All files, with those beside the texts of a bitext."""
        named = [file for file in (self.train, self.dev, self.test) if file is not None]
        if self.kind == "bitext":
            return [side for file in named for side in sides_of(file)]
        return named

    @property
    def language(self) -> str | None:
        """The code before the first underscore of the name, as in en_ewt; None for other names."""
        found = re.match("([a-z]{2,3})_", self.name.rpartition("/")[2])
        return found[1] if found else None

    @property
    def checksum(self) -> int:
        """Of the contents."""
        value = 0
        for file in self.files:
            value = crc32(file.read_bytes(), value)
        return value

    @property
    def size(self) -> int:
        """Of the training file, in bytes."""
        return self.train.stat().st_size


def find_corpora(folder: Path) -> list[Corpus]:
    """The corpora in a folder and those below it, the largest first.

    A training file has the word ``train`` in its name, which other files have replaced by ``dev``
    or ``valid``, and by ``test``. A corpus has the rest of this name, or that of its folder; of
    several with one name, each has the path of its training file.
    Raises ValueError where there are none.
    """
    found = []
    for file in sorted(folder.rglob("*")):
        kind = _kind(file) if file.is_file() and _TRAIN.search(file.stem) else None
        if kind is None:
            continue
        name = _TRAIN.sub("", file.stem).strip("-_.") or file.parent.name
        found.append(Corpus(name, kind, file, _beside(file, _DEV), _beside(file, _TEST)))
    counts = Counter((corpus.kind, corpus.name) for corpus in found)
    found = [
        corpus._replace(name=corpus.train.relative_to(folder).as_posix())
        if counts[corpus.kind, corpus.name] > 1
        else corpus
        for corpus in found
    ]
    if not found:
        raise ValueError(
            f"{folder} has no corpora: training files have 'train' in their names, and end in "
            ".conllu (trees), .conll, .iob2 or .txt (entities or chunks in columns), .align or "
            ".naacl with .src and .tgt beside it (aligned texts), or .jsonl (labeled sentences)"
        )
    return sorted(found, key=lambda corpus: (-corpus.size, corpus.name))


def sides_of(links: Path) -> tuple[Path, Path, Path]:
    """The two texts of a file of links, and itself."""
    return links.with_suffix(".src"), links.with_suffix(".tgt"), links


def _beside(file: Path, names: Iterable[str]) -> Path | None:
    """The file of another part in the same folder."""
    candidates = (file.with_name(_TRAIN.sub(name, file.stem) + file.suffix) for name in names)
    return next((path for path in candidates if path.is_file()), None)


def _kind(file: Path) -> str | None:
    """What a training file annotates; None for something else."""
    if file.suffix == ".conllu":
        return "treebank"
    if file.suffix == ".jsonl":
        return "sentences"
    if file.suffix in LINKS:
        return "bitext" if all(side.is_file() for side in sides_of(file)) else None
    if file.suffix in _COLUMNS:
        layout = _layout(file)
        return None if layout is None else layout.kind
    return None


# Reading


class _Layout(NamedTuple):
    """Where a file has its columns."""

    kind: str
    word: int
    span: int


def _layout(file: Path) -> _Layout | None:
    """The columns of a file with spans; None where it has none."""
    try:
        sentences = list(islice(read_sentences(file), _INSPECTED))
    except ValueError:
        return None
    rows = [token.columns for sentence in sentences for token in sentence]
    width = min(map(len, rows), default=0)
    spans = [
        column
        for column in range(1, width)
        if all(_IOB.fullmatch(row[column]) for row in rows)
        and any(row[column] != "O" for row in rows)
    ]
    if not spans:
        return None
    labels = {row[spans[-1]].partition("-")[2] for row in rows}
    is_numbered = all(
        token.columns[0] == str(i)
        for sentence in sentences
        for i, token in enumerate(sentence, start=1)
    )
    return _Layout("chunks" if "NP" in labels else "entities", int(is_numbered), spans[-1])


def read_treebank(file: Path) -> list[Doc]:
    """The sentences of a .conllu file. Raises ValueError naming it where it cannot be read."""
    try:
        text = file.read_text(encoding="utf8")
        return list(conllu_to_docs(text, n_sents=1, no_print=True))  # type: ignore[no-untyped-call]
    except Exception as error:  # the converter raises what int() and Doc() raise
        raise ValueError(f"{file}: cannot be read as CoNLL-U: {error}") from error


def read_columns(file: Path, vocab: Vocab) -> list[Doc]:
    """The sentences of a file of columns; those of chunks have tags beside the words, if any.

    Raises ValueError naming file and line.
    """
    layout = _layout(file)
    if layout is None:
        raise ValueError(f"{file}: no column has spans, such as B-LOC, I-LOC and O")
    key = CHUNKS if layout.kind == "chunks" else None
    beside = layout.word + 1
    tag = beside if key and beside < layout.span else None

    def doc_of(sentence: list[Token]) -> Doc:
        return make_doc(
            vocab, file, sentence, word=layout.word, span=layout.span, tag=tag, spans_key=key
        )

    return [doc_of(sentence) for sentence in read_sentences(file)]
