"""Proximal operators against a general convex solver, and budgets."""

from itertools import pairwise

import clarabel
import numpy as np
import pytest
from conic_reference import solve_cone_program
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from spacy_ssvm.features.resources import NO_RESOURCES, names_of
from spacy_ssvm.features.templates import Template, find_refinements, parse_templates
from spacy_ssvm.features.wildcards import expand_wildcards
from spacy_ssvm.penalties import (
    TemplateGroups,
    coarse_to_fine_groups,
    description_lengths,
    disjoint_groups,
    penalty,
    shrink,
    shrink_to_budget,
)
from spacy_ssvm.weights.groups import GroupedWeights, threshold_weights

pytestmark = pytest.mark.uncompiled

vectors = st.lists(st.integers(-8, 8), min_size=1, max_size=8).map(
    lambda values: np.array(values) / 2
)


strengths = st.sampled_from([0.0, 0.3, 1.0, 2.5])


def minimizer(w: np.ndarray, groups: list[tuple[float, list[int]]], l2: float = 0.0) -> np.ndarray:
    """argmin_v 1/2 |v - w|^2 + sum_g d_g |v_g| + l2/2 |v|^2, by a cone program in (v, s).

    s_g >= |v_g|, one for each group.
    """
    n, G = len(w), len(groups)
    entries = [j for g, (_, members) in enumerate(groups) for j in [n + g, *members]]
    cones = sparse.csc_array(
        (-np.ones(len(entries)), (np.arange(len(entries)), entries)), (len(entries), n + G)
    )
    x, _ = solve_cone_program(
        (1 + l2) * (np.arange(n + G) < n),
        np.concatenate([-w, [d for d, _ in groups]]),
        cones,
        np.zeros(len(entries)),
        [clarabel.SecondOrderConeT(1 + len(members)) for _, members in groups],
    )
    return x[:n]


def value(v: np.ndarray, w: np.ndarray, groups: list[tuple[float, list[int]]]) -> float:
    return ((v - w) ** 2).sum() / 2 + sum(d * np.linalg.norm(v[m]) for d, m in groups)


def check_optimal(v: np.ndarray, w: np.ndarray, groups: list[tuple[float, list[int]]]) -> None:
    """v is as good as what the solver finds, and near it."""
    best = minimizer(w, groups)
    assert value(v, w, groups) <= value(best, w, groups) + 1e-6
    np.testing.assert_allclose(v, best, atol=2e-3)


def soft_threshold(w: np.ndarray, tau: float) -> np.ndarray:
    """The operator of tau |w|_1, of one template with a scale."""
    scale, rows = 0.5, np.zeros(len(w), dtype=np.int32)
    weights = GroupedWeights(
        w / scale, 0, 1, 1, rows, np.array([scale]), np.zeros(1, dtype=np.int64)
    )
    threshold_weights(tau, weights)
    return scale * weights.w


def scaled(w: np.ndarray, templates: list[list[int]], groups: TemplateGroups, tau: float):
    """The operator over groups of templates, applied to the weights."""
    norms = np.array([np.linalg.norm(w[m]) for m in templates])
    after = shrink(norms, groups, tau)
    v = w.copy()
    for m, (old, new) in enumerate(zip(norms, after, strict=True)):
        v[templates[m]] *= new / old if old else 0.0
    return v


@given(vectors, strengths)
def test_the_lasso(w, tau):
    check_optimal(soft_threshold(w, tau), w, [(tau, [j]) for j in range(len(w))])


@given(vectors, strengths, strengths)
def test_the_elastic_net(w, l1, l2):
    groups = [(l1, [j]) for j in range(len(w))]
    np.testing.assert_allclose(
        soft_threshold(w, l1) / (1 + l2), minimizer(w, groups, l2), atol=2e-3
    )


@given(st.lists(vectors, min_size=1, max_size=4), strengths, strengths)
def test_the_sparse_group_lasso(parts, l1, tau):
    w = np.concatenate(parts)
    ends = np.cumsum([0, *map(len, parts)])
    templates = [list(range(a, b)) for a, b in pairwise(ends)]
    groups = disjoint_groups(description_lengths(np.array([8 * len(m) for m in templates])))
    v = scaled(soft_threshold(w, l1), templates, groups, tau)
    wanted = [(l1, [j]) for j in range(len(w))]
    wanted += [(tau * d, m) for d, m in zip(groups.weights, templates, strict=True)]
    check_optimal(v, w, wanted)


NESTED = ["tag[0]", "tag[0]+tag[1]", "tag[0]+tag[1]+tag[2]", "shape[0]", "shape[0]+shape[1]"]


