"""Trains the first of two passes, and predicts what the second one learns from."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from spacy.util import logger

from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.stacked import StackedModel, predict_types
from spacy_ssvm.chains.training import ChainTrainer
from spacy_ssvm.components.example_cache import GoldDoc, digest, read_in_batches
from spacy_ssvm.components.sequence import read_batch_of
from spacy_ssvm.kernels.types import Keys

FOLDS = 5
EPOCHS = 10  #: of each model of a first pass
_LONG = 10_000  # tokens that take seconds


class FoundTypes(dict[bytes, Keys]):
    """The types of spans predicted in Docs of training, by the digest of their inputs."""

    def __reduce__(self) -> tuple[type["FoundTypes"], tuple[()]]:
        # A copy of a component does not go on with these Docs: see ``ExampleCache``.
        return FoundTypes, ()


def learn_first_pass(
    name: str,
    model: StackedModel,
    docs: Sequence[GoldDoc],
    trainer_of: Callable[[ChainModel], ChainTrainer],
) -> FoundTypes:
    """Train the first model, and predict types in each Doc by a model trained on other folds.

    From types that a model predicts in its own examples, the second one would learn to trust it.
    name: of the component, for the log. docs: with the inputs of the first model.
    """
    found, folds = FoundTypes(), min(FOLDS, len(docs))
    tokens = sum(len(doc.gold) for doc in docs)
    logger.log(
        logging.WARNING if tokens >= _LONG else logging.INFO,  # spaCy shows warnings alone
        "%s: document = true: the first pass is learned before training begins, by %s models of %s "
        "epochs each, on %s tokens",
        *(name, folds + 1, EPOCHS, f"{tokens:,}"),
    )
    for fold in range(folds):
        logger.info("%s: first pass, fold %s of %s", name, fold + 1, folds)
        left_out, others = docs[fold::FOLDS], [d for i, d in enumerate(docs) if i % FOLDS != fold]
        learned = model.new_first()
        _learn(learned, others, trainer_of)
        types = predict_types(learned, [doc.doc for doc in left_out])
        for doc, of_tokens in zip(left_out, types, strict=True):
            found[digest(doc.inputs.tobytes())] = of_tokens
    logger.info("%s: first pass, all examples", name)
    _learn(model.first, docs, trainer_of)
    return found


def _learn(
    model: ChainModel, docs: Sequence[GoldDoc], trainer_of: Callable[[ChainModel], ChainTrainer]
) -> None:
    """Train a model on Docs; leave it untrained where there are none."""
    if not any(len(doc.gold) for doc in docs):
        return
    trainer = trainer_of(model)
    for batch in read_in_batches(docs, partial(read_batch_of, model)):
        trainer.add(batch)
    numbers = np.arange(trainer.problem.number_of_examples)
    for _ in range(EPOCHS):
        trainer.epoch(numbers)
    trainer.update_model()
