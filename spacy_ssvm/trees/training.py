"""What a parser's model has while it learns, and forgets when it is saved.

Three learners share the examples: the pruner, which passes over new sentences a few times
before the others see them; that of the arcs; and that of the labels of gold trees.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spacy_ssvm._jit import Flags, Floats, Ints
from spacy_ssvm.features.arcs import compile_arc_templates
from spacy_ssvm.messages import shorten
from spacy_ssvm.objective import Objective
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.run import Run, Solver
from spacy_ssvm.training import Training, trace_of, worth_keeping
from spacy_ssvm.trees.examples import ArcFeatures
from spacy_ssvm.trees.model import PRUNER_BITS, Nodes, ParserModel
from spacy_ssvm.trees.problem import TreeProblem, find_flaw

_PRUNER_PASSES = 3
_PRUNER_C = 0.01
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
        trained = model.trace is not None
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
        kept = worth_keeping(self.problem.number_of_examples, self._removed)
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
                trace_of(self.run, self.epochs),
            )
            self._changed = False

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of a component does not train on: its weights are the prior if it does.
        return type(None), ()


def start_pruner(
    model: ParserModel, seed: int, prior: Floats | None = None
) -> tuple[TreeProblem, Run]:
    """A problem without sentences for the pruner of a model, and the learner of its weights."""
    no_pairs = compile_arc_templates((), model.reader.names)
    arcs = ArcFeatures(model.pruner_arcs, no_pairs, 2**PRUNER_BITS, True)
    everything = model.pruner(np.zeros(1))._replace(threshold=np.inf)
    problem = TreeProblem(arcs, everything, len(model.reader.names))
    run = DualCoordinateDescent(C=_PRUNER_C, seed=seed).start(problem, prior)
    run.grow(2**PRUNER_BITS)
    return problem, run


def learn_pruner(run: Run, added: range) -> None:
    """Let the pruner pass over the sentences that its problem has just got."""
    run.grow(2**PRUNER_BITS)
    for _ in range(_PRUNER_PASSES):
        run.epoch(np.arange(added.start, added.stop))


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


def gold_nodes(nodes: Nodes, gold: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Gold heads and labels by node: int64 [nodes] each, -1 for none.

    A head that is whitespace or lies in another sentence is none; so is the root, where a
    sentence has several: it then holds what are several sentences to the gold.
    """
    tokens = nodes.tokens
    both = np.concatenate(gold)
    offsets = np.repeat(tokens.doc_starts[:-1], np.diff(tokens.doc_starts))
    node_of_token = np.full(len(both), -1, dtype=np.int64)
    node_of_token[tokens.positions] = nodes.words
    positions = tokens.positions
    targets = both[positions, 0]
    known = targets >= 0
    head_nodes = np.where(known, node_of_token[(offsets[positions] + targets) * known], -1)
    sentences = np.searchsorted(nodes.starts, nodes.words, side="right") - 1
    roots = nodes.starts[sentences]
    same = known & (head_nodes > roots) & (head_nodes < nodes.starts[sentences + 1])
    is_root = same & (head_nodes == nodes.words)
    several = np.bincount(sentences[is_root], minlength=len(nodes.starts)) > 1
    heads = np.full(len(nodes.attributes), -1, dtype=np.int64)
    heads[nodes.words] = np.where(same, head_nodes - roots, -1)
    heads[nodes.words[is_root]] = np.where(several[sentences[is_root]], -1, 0)
    labels = np.full(len(nodes.attributes), -1, dtype=np.int64)
    labels[nodes.words] = both[positions, 1]
    return heads, labels


def objective(model: ParserModel, docs: Sequence[Any], gold: Sequence[Ints]) -> Objective:
    """Primal, dual and gap of the arcs of a trained model, from weights and examples alone.

    docs, gold: what it was trained on, as in ``TreeTraining.add``.
    """
    if model.trace is None:
        raise ValueError("the model has not been trained: there is no objective to measure")
    nodes = training_nodes(model, docs, gold)
    heads, _ = gold_nodes(nodes, gold)
    pruner = model.pruner(model.pruner_weights.astype(np.float64))
    problem = TreeProblem(model.features, pruner, len(model.reader.names))
    problem.append(nodes.attributes, nodes.starts, heads)
    return model.trace.objective(problem, model.weights.astype(np.float64))
