"""Two labels of the points of 3-D scenes: cost, memory and error of solvers on large graphs.

    python benchmarks/grid.py [--iterations 20] [--largest 4]

Synthetic scenes of the size of the scans of [TLJ05 section 5]: five for training, with 37,000
points and 88,000 edges altogether, and three for testing. A scene is a grid with a few balls on a
background; some of the links of adjacent points are missing. Each point has about half of 45
features, each of which is a little more frequent in one of the labels, and each edge has one that
is always 1. C = 1 for the extragradient method, as in the paper; for dual coordinate descent, whose
losses are squared and count points by the thousand, 1e-6. Two tables:

    solvers    seconds of an iteration over all scenes (the median, without the first one), memory
               that is needed beside the examples, and the error on the test scenes after all
               iterations, with edges and without
    growth     the same seconds and memory for scenes of 1, 2, 4, ... times as many points

Each row is measured in a process of its own. Times are CPU times. Linux only.
"""

import argparse
import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from wasabi import msg

from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.sentences.cuts.problem import CutProblem
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.perceptron import Perceptron

SHAPE = (20, 37, 10)
TRAIN, TEST = 5, 3
EDGES = 17_600  #: of a scene
FEATURES = 45
BIAS = 0.03  #: by how much a feature is more frequent in one label, and less in the other
SHARE = 0.3  #: of points that are part of balls
SOLVERS: dict[str, Any] = {
    "dcd": DualCoordinateDescent(C=1e-6, tolerance=0.0),
    "perceptron": Perceptron(),
    "extragradient": Extragradient(C=1.0, projection="euclidean", iterations=1, tolerance=0.0),
}


class Measured(NamedTuple):
    """The result of a run."""

    nodes: int
    edges: int
    seconds: float  #: of an iteration
    megabytes: float
    error: float  #: in percent


def scene(random: np.random.Generator, bias: np.ndarray, scale: int) -> dict[str, np.ndarray]:
    """The arrays of a scene, as ``CutProblem.append`` takes them."""
    x, y, z = SHAPE
    points = np.stack(np.meshgrid(*map(np.arange, (x, y, z * scale)), indexing="ij"), axis=-1)
    gold = np.zeros(points.shape[:3], dtype=np.int64)
    while gold.mean() < SHARE:
        center, radius = random.uniform(0, points.shape[:3]), random.uniform(2, 5)
        gold[((points - center) ** 2).sum(axis=-1) < radius**2] = 1
    numbers = np.arange(gold.size).reshape(gold.shape)
    links = [
        np.stack([numbers.take(range(size - 1), axis), numbers.take(range(1, size), axis)], axis=-1)
        for axis, size in enumerate(gold.shape)
    ]
    edges = np.concatenate([pairs.reshape(-1, 2) for pairs in links])
    edges = edges[np.sort(random.permutation(len(edges))[: EDGES * scale])]
    chance = 0.5 + bias * np.where(gold.ravel() == 1, 1, -1)[:, None]
    fires = random.random((gold.size, FEATURES)) < chance
    return {
        "feature_starts": np.append(0, np.cumsum(fires.sum(axis=1))),
        "rows": np.nonzero(fires)[1].astype(np.int32),
        "node_starts": np.array([0, gold.size]),
        "gold": gold.ravel(),
        "edge_starts": np.array([0, len(edges)]),
        "edges": edges,
        "edge_features": np.ones((len(edges), 1)),
    }


def problem_of(scenes: list[dict[str, np.ndarray]], with_edges: bool) -> CutProblem:
    problem = CutProblem(2, int(with_edges))
    for arrays in scenes:
        nothing = {
            "edge_starts": np.zeros(2, dtype=np.int64),
            "edges": np.zeros((0, 2), dtype=np.int64),
            "edge_features": np.zeros((0, 0)),
        }
        problem.append(**(arrays if with_edges else arrays | nothing))
    return problem


def error(problem: CutProblem, w: np.ndarray) -> float:
    """The share of nodes with another label than gold under w, in percent."""
    decode, examples = problem.structure.decode, problem.examples()
    wrong = sum(decode(examples, i, w, 0.0, True)[1] for i in range(problem.number_of_examples))
    return 100 * wrong / len(problem.examples().nodes.gold)


def memory(field: str) -> float:
    """The resident memory of this process in MB: now (VmRSS), or the largest (VmHWM)."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields[field].split()[0]) / 1000


def measure(name: str, iterations: int, with_edges: bool, scale: int) -> Measured:
    """Train on the scenes, and test."""
    random = np.random.default_rng(0)
    bias = random.choice([-BIAS, BIAS], FEATURES)
    small = problem_of([scene(random, bias, 1)], with_edges)
    run = SOLVERS[name].start(small)  # loads or compiles all kernels
    run.grow(FEATURES)
    run.epoch(np.arange(1))
    train = problem_of([scene(random, bias, scale) for _ in range(TRAIN)], with_edges)
    Path("/proc/self/clear_refs").write_text("5")  # the largest is that from now on
    before = memory("VmRSS")
    run = SOLVERS[name].start(train)
    run.grow(FEATURES)
    seconds = []
    for _ in range(iterations):
        start = time.process_time()
        run.epoch(np.arange(TRAIN))
        seconds.append(time.process_time() - start)
    needed = memory("VmHWM") - before
    test = problem_of([scene(random, bias, 1) for _ in range(TEST)], with_edges)
    examples = train.examples()
    sizes = len(examples.nodes.gold), len(examples.edges)
    return Measured(*sizes, statistics.median(seconds[1:]), needed, error(test, run.w))


def alone(*arguments: Any) -> Measured:
    """``measure`` in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--largest", type=int, default=4, help="scale of the largest scenes")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    options = parser.parse_args()
    rows, growth = [], []
    for name in options.solvers:
        found, without = (alone(name, options.iterations, edges, 1) for edges in (True, False))
        figures = found.seconds, found.megabytes, found.error, without.error
        rows.append((name, *(f"{figure:.2f}" for figure in figures)))
        scale = 1
        while scale <= options.largest:
            found = alone(name, 6, True, scale)
            sizes = f"{found.nodes:,}", f"{found.edges:,}"
            growth.append((name, *sizes, f"{found.seconds:.2f}", f"{found.megabytes:.1f}"))
            scale *= 2
    header = ("solver", "s per iteration", "MB", "error, edges", "error, no edges")
    msg.table(rows, header=header, aligns=("l", "r", "r", "r", "r"), divider=True)
    header = ("solver", "nodes", "edges", "s per iteration", "MB")
    msg.table(growth, header=header, aligns=("l", "r", "r", "r", "r"), divider=True)


if __name__ == "__main__":
    main()
