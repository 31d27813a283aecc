"""Components that an earlier version has saved are loaded, and annotate what they did."""

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import spacy
from keep_models import FOLDER, KEPT, Kept
from pipelines import PARSER
from saving import FILE, header_of

from spacy_ssvm.storage import FORMAT_VERSION


def test_models_of_this_format_are_kept() -> None:
    """Where the format has changed on purpose: ``python tests/keep_models.py``."""
    assert {file.stem for file in FOLDER.iterdir()} == {kept.name for kept in KEPT}
    for file in FOLDER.iterdir():
        with zipfile.ZipFile(file) as archive:
            data = archive.read(f"folder/{FILE}")
            assert header_of(data)[0]["__metadata__"]["format"] == str(FORMAT_VERSION)
            assert archive.read("bytes") == data


@pytest.mark.filterwarnings(PARSER.warning)
@pytest.mark.parametrize("form", ["folder", "bytes", "pickle"])
@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_a_kept_model_annotates_what_it_did(kept: Kept, form: str, tmp_path: Path) -> None:
    nlp = kept.pipeline()
    pipe: Any = nlp.get_pipe(kept.name)
    with zipfile.ZipFile(FOLDER / f"{kept.name}.zip") as archive:
        expected = json.loads(archive.read("annotations.json"))
        if form == "bytes":
            pipe.from_bytes(archive.read("bytes"), exclude=["vocab"])
        elif form == "pickle":
            pipe = pickle.loads(archive.read("pickle"))
            nlp = spacy.blank(nlp.lang, vocab=pipe.vocab)
            nlp._components = [(kept.name, pipe)]
        else:
            archive.extractall(tmp_path)
            pipe.from_disk(tmp_path / "folder", exclude=["vocab"])
    assert kept.annotate(nlp) == expected
    assert len(set(map(str, expected))) > 1, "it has learned something"
