"""Raw text to tokens, sentences, tags, trees and entities, by the CoNLL 2018 measures.

    python benchmarks/raw_text.py --data FOLDER [--treebanks en pt] [--udpipe MODELS]
        [--pipelines MODELS [--systems learned strong spaced spacy package udpipe] [--times 10]]

FOLDER contains ud_en_ewt, ud_pt_bosque, uner_en_ewt and uner_pt_bosque, each with the files of its
corpus, and for the treebank nl, ud_nl_lassysmall; tr is that of the package turkish-treebanks,
whose sentences are in no order: its documents are 100 of them, joined by blanks. A system gets the
text of each document, with an empty line between paragraphs. Words are syntactic words: where a
token stands for several, as Portuguese "do" (de + o), all have to be found. Tokenizers:

    ssvm     spacy_ssvm.Tokenizer.v1 with its default settings and sentences = true
    rules    spaCy's tokenizer of the language, and its sentencizer
    udpipe   UDPipe 1 (ufal.udpipe), trained on the same files: MODELS/LANGUAGE.udpipe

With --pipelines, whole ones as well, which are kept in that folder for later runs. The files of the
treebank, with the entities of Universal NER in en and pt, are all that they learn from:

    learned  what `python -m spacy ssvm train --sentences 0 --clusters none --dictionary none` makes
             (--sentences 100 for tr)
    spaced   the same with spaCy's tokenizer: --tokenizer rules
    strong   learned, with the clusters and lemmas of spacy-lookups-data (without the two options
             "none"), and with grandparents as templates of the parser; for both, the rows "gold"
             have the tokens and sentences of the treebank
    spacy    spaCy's tagger, morphologizer, trainable_lemmatizer, parser and ner from `init config`,
             trained for --times the time of learned
    package  en_core_web_sm, trained on other texts, whose trees are others; English alone
    udpipe   UDPipe 1, where its model tags; with trees, where it parses as well

Their last table is of sentences alone, joined by single blanks, without paragraphs and documents:
F1 of their ends, by which sentence splitters are compared, in texts of 100 sentences. It is the
only one for the treebank nl, whose words are all between blanks, and has these rows, too:

    joined   what `ssvm train --components tagger,morphologizer,senter --sentences 100` makes of the
             same text without its paragraphs and documents; the tagger where there is XPOS. Not for
             tr, which has none of them
    punkt    Punkt (Kiss & Strunk 2006) of nltk, trained on the same text without its boundaries
    parser   the parser of en_core_web_sm, trained on other texts; English alone
    udpipe   UDPipe's tokenizer

With --train-udpipe LANGUAGE: trains that model first, with UDPipe's own default options: the
tokenizer alone, which takes 12 minutes, or with --pipelines all, which takes hours. With --seeds 3,
each system of this package is trained three times: scores are means, with half the distance between
the lowest and the highest one.

Speed is measured in turn in one process: the median of five rounds, without the first. Tokenizers
get documents one by one, pipelines all of them. Latency is the median time that a pipeline takes
for one sentence of 18 to 22 words; ``pipeline.py`` measures more of saved pipelines. Requires the
extra `bench`; ufal.udpipe and nltk are installed separately.
"""

import argparse
import multiprocessing
import re
import resource
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import peers
import spacy
import srsly
from conll18 import evaluate, evaluate_ends
from memory import size
from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.conversion.files import Settings, convert_file
from spacy_ssvm.commands.warmup import USES, compile_for, compile_kernels
from spacy_ssvm.components.columns import read_sentences

