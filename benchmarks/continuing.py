"""What ssvm_ner forgets where it learns a new type of entity, and what helps.

    python benchmarks/continuing.py --data FOLDER [--seeds 3]

FOLDER contains uner_en_ewt. A recognizer learns PER and ORG from 2,000 sentences of train without
places, in ten epochs. Then it learns LOC, in eight epochs, from 4, 20 or 100 other sentences:

    all types       they annotate all three types
    smaller C       the same, with C = 0.005 instead of 0.1
    only new        they annotate LOC alone, so that persons and organizations count as outside
    completed       the same, with what the recognizer finds of the others, as in `train --from`
    some old        all types, and four times as many of the old sentences
    all old         all types, and all 2,000 of them
    unlisted        all types, and 2,000 old ones with places, which they do not annotate
    anew            a new recognizer, from the same sentences as "all old"

Scores are F1 of PER and ORG together, and of LOC, on the first 1,000 sentences of dev with gold
tokens: means of the seeds, which draw the sentences.
"""

import argparse
import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import ner
import numpy as np
import peers
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.conversion.files import Converted
from spacy_ssvm.commands.recipes.continuing import complete
from spacy_ssvm.commands.recipes.training import Corpus

NAME, NEW, OLD = "ssvm_ner", "LOC", ("ORG", "PER")
SENTENCES, SIZES, OLD_TIMES, SCORED = 2000, (4, 20, 100), 4, 1000
C, SMALLER_C = 0.1, 0.005
HEADER = ("learned from", *(f"{size}: {kind}" for size in SIZES for kind in ("old", "new")))


def golds(nlp: Language, sentences: peers.Labelled) -> list[Doc]:
    return [
        example.reference for example in ner.examples_of(ner.docs_of(nlp, sentences), sentences)
    ]


def only(types: Sequence[str], docs: Sequence[Doc]) -> list[Doc]:
    """Copies with the entities of some types."""
    copies = [doc.copy() for doc in docs]
    for doc in copies:
        doc.ents = [entity for entity in doc.ents if entity.label_ in types]
    return copies


def learn(nlp: Language, docs: Sequence[Doc], epochs: int) -> Language:
    examples = [Example(bare(doc), doc) for doc in docs]
    if not nlp.get_pipe(NAME).labels:
        nlp.initialize(lambda: examples)
    for _ in range(epochs):
        nlp.update(examples)
    return nlp


def blank(vocab: spacy.vocab.Vocab) -> Language:
    nlp = spacy.blank("en", vocab=vocab)
    nlp.add_pipe(NAME)
    return nlp


def bare(doc: Doc) -> Doc:
    return Doc(doc.vocab, words=[token.text for token in doc])


def scores(nlp: Language, docs: Sequence[Doc]) -> list[float]:
    """F1 of the old types together, and of the new one, in %."""
    found = list(nlp.pipe(map(bare, docs)))
    values = []
    for types in (OLD, (NEW,)):
        gold, predicted = (
            {
                (i, e.start, e.end, e.label)
                for i, d in enumerate(own)
                for e in d.ents
                if e.label_ in types
            }
            for own in (docs, found)
        )
        values.append(200 * len(gold & predicted) / max(1, len(gold) + len(predicted)))
    return values


def run(nlp: Language, train: Sequence[Doc], test: Sequence[Doc], seed: int) -> dict:
    """The scores by what was learned from, and by the number of new sentences."""
    train = random.Random(seed).sample(train, len(train))
    has_new = [any(entity.label_ == NEW for entity in doc.ents) for doc in train]
    new = [doc for doc, has in zip(train, has_new, strict=True) if has][: max(SIZES)]
    old = [doc for doc, has in zip(train, has_new, strict=True) if not has][:SENTENCES]
    unlisted = only(OLD, [doc for doc in train[:SENTENCES] if doc not in new])
    base = learn(blank(nlp.vocab), old, 10)
    saved = base.get_pipe(NAME).to_bytes()
    rows = {"old sentences": dict.fromkeys(SIZES, scores(base, test))}

    def further(C: float) -> Language:
        continued = blank(nlp.vocab)
        pipe = continued.get_pipe(NAME)
        pipe.from_bytes(saved).add_label(NEW)
        pipe.solver = dataclasses.replace(pipe.solver, C=C)
        return continued

    for size in SIZES:
        few, listed = new[:size], only([NEW], new[:size])
        completed = complete(base, [NAME], Corpus(listed, [], [Converted(listed, [], 0)]))
        for name, docs in (
            ("all types", few),
            ("smaller C", few),
            ("only new", listed),
            ("completed", completed.corpus.train),
            ("some old", [*few, *old[: OLD_TIMES * size]]),
            ("all old", [*few, *old]),
            ("unlisted", [*few, *unlisted]),
        ):
            rows.setdefault(name, {})[size] = scores(
                learn(further(SMALLER_C if name == "smaller C" else C), docs, 8), test
            )
        anew = learn(blank(nlp.vocab), [*few, *old], 10)
        rows.setdefault("anew", {})[size] = scores(anew, test)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    nlp = spacy.blank("en")
    train, dev = (golds(nlp, ner.read(options.data, "en", part)) for part in ("train", "dev"))
    found = []
    for seed in range(options.seeds):
        found.append(run(nlp, train, dev[:SCORED], seed))
        msg.info(f"seed {seed}")
    rows = [
        (name, *np.mean([[*one[name].values()] for one in found], axis=0).ravel().round(1).tolist())
        for name in found[0]
    ]
    msg.table(rows, header=HEADER, aligns=("l", *"r" * len(HEADER[1:])), divider=True)


if __name__ == "__main__":
    main()
