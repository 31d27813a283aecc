"""What services need that anybody can reach: limits on what is asked of them, and headers.

Needs the extra ``demo-server``.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Condition, Lock
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from spacy.language import Language
from spacy.tokens import Doc
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

#: By these names a machine calls itself.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")
#: In characters: the time of spaCy's tokenizer grows with the square of what is between spaces.
LONGEST_WORD = 200
#: In characters, of the texts of a memory zone: 50,000 new words take 20 MB.
LARGEST_ZONE = 250_000

_TOO_LONG = re.compile(rf"\S{{{LONGEST_WORD + 1}}}")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def guard(app: FastAPI, *, hosts: Sequence[str], largest_body: int) -> None:
    """Refuse what nobody means well with, and say to browsers what pages may do.

    hosts: the names by which the service is called: a page of another name, which has been made to
        point at it, reaches nothing. "*" for any.
    largest_body: in bytes. What is wrong with it is said without quoting it.
    Raises ValueError for a host with a wildcard elsewhere than at its beginning.
    """
    for host in hosts:
        if "*" in host.removeprefix("*.") and host != "*":
            raise ValueError(f"the host '{host}': a wildcard is * alone, or *. at the beginning")

    async def answer(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        response = _refusal(request, largest_body) or await go_on(request)
        response.headers.update(_HEADERS)
        return response

    async def tell(_request: Request, error: Any) -> Response:
        kept = ("type", "loc", "msg")
        found = [{key: own[key] for key in kept} for own in error.errors()]
        return JSONResponse({"detail": found}, 422)

    app.add_exception_handler(RequestValidationError, tell)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(BaseHTTPMiddleware, dispatch=answer)


def _refusal(request: Request, largest_body: int) -> Response | None:
    """The answer to a request whose body is not read: too large, or of unknown size."""
    if "transfer-encoding" in request.headers:
        return JSONResponse({"detail": "say how long the body is, by Content-Length"}, 411)
    if int(request.headers.get("content-length", 0)) > largest_body:
        return JSONResponse({"detail": f"a body has at most {largest_body:,} bytes"}, 413)
    return None


class SharedZone:
    """A memory zone of a pipeline that several threads are in, which ends when all have left.

    When the texts of a zone have LARGEST_ZONE characters, those who come later wait for the next.
    """

    def __init__(self, nlp: Language) -> None:
        self._nlp = nlp
        self._changed, self._tokenizing = Condition(), Lock()
        self._zone: AbstractContextManager[Any] | None = None
        self._inside = self._characters = 0

    @contextmanager
    def __call__(self, *texts: str) -> Iterator[list[Doc]]:
        """Be in a zone, with the words of texts, which no component has annotated.

        Raises HTTPException, 422, for a word that takes spaCy too long.
        """
        for text in texts:
            self._check(text)
        with self._changed:
            self._changed.wait_for(lambda: self._characters < LARGEST_ZONE)
            if self._zone is None:
                self._zone = self._nlp.memory_zone()
                self._zone.__enter__()
            self._inside += 1
            self._characters += sum(map(len, texts))
        try:
            yield list(map(self._make_doc, texts))
        finally:
            with self._changed:
                self._inside -= 1
                if not self._inside:
                    zone, self._zone, self._characters = self._zone, None, 0
                    zone.__exit__(None, None, None)
                    self._changed.notify_all()

    def _make_doc(self, text: str) -> Doc:
        with self._tokenizing:  # words come into spaCy's vocabulary, one thread at a time
            return self._nlp.make_doc(text)

    def _check(self, text: str) -> None:
        found = _TOO_LONG.search(text)
        if found and hasattr(self._nlp.tokenizer, "prefix_search"):
            place = f"the word at character {found.start()}"
            problem = f"{place} is longer than {LONGEST_WORD} characters: put spaces in between"
            raise HTTPException(422, problem)
