"""Recognizes examples that were seen before, to find their numbers in the problem.

spaCy hands a component a fresh ``Example`` and a fresh predicted Doc at each update, but
the same reference Doc, as long as the corpus stays in memory. A streamed corpus is
read again in each epoch: its examples are recognized by their content. Where the memory of
training is bounded, those that have not been seen for longest leave.
"""

import hashlib
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.models import Trainer

#: As many Docs are read at a time: bounds the memory that their feature keys take.
DOCS_AT_A_TIME = 1000

_BYTES = 500  # that an example takes here, about
_ROOM = 1 / 8  # the share of a bound on memory that is free after examples have left
_WEIGHTS = 3 / 4  # the share of it that weights may take

Batch = TypeVar("Batch")


class GoldDoc(NamedTuple):
    """A predicted Doc with its gold labels."""

    doc: Doc
    gold: Ints  #: int64 [tokens, ...], see ``Pipe.gold_labels``
    inputs: Keys  #: the inputs of its features, see ``AttributeReader.inputs``


def read_in_batches(
    docs: Sequence[GoldDoc], read_batch: Callable[[Sequence[GoldDoc]], Batch]
) -> list[Batch]:
    """Docs with their gold labels, as a trainer takes them, in batches."""
    starts = range(0, len(docs), DOCS_AT_A_TIME)
    return [read_batch(docs[start : start + DOCS_AT_A_TIME]) for start in starts]


@dataclass(eq=False, slots=True)
class CachedExample:
    """The examples of a Doc in the problem of a trainer."""

    owner: "weakref.ref[Doc]"  #: the reference Doc
    last_use: int  #: the number of the update that it was last part of
    inputs: bytes = b""  #: digest of the inputs of the features of the predicted Doc
    numbers: range = range(0)  #: of its examples in the problem


class ExampleCache:
    """Examples by the identity of the reference Doc, else by content."""

    def __init__(self) -> None:
        self._by_reference: weakref.WeakKeyDictionary[Doc, CachedExample] = (
            weakref.WeakKeyDictionary()
        )
        self._by_content: defaultdict[bytes, list[CachedExample]] = defaultdict(list)
        self._size = 0
        self._updates = 0

    def __reduce__(self) -> tuple[type["ExampleCache"], tuple[()]]:
        # A copy gets other Docs: it starts empty.
        return ExampleCache, ()

    @property
    def memory(self) -> int:
        """The bytes that it takes, about."""
        return _BYTES * self._size

    def begin_update(self) -> None:
        """Count an update."""
        self._updates += 1

    def find(self, reference: Doc) -> CachedExample | None:
        """The example of this Doc object, which is in use then."""
        cached = self._by_reference.get(reference)
        if cached is not None:
            cached.last_use = self._updates
        return cached

    def holds(self, reference: Doc, inputs: bytes) -> bool:
        """Whether there is an example of this Doc object, with these inputs."""
        cached = self.find(reference)
        return cached is not None and cached.inputs == inputs

    def claim(self, reference: Doc, content: bytes) -> CachedExample:
        """The example of a Doc that is not known: one of the same content, else a new one.

        content: digest of its identity, the words and the gold.
        An example is taken over where its owner no longer exists; otherwise the Doc is another
        example with equal content.
        """
        same = self._by_content[content]
        cached = next((cached for cached in same if cached.owner() is None), None)
        if cached is None:
            cached = CachedExample(weakref.ref(reference), self._updates)
            same.append(cached)
            self._size += 1
        cached.owner, cached.last_use = weakref.ref(reference), self._updates
        self._by_reference[reference] = cached
        return cached

    def leave(self, share: float) -> list[CachedExample]:
        """Forget a share of the examples: those that have not been seen for longest.

        Only those whose Docs no longer exist can leave; returns them.
        """
        if len(self._by_reference) == self._size:
            return []
        gone = [c for same in self._by_content.values() for c in same if c.owner() is None]
        gone.sort(key=lambda cached: cached.last_use)
        leaving = gone[: int(share * self._size) + 1]
        without = set(leaving)
        for content, same in list(self._by_content.items()):
            same[:] = [cached for cached in same if cached not in without]
            if not same:
                del self._by_content[content]
        self._size -= len(leaving)
        return leaving

    def renumber(self, new_numbers: Ints) -> None:
        """Follow examples that have got new numbers: int64 [old numbers]."""
        for same in self._by_content.values():
            for cached in same:
                if cached.numbers:
                    first = int(new_numbers[cached.numbers.start])
                    cached.numbers = range(first, first + len(cached.numbers))


