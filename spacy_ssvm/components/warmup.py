"""Compiles the kernels of all components once, so that no user waits: for container builds."""

from functools import partial
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example

_WORDS = ["the", "dog", "barks", ".", "a", "cat", "sleeps"]
_TAGS = ["DET", "NOUN", "VERB", "PUNCT", "DET", "NOUN", "VERB"]
_HEADS = [1, 2, 2, 2, 5, 6, 6]
_ENTS = ["O", "B-NOUN", "O", "O", "O", "B-NOUN", "O"]
_STARTS: list[bool | int | None] = [i in (0, 4) for i in range(len(_WORDS))]

_PROBABLE = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1"}

#: Those that differ in kernels, or in what these are called with.
_COMPONENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ssvm_tagger", {}),
    ("ssvm_tagger", {"hash_bits": 10}),
    ("ssvm_senter", {}),
    ("ssvm_parser", {"order": 1, "hash_bits": 10}),
    ("ssvm_parser", {"order": 2, "hash_bits": 10}),
    ("ssvm_ner", {"solver": _PROBABLE}),
    ("ssvm_parser", {"order": 1, "hash_bits": 10, "solver": _PROBABLE}),
)


def compile_kernels() -> None:
    """Train and use tiny pipelines, which fills the kernel cache."""
    for factory, config in _COMPONENTS:
        nlp = spacy.blank("xx")
        pipe: Any = nlp.add_pipe(factory, config=config)
        examples = [
            Example(
                Doc(nlp.vocab, words=_WORDS, sent_starts=_STARTS),
                Doc(nlp.vocab, words=_WORDS, tags=_TAGS, heads=_HEADS, deps=_TAGS, ents=_ENTS),
            )
        ]
        nlp.initialize(partial(iter, examples))
        for _ in range(2):
            nlp.update(examples)
        doc = nlp(Doc(nlp.vocab, words=_WORDS, sent_starts=_STARTS))
        if factory != "ssvm_ner":
            pipe.scores(doc)
            pipe.explain(doc, 1)
        if pipe.model.beta is not None:
            pipe.marginals(doc, overwrite=True)
        pipe.objective(examples)
        reloaded = spacy.blank("xx")
        reloaded.add_pipe(factory, config=config)
        reloaded.from_bytes(nlp.to_bytes())
        reloaded.update(examples)
