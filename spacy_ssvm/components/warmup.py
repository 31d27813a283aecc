"""Compiles every kernel once, so that no user waits for it: for container builds."""

from functools import partial
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example

_SENTENCES = (
    ("the dog barks .", "DET NOUN VERB PUNCT"),
    ("a cat sleeps", "DET NOUN VERB"),
)


def compile_kernels() -> None:
    """Train and use a tiny pipeline, which fills the kernel cache."""
    for hash_bits in (None, 10):
        nlp = spacy.blank("xx")
        tagger: Any = nlp.add_pipe("ssvm_tagger", config={"hash_bits": hash_bits})
        examples = [
            Example(
                Doc(nlp.vocab, words=text.split()),
                Doc(nlp.vocab, words=text.split(), tags=tags.split()),
            )
            for text, tags in _SENTENCES
        ]
        nlp.initialize(partial(iter, examples))
        for _ in range(2):
            nlp.update(examples)
        doc = nlp("the cat barks .")
        tagger.scores(doc)
        tagger.explain(doc, 1)
        tagger.objective(examples)
        reloaded = spacy.blank("xx")
        reloaded.add_pipe("ssvm_tagger", config={"hash_bits": hash_bits})
        reloaded.from_bytes(nlp.to_bytes())
        reloaded.update(examples)
