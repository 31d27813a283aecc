"""Parts of speech, morphological features and lemmas, beside spaCy and UDPipe 1.

    python benchmarks/morphology.py --data FOLDER [--treebanks en pt nl tr] [--udpipe MODELS]

FOLDER contains ud_en_ewt, ud_pt_bosque and ud_nl_lassysmall, each with the CoNLL-U files of its
treebank; Turkish is that of the package turkish-treebanks. Gold tokens, one sentence per Doc. A
word is right in MORPH where all its features are, in "all" where POS, MORPH and LEMMA are; where
the treebank has no lemma, any is right. XPOS is scored where a system writes it. A second
table has F1 of each feature on dev. Systems:

    ssvm        ssvm_morphologizer with its default settings, for 8 epochs
    clusters    the same with the word clusters of spacy-lookups-data (English)
    dictionary  ssvm_morphologizer with the lemmas of words of spacy-lookups-data
    both        with clusters (English) and dictionary
    tensor      with both, and the tensor of the tok2vec of en_core_web_sm (English); tokens/s
                includes the tok2vec
    second      two morphologizers in a row, with clusters (English) and dictionary: the second one
                reads what the first one found around a word, and learns from a jackknife; the
                time of all trainings counts
    lemmas      ssvm_lemmatizer, for 5 epochs, from gold tags; scored on gold tags (gold LEMMA),
                and on those of ssvm_morphologizer, and of ssvm_tagger where there are fine-grained
                tags, which are trained in the same process: their time does not count, nor their
                memory, but for that of tensors
    all lemmas  the same, all three with clusters (English) and dictionary
    tensor lemmas  the same, and taggers with the tensor (English)
    tags        ssvm_tagger with its default settings, for 8 epochs, with POS and MORPH as one tag
    candidates  the same with ``candidates = true``
    spacy       spaCy's morphologizer and trainable_lemmatizer from `init config`, trained for ten
                times the time of ssvm and lemmas
    udpipe      UDPipe 1 (ufal.udpipe), trained on the same files: MODELS/LANGUAGE.udpipe

With --train-udpipe LANGUAGE: trains that model first, with UDPipe's own default options, which
takes 10 minutes (nl) to hours (en). With --seeds 3: each system of ours is trained three times;
scores are means, and a table has the distance between the lowest and the highest one. Each system
runs in a separate process on one thread. Requires the extra `bench`; ufal.udpipe, where UDPipe is
to be measured, is installed separately.
"""

import argparse
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import peers
import spacy
from spacy.lookups import load_lookups
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.warmup import compile_kernels

EPOCHS, LEMMA_EPOCHS = 8, 5
FOLDS = 5
PARTS = ("train", "dev", "test")
FILES = {
    "en": "ud_en_ewt/en_ewt-ud-{}.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-{}.conllu",
    "nl": "ud_nl_lassysmall/nl_lassysmall-ud-{}.conllu",
}
#: What spacy-lookups-data has for components, by arguments of initialize, and for which systems.
TABLES = {"clusters": "lexeme_cluster", "dictionary": "lemma_lookup"}
GIVEN = {
    "clusters": ("clusters",),
    "dictionary": ("dictionary",),
    "both": (*TABLES,),
    "tensor": (*TABLES,),
    "second": (*TABLES,),
    "all lemmas": (*TABLES,),
    "tensor lemmas": (*TABLES,),
}
OF_MORPHOLOGY = ("POS", "MORPH", "both")
SCORES = (*OF_MORPHOLOGY, "LEMMA", "all", "XPOS")
GOLD_LEMMA = "gold LEMMA"
FEATURES = "features"  # of a score: F1 by name
COLUMNS = ("seconds", "peak", "MB", "speed")
SPREAD = ", spread"  # of a score over seeds
LEMMAS, TAGS = ("lemmas", "all lemmas", "tensor lemmas"), ("tags", "candidates")
OF_ENGLISH = ("clusters", "both", "tensor", "tensor lemmas")


