"""How the time and memory of training a tagger grow with the corpus.

    python benchmarks/growth.py --data FOLDER [--words 10000 100000 1000000 10000000]
        [--threads 1] [--block 1] [--epochs 3] [--seed 0] [--work FOLDER] [--output FOLDER]

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu. Its 204,577 words are a model of longer text: each
word, or end of a sentence, is one that follows the last three words of the sentence in the corpus,
or, for one word in ten, the last word alone. Lines say how many sentences are copies. New text also
has new words: one in four of those that occur once in the corpus gets the first half of another
one. Tags (XPOS) are those of an ssvm_tagger after five epochs: they have fewer exceptions than
those of people, and leave less to learn. The same seed makes the same text, which --work keeps for
other runs. Smaller corpora are its beginning, to the next ten thousand words.

Each number of words and of threads has a process of its own. As with `max_epochs = -1`, spaCy's
reader reads the corpus anew in each epoch, a Doc of gold tokens for each sentence, of which a
thousand at a time go to `update`. Figures are those of the last epoch, in wall time:

    kept        examples in memory: equal sentences are one, unless they meet in a batch
    peak MB     above what the process had before, with kernels loaded: the arrays of weights,
                constraints and features, see `training_memory`, copies of those that become longer,
                new strings, two batches, and what identifies examples
    rows        features; each has weights for the labels that it meets, together the entries of w

Beneath are the exponents of growth, the slopes of logarithms by least squares. --output writes
growth.json and growth.svg, and needs the extra `bench`. Ten million words take a minute to make,
five to learn, and 2.2 GB of memory. Linux only.
"""

import argparse
import gc
import json
import multiprocessing
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import peers
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from training_memory import FILES, read_examples
from wasabi import msg

import spacy_ssvm
from spacy_ssvm.commands.warmup import Use, compile_for

KERNELS = Use("tagger", "ssvm_tagger", {})
WORDS = (10_000, 100_000, 1_000_000, 10_000_000)
ORDERS = (3, 1)  # words that the next one depends on: usually, and for some words
SOME = 0.1
FRESH = 0.25  # of the words that occur once in the corpus
TAGGER_EPOCHS = 5
SHARD = 10_000  # words, in a file
BATCH = 1000  # Docs

#: The columns of the table, and how numbers are written.
COLUMNS = {
    **dict.fromkeys(("threads", "words", "sentences", "kept"), ",d"),
    **dict.fromkeys(("update s", "reading s"), ".2f"),
    **dict.fromkeys(("words/s", "peak MB", "weights", "constraints", "features"), ",.0f"),
    **dict.fromkeys(("rows", "entries of w"), ",d"),
}
Result = dict[str, Any]


def contexts(sentences: Sequence[Sequence[str]], order: int) -> list[list[int]]:
    """For each word, all those in the corpus that end the same words, up to ``order`` of them."""
    same: dict[tuple[str, ...], list[int]] = defaultdict(list)
    found: list[list[int]] = []
    for sentence in sentences:
        for end in range(1, len(sentence) + 1):
            ends = same[tuple(sentence[max(end - order, 0) : end])]
            ends.append(len(found))
            found.append(ends)
    return found


