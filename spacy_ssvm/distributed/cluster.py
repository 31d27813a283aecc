"""Workers on a Ray cluster: actors, which start anew where they die; and single calls."""

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from spacy.cli._util import import_code

from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.problem import SharedProblem
from spacy_ssvm.distributed.worker import Worker

_PATIENCE = 10.0  # seconds, in which a cluster must accept a connection
_TRIES = 5  # in which a worker may start anew for one call

_HINT = (
    "If it demands a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what ray get-auth-token "
    "shows there; all need the same version of Ray"
)

Report = Callable[[str], None]
T = TypeVar("T")


@contextmanager
def start_ray(ray: Any, address: str | None, workers: int) -> Iterator[str]:
    """Connect to a cluster, or start one on this machine; says where, and its dashboard's address.

    address: of the cluster; None for this machine. workers: how many are wanted.
    Raises ValueError where the cluster cannot be reached.
    """
    if address:
        check_reachable(address)
    local: dict[str, Any] = {} if address else {"num_cpus": max(workers, os.cpu_count() or 1)}
    try:
        context = ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"no Ray cluster at {address}" if address else "Ray does not start"
        hint = f". {_HINT}" if address else ""
        raise ValueError(f"{where}: {error}{hint}") from error
    try:
        dashboard = f", dashboard at {context.dashboard_url}" if context.dashboard_url else ""
        yield (f"on {address}" if address else "on this machine") + dashboard
    finally:
        ray.shutdown()


def check_reachable(address: str) -> None:
    """Raise ValueError where nobody listens at an address: Ray would wait for minutes.

    address: host:port, also of Ray's client (ray://host:port); or auto, which Ray looks up itself.
    """
    if address == "auto":
        return
    try:
        parts = urlsplit(address if "://" in address else f"ray://{address}")
        if parts.hostname is None or parts.port is None:
            raise ValueError("an address has the form host:port, or is auto")
        socket.create_connection((parts.hostname, parts.port), timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:
        raise ValueError(f"no Ray cluster at {address}: {error}") from error


def map_by_ray(
    ray: Any, workers: int, code: Path | None, function: Callable[[int], T], numbers: Iterable[int]
) -> Iterator[T]:
    """Call a function with each number in processes of a cluster, so many at a time, as ``map``.

    A call whose process dies is made again. ray: the module. code: see ``Pipeline``.
    Raises what the function raises, and ConnectionError, an OSError, where processes keep dying.
    """
    task, shared, left = ray.remote(num_cpus=1)(_call), ray.put(function), iter(numbers)
    running = [task.remote(shared, number, code) for number in islice(left, workers)]
    while running:
        try:
            found = ray.get(running.pop(0))
        except ray.exceptions.RayTaskError as error:
            raise error.cause or error from None
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ConnectionError(f"a process of Ray has died again and again: {reason}") from error
        running.extend(task.remote(shared, number, code) for number in islice(left, 1))
        yield found


def _call(function: Callable[[int], T], number: int, code: Path | None) -> T:
    import_code(code)
    return function(number)


class Call:
    """A call of a worker's method without a result yet."""

    def __init__(self, worker: int, method: str, arguments: tuple[Any, ...], handle: Any) -> None:
        self.worker, self.method, self.arguments, self.handle = worker, method, arguments, handle


class RayWorkers:
    """Actors on a Ray cluster, each with the examples of a shard; see ``problem.Workers``.

    What a worker must know again after it has died is kept: the shard that it reads, the rows of
    features, and a parser's pruner. It then gets the weights, and the calls that it has not
    answered.

    ray: the module. report: what happens, as a sentence. least: workers share processors where
        the cluster has at least so many; otherwise they wait for their own. None for all.
    """

    #: Calls that a worker which starts anew must be given again, whether they were answered or not.
    LASTING = ("read", "number_rows", "set_pruner")

    def __init__(
        self,
        ray: Any,
        pipeline: Pipeline,
        number: int,
        report: Report = print,
        least: int | None = None,
    ) -> None:
        self._ray, self._report, self._least = ray, report, least or number
        self._with_processors: set[int] = set()
        self._pipeline = ray.put(pipeline)
        self._class = ray.remote(num_cpus=1, max_restarts=0)(Actor)
        self._actors = [self._start(worker) for worker in range(number)]
        self._lasting: list[list[Call]] = [[] for _ in range(number)]
        self._pending: list[list[Call]] = [[] for _ in range(number)]
        self._problems: list[SharedProblem] = []

    @property
    def number(self) -> int:
        return len(self._actors)

    def share(self, value: Any) -> Any:
        return self._ray.put(value)

    def watch(self, problem: SharedProblem) -> None:
        self._problems.append(problem)

    def unwatch(self, problem: SharedProblem) -> None:
        self._problems.remove(problem)

    def call(self, worker: int, method: str, *arguments: Any) -> Call:
        call = Call(worker, method, arguments, self._send(worker, method, arguments))
        self._pending[worker].append(call)
        if method == "read":
            self._lasting[worker].clear()  # which begins anew
        if method in self.LASTING:
            self._lasting[worker].append(call)
        return call

    def tell(self, worker: int, method: str, *arguments: Any) -> None:
        self._send(worker, method, arguments)

    def _send(self, worker: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return self._actors[worker].call.remote(method, *arguments)

    def result(self, handle: Call) -> Any:
        """Wait for a result. Raises what the method has raised.

        Raises ConnectionError, an OSError, for a worker that does not stay alive.
        """
        for _ in range(_TRIES):
            try:
                found = self._ray.get(handle.handle)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError) as e:
                self._restart(handle.worker, str(e).strip().splitlines()[0])
                continue
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause or error from None
            self._pending[handle.worker].remove(handle)
            return writable(found)
        raise ConnectionError(
            f"worker {handle.worker} has died {_TRIES} times in a row: see its log, in the folder "
            "of Ray's session"
        )

    def _start(self, worker: int) -> Any:
        """Start a process: one that has, or waits for, a processor of its own, if it must."""
        self._with_processors.discard(worker)
        there = int(self._ray.cluster_resources().get("CPU", 0))
        if self._least <= there <= len(self._with_processors):
            return self._class.options(num_cpus=0).remote(self._pipeline)
        self._with_processors.add(worker)
        return self._class.remote(self._pipeline)

    def _restart(self, worker: int, reason: str) -> None:
        """Start a worker anew, and give it what the other one had and was asked."""
        start = time.perf_counter()
        self._report(f"Worker {worker} has died ({reason}): it starts anew")
        self._actors[worker] = self._start(worker)
        lasting, pending = self._lasting[worker], self._pending[worker]
        for call in lasting:
            call.handle = self._send(worker, call.method, call.arguments)
        for problem in self._problems:
            problem.restore(worker)
        for call in pending:
            if call not in lasting:
                call.handle = self._send(worker, call.method, call.arguments)
        self._report(
            f"Worker {worker} has been sent all again: {time.perf_counter() - start:.1f} s"
        )


class Actor:
    """A worker in a process of Ray."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._worker = Worker(pipeline)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the worker."""
        return getattr(self._worker, method)(*map(writable, arguments))


def writable(value: Any) -> Any:
    """The same, with arrays of its own: kernels take no arrays that must not be written."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(writable, value))
    return value
