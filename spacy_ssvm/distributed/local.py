"""Workers in the process of the learner: nothing is faster, but nothing else is needed."""

from typing import Any

from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.problem import SharedProblem
from spacy_ssvm.distributed.worker import Worker


class LocalWorkers:
    """Several workers in this process; see ``Workers``."""

    def __init__(self, pipeline: Pipeline, number: int) -> None:
        self._workers = [Worker(pipeline) for _ in range(number)]

    @property
    def number(self) -> int:
        return len(self._workers)

    def share(self, value: Any) -> Any:
        return value

    def call(self, worker: int, method: str, *arguments: Any) -> Any:
        return getattr(self._workers[worker], method)(*arguments)

    def result(self, handle: Any) -> Any:
        return handle

    def tell(self, worker: int, method: str, *arguments: Any) -> None:
        self.call(worker, method, *arguments)

    def watch(self, problem: SharedProblem) -> None:
        """Nothing to do: these workers do not start anew."""
