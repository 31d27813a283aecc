"""Projections onto polytopes of structures [TLJ05, section 4].

Structures come without them. Each file has those of one, as the oracle ``Structure.project``:
label sequences as flows, matchings as flows with costs, cuts by minimum cuts. The polytope is the
convex hull of the structures; for cuts it is that of the linear program, which is larger.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from spacy_ssvm.align.matchings.layout import MatchingExamples
from spacy_ssvm.chains.layout import Examples as ChainExamples
from spacy_ssvm.chains.oracle import expected_difference as expected_chain_difference
from spacy_ssvm.kernels.types import Ints
from spacy_ssvm.lab.extended_problem import ExtendedProblem
from spacy_ssvm.lab.projections import chains, cuts, matchings
from spacy_ssvm.sentences.cuts.layout import Examples as CutExamples
from spacy_ssvm.structure import ExampleArrays, ExpectedDifference, Problem, Project


class _Polytope(NamedTuple):
    """That of the structures of a kind."""

    project: Project
    expected_difference: ExpectedDifference
    part_starts: Callable[[Any], Ints]  #: of examples: see ``ProjectedProblem``


_POLYTOPES: dict[type, _Polytope] = {
    ChainExamples: _Polytope(chains.project, expected_chain_difference, chains.part_starts),
    MatchingExamples: _Polytope(
        matchings.project, matchings.expected_difference, matchings.part_starts
    ),
    CutExamples: _Polytope(cuts.project, cuts.expected_difference, cuts.part_starts),
}


class ProjectedProblem(ExtendedProblem):
    """A problem whose structures have ``project``."""

    def __init__(self, problem: Problem, polytope: _Polytope) -> None:
        super().__init__(
            problem, project=polytope.project, expected_difference=polytope.expected_difference
        )
        self._polytope = polytope

    @property
    def part_starts(self) -> Ints:
        """Where the parts of each example start in an array of all (int64 [examples + 1]).

        Those of examples that are there already do not change while others are appended.
        """
        return self._polytope.part_starts(self._problem.examples())


def with_projection(problem: Any) -> Any:
    """The problem, with projections onto the polytopes of its structures where they are known."""
    if problem.structure.project is not None:
        return problem
    examples = problem.examples()
    polytope = _POLYTOPES.get(type(examples))
    if polytope is None or not _has_known_polytope(examples):
        return problem
    return ProjectedProblem(problem, polytope)


def _has_known_polytope(examples: ExampleArrays) -> bool:
    """Whether its points are known: those of labelings of graphs are for two labels alone."""
    return not isinstance(examples, CutExamples) or examples.nodes.costs.shape[1] == 2
