"""Selection among templates of arcs: oracles against all trees, rows, what a parser keeps."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import brute
import naive
import numpy as np
import pytest
import spacy
from corpora import make_doc, parsed_doc
from hypothesis import given
from hypothesis import strategies as st
from kernels import arc_rows, compiled, scores_of_arcs
from marks import compiled_only
from pipelines import PARSER, copy_of
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_config
from test_tree_problem import BEHIND, ROOT, checked, sentences
from thinc.config import ConfigValidationError

from spacy_ssvm.commands.search import ALL, Search
from spacy_ssvm.decoders.tree import eisner
from spacy_ssvm.selection import Selection, Selector
from spacy_ssvm.solvers.prox_gradient import ProxGradient, ProxGradientRun
from spacy_ssvm.structure import NEEDS_CAPACITY
from spacy_ssvm.trees.families import ARC_FAMILIES
from spacy_ssvm.trees.keys import compile_arc_keys, fill_arc_keys, hash_endpoints
from spacy_ssvm.trees.layout import ArcFeatures, Pruner
from spacy_ssvm.trees.oracle import expected_gradient, loss_augmented_decode
from spacy_ssvm.trees.problem import (
    LazyTreeProblem,
    TreeProblem,
)
from spacy_ssvm.trees.templates import (
    ARC_ROLES,
    ArcTemplate,
    find_arc_refinements,
    in_order,
    parse_arc_templates,
)
from spacy_ssvm.weights.dense import DenseWeights
from spacy_ssvm.weights.groups import GroupedWeights
from spacy_ssvm.weights.lazy import find_block

pytestmark = pytest.mark.filterwarnings(PARSER.warning or "")

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
        return Pruner(arcs, 64, w, float(self.threshold))

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


def with_weights(problem: LazyTreeProblem, trees: Trees, seed: int) -> tuple[Any, dict[int, float]]:
    """Weights as a solver has stored them, and what they stand for by key."""
    random = np.random.default_rng(seed)
    run = ProxGradient(budget=5, prox_period=1, loss="hinge", seed=seed).start(problem)
    run.grow(0)
    for _ in range(4):
        run.epoch(np.arange(problem.number_of_examples))
    table = problem.store.table
    w = run._w
    w[:] = random.normal(size=len(w))
    meant = {
        key: table.scales[table.row_templates[row]] * w[row]
        for key, row in rows_in_use(table).items()
    }
    return w, meant


def rows_in_use(table: Any) -> dict[int, int]:
    """The row of each feature that has one."""
    found = {}
    for key in table.slots[:, 0].tolist():
        for m in range(len(table.active)):  # a feature is that of one template
            row, count = find_block(table, m, np.uint64(key)) if key else (0, 0)
            if count and table.row_templates[row] == m:
                found[key] = int(row)
    return found


def asked(oracle: Any, problem: LazyTreeProblem, w: Any, dtype: Any, size: int, *scales: float):
    """Phi of the first example by key, and its cost or loss, with capacity for all features."""
    indices = np.empty(size, dtype=np.int32)
    values = np.empty(size, dtype=dtype)
    arguments = *scales, True, indices, values
    problem.store.w = w
    entries, value, _ = oracle(problem.examples(), 0, w, *arguments)
    if entries == NEEDS_CAPACITY:
        problem.store.reserve()
        entries, value, _ = oracle(problem.examples(), 0, problem.store.w, *arguments)
    assert entries >= 0
    key_of = {row: key for key, row in rows_in_use(problem.store.table).items()}
    keys = [key_of[row] for row in indices[:entries].tolist()]
    assert len(set(keys)) == entries
    return dict(zip(keys, values[:entries].tolist(), strict=True)), value


def score(features: Counter[Any], meant: dict[int, float]) -> float:
    return sum(meant.get(key, 0.0) * count for key, count in features.items())


# --- Keys -------------------------------------------------------------------------------


@pytest.mark.uncompiled
@checked
@given(sentences(shortest=2, longest=6))
def test_keys_tell_features_apart(sentence: Any) -> None:
    nodes = sentence[0]
    keys, values = [], []
    for h in range(len(nodes) - 1):
        for m in range(1, len(nodes) - 1):
            if h != m:
                keys += keys_of(ARCS, COLUMNS, nodes, h, m)
                values += values_of(ARCS, COLUMNS, nodes, h, m)
    assert [t for t, _ in keys] == [t for t, _ in values]
    assert naive.same_classes([key for _, key in keys], values)


def test_equal_words_at_both_ends_and_places_have_keys_of_their_own() -> None:
    texts = [f"head.lower+dependent.lower{place}" for place in ("", "+direction", "+distance")]
    texts += ["head.tag+dependent.tag", "head.tag+dependent.tag+distance"]
    templates = [ArcTemplate.parse(text) for text in texts]
    words = [[value] * 2 for value in range(1, 200) for _ in range(2)]
    nodes = np.array([[ROOT] * 2, *words, [BEHIND] * 2], dtype=np.uint64)
    keys = [
        key
        for m in range(2, len(nodes) - 1, 2)
        for h in (0, m - 1)
        for _, key in keys_of(templates, COLUMNS, nodes, h, m)
    ]
    assert len(keys) == 199 * 2 * len(templates)
    assert len(set(keys)) == len(keys)
    assert 0 not in keys


@pytest.mark.uncompiled
def test_the_684_templates_have_keys_of_their_own() -> None:
    templates = parse_arc_templates(
        ["parser684"],
        families=ARC_FAMILIES,
        roles=ARC_ROLES,
        is_attribute=lambda name: True,
        attributes=(),
    )
    columns = ("lower", "shape", "lemma", "pos")
    nodes = np.full((6, len(columns)), 7, dtype=np.uint64)
    found = [keys_of(templates, columns, nodes, h, m) for h, m in ((1, 2), (2, 1), (0, 3))]
    keys = [key for arc in found for _, key in arc]
    assert len(keys) == len(set(keys)) == 3 * 684


# --- The oracles ------------------------------------------------------------------------

kinds = st.booleans()


@pytest.mark.uncompiled
@checked
@given(kinds, sentences(), sentences(), st.integers(0, 99))
def test_the_violator_is_the_worst_tree(
    projective: bool, sentence: Any, other: Any, seed: int
) -> None:
    trees = Trees([sentence, other], projective=projective)
    problem = trees.lazy()
    w, meant = with_weights(problem, trees, seed)
    size = problem.max_entries
    phi, value = asked(loss_augmented_decode, problem, w, np.float32, size, 1.0)
    gold = trees.gold[0]
    right = trees.features(0, gold)
    found = []
    for y in trees.trees(0):
        features = trees.features(0, y)
        delta = sum(h != g for h, g in zip(y, gold, strict=True))
        difference = Counter(right)
        difference.subtract(features)
        clean = {key: value for key, value in difference.items() if value}
        found.append((delta - score(difference, meant), delta, clean))
    best = max(augmented for augmented, *_ in found)
    assert any(
        delta == value and difference == phi
        for augmented, delta, difference in found
        if augmented >= best - 1e-9
    )


@pytest.mark.uncompiled
@checked
@given(kinds, sentences(), sentences(), st.integers(0, 99), st.sampled_from([0.0, 0.7]))
def test_expectations_are_those_over_all_trees(
    projective: bool, sentence: Any, other: Any, seed: int, gamma: float
) -> None:
    beta = 0.8
    trees = Trees([sentence, other], projective=projective)
    problem = trees.lazy()
    w, meant = with_weights(problem, trees, seed)
    size = problem.max_expected_entries
    phi, value = asked(expected_gradient, problem, w, np.float64, size, beta, gamma)
    gold = trees.gold[0]
    vectors = [trees.features(0, y) for y in trees.trees(0)]
    costs = [sum(h != g for h, g in zip(y, gold, strict=True)) for y in trees.trees(0)]
    potentials = np.array(
        [beta * (score(v, meant) + gamma * c) for v, c in zip(vectors, costs, strict=True)]
    )
    log_sum = np.logaddexp.reduce(potentials)
    right = trees.features(0, gold)
    assert value == pytest.approx(log_sum / beta - score(right, meant), abs=1e-9)
    expected: Counter[Any] = Counter()
    for vector, p in zip(vectors, np.exp(potentials - log_sum), strict=True):
        for key, count in vector.items():
            expected[key] += p * count
    expected.subtract(right)
    for key in {*expected, *phi}:
        assert phi.get(key, 0.0) == pytest.approx(expected[key], abs=1e-9)


@pytest.mark.uncompiled
@pytest.mark.parametrize("projective", [True, False])
def test_only_arcs_that_are_scored_have_expectations(projective: bool) -> None:
    """What is written fits into the room that the problem asks for, and gets no other rows."""
    random = np.random.default_rng(0)
    words = [random.integers(1, 9, (n, 2)).tolist() for n in (4, 12)]
    nodes = [np.array([[ROOT] * 2, *w, [BEHIND] * 2], dtype=np.uint64) for w in words]
    gold = [[-1, 0, 1, 2, 3], [-1, 0, *range(1, 12)]]
    trees = Trees(list(zip(nodes, gold, strict=True)), projective=projective, threshold=0.5)
    problem = trees.lazy()
    w = np.zeros(0)
    size = problem.max_expected_entries
    asked(
        expected_gradient, problem, w, np.float64, 10 * size, 1.0, 0.0
    )  # rows for the first sentence
    for i in range(2):
        first, last = problem.arcs.starts[i : i + 2]
        arcs = zip(problem.arcs.heads[first:last], problem.arcs.dependents[first:last], strict=True)
        expected = {key for h, m in arcs for _, key in keys_of(ARCS, COLUMNS, nodes[i], h, m)}
        assert last - first < (len(nodes[i]) - 2) ** 2  # not all of them
        indices, values = np.empty(10 * size, dtype=np.int32), np.empty(10 * size)
        arguments = 1.0, 0.0, True, indices, values
        entries, _, _ = expected_gradient(problem.examples(), i, problem.store.w, *arguments)
        if entries == NEEDS_CAPACITY:
            problem.store.reserve()
            entries, _, _ = expected_gradient(problem.examples(), i, problem.store.w, *arguments)
        key_of = {row: key for key, row in rows_in_use(problem.store.table).items()}
        assert {key_of[row] for row in indices[:entries].tolist()} <= expected
        assert 0 < entries <= size


@pytest.mark.uncompiled
def test_more_arcs_than_there_is_room_for_are_an_error() -> None:
    trees = Trees([(np.array([[ROOT] * 2, [1, 1], [2, 2], [BEHIND] * 2], np.uint64), [-1, 0, 1])])
    problem = trees.lazy()
    indices, values = np.full(9, -7, dtype=np.int32), np.full(9, -7.0)
    arguments = 1.0, 0.0, True, indices[:4], values[:4]
    with pytest.raises(ValueError, match="arcs that are not scored"):
        expected_gradient(problem.examples(), 0, np.zeros(0), *arguments)
    assert (indices == -7).all()
    assert problem.store.allocated == 0


@pytest.mark.uncompiled
@checked
@given(kinds, sentences(partial=True), sentences(), st.integers(0, 99))
def test_partial_gold_is_completed_in_the_best_way(
    projective: bool, sentence: Any, other: Any, seed: int
) -> None:
    trees = Trees([sentence, other], projective=projective)
    problem = trees.lazy()
    w, meant = with_weights(problem, trees, seed)
    gold = trees.gold[0]
    if max(gold[1:]) >= 0:
        asked(loss_augmented_decode, problem, w, np.float32, problem.max_entries, 0.0)
    found = problem.examples().completions[: len(gold)].tolist()
    if max(gold[1:]) < 0 or min(gold[1:]) >= 0:
        assert found[1:] == gold[1:]
        return
    crossing, plain = (
        [
            score(trees.features(0, y), meant)
            for y in brute.trees(len(gold) - 1, projective=only).tolist()
            if all(g in (-1, h) for g, h in zip(gold, y, strict=True))
        ]
        for only in (False, True)
    )
    scores = plain if projective and plain else crossing
    assert score(trees.features(0, found), meant) == pytest.approx(max(scores))


# --- Rows -------------------------------------------------------------------------------


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
        return Pruner(compiled((), self.NAMES), 64, np.zeros(65), threshold)

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


class EagerTrees(TreeProblem):
    """Hashed rows that are all there from the start, whose weights are scaled one by one."""

    SIZE = 2**20

    def __init__(self, corpus: Corpus, like: LazyTreeProblem) -> None:
        features = ArcFeatures(
            compiled(tuple(corpus.templates), corpus.NAMES),
            compiled((), corpus.NAMES),
            self.SIZE,
            True,
        )
        super().__init__(features, corpus.pruner(), len(corpus.NAMES))
        self.append(*corpus.arrays())
        self.refines, self.group_sizes = like.refines, like.group_sizes
        templates = np.zeros(self.SIZE, dtype=np.int32)
        self.row_of_key: dict[int, int] = {}
        for nodes, _, h, m in corpus.arcs():
            rows = arc_rows(corpus.templates, corpus.NAMES, nodes, self.SIZE, h, m)
            keys = keys_of(corpus.templates, corpus.NAMES, nodes, h, m)
            for row, (t, key) in zip(rows, keys, strict=True):
                templates[row] = t
                self.row_of_key[key] = row
        assert len(set(self.row_of_key.values())) == len(self.row_of_key)
        self.store = EagerStore(templates, len(self.group_sizes))


class EagerStore(DenseWeights):
    """One weight for each row, without those of templates that have no rows."""

    def __init__(self, templates: Any, T: int) -> None:
        super().__init__(first=0, width=1)
        self.templates = templates
        self.T = T

    def weights(self) -> GroupedWeights:
        scales = np.ones(self.T), np.zeros(self.T, dtype=np.int64)
        return super().weights()._replace(scales=scales[0], first_rows=scales[1])


def passes(settings: ProxGradient, problem: Any, rows: int, epochs: int) -> ProxGradientRun:
    run = settings.start(problem)
    run.grow(rows)
    for _ in range(epochs):
        run.epoch(np.arange(problem.number_of_examples))
    return run


@compiled_only
@pytest.mark.parametrize("unknown", [0.0, 0.3])
@pytest.mark.parametrize(
    "settings",
    [
        ProxGradient(budget=5, prox_period=7, loss="log", eta0=0.3),
        ProxGradient(budget=4, prox_period=9, loss="log", groups="coarse-to-fine"),
        ProxGradient(budget=4, prox_period=9, loss="log", l1=0.01, l2=0.05),
        ProxGradient(strength=0.05, prox_period=8, loss="log", groups="weight"),
        ProxGradient(budget=5, prox_period=7),
        ProxGradient(budget=5, prox_period=9, loss="hinge", groups="coarse-to-fine"),
    ],
)
def test_lazy_rows_and_scales_give_the_weights_of_all_rows_and_none(
    settings: ProxGradient, unknown: float
) -> None:
    corpus = Corpus(25, seed=5, unknown=unknown)  # by which rounding breaks no tie
    # No feature of direction or distance shares its row with another of the same endpoints.
    corpus.templates = in_order(
        t for t in corpus.templates if (t.geometry == "direction") == (len(t.parts) > 1)
    )
    problem = corpus.lazy()
    eager = EagerTrees(corpus, problem)
    naive_run = passes(settings, eager, eager.SIZE, epochs=3)
    run = passes(settings, problem, 0, epochs=3)
    table, found = problem.store.table, run.w
    seen = dict.fromkeys(eager.row_of_key, 0.0)
    seen |= {key: found[row] for key, row in rows_in_use(table).items()}
    for key, row in eager.row_of_key.items():
        assert seen[key] == pytest.approx(naive_run.w[row], abs=1e-9)
    np.testing.assert_allclose(run.norms, naive_run.norms, atol=1e-7)
    for step, naive_step in zip(run.history, naive_run.history, strict=True):
        assert step.templates == naive_step.templates
        assert step.loss == pytest.approx(naive_step.loss)
        assert step.strength == pytest.approx(naive_step.strength)


@pytest.mark.uncompiled
@pytest.mark.parametrize("unknown", [0.0, 0.3])
@pytest.mark.parametrize("between", [0, 1, 2, 6])
def test_information_gain_and_counts(unknown: float, between: int) -> None:
    corpus = Corpus(12, unknown=unknown)
    plain = [template for template in corpus.templates if template.between is None]
    names = pairwise(["r0", "n0", "r1", "n1", "r0", "r1", "n0"])
    texts = [f"head.{one}+between.{other}+dependent.{one}" for one, other in names]
    corpus.templates = in_order([*plain, *map(ArcTemplate.parse, texts[:between])])
    found = corpus.lazy().statistics
    counts: list[Counter[Any]] = [Counter() for _ in corpus.templates]
    right: list[Counter[Any]] = [Counter() for _ in corpus.templates]
    features: list[set[Any]] = [set() for _ in corpus.templates]
    known = []
    for nodes, heads, h, m in corpus.arcs():
        if heads[m] >= 0:
            known.append(heads[m] == h)
        for t, value in values_of(corpus.templates, corpus.NAMES, nodes, h, m):
            features[t].add(value)
            if heads[m] >= 0:
                counts[t][value] += 1
                right[t][value] += heads[m] == h
    total, prior = len(known), np.mean(known)
    for t in range(len(corpus.templates)):
        assert found.features[t] == len(features[t])
        gain = 0.0
        for value, n in counts[t].items():
            for joint, p in ((right[t][value], prior), (n - right[t][value], 1 - prior)):
                if joint:
                    gain += joint / total * np.log2(joint / n / p)
        assert found.gains[t] == pytest.approx(gain)


@pytest.mark.uncompiled
def test_the_pruner_says_which_arcs_are_scored_and_gold_ones_always_are() -> None:
    random = np.random.default_rng(0)
    examples = []
    for _ in range(20):
        words = random.integers(1, 9, (5, 2)).tolist()
        nodes = np.array([[ROOT] * 2, *words, [BEHIND] * 2], dtype=np.uint64)
        examples.append((nodes, random.choice(brute.trees(5, True)).tolist()))
    everything = Trees(examples).lazy().arcs
    problem = Trees(examples, threshold=0.5).lazy()
    arcs = problem.arcs
    assert len(everything.heads) == 20 * 25
    assert 20 * 5 <= len(arcs.heads) < len(everything.heads)
    for i, (_, heads) in enumerate(examples):
        first, last = arcs.starts[i : i + 2]
        found = set(
            zip(arcs.heads[first:last].tolist(), arcs.dependents[first:last].tolist(), strict=True)
        )
        assert {(h, m) for m, h in enumerate(heads) if m} <= found


# --- The selection ----------------------------------------------------------------------


@compiled_only
@pytest.mark.parametrize("method", ["group-lasso", "lasso"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_templates_are_found(method: str, seed: int) -> None:
    selected = Corpus(2000, seed=seed).selector().select(Selection(method=method, budget=2))
    assert set(selected.texts) == set(Corpus.RELEVANT)


@pytest.mark.parametrize("groups", ["template", "coarse-to-fine"])
@pytest.mark.parametrize("budget", [1, 2, 5, 17, 33])
def test_budgets_are_met(groups: str, budget: int) -> None:
    selector = Corpus(20).selector()
    selected = selector.select(Selection(budget=budget, groups=groups, prox_period=9, epochs=2))
    assert len(selected.kept) == budget
    assert all(step.templates <= budget for step in selected.history)
    further = selector.select(Selection(budget=1, prox_period=9, epochs=1), goes_on=True)
    assert len(further.kept) == 1


@pytest.mark.parametrize("method", ["lasso", "information-gain", "none"])
def test_the_other_methods_meet_their_budget(method: str) -> None:
    selected = Corpus(20).selector().select(Selection(method=method, budget=7))
    assert len(selected.kept) == (37 if method == "none" else 7)


@pytest.mark.parametrize(
    ("coarse", "fine"),
    [
        ("head.tag", "head.tag+dependent.tag"),
        ("head.tag", "head.tag+distance"),
        ("head.tag+direction", "head.tag+distance"),
        ("head.pos", "head.lower+dependent.pos"),
        ("head.pos+dependent.pos", "head.pos+between.pos+dependent.pos"),
        ("head.pos+between.pos", "head.pos+between.lower+direction"),
        ("head.shape[1]", "head.orth[1]"),
    ],
)
def test_coarse_templates_come_before_finer_ones(coarse: str, fine: str) -> None:
    templates = [ArcTemplate.parse(coarse), ArcTemplate.parse(fine)]
    assert find_arc_refinements(templates).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("head.tag", "dependent.tag+distance"),
        ("head.tag", "head.tag[1]+dependent.tag"),
        ("head.pos+between.pos", "head.pos+dependent.pos"),
        ("head.lower", "head.lemma"),
    ],
)
def test_templates_that_say_different_things_need_not_each_other(one: str, other: str) -> None:
    assert not find_arc_refinements([ArcTemplate.parse(one), ArcTemplate.parse(other)]).any()


# --- The parser -------------------------------------------------------------------------

SIBLINGS = 12  # in the family of the default


def selection(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.Selection.v1", "prox_period": 10, **settings}


@pytest.mark.parametrize(
    ("config", "siblings"),
    [({}, SIBLINGS), ({"order": 1}, 0), ({"order": 1, "projective": False}, 0)],
)
@pytest.mark.parametrize("settings", [{}, {"method": "information-gain"}])
def test_what_is_left_is_learned_as_if_nothing_else_had_been_there(
    config: dict[str, Any], siblings: int, settings: dict[str, Any], tmp_path: Path
) -> None:
    nlp = PARSER.trained(epochs=2, selection=selection(budget=6, **settings), **config)
    pipe: Any = nlp.get_pipe(PARSER.name)
    texts = pipe.selected.texts
    assert len(pipe.selected.kept) == 6
    assert len(texts) == 6 + siblings == len(pipe.model.templates)
    assert sum("sibling" in text for text in texts) == siblings
    again = PARSER.trained(epochs=2, templates=texts, **config)
    assert pipe.to_bytes() == again.get_pipe(PARSER.name).to_bytes()  # type: ignore[attr-defined]

    written = nlp.config["components"][PARSER.name]
    assert written["templates"] == texts
    assert written["selection"] is None
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.config["components"][PARSER.name]["templates"] == texts
    assert PARSER.annotate(loaded) == PARSER.annotate(nlp)
    assert PARSER.annotate(copy_of(nlp)) == PARSER.annotate(nlp)


@pytest.mark.parametrize("settings", [{}, {"method": "lasso"}, {"loss": "log"}])
def test_the_same_seed_selects_the_same(settings: dict[str, Any]) -> None:
    wanted = selection(budget=6, epochs=2, **settings)
    one, other = (PARSER.trained(epochs=1, selection=wanted) for _ in range(2))
    assert one.to_bytes() == other.to_bytes()


def test_initialize_selects_anew_among_all() -> None:
    nlp = PARSER.trained(epochs=1, selection=selection(budget=4))
    pipe: Any = nlp.get_pipe(PARSER.name)
    first = pipe.selected.texts
    examples = PARSER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    assert pipe.selected.texts == first
    assert len(pipe.selected.table) > 4


def test_all_arcs_are_scored_without_pruning() -> None:
    nlp = PARSER.pipeline(selection=selection(budget=4), pruning=None)
    examples = PARSER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(PARSER.name)
    problem = pipe.selector(examples).problem
    words = sum(len(e.reference) ** 2 for e in examples)
    assert len(problem.arcs.heads) == words


def test_the_budget_counts_templates_of_arcs() -> None:
    templates = ["head.lower", "dependent.lower", "dependent.lower+sibling.lower"]
    with pytest.raises(ConfigValidationError, match="only 2 templates") as caught:
        PARSER.pipeline(templates=templates, selection=selection(budget=3))
    assert "selection.budget" in str(caught.value)
    nlp = PARSER.trained(epochs=1, templates=templates, selection=selection(budget=1))
    kept = nlp.config["components"][PARSER.name]["templates"]
    assert len(kept) == 2
    assert kept[-1] == templates[-1]


def test_something_else_than_a_selection() -> None:
    with pytest.raises(ConfigValidationError, match=r"spacy_ssvm\.Selection\.v1"):
        PARSER.pipeline(selection={"budget": 3})


def test_empty_docs_and_partial_trees() -> None:
    nlp = PARSER.pipeline(selection=selection(budget=4))
    examples = PARSER.examples(nlp.vocab)
    words = ["The", "old", "dog", "barks"]
    partial = parsed_doc(nlp.vocab, "The:3:det old:3:amod dog:4:nsubj barks:0:ROOT")
    partial[1].dep_ = ""
    examples += [
        Example(Doc(nlp.vocab), Doc(nlp.vocab)),
        Example(make_doc(nlp.vocab, words), make_doc(nlp.vocab, words)),
        Example(make_doc(nlp.vocab, words), partial),
    ]
    nlp.initialize(lambda: examples)
    assert len(nlp.get_pipe(PARSER.name).selected.kept) == 4  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["The", "dog"], []])
def test_nothing_to_learn_from(words: list[str]) -> None:
    nlp = PARSER.pipeline(selection=selection(budget=4))
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))
    pipe: Any = nlp.get_pipe(PARSER.name)
    message = (
        r"\[components\.ssvm_parser\]\nInvalid setting\.\nselection\t.*no template has weights"
    )
    with pytest.raises(ConfigValidationError, match=message):
        pipe.initialize(lambda: [example], labels=["det", "ROOT"])


def test_there_is_no_report_of_templates_that_share_rows() -> None:
    assert not hasattr(PARSER.pipeline().get_pipe(PARSER.name), "templates_report")


def test_spacy_train_selects(tmp_path: Path) -> None:
    nlp = PARSER.pipeline()
    file = tmp_path / "all.spacy"
    DocBin(docs=[e.reference for e in PARSER.examples(nlp.vocab)]).to_disk(file)
    config = config_of(file)
    config.to_disk(tmp_path / "config.cfg")
    train(tmp_path / "config.cfg", tmp_path / "out")
    trained = spacy.load(tmp_path / "out" / "model-last")
    written = load_config(tmp_path / "out" / "model-last" / "config.cfg")
    templates = written["components"]["parser"]["templates"]
    assert len(templates) == 5 + SIBLINGS
    assert written["components"]["parser"]["selection"] is None
    model: Any = trained.get_pipe("parser").model  # type: ignore[attr-defined]
    assert list(map(str, model.templates)) == templates


def config_of(file: Path) -> Any:
    """A config for ``spacy train`` with a parser that selects."""
    config = load_config(Path(__file__).parent.parent / "configs" / "parser.cfg")
    del config["components"]["tagger"]
    config["nlp"]["pipeline"] = ["parser"]
    config["training"].update(frozen_components=[], annotating_components=[], max_epochs=2)
    config["components"]["parser"].update(selection=selection(budget=5), hash_bits=16)
    config["paths"].update(train=str(file), dev=str(file))
    return config


@compiled_only
def test_a_search_keeps_the_siblings(tmp_path: Path) -> None:
    nlp = PARSER.pipeline()
    file = tmp_path / "all.spacy"
    DocBin(docs=[e.reference for e in PARSER.examples(nlp.vocab)]).to_disk(file)
    search = Search(config_of(file), budgets=[6, 3])
    search.prepare()
    points = [*search.run("group-lasso"), *search.run("information-gain"), *search.run(ALL)]
    counts = [len(point.templates) - SIBLINGS for point in points]
    assert counts[:4] == [6, 3, 6, 3]
    assert counts[4] == len(search._selector.templates) == int(search.facts["templates"])
    assert all(point.features > 0 and point.score > 0.5 for point in points)
    assert set(points[1].templates) <= set(points[4].templates)
