"""The reader of Docs: from tokens to uint64 [tokens, attributes]; for real values, ``reals.py``.

An attribute belongs to a word type (a function of its text, computed once per type and
kept in a bounded cache) or to a token (any spaCy token attribute, any extension). Its
value is a 64-bit hash or number; 0 means that the token lacks it. Whitespace tokens are
skipped: a sentence here is the sequence of its other tokens, its words. The attribute
``space_before`` describes the whitespace before a word.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple, NewType, Protocol

import numpy as np
from spacy.attrs import IDS, MORPH, ORTH, SENT_START, SPACY
from spacy.language import Language
from spacy.strings import StringStore
from spacy.symbols import IDS as SYMBOLS
from spacy.tokens import Doc as Doc  # models name the type, and do not import spaCy
from spacy.tokens import Token

from spacy_ssvm.features.clusters import (
    CLUSTER_ATTRIBUTES,
    is_cluster_attribute,
    length_of,
    prefixes,
    set_of,
    show_bits,
)
from spacy_ssvm.features.dictionaries import (
    DICTIONARY_ATTRIBUTES,
    column_of,
    is_dictionary_attribute,
)
from spacy_ssvm.features.documents import (
    DOC_MAJORITY,
    NO_VALUE,
    SAME_WORD,
    base_of,
    is_document_attribute,
    majority_elsewhere,
)
from spacy_ssvm.features.extraction import Window
from spacy_ssvm.features.gazetteers import GAZETTEER, TAGS, is_gazetteer_attribute
from spacy_ssvm.features.reals import fingerprint, read_all_reals, read_extension
from spacy_ssvm.features.resources import NO_RESOURCES, Resources
from spacy_ssvm.features.templates import is_real_attribute
from spacy_ssvm.features.text_hash import hash_text, hash_word
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Ints, Keys, Weights
from spacy_ssvm.weights.hash_table import empty_slots, find_payloads, insert_all

#: The number of word types in the cache; a batch that would exceed it clears the cache first.
CACHED_TYPES = 2**17


def _shape_full(text: str) -> str:
    return "".join(
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in text
    )


def _shape(text: str) -> str:
    full = _shape_full(text)
    return "".join(c for i, c in enumerate(full) if i == 0 or full[i - 1] != c)


def _case(text: str) -> str | None:
    if text.islower():
        return "lower"
    if text.isupper():
        return "upper"
    if text.istitle():
        return "title"
    if any(c.islower() or c.istitle() for c in text):  # istitle() is true of a single capital
        return "mixed"
    return "uncased" if any(c.isalpha() for c in text) else None


def _digits(text: str) -> str | None:
    if text.isdigit():
        return "all"
    return "some" if any(c.isdigit() for c in text) else None


def _length_class(text: str) -> str:
    n = len(text)
    return str(n) if n <= 4 else "5-6" if n <= 6 else "7-9" if n <= 9 else "10+"


def _prefix(n: int) -> Callable[[str], str | None]:
    return lambda text: text.lower()[:n] if len(text) >= n else None


def _suffix(n: int) -> Callable[[str], str | None]:
    return lambda text: text.lower()[-n:] if len(text) >= n else None


#: The attributes of word types, by name: text -> value, None where it lacks the attribute.
TYPE_ATTRIBUTES: dict[str, Callable[[str], str | None]] = {
    "orth": lambda text: text,
    "lower": lambda text: text.lower(),
    "shape": _shape,
    "shape_full": _shape_full,
    **{f"prefix{n}": _prefix(n) for n in range(1, 6)},
    **{f"suffix{n}": _suffix(n) for n in range(1, 6)},
    "stem4": lambda text: text.lower()[:4],
    "case": _case,
    "case_class": lambda text: _case(text) or "none",
    "digits": _digits,
    "digit_class": lambda text: _digits(text) or "none",
    "hyphen": lambda text: "yes" if "-" in text[1:-1] else None,
    "punctuation": lambda text: "no" if any(c.isalnum() for c in text) else "yes",
    "length_class": _length_class,
}


#: The whitespace between a word and the word before it, as an index of SPACES.
SPACE_BEFORE = "space_before"
SPACES = ("", "none", "space", "spaces", "line", "paragraph")  # the first word has no value
_WHITESPACE_TOKEN = SPACES.index("spaces")

#: The attributes that spaCy does not have, for messages.
ATTRIBUTES = (
    *TYPE_ATTRIBUTES,
    *CLUSTER_ATTRIBUTES,
    *DICTIONARY_ATTRIBUTES,
    SPACE_BEFORE,
    GAZETTEER,
    f"{DOC_MAJORITY}ent_type",
)

#: Attributes that have few values together in windows of so many words.
_FORMS = {"shape", "case", "case_class", "punctuation", "digits", "digit_class", SPACE_BEFORE}
_TAGS = {"tag", "pos"}
_WINDOWS = ((_FORMS, 3), (_TAGS | {"case"}, 2), (_TAGS, 3))

#: The attribute of all morphological features of a token.
MORPHOLOGY = "morph"
#: Its value where there are none.
NO_FEATURES = np.uint64(SYMBOLS["_"])

_EXTENSION = "_."
_FEATURE = f"{MORPHOLOGY}."  # and the name of a morphological feature
_KNOWN_MORPHOLOGIES = 2**14  # different ones of which a reader remembers the features


def is_attribute(name: str) -> bool:
    """Whether templates may use the name."""
    if is_document_attribute(name):
        name = base_of(name)
        if _is_in_resource(name) or is_gazetteer_attribute(name):
            return False
    if name in TYPE_ATTRIBUTES or _is_in_resource(name) or name == SPACE_BEFORE:
        return True
    if name.startswith((_EXTENSION, _FEATURE)):
        return name not in (_EXTENSION, _FEATURE)
    if is_gazetteer_attribute(name):
        return True
    return name == name.lower() and bool(name) and name.upper() in IDS and "flag" not in name


def base_attribute(name: str) -> str:
    """The attribute of tokens that holds an attribute: morph of morph.Case, else itself."""
    return MORPHOLOGY if name.startswith(_FEATURE) else name


def _is_in_resource(name: str) -> bool:
    """Whether an attribute of word types is that of a list of words."""
    return is_cluster_attribute(name) or is_dictionary_attribute(name)


#: The four ways to index a batch of Docs: int64 arrays with an entry for each
#:   token, of all tokens of the Docs, one Doc after another, with whitespace;
#:   word, of the tokens that are not whitespace, in the same order: see ``TokenTable.positions``;
#:   node, of the root, the words and the end of each sentence: see ``Nodes.words``;
#:   node of pieces of sentences, which the parser cuts at its max_length.
#: Signatures use them where arrays of different kinds meet, so that type checkers tell them apart;
#: kernels take any of them.
ByToken = NewType("ByToken", Ints)
ByWord = NewType("ByWord", Ints)
ByNode = NewType("ByNode", Ints)
ByPieceNode = NewType("ByPieceNode", Ints)


class TokenTable(NamedTuple):
    """The words (tokens without whitespace) of a batch of Docs, as kernels read them."""

    attributes: Keys  #: uint64 [words, attributes]
    sentence_starts: Ints  #: int64 [sentences + 1]: the first word of each sentence
    doc_sentences: Ints  #: int64 [docs + 1]: the first sentence of each Doc
    positions: ByWord  #: int64 [words]: the token of each word
    doc_starts: Ints  #: int64 [docs + 1]: the first token of each Doc
    group_keys: Keys  #: uint64 [words, groups]: what each group of columns holds, not 0
    reals: Mapping[str, Weights] = MappingProxyType({})  #: float32 [words, width], by attribute


@kernel
def sentence_firsts(starts: Flags, doc_starts: Ints, kept: Ints) -> Ints:
    """The first word of each sentence, among the words kept.

    starts: bool [tokens], where a sentence is marked to begin; each Doc begins one too.
    kept: int64 [words], the tokens that are not whitespace. A start at
        whitespace moves to the next word.
    """
    firsts, count = np.empty(len(kept), dtype=np.int64), 0
    token, doc = 0, 0
    for word in range(len(kept)):
        is_first = False
        while token <= kept[word]:
            is_first |= starts[token]
            token += 1
        while doc < len(doc_starts) - 1 and doc_starts[doc] <= kept[word]:
            is_first = True
            doc += 1
        if is_first:
            firsts[count] = word
            count += 1
    return firsts[:count].copy()  # type: ignore[no-any-return]


@kernel
def spaces_before(spaces: Keys, whitespace: Ints, doc_starts: Ints) -> Keys:
    """The whitespace before each token, as indices of SPACES: uint64 [tokens].

    Before a word, it is the largest index of the whitespace tokens before it in its Doc, too.
    spaces: uint64 [tokens], 1 where a space follows the token.
    whitespace: int64 [tokens], 0 for words, the index of SPACES for whitespace.
    """
    before = np.empty(len(spaces), dtype=np.uint64)
    for doc in range(len(doc_starts) - 1):
        largest = 0
        for token in range(doc_starts[doc], doc_starts[doc + 1]):
            is_first = token == doc_starts[doc]
            index = 0 if is_first else 1 + np.int64(spaces[token - 1])
            if whitespace[token] > 0:
                largest = max(largest, whitespace[token])
            else:
                index, largest = max(index, largest), 0
            before[token] = np.uint64(index)
    return before


class Reader(Protocol):
    """What reads the Docs for a model, as components need it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes that it reads."""

    def inputs(self, doc: Doc) -> Keys:
        """The inputs of all features of a Doc: uint64 [tokens, columns], the words first."""


class AttributeReader:
    """Reads attributes by name. Safe to use from several threads.

    ``names`` gives the order of the columns: attributes of word types, of tokens, extensions,
    single morphological features (``morph.Case``), gazetteers, and those of other occurrences in
    the Doc; real-valued attributes have none.
    ``column_groups`` has one group, of the attributes of word types, whose key is a hash of the
    text; ``windows`` are groups of other attributes with few values: see
    ``labelings/cached_sums.py``.
    whole_docs: whether a Doc is read as one sentence; its boundaries are then ignored.
    """

    def __init__(
        self,
        names: Iterable[str],
        resources: Resources = NO_RESOURCES,
        *,
        whole_docs: bool = False,
    ) -> None:
        wanted = sorted(names)
        self._real_names = [n for n in wanted if is_real_attribute(n)]
        wanted = [n for n in wanted if n not in self._real_names]
        self._whole_docs = whole_docs
        self._clusters, self._gazetteers, self._dictionary = resources
        self._document_names = [n for n in wanted if is_document_attribute(n)]
        others = [n for n in wanted if n not in self._document_names]
        # Other columns are read for these: they are left out in the end.
        needed = {*others, *map(base_of, self._document_names)}
        if self._document_names:
            needed.add(SAME_WORD)
        self._gazetteer_names = [n for n in others if is_gazetteer_attribute(n)]
        if self._gazetteer_names and self._gazetteers is not None:
            needed.add(self._gazetteers.attribute)
        self._read = self._arrange(needed)
        self.names = (*(n for n in self._read if n in others), *self._document_names)
        self.column_groups = [range(sum(n in self._type_names for n in self.names))]
        self.windows = [
            Window([j for j, name in enumerate(self.names) if name in names], width)
            for names, width in _WINDOWS
        ]
        self._lock = threading.Lock()
        self._forget_types()

    def _arrange(self, names: Iterable[str]) -> tuple[str, ...]:
        """Note where each attribute is read from, and return them in the order of the columns."""
        ordered = sorted(names)
        self._type_names = [n for n in ordered if n in TYPE_ATTRIBUTES or _is_in_resource(n)]
        extensions = [n for n in ordered if n.startswith(_EXTENSION)]
        features = [n for n in ordered if n.startswith(_FEATURE)]
        others = {*self._type_names, *extensions, *features, *self._gazetteer_names}
        token_names = [n for n in ordered if n not in others]
        self._extensions = [name[len(_EXTENSION) :] for name in extensions]
        self._features = [name[len(_FEATURE) :] for name in features]
        self._of_morphologies: dict[int, Keys] = {}
        columns = [SPACY if name == SPACE_BEFORE else IDS[name.upper()] for name in token_names]
        self._columns = [ORTH, SENT_START, *columns]
        column = {name: 2 + j for j, name in enumerate(token_names)}
        self._morph = column.get(MORPHOLOGY)
        self._space_before = column.get(SPACE_BEFORE)
        of_tokens = *token_names, *extensions, *features
        return (*self._type_names, *of_tokens, *self._gazetteer_names)

    def read(
        self,
        docs: Sequence[Doc],
        starts: Flags | None = None,
        *,
        inputs: Sequence[Keys] | None = None,
        with_reals: bool = True,
    ) -> TokenTable:
        """The attributes of the words of Docs.

        A sentence starts at each Doc and at each token that is marked as a start.
        starts: bool [tokens of all Docs], further starts of sentences.
        inputs: the result of ``inputs`` for each Doc; None to read it now.
        with_reals: whether real values are read, which other components may not have written yet.
        """
        if inputs is None:
            inputs = self._annotations(docs)
        doc_starts = np.zeros(len(docs) + 1, dtype=np.int64)
        np.cumsum([len(columns) for columns in inputs], out=doc_starts[1:])
        columns: Keys = np.concatenate(inputs)
        type_values, whitespace = self._types(columns[:, 0], doc_starts, docs)
        kept = np.flatnonzero(whitespace == 0)
        all_kept = len(kept) == len(columns)

        marked = columns[:, 1] == 1
        firsts = sentence_firsts(marked if starts is None else marked | starts, doc_starts, kept)
        sentence_starts = np.append(firsts, len(kept)).astype(np.int64)
        doc_sentences = np.searchsorted(kept[firsts], doc_starts).astype(np.int64)

        if self._space_before is not None:
            spaces = columns[:, self._space_before]
            columns[:, self._space_before] = spaces_before(spaces, whitespace, doc_starts)
        attributes = type_values
        if columns.shape[1] > 2:
            attributes = np.hstack((type_values, columns[:, 2 : self._end_of_columns]))
        if not all_kept:
            attributes = attributes[kept]
        if self._gazetteer_names:
            attributes = np.hstack((attributes, self._gazetteer_columns(attributes, firsts)))
        if self.names != self._read:
            owners = np.searchsorted(doc_starts, kept, side="right")
            attributes = self._selected(attributes, owners)
        types = columns[kept, :1]
        wanted = self._real_names if with_reals else ()
        reals = {name: read_all_reals(name, docs)[kept] for name in wanted}
        return TokenTable(
            attributes, sentence_starts, doc_sentences, ByWord(kept), doc_starts, types, reals
        )

    def _gazetteer_columns(self, attributes: Keys, firsts: Ints) -> Keys:
        """The columns of gazetteers, from those read before them."""
        if self._gazetteers is None:
            return np.zeros((len(attributes), len(self._gazetteer_names)), dtype=np.uint64)
        starts = np.zeros(len(attributes), dtype=bool)
        starts[firsts] = True
        words = attributes[:, self._read.index(self._gazetteers.attribute)]
        tags = self._gazetteers.match(words, starts).astype(np.uint64)
        columns = []
        for name in self._gazetteer_names:
            if name == GAZETTEER:
                types = [hash_text(kind) | 1 for kind in self._gazetteers.types]
                columns.append(tags @ np.array(types, dtype=np.uint64))
            else:
                columns.append(tags[:, self._gazetteers.types.index(name[len(GAZETTEER) + 1 :])])
        return np.column_stack(columns)

    def _selected(self, attributes: Keys, docs: Ints) -> Keys:
        """The columns of ``names``, from those read: uint64 [words, names].

        docs: int64 [words], the Doc of each word.
        """
        columns = {name: attributes[:, j] for j, name in enumerate(self._read)}
        for name in self._document_names:
            values, words = columns[base_of(name)], columns[SAME_WORD]
            columns[name] = majority_elsewhere(values, words, docs)
        return np.column_stack([columns[name] for name in self.names])

    @property
    def number_of_inputs(self) -> int:
        """The number of columns of ``inputs``."""
        return self._end_of_columns + (1 if self._real_names else 0)

    @property
    def _end_of_columns(self) -> int:
        """Where those of ``inputs`` end that become columns of attributes."""
        return len(self._columns) + len(self._extensions) + len(self._features)

    def input_column(self, name: str) -> int | None:
        """The column of ``inputs`` with an attribute of tokens; None where it is not read."""
        if name.startswith(_FEATURE):
            first, feature = len(self._columns) + len(self._extensions), name[len(_FEATURE) :]
            return first + self._features.index(feature) if feature in self._features else None
        column = IDS[name.upper()]
        return self._columns.index(column) if column in self._columns[2:] else None

    def write_inputs(
        self, inputs: Keys, names: Iterable[str], values: Keys, strings: StringStore
    ) -> None:
        """Give attributes that one attribute of spaCy holds other values in ``inputs`` of a Doc.

        names: all with the same ``base_attribute``. values: uint64 [tokens], those of a Doc.
        strings: those of the values.
        """
        features: Keys | None = None
        for name in names:
            column = values
            if name == MORPHOLOGY:
                column = np.where(values == NO_FEATURES, np.uint64(0), values)
            elif name.startswith(_FEATURE):
                if features is None:
                    features = self._feature_columns(values, strings)
                column = features[:, self._features.index(name[len(_FEATURE) :])]
            inputs[:, self.input_column(name)] = column

    def with_names(self, names: Iterable[str]) -> "AttributeReader":
        """A reader of other attributes of the same Docs."""
        return AttributeReader(names, whole_docs=self._whole_docs)

    def inputs(self, doc: Doc, *, with_reals: bool = True) -> Keys:
        """All that features depend on: uint64 [tokens, ORTH, SENT_START, annotations].

        Real values are not among them; a last column tells Docs apart whose values differ.
        with_reals: whether there is such a column, see ``read``.
        """
        (annotations,) = self._annotations([doc])
        return self._with_fingerprint(doc, annotations) if with_reals else annotations

    def _with_fingerprint(self, doc: Doc, annotations: Keys) -> Keys:
        """The inputs of a Doc: its annotations, and the last column where there are real values."""
        if not self._real_names:
            return annotations
        number = fingerprint(self._real_names, doc)
        return np.hstack([annotations, np.full((len(doc), 1), number, dtype=np.uint64)])

    def _annotations(self, docs: Sequence[Doc]) -> list[Keys]:
        """The inputs of Docs without the last column."""
        return [self._annotations_of(doc) for doc in docs]

    def _annotations_of(self, doc: Doc) -> Keys:
        columns: Any = doc.to_array(self._columns).reshape(len(doc), len(self._columns))
        if self._whole_docs:
            columns[:, 1] = 0
        if self._morph is not None:
            features = columns[:, self._morph]
            features[features == NO_FEATURES] = 0
        if self._extensions:
            values = [[_extension_value(token, n) for n in self._extensions] for token in doc]
            extensions = np.array(values, dtype=np.uint64).reshape(len(doc), len(self._extensions))
            columns = np.hstack([columns, extensions])
        if self._features:
            morphologies: Any = doc.to_array([MORPH])
            columns = np.hstack([columns, self._feature_columns(morphologies, doc.vocab.strings)])
        return columns  # type: ignore[no-any-return]

    def _feature_columns(self, morphologies: Keys, strings: StringStore) -> Keys:
        """The values of morphological features: uint64 [tokens, features], 0 for none."""
        found, places = np.unique(morphologies, return_inverse=True)
        if len(self._of_morphologies) + len(found) > _KNOWN_MORPHOLOGIES:
            self._of_morphologies = {}
        known = self._of_morphologies
        for morph in found.tolist():
            if morph not in known:
                features = features_of(strings[morph] if morph else "")
                known[morph] = _hashes(features.get(name) for name in self._features)
        values: Keys = np.zeros((len(found), len(self._features)), dtype=np.uint64)
        for i, morph in enumerate(found.tolist()):
            values[i] = known[morph]
        of_tokens: Keys = values[places.ravel()]
        return of_tokens

    def text_value(self, name: str, doc: Doc, i: int) -> str | None:
        """The readable value of an attribute of token i, None where it lacks it."""
        token = doc[i]
        if name in TYPE_ATTRIBUTES:
            return TYPE_ATTRIBUTES[name](token.text)
        if is_cluster_attribute(name):
            return show_bits(int(self._cluster_values([name], [token.text])[name][0])) or None
        if is_dictionary_attribute(name):
            return self._in_dictionary(name, [token.text])[0]
        if name.startswith(_EXTENSION):
            value = token._.get(name[len(_EXTENSION) :])
            return None if value is None else str(value)
        if name.startswith(_FEATURE):
            return features_of(str(token.morph)).get(name[len(_FEATURE) :])
        if is_gazetteer_attribute(name):
            return self._gazetteer_value(name, doc, i)
        if is_document_attribute(name):
            return self._majority_value(name, doc, i)
        if name == SPACE_BEFORE:
            tokens = AttributeReader([name]).read([doc])
            return SPACES[int(tokens.attributes[np.searchsorted(tokens.positions, i), 0])] or None
        number = int(doc.to_array([IDS[name.upper()]])[i])
        if not number or (name == MORPHOLOGY and number == NO_FEATURES):
            return None
        return str(getattr(token, f"{name}_", None) or getattr(token, name, number))

    def _gazetteer_value(self, name: str, doc: Doc, i: int) -> str | None:
        if self._gazetteers is None:
            return None
        reader = AttributeReader(
            [f"{GAZETTEER}.{kind}" for kind in self._gazetteers.types],
            Resources(gazetteers=self._gazetteers),
        )
        tokens = reader.read([doc])
        tags = tokens.attributes[np.searchsorted(tokens.positions, i)].tolist()
        found = {
            kind: TAGS[tag] for kind, tag in zip(sorted(self._gazetteers.types), tags, strict=True)
        }
        if name != GAZETTEER:
            return found[name[len(GAZETTEER) + 1 :]] or None
        return " ".join(f"{tag}-{kind}" for kind, tag in found.items() if tag) or None

    def _majority_value(self, name: str, doc: Doc, i: int) -> str | None:
        base = base_of(name)
        columns = self.with_names([base, name]).read([doc])
        values, majorities = columns.attributes.T
        majority = majorities[np.searchsorted(columns.positions, i)]
        if majority == 0:
            return None
        if majority == NO_VALUE:
            return "none"
        example = columns.positions[np.flatnonzero(values == majority)[0]]
        return self.text_value(base, doc, int(example))

    def _cluster_values(self, names: Iterable[str], texts: Sequence[str]) -> dict[str, Keys]:
        """The values of the names that read clusters: uint64 [texts] each, 0 for unknown words."""
        wanted = [name for name in names if is_cluster_attribute(name)]
        nothing = np.zeros(len(texts), dtype=np.uint64)
        bits = {
            set_name: self._clusters[set_name].find(texts)
            if set_name in self._clusters
            else nothing
            for set_name in set(map(set_of, wanted))
        }
        return {name: prefixes(bits[set_of(name)], length_of(name)) for name in wanted}

    def _in_dictionary(self, name: str, texts: Sequence[str]) -> list[str | None]:
        """The values of an attribute that reads a dictionary, None for nothing."""
        if self._dictionary is None:
            return [None] * len(texts)
        return self._dictionary.find(column_of(name), texts)

    def _forget_types(self) -> None:
        self._slots = empty_slots(CACHED_TYPES)
        self._values = np.zeros((0, len(self._type_names)), dtype=np.uint64)
        self._whitespace = np.zeros(0, dtype=np.int64)
        self._number_of_types = 0

    def _types(self, orths: Keys, doc_starts: Ints, docs: Sequence[Doc]) -> tuple[Keys, Ints]:
        """The type attributes of tokens with these orths, and their indices of SPACES.

        The cache is keyed by the orth, a hash of the text, and stores no strings: it remains valid
        after a memory zone.
        """
        orths = np.ascontiguousarray(orths)
        types = np.empty(len(orths), dtype=np.int64)
        with self._lock:
            if find_payloads(self._slots, orths, types):
                new, first = np.unique(orths[types < 0], return_index=True)
                if self._number_of_types + len(new) > CACHED_TYPES:
                    self._forget_types()
                    new, first = np.unique(orths, return_index=True)
                    indices = first
                else:
                    indices = np.flatnonzero(types < 0)[first]
                self._remember(new, indices, doc_starts, docs)
                find_payloads(self._slots, orths, types)
            return self._values.take(types, axis=0), self._whitespace.take(types)

    def _remember(self, orths: Keys, indices: Ints, doc_starts: Ints, docs: Sequence[Doc]) -> None:
        owners = np.searchsorted(doc_starts, indices, side="right") - 1
        texts = [
            docs[d].vocab.strings[orth]
            for orth, d in zip(orths.tolist(), owners.tolist(), strict=True)
        ]
        values = np.zeros((len(texts), self._values.shape[1]), dtype=np.uint64)
        clusters = self._cluster_values(self._type_names, texts)
        for j, name in enumerate(self._type_names):
            if is_dictionary_attribute(name):
                values[:, j] = _hashes(self._in_dictionary(name, texts))
            else:
                values[:, j] = clusters[name] if name in clusters else type_values(name, texts)
        whitespace = np.array([_whitespace(text) for text in texts], dtype=np.int64)
        first = self._number_of_types
        if len(orths) > CACHED_TYPES:
            self._slots = empty_slots(len(orths))
        self._number_of_types = first + len(orths)
        if self._number_of_types > len(self._values):
            room = 2 * self._number_of_types
            self._values = np.resize(self._values, (room, values.shape[1]))
            self._whitespace = np.resize(self._whitespace, room)
        self._values[first : self._number_of_types] = values
        self._whitespace[first : self._number_of_types] = whitespace
        insert_all(self._slots, orths, np.arange(first, self._number_of_types, dtype=np.uint64))


def _whitespace(text: str) -> int:
    """The index of SPACES of a whitespace token, by the number of line breaks; 0 for a word."""
    if not text.isspace():
        return 0
    return _WHITESPACE_TOKEN + min(count_line_breaks(text), 2)


def count_line_breaks(text: str) -> int:
    """The number of line breaks in a text."""
    return len(f"{text}.".splitlines()) - 1


def type_values(name: str, texts: Iterable[str]) -> Keys:
    """The values of a type attribute of words: uint64 [texts], 0 where one lacks it."""
    return _hashes(map(TYPE_ATTRIBUTES[name], texts))


def _hashes(values: Iterable[str | None]) -> Keys:
    """The hashes of values: uint64 [values], 0 for None."""
    hashes = [0 if value is None else hash_word(value) for value in values]
    return np.array(hashes, dtype=np.uint64)


def words_of(nlp: Language, name: str, texts: Iterable[str]) -> list[Keys]:
    """The values by which gazetteers match the words of each text: uint64 [words].

    name: one of ``gazetteers.MATCHED``. The words of the texts are taken for lemmas if that is
    "lemma". Adds nothing to the vocabulary.
    """
    words = []
    is_in_zone: bool = nlp.vocab.in_memory_zone  # type: ignore[attr-defined]
    with nullcontext() if is_in_zone else nlp.vocab.memory_zone():
        for text in texts:
            tokens = [token for token in nlp.tokenizer(text) if not token.is_space]
            if name in TYPE_ATTRIBUTES:
                values = type_values(name, [token.text for token in tokens])
            else:
                hashes = [token.norm if name == "norm" else token.orth for token in tokens]
                values = np.array(hashes, dtype=np.uint64)
            words.append(values)
    return words


def features_of(morphology: str) -> dict[str, str]:
    """The values of morphological features, such as those of Case=Acc|Number=Sing, by name."""
    pairs = (part.partition("=") for part in morphology.split("|"))
    return {name: value for name, equals, value in pairs if equals}


def _extension_value(token: Token, name: str) -> int:
    value = read_extension(token, name, f"{_EXTENSION}{name}")
    return 0 if value is None else hash_word(str(value))


def scatter_to_tokens(values: np.ndarray, tokens: TokenTable, *, fill: float) -> np.ndarray:
    """Values of the words of a batch scattered over all tokens; ``fill`` at whitespace."""
    if len(values) == tokens.doc_starts[-1]:
        return values
    shape = (int(tokens.doc_starts[-1]), *values.shape[1:])
    scattered = np.full(shape, fill, dtype=values.dtype)
    scattered[tokens.positions] = values
    return scattered
