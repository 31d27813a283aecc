"""What ``ssvm_aligner`` knows of words: their association in parallel texts, and a lexicon."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
from spacy.attrs import IS_SPACE, ORTH
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import logger

from spacy_ssvm.align.bitext.association import Association
from spacy_ssvm.align.bitext.corpus import Bitext
from spacy_ssvm.align.bitext.lexicon import Lexicon, read_lexicon
from spacy_ssvm.align.bitext.models import train_association
from spacy_ssvm.align.bitext.reading import read_bitext
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.pairs import ASSOCIATION_ATTRIBUTE, LEXICON_ATTRIBUTE
from spacy_ssvm.align.matchings.templates import LEXICON
from spacy_ssvm.align.text_pairs import sides
from spacy_ssvm.components.doc_arrays import columns_of
from spacy_ssvm.components.initialization import Resource, check_resource
from spacy_ssvm.components.settings import initialize_error
from spacy_ssvm.features.attributes import type_values
from spacy_ssvm.kernels.types import Ints, Keys

_LEXICON = Resource("lexicon", LEXICON.__eq__, "a lexicon", "lexicon = PATH")


def read_association(
    name: str,
    nlp: Language,
    examples: Iterable[Example],
    bitext: dict[str, str | None] | None,
) -> Association:
    """The association of the words of the examples' texts and of further parallel texts.

    bitext: {"source": file, "target": file}; the tokenizer of the pipeline divides their lines.
        None, or None for both files, for no further texts.
    Raises ConfigValidationError where a file cannot be read, or there are no texts.
    """
    files = _files(name, bitext or {})
    pairs = [sides(example.predicted) for example in examples]
    words = [[_orths(side.doc)[side.start : side.end] for side in pair] for pair in pairs]
    is_in_zone: bool = nlp.vocab.in_memory_zone  # type: ignore[attr-defined]
    with nullcontext() if is_in_zone else nlp.vocab.memory_zone():
        try:
            if files:
                lines = read_bitext(*files)
                words += [[_orths(nlp.tokenizer(" ".join(s))) for s in pair] for pair in lines]
            hashes = _as_bitext(nlp, words)
        except (OSError, ValueError) as error:
            raise initialize_error(name, "bitext", f"{name}: {error}") from error
    try:
        found = train_association(
            hashes,
            report=lambda step, total: logger.debug("%s: pass %s of %s", name, step, total),
        )
    except ValueError as error:
        raise initialize_error(name, "bitext", f"{name}: {error}") from error
    counts = len(words), len(found.source_words), len(found.target_words)
    logger.info("%s: association of words from %s pairs (%s and %s words)", name, *counts)
    return found


def read_lexical_table(name: str, model: MatchingModel, path: str | Path | None) -> Lexicon | None:
    """The lexicon of a file; None for no file.

    Raises ConfigValidationError where it cannot be read, or a template has none to read.
    """
    check_resource(name, model, _LEXICON, path)
    if path is None:
        return None
    try:
        return read_lexicon(path, partial(type_values, LEXICON_ATTRIBUTE))
    except (OSError, ValueError) as error:
        raise initialize_error(name, "lexicon", f"{name}: {error}") from error


def _files(name: str, bitext: dict[str, str | None]) -> tuple[str, str] | None:
    """The files of further parallel texts; None where there are none."""
    files = {key: file for key, file in bitext.items() if file is not None}
    if not set(bitext) <= {"source", "target"} or len(files) == 1:
        raise initialize_error(
            name,
            "bitext",
            f"{name}: bitext has files for {', '.join(files)}: it needs source and target, a file "
            "each",
        )
    return (files["source"], files["target"]) if files else None


def _orths(doc: Doc) -> Keys:
    """The words of a Doc: uint64 [tokens], 0 for whitespace."""
    columns = columns_of(doc, [ORTH, IS_SPACE])
    orths: Keys = np.where(columns[:, 1] == 0, columns[:, 0], 0).astype(np.uint64)
    return orths


def _as_bitext(nlp: Language, pairs: Sequence[Sequence[Keys]]) -> Bitext:
    """Sentence pairs as hashes of the attribute by which associations find words."""
    found: list[tuple[Keys, Ints]] = []
    for side in range(2):
        sentences = [words[words != 0] for words in (pair[side] for pair in pairs)]
        orths = np.concatenate([*sentences, np.zeros(0, dtype=np.uint64)])
        types, numbers = np.unique(orths, return_inverse=True)
        values = type_values(ASSOCIATION_ATTRIBUTE, [nlp.vocab.strings[o] for o in types.tolist()])
        starts = np.cumsum([0, *map(len, sentences)])
        found.append((values[numbers.ravel()], starts.astype(np.int64)))
    return Bitext(*found[0], *found[1])
