"""Several learners instead of one: rounds to the same gap, simulated in one process.

    python benchmarks/ray_learners.py --data FOLDER [--learners 1 2 4] [--corpus FILE] [--rounds 20]

Training with Ray has one learner, whose memory is its limit. With CoCoA+ [Ma et al. 2015], each of
K learners has the dual variables of a part of the examples. In a round, all start from the same w;
a learner makes a pass of dual coordinate descent over its part, with inner passes and blocks as
with Ray, in which each of its steps counts sigma times; and then their changes of w are added up.
Sigma is that of a weight: in how many parts its feature occurs (K for transitions). Then the dual
never falls, without a line search: |sum_k dv_k|^2 <= sum_k sigma dv_k^2 (Cauchy-Schwarz).

FOLDER contains ud_en_ewt/en_ewt-ud-train.conllu, whose tags are learned; --corpus is a .spacy file
of entities that are learned instead, by ssvm_ner. Prints the exact relative duality gap after some
of the rounds, and after how many it is small enough. One learner is the run of Ray but for the
delay of a block.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ray_training import FILE, GAPS, config_of, passes_to_gaps
from spacy.training.initialize import init_nlp
from streaming import corpus_bytes
from wasabi import msg

from spacy_ssvm.chains.layout import Examples, ExamplesType
from spacy_ssvm.chains.oracle import CHAINS
from spacy_ssvm.chains.problem import ChainProblem
from spacy_ssvm.distributed.corpora import train_corpus
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats, Floats1, Ints, Rows, Weights, named_tuple
from spacy_ssvm.objective import SQUARED_HINGE, losses, relative_gap
from spacy_ssvm.solvers.decoding import decode_block
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.structure import Decoded

SHOWN = (1, 5, 10, 20)  # rounds
BLOCKS = 50  # of all examples


class Scaled(NamedTuple):
    """Examples whose differences are scaled: then each step on them counts sigma times."""

    examples: Examples
    roots: Floats  #: float64 [weights]: of sigma


chain_decode, chain_difference = CHAINS.decode, CHAINS.difference


@kernel
def decode(scaled: Scaled, i: int, w: Floats, gamma: float, complete: bool) -> Any:
    """See ``Structure.decode``; never called, as ``Part.decode_blocks`` decodes."""
    return chain_decode(scaled.examples, i, w, gamma, complete)


@kernel
def scaled_difference(scaled: Scaled, i: int, y: Ints, indices: Rows, values: Weights) -> int:
    """See ``Structure.difference``."""
    size = chain_difference(scaled.examples, i, y, indices, values)
    for entry in range(size):
        values[entry] *= scaled.roots[indices[entry]]
    return size


SCALED = CHAINS._replace(
    examples_type=named_tuple(Scaled, ExamplesType, Floats1),
    decode=decode,
    difference=scaled_difference,
    is_remote=True,
)


class Part:
    """The problem of a learner; w of its run is divided by the roots of sigma."""

    structure, nonnegative = SCALED, 0

    def __init__(self, problem: ChainProblem, roots: Floats) -> None:
        self._problem, self._roots = problem, roots
        self.number_of_examples, self.max_entries = problem.number_of_examples, problem.max_entries
        self.max_expected_entries = 0

    def number_of_weights(self, rows: int) -> int:
        return self._problem.number_of_weights(rows)

    def examples(self) -> Scaled:
        return Scaled(self._problem.examples(), self._roots)

    def touch(self, numbers: Ints, sets: Any) -> None:
        """Nothing is sent."""

    def decode_blocks(
        self,
        parts: Iterable[Ints],
        weights: Callable[[], Floats],
        gamma: float,
        due: Callable[[Ints], Flags],
    ) -> Iterator[tuple[Ints, Decoded]]:
        """See ``solvers.decoding.decode_blocks``."""
        for part in parts:
            w = weights()[: len(self._roots)] * self._roots
            yield part, decode_block(self._problem, part, w, gamma, due(part))


def count_parts(problem: ChainProblem, parts: list[Ints], weights: int) -> Floats:
    """In how many parts the feature of each weight occurs: float64 [weights], at least 1."""
    examples, K = problem.examples(), problem.K
    starts, features = examples.token_starts, examples.features
    counts = np.zeros((weights - (K + 2) * K) // K)
    for part in parts:
        first, last = features.starts[starts[[part[0], part[-1] + 1]]]
        counts[np.unique(features.rows[first:last])] += 1
    transitions = np.full((K + 2) * K, float(len(parts)))
    return np.concatenate([transitions, np.repeat(np.maximum(counts, 1), K)])


def learn(
    problem: ChainProblem, rows: int, settings: Any, learners: int, rounds: int
) -> Iterator[float]:
    """The exact relative duality gap after each round."""
    everything = np.arange(problem.number_of_examples)
    parts = np.array_split(everything, learners)
    sigma = count_parts(problem, parts, problem.number_of_weights(rows))
    roots = np.sqrt(sigma)
    runs = [settings.start(Part(problem, roots)) for _ in parts]
    for run in runs:
        run.grow(rows)
    w = np.zeros(len(sigma))
    for _ in range(rounds):
        change = np.zeros(len(w))
        for part, run in zip(parts, runs, strict=True):
            run._w[: len(w)] = w / roots
            run._pass(part)  # an epoch would measure a gap, which the learners do not know
            change += (run._w[: len(w)] * roots - w) / sigma
        w += change
        primal = w @ w / 2 + settings.C * losses(problem, w, everything, SQUARED_HINGE).sum()
        yield relative_gap(primal, dual_of(runs, w, settings.C))


def dual_of(runs: Any, w: Floats, C: float) -> float:
    """D(alpha) of all learners together."""
    total = -float(w @ w) / 2
    for run in runs:
        used = int(run.sets.used[0])
        total += float(run.sets.alphas[:used] @ run.sets.costs[:used])
        total -= float(run.sets.alpha_sums @ run.sets.alpha_sums) / (4 * C)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, help="of entities, instead of the treebank's tags")
    parser.add_argument("--learners", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    name = "ner" if args.corpus else "tagger"
    with tempfile.TemporaryDirectory() as folder:
        corpus = args.corpus or Path(folder) / "train.spacy"
        if args.corpus is None:
            corpus.write_bytes(corpus_bytes(args.data / FILE, 1))
        nlp = init_nlp(config_of(name, corpus, 0))
        pipe: Any = nlp.get_pipe(name)
        trainer, _ = pipe.featurize(list(train_corpus(nlp)))
    problem, rows = trainer.problem, trainer.number_of_rows
    problem.allocate(lazily=False)
    block = max(1, problem.number_of_examples // BLOCKS)
    shown = [r for r in SHOWN if r <= args.rounds]
    table = []
    for learners in args.learners:
        settings = DualCoordinateDescent(C=pipe.solver.C, block=block // learners, tolerance=0.0)
        problem.forget_completions()
        gaps = list(learn(problem, rows, settings, learners, args.rounds))
        after = (f"{gaps[r - 1]:.3f}" for r in shown)
        table.append((str(learners), *passes_to_gaps(gaps), *after))
    header = ("learners", *(f"gap {g:g}" for g in GAPS), *(f"after {r}" for r in shown))
    msg.table(table, header=header, aligns=tuple("r" * len(header)), divider=True)


if __name__ == "__main__":
    main()