class Word(NamedTuple):
    """A word with its annotation."""

    form: str
    pos: str
    features: tuple[str, ...]  #: sorted
    tag: str = ""  #: "" for none
    lemma: str = ""  #: "" for none


Sentences = list[list[Word]]


@cache
def shared(word: Word) -> Word:
    """Equal words as one object: those of a treebank would take more memory than their Docs."""
    return word


def sentences_of(text: str) -> Iterator[list[Word]]:
    """The sentences of a CoNLL-U text."""
    for block in text.strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line[:1].isdigit()]
        yield [shared(from_columns(row)) for row in rows if row[0].isdigit()]


def from_columns(row: list[str]) -> Word:
    lemma = row[2] if row[1] == "_" or row[2] != "_" else ""
    features = tuple(sorted({*row[5].split("|")} - {"_"}))
    pos = row[3] if row[3] != "CONJ" else "CCONJ"  # as it was named before version 2
    return Word(row[1], pos, features, row[4] if row[4] != "_" else "", lemma)


def read(data: Path, language: str) -> dict[str, Sentences]:
    """The sentences of each part of a treebank."""
    if language == "tr":
        return read_turkish()
    files = {part: data / FILES[language].format(part) for part in PARTS}
    return {part: [*sentences_of(file.read_text("utf8"))] for part, file in files.items()}


def read_turkish() -> dict[str, Sentences]:
    """The same for the treebank of the package turkish-treebanks."""
    vocab = spacy.Vocab()
    found: dict[str, Sentences] = {}
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(peers.CONVERT_TURKISH), folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for part in PARTS:
            docs = DocBin().from_disk(Path(folder) / f"{part}.spacy").get_docs(vocab)
            sentences = [sentence for doc in docs for sentence in doc.sents]
            found[part] = [[shared(word_of(token)) for token in own] for own in sentences]
    return found


def plain_doc(nlp: spacy.Language, words: list[Word]) -> Doc:
    return Doc(nlp.vocab, words=[word.form for word in words])


def tagged_doc(nlp: spacy.Language, words: list[Word], *, lemmas: bool = False) -> Doc:
    """A Doc with gold tags, and lemmas where they are wanted."""
    return Doc(
        nlp.vocab,
        words=[word.form for word in words],
        tags=[word.tag for word in words],
        pos=[word.pos for word in words],
        morphs=["|".join(word.features) for word in words],
        lemmas=[word.lemma for word in words] if lemmas else None,
    )


def examples_of(nlp: spacy.Language, sentences: Sentences) -> list[Example]:
    return [
        Example(plain_doc(nlp, words), tagged_doc(nlp, words, lemmas=True)) for words in sentences
    ]


def normal(vocab: spacy.Vocab, features: Iterable[str]) -> str:
    """Features as spaCy keeps them: sorted, with one value for each name."""
    return vocab.strings[vocab.morphology.add("|".join(features))]


def score(vocab: spacy.Vocab, found: Iterable[Iterable[Word]], gold: Sentences) -> dict[str, Any]:
    """The accuracy of each annotation, and of several together, in %; F1 of each feature."""
    right = dict.fromkeys(SCORES, 0)
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    pairs = [
        pair
        for own, words in zip(found, gold, strict=True)
        for pair in zip(own, words, strict=True)
    ]
    for own, word in pairs:
        has_pos = own.pos == word.pos
        has_features = normal(vocab, own.features) == normal(vocab, word.features)
        has_lemma = word.lemma in ("", own.lemma)
        both = has_pos and has_features
        has_tag = word.tag != "" and own.tag == word.tag
        rights = has_pos, has_features, both, has_lemma, both and has_lemma, has_tag
        for name, is_right in zip(right, rights, strict=True):
            right[name] += is_right
        for kind, features in (("found", own.features), ("gold", word.features)):
            by_name[kind].update(feature.partition("=")[0] for feature in features)
        shared = {*own.features} & {*word.features}
        by_name["right"].update(feature.partition("=")[0] for feature in shared)
    features = {
        name: 200 * by_name["right"][name] / (number + by_name["found"][name])
        for name, number in by_name["gold"].most_common()
    }
    return {**{name: 100 * n / len(pairs) for name, n in right.items()}, FEATURES: features}


