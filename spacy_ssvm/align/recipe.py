"""Word aligners from parallel texts with links: their corpus and their config."""

from collections.abc import Sequence
from pathlib import Path

import spacy
from spacy.tokens import Doc
from thinc.api import Config

from spacy_ssvm.align.reader import ParallelCorpus, are_parallel, write_pairs
from spacy_ssvm.align.text_pairs import POSSIBLE, read_links
from spacy_ssvm.commands.conversion.files import split
from spacy_ssvm.commands.recipes.config import TRAINING, initialize_of
from spacy_ssvm.commands.recipes.training import Corpus, TrainingFolder

#: The name of the component.
ALIGNER = "aligner"


def read_pairs_with_links(
    files: Sequence[Path], dev: Sequence[Path], *, share: float, seed: int
) -> Corpus:
    """The pairs of a source, a target and links; those with an empty side are left out.

    dev: three files like these; where there are none, a share of the pairs is drawn by the seed.
    Raises ValueError, naming file and line, where files do not fit together.
    """
    if dev and not (len(dev) == 3 and are_parallel(dev)):
        raise ValueError(
            "three files are needed for dev, too: --dev SOURCE --dev TARGET --dev LINKS, in this "
            "order"
        )
    train, held_out = _read(files), _read(dev) if dev else []
    if not dev:
        parts = split(train, {"dev": share}, seed)
        train, held_out = parts["train"], parts["dev"]
    return Corpus(train, held_out, [])


def _read(files: Sequence[Path]) -> list[Doc]:
    nlp = spacy.blank("xx")
    source, target, links = files
    return [example.reference for example in ParallelCorpus(source, target, links)(nlp)]


def write_corpus(folder: TrainingFolder, corpus: Corpus) -> None:
    """Write both parts as parallel texts."""
    for part, docs in (("train", corpus.train), ("dev", corpus.dev)):
        write_pairs(folder.pairs(part), docs)


def has_possible_links(docs: Sequence[Doc]) -> bool:
    """Whether any pair has links that are merely possible."""
    return any(len(links) for doc in docs if (links := read_links(doc, POSSIBLE)) is not None)


def make_aligner_config(folder: TrainingFolder, *, by_error_rate: bool) -> Config:
    """The config of an aligner, with all settings.

    by_error_rate: whether the best epoch is that of the lowest alignment error rate, not that of
        the highest F1 of sure links.
    """
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_aligner", name=ALIGNER)
    config = Config(nlp.config).copy()
    names = ("source", "target", "alignment")
    parts = ("train", "dev")
    files = {
        f"{part}_{name}": file.as_posix()
        for part in parts
        for name, file in zip(names, folder.pairs(part), strict=True)
    }
    others = {key: config["paths"][key] for key in ("vectors", "init_tok2vec")}
    bitext = {"bitext_source": None, "bitext_target": None}
    config["paths"] = {**files, **bitext, "log": None, **others}
    for part in parts:
        config["corpora"][part] = {
            "@readers": "spacy_ssvm.ParallelCorpus.v1",
            **{name: f"${{paths.{part}_{name}}}" for name in names},
            "format": "pharaoh",
            "limit": 0,
            "evidence": {},
        }
    weights = {"align_f": 1.0, "align_aer": None, "align_p": 0.0, "align_r": 0.0}
    if by_error_rate:
        weights |= {"align_f": 0.0, "align_aer": -1.0}
    config["training"] |= {**TRAINING, "score_weights": weights}
    config["components"][ALIGNER]["solver"]["seed"] = "${system.seed}"
    sides = {side: f"${{paths.bitext_{side}}}" for side in ("source", "target")}
    settings = initialize_of(nlp, ALIGNER)
    config["initialize"]["components"][ALIGNER] = {**settings, "bitext": sides}
    return config
