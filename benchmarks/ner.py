"""Named entity recognition: ssvm_ner, CRFsuite and spaCy on three corpora.

    python benchmarks/ner.py --data FOLDER [--corpora en pt wnut17] [--skip spacy ...]

FOLDER contains uner_en_ewt, uner_pt_bosque and wnut17 as released by their publishers. Scores are
entity F1 by exact match. Each system runs in a separate process on one thread, with precompiled
kernels:

    ssvm        ssvm_ner with its default templates, scheme and C
    crfsuite-*  python-crfsuite on the same features and scheme
    spacy       spaCy's ner from `init config`, trained for twenty times the time of ssvm

With --strong:

    strong      ssvm_ner with what packages know of words: the clusters of spacy-lookups-data
                (English and German for English, these and Spanish for Portuguese), and the lists of
                `python -m spacy ssvm resources gazetteers`
    clusters    with the clusters alone, of each language
    names       with the lists alone
    document    strong, with document = true on whole documents (not for WNUT, which has none). For
                Portuguese, documents are those of the treebank in ud_pt_bosque
    trigrams    strong, with runs of three clusters within two tokens of the current one
    tensor      strong, with the tensor of the tok2vec of spaCy's small English pipeline (not for
                Portuguese); "tokens/s" includes the tok2vec

With --costs:

    missed ...  ssvm_ner with different costs for a missed token of an entity. The table shows
                the one with the best F1 on dev; precision and recall on dev are shown for all.
                With --strong, the same for strong

With --ablation:

    without ... ssvm_ner without one group of templates
    with ...    ssvm_ner with additional features:
                clusters    word clusters of train and dev, from adjacent words
                gazetteers  the English gazetteers of this project
                pos         predicted by ssvm_tagger, trained on the treebank in ud_en_ewt or
                            ud_pt_bosque; train is jackknifed with five folds

With --calibration:

    crf ...     solvers with probabilities: accuracy, mean probability and expected calibration
                error of labels and entities on dev, in %

Requires the extra `bench`.
"""

import argparse
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import peers
import spacy
import srsly
from clusters import write_clusters
from spacy.lookups import load_lookups
from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob, iob_to_biluo
from wasabi import msg

from spacy_ssvm.chains.training import ChainTrainer
from spacy_ssvm.commands.gazetteers import collect_names, write_lists
from spacy_ssvm.commands.warmup import compile_kernels
from spacy_ssvm.components.columns import make_doc, read_sentences
from spacy_ssvm.components.pipe import Pipe

EPOCHS = 10
PARTS = ("train", "dev", "test")
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
DOCUMENTS = {"en": CORPORA["en"][0], "pt": "ud_pt_bosque/pt_bosque-ud-{}.conllu"}
LANGUAGES = {"en": "en", "pt": "pt", "wnut17": "en"}
CLUSTERS = {"en": ("en", "de"), "pt": ("es", "en", "de")}  # of the lookups, by language
GAZETTEERS = {
    kind: str(Path(__file__).parent.parent / "assets" / "gazetteers" / f"{kind}.txt")
    for kind in ("PER", "LOC", "ORG", "MISC")
}
TRIGRAMS = ("ngrams(cluster6.*, 3, 2)", "ngrams(cluster10.*, 3, 2)")
TAGS = ("ngrams(tag, 3, 2)", "tag[0]+lower[0]", "tag[0]+shape[0]")
TREEBANKS = {
    "en": "ud_en_ewt/en_ewt-ud-train.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-train.conllu",
    "wnut17": "ud_en_ewt/en_ewt-ud-train.conllu",
}
FOLDS = 5
TAGGER_EPOCHS = 5
MISSED = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # 1 is the default


def read(data: Path, corpus: str, part: str) -> peers.Labelled:
    """Words and BILUO tags of each sentence."""
    file, columns = CORPORA[corpus]
    path = data / file.format(part)
    vocab = spacy.blank("en").vocab
    docs = (make_doc(vocab, path, sentence, **columns) for sentence in read_sentences(path))
    return [([token.text for token in doc], biluo_of(doc)) for doc in docs]


