"""What two threads gain: in arithmetic, reads of memory, annotation and training.

    python benchmarks/threads.py --data FOLDER [--rounds 3] [--train] [--words N]

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu. Each row does the same work in one thread and in
two, in turn; it shows the medians of wall time, and their ratio:

    arithmetic     on few numbers, as many at a time as the processor can: 2 with two whole cores
    random reads   of 400 MB, none of which waits for another
    annotation     of the corpus by an ssvm_tagger: Docs are read, decoded and written to

The first two rows are what the machine has to give. --train trains new components on the whole
corpus in each update, until the exact relative duality gap (for trees, that of arcs) is as small as
the table says: tags (XPOS), entities (runs of proper nouns) and trees (with gold tags). They learn
with blocks of one example, and with larger ones, each in one and in two threads, which must give
the same bytes; --rounds counts these, too. Seconds are those of the updates, without that of the
gap; the last table says what a pass is made of, in seconds, of arcs and labels of trees together,
which two threads learn side by side. --words reads only the beginning of the corpus, --task only
some of the tasks.
"""

import argparse
import hashlib
import statistics
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from streaming import corpus_bytes
from training_memory import FILES
from wasabi import msg

import spacy_ssvm
from spacy_ssvm.commands.warmup import Use, compile_for
from spacy_ssvm.solvers import decoding
from spacy_ssvm.solvers import dual_coordinate_descent as solver

TASKS = {  # the component, the size of blocks, and the gap to be reached
    "tags": ("ssvm_tagger", 64, 0.1),
    "entities": ("ssvm_ner", 200, 0.05),
    "trees": ("ssvm_parser", 64, 0.3),
}
MAX_PASSES = 40
PARTS = ("decode_block", "_inner_passes", "outer_pass")  # of a pass: functions that do them
THREADS = (1, 2)
NUMBERS = 50_000_000  # of float64: 400 MB
READS = 40_000_000
STEPS = 80_000_000
BATCH = 1000  # Docs


@numba.njit(nogil=True)
def arithmetic(first: int, last: int) -> float:
    """Steps of the logistic map on 64 numbers."""
    x = np.linspace(0.1, 0.9, 64)
    for _ in range(first, last):
        for i in range(64):
            x[i] = 3.9 * x[i] * (1.0 - x[i])
    return x.sum()  # type: ignore[no-any-return]


@numba.njit(nogil=True)
def random_reads(numbers: np.ndarray, first: int, last: int) -> float:
    """The sum of numbers at positions that are hashes of first, ..., last - 1."""
    total = 0.0
    for i in range(first, last):
        z = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(31))) >> np.uint64(32)
        total += numbers[(z * np.uint64(len(numbers))) >> np.uint64(32)]
    return total


def in_parts(function: Callable[[int, int], float], size: int, threads: int) -> None:
    """Call a function for equal parts of the numbers below ``size``, each in a thread."""
    starts = [size * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(function, starts[:-1], starts[1:]))


def examples_of(nlp: Language, data: bytes, words: int | None) -> list[Example]:
    """The beginning of the corpus; predicted Docs have gold tags, which trees are made from."""
    examples: list[Example] = []
    for gold in DocBin().from_bytes(data).get_docs(nlp.vocab):
        texts, spaces = [t.text for t in gold], [bool(t.whitespace_) for t in gold]
        tags, pos = [t.tag_ for t in gold], [t.pos_ for t in gold]
        doc = Doc(nlp.vocab, words=texts, spaces=spaces, tags=tags, pos=pos)
        examples.append(Example(doc, gold))
        if words is not None and (words := words - len(gold)) <= 0:
            break
    return examples


def component(factory: str, examples: list[Example], **options: Any) -> Any:
    nlp = spacy.blank("en", vocab=examples[0].predicted.vocab)
    settings = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "tolerance": 0.0, **options}
    pipe: Any = nlp.add_pipe(factory, config={"solver": settings})
    pipe.initialize(lambda: examples, nlp=nlp)
    return pipe


def seconds_to_gap(pipe: Any, examples: list[Example], target: float) -> tuple[float, int]:
    """The seconds of updates until the gap is reached, in proportion to its logarithm; passes."""
    seconds, last = 0.0, 1.0
    for passes in range(1, MAX_PASSES + 1):
        start = time.perf_counter()
        pipe.update(examples)
        taken = time.perf_counter() - start
        trainer, _ = pipe.featurize([])
        gap = trainer.run.objective().gap
        if gap <= target:
            return seconds + taken * np.log(last / target) / np.log(last / gap), passes
        seconds, last = seconds + taken, gap
    raise RuntimeError(f"the gap is {last:.3f} after {MAX_PASSES} passes")


