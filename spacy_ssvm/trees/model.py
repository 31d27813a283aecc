"""The model of a parser: predicts the heads of words and the labels of arcs.

    docs -> token attributes -> nodes -> likely arcs (pruner) -> scores of arcs and of pairs of
    arcs -> heads -> table of arcs -> labels

Labels are predicted in a second stage, given the tree: the labels of the dependents of one head
are a label sequence. Sources: McDonald, Crammer & Pereira 2005; McDonald, Lerman & Pereira
2006 (labels); Martins, Smith & Xing 2009 (the pruner).
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.chains.inference import fix_labels
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.features.attributes import (
    AttributeReader,
    ByNode,
    ByPieceNode,
    ByToken,
    ByWord,
    Doc,
    TokenTable,
)
from spacy_ssvm.features.extraction import Window, fill_group_keys
from spacy_ssvm.features.resources import NO_RESOURCES, Resources, check_resources
from spacy_ssvm.kernels.types import Flags, Floats, Ints, Keys
from spacy_ssvm.labelings.saved_model import MAX_LABELS
from spacy_ssvm.solvers.summary import TrainingSummary
from spacy_ssvm.trees.inference import arc_margins, fill_arc_table, parse_sentences
from spacy_ssvm.trees.labels import as_chain_templates, compile_columns, group_columns
from spacy_ssvm.trees.layout import ArcFeatures, Pruner, Scorer
from spacy_ssvm.trees.nodes import (
    N,
    Nodes,
    as_nodes,
    join_pieces,
    sentence_roots,
    translate_heads,
)
from spacy_ssvm.trees.probabilities import arc_probabilities, least_risk_trees
from spacy_ssvm.trees.pruner import MAX_HEADS, MAX_HEADS_IF_SLOW
from spacy_ssvm.trees.saved_model import (
    ARRAYS,
    LABELS,
    PRUNER_BITS,
    SavedParserModel,
    read_parser_model,
)
from spacy_ssvm.trees.scores import has_grandparents, is_second_order
from spacy_ssvm.trees.templates import (
    GRANDPARENT,
    SIBLING,
    ArcTemplate,
    compile_arc_templates,
    that_fire,
)
from spacy_ssvm.weights.quantized import QuantizedWeights, TableWeights, no_weights


class LabelModel(ChainModel):
    """A model of label sequences over a table of arcs, which the parser fills."""

    def make_reader(self, names: Iterable[str], resources: Resources) -> Any:
        in_order = tuple(sorted(names))
        return _TableOfArcs(in_order, group_columns(in_order))

    def header(self) -> storage.Header:
        # The parser saves the templates, in its own syntax.
        return super().header() | {"templates": []}


class _TableOfArcs(NamedTuple):
    names: tuple[str, ...]
    column_groups: list[list[int]]
    windows: tuple[Window, ...] = ()  # all parts are columns of the arc


class ParserModel(storage.StoredModel):
    """A linear model of labelled dependency trees.

    templates: of arcs, and of pairs of arcs; the latter make it a second-order model. Those of
        grandparents are optional.
    pruner_templates: of arcs.
    label_templates: with the roles of ``trees/labels.py``.
    projective: whether all trees are projective.
    hash_bits: the features of arcs share 2**hash_bits rows.
    pruning: the pruner discards heads whose log-probability is more than this below that of the
        most probable head of the word; None to score all arcs.
    max_length: longer sentences are learned and parsed in pieces.
    """

    kind = "parser model"
    max_labels = MAX_LABELS

    def __init__(
        self,
        templates: Sequence[ArcTemplate],
        pruner_templates: Sequence[ArcTemplate],
        label_templates: Sequence[ArcTemplate],
        *,
        projective: bool,
        hash_bits: int,
        pruning: float | None,
        max_length: int,
    ) -> None:
        self.pruner_templates = tuple(pruner_templates)
        self.label_templates = tuple(label_templates)
        self.projective = projective
        self.hash_bits = hash_bits
        self.pruning = pruning
        self.max_length = max_length
        self.define(templates, ())

    def define(
        self,
        templates: Iterable[ArcTemplate],
        labels: Iterable[str],
        resources: Resources = NO_RESOURCES,
    ) -> None:
        """Set templates, labels and resources, and reset the weights to zero."""
        self.templates = tuple(templates)
        all_templates = (*self.templates, *self.pruner_templates, *self.label_templates)
        names = {name for template in all_templates for name in template.attributes}
        self.reader = AttributeReader(names, resources)
        read = self.reader.names
        arcs = [template for template in self.templates if template.is_of_arc]
        pairs = [template for template in self.templates if template.side(SIBLING)]
        grandparents = [template for template in self.templates if template.side(GRANDPARENT)]
        self.features = ArcFeatures(
            compile_arc_templates(arcs, read),
            compile_arc_templates(pairs, read),
            compile_arc_templates(grandparents, read, GRANDPARENT),
            2**self.hash_bits,
            self.projective,
        )
        self.pruner_arcs = compile_arc_templates(self.pruner_templates, read)
        self.label_model = LabelModel(
            as_chain_templates(self.label_templates),
            labels=tuple(labels),
            resources=resources,
        )
        self.columns = compile_columns(self.label_model.reader.names, read)
        groups = self.label_model.reader.column_groups
        self._column_groups = (
            np.concatenate(groups).astype(np.int64),
            np.cumsum([0, *map(len, groups)]),
        )
        self.set_weights(no_weights(self.features.size + 1), no_weights(2**PRUNER_BITS + 1), None)

    @property
    def resources(self) -> Resources:
        """The resources that templates read; saved with the model of labels."""
        return self.label_model.resources

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels of arcs."""
        return self.label_model.labels

    def add_labels(self, labels: Sequence[str]) -> None:
        """Append labels of arcs with zero weights; all other weights stay."""
        self.label_model.add_labels(labels)

    def set_weights(
        self, arcs: QuantizedWeights, pruner: QuantizedWeights, summary: TrainingSummary | None
    ) -> None:
        """Set the weights of the parser (2**hash_bits + 1 of them) and of the pruner."""
        self.weights = arcs
        self.pruner_weights = pruner
        self.summary = summary
        self._reduced: tuple[tuple[float | None, bytes], Scorer] | None = None

    @property
    def beta(self) -> float | None:
        """The inverse temperature of p(tree) ~ exp(beta score); None without probabilities."""
        return None if self.summary is None else self.summary.beta

    def pruner(self, weights: TableWeights) -> Pruner:
        """The pruner with these weights, for annotation."""
        threshold = np.inf if self.pruning is None else float(self.pruning)  # configs may have 6
        is_crossing = is_second_order(self.features) and not self.projective
        is_slow = is_crossing or has_grandparents(self.features)
        max_heads = MAX_HEADS_IF_SLOW if is_slow else MAX_HEADS
        return Pruner(self.pruner_arcs, 2**PRUNER_BITS, weights, threshold, max_heads)

    def training_pruner(self, weights: TableWeights) -> Pruner:
        """The pruner with these weights, while arcs are learned.

        Only the slower decoders get fewer heads of each word than there are: before it has
        learned, the pruner finds all arcs likely.
        """
        pruner = self.pruner(weights)
        all_heads = self.max_length if pruner.max_heads == MAX_HEADS else pruner.max_heads
        return pruner._replace(max_heads=all_heads)

    @property
    def scorer(self) -> Scorer:
        """The features, pruner and weights, for kernels that score arcs."""
        return Scorer(self.features, self.pruner(self.pruner_weights), self.weights)

    def scorer_of(self, words: Keys) -> Scorer:
        """The scorer, without templates that cannot fire at any of these words.

        Many pipelines annotate neither lemmas nor morphology. words: uint64 [words, columns].
        """
        is_absent = np.asarray(np.all(words == 0, axis=0))
        key = self.pruning, is_absent.tobytes()
        reduced = self._reduced
        if reduced is None or reduced[0] != key:
            scorer = self.scorer
            features = scorer.features._replace(
                arcs=that_fire(scorer.features.arcs, is_absent),
                pairs=that_fire(scorer.features.pairs, is_absent),
                grandparents=that_fire(scorer.features.grandparents, is_absent),
            )
            pruner = scorer.pruner._replace(arcs=that_fire(scorer.pruner.arcs, is_absent))
            reduced = self._reduced = key, Scorer(features, pruner, scorer.weights)
        return reduced[1]

    @property
    def number_of_rows(self) -> int:
        """The number of rows with a weight, of arcs and of labels."""
        return int(np.count_nonzero(self.weights.codes)) + self.label_model.number_of_rows

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates with an attribute for which ``is_wanted`` is true."""
        all_templates = (*self.templates, *self.pruner_templates, *self.label_templates)
        return [str(t) for t in all_templates if any(map(is_wanted, t.attributes))]

    # Parsing

    def nodes(
        self,
        docs: Sequence[Doc],
        starts: Flags | None = None,
        *,
        inputs: Sequence[Keys] | None = None,
    ) -> Nodes[ByNode]:
        """The words of Docs as nodes. starts, inputs: see ``AttributeReader.read``."""
        return as_nodes(self.reader.read(docs, starts, inputs=inputs))

    def pieces(self, nodes: Nodes[ByNode]) -> Nodes[ByPieceNode]:
        """The same words as nodes, each sentence cut into pieces of at most max_length words."""
        starts = nodes.tokens.sentence_starts
        if np.diff(starts).max(initial=0) <= self.max_length:
            return Nodes(nodes.tokens, nodes.attributes, nodes.starts, nodes.words)
        counts = -(-np.diff(starts) // self.max_length)
        first_pieces = np.concatenate([[0], np.cumsum(counts)])
        within = np.arange(first_pieces[-1]) - np.repeat(first_pieces[:-1], counts)
        cut = np.repeat(starts[:-1], counts) + within * self.max_length
        return as_nodes(
            nodes.tokens._replace(
                sentence_starts=np.append(cut, starts[-1]),
                doc_sentences=first_pieces[nodes.tokens.doc_sentences],
            )
        )

    def parse(
        self,
        nodes: Nodes[ByNode],
        fixed_heads: ByNode | None = None,
        fixed_labels: ByNode | None = None,
    ) -> tuple[ByNode, ByNode]:
        """The best trees.

        Sentences of more than max_length words are parsed in ``pieces``, whose roots depend on
        the root of the first; fixed heads in other pieces are ignored.

        fixed_heads: int64 [nodes], heads that trees must have, as nodes of the sentence, -1
            for none.
        fixed_labels: int64 [nodes], labels that arcs must have, by dependent, -1 for none.
        Returns heads (int64 [nodes], -1 for root and end nodes) and labels (int64 [nodes], the
        same).
        """
        pieces = self.pieces(nodes)
        fixed = None
        if fixed_heads is not None:
            fixed = ByPieceNode(np.full(len(pieces.attributes), -1, dtype=np.int64))
            fixed[pieces.words] = translate_heads(fixed_heads, nodes, pieces)
        heads = join_pieces(self._parse_pieces(pieces, fixed), pieces, nodes)
        arcs, arc_nodes, _ = self.arc_table(nodes, heads)
        constraints = None
        if fixed_labels is not None:
            constraints = fix_labels(ByToken(fixed_labels[arc_nodes]), len(self.labels))
        labels = np.full(len(heads), -1, dtype=np.int64)
        labels[arc_nodes] = self.label_model.label(arcs, constraints)
        return heads, ByNode(labels)

    def _parse_pieces(
        self, pieces: Nodes[ByPieceNode], fixed_heads: ByPieceNode | None = None
    ) -> ByPieceNode:
        """The heads of the trees of pieces, see ``parse``."""
        scorer = self.scorer_of(pieces.tokens.attributes)
        return ByPieceNode(self.find_trees(scorer, pieces.attributes, pieces.starts, fixed_heads))

    def find_trees(
        self, scorer: Scorer, attributes: Keys, starts: Ints, fixed_heads: Ints | None = None
    ) -> Ints:
        """The heads of the best trees of sentences: int64 [nodes], -1 for root and end nodes.

        Where the best trees can only be searched for, and there are probabilities, those of least
        risk are more accurate. attributes, starts: of ``Nodes``; fixed_heads: as in ``parse``.
        """
        if fixed_heads is None:
            fixed_heads = np.full(len(attributes), -1, dtype=np.int64)
        heads = np.empty(len(attributes), dtype=np.int64)
        arrays = attributes, starts, fixed_heads, heads
        if self.beta is None or self.projective or not is_second_order(self.features):
            parse_sentences(scorer, *arrays)
        else:
            least_risk_trees(scorer, self.beta, *arrays)
        return heads

    def arc_table(self, nodes: Nodes[N], heads: N) -> tuple[TokenTable, Ints, Ints]:
        """The arcs of trees as sequences to label.

        heads: int64 [nodes], -1 for none. Returns the table, the dependent of each of its
        rows (int64 [arcs], nodes), and the first sequence of each sentence (int64
        [sentences + 1]).
        """
        size = int(np.count_nonzero(heads >= 0))
        table = np.empty((size, len(self.columns.roles)), dtype=np.uint64)
        arc_nodes = np.empty(size, dtype=np.int64)
        sequence_starts = np.empty(size + 1, dtype=np.int64)
        sentences = np.empty(len(nodes.starts), dtype=np.int64)
        count = fill_arc_table(
            self.columns,
            nodes.attributes,
            nodes.starts,
            heads,
            table,
            arc_nodes,
            sequence_starts,
            sentences,
        )
        arcs = TokenTable(
            attributes=table,
            sentence_starts=sequence_starts[: count + 1].copy(),
            doc_sentences=sentences[nodes.tokens.doc_sentences],
            positions=ByWord(np.arange(size)),
            doc_starts=np.array([0, size]),
            group_keys=self._group_keys(table),
        )
        return arcs, arc_nodes, sentences

    def _group_keys(self, table: Keys) -> Keys:
        """The keys of the groups of columns of a table of arcs."""
        columns, starts = self._column_groups
        keys = np.empty((len(table), len(starts) - 1), dtype=np.uint64)
        fill_group_keys(columns, starts, table, keys)
        return keys

    def margins(self, nodes: Nodes[ByNode]) -> Floats:
        """The margin of each word: how much lower the best score is with another head.

        Returns float64 [words]. Sentences longer than max_length are measured in ``pieces``.
        """
        pieces = self.pieces(nodes)
        margins = np.zeros(len(pieces.attributes))
        scorer = self.scorer_of(pieces.tokens.attributes)
        for start, end in pairwise(pieces.starts.tolist()):
            piece, inner = pieces.attributes[start:end], slice(start, end - 1)
            arc_margins(scorer, piece, margins[inner])
        return margins[pieces.words]

    def head_probabilities(self, nodes: Nodes[ByNode], heads: ByNode, beta: float) -> Floats:
        """The probability of the head of each word: float64 [words], see ``arc_probabilities``.

        heads: int64 [nodes], of trees.
        """
        pieces = self.pieces(nodes)
        in_piece = translate_heads(heads, nodes, pieces)  # -1: the root of the first piece
        found = np.empty(len(in_piece))
        for p, (start, end) in enumerate(pairwise(pieces.tokens.sentence_starts.tolist())):
            arcs = self.arc_probabilities(pieces, p, beta)
            found[start:end] = arcs[np.maximum(in_piece[start:end], 0), np.arange(1, len(arcs))]
        further = np.flatnonzero(in_piece < 0)
        first_roots = (sentence_roots(nodes) + heads[nodes.words])[further]
        found[further] *= found[np.searchsorted(nodes.words, first_roots)]
        return found

    def arc_probabilities(
        self, nodes: Nodes[N], sentence: int, beta: float, fixed_heads: N | None = None
    ) -> Floats:
        """The probability of each arc of a sentence: float64 [n + 1, n + 1], by head.

        fixed_heads: as in ``parse``. Probabilities are approximate for trees of second order that
        need not be projective.
        """
        start, end = nodes.starts[sentence : sentence + 2]
        size = int(end - start) - 1
        found = np.empty((size, size))
        arc_probabilities(
            self.scorer,
            nodes.attributes[start:end],
            np.full(size, -1) if fixed_heads is None else fixed_heads[start : end - 1],
            self.max_length,
            beta,
            found,
        )
        return found

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        """The saved arrays with their types."""
        return ARRAYS

    def __reduce__(self) -> tuple[Any, ...]:
        settings = self.projective, self.hash_bits, self.pruning, self.max_length
        return _from_bytes, (*settings, self.to_bytes())

    def header(self) -> storage.Header:
        """The part of the saved model that is not an array."""
        return {
            "templates": list(map(str, self.templates)),
            "pruner_templates": list(map(str, self.pruner_templates)),
            "label_templates": list(map(str, self.label_templates)),
            "hash_bits": self.hash_bits,
            "summary": None if self.summary is None else self.summary._asdict(),
            "labels": self.label_model.header(),
        }

    def arrays(self) -> storage.Arrays:
        """The saved arrays, by the names of ``types``."""
        arrays = {f"{LABELS}{name}": array for name, array in self.label_model.arrays().items()}
        return arrays | {
            "arc_weights": self.weights.codes,
            "pruner_weights": self.pruner_weights.codes,
            "scales": np.array([self.weights.scale, self.pruner_weights.scale]),
        }

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedParserModel:
        """Check a saved model, so that kernels can use it safely; see ``become``.

        Raises ValueError, which describes the flaw, or an error that ``storage.Build`` names.
        """
        saved = read_parser_model(header, arrays)
        if saved.labels:
            all_templates = (*saved.templates, *saved.pruner_templates, *saved.label_templates)
            names = {name for template in all_templates for name in template.attributes}
            check_resources(names, saved.label_model.resources)
        return saved

    def become(self, saved: SavedParserModel) -> None:
        """Replace this model by a saved one."""
        self.hash_bits = saved.hash_bits
        self.pruner_templates = saved.pruner_templates
        self.label_templates = saved.label_templates
        self.define(saved.templates, saved.labels, saved.label_model.resources)
        self.label_model.become(saved.label_model)
        self.set_weights(saved.arc_weights, saved.pruner_weights, saved.summary)


def _from_bytes(
    projective: bool, hash_bits: int, pruning: float | None, max_length: int, data: bytes
) -> ParserModel:
    model = ParserModel(
        (),
        (),
        (),
        projective=projective,
        hash_bits=hash_bits,
        pruning=pruning,
        max_length=max_length,
    )
    return model.from_bytes(data)
