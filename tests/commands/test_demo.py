"""A page on which texts are annotated."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from pipelines import RECOGNIZER, SENTER
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm

pytest.importorskip("fastapi", reason='needs pip install "spacy-ssvm[demo-server]"')
pytest.importorskip("uvicorn", reason='needs pip install "spacy-ssvm[demo-server]"')

from servers import Client

from spacy_ssvm.commands.demo import LONGEST, make_app


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
    status, empty = client.ask("/")
    assert status == 200
    assert "<textarea" in empty
    assert 'class="text"' not in empty
    assert "&lt;model&gt;" in empty
    _, page = client.get("Mary Smith sings <b>.")
    assert page.count('class="text"') == 1
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


def test_errors_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(ssvm, ["demo", str(tmp_path)])
    assert result.exit_code == 1
    assert "Cannot open a page" in result.output
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(ssvm, ["demo", str(tmp_path)])
    assert result.exit_code == 1
    assert 'pip install "spacy-ssvm[demo-server]"' in " ".join(result.output.split())
