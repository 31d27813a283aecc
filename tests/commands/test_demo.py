"""A page on which texts are annotated."""

import json
import re
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode

import pytest
import spacy
from corpora import make_doc
from pipelines import LABELER, PARSER, RECOGNIZER, SENTER
from spacy.tokens import Doc
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm

pytest.importorskip("fastapi", reason='needs pip install "spacy-ssvm[demo-server]"')
pytest.importorskip("uvicorn", reason='needs pip install "spacy-ssvm[demo-server]"')

from servers import Client

from spacy_ssvm.commands.demo import (
    LARGEST_BODY,
    LONGEST,
    LONGEST_SENTENCE,
    example_of,
    hosts_of,
    listen,
    make_app,
)
from spacy_ssvm.commands.service import LONGEST_WORD


class DemoClient(Client):
    """Asks the server of a demo."""

    def get(self, text: str) -> tuple[int, str]:
        return self.ask(f"/?{urlencode({'text': text})}")

    def words(self, text: str) -> list[dict[str, Any]]:
        status, answer = self.ask("/annotate", {"text": text})
        assert status == 200
        found: list[dict[str, Any]] = json.loads(answer)["tokens"]
        return found


@pytest.fixture(scope="module")
def client() -> Iterator[DemoClient]:
    own = DemoClient(make_app(RECOGNIZER.trained(), "<model>", ["ssvm_ner"]))
    yield own
    own.stop()


def test_the_page_has_a_form_and_what_is_found(client: DemoClient) -> None:
    status, first = client.ask("/")
    assert status == 200
    assert "Apple is looking at buying" in first, "an example of the language"
    assert 'class="text entities"' in first
    status, empty = client.get("")
    assert status == 200
    assert "<textarea" in empty
    assert 'class="text entities"' not in empty
    assert "&lt;model&gt;" in empty
    _, page = client.get("Mary Smith sings <b>.")
    assert page.count('class="text entities"') == 1
    assert "PER</small>" in page
    assert "Mary Smith sings &lt;b&gt;.</textarea>" in page
    assert client.get(" \n")[0] == 200


def test_programs_get_words(client: DemoClient) -> None:
    words = client.words("Mary Smith sings .")
    assert [(word["text"], word["start"]) for word in words] == [
        ("Mary", 0),
        ("Smith", 5),
        ("sings", 11),
        (".", 17),
    ]
    assert [word["ssvm_ner"]["label"] for word in words] == ["B-PER", "L-PER", "O", "O"]
    assert all(word["ssvm_ner"]["score"] > 0 for word in words)
    assert client.words("") == []


@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")
def test_programs_get_entities_and_heads() -> None:
    nlp = RECOGNIZER.trained()
    nlp.add_pipe("ssvm_parser", source=PARSER.trained())
    client = DemoClient(make_app(nlp, "model", ["ssvm_parser"]))
    _, answer = client.ask("/annotate", {"text": "Mary Smith sings ."})
    client.stop()
    found = json.loads(answer)
    (entity,) = found["entities"]
    assert (entity["start"], entity["end"], entity["label"]) == (0, 10, "PER")
    assert 0 < entity["score"] < 1
    heads = [token["ssvm_parser"]["head"] for token in found["tokens"]]
    doc = nlp("Mary Smith sings .")
    assert heads == [token.head.i for token in doc]
    assert found["tokens"][0]["ssvm_parser"]["label"] == doc[0].dep_


def test_a_port_that_is_in_use() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"127.0.0.1, port {port}: .* another --port"):
            listen("127.0.0.1", port)


def test_names_that_tokens_have_already() -> None:
    nlp = RECOGNIZER.trained()
    nlp.rename_pipe("ssvm_ner", "text")
    with pytest.raises(ValueError, match="rename it"):
        make_app(nlp, "model", ["text"])


@pytest.mark.slow
def test_programs_get_spans_of_units_of_several_words() -> None:
    client = DemoClient(make_app(LABELER.trained(), "model", ["ssvm_sentence_labeler"]))
    status, answer = client.ask("/annotate", {"text": "We ask why .\n\nbirds sing ."})
    _, page = client.get("We ask why .\n\nbirds sing .")
    client.stop()
    assert status == 200
    found = json.loads(answer)
    assert all(set(token) == {"text", "start"} for token in found["tokens"])
    first, second = found["spans"]["ssvm_sentence_labeler"]
    assert (first["start"], first["end"], second["start"], second["end"]) == (0, 12, 14, 26)
    assert {first["label"], second["label"]} <= {*LABELER.trained().pipe_labels[LABELER.name]}
    assert page.count('class="unit') == 2


