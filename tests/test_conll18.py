"""The measures of the CoNLL 2018 shared task, on texts whose scores are counted by hand."""

import os
import sys
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.conll18 import SPANS, WORDS, Score, evaluate, evaluate_ends, main

DAS = """\
# text = Uma das casas, não.
1\tUma\tum\tPRON\tPR\tGender=Fem\t0\troot\t_\t_
2-3\tdas\t_\t_\t_\t_\t_\t_\t_\t_
2\tde\tde\tADP\tIN\t_\t4\tcase\t_\t_
2.1\t_\t_\t_\t_\t_\t_\t_\t_\t_
3\tas\to\tDET\tDT\tGender=Fem|PronType=Art\t4\tdet\t_\t_
4\tcasas\tcasa\tNOUN\tNN\tNumber=Plur\t1\tnmod\t_\tSpaceAfter=No
5\t,\t,\tPUNCT\t,\t_\t1\tpunct\t_\t_

1\tnão\tnão\tADV\tRB\tPolarity=Neg\t0\troot\t_\tSpaceAfter=No
2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_

"""

PERFECT = dict.fromkeys((*SPANS, *WORDS), Score(1.0, 1.0, 1.0, 1.0))
NOTHING = Score(0.0, 0.0, 0.0, 0.0)
SPACES = [*filter(lambda one: unicodedata.category(one) == "Zs", map(chr, range(0x10000)))]


def line(
    number: object,
    form: str,
    head: object = 0,
    label: str = "root",
    *,
    lemma: str = "l",
    tags: str = "X x",
    features: str = "_",
) -> str:
    upos, xpos = tags.split()
    return f"{number}\t{form}\t{lemma}\t{upos}\t{xpos}\t{features}\t{head}\t{label}\t_\t_\n"


def sentence(text: str, heads: Sequence[int] = ()) -> str:
    """A sentence in CoNLL-U of a text such as "uma das=de+as casas".

    heads: of its words; without them the head of each is the word before it.
    """
    lines = []
    n = 0
    for token in text.split():
        form, _, several = token.partition("=")
        parts = several.split("+") if several else [form]
        if several:
            lines.append(line(f"{n + 1}-{n + len(parts)}", form, "_"))
        for part in parts:
            lines.append(line(n + 1, part, heads[n] if heads else n))
            n += 1
    return "".join(lines) + "\n"


def score(right: int, gold: int, system: int, aligned: int) -> Score:
    parts = right / system, right / gold, 2 * right / (gold + system), right / aligned
    return Score(*map(pytest.approx, parts))


def right(gold: str, system: str) -> dict[str, float]:
    """The fraction of gold that is right, by measure."""
    return {name: found.recall for name, found in evaluate(gold, system).items()}


def test_a_perfect_system() -> None:
    scores = evaluate(DAS, DAS)
    assert scores == PERFECT
    names = "Tokens Sentences Words UPOS XPOS UFeats AllTags Lemmas UAS LAS"
    assert [*scores] == names.split()


def test_tokens_that_are_cut_wrongly() -> None:
    scores = evaluate(sentence("do can not go"), sentence("do cannot go"))
    assert scores["Sentences"] == PERFECT["Sentences"]
    assert scores["Tokens"] == score(2, 4, 3, 2)
    assert scores["Words"] == scores["UPOS"] == scores["Lemmas"] == score(2, 4, 3, 2)
    assert scores["UAS"] == scores["LAS"] == score(1, 4, 3, 2)  # go has a head that is not gold


def test_tokens_that_begin_or_end_together_are_not_the_same() -> None:
    scores = evaluate(sentence("ab c"), sentence("a bc"))
    assert {*scores.values()} == {NOTHING, PERFECT["Sentences"]}
    assert scores["Words"] == NOTHING


def test_sentences_that_end_wrongly() -> None:
    gold = sentence("a b") + sentence("c") + sentence("d")
    scores = evaluate(gold, sentence("a b c") + sentence("d"))
    assert scores["Sentences"] == score(1, 3, 2, 1)
    assert scores["Tokens"] == scores["Words"] == PERFECT["Words"]
    assert scores["UAS"] == score(3, 4, 4, 4)  # c is a root in gold