def biluo_of(doc: Doc) -> list[str]:
    """The BILUO tags of the entities of a Doc."""
    return iob_to_biluo([f"{t.ent_iob_}-{t.ent_type_}".rstrip("-") for t in doc])


def read_documents(nlp: spacy.Language, data: Path, corpus: str, part: str) -> list[Doc]:
    """The gold Docs of whole documents, with their sentences."""
    file, columns = CORPORA[corpus]
    path = data / file.format(part)
    sentences = [make_doc(nlp.vocab, path, found, **columns) for found in read_sentences(path)]
    text = (data / DOCUMENTS[corpus].format(part)).read_text(encoding="utf8")
    blocks = text.strip().split("\n\n")
    assert len(blocks) == len(sentences)
    starts = [i for i, block in enumerate(blocks) if "# newdoc" in block]
    return [Doc.from_docs(sentences[i:j]) for i, j in pairwise([*starts, len(sentences)])]


def docs_of(nlp: spacy.Language, sentences: peers.Labelled) -> list[Doc]:
    return [Doc(nlp.vocab, words=words) for words, _ in sentences]


def examples_of(docs: list[Doc], sentences: peers.Labelled) -> list[Example]:
    return [
        Example(doc, Doc(doc.vocab, words=words, ents=biluo_to_iob(labels)))
        for doc, (words, labels) in zip(docs, sentences, strict=True)
    ]


def add_tags(nlp: spacy.Language, treebank: Path, docs: dict[str, list[Doc]]) -> None:
    """Tag the Docs of all parts, those of train with taggers not trained on the same sentences."""
    tagged = [
        make_doc(nlp.vocab, treebank, sentence, word=1, span=None, tag=3)
        for sentence in (
            [token for token in sentence if token.columns[0].isdigit()]
            for sentence in read_sentences(treebank)
        )
    ]
    tasks = [([*docs["dev"], *docs["test"]], set())]
    folds = [docs["train"][i::FOLDS] for i in range(FOLDS)]
    tasks += [(fold, {doc.text for doc in fold}) for fold in folds]
    for task, unseen in tasks:
        examples = [
            Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc)
            for doc in tagged
            if doc.text not in unseen
        ]
        tagger = nlp.create_pipe("ssvm_tagger")
        tagger.initialize(lambda examples=examples: examples)
        for _ in range(TAGGER_EPOCHS):
            tagger.update(examples)
        for _ in tagger.pipe(task, batch_size=1000):
            pass


def spans_of(labels: list[str]) -> set[tuple[int, int, str]]:
    """The spans of a BILUO label sequence, which may be invalid."""
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


def precision_recall_f1(
    predicted: list[list[str]], sentences: peers.Labelled
) -> tuple[float, float, float]:
    right = found = gold = 0
    for labels, (_, gold_labels) in zip(predicted, sentences, strict=True):
        ours, theirs = spans_of(labels), spans_of(gold_labels)
        right, found, gold = right + len(ours & theirs), found + len(ours), gold + len(theirs)
    return (
        100 * right / max(found, 1),
        100 * right / max(gold, 1),
        200 * right / max(found + gold, 1),
    )


def f1(predicted: list[list[str]], sentences: peers.Labelled) -> float:
    return precision_recall_f1(predicted, sentences)[2]


def labels_of(pipe, docs: list[Doc]) -> list[list[str]]:
    return [biluo_of(doc) for doc in pipe.pipe(docs, batch_size=1000)]


def without(family: str) -> list[str]:
    """The default templates without a group; 'context' removes those of other tokens."""
    return [
        str(template)
        for template in peers.default_templates("ner")
        if not any(
            part.offset != 0 if family == "context" else part.attribute.startswith(FAMILIES[family])
            for part in template.parts
        )
    ]


