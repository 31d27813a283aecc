"""Labels of the sentences of CSAbstruct's abstracts: ssvm_sentence_labeler and others.

    python benchmarks/sentences.py --data FOLDER [--label result]

FOLDER contains train.jsonl and dev.jsonl (`sentences` and `labels` in each line). The systems:

    chain-dcd, chain-ap, chain-crf   all sentences of an abstract together, by different solvers
    cut-none, cut-near, cut-dcd, cut-ap
                                     decoder = "cut" without edges, that is all sentences by
                                     themselves, with edges between neighbours, and with the
                                     default ones
    own-none, own-cut, own-chain     the same with features of the words of the sentence alone,
                                     without its place and its neighbours: without edges, with the
                                     default ones, and as a chain
    alone-dcd                        each sentence as a Doc of its own
    crfsuite                         python-crfsuite's L-BFGS on the features of the chains
    tfidf                            scikit-learn's logistic regression on TF-IDF, sentence by
                                     sentence

With --label, there are two labels: this one, and other. Systems whose package is not installed are
skipped. Seconds include reading features.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.warmup import USES, compile_for
from spacy_ssvm.sentences.reader import LabeledSentences
from spacy_ssvm.sentences.unit_keys import extract_unit_keys

FACTORY, KEY = "ssvm_sentence_labeler", "sentence_labels"
EPOCHS = 6
SOLVERS = {
    "dcd": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0.001},
    "ap": {"@misc": "spacy_ssvm.Perceptron.v1"},
    "crf": {"@misc": "spacy_ssvm.DualCoordinateAscent.v1", "C": 0.03},
}

Corpus = list[Example]
Labels = list[str]
System = Callable[[spacy.Language, Corpus, Corpus], Labels]  # the labels of the second corpus


def gold_of(corpus: Corpus) -> Labels:
    return [span.label_ for example in corpus for span in example.reference.spans[KEY]]


def against_others(corpus: Corpus, label: str) -> Corpus:
    """The same corpus with the other labels as one."""
    for example in corpus:
        reference = example.reference
        reference.spans[KEY] = [
            Span(reference, span.start, span.end, label if span.label_ == label else "other")
            for span in reference.spans[KEY]
        ]
    return corpus


def alone(corpus: Corpus) -> Corpus:
    """Each sentence as an example of its own."""
    found = []
    for example in corpus:
        for span in example.reference.spans[KEY]:
            doc = span.as_doc()
            predicted = Doc(doc.vocab, words=[token.text for token in doc])
            doc.spans[KEY] = [Span(doc, 0, len(doc), span.label_)]
            found.append(Example(predicted, doc))
    return found


def labeler(solver: str, divide: Callable[[Corpus], Corpus], **config: Any) -> System:
    """A system that trains the component."""

    def run(nlp: spacy.Language, train: Corpus, dev: Corpus) -> Labels:
        units = "sentences" if divide is list else "paragraphs"  # a Doc of one sentence
        nlp.add_pipe(FACTORY, config={"solver": SOLVERS[solver], "units": units, **config})
        examples = divide(train)
        nlp.initialize(lambda: examples)
        for _ in range(EPOCHS):
            nlp.update(examples)
        docs = nlp.pipe([example.predicted.copy() for example in divide(dev)])
        return [span.label_ for doc in docs for span in doc.spans[KEY]]

    return run


def features_of(nlp: spacy.Language, corpus: Corpus) -> list[list[list[str]]]:
    """The features of the component, by Doc and sentence."""
    model: Any = nlp.create_pipe(FACTORY).model
    table = model.reader.read([example.predicted for example in corpus]).table
    found = extract_unit_keys(model.compiled, table)
    names = [f"{m} {key}" for m, key in zip(found.templates, found.keys, strict=True)]
    units = [names[a:b] for a, b in pairwise(found.starts.tolist())]
    return [units[a:b] for a, b in pairwise(table.doc_units.tolist())]


def crfsuite(nlp: spacy.Language, train: Corpus, dev: Corpus) -> Labels:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(
        algorithm="lbfgs", params={"c2": 1.0, "max_iterations": 100}, verbose=False
    )
    for features, example in zip(features_of(nlp, train), train, strict=True):
        trainer.append(features, gold_of([example]))
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        return [label for features in features_of(nlp, dev) for label in tagger.tag(features)]


def tfidf(_: spacy.Language, train: Corpus, dev: Corpus) -> Labels:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def texts(corpus: Corpus) -> list[str]:
        return [span.text for example in corpus for span in example.reference.spans[KEY]]

    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
    model.fit(texts(train), gold_of(train))
    return list(model.predict(texts(dev)))


#: Templates that see nothing but the words of the sentence.
OWN = ["bag(lower, 2)", "first(lower)", "first(lower, 2)", "first(lower, 3)"]

#: By name: the system, and the package that it needs.
SYSTEMS: dict[str, tuple[System, str | None]] = {
    **{f"chain-{solver}": (labeler(solver, list), None) for solver in SOLVERS},
    "cut-none": (labeler("dcd", list, decoder="cut", edges=[]), None),
    "cut-near": (labeler("dcd", list, decoder="cut", edges=["neighbor"]), None),
    "cut-dcd": (labeler("dcd", list, decoder="cut"), None),
    "cut-ap": (labeler("ap", list, decoder="cut"), None),
    "own-none": (labeler("dcd", list, templates=OWN, decoder="cut", edges=[]), None),
    "own-cut": (labeler("dcd", list, templates=OWN, decoder="cut"), None),
    "own-chain": (labeler("dcd", list, templates=OWN), None),
    "alone-dcd": (labeler("dcd", alone), None),
    "crfsuite": (crfsuite, "pycrfsuite"),
    "tfidf": (tfidf, "sklearn"),
}


def macro_f1(gold: np.ndarray, found: np.ndarray) -> float:
    """The mean F1 of the labels."""
    scores = []
    for label in np.unique(gold):
        right = ((gold == label) & (found == label)).sum()
        scores.append(2 * right / ((gold == label).sum() + (found == label).sum()))
    return float(np.mean(scores))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--label", help="tell it from all others")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options = parser.parse_args()
    for use in USES:
        if use.factory == FACTORY:
            compile_for(use)
    rows = []
    for name in options.systems:
        system, package = SYSTEMS[name]
        if package is not None and find_spec(package) is None:
            msg.warn(f"{name} is skipped: {package} is not installed")
            continue
        nlp = spacy.blank("en")
        train, dev = (
            list(LabeledSentences(options.data / f"{part}.jsonl")(nlp)) for part in ("train", "dev")
        )
        if options.label:
            train, dev = (against_others(corpus, options.label) for corpus in (train, dev))
        start = time.process_time()
        found, gold = np.array(system(nlp, train, dev)), np.array(gold_of(dev))
        seconds = time.process_time() - start
        accuracy = 100 * float((found == gold).mean())
        values = accuracy, 100 * macro_f1(gold, found), seconds
        rows.append((name, *(f"{value:.1f}" for value in values)))
    header = ("system", "accuracy", "macro F1", "CPU seconds")
    msg.table(rows, header=header, aligns=("l", "r", "r", "r"), divider=True)


if __name__ == "__main__":
    main()
