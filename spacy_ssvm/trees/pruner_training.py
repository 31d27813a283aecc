"""The training of the pruner: a few passes over new sentences, before the parser trains."""

import numpy as np

from spacy_ssvm.kernels.types import Floats
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.run import Run
from spacy_ssvm.trees.layout import ArcFeatures
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.saved_model import PRUNER_BITS
from spacy_ssvm.trees.templates import compile_arc_templates

_PASSES = 3
_C = 0.01


def start_pruner(
    model: ParserModel, seed: int, prior: Floats | None = None
) -> tuple[TreeProblem, Run]:
    """An empty problem for the pruner of a model, and a run of its solver."""
    no_pairs = compile_arc_templates((), model.reader.names)
    arcs = ArcFeatures(model.pruner_arcs, no_pairs, no_pairs, 2**PRUNER_BITS, True)
    no_pruning = model.training_pruner(np.zeros(1))._replace(threshold=np.inf)
    problem = TreeProblem(arcs, no_pruning, len(model.reader.names))
    run = DualCoordinateDescent(C=_C, seed=seed).start(problem, prior)
    run.grow(2**PRUNER_BITS)
    return problem, run


def learn_pruner(run: Run, added: range) -> None:
    """Train the pruner on the sentences that were just appended to its problem."""
    run.grow(2**PRUNER_BITS)
    for _ in range(_PASSES):
        run.epoch(np.arange(added.start, added.stop))
