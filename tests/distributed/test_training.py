"""Pipelines learn from workers: the same bytes for any number of them, also where they die."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from typing import Any, cast

import numpy as np
import pytest
from corpora import make_doc, tagging_examples
from pipelines import LEMMATIZER, MORPHOLOGIZER, PARSER, RECOGNIZER, TAGGER, Component
from shards import (
    CORPORA,
    LocalWorkers,
    MortalRay,
    digest_of,
    learned,
    learned_locally,
    partly_tagged,
    pipeline_of,
)
from spacy.tokens import Token
from spacy.training import Example

from spacy_ssvm.chains import calibration
from spacy_ssvm.distributed import training, worker
from spacy_ssvm.distributed.cluster import RayWorkers
from spacy_ssvm.distributed.corpora import Shard
from spacy_ssvm.distributed.learner import merge_rows, with_block
from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.sending import SentWeights, Update
from spacy_ssvm.distributed.worker import LocalRows
from spacy_ssvm.features.reals import measure_scales, read_reals
from spacy_ssvm.objective import SQUARED_HINGE, losses
from spacy_ssvm.solvers.decoding import block_size, decode_block
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent, inner_pass
from spacy_ssvm.solvers.dual_run import are_due
from spacy_ssvm.weights.feature_index import FeatureIndex

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


REALS = ["lower[0]", "shape[0]", "real._.length[-1]", "real._.length[0]"]


@pytest.fixture
def lengths() -> Iterator[None]:
    """Words have their lengths as values, in two numbers; some have none."""

    def length(token: Token) -> list[float] | None:
        return None if len(token) == 4 else [len(token), 0.3 * (len(token) % 3)]

    Token.set_extension("length", getter=length)
    yield
    Token.remove_extension("length")


def test_the_number_of_workers_does_not_matter(component: Component) -> None:
    digests = {learned_locally(component, number) for number in (1, 2, 5)}
    assert len(digests) == 1


def test_all_weights_that_have_changed_are_sent(
    component: Component, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, compared = SentWeights.changes, list[int]()

    def compare(sent: SentWeights, w: Any) -> Update:
        update = changes(sent, w)
        assert np.array_equal(sent._sent[: len(w)], w)
        compared.append(len(update.numbers))
        return update

    monkeypatch.setattr(SentWeights, "changes", compare)
    nlp = pipeline_of(component, lambda vocab: component.examples(vocab) * 5)
    learned(nlp, LocalWorkers(Pipeline.of(nlp), 1))
    assert sum(size > 0 for size in compared) > 10
    nlp = pipeline_of(
        TAGGER, partly_tagged, epochs=10, solver={**TAGGER.config["solver"], "tolerance": 0.9}
    )
    learned(nlp, LocalWorkers(Pipeline.of(nlp), 1))  # completes partial gold once it is learned


def test_a_corpus_is_learned_by_heart(component: Component) -> None:
    nlp = pipeline_of(component, epochs=15)
    learned(nlp, LocalWorkers(Pipeline.of(nlp), 3), block=2)
    assert component.accuracy(nlp) == 1


@pytest.mark.parametrize("settings", [{"hash_bits": 12}, {"min_count": 2}])
def test_rows_are_those_of_all_workers(settings: dict[str, Any]) -> None:
    digests = {learned_locally(TAGGER, number, **settings) for number in (1, 2, 4)}
    assert len(digests) == 1
    assert digests != {learned_locally(TAGGER, 1)}


def test_updates_are_applied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = learned_locally(TAGGER, 2)
    monkeypatch.setattr(worker, "_AT_A_TIME", 7)
    assert learned_locally(TAGGER, 2) == whole


@pytest.mark.parametrize("name", ["FrankWolfe", "Mira", "Perceptron"])
def test_other_solvers_learn_from_workers(component: Component, name: str) -> None:
    solver = {"@misc": f"spacy_ssvm.{name}.v1"}
    settings = {"solver": solver}
    if "label_solver" in component.config:
        settings["label_solver"] = solver
    digests = {learned_locally(component, number, **settings) for number in (1, 3)}
    assert len(digests) == 1
    nlp = pipeline_of(component, epochs=15, **settings)
    learned(nlp, LocalWorkers(Pipeline.of(nlp), 2))
    assert component.accuracy(nlp) > 0.99


def test_a_crf_learns_from_sums_of_gradients(component: Component) -> None:
    crf = {"@misc": "spacy_ssvm.LBFGS.v1", "C": 10.0, "iterations": 10}
    settings = {key: crf for key in ("solver", "label_solver") if key in component.config}
    digests = {learned_locally(component, number, epochs=3, **settings) for number in (1, 5)}
    assert len(digests) == 1
    nlp = pipeline_of(component, epochs=3, **settings)
    assert learned(nlp, LocalWorkers(Pipeline.of(nlp), 2)) in digests
    assert component.accuracy(nlp) == 1


def test_gradients_are_those_of_one_process() -> None:
    """But for their rounding, of which few examples make little."""
    nlp = pipeline_of(TAGGER, partly_tagged, solver={"@misc": "spacy_ssvm.LBFGS.v1", "gamma": 1.0})
    pipe: Any = nlp.get_pipe(TAGGER.name)
    local, _ = pipe.featurize(CORPORA[TAGGER.name](nlp.vocab))
    workers = LocalWorkers(Pipeline.of(nlp), 3)
    planned = training.plan(nlp, 3)
    training.share_examples(workers, planned)
    (remote,) = training.learn_from_workers(nlp, workers, planned.components, None)
    rng = np.random.default_rng(0)
    for complete in (True, False, True):
        w = rng.normal(size=len(local.run.w))
        value, gradient, recompleted = local.run._evaluate(w, complete=complete)
        found = remote.run._evaluate(w, complete=complete)
        assert found[0] == pytest.approx(value, rel=1e-12)
        assert found[1] == pytest.approx(gradient, abs=1e-8)
        assert found[2] == recompleted == complete


@pytest.mark.parametrize(
    ("of_config", "asked", "expected"), [(1, None, 64), (8, None, 8), (8, 5, 5), (1, 5, 5)]
)
def test_what_is_asked_for_is_the_size_of_blocks(
    of_config: int, asked: int | None, expected: int
) -> None:
    solver = DualCoordinateDescent(block=of_config)
    assert with_block(solver, asked, 400).block == expected
    if of_config == 1 and asked is None:
        assert with_block(solver, None, 40_000).block == 800


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("settings", [{}, {"templates": REALS}], ids=["", "real values"])
def test_it_is_the_run_of_one_process_with_late_weights(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block is decoded under the weights before the block before it.

    Of each pass without inference, a part as long as the block follows it.
    """
    nlp = pipeline_of(TAGGER, epochs=5, **settings)
    pipe: Any = nlp.get_pipe(TAGGER.name)
    trainer = pipe.make_trainer(replace(pipe.solver, block=4))
    examples = CORPORA[TAGGER.name](nlp.vocab)
    for batch in pipe.read_batches(pipe.gold_docs(examples)):
        trainer.add(batch)
    run = trainer.run

    def decode_late(part: Any) -> Any:
        run._allocate()
        due = are_due(run._state.visits[part] + 1)
        return part, decode_block(run.problem, part, run.w.copy(), 1.0, due)

    def pass_late(numbers: Any) -> None:
        visits, most = run._state.visits[numbers], run.problem.max_entries
        size = block_size(4, visits, run.problem.structure._replace(is_remote=True))
        outer = run._shuffled(numbers)
        inner = [run._shuffled(numbers) for _ in range(run.settings.inner_passes)]
        blocks = [outer[start : start + size] for start in range(0, len(outer), size)]
        found = decode_late(blocks[0])
        for k, block in enumerate(blocks):
            later = decode_late(blocks[k + 1]) if block is not blocks[-1] else None
            run._repeat(partial(run._visit, *found, most, True), len(block))
            for order in inner:
                inner_pass(order[k * size : k * size + len(block)], run.sets, run._state)
            found = later

    monkeypatch.setattr(run, "_pass", pass_late)
    for _ in range(5):
        trainer.epoch(np.arange(len(examples)))
    trainer.update_model()
    monkeypatch.undo()
    assert digest_of(nlp) == learned_locally(TAGGER, 2, 4, epochs=5, **settings)


