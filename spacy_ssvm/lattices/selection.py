"""Selects among the templates of a model of lattices: see ``selection.py``."""

import numpy as np

from spacy_ssvm.features.templates import find_refinements
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Rows, Weights
from spacy_ssvm.labelings.lazy_problem import LazyProblem, measure_words
from spacy_ssvm.lattices.model import LatticeModel
from spacy_ssvm.lattices.oracle import LAZY_LATTICES
from spacy_ssvm.lattices.problem import LatticeProblem
from spacy_ssvm.lattices.training import AnnotatedTokens, gold_candidates, only_labels
from spacy_ssvm.selection import Selector


class LazyLatticeProblem(LazyProblem, LatticeProblem):
    """Lattices whose features are those of compiled templates."""

    structure = LAZY_LATTICES
    shrink_after = 1000  # examples: with all of them, templates of words crowd out those of shapes

    def set_tokens(
        self,
        attributes: Keys,
        token_starts: Ints,
        candidate_starts: Ints,
        candidates: Rows,
        allowed: Flags,
        reals: Weights | None = None,
    ) -> None:
        """Set the examples of an empty problem: see ``LatticeProblem.append``.

        attributes: uint64 [tokens, columns].
        """
        self.real_rows = np.zeros(len(self._real_keys.keys), dtype=np.int32)
        empty = np.zeros(len(attributes) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.append(*empty, token_starts, candidate_starts, candidates, allowed, reals)
        self.set_words(attributes, self._reals.array)
        self._most_features = self.max_features


def lattice_selector(model: LatticeModel, batch: AnnotatedTokens) -> Selector:
    """A selector among the templates of a model of lattices, whose candidates are known.

    batch: as in ``LatticeTrainer``.
    """
    tokens, annotation, _ = batch
    statistics, keys, reals = measure_words(model, tokens, only_labels(annotation))
    problem = LazyLatticeProblem(model.system.parts, model.system.levels)
    refines = find_refinements(model.templates)
    problem.set_features(model.compiled, statistics.features, refines, keys)
    candidates, agrees = gold_candidates(model, batch)
    words = tokens.attributes, tokens.sentence_starts
    problem.set_tokens(*words, *candidates, agrees, reals)
    return Selector(model.templates, problem, statistics)