@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")
def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long sentences are parsed in pieces, and what there is no time for is not explained."""
    nlp = PARSER.trained()
    parser: Any = nlp.get_pipe(PARSER.name)
    text = "dogs bark " * 150
    client = DemoClient(make_app(nlp, "model", [PARSER.name]))
    assert parser.model.max_length == LONGEST_SENTENCE
    monkeypatch.setattr("spacy_ssvm.commands.demo.SECONDS", 0.0)
    _, page = client.get(text)
    client.stop()
    assert page.count('class="unit') == 300
    assert 'class="why"' not in page


def test_pipelines_that_cannot_annotate_texts() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_sentence_labeler", source=labeler_of_sentences())
    with pytest.raises(ValueError, match="Put a component that finds sentences before it"):
        make_app(nlp, "model", ["ssvm_sentence_labeler"])


def labeler_of_sentences() -> Any:
    """A pipeline with a labeler of sentences."""
    nlp = LABELER.pipeline(units="sentences")
    examples = LABELER.examples(nlp.vocab)
    for example in examples:
        for doc in (example.predicted, example.reference):
            doc[0].is_sent_start = True
            for token in doc[1:]:
                token.is_sent_start = doc[token.i - 1].is_space
    nlp.initialize(lambda: examples)
    return nlp


def test_certainty_is_null() -> None:
    client = DemoClient(make_app(SENTER.trained(), "model", ["ssvm_senter"]))
    (word,) = client.words("Mary")
    client.stop()
    assert word["ssvm_senter"] == {"label": "start", "score": None}


@pytest.mark.parametrize("body", [{}, {"text": 3}, {"text": "a" * (LONGEST + 1)}, []])
def test_what_programs_may_not_send(client: DemoClient, body: Any) -> None:
    assert client.ask("/annotate", body)[0] == 422
    assert client.get("a" * (LONGEST + 1))[0] == 422


def test_many_at_once_get_their_own_answers(client: DemoClient) -> None:
    texts = [f"{'Mary ' * (i % 7)}sings" for i in range(64)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(client.words, texts))
    assert [[word["text"] for word in words] for words in answers] == [t.split() for t in texts]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"text": NaN}', "valid string"),
        (b'{"text": "a\\ud800b"}', "valid string"),
        (b'{"text": "so ' + b"(" * (LONGEST_WORD + 1) + b'"}', "the word at character 3 is longer"),
        (b'{"text": "secret', "JSON"),
        (b'{"text": {"secret": 1}}', "valid string"),
        (b'{"text": "secret' + b"." * LONGEST + b'"}', "at most 5000 characters"),
        (b'{"text": ' + b"[" * 60_000, ""),
        (b'{"text": ' + b"1" * 60_000 + b"}", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_what_is_no_text_is_refused_and_not_quoted(
    client: DemoClient, data: bytes, problem: str
) -> None:
    status, _, answer = client.send("/annotate", data)
    assert 400 <= status < 500
    assert problem in answer
    assert "secret" not in answer
    assert len(answer) < 1000


def test_a_long_word_is_refused_on_the_page_and_a_text_without_spaces_is_not() -> None:
    nlp = RECOGNIZER.trained()
    client = DemoClient(make_app(nlp, "model", ["ssvm_ner"]))
    assert client.get("a" * LONGEST_WORD)[0] == 200
    assert client.get("a" * (LONGEST_WORD + 1))[0] == 422
    nlp.tokenizer = lambda text: make_doc(nlp.vocab, [*text])  # as of languages without spaces
    assert client.get("a" * (LONGEST_WORD + 1))[0] == 200
    client.stop()


def test_bodies_that_are_too_large_are_not_read(client: DemoClient) -> None:
    def answer(header: str, value: str) -> tuple[int, bytes]:
        connection = HTTPConnection(client.address.removeprefix("http://"), timeout=60)
        connection.putrequest("POST", "/annotate")
        connection.putheader(header, value)
        connection.endheaders()  # and nothing of the body
        found = connection.getresponse()
        with closing(connection):
            return found.status, found.read()

    too_large = b'{"detail":"a body has at most 65,536 bytes"}'
    assert answer("Content-Length", str(LARGEST_BODY + 1)) == (413, too_large)
    assert answer("Transfer-Encoding", "chunked")[0] == 411, "of unknown length"
    longest = "\N{GRINNING FACE}" * 100 + " "
    longest *= LONGEST // len(longest)
    assert client.ask("/annotate", {"text": longest})[0] == 200, "twelve bytes a character"


def test_only_pages_of_its_own_name_reach_it(client: DemoClient) -> None:
    assert client.send("/", Host="evil.example:8000")[0] == 400
    assert client.send("/", Host="localhost:8000")[0] == 200
    nlp = RECOGNIZER.trained()
    other = DemoClient(make_app(nlp, "model", ["ssvm_ner"], ["*.example"]))
    assert other.send("/", Host="evil.example:8000")[0] == 200
    assert other.ask("/")[0] == 400
    other.stop()
    with pytest.raises(ValueError, match=r"the host 'a\*': a wildcard is \* alone"):
        make_app(nlp, "model", ["ssvm_ner"], ["a*"])


def test_names_of_this_machine() -> None:
    assert {"localhost", "127.0.0.1", "0.0.0.0", "::1"} <= {*hosts_of("0.0.0.0")}
    assert socket.gethostname() in hosts_of("127.0.0.1")


def test_languages_without_examples() -> None:
    assert example_of("nosuch") == ""


def test_pages_load_nothing_and_are_what_they_say(client: DemoClient) -> None:
    for path in ("/?text=Mary", "/nothing"):
        _, headers, page = client.send(path)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none';")
        assert "script" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert not re.search(r"<script|(src|href)=.(?!#|data:)", page)
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert client.ask(path)[0] == 404


@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")
def test_a_slow_text_does_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even with components of which only one call at a time could be switched on."""
    nlp = RECOGNIZER.trained()
    waiting, go_on = Event(), Event()

    @nlp.component("slow")
    def slow(doc: Doc) -> Doc:
        if doc.text.startswith("slow"):
            waiting.set()
            assert go_on.wait(60)
        return doc

    client = DemoClient(make_app(nlp, "model", ["ssvm_ner"]))
    nlp.add_pipe("slow", first=True)
    with ThreadPoolExecutor(1) as pool:
        words = pool.submit(client.words, "slow Mary Smith")
        try:
            assert waiting.wait(60)
            for i in range(20):  # in the same zone
                assert client.words(f"Mary{i}")[0]["text"] == f"Mary{i}"
            assert nlp.vocab.in_memory_zone
        finally:
            go_on.set()
        labels = [word["ssvm_ner"]["label"] for word in words.result()]
    assert labels == ["O", "B-PER", "L-PER"]
    assert not nlp.vocab.in_memory_zone
    assert "Mary7" not in nlp.vocab.strings
    client.stop()