FILES = {
    "en": "ud_en_ewt/en_ewt-ud-{}.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-{}.conllu",
    "nl": "ud_nl_lassysmall/nl_lassysmall-ud-{}.conllu",
}
ENTITIES = {
    "en": "uner_en_ewt/en_ewt-ud-{}.iob2",
    "pt": "uner_pt_bosque/pt_bosque-ud-{}.iob2",
}
PARTS = ("dev", "test")
CUT = ("Tokens", "Words", "Sentences")
ANNOTATED = ("Words", "Sentences", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "Entities")
TREES = ("UAS", "LAS")
WHOLE = (*ENTITIES, "tr")  #: treebanks with raw text
TREEBANKS = (*FILES, "tr")
COSTS = ("words/s", "ms", "ms, p99", "seconds", "peak MB", "MB")
SYSTEMS = ("learned", "strong", "spaced", "spacy", "package", "udpipe")
LEARNED = ("learned", "strong")  #: systems with a tokenizer that learns
TAGGED = ("en",)  #: treebanks with XPOS
#: Options of `ssvm train`, by system.
PLAIN = ["--clusters", "none", "--dictionary", "none"]
OPTIONS = {
    "learned": PLAIN,
    "strong": ["--components.parser.templates", '["parser", "grandparents"]'],
    "spaced": ["--tokenizer", "rules", *PLAIN],
}
#: The types of Universal NER for those of OntoNotes; other entities are left out.
TYPES = {"PERSON": "PER", "ORG": "ORG", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC"}
PEERS = ("tagger", "morphologizer", "trainable_lemmatizer", "parser", "ner")
ROUNDS = 5
SHORT, SHORT_TEXTS = range(18, 23), 300  #: words of a sentence, for latency, and how many
JOINED = 100  #: sentences of a text without paragraphs

Scores = dict[str, float]


class Part(NamedTuple):
    """A part of a treebank."""

    docs: list[Doc]  #: a Doc of each document
    conllu: str  #: the file

    @property
    def texts(self) -> list[str]:
        return [doc.text for doc in self.docs]


class Treebank(NamedTuple):
    """A treebank, and the folder that keeps what is trained on it."""

    language: str
    folder: Path
    files: dict[str, Path]  #: those of its parts
    parts: dict[str, Part]


class System(NamedTuple):
    """A system that is ready for use."""

    run: Callable[[list[str]], list[Any]]  #: from texts to what it makes of each
    written: Callable[[Any], str]  #: that as sentences in CoNLL-U
    costs: dict[str, float]  #: of its training
    kept: Any = None  #: what must not be freed while it is in use
    has_trees: bool = True  #: whether its trees can be compared


def piped(
    nlp: Language, written: Callable[[Doc], str], costs: dict[str, float], *, has_trees: bool = True
) -> System:
    """A pipeline as a system."""
    return System(lambda texts: [*nlp.pipe(texts)], written, costs, nlp, has_trees)


# The treebank


def read(path: Path, language: str) -> Part:
    settings = Settings(sentences=0 if language in ENTITIES else JOINED, divides_all=True)
    docs = convert_file(path, spacy.blank(language), settings).docs
    return Part(docs, path.read_text("utf8"))


def with_entities(treebank: str, annotated: Path) -> str:
    """A treebank with entities in its last column; one sentence in a thousand has other words."""
    tags: dict[tuple[str, ...], list[list[str]]] = {}
    for sentence in read_sentences(annotated):
        key = tuple(token.columns[1] for token in sentence)
        tags.setdefault(key, []).append([token.columns[2] for token in sentence])
    blocks = []
    for block in treebank.strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        words = [row for row in rows if row[0].isdecimal()]
        found = tags.get(tuple(row[1] for row in words))
        for row, tag in zip(words, found.pop(0) if found else (), strict=bool(found)):
            if tag != "O":
                row[9] = f"NE={tag}" if row[9] == "_" else f"{row[9]}|NE={tag}"
        blocks.append("\n".join("\t".join(row) for row in rows))
    return "\n\n".join(blocks) + "\n\n"


def turkish(part: str) -> str:
    """A part of the treebank of turkish-treebanks in CoNLL-U, with universal parts of speech."""
    script, blocks = runpy.run_path(str(peers.CONVERT_TURKISH)), []
    for name in script["FILES"]:
        file = Path(str(distribution("turkish-treebanks").locate_file(name)))
        for sentence_id, rows in script["read_sentences"](file):
            if script["split_of"](sentence_id) == part:
                universal = [(*r[:3], script["UNIVERSAL"].get(r[3], r[3]), *r[4:]) for r in rows]
                blocks.append("\n".join(map("\t".join, universal)))
    return "\n\n".join(blocks) + "\n\n"


def treebank_of(data: Path, language: str, part: str) -> str:
    """A part of a treebank in CoNLL-U."""
    if language == "tr":
        return turkish(part)
    return (data / FILES[language].format(part)).read_text("utf8")


def files_of(data: Path, language: str, folder: Path) -> dict[str, Path]:
    """The files of a treebank with entities, written where they are not there."""
    files = {}
    for part in ("train", *PARTS):
        files[part] = file = folder / f"{part}.conllu"
        if not file.exists():
            treebank = treebank_of(data, language, part)
            if language in ENTITIES:
                treebank = with_entities(treebank, data / ENTITIES[language].format(part))
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(treebank, "utf8")
    return files


# Docs as CoNLL-U


def line(number: str, *columns: str) -> str:
    """A line of CoNLL-U, up to the relation to the head."""
    return "\t".join([number, *(column or "_" for column in columns), "_", "_"])


def ranges(linked: Sequence[bool], texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines of tokens of several words, and the first word of each.

    linked: whether each word is a part of one token with the word before it.
    texts: of the pieces that the words stand for.
    """
    firsts = [i for i in range(len(texts)) if not linked[i]]
    for first, end in pairwise([*firsts, len(texts)]):
        if end > first + 1:
            yield first, line(f"{first + 1}-{end}", "".join(texts[first:end]), *[""] * 6)


def conllu_of(doc: Doc, *, has_norms: bool) -> str:
    """The sentences of a Doc. has_norms: whether NORM has the words that tokens stand for.

    A Doc does not say which of its tokens are parts of one. Those that stand for other words, and
    what is written together with them, are taken for such: words are aligned alike.
    """
    blocks = []
    for sentence in doc.sents:
        tokens = [token for token in sentence if not token.is_space]
        stand = [has_norms and token.norm != token.lex.norm for token in tokens]
        linked = [False]
        for i, (before, token) in enumerate(pairwise(tokens)):
            is_joined = before.idx + len(before) == token.idx
            linked.append(is_joined and any(stand[i : i + 2]))
        several = dict(ranges(linked[: len(tokens)], [token.text for token in tokens]))
        numbers = {token.i: number for number, token in enumerate(tokens, start=1)}
        lines = []
        for i, (token, stands) in enumerate(zip(tokens, stand, strict=True)):
            lines += [several[i]] if i in several else []
            head = 0 if token.head.i == token.i else numbers.get(token.head.i, 0)
            own = token.lemma_, token.pos_, token.tag_, str(token.morph), str(head)
            label = token.dep_ if head else "root"
            lines.append(line(str(i + 1), token.norm_ if stands else token.text, *own, label))
        blocks += ["\n".join(lines)] if lines else []
    return "\n\n".join(blocks) + "\n\n"


# Tokenizers


def ssvm(train: bytes, language: str, seed: int) -> System:
    """Our tokenizer, trained in a process of its own. train: a DocBin."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        trained, costs = pool.apply(trained_tokenizer, (train, language, seed))
    nlp = blank(language)
    nlp.tokenizer.from_bytes(trained)
    return System(
        lambda texts: [nlp.tokenizer(text) for text in texts],
        lambda doc: conllu_of(doc, has_norms=True),
        costs,
    )


def blank(language: str, seed: int = 0) -> Language:
    """A pipeline with our tokenizer alone."""
    settings = {"@tokenizers": "spacy_ssvm.Tokenizer.v1", "sentences": True, "seed": seed}
    return spacy.blank(language, config={"nlp": {"tokenizer": settings}})


def trained_tokenizer(train: bytes, language: str, seed: int) -> tuple[bytes, Scores]:
    """A tokenizer, and what its training costs."""
    nlp = blank(language, seed)
    docs = DocBin().from_bytes(train)

    def examples() -> Iterator[Example]:
        return (Example(nlp.make_doc(d.text), d) for d in docs.get_docs(nlp.vocab))

    start = time.process_time()
    nlp.tokenizer.initialize(examples)
    costs = {"seconds": time.process_time() - start, "peak MB": peers.peak_of_memory()}
    trained = nlp.tokenizer.to_bytes()
    return trained, {**costs, "MB": len(trained) / 1e6}


def rules(language: str) -> System:
    nlp = spacy.blank(language)
    sentencizer = nlp.add_pipe("sentencizer")
    return System(
        lambda texts: [nlp.tokenizer(text) for text in texts],
        lambda doc: conllu_of(sentencizer(doc), has_norms=False),
        {},
    )


def udpipe(file: Path, *, whole: bool) -> System | None:
    """UDPipe's tokenizer, or its whole pipeline; None where the model has none."""
    import ufal.udpipe as udpipe

    model = udpipe.Model.load(str(file))
    further = [udpipe.Pipeline.DEFAULT if whole else udpipe.Pipeline.NONE] * 2
    one = udpipe.Pipeline(model, "tokenize", *further, "conllu").process("A")
    has_trees = "\troot\t" in one
    if whole and not has_trees:
        further[1] = udpipe.Pipeline.NONE
    pipeline = udpipe.Pipeline(model, "tokenize", *further, "conllu")
    if whole and not re.search(r"\tA\t[^\t]+\t[A-Z]", pipeline.process("A")):
        return None
    return System(
        lambda texts: [pipeline.process(text) for text in texts],
        lambda found: re.sub(r"^(\d+\t(?:[^\t\n]*\t){5})_\t", r"\g<1>0\t", found, flags=re.M),
        {"MB": file.stat().st_size / 1e6},
        model,
        has_trees,
    )


def train_udpipe(data: Path, language: str, file: Path, *, whole: bool) -> None:
    """Train UDPipe with its default options."""
    from ufal.udpipe import Trainer

    treebank = treebank_of(data, language, "train")
    further = "" if whole else Trainer.NONE
    peers.train_udpipe(treebank, file, "", further, further)


# Whole pipelines


def train_ours(
    files: Mapping[str, Path], language: str, options: Sequence[str], output: Path
) -> Scores:
    """Train a pipeline by the command; what that cost."""
    own = [str(files["train"]), "--dev", str(files["dev"]), "--output", str(output)]
    command = [sys.executable, "-m", "spacy", "ssvm", "train", *own, "--lang", language]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *options], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds}


