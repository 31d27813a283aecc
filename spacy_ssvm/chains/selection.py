"""Selects among the templates of a chain model: see ``selection.py``."""

import numpy as np

from spacy_ssvm._jit import Floats
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.problem import LazyChainProblem
from spacy_ssvm.chains.training import LabelledTokens
from spacy_ssvm.features.statistics import measure_templates
from spacy_ssvm.features.templates import find_refinements
from spacy_ssvm.selection import Selector


def chain_selector(
    model: ChainModel,
    batch: LabelledTokens,
    *,
    costs: Floats | None = None,
    legality: Floats | None = None,
) -> Selector:
    """A selector among the templates of a model of chains.

    batch, costs, legality: as in ``ChainTrainer``.
    """
    tokens, labels = batch
    K = len(model.labels)
    statistics = measure_templates(
        model.compiled, tokens.attributes, tokens.sentence_starts, labels, K
    )
    problem = LazyChainProblem(
        K,
        model.compiled,
        group_sizes=K * statistics.features,
        refines=find_refinements(model.templates),
        costs=costs,
        legality=legality,
    )
    gold = np.where(labels < 0, problem.any_label, labels)
    problem.set_tokens(tokens.attributes, tokens.sentence_starts, gold)
    return Selector(model.templates, problem, statistics)
