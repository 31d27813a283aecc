"""What workers are sent is what the learner's weights are, by their addresses."""

import numpy as np
import pytest

from spacy_ssvm.distributed.sending import SentWeights, Update
from spacy_ssvm.solvers.working_sets import WorkingSets, empty_working_sets
from spacy_ssvm.weights.sparse import move

ADDRESSES = 40


class Copy:
    """The weights of a worker, by address: a dictionary is the twin of its arrays."""

    def __init__(self) -> None:
        self.addresses = list[int]()
        self.values = dict[int, float]()

    def apply(self, update: Update) -> None:
        self.addresses.extend(update.new.tolist())
        for number, value in zip(update.numbers.tolist(), update.values.tolist(), strict=True):
            self.values[self.addresses[number]] = value

    def used(self) -> dict[int, float]:
        return {address: value for address, value in self.values.items() if value}


class Learner:
    """Weights that are allocated in a random order, and that move."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.w = np.zeros(0)
        self.indices = dict[int, int]()  # by address
        self.sent = SentWeights()

    def change(self) -> None:
        for address in self.rng.choice(ADDRESSES, self.rng.integers(6), replace=False).tolist():
            if address not in self.indices:
                self.indices[address] = len(self.w)
                self.w = np.append(self.w, 0.0)
            index = self.indices[address]
            self.sent.make_room(len(self.w))
            self.sent.addresses[index] = address
            self.w[index] = self.rng.choice([0.0, 1.0, self.rng.normal()])

    def move_all(self) -> None:
        """Give all weights other places, with holes between them."""
        places = self.rng.permutation(len(self.w) + 3)[: len(self.w)].astype(np.int32)
        self.sent.renumber(places)
        self.w = move(self.w, places)
        self.indices = {address: int(places[i]) for address, i in self.indices.items()}

    def used(self) -> dict[int, float]:
        return {a: float(self.w[i]) for a, i in self.indices.items() if self.w[i]}


@pytest.mark.parametrize("seed", range(20))
def test_a_copy_follows_weights(seed: int) -> None:
    learner, copy = Learner(seed), Copy()
    for _ in range(30):
        learner.change()
        if learner.rng.random() < 0.3:
            learner.move_all()
        update = learner.sent.changes(learner.w)
        learner.sent.answered()
        before = dict(copy.values)
        copy.apply(update)
        assert copy.used() == learner.used()
        assert len(set(update.numbers.tolist())) == len(update.numbers)
        changed = {a for a, value in copy.values.items() if before.get(a, 0.0) != value}
        assert changed == {copy.addresses[k] for k in update.numbers}  # no more is sent
    assert sorted(copy.addresses) == sorted(set(copy.addresses))
    assert not len(learner.sent.changes(learner.w).numbers)


@pytest.mark.parametrize("seed", range(20))
def test_a_copy_that_starts_anew_is_where_the_oldest_request_was(seed: int) -> None:
    """Requests without an answer are made again, each with its own update."""
    learner, copy = Learner(seed), Copy()
    waiting = list[tuple[Update, dict[int, float]]]()
    restarts = 0
    for _ in range(40):
        learner.change()
        if learner.rng.random() < 0.2:
            learner.move_all()
        waiting.append((learner.sent.changes(learner.w), learner.used()))
        while len(waiting) > learner.rng.integers(1, 4):
            update, expected = waiting.pop(0)
            if learner.rng.random() < 0.3:
                restarts, copy = restarts + 1, Copy()
                learner.sent.restored()  # asking twice changes nothing
                for restored in learner.sent.restored():
                    copy.apply(restored)
                renewed = Copy()
                renewed.addresses, renewed.values = copy.addresses[:], dict(copy.values)
                for again, then in [(update, expected), *waiting]:
                    renewed.apply(again)
                    assert renewed.used() == then
            copy.apply(update)
            assert copy.used() == expected
            learner.sent.answered()
    assert restarts
    learner.sent.all_answered()
    copy = Copy()
    (everything,) = learner.sent.restored()
    copy.apply(everything)
    assert copy.used() == learner.used()


def test_most_weights_have_not_changed() -> None:
    """Whole groups of weights are passed over, but for those at the edges."""
    sent, w = SentWeights(), np.zeros(100)
    sent.make_room(100)
    sent.addresses[:] = np.arange(100) * 3
    for changed in ([0], [15, 16], [31], [99], [96], list(range(100))):
        w[changed] += 1
        update = sent.changes(w)
        assert [int(v) for v in update.values] == w[changed].tolist()
    assert sorted(update.numbers.tolist()) == list(range(100))


def constraints_of(indices: list[list[list[int]]]) -> WorkingSets:
    """Working sets: by example, the indices of the entries of each constraint."""
    sets = empty_working_sets(len(indices), sum(map(len, indices)), 1000)
    constraint, entry = 0, 0
    for i, of_example in enumerate(indices):
        for own in of_example:
            sets.older[constraint], sets.newest[i] = sets.newest[i], constraint
            sets.starts[constraint], sets.sizes[constraint] = entry, len(own)
            sets.indices[entry : entry + len(own)] = own
            constraint, entry = constraint + 1, entry + len(own)
    return sets


def test_only_what_is_touched_is_looked_at() -> None:
    """Pages of 16 weights, once a run says what it touches."""
    sent, w = SentWeights(), np.zeros(200)
    sent.make_room(200)
    sent.addresses[:] = np.arange(len(sent.addresses))
    sets = constraints_of([[[3], [40, 41, ~170]], [[~90]], []])

    def found() -> list[int]:
        w[:] += 1
        update = sent.changes(w)
        known.extend(update.new.tolist())
        return sorted(known[number] for number in update.numbers)

    known = list[int]()
    assert found() == list(range(200))  # nobody has said anything
    assert found() == list(range(200))
    sent.touch(np.array([0]), sets)
    sent.changes(w)
    assert found() == []
    sent.touch(np.array([0, 2]), sets)
    assert found() == [*range(16), *range(32, 48), *range(160, 176)]
    sent.touch(np.array([1]), sets)
    assert found() == list(range(80, 96))
    sent.touch_all()
    assert found() == list(range(200))
    assert found() == []
    places = np.arange(200, dtype=np.int32)[::-1].copy()
    sent.renumber(places)
    assert found() == list(range(200))
    w = np.append(w, np.zeros(300))
    sent.touch(np.array([0]), sets)
    assert len(found()) == 48