def word_of(token: Any) -> Word:
    features = tuple(filter(None, str(token.morph).split("|")))
    return Word(token.text, token.pos_, features, token.tag_, token.lemma_)


def annotate(pipe: Any, docs: Iterable[Doc]) -> Iterator[list[Word]]:
    for doc in pipe.pipe(docs, batch_size=1000):
        yield [word_of(token) for token in doc]


def scored(
    pipe: Any, nlp: spacy.Language, parts: dict[str, Sentences], scores: tuple[str, ...]
) -> dict[str, Any]:
    """Some of the scores of a trained pipeline on plain Docs."""
    found = {}
    for part in PARTS[1:]:
        docs = (plain_doc(nlp, words) for words in parts[part])
        all_scores = score(nlp.vocab, annotate(pipe, docs), parts[part])
        found[part] = {name: all_scores[name] for name in (*scores, FEATURES)}
    return found


def speed_of(pipe: Any, nlp: spacy.Language, sentences: Sentences) -> float:
    return peers.tagging_speed(pipe, nlp, [([word.form for word in own], []) for own in sentences])


def trained(
    nlp: spacy.Language,
    pipe: Any,
    examples: list[Example],
    epochs: int,
    given: dict[str, Any],
) -> float:
    """Train a component alone; return the CPU time that it takes.

    given: to initialize, see ``given_to``; emptied then, for what it holds not to be kept.
    """
    start = time.process_time()
    pipe.initialize(lambda: examples, nlp=nlp, **given)
    given.clear()
    for _ in range(epochs):
        pipe.update(examples)
    pipe.to_bytes()  # the weights are final
    return time.process_time() - start


def given_to(pipe: Any, system: str, language: str) -> dict[str, Any]:
    """What a component of a system reads besides examples, as far as its language has it."""
    found = {}
    for name in GIVEN.get(system, ()):
        reads_it = name != "clusters" or pipe.name != "ssvm_lemmatizer"
        lookups = load_lookups(language, [TABLES[name]], strict=False)
        if reads_it and lookups.has_table(TABLES[name]) and lookups.get_table(TABLES[name]):
            found[name] = lookups
    return found


def add_tagger(
    nlp: spacy.Language, factory: str, seed: int, system: str, examples: list[Example]
) -> Any:
    """Add a tagger; for systems with tensors after what writes them, also into the examples."""
    if not system.startswith("tensor"):
        return add_pipe(nlp, factory, seed)
    if not nlp.pipe_names:
        peers.add_tensor(nlp, [example.predicted for example in examples])
    return add_pipe(nlp, factory, seed, templates=["tagger", "tensor[0]"])


def add_pipe(nlp: spacy.Language, factory: str, seed: int, **config: Any) -> Any:
    """Add a component with default settings but for the seed of its solver."""
    solver = nlp.get_factory_meta(factory).default_config["solver"] | {"seed": seed}
    return nlp.add_pipe(factory, config={"solver": solver, **config})


def run_ssvm(parts: dict[str, Sentences], language: str, system: str, seed: int) -> dict:
    nlp = spacy.blank(language)
    examples = examples_of(nlp, parts["train"])
    pipe = add_tagger(nlp, "ssvm_morphologizer", seed, system, examples)
    seconds = trained(nlp, pipe, examples, EPOCHS, given_to(pipe, system, language))
    everything = nlp if system == "tensor" else pipe
    return {
        "seconds": seconds,
        "peak": peers.peak_of_memory(),
        **scored(everything, nlp, parts, OF_MORPHOLOGY),
        "speed": speed_of(everything, nlp, parts["test"]),
        "MB": peers.saved(nlp, pipe.name)["MB"],
    }


