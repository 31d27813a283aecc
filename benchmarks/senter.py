"""Sentence boundaries of UD English-EWT: ssvm_senter and spaCy's senter.

    python benchmarks/senter.py --data FOLDER [--budget SECONDS]

FOLDER contains en_ewt-ud-{train,dev,test}.conllu. There are two forms of the text:

    tokens  gold tokens, ten sentences per Doc, as made by `spacy convert -n 10`
    text    complete documents with empty lines between paragraphs, tokenized by spaCy

    ssvm    ssvm_senter
    strong  the same with the English clusters of spacy-lookups-data
    spacy   spaCy's senter from `init config`

Each system runs in a separate process on one thread. spaCy's senter from `init config` is trained
for --budget seconds, by default ten times the time of ssvm_senter.
"""

import argparse
import time
from pathlib import Path

import peers
import spacy
from spacy.lookups import load_lookups
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels

EPOCHS = 12
FORMS = ("tokens", "text")
SYSTEMS = ("ssvm", "strong", "spacy")


def references(data: Path, part: str, form: str) -> list[Doc]:
    text = (data / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
    if form == "tokens":
        return list(conllu_to_docs(text, n_sents=10, no_print=True))
    documents: list[list[Doc]] = []
    blocks = text.strip().split("\n\n")
    for block, sentence in zip(blocks, conllu_to_docs(text, n_sents=1, no_print=True), strict=True):
        if "# newdoc" in block:
            documents.append([])
        elif "# newpar" in block:
            documents[-1].append(Doc(sentence.vocab, words=["\n\n"], spaces=[False]))
        documents[-1].append(sentence)
    return [joined(sentences) for sentences in documents]


def joined(sentences: list[Doc]) -> Doc:
    """Sentences and the whitespace between them as one Doc."""
    tokens = [token for sentence in sentences for token in sentence]
    return Doc(
        sentences[0].vocab,
        words=[token.text for token in tokens],
        spaces=[bool(token.whitespace_) for token in tokens],
        sent_starts=[token.i == 0 and not token.text.isspace() for token in tokens],
    )


def examples_of(nlp: spacy.Language, docs: list[Doc], form: str) -> list[Example]:
    if form == "text":
        return [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    return [
        Example(
            Doc(nlp.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]),
            doc,
        )
        for doc in docs
    ]


def run(system: str, form: str, data: Path, budget: float) -> dict:
    parts = {part: references(data, part, form) for part in ("train", "dev", "test")}
    nlp = spacy.blank("en")
    examples = examples_of(nlp, parts["train"], form)
    if system != "spacy":
        senter = nlp.add_pipe("ssvm_senter")
        start = time.perf_counter()
        lookups = load_lookups("en", ["lexeme_cluster"]) if system == "strong" else None
        senter.initialize(lambda: examples, nlp=nlp, clusters=lookups)
        for _ in range(EPOCHS):
            nlp.update(examples)
        learning = time.perf_counter() - start
    else:
        nlp, learning = peers.train_spacy(["senter"], examples, budget)
    scores = {p: nlp.evaluate(examples_of(nlp, parts[p], form)) for p in ("dev", "test")}
    keys = ("sents_f", "sents_p", "sents_r")
    return {
        "learning": learning,
        **{f"{part} {key[-1]}": 100 * found[key] for part, found in scores.items() for key in keys},
        "MB": sum(peers.saved(nlp, name)["MB"] for name in nlp.pipe_names),
        "speed": peers.annotation_speed(
            nlp, lambda: [e.predicted for e in examples_of(nlp, parts["test"], form)]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument("--budget", type=float, help="training seconds of spaCy's senter")
    parser.add_argument("--only", nargs=2, metavar=("SYSTEM", "FORM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.only:
        peers.print_result(run(*options.only, options.data, options.budget or 0.0))
        return
    rows = []
    for form in FORMS:
        budget = options.budget
        for system in SYSTEMS:
            arguments = ["--data", str(options.data), "--only", system, form]
            result = peers.in_process(__file__, [*arguments, "--budget", str(budget or 0.0)])
            budget = budget or 10 * result["learning"]
            header = ("form", "system", *result)
            rows.append((form, system, *(f"{value:,.1f}" for value in result.values())))
    msg.table(rows, header=header, aligns=("l", "l", *"r" * (len(header) - 2)), divider=True)


if __name__ == "__main__":
    main()
