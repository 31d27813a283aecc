"""Threads in which components annotate batches of Docs, and solvers decode examples.

Kernels run without the GIL: while one thread is in a kernel, others can tokenize, read Docs and
write annotation. Components of a pipeline share the threads. Each takes a few batches ahead of what
is asked of it, so that the first ones already work on the next batches. A solver divides what it
is about to do among the threads, its own included, and waits for all of them.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from threading import Lock, local
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


#: The environment variable with the number of threads of a process.
VARIABLE = "SPACY_SSVM_THREADS"


class _Threads:
    """The threads of this process."""

    def __init__(self) -> None:
        self._number: int | None = None
        self.forget()

    @property
    def number(self) -> int:
        """How many there are; where ``set`` has not been called, as the environment says, or 1.

        Raises ValueError where that is not an integer from 1.
        """
        if self._number is None:
            text = os.environ.get(VARIABLE, "1")
            if not text.isdecimal() or int(text) < 1:
                raise ValueError(
                    f"the environment variable {VARIABLE} must be an integer from 1, not {text!r}"
                )
            self._number = int(text)
        return self._number

    def forget(self) -> None:
        """Start new threads when the next ones are needed: a forked process has none."""
        self._lock = Lock()
        self._executor: Executor | None = None

    def set(self, number: int) -> None:
        """Use so many threads from now on. Those that work on a batch finish it."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(wait=False)
            self._executor, self._number = None, number

    def submit(self, function: Callable[[T], S], value: T) -> Future[S]:
        """Call a function in one of the threads."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(
                    self.number, thread_name_prefix="spacy_ssvm", initializer=_mark_thread
                )
            return self._executor.submit(function, value)


_this_thread = local()  # ``is_ours``: set in the threads that are started here


def _mark_thread() -> None:
    _this_thread.is_ours = True


_threads = _Threads()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_threads.forget)


def set_threads(number: int) -> None:
    """Set the number of threads in which all components of this process annotate Docs and learn.

    It applies from the next call of ``nlp.pipe``, ``update`` or ``evaluate`` on; the default is
    that of the environment variable SPACY_SSVM_THREADS, or 1. What is annotated and learned does
    not depend on it. Raises ValueError unless the number is an integer from 1.
    """
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError(f"the number of threads must be an integer from 1, not {number!r}")
    _threads.set(number)


def number_of_threads() -> int:
    """The number of threads that annotate Docs and learn."""
    return _threads.number


def map_in_threads(function: Callable[[T], S], values: Iterable[T]) -> Iterator[S]:
    """The results of a function for each value, in order.

    With several threads, up to one value more than there are threads is taken ahead.
    """
    number = _threads.number
    if number == 1:
        yield from map(function, values)
        return
    ahead: deque[Future[S]] = deque()
    try:
        for value in values:
            ahead.append(_threads.submit(function, value))
            if len(ahead) > number:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


class DeferredCalls(Generic[T]):
    """Calls of a function that are made, in order, at the latest when their effect is needed.

    With several threads, another one makes them meanwhile.
    """

    def __init__(self, function: Callable[[T], None]) -> None:
        self._function = function
        self._values: deque[T] = deque()  # those of the calls that have not ended
        self._future: Future[None] | None = None
        self._process = 0  # the one whose thread makes the calls

    def add(self, value: T) -> None:
        """Let the function be called for a value."""
        self._values.append(value)
        if _threads.number > 1 and (self._future is None or self._future.done()):
            self._future = _threads.submit(lambda _: self._call(), None)
            self._process = os.getpid()

    def finish(self) -> None:
        """Return when all calls have been made, if need be in this thread."""
        future = self._future
        # A forked process does not have the thread.
        if future is not None and self._process == os.getpid() and not future.cancel():
            wait([future])
            self._future = None
            future.result()
        self._call()

    def _call(self) -> None:
        while self._values:
            self._function(self._values[0])
            self._values.popleft()


def map_by_all_threads(function: Callable[[T], S], values: Sequence[T]) -> list[S]:
    """The results of a function for some values, in order: a part of them from each thread.

    It is called in this thread and in all others but one. In one of the threads themselves, which
    others may be waiting for, it is called for all values.
    """
    n = min(_threads.number, len(values))
    if n <= 1 or getattr(_this_thread, "is_ours", False):
        return [function(value) for value in values]

    def work(first: int) -> list[S]:
        return [function(value) for value in values[first::n]]

    futures = [_threads.submit(work, first) for first in range(1, n)]
    results: list[Any] = [None] * len(values)
    try:
        results[0::n] = work(0)
        for first, future in enumerate(futures, start=1):
            results[first::n] = future.result()
    finally:
        wait(futures)
    return results
