"""The model of lattices: templates, labels with their parts, candidates and weights.

docs -> token attributes -> candidates, feature keys -> rows -> parts -> decoder -> labels
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.decoders.lattice import (
    Candidates,
    Levels,
    StepBounds,
    bound_steps,
    join_levels,
)
from spacy_ssvm.decoders.semirings import LOG_SUM, MAX
from spacy_ssvm.features.attributes import AttributeReader, ByWord, TokenTable, base_attribute
from spacy_ssvm.features.reals import NO_SCALES, Scales
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.templates import Template
from spacy_ssvm.kernels.types import Flags, Floats, Ints
from spacy_ssvm.labelings.cached_sums import (
    CachedSums,
    Features,
    find_sums,
    nothing_cached,
    useful_cache,
)
from spacy_ssvm.labelings.linear_model import WordModel
from spacy_ssvm.labelings.saved_model import MAX_LABELS, SavedModel
from spacy_ssvm.lattices import candidates as lists
from spacy_ssvm.lattices.cached_scores import NO_SCORES, CachedScores
from spacy_ssvm.lattices.candidates import CandidateTable, WordKeys, find_candidates, word_keys
from spacy_ssvm.lattices.inference import (
    Scorer,
    predict_sentences,
    score_sentence,
    sum_structures,
)
from spacy_ssvm.lattices.labels import SCHEMES, WHOLE, label_system
from spacy_ssvm.storage import require

STEPS, STEP_PLACES = "steps", "step_places"  # those that are not 0, and where they are

_MOST_CACHED = 2**7  # parts, whose sums take less time to add than the weights
_MOST_JOINED = 2**11  # labels, for whose steps one table is made: of at most 32 MB


class Annotation(NamedTuple):
    """What labels mean for annotation, and what of it words have."""

    values: Ints  #: int64 [words, V], -1 where it is not known
    views: Ints  #: int64 [K, V], what each label means


def annotation_read(templates: Iterable[Template], scheme: str) -> list[str]:
    """The annotation of a word that templates read, and that candidates can depend on."""
    parts = [part for template in templates for part in template.parts]
    names = sorted({part.attribute for part in parts if part.offset == 0})
    order = lists.ANNOTATION if scheme == WHOLE else ()
    return [name for kind in order for name in names if base_attribute(name) == kind]


class LatticeModel(WordModel):
    """A linear model of labels with parts.

    templates: they define the features.
    labels: the names of the labels. scheme: their parts, see ``label_system``.
    whole_docs: see ``WordModel``.
    """

    kind = "lattice model"
    label_pairs_name = STEPS
    _prepared: "_Prepared | None"

    def __init__(
        self,
        templates: Sequence[Template],
        *,
        scheme: str,
        labels: Sequence[str] = (),
        resources: Resources = NO_RESOURCES,
        whole_docs: bool = False,
    ) -> None:
        self.scheme = scheme
        self.whole_docs = whole_docs
        self.define(templates, labels, resources)

    def define(self, *definition: Any) -> None:
        """See ``LinearModel``. Every word has all labels as its candidates."""
        super().define(*definition)
        self.set_candidates(lists.all_labels(len(self.labels)), ())

    def set_candidates(self, table: CandidateTable, given: Sequence[str]) -> None:
        """Set the candidates of words, and the names of the annotation that they depend on."""
        self.table_of_candidates = table
        self.given = tuple(given)
        self._prepared = None

    def word_keys(self, tokens: TokenTable, given: Sequence[str] | None = None) -> WordKeys:
        """What decides on the candidates of words. given: the annotation, if not the model's."""
        given = self.given if given is None else given
        entry = lists.RULES[self.scheme].entry
        return word_keys(tokens.attributes, self.reader.names, entry, given)

    def make_reader(self, names: Iterable[str], resources: Resources) -> AttributeReader:
        """The reader of what the templates name, and of what candidates are found by."""
        return super().make_reader({*names, *lists.ATTRIBUTES}, resources)

    def _compile(self) -> None:
        super()._compile()
        self.system = label_system(self.labels, self.scheme)
        if self.system.parts.number > MAX_LABELS:
            number = f"{self.system.parts.number:,} parts"
            raise ValueError(f"the labels have {number}, but at most {MAX_LABELS:,} are possible")

    @property
    def number_of_columns(self) -> int:
        return self.system.parts.number

    def _count_columns(self, labels: tuple[str, ...]) -> int:
        return label_system(labels, self.scheme).parts.number

    def _zero_label_pairs(self, labels: int, legality: Floats | None) -> Floats:  # noqa: ARG002
        return np.zeros(int(self.system.levels.starts[-1]))

    def _read_label_pairs(self, arrays: storage.Arrays, labels: tuple[str, ...]) -> Floats:
        places, weights = arrays[STEP_PLACES], arrays[STEPS]
        steps = np.zeros(int(label_system(labels, self.scheme).levels.starts[-1]))
        require(places.ndim == 1 and places.shape == weights.shape, "steps are not in places")
        rise = bool(np.all(np.diff(places, prepend=-1, append=len(steps)) > 0))
        require(rise, "the weights of steps do not fit the labels")
        require(bool(np.isfinite(weights).all()), "the weights of steps are not finite")
        steps[places] = weights
        return steps

    def set_weights(self, *weights: Any, scales: Scales = NO_SCALES) -> None:
        """See ``WordModel``."""
        super().set_weights(*weights, scales=scales)
        self._prepared = None

    def scorer(self, tokens: TokenTable, candidates: Candidates | None = None) -> Scorer:
        """Templates, table and weights, for kernels that score the candidates of these words.

        candidates: all that the words have; None where annotation leaves some out.
        """
        prepared = self._for_words()
        words = tokens.group_keys, tokens.attributes, tokens.sentence_starts
        found = None
        if candidates is not None and prepared.scores is not None:
            texts = tokens.group_keys.ravel()
            found = prepared.scores.find(texts, tokens.attributes, candidates)
        if found is None:
            sums, own = find_sums(prepared.cache, prepared.features, *words), NO_SCORES
        else:
            features, own = found
            sums = features, *nothing_cached(len(tokens.attributes))
        values, weights = self.real_values(tokens, self.scales), self.real_weights.weights
        steps = prepared.levels, prepared.steps, prepared.bounds
        return Scorer(*sums, own, values, weights, self.system.parts, *steps)

    def _for_words(self) -> "_Prepared":
        """What ``scorer`` needs of the weights as they are, computed once."""
        if self._prepared is None:
            features = self._features
            cache = scores = None
            parts, steps = self.system.parts, (self.system.levels, self.label_pairs)
            (columns,) = self.reader.column_groups
            if parts.number <= _MOST_CACHED:
                cache = useful_cache(features, parts.number, [columns], self.reader.windows)
            elif not (self.given or self.table.rows_per_template):
                scores = CachedScores(features, parts, columns)
            if len(self.system.levels.sizes) > 1 and len(self.labels) <= _MOST_JOINED:
                steps = join_levels(*steps)
            self._prepared = _Prepared(features, cache, scores, *steps, bound_steps(*steps))
        return self._prepared

    def parts_of(self, label: int) -> list[int]:
        """The parts of a label."""
        starts, parts, _ = self.system.parts
        numbers: list[int] = parts[starts[label] : starts[label + 1]].tolist()
        return numbers

    def sentence(self, tokens: TokenTable, sentence: int) -> tuple[Candidates, Floats]:
        """The candidates of a sentence, and their scores: float64 [candidates]."""
        start, end = tokens.sentence_starts[sentence : sentence + 2].tolist()
        candidates = self.candidates_to_choose(tokens, None)
        found: tuple[Candidates, Floats] = score_sentence(
            self.scorer(tokens, candidates), tokens.attributes, candidates, start, end
        )
        return found

    def candidates(
        self,
        tokens: TokenTable,
        annotation: Annotation,
        *,
        adds: bool = False,
        as_new: bool = False,
    ) -> tuple[Candidates, Flags]:
        """The candidates of words, and which agree with their annotation.

        adds, as_new: see ``find_candidates``.
        """
        table, keys = self.table_of_candidates, self.word_keys(tokens)
        return find_candidates(table, keys, *annotation, adds=adds, as_new=as_new)

    def candidates_to_choose(self, tokens: TokenTable, annotation: Annotation | None) -> Candidates:
        """The candidates of words that agree with their annotation, or all where none does."""
        if annotation is None:
            keys = self.word_keys(tokens)
            return lists.all_candidates(self.table_of_candidates, keys, len(self.labels))
        (starts, labels), agrees = self.candidates(tokens, annotation, adds=True)
        kept = np.concatenate([[0], np.cumsum(agrees)])
        return Candidates(kept[starts].astype(np.int64), labels[agrees])

    def label(self, tokens: TokenTable, annotation: Annotation | None) -> ByWord:
        """The best labels of words, among those that agree with their annotation."""
        y = ByWord(np.empty(len(tokens.positions), dtype=np.int64))
        words = tokens.attributes, tokens.sentence_starts
        candidates = self.candidates_to_choose(tokens, annotation)
        scorer = self.scorer(tokens, candidates if annotation is None else None)
        predict_sentences(scorer, *words, candidates, y)
        return y

    def probabilities(
        self, tokens: TokenTable, beta: float, annotation: Annotation | None = None
    ) -> tuple[Candidates, Floats]:
        """The candidates of words that agree with their annotation, and their probabilities.

        The latter are float64 [candidates].
        """
        candidates, logs = self._sums(LOG_SUM, beta, tokens, annotation)
        if not len(logs):
            return candidates, logs
        firsts, sizes = candidates.starts[:-1], np.diff(candidates.starts)
        found = np.exp(logs - np.repeat(np.maximum.reduceat(logs, firsts), sizes))
        return candidates, found / np.repeat(np.add.reduceat(found, firsts), sizes)

    def best_scores(self, tokens: TokenTable) -> tuple[Candidates, Floats]:
        """The candidates of words, and the best score with each: float64 [candidates]."""
        return self._sums(MAX, 1.0, tokens, None)

    def _sums(
        self, semiring: int, beta: float, tokens: TokenTable, annotation: Annotation | None
    ) -> tuple[Candidates, Floats]:
        """The candidates of words that agree with their annotation, and ``sum_structures``."""
        words = tokens.attributes, tokens.sentence_starts
        candidates = self.candidates_to_choose(tokens, annotation)
        scorer = self.scorer(tokens, candidates if annotation is None else None)
        return candidates, sum_structures(semiring, beta, scorer, *words, candidates)

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        return {**super().types, STEP_PLACES: np.int32, **lists.ARRAYS}

    def header(self) -> storage.Header:
        given = {"given": list(self.given)} if self.scheme == WHOLE else {}
        return {**super().header(), "scheme": self.scheme, **given}

    def arrays(self) -> storage.Arrays:
        places = np.flatnonzero(self.label_pairs).astype(np.int32)
        return {
            **super().arrays(),
            STEPS: self.label_pairs[places].astype(np.float32),
            STEP_PLACES: places,
            **lists.saved_table(self.table_of_candidates),
        }

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        require(header["scheme"] in SCHEMES, "its labels have no such parts")
        require(header["scheme"] == self.scheme, "its labels have other parts")
        saved = super().read(header, arrays)
        given = header["given"] if self.scheme == WHOLE else []
        names = annotation_read(saved.templates, self.scheme)
        is_read = isinstance(given, list) and all(name in names for name in given)
        require(is_read, "its candidates depend on what it does not read")
        table = lists.read_table(arrays, len(saved.labels))
        return saved._replace(candidates=(*table, given))

    def become(self, saved: SavedModel) -> None:
        super().become(saved)
        *table, given = saved.candidates
        self.set_candidates(CandidateTable(*table), given)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.scheme, self.whole_docs, self.to_bytes())


class _Prepared(NamedTuple):
    features: Features  #: all of them
    cache: CachedSums | None  #: of scores of parts, where there are few; else None
    scores: CachedScores | None  #: of candidates, where their text decides on them; else None
    levels: Levels
    steps: Floats
    bounds: StepBounds


def _from_bytes(scheme: str, whole_docs: bool, data: bytes) -> LatticeModel:
    return LatticeModel((), scheme=scheme, whole_docs=whole_docs).from_bytes(data)
