"""Selects among the templates of arcs of a parser: see ``selection.py``.

Selection uses first-order trees. Arcs are pruned by a pruner that is trained on all sentences
first and then fixed. Templates of pairs of arcs are kept.
"""

from collections.abc import Iterable

from spacy_ssvm.selection import Selector
from spacy_ssvm.trees.keys import compile_arc_keys
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.problem import LazyTreeProblem
from spacy_ssvm.trees.pruner_training import PrunerTrainer
from spacy_ssvm.trees.templates import find_arc_refinements, in_order
from spacy_ssvm.trees.training import GoldTrees


def tree_selector(model: ParserModel, batches: Iterable[GoldTrees], *, seed: int = 0) -> Selector:
    """A selector among the templates of arcs of a model.

    batches: the training examples.
    seed: of the order in which the pruner visits sentences.
    """
    templates = in_order(template for template in model.templates if template.is_of_arc)
    names = model.reader.names
    problem = LazyTreeProblem(
        compile_arc_keys(templates, names),
        len(names),
        projective=model.projective,
        refines=find_arc_refinements(templates),
    )
    pruner = PrunerTrainer(model, seed)
    for nodes, heads, _ in batches:
        problem.append(nodes.attributes, nodes.starts, heads)
        if model.pruning is not None:
            pruner.learn(nodes.attributes, nodes.starts, heads)
    problem.prune(model.training_pruner(pruner.w))
    pairs = tuple(template for template in model.templates if not template.is_of_arc)
    return Selector(templates, problem, problem.statistics, others=pairs)