def train_spacy(train: Part, language: str, budget: float, output: Path) -> Scores:
    """Train spaCy's components for some seconds; what that cost."""
    nlp = spacy.blank(language)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in train.docs]
    names = [name for name in PEERS if name != "ner" or language in ENTITIES]
    trained, seconds = peers.train_spacy(names, examples, budget, batch=4, lang=language)
    trained.to_disk(output / "model-best")
    return {"seconds": seconds}


def load(output: Path, train: Callable[[Path], Scores]) -> tuple[Language, Scores]:
    """A pipeline, which is trained where it is not there, and what it costs."""
    model, costs = output / "model-best", output / "costs.json"
    if not costs.exists():
        output.mkdir(parents=True, exist_ok=True)
        srsly.write_json(costs, train(output))
    return spacy.load(model), {**srsly.read_json(costs), "MB": size(model)}


def on_gold(nlp: Language, part: Part) -> list[Doc]:
    """Docs with the tokens and sentences of the treebank, annotated."""
    docs = []
    for gold in part.docs:
        doc = Doc(
            nlp.vocab,
            words=[token.text for token in gold],
            spaces=[bool(token.whitespace_) for token in gold],
            sent_starts=[bool(token.is_sent_start) for token in gold],
        )
        for token, known in zip(doc, gold, strict=True):
            token.norm_ = known.norm_
        docs.append(doc)
    return [*nlp.pipe(docs)]


