"""Tests of ``spacy_ssvm/lab/projections/matchings.py``, and of the extragradient method with it."""

import numpy as np
import pytest
from matching_tables import all_links
from oracles import gradient_of

from spacy_ssvm.align.matchings.layout import POSSIBLE, SURE
from spacy_ssvm.align.matchings.problem import MatchingProblem
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.extragradient import Extragradient
from spacy_ssvm.lab.projections import with_projection
from spacy_ssvm.lab.projections.matching_points import project_matching

ROWS = 6


def drawn_problem(seed, fertilities=(1, 1), pairs=4):
    """Random pairs of up to 3 x 3 words, with a gold matching each."""
    rng = np.random.default_rng(seed)
    problem = MatchingProblem(fertilities, costs=(2.0, 1.0))
    for _ in range(pairs):
        m, n = rng.integers(1, 4, size=2)
        sizes = rng.integers(0, 4, size=m * n)
        rows = np.concatenate(
            [rng.permutation(ROWS)[:size] for size in sizes] + [np.zeros(0, dtype=int)]
        )
        values = rng.choice([1.0, 0.5, -0.25], size=len(rows))
        gold = np.zeros((m, n), dtype=np.int32)
        degrees = np.zeros(m), np.zeros(n)
        for link in rng.permutation(m * n)[: rng.integers(1, m * n + 1)]:
            j, k = divmod(int(link), int(n))
            if degrees[0][j] < fertilities[0] and degrees[1][k] < fertilities[1]:
                gold[j, k] = SURE
                degrees[0][j] += 1
                degrees[1][k] += 1
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        arrays = starts, rows.astype(np.int32), values.astype(np.float32), gold.ravel()
        problem.append(np.array([[m, n]]), *arrays)
    problem.row_templates = np.zeros(ROWS, dtype=np.int32)
    return with_projection(problem)


def project(problem, i, w, step, parts, *, complete=False):
    """(F z' - phi(gold), Delta(z'), direction); parts receives z'."""
    direction = np.full(len(parts), np.nan)
    z, cost, _ = problem.structure.project(
        problem.examples(), i, w, step, complete, parts, direction
    )
    indices, values = gradient_of(problem, i, z)
    change = np.zeros(problem.number_of_weights(ROWS))
    change[indices] = values
    return change, cost, direction


def shape_of(problem, i):
    examples = problem.examples()
    m = int(examples.source_words[i])
    return m, int(np.diff(examples.link_starts)[i]) // m


def features_of(problem, i, links):
    """phi of a matching, written once more in plain Python."""
    examples, f, g = problem.examples(), *problem.examples().fertilities
    phi = np.zeros(problem.number_of_weights(ROWS))
    for c in range(f - 1):
        phi[c] = -np.maximum(links.sum(axis=1) - 1 - c, 0).sum()
    for c in range(g - 1):
        phi[f - 1 + c] = -np.maximum(links.sum(axis=0) - 1 - c, 0).sum()
    first = examples.link_starts[i]
    for link in np.flatnonzero(links):
        for e in range(*examples.features.starts[first + link : first + link + 2]):
            phi[f + g - 2 + examples.features.rows[e]] += examples.features.values[e]
    return phi


def parts_of(links, f, g):
    """The indicator vector of a matching."""
    sources = links.sum(axis=1)[:, None] > np.arange(1, f)
    targets = links.sum(axis=0)[:, None] > np.arange(1, g)
    return np.concatenate([links.ravel(), sources.ravel(), targets.ravel()]).astype(float)


@pytest.mark.uncompiled
@pytest.mark.parametrize("fertilities", [(1, 1), (2, 1), (1, 3), (3, 2)])
def test_without_a_step_a_matching_is_described_as_it_is(fertilities):
    problem = drawn_problem(sum(fertilities), fertilities)
    f, g = fertilities
    w = np.abs(np.random.default_rng(7).normal(size=problem.number_of_weights(ROWS)))
    for i in range(problem.number_of_examples):
        m, n = shape_of(problem, i)
        first, last = problem.examples().link_starts[i : i + 2]
        gold = problem.examples().gold[first:last].reshape(m, n) == SURE
        for links in all_links(m, n):
            if links.sum(axis=1).max() > f or links.sum(axis=0).max() > g:
                continue
            parts = parts_of(links, f, g)
            assert len(parts) == np.diff(problem.part_starts)[i]
            change, cost, direction = project(problem, i, w, 0.0, parts)
            expected = features_of(problem, i, links) - features_of(problem, i, gold)
            assert change == pytest.approx(expected)
            assert cost == 2 * (gold & ~links).sum() + (links & ~gold).sum()
            # The gradient: scores and costs are linear in the parts.
            assert direction @ (parts - parts_of(gold, f, g)) == pytest.approx(
                w @ expected + cost, abs=1e-6
            )


@pytest.mark.uncompiled
def test_a_step_ends_at_the_closest_point():
    problem = drawn_problem(3, (2, 2))
    w = np.abs(np.random.default_rng(1).normal(size=problem.number_of_weights(ROWS)))
    for i in range(problem.number_of_examples):
        m, n = shape_of(problem, i)
        parts = np.zeros(np.diff(problem.part_starts)[i])
        _, _, direction = project(problem, i, w, 0.3, parts, complete=True)
        first, last = problem.examples().link_starts[i : i + 2]
        gold = problem.examples().gold[first:last].reshape(m, n) == SURE
        moved = parts_of(gold, 2, 2) + 0.3 * direction
        links, sources, targets = np.split(moved, [m * n, m * n + m])
        links, sources, targets = links.reshape(m, n), sources[:, None], targets[:, None]
        project_matching(links, sources, targets)
        expected = np.concatenate([links.ravel(), sources.ravel(), targets.ravel()])
        assert parts == pytest.approx(expected, abs=1e-12)


@pytest.mark.uncompiled
def test_examples_without_annotation_are_left_alone():
    problem = drawn_problem(5)
    problem.forget(range(1))
    assert np.all(problem.examples().gold[: problem.examples().link_starts[1]] == POSSIBLE)
    parts = np.zeros(np.diff(problem.part_starts)[0])
    arrays = parts, parts.copy()
    z, *_ = problem.structure.project(problem.examples(), 0, np.zeros(9), 1.0, True, *arrays)
    assert len(z) == 0


def trained(solver, problem, epochs):
    run = solver.start(problem)
    run.grow(ROWS)
    gaps = []
    for _ in range(epochs):
        run.epoch(np.arange(problem.number_of_examples))
        gaps.append(run.objective().gap)
    return run, gaps


each_variant = pytest.mark.parametrize("variant", ["primal", "dual"])


@each_variant
def test_the_extragradient_method_agrees_with_the_cutting_plane_method(variant):
    solver = Extragradient(C=1.0, variant=variant, tolerance=1e-7)
    run, gaps = trained(solver, drawn_problem(11), 400)
    assert run.settings.projection == "euclidean"
    assert gaps[-1] <= 1e-5
    other, _ = trained(CuttingPlane(C=1.0, tolerance=1e-8), drawn_problem(11), 60)
    assert run.objective().primal == pytest.approx(other.objective().primal, rel=1e-4)


@each_variant
def test_penalties_of_further_links_are_never_negative(variant):
    solver = Extragradient(C=1.0, variant=variant, tolerance=1e-6)
    run, gaps = trained(solver, drawn_problem(12, (2, 2)), 600)
    assert gaps[-1] <= 1e-4
    assert np.all(run.w[:2] >= 0)
