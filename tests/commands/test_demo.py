"""A page on which texts are annotated."""

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
import spacy
from pipelines import LABELER, PARSER, RECOGNIZER, SENTER
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm

pytest.importorskip("fastapi", reason='needs pip install "spacy-ssvm[demo-server]"')
uvicorn = pytest.importorskip("uvicorn", reason='needs pip install "spacy-ssvm[demo-server]"')

from spacy_ssvm.commands.demo import LONGEST, LONGEST_SENTENCE, make_app  # noqa: E402


class Client:
    """Asks a server of an application on this machine."""

    def __init__(self, app: Any) -> None:
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        self._thread = Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self._address = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()

    def ask(self, path: str, body: Any = None) -> tuple[int, str]:
        """The status and the text of an answer; body: what to post, as JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        try:
            with urlopen(Request(self._address + path, data, headers), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def get(self, text: str) -> tuple[int, str]:
        return self.ask(f"/?{urlencode({'text': text})}")

    def words(self, text: str) -> list[dict[str, Any]]:
        status, answer = self.ask("/annotate", {"text": text})
        assert status == 200
        found: list[dict[str, Any]] = json.loads(answer)["tokens"]
        return found


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    own = Client(make_app(RECOGNIZER.trained(), "<model>", ["ssvm_ner"]))
    yield own
    own.stop()


def test_the_page_has_a_form_and_what_is_found(client: Client) -> None:
    status, empty = client.ask("/")
    assert status == 200
    assert "<textarea" in empty
    assert 'class="text words"' not in empty
    assert "&lt;model&gt;" in empty
    _, page = client.get("Mary Smith sings <b>.")
    assert page.count('class="text words"') == 1
    assert "PER</small>" in page
    assert "Mary Smith sings &lt;b&gt;.</textarea>" in page
    assert client.get(" \n")[0] == 200


def test_programs_get_words(client: Client) -> None:
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


def test_programs_get_spans_of_units_of_several_words() -> None:
    client = Client(make_app(LABELER.trained(), "model", ["ssvm_sentence_labeler"]))
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
    client = Client(make_app(nlp, "model", [PARSER.name]))
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
    client = Client(make_app(SENTER.trained(), "model", ["ssvm_senter"]))
    (word,) = client.words("Mary")
    client.stop()
    assert word["ssvm_senter"] == {"label": "start", "score": None}


@pytest.mark.parametrize("body", [{}, {"text": 3}, {"text": "a" * (LONGEST + 1)}, []])
def test_what_programs_may_not_send(client: Client, body: Any) -> None:
    assert client.ask("/annotate", body)[0] == 422
    assert client.get("a" * (LONGEST + 1))[0] == 422


def test_many_at_once_get_their_own_answers(client: Client) -> None:
    texts = [f"{'Mary ' * (i % 7)}sings" for i in range(64)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(client.words, texts))
    assert [[word["text"] for word in words] for words in answers] == [t.split() for t in texts]


def test_errors_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(ssvm, ["demo", str(tmp_path)])
    assert result.exit_code == 1
    assert "Cannot open a page" in result.output
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(ssvm, ["demo", str(tmp_path)])
    assert result.exit_code == 1
    assert 'pip install "spacy-ssvm[demo-server]"' in " ".join(result.output.split())
