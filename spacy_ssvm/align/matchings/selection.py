"""Selects among the templates of a model of matchings: see ``selection.py``.

Selection learns plain matchings, in which a word has one link at most.
"""

import numpy as np

from spacy_ssvm.align.matchings.layout import POSSIBLE, WRONG
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.problem import HAMMING, MatchingProblem
from spacy_ssvm.align.matchings.templates import find_link_refinements
from spacy_ssvm.align.matchings.training import GoldPairs, LinkExtractor
from spacy_ssvm.features.statistics import measure_rows
from spacy_ssvm.selection import Selector


def matching_selector(
    model: MatchingModel, batch: GoldPairs, *, costs: tuple[float, float] = HAMMING
) -> Selector:
    """A selector among the templates of a model.

    batch, costs: as in ``MatchingTrainer``.
    """
    templates = model.templates
    extractor = LinkExtractor(model.compiled)
    refines = find_link_refinements(templates)
    problem = MatchingProblem(costs=costs, templates=len(templates), refines=refines)
    extractor.append(problem, batch)
    examples = problem.examples()
    features, gold = examples.features, examples.gold
    is_gold = np.where(gold == POSSIBLE, -1, gold != WRONG)
    statistics = measure_rows(
        features.starts, features.rows, is_gold, problem.row_templates, len(templates)
    )
    return Selector(templates, problem, statistics)
