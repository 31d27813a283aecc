"""Which templates a group lasso keeps, on several treebanks, and what they cost.

    python benchmarks/families.py TASK --data FOLDER [--corpora en pt nl tr] [--budgets 50 40 30]
        [--kept NUMBER]

Tasks:

    arcs           trees of second order, with gold tags, features and lemmas; labeled attachment
    labels         labels of the arcs of gold trees, with the same
    tagger         tags: XPOS (en), or UPOS
    morphologizer  parts of speech with morphological features
    senter         sentence boundaries in Docs of ten sentences

FOLDER contains ud_en_ewt, ud_pt_bosque and ud_nl_lassysmall; Turkish, for words alone, is that of
the package turkish-treebanks. Tokens and sentences are gold. Templates read what
spacy-lookups-data has: word clusters (English, Spanish for Portuguese, German for Dutch), and for
words lemmas. Candidates are the templates of the family, and those that were left out of it; those
of arcs are selected with the first 5,000 sentences.

The first table has the candidates that were kept with each budget: for how many of the budgets, in
each treebank, those kept most often first; a star stands for templates that read different
clusters. The second one has what the family and all candidates give, as means of --seeds: accuracy
on dev and test, of words where part of speech and features are right for the morphologizer, and F1
of sentences for the senter, time for a word, and for learning. With --kept, it also has what those
candidates give that are kept as often, all budgets and treebanks taken together. Times are CPU
times on one thread. Requires the extra `bench`.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import morphology
import numpy as np
import parser
import peers
import spacy
from spacy.lookups import load_lookups
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.chains.selection import chain_selector
from spacy_ssvm.chains.training import ChainTrainer, LabelledTokens
from spacy_ssvm.components.parser import DependencyParser
from spacy_ssvm.features.attributes import ByWord
from spacy_ssvm.selection import Selection, Selector

EPOCHS = 7  # of arcs and labels
SELECTING = 5000  # sentences, from which templates of arcs are selected
BESIDE = 10  # sentences of a Doc, for their boundaries
CLUSTERS = {"en": "en", "pt": "es", "nl": "de"}
#: What families do without: they are as accurate, and take less time.
NOT_FOR_WORDS = (
    "suffix3[-1]",
    "suffix3[1]",
    "suffix3[-1]+suffix3[0]",
    "suffix3[0]+suffix3[1]",
    "shape[-1]",
    "shape[1]",
    "digits[0]",
    "hyphen[0]",
    "cluster6.*[-1]+cluster6.*[0]",
    "cluster6.*[0]+cluster6.*[1]",
    "cluster10.*[-1]+cluster10.*[0]",
    "cluster10.*[0]+cluster10.*[1]",
    "cluster.*[-1]+cluster.*[0]",
    "cluster.*[0]+cluster.*[1]",
)
LEFT_OUT = {
    "arcs": (
        "head.tag+distance",
        "head.tag+dependent.tag+dependent.tag[1]+distance",
        "head.pos+dependent.pos+dependent.pos[1]+distance",
        "head.pos+dependent.pos[-1]+dependent.pos+distance",
        "head.tag+head.tag[1]+dependent.tag[-1]+dependent.tag",
        "head.tag+head.tag[1]+dependent.tag[-1]+dependent.tag+distance",
        "head.tag+head.tag[1]+dependent.tag",
        "head.tag+head.tag[1]+dependent.tag+distance",
        "head.tag[-1]+head.tag+dependent.tag",
        "head.tag+dependent.tag[-1]+dependent.tag",
        "head.tag+dependent.tag[-1]+dependent.tag+distance",
        "head.pos+head.pos[1]+dependent.pos[-1]+dependent.pos",
        "head.pos+head.pos[1]+dependent.pos[-1]+dependent.pos+distance",
        "head.pos+head.pos[1]+dependent.pos",
        "head.pos+head.pos[1]+dependent.pos+distance",
        "head.pos[-1]+head.pos+dependent.pos",
        "head.pos[-1]+head.pos+dependent.pos+distance",
        "head.pos+dependent.lemma",
        "head.pos+dependent.lemma+distance",
    ),
    "labels": (
        "leftmost.lower+dependent.pos+head.pos",
        "leftmost.cluster.*+dependent.pos+head.pos",
        "dependent.pos+dependent.lower[1]",
        "sibling.pos+dependent.pos+head.pos+direction",
        "grandparent.pos+head.pos+dependent.pos",
        "head.cluster.*+dependent.cluster.*",
        "head.cluster6.*+dependent.cluster6.*+direction",
        "head.pos+dependent.cluster6.*+direction",
    ),
    "tagger": NOT_FOR_WORDS,
    "morphologizer": NOT_FOR_WORDS,
    "senter": (),
}
FAMILIES = {
    "arcs": "parser",
    "labels": "labels",
    "tagger": "tagger",
    "morphologizer": "tagger",
    "senter": "senter",
}
BUDGETS = {"arcs": [70, 62, 54, 46, 38], "labels": [44, 40, 36, 32, 26, 20]}
OTHER_BUDGETS = [50, 45, 40, 35, 30, 25, 20, 15, 10]


class Result(NamedTuple):
    dev: float  #: accuracy in %
    test: float
    time: float  #: microseconds for a word of test
    learning: float  #: seconds


def annotated(nlp: spacy.Language, doc: Doc) -> Doc:
    """All that templates of arcs and labels read."""
    lemmas, morphs = [token.lemma_ for token in doc], [str(token.morph) for token in doc]
    return parser.tagged(nlp, doc, lemmas=lemmas, morphs=morphs)


class Labels:
    """The labels of arcs. templates: of labels."""

    def __init__(self, data: Path, corpus: str, templates: list[str]) -> None:
        self.nlp = spacy.blank("en")
        config = {"projective": corpus != "nl", "label_templates": templates}
        pipe = self.nlp.add_pipe("ssvm_parser", config=config)
        assert isinstance(pipe, DependencyParser)
        self.pipe = pipe
        examples = {
            part: parser.examples_of(self.nlp, parser.read(data, corpus, part), annotated)
            for part in parser.PARTS
        }
        pipe.initialize(lambda: examples["train"], nlp=self.nlp, clusters=clusters_for(corpus))
        self.arcs = {part: self._arcs(found) for part, found in examples.items()}

    def _arcs(self, examples: Sequence) -> LabelledTokens:
        """The arcs of the gold trees of a part."""
        nodes, heads, labels = self.pipe.read_batch(self.pipe.gold_docs(examples))
        arcs, arc_nodes, _ = self.pipe.model.arc_table(nodes, heads)
        return LabelledTokens(arcs, ByWord(labels[arc_nodes]))

    def selector(self) -> Selector:
        return chain_selector(self.pipe.model.label_model, self.arcs["train"])

    def measure(self, seed: int) -> Result:
        """Train the labels alone."""
        model = self.pipe.model.label_model
        start = time.process_time()
        solver = replace(self.pipe.label_solver, seed=seed)
        trainer = ChainTrainer(model, solver, min_count=self.pipe.min_count)
        sequences = trainer.add(self.arcs["train"])
        for _ in range(EPOCHS):
            trainer.epoch(np.arange(sequences[-1].stop))
        trainer.update_model()
        learning = time.process_time() - start
        accuracy = {}
        for part in ("dev", "test"):
            gold = self.arcs[part].labels
            seconds = []
            for _ in range(5):
                start = time.process_time()
                found = model.label(self.arcs[part].tokens)
                seconds.append(time.process_time() - start)
            accuracy[part] = 100 * float(np.mean(found[gold >= 0] == gold[gold >= 0]))
        return Result(**accuracy, time=1e6 * min(seconds) / len(gold), learning=learning)


class Arcs:
    """The arcs of trees. templates: of arcs, and of pairs of them."""

    def __init__(self, data: Path, corpus: str, templates: list[str], **settings: Any) -> None:
        self.corpus, self.settings = corpus, {"templates": templates, **settings}
        self.parts = {part: parser.read(data, corpus, part) for part in parser.PARTS}

    def _new(self, seed: int) -> tuple[spacy.Language, DependencyParser, list[Example]]:
        nlp = spacy.blank("en")
        config = {"projective": self.corpus != "nl", **self.settings}
        pipe = nlp.add_pipe("ssvm_parser", config=config)
        assert isinstance(pipe, DependencyParser)
        pipe.solver = replace(pipe.solver, seed=seed)
        examples = parser.examples_of(nlp, self.parts["train"], annotated)
        pipe.initialize(lambda: examples, nlp=nlp, clusters=clusters_for(self.corpus))
        return nlp, pipe, examples

    def selector(self) -> Selector:
        _, pipe, examples = self._new(0)
        return pipe.selector(examples[:SELECTING])

    def measure(self, seed: int) -> Result:
        """Train the parser, and annotate."""
        nlp, pipe, examples = self._new(seed)
        start = time.process_time()
        for _ in range(EPOCHS):
            pipe.update(examples)
        learning = time.process_time() - start
        las = {
            part: parser.attachment(
                pipe.pipe([annotated(nlp, doc) for doc in self.parts[part]], batch_size=1000),
                self.parts[part],
            )[1]
            for part in ("dev", "test")
        }
        speed = peers.annotation_speed(
            pipe, lambda: [annotated(nlp, doc) for doc in self.parts["test"]]
        )
        return Result(**las, time=1e6 / speed, learning=learning)


class Words:
    """A component that labels words, ``ssvm_tagger`` or ``ssvm_morphologizer``."""

    def __init__(self, data: Path, corpus: str, templates: list[str], task: str) -> None:
        self.corpus, self.task, self.templates = corpus, task, templates
        self.parts = morphology.read(data, corpus)
        if corpus != "en":
            self.parts = {
                part: [[word._replace(tag=word.pos) for word in words] for words in sentences]
                for part, sentences in self.parts.items()
            }
        self.given = {
            "clusters": clusters_for(corpus),
            "dictionary": load_lookups(corpus, ["lemma_lookup"]),
        }

    def _new(self, seed: int) -> tuple[spacy.Language, Any, list[Example]]:
        nlp = spacy.blank(self.corpus)
        pipe = morphology.add_pipe(nlp, f"ssvm_{self.task}", seed, templates=self.templates)
        return nlp, pipe, morphology.examples_of(nlp, self.parts["train"])

    def selector(self) -> Selector:
        nlp, pipe, examples = self._new(0)
        pipe.initialize(lambda: examples, nlp=nlp, **self.given)
        return pipe.selector(examples)

    def measure(self, seed: int) -> Result:
        """Train the component, and annotate."""
        nlp, pipe, examples = self._new(seed)
        learning = morphology.trained(nlp, pipe, examples, morphology.EPOCHS, {**self.given})
        name = "XPOS" if self.task == "tagger" else "both"
        found = morphology.scored(pipe, nlp, self.parts, (name,))
        speed = morphology.speed_of(pipe, nlp, self.parts["test"])
        return Result(found["dev"][name], found["test"][name], 1e6 / speed, learning)


class Boundaries:
    """The boundaries of sentences. templates: of words."""

    def __init__(self, data: Path, corpus: str, templates: list[str]) -> None:
        self.corpus, self.templates = corpus, templates
        self.parts = {
            part: parser.read(data, corpus, part, sentences=BESIDE) for part in parser.PARTS
        }

    def _new(self, seed: int) -> tuple[spacy.Language, Any, list[Example]]:
        nlp = spacy.blank("en")
        pipe: Any = nlp.add_pipe("ssvm_senter", config={"templates": self.templates})
        pipe.solver = replace(pipe.solver, seed=seed)
        examples = self._examples(nlp, "train")
        pipe.initialize(lambda: examples, nlp=nlp, clusters=clusters_for(self.corpus))
        return nlp, pipe, examples

    def _examples(self, nlp: spacy.Language, part: str) -> list[Example]:
        return parser.examples_of(nlp, self.parts[part], parser.plain)

    def selector(self) -> Selector:
        _, pipe, examples = self._new(0)
        return pipe.selector(examples)

    def measure(self, seed: int) -> Result:
        """Train the component, and annotate."""
        nlp, pipe, examples = self._new(seed)
        start = time.process_time()
        for _ in range(morphology.EPOCHS):
            pipe.update(examples)
        learning = time.process_time() - start
        f1 = {
            part: 100 * nlp.evaluate(self._examples(nlp, part))["sents_f"]
            for part in ("dev", "test")
        }
        speed = peers.annotation_speed(
            pipe, lambda: [parser.plain(nlp, doc) for doc in self.parts["test"]]
        )
        return Result(**f1, time=1e6 / speed, learning=learning)


WORDS = ("tagger", "morphologizer")
LEARNERS: dict[str, Any] = {"arcs": Arcs, "labels": Labels, "senter": Boundaries}


def clusters_for(corpus: str) -> dict[str, Any] | None:
    """The word clusters for a corpus, by name; None for none."""
    lang = CLUSTERS.get(corpus)
    return {lang: load_lookups(lang, ["lexeme_cluster"])} if lang else None


def kept(selector: Selector, budgets: Iterable[int]) -> dict[str, int]:
    """For how many of the budgets each template was kept."""
    counts = Counter({_general(str(template)): 0 for template in selector.templates})
    fitting = [budget for budget in budgets if budget < len(selector.templates)]
    for number, budget in enumerate(fitting):
        selected = selector.select(Selection(budget=budget), warm_start=number > 0)
        counts.update({*map(_general, selected.texts)})
    return counts


def by_template(counts: dict[str, dict[str, int]]) -> dict[str, list[int]]:
    """What ``kept`` returns for each corpus, by template."""
    texts = {text: None for found in counts.values() for text in found}
    return {text: [found.get(text, 0) for found in counts.values()] for text in texts}


def _general(text: str) -> str:
    """A template, its parts in order, of whichever clusters or dictionary."""
    text = re.sub(r"(cluster\d*|dictionary)\.\w+", r"\1.*", text)
    return "+".join(sorted(text.replace("[0]", "").split("+")))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("task", choices=[*LEFT_OUT])
    options.add_argument("--data", type=Path, required=True, help="folder of the treebanks")
    options.add_argument("--corpora", nargs="+", choices=[*CLUSTERS, "tr"])
    options.add_argument("--budgets", nargs="+", type=int)
    options.add_argument("--seeds", type=int, default=2, help="runs of each family")
    options.add_argument("--kept", type=int, help="measure what is kept as often, in all corpora")
    options.add_argument("--hash-bits", type=int, help="of arcs, in place of the default")
    args = options.parse_args()
    task = args.task
    corpora = args.corpora or [*CLUSTERS, *(["tr"] if task in WORDS else [])]
    bits = {} if args.hash_bits is None else {"hash_bits": args.hash_bits}
    if bits and task != "arcs":
        options.error(f"--hash-bits is of arcs, not of {task}")
    families = {"all candidates": [FAMILIES[task], *LEFT_OUT[task]]}
    if LEFT_OUT[task]:
        families = {"family": [FAMILIES[task]]} | families
    candidates: dict[str, list[str]] = {}
    counts: dict[str, dict[str, int]] = {}
    rows = []

    def learner_of(corpus: str, templates: list[str]) -> Any:
        if task in WORDS:
            return Words(args.data, corpus, templates, task)
        return LEARNERS[task](args.data, corpus, templates, **bits)

    def measure(learner: Any, name: str) -> None:
        means = np.mean([learner.measure(seed) for seed in range(args.seeds)], axis=0)
        rows.append((name, *(f"{x:.2f}" for x in means)))

    for corpus in corpora:
        for name, templates in families.items():
            msg.info(f"{corpus}, {name}")
            learner = learner_of(corpus, templates)
            if name == "all candidates":
                selector = learner.selector()
                candidates[corpus] = [*map(str, selector.templates)]
                counts[corpus] = kept(selector, args.budgets or BUDGETS.get(task, OTHER_BUDGETS))
            measure(learner, f"{corpus}, {name}")
    by_corpus = by_template(counts)
    for corpus in corpora if args.kept else ():
        often = [text for text in candidates[corpus] if sum(by_corpus[_general(text)]) >= args.kept]
        measure(learner_of(corpus, often), f"{corpus}, {len(often)} kept")
    header = ("template", *counts)
    order = sorted(by_corpus, key=lambda text: -sum(by_corpus[text]))
    table = [(text, *map(str, by_corpus[text])) for text in order]
    aligns = ("l", *"r" * len(counts))
    msg.table(table, header=header, aligns=aligns, divider=True, max_col=60)
    msg.table(rows, header=(task, *Result._fields), aligns=("l", *"rrrr"), divider=True)


if __name__ == "__main__":
    main()
