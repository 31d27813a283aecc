"""A server of one page on which texts are annotated, with confidence and reasons.

Needs the extra ``demo-server``, and is imported only where a page is opened.
"""

import socket
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, Query
from fastapi.responses import HTMLResponse
from spacy.language import Language
from spacy.tokens import Span

from spacy_ssvm.commands.pipelines import annotate_in_stages, made, title_of
from spacy_ssvm.commands.service import LOCAL_HOSTS, SharedZone, guard
from spacy_ssvm.components.ner import SCORE
from spacy_ssvm.components.page import WORDS, read_part, render_demo
from spacy_ssvm.components.parser import Arc, DependencyParser

#: The longest text, in characters.
LONGEST = 5000
#: In bytes, of what programs post: JSON may take 12 for a character.
LARGEST_BODY = 12 * LONGEST + 5536
#: At the same time; others are told to come later.
MOST_REQUESTS = 100
#: Longer sentences are parsed in pieces: time grows with the cube of their length.
LONGEST_SENTENCE = 100
#: For how long decisions are explained, the least sure first, before the page is sent.
SECONDS = 2.0


def make_app(
    nlp: Language, model: str, names: Sequence[str], hosts: Sequence[str] = LOCAL_HOSTS
) -> FastAPI:
    """The application.

    model: how the pipeline is called on the page. names: of the components to show.
    hosts: the names by which it is called, see ``guard``.
    No text takes it more than seconds: its parsers get a ``max_length`` of at most
    LONGEST_SENTENCE. Texts are tokenized one by one, and annotated at the same time.
    Raises ValueError for a pipeline that cannot annotate a text.
    """
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, DependencyParser):
            pipe.model.max_length = min(pipe.model.max_length, LONGEST_SENTENCE)
    nlp("First. Second.")
    if "text" in names or "start" in names:
        raise ValueError("a component has the name 'text' or 'start', which tokens have: rename it")
    app = FastAPI(openapi_url=None)  # its pages of documentation take scripts from a network
    guard(app, hosts=hosts, largest_body=LARGEST_BODY)
    facts = {"pipeline": f"{model}: {', '.join(nlp.pipe_names)}", "made": made()}
    zone, example = SharedZone(nlp), example_of(nlp.lang or "xx")

    @app.get("/", response_class=HTMLResponse)
    def show(text: Annotated[str, Query(max_length=LONGEST)] = example) -> str:
        with zone(*filter(str.strip, [text])) as docs:
            parts = [
                read_part(pipe, found, seconds=SECONDS / len(names))
                for pipe, found in annotate_in_stages(nlp, docs, names)
                if found
            ]
            return render_demo(title_of(model), facts, parts, text=text, longest=LONGEST)

    @app.post("/annotate")
    def annotate(
        text: Annotated[str, Body(embed=True, max_length=LONGEST)],
    ) -> dict[str, Any]:
        with zone(text) as (doc,):
            tokens: list[dict[str, Any]] = [{"text": t.text, "start": t.idx} for t in doc]
            spans: dict[str, list[dict[str, Any]]] = {}
            for pipe, _ in annotate_in_stages(nlp, [doc], names):
                for d in pipe.decisions(doc):
                    found = {"label": str(d.label), "score": _finite(d.score)}
                    if isinstance(d.label, Arc):
                        found |= {"label": d.label.label, "head": d.label.head}
                    if pipe.units == WORDS:
                        tokens[d.start][pipe.name] = found
                        continue
                    unit = doc[d.start : d.end]
                    place = {"start": unit.start_char, "end": unit.end_char}
                    spans.setdefault(pipe.name, []).append({**place, **found})
            return {"tokens": tokens, "entities": list(map(_entity, doc.ents)), "spans": spans}

    return app


def example_of(language: str) -> str:
    """Two of the sentences that spaCy has as examples of a language; "" where it has none."""
    try:
        found: list[str] = import_module(f"spacy.lang.{language}.examples").sentences
    except ModuleNotFoundError:
        return ""
    return "\n".join(found[:2])


def hosts_of(host: str) -> list[str]:
    """The names of a machine that listens at an address."""
    try:
        named = socket.gethostbyname_ex(socket.gethostname())
    except OSError:  # it does not know its own name
        return [*LOCAL_HOSTS, host]
    return [*LOCAL_HOSTS, host, named[0], *named[1], *named[2]]


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises ValueError for one that cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ValueError(f"{host}, port {port}: {error.strerror}; give another --port") from error


def run(app: FastAPI, place: socket.socket) -> None:
    """Answer on a socket until the process is stopped."""
    config = uvicorn.Config(app, log_level="warning", limit_concurrency=MOST_REQUESTS)
    uvicorn.Server(config).run(sockets=[place])


def _entity(ent: Span) -> dict[str, Any]:
    """An entity with its confidence, null where it is not known."""
    score = ent._.get(SCORE) if Span.has_extension(SCORE) else None
    place = {"start": ent.start_char, "end": ent.end_char}
    return {**place, "label": ent.label_, "score": score}


def _finite(score: float) -> float | None:
    """A confidence as JSON has it: null where nothing else is possible."""
    return None if score == float("inf") else score
