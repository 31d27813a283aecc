"""Template selection: accuracy, memory and time by method and budget.

    python benchmarks/selection.py --data FOLDER [--tasks ner tagger morphologizer parser]
        [--methods all ...] [--sentences 1000] [--prox-period 30] [--hash-bits 25]

FOLDER contains uner_en_ewt, ud_en_ewt and, for the morphologizer, ud_pt_bosque. Tasks:

    ner       Universal NER English, F1: the 452 templates of Martins et al. 2011, with UPOS tags
              predicted by ssvm_tagger (jackknifed in train)
    tagger    XPOS of UD English-EWT, accuracy: 116 templates of words, affixes and shapes
    morphologizer
              MORPH of UD Portuguese-Bosque, accuracy: the templates of the family ``tagger``
    parser    heads of UD English-EWT, UAS of all tokens: the 684 arc templates of ``parser684``,
              order 1, with gold tags and lemmas. Uses the first 1,000 sentences of train by default
              (``--sentences``), since selection takes a second per 60 sentences, and 2**25 rows
              (``--hash-bits``), so that few features collide. For all of train, use
              ``--sentences 20000 --hash-bits 27``

Proximal steps are made every 1,000, 2,000, 1,000 and 30 examples, respectively
(``--prox-period``).

Each combination of method and budget runs in a separate process on one thread, with precompiled
kernels. The methods are:

    all                 no selection
    group-lasso, coarse-to-fine, lasso, information-gain

The component is then trained from scratch on the selected templates with the default solver. Memory
is the increase of the peak memory of the process during selection, or during feature extraction and
training. Requires the extra `bench`.
"""

import argparse
import gc
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import morphology
import ner
import parser
import peers
import spacy
import srsly
import tagger
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels
from spacy_ssvm.lab.search import ALL, METHODS

EPOCHS = 8
_AFFIXES = ("suffix1", "suffix2", "suffix3", "prefix1", "prefix2", "prefix3")
_WARM_UP = 40  # sentences


class Task(NamedTuple):
    component: str
    score: str
    templates: list[str]
    budgets: tuple[int, ...]
    prox_period: int  #: examples between proximal steps
    sentences: int | None  #: number of training sentences; None for all
    settings: dict


TASKS = {
    "ner": Task("ssvm_ner", "ents_f", ["ner452"], (50, 100, 200), 1000, None, {}),
    "tagger": Task(
        "ssvm_tagger",
        "tag_acc",
        [
            *("tagger", "ngrams(lower, 3, 2)", "ngrams(shape, 3, 2)", "ngrams(case_class, 3, 2)"),
            *(f"ngrams({affix}, 2, 2)" for affix in _AFFIXES),
            *("ngrams(punctuation, 2, 2)", "ngrams(length_class, 2, 1)"),
            *("suffix1[-1]+suffix1[0]+suffix1[1]", "suffix2[-1]+suffix2[0]+suffix2[1]"),
        ],
        (30, 50, 60),
        2000,
        None,
        {},
    ),
    "morphologizer": Task(
        *("ssvm_morphologizer", "morph_acc", ["tagger"], (18, 25, 32), 1000, None, {}),
    ),
    "parser": Task(
        *("ssvm_parser", "dep_uas", ["parser684"], (100, 200, 300), 30, 1000),
        {"order": 1, "hash_bits": 25},
    ),
}
PREPARE = "corpora"
SCORES = ("dev", "test")
FIGURES = ("templates", "features", "selecting", "selection MB", "learning", "learning MB", "speed")
HEADER = ("method", *SCORES, *FIGURES[:2], "selection s", "MB", "training s", "MB", "tokens/s")


def prepare(data: Path, task: str, sentences: int | None, folder: Path) -> dict:
    """Write the corpora of a task: input Docs and gold annotations."""
    nlp = spacy.blank("en")
    if task == "tagger":
        source = data / "ud_en_ewt"
        parts = {p: tagger.examples_of(nlp, tagger.read(source, p, "XPOS")) for p in ner.PARTS}
    elif task == "morphologizer":
        found = morphology.read(data, "pt")
        parts = {part: morphology.examples_of(nlp, found[part]) for part in ner.PARTS}
    elif task == "parser":
        parts = {
            part: [Example(analysed(nlp, doc), doc) for doc in parser.read(data, "en", part)]
            for part in ner.PARTS
        }
    else:
        gold = {part: ner.read(data, "en", part) for part in ner.PARTS}
        docs = {part: ner.docs_of(nlp, gold[part]) for part in ner.PARTS}
        ner.add_tags(nlp, data / ner.TREEBANKS["en"], docs)
        parts = {part: ner.examples_of(docs[part], gold[part]) for part in ner.PARTS}
    parts["train"] = parts["train"][:sentences]
    for part, examples in parts.items():
        for side in ("predicted", "reference"):
            corpus = DocBin(docs=[getattr(example, side) for example in examples])
            corpus.to_disk(folder / f"{part}-{side}.spacy")
    return {}


def analysed(nlp: spacy.Language, doc: Doc) -> Doc:
    """Words, tags, lemmas and sentences of a Doc."""
    found = parser.tagged(nlp, doc)
    for token, gold in zip(found, doc, strict=True):
        token.lemma_ = gold.lemma_
    return found


def read(folder: Path, vocab: Vocab) -> dict[str, list[Example]]:
    """The examples of train, dev and test."""
    parts = {}
    for part in ner.PARTS:
        endpoints = (f"{part}-{side}.spacy" for side in ("predicted", "reference"))
        docs = (DocBin().from_disk(folder / side).get_docs(vocab) for side in endpoints)
        parts[part] = [Example(*pair) for pair in zip(*docs, strict=True)]
    return parts


