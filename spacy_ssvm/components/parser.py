"""``ssvm_parser``: labelled dependency trees."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IS_SPACE, SENT_START
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.util import logger
from spacy.vocab import Vocab

from spacy_ssvm.components.doc_arrays import (
    IS_INSIDE,
    IS_START,
    UNKNOWN,
    align_marks,
    columns_of,
    doc_and_token,
    label_numbers,
    reference_columns,
    token_index,
    where_is,
    write_columns,
)
from spacy_ssvm.components.example_cache import GoldDoc
from spacy_ssvm.components.page import Decision, ExplainablePipe
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.components.settings import (
    check_number,
    check_rows,
    check_selection,
    check_solver,
    config_error,
    initialize_error,
    read_templates,
    require_beta,
)
from spacy_ssvm.explanation import Explanation, numbered
from spacy_ssvm.features.attributes import ByNode, ByToken, scatter_to_tokens
from spacy_ssvm.features.text_hash import string_ids
from spacy_ssvm.features.wildcards import NO_NAMES, Names, expand_wildcards
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys
from spacy_ssvm.objective import Objective
from spacy_ssvm.selection import Selection, Selector
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.trees.explanation import explain_arc, explain_arc_label
from spacy_ssvm.trees.families import ARC_FAMILIES
from spacy_ssvm.trees.labels import LABEL_ROLES
from spacy_ssvm.trees.model import ParserModel
from spacy_ssvm.trees.nodes import Nodes, find_flaw, gold_nodes
from spacy_ssvm.trees.scores import has_grandparents
from spacy_ssvm.trees.selection import tree_selector
from spacy_ssvm.trees.templates import ARC_ROLES, ArcTemplate, parse_arc_templates
from spacy_ssvm.trees.training import GoldTrees, NoTreeError, TreeTrainer, objective, read_trees

#: The label of whitespace tokens, as spaCy's parser writes it.
WHITESPACE = "dep"
ROOT = "ROOT"


_ARC_COLUMNS = [HEAD, DEP, SENT_START, IS_SPACE]


class Arc(NamedTuple):
    """The arc to a word."""

    head: int  #: a token, the word itself for a root
    label: str
    text: str  #: for readers

    def __str__(self) -> str:
        return self.text


class DependencyParser(Pipe[ParserModel, GoldTrees], ExplainablePipe[Arc]):
    """Writes ``token.head`` and ``token.dep``.

    Each sentence gets one tree, with one root; the boundaries are those of the Doc, and stay
    as they are. A Doc without boundaries is parsed as one sentence; in training, it has those
    of its reference. Without ``overwrite``, arcs that a Doc has already are kept, and the best
    tree with them is found. Heads that form a cycle, which spaCy allows, are an error. A
    whitespace token depends on the word before it in its sentence, else on the first one after
    it.

    vocab, model, name, settings: see ``Pipe``; its solver is that of arcs.
    label_solver: settings of the solver of labels.
    min_count: features of labels that occur less often are left out.

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> sentencizer = nlp.add_pipe("sentencizer")
    >>> component = nlp.add_pipe("ssvm_parser")
    >>> doc = nlp.make_doc("Dogs bark loudly")
    >>> trees = {"heads": [1, 1, 1], "deps": ["nsubj", "ROOT", "advmod"]}
    >>> examples = [Example.from_dict(doc, {**trees, "sent_starts": [1, 0, 0]})]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> [(token.dep_, token.head.text) for token in nlp("Dogs bark loudly")]
    [('nsubj', 'bark'), ('ROOT', 'bark'), ('advmod', 'bark')]
    """

    kind = "ssvm_parser"

    def __init__(
        self,
        vocab: Vocab,
        model: ParserModel,
        name: str,
        *,
        label_solver: Solver,
        min_count: int,
        **settings: Any,
    ) -> None:
        super().__init__(vocab, model, name, **settings)
        self._configured_pruner_templates = model.pruner_templates
        self._configured_label_templates = model.label_templates
        self.label_solver = label_solver
        self.min_count = min_count
        self._has_warned = False
        self._has_warned_of_training = False
        self._uses_reference_boundaries = False

    # Labels

    @property
    def is_resizable(self) -> bool:
        """Labels can be added to a trained parser."""
        return True

    def restore_templates(self, names: Names = NO_NAMES) -> Sequence[ArcTemplate]:
        """See ``Pipe``. Sets those of the pruner and of labels."""
        self.model.pruner_templates = expand_wildcards(
            self._configured_pruner_templates, names, ArcTemplate.parse
        )
        self.model.label_templates = expand_wildcards(
            self._configured_label_templates, names, partial(ArcTemplate.parse, roles=LABEL_ROLES)
        )
        for setting in ("pruner_templates", "label_templates"):
            if not getattr(self.model, setting):
                raise initialize_error(
                    self.name,
                    setting,
                    f"{self.name}: all {setting} have wildcards, and there is nothing that they "
                    "stand for. Add one without",
                )
        return super().restore_templates(names)

    def annotation(self) -> str:
        return "DEP"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The arc labels of the references, sorted."""
        found = set()
        for example in examples:
            reference = example.reference
            for value in np.unique(reference.to_array([DEP])).tolist():
                found.add(reference.vocab.strings[value] if value else "")
        return sorted(found - {""})

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The head, label and sentence start of each predicted token: int64 [tokens, 3] each.

        As in ``read_trees``: boundaries are those of the predicted Docs, or of the references
        where these have none.
        """
        if not examples:
            return []
        arcs = _gold_arcs(examples)
        ends = np.cumsum([0, *map(len, arcs)])
        trees = np.concatenate(arcs)
        trees[:, 1] = label_numbers(trees[:, 1].view(np.uint64), string_ids(self.labels))
        unknown = np.flatnonzero(trees[:, 1] == UNKNOWN)
        if len(unknown):
            number, i = doc_and_token(ends, unknown[0])
            value = arcs[number][i, 1:2].view(np.uint64).item()
            label = examples[number].reference.vocab.strings[value]
            raise self.unknown_label_error(label, where_is(examples[number], i))
        has_arc = np.concatenate([[0], np.cumsum(trees[:, 0] >= 0)])
        lacks_boundaries = [
            number
            for number in np.flatnonzero(has_arc[ends[1:]] > has_arc[ends[:-1]]).tolist()
            if not _has_boundaries(examples[number].predicted)
        ]
        self._tell_of_boundaries([examples[number].reference for number in lacks_boundaries])
        of_reference = np.zeros(len(examples), dtype=bool)
        of_reference[lacks_boundaries] = True
        trees[:, 2] = (trees[:, 2] == IS_START) & np.repeat(of_reference, np.diff(ends))
        return np.split(trees, ends[1:-1])

    def read_batch(self, docs: Sequence[GoldDoc]) -> GoldTrees:
        """The sentences of Docs with their gold trees.

        Raises ValueError, naming the tokens, where the heads of a sentence are no tree.
        """
        try:
            return read_trees(self.model, *map(list, zip(*docs, strict=True)))
        except NoTreeError as flaw:
            doc = docs[flaw.doc].doc
            tokens = ", ".join(f"{i} '{shorten(doc[i].text)}'" for i in flaw.tokens)
            raise ValueError(
                f"{self.name}: the gold heads of a sentence are no tree: {flaw.what} (tokens "
                f"{tokens}) in '{shorten(doc.text)}'"
            ) from flaw

    def _tell_of_boundaries(self, references: Sequence[Doc]) -> None:
        """Say, once, where sentences of Docs that have none begin."""
        if not all(map(_has_boundaries, references)):
            self._warn_of_training_without_boundaries()
        if any(map(_has_boundaries, references)) and not self._uses_reference_boundaries:
            self._uses_reference_boundaries = True
            logger.info(
                "%s: training on the sentences of the references, because the predicted Docs "
                "have none. Docs to be parsed need boundaries of their own",
                self.name,
            )

    def _warn_of_training_without_boundaries(self) -> None:
        if self._has_warned_of_training:
            return
        self._has_warned_of_training = True
        warnings.warn(
            f"{self.name}: an example has sentence boundaries neither in its predicted Doc nor "
            "in its reference, and is learned as one sentence, which is slow where it holds more. "
            "Set the boundaries of the reference (token.is_sent_start)",
            stacklevel=2,
        )

    def _add_strings(self, labels: Iterable[str]) -> None:
        super()._add_strings((*labels, WHITESPACE, ROOT))

    def selector(self, examples: Sequence[Example]) -> Selector:
        """A selector among the templates of arcs, for an initialized component."""
        batches = self.read_batches(self.gold_docs(examples))
        return tree_selector(self.model, batches, seed=self.solver.seed)

    def make_trainer(self, solver: Solver) -> TreeTrainer:
        """A trainer of arcs and labels, without examples."""
        return TreeTrainer(self.model, solver, self.label_solver, min_count=self.min_count)

    def objective(self, examples: Iterable[Example]) -> Objective:
        """Primal, dual and relative duality gap of the arcs.

        examples: all that it was trained on. Works for a loaded model too.
        """
        self._sync()
        return objective(self.model, self.read_batches(self.gold_docs(examples)))

    # Annotation

    def predict(self, docs: Iterable[Doc]) -> list[Keys]:
        """What to write: uint64 [tokens, 2] for each Doc, the head's offset and the label."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return [np.zeros((0, 2), dtype=np.uint64) for doc in docs]
        self._require_labels()
        self._sync()
        self._warn_of_missing_boundaries(docs)
        nodes = self.model.nodes(docs)
        columns, present = self._present(docs, self.cfg["overwrite"])
        fixed = self._fixed_arcs(docs, nodes, columns, present) if present.any() else ()
        heads, labels = self.model.parse(nodes, *fixed)
        values = string_ids((*self.labels, WHITESPACE))
        written = np.zeros((len(columns), 2), dtype=np.uint64)
        positions = nodes.tokens.positions
        written[positions, 0] = _offsets(nodes, heads).astype(np.uint64)
        written[:, 1] = values[-1]
        written[positions, 1] = values[labels[nodes.words]]
        written[present, 1] = columns[present, 1]
        _attach_whitespace(nodes, columns[:, 2] == 1, written, self.vocab.strings[ROOT])
        return [written[a:b] for a, b in pairwise(nodes.tokens.doc_starts.tolist())]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Keys]) -> None:
        """Write what ``predict`` returned into the Docs."""
        for doc, written in zip(docs, predictions, strict=True):
            write_columns(doc, [HEAD, DEP], written)

    def _present(self, docs: Sequence[Doc], overwrite: bool) -> tuple[Keys, Flags]:
        """HEAD, DEP and SENT_START of all tokens, and which arcs are kept."""
        columns = np.concatenate([columns_of(doc, [HEAD, DEP, SENT_START]) for doc in docs])
        return columns, np.zeros(len(columns), dtype=bool) if overwrite else columns[:, 1] != 0

    def _fixed_arcs(
        self, docs: Sequence[Doc], nodes: Nodes[ByNode], columns: Keys, present: Flags
    ) -> tuple[ByNode, ByNode]:
        """The arcs that the Docs have already, by node: heads and labels, -1 for none."""
        numbers = {self.vocab.strings[label]: k for k, label in enumerate(self.labels)}
        trees = np.full((len(columns), 2), -1, dtype=np.int64)
        starts = nodes.tokens.doc_starts
        indices = np.arange(len(columns)) - np.repeat(starts[:-1], np.diff(starts))
        trees[present, 0] = (indices + columns[:, 0].astype(np.int64))[present]
        self._check_cycles(docs, ByToken(np.where(trees[:, 0] == indices, -1, trees[:, 0])), starts)
        trees[present, 1] = [numbers.get(value, -1) for value in columns[present, 1].tolist()]
        return gold_nodes(nodes, [trees[a:b] for a, b in pairwise(starts.tolist())])

    def _check_cycles(self, docs: Sequence[Doc], heads: ByToken, starts: Ints) -> None:
        """Raise ValueError, naming Doc and tokens, where the heads of a Doc form a cycle.

        heads: int64 [tokens], a token of the same Doc, -1 for none or a root.
        starts: int64 [docs + 1].
        """
        node_starts = starts + 2 * np.arange(len(starts))
        nodes = np.full(int(node_starts[-1]), -1, dtype=np.int64)
        numbers = np.repeat(np.arange(len(docs)), np.diff(starts))
        nodes[np.arange(len(heads)) + 2 * numbers + 1] = np.where(heads < 0, -1, heads + 1)
        flaw = find_flaw(node_starts, nodes)
        if flaw is not None:
            number, _, members = flaw
            doc = docs[number]
            tokens = ", ".join(f"{m - 1} '{doc[m - 1].text}'" for m in members)
            raise ValueError(
                f"{self.name}: the heads that the Doc '{shorten(doc.text)}' already has form a "
                f"cycle (tokens {tokens}). Correct or remove them, or set overwrite = true in "
                f"[components.{self.name}] to replace them"
            )

    def _warn_of_missing_boundaries(self, docs: Sequence[Doc]) -> None:
        if self._has_warned or all(map(_has_boundaries, docs)):
            return
        self._has_warned = True
        warnings.warn(
            f"{self.name}: a Doc has no sentence boundaries and is parsed as one sentence. Where "
            "Docs hold more than one, put a component that finds them before it: "
            f"nlp.add_pipe('ssvm_senter', before='{self.name}'), trained on Docs of several "
            "sentences",
            stacklevel=3,
        )

    # Confidence and explanations

    def marginals(self, doc: Doc, *, overwrite: bool | None = None) -> Floats:
        """The probability of each head of each token: float64 [tokens, tokens].

        Entry [i, j] is the probability that token j is the head of token i; a root is its own
        head, as in spaCy. Rows sum to 1; whitespace has zeros, and so have arcs that the pruner
        discards. Memory grows with the square of the Doc's length.
        overwrite: see ``SequencePipe.marginals``.
        Raises ValueError if the model was trained without probabilities.
        """
        self._require_labels()
        self._sync()
        beta = require_beta(self.name, self.model)
        nodes = self.model.nodes([doc])
        columns, present = self._present([doc], self._overwrites(overwrite))
        fixed_heads = None
        if present.any():
            fixed_heads, _ = self._fixed_arcs([doc], nodes, columns, present)
        tokens = nodes.tokens
        found = np.zeros((len(doc), len(doc)))
        for s, (start, end) in enumerate(pairwise(tokens.sentence_starts.tolist())):
            arcs = self.model.arc_probabilities(nodes, s, beta, fixed_heads).T
            indices = tokens.positions[start:end]
            found[np.ix_(indices, indices)] = arcs[1:, 1:]
            found[indices, indices] = arcs[1:, 0]
        return found

    def scores(self, doc: Doc) -> Floats:
        """The confidence in the best head of each token: float64 [tokens].

        If the model has probabilities (see ``marginals``), the score is the probability of the
        arc. Otherwise it is the margin between the best tree of the sentence and the best one
        in which the token has another head, among the arcs that the pruner leaves, in units
        of the model's scores: comparable within a model, not calibrated, infinite where every
        such tree has the arc. Whitespace has 0. Arcs that the Doc already has are ignored.
        """
        self._require_labels()
        self._sync()
        nodes = self.model.nodes([doc])
        if self.model.beta is None:
            found = self.model.margins(nodes)
        else:
            heads, _ = self.model.parse(nodes)
            found = self.model.head_probabilities(nodes, heads, self.model.beta)
        return scatter_to_tokens(found, nodes.tokens, fill=0.0)

    def explain(
        self,
        doc: Doc,
        token: int | Token,
        *,
        top: int | None = None,
        against: int | Token | str | None = None,
    ) -> Explanation:
        """Explain why a token gets its head and not another one, or its label.

        token: the token, or its index in the Doc; negative indices count from the end.
        top: the number of features to show, the others summed in one row; None for all.
        against: another head, such as the gold one, as a token or its index, the token itself for
            a root; or another label, as text, to explain the label of the best tree; None for the
            second best head.
        Raises IndexError or ValueError for a token that is not in the Doc, and ValueError for
        whitespace, where no other head is possible, and where the token has the other head or
        label, or cannot have it.
        """
        self._require_labels()
        self._sync()
        i = token_index(doc, token)
        if isinstance(against, str):
            return explain_arc_label(self.model, doc, i, top=top, against=against)
        head = None if against is None else token_index(doc, against)
        return explain_arc(self.model, doc, i, top=top, against=head)

    def explain_against(
        self, doc: Doc, decision: Decision[Arc], against: Arc | None, *, top: int | None
    ) -> Explanation:
        """See ``ExplainablePipe``. Of arcs with the same head, the labels are explained."""
        other: int | str | None = None
        if against is not None:
            other = against.label if against.head == decision.label.head else against.head
        return self.explain(doc, decision.start, top=top, against=other)

    def confusion(self, gold: Arc, label: Arc) -> tuple[str, str]:
        """The labels of both arcs, and whether it is the head that is wrong."""
        return gold.label, label.label if label.head == gold.head else f"{label.label}, other head"

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[Arc]]:
        """The arc to each word of a Doc that has them, beside the gold one.

        The confidence is that in the best head: see ``scores``.
        """
        names = numbered([token.text for token in doc])
        gold: list[Arc | None] = [None] * len(doc)
        if reference is not None and len(doc):
            (arcs,) = _gold_arcs([Example(doc, reference)])
            strings = reference.vocab.strings
            labels = [strings[value] for value in arcs[:, 1].view(np.uint64).tolist()]
            gold = [
                _arc(i, head, labels[i], names) if head >= 0 else None
                for i, head in enumerate(arcs[:, 0].tolist())
            ]
        scores = self.scores(doc).tolist()
        return [
            Decision(i, i + 1, _arc(i, token.head.i, token.dep_, names), gold[i], scores[i])
            for i, token in enumerate(doc)
            if token.dep and not token.is_space
        ]


