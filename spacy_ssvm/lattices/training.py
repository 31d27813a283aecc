"""Trains models of lattices.

Docs with their gold annotation become examples of the problem, one for each sentence; the solver
improves the weights; ``update_model`` writes them to the model in compact form.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.chains.training import Chains, divide_chains
from spacy_ssvm.decoders.lattice import Candidates
from spacy_ssvm.features.attributes import Doc, TokenTable
from spacy_ssvm.features.extraction import extract_keys
from spacy_ssvm.features.text_hash import hash_word
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys
from spacy_ssvm.labelings.training import WordTrainer
from spacy_ssvm.lattices.candidates import LEMMAS, RULES, WordKeys, collect_candidates
from spacy_ssvm.lattices.labels import WHOLE
from spacy_ssvm.lattices.model import Annotation, LatticeModel, annotation_read
from spacy_ssvm.lattices.problem import LatticeProblem
from spacy_ssvm.weights.feature_index import find_rows
from spacy_ssvm.weights.growing import GrowingArray, gather_ranges


class AnnotatedTokens(NamedTuple):
    """The words of a batch of Docs with their gold annotation."""

    tokens: TokenTable
    annotation: Annotation
    chains: Chains | None = None  #: None for those of the sentences of ``tokens``


def read_annotated(
    model: LatticeModel,
    docs: Sequence[Doc],
    gold: Sequence[Ints],
    inputs: Sequence[Keys] | None,
    views: Ints,
    *,
    with_reals: bool = True,
) -> AnnotatedTokens:
    """The words of Docs with their gold annotation; whitespace is left out.

    gold: int64 [tokens, V] for each Doc, -1 where it is not known. For a model of whole Docs,
        [tokens, V + 1]: the last column is 1 where sequences are divided in training.
    views: see ``Annotation``. inputs, with_reals: see ``AttributeReader.read``.
    """
    tokens = model.reader.read(docs, inputs=inputs, with_reals=with_reals)
    of_tokens, chains = np.concatenate(gold), None
    if model.whole_docs:
        chains = divide_chains(tokens, of_tokens[:, -1] > 0)
        of_tokens = of_tokens[:, :-1]
    values = np.ascontiguousarray(of_tokens[tokens.positions])
    return AnnotatedTokens(tokens, Annotation(values, views), chains)


def learn_candidates(model: LatticeModel, batches: Iterable[AnnotatedTokens]) -> None:
    """Set the candidates of words to those of a corpus.

    They depend on the annotation that templates read, as far as the corpus has it. Labels without
    parts are edit scripts, those that make the lemmas of a dictionary.
    """
    names, found = annotation_read(model.templates, model.scheme), set[str]()
    has_scripts = model.scheme == WHOLE and LEMMAS in model.reader.names
    scripts = model.labels if has_scripts else ()

    def words() -> Iterable[tuple[WordKeys, Ints]]:
        for tokens, annotation, _ in batches:
            for name in names:
                if tokens.attributes[:, model.reader.names.index(name)].any():
                    found.add(name)
            places, labels = labels_of(annotation)
            keys = model.word_keys(tokens, names)
            yield WordKeys(keys.words[places], keys.endings[places]), labels

    values = np.array([hash_word(script) for script in scripts], dtype=np.uint64)
    table = collect_candidates(words(), len(model.labels), RULES[model.scheme], values)
    model.set_candidates(table, [name for name in names if name in found])


def labels_of(annotation: Annotation) -> tuple[Ints, Ints]:
    """The annotated words, and the labels that agree: int64, a word once for each of them."""
    different, inverse = np.unique(annotation.values, axis=0, return_inverse=True)
    is_known = different[:, None] != -1
    agrees = np.all(~is_known | (different[:, None] == annotation.views), axis=2)
    rows, labels = np.nonzero(agrees & is_known.any(axis=2))
    starts = np.searchsorted(rows, np.arange(len(different) + 1))
    found, ends = gather_ranges(GrowingArray(np.int64, starts), inverse.reshape(-1))
    return np.repeat(np.arange(len(inverse)), np.diff(ends.array)), labels[found]


def only_labels(annotation: Annotation) -> Ints:
    """The label of each word that one agrees with, and no other: int64 [words], -1 elsewhere."""
    words, labels = labels_of(annotation)
    found = np.full(len(annotation.values), -1, dtype=np.int64)
    found[words] = labels
    found[np.bincount(words, minlength=len(found)) > 1] = -1
    return found


def gold_candidates(model: LatticeModel, batch: AnnotatedTokens) -> tuple[Candidates, Flags]:
    """The candidates of words in training, and which agree with their gold annotation.

    Where none does, the labels that do are added.
    """
    as_new = RULES[model.scheme].keeps_own
    return model.candidates(batch.tokens, batch.annotation, adds=True, as_new=as_new)


class LatticeTrainer(WordTrainer):
    """A run of a solver on Docs that arrive in batches; see ``WordTrainer``."""

    model: LatticeModel
    problem: LatticeProblem

    def _new_problem(self, costs: Floats | None, legality: Floats | None) -> LatticeProblem:  # noqa: ARG002
        return LatticeProblem(self.model.system.parts, self.model.system.levels)

    def add(self, batch: AnnotatedTokens) -> list[range]:
        """Make examples of the sentences of Docs; return the numbers of each Doc's examples.

        Words with one candidate have no features.
        """
        tokens, _, chains = batch
        reals = self.real_values(tokens)
        (candidate_starts, labels), agrees = gold_candidates(self.model, batch)
        shape = len(tokens.attributes), len(self.model.compiled.seeds)
        keys = np.empty(shape, dtype=np.uint64)
        extract_keys(self.model.compiled, tokens.attributes, tokens.sentence_starts, keys)
        ends = tokens.sentence_starts, tokens.doc_sentences
        if chains is not None:
            ends = chains.starts, chains.doc_chains
            keys, reals = keys[chains.words], reals[chains.words]
            starts = GrowingArray(np.int64, candidate_starts)
            chosen, starts = gather_ranges(starts, chains.words)
            candidate_starts, labels, agrees = starts.array, labels[chosen], agrees[chosen]
        has_choice = np.diff(candidate_starts) > 1
        self.index.insert(keys[has_choice])
        own_starts = np.empty(int(has_choice.sum()) + 1, dtype=np.int64)
        rows = np.empty(keys.size, dtype=np.int32)
        size = find_rows(self.index.table, keys[has_choice], own_starts, rows)
        sizes = np.zeros(len(keys), dtype=np.int64)
        sizes[has_choice] = np.diff(own_starts)
        feature_starts = np.concatenate([[0], np.cumsum(sizes)])
        examples = candidate_starts, labels, agrees, reals
        return self._append(ends[1], feature_starts, rows[:size], ends[0], *examples)
