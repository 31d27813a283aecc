"""Keys and values of the features of links, against a twin in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tree_tables import checked

from spacy_ssvm.align.matchings.inference import extract_link_keys
from spacy_ssvm.align.matchings.keys import CLASS_ENDS, POSITION_ENDS, relative_position
from spacy_ssvm.align.matchings.templates import LinkTemplate, compile_link_templates

pytestmark = pytest.mark.uncompiled

ATTRIBUTES, EVIDENCE = ("lower", "pos"), ("dice", "hmm")
TEXTS = [
    "source.lower", "target.lower", "source.lower+target.lower", "source.pos[-1]+target.pos[1]",
    "source.lower[2]", "target.lower[-2]", "source.lower+source.pos[1]",
    "same.lower", "same.pos", "same.lower[-1]", "same.lower+same.lower[1]", "same.pos+target.lower",
    "position", "position+source.pos",
    "bin.dice", "bin.hmm[1]", "bin.dice+bin.hmm", "bin.dice[-1]+rank.dice",
    "rank.dice", "rank.hmm[-1]", "rank.dice+rank.hmm",
    "dice", "hmm", "dice[-1]", "hmm[2]", "dice+source.lower", "dice+bin.hmm", "hmm+position",
    "dice+same.lower+target.pos[1]",
]  # fmt: skip
TEMPLATES = [LinkTemplate.parse(text) for text in TEXTS]
COMPILED = compile_link_templates(TEMPLATES, ATTRIBUTES, EVIDENCE)


def extracted(source, target, evidence, compiled=COMPILED):
    """Keys uint64 [m, n, T] and values float32 [m, n, T]."""
    shape = len(source), len(target), len(compiled.numbers)
    keys = np.full(shape, 7, dtype=np.uint64)
    values = np.full(shape, 7, dtype=np.float32)
    flat = (shape[0] * shape[1], shape[2])
    extract_link_keys(compiled, source, target, evidence, keys.reshape(flat), values.reshape(flat))
    return keys, values


class Twin:
    """The values of parts of templates, by definition; None where one does not fire."""

    def __init__(self, source, target, evidence):
        self.sides = {"source": source, "target": target}
        self.evidence = evidence
        self.m, self.n = len(source), len(target)

    def word(self, role, part, at):
        side = self.sides[role]
        i = at + part.offset
        if i < 0:
            return "before", -i
        if i >= len(side):
            return "after", i - len(side)
        return int(side[i, ATTRIBUTES.index(part.attribute)]) or None

    def number(self, name, j, k):
        """The number of a link, None outside."""
        if not (0 <= j < self.m and 0 <= k < self.n):
            return None
        return float(self.evidence[j, k, EVIDENCE.index(name)])

    def link(self, role, part, j, k):
        """The value of a part that reads both words."""
        j, k = j + part.offset, k + part.offset
        if not (0 <= j < self.m and 0 <= k < self.n):
            return "outside"
        if role == "same":
            column = ATTRIBUTES.index(part.attribute)
            values = int(self.sides["source"][j, column]), int(self.sides["target"][k, column])
            return True if values[0] == values[1] != 0 else None
        if role == "position":
            difference = (k + 0.5) / self.n - (j + 0.5) / self.m
            size = sum(abs(difference) > end for end in POSITION_ENDS)
            return size if difference >= 0 else -size
        number = self.number(part.attribute, j, k)
        if role == "bin":
            return sum(number > end for end in CLASS_ENDS) if number else None
        table = self.evidence[:, :, EVIDENCE.index(part.attribute)]
        largest = number == table[j].max(), number == table[:, k].max()
        return largest if number > 0 and any(largest) else None

    def feature(self, template, j, k):
        """(what the key stands for, value), or None where the template does not fire."""
        found, value = [], 1.0
        for role, part in ((p.role, p.part) for p in template.parts):
            if role in self.sides:
                found.append(self.word(role, part, j if role == "source" else k))
            elif role == "":
                value = self.number(part.attribute, j + part.offset, k + part.offset)
                found.append(True if value else None)
            else:
                found.append(self.link(role, part, j, k))
        return None if None in found else (tuple(found), value)


words = st.integers(1, 4).flatmap(
    lambda n: arrays(np.uint64, (n, len(ATTRIBUTES)), elements=st.integers(0, 3))
)
few_numbers = st.sampled_from([0.0, 0.0, 0.0005, 0.05, 0.5, 0.5, 0.995, 1.0, 3.0, -0.5])


@st.composite
def pairs(draw):
    source, target = draw(words), draw(words)
    shape = len(source), len(target), len(EVIDENCE)
    return source, target, draw(arrays(np.float32, shape, elements=few_numbers.map(np.float32)))


@checked
@given(pairs())
def test_keys_and_values_are_those_of_the_twin(pair):
    """Two links have the same key where they have the same feature; all keys are told apart."""
    keys, values = extracted(*pair)
    twin = Twin(*pair)
    features = {}
    for j, k, t in np.ndindex(keys.shape):
        found = twin.feature(TEMPLATES[t], j, k)
        assert (keys[j, k, t] == 0) == (found is None), (TEXTS[t], j, k)
        if found is not None:
            assert values[j, k, t] == np.float32(found[1])
            assert features.setdefault(keys[j, k, t], (t, found[0])) == (t, found[0])
    assert len(set(features.values())) == len(features)


def test_neighbours_that_do_not_exist_have_values_and_numbers_outside_do_not_fire():
    words = np.ones((2, 2), dtype=np.uint64)
    evidence = np.full((2, 2, 2), 0.5, dtype=np.float32)
    keys, _ = extracted(words, words, evidence)
    fires = {text: keys[:, :, t] != 0 for t, text in enumerate(TEXTS)}
    assert fires["source.lower[2]"].all()
    assert fires["same.lower[-1]"].all()
    assert fires["bin.hmm[1]"].all()
    assert fires["dice[-1]"].tolist() == [[False, False], [False, True]]
    assert not fires["hmm[2]"].any()


def test_a_number_is_read_where_its_offset_says():
    words = np.ones((3, 3), dtype=np.uint64)
    evidence = np.arange(1, 19, dtype=np.float32).reshape(3, 3, 2)
    keys, values = extracted(words, words, evidence)
    t = TEXTS.index("dice[-1]")
    np.testing.assert_array_equal(values[1:, 1:, t], evidence[:-1, :-1, 0])
    assert len(set(keys[1:, 1:, t].ravel().tolist())) == 1


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.0005, 0), (0.001, 0), (0.0011, 1), (0.01, 1), (0.5, 7), (0.51, 8), (0.99, 12), (1.0, 13),
     (7.0, 13), (-0.3, 0)],
)  # fmt: skip
def test_classes_of_numbers(number, expected):
    templates = [LinkTemplate.parse("bin.dice")]
    compiled = compile_link_templates(templates, ATTRIBUTES, EVIDENCE)
    word = np.ones((1, 2), dtype=np.uint64)

    def key(value):
        evidence = np.array([[[value, 0.0]]], dtype=np.float32)
        return extracted(word, word, evidence, compiled)[0][0, 0, 0]

    middles = [0.0005, *((CLASS_ENDS[1:] + CLASS_ENDS[:-1]) / 2), 0.995]
    nearly = np.nextafter(np.float32(number), np.float32(0))  # 0.001 in float32 is above it
    assert key(nearly) == key(middles[expected])
    assert len({int(key(middle)) for middle in middles}) == 14


def test_positions():
    assert relative_position(0, 1) == 0.5
    assert [relative_position(j, 4) for j in range(4)] == [0.125, 0.375, 0.625, 0.875]


def test_sides_are_not_mixed_up():
    """The words of a source and those of a target have other keys, in the same template."""
    compiled = compile_link_templates(
        [LinkTemplate.parse("source.lower+target.lower")], ATTRIBUTES, EVIDENCE
    )
    first, second = np.array([[1, 0]], dtype=np.uint64), np.array([[2, 0]], dtype=np.uint64)
    evidence = np.zeros((1, 1, 2), dtype=np.float32)
    there = extracted(first, second, evidence, compiled)[0]
    assert there != extracted(second, first, evidence, compiled)[0]
    assert there == extracted(first, second, evidence, compiled)[0]


@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (3, 0)])
def test_sides_without_words_have_no_links(m, n):
    words = np.ones((3, 2), dtype=np.uint64)
    keys, _ = extracted(words[:m], words[:n], np.zeros((m, n, 2), dtype=np.float32))
    assert keys.size == 0
