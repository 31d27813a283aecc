"""The k best structures, as the oracle ``Structure.k_best_decode``.

Structures come without it. Each file has that of one: label sequences, projective trees without
grandparents, matchings.
"""

from typing import Any

from spacy_ssvm.align.matchings.layout import MatchingExamples
from spacy_ssvm.chains.layout import Examples as ChainExamples
from spacy_ssvm.lab.extended_problem import ExtendedProblem
from spacy_ssvm.lab.k_best import chains, matchings, trees
from spacy_ssvm.structure import ExampleArrays, KBestDecode
from spacy_ssvm.trees.layout import TreeExamples
from spacy_ssvm.trees.scores import has_grandparents

_ORACLES: dict[type, KBestDecode] = {
    ChainExamples: chains.k_best_decode,
    TreeExamples: trees.k_best_decode,
    MatchingExamples: matchings.k_best_decode,
}


def with_k_best(problem: Any) -> Any:
    """The problem, with the k best of its structures where they are known."""
    if problem.structure.k_best_decode is not None:
        return problem
    examples = problem.examples()
    oracle = _ORACLES.get(type(examples))
    if oracle is None or not _is_known(examples):
        return problem
    return ExtendedProblem(problem, k_best_decode=oracle)


def _is_known(examples: ExampleArrays) -> bool:
    """Whether the k best are known: not those of trees that may cross, or with grandparents."""
    return not isinstance(examples, TreeExamples) or bool(
        examples.features.projective and not has_grandparents(examples.features)
    )
