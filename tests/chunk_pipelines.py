"""What the tests of chunk pipelines share."""

from typing import Any

from pipelines import CHUNKER
from spacy.language import Language
from spacy.tokens import Doc

NAME = CHUNKER.name


Chunk = tuple[int, int, str]


def chunker_of(nlp: Language) -> Any:
    return nlp.get_pipe(NAME)


def chunks(doc: Doc, key: str = "chunks") -> list[Chunk]:
    return [(span.start, span.end, span.label_) for span in doc.spans[key]]
