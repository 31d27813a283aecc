"""Tests of ``spacy_ssvm/solvers/prox_gradient.py``."""

from typing import Any

import naive
import numpy as np
import pytest
from marks import compiled_only
from oracles import violator
from pipelines import TAGGER
from planted_chains import Corpus, passes
from thinc.config import ConfigValidationError

from spacy_ssvm.features.templates import find_refinements
from spacy_ssvm.solvers.prox_gradient import ProxGradient


def shrunk_groups(rows: Any, members: list[Any], tau: float, d: list[float]) -> Any:
    """The operator of tau sum_g d_g |w_g|, group after group."""
    rows = rows.copy()
    for in_group, weight in zip(members, d, strict=True):
        norm = np.linalg.norm(rows[in_group])
        rows[in_group] *= 1 - tau * weight / norm if norm > tau * weight else 0.0
    return rows


def shrunk(rows: Any, owners: Any, refines: Any, settings: ProxGradient, etas: float) -> Any:
    """The proximal operator of a run over weights [rows, K], written out.

    owners: the template of each row; etas: the sum of eta_t since the last one.
    """
    K, T, strength = rows.shape[1], len(refines), settings.strength
    tau = etas * strength
    if settings.groups == "weight":
        rows = naive.soft_threshold(rows, tau)
    rows = naive.soft_threshold(rows, etas * settings.l1)
    if settings.groups == "attribute":
        each = [[row] for row in range(len(rows))]
        rows = shrunk_groups(rows, each, tau, [np.log2(K)] * len(rows))
    if settings.groups in ("template", "coarse-to-fine"):
        templates = [{m} for m in range(T)]
        if settings.groups == "coarse-to-fine":
            templates = [{m, *np.flatnonzero(refines[m])} for m in range(T)]
            templates.sort(key=len)
        members = [np.isin(owners, list(group)) for group in templates]
        rows = shrunk_groups(rows, members, tau, [np.log2(K * m.sum()) for m in members])
    norm = np.linalg.norm(rows)
    rows = rows * max(1 - etas * settings.l2_norm / norm, 0.0)
    return rows / (1 + etas * settings.l2)


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    "settings",
    [
        ProxGradient(strength=0.03, prox_period=7, groups="weight"),
        ProxGradient(strength=0.01, prox_period=7, groups="template"),
        ProxGradient(strength=0.01, prox_period=100, groups="template", eta0=0.5),
        ProxGradient(strength=0.005, prox_period=7, groups="coarse-to-fine"),
        ProxGradient(strength=0.02, prox_period=7, groups="attribute"),
        ProxGradient(strength=0.01, prox_period=7, groups="template", l1=0.004, l2=0.01),
        ProxGradient(strength=0.02, prox_period=7, groups="weight", l2_norm=0.02),
    ],
    ids=str,
)
def test_a_run_is_gradient_steps_and_proximal_operators(settings):
    """[MSAF11 Alg. 1] with the operators of many examples at once, all written out.

    The step size of pass p is eta0 / sqrt(p), for the operator at its end too.
    """
    corpus = Corpus()
    problem, index = corpus.eager()
    run = passes(settings, problem, index.number_of_rows, epochs=3)
    twin, _ = corpus.eager()
    n = twin.number_of_examples
    first = (corpus.K + 2) * corpus.K
    w = np.zeros(twin.number_of_weights(index.number_of_rows))
    owners, refines = index.row_templates, find_refinements(corpus.templates)
    random = np.random.default_rng(0)
    for epoch in (1, 2, 3):
        eta = settings.eta0 / np.sqrt(epoch)
        since = 0
        for position, i in enumerate(random.permutation(n), start=1):
            indices, values, _, _ = violator(twin, int(i), w, 0.0, complete=True)
            w[indices] += eta * values
            since += 1
            if since == settings.prox_period or position == n:
                rows = w[first:].reshape(-1, corpus.K)
                w[first:] = shrunk(rows, owners, refines, settings, eta * since).ravel()
                since = 0
    np.testing.assert_allclose(run.w[: len(w)], w, atol=1e-12)
    weights = np.abs(w[first:]).reshape(-1, corpus.K).sum(axis=1)
    assert 0 < np.count_nonzero(weights) < len(weights)