# Measurement


def scores(found: Sequence[Any], system: System, part: Part) -> Scores:
    """F1 in %."""
    has_entities = all(isinstance(doc, Doc) and doc.has_annotation("ENT_IOB") for doc in found)
    own = {}
    if has_entities:
        own["Entities"] = 100 * get_ner_prf(map(Example, found, part.docs))["ents_f"]
    measured = evaluate(part.conllu, "".join(map(system.written, found)))
    if not system.has_trees:
        measured = {name: score for name, score in measured.items() if name not in TREES}
    return {**own, **{name: 100 * score.f1 for name, score in measured.items()}}


def speeds(systems: Mapping[str, System], part: Part) -> dict[str, float]:
    """Words of the treebank a second."""
    words, texts = sum(len(doc) for doc in part.docs), part.texts
    laps: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(ROUNDS + 1):
        for name, system in systems.items():
            start = time.process_time()
            system.run(texts)
            laps[name].append(time.process_time() - start)
    return {name: words / median(own[1:]) for name, own in laps.items()}


def latencies(systems: Mapping[str, System], part: Part) -> dict[str, Scores]:
    """Milliseconds for a sentence: the median, and the 99th of 100."""
    sentences = [sentence for doc in part.docs for sentence in doc.sents]
    short = [sentence.text for sentence in sentences if len(sentence) in SHORT][:SHORT_TEXTS]
    laps: dict[str, list[float]] = {name: [] for name in systems}
    for text in [*short, *short]:
        for name, system in systems.items():
            start = time.perf_counter()
            system.run([text])
            laps[name].append(time.perf_counter() - start)
    return {
        name: {"ms": 1000 * median(own[len(short) :]), "ms, p99": 1000 * last_of(own[len(short) :])}
        for name, own in laps.items()
    }


