"""Trees as a problem: oracle, pruner and solver against the enumeration of all trees."""

from collections import Counter

import brute
import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernels import arc_rows, compiled, pair_rows, scores_of_arcs
from marks import PLAIN, compiled_only
from test_dual_coordinate_descent import (
    Referee,
    all_numbers,
    check_expansion,
    constraints,
    converge,
    start,
    weights,
)

from spacy_ssvm.decoders.tree import eisner
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.lbfgs import LBFGS
from spacy_ssvm.structure import UNANNOTATED
from spacy_ssvm.trees.inference import arc_margins, parse_sentence
from spacy_ssvm.trees.keys import fill_arc_rows, hash_endpoints
from spacy_ssvm.trees.layout import ArcFeatures, Pruner, Scorer
from spacy_ssvm.trees.nodes import find_flaw
from spacy_ssvm.trees.oracle import loss_augmented_decode
from spacy_ssvm.trees.probabilities import arc_probabilities
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner import likely_arcs
from spacy_ssvm.trees.templates import ArcTemplate, compile_arc_templates

pytestmark = pytest.mark.uncompiled

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
PRUNER = [ArcTemplate.parse(text) for text in ("head.lower+dependent.tag", "dependent.lower")]
ORDERS = {"first": (1, True), "second": (2, True), "crossing": (1, False)}
kinds = st.sampled_from(list(ORDERS))


class Trees:
    """Sentences with gold heads, and all that is known of their trees, written out."""

    def __init__(self, kind, sentences, pruner_weights=None, threshold=np.inf):
        self.order, self.projective = ORDERS[kind]
        self.nodes = [nodes for nodes, _ in sentences]
        self.gold = [heads for _, heads in sentences]
        self.pruner_weights = np.zeros(SIZE + 1) if pruner_weights is None else pruner_weights
        self.threshold = threshold
        self._rows = {}  # by example, head, dependent and, of pairs, sibling

    def features(self):
        pairs = PAIRS if self.order == 2 else []
        return ArcFeatures(
            compiled(tuple(ARCS), COLUMNS),
            compiled(tuple(pairs), COLUMNS),
            SIZE,
            self.projective,
        )

    def pruner(self):
        arcs = compiled(tuple(PRUNER), COLUMNS)
        return Pruner(arcs, SIZE, self.pruner_weights, float(self.threshold))

    def scorer(self, w):
        return Scorer(self.features(), self.pruner(), w)

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
            if self.order == 2:
                s = brute.inner_sibling(heads, m)
                fired.update(self._rows_of(pair_rows, PAIRS, i, h, m, s))
        del fired[SIZE]
        return fired

    def _rows_of(self, kernel, templates, i, *arc):
        if (i, arc) not in self._rows:
            self._rows[i, arc] = kernel(templates, COLUMNS, self.nodes[i], SIZE, *arc)
        return self._rows[i, arc]

    def score(self, i, heads, w):
        return sum(w[row] * count for row, count in self.feature_vector(i, heads).items())

    def cost(self, i, heads):
        return sum(g >= 0 and g != h for g, h in zip(self.gold[i], heads, strict=True))

    def difference(self, i, gold, heads):
        phi = self.feature_vector(i, gold)
        phi.subtract(self.feature_vector(i, heads))
        return {row: value for row, value in phi.items() if value != 0}

    def allowed(self, i):
        N = len(self.nodes[i]) - 1
        allowed = np.zeros((N, N), dtype=bool)
        likely_arcs(self.pruner(), self.nodes[i], 0, N + 1, allowed)
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
    """Weights that add up exactly, with many ties; 0 for what does not fire."""
    w = np.random.default_rng(seed).integers(-3, 4, size=SIZE + 1) / 2
    w[SIZE] = 0.0
    return w


seeds = st.integers(0, 999)


