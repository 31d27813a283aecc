"""Time and memory to read, save, load and match a gazetteer of ten million entries.

    python benchmarks/gazetteer.py [--entries 10000000]

Entries have one to four words, drawn by Zipf's law from a million synthetic words; half of the
tokens of the text are part of entries. Reading time is CPU time on one thread. Memory is that of a
separate process: its peak, and its size before reading.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import peers
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels

VOCABULARY = 1_000_000
CHUNK = 100_000
TEXTS = 20_000  # entries in the text


def word(number: int) -> str:
    """The number spelled with letters, as a synthetic name."""
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 26)
        letters += chr(ord("a") + letter)
    return letters.title()


def entries(number: int) -> Iterator[str]:
    """Entries, possibly with duplicates."""
    random = np.random.default_rng(0)
    vocabulary = [word(i) for i in range(VOCABULARY)]
    for start in range(0, number, CHUNK):
        sizes = random.integers(1, 5, size=min(CHUNK, number - start))
        ranks = (VOCABULARY ** random.random(sizes.sum())).astype(int)
        words = [vocabulary[rank] for rank in ranks.tolist()]
        ends = np.cumsum(sizes).tolist()
        for size, end in zip(sizes.tolist(), ends, strict=True):
            yield " ".join(words[end - size : end])


def measure(file: Path) -> dict:
    nlp = spacy.blank("en")
    strings = len(nlp.vocab.strings)
    gold = Doc(nlp.vocab, words=["Ann"], ents=["B-PER"])
    nlp.add_pipe("ssvm_ner", config={"templates": ["ngrams(gazetteer, 2, 1)"]})
    nlp.config["initialize"]["components"]["ssvm_ner"] = {"gazetteers": {"PER": str(file)}}
    result = {"memory before": peers.peak_of_memory()}
    start = time.process_time()
    nlp.initialize(lambda: [Example(nlp.make_doc("Ann"), gold)])
    result["read"] = time.process_time() - start
    result["memory"] = peers.peak_of_memory()
    result["strings"] = len(nlp.vocab.strings) - strings
    with file.open(encoding="utf8") as lines:
        names = [next(lines).split() for _ in range(TEXTS)]
    sentences = [(["and" for _ in words] + words, []) for words in names]
    result["speed"] = peers.tagging_speed(nlp.get_pipe("ssvm_ner"), nlp, sentences)
    return {**result, **peers.saved(nlp, "ssvm_ner")}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--only", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.only:
        peers.print_result(measure(options.only))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "entries.txt"
        with file.open("w", encoding="utf8") as lines:
            lines.writelines(f"{entry}\n" for entry in entries(options.entries))
        result = peers.in_process(__file__, ["--only", str(file)])
    msg.divider(f"{options.entries:,} entries")
    msg.table(
        [
            ("reading time", f"{result['read']:,.0f} s"),
            (
                "memory",
                f"{result['memory']:,.0f} MB peak, {result['memory before']:,.0f} MB before",
            ),
            ("strings added to the vocabulary", f"{result['strings']:,}"),
            ("size on disk", f"{result['MB']:,.0f} MB"),
            ("loading time", f"{result['load']:,.0f} ms"),
            ("tokens/s", f"{result['speed']:,.0f}"),
        ],
        aligns=("l", "r"),
    )


if __name__ == "__main__":
    main()