def test_ends_of_sentences_wherever_these_begin() -> None:
    gold = sentence("a b") + sentence("c d") + sentence("e")
    system = sentence("a b") + sentence("c") + sentence("d") + sentence("e")
    assert evaluate_ends(gold, system) == score(3, 3, 4, 3)
    assert evaluate(gold, system)["Sentences"].f1 == pytest.approx(4 / 7)
    with pytest.raises(ValueError, match="gold"):
        evaluate_ends(gold, sentence("a b"))


def test_heads_are_of_the_own_sentence() -> None:
    gold, system = sentence("a b") + sentence("c d"), sentence("a b c d", [0, 1, 0, 1])
    assert right(gold, system)["UAS"] == 3 / 4  # the head of d is c, not a
    assert right(system, gold)["UAS"] == 3 / 4


@pytest.mark.parametrize(
    ("gold", "system", "aligned"),
    [
        ("das=de+as", "das=de+a", 1),
        ("das=de+as", "das=DE+As", 2),
        ("das=de+as", "das", 0),
        ("das=das", "das", 1),  # the form of the only word
        ("das=de+as", "d as", 1),
        ("abc=x+y+z+x", "abc=y+x+z", 2),
        ("xabc=ab+c", "xa bc=ab+c", 2),
        ("ab=x+y c", "a bc=y+c", 2),  # one region
        ("ab=x+y cd=z+w", "ab=x+z cd=w+v", 2),  # two regions
        ("ab=x+y c d", "a bc=y+c d", 3),
        ("abcd=x+d", "a b=x c d", 2),  # a token within another
        ("a bc=ab+c", "ab c", 1),  # the token "ab" begins before the region
        ("ab=a+bc c", "a bc", 1),  # "bc" ends after it
        ("a b cd=a+b", "ab c d", 0),
    ],
)
def test_words_of_tokens_that_are_several(gold: str, system: str, aligned: int) -> None:
    sizes = (len(text.replace("+", " ").split()) for text in (gold, system))
    expected = NOTHING if not aligned else score(aligned, *sizes, aligned)
    assert evaluate(sentence(gold), sentence(system))["Words"] == expected


def test_of_equal_alignments_the_first_leaves_out_gold_words() -> None:
    range_ = line("1-2", "ab", "_")
    gold = range_ + line(1, "x", 2) + line(2, "y", tags="A a") + "\n"
    system = range_ + line(1, "y", tags="A a") + line(2, "x", 1, tags="B b") + "\n"
    scores = evaluate(gold, system)
    assert scores["Words"] == scores["AllTags"] == score(1, 2, 2, 1)


@given(*2 * [st.lists(st.sampled_from("xyz"), min_size=1, max_size=7)])
def test_as_many_words_are_aligned_as_can_be(gold: list[str], system: list[str]) -> None:
    texts = [sentence(f"abc={'+'.join(words)} d") for words in (gold, system)]
    most = max(
        n
        for n in range(min(len(gold), len(system)) + 1)
        if {*combinations(gold, n)} & {*combinations(system, n)}
    )
    found = evaluate(*texts)["Words"]
    assert found == score(most + 1, len(gold) + 1, len(system) + 1, most + 1)


def test_tags() -> None:
    tags = "A a", "B b", "C c", "D d"
    wrong = "A a", "B x", "X c", "D d"
    features = "Case=Nom", "Case=Nom", "Case=Nom", "Case=Acc"
    gold, system = (
        "".join(
            line(i + 1, "w", i, tags=both, features=one)
            for i, (both, one) in enumerate(zip(column, row, strict=True))
        )
        for column, row in ((tags, 4 * ["Case=Nom"]), (wrong, features))
    )
    found = right(gold + "\n", system + "\n")
    assert (found["UPOS"], found["XPOS"], found["UFeats"]) == (3 / 4, 3 / 4, 3 / 4)
    assert found["AllTags"] == 1 / 4
    assert found["Words"] == found["Lemmas"] == found["LAS"] == 1


