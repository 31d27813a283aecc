"""What is learned from each kind of corpora: settings of a component, and its examples.

Tokens, sentences, and the tags and lemmas that templates read are gold. The labels of arcs are
merged, so that arcs alone are learned, as in the papers; punctuation keeps its own, since the
scorer leaves it out. Sentences get two labels, the most frequent one and "other", which is what
a cut can tell apart exactly.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from benchmarks.papers.corpora import (
    CHUNKS,
    LINKS,
    Corpus,
    read_columns,
    read_treebank,
    sides_of,
)
from benchmarks.papers.phrases import write_phrases
from spacy_ssvm.align.reader import ParallelCorpus
from spacy_ssvm.sentences.reader import LabeledSentences

#: Parts of speech by the words of a sentence.
Tags = Mapping[tuple[str, ...], Sequence[str]]

_HELD_OUT = 10  # for a part without a file, one of as many examples is taken from train
_SENTENCES = "sentence_labels"  # the key of their spans


class Kind(NamedTuple):
    """What is learned from a kind of corpora."""

    corpus: str  #: see ``Corpus.kind``; phrases can be taken from treebanks, too
    factory: str
    config: dict[str, Any]
    score: str  #: as the component's scorer names it
    sentences: int | None = None  #: at most, for training
    reads: tuple[str, ...] = ()  #: what templates read: "tags", "lemmas", "resources"
    is_error: bool = False  #: whether the component's scorer returns an error, not a score


_CROSSING = {"order": 1, "projective": False}
_SECOND_ORDER = {**_CROSSING, "order": 2, "templates": ["parser", "grandparents"]}
_MARTINS = {**_CROSSING, "templates": ["parser684"], "hash_bits": 25}  # as in MSAF11
_TAGS = ("tags",)

KINDS: dict[str, Kind] = {
    "tags": Kind("treebank", "ssvm_tagger", {}, "tag_acc"),
    "entities": Kind("entities", "ssvm_ner", {}, "ents_f", reads=("resources",)),
    "entities, 452 templates": Kind(
        "entities", "ssvm_ner", {"templates": ["ner452"]}, "ents_f", reads=_TAGS
    ),
    "phrases": Kind(
        "chunks", "ssvm_chunker", {"templates": ["chunking96"]}, f"spans_{CHUNKS}_f", reads=_TAGS
    ),
    "arcs": Kind("treebank", "ssvm_parser", {"order": 1}, "dep_uas", reads=_TAGS),
    "crossing arcs": Kind("treebank", "ssvm_parser", _CROSSING, "dep_uas", reads=_TAGS),
    "crossing arcs, second order": Kind(
        "treebank", "ssvm_parser", _SECOND_ORDER, "dep_uas", reads=_TAGS
    ),
    "crossing arcs, 684 templates": Kind(
        *("treebank", "ssvm_parser", _MARTINS, "dep_uas"), sentences=1000, reads=("tags", "lemmas")
    ),
    "links": Kind("bitext", "ssvm_aligner", {}, "align_aer", is_error=True),
    "sentences": Kind(
        "sentences", "ssvm_sentence_labeler", {"decoder": "cut"}, "sentence_labels_acc"
    ),
}


def kind_of(task: str) -> str:
    """The name of the kind of a task, whose own is "KIND: CORPUS"."""
    return task.partition(": ")[0]


def corpus_of(task: str) -> str:
    """The name of the corpus of a task."""
    return task.partition(": ")[2]


class Parts(NamedTuple):
    """The examples of a corpus."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]


def read_tags(corpora: Iterable[Corpus]) -> Tags:
    """The parts of speech in all treebanks."""
    return {
        tuple(token.text for token in doc): [token.pos_ for token in doc]
        for corpus in corpora
        if corpus.kind == "treebank"
        for file in corpus.files
        for doc in read_treebank(file)
    }


def read_parts(nlp: Language, kind: Kind, corpus: Corpus, tags: Tags) -> Parts:
    """The examples of a corpus.

    With one file beside that of train, examples are tested on it, and dev is a part of train; with
    none, both are. tags: for sentences of corpora that have none, if they are read.
    Raises ValueError naming a file that cannot be read, and its line where possible.
    """

    def read(file: Path) -> list[Example]:
        return _READERS[corpus.kind](nlp, kind, file, tags)

    train = read(corpus.train)
    held_out = [read(file) for file in (corpus.dev, corpus.test) if file is not None]
    while len(held_out) < 2:
        held_out.insert(0, train[_HELD_OUT - 1 :: _HELD_OUT])
        del train[_HELD_OUT - 1 :: _HELD_OUT]
    dev, test = held_out
    if kind.corpus == "sentences":
        most = _most_frequent(train)
        for example in (*train, *dev, *test):
            _merge_others(example.reference, most)
    return Parts(train, dev, test)


def _read_trees(nlp: Language, kind: Kind, file: Path, tags: Tags) -> list[Example]:
    docs = read_treebank(file)
    for doc in docs:
        if kind.corpus == "chunks":
            write_phrases(doc, CHUNKS)
        for token in doc:
            if token.dep_ not in ("punct", "ROOT"):
                token.dep_ = "dep"
    return [_example(nlp, kind, doc) for doc in docs]


def _read_spans(nlp: Language, kind: Kind, file: Path, tags: Tags) -> list[Example]:
    docs = read_columns(file, nlp.vocab)
    for doc in docs:
        if "tags" not in kind.reads or doc.has_annotation("TAG"):
            continue
        found = tags.get(tuple(token.text for token in doc), ())
        for token, tag in zip(doc, found, strict=False):
            token.tag_ = token.pos_ = tag
    return [_example(nlp, kind, doc) for doc in docs]


def _example(nlp: Language, kind: Kind, gold: Doc) -> Example:
    """An example whose predicted Doc has what is read, and nothing of what is learned."""
    reads_tags, reads_lemmas = "tags" in kind.reads, "lemmas" in kind.reads
    predicted = Doc(
        nlp.vocab,
        words=[token.text for token in gold],
        spaces=[bool(token.whitespace_) for token in gold],
        tags=[token.tag_ for token in gold] if reads_tags else None,
        pos=[token.pos_ for token in gold] if reads_tags else None,
        lemmas=[token.lemma_ for token in gold] if reads_lemmas else None,
        sent_starts=[token.is_sent_start for token in gold],
    )
    return Example(predicted, gold)


def _read_pairs(nlp: Language, kind: Kind, file: Path, tags: Tags) -> list[Example]:
    return list(ParallelCorpus(*sides_of(file), format=LINKS[file.suffix])(nlp))


def _read_sentences(nlp: Language, kind: Kind, file: Path, tags: Tags) -> list[Example]:
    return list(LabeledSentences(file, spans_key=_SENTENCES)(nlp))


_READERS = {
    "treebank": _read_trees,
    "entities": _read_spans,
    "chunks": _read_spans,
    "bitext": _read_pairs,
    "sentences": _read_sentences,
}


def _most_frequent(examples: Iterable[Example]) -> str:
    """The most frequent label of sentences, of equal ones the last in the alphabet."""
    counts: Counter[str] = Counter(
        span.label_ for example in examples for span in example.reference.spans[_SENTENCES]
    )
    return max(counts, key=lambda label: (counts[label], label))


def _merge_others(doc: Doc, kept: str) -> None:
    """Replace the labels of sentences, but one, by the same."""
    doc.spans[_SENTENCES] = [
        span if span.label_ == kept else Span(doc, span.start, span.end, label="other")
        for span in doc.spans[_SENTENCES]
    ]
