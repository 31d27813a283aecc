"""Servers of applications on this machine, and what they answer."""

import json
import time
from collections.abc import Mapping
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import uvicorn


class Client:
    """Asks a server of an application on this machine."""

    def __init__(self, app: Any) -> None:
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        self._thread = Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()

    def ask(self, path: str, body: Any = None) -> tuple[int, str]:
        """The status and the text of an answer; body: what to post, as JSON."""
        status, _, text = self.send(path, None if body is None else json.dumps(body).encode())
        return status, text

    def send(
        self, path: str, data: Any = None, **headers: str
    ) -> tuple[int, Mapping[str, str], str]:
        """The status, the headers and the text of an answer; data: bytes, or parts of them."""
        sent = {"Content-Type": "application/json", **headers}
        try:
            with urlopen(Request(self.address + path, data, sent), timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()
