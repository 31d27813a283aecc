"""Whether trained models and predictions are what they were, to the last bit.

    python benchmarks/identity.py --save before.json
    python benchmarks/identity.py --against before.json [--models] [--only parser mira]

Trains small components on a few hundred sentences of the Turkish Web Treebank, which comes with
the extra `demo`, and on assets/entities.jsonl, on one thread. Prints for each the seconds and the
first digits of up to four SHA-256 hashes:

    model        the arrays of the trained model, whatever their names
    predictions  what it writes to held-out Docs, and which templates a selection has kept
    scores       its scores of these Docs, to four digits
    selection    the templates that were kept, and the norms and gains of all

--against names the hashes that differ from saved ones, and fails where predictions do; with
--models also where models or selections do. Hashes hold for one machine and one set of installed
packages: save them before a change, and compare after it. The first run compiles kernels, which
takes minutes.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import minibatch
from wasabi import msg

import spacy_ssvm

ROOT = Path(__file__).parent.parent
CONVERTERS = {
    "turkish": ["scripts/convert_turkish_treebank.py"],
    "entities": ["scripts/convert_entities.py", "assets/entities.jsonl"],
}
DOCS = {  # to learn from, and held out; a Turkish one has ten sentences
    "turkish": {"train": 40, "dev": 20},
    "entities": {"train": 400, "dev": 100},
}
EPOCHS = 6
PACKAGES = ("numpy", "numba", "spacy", "scipy", "clarabel", "turkish-treebanks")
DIGITS = 16
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # their number decides on sums
HASHES = ("model", "predictions", "scores", "selection")
NONE = "-"  # in place of a hash


# Corpora


@cache
def corpus(name: str) -> dict[str, bytes]:
    """The parts of a corpus, each as the content of a .spacy file."""
    script, *arguments = CONVERTERS[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, script, *arguments, folder]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.stdout)
        return {part: (Path(folder) / f"{part}.spacy").read_bytes() for part in DOCS[name]}


def references(nlp: Language, name: str, part: str) -> list[Doc]:
    """The first Docs of a part, with their gold annotation."""
    docs = DocBin().from_bytes(corpus(name)[part]).get_docs(nlp.vocab)
    return list(docs)[: DOCS[name][part]]


def plain(doc: Doc, **annotations: Any) -> Doc:
    """The words of a Doc."""
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab, words=words, spaces=spaces, **annotations)


def with_sentences(doc: Doc, **annotations: Any) -> Doc:
    """The words and sentences of a Doc."""
    starts = [token.is_sent_start for token in doc]
    return plain(doc, sent_starts=starts, **annotations)


def with_tags(doc: Doc) -> Doc:
    """The words, sentences and tags of a Doc."""
    return with_sentences(doc, tags=[t.tag_ for t in doc], pos=[t.pos_ for t in doc])


def sentence_examples(nlp: Language, part: str) -> list[Example]:
    return [Example(plain(doc), doc) for doc in references(nlp, "turkish", part)]


def tag_examples(nlp: Language, part: str) -> list[Example]:
    return [Example(with_sentences(doc), doc) for doc in references(nlp, "turkish", part)]


def tree_examples(nlp: Language, part: str) -> list[Example]:
    return [Example(with_tags(doc), doc) for doc in references(nlp, "turkish", part)]


def entity_examples(nlp: Language, part: str) -> list[Example]:
    return [Example(plain(doc), doc) for doc in references(nlp, "entities", part)]


def chunk_examples(nlp: Language, part: str) -> list[Example]:
    """Entities as chunks."""
    examples = entity_examples(nlp, part)
    for example in examples:
        example.reference.spans["chunks"] = list(example.reference.ents)
    return examples


def partial_entity_examples(nlp: Language, part: str) -> list[Example]:
    """Of each three sentences, one is annotated, one to its half, of one only the entities.

    Held-out ones are given with their first entity.
    """
    examples = entity_examples(nlp, part)
    for i, example in enumerate(examples):
        predicted, reference = example.predicted, example.reference
        entities = list(reference.ents)
        if part != "train":
            given = [Span(predicted, e.start, e.end, e.label) for e in entities[:1]]
            predicted.set_ents(given, default="missing")
        elif i % 3 == 1:
            middle = len(reference) // 2
            reference.set_ents(
                [entity for entity in entities if entity.end <= middle],
                missing=[reference[middle:]],
            )
        elif i % 3 == 2:
            reference.set_ents(entities, default="missing")
    return examples


# Cases


@dataclass(frozen=True)
class Case:
    """A component to train, and on what."""

    factory: str
    examples: Callable[[Language, str], list[Example]]
    config: dict[str, Any] = field(default_factory=dict)
    initialize: dict[str, Any] = field(default_factory=dict)  #: as in a config
    epochs: int = EPOCHS
    batch_size: int | None = None  #: Docs; None for one batch
    needs: str | None = None  #: a package that is not always installed


def solver(name: str, **settings: Any) -> dict[str, Any]:
    return {"@misc": f"spacy_ssvm.{name}.v1", **settings}


def tagger(name: str, *, epochs: int = EPOCHS, needs: str | None = None, **settings: Any) -> Case:
    """A tagger that learns by a solver."""
    config = {"solver": solver(name, **settings)}
    return Case("ssvm_tagger", tag_examples, config, epochs=epochs, needs=needs)


def parser(**settings: Any) -> Case:
    """A parser with fewer weights than the default."""
    return Case("ssvm_parser", tree_examples, {"hash_bits": 18, **settings})


CRF = "DualCoordinateAscent"
GAZETTEERS = {
    kind: str(ROOT / "assets" / "gazetteers" / f"{kind}.txt")
    for kind in ("PER", "LOC", "ORG", "MISC")
}
SMALL = 0.005  # a C that bounds steps
MANY_TEMPLATES = ["tagger", "ngrams(lower, 3, 2)", "ngrams(shape, 3, 2)", "ngrams(suffix2, 3, 2)"]

CASES = {
    "tagger": Case("ssvm_tagger", tag_examples, {"min_count": 2}, batch_size=10),
    "tagger of hashed features, with costs": Case(
        "ssvm_tagger",
        tag_examples,
        {"hash_bits": 16, "costs": {"*": {"NN": 2.0}, "NN": {"*": 0.5}}},
    ),
    "senter": Case("ssvm_senter", sentence_examples),
    "ner": Case(
        "ssvm_ner",
        entity_examples,
        {"templates": ["ner", "ngrams(gazetteer, 2, 1)"]},
        {"gazetteers": GAZETTEERS},
    ),
    "ner of partial gold": Case("ssvm_ner", partial_entity_examples, epochs=15),
    "chunker": Case("ssvm_chunker", chunk_examples, {"scheme": "iob2", "threshold": 0.1}),
    "parser of second order": parser(),
    "parser of first order, crf": parser(order=1, solver=solver(CRF, C=0.02)),
    "parser, not projective": parser(order=1, projective=False),
    "parser, not projective, crf": parser(order=1, projective=False, solver=solver(CRF, C=0.02)),
    "selection of a tagger": Case(
        "ssvm_tagger",
        tag_examples,
        {"templates": MANY_TEMPLATES, "selection": solver("Selection", budget=20, prox_period=50)},
    ),
    "selection of ner, coarse to fine": Case(
        "ssvm_ner",
        entity_examples,
        {"selection": solver("Selection", budget=15, groups="coarse-to-fine")},
    ),
    "selection of a parser": parser(
        order=1, selection=solver("Selection", budget=20, prox_period=30, epochs=2)
    ),
    "dcd-light": tagger("DualCoordinateDescent", variant="light"),
    "cpd": tagger("DualCoordinateDescent", epochs=10, variant="cpd"),
    "perceptron": tagger("Perceptron"),
    "mira": tagger("Mira", C=SMALL),
    "mira, five best": tagger("KBestMira", C=SMALL, k=5),
    "frank-wolfe": tagger("FrankWolfe"),
    "frank-wolfe-pairwise": tagger("PairwiseFrankWolfe", C=SMALL),
    "sgd": tagger("StochasticGradient"),
    "crf": tagger(CRF),
    "softmax-margin": tagger(CRF, gamma=1.0),
    "lbfgs": tagger("LBFGS", needs="scipy", iterations=3),
    "cutting-plane": tagger("CuttingPlane", epochs=20, needs="clarabel"),
    "prox-grad": tagger("ProxGradient", strength=1e-4),
}


# Hashes


def hash_of(value: Any) -> str:
    """The hash of what can be written as JSON."""
    return hashlib.sha256(json.dumps(value).encode("utf8")).hexdigest()[:DIGITS]


def hash_of_arrays(arrays: Iterable[np.ndarray]) -> str:
    """The hash of types, shapes and contents, in an order that no name decides."""
    return hash_of(
        sorted(
            [array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest()]
            for array in arrays
        )
    )


def annotation(doc: Doc) -> list[Any]:
    """All that a component may have written."""
    tokens = [
        (t.tag_, t.pos_, t.head.i, t.dep_, t.ent_iob_, t.ent_type_, t.is_sent_start) for t in doc
    ]
    groups = {
        key: [(span.start, span.end, span.label_) for span in group]
        for key, group in sorted(doc.spans.items())
    }
    return [tokens, groups]


def run(case: Case) -> dict[str, Any]:
    """Train a component, and let it annotate: seconds and hashes."""
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(case.factory, config=case.config)
    nlp.config["initialize"]["components"][case.factory] = case.initialize
    examples = case.examples(nlp, "train")
    held_out = [example.predicted for example in case.examples(nlp, "dev")]
    start = time.perf_counter()
    nlp.initialize(lambda: examples)
    for _ in range(case.epochs):
        for batch in minibatch(examples, case.batch_size or len(examples)):
            pipe.update(batch)
    found = [annotation(doc) for doc in pipe.pipe(doc.copy() for doc in held_out)]
    scores = [np.round(pipe.scores(doc), 4) + 0.0 for doc in held_out]  # -0 is 0
    seconds = time.perf_counter() - start
    result = {
        "seconds": round(seconds, 2),
        "model": hash_of_arrays(pipe.model.arrays().values()),  # brought up to date by pipe()
        "predictions": hash_of(found),
        "scores": hash_of([of_doc.tolist() for of_doc in scores]),
        "selection": NONE,
    }
    if pipe.selected is not None:
        kept = pipe.selected.texts
        table = [(row.norm, row.gain) for row in pipe.selected.table]
        result |= {"predictions": hash_of([found, kept]), "selection": hash_of([kept, table])}
    return result


# What is printed and saved


def surroundings() -> dict[str, str]:
    """What else decides on the hashes."""
    found = {"machine": platform.machine(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = NONE
    return found


def columns(name: str, seconds: str, *hashes: str) -> str:
    """A line of the table."""
    name = name.ljust(max(map(len, CASES)))
    return "  ".join([name, f"{seconds:>7}", *(f"{text:<{DIGITS}}" for text in hashes)]).rstrip()


def chosen(names: Iterable[str], parts: Sequence[str] | None) -> list[str]:
    """The names that have one of these parts; all where none are given."""
    return [name for name in names if not parts or any(part in name for part in parts)]


def run_all(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Run cases, and print a line for each."""
    results = {}
    print(columns("case", "seconds", *HASHES))
    for name in names:
        needs = CASES[name].needs
        if needs is not None and find_spec(needs) is None:
            print(columns(name, NONE, f"needs {needs}"))
            continue
        result = results[name] = run(CASES[name])
        hashes = (result[key] for key in HASHES)
        print(columns(name, f"{result['seconds']:.2f}", *hashes), flush=True)
    print(columns("all", f"{sum(result['seconds'] for result in results.values()):.2f}"))
    return results


