"""A parser's model: what finds the heads of words, and the labels of the arcs.

    docs -> token attributes -> nodes -> arcs that are likely (pruner) -> scores of arcs, and
    of pairs of arcs -> heads -> table of the arcs -> labels

Labels are found in a second stage, on the finished tree: those of the dependents of one head
are a label sequence. Sources: McDonald, Crammer & Pereira 2005; McDonald, Lerman & Pereira
2006 (labels); Rush & Petrov 2012 (pruning by max-marginals).
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm._jit import AnyWeights, Flags, Floats, Ints, Weights
from spacy_ssvm.chains.model import ARRAYS, Model, SavedModel, read_model
from spacy_ssvm.features.attributes import ATTRIBUTES, AttributeReader, TokenTable, is_attribute
from spacy_ssvm.features.resources import NO_RESOURCES, Resources, check_resources
from spacy_ssvm.solvers.summary import TrainingSummary, read_summary
from spacy_ssvm.storage import checked_texts, require
from spacy_ssvm.trees.inference import arc_margins, fill_arc_table, parse_sentences
from spacy_ssvm.trees.labels import LABEL_ROLES, as_chain_templates, compile_columns
from spacy_ssvm.trees.layout import ArcFeatures, Pruner
from spacy_ssvm.trees.nodes import Nodes, as_nodes, join_pieces, translate_heads
from spacy_ssvm.trees.probabilities import arc_probabilities
from spacy_ssvm.trees.templates import (
    ARC_ROLES,
    ArcTemplate,
    compile_arc_templates,
    parse_arc_templates,
)

#: The pruner has few templates: this many hashed rows do.
PRUNER_BITS = 20

_KIND = "parser model"  # of models that are copied by themselves
_ARC_ARRAYS: dict[str, type] = {"arc_weights": np.float32, "pruner_weights": np.float32}
_LABELS = "labels."  # before the names of the arrays of the model of labels


class LabelModel(Model):
    """A model of label sequences over a table of arcs, which it does not read itself."""

    def make_reader(self, names: Iterable[str], resources: Resources) -> Any:
        return _TableOfArcs(tuple(sorted(names)))

    def header(self) -> storage.Header:
        # The parser keeps the templates, in its own language.
        return super().header() | {"templates": []}


class _TableOfArcs(NamedTuple):
    names: tuple[str, ...]


class ParserModel:
    """A linear model of labelled dependency trees.

    templates: of arcs, and of pairs of arcs; the latter make it a second-order model.
    pruner_templates: of arcs.
    label_templates: with the roles of ``trees/labels.py``.
    projective: whether all trees are.
    hash_bits: weights of arcs are kept in 2**hash_bits rows.
    pruning: how much worse than the best tree of the pruner one with an arc may be, in
        wrong heads, if the arc is to be looked at; None for all arcs.
    max_length: longer sentences are learned and parsed in pieces.
    """

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
        legality: Floats | None = None,
    ) -> None:
        """Set what the model is about, and start from zero weights."""
        self.templates = tuple(templates)
        everything = (*self.templates, *self.pruner_templates, *self.label_templates)
        names = {name for template in everything for name in template.attributes}
        self.reader = AttributeReader(names, resources)
        read = self.reader.names
        arcs = [template for template in self.templates if not template.of_siblings]
        pairs = [template for template in self.templates if template.of_siblings]
        self.features = ArcFeatures(
            compile_arc_templates(arcs, read),
            compile_arc_templates(pairs, read),
            2**self.hash_bits,
            self.projective,
        )
        self.pruner_arcs = compile_arc_templates(self.pruner_templates, read)
        self.label_model = LabelModel(
            as_chain_templates(self.label_templates),
            labels=tuple(labels),
            resources=resources,
            legality=legality,
        )
        self.columns = compile_columns(self.label_model.reader.names, read)
        self.set_weights(
            np.zeros(self.features.size + 1, dtype=np.float32),
            np.zeros(2**PRUNER_BITS + 1, dtype=np.float32),
            None,
        )

    @property
    def resources(self) -> Resources:
        """What templates read beside the Docs; saved with the labels."""
        return self.label_model.resources

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels of arcs."""
        return self.label_model.labels

    def add_labels(self, labels: Sequence[str], legality: Floats | None = None) -> None:
        """Append labels of arcs with zero weights; all other weights stay."""
        self.label_model.add_labels(labels, legality)

    def set_weights(self, arcs: Weights, pruner: Weights, summary: TrainingSummary | None) -> None:
        """Set the weights of arcs: float32 [2**hash_bits + 1], and of the pruner's."""
        self.weights = arcs
        self.pruner_weights = pruner
        self.summary = summary

    @property
    def beta(self) -> float | None:
        """By which exp(beta score) is a probability of trees; None where there is none."""
        return None if self.summary is None else self.summary.beta

    def pruner(self, weights: AnyWeights) -> Pruner:
        """The pruner with these weights."""
        threshold = np.inf if self.pruning is None else float(self.pruning)
        return Pruner(self.pruner_arcs, 2**PRUNER_BITS, weights, threshold)

    @property
    def number_of_rows(self) -> int:
        """Rows of arcs with a weight, and rows of labels."""
        return int(np.count_nonzero(self.weights)) + self.label_model.number_of_rows

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates that name an attribute of some kind."""
        everything = (*self.templates, *self.pruner_templates, *self.label_templates)
        return [str(t) for t in everything if any(map(is_wanted, t.attributes))]

    # Parsing

    def nodes(self, docs: Sequence[Any], starts: Flags | None = None) -> Nodes:
        """The words of Docs as nodes. starts: see ``AttributeReader.read``."""
        return as_nodes(self.reader.read(docs, starts))

    def pieces(self, nodes: Nodes) -> Nodes:
        """The same words as nodes, each sentence cut into pieces of at most max_length words."""
        starts = nodes.tokens.sentence_starts
        if np.diff(starts).max(initial=0) <= self.max_length:
            return nodes
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
        self, nodes: Nodes, given_heads: Ints | None = None, given_labels: Ints | None = None
    ) -> tuple[Ints, Ints]:
        """The best trees.

        Sentences of more than max_length words are parsed in ``pieces``, whose roots depend on
        the root of the first; heads that are given across pieces are left out.

        given_heads: int64 [nodes], heads that trees must have, as nodes of the sentence, -1
            for none. given_labels: int64 [nodes], labels they must have, -1 for none.
        Returns heads (int64 [nodes], -1 for the root and the node behind the words), labels
        (int64 [nodes], the same).
        """
        pieces = self.pieces(nodes)
        given = np.full(len(pieces.attributes), -1, dtype=np.int64)
        if given_heads is not None:
            given[pieces.words] = translate_heads(given_heads, nodes, pieces)
        heads = np.empty(len(pieces.attributes), dtype=np.int64)
        parse_sentences(
            self.features,
            self.pruner(self.pruner_weights),
            self.weights,
            pieces.attributes,
            pieces.starts,
            given,
            heads,
        )
        if pieces is not nodes:
            heads = join_pieces(heads, pieces, nodes)
        arcs, arc_nodes, _ = self.arc_table(nodes, heads)
        preset = None if given_labels is None else given_labels[arc_nodes]
        labels = np.full(len(heads), -1, dtype=np.int64)
        labels[arc_nodes] = self.label_model.label(arcs, preset)
        return heads, labels

    def arc_table(self, nodes: Nodes, heads: Ints) -> tuple[TokenTable, Ints, Ints]:
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
            positions=np.arange(size),
            doc_starts=np.array([0, size]),
        )
        return arcs, arc_nodes, sentences

    def margins(self, nodes: Nodes) -> Floats:
        """How much worse the best tree of a sentence is without the arc of each word.

        Returns float64 [words]. Longer sentences than max_length count as their ``pieces``.
        """
        pieces = self.pieces(nodes)
        heads, _ = self.parse(pieces)
        margins = np.zeros(len(heads))
        pruner = self.pruner(self.pruner_weights)
        for start, end in pairwise(pieces.starts.tolist()):
            of_sentence, inner = pieces.attributes[start:end], slice(start, end - 1)
            arc_margins(
                self.features, pruner, self.weights, of_sentence, heads[inner], margins[inner]
            )
        return margins[pieces.words]

    def arc_probabilities(
        self, nodes: Nodes, sentence: int, beta: float, given_heads: Ints | None = None
    ) -> Floats:
        """The probability of each arc of a sentence: float64 [n + 1, n + 1], by head.

        given_heads: as in ``parse``. Raises ValueError where arcs are scored in pairs: sums
        over all trees are then out of reach.
        """
        if len(self.features.pairs.head.seeds):
            raise ValueError("trees with siblings have no probabilities: set order = 1")
        start, end = nodes.starts[sentence : sentence + 2]
        N = int(end - start) - 1
        found = np.empty((N, N))
        arc_probabilities(
            self.features,
            self.pruner(self.pruner_weights),
            self.weights,
            nodes.attributes[start:end],
            np.full(N, -1) if given_heads is None else given_heads[start : end - 1],
            self.max_length,
            beta,
            found,
        )
        return found

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        """The saved arrays with their types."""
        return _ARC_ARRAYS | {f"{_LABELS}{name}": dtype for name, dtype in ARRAYS.items()}

    def to_bytes(self) -> bytes:
        """The model as bytes."""
        return storage.to_bytes(_KIND, {"model": self.header()}, self.arrays())

    def from_bytes(self, data: bytes) -> "ParserModel":
        """Load what ``to_bytes`` made. Raises ModelFileError where that fails."""

        def build(parts: storage.Header, arrays: storage.Arrays) -> None:
            self.become(self.read(parts["model"], arrays))

        storage.from_bytes(data, _KIND, ("model",), self.types, build)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        settings = {
            "projective": self.projective,
            "hash_bits": self.hash_bits,
            "pruning": self.pruning,
            "max_length": self.max_length,
        }
        return _from_bytes, (settings, self.to_bytes())

    def header(self) -> storage.Header:
        """What is saved beside the arrays."""
        return {
            "templates": list(map(str, self.templates)),
            "pruner_templates": list(map(str, self.pruner_templates)),
            "label_templates": list(map(str, self.label_templates)),
            "hash_bits": self.hash_bits,
            "summary": None if self.summary is None else self.summary._asdict(),
            "labels": self.label_model.header(),
        }

    def arrays(self) -> storage.Arrays:
        """What is saved, by the names of ``types``."""
        arrays = {f"{_LABELS}{name}": array for name, array in self.label_model.arrays().items()}
        return arrays | {"arc_weights": self.weights, "pruner_weights": self.pruner_weights}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> "SavedParserModel":
        """What was saved, once it is known to be safe for kernels; see ``become``.

        Raises ValueError, saying what is wrong, or what ``storage.Build`` names.
        """
        hash_bits = header["hash_bits"]
        require(type(hash_bits) is int and 8 <= hash_bits <= 28, "hash_bits is not in 8 to 28")
        _check_weights(arrays["arc_weights"], hash_bits, "arcs")
        _check_weights(arrays["pruner_weights"], PRUNER_BITS, "the pruner")
        label_templates = _read_templates(header, "label_templates", LABEL_ROLES)
        of_labels = {name: arrays[f"{_LABELS}{name}"] for name in ARRAYS}
        saved = SavedParserModel(
            _read_templates(header, "templates", ARC_ROLES),
            _read_templates(header, "pruner_templates", ARC_ROLES[:2]),
            label_templates,
            hash_bits,
            arrays["arc_weights"],
            arrays["pruner_weights"],
            read_summary(header["summary"]),
            read_model(header["labels"], of_labels, as_chain_templates(label_templates)),
        )
        if saved.labels:
            everything = (*saved.templates, *saved.pruner_templates, *label_templates)
            names = {name for template in everything for name in template.attributes}
            check_resources(names, saved.label_model.resources)
        return saved

    def become(self, saved: "SavedParserModel") -> None:
        """Become the model that was saved."""
        self.hash_bits = saved.hash_bits
        self.pruner_templates = saved.pruner_templates
        self.label_templates = saved.label_templates
        self.define(saved.templates, saved.labels, saved.label_model.resources)
        self.label_model.become(saved.label_model)
        # Weights are met at random: copied, they lie in large pages of memory.
        self.set_weights(saved.arc_weights.copy(), saved.pruner_weights.copy(), saved.summary)


class SavedParserModel(NamedTuple):
    """What a saved parser's model holds."""

    templates: tuple[ArcTemplate, ...]
    pruner_templates: tuple[ArcTemplate, ...]
    label_templates: tuple[ArcTemplate, ...]
    hash_bits: int
    arc_weights: Weights
    pruner_weights: Weights
    summary: TrainingSummary | None
    label_model: SavedModel

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels of arcs."""
        return self.label_model.labels


def _read_templates(
    header: storage.Header, key: str, roles: Sequence[str]
) -> tuple[ArcTemplate, ...]:
    texts = checked_texts(header[key], key)
    return parse_arc_templates(
        texts, families={}, roles=roles, is_attribute=is_attribute, attributes=ATTRIBUTES
    )


def _check_weights(weights: Weights, bits: int, what: str) -> None:
    require(weights.shape == (2**bits + 1,), f"the weights of {what} are not 2**{bits} and one")
    require(bool(np.all(np.isfinite(weights))), f"weights of {what} are not finite")
    require(weights[-1] == 0, f"the weight of {what} without a feature is not 0")


def _from_bytes(settings: dict[str, Any], data: bytes) -> ParserModel:
    return ParserModel((), (), (), **settings).from_bytes(data)
