"""``ssvm_tagger`` with ``candidates``: words have few of many tags."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.components.costs import Costs
from spacy_ssvm.components.doc_arrays import with_sentence_starts
from spacy_ssvm.components.lattice import LatticePipe, build_lattice_pipe
from spacy_ssvm.components.settings import config_error
from spacy_ssvm.components.tagger import TagPipe
from spacy_ssvm.features.attributes import ByWord, TokenTable
from spacy_ssvm.kernels.types import Ints
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

    def label_docs(self, docs: list[Doc], overwrite: bool) -> tuple[ByWord, TokenTable]:
        tokens = self.model.reader.read(docs)
        return self.model.label(tokens, self.kept(docs, tokens, overwrite)), tokens


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
