"""What a parser's model has while it learns, and forgets when it is saved.

Three solvers share the examples: the pruner, which passes over new sentences a few times
before the others see them; that of the arcs; and that of the labels of gold trees.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spacy_ssvm._jit import Flags, Ints
from spacy_ssvm.chains.training import Training
from spacy_ssvm.messages import shorten
from spacy_ssvm.objective import Objective
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.summary import summarize_run
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.nodes import Nodes, find_flaw, gold_nodes
from spacy_ssvm.trees.problem import TreeProblem
from spacy_ssvm.trees.pruner_training import learn_pruner, start_pruner
from spacy_ssvm.weights.growing import surviving

DOCS_AT_A_TIME = 1000


class TreeTraining:
    """A run of the solvers on Docs that arrive in batches.

    Where the model has weights, training goes on from them: they are the prior w_0.

    min_count: features of labels that occur less often have no row.
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
        # The pruner's weights change in place while it learns: the problem of the arcs sees them.
        self._pruner_problem, self._pruner = start_pruner(
            model, solver.seed, model.pruner_weights.astype(np.float64) if trained else None
        )
        self.problem = TreeProblem(model.features, model.pruner(self._pruner.w), columns)
        self._start = model.weights.astype(np.float64) if trained else None
        self.run = solver.start(self.problem, self._start)
        self.run.grow(model.features.size)
        self.labels = Training(model.label_model, label_solver, min_count=min_count)
        self._sequences: list[range] = []  # the examples of labels, by sentence
        self.epochs = 0
        self._changed = False
        self._removed: list[range] = []

    def restart(self, solver: Solver) -> None:
        """Learn the arcs anew with another solver, and the labels with their own."""
        self.problem.forget_completions()
        self.run = solver.start(self.problem, self._start)
        self.run.grow(self.model.features.size)
        self.labels.restart(self.labels.run.settings)
        self.epochs = 0
        self._changed = True

    def add(self, docs: Sequence[Any], gold: Sequence[Ints]) -> list[range]:
        """Make examples of Docs; return the numbers of those of each Doc.

        gold: int64 [tokens, 3] for each Doc: the head, as a token of the Doc (the token itself
            for a root), and the label, -1 for none; and 1 where a sentence starts that the Doc
            does not mark, else 0. Whitespace is passed over.
        No sentence may have a flaw (see ``find_gold_flaw``).
        """
        numbers: list[range] = []
        for first in range(0, len(docs), DOCS_AT_A_TIME):
            batch = docs[first : first + DOCS_AT_A_TIME]
            gold_of_batch = gold[first : first + DOCS_AT_A_TIME]
            nodes = training_nodes(self.model, batch, gold_of_batch)
            heads, labels = gold_nodes(nodes, gold_of_batch)
            added = self.problem.append(nodes.attributes, nodes.starts, heads)
            self._pruner_problem.append(nodes.attributes, nodes.starts, heads)
            arcs, arc_nodes, sequences = self.model.arc_table(nodes, heads)
            of_labels = self.labels.add_tokens(arcs, labels[arc_nodes])
            offset = of_labels[0].start if of_labels else 0
            ends = (sequences + offset).tolist()
            self._sequences += [range(a, b) for a, b in pairwise(ends)]
            ends = (nodes.tokens.doc_sentences + added.start).tolist()
            numbers += [range(a, b) for a, b in pairwise(ends)]
            self.run.grow(self.model.features.size)
            learn_pruner(self._pruner, added)
            self.problem.pruner = self.model.pruner(self._pruner.w)
        return numbers

    def remove(self, numbers: range) -> None:
        """Take examples out of the problem, and their share out of the weights."""
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
        """Free the memory of removed examples, once they are the larger part.

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
        of_labels = self.labels.epoch(np.array(sequences, dtype=np.int64))
        return self.run.epoch(numbers) + of_labels

    def update_model(self) -> None:
        """Give the model the weights as they are now."""
        if self._changed:
            self.labels.update_model()
            self.model.set_weights(
                self.run.w.astype(np.float32),
                self._pruner.w.astype(np.float32),
                summarize_run(self.run, self.epochs),
            )
            self._changed = False

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of a component does not train on: its weights are the prior if it does.
        return type(None), ()


def find_gold_flaw(model: ParserModel, docs: Sequence[Any], gold: Sequence[Ints]) -> str | None:
    """What is wrong with the first sentence whose gold heads are no part of a tree, if any is.

    docs, gold: as in ``TreeTraining.add``.
    """
    for first in range(0, len(docs), DOCS_AT_A_TIME):
        batch = docs[first : first + DOCS_AT_A_TIME]
        gold_of_batch = gold[first : first + DOCS_AT_A_TIME]
        nodes = model.nodes(batch, _gold_starts(gold_of_batch))
        heads, _ = gold_nodes(nodes, gold_of_batch)
        flaw = find_flaw(nodes.starts, heads)
        if flaw is None:
            continue
        s, what, members = flaw
        words = int(nodes.tokens.sentence_starts[s]) - 1
        places = nodes.tokens.positions[[words + m for m in members]]
        d = int(np.searchsorted(nodes.tokens.doc_starts, places[0], side="right")) - 1
        tokens = [int(place - nodes.tokens.doc_starts[d]) for place in places]
        named = ", ".join(f"{i} '{shorten(batch[d][i].text)}'" for i in tokens)
        return (
            f"the gold heads of a sentence are no tree: {what} (tokens {named}) in "
            f"'{shorten(batch[d].text)}'"
        )
    return None


def training_nodes(model: ParserModel, docs: Sequence[Any], gold: Sequence[Ints]) -> Nodes:
    """The sentences to learn from, those of more than max_length words in ``pieces``.

    docs, gold: as in ``TreeTraining.add``.
    """
    return model.pieces(model.nodes(docs, _gold_starts(gold)))


def _gold_starts(gold: Sequence[Ints]) -> Flags:
    return np.asarray(np.concatenate(gold)[:, 2] == 1)


def objective(model: ParserModel, docs: Sequence[Any], gold: Sequence[Ints]) -> Objective:
    """Primal, dual and gap of the arcs of a trained model, from weights and examples alone.

    docs, gold: what it was trained on, as in ``TreeTraining.add``.
    """
    if model.summary is None:
        raise ValueError("the model has not been trained: there is no objective to measure")
    nodes = training_nodes(model, docs, gold)
    heads, _ = gold_nodes(nodes, gold)
    pruner = model.pruner(model.pruner_weights.astype(np.float64))
    problem = TreeProblem(model.features, pruner, len(model.reader.names))
    problem.append(nodes.attributes, nodes.starts, heads)
    return model.summary.objective(problem, model.weights.astype(np.float64))
