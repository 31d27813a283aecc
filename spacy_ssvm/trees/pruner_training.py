"""The training of the pruner: a few passes over new sentences, before the parser trains."""

import numpy as np

from spacy_ssvm.kernels.compile import outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Ints, Ints1, Keys, Keys2, Void
from spacy_ssvm.solvers.averaging import (
    Averaged,
    AveragedType,
    add_to_average,
    average_of,
    end_step,
)
from spacy_ssvm.trees.keys import fill_arc_rows, hash_endpoints
from spacy_ssvm.trees.layout import Pruner, PrunerType
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.pruner import all_arcs
from spacy_ssvm.trees.scores import arc_scores, max_rows

#: Over new sentences.
PASSES = 3

_STEP = 1.5  # of stochastic gradient, divided by the number of templates
_LEAST = 1e-3  # a head whose probability is wrong by less changes no weights


class PrunerTrainer:
    """Trains the pruner of a parser: averaged stochastic gradient [Polyak & Juditsky 1992].

    w: float64 [rows + 1], the average of the weights over all steps, which changes in place.
    state: how far training has come.
    prior: the weights to start from; None for zero.
    """

    def __init__(self, model: ParserModel, seed: int, prior: Floats | None = None) -> None:
        self._pruner = model.pruner(np.zeros(0))
        self.w = np.zeros(self._pruner.size + 1) if prior is None else prior.copy()
        sums, steps = np.zeros(len(self.w)), np.zeros(1, dtype=np.int64)
        self.state = Averaged(self.w.copy(), sums, steps, 0)
        self._random = np.random.default_rng(seed)

    @property
    def bytes(self) -> int:
        """The size of the weights, as they are and as they are added up."""
        return self.w.nbytes + self.state.w.nbytes + self.state.sums.nbytes

    def learn(self, attributes: Keys, node_starts: Ints, heads: Ints) -> None:
        """Learn from sentences, see ``TreeProblem.append``, in an order at random."""
        for _ in range(PASSES):
            order = self._random.permutation(len(node_starts) - 1)
            self.pass_over(attributes, node_starts, heads, order)
        self.average()

    def pass_over(self, attributes: Keys, node_starts: Ints, heads: Ints, order: Ints) -> None:
        """Visit the sentences with these numbers once."""
        pruner = self._pruner._replace(weights=self.state.w)
        step = _STEP / max(1, pruner.arcs.codes.shape[1])
        _pass(pruner, attributes, node_starts, heads, order, step, self.state)

    def average(self) -> None:
        """Set the weights to their average over all steps."""
        self.w[:] = average_of(self.state)


@outlined_kernel(Void(PrunerType, Keys2, Ints1, Ints1, Ints1, Float, AveragedType))
def _pass(
    pruner: Pruner,
    attributes: Keys,
    node_starts: Ints,
    heads: Ints,
    order: Ints,
    step: float,
    state: Averaged,
) -> None:
    """Take a step along the gradient of the log-likelihood of each sentence, in this order.

    heads: int64 [nodes], gold heads, -1 for none.
    """
    arcs, size = pruner.arcs, pruner.size
    for i in order:
        start, end = node_starts[i], node_starts[i + 1]
        N = end - start - 1
        candidates, scores = np.empty((N, N), dtype=np.bool_), np.empty((N, N))
        all_arcs(candidates)
        endpoints = hash_endpoints(arcs, attributes, start, end)
        arc_scores(arcs, endpoints, size, state.w, candidates, scores)
        rows = np.empty(max_rows(arcs, N), dtype=np.int32)
        ones = np.ones(len(rows))
        for m in range(1, N):
            gold = heads[start + m]
            if gold < 0:
                continue
            probabilities = np.exp(scores[:, m] - scores[:, m].max())
            probabilities /= probabilities.sum()
            for h in range(N):
                slope = (1.0 if h == gold else 0.0) - probabilities[h]
                if abs(slope) > _LEAST:
                    count = fill_arc_rows(arcs, endpoints, size, h, m, rows)
                    add_to_average(state, rows, ones, count, step * slope)
        state.w[size] = state.sums[size] = 0.0  # the row of templates that do not fire
        end_step(state)
