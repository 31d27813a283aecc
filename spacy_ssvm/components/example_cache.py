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
class CachedExample:
    """The examples of the problem that a Doc has become."""

    owner: "weakref.ref[Doc]"  #: the reference Doc
    inputs: bytes = b""  #: digest of all that features saw of the predicted Doc
    numbers: range = range(0)


class ExampleCache:
    """ExampleCache by the identity of the reference Doc, else by content."""

    def __init__(self) -> None:
        self._by_reference: weakref.WeakKeyDictionary[Doc, CachedExample] = (
            weakref.WeakKeyDictionary()
        )
        self._by_content: defaultdict[bytes, list[CachedExample]] = defaultdict(list)

    def __reduce__(self) -> tuple[type["ExampleCache"], tuple[()]]:
        # A copy meets other Docs: it starts empty.
        return ExampleCache, ()

    def find(self, reference: Doc) -> CachedExample | None:
        """The cached of this very Doc."""
        return self._by_reference.get(reference)

    def claim(self, reference: Doc, content: bytes) -> CachedExample:
        """A cached for a Doc that has none.

        content: digest of what makes it the same example, its words and its gold.
        An old cached of the same content is taken over where its owner is gone; where the
        owner is alive, the Doc is another example that happens to be alike.
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
    """16 bytes that tell contents apart."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()