def lots(seed: int) -> Callable[[], bool]:
    """Whether a worker dies now: up to four do, fewer than make a training give up."""
    rng, deaths = np.random.default_rng(seed), list[int]()

    def draws() -> bool:
        dies = len(deaths) < 4 and rng.random() < 0.02
        deaths.extend([1] * dies)
        return bool(dies)

    return draws


@pytest.mark.parametrize("component", [TAGGER, PARSER], ids=lambda c: c.name)
@pytest.mark.parametrize("seed", range(8))
def test_workers_may_die_at_any_time(component: Component, seed: int) -> None:
    nlp, said = pipeline_of(component, epochs=4), list[str]()
    workers = RayWorkers(MortalRay(lots(seed)), Pipeline.of(nlp), 3, said.append)
    assert learned(nlp, workers) == learned_locally(component, 1, epochs=4)
    assert sum("killed by a test" in text for text in said) > 0


# --- Workers of different speed --------------------------------------------------------------


def uneven(monkeypatch: pytest.MonkeyPatch, *speeds: float | None) -> None:
    """Let workers have these speeds, one after another."""
    found = cycle(speeds)
    monkeypatch.setattr(worker.Worker, "speed", lambda _: next(found))


@pytest.mark.parametrize("component", [TAGGER, PARSER], ids=lambda c: c.name)
def test_slow_workers_get_fewer_examples(
    component: Component, monkeypatch: pytest.MonkeyPatch
) -> None:
    uneven(monkeypatch, 100.0, 300.0, 200.0)
    nlp, said = pipeline_of(component), list[str]()
    workers, planned = LocalWorkers(Pipeline.of(nlp), 3), training.plan(nlp, 3, 3)
    training.share_examples(workers, planned, said.append)
    name = component.name if component is TAGGER else f"{component.name}.arcs"
    words = [workers.call(k, "describe", name).words for k in range(3)]
    total = sum(planned.corpus.lengths)
    assert np.allclose(words, [total / 6, total / 2, total / 3], atol=max(planned.corpus.lengths))
    assert said == [
        "Worker 0 made features of 100 words a second, and worker 1 of 300: all read again, parts "
        "by their speed"
    ]
    assert learned(nlp, LocalWorkers(Pipeline.of(nlp), 3)) == learned_locally(component, 1)


