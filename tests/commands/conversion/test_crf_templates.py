"""Templates of CRF++ and Wapiti."""

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from processes import plain
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands.conversion.crf_templates import convert_templates

COLUMNS = ("orth", "tag")


@pytest.mark.parametrize(
    ("line", "template"),
    [
        ("U00:%x[-2,0]", "orth[-2]"),
        ("U05:%x[-1,0]/%x[0,0]", "orth[-1]+orth[0]"),
        ("U22:%x[0,1]/%x[1,1]/%x[2,1]", "tag[0]+tag[1]+tag[2]"),
        ("U:%x[0,0]", "orth[0]"),
        ("u:wrd= %x[ 0, 0]", "orth[0]"),
        ("u:low=%X[0,0]", "lower[0]"),
        ("u:@%x[@-1,1]", "tag[-1]"),
        ('u:pre=%m[ 0,0,"^.?.?.?"]', "prefix3[0]"),
        ('u:suf=%m[-1,0,".?.?$"]', "suffix2[-1]"),
        ('u:suf=%M[0,0,"..$"]', "suffix2[0]"),
    ],
)
def test_what_there_is_a_template_for(line: str, template: str) -> None:
    assert convert_templates([line, "", "# a comment", line], COLUMNS) == ([template], [])


@pytest.mark.parametrize("line", ["B", "b", "*", "B01", "b:"])
def test_labels_of_adjacent_words_need_no_template(line: str) -> None:
    assert convert_templates([line], COLUMNS) == ([], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("B01:%x[0,0]", "features of two labels are not supported"),
        ("*:%x[0,0]", "features of two labels are not supported"),
        ("U00:%x[0,2]", "column 2 has no name: give one more in --columns"),
        ("U00:%x[-17,0]", "template 'orth[-17]': offset -17 is over 16 tokens away"),
        ('u:%t[0,0,"^[A-Z]"]', "tests by regular expressions are not supported"),
        ("u:%t[0,0]", "tests by regular expressions are not supported"),
        ('u:%x[0,0,"a"]', "tests by regular expressions are not supported"),
        ('u:%m[0,0,"[0-9]+"]', '"[0-9]+" is not supported'),
        ('u:%m[0,0,"^..$"]', '"^..$" is not supported'),
        ('u:%m[0,1,"^.."]', '"^.." is not supported'),
        ('u:%m[0,0,"^......"]', '"^......" is not supported'),
        ("U00:%x[0,0]%x[a,0]", "it cannot be read"),
        ("X00:%x[0,0]", "it cannot be read"),
        ("U00:word", "it reads no column"),
        ("nonsense", "it reads no column"),
    ],
)
def test_what_there_is_no_template_for(line: str, reason: str) -> None:
    templates, (left_out,) = convert_templates(["U00:%x[0,0]", line], COLUMNS)
    assert templates == ["orth[0]"]
    assert left_out.startswith(f"line 2: {line}: {reason}")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(ssvm, ["convert", "--templates", *map(str, arguments)])


def test_the_command_prints_templates_that_a_component_reads(tmp_path: Path) -> None:
    file = tmp_path / "template"
    file.write_text("# Unigram\nU00:%x[0,0]\nU01:%x[0,1]/%x[1,1]\nB01:%x[0,0]\nB\n", "utf8")
    result = run(file, "--columns", "lower, pos")
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.output.splitlines() if line.startswith("templates = "))
    templates = json.loads(line.removeprefix("templates = "))
    assert templates == ["lower[0]", "pos[0]+pos[1]"]
    spacy.blank("en").add_pipe("ssvm_tagger", config={"templates": templates})
    assert "line 4: B01:%x[0,0]" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        (b"B\n", [], "no template"),
        (b"\xe9", [], "cannot be read as utf8"),
        (b"U00:%x[0,0]\n", ["--columns", "nosuch"], "nosuch"),
    ],
)
def test_what_the_command_refuses(
    text: bytes, arguments: list[str], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "template"
    file.write_bytes(text)
    result = run(file, *arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert problem in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--templates", __file__, __file__], "': it does not go with --templates"),
        (["--templates", __file__, "-o", "corpus"], "'--output' / '-o': it does not go with"),
        (["--templates", __file__, "--dev", "0.1"], "'--dev': it does not go with --templates"),
        (["--templates", __file__, "--word", "0"], "'--word': it does not go with --templates"),
        ([__file__, "-o", "corpus", "--columns", "orth"], "'--columns': it needs --templates"),
        (["-o", "corpus"], "FILES: name a file"),
        ([__file__], "--output: name a folder"),
    ],
)
def test_templates_and_annotated_files_do_not_go_together(
    arguments: list[str], problem: str
) -> None:
    result = CliRunner().invoke(ssvm, ["convert", *arguments])
    assert result.exit_code == 2
    assert problem in plain(result.output)