def test_errors_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(ssvm, ["show", str(tmp_path), "--serve"])
    assert result.exit_code == 1
    assert "Cannot open a page" in result.output
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "spacy_ssvm.commands.demo")
    monkeypatch.delattr("spacy_ssvm.commands.demo")
    result = CliRunner().invoke(ssvm, ["show", str(tmp_path), "--serve"])
    assert result.exit_code == 1
    assert 'pip install "spacy-ssvm[demo-server]"' in " ".join(result.output.split())


def test_the_command_listens_to_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RECOGNIZER.trained().to_disk(tmp_path)
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    served: list[tuple[Any, tuple[str, int]]] = []

    def run(app: Any, place: socket.socket) -> None:
        served.append((app, place.getsockname()))
        place.close()

    monkeypatch.setattr("spacy_ssvm.commands.demo.run", run)
    arguments = ["show", str(tmp_path), "--serve", "--port", str(port), "--allow-host", "name.org"]
    result = CliRunner().invoke(ssvm, arguments)
    assert result.exit_code == 0, result.output
    assert f"Open http://127.0.0.1:{port} in a browser" in result.output
    ((app, place),) = served
    assert place == ("127.0.0.1", port)
    client = DemoClient(app)
    statuses = [client.send("/", Host=name)[0] for name in ("name.org", "evil.example")]
    client.stop()
    assert statuses == [200, 400]