def run_second(parts: dict[str, Sentences], language: str, system: str, seed: int) -> dict:
    gold, seconds = parts["train"], 0.0
    found: list[list[Word]] = [[]] * len(gold)

    def train_first(nlp: spacy.Language, sentences: Sentences) -> Any:
        nonlocal seconds
        pipe = add_pipe(nlp, "ssvm_morphologizer", seed)
        given = given_to(pipe, system, language)
        seconds += trained(nlp, pipe, examples_of(nlp, sentences), EPOCHS, given)
        return pipe

    for fold in range(FOLDS):
        nlp = spacy.blank(language)
        others = [words for i, words in enumerate(gold) if i % FOLDS != fold]
        pipe = train_first(nlp, others)
        docs = (plain_doc(nlp, words) for words in gold[fold::FOLDS])
        found[fold::FOLDS] = annotate(pipe, docs)
    nlp = spacy.blank(language)
    train_first(nlp, gold)
    nlp.rename_pipe("ssvm_morphologizer", "first")
    pipe = add_pipe(nlp, "ssvm_morphologizer", seed, templates=["tagger", "second_pass"])
    pairs = zip(found, gold, strict=True)
    examples = [Example(tagged_doc(nlp, own), tagged_doc(nlp, words)) for own, words in pairs]
    seconds += trained(nlp, pipe, examples, EPOCHS, given_to(pipe, system, language))
    return {
        "seconds": seconds,
        "peak": peers.peak_of_memory(),
        **scored(nlp, nlp, parts, OF_MORPHOLOGY),
        "speed": speed_of(nlp, nlp, parts["test"]),
        "MB": sum(peers.saved(nlp, name)["MB"] for name in nlp.pipe_names),
    }


def run_tags(parts: dict[str, Sentences], language: str, system: str, seed: int) -> dict:
    nlp = spacy.blank(language)
    pipe = add_pipe(nlp, "ssvm_tagger", seed, candidates=system == "candidates")
    examples = [
        Example(
            plain_doc(nlp, words),
            Doc(
                nlp.vocab,
                words=[word.form for word in words],
                tags=[" ".join((word.pos, *word.features)) for word in words],
            ),
        )
        for words in parts["train"]
    ]
    seconds = trained(nlp, pipe, examples, EPOCHS, {})
    result = {"seconds": seconds, "peak": peers.peak_of_memory()}
    for part in PARTS[1:]:
        docs = [plain_doc(nlp, words) for words in parts[part]]
        tags = [[word.tag.split(" ") for word in words] for words in annotate(pipe, docs)]
        found = [
            [Word("", pos, tuple(features)) for pos, *features in of_sentence]
            for of_sentence in tags
        ]
        whole = score(nlp.vocab, found, parts[part])
        result[part] = {name: whole[name] for name in (*OF_MORPHOLOGY, FEATURES)}
    speed, size = speed_of(pipe, nlp, parts["test"]), peers.saved(nlp, pipe.name)["MB"]
    return {**result, "speed": speed, "MB": size}


def run_lemmas(parts: dict[str, Sentences], language: str, system: str, seed: int) -> dict:
    nlp = spacy.blank(language)
    has_tags = any(word.tag not in ("", word.pos) for words in parts["dev"] for word in words)
    names = ["ssvm_morphologizer", *(["ssvm_tagger"] if has_tags else [])]
    examples = examples_of(nlp, parts["train"])
    taggers = [add_tagger(nlp, name, seed, system, examples) for name in names]
    pipe = add_pipe(nlp, "ssvm_lemmatizer", seed)
    seconds = trained(nlp, pipe, examples, LEMMA_EPOCHS, given_to(pipe, system, language))
    peak = peers.peak_of_memory()
    gold, speeds = {}, []
    for part in PARTS[1:]:
        docs = [tagged_doc(nlp, words) for words in parts[part]]
        gold[part] = score(nlp.vocab, annotate(pipe, docs), parts[part])["LEMMA"]
    for _ in range(5):
        docs = [tagged_doc(nlp, words) for words in parts["test"]]
        start = time.process_time()
        for _doc in pipe.pipe(docs, batch_size=1000):
            pass
        speeds.append(sum(map(len, docs)) / (time.process_time() - start))
    for tagger in taggers:
        trained(nlp, tagger, examples, EPOCHS, given_to(tagger, system, language))
    found = scored(nlp, nlp, parts, tuple(name for name in SCORES if has_tags or name != "XPOS"))
    for part in PARTS[1:]:
        found[part][GOLD_LEMMA] = gold[part]
    size = peers.saved(nlp, pipe.name)["MB"]
    return {"seconds": seconds, "peak": peak, **found, "speed": max(speeds), "MB": size}


