"""Trains models of parsers.

Two solvers share the examples: one trains the weights of arcs, the other the labels of gold trees.
Before arcs are decoded, the pruner learns from new sentences.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spacy_ssvm.chains.training import ChainTrainer, LabelledTokens
from spacy_ssvm.features.attributes import ByNode, ByPieceNode, ByWord, Doc
from spacy_ssvm.kernels.threads import DeferredCalls, map_by_all_threads
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.objective import Objective
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.summary import summarize_run
from spacy_ssvm.solvers.training import ExampleTrainer
from spacy_ssvm.trees.layout import TreeExamples
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.nodes import Nodes, find_flaw, gold_nodes
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner_training import PrunerTrainer
from spacy_ssvm.weights.quantized import exact, half_squared_distance, quantize


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


class _PrunedTrees(TreeProblem):
    """Sentences whose arcs a pruner chooses, which learns from new ones before they are decoded.

    trainer: it changes the weights of the problem's pruner in place.
    """

    def __init__(self, model: ParserModel, trainer: PrunerTrainer) -> None:
        pruner = model.training_pruner(trainer.w)
        super().__init__(model.features, pruner, len(model.reader.names))
        self._trainer = trainer
        #: Lets the pruner learn from sentences: a batch of them in each call.
        self.pruner_training = DeferredCalls(self._learn)

    def _learn(self, numbers: range) -> None:
        examples = super().examples()
        starts = examples.node_starts[numbers.start : numbers.stop + 1]
        nodes = slice(starts[0], starts[-1])
        attributes, heads = examples.attributes[nodes], examples.heads[nodes]
        self._trainer.learn(attributes, starts - starts[0], heads)

    def forget(self, numbers: range) -> None:
        """See ``TreeProblem``."""
        self.pruner_training.finish()
        super().forget(numbers)

    def keep(self, numbers: Ints) -> None:
        """See ``TreeProblem``."""
        self.pruner_training.finish()
        super().keep(numbers)

    def examples(self) -> TreeExamples:
        """See ``TreeProblem``."""
        self.pruner_training.finish()
        return super().examples()


class TreeTrainer(ExampleTrainer):
    """A run of the solvers on Docs that arrive in batches.

    Training continues from the weights of a trained model: they are the prior w_0.

    min_count: of the features of labels, see ``FeatureIndex``.
    """

    problem: _PrunedTrees

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
        self.pruner = PrunerTrainer(
            model, solver.seed, exact(model.pruner_weights) if trained else None
        )
        problem = _PrunedTrees(model, self.pruner)
        super().__init__(problem, solver, exact(model.weights) if trained else None)
        self.labels = ChainTrainer(model.label_model, label_solver, min_count=min_count)
        self._sequences: list[range] = []  # the examples of labels, by sentence

    @property
    def number_of_rows(self) -> int:
        return self.model.features.size

    @property
    def parts(self) -> dict[str, ExampleTrainer]:
        """See ``ExampleTrainer``."""
        return {"arcs": self, "labels": self.labels}

    def restart(self, solver: Solver) -> None:
        """Restart from the weights of the model, with another solver for the arcs."""
        super().restart(solver)
        self.labels.restart(self.labels.run.settings)

    def add(self, batch: GoldTrees) -> list[range]:
        """Make examples of the sentences of Docs; return the numbers of each Doc's examples.

        The pruner learns from them before arcs are next decoded: beside reading and labels.
        """
        nodes, heads, labels = batch
        added = self.problem.append(nodes.attributes, nodes.starts, heads)
        arcs, arc_nodes, sequences = self.model.arc_table(nodes, heads)
        added_labels = self.labels.add(LabelledTokens(arcs, ByWord(labels[arc_nodes])))
        offset = added_labels[0].start if added_labels else 0
        self._sequences += [range(a, b) for a, b in pairwise((sequences + offset).tolist())]
        self.run.grow(self.model.features.size)
        if not self.waits_for_weights:
            self.problem.pruner_training.add(added)
        ends = nodes.tokens.doc_sentences + added.start
        return [range(a, b) for a, b in pairwise(ends.tolist())]

    def remove(self, numbers: range) -> None:
        """Remove examples, and their contribution from all weights but those of the pruner."""
        super().remove(numbers)
        for i in numbers:
            if self._sequences[i]:
                self.labels.remove(self._sequences[i])
            self._sequences[i] = range(0)

    def absorb(self, removed: Sequence[range], most: int) -> Ints:
        """Remove examples whose contribution to the weights stays; see ``models.Trainer``."""
        labels = []
        for i in (i for numbers in removed for i in numbers):
            labels.append(self._sequences[i])
            self._sequences[i] = range(0)
        self._follow_labels(self.labels.absorb(labels, most))
        return super().absorb(removed, most)

    def _keep(self, numbers: Ints) -> None:
        super()._keep(numbers)
        self._sequences = [self._sequences[i] for i in numbers]
        new_numbers = self.labels.reclaim()
        if new_numbers is not None:
            self._follow_labels(new_numbers)

    def _follow_labels(self, new_numbers: Ints) -> None:
        """Follow examples of labels that have got new numbers."""
        self._sequences = [
            range(int(new_numbers[s.start]), int(new_numbers[s.start]) + len(s)) if s else s
            for s in self._sequences
        ]

    def epoch(self, numbers: Ints) -> float:
        """One pass of the solvers over these examples; returns the sum of their violations.

        Arcs and labels are two problems, which threads solve side by side.
        """
        sequences = [i for number in numbers.tolist() for i in self._sequences[number]]
        return self.pass_over(numbers, np.array(sequences, dtype=np.int64))

    def pass_over(self, numbers: Ints, sequences: Ints) -> float:
        """The same of these sentences, and these sequences of labels."""
        arcs, labels = super().epoch, self.labels.epoch
        passes = [partial(arcs, numbers), partial(labels, sequences)]
        return sum(map_by_all_threads(lambda one_pass: one_pass(), passes))

    def memory(self) -> dict[str, int]:
        """See ``models.Trainer``: of both solvers and the pruner."""
        found: Counter[str] = Counter()
        for part in (super().memory(), self.labels.memory(), {"weights": self.pruner.bytes}):
            found.update(part)
        return dict(found)

    def _write(self) -> None:
        self.problem.pruner_training.finish()
        self.labels.update_model()
        arcs = quantize(self.run.w)
        regularizer = float(half_squared_distance(*arcs, self.run.prior))
        summary = summarize_run(self.run, self.epochs, regularizer)
        self.model.set_weights(arcs, quantize(self.pruner.w), summary)


def objective(model: ParserModel, batches: Iterable[GoldTrees]) -> Objective:
    """Primal, dual and gap of the arcs of a trained model, from weights and examples alone.

    The primal is that of the model's weights, which are rounded.

    batches: the training examples. Raises ValueError for a model that was not trained.
    """
    if model.summary is None:
        raise ValueError("the model has not been trained: there is no objective to measure")
    pruner = model.training_pruner(exact(model.pruner_weights))
    problem = TreeProblem(model.features, pruner, len(model.reader.names))
    for nodes, heads, _ in batches:
        problem.append(nodes.attributes, nodes.starts, heads)
    return model.summary.objective(problem, exact(model.weights))
