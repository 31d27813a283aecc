"""The server of `python -m spacy ssvm show --serve` under load, on this machine.

    python benchmarks/demo.py MODEL [--requests 400]

Starts the server on a free port of the loopback address, and posts short texts from 1 to 32
clients at a time. Prints requests per second and the time of an answer, and fails where an answer
is missing or belongs to another text. Requires the extra `demo-server`.
"""

import argparse
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from urllib.request import Request, urlopen

import spacy
import uvicorn
from wasabi import msg

from spacy_ssvm.commands.demo import make_app
from spacy_ssvm.commands.render import choose

CLIENTS = (1, 2, 4, 8, 16, 32)


def ask(address: str, number: int) -> float:
    """The seconds of a request, whose answer is checked."""
    text = f"Request {number} comes from London ."
    headers = {"Content-Type": "application/json"}
    start = time.perf_counter()
    with urlopen(Request(address, json.dumps({"text": text}).encode(), headers)) as answer:
        words = [token["text"] for token in json.load(answer)["tokens"]]
    assert words == text.split(), f"{words} is the answer to another text"
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="folder of a trained pipeline")
    parser.add_argument("--requests", type=int, default=400, help="for each number of clients")
    options = parser.parse_args()
    nlp = spacy.load(options.model)
    app = make_app(nlp, options.model, choose(nlp, None))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    address = f"http://127.0.0.1:{port}/annotate"
    rows = []
    try:
        ask(address, 0)
        for clients in CLIENTS:
            with ThreadPoolExecutor(clients) as pool:
                start = time.perf_counter()
                times = list(pool.map(lambda i: ask(address, i), range(options.requests)))
                seconds = time.perf_counter() - start
            ordered = sorted(times)
            last = ordered[int(0.99 * len(ordered))]
            middle = median(ordered)
            row = (clients, len(times), len(times) / seconds, 1000 * middle, 1000 * last)
            rows.append((*row[:2], *(f"{value:.1f}" for value in row[2:])))
    finally:
        server.should_exit = True
        thread.join()
    header = ("clients", "answers", "requests/s", "p50, ms", "p99, ms")
    msg.table(rows, header=header, aligns=("r",) * 5, divider=True)


if __name__ == "__main__":
    main()
