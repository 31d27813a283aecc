"""Tests of ``spacy_ssvm/commands/pipelines.py``."""

import re
import shutil
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.vocab import Vocab

import spacy_ssvm
from spacy_ssvm.align.text_pairs import make_pair, sides
from spacy_ssvm.commands.pipelines import load_pipeline, made, title_of, without_annotation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pipeline of two components, the second of which is disabled."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("merge_entities")
    nlp.disable_pipe("merge_entities")
    nlp.to_disk(tmp_path / "pipeline")
    return tmp_path / "pipeline"


def test_all_components_or_one(folder: Path) -> None:
    assert load_pipeline(str(folder)).pipe_names == ["sentencizer"]
    assert load_pipeline(str(folder), "merge_entities").pipe_names == ["merge_entities"]
    with pytest.raises(ValueError, match="choose one of sentencizer, merge_entities"):
        load_pipeline(str(folder), "ner")


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ("en_core_web_sm", "en_core_web_sm"),
        ("/somewhere/entities/model-best", "entities"),
        ("/somewhere/entities/model-last/", "entities"),
        ("/somewhere/entities", "entities"),
    ],
)
def test_short_names(model: str, title: str) -> None:
    assert title_of(model) == title


def test_what_is_no_pipeline() -> None:
    expected = "no_such_package cannot be loaded as a pipeline: .*Can't find model"
    with pytest.raises(ValueError, match=expected):
        load_pipeline("no_such_package")


def test_a_folder_with_a_pipeline_in_it(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    with pytest.raises(ValueError, match="output cannot be loaded as a pipeline") as caught:
        load_pipeline(str(output))
    assert "Did you mean" not in str(caught.value)
    shutil.move(folder, output / "model-best")
    hint = re.escape(f" Did you mean {output / 'model-best'}?")
    with pytest.raises(ValueError, match=f"{hint}$"):
        load_pipeline(str(output))


def test_a_damaged_pipeline(folder: Path) -> None:
    (folder / "tokenizer").write_bytes(b"\xc1")
    with pytest.raises(ValueError, match=f"{folder} cannot be loaded as a pipeline"):
        load_pipeline(str(folder))


def test_the_words_of_a_pair_without_its_links() -> None:
    doc = make_pair(Vocab(), ["a", "b"], ["x"], np.array([[1, 0]]))
    doc[0].tag_ = "X"
    bare = without_annotation(doc)
    assert [[token.text for token in side] for side in sides(bare)] == [["a", "b"], ["x"]]
    assert bare._.alignment is None
    assert not bare[0].tag_


def test_what_a_page_says_of_itself() -> None:
    text = made()
    assert text.startswith(f"{date.today():%Y-%m-%d} with ")
    assert f"spacy-ssvm {spacy_ssvm.__version__}, spacy {spacy.__version__}, numba " in text
