"""Named entities: this package and its peers on three corpora, in one run.

    python benchmarks/ner.py --data FOLDER [--corpora en pt wnut17] [--skip spacy ...]

FOLDER holds uner_en_ewt, uner_pt_bosque and wnut17, as their publishers release them.
Entity F1 by exact match. Systems, each in a process of its own, on one thread, with kernels
compiled before:

    ssvm        ssvm_ner with its default templates, scheme and C
    crfsuite-*  python-crfsuite on the same features and scheme
    spacy       spaCy's own ner, as `init config` sets it up, given twenty times the time
    without ... ssvm_ner less one family of templates (with --ablation)

Needs the extra `bench`.
"""

import argparse
import time
from pathlib import Path

import peers
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob, iob_to_biluo
from wasabi import msg

from spacy_ssvm.components.columns import make_doc, read_sentences
from spacy_ssvm.components.linear_pipe import LinearPipe
from spacy_ssvm.components.warmup import compile_kernels
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.training import Training

EPOCHS = 10
CORPORA = {
    "en": ("uner_en_ewt/en_ewt-ud-{}.iob2", {"word": 1, "span": 2}),
    "pt": ("uner_pt_bosque/pt_bosque-ud-{}.iob2", {"word": 1, "span": 2}),
    "wnut17": ("wnut17/{}.conll", {"word": 0, "span": 1}),
}
FAMILIES = {
    "affixes": ("prefix", "suffix"),
    "shapes": ("shape", "case", "digits", "hyphen", "punctuation", "length"),
    "context": (),
}


def read(data: Path, corpus: str, part: str) -> peers.Labelled:
    """Words and BILUO tags of each sentence."""
    file, columns = CORPORA[corpus]
    path = data / file.format(part)
    vocab = spacy.blank("en").vocab
    docs = (make_doc(vocab, path, sentence, **columns) for sentence in read_sentences(path))
    return [
        (
            [token.text for token in doc],
            iob_to_biluo([f"{t.ent_iob_}-{t.ent_type_}".rstrip("-") for t in doc]),
        )
        for doc in docs
    ]


def examples_of(nlp: spacy.Language, sentences: peers.Labelled) -> list[Example]:
    return [
        Example(
            Doc(nlp.vocab, words=words),
            Doc(nlp.vocab, words=words, ents=biluo_to_iob(labels)),
        )
        for words, labels in sentences
    ]


def spans_of(labels: list[str]) -> set[tuple[int, int, str]]:
    """The spans of a label sequence, which need not be legal."""
    spans, start = set(), None
    for i, label in enumerate([*labels, "O"]):
        tag, _, kind = label.partition("-")
        if start is not None and (tag not in "IL" or kind != labels[start][2:]):
            spans.add((start, i, labels[start][2:]))
            start = None
        if start is None and tag != "O":
            start = i
        if tag in "LU" and start is not None:
            spans.add((start, i + 1, kind))
            start = None
    return spans


def f1(predicted: list[list[str]], sentences: peers.Labelled) -> float:
    right = found = gold = 0
    for labels, (_, gold_labels) in zip(predicted, sentences, strict=True):
        ours, theirs = spans_of(labels), spans_of(gold_labels)
        right, found, gold = right + len(ours & theirs), found + len(ours), gold + len(theirs)
    return 200 * right / (found + gold) if found + gold else 0.0


def tagged_f1(pipe, nlp: spacy.Language, sentences: peers.Labelled) -> float:
    docs = pipe.pipe([Doc(nlp.vocab, words=words) for words, _ in sentences], batch_size=1000)
    labels = [
        iob_to_biluo([f"{t.ent_iob_}-{t.ent_type_}".rstrip("-") for t in doc]) for doc in docs
    ]
    return f1(labels, sentences)


def default_templates() -> tuple[Template, ...]:
    return parse_templates(["ner"], is_attribute=is_attribute, attributes=ATTRIBUTES)


def without(family: str) -> list[str]:
    """The default templates less a family; 'context' leaves those at the token itself."""
    return [
        str(template)
        for template in default_templates()
        if not any(
            part.offset != 0 if family == "context" else part.attribute.startswith(FAMILIES[family])
            for part in template.parts
        )
    ]