def run_spacy(parts: dict[str, Sentences], language: str, budget: float) -> dict:
    examples = examples_of(spacy.blank(language), parts["train"])
    names = ["morphologizer", "trainable_lemmatizer"]
    nlp, seconds = peers.train_spacy(names, examples, budget)
    return {
        "seconds": seconds,
        "peak": peers.peak_of_memory(),
        **scored(nlp, nlp, parts, SCORES),
        "speed": speed_of(nlp, nlp, parts["test"]),
        "MB": sum(peers.saved(nlp, name)["MB"] for name in nlp.pipe_names),
    }


def conllu(sentences: Sentences) -> str:
    """The text of sentences in CoNLL-U, without heads."""
    blocks = []
    for words in sentences:
        for i, word in enumerate(words, 1):
            columns = word.form, word.lemma, word.pos, word.tag, "|".join(word.features)
            blocks.append("\t".join([str(i), *(column or "_" for column in columns)]))
            blocks.append("\t_" * 4 + "\n")
        blocks.append("\n")
    return "".join(blocks)


def train_udpipe(data: Path, language: str, file: Path) -> None:
    """Train UDPipe's tagger with its default options."""
    from ufal.udpipe import Trainer

    if language in FILES:
        treebank = (data / FILES[language].format("train")).read_text("utf8")
    else:
        treebank = conllu(read(data, language)["train"])
    peers.train_udpipe(treebank, file, Trainer.NONE, "", Trainer.NONE)


def run_udpipe(parts: dict[str, Sentences], language: str, file: Path) -> dict:
    import ufal.udpipe as udpipe

    model = udpipe.Model.load(str(file))
    options = udpipe.Pipeline.DEFAULT, udpipe.Pipeline.NONE
    pipeline = udpipe.Pipeline(model, "conllu", *options, "conllu")
    vocab, result = spacy.blank(language).vocab, {}
    for part in PARTS[1:]:
        plain = [[Word(word.form, "", ()) for word in words] for words in parts[part]]
        text = conllu(plain)
        start = time.process_time()
        found = pipeline.process(text)
        seconds = time.process_time() - start
        result[part] = score(vocab, sentences_of(found), parts[part])
    speed = sum(map(len, parts["test"])) / seconds
    return {"seconds": 0.0, "MB": file.stat().st_size / 1e6, "speed": speed, **result}