def violator(problem, i, w, complete=False):
    """Phi as a dict, Delta, and whether the completion has changed; None for nothing to learn."""
    indices = np.full(problem.max_entries, -1, dtype=np.int32)
    values = np.zeros(problem.max_entries, dtype=np.float32)
    size, cost, recompleted = loss_augmented_decode(
        problem.examples(), i, w, 1.0, complete, indices, values
    )
    if size == UNANNOTATED:
        return None
    phi = dict(zip(indices[:size].tolist(), values[:size].tolist(), strict=True))
    assert len(phi) == size
    return phi, cost, recompleted


def completion(problem, i):
    examples = problem.examples()
    first, last = examples.node_starts[i : i + 2]
    return examples.completions[first : last - 1].tolist()


def has(heads, given):
    """Whether a tree has the heads that are given."""
    return all(g in (-1, h) for g, h in zip(given, heads, strict=True))


def violation_of(phi, delta, w):
    return delta - sum(w[row] * value for row, value in phi.items())


# --- Probabilities ----------------------------------------------------------------------


def probabilities_of(trees, w, given, max_length, nodes):
    found = np.full((len(given), len(given)), np.nan)
    arc_probabilities(trees.scorer(w), nodes, np.array(given), max_length, 0.5, found)
    return found


@checked
@given(st.sampled_from(["first", "crossing"]), sentences(partial=True), seeds)
def test_probabilities_of_arcs_are_sums_over_all_trees_with_the_given_heads(kind, sentence, seed):
    nodes, given_heads = sentence
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    every = trees.trees(0)
    kept = np.array([y for y in every.tolist() if has(y, given_heads)])
    weights = np.exp([0.5 * trees.score(0, y, w) for y in kept])
    expected = np.zeros((len(given_heads), len(given_heads)))
    for y, weight in zip(kept, weights / weights.sum(), strict=True):
        expected[y[1:], np.arange(1, len(y))] += weight
    found = probabilities_of(trees, w, given_heads, 100, nodes)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@checked
@given(st.sampled_from(["first", "crossing"]), sentences(shortest=3), seeds)
def test_pieces_of_long_sentences_hang_on_the_root_of_the_first(kind, sentence, seed):
    nodes, gold = sentence
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    n, free = len(gold) - 1, np.full(len(gold), -1)
    found = probabilities_of(trees, w, free, 2, nodes)
    expected = np.zeros((n + 1, n + 1))
    for first in range(1, n + 1, 2):
        last = min(first + 2, n + 1)
        piece = np.vstack([nodes[:1], nodes[first:last], nodes[-1:]])
        alone = probabilities_of(trees, w, free[: last - first + 1], 2, piece)
        expected[first:last, first:last] = alone[1:, 1:]
        if first == 1:
            root = expected[0, 1:3] = alone[0, 1:]
        else:
            expected[1:3, first:last] = np.outer(root, alone[0, 1:])
    np.testing.assert_allclose(found, expected, atol=1e-9)


# --- The oracle -------------------------------------------------------------------------


