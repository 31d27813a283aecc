"""Memory and accuracy when components are trained on a streamed corpus.

    python benchmarks/streaming.py --data FOLDER
    python benchmarks/streaming.py --data FOLDER --memory 0 60 30

FOLDER contains en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu. The first is read again in each of
two epochs, as with `max_epochs = -1`, with one sentence per Doc (ten for ssvm_senter); runs of
proper nouns serve as entities. Each component runs in a separate process. Memory is that of the
process at the end of an epoch; memory per sentence is its growth over the second half of the first
epoch, including weights of new features. With --memory, each component is trained with each bound
in MB, 0 for none: see the setting `memory`. Scores are those of the development part, with gold
tokens (and gold sentences, without tags, for all but ssvm_senter). Linux only.
"""

import argparse
import gc
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.util import minibatch
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels

#: The components, and their scores.
COMPONENTS = {
    "ssvm_tagger": "tag_acc",
    "ssvm_senter": "sents_f",
    "ssvm_ner": "ents_f",
    "ssvm_parser": "dep_las",
}
BATCH_SIZE = 100


def corpus_bytes(file: Path, sentences: int) -> bytes:
    """The training corpus as a .spacy file."""
    docs = list(conllu_to_docs(file.read_text(encoding="utf8"), n_sents=sentences, no_print=True))
    for doc in docs:
        inside = [token.pos_ == "PROPN" for token in doc]
        starts = [i for i, now in enumerate(inside) if now and not (i and inside[i - 1])]
        ends = [i for i, now in enumerate([*inside, False]) if not now and i and inside[i - 1]]
        doc.set_ents([Span(doc, a, b, "NAME") for a, b in zip(starts, ends, strict=True)])
    return DocBin(docs=docs, attrs=["HEAD", "DEP", "TAG", "POS", "ENT_IOB", "ENT_TYPE"]).to_bytes()


def stream(nlp: spacy.Language, data: bytes) -> Iterator[Example]:
    for doc in DocBin().from_bytes(data).get_docs(nlp.vocab):
        words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
        yield Example(Doc(nlp.vocab, words=words, spaces=spaces), doc)


def megabytes() -> float:
    """The memory of this process in MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure(name: str, folder: Path, memory: int) -> dict[str, float]:
    sentences_in_doc = 10 if name == "ssvm_senter" else 1
    data, dev = (
        corpus_bytes(folder / f"en_ewt-ud-{part}.conllu", sentences_in_doc)
        for part in ("train", "dev")
    )
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(name, config={"memory": memory or None})
    nlp.initialize(lambda: stream(nlp, data))
    docs = len(DocBin().from_bytes(data))
    half = docs // 2
    sentences, seen, found, scores = [0, 0], 0, [], []
    most, seconds = 0, 0.0
    for epoch in range(2):
        for batch in minibatch(stream(nlp, data), BATCH_SIZE):
            seen += len(batch)
            if seen > half and not found:
                found.append(megabytes())
            if epoch == 0:
                sentences[len(found)] += sum(len(list(eg.reference.sents)) for eg in batch)
            start = time.perf_counter()
            nlp.update(batch)
            seconds += time.perf_counter() - start
            most = max(most, sum(pipe.training_memory().values()))
        del batch
        found.append(megabytes())
        scores.append(100 * nlp.evaluate(list(stream(nlp, dev)))[COMPONENTS[name]])
    middle, first, second = found
    return {
        "sentences": sum(sentences),
        "KB per sentence": (first - middle) * 1e3 / sentences[1],
        "MB after one epoch": first,
        "MB after two": second,
        "MB of training": most / 1e6,
        "seconds": seconds,
        "score after one": scores[0],
        "score after two": scores[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument("--memory", type=int, nargs="+", default=[0], help="in MB, 0 for no bound")
    parser.add_argument(
        "--component", choices=COMPONENTS, action="append", help="only this component; repeatable"
    )
    arguments = parser.parse_args()
    compile_kernels()
    rows = []
    context = multiprocessing.get_context("spawn")
    for name in arguments.component or COMPONENTS:
        for memory in arguments.memory:
            with context.Pool(1) as pool:
                found = pool.apply(measure, (name, arguments.data, memory))
            decimals = [2 if "score" in key else 0 for key in found]
            cells = [f"{value:,.{n}f}" for value, n in zip(found.values(), decimals, strict=True)]
            rows.append((name, f"{memory} MB" if memory else "none", *cells))
    header = ("component", "memory", *found)
    msg.table(rows, header=header, divider=True, aligns=("l", *"r" * (len(header) - 1)))


if __name__ == "__main__":
    main()