@given(st.data(), strengths)
def test_nested_groups_are_exact(data, tau):
    """Groups that are nested as a tree, shrunk in sequence, reach the optimum of their sum."""
    w = np.array(data.draw(st.lists(st.integers(-8, 8), min_size=10, max_size=10))) / 2
    refines = find_refinements(list(map(Template.parse, NESTED)))
    groups = coarse_to_fine_groups(np.full(5, 2), refines)
    templates = [[2 * m, 2 * m + 1] for m in range(5)]
    wanted = []
    for g, d in enumerate(groups.weights):
        members = groups.members[groups.starts[g] : groups.starts[g + 1]]
        wanted.append((tau * d, [j for m in members for j in templates[m]]))
    check_optimal(scaled(w, templates, groups, tau), w, wanted)
    norms = np.linalg.norm(w.reshape(5, 2), axis=1)
    assert penalty(norms, groups) == pytest.approx(
        sum(d * np.linalg.norm(w[m]) for d, m in [(d / tau, m) for d, m in wanted if tau])
        if tau
        else penalty(norms, groups)
    )


@pytest.mark.parametrize("family", ["chunking96", "tagger"])
def test_where_groups_overlap_the_operator_comes_near_the_optimum(family):
    """On the order of a whole family, which is no tree: its value is within 1 % of the lowest.

    Without templates of resources, which a component has only where there are some.
    """
    templates = parse_templates([family], is_attribute=bool, attributes=())
    templates = expand_wildcards(templates, names_of(NO_RESOURCES), Template.parse)
    refines = find_refinements(templates)
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(12):
        sizes = np.exp(rng.uniform(2, 12, len(templates))).astype(np.int64)
        groups = coarse_to_fine_groups(sizes, refines)
        norms, tau = np.exp(rng.normal(3, 1, len(templates))), np.exp(rng.uniform(-4, 1))
        members = np.split(groups.members, groups.starts[1:-1])
        wanted = [(tau * d, m.tolist()) for d, m in zip(groups.weights, members, strict=True)]
        lowest = value(minimizer(norms, wanted), norms, wanted)
        excess.append(value(shrink(norms, groups, tau), norms, wanted) / lowest - 1)
    assert min(excess) > -1e-6
    assert max(excess) < 0.01
    assert np.median(excess) < 0.001


def test_coarse_to_fine_groups_hold_what_needs_them():
    texts = ["tag[0]", "tag[1]", "tag[0]+tag[1]", "lower[0]", "lower[0]+tag[1]", "suffix2[0]"]
    refines = find_refinements(list(map(Template.parse, texts)))
    assert {texts[a]: [texts[b] for b in np.flatnonzero(refines[a])] for a in range(6)} == {
        "tag[0]": ["tag[0]+tag[1]", "lower[0]", "lower[0]+tag[1]"],
        "tag[1]": ["tag[0]+tag[1]", "lower[0]+tag[1]"],
        "tag[0]+tag[1]": ["lower[0]+tag[1]"],
        "lower[0]": ["lower[0]+tag[1]"],
        "lower[0]+tag[1]": [],
        "suffix2[0]": ["lower[0]", "lower[0]+tag[1]"],
    }


def test_weights_of_groups():
    assert description_lengths(np.array([0, 1, 2, 8, 1024])).tolist() == [1, 1, 1, 3, 10]


norm_lists = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@given(st.data(), norm_lists)
def test_budgets_of_disjoint_groups_are_met_whatever_ties(data, norms):
    norms = np.array(norms, dtype=np.float64)
    d = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(norms), max_size=len(norms))))
    budget = data.draw(st.integers(1, len(norms)))
    shrunk, tau = shrink_to_budget(norms, disjoint_groups(d.astype(float)), budget)
    assert np.count_nonzero(shrunk) == min(budget, np.count_nonzero(norms))
    assert (shrunk <= norms).all()
    ratios = norms / d
    left, lost = ratios[shrunk > 0], ratios[(shrunk == 0)]
    assert not len(lost) or not len(left) or left.min() >= lost.max()
    kept = shrunk > 0
    np.testing.assert_allclose(shrunk[kept], (norms - tau * d)[kept])


def test_the_strength_of_a_budget_is_the_mean_of_two_norms():
    groups = disjoint_groups(np.array([1.0, 2.0, 1.0, 1.0]))
    shrunk, tau = shrink_to_budget(np.array([5.0, 6.0, 2.0, 1.0]), groups, 2)
    assert tau == (3 + 2) / 2
    assert shrunk.tolist() == pytest.approx([2.5, 1.0, 0.0, 0.0])


FAMILY = [
    *(f"tag[{i}]" for i in (-1, 0, 1)),
    *("tag[-1]+tag[0]", "tag[0]+tag[1]", "tag[-1]+tag[0]+tag[1]"),
    *("lower[0]", "lower[0]+tag[1]", "suffix2[0]"),
]


@given(st.data())
def test_budgets_of_overlapping_groups_are_met_and_keep_what_is_needed(data):
    norms = np.array(
        data.draw(st.lists(st.integers(1, 4), min_size=len(FAMILY), max_size=len(FAMILY)))
    ).astype(np.float64)
    budget = data.draw(st.integers(1, len(FAMILY)))
    refines = find_refinements(list(map(Template.parse, FAMILY)))
    groups = coarse_to_fine_groups(np.full(len(FAMILY), 4), refines)
    shrunk, _ = shrink_to_budget(norms, groups, budget)
    kept = shrunk > 0
    assert kept.sum() == budget
    for a, b in np.argwhere(refines):
        assert kept[a] or not kept[b], f"{FAMILY[b]} without {FAMILY[a]}"
