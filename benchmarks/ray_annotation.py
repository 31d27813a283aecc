"""Annotation with Ray: texts a second, memory over time, and rows when processes are killed.

    python benchmarks/ray_annotation.py --data FOLDER --model MODEL [--texts 100000]
        [--workers 1 2] [--kill 30]

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu, whose sentences are drawn to make texts, two
each. One process reads lines of JSON, annotates the texts and writes the Docs as lines; then
annotate-ray does so with each number of workers. With --kill, a process that annotates is killed
each time so many seconds have passed. Seconds are those of the whole command, and of the rows after
the first and before the last ones. Memory is that of all processes, what they share counted once
(the sum of Pss), when a third of the rows, two thirds and all have been written. Linux only.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from wasabi import msg

FILE = "ud_en_ewt/en_ewt-ud-train.conllu"
SECONDS = 1.0  # between samples
IN_ONE_PROCESS = """
import json, sys
import spacy

nlp = spacy.load(sys.argv[1])
with open(sys.argv[2], encoding="utf8") as lines, open(sys.argv[3], "w", encoding="utf8") as out:
    rows = map(json.loads, lines)
    for doc, row in nlp.pipe(((row["text"], row) for row in rows), as_tuples=True):
        row |= {"doc": doc.to_json(), "error": None}
        out.write(json.dumps(row, ensure_ascii=False) + "\\n")
"""


class Sample(NamedTuple):
    """How far a command was."""

    seconds: float
    written: int  #: bytes of the output
    memory: int  #: bytes


def write_texts(data: Path, file: Path, number: int) -> None:
    """Write lines of JSON with texts of two sentences each."""
    lines = (data / FILE).read_text(encoding="utf8").splitlines()
    sentences = [line[len("# text = ") :] for line in lines if line.startswith("# text = ")]
    draw = random.Random(0)
    with file.open("w", encoding="utf8") as texts:
        for i in range(number):
            row = {"id": i, "text": " ".join(draw.choices(sentences, k=2))}
            texts.write(json.dumps(row, ensure_ascii=False) + "\n")


def processes_of(pid: int) -> Iterator[int]:
    """A process, and those that it has started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in task.read_text().split():
                yield from processes_of(int(child))


def memory_of(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def annotates(pid: int) -> bool:
    with suppress(OSError):
        return b"Annotator" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def follow(command: list[str], folder: Path, kill: float | None) -> tuple[list[Sample], int]:
    """Run a command that writes into a folder; returns samples, and how many were killed."""
    start, last, killed, samples = time.monotonic(), time.monotonic(), 0, []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        while running.poll() is None:
            found = list(processes_of(running.pid))
            written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            used = sum(map(memory_of, found))
            samples.append(Sample(time.monotonic() - start, written, used))
            victims = [pid for pid in found if annotates(pid)] if kill else []
            if kill and victims and written and time.monotonic() - last > kill:
                with suppress(OSError):
                    os.kill(victims[-1], signal.SIGKILL)
                    last, killed = time.monotonic(), killed + 1
            time.sleep(SECONDS)
        if running.returncode:
            assert running.stderr is not None
            sys.exit(running.stderr.read().decode())
    return samples, killed


def row_of(samples: list[Sample], killed: int, output: Path, texts: int) -> tuple[str, ...]:
    """What the table has of a command."""
    digest, rows = hashlib.sha256(), 0
    with output.open("rb") as lines:
        for line in lines:
            digest.update(line)
            rows += 1
    size = output.stat().st_size
    begun = next(sample for sample in samples if sample.written)
    ended = next(sample for sample in samples if sample.written >= 0.95 * size)
    share = (ended.written - begun.written) / size
    rate = texts * share / max(ended.seconds - begun.seconds, SECONDS)
    used = [
        next((s for s in samples if s.written >= third * size / 3), samples[-1]).memory
        for third in (1, 2)
    ]
    used.append(samples[-2].memory)
    seconds = f"{samples[-1].seconds:.0f}", f"{rate:,.0f}"
    memory = (f"{bytes_ / 1e6:,.0f}" for bytes_ in used)
    return *seconds, *memory, str(killed), f"{rows:,}", digest.hexdigest()[:8]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kill", type=float, help="seconds between kills; by default none")
    args = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory() as name:
        texts = Path(name) / "texts.jsonl"
        write_texts(args.data, texts, args.texts)
        one = [sys.executable, "-c", IN_ONE_PROCESS, args.model, str(texts)]
        ray = [sys.executable, "-m", "spacy", "ssvm", "annotate-ray", args.model, str(texts)]
        commands = {"one process": (one, [])} | {
            f"{k} worker{'s' * (k > 1)}": (ray, ["--workers", str(k)]) for k in args.workers
        }
        for i, (row, (command, options)) in enumerate(commands.items()):
            output = Path(name) / str(i) / "docs.jsonl"
            output.parent.mkdir()
            samples, killed = follow(
                [*command, str(output), *options], output.parent, args.kill if i else None
            )
            table.append((row, *row_of(samples, killed, output, args.texts)))
            output.unlink()
    header = ("", "seconds", "texts/s", "MB at 1/3", "2/3", "end", "killed", "rows", "docs")
    msg.table(table, header=header, aligns=("l", *"rrrrrrrl"), divider=True)


if __name__ == "__main__":
    main()
