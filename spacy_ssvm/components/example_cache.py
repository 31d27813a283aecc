"""Recognizes examples that were seen before, to find their numbers in the problem.

spaCy hands a component a fresh ``Example`` and a fresh predicted Doc at each update, but
the same reference Doc, as long as the corpus stays in memory. A streamed corpus is
read again in each epoch: its examples are recognized by their content.
"""

import hashlib
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


@dataclass(eq=False)
class CachedExample:
    """The examples of a Doc in the problem of a trainer."""

    owner: "weakref.ref[Doc]"  #: the reference Doc
    inputs: bytes = b""  #: digest of the inputs of the features of the predicted Doc
    numbers: range = range(0)  #: of its examples in the problem


class ExampleCache:
    """Examples by the identity of the reference Doc, else by content."""

    def __init__(self) -> None:
        self._by_reference: weakref.WeakKeyDictionary[Doc, CachedExample] = (
            weakref.WeakKeyDictionary()
        )
        self._by_content: defaultdict[bytes, list[CachedExample]] = defaultdict(list)

    def __reduce__(self) -> tuple[type["ExampleCache"], tuple[()]]:
        # A copy gets other Docs: it starts empty.
        return ExampleCache, ()

    def find(self, reference: Doc) -> CachedExample | None:
        """The example of this Doc object."""
        return self._by_reference.get(reference)

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
            cached = CachedExample(weakref.ref(reference))
            same.append(cached)
        cached.owner = weakref.ref(reference)
        self._by_reference[reference] = cached
        return cached

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
    read_inputs: Callable[[Doc], Keys],
    gold_labels: Callable[[Sequence[Example]], list[Ints]],
    read_batch: Callable[[Sequence[GoldDoc]], Batch],
) -> Ints:
    """The numbers of examples in the problem of a trainer (int64).

    New ones, and those whose predicted Docs have changed, are added to it. Each Doc is read
    once: the digest of the inputs of its features identifies it, and the inputs become features
    where it is new.
    """
    readers = read_inputs, gold_labels, read_batch
    found = []
    for start in range(0, len(examples), DOCS_AT_A_TIME):
        found += _find_some(examples[start : start + DOCS_AT_A_TIME], cache, trainer, *readers)
    new_numbers = trainer.reclaim()
    if new_numbers is not None:
        cache.renumber(new_numbers)
    return np.array([i for cached in found for i in cached.numbers], dtype=np.int64)


def _find_some(
    examples: Sequence[Example],
    cache: ExampleCache,
    trainer: Trainer[Batch],
    read_inputs: Callable[[Doc], Keys],
    gold_labels: Callable[[Sequence[Example]], list[Ints]],
    read_batch: Callable[[Sequence[GoldDoc]], Batch],
) -> list[CachedExample]:
    """The examples of some Docs, which are in the problem then."""
    inputs = [read_inputs(example.predicted) for example in examples]
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
    added = [] if batch is None else trainer.add(batch)
    for (cached, i), numbers in zip(changed.items(), added, strict=True):
        cached.inputs, cached.numbers = digests[i], numbers
    return found