def _arc(i: int, head: int, label: str, names: Sequence[str]) -> Arc:
    """The arc to token i. names: of all tokens."""
    return Arc(head, label, label if head == i else f"{label} of {names[head]}")


def _has_boundaries(doc: Doc) -> bool:
    """Whether sentence boundaries of a Doc are annotated; one token is one sentence."""
    return len(doc) < 2 or doc.has_annotation("SENT_START")


def _gold_arcs(examples: Sequence[Example]) -> list[Ints]:
    """The head, label and sentence mark of each predicted token: int64 [tokens, 3] each.

    Heads are tokens of the Doc, -1 for none. Labels are the numbers of spaCy, 0 for none.
    """
    same = [reference_columns(example, _ARC_COLUMNS) for example in examples]
    columns = [
        columns_of(example.reference, _ARC_COLUMNS) if own is None else own
        for example, own in zip(examples, same, strict=True)
    ]
    starts = np.cumsum([0, *map(len, columns)])
    gold = np.concatenate(columns).view(np.int64)
    tokens = np.arange(len(gold)) - np.repeat(starts[:-1], np.diff(starts))
    heads = np.where(gold[:, 1] != 0, tokens + gold[:, 0], -1)
    marks = _tree_marks(gold, starts)
    arcs = np.split(np.column_stack([heads, gold[:, 1], marks]), starts[1:-1])
    return [
        _aligned_arcs(example, of_reference[:, 2]) if own is None else of_reference
        for example, own, of_reference in zip(examples, same, arcs, strict=True)
    ]


