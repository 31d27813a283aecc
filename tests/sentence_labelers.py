"""Small trained labelers of lines, and their scores by enumeration."""

from itertools import product
from typing import Any

import numpy as np
from pipelines import LABELER
from spacy.language import Language
from spacy.tokens import Doc

CRF = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 0.1}


def tiny_labeler(**config: Any) -> Language:
    """A pipeline with a labeler of lines, trained for a few epochs."""
    nlp = LABELER.trained(epochs=4, templates=["bag(lower)", "position"], **config)
    nlp.get_pipe("ssvm_sentence_labeler")._sync()  # type: ignore[attr-defined]
    return nlp


def lines_of(nlp: Language, lines: list[str]) -> Doc:
    """A Doc of these lines."""
    return nlp.make_doc("\n".join(lines))


def sequence_scores(labeler: Any, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """All label sequences of the units of a Doc, and their scores, from weights by features."""
    labeler._sync()
    model = labeler.model
    table = model.reader.read([doc]).table
    emissions = model.emissions(table)
    transitions = model.label_pairs
    n, K = emissions.shape
    sequences = np.array(list(product(range(K), repeat=n)))
    scores = emissions[np.arange(n), sequences].sum(axis=1)
    scores += transitions[K, sequences[:, 0]] + transitions[K + 1, sequences[:, -1]]
    scores += transitions[sequences[:, :-1], sequences[:, 1:]].sum(axis=1)
    return sequences, scores
