"""The reader ``spacy_ssvm.CachedCorpus.v1``: a corpus that is read once.

``spacy train`` reads the development corpus at each evaluation, and the training corpus at
``initialize`` and again for training.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.training import Example
from spacy.training.corpus import create_docbin_reader


def make_cached_corpus(
    path: Path | None,
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[..., Any] | None = None,
) -> "CachedCorpus":
    """A reader of .spacy files, with the settings of ``spacy.Corpus.v1``, that reads them once.

    path: a .spacy file or a folder of them; None, which paths of a config are by default, is an
        error.
    gold_preproc: whether each sentence is an example, with gold tokens.
    max_length: longer Docs are divided into sentences, or left out; 0 for no limit.
    limit: as many Docs are read; 0 for all.
    augmenter: makes further examples of each, once.
    Raises ValueError where there is no path.
    """
    return CachedCorpus(create_docbin_reader(path, gold_preproc, max_length, limit, augmenter))


class CachedCorpus:
    """The examples of another reader, which are kept in memory.

    corpus: the reader. What it draws at random, as augmenters do, is drawn once.

    They are read again for another vocabulary, and once a tokenizer has learned from them.

    >>> import spacy
    >>> from spacy.tokens import Doc
    >>> nlp = spacy.blank("en")
    >>> gold = Doc(nlp.vocab, words=["Dogs", "bark"], tags=["NNS", "VBP"])
    >>> corpus = CachedCorpus(lambda nlp: [Example(nlp.make_doc(gold.text), gold)])
    >>> [example.reference is gold for _ in range(2) for example in corpus(nlp)]
    [True, True]
    """

    def __init__(self, corpus: Callable[[Language], Iterable[Example]]) -> None:
        self.corpus = corpus
        self._source: tuple[object, object] = None, None
        self._examples: list[Example] = []

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Examples with the same references each time, and copies of the predicted Docs."""
        source = nlp.vocab, getattr(nlp.tokenizer, "model", None)
        if any(one is not other for one, other in zip(self._source, source, strict=True)):
            self._examples = list(self.corpus(nlp))
            self._source = source
        for example in self._examples:
            yield Example(example.predicted.copy(), example.reference)