def sample(docs: Sequence[Doc], seed: int) -> Iterator[tuple[list[str], list[bool]]]:
    """The words of sentences, and whether there is a space after each, without end."""
    sentences = [["", *(token.text for token in doc)] for doc in docs]
    texts = [*chain.from_iterable(sentences), ""]  # "" begins a sentence, and ends the one before
    spaces = [bool(s) for doc in docs for s in ("", *(token.whitespace_ for token in doc))]
    usual, other = (contexts(sentences, order) for order in ORDERS)
    counts = Counter(texts)
    rare = [text for text in counts if counts[text] == 1 and text.isalpha()]
    is_rare, draw = set(rare), random.Random(seed).random
    while True:
        i, words, after = 0, [], []
        while True:
            ends = (other if draw() < SOME else usual)[i]
            i = ends[int(draw() * len(ends))] + 1
            text = texts[i]
            if not text:
                break
            if text in is_rare and draw() < FRESH:
                front = rare[int(draw() * len(rare))]
                text = front[: len(front) // 2] + text[len(text) // 2 :]
            words.append(text)
            after.append(spaces[i])
        yield words, after


def write_text(data: Path, folder: Path, words: int, seed: int) -> Result:
    """Write text to files of SHARD words each; return the labels, and facts about the text."""
    compile_for(KERNELS)
    nlp = spacy.blank("en")
    examples = read_examples(nlp, data / FILES["en"], parts=0)
    tagger: Any = nlp.add_pipe("ssvm_tagger")
    tagger.initialize(lambda: examples, nlp=nlp)
    for _ in range(TAGGER_EPOCHS):
        tagger.update(examples)
    tagger.end_training()
    docs = [example.reference for example in examples]
    sentences = {tuple(token.text for token in doc) for doc in docs}
    known = set(chain.from_iterable(sentences))
    start = time.perf_counter()
    facts: Counter[str] = Counter()
    made = (Doc(nlp.vocab, words=text, spaces=after) for text, after in sample(docs, seed))
    tagged = tagger.pipe(made, batch_size=BATCH)
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(-(-words // SHARD)):
        docbin = DocBin(attrs=["TAG"])
        while facts["words"] < SHARD * (shard + 1):
            doc = next(tagged)
            docbin.add(doc)
            found = tuple(token.text for token in doc)
            facts.update(words=len(found), sentences=1)
            facts["fresh"] += sum(word not in known for word in found)
            if found in sentences:
                facts.update({"copies": 1, "copied words": len(found)})
        docbin.to_disk(folder / f"{shard:06}.spacy")
    seconds = time.perf_counter() - start
    result = {**facts, "labels": tagger.labels, "seconds": seconds}
    (folder / "text.json").write_text(json.dumps(result), encoding="utf8")  # it is complete
    return result


def read(nlp: Language, folder: Path, words: int) -> Iterator[Example]:
    """The first words of the text, as spaCy's reader gives them."""
    for shard in range(-(-words // SHARD)):
        yield from Corpus(folder / f"{shard:06}.spacy", gold_preproc=True)(nlp)


def measure(
    folder: Path, labels: list[str], words: int, threads: int, block: int, epochs: int
) -> Result:
    """Train on the first words; return a row of the table."""
    spacy_ssvm.set_threads(threads)
    compile_for(KERNELS)
    nlp = spacy.blank("en")
    solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "block": block}
    pipe: Any = nlp.add_pipe("ssvm_tagger", config={"solver": solver})
    pipe.initialize(lambda: read(nlp, folder, words), nlp=nlp, labels=labels)
    gc.collect()
    gc.freeze()  # going through all modules again takes longer than an epoch of a small corpus
    before = peers.forget_peak()
    for _ in range(epochs):
        seconds = {"reading s": 0.0, "update s": 0.0}
        counts = {"words": 0, "sentences": 0}
        examples = read(nlp, folder, words)
        start = time.perf_counter()
        while batch := list(islice(examples, BATCH)):
            middle = time.perf_counter()
            pipe.update(batch)
            end = time.perf_counter()
            seconds["reading s"] += middle - start
            seconds["update s"] += end - middle
            counts["words"] += sum(len(example.reference) for example in batch)
            counts["sentences"] += len(batch)
            start = time.perf_counter()
    peak = peers.peak_of_memory() - before
    trainer, _ = pipe.featurize([])
    rows = trainer.number_of_rows
    memory = {part: size / 1e6 for part, size in pipe.training_memory().items()}
    return {
        "threads": threads,
        **counts,
        **seconds,
        "words/s": counts["words"] / sum(seconds.values()),
        "epoch s": sum(seconds.values()),
        "peak MB": peak,
        **memory,
        "kept": trainer.problem.number_of_examples,
        "rows": rows,
        "entries of w": trainer.problem.number_of_weights(rows),
    }


def exponent(rows: Sequence[Result], column: str) -> float:
    """The power of words that a column grows with."""
    words, values = (np.log([row[name] for row in rows]) for name in ("words", column))
    return float(np.polyfit(words, values, 1)[0])


def show(results: dict[int, list[Result]]) -> None:
    rows = [
        tuple(format(row[column], form) for column, form in COLUMNS.items())
        for of_threads in results.values()
        for row in of_threads
    ]
    msg.table(rows, header=tuple(COLUMNS), divider=True, aligns=tuple("r" * len(COLUMNS)))
    for threads, of_threads in results.items():
        if len(of_threads) > 1:
            shown = (
                f"{column} {exponent(of_threads, column):.2f}"
                for column in ("epoch s", "update s", "reading s", "peak MB")
            )
            msg.info(f"exponents, {threads} thread{'s' * (threads > 1)}: {', '.join(shown)}")


def draw(results: dict[int, list[Result]], file: Path) -> None:
    """A plot of time and memory against words."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from spacy_ssvm.commands.figures import COLOURS, SETTINGS, as_svg

    with rc_context(SETTINGS):
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        labels = {"epoch s": "seconds an epoch", "peak MB": "peak memory of training, MB"}
        for axes, (column, label) in zip(figure.subplots(1, 2), labels.items(), strict=True):
            for (threads, rows), (colour, _) in zip(results.items(), COLOURS, strict=False):
                words = [row["words"] for row in rows]
                values = [row[column] for row in rows]
                name = f"{threads} thread{'s' * (threads > 1)}"
                axes.loglog(words, values, marker="o", color=colour, label=name)
            words, first = [row["words"] for row in rows], next(iter(results.values()))[0]
            line = [first[column] * number / first["words"] for number in words]
            axes.loglog(words, line, color="grey", linestyle=":", label="in proportion")
            axes.set(xlabel="words", ylabel=label)
            axes.legend()
        file.write_text(as_svg(figure), encoding="utf8")


def run(options: argparse.Namespace, work: Path) -> None:
    context = multiprocessing.get_context("spawn")
    folder = work / f"{max(options.words)}-words-seed-{options.seed}"
    if (folder / "text.json").exists():
        text = json.loads((folder / "text.json").read_text(encoding="utf8"))
    else:
        msg.info(f"making {max(options.words):,} words")
        arguments: Any = options.data, folder, max(options.words), options.seed
        with context.Pool(1) as pool:
            text = pool.apply(write_text, arguments)
    msg.info(
        f"{text['copies'] / text['sentences']:.1%} of the sentences, with "
        f"{text['copied words'] / text['words']:.1%} of the words, are sentences of the corpus; "
        f"{text['fresh'] / text['words']:.1%} of the words are not in the corpus; made at "
        f"{text['words'] / text['seconds']:,.0f} words/s"
    )
    results: dict[int, list[Result]] = {threads: [] for threads in options.threads}
    for words in sorted(options.words):
        for threads in options.threads:
            arguments = folder, text["labels"], words, threads, options.block, options.epochs
            with context.Pool(1) as pool:
                results[threads].append(row := pool.apply(measure, arguments))
            msg.info(", ".join(f"{name} {row[name]:{form}}" for name, form in COLUMNS.items()))
    show(results)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "growth.json").write_text(json.dumps(results, indent=2))
        draw(results, options.output / "growth.svg")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument("--words", type=int, nargs="+", default=WORDS, help="of each corpus")
    parser.add_argument("--threads", type=int, nargs="+", default=(1,))
    parser.add_argument("--block", type=int, default=1, help="of the solver, for threads to share")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of the text")
    parser.add_argument("--work", type=Path, help="folder in which to keep the text")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON, and a plot")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(options, options.work or Path(folder))


if __name__ == "__main__":
    main()