@pytest.mark.parametrize(
    ("gold", "system", "is_right"),
    [
        ("Case=Nom|Number=Sing", "Number=Sing|Case=Nom", True),
        ("Case=Nom|Typo=Yes", "Foo=Bar|Case=Nom", True),
        ("Gender[psor]=Masc", "_", True),
        ("Case=Nom", "Case=Acc", False),
        ("Case=Nom", "Case=Nom|Polite=Form", False),
        ("Case=Acc,Nom", "Case=Nom", False),
    ],
)
def test_universal_features(gold: str, system: str, is_right: bool) -> None:
    found = right(line(1, "a", features=gold) + "\n", line(1, "a", features=system) + "\n")
    assert found["UFeats"] == found["AllTags"] == is_right


@pytest.mark.parametrize(
    ("gold", "system", "is_right"),
    [("_", "a", True), ("a", "_", False), ("a", "a", True), ("a", "A", False)],
)
def test_lemmas(gold: str, system: str, is_right: bool) -> None:
    found = right(line(1, "a", lemma=gold) + "\n", line(1, "a", lemma=system) + "\n")
    assert found["Lemmas"] == is_right


@pytest.mark.parametrize(
    ("gold", "system", "is_right"),
    [
        ("nmod", "nmod:poss", True),
        ("nmod:poss", "nmod:tmod", True),
        ("nmod", "nsubj", False),
        ("nmod:poss", "amod:poss", False),
    ],
)
def test_relations_without_subtypes(gold: str, system: str, is_right: bool) -> None:
    found = right(line(1, "a", 0, gold) + "\n", line(1, "a", 0, system) + "\n")
    assert (found["UAS"], found["LAS"]) == (1, is_right)


def test_a_relation_to_another_head_is_wrong() -> None:
    found = right(sentence("a b c", [0, 1, 1]), sentence("a b c", [0, 1, 2]))
    assert found["UAS"] == found["LAS"] == 2 / 3


@pytest.mark.parametrize("heads", [[2, 0, 1], [0, 1, 0]])
def test_heads_that_are_not_aligned(heads: list[int]) -> None:
    """The third word depends on one that gold has not, in gold also on such a one or on none."""
    scores = evaluate(sentence("a bc d", heads), sentence("ab c d", [0, 1, 2]))
    assert scores["Words"] == score(1, 3, 3, 1)
    assert scores["UAS"] == scores["LAS"] == NOTHING


def test_heads_among_words_with_other_numbers() -> None:
    found = right(sentence("a bc d e", [0, 1, 4, 1]), sentence("a b c d e", [0, 1, 1, 5, 1]))
    assert found["UAS"] == 3 / 4


def test_trees_of_a_system_need_not_be_trees() -> None:
    found = right(sentence("a b c"), sentence("a b c", [1, 3, 2]))
    assert found["UAS"] == 1 / 3
    assert right(sentence("a b c"), sentence("a b c", [0, 0, 0]))["UAS"] == 1 / 3


def test_spaces_in_forms_do_not_count() -> None:
    assert len(SPACES) == 17
    spaced = f"1{''.join(SPACES)}000"
    assert evaluate(line(1, spaced) + "\n", line(1, "1000") + "\n") == PERFECT
    gold, system = line(1, spaced) + "\n", line(1, "1") + line(2, "000", 1) + "\n"
    assert evaluate(gold, system)["Tokens"] == NOTHING


def test_only_line_feeds_end_lines() -> None:
    text = line(1, "a\u2028b\x85c\x0cd") + "\n"
    assert evaluate(text, text.replace("\n", "\r\n")) == PERFECT
    assert evaluate("", "") == dict.fromkeys(PERFECT, NOTHING)