@checked
@given(kinds, sentences(shortest=2), seeds, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_weights_that_are_no_numbers_leave_heads_in_range(kind, sentence, seed, flaw):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    w[np.random.default_rng(seed).random(SIZE + 1) < 0.1] = flaw
    w[SIZE] = 0.0
    problem = trees.problem()
    with np.errstate(invalid="ignore"):
        phi, delta, _ = violator(problem, 0, w)
        assert all(0 <= row < SIZE for row in phi)
        assert 0 <= delta <= len(sentence[1]) - 1
        heads, given_heads = (np.full(len(sentence[1]), -1, dtype=np.int64) for _ in range(2))
        scorer = trees.scorer(w)
        parse_sentence(scorer, trees.nodes[0], given_heads, heads)
        assert heads[0] == -1
        assert all(0 <= h < len(heads) for h in heads[1:])
        arc_margins(scorer, trees.nodes[0], heads, np.empty(len(heads)))


@checked
@given(kinds, sentences(), seeds)
def test_the_violator_is_the_worst_tree(kind, sentence, seed):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    phi, delta, changed = violator(trees.problem(), 0, w)
    gold = trees.gold[0]
    worst = trees.trees(0).tolist()
    values = [trees.cost(0, y) + trees.score(0, y, w) for y in worst]
    right = trees.score(0, gold, w)
    assert violation_of(phi, delta, w) == max(values) - right
    found = [(trees.cost(0, y), trees.difference(0, gold, y)) for y in worst]
    assert (delta, phi) in [found[j] for j, value in enumerate(values) if value == max(values)]
    assert changed == 0


@checked
@given(kinds, sentences(longest=5, projective=False), seeds)
def test_gold_trees_may_cross_even_where_trees_do_not(kind, sentence, seed):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    phi, delta, _ = violator(trees.problem(), 0, w)
    best = max(trees.cost(0, y) + trees.score(0, y, w) for y in trees.trees(0).tolist())
    assert violation_of(phi, delta, w) == best - trees.score(0, trees.gold[0], w)


@checked
@given(kinds, sentences(projective=False, partial=True), seeds, seeds)
def test_partial_gold_is_completed_in_the_best_way(kind, sentence, seed, other):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    problem, gold = trees.problem(), trees.gold[0]
    n = len(gold) - 1
    if max(gold) < 0:
        assert violator(problem, 0, w) is None
        return
    for weights_now in (w, whole_weights(other)):  # under others, the completion stays
        found = violator(problem, 0, weights_now)
        y = completion(problem, 0)
        scores = scores_of_arcs(
            ARCS, COLUMNS, trees.nodes[0], SIZE, w, np.ones((n + 1, n + 1), dtype=bool)
        )
        everything = brute.trees(n)
        fits = np.array([has(t, gold) for t in everything.tolist()])
        if trees.features().projective:
            alike = np.array([(t == brute.trees(n, True)).all(axis=1).any() for t in everything])
            fits = fits & alike if (fits & alike).any() else fits
        totals = brute.tree_scores(scores)
        assert totals[(everything == y).all(axis=1)].tolist() == [totals[fits].max()]
        assert fits[(everything == y).all(axis=1)].all()
        worst = max(
            trees.cost(0, t) + trees.score(0, t, weights_now) for t in trees.trees(0).tolist()
        )
        phi, delta, _ = found
        assert violation_of(phi, delta, weights_now) == worst - trees.score(0, y, weights_now)
    assert violator(problem, 0, w, True)[2] == 0


@checked
@given(kinds, sentences(projective=False, partial=True), seeds, seeds)
def test_completions_have_the_gold_heads_whatever_is_pruned(kind, sentence, seed, other):
    trees = Trees(kind, [sentence], whole_weights(other), threshold=0.0)
    problem, gold = trees.problem(), trees.gold[0]
    if violator(problem, 0, whole_weights(seed), True) is None:
        return
    y = completion(problem, 0)
    assert y in brute.trees(len(gold) - 1).tolist()
    assert has(y, gold)


@checked
@given(st.lists(sentences(partial=True), min_size=1, max_size=3), kinds)
def test_sentences_without_gold_teach_nothing(drawn, kind):
    trees = Trees(kind, [(nodes, [-1] * len(gold)) for nodes, gold in drawn])
    run = start(trees.problem(), SIZE, C=0.5)
    assert run.epoch(all_numbers(run)) == 0
    assert not run.w.any()


# --- The pruner -------------------------------------------------------------------------


@checked
@given(sentences(longest=5), seeds, st.sampled_from([1e6, np.inf]))
def test_a_huge_threshold_prunes_nothing(sentence, seed, threshold):
    trees = Trees("first", [sentence], whole_weights(seed), threshold)
    n = len(sentence[1]) - 1
    assert all(trees.allowed(0)[h, m] for h in range(n + 1) for m in range(1, n + 1) if h != m)


@settings(checked, max_examples=10 if PLAIN else 300)
@given(sentences(longest=6), seeds, st.sampled_from([0.0, 1e-3, 1.0, 4.0]))
def test_the_best_tree_of_the_pruner_always_remains(sentence, seed, threshold):
    random = np.random.default_rng(seed)
    weights = random.normal(size=SIZE + 1)  # rounded, unlike the others
    weights[SIZE] = 0.0
    trees = Trees("first", [sentence], weights, threshold)
    n = len(sentence[1]) - 1
    everything = np.ones((n + 1, n + 1), dtype=bool)
    scores = scores_of_arcs(PRUNER, COLUMNS, trees.nodes[0], SIZE, weights, everything)
    heads = np.empty(n + 1, dtype=np.int64)
    best = eisner(scores, heads)
    allowed = trees.allowed(0)
    assert all(allowed[heads[m], m] for m in range(1, n + 1))
    marginals = brute.arc_marginals(scores)
    assert not (allowed & (marginals < best - threshold - 1e-6)).any()
    assert allowed[marginals > best - threshold + 1e-6].all()


@checked
@given(kinds, sentences(), seeds, seeds, st.sampled_from([0.0, 1.0]))
def test_gold_arcs_are_always_scored_in_training(kind, sentence, seed, other, threshold):
    trees = Trees(kind, [sentence], whole_weights(other), threshold)
    w, gold = whole_weights(seed), trees.gold[0]
    allowed = trees.allowed(0)
    for m in range(1, len(gold)):
        allowed[gold[m], m] = True
    phi, delta, _ = violator(trees.problem(), 0, w)
    best = max(
        trees.cost(0, y) + trees.score(0, y, w)
        for y in trees.trees(0).tolist()
        if all(allowed[y[m], m] for m in range(1, len(y)))
    )
    assert violation_of(phi, delta, w) == best - trees.score(0, gold, w) >= 0


# --- Parsing ----------------------------------------------------------------------------


def parse(trees, w, given=None):
    n = len(trees.gold[0]) - 1
    given = np.full(n + 1, -1) if given is None else np.array(given)
    heads = np.full(n + 1, 99, dtype=np.int64)
    score = parse_sentence(trees.scorer(w), trees.nodes[0], given, heads)
    return score, heads


@checked
@given(kinds, sentences(projective=False, partial=True), seeds)
def test_the_best_tree_with_the_heads_that_are_given(kind, sentence, seed):
    """Among projective trees, else among all by the scores of arcs."""
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    given = trees.gold[0]
    score, heads = parse(trees, w, given)
    fits = [y for y in trees.trees(0).tolist() if has(y, given)]
    assert heads.tolist() in brute.trees(len(given) - 1).tolist()
    assert has(heads, given)
    if fits:
        assert heads.tolist() in fits
        assert score == trees.score(0, heads, w) == max(trees.score(0, y, w) for y in fits)


@checked
@given(kinds, sentences(shortest=2), seeds, st.sampled_from(["cycle", "roots"]))
def test_heads_that_no_tree_has_are_left_out(kind, sentence, seed, flaw):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    given = [-1] * len(sentence[1])
    given[1:3] = [2, 1] if flaw == "cycle" else [0, 0]
    score, heads = parse(trees, w, given)
    assert (score, heads.tolist()) == (parse(trees, w)[0], parse(trees, w)[1].tolist())


@checked
@given(kinds, sentences(), seeds)
def test_margins_are_the_distance_to_the_best_tree_with_another_head(kind, sentence, seed):
    trees, w = Trees(kind, [sentence]), whole_weights(seed)
    best, heads = parse(trees, w)
    margins = np.zeros(len(heads))
    arc_margins(trees.scorer(w), trees.nodes[0], heads, margins)
    scored = [(y, trees.score(0, y, w)) for y in trees.trees(0).tolist()]
    assert best == max(score for _, score in scored)
    for m in range(1, len(heads)):
        others = [score for y, score in scored if y[m] != heads[m]]
        assert margins[m] == best - max(others, default=-np.inf)


# --- The solver -------------------------------------------------------------------------


class TreeReferee(Referee):
    """The objective by definition, over all trees of all sentences."""

    def __init__(self, trees, *, C, prior=None):
        self.C = C
        self.size = SIZE + 1
        self.prior = np.zeros(self.size) if prior is None else prior
        self.structures = []
        for i, gold in enumerate(trees.gold):
            ys = trees.trees(i).tolist()
            phi = [naive.dense(trees.difference(i, gold, y), self.size) for y in ys]
            self.structures.append((np.array(phi), np.array([trees.cost(i, y) for y in ys], float)))


corpora = st.lists(sentences(longest=3), min_size=1, max_size=3)


@compiled_only
@settings(checked, max_examples=30)
@given(kinds, corpora, st.sampled_from([0.05, 0.5]), st.sampled_from(["ssvm", "light"]))
def test_the_optimum_is_that_of_the_quadratic_program(kind, drawn, C, variant):
    trees = Trees(kind, drawn)
    referee = TreeReferee(trees, C=C)
    value, w = referee.solve()
    run = converge(start(trees.problem(), SIZE, C=C, variant=variant))
    check_expansion(run)
    objective = run.objective()
    assert objective.primal == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert objective.primal == pytest.approx(referee.primal(weights(run, referee)), abs=1e-9)
    assert run.dual == pytest.approx(value, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(weights(run, referee), w, atol=1e-3)
    assert run.w[SIZE] == 0, "the row of no feature has no weight"


@checked
@given(kinds, corpora, seeds)
def test_each_pass_keeps_the_books_and_never_lowers_the_dual(kind, drawn, seed):
    trees = Trees(kind, drawn)
    prior = whole_weights(seed)
    referee = TreeReferee(trees, C=0.5, prior=prior)
    run = start(trees.problem(), SIZE, C=0.5, prior=prior, inner_passes=2)
    dual = run.dual
    for _ in range(4):
        run.epoch(all_numbers(run))
        check_expansion(run, prior)
        assert run.dual >= dual - 1e-12
        assert run.objective().primal == pytest.approx(referee.primal(run.w[: SIZE + 1]))
        assert run.objective().primal >= run.dual - 1e-9
        dual = run.dual


def corpus(seed, kind="second", size=6, longest=5):
    """A corpus of random sentences."""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(size):
        n = int(random.integers(2, longest + 1))
        nodes = np.vstack([[[ROOT] * 2], random.integers(0, 4, size=(n, 2)), [[BEHIND] * 2]])
        drawn.append((nodes.astype(np.uint64), random.choice(brute.trees(n, True)).tolist()))
    return Trees(kind, drawn)


def trained(trees, epochs=3, **options):
    run = start(trees.problem(), SIZE, C=0.5, **options)
    for _ in range(epochs):
        run.epoch(all_numbers(run))
    return run


@pytest.mark.parametrize("kind", ORDERS)
def test_a_seed_gives_the_same_bytes_and_another_seed_another_order(kind):
    trees = corpus(1, kind)
    assert trained(trees, seed=7).w.tobytes() == trained(trees, seed=7).w.tobytes()
    assert trained(trees, seed=7).w.tobytes() != trained(trees, seed=8).w.tobytes()


@compiled_only
def test_forgetting_examples_equals_training_without_them():
    trees = corpus(2)
    run = trained(trees)
    run.forget(np.arange(1, 3))
    run.problem.forget(range(1, 3))
    check_expansion(run)
    assert constraints(run, 1) == constraints(run, 2) == []
    converge(run)
    others = corpus(2)
    for kept in (others.nodes, others.gold):
        del kept[1:3]
    fresh = converge(trained(others))
    assert run.objective().primal == pytest.approx(fresh.objective().primal, rel=1e-6)
    np.testing.assert_allclose(run.w, fresh.w, atol=1e-3)


@compiled_only
def test_what_was_forgotten_can_be_dropped():
    trees = corpus(3)
    run = trained(trees)
    kept, dropped = np.array([1, 2, 5]), np.array([0, 3, 4])
    run.forget(dropped)
    before = [constraints(run, i) for i in kept]
    run.problem.keep(kept)
    run.keep(kept)
    assert run.problem.number_of_examples == 3
    attributes, starts, heads = trees.arrays(kept)
    np.testing.assert_array_equal(run.problem.examples().attributes, attributes)
    np.testing.assert_array_equal(run.problem.examples().node_starts, starts)
    np.testing.assert_array_equal(run.problem.examples().heads, heads)
    assert [constraints(run, i) for i in all_numbers(run)] == before
    check_expansion(run)
    run.problem.append(*trees.arrays([0]))
    run.grow(SIZE)
    converge(run)
    others = Trees("second", [(trees.nodes[i], trees.gold[i]) for i in (1, 2, 5, 0)])
    fresh = converge(trained(others))
    assert run.objective().primal == pytest.approx(fresh.objective().primal, rel=1e-6)


def test_a_problem_that_grows_sentence_by_sentence():
    trees = corpus(4)
    problem = TreeProblem(trees.features(), trees.pruner(), len(COLUMNS))
    for i in range(6):
        assert problem.append(*trees.arrays([i])) == range(i, i + 1)
    for grown, whole in zip(problem.examples()[:4], trees.problem().examples()[:4], strict=True):
        np.testing.assert_array_equal(grown, whole)


# --- Gold that is no tree ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("heads", "flaw"),
    [
        ([-1, 0, 1, 1, -1], None),
        ([-1, -1, -1, -1, -1], None),
        ([-1, 2, -1, 2, -1], None),
        ([-1, 2, 1, 0, -1], ("a cycle", [1, 2])),
        ([-1, 2, 3, 1, -1], ("a cycle", [1, 2, 3])),
        ([-1, -1, 3, 2, -1], ("a cycle", [2, 3])),
        ([-1, 1, 0, -1, -1], ("a cycle", [1])),
        ([-1, 0, 0, 1, -1], ("several roots", [1, 2])),
        ([-1, 0, -1, 0, -1], ("several roots", [1, 3])),
    ],
)
def test_gold_that_is_no_tree_is_named(heads, flaw):
    """The first sentence is whole; the node behind the words counts for nothing."""
    both = np.array([-1, 0, -1, *heads])
    starts = np.array([0, 3, 8])
    problem = TreeProblem(Trees("first", []).features(), Trees("first", []).pruner(), 1)
    attributes = np.zeros((8, 1), dtype=np.uint64)
    if flaw is None:
        assert find_flaw(starts, both) is None
        assert problem.append(attributes, starts, both) == range(2)
        return
    assert find_flaw(starts, both) == (1, *flaw)
    words = ", ".join(map(str, flaw[1]))
    with pytest.raises(ValueError, match=f"sentence 1: {flaw[0]}, words {words}"):
        problem.append(attributes, starts, both)
    assert problem.number_of_examples == 0


@compiled_only
@pytest.mark.parametrize("solver", [LBFGS(C=1.0), DualCoordinateAscent(C=1.0)], ids=repr)
def test_a_completion_may_need_an_arc_that_the_pruner_discards(solver):
    """Gold says that word 2 is the head of word 1; the pruner prefers word 1 as the root."""
    templates = [ArcTemplate.parse("head.word+dependent.word")]
    arcs, pairs = (compile_arc_templates(chosen, ["word"]) for chosen in (templates, []))
    nodes, size = np.array([[11], [12], [13], [14]], dtype=np.uint64), 2**10
    weights, rows = np.zeros(size + 1), np.empty(8, dtype=np.int32)
    endpoints = hash_endpoints(arcs, nodes, 0, 4)
    for h, m in ((0, 1), (1, 2)):
        count = fill_arc_rows(arcs, endpoints, size, h, m, rows)
        weights[rows[:count]] = 5.0
    features = ArcFeatures(arcs, pairs, size, True)
    problem = TreeProblem(features, Pruner(arcs, size, weights, 2.0), 1)
    problem.append(nodes, np.array([0, 4]), np.array([-1, 2, -1, -1]))
    run = solver.start(problem)
    run.grow(size)
    for _ in range(5):
        loss = run.epoch(np.arange(1))
    assert problem.examples().completions.tolist() == [-1, 2, 0, -1]
    assert 0 <= loss < 10
    assert np.isfinite(run.objective().primal)
    assert np.isfinite(run.w).all()
