"""How the time of a call grows with its input."""

from collections.abc import Callable
from time import process_time


def growth(run: Callable[[int], object], size: int, *, times: int = 2, rounds: int = 5) -> float:
    """The CPU time of ``run(times * size)``, as a multiple of that of ``run(size)``.

    ``times`` is large where time in proportion is told from quadratic time: on a machine that
    others use, one measurement may be twice the next.

    Each is the best of some rounds, measured in turn, after one that compiles and warms up.
    """
    seconds: dict[int, list[float]] = {size: [], times * size: []}
    for n in seconds:
        run(n)
    for _ in range(rounds):
        for n, found in seconds.items():
            start = process_time()
            run(n)
            found.append(process_time() - start)
    return min(seconds[times * size]) / min(seconds[size])
