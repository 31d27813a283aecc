"""The parts of labels, and the levels at which steps between them are scored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.lattices.labels import FEATURES, SCHEMES, WHOLE, features_of, label_system

pytestmark = pytest.mark.uncompiled

LABELS = [
    "POS=NOUN|Number=Sing",
    "POS=NOUN|Number=Plur",
    "POS=ADJ|Case=Nom|Number=Plur",
    "POS=PUNCT",
    "Case=Nom",
    "",
]


def parts_of(system, label):
    """The names of the parts of a label."""
    start, end = system.parts.starts[label : label + 2]
    return [system.part_names[part] for part in system.parts.parts[start:end]]


def test_labels_have_their_features_and_themselves_as_parts():
    system = label_system(LABELS, FEATURES)
    assert [parts_of(system, label) for label in range(len(LABELS))] == [
        ["POS=NOUN", "Number=Sing", "POS=NOUN|Number=Sing"],
        ["POS=NOUN", "Number=Plur", "POS=NOUN|Number=Plur"],
        ["POS=ADJ", "Case=Nom", "Number=Plur", "POS=ADJ|Case=Nom|Number=Plur"],
        ["POS=PUNCT"],  # which is the label, too
        ["Case=Nom"],
        [""],
    ]


def test_steps_are_scored_by_part_of_speech_by_attribute_and_by_label():
    levels = label_system(LABELS, FEATURES).levels
    expected = [
        ["NOUN", "NOUN", "ADJ", "PUNCT", "", ""],
        ["", "", "Nom", "", "Nom", ""],  # Case
        ["Sing", "Plur", "Plur", "", "", ""],  # Number
        LABELS,
    ]
    assert levels.classes.shape == (len(LABELS), len(expected))
    for classes, values in zip(levels.classes.T.tolist(), expected, strict=True):
        pairs = set(zip(classes, values, strict=True))
        assert len(pairs) == len(set(classes)) == len(set(values))  # the same classes
    assert levels.sizes.tolist() == [4, 2, 3, 6]
    assert levels.starts.tolist() == [0, 24, 24 + 8, 32 + 15, 47 + 48]


def test_whole_labels_share_nothing():
    system = label_system(LABELS, WHOLE)
    assert [parts_of(system, label) for label in range(len(LABELS))] == [[k] for k in LABELS]
    assert system.part_names == tuple(LABELS)
    assert system.levels.classes.shape == (len(LABELS), 0)
    assert system.levels.sizes.tolist() == []
    assert system.levels.starts.tolist() == [0]


def test_a_label_without_part_of_speech_has_a_class():
    levels = label_system(["Case=Nom", "Case=Acc"], FEATURES).levels
    assert levels.classes[:, 0].tolist() == [0, 0]
    assert levels.sizes.tolist() == [1, 2, 2]


def test_features_are_read_by_attribute():
    assert features_of("POS=NOUN|Number=Sing") == {"POS": "NOUN", "Number": "Sing"}
    assert features_of("Gender=Fem,Masc|A=b=c") == {"Gender": "Fem,Masc", "A": "b=c"}
    assert features_of("") == {}


features = st.dictionaries(st.sampled_from(["POS", "Case", "Number"]), st.sampled_from("abc"))

label_lists = st.lists(features, min_size=1, max_size=6).map(
    lambda drawn: list(dict.fromkeys("|".join(f"{k}={v}" for k, v in own.items()) for own in drawn))
)


@given(label_lists, st.sampled_from(SCHEMES))
def test_systems_are_as_problems_expect_them(labels, scheme):
    system = label_system(labels, scheme)
    starts, parts, number = system.parts
    assert (starts.dtype, parts.dtype) == (np.int64, np.int32)
    assert (len(starts), starts[0], starts[-1]) == (len(labels) + 1, 0, len(parts))
    assert number == len(system.part_names) == len(set(system.part_names))
    assert set(parts.tolist()) == set(range(number))
    for label, text in enumerate(labels):
        own = parts_of(system, label)
        assert len(own) == len(set(own))
        wanted = {*filter(None, text.split("|")), text} if scheme == FEATURES else {text}
        assert set(own) == wanted
    levels = system.levels
    assert [array.dtype for array in levels] == [np.int64] * 3
    assert len(levels.classes) == len(labels)
    for classes, size in zip(levels.classes.T.tolist(), levels.sizes, strict=True):
        assert set(classes) == set(range(size))


def test_many_labels_are_not_compared_as_a_whole() -> None:
    many = [f"Number=N{i}|POS=NOUN" for i in range(4097)]
    assert label_system(many, FEATURES).levels.sizes.tolist() == [1, 4097]
    assert label_system(many[:-1], FEATURES).levels.sizes.tolist() == [1, 4096, 4096]


def test_too_many_attributes_are_refused() -> None:
    labels = [f"A{i}=x|POS=NOUN" for i in range(3200)]
    with pytest.raises(ValueError, match="3,200 labels have 3,200 attributes"):
        label_system(labels, FEATURES)
