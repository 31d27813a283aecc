"""Dependency parsing: ssvm_parser and spaCy on three treebanks.

    python benchmarks/parser.py --data FOLDER [--corpora en pt nl] [--skip spacy ...] [--seeds 3]

FOLDER contains ud_en_ewt, ud_pt_bosque and ud_nl_lassysmall, the last with many non-projective
trees. Scores are UAS and LAS in %, of all tokens and of words (without UPOS PUNCT). Each system
runs in a separate process on one thread, with precompiled kernels.

With gold tokens, tags and sentences:

    order 1, order 2   ssvm_parser with its default templates
    ..., grandparents  with the templates of grandparents, too
    ..., parser114     with the templates from which the default ones were selected
    ..., pruning 8     with a pruner that keeps more arcs
    not projective     the first three with trees whose arcs may cross

Prediction rounds the weights of arcs to eight bits: for these rows, lines say what that changes on
dev and test. With --seeds, each is trained with as many seeds: scores are means, with half the
distance between the lowest and the highest one; all other figures are of the first seed.

With gold tokens only, in Docs of ten sentences, without lemmas:

    ssvm        as in configs/pipeline.cfg: ssvm_tagger and ssvm_morphologizer, ssvm_senter trained
                on jackknifed tags, and ssvm_parser trained on jackknifed tags, features and
                sentences, all with five folds
    strong      the same with the word clusters and lemmas of spacy-lookups-data, and with the
                templates of grandparents; English only
    spacy       spaCy's tagger and parser from `init config`, trained for --times the total time of
                ssvm

Times are CPU times.

With --calibration: accuracy, mean probability and expected calibration error of the heads on dev
(gold tokens, tags and sentences), for trees and losses of each kind; UAS of the best tree, and of
the one that is expected to have the most correct heads (minimum Bayes risk). For second-order
trees whose arcs may cross, how belief propagation converges, by words of the sentence. A plot of
reliability is written to --output.

With --growth: time by sentence length, and for the first two also without the pruner, on sentences
cut from the concatenated corpus; a plot is written to --output. Requires the extra `bench`.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import peers
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.converters import conllu_to_docs
from spacy.util import load_config
from wasabi import msg

from spacy_ssvm.commands.recipes.config import lookups_block
from spacy_ssvm.commands.warmup import compile_kernels
from spacy_ssvm.components.parser import DependencyParser
from spacy_ssvm.decoders.belief_propagation import TOLERANCE, propagate_beliefs
from spacy_ssvm.decoders.parts import scaled_parts
from spacy_ssvm.decoders.tree import chu_liu_edmonds, eisner
from spacy_ssvm.trees.inference import parse_sentences
from spacy_ssvm.trees.keys import hash_pairs
from spacy_ssvm.trees.pruner import score_arcs
from spacy_ssvm.trees.scores import score_parts

CORPORA = {
    "en": "ud_en_ewt/en_ewt-ud-{}.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-{}.conllu",
    "nl": "ud_nl_lassysmall/nl_lassysmall-ud-{}.conllu",
}
PARTS = ("train", "dev", "test")
PIPELINE = load_config(Path(__file__).parent.parent / "configs" / "pipeline.cfg").interpolate()
NO_RESOURCES: Mapping[str, dict] = {}
STAGES = (("tagger", "morphologizer"), ("senter",))
EPOCHS = 7
TAGGER_EPOCHS = 10
#: What components read of spacy-lookups-data, as blocks of [initialize.components].
CLUSTERS = {"clusters": lookups_block("en", "lexeme_cluster")}
LEMMAS = {"dictionary": lookups_block("en", "lemma_lookup")}
FOLDS = 5
SENTENCES = 10  # per Doc without gold sentences
SPACY_BATCH = 6  # Docs of ten sentences: about a thousand words

LENGTHS = (10, 20, 50, 100, 200, 400)
GROWTH_WORDS = 2000  # per sentence length
GROWTH_TRAINING = 2000  # sentences

SCORES = tuple(
    f"{part} {name}{tokens}"
    for part in PARTS[1:]
    for tokens in ("", " words")
    for name in ("UAS", "LAS")
)
FIGURES = ("learning", "speed", "MB", "load")
HEADER = ("system", *(f"{part}{tokens}" for part in PARTS[1:] for tokens in ("", " words")))
HEADER += ("training s", "tokens/s", "MB", "load ms")


def read(data: Path, corpus: str, part: str, *, sentences: int = 1) -> list[Doc]:
    """The Docs of a part, each with the given number of sentences."""
    text = (data / CORPORA[corpus].format(part)).read_text(encoding="utf8")
    return list(conllu_to_docs(text, n_sents=sentences, no_print=True))


def words_of(doc: Doc) -> dict:
    return {"words": [t.text for t in doc], "spaces": [bool(t.whitespace_) for t in doc]}


def tagged(nlp: spacy.Language, doc: Doc, **further: list[str]) -> Doc:
    """Words, tags and sentences of a Doc, and further annotation by argument of ``Doc``."""
    return Doc(
        nlp.vocab,
        **words_of(doc),
        tags=[token.tag_ for token in doc],
        pos=[token.pos_ for token in doc],
        sent_starts=[token.is_sent_start for token in doc],
        **further,
    )


def plain(nlp: spacy.Language, doc: Doc) -> Doc:
    """The words of a Doc."""
    return Doc(nlp.vocab, **words_of(doc))


def examples_of(
    nlp: spacy.Language, references: list[Doc], make: Callable[[spacy.Language, Doc], Doc]
) -> list[Example]:
    return [Example(make(nlp, doc), doc) for doc in references]


def attachment(docs: Iterable[Doc], references: Sequence[Doc]) -> tuple[float, ...]:
    """UAS and LAS of all tokens, then without punctuation."""
    pairs = [
        (token, gold)
        for doc, reference in zip(docs, references, strict=True)
        for token, gold in zip(doc, reference, strict=True)
    ]
    scores = []
    for kept in (pairs, [(token, gold) for token, gold in pairs if gold.pos_ != "PUNCT"]):
        right = [(token, gold) for token, gold in kept if token.head.i == gold.head.i]
        labelled = sum(token.dep_ == gold.dep_ for token, gold in right)
        scores += [100 * len(right) / len(kept), 100 * labelled / len(kept)]
    return tuple(scores)


def scored(nlp: spacy.Language, parts: dict[str, list[Doc]], make: Callable) -> dict[str, float]:
    """The scores of a pipeline on dev and test, keyed by SCORES."""
    found: list[float] = []
    for part in PARTS[1:]:
        docs = nlp.pipe([make(nlp, doc) for doc in parts[part]], batch_size=1000)
        found += attachment(docs, parts[part])
    return dict(zip(SCORES, found, strict=True))


def run_gold(data: Path, corpus: str, seed: int, **settings) -> dict:
    """Train and score ssvm_parser on gold tokens, tags and sentences."""
    parts = {part: read(data, corpus, part) for part in PARTS}
    nlp = spacy.blank("en")
    seeds = {"solver": {"seed": seed}, "label_solver": {"seed": seed}}
    parser = nlp.add_pipe("ssvm_parser", config=settings | seeds)
    examples = examples_of(nlp, parts["train"], tagged)
    start = time.process_time()
    parser.initialize(lambda: examples)
    curve = []
    for _ in range(EPOCHS):
        parser.update(examples)
        learning = time.process_time() - start
        docs = parser.pipe([tagged(nlp, doc) for doc in parts["dev"]], batch_size=1000)
        curve.append(attachment(docs, parts["dev"])[:2])
        start = time.process_time() - learning
    return {
        **scored(nlp, parts, tagged),
        "learning": learning,
        "speed": peers.annotation_speed(
            parser, lambda: [tagged(nlp, doc) for doc in parts["test"]]
        ),
        "curve": curve,
        "rounding": {
            part: rounding(parser, [tagged(nlp, doc) for doc in parts[part]], parts[part])
            for part in PARTS[1:]
        },
        **peers.saved(nlp, "ssvm_parser"),
    }


def rounding(parser: DependencyParser, docs: list[Doc], references: list[Doc]) -> dict[str, float]:
    """UAS and LAS with rounded weights and with exact ones, and the heads that differ, in %."""
    model, trainer = parser.model, parser._trainer
    nodes = model.nodes(docs)
    scorer = model.scorer
    pruner = scorer.pruner._replace(weights=trainer.pruner.w)
    exact = scorer._replace(weights=trainer.run.w, pruner=pruner)
    tokens = [token for doc in references for token in doc]
    gold = np.array([0 if t.head == t else t.head.i - t.sent.start + 1 for t in tokens])
    numbers = {label: k for k, label in enumerate(model.labels)}
    gold_labels = np.array([numbers.get(token.dep_, -1) for token in tokens])
    found, both = {}, []
    for name, each in (("rounded", scorer), ("exact", exact)):
        heads = model.find_trees(each, nodes.attributes, nodes.starts)
        arcs, arc_nodes, _ = model.arc_table(nodes, heads)
        labels = np.empty(len(heads), dtype=np.int64)
        labels[arc_nodes] = model.label_model.label(arcs)
        both.append(heads[nodes.words])
        right = both[-1] == gold
        found[f"{name} UAS"] = 100 * float(np.mean(right))
        found[f"{name} LAS"] = 100 * float(np.mean(right & (labels[nodes.words] == gold_labels)))
    return {**found, "different": 100 * float(np.mean(both[0] != both[1]))}


def run_probable(data: Path, corpus: str, **settings) -> dict:
    """``run_gold`` with a solver that has probabilities, and how well these are calibrated."""
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("ssvm_parser", config=settings)
    examples = examples_of(nlp, read(data, corpus, "train"), tagged)
    start = time.process_time()
    parser.initialize(lambda: examples)
    for _ in range(EPOCHS):
        parser.update(examples)
    learning = time.process_time() - start
    dev = read(data, corpus, "dev")
    docs = [tagged(nlp, doc) for doc in dev]
    sure, right, least_risk, best = [], [], [], []
    for doc, reference in zip(docs, dev, strict=True):
        gold = np.array([token.head.i for token in reference])
        found = parser.marginals(doc, overwrite=True)
        sure += found.max(axis=1).tolist()
        right += (found.argmax(axis=1) == gold).tolist()
        least_risk += (least_risk_heads(parser, found) == gold).tolist()
        best += (best_heads(parser, doc) == gold).tolist()
    result = {
        **peers.calibration("arcs", sure, right),
        "learning": learning,
        "best tree": 100 * float(np.mean(best)),
        "minimum risk": 100 * float(np.mean(least_risk)),
    }
    if settings["order"] == 2 and not parser.model.projective:
        result["convergence"] = [convergence(parser, doc) for doc in docs]
    return result


def as_tokens(heads: np.ndarray) -> np.ndarray:
    """Heads as tokens, of heads as nodes without that of the root; roots are their own heads."""
    return np.where(heads == 0, np.arange(len(heads)), heads - 1)


def least_risk_heads(parser: DependencyParser, marginals: np.ndarray) -> np.ndarray:
    """The heads of the tree that is expected to have the most correct ones."""
    N = len(marginals) + 1
    arcs, heads = np.full((N, N), -np.inf), np.empty(N, dtype=np.int64)
    arcs[1:, 1:] = marginals.T
    arcs[0, 1:] = marginals.diagonal()
    np.fill_diagonal(arcs, -np.inf)
    decode = eisner if parser.model.projective else chu_liu_edmonds
    decode(arcs, heads)
    return as_tokens(heads[1:])


def best_heads(parser: DependencyParser, doc: Doc) -> np.ndarray:
    """The heads of the tree of the highest score, or of the highest that the search finds."""
    nodes = parser.model.nodes([doc])
    free = np.full(len(nodes.attributes), -1, dtype=np.int64)
    heads = np.empty(len(free), dtype=np.int64)
    parse_sentences(parser.model.scorer, nodes.attributes, nodes.starts, free, heads)
    return as_tokens(heads[1:-1])


def convergence(parser: DependencyParser, doc: Doc) -> tuple[int, int, float, float]:
    """Belief propagation: words, iterations, distance of the factors at last, milliseconds."""
    model = parser.model
    nodes = model.nodes([doc])
    start, end = nodes.starts[:2]
    free = np.full(end - start - 1, -1, dtype=np.int64)
    _, scores = score_arcs(model.scorer, nodes.attributes, start, end, free)
    endpoints = hash_pairs(model.scorer.features, nodes.attributes, start, end)
    parts = score_parts(model.scorer.features, endpoints, model.scorer.weights, scores)
    found = scaled_parts(parts, 1.0)
    begin = time.perf_counter()
    ended = propagate_beliefs(parts, found)
    milliseconds = 1000 * (time.perf_counter() - begin)
    return len(free) - 1, ended.iterations, ended.distance, milliseconds


def show_calibration(corpus: str, results: dict[str, dict], output: Path | None) -> None:
    msg.divider(f"{corpus}, dev, gold tokens, tags and sentences")
    peers.show_calibration(results)
    columns = ("best tree", "minimum risk", "learning")
    rows = [(name, *(f"{r[column]:.2f}" for column in columns)) for name, r in results.items()]
    header = ("", "UAS of the best tree", "of minimum risk", "training s")
    msg.table(rows, header=header, aligns=("l", "r", "r", "r"), divider=True)
    for name, result in results.items():
        if "convergence" in result:
            show_convergence(name, np.array(result["convergence"]))
    if output:
        peers.plot_reliability("arcs", results, output / f"parser-{corpus}-arcs.png")


def show_convergence(name: str, sentences: np.ndarray) -> None:
    rows = []
    for low, high in pairwise((1, *LENGTHS)):
        inside = sentences[(sentences[:, 0] >= low) & (sentences[:, 0] < high)]
        if len(inside):
            _, iterations, distances, milliseconds = inside.T
            converged = 100 * (distances <= TOLERANCE).mean()
            figures = (iterations.mean(), iterations.max(), converged, milliseconds.mean())
            rows.append((f"{low} to {high - 1}", len(inside), *(f"{x:.2f}" for x in figures)))
    msg.divider(f"{name}: belief propagation")
    header = ("words", "sentences", "iterations", "at most", "converged, %", "ms a sentence")
    msg.table(rows, header=header, aligns=("l", *"rrrrr"), divider=True)


def front(
    examples: list[Example],
    names: Sequence[str],
    resources: Mapping[str, dict] = NO_RESOURCES,
    *,
    epochs: int = TAGGER_EPOCHS,
    **changes,
) -> spacy.Language:
    """A pipeline of components of configs/pipeline.cfg, trained on the examples.

    resources: their blocks of [initialize.components], by name. changes: to their settings.
    """
    nlp = spacy.blank("en", vocab=examples[0].predicted.vocab)
    for name in names:
        settings = dict(PIPELINE["components"][name])
        nlp.add_pipe(settings.pop("factory"), name=name, config=settings | changes)
    nlp.config["initialize"]["components"] = {n: resources[n] for n in names if n in resources}
    nlp.initialize(lambda: examples)
    for _ in range(epochs):
        nlp.update(examples)
    return nlp


def jackknifed(
    examples: list[Example], names: Sequence[str], resources: Mapping[str, dict] = NO_RESOURCES
) -> list[Example]:
    """The examples, each fold annotated by components trained on the others."""
    found = examples.copy()
    for fold in range(FOLDS):
        others = [example for i, example in enumerate(examples) if i % FOLDS != fold]
        texts = (example.predicted.copy() for example in examples[fold::FOLDS])
        references = (example.reference for example in examples[fold::FOLDS])
        found[fold::FOLDS] = map(Example, front(others, names, resources).pipe(texts), references)
    return found


def run_ssvm(
    data: Path, corpus: str, resources: Mapping[str, dict] = NO_RESOURCES, **settings
) -> dict:
    """Train and score a pipeline on gold tokens only.

    resources: as in ``front``. settings: of the parser.
    """
    parts = {part: read(data, corpus, part, sentences=SENTENCES) for part in PARTS}
    examples = examples_of(spacy.blank("en"), parts["train"], plain)
    learning = {}
    nlp = spacy.blank("en", vocab=examples[0].predicted.vocab)
    for names in STAGES:
        start = time.process_time()
        learned = front(examples, names, resources)
        learning[names[-1]] = time.process_time() - start
        for name in names:
            nlp.add_pipe(name, source=learned)
        start = time.process_time()
        examples = jackknifed(examples, names, resources)
        learning[f"{names[-1]}, jackknifed"] = time.process_time() - start
    start = time.process_time()
    learned = front(examples, ["parser"], resources, epochs=EPOCHS, **settings)
    parser = nlp.add_pipe("parser", source=learned)
    learning["parser"] = time.process_time() - start
    sizes = [peers.saved(nlp, name) for name in nlp.pipe_names]
    # the scorer looks predicted MORPH up in the vocab of the gold Docs: it has to be the same one
    gold = list(DocBin(docs=parts["dev"]).get_docs(nlp.vocab))
    found = nlp.evaluate(examples_of(nlp, gold, plain))
    with nlp.select_pipes(disable="parser"):
        annotated = list(nlp.pipe([plain(nlp, doc) for doc in parts["test"]]))
    return {
        **scored(nlp, parts, plain),
        "learning": sum(learning.values()),
        "speed": peers.annotation_speed(parser, lambda: [doc.copy() for doc in annotated]),
        "MB": sum(size["MB"] for size in sizes),
        "load": sum(size["load"] for size in sizes),
        "parts": learning,
        "front": {
            name: 100 * found[name] for name in ("sents_f", "tag_acc", "pos_acc", "morph_acc")
        },
    }


def run_spacy(data: Path, corpus: str, budget: float) -> dict:
    """The same for spaCy's tagger and parser; the parser predicts sentences."""
    parts = {part: read(data, corpus, part, sentences=SENTENCES) for part in PARTS}
    examples = examples_of(spacy.blank("en"), parts["train"], plain)
    nlp, learning = peers.train_spacy(["tagger", "parser"], examples, budget, batch=SPACY_BATCH)
    sizes = [peers.saved(nlp, name) for name in nlp.pipe_names]
    found = nlp.evaluate(examples_of(nlp, parts["dev"], plain))
    return {
        **scored(nlp, parts, plain),
        "learning": learning,
        "speed": peers.annotation_speed(
            nlp.get_pipe("parser"), lambda: with_vectors(nlp, parts["test"])
        ),
        "MB": sum(size["MB"] for size in sizes),
        "load": sum(size["load"] for size in sizes),
        "front": {name: 100 * found[name] for name in ("sents_f", "tag_acc")},
    }


