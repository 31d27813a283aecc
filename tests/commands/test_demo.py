"""A page on which texts are annotated."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import spacy
from pipelines import LABELER, PARSER, RECOGNIZER, SENTER
from typer.testing import CliRunner

from spacy_ssvm.commands.cli import ssvm

pytest.importorskip("fastapi", reason='needs pip install "spacy-ssvm[demo-server]"')
pytest.importorskip("uvicorn", reason='needs pip install "spacy-ssvm[demo-server]"')

from servers import Client

from spacy_ssvm.commands.demo import LONGEST, LONGEST_SENTENCE, listen, make_app


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
    assert 'class="text words"' not in empty
    assert "&lt;model&gt;" in empty
    _, page = client.get("Mary Smith sings <b>.")
    assert page.count('class="text words"') == 1
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


def test_errors_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(ssvm, ["demo", str(tmp_path)])
    assert result.exit_code == 1
    assert "Cannot open a page" in result.output
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(ssvm, ["demo", str(tmp_path)])
    assert result.exit_code == 1
    assert 'pip install "spacy-ssvm[demo-server]"' in " ".join(result.output.split())