def _aligned_arcs(example: Example, marks: Ints) -> Ints:
    """The same for predicted tokens other than those of the reference, which has these marks."""
    arcs = np.zeros((len(example.predicted), 3), dtype=np.int64)
    arcs[:, 0], arcs[:, 2] = -1, align_marks(example, marks)
    if example.reference.has_annotation("DEP"):
        heads, labels = example.get_aligned_parse(projectivize=False)  # type: ignore[no-untyped-call]
        strings = example.reference.vocab.strings
        values = [strings[label] if label else 0 for label in labels]
        arcs[:, 1] = np.array(values, dtype=np.uint64).view(np.int64)
        arcs[:, 0] = [-1 if head is None else head for head in heads]
        arcs[arcs[:, 1] == 0, 0] = -1
    return arcs


def _tree_marks(columns: Ints, doc_starts: Ints) -> Ints:
    """The boundaries between the trees of references: int64 [tokens], IS_START or IS_INSIDE.

    columns: int64 [tokens, 4], ``_ARC_COLUMNS``.
    A word without an arc is the root of a sentence of its own to spaCy. It belongs to a tree
    next to it, but it is not known to which: there is no boundary on either side of its sentence.
    """
    marks = np.full(len(columns), IS_INSIDE, dtype=np.int64)
    if not len(columns):
        return marks
    is_start = columns[:, 2] == IS_START
    firsts = doc_starts[:-1][np.diff(doc_starts) > 0]
    is_start[firsts] = True
    is_loose = ~columns[:, [0, 1, 3]].any(axis=1)
    has_loose = np.bincount(np.cumsum(is_start) - 1, weights=is_loose) > 0
    follows_loose = np.concatenate([[False], has_loose[:-1]])
    sentences = np.flatnonzero(is_start)
    follows_loose[np.isin(sentences, firsts)] = False
    marks[sentences[~(has_loose | follows_loose)]] = IS_START
    return marks