def last_of(laps: list[float]) -> float:
    """The 99th of 100."""
    return sorted(laps)[int(0.99 * len(laps))]


# Sentences without paragraphs


def joined_texts(part: Part) -> list[str]:
    """The sentences of a part, joined by blanks."""
    sentences = [sentence.text.strip() for doc in part.docs for sentence in doc.sents]
    starts = range(0, len(sentences), JOINED)
    return [" ".join(sentences[start : start + JOINED]) for start in starts]


def without_words(sentences: Iterable[str]) -> str:
    """Sentences in CoNLL-U, whose words are what stands between blanks."""
    blocks = []
    for sentence in sentences:
        words = enumerate(sentence.split(), start=1)
        blocks.append("\n".join(line(str(i), word, *[""] * 4, "0", "") for i, word in words))
    return "\n\n".join(filter(None, blocks)) + "\n\n"


def punkt(train: Part) -> System:
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

    trainer = PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train(" ".join(joined_texts(train)), finalize=True)
    splitter = PunktSentenceTokenizer(trainer.get_params())
    return System(lambda texts: [splitter.tokenize(text) for text in texts], without_words, {})


def splitter(nlp: Language) -> System:
    """The sentences of a pipeline."""
    return piped(nlp, lambda doc: without_words(sentence.text for sentence in doc.sents), {})


def trained_on_joined(treebank: Treebank, seeds: int) -> list[System]:
    """Senters that have learned from the same text without paragraphs and documents."""
    language, bare = treebank.language, {}
    for part, file in treebank.files.items():
        bare[part] = treebank.folder / f"{part}-joined.conllu"
        lines = file.read_text("utf8").split("\n")
        kept = [line for line in lines if not line.startswith(("# newdoc", "# newpar"))]
        bare[part].write_text("\n".join(kept), "utf8")
    names = ["tagger"] * (language in TAGGED) + ["morphologizer", "senter"]
    options = ["--components", ",".join(names), "--tokenizer", "rules", *PLAIN]
    trained = trained_ours(treebank, bare, "joined", [*options, "--sentences", str(JOINED)], seeds)
    return [splitter(nlp) for nlp, _ in trained]


