"""``ssvm_tagger`` with ``candidates``: words have few of many tags."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.components.costs import Costs
from spacy_ssvm.components.doc_arrays import with_sentence_starts
from spacy_ssvm.components.lattice import LatticePipe, build_lattice_pipe
from spacy_ssvm.components.settings import config_error
from spacy_ssvm.components.tagger import WHITESPACE, TagPipe
from spacy_ssvm.features.attributes import scatter_to_tokens
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.lattices.labels import TAGS
from spacy_ssvm.lattices.model import LatticeModel
from spacy_ssvm.lattices.training import AnnotatedTokens


class CandidateTagger(TagPipe[LatticeModel, AnnotatedTokens], LatticePipe):
    """Writes ``token.tag`` or ``token.pos``, as ``Tagger`` does.

    A word has the tags that it, similar words and words with its ending were seen with in training.
    """

    def views(self) -> Ints:
        """The labels themselves: int64 [K, 1]."""
        return np.arange(len(self.labels), dtype=np.int64)[:, None]

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The numbers of the gold tags: int64 [tokens, 1] each, -1 for none.

        With ``whole_docs``, [tokens, 2]: the second column is 1 where a gold sentence starts.
        """
        gold = [labels[:, None] for labels in self.gold_tags(examples)]
        return with_sentence_starts(gold, examples) if self.model.whole_docs else gold

    def present(self, docs: Sequence[Doc]) -> Ints:
        """The tags that the Docs have, as labels: int64 [tokens, 1], -1 for none."""
        return self.label_numbers(self.present_tags(docs))[:, None]

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write to each token: uint64 [tokens] for each Doc, hashes of the tags."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros(0, dtype=np.uint64) for _ in docs]
        self._require_labels()
        self._sync()
        names = (*self.labels, WHITESPACE[self.cfg["attribute"]])  # the last is number -1
        overwrite = self.cfg["overwrite"]
        tokens = self.model.reader.read(docs)
        labels = self.model.label(tokens, self.kept(docs, tokens, overwrite))
        tags = self._values(names)[scatter_to_tokens(labels, tokens, fill=-1)]
        if not overwrite:
            present = self.present_tags(docs)
            tags = np.where(present != 0, present, tags)
        return [tags[start:end] for start, end in pairwise(tokens.doc_starts.tolist())]


def build_candidate_tagger(
    vocab: Vocab, name: str, *, costs: Costs, **settings: Any
) -> CandidateTagger:
    """A tagger with candidates, with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    if costs:
        raise config_error(
            name, "costs", "with candidates, each wrong tag costs 1: leave costs out, or candidates"
        )
    component: CandidateTagger = build_lattice_pipe(
        CandidateTagger, vocab, name, scheme=TAGS, candidates=True, **settings
    )
    return component
