"""The reader ``spacy_ssvm.AnnotatedCorpus.v1``: a corpus whose Docs have predicted annotations.

Annotations that a component reads must be present in training, with as many errors as in use: a
model annotates the corpus that it was trained on too well. The command ``jackknife`` writes
annotations of models that were not trained on the Docs; this reader puts them on the predicted
Docs of the examples, while the references keep the gold annotations.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus, Example
from spacy.training.corpus import FILE_TYPE, walk_corpus
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_ssvm.components.doc_arrays import aligned_marks, columns_of, write_columns
from spacy_ssvm.files import replacing, shorten
from spacy_ssvm.kernels.types import Keys

#: Annotations that can be carried over to the predicted Docs, and their attributes.
ANNOTATIONS: dict[str, tuple[int, ...]] = {
    "TAG": (TAG,),
    "POS": (POS,),
    "MORPH": (MORPH,),
    "LEMMA": (LEMMA,),
    "SENT_START": (SENT_START,),
    "ENTS": (ENT_IOB, ENT_TYPE),
}

_BEGIN, _INSIDE = 3, 1  # values of ENT_IOB


#: Their names in ``Doc.has_annotation``.
_KEYS = {name: "ENT_IOB" if name == "ENTS" else name for name in ANNOTATIONS}


def annotations_of(docs: Sequence[Doc]) -> tuple[str, ...]:
    """The names of the ANNOTATIONS that any of the Docs has."""
    return tuple(name for name, key in _KEYS.items() if any(d.has_annotation(key) for d in docs))


class FiledDoc(NamedTuple):
    """A Doc and its source."""

    file: Path
    number: int  #: in the file, from 1
    doc: Doc

    def __str__(self) -> str:
        return f"{self.file}, Doc {self.number}"


def read_docs(path: str | Path, vocab: Vocab) -> Iterator[FiledDoc]:
    """The Docs of a .spacy file, or of all those in a folder. Empty Docs are left out.

    Raises ValueError naming the path where there are no such files, or one is damaged.
    """
    with warnings.catch_warnings():  # spaCy only warns where it finds no files
        warnings.simplefilter("ignore")
        files = walk_corpus(path, FILE_TYPE)
    if not files:
        raise ValueError(f"{path} is not a {FILE_TYPE} file, nor a folder of such files")
    for file in files:
        for number, doc in enumerate(_docs(file, vocab), start=1):
            if len(doc):
                yield FiledDoc(file, number, doc)


def _docs(file: Path, vocab: Vocab) -> Iterator[Doc]:
    try:
        yield from DocBin().from_disk(file).get_docs(vocab)
    except OSError:
        raise
    except Exception as error:  # a damaged file can raise any
        raise ValueError(f"{file} is damaged, or not a {FILE_TYPE} file") from error


def write_docs(file: Path, docs: Iterable[Doc]) -> None:
    """Write a .spacy file atomically."""
    with replacing(file) as beside:
        DocBin(docs=docs).to_disk(beside)


def corpus_block(config: Config, key: str) -> tuple[str, dict[str, Any]]:
    """The block of a corpus that training names, and its name; empty where it is not there.

    key: of [training], "train_corpus" or "dev_corpus".
    """
    name: str = config["training"].get(key, f"corpora.{key.removesuffix('_corpus')}")
    block: dict[str, Any] = config
    for part in name.split("."):
        block = block.get(part, {})
    return name, dict(block)


class AnnotatedCorpus(Corpus):
    """Like spaCy's ``Corpus``, but the predicted Docs carry annotations.

    path: the gold corpus, a .spacy file or a folder of them; None, which paths of a config are
        until they are set, is an error.
    annotations: which, of "TAG", "POS", "MORPH", "LEMMA", "SENT_START" and "ENTS".
    annotated_path: a corpus of the same Docs that holds the annotations to carry over;
        None for the gold corpus itself.
    gold_preproc, max_length, limit, augmenter: as in ``spacy.Corpus.v1``.

    Annotations that do not align with the tokens of the predicted Doc are left out. Raises
    ValueError for annotations that do not exist, and where the corpora differ.

    >>> import os, spacy, tempfile
    >>> from spacy.tokens import Doc, DocBin
    >>> nlp = spacy.blank("en")
    >>> gold = Doc(nlp.vocab, words=["Dogs", "bark"], tags=["NNS", "VBP"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "gold.spacy")
    ...     DocBin(docs=[gold]).to_disk(path)
    ...     examples = [*AnnotatedCorpus(path, ["TAG"])(nlp)]
    >>> [token.tag_ for token in examples[0].predicted]
    ['NNS', 'VBP']
    """

    def __init__(
        self,
        path: str | Path | None,
        annotations: Sequence[str],
        *,
        annotated_path: str | Path | None = None,
        gold_preproc: bool = False,
        max_length: int = 0,
        limit: int = 0,
        augmenter: Callable[[Language, Example], Iterable[Example]] | None = None,
    ) -> None:
        if path is None:
            raise ValueError(Errors.E913)
        super().__init__(
            path,
            gold_preproc=gold_preproc,
            max_length=max_length,
            limit=limit,
            augmenter=augmenter,
        )
        unknown = [name for name in annotations if name not in ANNOTATIONS]
        if unknown or not annotations:
            raise ValueError(
                f"spacy_ssvm.AnnotatedCorpus.v1: {unknown or 'nothing'} cannot be carried over. "
                f"Choose annotations from {', '.join(ANNOTATIONS)}"
            )
        self.annotations = tuple(annotations)
        self.annotated_path = annotated_path

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """The examples."""
        columns = [column for name in self.annotations for column in ANNOTATIONS[name]]
        for gold, annotated in islice(self._pairs(nlp.vocab), self.limit or None):
            values = columns_of(annotated, columns)
            for part in self._parts(gold):
                reference = gold if len(part) == len(gold) else part.as_doc()
                example = self._make_example(nlp, reference, self.gold_preproc)
                for augmented in self.augmenter(nlp, example):
                    self._annotate(augmented, columns, values[part.start : part.end].copy())
                    yield augmented

    def _pairs(self, vocab: Vocab) -> Iterator[tuple[Doc, Doc]]:
        """The gold Docs, and the Docs that hold the annotations."""
        if self.annotated_path is None:
            yield from ((gold.doc, gold.doc) for gold in read_docs(self.path, vocab))
            return
        pairs = zip_longest(read_docs(self.path, vocab), read_docs(self.annotated_path, vocab))
        for gold, annotated in pairs:
            if gold is None or annotated is None:
                raise ValueError(
                    f"{self.path if gold is None else self.annotated_path} ends before "
                    f"{gold or annotated}: the gold and the annotated corpus must hold the "
                    "same Docs in the same order"
                )
            if not _same_tokens(gold.doc, annotated.doc):
                raise ValueError(
                    f"{annotated} has other tokens than {gold}, '{shorten(annotated.doc.text)}' "
                    f"and '{shorten(gold.doc.text)}': the gold and the annotated corpus must hold "
                    "the same Docs in the same order"
                )
            yield gold.doc, annotated.doc

    def _parts(self, gold: Doc) -> list[Span]:
        """The parts that become examples, as in ``spacy.Corpus.v1``."""
        has_sentences = gold.has_annotation("SENT_START")
        if self.gold_preproc and has_sentences:
            return list(gold.sents)
        if self.gold_preproc or not self.max_length or len(gold) < self.max_length:
            return [gold[:]]
        sentences = gold.sents if has_sentences else ()
        return [sentence for sentence in sentences if len(sentence) < self.max_length]

    def _annotate(self, example: Example, columns: list[int], values: Keys) -> None:
        """Annotate the predicted Doc.

        values: uint64 [tokens of the reference, columns].
        """
        reference = example.reference
        if len(values) != len(reference):
            raise ValueError(
                "spacy_ssvm.AnnotatedCorpus.v1: the augmenter has changed the number of tokens: "
                f"'{shorten(reference.text)}' cannot be annotated"
            )
        if ENT_IOB in columns and values[0, columns.index(ENT_IOB)] == _INSIDE:
            values[0, columns.index(ENT_IOB)] = _BEGIN  # the entity began in another part
        words = [token.text for token in reference]
        spaces = [bool(token.whitespace_) for token in reference]
        source = Doc(reference.vocab, words=words, spaces=spaces)
        write_columns(source, columns, values)
        if _same_tokens(example.predicted, source):
            write_columns(example.predicted, columns, values)
        else:
            _carry_over(Example(example.predicted, source), self.annotations)


def _carry_over(example: Example, annotations: Iterable[str]) -> None:
    """Annotate the predicted Doc as the reference is, where their tokens align."""
    predicted, source = example.predicted, example.reference
    for name in annotations:
        if name == "ENTS":
            known = source.has_annotation("ENT_IOB")
            entities = example.get_aligned_spans_y2x(source.ents, allow_overlap=False)
            predicted.set_ents(entities, default="outside" if known else "missing")
        elif name == "SENT_START":
            marks = aligned_marks(example).astype(np.uint64)
            write_columns(predicted, ANNOTATIONS[name], marks)
        else:
            aligned = [value or 0 for value in example.get_aligned(name)]
            values = np.array(aligned, dtype=np.uint64)
            write_columns(predicted, ANNOTATIONS[name], values)


def _same_tokens(one: Doc, other: Doc) -> bool:
    tokens = [ORTH, SPACY]
    return np.array_equal(columns_of(one, tokens), columns_of(other, tokens))