def with_vectors(nlp: spacy.Language, references: list[Doc]) -> list[Doc]:
    """Docs annotated by the components before spaCy's parser."""
    with nlp.select_pipes(disable="parser"):
        return list(nlp.pipe([plain(nlp, doc) for doc in references]))


_GRANDPARENTS = {"order": 2, "templates": ["parser", "grandparents"]}
GOLD = {
    "order 1": {"order": 1},
    "order 2": {"order": 2},
    "order 2, grandparents": _GRANDPARENTS,
    "order 2, parser114": {"order": 2, "templates": ["parser114"]},
    "order 2, pruning 8": {"order": 2, "pruning": 8.0},
    "not projective": {"order": 1, "projective": False},
    "not projective, order 2": {"order": 2, "projective": False},
    "not projective, order 2, grandparents": _GRANDPARENTS | {"projective": False},
}
VARIANTS = ("order 2, parser114", "order 2, pruning 8")
CALIBRATION = {
    f"{kind}, {name}": lambda data, corpus, *_, settings=settings, solver=solver: run_probable(
        data, corpus, **settings, solver=solver
    )
    for kind, settings in GOLD.items()
    if kind not in VARIANTS
    for name, solver in peers.PROBABLE.items()
}
SYSTEMS = {
    **{
        name: lambda data, corpus, _, seed, settings=settings: run_gold(
            data, corpus, seed, **settings
        )
        for name, settings in GOLD.items()
    },
    "ssvm": lambda data, corpus, *_: run_ssvm(data, corpus),
    "strong": lambda data, corpus, *_: run_ssvm(
        data,
        corpus,
        {
            **dict.fromkeys(STAGES[0], CLUSTERS | LEMMAS),
            "parser": CLUSTERS,
        },
        **_GRANDPARENTS,
    ),
    "spacy": lambda data, corpus, budget, _: run_spacy(data, corpus, budget),
}