def digest(*parts: bytes) -> bytes:
    """A digest of 16 bytes."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def find_examples(
    examples: Sequence[Example],
    cache: ExampleCache,
    trainer: Trainer[Batch],
    *,
    read_inputs: Callable[[Example], Keys],
    gold_labels: Callable[[Sequence[Example]], list[Ints]],
    read_batch: Callable[[Sequence[GoldDoc]], Batch],
    memory: int | None = None,
) -> Ints:
    """The numbers of examples in the problem of a trainer (int64).

    New ones, and those whose predicted Docs have changed, are added to it. Each Doc is read
    once: the digest of the inputs of its features identifies it, and the inputs become features
    where it is new.

    memory: as many bytes may be kept. Others leave where there are more, see ``_make_room``.
    """
    readers = read_inputs, gold_labels, read_batch
    cache.begin_update()
    found = []
    for start in range(0, len(examples), DOCS_AT_A_TIME):
        found += _find_some(examples[start : start + DOCS_AT_A_TIME], cache, trainer, *readers)
    new_numbers = trainer.reclaim()
    if new_numbers is not None:
        cache.renumber(new_numbers)
    if memory is not None:
        _make_room(cache, trainer, memory)
    return np.array([i for cached in found for i in cached.numbers], dtype=np.int64)


def _make_room(cache: ExampleCache, trainer: Trainer[Batch], memory: int) -> None:
    """Let examples leave where training takes more memory, so that there is some room then.

    Those leave whose Docs no longer exist. Each time takes as long as copying all that is kept.
    """
    target = memory
    while (total := sum((parts := trainer.memory()).values()) + cache.memory) > target:
        target = int((1 - _ROOM) * memory)
        of_examples = max(total - parts["weights"], 1)
        leaving = cache.leave(max((total - target) / of_examples, _ROOM))
        if leaving:
            removed = [cached.numbers for cached in leaving]
            cache.renumber(trainer.absorb(removed, int(_WEIGHTS * memory)))
            continue
        if total > memory:
            warnings.warn(
                f"training takes more than the setting memory allows, {memory / 1e6:g} MB: Docs "
                "that are still in use, and weights, do not leave. Raise memory, or use fewer "
                "features",
                stacklevel=2,
            )
        break


def _find_some(
    examples: Sequence[Example],
    cache: ExampleCache,
    trainer: Trainer[Batch],
    read_inputs: Callable[[Example], Keys],
    gold_labels: Callable[[Sequence[Example]], list[Ints]],
    read_batch: Callable[[Sequence[GoldDoc]], Batch],
) -> list[CachedExample]:
    """The examples of some Docs, which are in the problem then."""
    inputs = [read_inputs(example) for example in examples]
    digests = [digest(columns.tobytes()) for columns in inputs]
    unknown = [i for i, e in enumerate(examples) if not cache.holds(e.reference, digests[i])]
    gold = dict(zip(unknown, gold_labels([examples[i] for i in unknown]), strict=True))
    found = []
    for i, example in enumerate(examples):
        cached = cache.find(example.reference)
        if cached is None:
            content = digest(inputs[i][:, 0].tobytes(), gold[i].tobytes())
            cached = cache.claim(example.reference, content)
        found.append(cached)
    # Of an example that occurs several times, the last Doc counts.
    last = {cached: i for i, cached in enumerate(found)}
    changed = {cached: i for cached, i in last.items() if cached.inputs != digests[i]}
    new = [GoldDoc(examples[i].predicted, gold[i], inputs[i]) for i in changed.values()]
    batch = read_batch(new) if new else None  # what can fail comes before examples are removed
    for cached in changed:
        if cached.numbers:
            trainer.remove(cached.numbers)
            cached.numbers, cached.inputs = range(0), b""  # not known, if the trainer refuses it
    added = [] if batch is None else trainer.add(batch)
    for (cached, i), numbers in zip(changed.items(), added, strict=True):
        cached.inputs, cached.numbers = digests[i], numbers
    return found
