"""Memory per sentence when components are trained on a streamed corpus.

    python benchmarks/streaming.py --data FOLDER

FOLDER contains en_ewt-ud-train.conllu. The corpus is read again in each of two epochs, as with
`max_epochs = -1`, with one sentence per Doc (ten for ssvm_senter); runs of proper nouns serve as
entities. Each component runs in a separate process. Memory is that of the process at the end of an
epoch; memory per sentence is its growth over the second half of the first epoch, including weights
of new features. Linux only.
"""

import argparse
import gc
import multiprocessing
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.util import minibatch
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels

COMPONENTS = ("ssvm_tagger", "ssvm_senter", "ssvm_ner", "ssvm_parser")
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


def measure(name: str, file: Path) -> dict[str, float]:
    data = corpus_bytes(file, 10 if name == "ssvm_senter" else 1)
    nlp = spacy.blank("en")
    nlp.add_pipe(name)
    nlp.initialize(lambda: stream(nlp, data))
    docs = len(DocBin().from_bytes(data))
    half = docs // 2
    sentences, seen, found = [0, 0], 0, []
    for epoch in range(2):
        for batch in minibatch(stream(nlp, data), BATCH_SIZE):
            seen += len(batch)
            if seen > half and not found:
                found.append(megabytes())
            if epoch == 0:
                sentences[len(found)] += sum(len(list(eg.reference.sents)) for eg in batch)
            nlp.update(batch)
        del batch
        found.append(megabytes())
    middle, first, second = found
    return {
        "sentences": sum(sentences),
        "KB per sentence": (first - middle) * 1e3 / sentences[1],
        "MB after one epoch": first,
        "MB after two epochs": second,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument(
        "--component", choices=COMPONENTS, action="append", help="only this component; repeatable"
    )
    arguments = parser.parse_args()
    compile_kernels()
    file = arguments.data / "en_ewt-ud-train.conllu"
    rows = []
    context = multiprocessing.get_context("spawn")
    for name in arguments.component or COMPONENTS:
        with context.Pool(1) as pool:
            found = pool.apply(measure, (name, file))
        rows.append((name, *(f"{value:,.0f}" for value in found.values())))
        header = ("component", *found)
    msg.table(rows, header=header, divider=True, aligns=tuple(chain("l", "r" * len(found))))


if __name__ == "__main__":
    main()