def ends_found(system: System, parts: Mapping[str, Part]) -> Scores:
    """F1 of the ends of sentences, in %."""
    found = {}
    for part in PARTS:
        written = "".join(map(system.written, system.run(joined_texts(parts[part]))))
        found[part] = 100 * evaluate_ends(parts[part].conllu, written).f1
    return found


def show_joined(
    systems: Mapping[str, Sequence[System]], treebank: Treebank, models: Path, seeds: int
) -> None:
    """Print the table of sentences without paragraphs."""
    language, parts = treebank.language, treebank.parts
    further = {"punkt": [punkt(parts["train"])]}
    if language in FILES:
        further["joined"] = trained_on_joined(treebank, seeds)
    if models.exists() and (own := udpipe(models, whole=False)):
        further["udpipe"] = [own]
    if language == "en":
        parser = spacy.load(peers.PACKAGE, exclude=["ner", "lemmatizer", "attribute_ruler"])
        further["parser"] = [splitter(parser)]
    rows = {
        name: [ends_found(one, parts) for one in runs]
        for name, runs in {**systems, **further}.items()
    }
    show(f"{language}, joined", PARTS, rows)


def shown(values: Sequence[float]) -> str:
    """The mean of a score, and half the distance between the lowest and the highest one."""
    spread = f" ±{(max(values) - min(values)) / 2:.2f}" if len(values) > 1 else ""
    return f"{fmean(values):.2f}{spread}"


def show(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Scores]]) -> None:
    """Print a table. rows: the figures of each training of each system; a dash for none."""
    columns = [name for name in columns if any(name in runs[0] for runs in rows.values())]
    table = []
    for system, runs in rows.items():
        cells = []
        for name in columns:
            values = [run[name] for run in runs if name in run]
            is_large = bool(values) and max(values) >= 1000
            cells.append(f"{fmean(values):,.0f}" if is_large else shown(values) if values else "-")
        table.append([system, *cells])
    header = [title, *columns]
    msg.table(table, header=header, aligns=["l", *"r" * len(columns)], divider=True)


def measure_tokenizers(parts: Mapping[str, Part], language: str, seeds: int, models: Path) -> None:
    """Train and score the tokenizers on a treebank, and print tables."""
    train = DocBin(docs=parts["train"].docs, store_user_data=True).to_bytes()
    runs = [ssvm(train, language, seed) for seed in range(seeds)]
    systems = {"ssvm": runs[0], "rules": rules(language)}
    if models.exists() and (own := udpipe(models, whole=False)):
        systems["udpipe"] = own
    speed = speeds(systems, parts["test"])
    for part in PARTS:
        rows = {
            name: [
                scores(run.run(parts[part].texts), run, parts[part])
                for run in (runs if name == "ssvm" else [system])
            ]
            for name, system in systems.items()
        }
        show(f"{language} {part}", CUT, rows)
    costs = {name: [{"words/s": speed[name], **one.costs}] for name, one in systems.items()}
    show(language, COSTS, costs)


def trained_ours(
    treebank: Treebank, files: Mapping[str, Path], name: str, options: Sequence[str], seeds: int
) -> Iterator[tuple[Language, Scores]]:
    """A pipeline of each seed, which is trained where it is not there, and what it costs."""
    for seed in range(seeds):
        seeded = [*options, "--system.seed", str(seed)]
        if name in LEARNED:
            seeded += ["--nlp.tokenizer.seed", str(seed)]
        train = partial(train_ours, files, treebank.language, seeded)
        yield load(treebank.folder / (f"{name}-{seed}" if seed else name), train)