@pytest.mark.uncompiled
def test_the_regularizer_is_the_sum_of_all_penalties():
    corpus = Corpus()
    problem, index = corpus.eager()
    settings = ProxGradient(strength=0.01, prox_period=7, l1=0.004, l2=0.01, l2_norm=0.02)
    run = passes(settings, problem, index.number_of_rows, epochs=1)
    rows = run.w[(corpus.K + 2) * corpus.K :].reshape(-1, corpus.K)
    groups = [rows[index.row_templates == m] for m in range(len(corpus.templates))]
    expected = 0.01 * sum(np.log2(group.size) * np.linalg.norm(group) for group in groups)
    expected += 0.004 * np.abs(rows).sum() + 0.02 * np.linalg.norm(rows) + 0.005 * (rows**2).sum()
    assert run.regularizer == pytest.approx(problem.number_of_examples * expected)
    assert expected > 0


@pytest.mark.parametrize(
    "settings", [{"budget": 5}, {"strength": 0.01}, {"strength": 0.02, "groups": "attribute"}]
)
def test_with_the_perceptron_loss_the_first_step_only_scales_the_weights(settings):
    corpus = Corpus()
    one, four = (
        passes(ProxGradient(prox_period=7, eta0=eta0, **settings), corpus.lazy(), 0, epochs=2)
        for eta0 in (1.0, 4.0)
    )
    np.testing.assert_array_equal(four.w, 4 * one.w)
    assert one.norms.any()


@pytest.mark.parametrize("groups", ["template", "coarse-to-fine"])
def test_the_strength_that_a_budget_finds_leaves_the_same_weights(groups):
    corpus = Corpus()
    budget = ProxGradient(budget=6, groups=groups, eta0=0.5)
    found = passes(budget, corpus.lazy(), 0, epochs=1)
    strength = ProxGradient(strength=found.history[-1].strength, groups=groups, eta0=0.5)
    again = passes(strength, corpus.lazy(), 0, epochs=1)
    np.testing.assert_allclose(again.norms, found.norms, atol=1e-9)
    assert np.count_nonzero(found.norms) == 6


def test_a_strength_that_is_frozen_stays():
    corpus = Corpus()
    settings = {"budget": 6, "prox_period": 9, "eta0": 0.5}
    found = passes(ProxGradient(**settings), corpus.lazy(), 0, epochs=4)
    frozen = passes(ProxGradient(**settings, freeze_after=2), corpus.lazy(), 0, epochs=4)
    size = frozen.problem.number_of_examples
    searched = [step for step in frozen.history if step.examples <= 2 * size]
    assert searched == found.history[: len(searched)]
    last = [step.strength for step in searched if step.examples > size]
    (later,) = {step.strength for step in frozen.history[len(searched) :]}
    assert later == pytest.approx(np.mean(last))
    assert later > 0
    frozen.go_on(ProxGradient(**settings, freeze_after=1))
    for _ in range(2):
        frozen.epoch(np.arange(size))
    first = [step.strength for step in frozen.history if step.examples <= 5 * size]
    (later,) = {step.strength for step in frozen.history[len(first) :]}
    assert later == pytest.approx(np.mean(first))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": 0.1, "freeze_after": 1}, "freeze_after is for a budget"),
        ({}, "budget or strength must be set"),
        ({"budget": 3, "strength": 0.1}, "both set"),
        ({"budget": 3, "groups": "weight"}, "budget counts templates"),
        ({"strength": 0.1, "loss": "squared"}, "loss is 'squared'"),
    ],
)
def test_bad_settings_of_the_solver(settings, message):
    block = {"@misc": "spacy_ssvm.ProxGradient.v1", **settings}
    with pytest.raises(ConfigValidationError, match=message):
        TAGGER.pipeline(solver=block)


@compiled_only
def test_the_solver_by_itself() -> None:
    solver = {"@misc": "spacy_ssvm.ProxGradient.v1", "strength": 1e-4}
    assert TAGGER.accuracy(TAGGER.trained(solver=solver)) > 0.95
    nlp = TAGGER.trained(solver={"@misc": "spacy_ssvm.ProxGradient.v1", "budget": 5})
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    assert sum(row.rows > 0 for row in tagger.templates_report()) == 5
