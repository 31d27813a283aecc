"""Small problems of lattices, written out, and what their oracles should say, by definition.

Nothing is shared with the package but the layout of weights: steps from class to class, level by
level, and then rows x parts.
"""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from marks import PLAIN

from spacy_ssvm.decoders.lattice import make_levels
from spacy_ssvm.lattices.layout import LabelParts
from spacy_ssvm.lattices.problem import LatticeProblem
from spacy_ssvm.structure import NEEDS_CAPACITY
from spacy_ssvm.weights.rows import find_entries

checked = settings(
    deadline=None,
    max_examples=5 if PLAIN else 100,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking would take minutes
)

seeds = st.integers(0, 2**32 - 1)


@dataclass
class SmallLattices:
    """A problem over K labels, P parts and a number of feature rows."""

    parts: list[list[int]]  #: of each label
    P: int
    classes: list[list[int]]  #: at each level: the class of each label
    rows: int
    features: list[list[list[int]]]  #: rows, by example and token
    candidates: list[list[list[int]]]  #: labels, by example and token
    allowed: list[list[list[bool]]]  #: of each candidate

    @property
    def K(self):
        return len(self.parts)

    @property
    def examples(self):
        return range(len(self.features))

    @property
    def level_starts(self):
        """Where the weights of each level begin, and those of features behind them."""
        sizes = [max(of_labels) + 1 for of_labels in self.classes]
        return [sum((C + 2) * C for C in sizes[:level]) for level in range(len(sizes) + 1)]

    @property
    def size(self):
        """The number of weights."""
        return self.level_starts[-1] + self.rows * self.P

    def some(self, numbers):
        """These examples alone."""
        return replace(
            self,
            features=[self.features[i] for i in numbers],
            candidates=[self.candidates[i] for i in numbers],
            allowed=[self.allowed[i] for i in numbers],
        )

    def arrays(self):
        """What ``LatticeProblem.append`` takes."""
        features, candidates, allowed = (
            list(chain.from_iterable(table))
            for table in (self.features, self.candidates, self.allowed)
        )
        return (
            starts_of(features),
            np.array(list(chain.from_iterable(features)), dtype=np.int32),
            starts_of(self.features),
            starts_of(candidates),
            np.array(list(chain.from_iterable(candidates)), dtype=np.int32),
            np.array(list(chain.from_iterable(allowed)), dtype=bool),
        )

    def empty_problem(self, *, lazily=False):
        """A problem without examples."""
        parts = np.array(list(chain.from_iterable(self.parts)), dtype=np.int32)
        classes = [np.array(of_labels, dtype=np.int64) for of_labels in self.classes]
        labels = LabelParts(starts_of(self.parts), parts, self.P)
        problem = LatticeProblem(labels, make_levels(self.K, classes))
        problem.allocate(lazily=lazily)
        return problem

    def problem(self, *, lazily=False):
        problem = self.empty_problem(lazily=lazily)
        problem.append(*self.arrays())
        return problem

    def structures(self, i):
        """All structures: candidates, counted at each token."""
        return list(product(*(range(len(labels)) for labels in self.candidates[i])))

    def labels(self, i, y):
        return [labels[c] for labels, c in zip(self.candidates[i], y, strict=True)]

    def phi(self, i, y):
        """How often each index of w fires."""
        fired = Counter()
        labels = self.labels(i, y)
        for start, of_labels in zip(self.level_starts, self.classes, strict=False):
            C = max(of_labels) + 1
            rows = [C, *(of_labels[label] for label in labels)]
            for row, column in pairwise(rows):
                fired[start + row * C + column] += 1
            if labels:
                fired[start + (C + 1) * C + rows[-1]] += 1
        for rows, label in zip(self.features[i], labels, strict=True):
            for row in rows:
                for part in self.parts[label]:
                    fired[self.level_starts[-1] + row * self.P + part] += 1
        return fired

    def score(self, i, y, w):
        return sum(w[index] * count for index, count in self.phi(i, y).items())

    def difference(self, i, gold, y):
        """phi(gold) - phi(y), without what cancels out."""
        phi = self.phi(i, gold)
        phi.subtract(self.phi(i, y))
        return {index: value for index, value in phi.items() if value != 0}

    def cost(self, i, y):
        """The number of tokens whose candidate is not allowed."""
        return sum(not flags[c] for flags, c in zip(self.allowed[i], y, strict=True))

    def right(self, i):
        """The structures that the gold annotation allows."""
        return [y for y in self.structures(i) if self.cost(i, y) == 0]

    def is_annotated(self, i):
        return not all(map(all, self.allowed[i]))

    def is_partial(self, i):
        return any(sum(flags) > 1 for flags in self.allowed[i])

    def gold(self, i):
        """The gold structure, where there is one."""
        (gold,) = self.right(i)
        return gold


def starts_of(groups):
    """Where each of some lists starts, once they are put one after another: int64."""
    return np.array([0, *np.cumsum([len(group) for group in groups])], dtype=np.int64)


@st.composite
def lattices(draw, *, labels=4, parts=9, levels=2, rows=4, examples=3, length=3, complete=False):
    """Small problems; complete: whether one candidate of each token is allowed."""
    K, P = draw(st.integers(1, labels)), draw(st.integers(1, parts))
    rows = draw(st.integers(1, rows))
    part_sets = st.lists(st.integers(0, P - 1), unique=True, max_size=4)
    classes = st.lists(st.integers(0, 2), min_size=K, max_size=K)

    @st.composite
    def tokens(draw):
        own = draw(st.lists(st.integers(0, K - 1), unique=True, min_size=1))
        allowed = st.lists(st.booleans(), min_size=len(own), max_size=len(own)).filter(any)
        one = st.integers(0, len(own) - 1).map(lambda c: [j == c for j in range(len(own))])
        every = st.just([True] * len(own))
        flags = draw(one if complete else st.one_of(one, allowed, every))
        features = st.lists(st.integers(0, rows - 1), max_size=4)
        return draw(features), own, flags

    drawn = draw(st.lists(st.lists(tokens(), max_size=length), min_size=1, max_size=examples))
    return SmallLattices(
        draw(st.lists(part_sets, min_size=K, max_size=K)),
        P,
        draw(st.lists(classes, max_size=levels)),
        rows,
        *([[token[place] for token in example] for example in drawn] for place in range(3)),
    )


