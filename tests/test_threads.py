"""Tests of ``spacy_ssvm/kernels/threads.py``."""

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest
from pipelines import PARSER, TAGGER
from processes import ScriptRunner

from spacy_ssvm import set_threads
from spacy_ssvm.components import example_cache
from spacy_ssvm.kernels import threads
from spacy_ssvm.kernels.threads import DeferredCalls, map_by_all_threads, map_in_threads
from spacy_ssvm.kernels.types import Ints
from spacy_ssvm.solvers.training import ExampleTrainer
from spacy_ssvm.trees.pruner_training import PrunerTrainer


@pytest.fixture(autouse=True)
def one_thread_afterwards() -> Iterator[None]:
    yield
    set_threads(1)


def test_one_thread_is_the_calling_one() -> None:
    found = list(map_in_threads(lambda _: threading.get_ident(), range(3)))
    assert found == [threading.get_ident()] * 3


def test_one_thread_makes_deferred_calls_at_the_end() -> None:
    made: list[tuple[int, int]] = []

    def call(value: int) -> None:
        made.append((value, threading.get_ident()))

    calls = DeferredCalls(call)
    calls.finish()
    for value in range(3):
        calls.add(value)
    assert not made
    calls.finish()
    calls.finish()
    assert made == [(value, threading.get_ident()) for value in range(3)]


@pytest.mark.parametrize("number", [2, 3])
def test_another_thread_makes_deferred_calls_in_order(number: int) -> None:
    set_threads(number)
    made: list[int] = []
    idents, begun = set(), threading.Event()
    random = Random(0)

    def call(value: int) -> None:
        begun.set()
        idents.add(threading.get_ident())
        time.sleep(0.004 * random.random())
        made.append(value)

    calls = DeferredCalls(call)
    for value in range(20):
        calls.add(value)
        if value in (0, 10):
            assert begun.wait(10)
        time.sleep(0.3 if value == 9 else 0.004 * random.random())  # at 9, all have been made
        begun.clear()
    calls.finish()
    assert made == list(range(20))
    assert idents - {threading.get_ident()}
    calls.add(20)
    calls.finish()
    assert made == list(range(21))


def test_calls_that_no_thread_has_time_for_are_made_in_this_one() -> None:
    """It does not wait for threads that may be waiting for it."""
    set_threads(2)
    done, begun = threading.Event(), threading.Barrier(3)
    idents: list[int] = []

    def call(ends: bool) -> None:
        if ends:
            idents.append(threading.get_ident())
        else:
            begun.wait(10)
            assert done.wait(10)

    busy, calls = [DeferredCalls(call) for _ in range(2)], DeferredCalls(call)
    for others in busy:
        others.add(False)
    begun.wait(10)
    calls.add(True)
    calls.finish()
    assert idents == [threading.get_ident()]
    done.set()
    for others in busy:
        others.finish()


@pytest.mark.parametrize("number", [1, 2])
def test_an_error_in_a_deferred_call(number: int) -> None:
    set_threads(number)
    made: list[int] = []

    def call(value: int) -> None:
        if value == 1:
            raise ValueError("one")
        made.append(value)

    calls = DeferredCalls(call)
    for value in range(3):
        calls.add(value)
        time.sleep(0.01)
    for _ in range(2):
        with pytest.raises(ValueError, match="one"):
            calls.finish()
    assert made == [0]


def wait_and_append(
    begun: threading.Event, may_end: threading.Event, made: list[int], value: int
) -> None:
    """A call that says that it has begun, and ends once it may."""
    begun.set()
    may_end.wait(10)
    time.sleep(0.05)
    made.append(value)