def glued(nlp: spacy.Language, references: list[Doc], length: int) -> list[Doc]:
    """Tagged sentences of the given length, cut from the concatenated corpus."""
    tokens = [token for doc in references for token in doc][:GROWTH_WORDS]
    docs = []
    for start in range(0, len(tokens) - length + 1, length):
        piece = tokens[start : start + length]
        docs.append(
            Doc(
                nlp.vocab,
                words=[token.text for token in piece],
                tags=[token.tag_ for token in piece],
                pos=[token.pos_ for token in piece],
                sent_starts=[i == 0 for i in range(length)],
            )
        )
    return docs


def run_growth(data: Path, corpus: str, kind: str) -> dict:
    """Milliseconds per sentence by length, with and without the pruner."""
    nlp = spacy.blank("en")
    parser = nlp.add_pipe("ssvm_parser", config=GOLD[kind])
    examples = examples_of(nlp, read(data, corpus, "train")[:GROWTH_TRAINING], tagged)
    parser.initialize(lambda: examples)
    for _ in range(EPOCHS):
        parser.update(examples)
    references = read(data, corpus, "dev")
    threshold = parser.model.pruning
    rows: dict[str, list[float]] = {}
    for name, pruning in (("pruned", threshold), ("all arcs", None)):
        if name == "all arcs" and kind not in ("order 1", "order 2"):  # too slow to wait for
            continue
        parser.model.pruning = pruning
        rates = [
            peers.annotation_speed(parser, lambda length=length: glued(nlp, references, length))
            for length in LENGTHS
        ]
        rows[f"{kind}, {name}"] = [
            1000 * length / rate for length, rate in zip(LENGTHS, rates, strict=True)
        ]
    return rows