def calibration(ner, docs: list[Doc], sentences: peers.Labelled) -> dict:
    """Accuracy, mean probability and calibration error of tokens and of entities."""
    sure, right = [], []
    for doc, (_, labels) in zip(ner.pipe(docs), sentences, strict=True):
        gold = spans_of(labels)
        sure += [entity._.ssvm_score for entity in doc.ents]
        right += [(entity.start, entity.end, entity.label_) in gold for entity in doc.ents]
    return {
        **peers.token_calibration(ner, docs, [labels for _, labels in sentences]),
        **peers.calibration("spans", sure, right),
    }


def run_ssvm(
    data: Path,
    corpus: str,
    *,
    resources: dict | None = None,
    tagged: bool = False,
    tensor: bool = False,
    **settings,
) -> dict:
    """Train and score ssvm_ner.

    resources: arguments of ``initialize``. tagged: add predicted tags to the Docs; the time for
    this is not measured. tensor: add the tok2vec of another pipeline, whose tensor templates read.
    """
    sentences = {part: read(data, corpus, part) for part in PARTS}
    nlp = spacy.blank("en")
    docs = {part: docs_of(nlp, sentences[part]) for part in PARTS}
    if tagged:
        add_tags(nlp, data / TREEBANKS[corpus], docs)
    if tensor:
        peers.add_tensor(nlp, docs["train"])
    ner = nlp.add_pipe("ssvm_ner", config=settings)
    pipe = nlp if tensor else ner
    examples = examples_of(docs["train"], sentences["train"])
    learning = peers.Timer(ChainTrainer, "epoch")
    everything = peers.Timer(Pipe, "update")
    start = time.perf_counter()
    ner.initialize(lambda: examples, nlp=nlp, **(resources or {}))
    initialize = time.perf_counter() - start
    for _ in range(EPOCHS):
        ner.update(examples)
    precision, recall, dev = precision_recall_f1(labels_of(pipe, docs["dev"]), sentences["dev"])
    known = {}
    if ner.model.beta is not None:
        known = calibration(ner, docs_of(nlp, sentences["dev"]), sentences["dev"])
    return {
        **known,
        "dev": dev,
        "dev precision": precision,
        "dev recall": recall,
        "test": f1(labels_of(pipe, docs["test"]), sentences["test"]),
        "features": initialize + everything.seconds - learning.seconds,
        "learning": learning.seconds,
        "speed": peers.tagging_speed(pipe, nlp, sentences["test"]),
        **peers.saved(nlp, "ssvm_ner"),
    }


