"""Selects among the templates of a chain model: see ``selection.py``."""

import numpy as np

from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.problem import LazyChainProblem
from spacy_ssvm.chains.training import LabelledTokens
from spacy_ssvm.features.reals import measure_scales
from spacy_ssvm.features.statistics import measure_templates, with_reals
from spacy_ssvm.features.templates import find_refinements
from spacy_ssvm.kernels.types import Floats
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
    tokens, labels = batch.tokens, batch.labels
    K = len(model.labels)
    statistics = measure_templates(
        model.compiled, tokens.attributes, tokens.sentence_starts, labels, K
    )
    scales = measure_scales(tokens.reals)
    reals, keys = model.real_values(tokens, scales), model.real_keys(scales)
    statistics = with_reals(statistics, reals, keys.templates, labels, K)
    problem = LazyChainProblem(
        K,
        model.compiled,
        group_sizes=K * statistics.features,
        refines=find_refinements(model.templates),
        costs=costs,
        legality=legality,
        reals=keys,
    )
    gold = np.where(labels < 0, problem.any_label, labels)
    problem.set_tokens(tokens.attributes, tokens.sentence_starts, gold, reals)
    return Selector(model.templates, problem, statistics)