GROWTH = {
    f"growth, {kind}": lambda data, corpus, *_, kind=kind: run_growth(data, corpus, kind)
    for kind in GOLD
    if kind not in VARIANTS
}


def show_growth(corpus: str, curves: dict[str, list[float]], output: Path | None) -> None:
    msg.divider(f"{corpus}, milliseconds per sentence, by number of words")
    rows = [(name, *(f"{value:,.2f}" for value in curve)) for name, curve in curves.items()]
    header = ("parser", *map(str, LENGTHS))
    msg.table(rows, header=header, aligns=("l", *"r" * len(LENGTHS)), divider=True)
    if output:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4))).add_subplot()
        for name, curve in curves.items():
            axes.loglog(LENGTHS, curve, marker="o", label=name)
        axes.set(xlabel="words per sentence", ylabel="milliseconds per sentence", title=corpus)
        axes.set_xticks(LENGTHS, map(str, LENGTHS))
        axes.legend()
        figure.savefig(output / f"parser-{corpus}-growth.png", dpi=150)


def as_text(values: Sequence[float]) -> str:
    """The mean of a score over seeds, and half the distance between the extremes."""
    spread = f" ±{(max(values) - min(values)) / 2:.2f}" if len(values) > 1 else ""
    return f"{fmean(values):.2f}{spread}"


