"""Problems whose structures have oracles that the core does not know."""

from typing import Any

from spacy_ssvm.structure import Problem


class ExtendedProblem:
    """A problem with further oracles, or others; all else is that of the problem itself.

    oracles: by their names in ``Structure``.
    """

    def __init__(self, problem: Problem, **oracles: Any) -> None:
        self._problem = problem
        self.structure = problem.structure._replace(**oracles)

    def __getattr__(self, name: str) -> Any:
        if name == "_problem" or name.startswith("__"):  # while it is copied, there is none yet
            raise AttributeError(name)
        return getattr(self._problem, name)