def run_with_clusters(data: Path, corpus: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clusters.txt"
        write_clusters((w for part in PARTS[:2] for w, _ in read(data, corpus, part)), file)
        return run_ssvm(data, corpus, resources={"clusters": str(file)})


def strong_resources(corpus: str, folder: Path) -> dict:
    """Arguments of ``initialize``: clusters of the lookups, and lists of names in the folder."""
    lang = LANGUAGES[corpus]
    return {
        "clusters": {name: load_lookups(name, ["lexeme_cluster"]) for name in CLUSTERS[lang]},
        "gazetteers": write_lists(folder, collect_names(lang)),
    }


def run_strong(data: Path, corpus: str, source: str | None = None, *more: str, **settings) -> dict:
    """ssvm_ner with all of these, or with the lists or one language's clusters alone.

    more: templates besides those of the family ner.
    """
    with tempfile.TemporaryDirectory() as folder:
        resources = strong_resources(corpus, Path(folder))
        if source == "names":
            resources["clusters"] = None
        elif source is not None:
            resources = {"clusters": {source: resources["clusters"][source]}}
        settings |= {"tensor": "tensor[0]" in more, "templates": ["ner", *more]}
        return run_ssvm(data, corpus, resources=resources, **settings)


def run_document(data: Path, corpus: str) -> dict:
    """ssvm_ner on documents, with document = true, clusters and lists of names."""
    nlp = spacy.blank("en")
    gold = {part: read_documents(nlp, data, corpus, part) for part in PARTS}

    def unlabelled(part: str) -> list[Doc]:
        starts = [[token.is_sent_start for token in doc] for doc in gold[part]]
        return [
            Doc(nlp.vocab, words=[token.text for token in doc], sent_starts=sent_starts)
            for doc, sent_starts in zip(gold[part], starts, strict=True)
        ]

    examples = [*map(Example, unlabelled("train"), gold["train"])]
    ner = nlp.add_pipe("ssvm_ner", config={"document": True})
    learning = peers.Timer(ChainTrainer, "epoch")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        resources = strong_resources(corpus, Path(folder))
        ner.initialize(lambda: examples, nlp=nlp, **resources)
    for _ in range(EPOCHS):
        ner.update(examples)
    everything = time.perf_counter() - start
    labelled = {
        part: [([token.text for token in doc], biluo_of(doc)) for doc in gold[part]]
        for part in PARTS
    }
    return {
        **{part: f1(labels_of(nlp, unlabelled(part)), labelled[part]) for part in PARTS[1:]},
        "features": everything - learning.seconds,
        "learning": learning.seconds,
        "speed": peers.annotation_speed(nlp, lambda: unlabelled("test")),
        **peers.saved(nlp, "ssvm_ner"),
    }


def run_with_gazetteers(data: Path, corpus: str) -> dict:
    return run_ssvm(data, corpus, resources={"gazetteers": GAZETTEERS})


def run_crfsuite(data: Path, corpus: str, system: str) -> dict:
    parts = {part: read(data, corpus, part) for part in ("dev", "test")}
    train = read(data, corpus, "train")
    return peers.run_crfsuite(system, peers.default_templates("ner"), train, parts, f1)


def run_spacy(data: Path, corpus: str, budget: float) -> dict:
    sentences = {part: read(data, corpus, part) for part in PARTS}
    blank = spacy.blank("en")
    examples = examples_of(docs_of(blank, sentences["train"]), sentences["train"])
    nlp, learning = peers.train_spacy(["ner"], examples, budget)
    sizes = [peers.saved(nlp, name) for name in nlp.pipe_names]
    return {
        "dev": f1(labels_of(nlp, docs_of(nlp, sentences["dev"])), sentences["dev"]),
        "test": f1(labels_of(nlp, docs_of(nlp, sentences["test"])), sentences["test"]),
        "features": 0.0,
        "learning": learning,
        "speed": peers.tagging_speed(nlp, nlp, sentences["test"]),
        "MB": sum(size["MB"] for size in sizes),
        "load": sum(size["load"] for size in sizes),
    }


SYSTEMS = {
    "ssvm": lambda data, corpus, _: run_ssvm(data, corpus),
    "crfsuite-ap": lambda data, corpus, _: run_crfsuite(data, corpus, "crfsuite-ap"),
    "crfsuite-lbfgs": lambda data, corpus, _: run_crfsuite(data, corpus, "crfsuite-lbfgs"),
    "spacy": run_spacy,
}
STRONG = {
    "strong": lambda data, corpus, _: run_strong(data, corpus),
    "names": lambda data, corpus, _: run_strong(data, corpus, "names"),
    "document": lambda data, corpus, _: run_document(data, corpus),
    "trigrams": lambda data, corpus, _: run_strong(data, corpus, None, *TRIGRAMS),
    "tensor": lambda data, corpus, _: run_strong(data, corpus, None, "tensor[0]"),
    **{
        f"clusters {lang}": lambda data, corpus, _, lang=lang: run_strong(data, corpus, lang)
        for lang in ("en", "de", "es")
    },
}
COSTS = {
    f"missed {missed:g}": lambda data, corpus, _, missed=missed: run_ssvm(
        data, corpus, costs={"*": {"O": missed}}
    )
    for missed in MISSED
}
STRONG_COSTS = {
    f"strong, missed {missed:g}": lambda data, corpus, _, missed=missed: run_strong(
        data, corpus, costs={"*": {"O": missed}}
    )
    for missed in MISSED
}
ABLATION = {
    **{
        f"without {family}": lambda data, corpus, _, family=family: run_ssvm(
            data, corpus, templates=without(family)
        )
        for family in FAMILIES
    },
    "with clusters": lambda data, corpus, _: run_with_clusters(data, corpus),
    "with gazetteers": lambda data, corpus, _: run_with_gazetteers(data, corpus),
    "with pos": lambda data, corpus, _: run_ssvm(
        data, corpus, templates=["ner", *TAGS], tagged=True
    ),
}
PROBABLE = {
    name: lambda data, corpus, _, solver=solver: run_ssvm(data, corpus, solver=solver)
    for name, solver in peers.PROBABLE.items()
}
EVERYTHING = {**SYSTEMS, **STRONG, **COSTS, **STRONG_COSTS, **ABLATION, **PROBABLE}


def show(corpus: str, results: dict[str, dict]) -> None:
    found = ({name: r for name, r in results.items() if name in c} for c in (COSTS, STRONG_COSTS))
    curves = {max(curve, key=lambda name: curve[name]["dev"]): curve for curve in found if curve}
    left_out = {name for best, curve in curves.items() for name in curve if name != best}
    chosen = {name: r for name, r in results.items() if name not in left_out}
    peers.show(f"{corpus}, entity F1", chosen)
    for best, curve in curves.items():
        columns = ("dev precision", "dev recall", "dev")
        rows = [(name, *(f"{r[c]:.1f}" for c in columns)) for name, r in curve.items()]
        msg.table(rows, header=("cost", *columns[:2], "dev F1"), aligns=("l", *"rrr"), divider=True)
        msg.info(f"best on dev: {best}")
    peers.show_calibration(results)
    ours = results.get("ssvm")
    if ours and (lbfgs := results.get("crfsuite-lbfgs")):
        ratio = lbfgs["learning"] / ours["learning"]
        msg.info(f"training time: 1/{ratio:.0f} of CRFsuite's L-BFGS")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--corpora", nargs="+", default=[*CORPORA], choices=[*CORPORA])
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument("--strong", action="store_true", help="add clusters and lists of names")
    parser.add_argument("--costs", action="store_true", help="vary the cost of a missed token")
    parser.add_argument("--ablation", action="store_true", help="vary the groups of templates")
    parser.add_argument("--calibration", action="store_true", help="add solvers with probabilities")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON")
    parser.add_argument("--only", choices=[*EVERYTHING], help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.only:
        system = EVERYTHING[options.only]
        peers.print_result(system(options.data, options.corpora[0], options.budget))
        return
    asked = [system for system in SYSTEMS if system not in options.skip]
    asked += [*COSTS] * options.costs + [*ABLATION] * options.ablation
    asked += [*STRONG_COSTS] * (options.costs and options.strong)
    asked += [*PROBABLE] * options.calibration
    for corpus in options.corpora:
        results: dict[str, dict] = {}
        sources = ["names", *(f"clusters {lang}" for lang in CLUSTERS[LANGUAGES[corpus]])]
        sources += ["document"] * (corpus in DOCUMENTS) + ["trigrams"]
        sources += ["tensor"] * (LANGUAGES[corpus] == "en")
        for system in asked + ["strong", *sources] * options.strong:
            msg.info(f"{corpus}: {system}")
            ours = results.get("ssvm", {"features": 0.0, "learning": 0.0})
            budget = str(20 * (ours["features"] + ours["learning"]))
            arguments = ["--data", str(options.data), "--corpora", corpus, "--only", system]
            results[system] = peers.in_process(__file__, [*arguments, "--budget", budget])
        show(corpus, results)
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            srsly.write_json(options.output / f"ner-{corpus}.json", results)
            if options.calibration:
                for kind in ("tokens", "spans"):
                    path = options.output / f"ner-{corpus}-{kind}.png"
                    peers.plot_reliability(kind, results, path)


if __name__ == "__main__":
    main()
