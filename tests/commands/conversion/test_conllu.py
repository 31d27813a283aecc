"""Treebanks become Docs; what is wrong with them is named by file and line."""

import re
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc

from spacy_ssvm.commands.conversion.conllu import read_conllu
from spacy_ssvm.commands.conversion.treebank import make_docs

SENTENCE = """\
# sent_id = 1
1-2\tShe's\t_\t_\t_\t_\t_\t_\t_\t_
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Number=Sing\t3\tnsubj\t_\tSpaceAfter=No
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
2.1\tnow\tnow\tADV\tRB\t_\t_\t_\t4:advmod\t_
3\tMálaga\tMálaga\tPROPN\tNNP\tNumber=Sing\t0\troot\t_\tGloss=x|SpaceAfter=No
"""


def line(number: object, word: str, head: object = 0, dep: str = "root", pos: str = "X") -> str:
    return f"{number}\t{word}\t{word}\t{pos}\tTAG\t_\t{head}\t{dep}\t_\t_\n"


A = line(1, "a")
B = line(1, "b")


def read(folder: Path, text: str, encoding: str = "utf8") -> list[tuple[bool, Doc]]:
    (folder / "a.conllu").write_bytes(text.encode(encoding))
    sentences = list(read_conllu(folder / "a.conllu", encoding))
    docs, _ = make_docs(spacy.blank("en"), [[sentence] for sentence in sentences])
    return [(one.is_first, doc) for one, doc in zip(sentences, docs, strict=True)]


def words(folder: Path, text: str) -> list[tuple[bool, list[str]]]:
    return [(is_first, [token.text for token in doc]) for is_first, doc in read(folder, text)]


def test_all_columns(tmp_path: Path) -> None:
    ((_, doc),) = read(tmp_path, SENTENCE + "\n", "latin-1")
    assert [token.text_with_ws for token in doc] == ["She", "'s ", "Málaga"]
    assert [token.tag_ for token in doc] == ["PRP", "VBZ", "NNP"]
    assert [token.pos_ for token in doc] == ["PRON", "AUX", "PROPN"]
    assert [token.lemma_ for token in doc] == ["she", "be", "Málaga"]
    assert [str(token.morph) for token in doc] == ["Case=Nom|Number=Sing", "", "Number=Sing"]
    assert [token.head.i for token in doc] == [2, 2, 2]
    assert [token.dep_ for token in doc] == ["nsubj", "cop", "ROOT"]


@pytest.mark.parametrize("text", [
    f"{A}\n# newdoc\n{B}".rstrip("\n"),
    f"{A[:-2]}\n\n# newdoc\n{B[:-2]}",
    f"\n\n{A}\n\n\n# sent_id = 2\n# newdoc id = 2\n{B}\n\n\n",
    f"{A}  \n# newdoc\n# text = b\n{B}\t \n",
    f"# no sentence\n\n{A}\n# newdoc\n\n# a = b\n{B}\n# the end\n",
    f"{A}\n# newdoc\n{B}\n".replace("\n", "\r\n"),
    f"{A}\n# newdoc_id = CF1\n{B}\n",
    f"{A}\n#newdoc\n{B}\n",
])  # fmt: skip
def test_what_parts_sentences(tmp_path: Path, text: str) -> None:
    assert words(tmp_path, text) == [(False, ["a"]), (True, ["b"])]


def test_files_without_sentences(tmp_path: Path) -> None:
    assert [read(tmp_path, text) for text in ["", "\n", " \n\n# newdoc\n\n"]] == [[], [], []]


def test_sentences_without_trees(tmp_path: Path) -> None:
    bare = line(1, "a", "_", "_") + line(2, "b", "_", "_")
    (_, without), (_, tree) = read(tmp_path, f"{bare}\n{A}{line(2, 'b', 1, 'x')}\n")
    assert (without.has_annotation("DEP"), tree.has_annotation("DEP")) == (False, True)
    assert [token.is_sent_start for token in without] == [True, False]
    assert [token.tag_ for token in without] == ["TAG", "TAG"]


def test_words_of_any_characters(tmp_path: Path) -> None:
    strange = ["New York", "#", "_", "1\u00a0000", "a\u2028b", "a\x85b", "-"]
    text = "".join(line(number, word, number - 1) for number, word in enumerate(strange, 1))
    assert words(tmp_path, text) == [(False, strange)]


def test_a_byte_order_mark(tmp_path: Path) -> None:
    assert words(tmp_path, "\ufeff" + A) == [(False, ["a"])]


def test_heads_of_words_that_are_not_in_the_text(tmp_path: Path) -> None:
    ((_, doc),) = read(tmp_path, line(1, "a", "_") + line("1.1", "b", 1))
    assert [token.text for token in doc] == ["a"]
    assert not doc.has_annotation("DEP")


@pytest.mark.parametrize(("text", "number"), [
    ("1\ta\n", "3"), (A.replace("\n", "\t_\n"), "3"), (A.replace("\t", " "), "3"),
    *((line(number, "a"), "3") for number in (2, 0, "x", "", -1, "1-", "1.")),
    (A + line(3, "b", 1), "4"), (A + line(1, "b", 1), "4"),
    *((A + line(2, "b", 1, pos=pos), "4") for pos in ("NOUNS", "noun", "")),
    *((A + line(2, "b", head), "4") for head in (3, -1, "x", "", 1.5)),
    (A + line(2, "b", "_"), "[34]"), (line(1, "a", "_") + line(2, "b", 0), "[34]"),
    (line(1, "a", 1), "3"), (line(1, "a", 2) + line(2, "b", 1), "[34]"),
    (A + line(2, "b", 3) + line(3, "c", 2), "[345]"),
    (line("1-2", "a", "_"), "3"), (line("0.1", "a", "_"), "3"),
    *((line(span, "ab") + A + line(2, "b", 1), "3") for span in ("1-3", "2-2", "2-1", "1-1")),
    *((A + line(span, "bc") + line(2, "b", 1) + line(3, "c", 1), "4") for span in ("1-2", "3-4")),
    (line("1-2", "ab") + A + line("2-3", "bc") + line(2, "b", 1) + line(3, "c", 1), "5"),
    (line("1-2", "ab") + line("1-2", "ab") + A + line(2, "b", 1), "4"),
    *((A + line(2, "b", head), "4") for head in ("00", "\u0661", "9" * 5000)),
    (line("9" * 5000, "a"), "3"), (A.replace("TAG\t_", "TAG\tfoo"), "3"),
])  # fmt: skip
def test_malformed_lines(tmp_path: Path, text: str, number: str) -> None:
    place = re.escape(f"{tmp_path / 'a.conllu'}, line ")
    with pytest.raises(ValueError, match=rf"^{place}{number}\b"):
        read(tmp_path, f"# newdoc\n\n{text}\n{A}")


def test_a_sentence_that_is_left_out(tmp_path: Path) -> None:
    """The next one begins the document instead."""
    file = tmp_path / "a.conllu"
    file.write_text(f"{A}\n# newdoc\n{line(1, 'x', 7)}\n{B}\n{A}", encoding="utf8")
    errors: list[ValueError] = []
    sentences = list(read_conllu(file, report=errors.append))
    found = [(one.is_first, [word.form for word in one.words]) for one in sentences]
    assert found == [(False, ["a"]), (True, ["b"]), (False, ["a"])]
    assert [str(error) for error in errors] == [
        f"{file}, line 4: the head is '7', not a number from 0 to 1"
    ]
    with pytest.raises(ValueError, match="the head is '7'"):
        list(read_conllu(file))
