"""The training corpus, and the parts of it that workers read.

A part is a range of examples. Where the corpus is spaCy's, with nothing that makes other examples
of its Docs, those of each file are counted without making Docs of them, and workers open only files
in which they have some, and of a URL copy only these. Any other corpus is read from its beginning.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example, dont_augment
from spacy.training.corpus import FILE_TYPE, walk_corpus
from spacy.util import registry, resolve_dot_names

from spacy_ssvm.components.annotated_corpus import corpus_block
from spacy_ssvm.distributed.remote_files import RemoteFiles, is_url
from spacy_ssvm.files import UNREADABLE
from spacy_ssvm.kernels.types import Ints

_BY_DOC = ("tokens", "spaces", "cats", "span_groups", "flags", "user_data")  # lists of a DocBin


class Measured(NamedTuple):
    """What is known of a corpus."""

    lengths: list[int]  #: of the examples, in words
    files: list[int] | None  #: how many examples each has; None where they are not known


class Shard(NamedTuple):
    """A part of a corpus."""

    first: int
    last: int  #: the one behind it
    files: list[int] | None  #: see ``Measured``


def train_corpus(nlp: Language) -> Iterator[Example]:
    """The examples of the training corpus, in their order."""
    return iter(_open(nlp).reader(nlp))


class _Opened(NamedTuple):
    """The training corpus."""

    reader: Any
    remote: RemoteFiles | None = None  #: its files, where they are copied one by one

    @property
    def is_plain(self) -> bool:
        """Whether the examples are the Docs of files, one after another."""
        reader = self.reader
        return (
            type(reader) is Corpus
            and not (reader.gold_preproc or reader.max_length or reader.limit or reader.shuffle)
            and reader.augmenter is dont_augment
        )

    @property
    def files(self) -> list[Path]:
        if self.remote is not None:
            return [file for file in self.remote.files if file.name.endswith(FILE_TYPE)]
        return list(map(Path, walk_corpus(self.reader.path, FILE_TYPE)))

    def read(self, path: Path) -> DocBin:
        if self.remote is None:
            return _read(path)
        self.remote.fetch(path)
        return _read(path, self.remote.files[path])


def _open(nlp: Language) -> _Opened:
    config = nlp.config.interpolate()
    name, block = corpus_block(config, "train_corpus")
    urls = {key: value for key, value in block.items() if is_url(value)}
    if not urls:
        (reader,) = resolve_dot_names(config, [name])
        return _Opened(reader)
    if block.get("@readers") == "spacy.Corpus.v1" and [*urls] == ["path"]:
        remote = RemoteFiles(urls["path"])
        opened = _Opened(_resolve({**block, "path": str(remote.path)}), remote)
        if opened.is_plain:
            return opened
    paths = {key: str(RemoteFiles(url).fetch_all()) for key, url in urls.items()}
    return _Opened(_resolve({**block, **paths}))


def _resolve(block: dict[str, Any]) -> Any:
    """The reader of a block of a config."""
    return registry.resolve({"corpus": block})["corpus"]


def measure(nlp: Language) -> Measured:
    """Measure the training corpus. Raises ValueError where it has no examples."""
    opened, files = _open(nlp), None
    if opened.is_plain:
        by_file = [_lengths(opened.read(path)) for path in opened.files]
        files = [int(np.count_nonzero(found)) for found in by_file]
        lengths = [n for found in by_file for n in found.tolist() if n]
    else:
        lengths = [len(example.predicted) for example in opened.reader(nlp)]
    if not lengths:
        raise ValueError("the training corpus has no examples: check [corpora.train] path")
    return Measured(lengths, files)


def divide(
    lengths: Sequence[int], number: int, speeds: Sequence[float] | None = None
) -> list[tuple[int, int]]:
    """Parts with about as many words each, as ranges of examples.

    lengths: of the examples, in words. speeds: of those that get the parts, which then have words
        in proportion to them. Raises ValueError for fewer examples than parts.
    """
    if len(lengths) < number:
        raise ValueError(
            f"the training corpus has {len(lengths)} examples: at most as many workers have any"
        )
    ends = np.cumsum(lengths)
    shares = np.cumsum(np.ones(number) if speeds is None else speeds)
    bounds = np.searchsorted(ends, ends[-1] * shares[:-1] / shares[-1]).tolist()
    firsts = [0]
    for k, bound in enumerate(bounds, start=1):
        firsts.append(min(max(bound, firsts[-1] + 1), len(lengths) - number + k))
    return list(zip(firsts, [*firsts[1:], len(lengths)], strict=True))


def read_shard(nlp: Language, shard: Shard) -> Iterator[Example]:
    """The examples of a part of the training corpus.

    Raises ValueError where files are not those that were measured.
    """
    opened = _open(nlp)
    if shard.files is None:
        return islice(opened.reader(nlp), shard.first, shard.last)
    return iter(opened.reader.make_examples(nlp, _docs(nlp, opened, shard)))


def _docs(nlp: Language, opened: _Opened, shard: Shard) -> Iterator[Doc]:
    """The Docs of a part."""
    assert shard.files is not None
    paths = opened.files
    if len(paths) != len(shard.files):
        raise ValueError(
            f"this machine has {len(paths)} files of the training corpus, and the one that trains "
            f"{len(shard.files)}: all need the same"
        )
    end = 0
    for path, number in zip(paths, shard.files, strict=True):
        start, end = end, end + number
        if number == 0 or end <= shard.first or start >= shard.last:
            continue
        docbin = opened.read(path)
        filled = np.flatnonzero(_lengths(docbin))
        if len(filled) != number:
            raise ValueError(
                f"{path}: has {len(filled)} Docs on this machine, and {number} on the one that "
                "trains: all need the same files"
            )
        own = filled[max(shard.first - start, 0) : shard.last - start].tolist()
        for name in _BY_DOC:
            values = getattr(docbin, name)
            setattr(docbin, name, [values[i] for i in own])
        yield from docbin.get_docs(nlp.vocab)


def _read(path: Path, source: str | None = None) -> DocBin:
    """The Docs of a file. source: what messages call it."""
    source = source or str(path)
    try:
        docbin = DocBin().from_disk(path)
    except (*UNREADABLE, AssertionError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{source}: cannot be read: {error}") from error
    if len({len(getattr(docbin, name)) for name in _BY_DOC}) > 1:
        raise ValueError(f"{source}: damaged: not all Docs have all parts")
    return docbin


def _lengths(docbin: DocBin) -> Ints:
    return np.array([len(tokens) for tokens in docbin.tokens], dtype=np.int64)
