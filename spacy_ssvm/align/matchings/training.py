"""Trains models of matchings.

Pairs with their gold links become examples of the problem; the solver improves the weights;
``update_model`` writes them to the model.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spacy_ssvm.align.matchings.inference import extract_link_keys
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.pairs import Pairs
from spacy_ssvm.align.matchings.problem import HAMMING, MatchingProblem
from spacy_ssvm.align.matchings.templates import LinkTemplates
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.summary import summarize_run
from spacy_ssvm.solvers.training import IndexedTrainer
from spacy_ssvm.weights.feature_index import FeatureIndex, Table, find_token_rows
from spacy_ssvm.weights.key_table import key_table, keys_of

_LINKS_AT_A_TIME = 50_000  # bounds the memory of their keys


class GoldPairs(NamedTuple):
    """Pairs of a batch of Docs, with their gold links."""

    pairs: Pairs
    gold: Rows  #: int32 [links]: WRONG, SURE or POSSIBLE, see ``layout.py``


@kernel
def find_features(
    table: Table,
    row_templates: Rows,
    keys: Keys,
    values: Weights,
    starts: Ints,
    rows: Rows,
    row_values: Weights,
) -> int:
    """Write the features of links with rows, link after link; return their number.

    keys: uint64 [links, T]; values: float32 [links, T]. starts: int64 [links + 1]; rows: int32 and
    row_values: float32, with room for all keys.
    """
    found = np.empty(keys.shape[1], dtype=np.int64)
    size = 0
    for link in range(len(keys)):
        starts[link] = size
        for f in range(find_token_rows(table, keys[link], found)):
            rows[size] = found[f]
            row_values[size] = values[link, row_templates[found[f]]]
            size += 1
    starts[len(keys)] = size
    return size


class LinkExtractor:
    """Extracts the features of links, which get rows in an index.

    min_count: see ``FeatureIndex``.
    """

    def __init__(self, templates: LinkTemplates, *, min_count: int = 1) -> None:
        self._templates = templates
        self._counts = min_count > 1
        self.index = FeatureIndex(len(templates.numbers), min_count=min_count)

    def append(self, problem: MatchingProblem, batch: GoldPairs) -> None:
        """Append pairs to a problem, some at a time, which bounds the memory of their keys.

        Where rare features have no row, those of all pairs are counted first.
        """
        pairs, gold = batch
        chunks = list(pairwise(_chunks(pairs.link_starts)))
        if self._counts:
            for first, last in chunks:
                self.index.insert(self._keys(pairs, first, last)[0])
        for first, last in chunks:
            links = slice(int(pairs.link_starts[first]), int(pairs.link_starts[last]))
            starts, rows, values = self._features(pairs, first, last)
            problem.append(pairs.shapes[first:last], starts, rows, values, gold[links])
        problem.row_templates = self.index.row_templates

    def _keys(self, pairs: Pairs, first: int, last: int) -> tuple[Keys, Weights]:
        """The keys and values of the links of some pairs, see ``extract_link_keys``."""
        offset, end = pairs.link_starts[[first, last]].tolist()
        shape = end - offset, len(self._templates.numbers)
        keys, values = np.empty(shape, dtype=np.uint64), np.empty(shape, dtype=np.float32)
        for i in range(first, last):
            links = slice(*(pairs.link_starts[i : i + 2] - offset).tolist())
            if links.start < links.stop:
                evidence = pairs.evidence_of(i)
                arrays = self._templates, *pairs.words(i), evidence, keys[links], values[links]
                extract_link_keys(*arrays)
        return keys, values

    def _features(self, pairs: Pairs, first: int, last: int) -> tuple[Ints, Rows, Weights]:
        """The features of the links of some pairs, see ``LinkFeatures``."""
        keys, values = self._keys(pairs, first, last)
        if not self._counts:
            self.index.insert(keys)
        starts = np.empty(len(keys) + 1, dtype=np.int64)
        rows = np.empty(keys.size, dtype=np.int32)
        row_values = np.empty(keys.size, dtype=np.float32)
        table = self.index.table, self.index.row_templates
        size = find_features(*table, keys, values, starts, rows, row_values)
        return starts, rows[:size], row_values[:size]


class MatchingTrainer(IndexedTrainer):
    """A run of a solver on pairs that arrive in batches.

    Training continues from the weights of a trained model: they are the prior w_0.

    min_count: see ``FeatureIndex``. costs: see ``MatchingProblem``.
    """

    problem: MatchingProblem

    def __init__(
        self,
        model: MatchingModel,
        solver: Solver,
        *,
        min_count: int = 1,
        costs: tuple[float, float] = HAMMING,
    ) -> None:
        self.model = model
        self._extractor = LinkExtractor(model.compiled, min_count=min_count)
        self.index = self._extractor.index
        problem = MatchingProblem(model.fertilities, costs=costs)
        prior = self._prior()
        problem.row_templates = self.index.row_templates
        super().__init__(problem, solver, prior)

    def _prior(self) -> Floats | None:
        """The model's weights as w_0, and its rows in the index; None where it has none."""
        model = self.model
        if model.summary is None:
            return None
        self.index.load(keys_of(model.table), model.row_templates)
        return np.concatenate([model.penalties, model.weights.astype(np.float64)])

    def add(self, batch: GoldPairs) -> list[range]:
        """Make an example of each pair; return the number of each Doc's example."""
        start = self.problem.number_of_examples
        self._extractor.append(self.problem, batch)
        self.run.grow(self.number_of_rows)
        return [range(i, i + 1) for i in range(start, self.problem.number_of_examples)]

    def _write(self) -> None:
        """See ``ExampleTrainer``: weights in float32, rows sorted by template."""
        steps = self.problem.nonnegative
        w = self.run.w[: self.problem.number_of_weights(self.number_of_rows)]
        weights = w[steps:].astype(np.float32)
        kept = np.flatnonzero(weights)
        kept = kept[np.argsort(self.index.row_templates[kept], kind="stable")]
        self.model.set_weights(
            key_table(self.index.row_keys[kept]),
            self.index.row_templates[kept],
            weights[kept],
            w[:steps].astype(np.float32).astype(np.float64),
            summarize_run(self.run, self.epochs),
        )


def _chunks(link_starts: Ints) -> list[int]:
    """The first pairs of chunks with a bounded number of links, and the end."""
    bounds = [0]
    for i in range(1, len(link_starts) - 1):
        if link_starts[i + 1] - link_starts[bounds[-1]] > _LINKS_AT_A_TIME:
            bounds.append(i)
    return [*bounds, len(link_starts) - 1]