def test_an_interrupt_while_a_thread_makes_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one that needs them waits for the thread."""
    set_threads(2)
    begun, may_end = threading.Event(), threading.Event()
    made: list[int] = []

    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    calls = DeferredCalls(partial(wait_and_append, begun, may_end, made))
    calls.add(0)
    assert begun.wait(10)
    with monkeypatch.context() as patch:
        patch.setattr(threads, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            calls.finish()
    may_end.set()
    calls.finish()
    assert made == [0]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked")
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_forked_process_makes_deferred_calls_itself(is_busy: bool) -> None:
    """Also those that a thread of the first process was making: the fork does not have it."""
    set_threads(2)
    begun, may_end = threading.Event(), threading.Event()
    made: list[int] = []
    calls = DeferredCalls(partial(wait_and_append, begun, may_end, made))
    if is_busy:
        calls.add(0)
        calls.add(1)
        assert begun.wait(10)
    earlier = [0, 1] if is_busy else []

    def finish() -> None:
        may_end.set()
        calls.finish()
        for value in (2, 3):
            calls.add(value)
        calls.finish()
        assert made == [*earlier, 2, 3]

    process = multiprocessing.get_context("fork").Process(target=finish)
    process.start()
    process.join(20)
    may_end.set()
    calls.finish()
    assert process.exitcode == 0
    assert made == earlier


@pytest.mark.parametrize("number", [2, 3])
def test_results_come_in_order(number: int) -> None:
    set_threads(number)

    def late(value: int) -> tuple[int, int]:
        time.sleep(0.002 * (10 - value % 10))
        return value, threading.get_ident()

    found = list(map_in_threads(late, range(30)))
    assert [value for value, _ in found] == list(range(30))
    idents = {ident for _, ident in found}
    assert len(idents) == number
    assert threading.get_ident() not in idents


@pytest.mark.parametrize("number", [1, 2, 4])
def test_few_values_are_taken_ahead(number: int) -> None:
    set_threads(number)
    taken = 0

    def values() -> Iterator[int]:
        nonlocal taken
        while taken < 99:
            taken += 1
            yield taken

    for i, value in enumerate(map_in_threads(lambda value: value, values()), start=1):
        assert value == i
        assert taken <= (i if number == 1 else min(i + number, 99))


def test_an_error_comes_where_its_value_was() -> None:
    set_threads(2)
    found = []
    with pytest.raises(ZeroDivisionError):
        found.extend(map_in_threads(lambda value: 6 // value, [1, 2, 0, 3, 4, 5, 6]))
    results = map_in_threads(lambda value: 6 // value, [1, 2, 0])
    assert [next(results), next(results)] == [6, 3]


def test_two_steps_share_the_threads() -> None:
    set_threads(2)
    first = map_in_threads(lambda value: value + 1, range(50))
    assert list(map_in_threads(lambda value: 2 * value, first)) == list(range(2, 102, 2))


def test_a_change_of_the_number_while_values_are_ahead() -> None:
    set_threads(2)
    results = map_in_threads(lambda value: value, range(20))
    found = [next(results)]
    set_threads(3)
    found.extend(results)
    assert found == list(range(20))


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2", None])
def test_the_number_is_an_integer_from_1(number: Any) -> None:
    with pytest.raises(ValueError, match="integer from 1"):
        set_threads(number)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    set_threads(2)
    list(map_in_threads(str, range(4)))
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(
        target=lambda: answers.put(list(map_in_threads(str, range(4)))), daemon=True
    )
    child.start()
    assert answers.get(timeout=60) == ["0", "1", "2", "3"]
    child.join()


def test_training_goes_on_between_docs_that_threads_annotate() -> None:
    set_threads(2)
    nlp = TAGGER.trained()
    stream = nlp.pipe(TAGGER.texts() * 20, batch_size=3)
    first = next(stream)
    nlp.update(TAGGER.examples(nlp.vocab))
    docs = [first, *stream]
    assert [TAGGER.annotations(doc) for doc in docs] == TAGGER.gold() * 20


@pytest.mark.parametrize(("number", "sizes"), [(1, [7, 3]), (2, [2] * 5), (20, [1] * 10)])
def test_threads_divide_a_batch(
    number: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_threads(number)
    nlp = TAGGER.trained()
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    found = []
    predict = pipe.predict
    monkeypatch.setattr(pipe, "predict", lambda docs: found.append(len(docs)) or predict(docs))
    list(nlp.pipe(["The dog barks."] * 10, batch_size=7))
    assert sorted(found) == sorted(sizes)


def test_nothing_is_begun_after_an_error() -> None:
    set_threads(2)
    gate, begun = threading.Event(), []

    def wait(value: int) -> bool:
        begun.append(value)
        return gate.wait(timeout=60)

    def values() -> Iterator[int]:
        yield 2
        raise OSError("no more")

    others = threading.Thread(target=lambda: list(map_in_threads(wait, range(2))))
    others.start()
    while len(begun) < 2:  # the others take both threads
        time.sleep(0.001)
    with pytest.raises(OSError, match="no more"):
        list(map_in_threads(wait, values()))
    gate.set()
    others.join()
    assert list(map_in_threads(str, range(4))) == ["0", "1", "2", "3"]
    assert sorted(begun) == [0, 1]


@pytest.mark.parametrize("number", [1, 2, 3, 8])
@pytest.mark.parametrize("values", [0, 1, 2, 5, 40])
def test_all_threads_share_values(number: int, values: int) -> None:
    set_threads(number)

    def late(value: int) -> tuple[int, int]:
        time.sleep(0.0005 * (value % 4))
        return value, threading.get_ident()

    found = map_by_all_threads(late, range(values))
    assert [value for value, _ in found] == list(range(values))
    idents = [ident for _, ident in found]
    assert idents[:1] == [threading.get_ident()][:values]
    assert len(set(idents)) <= number
    assert values < 8 or number == 1 or len(set(idents)) > 1


def test_an_error_in_one_thread_waits_for_the_others() -> None:
    set_threads(3)
    done = []

    def work(value: int) -> None:
        if value == bad:
            raise ZeroDivisionError(value)
        time.sleep(0.01)
        done.append(value)

    for bad in range(3):
        done.clear()
        with pytest.raises(ZeroDivisionError, match=str(bad)):
            map_by_all_threads(work, range(3))
        assert sorted(done) == [value for value in range(3) if value != bad]


def test_threads_that_share_values_again() -> None:
    """A thread that others wait for does not wait for others."""
    set_threads(2)

    def outer(value: int) -> list[int]:
        return map_by_all_threads(lambda inner: 10 * value + inner, range(5))

    expected = [[10 * value + inner for inner in range(5)] for value in range(6)]
    assert map_by_all_threads(outer, range(6)) == expected
    assert list(map_in_threads(outer, range(6))) == expected


NUMBER = "from spacy_ssvm.kernels.threads import number_of_threads, set_threads\n"


@pytest.mark.parametrize(("value", "number"), [(None, "1"), ("1", "1"), ("3", "3")])
def test_the_environment_sets_threads(
    run_script: ScriptRunner, value: str | None, number: str
) -> None:
    printed = run_script(NUMBER + "print(number_of_threads())", SPACY_SSVM_THREADS=value)
    assert printed.strip() == number


@pytest.mark.parametrize("value", ["0", "-1", "two", "", "1.5", "²"])
def test_an_environment_that_sets_no_threads(run_script: ScriptRunner, value: str) -> None:
    """Importing the package does not fail, nor does setting another number."""
    message = run_script(
        "import spacy\n" + NUMBER + "try:\n"
        "    number_of_threads()\n"
        "except ValueError as error:\n"
        "    print(error)\n"
        "set_threads(2)\n"
        "assert number_of_threads() == 2\n",
        SPACY_SSVM_THREADS=value,
    )
    expected = f"SPACY_SSVM_THREADS must be an integer from 1, not {value!r}"
    assert expected in message


@pytest.mark.parametrize("block", [1, 4])
def test_arcs_and_labels_are_learned_side_by_side(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same bytes for any number of threads, however long each problem takes.

    And so the pruner learns beside what is read.
    """
    solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0.5, "block": block}
    epoch, ran_in = ExampleTrainer.epoch, set[int]()

    def slowly(self: ExampleTrainer, numbers: Ints) -> float:
        ran_in.add(threading.get_ident())
        time.sleep(Random(next(delays)).random() / 100)
        return epoch(self, numbers)

    def learn_slowly(self: PrunerTrainer, *batch: Any) -> None:
        learned_in.add(threading.get_ident())
        time.sleep(Random(next(delays)).random() / 100)
        learn(self, *batch)

    delays, learn, learned_in = count(), PrunerTrainer.learn, set[int]()
    monkeypatch.setattr(ExampleTrainer, "epoch", slowly)
    monkeypatch.setattr(PrunerTrainer, "learn", learn_slowly)
    monkeypatch.setattr(example_cache, "DOCS_AT_A_TIME", 2)
    found = []
    for number in (1, 2, 3, 8):
        set_threads(number)
        ran_in.clear()
        learned_in.clear()
        nlp = PARSER.pipeline(solver=solver, label_solver=solver)
        examples = PARSER.examples(nlp.vocab)
        nlp.initialize(lambda examples=examples: examples)
        losses = [nlp.update(examples)[PARSER.name] for _ in range(5)]
        assert (len(ran_in) > 1) == (number > 1)
        assert bool(learned_in - {threading.get_ident()}) == (number > 1)
        pipe: Any = nlp.get_pipe(PARSER.name)
        found.append((losses, pipe.to_bytes(exclude=["vocab"])))
    assert all(one == found[0] for one in found)
