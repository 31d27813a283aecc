"""Tests of ``spacy_ssvm/lattices/candidates.py``."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from model_fuzz import spoil_array
from naive import TYPE_ATTRIBUTES
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import AttributeReader
from spacy_ssvm.features.dictionaries import Entry, make_dictionary
from spacy_ssvm.features.edit_scripts import edit_script
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.features.text_hash import hash_word
from spacy_ssvm.kernels.types import Ints
from spacy_ssvm.lattices.candidates import (
    ANNOTATION,
    ARRAYS,
    ATTRIBUTES,
    ENTRY_FEATURES,
    LEMMAS,
    RULES,
    CandidateTable,
    Rules,
    WordKeys,
    all_labels,
    collect_candidates,
    find_candidates,
    read_table,
    saved_table,
    word_keys,
)
from spacy_ssvm.lattices.labels import FEATURES, WHOLE
from spacy_ssvm.weights.hash_table import empty_slots, insert_all

pytestmark = pytest.mark.uncompiled

VOCAB = spacy.blank("en").vocab

#: Words with labels, -1 for none.
Corpus = Sequence[tuple[str, int]]

#: Limits that small corpora reach.
LOW = Rules(rare=3, frequent=8, min_types=2, min_shared=2, share=0.4)


def keys_of(words: Sequence[str]) -> WordKeys:
    reader = AttributeReader(ATTRIBUTES)
    attributes = reader.read([Doc(VOCAB, words=list(words))]).attributes
    return word_keys(attributes, reader.names, ENTRY_FEATURES)


def collected(
    corpus: Corpus, K: int, *, batches: int = 1, rules: Rules = RULES[FEATURES]
) -> CandidateTable:
    """The candidates of a corpus that comes in batches."""
    parts = [corpus[i::batches] for i in range(batches)]
    return collect_candidates(
        [
            (keys_of([word for word, _ in part]), np.array([k for _, k in part], dtype=np.int64))
            for part in parts
            if part
        ],
        K,
        rules,
    )


def labels_in(table: CandidateTable, words: Sequence[str], K: int) -> list[list[int]]:
    """The candidates of words without annotation."""
    gold, views = np.zeros((len(words), 0), np.int64), np.zeros((K, 0), np.int64)
    (starts, labels), agrees = find_candidates(table, keys_of(words), gold, views, adds=False)
    assert agrees.all()
    return [labels[a:b].tolist() for a, b in pairwise(starts)]


# --- An obvious twin of what is collected -----------------------------------------------


def endings_of(text: str) -> list[tuple[str, ...]]:
    """The endings of a word, the longest first, each with the form of the word."""
    form = TYPE_ATTRIBUTES["case_class"](text), TYPE_ATTRIBUTES["digit_class"](text)
    return [(*form, text.lower()[-n:] if n else "") for n in range(5, -1, -1) if len(text) >= n]


class NaiveCandidates:
    """The candidates of words as the documentation of the module describes them."""

    def __init__(self, corpus: Corpus, K: int, rules: Rules) -> None:
        self.rules = rules
        self.counts: dict[str, Counter[int]] = defaultdict(Counter)
        for word, label in corpus:
            if label >= 0:
                self.counts[word][label] += 1
        self.K = K
        self.rare = [w for w, own in self.counts.items() if own.total() <= rules.rare]
        self.of_rare = {label for word in self.rare for label in self.counts[word]}

    def by_ending(self, word: str) -> set[int]:
        """The labels of rare words with the longest ending that enough of them have."""
        for ending in endings_of(word):
            same = [other for other in self.rare if ending in endings_of(other)]
            if len(same) >= self.rules.min_types:
                return {label for other in same for label in self.counts[other]}
        return self.of_rare or set(range(self.K))

    def near(self, label: int) -> set[int]:
        """The labels that many words with a label have, too."""
        having = [own for own in self.counts.values() if label in own]
        shared = Counter(other for own in having for other in own if other != label)
        least = max(self.rules.min_shared, self.rules.share * len(having))
        return {other for other, number in shared.items() if number >= least}

    def of_seen(self, word: str) -> set[int]:
        own = self.counts[word]
        found = set(own)
        if own.total() <= self.rules.frequent:
            found.update(*map(self.near, own))
        return found | self.by_ending(word) if word in self.rare else found

    def of(self, word: str) -> set[int]:
        if not self.counts:
            return set(range(self.K))
        if word in self.counts:
            return self.of_seen(word)
        lower = word.lower()
        return self.by_ending(word) | (self.of_seen(lower) if lower in self.counts else set())


def random_corpus(random: Random, letters: str, K: int) -> list[tuple[str, int]]:
    """Words of few letters, some of them frequent, with few labels each."""
    words = ["".join(random.choices(letters, k=random.choice([1, 2, 3, 7]))) for _ in range(40)]
    choices = {word: random.sample(range(K), random.choice([1, 1, 2, 3])) for word in words}
    numbers = [int(40 / (1 + i)) + 1 for i in range(len(words))]
    drawn = random.choices(words, numbers, k=random.choice([1, 10, 60, 200]))
    unknown = random.choice([0, 0, 0.3, 1])
    return [(w, -1 if random.random() < unknown else random.choice(choices[w])) for w in drawn]


@pytest.mark.parametrize("letters", ["ab", "abAB", "aA1-", "ıiİIσςΣ", "aぁ猫😀"])  # noqa: RUF001
@pytest.mark.parametrize("seed", range(8))
def test_candidates_are_those_of_the_naive_twin(letters: str, seed: int) -> None:
    random, K = Random(seed), 9
    corpus = random_corpus(random, letters, K)
    naive = NaiveCandidates(corpus, K, LOW)
    table = collected(corpus, K, batches=random.choice([1, 3]), rules=LOW)
    words = sorted({word for word, _ in corpus})
    words += ["".join(random.choices(letters, k=random.randint(1, 8))) for _ in range(60)]
    found = labels_in(table, words, K)
    for word, labels in zip(words, found, strict=True):
        assert len(set(labels)) == len(labels), f"the labels of {word} are different"
        assert set(labels) == naive.of(word), word


@pytest.mark.parametrize("seed", range(3))
def test_the_naive_twin_agrees_with_the_limits_of_the_module(seed: int) -> None:
    random, K = Random(seed), 12
    words = [
        "".join(random.choices("abcd", k=5)) + random.choice(["ing", "ed"]) for _ in range(400)
    ]
    labels = {word: [len(word) % 3, 3 + (word[-1] == "d")] for word in words}
    corpus = [(word, random.choice(labels[word])) for word in words for _ in range(2)]
    corpus += [("the", 5)] * 1001 + [("the", 6)] + [("that", 6)] * 500 + [("that", 5)] * 400
    rules = RULES[FEATURES]
    naive, table = NaiveCandidates(corpus, K, rules), collected(corpus, K, batches=2)
    asked = [*words[:50], "the", "that", "unknowning", "Unknowning", "fed", "x", "The", "THAT"]
    for word, found in zip(asked, labels_in(table, asked, K), strict=True):
        assert set(found) == naive.of(word), word


@pytest.mark.parametrize(("times", "labels"), [(8, {0, 1}), (9, {0})])
def test_a_very_frequent_word_has_only_its_own_labels(times: int, labels: set[int]) -> None:
    """Others have those that several words with such a label have, too."""
    shared = [(word, label) for word in ("cut", "put") for label in (0, 1) for _ in range(3)]
    (found,) = labels_in(collected([*shared, *[("hit", 0)] * times], 3, rules=LOW), ["hit"], 3)
    assert set(found) == labels


@pytest.mark.parametrize("seed", range(10))
def test_a_word_that_was_seen_has_the_labels_it_was_seen_with(seed: int) -> None:
    corpus = random_corpus(Random(seed), "abAB", 7)
    table = collected(corpus, 7, rules=LOW)
    words = [word for word, label in corpus if label >= 0]
    labels = [label for _, label in corpus if label >= 0]
    for label, found in zip(labels, labels_in(table, words, 7), strict=True):
        assert label in found


def test_an_unknown_word_has_the_labels_of_the_longest_known_ending() -> None:
    corpus = [("running", 0), ("cunning", 0), ("king", 1), ("ring", 1), ("ran", 2), ("man", 2)]
    table = collected(corpus, 4, rules=LOW)
    asked = ["stunning", "sing", "fan", "xyz"]
    assert [set(found) for found in labels_in(table, asked, 4)] == [{0}, {0, 1}, {2}, {0, 1, 2}]


def test_endings_are_those_of_words_of_the_same_case() -> None:
    corpus = [("going", 0), ("doing", 0), ("Beijing", 1), ("Nanjing", 1), ("A1ing", 2)]
    table = collected(corpus, 4, rules=LOW)
    found = labels_in(table, ["rowing", "Boring"], 4)
    assert [set(labels) for labels in found] == [{0}, {1}]


def test_an_unknown_word_has_the_labels_of_its_lower_case_form() -> None:
    corpus = [("dog", 0)] * 20 + [("Ann", 1), ("Bob", 1), ("öl", 2)] + [("öl", 2)] * 20
    table = collected(corpus, 4, rules=LOW)
    asked = ["dog", "Dog", "DOG", "Cat", "Öl"]
    found = [set(labels) for labels in labels_in(table, asked, 4)]
    assert found == [{0}, {0, 1}, {0, 1}, {1}, {1, 2}]


def test_a_corpus_without_labels_gives_all_labels() -> None:
    words = ["a", "Ab", "1"]
    for table in (
        collect_candidates([], 5, RULES[FEATURES]),
        collected([], 5),
        collected([(word, -1) for word in words], 5),
        all_labels(5),
    ):
        assert labels_in(table, [*words, "猫"], 5) == [list(range(5))] * 4


def test_a_corpus_of_frequent_words_gives_all_labels_to_others() -> None:
    table = collected([("the", 1)] * 50, 3)
    assert labels_in(table, ["the", "cat"], 3) == [[1], [0, 1, 2]]


def test_batches_of_a_corpus_count_together() -> None:
    corpus = [(f"w{i % 50}", i % 7) for i in range(900)]
    one, many = collected(corpus, 7), collected(corpus, 7, batches=4)
    words = [f"w{i}" for i in range(60)]
    assert [*map(set, labels_in(one, words, 7))] == [*map(set, labels_in(many, words, 7))]


def test_the_order_of_a_corpus_makes_no_difference_to_candidates() -> None:
    corpus = random_corpus(Random(1), "abc", 7)
    words = [*sorted({word for word, _ in corpus}), "zzz", "Abc"]
    tables = [collected(corpus, 7), collected(corpus[::-1], 7)]
    one, other = ([*map(sorted, labels_in(table, words, 7))] for table in tables)
    assert one == other


def assert_equal(one: CandidateTable, other: CandidateTable) -> None:
    """The same lists of the same keys, in slots that are as many."""
    for slots, others in ((one.words, other.words), (one.endings, other.endings)):
        assert len(slots) == len(others)
        assert sorted(slots.tolist()) == sorted(others.tolist())
    assert one.starts.tolist() == other.starts.tolist()
    assert one.labels.tolist() == other.labels.tolist()


def test_a_collected_table_can_be_saved() -> None:
    for seed in range(5):
        table = collected(random_corpus(Random(seed), "abc", 300), 300)
        arrays = saved_table(table)
        assert {name: array.dtype for name, array in arrays.items()} == ARRAYS
        assert_equal(read_table(arrays, 300), table)


# --- Candidates by annotation -----------------------------------------------------------

#: A word, its tag and its part of speech, "" for none.
Tagged = tuple[str, str, str]

#: Those of labels without parts, with limits that small corpora reach.
BY_ANNOTATION = RULES[WHOLE]._replace(rare=3, min_types=2)


def tagged_keys(words: Sequence[Tagged], given: Sequence[str]) -> WordKeys:
    reader = AttributeReader({*ATTRIBUTES, *ANNOTATION})
    texts, tags, parts_of_speech = map(list, zip(*words, strict=True))
    doc = Doc(VOCAB, words=texts, tags=tags, pos=parts_of_speech)
    return word_keys(reader.read([doc]).attributes, reader.names, LEMMAS, given)


def learned_by_annotation(corpus: Sequence[tuple[Tagged, int]], K: int) -> CandidateTable:
    labels = np.array([label for _, label in corpus], dtype=np.int64)
    keys = tagged_keys([word for word, _ in corpus], ANNOTATION)
    return collect_candidates([(keys, labels)], K, BY_ANNOTATION)


def labels_by_annotation(
    table: CandidateTable, words: Sequence[Tagged], given: Sequence[str], as_new: bool
) -> list[set[int]]:
    gold, views = np.zeros((len(words), 0), np.int64), np.zeros((9, 0), np.int64)
    keys = tagged_keys(words, given)
    (starts, labels), _ = find_candidates(table, keys, gold, views, adds=False, as_new=as_new)
    found = [labels[a:b].tolist() for a, b in pairwise(starts)]
    assert all(len(set(own)) == len(own) for own in found)
    return [*map(set, found)]


#: The place of the empty ending with annotation in the keys of endings.
_WITH_ANNOTATION = 5


def test_values_of_different_features_are_different_annotation() -> None:
    """Yes of Poss is not Yes of Reflex."""
    given = ("morph.Poss", "morph.Reflex")
    doc = Doc(VOCAB, words=["its"] * 4, morphs=["Poss=Yes", "Reflex=Yes", "Poss=Yes", ""])
    reader = AttributeReader({*ATTRIBUTES, *given})
    keys = word_keys(reader.read([doc]).attributes, reader.names, LEMMAS, given)
    poss, reflex, again, none = keys.words[:, 0].tolist()
    assert poss == again
    assert len({poss, reflex, none}) == 3
    context = keys.endings[:, _WITH_ANNOTATION].tolist()
    assert context[0] == context[2]
    assert len({*context}) == 3


class NaiveByAnnotation:
    """The candidates of words with annotation as the documentation describes them."""

    def __init__(self, corpus: Sequence[tuple[Tagged, int]]) -> None:
        self.counts: dict[Tagged, Counter[int]] = defaultdict(Counter)
        for word, label in corpus:
            if label >= 0:
                self.counts[word][label] += 1
        self.rare = [w for w, own in self.counts.items() if own.total() <= BY_ANNOTATION.rare]
        forms = defaultdict(set)
        for word in self.rare:
            for label in self.counts[word]:
                forms[label].add(word[0])
        self.of_several = {label for label, own in forms.items() if len(own) >= 2}
        totals = sum((self.counts[word] for word in self.rare), Counter[int]())
        self.default = {min(totals, key=lambda label: (-totals[label], label))} if totals else set()

    def by_ending(self, word: Tagged) -> set[int]:
        endings = endings_of(word[0])
        for annotation in (word[1:], None):
            for ending in endings:
                same = [
                    other
                    for other in self.rare
                    if ending in endings_of(other[0]) and annotation in (None, other[1:])
                ]
                found = {label for other in same for label in self.counts[other]}
                if len(same) >= BY_ANNOTATION.min_types and found & self.of_several:
                    return found & self.of_several
        return self.default or set(range(9))

    def of(self, word: Tagged, as_new: bool) -> set[int]:
        own = set(self.counts[word]) if word in self.counts else set()
        if own and not as_new:
            return own
        lower = word[0].lower(), *word[1:]
        for other, labels in self.counts.items():
            if other[0] == word[0] or other == lower:
                own |= set(labels)
        return own | self.by_ending(word)


@pytest.mark.parametrize("as_new", [False, True], ids=["known", "as new"])
@pytest.mark.parametrize("letters", ["ab", "abAB", "aA1-", "ıiİIσςΣ"])  # noqa: RUF001
@pytest.mark.parametrize("seed", range(5))
def test_candidates_by_annotation_are_those_of_the_naive_twin(
    seed: int, letters: str, as_new: bool
) -> None:
    random = Random(seed)
    tags = [("X", ""), ("Y", "NOUN"), ("Y", "VERB"), ("", "NOUN"), ("", "")]
    words = [
        ("".join(random.choices(letters, k=random.choice([1, 2, 3, 6]))), *random.choice(tags))
        for _ in range(60)
    ]
    corpus = [(word, random.choice([-1, len(word[0]) % 3, *range(9)])) for word in words * 2]
    table, naive = learned_by_annotation(corpus, 9), NaiveByAnnotation(corpus)
    asked = [*words, *((word, *random.choice(tags)) for word, *_ in words)]
    asked += [
        ("".join(random.choices(letters, k=random.randint(1, 8))), *random.choice(tags))
        for _ in range(60)
    ]
    found = labels_by_annotation(table, asked, ANNOTATION, as_new)
    for word, labels in zip(asked, found, strict=True):
        assert labels == naive.of(word, as_new), word


def test_annotation_that_words_lack_makes_no_difference() -> None:
    words = [("dogs", "NNS", ""), ("Dogs", "", ""), ("1", "CD", "")]
    one, other = tagged_keys(words, ["tag"]), tagged_keys(words, ["tag", "pos", "morph"])
    for keys, same in zip(one, other, strict=True):
        assert np.array_equal(keys, same)
    without = tagged_keys(words, ["pos", "morph"])
    assert without.words[1, 0] == one.words[1, 0], "it has no tag"
    assert without.words[0, 0] != one.words[0, 0]


def test_words_whose_annotation_was_not_learned_have_the_labels_of_the_word() -> None:
    corpus = [(("saw", "NN", ""), 0), (("saw", "VBD", ""), 1), (("see", "VB", ""), 2)]
    table = learned_by_annotation(corpus, 9)
    asked = [("saw", "NN", ""), ("saw", "VBD", ""), ("saw", "JJ", ""), ("saw", "", "")]
    found = labels_by_annotation(table, asked, ANNOTATION, False)
    assert found[:2] == [{0}, {1}]
    for labels in (*found[2:], *labels_by_annotation(table, asked, [], False)):
        assert labels >= {0, 1}


def test_labels_that_only_one_word_has_are_left_to_it() -> None:
    corpus = [(("mice", "NNS", ""), 0), (("dice", "NNS", ""), 1), (("rice", "NNS", ""), 1)]
    table = learned_by_annotation(corpus, 9)
    asked = [("lice", "NNS", ""), ("mice", "NNS", ""), ("mice", "VB", "")]
    assert labels_by_annotation(table, asked, ANNOTATION, False) == [{1}, {0}, {0, 1}]


@pytest.mark.parametrize("given", [ANNOTATION, []])
@pytest.mark.parametrize("as_new", [False, True], ids=["known", "as new"])
def test_words_have_the_label_of_their_lemma_in_a_dictionary(
    given: Sequence[str], as_new: bool
) -> None:
    """But those that were seen with their annotation, unless they are to be like new ones."""
    entries = [("mice", "mouse"), ("rats", "rat")]
    entries += [
        (word, lemma) for word in ("dogq", "pigx", "henz", "ratk") for lemma in (word[:3], word)
    ]
    dictionary = make_dictionary(Entry(hash_word(word), lemma) for word, lemma in entries)
    reader = AttributeReader({*ATTRIBUTES, *ANNOTATION, LEMMAS}, Resources(dictionary=dictionary))
    scripts = [str(edit_script(word, lemma)) for word, lemma in entries[:2]]
    values = np.array([*map(hash_word, scripts), 5, 6], dtype=np.uint64)

    def keys(words: Sequence[Tagged]) -> WordKeys:
        texts, tags, parts_of_speech = map(list, zip(*words, strict=True))
        doc = Doc(VOCAB, words=texts, tags=tags, pos=parts_of_speech)
        return word_keys(reader.read([doc]).attributes, reader.names, LEMMAS, given)

    of_words = {"cats": 1, "bats": 1, "catq": 1, "batq": 1, "mice": 2}
    of_words |= {"pigx": 0, "henz": 0, "ratk": 3}
    corpus = keys([(word, "NNS", "") for word in of_words])
    of_corpus = np.array([*of_words.values()])
    table = collect_candidates([(corpus, of_corpus)], 4, BY_ANNOTATION, values)
    asked: list[Tagged] = [
        ("mice", "NNS", ""),
        ("mice", "VB", ""),
        ("Mice", "", ""),
        ("rats", "NNS", ""),
        ("dogq", "NNS", ""),  # with two lemmas, as pigx, henz and ratk; it ends as catq
        ("frogs", "NNS", ""),
    ]
    gold, views = np.zeros((len(asked), 0), np.int64), np.zeros((4, 0), np.int64)
    (starts, labels), _ = find_candidates(
        table, keys(asked), gold, views, adds=False, as_new=as_new
    )
    found = [{*labels[a:b].tolist()} for a, b in pairwise(starts)]
    own = {0, 1, 2} if as_new else {2}
    with_other_tag, capitalized = ({0, 1, 2}, {0, 1}) if given else (own, {0, 1, 2})
    assert found == [own, with_other_tag, capitalized, {1}, {0, 1}, {1}]


@pytest.mark.parametrize("entry", [ENTRY_FEATURES, "not read"])
def test_words_have_the_labels_of_words_with_their_features_in_a_dictionary(entry: str) -> None:
    """But those that were seen often; and only labels that several such words have."""
    entries = {"axq": "N;SG", "bxr": "N;SG", "cxs": "N;SG", "dxt": "N;SG", "exu": "N;PL"}
    entries |= {"new": "N;SG", "odd": "ADV"}
    dictionary = make_dictionary(
        Entry(hash_word(word), word, features) for word, features in entries.items()
    )
    reader = AttributeReader({*ATTRIBUTES, ENTRY_FEATURES}, Resources(dictionary=dictionary))

    def keys(words: Sequence[str]) -> WordKeys:
        attributes = reader.read([Doc(VOCAB, words=list(words))]).attributes
        return word_keys(attributes, reader.names, entry)

    corpus = [("axq", 0), ("axq", 1), ("bxr", 0), ("cxs", 1), ("cxs", 2), ("exu", 3)]
    corpus += [("dxt", 4)] * 4 + [("fxv", 5)] * 4
    labels = np.array([label for _, label in corpus])
    rules = LOW._replace(most=1, min_shared=9, min_types=9)  # unknown words have label 0
    batch = keys([word for word, _ in corpus]), labels
    table = collect_candidates([batch], 6, rules)
    asked = ["new", "bxr", "axq", "dxt", "fxv", "odd", "exu"]
    gold, views = np.zeros((len(asked), 0), np.int64), np.zeros((6, 0), np.int64)
    (starts, found), _ = find_candidates(table, keys(asked), gold, views, adds=False)
    of_words = [{*found[a:b].tolist()} for a, b in pairwise(starts)]
    default, shared = {0}, {0, 1} if entry == ENTRY_FEATURES else set()
    expected = [default | shared, default | shared, {0, 1}, {4}, {5}, default, default | {3}]
    assert of_words == expected


# --- Candidates and annotation ----------------------------------------------------------


def lists_table(words: Sequence[str], lists: Sequence[Sequence[int]]) -> CandidateTable:
    """A table that gives list i + 1 to word i, and list 0 to others."""
    slots = empty_slots(len(words))
    numbers = np.arange(1, len(words) + 1, dtype=np.uint64)
    insert_all(slots, np.ascontiguousarray(keys_of(words).words[:, 0]), numbers)
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    labels = np.array([label for own in lists for label in own], dtype=np.uint16)
    return CandidateTable(slots, empty_slots(0), starts, labels)


def naive_find(
    lists: list[list[int]], gold: Ints, views: Ints, adds: bool
) -> list[tuple[set[int], set[int]]]:
    """The candidates of each word, and those that agree with its annotation."""

    def agree(values: Ints, labels: Any) -> set[int]:
        return {
            label
            for label in labels
            if all(v in (-1, w) for v, w in zip(values, views[label], strict=True))
        }

    found = []
    for own, values in zip(lists, gold, strict=True):
        agreeing = agree(values, own)
        added = agree(values, range(len(views))) if adds and not agreeing else set()
        found.append(({*own} | added, agreeing or added or {*own}))
    return found


def check_found(
    table: CandidateTable, words: list[str], gold: Ints, views: Ints, adds: bool
) -> list[int]:
    """Compare with the naive twin; return the number of candidates of each word."""
    lists = labels_in(table, words, len(views))
    (starts, labels), agrees = find_candidates(table, keys_of(words), gold, views, adds=adds)
    assert starts.dtype == np.int64
    assert labels.dtype == np.int32
    assert agrees.dtype == np.bool_
    assert len(starts) == len(words) + 1
    assert starts[0] == 0
    assert starts[-1] == len(labels) == len(agrees)
    expected = naive_find(lists, gold, views, adds)
    for t, (own, agreeing) in enumerate(expected):
        inside = slice(starts[t], starts[t + 1])
        found = labels[inside].tolist()
        assert len(set(found)) == len(found), "the labels of a word are different"
        assert set(found) == own
        assert {*labels[inside][agrees[inside]].tolist()} == agreeing
    return np.diff(starts).tolist()


@given(st.integers(0, 10**6), st.booleans())
def test_candidates_that_agree_are_those_of_the_naive_twin(seed: int, adds: bool) -> None:
    random = Random(seed)
    K, width = random.choice([1, 2, 5, 30]), random.choice([0, 1, 2, 3])
    views = np.array(
        [[random.randrange(3) for _ in range(width)] for _ in range(K)], dtype=np.int64
    )
    words = [f"w{i}" for i in range(random.randrange(12))]
    lists = [sorted(random.sample(range(K), random.randint(1, K))) for _ in range(len(words) + 1)]
    table = lists_table(words, lists) if words else all_labels(K)
    asked = random.choices([*words, "other"], k=random.randrange(40))
    values = [[random.choice([-1, -1, 0, 1, 2, 7]) for _ in range(width)] for _ in asked]
    gold = np.array(values, dtype=np.int64).reshape(len(asked), width)
    check_found(table, asked, gold, views.reshape(K, width), adds)


def test_a_word_without_annotation_agrees_with_all_its_candidates() -> None:
    table = lists_table(["a"], [[0], [1, 2]])
    views = np.array([[0, 0], [1, 0], [1, 1]], dtype=np.int64)
    gold = np.full((2, 2), -1, dtype=np.int64)
    for adds in (False, True):
        (starts, labels), agrees = find_candidates(table, keys_of("ab"), gold, views, adds=adds)
        assert (starts.tolist(), labels.tolist(), agrees.all()) == ([0, 2, 3], [1, 2, 0], True)


def test_labels_are_added_only_where_no_candidate_agrees() -> None:
    table = lists_table(["a", "b"], [[0], [0, 1], [0]])
    views = np.array([[0, 5], [1, 5], [1, 6], [1, 7]], dtype=np.int64)
    words, gold = ["a", "b", "b"], np.array([[1, -1], [1, -1], [9, 9]], dtype=np.int64)
    (starts, labels), agrees = find_candidates(table, keys_of(words), gold, views, adds=True)
    assert starts.tolist() == [0, 2, 6, 7]
    assert sorted(labels[2:6].tolist()) == [0, 1, 2, 3]
    assert labels[agrees].tolist() == [1, 1, 2, 3, 0], "where nothing agrees, all candidates do"
    (starts, labels), agrees = find_candidates(table, keys_of(words), gold, views, adds=False)
    assert (starts.tolist(), labels[agrees].tolist()) == ([0, 2, 3, 4], [1, 0, 0])


@pytest.mark.parametrize("K", [3, 17, 400])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_many_added_labels_are_right(K: int, first: bool) -> None:
    """There are far more than the lists have: arrays must grow, also for words behind."""
    table = lists_table(["a"], [[0], [0]])
    views = np.array([[k > 0] for k in range(K)], dtype=np.int64)
    gold = np.array([[1]] * 40 + [[-1]] * 200 + [[0]] * 200, dtype=np.int64)
    gold = gold if first else gold[::-1].copy()
    words = ["a", "b"] * 220
    sizes = check_found(table, words, gold, views, True)
    assert sizes == [K if value == 1 else 1 for value in gold[:, 0]]


def test_no_words_have_no_candidates() -> None:
    keys, gold = keys_of([]), np.zeros((0, 2), dtype=np.int64)
    for adds in (False, True):
        views = np.zeros((3, 2), np.int64)
        (starts, labels), agrees = find_candidates(all_labels(3), keys, gold, views, adds=adds)
        assert (starts.tolist(), len(labels), len(agrees)) == ([0], 0, 0)


# --- Saved tables -----------------------------------------------------------------------

WORDS = ["a", "b", "c", "ab", "B", "猫"]
K = 6


def table_of_lists() -> CandidateTable:
    """A table with several lists, and some endings."""
    table = lists_table(WORDS[:4], [[0, 2], [1], [1, 3, 5], [0, 1, 2, 3, 4, 5], [5]])
    endings = empty_slots(2)
    keys = np.ascontiguousarray(keys_of(["xyz"]).endings[0, 2:4])
    assert keys.all(), "those of xyz and yz"
    insert_all(endings, keys, np.array([3, 1], dtype=np.uint64))
    return table._replace(endings=endings)


def saved() -> dict[str, np.ndarray]:
    """Its arrays."""
    return {name: array.copy() for name, array in saved_table(table_of_lists()).items()}


def set_values(name: str, place: Any, values: Any) -> Callable[[dict[str, np.ndarray]], None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][place] = values

    return change


def replace(name: str, make: Callable[[np.ndarray], Any]) -> Callable[..., None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = np.ascontiguousarray(make(arrays[name]), dtype=ARRAYS[name])

    return change


LABELS, STARTS = "candidate_labels", "candidate_starts"
KEYS = ["candidate_words", "candidate_endings"]
NUMBERS = ["candidate_lists", "candidate_ending_lists"]
FARTHEST = [2**63 - 1, -(2**63), -1]  # differences of such starts wrap around to positive ones

DAMAGE: dict[str, Callable[[dict[str, np.ndarray]], None]] = {
    "a label out of range": set_values(LABELS, -1, K),
    "the largest label": set_values(LABELS, 3, 2**16 - 1),
    "a repeated label": set_values(LABELS, 1, 0),
    "a repeated label in the last but one list": set_values(LABELS, 7, 0),
    "labels out of order": set_values(LABELS, slice(3, 5), [3, 1]),
    "no labels": replace(LABELS, lambda a: a[:0]),
    "too few labels": replace(LABELS, lambda a: a[:-1]),
    "too many labels": replace(LABELS, lambda a: [*a, 5]),
    "labels of two axes": replace(LABELS, lambda a: a.reshape(1, -1)),
    "labels of no axis": lambda arrays: arrays.update({LABELS: np.array(3, dtype=np.uint16)}),
    "no starts": replace(STARTS, lambda a: a[:0]),
    "one start": replace(STARTS, lambda a: a[:1]),
    "the last start alone": replace(STARTS, lambda a: a[-1:]),
    "a start that is not 0": set_values(STARTS, 0, 1),
    "a negative start": set_values(STARTS, 0, -1),
    "starts that fall": set_values(STARTS, slice(1, 3), [3, 2]),
    "a start before the first": set_values(STARTS, 1, -3),
    "a start behind the last": set_values(STARTS, 3, 2**40),
    "an empty list": set_values(STARTS, 1, 0),
    "an empty last list": replace(STARTS, lambda a: [*a, a[-1]]),
    "an end behind the labels": set_values(STARTS, -1, 100),
    "an end before the labels": set_values(STARTS, -1, 12),
    "starts of two axes": replace(STARTS, lambda a: a.reshape(-1, 1)),
    "starts of no axis": lambda arrays: arrays.update({STARTS: np.array(0, dtype=np.int64)}),
    "starts that wrap around": replace(STARTS, lambda a: [0, *FARTHEST, a[-1]]),
    **{
        f"{what}, {name}": change
        for name in NUMBERS
        for what, change in {
            "a number of no list": set_values(name, (0, 0), 5),
            "the largest number": replace(name, lambda a: np.full((len(a), 8), 255)),
            "a number that would be negative": replace(name, lambda a: [[0] * 7 + [128]] * len(a)),
        }.items()
    },
    **{
        f"{what}, {name}": change
        for name in [*KEYS, *NUMBERS]
        for what, change in {
            "none": replace(name, lambda a: a[:0]),
            "one more": replace(name, lambda a: [*a, [1] * a.shape[1]]),
            "one axis": replace(name, lambda a: a.reshape(-1)),
            "three axes": replace(name, lambda a: a.reshape(1, *a.shape)),
            "nine bytes": replace(name, lambda a: np.ones((len(a), 9))),
        }.items()
    },
    **{
        f"{what}, {name}": change
        for name in KEYS
        for what, change in {
            "keys of zero": set_values(name, 0, 0),
            "keys that repeat": set_values(name, -1, 0),
        }.items()
    },
}


def test_what_is_saved_is_read() -> None:
    arrays = saved()
    assert_equal(read_table(arrays, K), table_of_lists())
    assert read_table(saved_table(all_labels(0)), 0).starts.tolist() == [0, 0]
    with pytest.raises(ValueError, match="is no label"):
        read_table(arrays, K - 1)


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_table_is_refused(change: Callable[..., None]) -> None:
    arrays = saved()
    change(arrays)
    with pytest.raises(ValueError, match=r"\w"):
        read_table(arrays, K)


def test_lists_of_no_labels_are_refused() -> None:
    arrays = saved_table(all_labels(0))
    with pytest.raises(ValueError, match=r"\w"):
        read_table({**arrays, STARTS: np.zeros(4, dtype=np.int64)}, 0)


def test_a_table_is_damaged_in_any_way_and_read_safely() -> None:
    """It is refused, or gives each word candidates, which are different labels."""
    outcomes = Counter()
    for seed in range(1500):
        random, arrays = Random(seed), saved()
        for _ in range(random.choice([1, 1, 2])):
            name = random.choice(list(arrays))
            arrays[name] = spoil_array(arrays[name], random)
        try:
            table = read_table(arrays, K)
        except ValueError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        for labels in labels_in(table, [*WORDS, "xyz", "Ab"], K):
            assert 0 < len(labels) == len(set(labels))
            assert 0 <= min(labels) <= max(labels) < K
    assert min(outcomes["refused"], outcomes["read"]) > 100
