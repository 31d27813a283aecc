"""Selects among the templates of a model of matchings: see ``selection.py``.

Selection learns plain matchings, in which a word has one link at most.
"""

import numpy as np

from spacy_ssvm.align.matchings.layout import POSSIBLE, WRONG
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.problem import HAMMING, MatchingProblem
from spacy_ssvm.align.matchings.templates import find_link_refinements
from spacy_ssvm.align.matchings.training import GoldPairs, LinkExtractor
from spacy_ssvm.features.statistics import Statistics
from spacy_ssvm.kernels.types import Floats, Ints, Rows
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
    statistics = measure_link_templates(
        problem.row_templates,
        len(templates),
        examples.features.starts,
        examples.features.rows,
        examples.gold,
    )
    return Selector(templates, problem, statistics)


def measure_link_templates(
    row_templates: Rows, T: int, starts: Ints, rows: Rows, gold: Rows
) -> Statistics:
    """The features of each template, and what they tell of whether a link is gold.

    starts, rows: the features of links, see ``LinkFeatures``; gold: int32 [links], of which
    POSSIBLE tells nothing. Numbers count by whether they are there, not by their value.
    """
    number = len(row_templates)
    kinds = gold == WRONG, (gold != WRONG) & (gold != POSSIBLE)
    owners = np.repeat(np.arange(len(gold)), np.diff(starts))
    counts = np.zeros((2, number))
    for value, kind in enumerate(kinds):
        counts[value] = np.bincount(rows[kind[owners]], minlength=number)
    totals = np.array([np.count_nonzero(kind) for kind in kinds])
    links = max(int(totals.sum()), 1)
    terms: Floats = np.zeros(number)
    fired = counts.sum(axis=0)
    for value in range(2):
        some = counts[value] > 0
        ratio = counts[value, some] * links / (fired[some] * totals[value])
        terms[some] += counts[value, some] * np.log2(ratio)
    features = np.bincount(row_templates, minlength=T)
    return Statistics(features, np.bincount(row_templates, terms, minlength=T) / links)
