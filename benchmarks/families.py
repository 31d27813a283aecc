"""Which templates of arc labels a group lasso keeps, on several treebanks, and what they cost.

    python benchmarks/families.py --data FOLDER [--corpora en pt nl] [--budgets 44 40 36 32 26 20]

FOLDER contains ud_en_ewt, ud_pt_bosque and ud_nl_lassysmall. The examples are the arcs of gold
trees, with gold tags, features, lemmas, and the word clusters of spacy-lookups-data (English,
Spanish for Portuguese, German for Dutch). Candidates are the templates of the family ``labels`` and
those that were left out of it.

The first table has the candidates that were kept with each budget: for how many of the budgets, in
each treebank, those kept most often first. The second one has what the family and all candidates
give, as means of --seeds: accuracy of labels on dev and test, time for a word, and for learning.
Times are CPU times on one thread. Requires the extra `bench`.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import parser
import spacy
from spacy.lookups import load_lookups
from spacy.tokens import Doc
from wasabi import msg

from spacy_ssvm.chains.selection import chain_selector
from spacy_ssvm.chains.training import ChainTrainer, LabelledTokens
from spacy_ssvm.components.parser import DependencyParser
from spacy_ssvm.features.attributes import ByWord
from spacy_ssvm.selection import Selection
from spacy_ssvm.trees.families import ARC_FAMILIES

EPOCHS = 7
CLUSTERS = {"en": "en", "pt": "es", "nl": "de"}
#: What the family does without: 50 templates are as accurate as 58, and take less time.
LEFT_OUT = (
    "leftmost.lower+dependent.pos+head.pos",
    "leftmost.cluster.*+dependent.pos+head.pos",
    "dependent.pos+dependent.lower[1]",
    "sibling.pos+dependent.pos+head.pos+direction",
    "grandparent.pos+head.pos+dependent.pos",
    "head.cluster.*+dependent.cluster.*",
    "head.cluster6.*+dependent.cluster6.*+direction",
    "head.pos+dependent.cluster6.*+direction",
)
FAMILIES = {"family": ["labels"], "all candidates": ["labels", *LEFT_OUT]}


class Result(NamedTuple):
    dev: float  #: accuracy in %
    test: float
    time: float  #: microseconds for a word of test
    learning: float  #: seconds


def annotated(nlp: spacy.Language, doc: Doc) -> Doc:
    """All that templates of labels read."""
    lemmas, morphs = [token.lemma_ for token in doc], [str(token.morph) for token in doc]
    return parser.tagged(nlp, doc, lemmas=lemmas, morphs=morphs)


def make(data: Path, corpus: str, templates: list[str]) -> tuple[Any, dict[str, Any]]:
    """An initialized parser with these templates of labels, and examples by part."""
    nlp = spacy.blank("en")
    config = {"projective": corpus != "nl", "label_templates": templates}
    pipe = nlp.add_pipe("ssvm_parser", config=config)
    assert isinstance(pipe, DependencyParser)
    examples = {
        part: parser.examples_of(nlp, parser.read(data, corpus, part), annotated)
        for part in parser.PARTS
    }
    lang = CLUSTERS[corpus]
    clusters = {lang: load_lookups(lang, ["lexeme_cluster"])}
    pipe.initialize(lambda: examples["train"], nlp=nlp, clusters=clusters)
    return pipe, examples


def arcs_of(pipe: DependencyParser, examples: Sequence) -> LabelledTokens:
    """The arcs of the gold trees of a part."""
    nodes, heads, labels = pipe.read_batch(pipe.gold_docs(examples))
    arcs, arc_nodes, _ = pipe.model.arc_table(nodes, heads)
    return LabelledTokens(arcs, ByWord(labels[arc_nodes]))


def measure(pipe: DependencyParser, parts: dict[str, LabelledTokens], seed: int) -> Result:
    """Train the labels alone."""
    model = pipe.model.label_model
    start = time.process_time()
    solver = replace(pipe.label_solver, seed=seed)
    trainer = ChainTrainer(model, solver, min_count=pipe.min_count)
    sequences = trainer.add(parts["train"])
    for _ in range(EPOCHS):
        trainer.epoch(np.arange(sequences[-1].stop))
    trainer.update_model()
    learning = time.process_time() - start
    accuracy = {}
    for part in ("dev", "test"):
        gold = parts[part].labels
        seconds = []
        for _ in range(5):
            start = time.process_time()
            found = model.label(parts[part].tokens)
            seconds.append(time.process_time() - start)
        accuracy[part] = 100 * float(np.mean(found[gold >= 0] == gold[gold >= 0]))
    return Result(**accuracy, time=1e6 * min(seconds) / len(gold), learning=learning)


def kept(
    pipe: DependencyParser, train: LabelledTokens, budgets: Iterable[int]
) -> Counter[tuple[str, ...]]:
    """For how many of the budgets each template was kept."""
    selector = chain_selector(pipe.model.label_model, train)
    counts: Counter[tuple[str, ...]] = Counter()
    for number, budget in enumerate(budgets):
        selected = selector.select(Selection(budget=budget), warm_start=number > 0)
        counts.update({_parts(text) for text in selected.texts})
    return counts


def _parts(text: str) -> tuple[str, ...]:
    """The parts of a template, in any order, of whichever clusters."""
    text = re.sub(r"(cluster\d*)\.(?:en|es|de)\b", r"\1.*", text)
    return tuple(sorted(text.replace("[0]", "").split("+")))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="folder of the treebanks")
    options.add_argument("--corpora", nargs="+", default=[*CLUSTERS], choices=[*CLUSTERS])
    options.add_argument("--budgets", nargs="+", type=int, default=[44, 40, 36, 32, 26, 20])
    options.add_argument("--seeds", type=int, default=2, help="runs of each family")
    args = options.parse_args()
    counts: dict[str, Counter[tuple[str, ...]]] = {}
    rows = []
    for corpus in args.corpora:
        for name, templates in FAMILIES.items():
            msg.info(f"{corpus}, {name}")
            pipe, examples = make(args.data, corpus, templates)
            parts = {part: arcs_of(pipe, found) for part, found in examples.items()}
            if name == "all candidates":
                counts[corpus] = kept(pipe, parts["train"], args.budgets)
            results = [measure(pipe, parts, seed) for seed in range(args.seeds)]
            means = np.mean(results, axis=0)
            rows.append((f"{corpus}, {name}", *(f"{x:.2f}" for x in means)))
    candidates = (*ARC_FAMILIES["labels"], *LEFT_OUT)
    chain = {text: _parts(text) for text in candidates}
    order = sorted(candidates, key=lambda text: -sum(c[chain[text]] for c in counts.values()))
    header = ("template", *counts)
    table = [(text, *(str(c[chain[text]]) for c in counts.values())) for text in order]
    aligns = ("l", *"r" * len(counts))
    msg.table(table, header=header, aligns=aligns, divider=True, max_col=60)
    msg.table(rows, header=("labels of arcs", *Result._fields), aligns=("l", *"rrrr"), divider=True)


if __name__ == "__main__":
    main()
