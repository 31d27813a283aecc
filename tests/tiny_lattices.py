"""What the tests of tiny models of lattices share: a corpus, and models that know it."""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_ssvm.features.attributes import ATTRIBUTES, TokenTable, is_attribute
from spacy_ssvm.features.extraction import extract_keys
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.kernels.types import Floats, Ints
from spacy_ssvm.lattices.labels import FEATURES, features_of
from spacy_ssvm.lattices.model import LatticeModel
from spacy_ssvm.lattices.training import (
    AnnotatedTokens,
    LatticeTrainer,
    learn_candidates,
    read_annotated,
)
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.weights.key_table import find_row

#: Words with their labels, a sentence on each line. Some words have several labels.
CORPUS = """
the/POS=DET walk/Number=Sing|POS=NOUN ends/Number=Sing|POS=VERB
they/Number=Plur|POS=PRON walk/Number=Plur|POS=VERB
the/POS=DET walks/Number=Plur|POS=NOUN end/Number=Plur|POS=VERB
she/Number=Sing|POS=PRON walks/Number=Sing|POS=VERB
the/POS=DET fish/Number=Sing|POS=NOUN swims/Number=Sing|POS=VERB
the/POS=DET fish/Number=Plur|POS=NOUN swim/Number=Plur|POS=VERB
they/Number=Plur|POS=PRON fish/Number=Plur|POS=VERB
"""

SENTENCES = [
    [tuple(token.split("/", 1)) for token in line.split()] for line in CORPUS.strip().splitlines()
]
LABELS = tuple(sorted({label for sentence in SENTENCES for _, label in sentence}))
VOCAB = Vocab()
TEMPLATES = ["lower[0]", "suffix1[0]", "lower[-1]", "lower[1]"]


def templates_of(texts: Sequence[str] = TEMPLATES) -> tuple[Template, ...]:
    return parse_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES)


def new_model(
    texts: Sequence[str] = TEMPLATES, *, scheme: str = FEATURES, labels: Sequence[str] = LABELS
) -> LatticeModel:
    return LatticeModel(templates_of(texts), scheme=scheme, labels=labels)


def views_of(labels: Sequence[str]) -> Ints:
    """What labels mean: int64 [K, 2], a number of their POS, and one of their other features."""
    pairs = [
        (features_of(label).get("POS", ""), features_of(label).get("Number", ""))
        for label in labels
    ]
    columns = [sorted(set(column)) for column in zip(*pairs, strict=True)]
    rows = [[columns[v].index(value) for v, value in enumerate(pair)] for pair in pairs]
    return np.array(rows, dtype=np.int64)


VIEWS = views_of(LABELS)


def doc_of(*sentences: Sequence[str]) -> Doc:
    """A Doc of sentences."""
    starts = [not i for words in sentences for i in range(len(words))]
    words = [word for of_sentence in sentences for word in of_sentence]
    return Doc(VOCAB, words=words, sent_starts=starts)


def docs() -> list[Doc]:
    """The corpus, a sentence each."""
    return [doc_of([word for word, _ in sentence]) for sentence in SENTENCES]


def gold() -> list[list[str]]:
    return [[label for _, label in sentence] for sentence in SENTENCES]


def annotated(
    model: LatticeModel,
    docs: Sequence[Doc] | None = None,
    labels: Sequence[Sequence[Any]] | None = None,
) -> AnnotatedTokens:
    """Docs with their gold labels, None for none, or rows of their annotation; or the corpus."""
    views = views_of(model.labels)
    nothing = np.array([-1, -1])
    rows = [
        [
            nothing if label is None else views[model.labels.index(label)]
            if isinstance(label, str) else np.array(label)
            for label in own
        ]
        for own in (gold() if labels is None else labels)
    ]  # fmt: skip
    arrays = [np.array(own, dtype=np.int64).reshape(len(own), 2) for own in rows]
    return read_annotated(model, globals()["docs"]() if docs is None else docs, arrays, None, views)


