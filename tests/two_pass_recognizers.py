"""What the tests of recognizers that read each Doc twice share."""

from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

WORDS = ["Mr", "{0}", "spoke", ".", "{0}", "left", ".", "then-{0}", "Mr", "{0}", "slept"]
NAMES = [f"Name{number}" for number in range(12)]
CLUE = [
    "lower[-1]"
]  # tells that a word after "Mr" is a name, and not that the same word is elsewhere


def gold(vocab: Vocab, name: str) -> Doc:
    ents = ["B-PER" if word == "{0}" else "O" for word in WORDS]
    return Doc(vocab, words=[word.format(name) for word in WORDS], ents=ents)


def examples_of(nlp: Language, names: list[str]) -> list[Example]:
    references = [gold(nlp.vocab, name) for name in names]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in references]


def trained(templates: list[str] = CLUE, **config: Any) -> tuple[Language, Any, list[Example]]:
    nlp = spacy.blank("en")
    recognizer: Any = nlp.add_pipe(
        "ssvm_ner", config={"templates": templates, "document": True, **config}
    )
    examples = examples_of(nlp, NAMES[:-1])
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    return nlp, recognizer, examples


def starts(nlp: Language, name: str = NAMES[-1]) -> list[int]:
    return [entity.start for entity in nlp(Doc(nlp.vocab, words=words_of(name))).ents]


def words_of(name: str) -> list[str]:
    return [word.format(name) for word in WORDS]
