"""Learns tokenizers from texts whose tokens and sentences are known."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.chains.training import ChainTrainer, LabelledTokens, divide_chains
from spacy_ssvm.features.attributes import ByWord
from spacy_ssvm.kernels.types import Flags, Ints, Keys
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.tokenizer.characters import CHARACTERS
from spacy_ssvm.tokenizer.chunks import TEXT, Chunks, find_chunks, learn_chunks
from spacy_ssvm.tokenizer.model import Texts, TokenizerModel
from spacy_ssvm.tokenizer.nodes import (
    INNER,
    NOTHING_CERTAIN,
    SENTENCE,
    STARTS,
    TOKEN,
    labels_at,
    learn_contexts,
    restrict,
)
from spacy_ssvm.weights.hash_table import number_keys

_BATCH = 2**17  # characters that are read at a time


class GoldText(NamedTuple):
    """A text with its tokens."""

    text: str
    starts: Ints  #: int64: the first characters of tokens
    sentences: Ints | None  #: int64: the first characters of sentences; None where not annotated
    #: int64: the first characters of tokens of which it is not known whether they begin one.
    unmarked: Ints = np.zeros(0, dtype=np.int64)


def learn(
    model: TokenizerModel, gold: Sequence[GoldText], solver: DualCoordinateDescent, epochs: int
) -> None:
    """Learn the weights of a model, and the chunks that are always cut in the same way.

    Each chunk is decided over its characters where it occurs first: from these, the model learns to
    cut what it does not know.
    """
    kept = model.special_cases, model.norms
    codes, text_starts, chunks = find_chunks([one.text for one in gold])
    learned = learn_chunks(chunks, *_marks(gold, len(codes), text_starts))
    model.know(learned, NOTHING_CERTAIN, *kept)
    texts = model.read_texts([one.text for one in gold], _FirstOccurrences())
    has_sentences = any(one.sentences is not None for one in gold)
    labels = _labels(gold, texts, has_sentences)
    contexts = learn_contexts(texts.codes, CHARACTERS.classes, texts.chunks, texts.nodes, labels)
    model.know(learned, number_keys(contexts), *kept)

    model.define(model.templates, model.labels)
    trainer = ChainTrainer(model, solver)
    numbers: list[int] = []
    is_new = _FirstOccurrences()
    for batch in _batches(gold):
        texts = model.read_texts([one.text for one in batch], is_new)
        labels = _labels(batch, texts, has_sentences)
        table = texts.table
        chains = divide_chains(table, labels == SENTENCE)
        for found in trainer.add(LabelledTokens(table, labels, chains)):
            numbers += found
    for _ in range(epochs):
        trainer.epoch(np.array(numbers, dtype=np.int64))
    trainer.update_model()


class _FirstOccurrences:
    """Whether chunks occur for the first time, in batches of texts."""

    def __init__(self) -> None:
        self._seen: Keys = np.zeros(0, dtype=np.uint64)

    def __call__(self, chunks: Chunks) -> Flags:
        keys, first = np.unique(chunks.fields[:, TEXT], return_index=True)
        is_first = np.zeros(len(chunks.starts), dtype=bool)
        is_first[first[~np.isin(keys, self._seen)]] = True
        self._seen = np.union1d(self._seen, keys)
        return is_first


def _batches(gold: Sequence[GoldText]) -> Iterator[list[GoldText]]:
    batch: list[GoldText] = []
    size = 0
    for one in gold:
        batch.append(one)
        size += 1 + len(one.text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _labels(gold: Sequence[GoldText], texts: Texts, has_sentences: bool) -> ByWord:
    """The labels of the nodes of texts, -1 for any.

    has_sentences: whether sentences are annotated anywhere: where they are not, any label may then
        be right at the first characters of chunks.
    """
    nodes, chunks = texts.nodes, texts.chunks
    labels = labels_at(nodes, *_marks(gold, len(texts.codes), texts.text_starts))
    are_first = restrict(chunks, nodes) == STARTS
    labels[are_first & (labels == INNER)] = TOKEN  # of tokens with whitespace in them
    if has_sentences:
        is_open = _at([one.unmarked for one in gold], len(texts.codes), texts.text_starts)
        of_texts = np.array([one.sentences is None for one in gold], dtype=bool)
        are_open = np.repeat(of_texts, np.diff(nodes.text_nodes)) | is_open[nodes.positions]
        labels[are_first & are_open] = -1
    return labels


def _marks(gold: Sequence[GoldText], characters: int, text_starts: Ints) -> tuple[Flags, Flags]:
    """Where tokens and sentences begin in texts: bool [characters] each."""
    sentences = [one.starts[:0] if one.sentences is None else one.sentences for one in gold]
    is_start = _at([one.starts for one in gold], characters, text_starts)
    return is_start, _at(sentences, characters, text_starts)


def _at(places: Sequence[Ints], characters: int, text_starts: Ints) -> Flags:
    """Whether characters are at these places of texts: bool [characters]."""
    found = np.zeros(characters, dtype=bool)
    for own, start in zip(places, text_starts.tolist(), strict=False):
        found[start + own] = True
    return found
