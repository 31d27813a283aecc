"""Part-of-speech tagging of UD English-EWT: ssvm_tagger, CRFsuite and spaCy.

    python benchmarks/tagger.py --data FOLDER [--tags XPOS UPOS] [--skip crfsuite-lbfgs ...]

FOLDER contains en_ewt-ud-{train,dev,test}.conllu. Gold tokens, one sentence per Doc. Systems:

    ssvm-C      ssvm_tagger with its default templates, for C in 0.01, 0.03, 0.1, 0.3
    crfsuite-*  python-crfsuite on the same features, averaged perceptron and L-BFGS
    spacy       spaCy's tagger from `init config`, trained for ten times the time of ssvm
    train       `spacy train configs/tagger.cfg`, with a breakdown of its time

With --strong:

    strong      ssvm_tagger with the word clusters of spacy-lookups-data
    tensor      the same, which also reads the tensor of the tok2vec of spaCy's small English
                pipeline; "tokens/s" includes the tok2vec

With --in-turn: only the speed of ssvm_tagger, trained for ten epochs, and of spaCy's tagger from
`init config`, from tokenized Docs to tags, in turn in one process, and the ratios. The weights of
spaCy's are random: its speed does not depend on them.

With --calibration: solvers with probabilities, with accuracy, mean probability and expected
calibration error on dev, in %.

Each system runs in a separate process on one thread, with precompiled kernels. Requires the extra
`bench`. L-BFGS on 49 tags takes a quarter of an hour.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import peers
import spacy
import srsly
from spacy.lookups import Lookups, load_lookups
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from wasabi import msg

from spacy_ssvm.chains.training import ChainTrainer
from spacy_ssvm.commands.warmup import compile_kernels
from spacy_ssvm.components.pipe import Pipe

CONFIG = Path(__file__).parent.parent / "configs" / "tagger.cfg"
EPOCHS = 15
ROUNDS = 9
STRENGTHS = (0.01, 0.03, 0.1, 0.3)


def read(data: Path, part: str, tags: str) -> peers.Labelled:
    """Words and tags of each sentence."""
    column = {"UPOS": 3, "XPOS": 4}[tags]
    sentences = []
    text = (data / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
    for block in text.strip().split("\n\n"):
        tokens = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
        tokens = [columns for columns in tokens if columns[0].isdigit()]
        sentences.append(([c[1] for c in tokens], [c[column] for c in tokens]))
    return sentences


def examples_of(nlp: spacy.Language, sentences: peers.Labelled) -> list[Example]:
    return [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        for words, tags in sentences
    ]


def accuracy(predicted: list[list[str]], sentences: peers.Labelled) -> float:
    pairs = [
        pair
        for found, (_, tags) in zip(predicted, sentences, strict=True)
        for pair in zip(found, tags, strict=True)
    ]
    return 100 * sum(a == b for a, b in pairs) / len(pairs)


def tagged_accuracy(pipe, nlp: spacy.Language, sentences: peers.Labelled) -> float:
    docs = pipe.pipe([Doc(nlp.vocab, words=words) for words, _ in sentences], batch_size=1000)
    return accuracy([[token.tag_ for token in doc] for doc in docs], sentences)


def run_ssvm(
    data: Path, tags: str, *, clusters: Lookups | None = None, tensor: bool = False, **solver
) -> dict:
    train, dev, test = (read(data, part, tags) for part in ("train", "dev", "test"))
    nlp = spacy.blank("en")
    solver = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", **solver}
    settings = {"templates": ["tagger", "tensor[0]"] if tensor else ["tagger"], "solver": solver}
    examples = examples_of(nlp, train)
    if tensor:
        peers.add_tensor(nlp, [example.predicted for example in examples])
    tagger = nlp.add_pipe("ssvm_tagger", config=settings)
    pipe = nlp if tensor else tagger
    learning = peers.Timer(ChainTrainer, "epoch")
    everything = peers.Timer(Pipe, "update")
    start = time.perf_counter()
    tagger.initialize(lambda: examples, nlp=nlp, clusters=clusters)
    initialize = time.perf_counter() - start
    curve = []
    for _ in range(EPOCHS):
        losses = tagger.update(examples)
        dev_accuracy = tagged_accuracy(pipe, nlp, dev)
        curve.append((learning.seconds, dev_accuracy, losses.get("ssvm_tagger_gap")))
    known = {}
    if tagger.model.beta is not None:
        docs = [Doc(nlp.vocab, words=words) for words, _ in dev]
        known = peers.token_calibration(tagger, docs, [labels for _, labels in dev])
    return {
        **known,
        "dev": curve[-1][1],
        "test": tagged_accuracy(pipe, nlp, test),
        "features": initialize + everything.seconds - learning.seconds,
        "learning": learning.seconds,
        "speed": peers.tagging_speed(pipe, nlp, test),
        "curve": curve,
        **peers.saved(nlp, "ssvm_tagger"),
    }


def run_crfsuite(data: Path, tags: str, system: str) -> dict:
    templates = peers.default_templates("tagger")
    parts = {part: read(data, part, tags) for part in ("dev", "test")}
    return peers.run_crfsuite(system, templates, read(data, "train", tags), parts, accuracy)


def run_spacy(data: Path, tags: str, budget: float) -> dict:
    train, dev, test = (read(data, part, tags) for part in ("train", "dev", "test"))
    nlp, learning = peers.train_spacy(["tagger"], examples_of(spacy.blank("en"), train), budget)
    sizes = [peers.saved(nlp, name) for name in nlp.pipe_names]
    return {
        "dev": tagged_accuracy(nlp, nlp, dev),
        "test": tagged_accuracy(nlp, nlp, test),
        "features": 0.0,
        "learning": learning,
        "speed": peers.tagging_speed(nlp, nlp, test),
        "MB": sum(size["MB"] for size in sizes),
        "load": sum(size["load"] for size in sizes),
    }


def run_train(data: Path, tags: str) -> dict:
    """`spacy train`, with the time spent in training, evaluation and saving."""
    timers = {
        "training": peers.Timer(Pipe, "update"),
        "evaluation": peers.Timer(spacy.Language, "evaluate"),
        "saving": peers.Timer(spacy.Language, "to_disk"),
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for part in ("train", "dev"):
            nlp = spacy.blank("en")
            docs = [example.reference for example in examples_of(nlp, read(data, part, tags))]
            paths[f"paths.{part}"] = f"{folder}/{part}.spacy"
            DocBin(docs=docs).to_disk(paths[f"paths.{part}"])
        settings = {
            **paths,
            "corpora.train.gold_preproc": True,
            "corpora.dev.gold_preproc": True,
            "training.max_epochs": EPOCHS,
            "training.patience": 0,
        }
        start = time.perf_counter()
        nlp = init_nlp(spacy.util.load_config(CONFIG, overrides=settings))
        initialize = time.perf_counter() - start
        (Path(folder) / "out").mkdir()
        train_nlp(nlp, Path(folder) / "out")
        total = time.perf_counter() - start
    spent = {name: timer.seconds for name, timer in timers.items()}
    rest = total - initialize - sum(spent.values())
    return {**spent, "initialize": initialize, "corpus and loop": rest, "total": total}


def time_in_turn(data: Path, tags: str) -> None:
    """Show the speed of both taggers, and their ratio in each round."""
    train, test = read(data, "train", tags), read(data, "test", tags)
    ours = spacy.blank("en")
    ours.add_pipe("ssvm_tagger")
    examples = examples_of(ours, train)
    ours.initialize(lambda: examples)
    for _ in range(10):
        ours.update(examples)
    theirs, _ = peers.train_spacy(["tagger"], examples, 0.0)
    rounds = [
        [peers.tagging_speed(nlp, nlp, test) for nlp in (ours, theirs)] for _ in range(ROUNDS + 1)
    ]
    ratios = sorted(own / other for own, other in rounds[1:])
    rates = [f"{median(rates):,.0f}" for rates in zip(*rounds[1:], strict=True)]
    msg.table(
        [("ssvm_tagger", rates[0]), ("spaCy's tagger", rates[1])],
        header=("tagger", "tokens/s"),
        aligns=("l", "r"),
        divider=True,
    )
    spread = f"{ratios[0]:.1f} to {ratios[-1]:.1f} in {ROUNDS} rounds"
    msg.info(f"{median(ratios):.1f} times as fast ({spread})")


SYSTEMS = {
    **{f"ssvm-{C}": lambda data, tags, _, C=C: run_ssvm(data, tags, C=C) for C in STRENGTHS},
    "crfsuite-ap": lambda data, tags, _: run_crfsuite(data, tags, "crfsuite-ap"),
    "crfsuite-lbfgs": lambda data, tags, _: run_crfsuite(data, tags, "crfsuite-lbfgs"),
    "spacy": run_spacy,
    "train": lambda data, tags, _: run_train(data, tags),
}
STRONG = {
    name: lambda data, tags, _, name=name: run_ssvm(
        data, tags, clusters=load_lookups("en", ["lexeme_cluster"]), tensor=name == "tensor"
    )
    for name in ("strong", "tensor")
}
PROBABLE = {
    name: lambda data, tags, _, solver=solver: run_ssvm(data, tags, **solver)
    for name, solver in peers.PROBABLE.items()
}
EVERYTHING = {**SYSTEMS, **STRONG, **PROBABLE}


def show(tags: str, results: dict[str, dict]) -> None:
    peers.show(f"UD English-EWT, {tags}, accuracy in %", results)
    peers.show_calibration(results)
    ours = max(
        (r for n, r in results.items() if n.startswith("ssvm")),
        key=lambda r: r["dev"],
        default=None,
    )
    if ours is None:
        return
    if lbfgs := results.get("crfsuite-lbfgs"):
        reached = [seconds for seconds, score, _ in ours["curve"] if score >= lbfgs["dev"]]
        if reached:
            ratio = lbfgs["learning"] / reached[0]
            msg.info(
                f"CRFsuite's L-BFGS accuracy reached in {reached[0]:.1f} s, {ratio:.0f} x faster"
            )
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
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument("--tags", nargs="+", default=["XPOS", "UPOS"], choices=["XPOS", "UPOS"])
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument("--strong", action="store_true", help="add ssvm_tagger with clusters")
    parser.add_argument("--calibration", action="store_true", help="add solvers with probabilities")
    parser.add_argument("--in-turn", action="store_true", help="only time ours and spaCy's in turn")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON")
    parser.add_argument("--only", choices=[*EVERYTHING], help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.in_turn:
        time_in_turn(options.data, options.tags[0])
        return
    if options.only:
        system = EVERYTHING[options.only]
        peers.print_result(system(options.data, options.tags[0], options.budget))
        return
    asked = [system for system in SYSTEMS if system not in options.skip]
    asked += [*STRONG] * options.strong + [*PROBABLE] * options.calibration
    for tags in options.tags:
        results: dict[str, dict] = {}
        for system in asked:
            msg.info(f"{tags}: {system}")
            times = [r["features"] + r["learning"] for n, r in results.items() if "ssvm" in n]
            budget = str(10 * max(times, default=0))
            arguments = ["--data", str(options.data), "--tags", tags, "--only", system]
            results[system] = peers.in_process(__file__, [*arguments, "--budget", budget])
        show(tags, results)
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            if options.calibration:
                peers.plot_reliability("tokens", results, options.output / f"tagger-{tags}.png")
            srsly.write_json(options.output / f"tagger-{tags}.json", results)


if __name__ == "__main__":
    main()
