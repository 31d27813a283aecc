"""Trains models of parsers.

Three solvers share the examples. The pruner's makes a few passes over new sentences before the
others start; the second trains the weights of arcs, the third the labels of gold trees.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm._jit import Ints, Keys
from spacy_ssvm.chains.training import ChainTrainer, LabelledTokens
from spacy_ssvm.features.attributes import Doc
from spacy_ssvm.features.coordinates import ByNode, ByPieceNode, ByWord
from spacy_ssvm.objective import Objective
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.summary import summarize_run
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.nodes import Nodes, find_flaw, gold_nodes
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner_training import learn_pruner, start_pruner
from spacy_ssvm.weights.growing import surviving


class GoldTrees(NamedTuple):
    """The sentences of a batch of Docs, in pieces, with their gold trees, which have no flaw."""

    nodes: Nodes[ByPieceNode]
    heads: ByPieceNode  #: int64 [nodes]: as nodes of the piece, -1 for none
    labels: ByPieceNode  #: int64 [nodes]: -1 for none


class NoTreeError(ValueError):
    """The gold heads of a sentence cannot be part of a tree.

    what: the flaw. doc: the number of the Doc. tokens: those with the flaw, in the Doc.
    """

    def __init__(self, what: str, doc: int, tokens: list[int]) -> None:
        super().__init__(f"Doc {doc}: {what}, tokens {', '.join(map(str, tokens))}")
        self.what = what
        self.doc = doc
        self.tokens = tokens


def read_trees(
    model: ParserModel,
    docs: Sequence[Doc],
    gold: Sequence[Ints],
    inputs: Sequence[Keys] | None = None,
) -> GoldTrees:
    """The sentences of Docs, those of more than max_length words in ``pieces``.

    gold: int64 [tokens, 3] for each Doc: the head, as a token of the Doc (the token itself for
        a root), and the label, -1 for none; and 1 where a sentence starts that the Doc does not
        mark, else 0. Whitespace is left out.
    inputs: see ``AttributeReader.read``.
    Raises NoTreeError where the heads of a sentence cannot be part of a tree.
    """
    starts = np.concatenate(gold)[:, 2] == 1
    nodes = model.nodes(docs, starts, inputs=inputs)
    flaw = find_flaw(nodes.starts, gold_nodes(nodes, gold)[0])
    if flaw is not None:
        raise _no_tree(nodes, *flaw)
    pieces = model.pieces(nodes)
    return GoldTrees(pieces, *gold_nodes(pieces, gold))


def _no_tree(nodes: Nodes[ByNode], sentence: int, what: str, members: list[int]) -> NoTreeError:
    """The error for a flaw as ``find_flaw`` returns it."""
    first_word = int(nodes.tokens.sentence_starts[sentence])
    positions = nodes.tokens.positions[[first_word + member - 1 for member in members]]
    doc_starts = nodes.tokens.doc_starts
    doc = int(np.searchsorted(doc_starts, positions[0], side="right")) - 1
    return NoTreeError(what, doc, (positions - doc_starts[doc]).tolist())


class TreeTrainer:
    """A run of the solvers on Docs that arrive in batches.

    Training continues from the weights of a trained model: they are the prior w_0.

    min_count: of the features of labels, see ``FeatureIndex``.
    """

    def __init__(
        self,
        model: ParserModel,
        solver: Solver,
        label_solver: Solver,
        *,
        min_count: int = 1,
    ) -> None:
        self.model = model
        trained = model.summary is not None
        columns = len(model.reader.names)
        # The pruner's weights change in place while it trains: the problem of the arcs shares them.
        self._pruner_problem, self._pruner = start_pruner(
            model, solver.seed, model.pruner_weights.astype(np.float64) if trained else None
        )
        self.problem = TreeProblem(model.features, model.pruner(self._pruner.w), columns)
        self._start = model.weights.astype(np.float64) if trained else None
        self.run = solver.start(self.problem, self._start)
        self.run.grow(model.features.size)
        self.labels = ChainTrainer(model.label_model, label_solver, min_count=min_count)
        self._sequences: list[range] = []  # the examples of labels, by sentence
        self.epochs = 0
        self._changed = False
        self._removed: list[range] = []

    def restart(self, solver: Solver) -> None:
        """Restart from the weights of the model, with another solver for the arcs."""
        self.problem.forget_completions()
        self.run = solver.start(self.problem, self._start)
        self.run.grow(self.model.features.size)
        self.labels.restart(self.labels.run.settings)
        self.epochs = 0
        self._changed = True

    def add(self, batch: GoldTrees) -> list[range]:
        """Make examples of the sentences of Docs; return the numbers of each Doc's examples."""
        nodes, heads, labels = batch
        added = self.problem.append(nodes.attributes, nodes.starts, heads)
        self._pruner_problem.append(nodes.attributes, nodes.starts, heads)
        arcs, arc_nodes, sequences = self.model.arc_table(nodes, heads)
        added_labels = self.labels.add(LabelledTokens(arcs, ByWord(labels[arc_nodes])))
        offset = added_labels[0].start if added_labels else 0
        self._sequences += [range(a, b) for a, b in pairwise((sequences + offset).tolist())]
        self.run.grow(self.model.features.size)
        learn_pruner(self._pruner, added)
        self.problem.pruner = self.model.pruner(self._pruner.w)
        ends = nodes.tokens.doc_sentences + added.start
        return [range(a, b) for a, b in pairwise(ends.tolist())]

    def remove(self, numbers: range) -> None:
        """Remove examples from the problem, and their contribution from the weights."""
        as_array = np.array(numbers, dtype=np.int64)
        self.run.forget(as_array)
        self.problem.forget(numbers)
        self._pruner.forget(as_array)
        self._pruner_problem.forget(numbers)
        for i in numbers:
            if self._sequences[i]:
                self.labels.remove(self._sequences[i])
            self._sequences[i] = range(0)
        self._removed.append(numbers)
        self._changed = True

    def reclaim(self) -> Ints | None:
        """Free the memory of removed examples, once they are the majority.

        Returns None, or the new number of each example (int64 [examples before]).
        """
        kept = surviving(self.problem.number_of_examples, self._removed)
        if kept is None:
            return None
        numbers_kept = np.flatnonzero(kept)
        for problem, run in (
            (self.problem, self.run),
            (self._pruner_problem, self._pruner),
        ):
            problem.keep(numbers_kept)
            run.keep(numbers_kept)
        self._sequences = [self._sequences[i] for i in numbers_kept]
        new_numbers = self.labels.reclaim()
        if new_numbers is not None:
            self._sequences = [
                range(int(new_numbers[s.start]), int(new_numbers[s.start]) + len(s)) if s else s
                for s in self._sequences
            ]
        self._removed = []
        return np.cumsum(kept) - 1

    def epoch(self, numbers: Ints) -> float:
        """One pass of the solvers over these examples; returns the sum of their violations."""
        self.epochs += 1
        self._changed = True
        sequences = [i for number in numbers.tolist() for i in self._sequences[number]]
        label_loss = self.labels.epoch(np.array(sequences, dtype=np.int64))
        return self.run.epoch(numbers) + label_loss

    def update_model(self) -> None:
        """Write the current weights to the model."""
        if self._changed:
            self.labels.update_model()
            self.model.set_weights(
                self.run.w.astype(np.float32),
                self._pruner.w.astype(np.float32),
                summarize_run(self.run, self.epochs),
            )
            self._changed = False

    def __reduce__(self) -> tuple[Any, ...]:
        # A copied component starts a new run, from the weights of its model.
        return type(None), ()


def objective(model: ParserModel, batches: Iterable[GoldTrees]) -> Objective:
    """Primal, dual and gap of the arcs of a trained model, from weights and examples alone.

    batches: the training examples. Raises ValueError for a model that was not trained.
    """
    if model.summary is None:
        raise ValueError("the model has not been trained: there is no objective to measure")
    pruner = model.pruner(model.pruner_weights.astype(np.float64))
    problem = TreeProblem(model.features, pruner, len(model.reader.names))
    for nodes, heads, _ in batches:
        problem.append(nodes.attributes, nodes.starts, heads)
    return model.summary.objective(problem, model.weights.astype(np.float64))
