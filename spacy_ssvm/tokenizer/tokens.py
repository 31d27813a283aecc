"""From the labels of nodes to tokens."""

from typing import NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import inlined_kernel, kernel
from spacy_ssvm.kernels.types import Flags, Ints, ShortKeys
from spacy_ssvm.tokenizer.chunks import Chunks, KnownChunks
from spacy_ssvm.tokenizer.nodes import INNER, SENTENCE, Nodes

_BLANK = np.uint32(ord(" "))


class Tokens(NamedTuple):
    """The tokens of a batch of texts, with those of whitespace that spaCy makes."""

    starts: Ints  #: int64 [tokens]: the first character
    ends: Ints  #: int64 [tokens]: after the last one
    has_space: Flags  #: bool [tokens]: whether a blank follows that is no token
    is_sentence: Flags  #: bool [tokens]: whether a sentence begins
    text_tokens: Ints  #: int64 [texts + 1]: the first token of each text


@kernel
def find_tokens(
    codes: ShortKeys,
    text_starts: Ints,
    chunks: Chunks,
    known: KnownChunks,
    nodes: Nodes,
    labels: Ints,
) -> Tokens:
    """The tokens of texts, by the labels of their nodes."""
    number = _most_tokens(text_starts, known, nodes)
    starts = np.empty(number, dtype=np.int64)
    ends = np.empty(number, dtype=np.int64)
    has_space = np.zeros(number, dtype=np.bool_)
    is_sentence = np.zeros(number, dtype=np.bool_)
    text_tokens = np.zeros(len(text_starts), dtype=np.int64)
    token = 0
    for text in range(len(text_starts) - 1):
        first_token, end = token, text_starts[text]
        end_chunk = chunks.text_chunks[text + 1]
        for chunk in range(chunks.text_chunks[text], end_chunk + 1):
            start = chunks.starts[chunk] if chunk < end_chunk else text_starts[text + 1]
            if end < start and token > first_token and codes[end] == _BLANK:
                has_space[token - 1] = True
                end += 1
            if end < start:
                starts[token], ends[token] = end, start
                token += 1
            if chunk < end_chunk:
                before, end = token, chunks.ends[chunk]
                token = _cut(chunks, known, nodes, labels, chunk, before, starts, is_sentence)
                ends[before : token - 1] = starts[before + 1 : token]
                ends[token - 1] = end
        text_tokens[text + 1] = token
        if token > first_token:
            is_sentence[first_token] = True
    return Tokens(starts[:token], ends[:token], has_space[:token], is_sentence[:token], text_tokens)


@inlined_kernel
def _most_tokens(text_starts: Ints, known: KnownChunks, nodes: Nodes) -> int:
    """The largest number of tokens that texts can have."""
    chunks = len(nodes.patterns)
    number = len(nodes.positions) + 2 * chunks + len(text_starts)  # with whitespace
    for chunk in range(chunks):
        pattern = nodes.patterns[chunk]
        if pattern >= 0:
            number += known.cut_starts[pattern + 1] - known.cut_starts[pattern]
    return number


@inlined_kernel
def _cut(
    chunks: Chunks,
    known: KnownChunks,
    nodes: Nodes,
    labels: Ints,
    chunk: int,
    token: int,
    starts: Ints,
    is_sentence: Flags,
) -> int:
    """Write where the tokens of a chunk start, from ``token`` on; return the next one."""
    starts[token] = chunks.starts[chunk]
    next_token = token + 1
    for node in range(nodes.chunk_nodes[chunk], nodes.chunk_nodes[chunk + 1]):
        if nodes.positions[node] == chunks.starts[chunk]:
            is_sentence[token] = labels[node] == SENTENCE
        elif labels[node] != INNER:
            starts[next_token] = nodes.positions[node]
            is_sentence[next_token] = labels[node] == SENTENCE
            next_token += 1
    pattern = nodes.patterns[chunk]
    if pattern >= 0:
        for i in range(known.cut_starts[pattern], known.cut_starts[pattern + 1]):
            starts[next_token] = chunks.starts[chunk] + known.cuts[i]
            next_token += 1
    return next_token
