"""Time per epoch of the solvers, and convergence of the exact ones, on XPOS of UD English-EWT.

    python benchmarks/solvers.py --data FOLDER [--epochs 5] [--exact 500]

FOLDER contains en_ewt-ud-train.conllu. Gold tokens, one sentence per Doc, C = 0.1. Three tables:

    decoding    forward-backward against Viterbi, on the score tables of 2000 sentences
    epochs      median CPU time per epoch of each online solver, relative to dcd-light; solvers
                run in turn in one process, and the first epoch, which compiles kernels, is ignored
    exact       the objectives that exact solvers reach on the first sentences, with few
                templates; solvers of the same problem must agree
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import spacy
from tagger import examples_of, read
from wasabi import msg

from spacy_ssvm.chains.scores import emission_scores, transition_scores
from spacy_ssvm.decoders.chain import viterbi
from spacy_ssvm.decoders.chain_marginals import marginals
from spacy_ssvm.lab.compare import SOLVERS, make_solver
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import LBFGS

BASE = "dcd-light"
ONLINE = [BASE, *(name for name in SOLVERS if name not in (BASE, "lbfgs", "cutting-plane"))]
SENTENCES = 2000
ROUNDS = 7
FEW = ["lower[0]", "lower[-1]", "lower[1]", "suffix3[0]"]
TOLERANCE = 2e-5
MAX_EPOCHS = 3000
EXACT = {
    "dcd-ssvm": DualCoordinateDescent(delta=1e-6, tolerance=TOLERANCE),
    "dcd-light": DualCoordinateDescent(variant="light", delta=1e-6, tolerance=TOLERANCE),
    "cpd": DualCoordinateDescent(variant="cpd", delta=1e-6, tolerance=TOLERANCE),
    "frank-wolfe-pairwise": PairwiseFrankWolfe(tolerance=TOLERANCE),
    "frank-wolfe": FrankWolfe(tolerance=TOLERANCE),
    "cutting-plane": CuttingPlane(tolerance=TOLERANCE),
    "frank-wolfe-crf": FrankWolfe(beta=1.0, gamma=0.0, sampling="gap", tolerance=TOLERANCE),
    "lbfgs": LBFGS(),
    "lbfgs, one iteration per epoch": LBFGS(iterations=1),
}


def compiled(sentences, **config):
    """A tagger, its training and the numbers of its examples."""
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("ssvm_tagger", config=config)
    examples = examples_of(nlp, sentences)
    nlp.initialize(lambda: examples)
    return tagger, *tagger.featurize(examples)


def decoding(training) -> None:
    """Time both decoders on the score tables of the current weights."""
    examples, w = training.problem.examples(), training.run.w
    K = training.problem.K
    transitions = transition_scores(w, examples.legality)
    tables = []
    for i in range(min(SENTENCES, training.problem.number_of_examples)):
        emissions = np.empty((int(np.diff(examples.token_starts[i : i + 2])[0]), K))
        first = int(examples.token_starts[i])
        emission_scores(examples.features, first, w, emissions)
        tables.append((emissions, np.empty(len(emissions), np.int64), np.empty_like(emissions)))
    pairs = np.empty((K, K))
    seconds: dict[str, list[float]] = {"Viterbi": [], "forward-backward": []}
    for _ in range(ROUNDS):
        start = time.process_time()
        for emissions, y, _ in tables:
            viterbi(emissions, transitions, y)
        middle = time.process_time()
        for emissions, _, labels in tables:
            marginals(emissions, transitions, labels, pairs)
        seconds["Viterbi"].append(middle - start)
        seconds["forward-backward"].append(time.process_time() - middle)
    words = sum(len(emissions) for emissions, *_ in tables)
    medians = {name: statistics.median(of_name) for name, of_name in seconds.items()}
    rows = [
        (name, f"{1e6 * median / words:.2f}", f"{median / medians['Viterbi']:.2f}")
        for name, median in medians.items()
    ]
    msg.table(
        rows,
        header=("decoding", "µs per word", "relative to Viterbi"),
        aligns=("l", "r", "r"),
        divider=True,
    )


def epochs(tagger, training, numbers, count: int) -> None:
    """Time the epochs of all online solvers, in turn."""
    runs = {}
    for name in ONLINE:
        training.restart(make_solver(SOLVERS[name], 0, tagger.solver))
        runs[name] = training.run
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for epoch in range(count + 1):
        for name, run in runs.items():
            start = time.process_time()
            run.epoch(numbers)
            if epoch:
                seconds[name].append(time.process_time() - start)
    base = statistics.median(seconds[BASE])
    rows = [
        (name, f"{statistics.median(s):.2f}", f"{statistics.median(s) / base:.2f}")
        for name, s in seconds.items()
    ]
    header = ("solver", "seconds per epoch", f"relative to {BASE}")
    msg.table(rows, header=header, aligns=("l", "r", "r"), divider=True)


def exact(training, numbers, seconds: float) -> None:
    """Train each exact solver until its gap is closed or time is up, and show the objectives."""
    rows = []
    for name, solver in EXACT.items():
        training.restart(solver)
        start, value, epoch = time.process_time(), np.inf, 0
        while epoch < MAX_EPOCHS and time.process_time() - start < seconds:
            training.epoch(numbers)
            epoch += 1
            run = training.run
            if run.gap is not None and run.gap <= TOLERANCE and run.objective().gap <= TOLERANCE:
                break  # the first is an estimate
            if run.gap is None and epoch % 20 == 0:
                before, value = value, run.objective().primal
                if before - value <= 1e-9 * value:
                    break
        objective = run.objective()
        spent = f"{time.process_time() - start:.1f}"
        gap = "-" if objective.gap is None else f"{objective.gap:.1e}"
        rows.append((name, str(epoch), spent, f"{objective.primal:.4f}", gap))
        msg.info(", ".join(rows[-1]))
    header = ("solver", "epochs", "seconds", "primal", "gap")
    msg.table(rows, header=header, aligns=("l", *"rrrr"), divider=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebank")
    parser.add_argument(
        "--epochs", type=int, default=5, help="epochs of each online solver; 0: skip"
    )
    parser.add_argument(
        "--exact", type=int, default=500, help="sentences for the exact solvers; 0: skip"
    )
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each exact solver")
    options = parser.parse_args()
    sentences = read(options.data, "train", "XPOS")
    if options.epochs:
        tagger, training, numbers = compiled(sentences)
        epochs(tagger, training, numbers, options.epochs)
        training.restart(make_solver(SOLVERS["crf"], 0, tagger.solver))
        for _ in range(2):
            training.epoch(numbers)
        decoding(training)
    if options.exact:
        _, training, numbers = compiled(sentences[: options.exact], templates=FEW)
        exact(training, numbers, options.seconds)


if __name__ == "__main__":
    main()