@pytest.mark.parametrize("speeds", [(100.0, 149.0, 120.0), (100.0, 900.0, None)])
def test_small_differences_of_speed_do_not_matter(
    speeds: tuple[float | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    uneven(monkeypatch, *speeds)
    nlp, said = pipeline_of(TAGGER), list[str]()
    workers, planned = LocalWorkers(Pipeline.of(nlp), 3), training.plan(nlp, 3, 3)
    training.share_examples(workers, planned, said.append)
    words = [workers.call(k, "describe", TAGGER.name).words for k in range(3)]
    assert max(words) - min(words) <= 2 * max(planned.corpus.lengths)
    assert not said


@pytest.mark.parametrize("seed", range(4))
def test_slow_workers_may_die_at_any_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    uneven(monkeypatch, 100.0, 300.0, 200.0)
    nlp, said = pipeline_of(TAGGER, epochs=4), list[str]()
    workers = RayWorkers(MortalRay(lots(seed)), Pipeline.of(nlp), 3, said.append)
    assert learned(nlp, workers) == learned_locally(TAGGER, 1, epochs=4)
    assert sum("killed by a test" in text for text in said) > 0
    for calls in workers._lasting:  # those that start anew read their last part alone
        assert [call.method for call in calls].count("read") == 1


def test_the_speed_is_that_of_making_features(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline_of(TAGGER)
    reader, (lengths, files) = worker.Worker(Pipeline.of(nlp)), training.plan(nlp, 1).corpus
    shard = Shard(0, len(lengths), files)
    reader.read([TAGGER.name], shard)
    assert reader.speed() is None  # that took too little time to tell
    monkeypatch.setattr(worker, "DOCS_AT_A_TIME", 2)
    monkeypatch.setattr("time.perf_counter", partial(next, count(0, 5)))
    reader.read([TAGGER.name], shard)
    later = [sum(lengths[i : i + 2]) for i in range(2, len(lengths), 2)]
    assert reader.speed() == sum(later) / (5 * len(later))
    assert reader.describe(TAGGER.name).words == sum(lengths)


def test_a_worker_that_always_dies_is_given_up() -> None:
    nlp = pipeline_of(TAGGER)
    workers = RayWorkers(MortalRay(lambda: True), Pipeline.of(nlp), 2, lambda text: None)
    with pytest.raises(ConnectionError, match="worker 0 has died 5 times in a row"):
        learned(nlp, workers)


def test_what_a_worker_raises_ends_the_training() -> None:
    nlp = pipeline_of(TAGGER)
    workers = RayWorkers(MortalRay(lambda: False), Pipeline.of(nlp), 2, lambda text: None)
    with pytest.raises(KeyError, match="nobody"):
        workers.result(workers.call(1, "describe", "nobody"))


# --- Real-valued features --------------------------------------------------------------------


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize(
    "component", [TAGGER, MORPHOLOGIZER, LEMMATIZER, RECOGNIZER], ids=lambda c: c.name
)
@pytest.mark.parametrize("settings", [{}, {"hash_bits": 12}, {"min_count": 1000}], ids=str)
def test_real_values_are_learned_by_workers(
    component: Component, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "DOCS_AT_A_TIME", 2)
    own = {"templates": REALS, **settings}
    digests = {learned_locally(component, number, **own) for number in (1, 2, 5)}
    assert len(digests) == 1
    nlp = pipeline_of(component, **own)
    assert learned(nlp, LocalWorkers(Pipeline.of(nlp), 2)) in digests
    model: Any = nlp.get_pipe(component.name).model  # type: ignore[attr-defined]
    first = component.examples(nlp.vocab)[:2]
    values = [read_reals("real._.length", example.predicted) for example in first]
    expected = measure_scales({"real._.length": np.concatenate(values)})
    assert model.scales == expected
    assert np.abs(model.real_weights.weights).sum() > 0


@pytest.mark.usefixtures("lengths")
def test_scales_are_those_of_the_first_docs_that_have_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "DOCS_AT_A_TIME", 1)

    def later(vocab: Any) -> list[Example]:
        """None of the words of the first two Docs has a value."""
        words = ["this", "cats"]
        reference = make_doc(vocab, words, tags=["DT", "NN"])
        return [Example(make_doc(vocab, words), reference)] * 2 + TAGGER.examples(vocab)

    found = set()
    for number in (1, 3):
        nlp = pipeline_of(TAGGER, later, templates=REALS)
        found.add(learned(nlp, LocalWorkers(Pipeline.of(nlp), number)))
        model: Any = nlp.get_pipe(TAGGER.name).model  # type: ignore[attr-defined]
        assert model.scales["real._.length"].width == 2
    assert len(found) == 1


@pytest.mark.usefixtures("lengths")
def test_values_that_never_come_together_are_not_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where a part of the corpus is read in other batches than the whole."""
    monkeypatch.setattr(worker, "DOCS_AT_A_TIME", 2)
    monkeypatch.setattr("spacy_ssvm.distributed.learner.DOCS_AT_A_TIME", 2)
    Token.set_extension("width", getter=lambda token: 1.0 if token.text == "cats" else None)

    def apart(vocab: Any) -> list[Example]:
        first, second = ["this", "cats", "runs"], ["the", "seat"]
        made = [(first, ["DT", "NN", "VB"])] * 4 + [(second, ["DT", "NN"])] * 4
        return [Example(make_doc(vocab, w), make_doc(vocab, w, tags=t)) for w, t in made]

    try:
        found = set()
        for number in (1, 2, 3):
            nlp = pipeline_of(TAGGER, apart, templates=[*REALS, "real._.width[0]"])
            with pytest.warns(UserWarning, match="real-valued features are not learned: of no 2"):
                found.add(learned(nlp, LocalWorkers(Pipeline.of(nlp), number)))
        assert len(found) == 1
    finally:
        Token.remove_extension("width")


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("seed", range(3))
def test_workers_that_die_read_the_scales_again(seed: int) -> None:
    nlp, said = pipeline_of(MORPHOLOGIZER, templates=REALS, epochs=4), list[str]()
    workers = RayWorkers(MortalRay(lots(seed)), Pipeline.of(nlp), 3, said.append)
    expected = learned_locally(MORPHOLOGIZER, 1, templates=REALS, epochs=4)
    assert learned(nlp, workers) == expected
    assert sum("killed by a test" in text for text in said) > 0


# --- Calibrated scores -----------------------------------------------------------------------


def partly_known(vocab: Any) -> list[Example]:
    """Entities, several times; each third sentence lacks the annotation of a word."""
    examples = RECOGNIZER.examples(vocab) * 12
    for example in examples[::3]:
        example.reference.set_ents([], missing=[example.reference[:1]], default="unmodified")
    return examples


@pytest.fixture
def few_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few spans suffice for a curve."""
    monkeypatch.setattr(calibration, "_LEAST", 5)


@pytest.mark.usefixtures("few_spans")
@pytest.mark.parametrize("examples", [lambda vocab: RECOGNIZER.examples(vocab) * 12, partly_known])
def test_scores_are_calibrated_by_the_workers(examples: Any) -> None:
    digests = {learned_locally(RECOGNIZER, n, examples=examples, epochs=3) for n in (1, 2, 5)}
    assert len(digests) == 1


@pytest.mark.usefixtures("few_spans")
@pytest.mark.parametrize("seed", range(4))
def test_workers_may_die_while_scores_are_calibrated(seed: int) -> None:
    nlp, said, draws = pipeline_of(RECOGNIZER, partly_known, epochs=3), list[str](), lots(seed)

    def dies() -> bool:
        return len(workers._problems) > 1 and draws()

    workers = RayWorkers(MortalRay(dies), Pipeline.of(nlp), 3, said.append)
    assert learned(nlp, workers) == learned_locally(RECOGNIZER, 1, examples=partly_known, epochs=3)
    assert sum("killed by a test" in text for text in said) > 0
    pipe: Any = nlp.get_pipe(RECOGNIZER.name)
    assert pipe.model.calibration is not None
    assert workers._problems == [pipe._trainer.problem]  # no copy is left


def test_a_copy_is_that_of_the_learner() -> None:
    nlp = pipeline_of(RECOGNIZER, partly_known, epochs=3)
    learned(nlp, LocalWorkers(Pipeline.of(nlp), 2))
    run: Any = cast(Any, nlp.get_pipe(RECOGNIZER.name))._trainer.run
    everything = np.arange(run.problem.number_of_examples)
    before = losses(run.problem, run.w, everything, SQUARED_HINGE)
    rest = run.without(everything[::2])
    run.problem.sent.touch_all()  # it is given weights that are not those of its run
    expected = losses(run.problem, rest.w, everything, SQUARED_HINGE)
    assert not np.array_equal(before, expected)
    assert np.array_equal(losses(rest.problem, rest.w, everything, SQUARED_HINGE), expected)
    rest.epoch(everything[1::2])
    rest.problem.release()
    run.problem.sent.touch_all()
    assert np.array_equal(losses(run.problem, run.w, everything, SQUARED_HINGE), before)


# --- What cannot be trained ------------------------------------------------------------------


def test_other_components_must_be_frozen() -> None:
    nlp = pipeline_of(TAGGER)
    nlp.add_pipe("textcat")
    with pytest.raises(ValueError, match=r"textcat: not a component of spacy_ssvm\. Train it"):
        training.components_to_train(nlp)
    nlp.config["training"]["frozen_components"] = ["textcat"]
    assert training.components_to_train(nlp) == [TAGGER.name]
    nlp.config["training"]["frozen_components"] = ["textcat", TAGGER.name]
    with pytest.raises(ValueError, match="no component learns"):
        training.components_to_train(nlp)


def test_a_component_that_learns_cannot_annotate() -> None:
    nlp = pipeline_of(TAGGER)
    nlp.config["training"]["annotating_components"] = [TAGGER.name]
    with pytest.raises(ValueError, match=r"ssvm_tagger: annotates .*jackknife"):
        training.components_to_train(nlp)


def test_some_solvers_learn_in_one_process_alone() -> None:
    for name in ("StochasticGradient", "KBestMira"):
        nlp = pipeline_of(TAGGER, solver={"@misc": f"spacy_ssvm.{name}.v1"})
        message = rf"ssvm_tagger: {name}\(.* learns in one process alone\. Choose .*Perceptron"
        with pytest.raises(ValueError, match=message):
            training.plan(nlp, 2)


def test_the_features_of_a_selection_are_refitted_in_one_process_alone() -> None:
    block = {"@misc": "spacy_ssvm.Selection.v1", "budget": 3, "refit": "features"}
    nlp = pipeline_of(TAGGER, selection=block)
    with pytest.raises(ValueError, match=r"ssvm_tagger: .*\[components\.ssvm_tagger\.selection\]"):
        training.plan(nlp, 2)


def test_a_trained_component_learns_no_further() -> None:
    nlp = pipeline_of(TAGGER)
    nlp.update(CORPORA[TAGGER.name](nlp.vocab))
    nlp("x")  # gives the model its weights
    with pytest.raises(ValueError, match="ssvm_tagger has been trained before"):
        training.plan(nlp, 2)


def test_all_machines_have_the_same_version() -> None:
    sent = replace(Pipeline.of(pipeline_of(TAGGER)), version="0.0.0")
    with pytest.raises(ValueError, match=r"and the one that trains 0\.0\.0: install the same"):
        LocalWorkers(sent, 1)


def test_weights_must_have_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline_of(TAGGER)
    monkeypatch.setattr("spacy_ssvm.solvers.run._MAX_WEIGHTS", 1000)
    with pytest.raises(ValueError, match="more than can be indexed"):
        learned(nlp, LocalWorkers(Pipeline.of(nlp), 2))


def test_a_corpus_without_examples_is_named() -> None:
    nlp = pipeline_of(TAGGER)
    CORPORA[TAGGER.name] = lambda vocab: []
    with pytest.raises(ValueError, match=r"no examples: check \[corpora.train\] path"):
        learned(nlp, LocalWorkers(Pipeline.of(nlp), 2))


def test_a_shard_may_have_no_gold_annotation() -> None:
    def some(vocab: Any) -> list[Example]:
        known = tagging_examples(vocab)
        docs = [make_doc(vocab, ["no", "tags"]) for _ in range(6)]
        return known + [Example(doc, doc.copy()) for doc in docs]

    digests = {learned_locally(TAGGER, number, examples=some) for number in (1, 3)}
    assert len(digests) == 1


@pytest.mark.parametrize("solver", [None, {"@misc": "spacy_ssvm.LBFGS.v1", "iterations": 2}])
def test_partial_gold_is_completed_by_the_workers(solver: dict[str, Any] | None) -> None:
    of_solver = dict(TAGGER.config) if solver is None else {"solver": solver}
    settings = {"examples": partly_tagged, "epochs": 10, **of_solver}
    digests = {learned_locally(TAGGER, n, **settings) for n in (1, 2, 5)}
    assert len(digests) == 1
    for seed in range(4):
        nlp = pipeline_of(TAGGER, **settings)
        workers = RayWorkers(MortalRay(lots(seed)), Pipeline.of(nlp), 3, lambda text: None)
        assert {learned(nlp, workers)} == digests


# --- Rows ------------------------------------------------------------------------------------


def keys_of(numbers: list[int]) -> np.ndarray:
    """Keys that differ in bits that tell features apart."""
    return np.array(numbers, dtype=np.uint64) << np.uint64(24)


def rows_of(numbers: list[int], counts: list[int]) -> LocalRows:
    templates = np.array(numbers, dtype=np.int32) % 3
    return LocalRows(keys_of(numbers), templates, np.array(counts))


def test_rows_are_numbered_as_the_corpus_has_them() -> None:
    index = FeatureIndex(3)
    numbers = merge_rows(index, [rows_of([7, 5], [1, 2]), rows_of([9, 5, 8], [1, 1, 1])])
    assert [n.tolist() for n in numbers] == [[0, 1], [2, 1, 3]]
    assert index.row_keys.tolist() == keys_of([7, 5, 9, 8]).tolist()
    assert index.row_templates.tolist() == [1, 2, 0, 2]


def test_rare_features_have_no_row() -> None:
    index = FeatureIndex(3, min_count=3)
    numbers = merge_rows(index, [rows_of([7, 5], [2, 2]), rows_of([9, 5, 7], [3, 1, 0])])
    assert [n.tolist() for n in numbers] == [[-1, 0], [1, 0, -1]]
    assert index.row_keys.tolist() == keys_of([5, 9]).tolist()
