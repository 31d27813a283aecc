"""Docs of treebanks have the text that was written, and trees over its tokens."""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.conversion.conllu import Sentence, Token, Word, read_conllu
from spacy_ssvm.commands.conversion.files import Settings, convert_file
from spacy_ssvm.commands.conversion.treebank import Treebank, make_docs

NLP = {lang: spacy.blank(lang) for lang in ("en", "pt")}

DAS = """\
# text = Uma das casas, dela não.
1\tUma\tum\tPRON\tPR\tGender=Fem\t0\troot\t_\t_
2-3\tdas\t_\t_\t_\t_\t_\t_\t_\t_
2\tde\tde\tADP\tIN\t_\t4\tcase\t_\t_
3\tas\to\tDET\tDT\tGender=Fem|PronType=Art\t4\tdet\t_\t_
4\tcasas\tcasa\tNOUN\tNN\tNumber=Plur\t1\tnmod\t_\tSpaceAfter=No
5\t,\t,\tPUNCT\t,\t_\t8\tpunct\t_\t_
6-7\tdela\t_\t_\t_\t_\t_\t_\t_\t_
6\tde\tde\tADP\tIN\tGender=Masc\t7\tcase\t_\t_
7\tela\tela\tPRON\tPR\tGender=Fem\t1\tnmod\t_\t_
8\tnão\tnão\tADV\tRB\t_\t7\tadvmod\t_\tSpaceAfter=No
9\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\tSpaceAfter=No
"""


def line(number: object, form: str, head: object = 0, dep: str = "root", misc: str = "_") -> str:
    return f"{number}\t{form}\t{form}\tX\t_\t_\t{head}\t{dep}\t_\t{misc}\n"


def convert(
    folder: Path, text: str, lang: str = "en", *, number: int = 1, **options: bool
) -> tuple[list[Doc], Treebank]:
    (folder / "a.conllu").write_text(text, encoding="utf8")
    settings = Settings(sentences=number, **options)
    docs, _, _, treebank = convert_file(folder / "a.conllu", NLP[lang], settings)
    assert treebank is not None
    return docs, treebank


def texts(docs: Sequence[Doc]) -> list[list[str]]:
    return [[token.text_with_ws for token in doc] for doc in docs]


def test_words_that_the_tokenizer_does_not_divide(tmp_path: Path) -> None:
    (doc,), treebank = convert(tmp_path, DAS, "pt")
    assert doc.text == "Uma das casas, dela não."
    assert [token.text for token in doc] == ["Uma", "das", "casas", ",", "dela", "não", "."]
    assert [token.head.i for token in doc] == [0, 2, 0, 5, 0, 4, 0]
    assert [token.dep_ for token in doc[:5]] == ["ROOT", "case", "nmod", "punct", "nmod"]
    assert [token.pos_ for token in doc[1:5]] == ["ADP", "NOUN", "PUNCT", "PRON"]
    assert [token.tag_ for token in doc[1:5]] == ["IN_DT", "NN", ",", "IN_PR"]
    assert [token.lemma_ for token in doc[1:5]] == ["de o", "casa", ",", "de ela"]
    assert [str(token.morph) for token in doc[1:5]] == [
        "Gender=Fem|PronType=Art", "Number=Plur", "", "Gender=Fem,Masc",
    ]  # fmt: skip
    assert treebank == Treebank(0, Counter({"das (de + as)": 1, "dela (de + ela)": 1}), [])


def test_syntactic_words(tmp_path: Path) -> None:
    (doc,), treebank = convert(tmp_path, DAS, "pt", as_words=True)
    assert [token.text for token in doc] == [
        "Uma",
        "de",
        "as",
        "casas",
        ",",
        "de",
        "ela",
        "não",
        ".",
    ]
    assert [token.norm_ for token in doc[1:4]] == ["de", "as", "casas"]
    assert doc.has_unknown_spaces
    assert [token.head.i for token in doc] == [0, 3, 3, 0, 7, 6, 0, 6, 0]
    assert [token.tag_ for token in doc[1:3]] == ["IN", "DT"]
    assert treebank == Treebank(0, Counter(), [])


