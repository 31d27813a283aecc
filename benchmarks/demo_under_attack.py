"""The demo of a pipeline while bad clients ask it, on this machine.

    python benchmarks/demo_under_attack.py MODEL [--minutes 10] [--bad 4] [--good 2]

Starts `python -m spacy ssvm show --serve` on a free port of the loopback address. Good clients post
short texts and open pages; bad ones send the longest texts that there may be, long words, large
bodies, things that are no text, names of other hosts, and connections that say nothing. Prints the
times of the answers to good clients, and the memory of the server, and fails where a good client
gets anything but its answer, or a bad one an error of the server, or where the server takes more
memory or time than the limits. Requires the extra `demo-server`, and Linux.
"""

import argparse
import itertools
import json
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode

from wasabi import msg

LONGEST = 5000
#: What bad clients post, each with what may be the answer.
TEXTS = [
    "( " * (LONGEST // 2),
    " ".join("(" * (199 - i % 9) for i in range(25))[:LONGEST],
    " ".join(f"{'x.' * 90}{i}" for i in range(27))[:LONGEST],
    "word " * (LONGEST // 5),
    "(" * LONGEST,
    "\N{GRINNING FACE} " * (LONGEST // 2),
    "\n" * LONGEST,
    "a" * (LONGEST + 1),
]
BODIES = [
    b'{"text": NaN}',
    b'{"text": "\\ud800"}',
    b"[" * 60_000,
    b"\xff",
    b'{"text": ' + b"1" * 60_000,
]


class Clients:
    """What is asked until an end, and what came of it."""

    def __init__(self, port: int, end: float) -> None:
        self.port, self.end = port, end
        self.times: list[float] = []
        self.statuses: Counter[str] = Counter()

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        """The status of an answer, which is read; 0 where the connection was closed."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            self.answer = answer.read()
            return answer.status
        except (ConnectionError, HTTPException):
            return 0
        finally:
            connection.close()

    def good(self, seed: int) -> None:
        """Post short texts and open pages, and check the answers."""
        for number in itertools.count():
            if time.perf_counter() >= self.end:
                return
            text = f"Request {number} of {seed} comes from London ."
            own = Clients(self.port, self.end)
            start = time.perf_counter()
            if number % 5:
                status = own.ask("POST", "/annotate", json.dumps({"text": text}).encode())
                words = [token["text"] for token in json.loads(own.answer)["tokens"]]
                assert words == text.split(), f"{words} is the answer to another text"
            else:
                status = own.ask("GET", f"/?{urlencode({'text': text})}")
                assert f"{text}</textarea>" in own.answer.decode()
            assert status == 200
            self.times.append(time.perf_counter() - start)
            time.sleep(0.02)

    def bad(self, seed: int) -> None:
        """Ask for all that takes time and memory."""
        chance = random.Random(seed)
        while time.perf_counter() < self.end:
            own = Clients(self.port, self.end)
            text = chance.choice(TEXTS)
            posted = json.dumps({"text": text}).encode()
            asked: list[Callable[[], int]] = [
                lambda: own.ask("POST", "/annotate", posted),  # noqa: B023
                lambda: own.ask("GET", f"/?{urlencode({'text': text})}"),  # noqa: B023
                lambda: own.ask("POST", "/annotate", chance.choice(BODIES)),  # noqa: B023
                lambda: own.ask("POST", "/annotate", b" " * 20_000_000),  # noqa: B023
                lambda: own.ask("GET", "/", Host="evil.example"),  # noqa: B023
                self._say_nothing,
            ]
            status = chance.choices(asked, weights=[4, 4, 2, 1, 1, 1])[0]()
            self.statuses[str(status or "closed")] += 1

    def _say_nothing(self) -> int:
        """Announce a body that does not come."""
        head = b"POST /annotate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(head)
            time.sleep(0.5)
        return 0


def memory_of(process: int) -> float:
    """The resident memory of a process, in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="folder of a trained pipeline")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--bad", type=int, default=4, help="clients")
    parser.add_argument("--good", type=int, default=2, help="clients")
    parser.add_argument("--most-memory", type=float, default=300.0, help="MB more than at first")
    parser.add_argument("--most-time", type=float, default=10.0, help="seconds, 99 %% of answers")
    options = parser.parse_args()
    port = free_port()
    command = [sys.executable, "-m", "spacy", "ssvm", "show", options.model]
    command += ["--serve", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            clients = Clients(port, 0.0)
            while clients.ask("GET", "/") != 200:
                assert server.poll() is None, "the server has not started"
                time.sleep(0.2)
            at_first = memory_of(server.pid)
            clients.end = time.perf_counter() + 60 * options.minutes
            rows = []
            with ThreadPoolExecutor(options.good + options.bad) as pool:
                work = [pool.submit(clients.good, i) for i in range(options.good)]
                work += [pool.submit(clients.bad, i) for i in range(options.bad)]
                seen = 0
                while time.perf_counter() < clients.end:
                    left = clients.end - time.perf_counter()
                    time.sleep(max(0.0, min(left, 6 * options.minutes)))
                    rows.append(row_of(clients, seen, memory_of(server.pid)))
                    seen = len(clients.times)
                for own in work:
                    own.result()
            most = max(float(row[-1]) for row in rows)
            last = row_of(clients, 0, memory_of(server.pid))
        finally:
            server.terminate()
    header = ("good answers", "p50, ms", "p99, ms", "longest, ms", "memory, MB")
    rows += [("all:", "", "", "", ""), last]
    msg.table(rows, header=header, aligns=("r",) * 5, divider=True)
    print(f"bad clients: {dict(sorted(clients.statuses.items()))}; at first {at_first:.0f} MB")
    faults = [status for status in clients.statuses if status.startswith("5") and status != "503"]
    assert not faults, f"errors of the server: {faults}"
    assert most - at_first < options.most_memory, f"{most - at_first:.0f} MB more than at first"
    assert float(last[2]) < 1000 * options.most_time, "it takes too long"


def row_of(clients: Clients, first: int, memory: float) -> tuple[str, ...]:
    """The answers since the first of them: their number, times and the memory."""
    answers = len(clients.times[first:])
    times = sorted(clients.times[first : first + answers]) or [float("nan")]
    shown = (times[int(share * (len(times) - 1))] for share in (0.5, 0.99, 1.0))
    return (str(answers), *(f"{1000 * seconds:.1f}" for seconds in shown), f"{memory:.0f}")


if __name__ == "__main__":
    main()
