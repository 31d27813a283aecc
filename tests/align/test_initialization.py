"""How the association of words is learned from the texts of examples and of files."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from planted_pairs import planted_examples, two_docs
from small_bitexts import hash_bitext
from spacy.language import Language
from spacy.training import Example
from thinc.config import ConfigValidationError

from spacy_ssvm.align.bitext.association import Association
from spacy_ssvm.align.bitext.models import train_association
from spacy_ssvm.align.initialization import read_association
from spacy_ssvm.align.matchings.pairs import ASSOCIATION_ATTRIBUTE
from spacy_ssvm.align.text_pairs import make_pair
from spacy_ssvm.features.attributes import type_values

LINES = {"source": "The house .\nthe dog\n", "target": "das Haus .\nder Hund\n"}
PAIRS = [(["the", "house", "."], ["das", "haus", "."]), (["the", "dog"], ["der", "hund"])]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("xx")


@pytest.fixture
def bitext(tmp_path: Path) -> dict[str, str]:
    """Two tiny files."""
    for side, text in LINES.items():
        (tmp_path / side).write_text(text, encoding="utf8")
    return {side: str(tmp_path / side) for side in LINES}


def key_of(word: str) -> int:
    """The value of a word by which associations find it."""
    return int(type_values(ASSOCIATION_ATTRIBUTE, [word])[0])


def expected(pairs: Any = PAIRS) -> Association:
    """The association of words, in lower case, as far as they are told apart."""
    return train_association(
        hash_bitext(pairs, lambda word: int(type_values(ASSOCIATION_ATTRIBUTE, [word])[0]))
    )


def same(a: Association, b: Association) -> None:
    for name, array in a._asdict().items():
        np.testing.assert_array_equal(array, getattr(b, name), err_msg=name)


def refusal(nlp: Language, examples: list[Example], bitext: Any) -> str:
    with pytest.raises(ConfigValidationError) as caught:
        read_association("aligner", nlp, examples, bitext)
    return str(caught.value)


def test_files_are_read_with_the_tokenizer(nlp: Language, bitext: dict[str, str]) -> None:
    same(read_association("aligner", nlp, [], bitext), expected())
    Path(bitext["source"]).write_text("The house.\nthe dog\n", encoding="utf8")
    same(read_association("aligner", nlp, [], bitext), expected())


def test_compressed_files(nlp: Language, bitext: dict[str, str], tmp_path: Path) -> None:
    packed = tmp_path / "source.gz"
    packed.write_bytes(gzip.compress(LINES["source"].encode()))
    found = read_association("aligner", nlp, [], {**bitext, "source": str(packed)})
    same(found, expected())


def test_texts_of_examples_come_with_those_of_files(nlp: Language, bitext: dict[str, str]) -> None:
    """In one Doc or two; what is not the side of a pair, and whitespace, is left out."""
    one = make_pair(nlp.vocab, ["A", " ", "house"], ["\n", "ein", "Haus"])
    two = two_docs(nlp.vocab, ["a", "dog"], ["ein", "Hund", " "])
    examples = [Example(doc, doc) for doc in (one, two)]
    texts = [(["a", "house"], ["ein", "haus"]), (["a", "dog"], ["ein", "hund"])]
    same(read_association("aligner", nlp, examples, None), expected(texts))
    same(read_association("aligner", nlp, examples, bitext), expected([*texts, *PAIRS]))


def test_sides_without_words(nlp: Language) -> None:
    docs = [make_pair(nlp.vocab, *words) for words in [([], ["x"]), ([" "], ["x"]), (["a"], ["x"])]]
    examples = [Example(doc, doc) for doc in docs]
    same(read_association("aligner", nlp, examples, None), expected([(["a"], ["x"])]))


def test_nothing_is_added_to_the_vocabulary(nlp: Language, bitext: dict[str, str]) -> None:
    before = set(nlp.vocab.strings)
    read_association("aligner", nlp, [], bitext)
    assert set(nlp.vocab.strings) == before
    assert [lexeme.text for lexeme in nlp.vocab if lexeme.text == "house"] == []
    with nlp.memory_zone():
        same(read_association("aligner", nlp, [], bitext), expected())
    assert [token.text for token in nlp("the house")] == ["the", "house"]


@pytest.mark.parametrize("keys", [["source"], ["target"], ["other"], ["source", "target", "other"]])
def test_other_keys(nlp: Language, bitext: dict[str, str], keys: list[str]) -> None:
    given = {key: bitext.get(key, "x") for key in keys}
    message = refusal(nlp, [], given)
    assert "[initialize.components.aligner]" in message
    assert "it needs source and target, a file each" in message


def test_one_file_of_two(nlp: Language, bitext: dict[str, str]) -> None:
    message = refusal(nlp, [], {**bitext, "target": None})
    assert "bitext has files for source: it needs source and target" in message


@pytest.mark.parametrize("files", [None, {}, {"source": None, "target": None}])
def test_no_files(nlp: Language, files: Any) -> None:
    doc = make_pair(nlp.vocab, ["a"], ["x"])
    found = read_association("aligner", nlp, [Example(doc, doc)], files)
    same(found, expected([(["a"], ["x"])]))


def test_files_that_cannot_be_read(nlp: Language, bitext: dict[str, str], tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert missing in refusal(nlp, [], {**bitext, "target": missing})
    with (tmp_path / "target").open("a", encoding="utf8") as file:
        file.write("mehr\n")
    message = refusal(nlp, [], bitext)
    assert f"{bitext['source']} has 2 lines, but {bitext['target']} has 3" in message
    (tmp_path / "target").write_bytes(b"das Haus\n\xff\n")
    assert f"{bitext['target']}, line 2: not in UTF-8" in refusal(nlp, [], bitext)


def test_no_texts_at_all(nlp: Language, bitext: dict[str, str]) -> None:
    for path in bitext.values():
        Path(path).write_text("", encoding="utf8")
    assert "[initialize.components.aligner]" in refusal(nlp, [], bitext)


def test_initialize_learns_where_a_template_needs_it(bitext: dict[str, str]) -> None:
    for templates, is_needed in [(["bin.dice"], True), (["string_similarity"], False)]:
        nlp = spacy.blank("xx")
        aligner: Any = nlp.add_pipe("ssvm_aligner", config={"templates": templates})
        examples = planted_examples(nlp.vocab, range(5))
        aligner.initialize(lambda: examples, nlp=nlp, bitext=bitext)  # noqa: B023
        assert (aligner.model.association is not None) == is_needed
        if is_needed:
            words = aligner.model.association.source_words
            assert key_of("house") in words
            aligner.initialize(lambda: examples)  # noqa: B023
            words = aligner.model.association.source_words
            assert key_of("house") not in words