def trained_model(
    solver: Any = None, *, epochs: int = 12, restricted: bool = True, **settings: Any
) -> LatticeModel:
    """A model that knows the corpus. restricted: whether words have few candidates."""
    model = new_model(**settings)
    if restricted:
        learn_candidates(model, [annotated(model)])
    train(model, solver, epochs=epochs)
    return model


def train(model: LatticeModel, solver: Any = None, *, epochs: int = 12) -> LatticeTrainer:
    trainer = LatticeTrainer(model, solver or DualCoordinateDescent(C=1.0))
    numbers = [i for numbers in trainer.add(annotated(model)) for i in numbers]
    for _ in range(epochs):
        trainer.epoch(np.array(numbers, dtype=np.int64))
    trainer.update_model()
    return trainer


def predicted(model: LatticeModel, docs: Sequence[Doc]) -> list[list[str]]:
    """The labels of the words of Docs."""
    tokens = model.reader.read(docs)
    y = model.label(tokens, None)
    starts = tokens.sentence_starts[tokens.doc_sentences]
    return [
        [model.labels[k] for k in y[a:b]] for a, b in pairwise(starts)
    ]  # fmt: skip


# --- Obvious twins of the scores --------------------------------------------------------


def naive_emissions(model: LatticeModel, tokens: TokenTable) -> list[dict[str, float]]:
    """The score of each label at each word, from the weights of its parts."""
    attributes = tokens.attributes
    keys = np.empty((len(attributes), len(model.templates)), dtype=np.uint64)
    extract_keys(model.compiled, attributes, tokens.sentence_starts, keys)
    numbers = {part: p for p, part in enumerate(model.system.part_names)}
    found = []
    for t in range(len(keys)):
        rows = [int(find_row(model.table, key, m)) for m, key in enumerate(keys[t])]
        scores = {}
        for label in model.labels:
            parts = {*label.split("|"), label} if model.scheme == FEATURES else {label}
            columns = [numbers[part] for part in parts]
            scores[label] = sum(sum(model.weights_of(r, columns)) for r in rows if r >= 0)
        found.append(scores)
    return found


def naive_steps(model: LatticeModel, labels: Sequence[str]) -> float:
    """The score of the steps of a sequence: by POS, other attributes, and whole labels."""
    if model.scheme != FEATURES:
        return 0.0
    attributes = sorted({name for label in model.labels for name in features_of(label)} - {"POS"})
    total, first = 0.0, 0
    for level in ["POS", *attributes, None]:

        def value(label: str, level: str | None = level) -> str:
            return label if level is None else features_of(label).get(level, "")

        classes = sorted({value(label) for label in model.labels}) if level else [*model.labels]
        C = len(classes)
        table = model.label_pairs[first : first + C * (C + 2)].reshape(C + 2, C)
        own = [classes.index(value(label)) for label in labels]
        total += table[C, own[0]] + table[C + 1, own[-1]]
        total += sum(table[a, b] for a, b in pairwise(own))
        first += C * (C + 2)
    assert first == len(model.label_pairs)
    return float(total)


def naive_structures(
    model: LatticeModel, tokens: TokenTable, candidates: Sequence[Sequence[str]]
) -> list[tuple[tuple[str, ...], float]]:
    """All structures of one sentence, and their scores; that of an only candidate is 0."""
    emissions = naive_emissions(model, tokens)
    found = []
    for labels in product(*candidates):
        score = sum(emissions[t][label] for t, label in enumerate(labels) if len(candidates[t]) > 1)
        found.append((labels, score + naive_steps(model, labels)))
    return found


def by_word(model: LatticeModel, candidates: Any) -> list[list[str]]:
    """The names of the candidates of each word."""
    starts, labels = candidates
    return [[model.labels[k] for k in labels[a:b]] for a, b in pairwise(starts)]


def split(values: Floats, starts: Ints) -> list[list[float]]:
    """Values of candidates, by word."""
    return [values[a:b].tolist() for a, b in pairwise(starts)]
