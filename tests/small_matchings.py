"""Small problems of matchings, with all their matchings written out."""

from typing import NamedTuple

import numpy as np
from finite import FiniteProblem
from hypothesis import strategies as st
from matching_tables import all_links

from spacy_ssvm.align.matchings.layout import ALTERNATIVE, POSSIBLE, SURE, WRONG
from spacy_ssvm.align.matchings.problem import MatchingProblem

__all__ = ["ALTERNATIVE", "POSSIBLE", "SURE", "WRONG"]


class SmallPair(NamedTuple):
    """A pair: its features, and what is said of its links."""

    given: np.ndarray  #: int [m, n]: WRONG, SURE or POSSIBLE
    features: np.ndarray  #: float [m, n, rows]: the values of features, 0 for those that are not
    fertilities: tuple[int, int]
    costs: tuple[float, float]

    @property
    def gold(self):
        """What is learned: sure links of words that have too many are alternatives."""
        sure = self.given == SURE
        f, g = self.fertilities
        too_many = (sure.sum(axis=1, keepdims=True) > f) | (sure.sum(axis=0, keepdims=True) > g)
        return np.where(sure & too_many, ALTERNATIVE, self.given)

    @property
    def is_annotated(self):
        return bool(np.any(self.gold <= SURE))

    @property
    def is_partial(self):
        return bool(np.any(self.gold > SURE))

    @property
    def matchings(self):
        """All that are allowed: bool [matchings, m, n]."""
        links = all_links(*self.given.shape)
        f, g = self.fertilities
        return links[
            (links.sum(axis=2).max(axis=1, initial=0) <= f)
            & (links.sum(axis=1).max(axis=1, initial=0) <= g)
        ]

    def phi(self, links):
        """The features of matchings: float [matchings, weights]."""
        f, g = self.fertilities
        penalties = [
            -np.maximum(links.sum(axis=axis) - c, 0).sum(axis=1)
            for axis, most in ((2, f), (1, g))
            for c in range(1, most)
        ]
        sums = np.einsum("ajk,jkr->ar", links.astype(float), self.features)
        return np.column_stack([*penalties, sums])

    def costs_of(self, links):
        """Delta of matchings."""
        missing, wrong = self.costs
        gold = self.gold
        return missing * (~links & (gold == SURE)).sum(axis=(1, 2)) + wrong * (
            links & (gold == WRONG)
        ).sum(axis=(1, 2))

    def check_completion(self, links, w):
        """The best matching that has all sure links, no wrong ones, and most alternatives."""
        gold, candidates = self.gold, self.matchings
        right = np.all(candidates[:, gold == SURE], axis=1)
        right &= ~np.any(candidates[:, gold == WRONG], axis=1)
        candidates = candidates[right]
        alternatives = candidates[:, gold == ALTERNATIVE].sum(axis=1)
        candidates = candidates[alternatives == alternatives.max()]
        assert links.tolist() in candidates.tolist()
        if self.is_partial:
            assert self.phi(links[None])[0] @ w == (self.phi(candidates) @ w).max()


class SmallProblem(NamedTuple):
    """Some pairs of one kind."""

    examples: list[SmallPair]

    @property
    def rows(self):
        return self.examples[0].features.shape[2]

    @property
    def fertilities(self):
        return self.examples[0].fertilities

    @property
    def size(self):
        """The number of weights."""
        return sum(self.fertilities) - 2 + self.rows

    def arrays(self):
        """shapes, starts, rows, values and gold, as ``MatchingProblem.append`` takes them."""
        tables = [pair.features.reshape(-1, self.rows) for pair in self.examples]
        links, rows = np.nonzero(np.vstack(tables))
        counts = np.bincount(links, minlength=sum(map(len, tables)))
        return (
            np.array([pair.given.shape for pair in self.examples], dtype=np.int64),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            rows.astype(np.int32),
            np.vstack(tables)[links, rows].astype(np.float32),
            np.concatenate([pair.given.ravel() for pair in self.examples]).astype(np.int32),
        )

    def problem(self, **settings):
        problem = MatchingProblem(self.fertilities, costs=self.examples[0].costs, **settings)
        problem.append(*self.arrays())
        problem.row_templates = np.arange(self.rows, dtype=np.int32)
        return problem

    def finite(self):
        """The same problem as lists of candidates; all gold must be complete."""
        phi, costs = [], []
        for pair in self.examples:
            others = pair.matchings
            is_gold = np.all(others == (pair.gold == SURE), axis=(1, 2))
            assert is_gold.sum() == 1
            order = np.argsort(~is_gold, kind="stable")
            phi.append(pair.phi(others[order]))
            costs.append(pair.costs_of(others[order]))
        return FiniteProblem(phi, costs, sum(self.fertilities) - 2)


def made(*golds, fertilities=(1, 1), costs=(1.0, 1.0), rows=3, seed=0):
    """Pairs with this gold, and with drawn features, whole numbers."""
    random = np.random.default_rng(seed)
    pairs = []
    for gold in golds:
        table = np.array(gold, dtype=np.int64)
        features = random.integers(-1, 3, size=(*table.shape, rows)).astype(float)
        pairs.append(SmallPair(table, features, fertilities, costs))
    return SmallProblem(pairs)


@st.composite
def drawn(draw, kinds=(WRONG, WRONG, SURE, POSSIBLE), longest=3, examples=2):
    """Problems with pairs of up to some number of words, or none, and any gold."""
    fertilities = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    costs = draw(st.sampled_from([(1.0, 1.0), (2.0, 1.0), (0.5, 3.0)]))
    shapes = st.tuples(st.integers(0, longest), st.integers(0, longest))
    golds = []
    for shape in draw(st.lists(shapes, min_size=1, max_size=examples)):
        size = shape[0] * shape[1]
        drawn_kinds = draw(st.lists(st.sampled_from(kinds), min_size=size, max_size=size))
        golds.append(np.array(drawn_kinds, dtype=np.int64).reshape(shape))
    return made(*golds, fertilities=fertilities, costs=costs, seed=draw(st.integers(0, 1000)))


def drawn_complete():
    """Problems with pairs whose gold links all are known, and fit."""
    kinds = WRONG, WRONG, SURE

    def complete(small):
        return small._replace(
            examples=[p for p in small.examples if p.is_annotated and not p.is_partial]
        )

    return drawn(kinds, examples=3).map(complete).filter(lambda small: small.examples)


def completion_of(problem, i):
    """The completed gold links of example i, as a table."""
    examples = problem.examples()
    first, last = examples.link_starts[i : i + 2]
    return examples.completions[first:last].reshape(examples.source_words[i], -1)


def whole_weights(small, random):
    """Weights whose sums are exact; those of further links are not negative."""
    w = np.array([random.randint(-3, 3) for _ in range(small.size)], dtype=float)
    steps = sum(small.fertilities) - 2
    w[:steps] = np.abs(w[:steps]) * random.choice([1, 100])
    return w
