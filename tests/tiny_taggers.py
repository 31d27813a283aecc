"""What the tests of tiny taggers share."""

from typing import Any

from corpora import make_doc, tagged_sentences
from pipelines import TAGGER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

TINY = """
the/DT dog/NN barks/VB
a/DT cat/NN sleeps/VB
dogs/NN bark/VB
the/DT bark/NN falls/VB
sleeps/VB the/DT dog/NN
"""


def train(nlp: Language, examples: list[Example], epochs: int = 12) -> Any:
    """The tagger, trained on the examples."""
    nlp.initialize(lambda: examples)
    TAGGER.train(nlp, examples, epochs)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger(nlp.make_doc("now"))  # the weights that learn become those that tag
    return tagger


def example_of(
    nlp: Language, text: str, *, words: list[str] | None = None, **annotations: Any
) -> Example:
    """A sentence word/TAG word/TAG; a tag may be empty. words: other tokens to predict."""
    (gold_words, tags), *_ = tagged_sentences(text)
    reference = make_doc(nlp.vocab, gold_words, tags=tags)
    predicted = make_doc(nlp.vocab, words or gold_words, **annotations)
    assert predicted.text == reference.text
    return Example(predicted, reference)


def tags(doc: Doc) -> list[str]:
    return [token.tag_ for token in doc]


TWO = ["The", "old", "dog", "barks", ".", "Open", "the", "door", "now", "!"]


STARTS = [i in (0, 5) for i in range(len(TWO))]
