"""What the tests of parses share."""

from typing import Any

import numpy as np
from corpora import parsed_doc
from pipelines import PARSER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

NAME = PARSER.name


#: Settings of a parser with templates of grandparents.
GRANDPARENTS = {"order": 2, "templates": ["parser", "grandparents"]}


LINES = [
    "The:2:det dog:3:nsubj barks:0:ROOT .:3:punct",
    "Birds:2:nsubj sang:0:ROOT in:2:prep trees:3:pobj .:2:punct",
    "She:2:nsubj can:0:ROOT",
]


def parser_of(nlp: Language) -> Any:
    return nlp.get_pipe(NAME)


def blank_doc(nlp: Language, words: list[str], starts: list[int]) -> Doc:
    """A Doc with the boundaries of its sentences, and nothing else."""
    return Doc(nlp.vocab, words=words, sent_starts=[i in starts for i in range(len(words))])


def sentences_of(nlp: Language, *texts: str) -> Doc:
    """A Doc of sentences."""
    words = [text.split() for text in texts]
    starts = np.cumsum([0, *map(len, words)])[:-1].tolist()
    return blank_doc(nlp, [word for sentence in words for word in sentence], starts)


def example_of(nlp: Language, *lines: str, starts: list[int] | None = None) -> Example:
    """An example of sentences with trees; starts: the boundaries of the predicted Doc."""
    reference = parsed_doc(nlp.vocab, *lines)
    words = [token.text for token in reference]
    if starts is None:
        return Example(Doc(nlp.vocab, words=words), reference)
    return Example(blank_doc(nlp, words, starts), reference)


def learned(examples: list[Example], nlp: Language) -> list[bytes]:
    """The weights after two epochs, and the measured objective."""
    nlp.initialize(lambda: examples)
    for _ in range(2):
        nlp.update(examples)
    parser = parser_of(nlp)
    measured = parser.objective(examples)
    model = parser.model
    codes = model.weights.codes, model.pruner_weights.codes
    arrays = *codes, model.label_model.weights.bytes
    return [array.tobytes() for array in arrays] + [str(measured).encode()]
