"""What messages quote from files and configs is short, however long it is there."""

from collections.abc import Callable
from pathlib import Path

import pytest
from spacy.vocab import Vocab

from spacy_ssvm.components.columns import make_doc as make_column_doc
from spacy_ssvm.components.columns import read_sentences
from spacy_ssvm.features.clusters import read_clusters
from spacy_ssvm.features.gazetteers import read_gazetteers
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.storage import shorten
from spacy_ssvm.trees.families import ARC_FAMILIES
from spacy_ssvm.trees.templates import ARC_ROLES, parse_arc_templates

LONG = "x" * 2_000_000


@pytest.mark.parametrize("length", [0, 1, 59, 60])
def test_short_texts_stay_as_they_are(length: int) -> None:
    assert shorten("x" * length) == "x" * length


@pytest.mark.parametrize("length", [61, 1000])
def test_long_texts_end_in_dots(length: int) -> None:
    assert shorten("xy" * length) == ("xy" * 30)[:57] + "..."


def read_columns(file: Path, **columns: int) -> None:
    for sentence in read_sentences(file):
        make_column_doc(Vocab(), file, sentence, **{"word": 0, "span": -1, **columns})


def read_templates(file: Path) -> None:
    parse_templates([file.read_text("utf8")], is_attribute=lambda name: False, attributes=["a"])


def read_arc_templates(file: Path) -> None:
    parse_arc_templates(
        [file.read_text("utf8")],
        families=ARC_FAMILIES,
        roles=ARC_ROLES,
        is_attribute=lambda name: False,
        attributes=["a"],
    )


@pytest.mark.parametrize(("text", "read"), [
    (LONG, read_clusters),
    (f"word {LONG}", read_columns),
    (f"{LONG} O", lambda file: read_columns(file, word=7)),
    (f'{{"label": "{LONG}", "pattern": 3}}', lambda f: read_gazetteers({"X": f}, lambda _: [])),
    (LONG, lambda file: read_gazetteers({"X": file}, lambda _: [])),
    (LONG, read_templates),
    (f"{LONG}[0]", read_templates),
    (f"{LONG}[0]+lower[99]", read_templates),
    (f"ngrams({LONG}, 9, 1)", read_templates),
    (LONG, read_arc_templates),
    (f"head.{LONG}", read_arc_templates),
])  # fmt: skip
def test_messages_do_not_repeat_long_lines(
    tmp_path: Path, text: str, read: Callable[[Path], object]
) -> None:
    file = tmp_path / "file.jsonl"
    file.write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match=r"x{20}|line 1") as caught:
        read(file)
    assert len(str(caught.value)) < 1000
