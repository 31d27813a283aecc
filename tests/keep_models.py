"""Models that are kept in ``kept/``, to be loaded as long as the format of saved components stands.

    python tests/keep_models.py

writes them anew, after ``storage.FORMAT_VERSION`` has changed, or classes that pickles name have
moved. A file holds a trained component as a folder and as bytes, both without the vocabulary, as a
pickle, and what it annotates.
"""

import argparse
import json
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from pipelines import COMPONENTS, PARSER, Component
from planted_pairs import EAGER, planted_doc, planted_examples
from spacy.language import Language

from spacy_ssvm.align.text_pairs import read_links

FOLDER = Path(__file__).parent / "kept"
_MADE = (1980, 1, 1, 0, 0, 0)  #: the time of all files, so that the same models are the same bytes


class Kept(NamedTuple):
    """A component that is kept."""

    name: str
    pipeline: Callable[[], Language]  #: not trained
    train: Callable[[Language], None]
    annotate: Callable[[Language], Any]  #: as JSON has it


def _kept(component: Component) -> Kept:
    def train(nlp: Language) -> None:
        examples = component.examples(nlp.vocab)
        nlp.initialize(lambda: examples)
        component.train(nlp, examples, 3)

    def pipeline() -> Language:  # with few features: small files
        few: dict[str, Any] = {"templates": [component.template("lower")]}
        if component is PARSER:
            few |= {"hash_bits": 8, "pruner_templates": few["templates"]}
            few |= {"label_templates": ["dependent.lower"]}
        return component.pipeline(**few)

    return Kept(component.name, pipeline, train, component.annotate)


def _aligner() -> Language:
    nlp = spacy.blank("xx")
    templates = ["source.lower+target.lower", "distance"]
    nlp.add_pipe("ssvm_aligner", config={"templates": templates, "min_count": 1, "solver": EAGER})
    return nlp


def _train_aligner(nlp: Language) -> None:
    examples = planted_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update(examples)


def _links(nlp: Language) -> list[Any]:
    docs = [nlp(planted_doc(nlp.vocab, seed, links=False)) for seed in range(5)]
    return [np.asarray(read_links(doc)).tolist() for doc in docs]


KEPT = [*map(_kept, COMPONENTS), Kept("ssvm_aligner", _aligner, _train_aligner, _links)]


def write(kept: Kept) -> None:
    """Train a component and keep it."""
    nlp = kept.pipeline()
    kept.train(nlp)
    pipe: Any = nlp.get_pipe(kept.name)
    contents = {
        "bytes": pipe.to_bytes(exclude=["vocab"]),
        "pickle": pickle.dumps(pipe, protocol=4),
        "annotations.json": json.dumps(kept.annotate(nlp)).encode(),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipe.to_disk(folder, exclude=["vocab"])
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            contents[f"folder/{file.relative_to(folder).as_posix()}"] = file.read_bytes()
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(FOLDER / f"{kept.name}.zip", "w", zipfile.ZIP_LZMA) as archive:
        for path, content in contents.items():
            archive.writestr(zipfile.ZipInfo(path, _MADE), content, zipfile.ZIP_LZMA)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()  # --help writes nothing
    for each in KEPT:
        write(each)