def random_lattices(seed, *, K=5, P=7, rows=6, examples=6, length=4, most=3, partial=0.0):
    """A problem of any size: labels with parts of their own and parts that they share.

    most: candidates at a token. partial: the share of tokens of which a second one is allowed.
    """
    random = np.random.default_rng(seed)
    features, candidates, allowed = [], [], []
    for _ in range(examples):
        n = random.integers(1, length + 1)
        features.append(random.integers(rows, size=(n, 2)).tolist())
        sizes = random.integers(1, most + 1, size=n)
        candidates.append([random.permutation(K)[:size].tolist() for size in sizes])
        allowed.append([[False] * size for size in sizes])
        for flags in allowed[-1]:
            flags[random.integers(len(flags))] = True
            if random.random() < partial:
                flags[random.integers(len(flags))] = True
    return SmallLattices(
        [[k, *(random.permutation(np.arange(K, P))[: k % 3]).tolist()] for k in range(K)],
        P,
        [[k % 3 for k in range(K)], list(range(K))],
        rows,
        features,
        candidates,
        allowed,
    )


def of_chains(chains):
    """The same problem as one of chains: all labels are candidates. Label set K allows all."""
    K = chains.K
    return SmallLattices(
        [[k] for k in range(K)],
        K,
        [list(range(K))],
        chains.rows,
        chains.features,
        [[list(range(K)) for _ in gold] for gold in chains.gold],
        [[[label in (k, K) for k in range(K)] for label in gold] for gold in chains.gold],
    )


def whole_weights(small, seed):
    """Weights whose sums are exact, with many zeros and ties."""
    random = np.random.default_rng(seed)
    return random.integers(-2, 3, size=small.size) * (random.random(small.size) < 0.8)


def problem_with(small, w, *, lazily):
    """A problem that has weights, and these as it lays them out.

    Where weights are allocated on first use, those of features that are 0 are missing.
    """
    problem, w = small.problem(lazily=lazily), w.astype(np.float64)
    if not lazily:
        return problem, w
    first = small.level_starts[-1]
    rows, parts = w[first:].reshape(small.rows, small.P).nonzero()
    starts = np.searchsorted(rows, np.arange(small.rows + 1))
    entries = problem.insert(starts, parts.astype(np.uint16))
    laid_out = np.zeros(problem.number_of_weights(small.rows))
    laid_out[:first] = w[:first]
    laid_out[first + entries] = w[first + rows * small.P + parts]
    return problem, laid_out


def places(small, problem):
    """The index of each weight in the layout where all exist, by its index in the problem's."""
    first = small.level_starts[-1]
    found = {index: index for index in range(first)}
    entries = np.empty(small.P, dtype=np.int64)
    # Rows that no example has may be unknown, and then they have no weights.
    for row in range(len(problem.table.blocks) if problem.structure.is_lazy else small.rows):
        find_entries(problem.table._replace(grows=False), row, np.arange(small.P), entries)
        for part, entry in enumerate(entries.tolist()):
            if entry >= 0:
                found[first + entry] = first + row * small.P + part
    return found


def all_weights(small, problem, w):
    """Weights of a problem as if all were allocated."""
    found = np.zeros(small.size)
    for index, place in places(small, problem).items():
        found[place] = w[index]
    return found


def completion_of(small, problem, i):
    """The completed gold structure, -1 where there is none yet."""
    examples = problem.examples()
    first, last = examples.token_starts[i : i + 2]
    return tuple(examples.completions[first:last].tolist())


_GUARD = 64  # entries behind a buffer, which must stay as they are


def written(oracle, examples, i, structure, room, dtype):
    """The size that a difference returns, and its indices and values, in a buffer of such room."""
    indices = np.full(room + _GUARD, -7, dtype=np.int32)
    values = np.full(room + _GUARD, -0.125, dtype=dtype)
    size = oracle(examples, i, structure, indices[:room], values[:room])
    is_empty = size == NEEDS_CAPACITY
    for buffer, before in ((indices, -7), (values, -0.125)):
        assert (buffer[0 if is_empty else room :] == before).all()
    assert is_empty or 0 <= size <= room
    return size, indices[: max(size, 0)], values[: max(size, 0)]


def difference_of(small, problem, i, y, *, frozen=False):
    """Phi_i(y) as a dict, by indices of the layout where all weights exist.

    Weights are allocated where they are missing, unless the examples are frozen.
    """
    structure = np.array(y, dtype=np.int64)

    def ask():
        examples = problem.frozen_examples() if frozen else problem.examples()
        oracle, room = problem.structure.difference, problem.max_entries
        return written(oracle, examples, i, structure, room, np.float32)

    size, indices, values = ask()
    if size == NEEDS_CAPACITY:
        assert problem.structure.is_lazy
        assert not frozen
        problem.reserve()
        size, indices, values = ask()
    assert len(np.unique(indices)) == size
    assert (values != 0).all()
    place = places(small, problem)
    return {place[k]: value for k, value in zip(indices.tolist(), values.tolist(), strict=True)}