def show(language: str, parts: dict[str, Sentences], results: dict[str, dict]) -> None:
    """Print a table of all systems."""
    words = sum(map(len, parts["train"]))
    msg.divider(f"{language}: {words:,} words to learn from; accuracy in % on dev / test")
    rows, keys = [], (*SCORES, GOLD_LEMMA)
    for name, result in results.items():
        pairs = [(result["dev"].get(key), result["test"].get(key)) for key in keys]
        scores = [f"{dev:.2f} / {test:.2f}" if dev else "-" for dev, test in pairs]
        figures = [f"{result[key]:,.0f}" if result.get(key) else "-" for key in COLUMNS]
        rows.append((name, *scores, *figures))
    header = ("system", *SCORES, GOLD_LEMMA, "learning, CPU s", "peak MB", "MB", "tokens/s")
    msg.table(rows, header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)
    spreads = {
        name: [(result["dev"].get(key + SPREAD), result["test"].get(key + SPREAD)) for key in keys]
        for name, result in results.items()
    }
    rows = [
        (name, *(f"{dev:.2f} / {test:.2f}" if dev is not None else "-" for dev, test in own))
        for name, own in spreads.items()
        if any(dev is not None for dev, _ in own)
    ]
    if rows:
        header = ("highest - lowest score", *keys)
        msg.table(rows, header=header, aligns=("l", *"r" * len(keys)), divider=True)
    by_system = {name: result["dev"][FEATURES] for name, result in results.items()}
    names = [name for name in next(iter(by_system.values())) if SPREAD not in name]
    rows = [(name, *(f"{own[name]:.2f}" for own in by_system.values())) for name in names]
    header = ("F1 on dev", *by_system)
    msg.table(rows, header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)


def run(options: argparse.Namespace) -> dict:
    """The result of one system on one treebank."""
    (language,) = options.treebanks
    parts = read(options.data, language)
    if options.only == "spacy":
        return run_spacy(parts, language, options.budget)
    if options.only == "udpipe":
        return run_udpipe(parts, language, options.udpipe / f"{language}.udpipe")
    own = dict.fromkeys(LEMMAS, run_lemmas) | dict.fromkeys(TAGS, run_tags) | {"second": run_second}
    return own.get(options.only, run_ssvm)(parts, language, options.only, options.seed)


def mean_of(results: list[dict]) -> dict:
    """The means of the results of several seeds; with the spread of each score."""
    found: dict[str, Any] = {}
    for key, value in results[0].items():
        of_seeds = [result[key] for result in results]
        found[key] = mean_of(of_seeds) if isinstance(value, dict) else fmean(of_seeds)
        if not isinstance(value, dict) and len(results) > 1:
            found[f"{key}{SPREAD}"] = max(of_seeds) - min(of_seeds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebanks")
    parser.add_argument("--treebanks", nargs="+", default=[*FILES, "tr"], choices=[*FILES, "tr"])
    parser.add_argument("--udpipe", type=Path, help="folder of UDPipe's models")
    parser.add_argument(
        "--train-udpipe", choices=[*FILES, "tr"], help="train a model into that folder"
    )
    parser.add_argument("--skip", nargs="*", default=[], metavar="SYSTEM")
    parser.add_argument("--seeds", type=int, default=1, help="models of each system of ours")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds: at least 1")
    if file := peers.udpipe_to_train(parser, options):
        train_udpipe(options.data, options.train_udpipe, file)
        return
    if options.only:
        peers.print_result(run(options))
        return
    compile_kernels()
    for language in options.treebanks:
        more = [name for name in GIVEN if name not in LEMMAS]
        systems = ["ssvm", *more, *LEMMAS, *TAGS, "spacy"]
        systems = [name for name in systems if language == "en" or name not in OF_ENGLISH]
        if options.udpipe is not None and (options.udpipe / f"{language}.udpipe").exists():
            systems.append("udpipe")
        results: dict[str, dict] = {}
        for system in systems:
            if system in options.skip:
                continue
            msg.info(f"{language}: {system}")
            own = (results.get(name, {}) for name in ("ssvm", "lemmas"))
            budget = 10 * sum(result.get("seconds", 0.0) for result in own)
            arguments = ["--data", str(options.data), "--treebanks", language, "--only", system]
            arguments += ["--udpipe", str(options.udpipe)] * (options.udpipe is not None)
            arguments += ["--budget", str(budget), "--seed"]
            seeds = range(1 if system in ("spacy", "udpipe") else options.seeds)
            found = [peers.in_process(__file__, [*arguments, str(seed)]) for seed in seeds]
            results[system] = mean_of(found)
        show(language, read(options.data, language), results)


if __name__ == "__main__":
    main()