def whole_systems(
    treebank: Treebank, names: Sequence[str], times: float, models: Path, seeds: int
) -> dict[str, list[System]]:
    """The systems of these names, and "learned", trained where they are not there."""
    language, parts = treebank.language, treebank.parts
    systems: dict[str, list[System]] = {}

    def add(name: str, nlp: Language, costs: Scores) -> None:
        written = partial(conllu_of, has_norms=name in LEARNED)
        one = piped(nlp, written, costs, has_trees=name != "package")
        systems.setdefault(name, []).append(one)

    sentences = ["--sentences", "0" if language in ENTITIES else str(JOINED)]
    for name in (*LEARNED, "spaced"):
        if name == "learned" or name in names:
            options = [*sentences, *OPTIONS[name]]
            trained = trained_ours(treebank, treebank.files, name, options, seeds)
            for nlp, costs in trained:
                add(name, nlp, costs)
    if "spacy" in names:
        budget = times * systems["learned"][0].costs["seconds"]
        train = partial(train_spacy, parts["train"], language, budget)
        add("spacy", *load(treebank.folder / "spacy", train))
    if "package" in names and language == "en":
        add("package", package(), {})
    if "udpipe" in names and models.exists() and (own := udpipe(models, whole=True)):
        systems["udpipe"] = [own]
    return systems


def package() -> Language:
    """en_core_web_sm, with the entity types of Universal NER."""
    nlp = spacy.load(peers.PACKAGE)
    nlp.add_pipe("types_of_universal_ner")
    return nlp


@Language.component("types_of_universal_ner")
def with_types(doc: Doc) -> Doc:
    """The Doc with the entity types of Universal NER."""
    spans = [(e.start, e.end, TYPES[e.label_]) for e in doc.ents if e.label_ in TYPES]
    doc.set_ents([Span(doc, start, end, label=label) for start, end, label in spans])
    return doc


def show_whole(systems: Mapping[str, Sequence[System]], treebank: Treebank) -> None:
    """Print the tables of accuracy and costs."""
    language, test = treebank.language, treebank.parts["test"]
    for name in PARTS:
        part = treebank.parts[name]
        rows = {
            name: [scores(one.run(part.texts), one, part) for one in runs]
            for name, runs in systems.items()
        }
        for learned in filter(systems.get, LEARNED):
            rows[f"{learned}, gold"] = [
                scores(on_gold(one.kept, part), one, part) for one in systems[learned]
            ]
        show(f"{language} {name}", ANNOTATED, rows)
    timed = {name: runs[0] for name, runs in systems.items()}
    speed, latency = speeds(timed, test), latencies(timed, test)
    costs = {
        name: [{"words/s": speed[name], **latency[name], **one.costs}]
        for name, one in timed.items()
    }
    show(language, COSTS, costs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebanks")
    parser.add_argument("--treebanks", nargs="+", choices=TREEBANKS, default=[*ENTITIES])
    parser.add_argument("--udpipe", type=Path, help="folder of UDPipe's models")
    parser.add_argument("--train-udpipe", choices=TREEBANKS, help="train a model into that folder")
    parser.add_argument("--pipelines", type=Path, help="folder of whole pipelines")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--times", type=float, default=10, help="train spaCy so much longer")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of ssvm")
    options = parser.parse_args()
    data, pipelines = options.data, options.pipelines
    if file := peers.udpipe_to_train(parser, options):
        train_udpipe(data, options.train_udpipe, file, whole=pipelines is not None)
        return
    if pipelines is None and not set(options.treebanks) <= set(ENTITIES):
        parser.error(f"tokenizers alone are for {', '.join(ENTITIES)}: the others need --pipelines")
    for language in options.treebanks:
        msg.divider(language)
        models = (options.udpipe or Path()) / f"{language}.udpipe"
        if pipelines is None:
            compile_for(USES[0])
            files = {part: data / FILES[language].format(part) for part in ("train", *PARTS)}
            parts = {part: read(file, language) for part, file in files.items()}
            measure_tokenizers(parts, language, options.seeds, models)
            continue
        compile_kernels()
        folder = pipelines / language
        files = files_of(data, language, folder)
        parts = {part: read(file, language) for part, file in files.items()}
        treebank, systems = Treebank(language, folder, files, parts), {}
        names, times, seeds = options.systems, options.times, options.seeds
        if language in WHOLE:
            systems = whole_systems(treebank, names, times, models, seeds)
            show_whole(systems, treebank)
        show_joined(systems, treebank, models, seeds)


if __name__ == "__main__":
    main()
