"""Part-of-speech tagging of UD English-EWT: this package and its peers, in one run.

    python benchmarks/tagger.py --data FOLDER [--tags XPOS UPOS] [--skip crfsuite-lbfgs ...]

FOLDER holds en_ewt-ud-{train,dev,test}.conllu. Gold tokens; one sentence a Doc. Systems:

    ssvm-C      ssvm_tagger with its default templates, for C in 0.01, 0.03, 0.1, 0.3
    crfsuite-*  python-crfsuite on the same features, averaged perceptron and L-BFGS
    spacy       spaCy's own tagger, as `init config` sets it up, given ten times the time
    train       `spacy train configs/tagger.cfg`, its time broken down

Each system runs in a process of its own, on one thread; kernels are compiled before.
Needs the extra `bench`. L-BFGS on 49 tags takes a quarter of an hour.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import spacy
import srsly
from spacy.cli.init_config import init_config
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from spacy.util import minibatch
from wasabi import msg

from spacy_ssvm.components.linear_pipe import LinearPipe
from spacy_ssvm.components.warmup import compile_kernels
from spacy_ssvm.features.attributes import ATTRIBUTES, TYPE_ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.training import Training

CONFIG = Path(__file__).parent.parent / "configs" / "tagger.cfg"
EPOCHS = 15
STRENGTHS = (0.01, 0.03, 0.1, 0.3)
SPEED_ROUNDS = 5

Sentences = list[tuple[list[str], list[str]]]


def read(data: Path, part: str, tags: str) -> Sentences:
    """Words and tags of each sentence."""
    column = {"UPOS": 3, "XPOS": 4}[tags]
    sentences = []
    text = (data / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
    for block in text.strip().split("\n\n"):
        tokens = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
        tokens = [columns for columns in tokens if columns[0].isdigit()]
        sentences.append(([c[1] for c in tokens], [c[column] for c in tokens]))
    return sentences


def examples_of(nlp: spacy.Language, sentences: Sentences) -> list[Example]:
    return [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        for words, tags in sentences
    ]


def accuracy(predicted: list[list[str]], sentences: Sentences) -> float:
    pairs = [
        pair
        for found, (_, tags) in zip(predicted, sentences, strict=True)
        for pair in zip(found, tags, strict=True)
    ]
    return 100 * sum(a == b for a, b in pairs) / len(pairs)


def annotate(pipe, nlp: spacy.Language, sentences: Sentences) -> tuple[list[list[str]], float]:
    """Tags, and tokens a second from tokenized Docs to set tags."""
    docs = [Doc(nlp.vocab, words=words) for words, _ in sentences]
    start = time.perf_counter()
    tagged = list(pipe.pipe(docs, batch_size=1000))
    seconds = time.perf_counter() - start
    return [[t.tag_ for t in doc] for doc in tagged], sum(map(len, docs)) / seconds


def tagging_speed(pipe, nlp: spacy.Language, sentences: Sentences) -> float:
    rates = sorted(annotate(pipe, nlp, sentences)[1] for _ in range(SPEED_ROUNDS))
    return rates[SPEED_ROUNDS // 2]


def saved(nlp: spacy.Language, name: str) -> dict[str, float]:
    """Size of the component and the time to load it."""
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        files = [f for f in (Path(folder) / name).rglob("*") if f.is_file()]
        fresh = spacy.blank("en").from_config(nlp.config)
        start = time.perf_counter()
        fresh.get_pipe(name).from_disk(Path(folder) / name, exclude=["vocab"])
        load = time.perf_counter() - start
        return {"MB": sum(f.stat().st_size for f in files) / 1e6, "load": 1000 * load}


def run_ssvm(data: Path, tags: str, C: float) -> dict:
    train, dev, test = (read(data, part, tags) for part in ("train", "dev", "test"))
    nlp = spacy.blank("en")
    solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": C}
    tagger = nlp.add_pipe("ssvm_tagger", config={"solver": solver})
    examples = examples_of(nlp, train)
    start = time.perf_counter()
    nlp.initialize(lambda: examples)
    prepare = time.perf_counter() - start

    learning = [0.0]
    epoch = Training.epoch

    def timed(self, numbers):
        begin = time.perf_counter()
        loss = epoch(self, numbers)
        learning[0] += time.perf_counter() - begin
        return loss

    Training.epoch = timed
    curve, update = [], 0.0
    for _ in range(EPOCHS):
        start = time.perf_counter()
        losses = tagger.update(examples)
        update += time.perf_counter() - start
        score = accuracy(annotate(tagger, nlp, dev)[0], dev)
        curve.append((learning[0], score, losses["ssvm_tagger_gap"]))
    return {
        "dev": curve[-1][1],
        "test": accuracy(annotate(tagger, nlp, test)[0], test),
        "features": prepare + update - learning[0],
        "learning": learning[0],
        "speed": tagging_speed(tagger, nlp, test),
        "curve": curve,
        **saved(nlp, "ssvm_tagger"),
    }


def feature_strings(words: list[str], templates) -> list[list[str]]:
    """The features of the default templates, as text: what python-crfsuite is given."""
    values = {
        attribute: [TYPE_ATTRIBUTES[attribute](word) for word in words]
        for attribute in {part.attribute for t in templates for part in t.parts}
    }
    sentence = []
    for t in range(len(words)):
        features = []
        for template in templates:
            found = []
            for part in template.parts:
                place = t + part.offset
                if place < 0:
                    found.append(f"<{place}")
                elif place >= len(words):
                    found.append(f">{place - len(words)}")
                else:
                    found.append(values[part.attribute][place])
            if None not in found:
                features.append(f"{template}={'+'.join(found)}")
        sentence.append(features)
    return sentence


def run_crfsuite(data: Path, tags: str, algorithm: str) -> dict:
    import pycrfsuite

    train, dev, test = (read(data, part, tags) for part in ("train", "dev", "test"))
    templates = parse_templates(["tagger"], is_attribute=is_attribute, attributes=ATTRIBUTES)
    settings = {
        "crfsuite-ap": ("ap", {"max_iterations": 20}),
        "crfsuite-lbfgs": ("lbfgs", {"c2": 0.1, "max_iterations": 100}),
    }
    name, parameters = settings[algorithm]
    trainer = pycrfsuite.Trainer(algorithm=name, params=parameters, verbose=False)
    start = time.perf_counter()
    for words, gold in train:
        trainer.append(feature_strings(words, templates), gold)
    prepare = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        start = time.perf_counter()
        trainer.train(str(file))
        learning = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        start = time.perf_counter()
        tagger.open(str(file))
        load = time.perf_counter() - start
        scores = {}
        for part, sentences in (("dev", dev), ("test", test)):
            start = time.perf_counter()
            found = [tagger.tag(feature_strings(words, templates)) for words, _ in sentences]
            seconds = time.perf_counter() - start
            scores[part] = accuracy(found, sentences)
        return {
            **scores,
            "features": prepare,
            "learning": learning,
            "speed": sum(len(words) for words, _ in test) / seconds,
            "MB": file.stat().st_size / 1e6,
            "load": 1000 * load,
        }


def run_spacy(data: Path, tags: str, budget: float) -> dict:
    train, dev, test = (read(data, part, tags) for part in ("train", "dev", "test"))
    config = init_config(lang="en", pipeline=["tagger"], optimize="efficiency", gpu=False)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    examples = examples_of(nlp, train)
    optimizer = nlp.initialize(lambda: examples)
    random.seed(0)
    start = time.perf_counter()
    while time.perf_counter() - start < budget:
        random.shuffle(examples)
        for batch in minibatch(examples, size=64):
            nlp.update(batch, sgd=optimizer, drop=0.1)
            if time.perf_counter() - start >= budget:
                break
    learning = time.perf_counter() - start

    class Whole:
        """tok2vec and tagger as one, to be timed as one."""

        def pipe(self, docs, batch_size):
            return nlp.pipe(docs, batch_size=batch_size)

    sizes = [saved(nlp, name) for name in nlp.pipe_names]
    return {
        "dev": accuracy(annotate(Whole(), nlp, dev)[0], dev),
        "test": accuracy(annotate(Whole(), nlp, test)[0], test),
        "features": 0.0,
        "learning": learning,
        "speed": tagging_speed(Whole(), nlp, test),
        "MB": sum(size["MB"] for size in sizes),
        "load": sum(size["load"] for size in sizes),
    }


def run_train(data: Path, tags: str) -> dict:
    """`spacy train`, with the time inside the learner and inside the evaluation."""
    spent = {"learner": 0.0, "evaluation": 0.0, "saving": 0.0}

    def timed(owner: type, method: str, key: str) -> None:
        plain = getattr(owner, method)

        def call(*args, **kwargs):
            start = time.perf_counter()
            result = plain(*args, **kwargs)
            spent[key] += time.perf_counter() - start
            return result

        setattr(owner, method, call)

    timed(LinearPipe, "update", "learner")
    timed(spacy.Language, "evaluate", "evaluation")
    timed(spacy.Language, "to_disk", "saving")
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for part in ("train", "dev"):
            nlp = spacy.blank("en")
            docs = [example.reference for example in examples_of(nlp, read(data, part, tags))]
            paths[f"paths.{part}"] = f"{folder}/{part}.spacy"
            DocBin(docs=docs).to_disk(paths[f"paths.{part}"])
        config = spacy.util.load_config(
            CONFIG,
            overrides={
                **paths,
                "corpora.train.gold_preproc": True,
                "corpora.dev.gold_preproc": True,
                "training.max_epochs": EPOCHS,
                "training.patience": 0,
            },
        )
        start = time.perf_counter()
        nlp = init_nlp(config)
        initialize = time.perf_counter() - start
        (Path(folder) / "out").mkdir()
        train_nlp(nlp, Path(folder) / "out")
        total = time.perf_counter() - start
    rest = total - initialize - sum(spent.values())
    return {**spent, "initialize": initialize, "corpus and loop": rest, "total": total}


SYSTEMS = {
    **{f"ssvm-{C}": lambda data, tags, _, C=C: run_ssvm(data, tags, C) for C in STRENGTHS},
    "crfsuite-ap": lambda data, tags, _: run_crfsuite(data, tags, "crfsuite-ap"),
    "crfsuite-lbfgs": lambda data, tags, _: run_crfsuite(data, tags, "crfsuite-lbfgs"),
    "spacy": run_spacy,
    "train": lambda data, tags, _: run_train(data, tags),
}


def in_process(system: str, data: Path, tags: str, budget: float) -> dict:
    """Run one system in a process of its own; adds the peak of its memory."""
    command = [sys.executable, __file__, "--data", str(data), "--tags", tags]
    command += ["--only", system, "--budget", str(budget)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    output = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return json.loads(output.strip().split("\n")[-1])


def show(tags: str, results: dict[str, dict]) -> None:
    columns = ("dev", "test", "features", "learning", "speed", "MB", "load", "peak")
    header = ("system", "dev %", "test %", "features s", "learning s", "tokens/s", "MB")
    rows = [
        (name, *(f"{result[c]:,.0f}" if result[c] >= 1000 else f"{result[c]:.2f}" for c in columns))
        for name, result in results.items()
        if "dev" in result
    ]
    msg.divider(f"UD English-EWT, {tags}")
    msg.table(rows, header=(*header, "load ms", "peak MB"), aligns=("l", *"rrrrrrrr"), divider=True)
    ours = max((r for n, r in results.items() if n.startswith("ssvm")), key=lambda r: r["dev"])
    if lbfgs := results.get("crfsuite-lbfgs"):
        reached = [seconds for seconds, score, _ in ours["curve"] if score >= lbfgs["dev"]]
        if reached:
            ratio = lbfgs["learning"] / reached[0]
            msg.info(f"CRFsuite's L-BFGS accuracy reached in {reached[0]:.1f} s: 1/{ratio:.0f}")
        else:
            msg.warn("CRFsuite's L-BFGS accuracy not reached")
    if peer := results.get("spacy"):
        msg.info(f"tagging: {ours['speed'] / peer['speed']:.0f} times spaCy's tagger")
    if parts := results.get("train"):
        msg.divider("spacy train, seconds")
        msg.table([(key, f"{value:.1f}") for key, value in parts.items()], aligns=("l", "r"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the treebank")
    parser.add_argument("--tags", nargs="+", default=["XPOS", "UPOS"], choices=["XPOS", "UPOS"])
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument("--output", type=Path, help="a folder for the figures, as JSON")
    parser.add_argument("--only", choices=[*SYSTEMS], help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.only:
        result = SYSTEMS[options.only](options.data, options.tags[0], options.budget)
        result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print("\n" + json.dumps(result))
        return
    for tags in options.tags:
        results: dict[str, dict] = {}
        for system in SYSTEMS:
            if system in options.skip:
                continue
            msg.info(f"{tags}: {system}")
            times = [r["features"] + r["learning"] for n, r in results.items() if "ssvm" in n]
            results[system] = in_process(system, options.data, tags, 10 * max(times, default=0))
        show(tags, results)
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            srsly.write_json(options.output / f"tagger-{tags}.json", results)


if __name__ == "__main__":
    main()
