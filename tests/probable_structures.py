"""What the tests of probable structures share."""

from spacy.language import Language
from spacy.tokens import Doc

ASCENT = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 0.3}


TYPES = ["LOC", "PER"]


def doc_of(nlp: Language, words: list[str], starts: list[int]) -> Doc:
    return Doc(nlp.vocab, words=words, sent_starts=[i in starts for i in range(len(words))])
