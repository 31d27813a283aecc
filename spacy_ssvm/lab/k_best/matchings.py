"""The k best matchings: see ``align/matchings/decoder.py``."""

import numpy as np

from spacy_ssvm.align.matchings.decoder import k_best_matchings
from spacy_ssvm.align.matchings.layout import MatchingExamples
from spacy_ssvm.align.matchings.oracle import complete_example, is_annotated, score_example
from spacy_ssvm.align.matchings.scores import (
    add_costs,
    expected_cost,
)
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints


@kernel
def k_best_decode(
    examples: MatchingExamples, i: int, w: Floats, gamma: float, k: int, complete: bool
) -> tuple[Ints, Floats]:
    """See ``Structure.k_best_decode``."""
    gold = examples.gold[examples.link_starts[i] : examples.link_starts[i + 1]]
    if not is_annotated(gold):
        return np.empty((0, 0), dtype=np.int64), np.empty(0)
    scores, source_steps, target_steps = score_example(examples, i, w)
    complete_example(examples, i, complete, scores, source_steps, target_steps)
    add_costs(gold, examples.costs, gamma, scores)
    best, _ = k_best_matchings(scores, source_steps, target_steps, k)
    ys, costs = np.empty((len(best), len(gold)), dtype=np.int64), np.empty(len(best))
    for b in range(len(best)):
        ys[b] = best[b].ravel()
        costs[b] = expected_cost(gold, examples.costs, best[b])
    return ys, costs
