"""A server of one page on which texts are annotated, with confidence and reasons.

Needs the extra ``demo-server``, and is imported only where a page is opened.
"""

import socket
from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any

from fastapi import Body, FastAPI, Query
from fastapi.responses import HTMLResponse
from spacy.language import Language
from spacy.tokens import Span

from spacy_ssvm.commands.pipelines import annotate_in_stages
from spacy_ssvm.commands.provenance import made
from spacy_ssvm.components.ner import SCORE
from spacy_ssvm.components.page import WORDS, read_part, render_demo
from spacy_ssvm.components.parser import Arc, DependencyParser

#: The longest text, in characters.
LONGEST = 5000
#: Longer sentences are parsed in pieces: time grows with the cube of their length.
LONGEST_SENTENCE = 100
#: For how long decisions are explained, the least sure first, before the page is sent.
SECONDS = 2.0


def make_app(nlp: Language, model: str, names: Sequence[str]) -> FastAPI:
    """The application.

    model: how the pipeline is called on the page. names: of the components to show.
    No text takes it more than seconds: its parsers get a ``max_length`` of at most
    LONGEST_SENTENCE.
    Raises ValueError for a pipeline that cannot annotate a text.
    """
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, DependencyParser):
            pipe.model.max_length = min(pipe.model.max_length, LONGEST_SENTENCE)
    nlp("First. Second.")
    if "text" in names or "start" in names:
        raise ValueError("a component has the name 'text' or 'start', which tokens have: rename it")
    app = FastAPI(title=f"spacy_ssvm: {model}")
    facts = {"pipeline": f"{model}: {', '.join(nlp.pipe_names)}", "made": made()}
    one_at_a_time = Lock()  # spaCy's vocabulary is not made for several threads

    @app.get("/", response_class=HTMLResponse)
    def show(text: Annotated[str, Query(max_length=LONGEST)] = "") -> str:
        with one_at_a_time, nlp.memory_zone():
            docs = [nlp.make_doc(text)] if text.strip() else []
            parts = [
                read_part(pipe, found, seconds=SECONDS / len(names))
                for pipe, found in annotate_in_stages(nlp, docs, names)
                if found
            ]
            return render_demo(model, facts, parts, text=text, longest=LONGEST)

    @app.post("/annotate")
    def annotate(
        text: Annotated[str, Body(embed=True, max_length=LONGEST)],
    ) -> dict[str, Any]:
        with one_at_a_time, nlp.memory_zone():
            doc = nlp.make_doc(text)
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


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises ValueError for one that cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ValueError(f"{host}, port {port}: {error.strerror}; give another --port") from error


def _entity(ent: Span) -> dict[str, Any]:
    """An entity with its confidence, null where it is not known."""
    score = ent._.get(SCORE) if Span.has_extension(SCORE) else None
    place = {"start": ent.start_char, "end": ent.end_char}
    return {**place, "label": ent.label_, "score": score}


def _finite(score: float) -> float | None:
    """A confidence as JSON has it: null where nothing else is possible."""
    return None if score == float("inf") else score
