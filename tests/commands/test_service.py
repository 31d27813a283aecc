"""What services need that anybody can reach; for requests, see ``test_demo.py``."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import spacy

pytest.importorskip("fastapi", reason='needs pip install "spacy-ssvm[demo-server]"')

from fastapi import HTTPException

from spacy_ssvm.commands.service import LONGEST_WORD, SharedZone


def test_zones_end_although_they_are_never_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_ssvm.commands.service.LARGEST_ZONE", 10)
    nlp = spacy.blank("en")
    zone = SharedZone(nlp)
    entered = Event()

    def annotate() -> None:
        with zone("later") as (doc,):
            assert "Mary" not in nlp.vocab.strings, "a new zone"
            assert doc.text == "later"
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with zone("Mary", "sings!") as docs:
            assert [doc.text for doc in docs] == ["Mary", "sings!"]
            later = pool.submit(annotate)
            assert not entered.wait(0.2), "the zone is full"
        later.result(60)
    assert not nlp.vocab.in_memory_zone


def test_long_words_begin_no_zone() -> None:
    nlp = spacy.blank("en")
    with (
        pytest.raises(HTTPException, match="the word at character 2 is longer than 200"),
        SharedZone(nlp)("Mary", f"a {'b' * (LONGEST_WORD + 1)}"),
    ):
        pass
    assert not nlp.vocab.in_memory_zone


def test_an_error_ends_the_zone() -> None:
    nlp = spacy.blank("en")
    zone = SharedZone(nlp)
    with pytest.raises(KeyError), zone("Mary"):
        raise KeyError
    assert not nlp.vocab.in_memory_zone
    with zone("Mary") as (doc,):
        assert doc.text == "Mary"
