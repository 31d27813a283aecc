"""A server of one page on which texts are annotated, with confidence and reasons.

Needs the extra ``demo-server``, and is imported only where a page is opened.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any

from fastapi import Body, FastAPI, Query
from fastapi.responses import HTMLResponse
from spacy.language import Language

from spacy_ssvm.commands.provenance import made
from spacy_ssvm.components.page import read_part, render_demo

#: The longest text, in characters.
LONGEST = 5000


def make_app(nlp: Language, model: str, names: Sequence[str]) -> FastAPI:
    """The application.

    model: how the pipeline is called on the page. names: of the components to show.
    """
    app = FastAPI(title=f"spacy_ssvm: {model}")
    pipes: dict[str, Any] = {name: nlp.get_pipe(name) for name in names}
    facts = {"pipeline": f"{model}: {', '.join(nlp.pipe_names)}", "made": made()}
    one_at_a_time = Lock()  # spaCy's vocabulary is not made for several threads

    @app.get("/", response_class=HTMLResponse)
    def show(text: Annotated[str, Query(max_length=LONGEST)] = "") -> str:
        with one_at_a_time, nlp.memory_zone():
            doc = nlp(text)
            parts = [read_part(pipe, [doc]) for pipe in pipes.values()] if text.strip() else []
            return render_demo(model, facts, parts, text=text, longest=LONGEST)

    @app.post("/annotate")
    def annotate(
        text: Annotated[str, Body(embed=True, max_length=LONGEST)],
    ) -> dict[str, list[dict[str, Any]]]:
        with one_at_a_time, nlp.memory_zone():
            doc = nlp(text)
            tokens: list[dict[str, Any]] = [{"text": t.text, "start": t.idx} for t in doc]
            for name, pipe in pipes.items():
                found = zip(pipe.decisions(doc), pipe.scores(doc).tolist(), strict=True)
                for token, (decision, score) in zip(tokens, found, strict=True):
                    token[name] = {"label": decision.label, "score": _finite(score)}
            return {"tokens": tokens}

    return app


def _finite(score: float) -> float | None:
    """A confidence as JSON has it: null where nothing else is possible."""
    return None if score == float("inf") else score
