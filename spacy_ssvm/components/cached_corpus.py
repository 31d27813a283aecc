"""The reader ``spacy_ssvm.CachedCorpus.v1``: a corpus that is read once.

``spacy train`` reads the development corpus at each evaluation, and the training corpus at
``initialize`` and again for training.
"""

from collections.abc import Callable, Iterable, Iterator

from spacy.language import Language
from spacy.training import Example
from spacy.vocab import Vocab


class CachedCorpus:
    """The examples of another reader, which are kept in memory.

    corpus: the reader. What it draws at random, as augmenters do, is drawn once.

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
        self._vocab: Vocab | None = None
        self._examples: list[Example] = []

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Examples with the same references each time, and copies of the predicted Docs."""
        if self._vocab is not nlp.vocab:
            self._examples = list(self.corpus(nlp))
            self._vocab = nlp.vocab
        for example in self._examples:
            yield Example(example.predicted.copy(), example.reference)
