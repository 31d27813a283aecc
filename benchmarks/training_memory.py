"""Peak memory and time of training taggers, a parser and a pipeline.

    python benchmarks/training_memory.py --data FOLDER [--rows ROW ...] [--epochs 10] [--parts 2]
        [--types 200]

FOLDER contains ud_en_ewt and ud_pt_bosque with the files of the treebanks. The rows:

    en          an ssvm_tagger, XPOS of English-EWT
    pt          an ssvm_tagger, of the first 57,000 tokens of Portuguese-Bosque the part of speech
                and features as one label, which is divided at random into so many parts
    characters  an ssvm_tagger of the characters of English-EWT, ten sentences together: whether a
                sentence or a token begins
    spans       an ssvm_ner, of the first 57,000 tokens of English-EWT the runs of nouns, whose
                type, one of so many, the first word decides
    trees       an ssvm_parser, English-EWT with gold tags and parts of speech
    pipeline    configs/pipeline.cfg without entities on English-EWT, as spacy train trains it

Components learn from gold tokens and sentences, the whole corpus in each update. Memory is the peak
of training above what spaCy and the corpus take, kernels included; the speed is that of annotating
the same Docs afterwards, by a component. Times are CPU times, with compiled kernels in the cache.
Linux only.
"""

import argparse
import multiprocessing
import random
import resource
import tempfile
import time
import zlib
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

import spacy
from host import convert
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config
from streaming import megabytes
from wasabi import msg

FILES = {
    "en": "ud_en_ewt/en_ewt-ud-train.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-train.conllu",
}
ROWS = ("en", "pt", "characters", "spans", "trees", "pipeline")
CONFIG = Path("configs/pipeline.cfg")
COMPONENTS = ["tagger", "morphologizer", "senter", "parser", "lemmatizer"]
_TOKENS = 57_000  # of Portuguese, and of spans


def peak() -> float:
    """The peak memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def read_examples(nlp: spacy.Language, file: Path, parts: int) -> list[Example]:
    """Sentences with tags and trees; with parts, tags are parts of speech and features, divided."""
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
        arcs = {"heads": [t.head.i for t in doc], "deps": [t.dep_ for t in doc]}
        pos = [t.pos_ for t in doc]
        gold = Doc(nlp.vocab, words=words, spaces=spaces, tags=tags, pos=pos, **arcs)
        examples.append(Example(Doc(nlp.vocab, words=words, spaces=spaces), gold))
    return examples


def read_characters(nlp: spacy.Language, file: Path) -> list[Example]:
    """Docs of single characters, tagged as the first of a sentence, of a token, or as others."""
    examples = []
    for doc in conllu_to_docs(file.read_text(encoding="utf8"), n_sents=10, no_print=True):
        tags = ["inside"] * len(doc.text)
        for token in doc:
            tags[token.idx] = "sentence" if token.is_sent_start else "token"
        words, spaces = list(doc.text), [False] * len(doc.text)
        gold = Doc(nlp.vocab, words=words, spaces=spaces, tags=tags)
        examples.append(Example(Doc(nlp.vocab, words=words, spaces=spaces), gold))
    return examples


def read_spans(nlp: spacy.Language, file: Path, types: int) -> list[Example]:
    """Sentences with runs of nouns as entities, whose first word decides which type they have."""
    examples, words = [], 0
    for example in read_examples(nlp, file, 0):
        gold, spans = example.reference, []
        for is_noun, run in groupby(gold, lambda token: token.tag_.startswith("NN")):
            tokens = list(run)
            if is_noun:
                number = zlib.crc32(tokens[0].lower_.encode()) % types
                spans.append(Span(gold, tokens[0].i, tokens[-1].i + 1, label=f"T{number}"))
        gold.set_ents(spans, default="outside")
        examples.append(example)
        words += len(gold)
        if words > _TOKENS:
            break
    return examples


def measure(row: str, data: Path, arguments: argparse.Namespace, epochs: int) -> tuple[Any, ...]:
    """A row of the table: a component."""
    language = "pt" if row == "pt" else "en"
    nlp = spacy.blank(language)
    file = data / FILES[language]
    if row == "characters":
        examples = read_characters(nlp, file)
    elif row == "spans":
        examples = read_spans(nlp, file, arguments.types)
    else:
        examples = read_examples(nlp, file, arguments.parts if row == "pt" else 0)
    if row == "trees":
        for example in examples:
            for token, gold in zip(example.predicted, example.reference, strict=True):
                token.tag, token.pos = gold.tag, gold.pos
    factories = {"trees": "ssvm_parser", "spans": "ssvm_ner"}
    pipe: Any = nlp.add_pipe(factories.get(row, "ssvm_tagger"))
    before = megabytes()
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
    if row == "trees":
        for doc in docs:
            doc[0].is_sent_start = True
    list(nlp.pipe(doc.copy() for doc in docs[:100]))
    start = time.process_time()
    list(nlp.pipe(docs))
    speed = tokens / (time.process_time() - start)
    counts = f"{tokens:,}", len(pipe.labels)
    return row, *counts, f"{found:.0f}", *sizes, f"{seconds:.1f}", f"{speed:,.0f}"


def measure_pipeline(data: Path, epochs: int) -> tuple[Any, ...]:
    """A row of the table: a pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        overrides: dict[str, Any] = convert(data / "ud_en_ewt", Path(folder), 10)
        overrides |= {"nlp.pipeline": COMPONENTS, "training.max_epochs": epochs}
        overrides["training.patience"] = 0
        vocab = spacy.blank("en").vocab
        files = (overrides[f"paths.{part}"] for part in ("train", "dev"))
        corpus = [doc for file in files for doc in DocBin().from_disk(file).get_docs(vocab)]
        before, tokens = megabytes(), sum(map(len, corpus))
        del corpus
        nlp = init_nlp(load_config(CONFIG, overrides=overrides))
        start = time.process_time()
        train(nlp, None, stdout=StringIO())
        seconds = time.process_time() - start
    found = f"{peak() - before:.0f}", "", "", "", f"{seconds:.1f}", ""
    return "pipeline", f"{tokens:,}", "", *found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=["en", "pt"])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--types", type=int, default=200)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    rows = []
    for row in arguments.rows:
        for epochs in (1, arguments.epochs):  # the first run compiles the kernels
            with context.Pool(1) as pool:
                if row == "pipeline":
                    found = pool.apply(measure_pipeline, (arguments.data, epochs))
                else:
                    found = pool.apply(measure, (row, arguments.data, arguments, epochs))
        rows.append(found)
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
    msg.table(rows, header=("row", *columns), divider=True, aligns=["l"] + ["r"] * 8)


if __name__ == "__main__":
    main()