def with_seeds(runs: Sequence[dict]) -> dict:
    """The first run, with the scores of all in the place of its scores."""
    return {**runs[0], **{score: [run[score] for run in runs] for score in SCORES}}


def show(corpus: str, results: dict[str, dict]) -> None:
    for title, names in (
        ("gold tokens, tags and sentences", [name for name in GOLD if name in results]),
        ("gold tokens", [name for name in ("ssvm", "strong", "spacy") if name in results]),
    ):
        if names:
            rows = [
                (
                    name,
                    *(
                        " ".join(as_text(results[name][score]) for score in pair)
                        for pair in zip(SCORES[::2], SCORES[1::2], strict=True)
                    ),
                    *(f"{results[name][column]:,.0f}" for column in FIGURES),
                )
                for name in names
            ]
            msg.divider(f"{corpus}, {title}")
            msg.table(rows, header=HEADER, aligns=("l", *"r" * len(HEADER[1:])), divider=True)
    for name in GOLD:
        if name in results:
            curve = ", ".join(f"{uas:.1f} {las:.1f}" for uas, las in results[name]["curve"])
            msg.info(f"{name}, UAS and LAS on dev by epoch: {curve}")
            for part, found in results[name]["rounding"].items():
                rounded, exact = (
                    " ".join(f"{found[f'{weights} {score}']:.3f}" for score in ("UAS", "LAS"))
                    for weights in ("rounded", "exact")
                )
                msg.info(
                    f"{name}, UAS and LAS on {part} {rounded}, with exact weights {exact}; "
                    f"{found['different']:.2f} % of the heads differ"
                )
    for name in ("ssvm", "strong", "spacy"):
        if name in results:
            figures = results[name]["front"] | results[name].get("parts", {})
            msg.info(f"{name}: " + ", ".join(f"{key} {x:.1f}" for key, x in figures.items()))
    pairs = (("not projective", "order 1"), ("not projective, order 2", "not projective"))
    for one, other in (*pairs, ("ssvm", "spacy")):
        if one in results and other in results:
            means = {name: [fmean(results[name][c]) for c in SCORES] for name in (one, other)}
            differences = zip(SCORES, means[one], means[other], strict=True)
            margins = (f"{c} {mean - beside:+.2f}" for c, mean, beside in differences)
            msg.info(f"{one} vs. {other}: {', '.join(margins)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebanks")
    parser.add_argument("--corpora", nargs="+", default=[*CORPORA], choices=[*CORPORA])
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument(
        "--times", type=float, default=10, help="training time of spaCy, as a multiple of ours"
    )
    parser.add_argument("--seeds", type=int, default=1, help="trainings on gold tags (1)")
    parser.add_argument("--calibration", action="store_true", help="measure probabilities alone")
    parser.add_argument("--growth", action="store_true", help="measure time by sentence length")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON, and plots")
    parser.add_argument("--only", choices=[*SYSTEMS, *CALIBRATION, *GROWTH], help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    compile_kernels()
    if options.only:
        system = {**SYSTEMS, **CALIBRATION, **GROWTH}[options.only]
        peers.print_result(system(options.data, options.corpora[0], options.budget, options.seed))
        return
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
    for corpus in options.corpora:

        def run(system: str, budget: float = 0.0, seed: int = 0, corpus: str = corpus) -> dict:
            msg.info(f"{corpus}: {system}")
            arguments = ["--data", str(options.data), "--corpora", corpus, "--only", system]
            arguments += ["--budget", str(budget), "--seed", str(seed)]
            return peers.in_process(__file__, arguments)

        results: dict[str, dict] = {}
        wanted = [name for name in SYSTEMS if name != "strong" or corpus == "en"]
        for system in wanted:
            if system not in options.skip and not options.calibration:
                ours = results.get("ssvm", {"learning": 0.0})
                budget = options.times * ours["learning"]
                seeds = range(options.seeds if system in GOLD else 1)
                runs = [run(system, budget, seed) for seed in seeds]
                results[system] = with_seeds(runs)
        show(corpus, results)
        if options.calibration:
            results["calibration"] = {system: run(system) for system in CALIBRATION}
            show_calibration(corpus, results["calibration"], options.output)
        if options.growth:
            growth = [run(system) for system in GROWTH]
            curves = {name: row for rows in growth for name, row in rows.items() if name != "peak"}
            show_growth(corpus, curves, options.output)
            results["growth"] = curves
        if options.output:
            srsly.write_json(options.output / f"parser-{corpus}.json", results)


if __name__ == "__main__":
    main()
