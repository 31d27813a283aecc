"""Selects among the templates of a chain model: see ``selection.py``."""

import numpy as np

from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.oracle import LAZY_CHAINS
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.chains.training import LabelledTokens
from spacy_ssvm.features.templates import find_refinements
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Weights
from spacy_ssvm.labelings.lazy_problem import LazyProblem, measure_words
from spacy_ssvm.selection import Selector


class LazyChainProblem(LazyProblem, ChainProblem):
    """Chains over K labels whose features are those of compiled templates."""

    structure = LAZY_CHAINS

    def set_tokens(
        self, attributes: Keys, token_starts: Ints, gold: Ints, reals: Weights | None = None
    ) -> None:
        """Set the examples of an empty problem: see ``ChainProblem.append``.

        attributes: uint64 [tokens, columns].
        """
        self.real_rows = np.zeros(len(self._real_keys.keys), dtype=np.int32)
        empty = np.zeros(len(gold) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.append(*empty, token_starts, gold, reals)
        self.set_words(attributes, self._reals.array)
        self._most_features = self.max_features
        self._most_of_both = self.max_features + self._longest


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
    statistics, keys, reals = measure_words(model, tokens, labels)
    problem = LazyChainProblem(len(model.labels), costs=costs, legality=legality)
    refines = find_refinements(model.templates)
    problem.set_features(model.compiled, statistics.features, refines, keys)
    gold = np.where(labels < 0, problem.any_label, labels)
    problem.set_tokens(tokens.attributes, tokens.sentence_starts, gold, reals)
    return Selector(model.templates, problem, statistics)
