"""Memory of training that does not end.

    python benchmarks/endless.py [--sentences 1000000] [--updates 1000000] [--memory 100]

First, a tagger learns from a stream of sentences of ten words that no other sentence has, tagged by
their endings, in updates of a thousand sentences, each in a memory zone of spaCy; the setting
`memory` bounds what training keeps. The same stream without a tagger shows what spaCy takes: its
vocabulary keeps room for all words that it has seen. Then, a tagger without a bound learns from a
thousand sentences that stay in memory, in updates of one sentence each. A row for each tenth: the
largest memory of the process in it, and of training. Linux only.
"""

import argparse
import ctypes
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg
from wasabi.printer import Printer

_TAGS = "ABCDEF"
_ROWS = 10
_ALLOCATOR = ctypes.CDLL(None)


def fresh_examples(nlp: spacy.Language, random: Random, number: int) -> list[Example]:
    """Sentences of words that no others have; one tag in ten does not fit its ending."""
    examples = []
    for _ in range(number):
        tags = random.choices(_TAGS, k=10)
        endings = [tag.lower() * 2 if random.random() < 0.9 else "zz" for tag in tags]
        words = [f"{random.getrandbits(40):x}{ending}" for ending in endings]
        examples.append(
            Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        )
    return examples


def megabytes() -> float:
    """The memory of this process in MB, without what the allocator keeps for later."""
    _ALLOCATOR.malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure(nlp: spacy.Language, updates: Iterator[int], every: int, total: int) -> None:
    """Print a row for each tenth of the updates.

    updates: makes an update at each step. every: after how many of them memory is measured.
    """
    pipes: list[Any] = [pipe for _, pipe in nlp.pipeline]
    widths, aligns = (12, 12, 14, 10), ("r", "r", "r", "r")
    printer = Printer(no_print=True)
    print(printer.row(("updates", "process, MB", "training, MB", "seconds"), widths=widths))
    most, training, start = 0.0, 0, time.perf_counter()
    for number in updates:
        if number % every == 0:
            most = max(most, megabytes())
            for pipe in pipes:
                training = max(training, sum(pipe.training_memory().values()))
        if number % max(total // _ROWS, 1) == 0:
            seconds = time.perf_counter() - start
            cells = f"{number:,}", f"{most:,.1f}", f"{training / 1e6:,.1f}", f"{seconds:,.0f}"
            print(printer.row(cells, widths=widths, aligns=aligns), flush=True)
            most, training = 0.0, 0


def of_fresh_words(nlp: spacy.Language, total: int) -> Iterator[int]:
    random = Random(0)
    if nlp.pipeline:
        nlp.initialize(lambda: fresh_examples(nlp, random, 100))
    for number in range(1, total + 1):
        with nlp.memory_zone():
            examples = fresh_examples(nlp, random, 1000)
            if nlp.pipeline:
                nlp.update(examples)
            del examples
        yield number


def of_one_sentence_each(nlp: spacy.Language, total: int) -> Iterator[int]:
    random = Random(0)
    examples = fresh_examples(nlp, random, 1000)
    nlp.initialize(lambda: examples)
    for number in range(1, total + 1):
        nlp.update([random.choice(examples)])
        yield number


def run(name: str, total: int, memory: int) -> None:
    """Run one of the experiments."""
    nlp = spacy.blank("en")
    if name != "spacy":
        nlp.add_pipe("ssvm_tagger", config={"memory": memory if name == "stream" else None})
    if name == "updates":
        msg.divider(f"{total:,} updates of one of a thousand sentences")
        measure(nlp, of_one_sentence_each(nlp, total), 1000, total)
        return
    who = "spaCy alone" if name == "spacy" else f"memory = {memory}"
    msg.divider(f"{1000 * total:,} sentences of new words, {who}")
    measure(nlp, of_fresh_words(nlp, total), 1, total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--memory", type=int, default=100, help="in MB")
    arguments = parser.parse_args()
    fresh = arguments.sentences // 1000
    context = multiprocessing.get_context("spawn")
    for name, total in (("stream", fresh), ("spacy", fresh), ("updates", arguments.updates)):
        if total:
            with context.Pool(1) as pool:
                pool.apply(run, (name, total, arguments.memory))


if __name__ == "__main__":
    main()
