"""A third structure in full: segmentations. ``docs/adding-a-structure.md`` walks through it.

A segmentation divides the words of a sentence into segments of at most ``max_length`` words. Its
score is a sum over segments, which see their first word, their last word and their length:
a semi-Markov model without labels [Sarawagi & Cohen 2004].
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from conic_reference import solve_cone_program
from corpora import make_doc, tagged_sentences
from hypothesis import given
from marks import compiled_only
from oracles import difference_of
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm import storage
from spacy_ssvm.components.example_cache import GoldDoc
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.features.attributes import ATTRIBUTES, AttributeReader, TokenTable, is_attribute
from spacy_ssvm.features.extraction import compile_templates, extract_keys
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.templates import Template, parse_templates
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import (
    Floats,
    Int,
    Ints,
    Ints1,
    Keys,
    Keys2,
    Rows,
    Weights,
    named_tuple,
)
from spacy_ssvm.lab.cutting_plane import CuttingPlane
from spacy_ssvm.lab.k_best_mira import KBestMira
from spacy_ssvm.lab.pairwise_frank_wolfe import PairwiseFrankWolfe
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.run import Solver
from spacy_ssvm.solvers.stochastic_gradient import StochasticGradient
from spacy_ssvm.solvers.summary import TrainingSummary, read_summary, summarize_run
from spacy_ssvm.solvers.training import ExampleTrainer
from spacy_ssvm.structure import Structure
from spacy_ssvm.weights.growing import GrowingArray, gather_ranges
from spacy_ssvm.weights.sparse import add_entry, drop_zeros, scratch_table

# --- The decoder ------------------------------------------------------------------------


@kernel
def best_segmentation(scores: Floats, starts: Ints) -> float:
    """Fill starts (int64 [n]: 1 where a segment starts, else 0) with the best segmentation.

    scores: float64 [n, longest], the score of the segment of l + 1 words that starts at word t.
    Returns its score.
    """
    n, longest = scores.shape
    best = np.full(n + 1, -np.inf)  # of the first words
    last = np.zeros(n + 1, dtype=np.int64)  # where the last of their segments starts
    best[0] = 0.0
    for end in range(1, n + 1):
        for start in range(max(end - longest, 0), end):
            score = best[start] + scores[start, end - start - 1]
            if score > best[end]:
                best[end] = score
                last[end] = start
    starts[:] = 0
    end = n
    while end > 0:
        end = last[end]
        starts[end] = 1
    return best[n]


# --- The layout of examples -------------------------------------------------------------


class SegmentExamples(NamedTuple):
    """The arrays of a problem, as kernels read them."""

    sentence_starts: Ints  #: int64 [examples + 1]
    keys: Keys  #: uint64 [words, T]: features of words, 0 for none
    gold: Ints  #: int64 [words]: 1 where a segment starts, 0 inside, -1 for unknown
    completions: Ints  #: int64 [words]: gold, and what is assumed now where it is unknown
    size: int  #: the number of hashed rows, a power of two
    max_length: int


SegmentExamplesType = named_tuple(SegmentExamples, Ints1, Keys2, Ints1, Ints1, Int, Int)

# --- Scores, costs and features ---------------------------------------------------------

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_LAST = np.uint64(0xC2B2AE3D27D4EB4F)


@kernel
def fill_rows(keys: Keys, start: int, end: int, size: int, rows: Ints) -> int:
    """Write the rows of the features of the segment [start, end) of keys; return their number."""
    mask = np.uint64(size - 1)
    rows[0] = (end - start) & (size - 1)
    count = 1
    for m in range(keys.shape[1]):
        if keys[start, m] != np.uint64(0):
            rows[count] = np.int64(((keys[start, m] * _FIRST) >> np.uint64(32)) & mask)
            count += 1
        if keys[end - 1, m] != np.uint64(0):
            rows[count] = np.int64(((keys[end - 1, m] * _LAST) >> np.uint64(32)) & mask)
            count += 1
    return count


@kernel
def score_segments(keys: Keys, w: Floats, size: int, scores: Floats) -> None:
    """Write the scores of the segments of one sentence, as ``best_segmentation`` reads them."""
    n, longest = scores.shape
    rows = np.empty(1 + 2 * keys.shape[1], dtype=np.int64)
    scores[:] = -np.inf
    for start in range(n):
        for length in range(1, min(longest, n - start) + 1):
            total = 0.0
            for f in range(fill_rows(keys, start, start + length, size, rows)):
                total += w[rows[f]]
            scores[start, length - 1] = total


@kernel
def add_costs(gold: Ints, gamma: float, scores: Floats) -> None:
    """Add gamma for each word whose mark, start or inside, is not the gold one."""
    n, longest = scores.shape
    for start in range(n):
        cost = 1.0 if gold[start] == 0 else 0.0
        for end in range(start + 1, min(start + longest, n) + 1):
            scores[start, end - start - 1] += gamma * cost
            if end < n:
                cost += gold[end] == 1


@kernel
def forbid_others(gold: Ints, scores: Floats) -> None:
    """Forbid the segments that no segmentation with these marks has."""
    n, longest = scores.shape
    for start in range(n):
        is_forbidden = gold[start] == 0
        for end in range(start + 1, min(start + longest, n) + 1):
            if is_forbidden:
                scores[start, end - start - 1] = -np.inf
            is_forbidden |= end < n and gold[end] == 1


@kernel
def add_features(
    examples: SegmentExamples,
    i: int,
    marks: Ints,
    value: float,
    size: int,
    indices: Rows,
    values: Weights,
    scratch: Rows,
) -> int:
    """Add value x phi(x_i, marks) to a sparse vector of some size; return its new size."""
    keys = examples.keys[examples.sentence_starts[i] : examples.sentence_starts[i + 1]]
    rows = np.empty(1 + 2 * keys.shape[1], dtype=np.int64)
    start = 0
    for end in range(1, len(marks) + 1):
        if end == len(marks) or marks[end] == 1:
            for f in range(fill_rows(keys, start, end, examples.size, rows)):
                size = add_entry(indices, values, scratch, size, rows[f], value)
            start = end
    return size


# --- The oracles ------------------------------------------------------------------------


@kernel
def decode(
    examples: SegmentExamples, i: int, w: Floats, gamma: float, complete: bool
) -> tuple[Ints, float, bool]:
    """See ``Structure.decode``: y has the marks of words."""
    first, end = examples.sentence_starts[i], examples.sentence_starts[i + 1]
    gold, completion = examples.gold[first:end], examples.completions[first:end]
    n = end - first
    if n == 0 or gold.max() < 0:
        return np.empty(0, dtype=np.int64), 0.0, False
    scores = np.empty((n, examples.max_length))
    score_segments(examples.keys[first:end], w, examples.size, scores)
    marks = np.empty(n, dtype=np.int64)
    recompleted = False
    if gold.min() < 0 and (complete or completion.min() < 0):
        restricted = scores.copy()
        forbid_others(gold, restricted)
        best_segmentation(restricted, marks)
        recompleted = not np.array_equal(marks, completion)
        completion[:] = marks
    add_costs(gold, gamma, scores)
    best_segmentation(scores, marks)
    cost = 0.0
    for t in range(n):
        cost += gold[t] >= 0 and gold[t] != marks[t]
    return marks, cost, recompleted


@kernel
def difference(
    examples: SegmentExamples,
    i: int,
    y: Ints,
    indices: Rows,
    values: Weights,
) -> int:
    """See ``Structure.difference``."""
    gold = examples.completions[examples.sentence_starts[i] : examples.sentence_starts[i + 1]]
    scratch = scratch_table(2 * len(y) * (1 + 2 * examples.keys.shape[1]))
    size = add_features(examples, i, gold, 1.0, 0, indices, values, scratch)
    size = add_features(examples, i, y, -1.0, size, indices, values, scratch)
    return drop_zeros(indices, values, size)


SEGMENTATIONS = Structure(SegmentExamplesType, decode, difference)

# --- The problem ------------------------------------------------------------------------


class SegmentProblem:
    """Sentences with their gold segmentations, checked, as arrays."""

    structure = SEGMENTATIONS
    nonnegative = 0  # weights may have any sign
    max_expected_entries = 0  # there are no expectations

    def __init__(self, templates: int, *, size: int, max_length: int) -> None:
        self.size = size
        self.max_length = max_length
        self._sentence_starts = GrowingArray(np.int64, [0])
        self._keys = GrowingArray(np.uint64, np.zeros((0, templates)))
        self._gold = GrowingArray(np.int64)
        self._completions = GrowingArray(np.int64)

    @property
    def number_of_examples(self) -> int:
        return self._sentence_starts.size - 1

    @property
    def max_entries(self) -> int:
        words = int(np.diff(self._sentence_starts.array).max(initial=0))
        return 2 * words * (1 + 2 * self._keys.array.shape[1])

    def number_of_weights(self, rows: int) -> int:
        return self.size

    def append(self, keys: Keys, sentence_starts: Ints, gold: Ints) -> range:
        """Append sentences; return their numbers.

        Raises ValueError where no segmentation has the gold marks: the first word starts a
        segment, and none is longer than ``max_length``.
        """
        gold = gold.copy()
        for s, (start, end) in enumerate(pairwise(sentence_starts.tolist())):
            marks = gold[start:end]
            if len(marks) and marks.max() >= 0 and marks[0] == 0:
                raise ValueError(f"sentence {s}: its first word starts no segment")
            inside = longest = 0
            for mark in marks.tolist():
                inside = inside + 1 if mark == 0 else 0
                longest = max(longest, inside + 1)
            if longest > self.max_length:
                raise ValueError(f"sentence {s}: a segment of {longest} words is too long")
        first = self.number_of_examples
        self._sentence_starts.extend(sentence_starts[1:] + self._gold.size)
        self._keys.extend(keys)
        self._gold.extend(gold)
        self._completions.extend(gold)
        return range(first, self.number_of_examples)

    def forget(self, numbers: range) -> None:
        """Remove the gold annotation of examples."""
        starts = self._sentence_starts.array
        self._gold.array[starts[numbers.start] : starts[numbers.stop]] = -1

    def keep(self, numbers: Ints) -> None:
        """Keep only these examples, renumbered 0, 1, ... in this order."""
        words, self._sentence_starts = gather_ranges(self._sentence_starts, numbers)
        self._keys = GrowingArray(np.uint64, self._keys.array[words])
        self._gold = GrowingArray(np.int64, self._gold.array[words])
        self._completions = GrowingArray(np.int64, self._completions.array[words])

    def forget_completions(self) -> None:
        """Remove what was assumed where gold annotation is missing."""
        self._completions.array[:] = self._gold.array

    def examples(self) -> SegmentExamples:
        return SegmentExamples(
            self._sentence_starts.array,
            self._keys.array,
            self._gold.array,
            self._completions.array,
            self.size,
            self.max_length,
        )


# --- The model --------------------------------------------------------------------------


@kernel
def segment_sentences(
    keys: Keys, sentence_starts: Ints, w: Weights, max_length: int, marks: Ints
) -> None:
    """Fill marks (int64 [words]) with the best segmentations."""
    for s in range(len(sentence_starts) - 1):
        start, end = sentence_starts[s], sentence_starts[s + 1]
        scores = np.empty((end - start, max_length))
        score_segments(keys[start:end], w, len(w), scores)
        best_segmentation(scores, marks[start:end])


class SavedSegments(NamedTuple):
    """What a saved model holds."""

    templates: tuple[Template, ...]
    labels: tuple[str, ...]
    weights: Weights
    summary: TrainingSummary | None


class SegmentModel:
    """A linear model of segmentations."""

    max_labels = 1
    beta = None  # no probabilities
    types: storage.Types = {"weights": np.float32}  # noqa: RUF012

    def __init__(self, templates: Sequence[Template], *, bits: int, max_length: int) -> None:
        self.bits = bits
        self.max_length = max_length
        self.define(templates, ())

    def define(
        self,
        templates: Iterable[Template],
        labels: Iterable[str],
        resources: Resources = NO_RESOURCES,
    ) -> None:
        """Set templates, labels and resources, and start from zero weights."""
        self.templates = tuple(templates)
        self.labels = tuple(labels)
        self.resources = resources
        names = {part.attribute for template in self.templates for part in template.parts}
        self.reader = AttributeReader(names, resources)
        self.compiled = compile_templates(self.templates, self.reader.names)
        self.weights: Weights = np.zeros(2**self.bits, dtype=np.float32)
        self.summary: TrainingSummary | None = None

    def add_labels(self, labels: Sequence[str]) -> None:
        self.labels = (*self.labels, *labels)

    @property
    def number_of_rows(self) -> int:
        return int(np.count_nonzero(self.weights))

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        return [str(t) for t in self.templates if any(is_wanted(p.attribute) for p in t.parts)]

    def keys(self, tokens: TokenTable) -> Keys:
        """The features of words: uint64 [words, T]."""
        keys = np.empty((len(tokens.attributes), len(self.templates)), dtype=np.uint64)
        extract_keys(self.compiled, tokens.attributes, tokens.sentence_starts, keys)
        return keys

    def predict(self, tokens: TokenTable) -> Ints:
        """The best segmentation of each sentence: int64 [words], 1 where a segment starts."""
        marks = np.empty(len(tokens.positions), dtype=np.int64)
        arrays = self.keys(tokens), tokens.sentence_starts, self.weights
        segment_sentences(*arrays, self.max_length, marks)
        return marks

    def header(self) -> storage.Header:
        return {
            "templates": [str(template) for template in self.templates],
            "labels": list(self.labels),
            "bits": self.bits,
            "max_length": self.max_length,
            "summary": None if self.summary is None else self.summary._asdict(),
        }

    def arrays(self) -> storage.Arrays:
        return {"weights": self.weights}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedSegments:
        """What was saved. Raises ValueError where kernels must not read it."""
        texts = storage.checked_texts(header["templates"], "templates")
        settings = header["bits"], header["max_length"]
        storage.require(settings == (self.bits, self.max_length), "saved with other settings")
        weights = arrays["weights"]
        storage.require(weights.shape == (2**self.bits,), "the weights have another number")
        storage.require(bool(np.isfinite(weights).all()), "the weights are not finite")
        return SavedSegments(
            parse_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES),
            storage.checked_texts(header["labels"], "labels"),
            weights,
            read_summary(header["summary"]),
        )

    def become(self, saved: SavedSegments) -> None:
        self.define(saved.templates, saved.labels)
        self.weights, self.summary = saved.weights, saved.summary


# --- The trainer ------------------------------------------------------------------------


class GoldSegments(NamedTuple):
    """The words of a batch of Docs with their gold marks."""

    tokens: TokenTable
    marks: Ints  #: int64 [words]


class SegmentTrainer(ExampleTrainer):
    """A run of a solver on batches of Docs."""

    problem: SegmentProblem

    def __init__(self, model: SegmentModel, solver: Solver) -> None:
        self.model = model
        size, T = 2**model.bits, len(model.templates)
        problem = SegmentProblem(T, size=size, max_length=model.max_length)
        trained = model.summary is not None
        super().__init__(problem, solver, model.weights.astype(np.float64) if trained else None)

    @property
    def number_of_rows(self) -> int:
        return 0

    def add(self, batch: GoldSegments) -> list[range]:
        tokens = batch.tokens
        keys = self.model.keys(tokens)
        added = self.problem.append(keys, tokens.sentence_starts, batch.marks)
        self.run.grow(0)
        ends = (tokens.doc_sentences + added.start).tolist()
        return [range(start, end) for start, end in pairwise(ends)]

    def _write(self) -> None:
        self.model.weights = self.run.w[: 2**self.model.bits].astype(np.float32)
        self.model.summary = summarize_run(self.run, self.epochs)


# --- The component ----------------------------------------------------------------------


class Segmenter(Pipe[SegmentModel, GoldSegments]):
    """Divides sentences into segments, and writes them to ``doc.spans``."""

    kind = "test_segmenter"

    def annotation(self) -> str:
        return f"doc.spans['{self.cfg['spans_key']}']"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        key = self.cfg["spans_key"]
        found = any(key in example.reference.spans for example in examples)
        return ["segment"] if found else []

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        return [self._gold_marks(example) for example in examples]

    def _gold_marks(self, example: Example) -> Ints:
        doc, reference = example.predicted, example.reference
        marks = np.full(len(doc), -1, dtype=np.int64)
        for span in reference.spans.get(self.cfg["spans_key"], ()):
            aligned = doc.char_span(span.start_char, span.end_char)
            if aligned is not None:
                marks[aligned.start : aligned.end] = 0
                marks[aligned.start] = 1
        return marks

    def read_batch(self, docs: Sequence[GoldDoc]) -> GoldSegments:
        texts, gold, inputs = zip(*docs, strict=True)
        tokens = self.model.reader.read(texts, inputs=inputs)
        return GoldSegments(tokens, np.concatenate(gold)[tokens.positions])

    def make_trainer(self, solver: Solver) -> SegmentTrainer:
        return SegmentTrainer(self.model, solver)

    def predict(self, docs: Iterable[Doc]) -> list[Ints]:
        """The first tokens of the segments of each Doc, and the number of tokens."""
        docs = list(docs)
        self._require_labels()
        self._sync()
        tokens = self.model.reader.read(docs)
        starts = tokens.positions[self.model.predict(tokens) == 1]
        bounds = tokens.doc_starts.tolist()
        return [
            np.append(starts[(starts >= start) & (starts < end)] - start, end - start)
            for start, end in pairwise(bounds)
        ]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Ints]) -> None:
        for doc, bounds in zip(docs, predictions, strict=True):
            spans = [doc[start:end] for start, end in pairwise(bounds.tolist())]
            doc.spans[self.cfg["spans_key"]] = spans


def segments_scorer(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    def spans(doc: Doc, key: str) -> Iterable[Any]:
        return doc.spans.get(key.removeprefix("spans_"), ())

    return Scorer.score_spans(
        examples, "spans_segments", getter=spans, has_annotation=lambda doc: True, labeled=False
    )


@Language.factory(
    "test_segmenter",
    assigns=["doc.spans"],
    default_config={
        "templates": ["lower[0]", "suffix2[0]", "lower[-1]", "lower[1]"],
        "bits": 14,
        "max_length": 6,
        "spans_key": "segments",
        "solver": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1"},
    },
    default_score_weights={"spans_segments_f": 1.0},
)
def make_segmenter(
    nlp: Language,
    name: str,
    templates: list[str],
    bits: int,
    max_length: int,
    spans_key: str,
    solver: Any,
) -> Segmenter:
    parsed = parse_templates(templates, is_attribute=is_attribute, attributes=ATTRIBUTES)
    model = SegmentModel(parsed, bits=bits, max_length=max_length)
    settings = {"solver": solver, "scorer": segments_scorer, "spans_key": spans_key}
    return Segmenter(nlp.vocab, model, name, **settings)


# --- Tests: the decoder and the oracle, against enumeration -----------------------------

SIZE = 64


def segmentations(n: int, max_length: int) -> list[list[int]]:
    """All marks of n words."""
    found = [[]] if n == 0 else []
    for length in range(1, min(n, max_length) + 1):
        found += [[*rest, 1, *[0] * (length - 1)] for rest in segmentations(n - length, max_length)]
    return found


def segments(marks: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise([*np.flatnonzero(marks).tolist(), len(marks)]))


@given(st.data(), st.integers(1, 6), st.integers(1, 4))
def test_the_best_segmentation(data: Any, n: int, longest: int) -> None:
    values = st.lists(st.integers(-9, 9), min_size=longest, max_size=longest)
    scores = np.array(data.draw(st.lists(values, min_size=n, max_size=n)), dtype=np.float64)
    marks = np.full(n, 7)
    best = best_segmentation(scores, marks)
    totals = {
        tuple(y): sum(scores[start, end - start - 1] for start, end in segments(y))
        for y in segmentations(n, longest)
    }
    assert totals[tuple(marks.tolist())] == best == max(totals.values())


def keys_of(words: Sequence[int]) -> Keys:
    """The features of words that are small numbers: uint64 [words, 1]."""
    return np.array(words, dtype=np.uint64)[:, None] * np.uint64(0xD6E8FEB86659FD93)


def problem_of(sentences: Sequence[Sequence[int]], gold: Sequence[Sequence[int]]) -> SegmentProblem:
    """Sentences with one template, which sees the word."""
    problem = SegmentProblem(1, size=SIZE, max_length=3)
    keys = keys_of([word for words in sentences for word in words])
    starts = np.cumsum([0, *map(len, sentences)])
    problem.append(keys, starts, np.concatenate(gold).astype(np.int64))
    return problem


def naive_features(words: Sequence[int], marks: Sequence[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for start, end in segments(marks):
        rows = np.empty(3, dtype=np.int64)
        count = fill_rows(keys_of(words), start, end, SIZE, rows)
        found.update(rows[:count].tolist())
    return found


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.integers(0, 99),
    st.data(),
)
def test_the_oracle_finds_the_worst_segmentation(words: list[int], seed: int, data: Any) -> None:
    n = len(words)
    full = data.draw(st.sampled_from(segmentations(n, 3)))
    gold = [mark if data.draw(st.booleans()) else -1 for mark in full]
    problem = problem_of([words], [gold])
    w = np.random.default_rng(seed).normal(size=SIZE)
    marks, cost, recompleted = decode(problem.examples(), 0, w, 1.0, False)
    if max(gold) < 0:
        assert len(marks) == 0
        return
    score = {
        tuple(y): sum(w[row] * count for row, count in naive_features(words, y).items())
        for y in segmentations(n, 3)
    }
    agree = [y for y in score if all(g in (mark, -1) for g, mark in zip(gold, y, strict=True))]
    completion = max(agree, key=score.__getitem__)
    assert recompleted == (-1 in gold)
    delta = {y: sum(g in (0, 1) and g != m for g, m in zip(gold, y, strict=True)) for y in score}
    y = tuple(marks.tolist())
    assert cost == delta[y]
    assert cost + score[y] == pytest.approx(max(delta[y] + score[y] for y in score))
    indices, values = difference_of(problem, 0, marks)
    phi = naive_features(words, completion)
    phi.subtract(naive_features(words, y))
    found = dict(zip(indices.tolist(), values.tolist(), strict=True))
    assert found == {row: count for row, count in phi.items() if count}
    assert not decode(problem.examples(), 0, w, 1.0, True)[2]


# --- Tests: the solvers -----------------------------------------------------------------

SENTENCES = [[1, 2, 3, 4], [4, 1, 2], [2, 3, 1, 1, 5], [5, 2], [3]]
GOLD = [[1, 0, 1, 1], [1, 1, 0], [1, 0, 1, 1, 1], [1, 1], [1]]


def optimum(C: float) -> float:
    """min 1/2 |w|^2 + C sum_i max_y H_i(y)^2, by a conic solver."""
    rows, bounds, owners = [], [], []
    for i, (words, gold) in enumerate(zip(SENTENCES, GOLD, strict=True)):
        for y in segmentations(len(words), 3):
            phi = naive_features(words, gold)
            phi.subtract(naive_features(words, y))
            row = np.zeros(SIZE + len(GOLD))
            row[list(phi)] = list(phi.values())
            row[SIZE + i] = 1.0
            rows.append(-row)
            bounds.append(-float(np.sum(np.array(gold) != y)))
            owners.append(i)
    clarabel = pytest.importorskip("clarabel")
    squares = np.concatenate([np.ones(SIZE), np.full(len(GOLD), 2 * C)])
    cones = [clarabel.NonnegativeConeT(len(rows))]
    q = np.zeros(SIZE + len(GOLD))
    return solve_cone_program(squares, q, np.array(rows), np.array(bounds), cones)[1]


def trained(solver: Solver, epochs: int) -> Any:
    run = solver.start(problem_of(SENTENCES, GOLD))
    run.grow(0)
    for _ in range(epochs):
        run.epoch(np.arange(len(SENTENCES)))
    return run


def test_dual_coordinate_descent_reaches_the_optimum() -> None:
    run = trained(DualCoordinateDescent(C=1.0, tolerance=1e-8), epochs=400)
    objective = run.objective()
    assert objective.gap <= 1e-6
    assert objective.primal == pytest.approx(optimum(1.0), rel=1e-5)


@pytest.mark.parametrize("solver", [FrankWolfe, PairwiseFrankWolfe])
def test_frank_wolfe_agrees_with_the_cutting_plane_method(solver: Any) -> None:
    run = trained(solver(C=1.0, tolerance=1e-4), epochs=3000)
    assert run.objective().gap <= 1e-3
    other = trained(CuttingPlane(C=1.0, tolerance=1e-6), epochs=100).objective()
    assert run.objective().primal == pytest.approx(other.primal, rel=2e-3)


@pytest.mark.parametrize(
    "solver", [Perceptron(), Mira(C=1.0), StochasticGradient(C=10.0, eta0=0.5)], ids=repr
)
def test_online_solvers_learn_the_gold_segmentations(solver: Solver) -> None:
    run = trained(solver, epochs=60)
    for i, gold in enumerate(GOLD):
        marks, cost, _ = decode(run.problem.examples(), i, run.w, 0.0, False)
        assert (marks.tolist(), cost) == (gold, 0.0)


def test_solvers_whose_oracles_are_missing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Mira\(.* needs the k best structures"):
        KBestMira(k=3).start(problem_of(SENTENCES, GOLD))
    with pytest.raises(ValueError, match=r"DualCoordinateAscent\(.* needs probabilities"):
        DualCoordinateAscent().start(problem_of(SENTENCES, GOLD))


@pytest.mark.parametrize("gold", [[[0, 1]], [[1, 0, 0, 0]]])
def test_marks_that_no_segmentation_has_are_refused(gold: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="sentence 0"):
        problem_of([[1] * len(gold[0])], gold)


# --- Tests: the component ---------------------------------------------------------------


def segment_examples(nlp: Language) -> list[Example]:
    """Segments are noun phrases, and other words by themselves."""
    examples = []
    for words, tags in tagged_sentences():
        reference = make_doc(nlp.vocab, words)
        inside = [tag in ("DT", "JJ", "NN", "NNS", "NNP", "CD", "PRP$") for tag in tags]
        starts = [i for i in range(len(words)) if not (i and inside[i] and inside[i - 1])]
        bounds = [*starts, len(words)]
        reference.spans["segments"] = [reference[a:b] for a, b in pairwise(bounds)]
        examples.append(Example(make_doc(nlp.vocab, words), reference))
    return examples


@pytest.fixture(scope="module")
def nlp() -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("test_segmenter", config={"solver": {"C": 1.0}})
    nlp.initialize(lambda: segment_examples(nlp))
    examples = segment_examples(nlp)
    for _ in range(20):
        losses = nlp.update(examples)
    assert losses["test_segmenter_gap"] < 0.01
    return nlp


@compiled_only
def test_the_component_learns(nlp: Language) -> None:
    assert nlp.evaluate(segment_examples(nlp))["spans_segments_f"] > 0.97
    doc = nlp("The old king sleeps")
    assert [span.text for span in doc.spans["segments"]] == ["The old king", "sleeps"]
    assert not nlp("").spans["segments"]


@compiled_only
def test_a_saved_component_predicts_the_same(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for example in segment_examples(nlp):
        docs = nlp(example.text), loaded(example.text)
        one, other = ([(s.start, s.end) for s in doc.spans["segments"]] for doc in docs)
        assert one == other


@compiled_only
def test_examples_whose_docs_change_are_replaced(nlp: Language) -> None:
    fresh = spacy.blank("en")
    pipe: Any = fresh.add_pipe("test_segmenter")
    examples = segment_examples(fresh)
    fresh.initialize(lambda: examples)
    for change in range(4):
        changed = []
        for example in examples:
            words = [*(token.text for token in example.predicted), *["!"] * change]
            doc = make_doc(fresh.vocab, words)
            changed.append(Example(doc, example.reference))
        pipe.update(changed)
    assert pipe._trainer.problem.number_of_examples <= 2 * len(examples)
