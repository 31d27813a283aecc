"""How the time of a call grows with its input."""

from collections.abc import Callable
from time import process_time


def growth(run: Callable[[int], object], size: int, *, rounds: int = 5) -> float:
    """The CPU time of ``run(2 * size)``, as a multiple of that of ``run(size)``.

    Each is the best of some rounds, measured in turn, after one that compiles and warms up.
    """
    seconds: dict[int, list[float]] = {size: [], 2 * size: []}
    for n in seconds:
        run(n)
    for _ in range(rounds):
        for n, found in seconds.items():
            start = process_time()
            run(n)
            found.append(process_time() - start)
    return min(seconds[2 * size]) / min(seconds[size])