def test_all_words_that_can_be_divided(tmp_path: Path) -> None:
    (doc,), treebank = convert(tmp_path, DAS, "pt", divides_all=True)
    assert doc.text == "Uma das casas, dela não."
    assert [token.text for token in doc] == [
        *("Uma", "d", "as", "casas", ",", "d", "ela", "não", "."),
    ]
    assert [token.norm_ for token in doc] == [
        *("uma", "de", "as", "casas", ",", "de", "ela", "não", "."),
    ]
    assert [token.lemma_ for token in doc[1:3]] == ["de", "o"]
    assert [token.head.i for token in doc] == [0, 3, 3, 0, 7, 6, 0, 6, 0]
    assert treebank == Treebank(2, Counter(), [])
    text = line("1-2", "à", "_", "_") + line(1, "a") + line(2, "a", 1, "x")
    (doc,), treebank = convert(tmp_path, text, "pt", divides_all=True)
    assert [token.text for token in doc] == ["à"]
    assert treebank == Treebank(0, Counter({"à (a + a)": 1}), [])


def test_tags_that_are_the_parts_of_speech_stay_them(tmp_path: Path) -> None:
    tagged = DAS
    for tag in ("PR", "IN", "DT", "NN", ",", "RB", "."):
        tagged = tagged.replace(f"\t{tag}\t", "\t_\t")
    (doc,), _ = convert(tmp_path, tagged, "pt")
    assert [token.tag_ for token in doc] == [token.pos_ for token in doc]


def test_words_that_the_tokenizer_divides(tmp_path: Path) -> None:
    text = (
        line("1-2", "don't", "_", "_", "SpaceAfter=No") + line(1, "do") + line(2, "n't", 1, "x")
        + line("3-4", "its", "_", "_") + line(3, "it", 1) + line(4, "s", 3) + line(5, ".", 1)
        + line("6-7", "Don't", "_", "_") + line(6, "Do", 1) + line(7, "not", 6)
    )  # fmt: skip
    (doc,), treebank = convert(tmp_path, text)
    assert texts([doc]) == [["do", "n't", "its ", ". ", "Don't"]]
    assert [token.head.i for token in doc] == [0, 0, 0, 0, 0]
    assert treebank == Treebank(1, Counter({"its (it + s)": 1, "Don't (Do + not)": 1}), [])


@pytest.mark.parametrize(("misc", "tokens"), [
    ("_", ["a ", "b"]), ("SpaceAfter=No", ["a", "b"]), ("X=SpaceAfter=No", ["a ", "b"]),
    ("SpacesAfter=", ["a", "b"]), (r"SpacesAfter=\s\s", ["a ", " ", "b"]),
    (r"Gloss=x|SpacesAfter=\n\n", ["a", "\n\n", "b"]), (r"SpacesAfter=\s\r\n", ["a ", "\r\n", "b"]),
    (r"SpacesAfter=\u00A0", ["a", "\u00a0", "b"]), (r"SpacesAfter=\t", ["a", "\t", "b"]),
])  # fmt: skip
def test_spaces_after_tokens(tmp_path: Path, misc: str, tokens: list[str]) -> None:
    (doc,), _ = convert(tmp_path, line(1, "a", misc=misc) + line(2, "b", 1, "x"))
    assert texts([doc]) == [tokens]
    if " " in doc.text or len(doc) > 2:
        assert [t.text_with_ws for t in NLP["en"].make_doc(doc.text)] == tokens  # as in use
    white = [token for token in doc if token.is_space]
    assert all((t.tag_, t.pos_, t.dep_, t.is_sent_start) == ("", "", "", False) for t in white)
    assert [token.head.i for token in doc if not token.is_space] == [0, 0]


