"""Trains models of label sequences.

Docs with their gold labels become examples of the problem, one for each sentence, or part of one;
the solver improves the weights; ``update_model`` writes them to the model in compact form.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.features.attributes import ByWord, Doc, TokenTable, sentence_firsts
from spacy_ssvm.features.extraction import extract_keys
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys
from spacy_ssvm.labelings.training import WordTrainer
from spacy_ssvm.weights.feature_index import find_rows


class Chains(NamedTuple):
    """The label sequences that are learned from a batch of Docs."""

    words: Ints  #: int64, of the batch; the words at the ends of a chain may be in two of them
    starts: Ints  #: int64 [chains + 1]: where each chain begins in ``words``
    doc_chains: Ints  #: int64 [docs + 1]: the first chain of each Doc


class LabelledTokens(NamedTuple):
    """The words of a batch of Docs with their gold labels."""

    tokens: TokenTable
    labels: ByWord  #: int64 [words]: -1 for none
    chains: Chains | None = None  #: None for those of the sentences of ``tokens``


def read_labelled(
    model: ChainModel,
    docs: Sequence[Doc],
    gold: Sequence[Ints],
    inputs: Sequence[Keys] | None = None,
) -> LabelledTokens:
    """The words of Docs with their gold labels.

    gold: int64 [tokens] for each Doc, a label, or -1 for none. Whitespace is left out. Or
        [tokens, 2]: the second column is 1 where sequences are divided in training.
    inputs: see ``AttributeReader.read``.
    """
    tokens = model.reader.read(docs, inputs=inputs)
    of_tokens = np.concatenate(gold)
    if of_tokens.ndim == 1:
        return LabelledTokens(tokens, ByWord(of_tokens[tokens.positions]))
    labels = ByWord(of_tokens[tokens.positions, 0])
    return LabelledTokens(tokens, labels, divide_chains(tokens, of_tokens[:, 1] > 0))


def divide_chains(tokens: TokenTable, marks: Flags) -> Chains:
    """Chains that begin at marked tokens, each with the word before it and the one after it.

    The words on both sides are there to learn the transitions between the chains. Whole Docs are
    a chain each where nothing is marked.

    tokens: whose Docs are one sentence each. marks: bool [tokens].
    """
    number = len(tokens.positions)
    firsts = np.append(sentence_firsts(marks, tokens.doc_starts, tokens.positions), number)
    doc_firsts = tokens.sentence_starts[tokens.doc_sentences]
    doc = np.searchsorted(doc_firsts, firsts[:-1], side="right") - 1
    begin = np.maximum(firsts[:-1] - 1, doc_firsts[doc])
    end = np.minimum(firsts[1:] + 1, doc_firsts[doc + 1])
    starts = np.concatenate([[0], np.cumsum(end - begin)])
    words = np.arange(starts[-1]) + np.repeat(begin - starts[:-1], end - begin)
    return Chains(words, starts, np.searchsorted(firsts, doc_firsts))


class ChainTrainer(WordTrainer):
    """A run of a solver on Docs that arrive in batches; see ``WordTrainer``."""

    model: ChainModel
    problem: ChainProblem

    def _new_problem(self, costs: Floats | None, legality: Floats | None) -> ChainProblem:
        return ChainProblem(len(self.model.labels), costs=costs, legality=legality)

    def add(self, batch: LabelledTokens) -> list[range]:
        """Make examples of the chains of Docs; return the numbers of each Doc's examples."""
        tokens, labels, chains = batch
        reals = self.real_values(tokens)
        shape = len(tokens.attributes), len(self.model.compiled.seeds)
        keys = np.empty(shape, dtype=np.uint64)
        extract_keys(self.model.compiled, tokens.attributes, tokens.sentence_starts, keys)
        self.index.insert(keys)
        ends = tokens.sentence_starts, tokens.doc_sentences
        if chains is not None:
            ends = chains.starts, chains.doc_chains
            keys, reals = keys[chains.words], reals[chains.words]
            labels = ByWord(labels[chains.words])
        starts = np.empty(len(keys) + 1, dtype=np.int64)
        rows = np.empty(keys.size, dtype=np.int32)
        size = find_rows(self.index.table, keys, starts, rows)
        chain_starts, doc_chains = ends
        gold = np.where(labels < 0, self.problem.any_label, labels)
        return self._append(doc_chains, starts, rows[:size], chain_starts, gold, reals)
