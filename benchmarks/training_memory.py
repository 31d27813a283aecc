"""Peak memory and time of training a tagger, and its speed, by the number of labels.

    python benchmarks/training_memory.py --data FOLDER [--epochs 10] [--parts 2]

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu and ud_pt_bosque/pt_bosque-ud-train.conllu. Two
taggers learn from gold tokens and sentences, the whole corpus in each update: XPOS of English-EWT,
and of the first 57,000 tokens of Portuguese-Bosque the part of speech and features as one label,
which is divided at random into so many parts. Memory is the peak of training above what spaCy and
the corpus take, kernels included; the speed is that of annotating the same Docs afterwards. Times
are CPU times, with compiled kernels in the cache. Linux only.
"""

import argparse
import gc
import multiprocessing
import random
import resource
import time
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from wasabi import msg

FILES = {
    "en": "ud_en_ewt/en_ewt-ud-train.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-train.conllu",
}
_TOKENS = 57_000  # of Portuguese


def peak() -> float:
    """The peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def read_examples(nlp: spacy.Language, file: Path, parts: int) -> list[Example]:
    """Sentences with XPOS or, divided into parts, parts of speech with features."""
    examples: list[Example] = []
    numbers, tokens = random.Random(0), 0
    for doc in conllu_to_docs(file.read_text(encoding="utf8"), n_sents=1, no_print=True):
        tags = [token.tag_ for token in doc]
        if parts:
            if tokens > _TOKENS:
                break
            tags = [f"{token.pos_}|{token.morph}|{numbers.randrange(parts)}" for token in doc]
        tokens += len(doc)
        words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
        gold = Doc(nlp.vocab, words=words, spaces=spaces, tags=tags)
        examples.append(Example(Doc(nlp.vocab, words=words, spaces=spaces), gold))
    return examples


def measure(language: str, data: Path, epochs: int, parts: int) -> tuple[Any, ...]:
    """A row of the table."""
    nlp = spacy.blank(language)
    examples = read_examples(nlp, data / FILES[language], parts if language == "pt" else 0)
    pipe: Any = nlp.add_pipe("ssvm_tagger")
    gc.collect()
    before = peak()
    pipe.initialize(lambda: examples, nlp=nlp)
    start = time.process_time()
    for _ in range(epochs):
        pipe.update(examples)
    seconds = time.process_time() - start
    memory, found = pipe.training_memory(), peak() - before
    tokens = sum(len(example.reference) for example in examples)
    sizes = (f"{memory[name] / 1e6:.0f}" for name in ("weights", "constraints", "features"))
    pipe.end_training()
    docs = [example.predicted for example in examples]
    list(nlp.pipe(doc.copy() for doc in docs[:100]))
    start = time.process_time()
    list(nlp.pipe(docs))
    speed = tokens / (time.process_time() - start)
    counts = f"{tokens:,}", len(pipe.labels)
    return language, *counts, f"{found:.0f}", *sizes, f"{seconds:.1f}", f"{speed:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--parts", type=int, default=2)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    rows = []
    for language in FILES:
        for epochs in (1, arguments.epochs):  # the first run compiles the kernels
            with context.Pool(1) as pool:
                row = pool.apply(measure, (language, arguments.data, epochs, arguments.parts))
        rows.append(row)
    columns = (
        "tokens",
        "labels",
        "peak MB",
        "weights MB",
        "constraints MB",
        "features MB",
        "seconds",
        "tokens/s",
    )
    msg.table(rows, header=("language", *columns), divider=True, aligns=["l"] + ["r"] * 8)


if __name__ == "__main__":
    main()
