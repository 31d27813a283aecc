"""The training of the pruner: a few passes over new sentences, before the parser trains."""

import numpy as np

from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.training import ExampleTrainer
from spacy_ssvm.trees.layout import ArcFeatures
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.saved_model import PRUNER_BITS
from spacy_ssvm.trees.templates import compile_arc_templates

_C = 0.01

#: Over new sentences.
PASSES = 3


class PrunerTrainer(ExampleTrainer):
    """A run of the pruner's solver on the sentences of a parser.

    prior: the weights of a trained pruner; None for zero.
    """

    problem: TreeProblem

    def __init__(self, model: ParserModel, seed: int, prior: Floats | None = None) -> None:
        no_pairs = compile_arc_templates((), model.reader.names)
        arcs = ArcFeatures(model.pruner_arcs, no_pairs, no_pairs, 2**PRUNER_BITS, True)
        no_pruning = model.training_pruner(np.zeros(1))._replace(threshold=np.inf)
        problem = TreeProblem(arcs, no_pruning, len(model.reader.names))
        super().__init__(problem, DualCoordinateDescent(C=_C, seed=seed), prior)

    @property
    def number_of_rows(self) -> int:
        return int(2**PRUNER_BITS)

    def learn(self, attributes: Keys, node_starts: Ints, heads: Ints) -> None:
        """Append sentences, see ``TreeProblem.append``, and learn from them."""
        added = self.problem.append(attributes, node_starts, heads)
        self.run.grow(self.number_of_rows)
        for _ in range(PASSES):
            self.run.epoch(np.arange(added.start, added.stop))
