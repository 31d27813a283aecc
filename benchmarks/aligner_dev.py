"""What to choose the best epoch of ssvm_aligner by, where few pairs have links.

    python benchmarks/aligner_dev.py --data FOLDER [--pairs 50] [--seeds 6]

FOLDER is as for aligner.py: the association of words is learned from all captions, and from the
texts of the pairs, which seeds draw from train. Scores are F1 of the links of valid, in %:

    30 % held out       the best epoch on them, as training chooses it (patience 5)
    10 % held out       the same, with fewer
    30 %, then all      as many epochs as were best there, on all pairs
    five folds, all     as many epochs as were best on average over five parts, on all pairs
    n epochs            on all pairs

At the end: how far the best score on what was held out is from the score on valid.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import aligner
import numpy as np
import spacy
from spacy.training import Example
from wasabi import msg

EPOCHS, PATIENCE, FOLDS = 20, 5, 5
FIXED = (1, 2, 3, 5, 8, 12, 20)


def best_epoch(scores: Sequence[float]) -> int:
    """The epoch, from 0, that training would choose."""
    best = 0
    for epoch, score in enumerate(scores):
        if score > scores[best]:
            best = epoch
        if epoch - best >= PATIENCE:
            break
    return best


def run(nlp: spacy.Language, data: Path, pairs: list[Example], valid: list[Example]) -> dict:
    pipe = nlp.create_pipe(aligner.NAME)
    pipe.initialize(lambda: pairs, nlp=nlp, bitext=aligner.captions(data))
    saved = pipe.to_bytes()

    def curve(learned: list[Example], *scored: list[Example]) -> np.ndarray:
        """F1 in % after each epoch, on each set of pairs: float64 [sets, epochs]."""
        own = spacy.blank("xx", vocab=nlp.vocab)
        own.add_pipe(aligner.NAME).from_bytes(saved)
        found = []
        for _ in range(EPOCHS):
            own.update(learned)
            found.append([100 * own.evaluate(examples)["align_f"] for examples in scored])
        return np.array(found).T

    (on_all,) = curve(pairs, valid)
    results = {}
    for percent in (30, 10):
        number = max(1, len(pairs) * percent // 100)
        dev, on_valid = curve(pairs[number:], pairs[:number], valid)
        best = best_epoch(dev)
        results[f"{percent} % held out"] = on_valid[best]
        results[f"{percent} %, then all"] = on_all[best]
        results[f"{percent} %: error"] = abs(dev[best] - on_valid[best])
    parts = [
        curve([p for i, p in enumerate(pairs) if i % FOLDS != fold], pairs[fold::FOLDS])[0]
        for fold in range(FOLDS)
    ]
    mean = np.mean(parts, axis=0)
    results["five folds, all"] = on_all[best_epoch(mean)]
    results["five folds: error"] = abs(mean[best_epoch(mean)] - on_all[best_epoch(mean)])
    return results | {f"{epochs} epochs": on_all[epochs - 1] for epochs in FIXED}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of both corpora")
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    nlp = spacy.blank("xx")
    train, valid = (aligner.read(nlp, options.data, part) for part in ("train", "valid"))
    found = []
    for seed in range(options.seeds):
        pairs = random.Random(seed).sample(train, options.pairs)
        found.append(run(nlp, options.data, pairs, valid))
        msg.info(f"seed {seed}")
    rows = []
    for name in sorted(found[0], key=lambda name: "error" in name):
        values = [one[name] for one in found]
        rows.append((name, f"{np.mean(values):.1f}", f"{np.std(values):.1f}"))
    msg.table(rows, header=("", "mean", "deviation"), aligns=("l", "r", "r"), divider=True)


if __name__ == "__main__":
    main()