def show(seconds: dict[str, list[list[float]]]) -> None:
    """A table of the times of each round, by the number of threads."""
    rows = []
    for name, by_threads in seconds.items():
        one, two = map(statistics.median, by_threads)
        ratios = [a / b for a, b in zip(*by_threads, strict=True)]
        found = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append((name, f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f}", found))
    header = ("work", "1 thread, s", "2 threads, s", "ratio", "of rounds")
    msg.table(rows, header=header, aligns=("l", *"rrrr"), divider=True)


def gains(examples: list[Example], rounds: int) -> None:
    numbers = np.ones(NUMBERS)
    tagger = component("ssvm_tagger", examples)
    for _ in range(3):
        tagger.update(examples)

    def annotate(threads: int) -> None:
        spacy_ssvm.set_threads(threads)
        docs = [example.predicted.copy() for example in examples]
        start = time.perf_counter()
        list(tagger.pipe(docs, batch_size=BATCH))
        times["annotation"][threads - 1].append(time.perf_counter() - start)

    works: dict[str, tuple[Callable[[int, int], float], int]] = {
        "arithmetic": (arithmetic, STEPS),
        "random reads": (lambda first, last: random_reads(numbers, first, last), READS),
    }
    times: dict[str, list[list[float]]] = {name: [[], []] for name in (*works, "annotation")}
    for function, _ in works.values():
        function(0, 1)  # compiles it
    annotate(2)
    times["annotation"][1].clear()
    for _ in range(rounds):
        for threads in THREADS:
            for name, (function, size) in works.items():
                start = time.perf_counter()
                in_parts(function, size, threads)
                times[name][threads - 1].append(time.perf_counter() - start)
            annotate(threads)
    show(times)


def timed(times: Counter[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            times[name] += time.perf_counter() - start

    return call


def training(examples: list[Example], rounds: int, tasks: list[str]) -> None:
    times: Counter[str] = Counter()
    for name in PARTS:
        owners: tuple[Any, ...] = decoding, solver, solver.DualCoordinateDescentRun
        owner = next(owner for owner in owners if hasattr(owner, name))
        setattr(owner, name, timed(times, name, getattr(owner, name)))
    rows, parts = [], []
    for task in tasks:
        factory, size, target = TASKS[task]
        compile_for(Use(task, factory, {}))
        runs = [(block, threads) for block in (1, size) for threads in THREADS]
        seconds: dict[tuple[int, int], list[float]] = {run: [] for run in runs}
        passes, of_parts = {}, {}
        digests: dict[int, set[str]] = {1: set(), size: set()}
        for _ in range(rounds):
            for (block, threads), found in seconds.items():
                spacy_ssvm.set_threads(threads)
                pipe = component(factory, examples, block=block)
                times.clear()
                taken, passes[block] = seconds_to_gap(pipe, examples, target)
                found.append(taken)
                of_parts[block, threads] = [times[name] / passes[block] for name in PARTS]
                digests[block].add(hashlib.sha256(pipe.to_bytes()).hexdigest())
        alone = statistics.median(seconds[1, 1])
        for block, kinds in digests.items():
            one, two = (statistics.median(seconds[block, threads]) for threads in THREADS)
            ratios = [a / b for a, b in zip(seconds[block, 1], seconds[block, 2], strict=True)]
            gained = f"{one / two:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            same = "yes" if len(kinds) == 1 else f"no: {len(kinds)} kinds"
            times_of = f"{one:.2f} ({passes[block]})", f"{two:.2f}", gained, f"{alone / two:.2f}"
            rows.append((task, block, target, *times_of, same))
        for (block, threads), of_pass in of_parts.items():
            parts.append((task, block, threads, *(f"{part:.3f}" for part in of_pass)))
    header = ("training", "block", "gap", "1 thread, s (passes)", "2 threads, s")
    header += ("ratio", "ratio to block 1 in 1", "same bytes")
    msg.table(rows, header=header, divider=True)
    names = "decoding ahead", "inner passes", "the rest of it"
    msg.table(parts, header=("a pass", "block", "threads", *names), divider=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument("--rounds", type=int, default=3, help="of each table")
    parser.add_argument("--train", action="store_true", help="also train, in one and two threads")
    parser.add_argument("--task", choices=TASKS, nargs="+", default=list(TASKS))
    parser.add_argument("--words", type=int, help="at the beginning of the corpus, to learn from")
    options = parser.parse_args()
    data = corpus_bytes(options.data / FILES["en"], 1)
    examples = examples_of(spacy.blank("en"), data, options.words)
    gains(examples, options.rounds)
    if options.train:
        training(examples, options.rounds, options.task)


if __name__ == "__main__":
    main()