def test_heads_beside_white_space_and_arcs_without_labels(tmp_path: Path) -> None:
    text = line(1, "a", 2, misc=r"SpacesAfter=\n") + line(2, "b") + line(3, "c", 2, "_")
    (doc,), _ = convert(tmp_path, text)
    assert [token.head.text for token in doc] == ["b", "\n", "b", "b"]
    assert [token.dep_ for token in doc] == ["ROOT", "", "ROOT", "dep"]


def test_the_text_of_the_comment_comes_before_spaces_after_tokens(tmp_path: Path) -> None:
    own = line(1, "a", misc="SpaceAfter=No") + line(2, "b", 1, "x") + line(3, "c", 1, "x")
    for comment, expected, places in [
        ("# text = a b\u00a0c", "a b\u00a0c", 0), ("#text=abc", "abc", 0),
        ("# text=  a bc ", "a bc", 0),
        ("# text = a b", "ab c", 1), ("# text = a b cd", "ab c", 1), ("# text_en = x", "ab c", 0),
    ]:  # fmt: skip
        (doc,), treebank = convert(tmp_path, f"# sent_id = 1\n{comment}\n{own}")
        assert doc.text == expected
        assert treebank.different == [f"{tmp_path / 'a.conllu'}, line 3"] * places


def test_paragraphs_and_documents(tmp_path: Path) -> None:
    sentences = [
        "",
        "# newpar\n",
        "# newpar id = 3\n",
        "# newpar\n",
        "# newdoc id = 2\n# newpar\n",
        "",
    ]
    misc = ["_", "_", r"SpacesAfter=\n", "SpaceAfter=No", "SpaceAfter=No", "_"]
    text = "".join(
        f"{mark}{line(1, word, misc=own)}\n"
        for mark, word, own in zip(sentences, "abcdef", misc, strict=True)
    )
    expected = {
        1: ["a", "b", "c", "d", "e", "f"], 2: ["a\n\nb", "c\nd", "ef"],
        3: ["a\n\nb\n\nc", "d", "ef"],
        10: ["a\n\nb\n\nc\nd", "ef"], 0: ["a\n\nb\n\nc\nd", "ef"],
    }  # fmt: skip
    for number, found in expected.items():
        docs, _ = convert(tmp_path, text, number=number)
        assert [doc.text for doc in docs] == found
        sents = [sent.text.strip() for doc in docs for sent in doc.sents]
        assert sents == ["a", "b", "c", "d", "e", "f"]


def test_entities_cover_whole_tokens(tmp_path: Path) -> None:
    def entities(*tags: str) -> list[tuple[str, str]]:
        forms = ["em", "as", "x", "de", "ele"]
        rows = [
            line(i + 1, form, 0 if i == 0 else 1, "x", f"NE={tag}" if tag else "_")
            for i, (form, tag) in enumerate(zip(forms, tags, strict=True))
        ]
        rows.insert(3, line("4-5", "dele"))
        (doc,), _ = convert(tmp_path, "".join([line("1-2", "nas"), *rows]), "pt")
        return [(entity.text, entity.label_) for entity in doc.ents]

    assert entities("B-LOC", "I-LOC", "L-LOC", "", "U-PER") == [("nas x", "LOC"), ("dele", "PER")]
    assert entities("", "B-LOC", "L-LOC", "", "") == [("x", "LOC")]
    assert entities("U-LOC", "U-PER", "", "", "") in ([("nas", "LOC")], [("nas", "PER")])
    assert entities("", "B-LOC", "I-LOC", "L-LOC", "") == [("x", "LOC")]


def test_sentences_with_and_without_trees(tmp_path: Path) -> None:
    numbers = {1: "a", "2-3": "dá", 2: "b", 3: "c"}
    bare = "".join(line(number, form, "_", "_") for number, form in numbers.items())
    tree = line(1, "d", 2, "x") + line(2, "e")
    docs, _ = convert(tmp_path, f"{bare}\n{bare}\n{tree}\n{tree}\n{bare}", number=5)
    assert [doc.text for doc in docs] == ["a dá a dá", "d e d e", "a dá"]
    assert [doc.has_annotation("DEP") for doc in docs] == [False, True, False]
    assert [len([*doc.sents]) for doc in docs] == [2, 2, 1]