def _offsets(nodes: Nodes[ByNode], heads: ByNode) -> Ints:
    """From each word to its head, in tokens: int64 [words], 0 for a root."""
    tokens = nodes.tokens
    word_heads = heads[nodes.words]
    sentences = np.repeat(tokens.sentence_starts[:-1], np.diff(tokens.sentence_starts))
    words = np.arange(len(word_heads))
    head_words = np.where(word_heads > 0, sentences + word_heads - 1, words)
    return tokens.positions[head_words] - tokens.positions


def _attach_whitespace(nodes: Nodes[ByNode], starts: Flags, written: Keys, root: int) -> None:
    """Write the heads of whitespace tokens; starts (bool [tokens]) mark sentences."""
    tokens = nodes.tokens
    size, positions = len(written), tokens.positions
    if len(positions) == size:
        return
    starts = starts.copy()
    starts[tokens.doc_starts[:-1][tokens.doc_starts[:-1] < size]] = True
    sentences = np.cumsum(starts)
    firsts = np.flatnonzero(starts)
    blanks = np.setdiff1d(np.arange(size), positions)
    following = np.searchsorted(positions, blanks)
    padded = np.concatenate([[-1], positions, [-1]])
    targets = firsts[sentences[blanks] - 1]  # of a sentence without words, its first token
    for candidates in (padded[following + 1], padded[following]):
        inside = (candidates >= 0) & (sentences[candidates] == sentences[blanks])
        targets = np.where(inside, candidates, targets)
    written[blanks, 0] = (targets - blanks).astype(np.uint64)
    written[blanks[targets == blanks], 1] = root


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The settings of the factory that define the model, see ``factories.make_parser``."""

    order: int
    projective: bool
    templates: Sequence[str]
    label_templates: Sequence[str]
    pruner_templates: Sequence[str]
    pruning: float | None
    hash_bits: int
    max_length: int


def build_parser(
    vocab: Vocab,
    name: str,
    settings: ModelSettings,
    *,
    solver: Solver,
    label_solver: Solver,
    min_count: int,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> DependencyParser:
    """A parser with the settings of its factory.

    Raises ConfigValidationError where one is invalid.
    """
    check_rows(name, min_count, None)
    model = _build_model(name, settings)
    check_solver(name, "solver", solver)
    check_solver(name, "label_solver", label_solver)
    if "k_best_decode" in solver.oracles:
        problem = "needs the k best trees: choose another, or "
        if not settings.projective:
            raise config_error(name, "solver", f"{problem}projective = true")
        if has_grandparents(model.features):
            raise config_error(name, "solver", f"{problem}leave out templates of grandparents")
    check_selection(name, selection, sum(template.is_of_arc for template in model.templates))
    return DependencyParser(
        vocab,
        model,
        name,
        solver=solver,
        label_solver=label_solver,
        min_count=min_count,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        scorer=scorer,
    )


def _build_model(name: str, settings: ModelSettings) -> ParserModel:
    """The model of the parser of this name; ConfigValidationError where a setting is invalid."""
    order, pruning, max_length = settings.order, settings.pruning, settings.max_length
    if order not in (1, 2):
        raise config_error(name, "order", f"{order}: choose 1 or 2")
    if pruning is not None and not pruning >= 0:
        raise config_error(name, "pruning", f"{pruning}: must be at least 0, or null")
    check_number(name, "max_length", max_length, 2)
    check_rows(name, 1, settings.hash_bits)
    arcs = _read_templates(name, "templates", settings.templates, ARC_ROLES)
    if order == 1:
        arcs = tuple(template for template in arcs if template.is_of_arc)
        if not arcs:
            message = "only templates of pairs of arcs: add some of arcs, or set order = 2"
            raise config_error(name, "templates", message)
    return ParserModel(
        arcs,
        _read_templates(name, "pruner_templates", settings.pruner_templates, ARC_ROLES[:2]),
        _read_templates(name, "label_templates", settings.label_templates, LABEL_ROLES),
        projective=settings.projective,
        hash_bits=settings.hash_bits,
        pruning=pruning,
        max_length=max_length,
    )


def _read_templates(
    name: str, key: str, items: Sequence[str], roles: Sequence[str]
) -> tuple[ArcTemplate, ...]:
    """The templates of a setting, over nodes in these roles."""
    return read_templates(
        name, items, parse_arc_templates, key=key, families=ARC_FAMILIES, roles=roles
    )