def compare(saved: dict[str, Any], results: dict[str, Any], judged: Sequence[str]) -> None:
    """Print which hashes differ from those saved; exits with 1 where any of those judged does."""
    for name, value in surroundings().items():
        if (before := saved["surroundings"].get(name, NONE)) != value:
            msg.warn(f"{name} is {value}, and was {before}: hashes may differ by that alone")
    compared = [name for name in results if name in saved["cases"]]
    for name in sorted(results.keys() ^ saved["cases"].keys()):
        msg.warn(f"{name} is not compared: it was {'not saved' if name in results else 'not run'}")
    broken = 0
    for name in compared:
        before, now = saved["cases"][name], results[name]
        differing = [key for key in HASHES if now[key] != before.get(key, NONE)]
        if differing:
            print(f"{name} differs in {', '.join(differing)}")
            broken += not set(differing).isdisjoint(judged)
    if not compared:
        msg.fail("There is no case to compare", exits=1)
    if broken:
        msg.fail(f"{broken} of {len(compared)} cases differ in {' or '.join(judged)}", exits=1)
    msg.good(f"{len(compared)} cases with the same {' and '.join(judged)}")


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--save", type=Path, metavar="FILE", help="where to write the result")
    arguments.add_argument("--against", type=Path, metavar="FILE", help="a result to compare with")
    arguments.add_argument("--models", action="store_true", help="models must be the same, too")
    arguments.add_argument("--only", nargs="+", metavar="NAME", help="parts of the names of cases")
    options = arguments.parse_args()
    names = chosen(CASES, options.only)
    if not names:
        arguments.error(f"no case has such a name: there are {'; '.join(CASES)}")
    if not THREADS.items() <= os.environ.items():
        environment = {**os.environ, **THREADS}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)
    saved = options.against and srsly.read_json(options.against)
    msg.info(f"spacy_ssvm in {Path(spacy_ssvm.__file__).parent}")
    results = run_all(names)
    if options.save:
        srsly.write_json(options.save, {"surroundings": surroundings(), "cases": results})
    if options.against:
        judged = ("predictions", "model", "selection") if options.models else ("predictions",)
        cases = {name: saved["cases"][name] for name in chosen(saved["cases"], options.only)}
        compare({**saved, "cases": cases}, results, judged)


if __name__ == "__main__":
    main()