@pytest.mark.parametrize(
    ("gold", "system", "message"),
    [
        ("ab cd", "ab ce", "gold, line 2: 'd'; system, line 2: 'e'"),
        ("ab cd", "abxd", "gold, line 2: 'cd'; system, line 1: 'xd'"),
        ("ab cd", "a b c", "gold, line 2: 'd'; system ends"),
        ("ab", "ab c", "gold ends; system, line 2: 'c'"),
        ("ab=a+b c", "ab=x+y d", "gold, line 4: 'c'; system, line 4: 'd'"),
        ("a" + 30 * "b", "c", f"gold, line 1: 'a{19 * 'b'}'; system, line 1: 'c'"),
    ],
)
def test_other_texts_are_refused(gold: str, system: str, message: str) -> None:
    with pytest.raises(ValueError, match="the texts differ") as caught:
        evaluate(sentence(gold), sentence(system))
    assert str(caught.value) == f"the texts differ: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\n\n", "1: 2 columns instead of 10: '1\\ta'"),
        (line(1, "a") + "# late\n\n", "2: 1 columns instead of 10: '# late'"),
        (line(1, "") + "\n", "1: an empty form"),
        (line("1-1", "a", "_") + line(1, "") + "\n", "2: an empty form"),
        (line(1, " \u00a0") + "\n", "1: a form of spaces only"),
        ("# text\n" + line(1, "a"), "2: no empty line after the last sentence"),
        (sentence("a") + "# text\n\n", "4: ends a sentence without words"),
        (line("0.1", "a") + "\n", "2: ends a sentence without words"),
        (line(2, "a") + "\n", "1: the number '2' after word 0"),
        (line(1, "a") + line(1, "b") + "\n", "2: the number '1' after word 1"),
        (line(1, "a") + line("x", "b") + "\n", "2: the number 'x' after word 1"),
        (line(1, "a") + line("2-1", "b") + "\n", "2: the range 2-1 after word 1"),
        (line(1, "a") + line("3-4", "b") + "\n", "2: the range 3-4 after word 1"),
        (
            line("1-2", "a", "_") + line(1, "a") + line("2-3", "b") + "\n",
            "3: the range 2-3 after word 1",
        ),
        (
            line(1, "x") + line("2-4", "a", "_") + line(2, "a") + "\n",
            "2: the range goes to 4, the sentence to 2",
        ),
        (line(1, "a") + line(2, "b", 3) + "\n", "2: the head '3' in a sentence of 2 words"),
        (line(1, "a", -1) + "\n", "1: the head '-1' in a sentence of 1 words"),
        (line(1, "a", "_") + "\n", "1: the head '_' in a sentence of 1 words"),
        (
            sentence("a b") + line("1-2", "c", "_") + line(1, "c") + line(2, "d", 5) + "\n",
            "6: the head '5' in a sentence of 2 words",
        ),
    ],
)
def test_malformed_lines_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        evaluate(DAS, text)
    assert str(caught.value) == f"system, line {message}"
    with pytest.raises(ValueError, match=r"^gold, line"):
        evaluate(text, DAS)


def run_main(monkeypatch: pytest.MonkeyPatch, folder: Path, gold: bytes, system: bytes) -> None:
    files = folder / "gold.conllu", folder / "system.conllu"
    for file, content in zip(files, (gold, system), strict=True):
        file.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["conll18.py", *map(str, files)])
    main()


def test_the_table_of_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, system = sentence("do can not go"), sentence("do cannot go")
    run_main(monkeypatch, tmp_path, gold.encode("utf-8-sig"), system.encode())
    rows = {
        cells[0]: cells[1:]
        for row in capsys.readouterr().out.splitlines()
        if (cells := row.split())
    }
    assert [*rows][2:] == [*SPANS, *WORDS]
    assert rows["Sentences"] == 3 * ["100.00"]
    assert rows["UAS"] == ["33.33", "25.00", "28.57", "50.00"]


def test_files_that_cannot_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_main(monkeypatch, tmp_path, sentence("a").encode(), b"1\ta\n")
    assert "error: system, line 1: 2 columns" in capsys.readouterr().err
    (tmp_path / "system.conllu").unlink()
    with pytest.raises(SystemExit):
        main()
    assert "system.conllu" in capsys.readouterr().err


def test_a_treebank_is_right_by_itself() -> None:
    data = os.environ.get("SPACY_SSVM_DATA")
    if data is None:
        pytest.skip("needs treebanks in the folder SPACY_SSVM_DATA")
    (file,) = Path(data, "ud_pt_bosque").glob("*-test.conllu")
    text = file.read_text(encoding="utf8")
    assert "\n2-3\t" in text
    assert evaluate(text, text) == PERFECT
    wrong = text.replace("\tNOUN\t", "\tX\t")
    scores = evaluate(text, wrong)
    changed = {name for name in scores if scores[name] != PERFECT[name]}
    assert changed == {"UPOS", "AllTags"}
