"""Tests of ``spacy_ssvm/tokenizer/tokens.py``."""

from itertools import pairwise

import numpy as np
import pytest
import spacy
from character_texts import drawn_texts, read
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokenizer import Tokenizer

from spacy_ssvm.tokenizer.chunks import NOTHING_KNOWN, with_cases
from spacy_ssvm.tokenizer.nodes import (
    INNER,
    NOTHING_CERTAIN,
    SENTENCE,
    TOKEN,
    find_nodes,
    find_patterns,
)
from spacy_ssvm.tokenizer.tokens import Tokens, find_tokens

pytestmark = pytest.mark.uncompiled

KNOWN = with_cases(NOTHING_KNOWN, {"a.": ["a", "."], "bb": ["bb"]})
#: SpaCy's tokenizer without rules, which cuts at whitespace alone.
PLAIN = Tokenizer(spacy.blank("xx").vocab)


def tokens_of(texts: list[str], label) -> Tokens:
    """The tokens of texts. label: that of a character."""
    codes, starts, classes, chunks = read(texts)
    nodes = find_nodes(codes, classes, chunks, find_patterns(chunks, KNOWN), NOTHING_CERTAIN)
    labels = np.array([label(position) for position in nodes.positions.tolist()], dtype=np.int64)
    return find_tokens(codes, starts, chunks, KNOWN, nodes, labels)


@given(drawn_texts)
def test_whitespace_becomes_what_spacy_makes_of_it(texts: list[str]) -> None:
    tokens = tokens_of(texts, lambda _: INNER)
    start = 0
    for text, (a, b) in zip(texts, pairwise(tokens.text_tokens.tolist()), strict=True):
        own = [
            [token.idx, token.idx + len(token), bool(token.whitespace_)] for token in PLAIN(text)
        ]
        merged = []  # known chunks are cut
        for first, end, space in zip(
            tokens.starts[a:b] - start, tokens.ends[a:b] - start, tokens.has_space[a:b], strict=True
        ):
            if text[first:end] == "." and text[first - 1] == "a" and merged:
                merged[-1][1:] = [end, bool(space)]
            else:
                merged.append([first, end, bool(space)])
        assert merged == own
        start += len(text)


@given(drawn_texts, st.randoms(use_true_random=False))
def test_tokens_begin_where_labels_say(texts: list[str], random) -> None:
    labels = [random.choice([SENTENCE, TOKEN, INNER]) for _ in "".join(texts)]
    codes, _, classes, chunks = read(texts)
    nodes = find_nodes(codes, classes, chunks, find_patterns(chunks, KNOWN), NOTHING_CERTAIN)
    at_chunks = {*chunks.starts.tolist()}
    of_nodes = {
        i: TOKEN if i in at_chunks and labels[i] == INNER else labels[i]
        for i in nodes.positions.tolist()
    }
    tokens = tokens_of(texts, of_nodes.__getitem__)
    begins = {i for i, label in of_nodes.items() if label != INNER} | at_chunks
    for start, end, pattern in zip(chunks.starts, chunks.ends, nodes.patterns, strict=True):
        if pattern >= 0 and end - start == 2 and "".join(texts)[start + 1] == ".":
            begins.add(start + 1)
    sentences = {i for i, label in of_nodes.items() if label == SENTENCE}
    joined = "".join(texts)
    words = [not joined[a:b].isspace() for a, b in zip(tokens.starts, tokens.ends, strict=True)]
    assert {*tokens.starts[words].tolist()} == begins
    firsts = [a for a, b in pairwise(tokens.text_tokens.tolist()) if a < b]
    assert tokens.is_sentence[firsts].all()
    others = np.array(words, dtype=bool)
    others[firsts] = False
    assert {*tokens.starts[others & tokens.is_sentence].tolist()} == sentences - {
        *tokens.starts[firsts].tolist()
    }


@given(drawn_texts)
def test_tokens_and_blanks_make_up_the_texts(texts: list[str]) -> None:
    tokens = tokens_of(texts, lambda i: [TOKEN, SENTENCE][i % 2])
    joined = "".join(texts)
    assert tokens.text_tokens[0] == 0
    assert tokens.text_tokens[-1] == len(tokens.starts)
    for text, start, (a, b) in zip(
        texts, np.cumsum([0, *map(len, texts)]), pairwise(tokens.text_tokens.tolist()), strict=False
    ):
        made = "".join(
            joined[tokens.starts[t] : tokens.ends[t]] + " " * bool(tokens.has_space[t])
            for t in range(a, b)
        )
        assert made == text
        assert a == b or tokens.starts[a] == start
