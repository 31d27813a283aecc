"""What the tests of written trees share."""

from collections import Counter

import brute
import numpy as np
import oracles
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from kernels import arc_rows, compiled, grandparent_rows, pair_rows
from marks import PLAIN

from spacy_ssvm.trees.layout import ArcFeatures, Pruner, Scorer
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner import likely_arcs
from spacy_ssvm.trees.templates import GRANDPARENT, ArcTemplate
from spacy_ssvm.weights.quantized import QuantizedWeights

checked = settings(
    deadline=None,
    max_examples=5 if PLAIN else 50,
    suppress_health_check=[HealthCheck.too_slow],
)


COLUMNS = ("lower", "tag")


ROOT, BEHIND = 1000, 2000


SIZE = 64  # few enough that features share rows


ARCS = [
    ArcTemplate.parse(text)
    for text in (
        "head.lower+dependent.lower",
        "head.tag+dependent.tag[1]+distance",
        "dependent.tag+direction",
        "head.tag+between.lower+dependent.tag",
    )
]


PAIRS = [
    ArcTemplate.parse(text)
    for text in ("sibling.tag+dependent.tag", "head.tag+sibling.lower+dependent.tag+direction")
]


GRANDPARENTS = [
    ArcTemplate.parse(text)
    for text in (
        "grandparent.tag+dependent.tag",
        "head.tag+grandparent.lower+dependent.tag+direction",
    )
]


PRUNER = [ArcTemplate.parse(text) for text in ("head.lower+dependent.tag", "dependent.lower")]


#: Templates of siblings and of grandparents, and whether trees are projective.
KINDS = {
    "first": ([], [], True),
    "second": (PAIRS, [], True),
    "grandparents": (PAIRS, GRANDPARENTS, True),
    "grandparents alone": ([], GRANDPARENTS, True),
    "crossing": ([], [], False),
    "second crossing": (PAIRS, [], False),
    "grandparents crossing": (PAIRS, GRANDPARENTS, False),
}


#: Whose best trees are found.
kinds = st.sampled_from(["first", "second", "grandparents", "grandparents alone", "crossing"])


class Trees:
    """Sentences with gold heads, and all that is known of their trees, written out."""

    def __init__(self, kind, sentences, pruner_weights=None, threshold=np.inf, max_heads=99):
        self.pairs, self.grandparents, self.projective = KINDS[kind]
        self.nodes = [nodes for nodes, _ in sentences]
        self.gold = [heads for _, heads in sentences]
        self.pruner_weights = np.zeros(SIZE + 1) if pruner_weights is None else pruner_weights
        self.threshold = threshold
        self.max_heads = max_heads
        self._rows = {}  # by kernel, example and nodes

    def features(self):
        return ArcFeatures(
            compiled(tuple(ARCS), COLUMNS),
            compiled(tuple(self.pairs), COLUMNS),
            compiled(tuple(self.grandparents), COLUMNS, GRANDPARENT),
            SIZE,
            self.projective,
        )

    def pruner(self):
        arcs = compiled(tuple(PRUNER), COLUMNS)
        return Pruner(arcs, SIZE, self.pruner_weights, float(self.threshold), self.max_heads)

    def scorer(self, w):
        """As in prediction, all weights have eight bits. w: of ``whole_weights``."""
        pruner = self.pruner()
        pruner = pruner._replace(weights=_in_steps(pruner.weights))
        return Scorer(self.features(), pruner, _in_steps(w))

    def arrays(self, numbers=None):
        """attributes, node_starts and heads, as ``TreeProblem.append`` wants them."""
        numbers = range(len(self.nodes)) if numbers is None else numbers
        nodes = [self.nodes[i] for i in numbers]
        heads = [[*self.gold[i], -1] for i in numbers]
        starts = np.cumsum([0, *map(len, nodes)])
        return np.concatenate(nodes), starts, np.concatenate(heads).astype(np.int64)

    def problem(self):
        problem = TreeProblem(self.features(), self.pruner(), len(COLUMNS))
        problem.append(*self.arrays())
        return problem

    def trees(self, i):
        return brute.trees(len(self.gold[i]) - 1, self.projective)

    def feature_vector(self, i, heads):
        """phi(x, y): how often each row fires."""
        fired = Counter()
        for m in range(1, len(heads)):
            h = int(heads[m])
            fired.update(self._rows_of(arc_rows, ARCS, i, h, m))
            s = brute.inner_sibling(heads, m)
            fired.update(self._rows_of(pair_rows, self.pairs, i, h, m, s))
            if h > 0:
                g = int(heads[h])
                fired.update(self._rows_of(grandparent_rows, self.grandparents, i, g, h, m))
        del fired[SIZE]
        return fired

    def _rows_of(self, kernel, templates, i, *arc):
        key = kernel, i, arc
        if key not in self._rows:
            self._rows[key] = kernel(templates, COLUMNS, self.nodes[i], SIZE, *arc)
        return self._rows[key]

    def score(self, i, heads, w):
        return sum(w[row] * count for row, count in self.feature_vector(i, heads).items())

    def cost(self, i, heads):
        return sum(g >= 0 and g != h for g, h in zip(self.gold[i], heads, strict=True))

    def difference(self, i, gold, heads):
        phi = self.feature_vector(i, gold)
        phi.subtract(self.feature_vector(i, heads))
        return {row: value for row, value in phi.items() if value != 0}

    def allowed(self, i, max_heads=None):
        N = len(self.nodes[i]) - 1
        max_heads = N if max_heads is None else max_heads
        allowed = np.zeros((N, N), dtype=bool)
        likely_arcs(self.pruner(), self.nodes[i], 0, N + 1, max_heads, allowed)
        return allowed


@st.composite
def sentences(draw, shortest=1, longest=4, projective=True, partial=False):
    """The nodes of a sentence, and its gold heads."""
    n = draw(st.integers(shortest, longest))
    word = st.lists(st.integers(0, 2), min_size=2, max_size=2)
    words = draw(st.lists(word, min_size=n, max_size=n))
    gold = draw(st.sampled_from(brute.trees(n, projective).tolist()))
    if partial:
        known = draw(st.lists(st.booleans(), min_size=n + 1, max_size=n + 1))
        gold = [h if k else -1 for h, k in zip(gold, known, strict=True)]
    return np.array([[ROOT] * 2, *words, [BEHIND] * 2], dtype=np.uint64), gold


def whole_weights(seed):
    """Weights that add up exactly, in eight bits too, with many ties; 0 for what does not fire."""
    steps = np.random.default_rng(seed).integers(-2, 3, size=SIZE + 1)
    steps[SIZE] = 0
    return steps * np.abs(steps) / 2


def _in_steps(w):
    return QuantizedWeights(np.rint(np.sign(w) * np.sqrt(2 * np.abs(w))).astype(np.int8), 0.5)


seeds = st.integers(0, 999)


def violator(problem, i, w, complete=False):
    """Phi as a dict, Delta, and whether the completion has changed; None for nothing to learn."""
    found = oracles.violator(problem, i, w, complete=complete)
    if found is None:
        return None
    indices, values, *rest = found
    return dict(zip(indices.tolist(), values.tolist(), strict=True)), *rest


def completion(problem, i):
    examples = problem.examples()
    first, last = examples.node_starts[i : i + 2]
    return examples.completions[first : last - 1].tolist()


def has(heads, given):
    """Whether a tree has the heads that are given."""
    return all(g in (-1, h) for g, h in zip(given, heads, strict=True))


def violation_of(phi, delta, w):
    return delta - sum(w[row] * value for row, value in phi.items())
