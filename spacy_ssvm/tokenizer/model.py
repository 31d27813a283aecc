"""The model of tokenizers: texts -> chunks -> nodes -> labels -> tokens.

The nodes of a text are a chain, as the words of a sentence are for a tagger.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.chains.inference import LabelConstraints
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.decoders.chain import viterbi
from spacy_ssvm.features.attributes import ByToken, ByWord, TokenTable
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.templates import Template
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Codes, Flags, Floats, Ints, Keys, ShortKeys
from spacy_ssvm.labelings.cached_sums import Features
from spacy_ssvm.labelings.saved_model import SavedModel
from spacy_ssvm.storage import require
from spacy_ssvm.tokenizer.characters import CHARACTERS, has_unknown
from spacy_ssvm.tokenizer.chunks import (
    ARRAYS,
    NOTHING_KNOWN,
    Chunks,
    KnownChunks,
    arrays_of,
    code_points,
    find_chunks,
    read_chunks,
    read_known,
    with_cases,
)
from spacy_ssvm.tokenizer.columns import COLUMNS, read_columns, score_nodes
from spacy_ssvm.tokenizer.nodes import (
    LABELS,
    NOTHING_CERTAIN,
    Nodes,
    find_nodes,
    find_patterns,
    label_sets,
    restrict,
)
from spacy_ssvm.tokenizer.norms import NO_NORMS, Norms, find_norms, read_norms, saved_norms
from spacy_ssvm.tokenizer.special_cases import (
    SpecialCases,
    find_case_norms,
    read_special_cases,
    saved_special_cases,
)
from spacy_ssvm.tokenizer.templates import compile_character_templates, parse_character_templates
from spacy_ssvm.tokenizer.tokens import Tokens, find_tokens
from spacy_ssvm.weights.hash_table import numbered_keys, read_keys

_LABEL_SETS = label_sets()


class Texts(NamedTuple):
    """A batch of texts, as kernels read them."""

    codes: ShortKeys  #: uint32 [characters], of all texts
    text_starts: Ints  #: int64 [texts + 1]
    chunks: Chunks
    nodes: Nodes
    learned: KnownChunks  #: the chunks that features know

    @property
    def table(self) -> TokenTable:
        """The nodes as the words of chains: each text is a Doc of one sentence."""
        ends = self.nodes.text_nodes
        columns = read_columns(
            self.codes, CHARACTERS.classes, self.chunks, self.nodes, self.learned
        )
        numbers = ByWord(np.arange(len(columns)))
        no_groups = np.zeros((len(columns), 0), dtype=np.uint64)
        return TokenTable(columns, ends, np.arange(len(ends)), numbers, ends, no_groups)

    @property
    def constraints(self) -> LabelConstraints:
        """The labels that nodes may have."""
        return LabelConstraints(ByToken(restrict(self.chunks, self.nodes)), _LABEL_SETS)


class ColumnReader:
    """The columns of nodes, as ``ChainModel`` asks for them."""

    names = tuple(f"{name}[{offset}]" for name, offset in COLUMNS)
    column_groups = ()
    windows = ()


class Decoder(NamedTuple):
    """All that a kernel needs to find the tokens of texts."""

    classes: Codes  #: see ``CharacterTable``
    lower: ShortKeys
    known: KnownChunks  #: special cases included
    learned: KnownChunks  #: those that features read
    certain: Keys
    features: Features
    transitions: Floats


class Prepared(NamedTuple):
    """What texts are cut by."""

    decoder: Decoder
    special_cases: SpecialCases  #: those whose tokens may stand for words; none where none do
    norms: Norms


@kernel
def _segment(codes: ShortKeys, text_starts: Ints, decoder: Decoder) -> tuple[bool, Tokens]:
    """Whether all characters are known, and if so, the tokens of texts."""
    classes, known = decoder.classes, decoder.known
    is_known = not has_unknown(codes, classes)
    if not is_known:
        codes, text_starts = codes[:0], text_starts[:1]
    chunks = read_chunks(codes, text_starts, classes, decoder.lower)
    nodes = find_nodes(codes, classes, chunks, find_patterns(chunks, known), decoder.certain)
    K = decoder.transitions.shape[1]
    emissions = score_nodes(codes, classes, chunks, nodes, decoder.learned, decoder.features, K)
    labels = np.empty(len(emissions), dtype=np.int64)
    for text in range(len(text_starts) - 1):
        start, end = nodes.text_nodes[text], nodes.text_nodes[text + 1]
        if start < end:
            viterbi(emissions[start:end], decoder.transitions, labels[start:end])
    tokens = find_tokens(codes, text_starts, chunks, known, nodes, labels)
    return is_known, tokens


class TokenizerModel(ChainModel):
    """A linear model of where tokens and sentences begin.

    templates: they define the features.
    """

    kind = "tokenizer model"

    def __init__(self, templates: Sequence[Template]) -> None:
        self._lock = threading.Lock()
        self.know(NOTHING_KNOWN, NOTHING_CERTAIN, {}, NO_NORMS)
        super().__init__(templates, labels=LABELS)

    def know(
        self, learned: KnownChunks, certain: Keys, special_cases: SpecialCases, norms: Norms
    ) -> None:
        """Set what is known before anything is decided.

        learned: the chunks that are always cut in the same way.
        certain: the contexts in which nothing begins, see ``find_nodes``.
        special_cases: the tokens of further chunks, which come first.
        norms: what pieces of the text stand for.
        """
        with self._lock:
            self.learned = learned
            self.certain = certain
            self.special_cases = dict(special_cases)
            self.norms = norms
            self._reads: Prepared | None = None

    def add_special_cases(self, cases: SpecialCases) -> None:
        """Add special cases, or replace those of the same chunks."""
        with self._lock:
            self.special_cases = {**self.special_cases, **cases}
            self._reads = None

    def set_weights(self, *weights: Any, **scales: Any) -> None:
        super().set_weights(*weights, **scales)
        self._reads = None

    def prepared(self) -> Prepared:
        """What ``segment`` reads, put together for the first text: there may be many cases."""
        with self._lock:
            if self._reads is None:
                cases = self.special_cases
                known = with_cases(self.learned, {key: case.tokens for key, case in cases.items()})
                tables = CHARACTERS.classes, CHARACTERS.lower, known, self.learned, self.certain
                decoder = Decoder(*tables, self._features, self.label_pairs)
                have_words = any(case.tokens != case.words for case in cases.values())
                of_words = cases if have_words or self.norms.names else {}
                self._reads = Prepared(decoder, of_words, self.norms)
            return self._reads

    def _parse(self, texts: Sequence[str]) -> tuple[Template, ...]:
        return parse_character_templates(texts)

    def make_reader(self, names: Iterable[str], resources: Resources) -> Any:  # noqa: ARG002
        return ColumnReader()

    def _compile(self) -> None:
        self.reader = self.make_reader((), NO_RESOURCES)
        self.real_templates = ()
        self.compiled = compile_character_templates(self.templates)

    def read_texts(
        self, texts: Sequence[str], is_open: Callable[[Chunks], Flags] | None = None
    ) -> Texts:
        """Texts, their chunks and nodes.

        is_open: whether chunks have all nodes, even if it is known how they are cut.
        """
        codes, text_starts, chunks = find_chunks(texts)
        decoder = self.prepared().decoder
        patterns = find_patterns(chunks, decoder.known)
        if is_open is not None:
            patterns[is_open(chunks)] = -1
        nodes = find_nodes(codes, decoder.classes, chunks, patterns, decoder.certain)
        return Texts(codes, text_starts, chunks, nodes, decoder.learned)

    def segment(self, texts: Sequence[str]) -> tuple[Tokens, Mapping[int, str]]:
        """The tokens of texts, and the words that some of them stand for, see ``norms.py``."""
        decoder, cases, norms = self.prepared()
        codes, text_starts = code_points(texts)
        is_known, tokens = _segment(codes, text_starts, decoder)
        if not is_known:
            CHARACTERS.look_up(codes)
            _, tokens = _segment(codes, text_starts, decoder)
        words = find_norms(norms, codes, decoder.classes, tokens)
        for token, word in find_case_norms(cases, texts, tokens).items():
            words.pop(token, None)
            if word is not None:
                words[token] = word
        return tokens, words

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        return {**super().types, **ARRAYS, "contexts": np.uint64}

    def header(self) -> storage.Header:
        cases = saved_special_cases(self.special_cases)
        return {**super().header(), "special_cases": cases, "norms": saved_norms(self.norms)}

    def arrays(self) -> storage.Arrays:
        contexts = numbered_keys(self.certain)
        return {**super().arrays(), **arrays_of(self.learned), "contexts": contexts}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> Any:
        saved = super().read(header, arrays)
        require(saved.labels == LABELS, f"the labels are not {', '.join(LABELS)}")
        require(arrays["contexts"].ndim == 1, "the contexts are no list")
        tables = read_known(arrays), read_keys(arrays["contexts"], "contexts")
        cases = read_special_cases(header["special_cases"])
        return saved, *tables, cases, read_norms(header["norms"])

    def become(self, saved: tuple[SavedModel, Any, Any, Any, Any]) -> None:  # type: ignore[override]
        model, *tables = saved
        super().become(model)
        self.know(*tables)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.to_bytes(),)


def _from_bytes(data: bytes) -> TokenizerModel:
    return TokenizerModel(()).from_bytes(data)
