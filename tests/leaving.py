"""Training that keeps no example longer than its update."""

from typing import Any

import pytest

from spacy_ssvm.components import example_cache
from spacy_ssvm.components.example_cache import ExampleCache


def let_all_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ``memory`` is set, let all examples leave whose Docs are gone, whatever they take.

    All weights stay: there is room for them.
    """

    def make_room(cache: ExampleCache, trainer: Any, memory: int) -> None:
        while leaving := cache.leave(1 / 8):
            cache.renumber(trainer.absorb([cached.numbers for cached in leaving], memory))

    monkeypatch.setattr(example_cache, "_make_room", make_room)
