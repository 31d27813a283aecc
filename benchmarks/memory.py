"""Memory and load time of trained pipelines, and the growth of spaCy's string store.

    python benchmarks/memory.py --data FOLDER [--tokens 100000]

FOLDER contains en_ewt-ud-{train,dev,test}.conllu. Two pipelines are trained for a few epochs and
saved: ssvm_tagger alone, and followed by ssvm_parser. Each is then loaded in a new process, with
compiled kernels in the cache, and annotates the given number of tokens, one sentence per Doc:

    text         dev and test, repeated
    new words    the same with every word replaced by a new one: the worst case

with and without nlp.memory_zone(), for 100 Docs at a time. Memory is the resident memory of the
process, and the private part of it, which is not mapped from files shared between processes. Times
are CPU times. Linux only.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

EPOCHS = {"ssvm_tagger": 5, "ssvm_parser": 3}
PIPELINES = {"tagger": ["ssvm_tagger"], "tagger and parser": ["ssvm_tagger", "ssvm_parser"]}
TEXTS = ("text", "new words")
DOCS_IN_ZONE = 100


def memory() -> dict[str, float]:
    """Resident and private memory of this process, in MB."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return {
        name: int(fields[key].split()[0]) / 1000
        for name, key in (("resident", "VmRSS"), ("private", "RssAnon"))
    }


def train(data: Path, output: Path) -> None:
    """Train and save the pipelines, and save the texts."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.training.converters import conllu_to_docs

    def read(part: str) -> list[Doc]:
        text = (data / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
        return list(conllu_to_docs(text, n_sents=1, no_print=True))

    nlp = spacy.blank("en")
    examples = [
        Example(
            Doc(nlp.vocab, words=[t.text for t in doc], tags=[t.tag_ for t in doc]),
            Doc(nlp.vocab).from_bytes(doc.to_bytes()),
        )
        for doc in read("train")
    ]
    for name, names in PIPELINES.items():
        pipe = nlp.add_pipe(names[-1])
        pipe.initialize(lambda: examples, nlp=nlp)
        for _ in range(EPOCHS[names[-1]]):
            pipe.update(examples)
        nlp.to_disk(output / name)
    texts = [doc.text for part in ("dev", "test") for doc in read(part)]
    (output / "texts.json").write_text(json.dumps(texts), encoding="utf8")


def endless(texts: list[str], kind: str) -> Iterator[str]:
    """Repeat the texts forever."""
    number = 0
    while True:
        for text in texts:
            if kind == "new words":
                words = text.split()
                text = " ".join(f"{word}q{number + i}" for i, word in enumerate(words))
                number += len(words)
            yield text


def measure(folder: Path, kind: str, tokens: int, zone: bool) -> dict:
    """Load a pipeline, annotate ``tokens`` tokens, and measure time and memory."""
    texts = endless(json.loads((folder.parent / "texts.json").read_text(encoding="utf8")), kind)
    import spacy

    warnings.filterwarnings("ignore", message=".* has no sentence boundaries")
    spacy.blank("en")
    result = {"spaCy": memory()}
    start = time.process_time()
    nlp = spacy.load(folder)
    result["load"] = time.process_time() - start
    result["loaded"] = memory()
    start = time.process_time()
    nlp(next(texts))
    result["first"] = time.process_time() - start
    result["first Doc"] = memory()
    strings, count = len(nlp.vocab.strings), 0
    start = time.process_time()
    while count < tokens:
        with nlp.memory_zone() if zone else nullcontext():
            for doc in nlp.pipe(islice(texts, DOCS_IN_ZONE)):
                count += len(doc)
    result["seconds"] = time.process_time() - start
    result["end"] = memory()
    result["tokens"] = count
    result["strings"] = len(nlp.vocab.strings) - strings
    return result


def size(folder: Path) -> float:
    """The size of all files below a folder, in MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def show(folder: Path, name: str, results: dict[tuple[str, bool], dict]) -> None:
    from wasabi import msg

    msg.divider(name)
    sizes = ", ".join(
        f"{part} {size(folder / part):.1f} MB" for part in (*PIPELINES[name], "vocab")
    )
    msg.info(f"{size(folder):.1f} MB on disk: {sizes}")
    runs = [*results.values()]
    for key, title in (("load", "load time"), ("first", "time for the first Doc")):
        msg.info(f"{title}: {', '.join(f'{run[key]:.2f}' for run in runs)} s")
    stages = ("spaCy", "loaded", "first Doc")
    rows = [(stage, "", "", *(f"{runs[0][stage][k]:.0f}" for k in ("resident", "private")), "", "")
            for stage in stages]  # fmt: skip
    rows += [
        (
            f"{run['tokens']:,} tokens",
            kind,
            "yes" if zone else "no",
            *(f"{run['end'][k]:.0f}" for k in ("resident", "private")),
            f"{run['strings']:,}",
            f"{run['tokens'] / run['seconds']:,.0f}",
        )
        for (kind, zone), run in results.items()
    ]
    header = (
        "after",
        "text",
        "memory zone",
        "resident MB",
        "private MB",
        "new strings",
        "tokens/s",
    )
    msg.table(rows, header=header, aligns=("l", "l", "l", *"rrrr"), divider=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the treebank")
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=TEXTS, help=argparse.SUPPRESS)
    parser.add_argument("--zone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:  # before further imports, which would add to the memory measured
        print(json.dumps(measure(options.measure, options.kind, options.tokens, options.zone)))
        return
    if options.data is None:
        parser.error("--data is required: folder of the treebank")

    import peers

    from spacy_ssvm.commands.warmup import compile_kernels

    compile_kernels()
    with tempfile.TemporaryDirectory() as output:
        train(options.data, Path(output))
        for name in PIPELINES:
            folder = Path(output) / name
            results = {}
            for kind in TEXTS:
                for zone in (False, True):
                    arguments = ["--measure", str(folder), "--kind", kind]
                    arguments += ["--tokens", str(options.tokens), *(["--zone"] if zone else [])]
                    results[kind, zone] = peers.in_process(__file__, arguments)
            show(folder, name, results)


if __name__ == "__main__":
    main()
