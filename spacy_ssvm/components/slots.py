"""Finds an example's dual variables again when it comes back.

spaCy hands a component a fresh ``Example`` and a fresh predicted Doc at each update, but
the very same reference Doc, as long as the corpus stays in memory. A streamed corpus is
read anew in each epoch: there an example is known by its content.
"""

import hashlib
import weakref
from collections import defaultdict
from dataclasses import dataclass

from spacy.tokens import Doc

from spacy_ssvm._jit import Ints


@dataclass
class Slot:
    """The examples of the problem that a Doc has become."""

    owner: "weakref.ref[Doc]"  #: the reference Doc
    inputs: bytes = b""  #: digest of all that features saw of the predicted Doc
    numbers: range = range(0)


class Slots:
    """Slots by the identity of the reference Doc, else by content."""

    def __init__(self) -> None:
        self._by_reference: weakref.WeakKeyDictionary[Doc, Slot] = weakref.WeakKeyDictionary()
        self._by_content: defaultdict[bytes, list[Slot]] = defaultdict(list)

    def __reduce__(self) -> tuple[type["Slots"], tuple[()]]:
        # A copy meets other Docs: it starts empty.
        return Slots, ()

    def find(self, reference: Doc) -> Slot | None:
        """The slot of this very Doc."""
        return self._by_reference.get(reference)

    def claim(self, reference: Doc, content: bytes) -> Slot:
        """A slot for a Doc that has none.

        content: digest of what makes it the same example, its words and its gold.
        An old slot of the same content is taken over where its owner is gone; where the
        owner is alive, the Doc is another example that happens to be alike.
        """
        same = self._by_content[content]
        slot = next((slot for slot in same if slot.owner() is None), None)
        if slot is None:
            slot = Slot(weakref.ref(reference))
            same.append(slot)
        slot.owner = weakref.ref(reference)
        self._by_reference[reference] = slot
        return slot

    def renumber(self, new_numbers: Ints) -> None:
        """Follow examples that have got new numbers: int64 [old numbers]."""
        for same in self._by_content.values():
            for slot in same:
                if slot.numbers:
                    first = int(new_numbers[slot.numbers.start])
                    slot.numbers = range(first, first + len(slot.numbers))


def digest(*parts: bytes) -> bytes:
    """16 bytes that tell contents apart."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()