def run_ssvm(data: Path, corpus: str, templates: list[str]) -> dict:
    train, dev, test = (read(data, corpus, part) for part in ("train", "dev", "test"))
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("ssvm_ner", config={"templates": templates})
    examples = examples_of(nlp, train)
    learning = peers.Timer(Training, "epoch")
    everything = peers.Timer(LinearPipe, "update")
    start = time.perf_counter()
    nlp.initialize(lambda: examples)
    initialize = time.perf_counter() - start
    for _ in range(EPOCHS):
        ner.update(examples)
    return {
        "dev": tagged_f1(ner, nlp, dev),
        "test": tagged_f1(ner, nlp, test),
        "features": initialize + everything.seconds - learning.seconds,
        "learning": learning.seconds,
        "speed": peers.tagging_speed(ner, nlp, test),
        **peers.saved(nlp, "ssvm_ner"),
    }


def run_crfsuite(data: Path, corpus: str, system: str) -> dict:
    parts = {part: read(data, corpus, part) for part in ("dev", "test")}
    train = read(data, corpus, "train")
    return peers.run_crfsuite(system, default_templates(), train, parts, f1)


def run_spacy(data: Path, corpus: str, budget: float) -> dict:
    train, dev, test = (read(data, corpus, part) for part in ("train", "dev", "test"))
    nlp, learning = peers.train_spacy("ner", examples_of(spacy.blank("en"), train), budget)
    sizes = [peers.saved(nlp, name) for name in nlp.pipe_names]
    return {
        "dev": tagged_f1(nlp, nlp, dev),
        "test": tagged_f1(nlp, nlp, test),
        "features": 0.0,
        "learning": learning,
        "speed": peers.tagging_speed(nlp, nlp, test),
        "MB": sum(size["MB"] for size in sizes),
        "load": sum(size["load"] for size in sizes),
    }


SYSTEMS = {
    "ssvm": lambda data, corpus, _: run_ssvm(data, corpus, ["ner"]),
    "crfsuite-ap": lambda data, corpus, _: run_crfsuite(data, corpus, "crfsuite-ap"),
    "crfsuite-lbfgs": lambda data, corpus, _: run_crfsuite(data, corpus, "crfsuite-lbfgs"),
    "spacy": run_spacy,
}
ABLATION = {
    f"without {family}": lambda data, corpus, _, family=family: run_ssvm(
        data, corpus, without(family)
    )
    for family in FAMILIES
}


def show(corpus: str, results: dict[str, dict]) -> None:
    peers.show(f"{corpus}, entity F1", results)
    ours = results["ssvm"]
    if lbfgs := results.get("crfsuite-lbfgs"):
        ratio = lbfgs["learning"] / ours["learning"]
        msg.info(f"learning in 1/{ratio:.0f} of the time of CRFsuite's L-BFGS")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the corpora")
    parser.add_argument("--corpora", nargs="+", default=[*CORPORA], choices=[*CORPORA])
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument("--ablation", action="store_true", help="leave out families of templates")
    parser.add_argument("--output", type=Path, help="a folder for the figures, as JSON")
    parser.add_argument("--only", choices=[*SYSTEMS, *ABLATION], help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.only:
        system = (SYSTEMS | ABLATION)[options.only]
        peers.print_result(system(options.data, options.corpora[0], options.budget))
        return
    for corpus in options.corpora:
        results: dict[str, dict] = {}
        for system in (*SYSTEMS, *(ABLATION if options.ablation else ())):
            if system in options.skip:
                continue
            msg.info(f"{corpus}: {system}")
            ours = results.get("ssvm", {"features": 0.0, "learning": 0.0})
            budget = str(20 * (ours["features"] + ours["learning"]))
            arguments = ["--data", str(options.data), "--corpora", corpus, "--only", system]
            results[system] = peers.in_process(__file__, [*arguments, "--budget", budget])
        show(corpus, results)
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            srsly.write_json(options.output / f"ner-{corpus}.json", results)


if __name__ == "__main__":
    main()
