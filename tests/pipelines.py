"""The components to test, and pipelines of them.

A new component joins the tests of ``test_component.py`` as one more entry of COMPONENTS.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import spacy
from corpora import (
    chunk_examples,
    entity_examples,
    labelled_examples,
    lemma_examples,
    morphology_examples,
    paragraph_examples,
    parsing_examples,
    tagging_examples,
)
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab


def arc_of_each_token(doc: Doc) -> list[str]:
    """The head and the label, nothing where they are not known."""
    return [f"{token.head.i} {token.dep_}" if token.dep else "" for token in doc]


def features_of_each_token(doc: Doc) -> list[str]:
    """The part of speech and the features, nothing where they are not known."""
    return [f"{token.pos_} {token.morph}" if token.pos else "" for token in doc]


def start_of_each_token(doc: Doc) -> list[str]:
    """Whether a sentence starts at the token, nothing where it is not known."""
    return ["" if token.is_sent_start is None else str(token.is_sent_start) for token in doc]


def entity_of_each_token(doc: Doc) -> list[str]:
    """B or I with the type, O outside of entities, nothing where it is not known."""
    return [token.ent_iob_ + token.ent_type_ for token in doc]


def chunk_of_each_token(doc: Doc) -> list[str]:
    """B or I with the type, O outside of chunks, nothing in a Doc without chunks."""
    if "chunks" not in doc.spans:
        return [""] * len(doc)
    found = ["O"] * len(doc)
    for span in doc.spans["chunks"]:
        found[span.start : span.end] = [("I" if i else "B") + span.label_ for i in range(len(span))]
    return found


def label_of_each_token(doc: Doc) -> list[str]:
    """The label of the token's line, - outside of lines, nothing in a Doc without labels."""
    if "sentence_labels" not in doc.spans:
        return [""] * len(doc)
    found = ["-"] * len(doc)
    for span in doc.spans["sentence_labels"]:
        found[span.start : span.end] = [span.label_] * len(span)
    return found


@dataclass(frozen=True)
class Component:
    """A component to test: how to make it, teach it, and read what it writes."""

    factory: str
    examples: Callable[[Vocab], list[Example]]  #: a corpus it can learn by heart
    annotations: Callable[[Doc], list[str]]  #: what it writes to each token
    score: str  #: the key of its main score
    config: dict[str, Any] = field(default_factory=dict)
    #: settings with which it replaces what is written already
    overwriting: dict[str, Any] = field(default_factory=dict)
    #: a setting that is saved, not at its default, without effect on texts of the corpus
    variation: dict[str, Any] = field(default_factory=lambda: {"overwrite": True})
    #: how a template reads an attribute of the token that it is about
    part: str = "{}[0]"
    #: settings with which nothing is left out to save time
    exact: dict[str, Any] = field(default_factory=dict)
    #: settings without which it cannot learn the corpus
    required: dict[str, Any] = field(default_factory=dict)
    #: whether it explains what it writes token by token
    labels_tokens: bool = True
    #: how many strings of the vocabulary a label needs at most
    strings: int = 1
    #: a warning that it gives on the corpus, as a filter of warnings
    warning: str | None = None

    @property
    def name(self) -> str:
        return self.factory

    def template(self, *attributes: str) -> str:
        """A template that reads these attributes."""
        return "+".join(map(self.part.format, attributes))

    def pipeline(self, **config: Any) -> Language:
        """A blank pipeline with the component, not initialized."""
        nlp = spacy.blank("en")
        nlp.add_pipe(self.factory, config={**self.config, **config})
        return nlp

    def trained(self, *, epochs: int = 12, **config: Any) -> Language:
        """A pipeline that knows the corpus by heart."""
        nlp = self.pipeline(**config)
        examples = self.examples(nlp.vocab)
        nlp.initialize(lambda: examples)
        self.train(nlp, examples, epochs)
        return nlp

    def train(self, nlp: Language, examples: list[Example], epochs: int) -> None:
        for _ in range(epochs):
            nlp.update(examples)

    def texts(self) -> list[str]:
        return [example.reference.text for example in self.examples(Vocab())]

    def annotate(self, nlp: Language, texts: Iterable[str] | None = None) -> list[list[str]]:
        """What the pipeline writes into the texts, or into those of the corpus."""
        docs = nlp.pipe(self.texts() if texts is None else texts)
        return [self.annotations(doc) for doc in docs]

    def gold(self) -> list[list[str]]:
        return [self.annotations(example.reference) for example in self.examples(Vocab())]

    def accuracy(self, nlp: Language) -> float:
        """The component's score on the corpus."""
        return float(nlp.evaluate(self.examples(nlp.vocab))[self.score])

    def number_of_examples(self, nlp: Language) -> int:
        """The examples that the solver keeps dual variables for."""
        training: Any = nlp.get_pipe(self.name)._trainer
        return int(training.problem.number_of_examples)


#: A solver that fits small corpora closely.
EAGER = {"solver": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 1.0}}

COMPONENTS = [
    Component(
        "ssvm_tagger",
        examples=tagging_examples,
        annotations=lambda doc: [token.tag_ for token in doc],
        score="tag_acc",
        config=EAGER,
        overwriting={"overwrite": True},
    ),
    Component(
        "ssvm_morphologizer",
        examples=morphology_examples,
        annotations=features_of_each_token,
        score="morph_acc",
        config={**EAGER, "candidates": False},
        overwriting={"overwrite": True},
        variation={"overwrite": False},
        strings=4,
    ),
    Component(
        "ssvm_lemmatizer",
        examples=lemma_examples,
        annotations=lambda doc: [token.lemma_ for token in doc],
        score="lemma_acc",
        config={**EAGER, "candidates": False},
        overwriting={"overwrite": True},
    ),
    Component(
        "ssvm_ner",
        examples=entity_examples,
        annotations=entity_of_each_token,
        score="ents_f",
        config=EAGER,
        overwriting={"overwrite": True},
    ),
    Component(
        "ssvm_chunker",
        examples=chunk_examples,
        annotations=chunk_of_each_token,
        score="spans_chunks_f",
        config=EAGER,
        variation={"threshold": 1e-6},
    ),
    Component(
        "ssvm_senter",
        examples=paragraph_examples,
        annotations=start_of_each_token,
        score="sents_f",
        config=EAGER,
        overwriting={"overwrite": True},
    ),
    Component(
        "ssvm_parser",
        examples=parsing_examples,
        annotations=arc_of_each_token,
        score="dep_las",
        config={**EAGER, "label_solver": EAGER["solver"], "min_count": 1, "hash_bits": 16},
        overwriting={"overwrite": True},
        part="head.{0}+dependent.{0}",
        exact={"pruning": None},
        warning="ignore:.* has no sentence boundaries and is parsed as one sentence",
    ),
    Component(
        "ssvm_sentence_labeler",
        examples=labelled_examples,
        annotations=label_of_each_token,
        score="sentence_labels_acc",
        config={**EAGER, "units": "lines"},
        required={**EAGER, "units": "lines"},
        labels_tokens=False,
        overwriting={"overwrite": True},
        part="first({})",
    ),
]
TAGGER, MORPHOLOGIZER, LEMMATIZER, RECOGNIZER, CHUNKER, SENTER, PARSER, LABELER = COMPONENTS


def copy_of(nlp: Language) -> Language:
    """The same pipeline, with a vocabulary of its own."""
    return spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