def run(folder: Path, task: Task, method: str, budget: int) -> dict:
    """Select templates, train and score."""
    component, score, templates, _, prox_period, _, others = task
    settings = None
    if method != ALL:
        settings = {"@misc": "spacy_ssvm.Selection.v1", "budget": budget}
        settings |= {"prox_period": prox_period, **METHODS[method]}
    nlp = spacy.blank("en")
    parts = read(folder, nlp.vocab)
    config = {"templates": templates, "selection": settings, **others}
    few = parts["train"][:_WARM_UP]
    warm = nlp.add_pipe(component, name="warm", config=config)
    warm.initialize(lambda: few)
    warm.update(few)
    list(warm.pipe(example.predicted.copy() for example in few))
    nlp.remove_pipe("warm")
    del warm
    gc.collect()
    pipe = nlp.add_pipe(component, config=config)

    before, start = peers.forget_peak(), time.process_time()
    pipe.initialize(lambda: parts["train"])
    selecting, selected = time.process_time() - start, peers.peak_of_memory()
    start = time.process_time()
    for _ in range(EPOCHS):
        pipe.update(parts["train"])
    learning, learned = time.process_time() - start, peers.peak_of_memory()
    result = {
        "templates": len(pipe.model.templates),
        "selecting": 0.0 if settings is None else selecting,
        "selection MB": 0.0 if settings is None else selected - before,
        "learning": learning,
        "learning MB": max(learned, selected) - before,
        "speed": peers.annotation_speed(pipe, lambda: copies(parts["test"])),
        "kept": [str(template) for template in pipe.model.templates],
    }
    for part in SCORES:
        examples = parts[part]
        docs = pipe.pipe(copies(examples), batch_size=1000)
        found = [Example(doc, e.reference) for doc, e in zip(docs, examples, strict=True)]
        if component == "ssvm_parser":  # spaCy's scorer ignores punctuation
            docs = [example.predicted for example in found]
            result[part] = parser.attachment(docs, [e.reference for e in found])[0]
        else:
            result[part] = 100 * pipe.score(found)[score]
    result["features"] = pipe.model.number_of_rows  # known after training
    return result


def run_all(task: str, methods: list[str], arguments: list[str]) -> dict[str, dict]:
    """The result of each method and budget, in processes with these arguments."""
    with tempfile.TemporaryDirectory() as folder:

        def start(method: str, budget: int) -> dict:
            msg.info(f"{task}: {method} {budget or ''}")
            return peers.in_process(__file__, [*arguments, "--only", method, str(budget), folder])

        start(PREPARE, 0)
        results = {}
        for method in methods:
            for budget in (0,) if method == ALL else TASKS[task].budgets:
                name = method if method == ALL else f"{method} {budget}"
                results[name] = start(method, budget)
        return results


def adjust(task: Task, options: argparse.Namespace) -> Task:
    """A task with the options of the command line."""
    changes = {name: getattr(options, name) for name in ("sentences", "prox_period")}
    task = task._replace(**{name: value for name, value in changes.items() if value is not None})
    if options.hash_bits is None:
        return task
    return task._replace(settings=task.settings | {"hash_bits": options.hash_bits})


def copies(examples: list[Example]) -> list[Doc]:
    """Copies of the input Docs with their existing annotations."""
    return [example.predicted.copy() for example in examples]


def show(task: str, results: dict[str, dict]) -> None:
    rows = [
        (
            name,
            *(f"{result[part]:.2f}" for part in SCORES),
            *(f"{result[figure]:,.0f}" for figure in FIGURES),
        )
        for name, result in results.items()
    ]
    msg.divider(task)
    msg.table(rows, header=HEADER, aligns=("l", *"r" * len(HEADER[1:])), divider=True)
    if ALL not in results:
        return
    baseline = results[ALL]
    rows = [
        (
            name,
            *(f"{result[part] - baseline[part]:+.2f}" for part in SCORES),
            f"{result['features'] / baseline['features']:.1%}",
            f"{result['selection MB'] / baseline['learning MB']:.1%}",
            f"{result['speed'] / baseline['speed']:.1f}",
        )
        for name, result in results.items()
        if name != ALL
    ]
    header = ("relative to all", *SCORES, "features", "selection MB", "speed")
    msg.table(rows, header=header, aligns=("l", *"rrrrr"), divider=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--tasks", nargs="+", default=[*TASKS], choices=[*TASKS])
    parser.add_argument("--methods", nargs="+", default=[ALL, *METHODS], choices=[ALL, *METHODS])
    parser.add_argument("--sentences", type=int, help="number of training sentences")
    parser.add_argument("--prox-period", type=int, help="examples between proximal steps")
    parser.add_argument("--hash-bits", type=int, help="log2 of the number of rows of arc features")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON")
    parser.add_argument("--only", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    for task in options.tasks:
        adjusted = adjust(TASKS[task], options)
        if options.only:
            method, budget, folder = options.only
            if method == PREPARE:
                result = prepare(options.data, task, adjusted.sentences, Path(folder))
            else:
                result = run(Path(folder), adjusted, method, int(budget))
            peers.print_result(result)
            continue
        arguments = ["--data", str(options.data), "--tasks", task]
        for option in ("sentences", "prox_period", "hash_bits"):
            if (value := getattr(options, option)) is not None:
                arguments += [f"--{option.replace('_', '-')}", str(value)]
        results = run_all(task, options.methods, arguments)
        show(task, results)
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            srsly.write_json(options.output / f"selection-{task}.json", results)


if __name__ == "__main__":
    main()
