"""What the tests of planted trees share."""

from collections import Counter
from typing import Any

import brute
import naive
import numpy as np
from kernels import compiled, scores_of_arcs
from written_trees import BEHIND, ROOT

from spacy_ssvm.decoders.tree import eisner
from spacy_ssvm.selection import Selector
from spacy_ssvm.trees.keys import compile_arc_keys, fill_arc_keys, hash_endpoints
from spacy_ssvm.trees.layout import Pruner
from spacy_ssvm.trees.problem import (
    LazyTreeProblem,
)
from spacy_ssvm.trees.templates import (
    ArcTemplate,
    find_arc_refinements,
    in_order,
)

COLUMNS = ("lower", "tag")


ARCS = in_order(
    ArcTemplate.parse(text)
    for text in (
        "head.lower+dependent.lower",
        "head.lower+dependent.lower+direction",
        "head.lower+dependent.lower+distance",
        "head.tag+dependent.tag[1]+distance",
        "dependent.tag+direction",
        "head.tag+between.lower+dependent.tag",
        "head.tag+between.tag+dependent.tag+direction",
    )
)


def keys_of(templates: Any, columns: Any, nodes: np.ndarray, h: int, m: int) -> list[Any]:
    """(template, key) of each feature of an arc."""
    arrays = compile_arc_keys(templates, columns)
    keys = np.empty(len(templates) * len(nodes), dtype=np.uint64)
    owners = np.empty(len(keys), dtype=np.int64)
    endpoints = hash_endpoints(arrays, nodes, 0, len(nodes))
    everyone = np.arange(len(templates))
    count = fill_arc_keys(arrays, endpoints, h, m, everyone, keys, owners)
    return list(zip(owners[:count].tolist(), keys[:count].tolist(), strict=True))


def values_of(templates: Any, columns: Any, nodes: np.ndarray, h: int, m: int) -> list[Any]:
    """(template, value) of the same, by the naive twin."""
    return [
        (t, value)
        for t, template in enumerate(in_order(templates))
        for value in naive.arc_values([template], columns, nodes.tolist(), h, m)
        if value is not None
    ]


class Trees:
    """Sentences as a lazy problem, and their features by arc, written out."""

    def __init__(self, examples: Any, *, projective: bool = True, threshold: float = np.inf):
        self.nodes = [nodes for nodes, _ in examples]
        self.gold = [heads for _, heads in examples]
        self.projective = projective
        self.threshold = threshold

    def arrays(self) -> tuple[Any, Any, Any]:
        starts = np.cumsum([0, *map(len, self.nodes)])
        heads = np.concatenate([[*heads, -1] for heads in self.gold]).astype(np.int64)
        return np.concatenate(self.nodes), starts, heads

    def pruner(self) -> Pruner:
        arcs = compiled((ArcTemplate.parse("head.lower+dependent.tag+direction"),), COLUMNS)
        w = np.random.default_rng(1).normal(size=65)
        return Pruner(arcs, 64, w, float(self.threshold), 64)

    def lazy(self) -> LazyTreeProblem:
        arrays = compile_arc_keys(ARCS, COLUMNS)
        problem = LazyTreeProblem(
            arrays, 2, projective=self.projective, refines=find_arc_refinements(ARCS)
        )
        problem.append(*self.arrays())
        problem.prune(self.pruner())
        return problem

    def trees(self, i: int) -> list[list[int]]:
        return brute.trees(len(self.gold[i]) - 1, self.projective).tolist()

    def features(self, i: int, heads: list[int]) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for m in range(1, len(heads)):
            found.update(key for _, key in keys_of(ARCS, COLUMNS, self.nodes[i], heads[m], m))
        return found


class Corpus:
    """Random sentences whose trees depend on two templates of many."""

    NAMES = ("r0", "r1", "n0", "n1")
    RELEVANT = ("head.r0+dependent.r0+direction", "head.r1+dependent.r1+distance")

    def __init__(self, size: int, *, seed: int = 0, unknown: float = 0.0):
        random = np.random.default_rng(seed)
        texts = [
            f"{ends}{place}"
            for name in self.NAMES
            for ends in (f"head.{name}", f"dependent.{name}", f"head.{name}+dependent.{name}")
            for place in ("", "+direction", "+distance")
        ]
        texts.append("head.n0+between.n1+dependent.n0")
        self.templates = in_order(ArcTemplate.parse(text) for text in texts)
        relevant = [ArcTemplate.parse(text) for text in self.RELEVANT]
        weights = random.normal(size=2**16 + 1)
        self.examples = []
        for n in random.integers(2, 9, size).tolist():
            words = random.integers(1, 5, (n, 4))
            nodes = np.array([[ROOT] * 4, *words.tolist(), [BEHIND] * 4], dtype=np.uint64)
            allowed = np.ones((n + 1, n + 1), dtype=bool)
            allowed[:, 0] = False
            np.fill_diagonal(allowed, False)
            scores = scores_of_arcs(relevant, self.NAMES, nodes, 2**16, weights, allowed)
            heads = np.empty(n + 1, dtype=np.int64)
            eisner(scores, heads)
            heads[random.random(n + 1) < unknown] = -1
            heads[0] = -1
            self.examples.append((nodes, heads))

    def arrays(self) -> tuple[Any, Any, Any]:
        starts = np.cumsum([0, *(len(nodes) for nodes, _ in self.examples)])
        heads = np.concatenate([np.append(heads, -1) for _, heads in self.examples])
        return np.concatenate([nodes for nodes, _ in self.examples]), starts, heads

    def pruner(self, threshold: float = np.inf) -> Pruner:
        return Pruner(compiled((), self.NAMES), 64, np.zeros(65), threshold, 64)

    def lazy(self) -> LazyTreeProblem:
        problem = LazyTreeProblem(
            compile_arc_keys(self.templates, self.NAMES),
            len(self.NAMES),
            projective=True,
            refines=find_arc_refinements(self.templates),
        )
        problem.append(*self.arrays())
        problem.prune(self.pruner())
        return problem

    def selector(self) -> Selector:
        problem = self.lazy()
        return Selector(self.templates, problem, problem.statistics)

    def arcs(self) -> Any:
        for nodes, heads in self.examples:
            if heads.max() >= 0:
                for h in range(len(heads)):
                    for m in range(1, len(heads)):
                        if h != m:
                            yield nodes, heads, h, m