def test_the_command_tells_what_became_of_several_words(tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    file.write_text(DAS.replace("não.\n", "nao.\n", 1), encoding="utf8")

    def run(*options: str) -> str:
        arguments = ["convert", file, "--output", tmp_path / "out", "--lang", "pt", *options]
        result = CliRunner().invoke(ssvm, [*map(str, arguments)])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    output = run()
    assert "0 divided, 2 kept whole, such as das (de + as), dela (de + ela)" in output
    assert "In 1 sentence the tokens are not those of '# text'" in output
    assert "line 2" in output
    output = run("--words")
    assert "kept whole" not in output
    assert "# text" not in output
    (doc,) = DocBin().from_disk(tmp_path / "out" / "a.spacy").get_docs(NLP["pt"].vocab)
    assert doc.has_unknown_spaces
    output = run("--split")
    assert "2 divided, 0 kept whole" in output
    (doc,) = DocBin().from_disk(tmp_path / "out" / "a.spacy").get_docs(NLP["pt"].vocab)
    assert [(token.text, token.norm_) for token in doc[1:3]] == [("d", "de"), ("as", "as")]
    arguments = ["convert", file, "--output", tmp_path / "out", "--words", "--split"]
    result = CliRunner().invoke(ssvm, [*map(str, arguments)])
    assert result.exit_code == 2
    assert "it does not go with --words" in result.output


@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_trees_stay_trees(number: int, random: Random) -> None:
    order = random.sample(range(number), number)
    heads = [0] * number
    for i, word in enumerate(order):
        heads[word] = order[random.randrange(i)] if i else word
    words = [
        Word(str(i), "", "X", "X", "", head, "ROOT" if head == i else f"d{i}", "")
        for i, head in enumerate(heads)
    ]
    cuts = sorted({0, number, *random.sample(range(number), random.randrange(number))})
    tokens = [Token(f"t{a}", a, b, "_") for a, b in pairwise(cuts)]
    (doc,), _ = make_docs(NLP["en"], [[Sentence("", False, False, None, words, tokens)]])
    assert len(doc) == len(tokens)
    (root,) = [token for token in doc if token.head == token]
    assert root.dep_ == "ROOT"
    assert all(token.is_ancestor(other) for token in [root] for other in doc if other != root)
    token_of = {i: t for t, token in enumerate(tokens) for i in range(token.first, token.end)}
    for token in doc:
        if token != root:
            word = int(token.dep_.removeprefix("d"))
            assert (token_of[word], token_of[heads[word]]) == (token.i, token.head.i)


def test_docs_are_written_and_read(tmp_path: Path) -> None:
    (doc,), _ = convert(tmp_path, DAS + "\n# newpar\n" + DAS, "pt", number=2)
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    (read,) = DocBin().from_disk(tmp_path / "a.spacy").get_docs(NLP["pt"].vocab)
    assert (read.text, read.to_json()) == (doc.text, doc.to_json())
    assert [sent.text for sent in read.sents] == ["Uma das casas, dela não.\n\n", doc.text[26:]]


@pytest.mark.parametrize(("lang", "folder"), [
    ("en", "ud_en_ewt"), ("pt", "ud_pt_bosque"), ("nl", "ud_nl_lassysmall"),
])  # fmt: skip
def test_texts_of_treebanks(lang: str, folder: str) -> None:
    data = os.environ.get("SPACY_SSVM_DATA")
    if data is None:
        pytest.skip("needs treebanks in the folder SPACY_SSVM_DATA")
    files = sorted(Path(data, folder).glob("*.conllu"))
    assert files
    for file in files:
        sentences = list(read_conllu(file))
        docs, treebank = make_docs(spacy.blank(lang), [[sentence] for sentence in sentences])
        assert treebank.different == []
        for sentence, doc in zip(sentences, docs, strict=True):
            assert doc.text == (sentence.text or doc.text)
            assert len([*doc.sents]) == 1
