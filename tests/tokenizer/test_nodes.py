"""Tests of ``spacy_ssvm/tokenizer/nodes.py``."""

from collections import defaultdict

import numpy as np
import pytest
from character_texts import drawn_texts, read, rises
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.attributes import ByWord
from spacy_ssvm.tokenizer import nodes as nodes_module
from spacy_ssvm.tokenizer.chunks import ENDING3, GAP, NOTHING_KNOWN, with_cases
from spacy_ssvm.tokenizer.nodes import (
    INNER,
    LABELS,
    NOTHING_CERTAIN,
    SENTENCE,
    STARTS,
    TOKEN,
    find_nodes,
    find_patterns,
    label_sets,
    labels_at,
    learn_contexts,
    restrict,
)
from spacy_ssvm.weights.hash_table import number_keys

pytestmark = pytest.mark.uncompiled

KNOWN = with_cases(NOTHING_KNOWN, {"a.": ["a", "."], "A": ["A"]})


@given(drawn_texts)
def test_nodes_are_what_is_not_known(texts: list[str]) -> None:
    codes, _, classes, chunks = read(texts)
    nodes = find_nodes(codes, classes, chunks, find_patterns(chunks, KNOWN), NOTHING_CERTAIN)
    joined, expected, chunk_nodes = "".join(texts), [], [0]
    firsts = {*chunks.text_chunks[:-1].tolist()}
    for i, (start, end) in enumerate(zip(chunks.starts, chunks.ends, strict=True)):
        is_known = joined[start:end] in ("a.", "A")
        expected += [] if i in firsts else [start]
        expected += [] if is_known else [*range(start + 1, end)]
        chunk_nodes.append(len(expected))
        assert (nodes.patterns[i] >= 0) == is_known
    assert nodes.positions.tolist() == expected
    assert nodes.chunk_nodes.tolist() == chunk_nodes
    assert nodes.text_nodes.tolist() == [chunk_nodes[c] for c in chunks.text_chunks]
    assert rises(nodes.positions)


def context(texts: list[str], position: int) -> object:
    """What decides whether something can begin at a character."""
    codes, _, classes, chunks = read(texts)
    joined = "".join(texts)
    chunk = int(np.searchsorted(chunks.starts, position, side="right")) - 1
    kinds = [(k, joined[i] if k == 8 else "") for i, k in enumerate(classes[codes].tolist())]
    if position == chunks.starts[chunk]:
        before = chunks.fields[chunk - 1, ENDING3], chunks.fields[chunk, GAP]
        return (*before, kinds[position])
    after = kinds[position + 1] if position + 1 < chunks.ends[chunk] else None
    return joined[position - 1 : position + 1], after


@given(drawn_texts, st.randoms(use_true_random=False))
def test_contexts_where_nothing_ever_begins_are_certain(texts: list[str], random) -> None:
    codes, _, classes, chunks = read(texts)
    nodes = find_nodes(
        codes, classes, chunks, find_patterns(chunks, NOTHING_KNOWN), NOTHING_CERTAIN
    )
    labels = ByWord(
        np.array(
            [random.choice([-1, SENTENCE, TOKEN, INNER, INNER]) for _ in nodes.positions], dtype=int
        )
    )
    are_first = restrict(chunks, nodes) == STARTS
    labels[are_first & (labels == INNER)] = TOKEN
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes_module, "_LEAST_CHUNKS", 1)
        patch.setattr(nodes_module, "_LEAST_CHARACTERS", 2)
        certain = learn_contexts(codes, classes, chunks, nodes, labels)
    by_context = defaultdict(list)
    for node, position in enumerate(nodes.positions.tolist()):
        by_context[context(texts, position)].append(node)
    kept = find_nodes(
        codes, classes, chunks, find_patterns(chunks, NOTHING_KNOWN), number_keys(certain)
    )
    expected = []
    for own in by_context.values():
        nothing = TOKEN if are_first[own[0]] else INNER
        never = all(labels[node] == nothing for node in own)
        if not (never and len(own) >= (1 if are_first[own[0]] else 2)):
            expected += own
    assert kept.positions.tolist() == sorted(nodes.positions[expected].tolist())


def test_a_first_character_is_not_inside_a_token() -> None:
    codes, _, classes, chunks = read(["ab c", "d"])
    nodes = find_nodes(
        codes, classes, chunks, find_patterns(chunks, NOTHING_KNOWN), NOTHING_CERTAIN
    )
    assert nodes.positions.tolist() == [1, 3]
    sets = restrict(chunks, nodes)
    assert sets.tolist() == [-1, STARTS]
    allowed = label_sets()[sets[1]]
    assert [LABELS[k] for k in np.flatnonzero(allowed)] == ["token", "sentence"]
    assert label_sets()[: len(LABELS)].tolist() == np.eye(3, dtype=bool).tolist()


def test_labels_say_what_begins() -> None:
    codes, _, classes, chunks = read(["ab c", "d"])
    nodes = find_nodes(
        codes, classes, chunks, find_patterns(chunks, NOTHING_KNOWN), NOTHING_CERTAIN
    )
    is_start, is_sentence = np.zeros((2, 5), dtype=bool)
    assert labels_at(nodes, is_start, is_sentence).tolist() == [INNER, INNER]
    is_start[[1, 3]] = True
    assert labels_at(nodes, is_start, is_sentence).tolist() == [TOKEN, TOKEN]
    is_sentence[3] = True
    assert labels_at(nodes, is_start, is_sentence).tolist() == [TOKEN, SENTENCE]
