"""Cached sums against the scores without a cache."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.chains.inference import Scorer, predict_sentences, score_sentence
from spacy_ssvm.decoders.chain import prune
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.extraction import compile_templates, fill_group_keys
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.labelings import cached_sums
from spacy_ssvm.labelings.cached_sums import CachedSums, nothing_cached

pytestmark = pytest.mark.uncompiled

#: Templates that see one word, at several offsets; an attribute that many words lack; windows of
#: shapes and of tags; and words together.
OF_TYPES = ["lower[0]", "suffix2[-1]", "digits[-2]", "lower[2]", "case[1]", "shape[0]+lower[0]"]
OF_WINDOWS = [
    *("shape[-1]+shape[0]", "shape[0]+shape[1]+shape[2]", "shape[-3]+space_before[-1]"),
    *("pos[0]", "pos[3]", "pos[-1]+pos[0]", "pos[1]+case[1]", "pos[-2]+pos[-1]+pos[0]"),
]
OF_THE_REST = [
    *("lower[-1]+lower[0]", "length_class[0]+lower[1]", "pos[-1]+pos[2]", "pos[0]+shape[1]"),
    "pos[0]+pos[1]+case[2]",
]
TEMPLATES = [*OF_TYPES, *OF_WINDOWS, *OF_THE_REST]
ANY = {"is_attribute": is_attribute, "attributes": ATTRIBUTES}
WORDS = ["a", "An", "ant", "42", "eats", ".", "new", "NEWER", " "]
LABELS = ["X", "Y", "Z"]

texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7), min_size=1, max_size=6)


def docs_of(nlp: Any, sentences: list[list[str]]) -> list[Doc]:
    """Docs of two sentences each."""
    docs = []
    for i in range(0, len(sentences), 2):
        words = [word for sentence in sentences[i : i + 2] for word in sentence]
        starts = [t in (0, len(sentences[i])) for t in range(len(words))]
        pos = ["NOUN" if len(word) > 2 else "" for word in words]
        docs.append(Doc(nlp.vocab, words=words, pos=pos, sent_starts=starts))
    return docs


@pytest.fixture(scope="module")
def nlp() -> Any:
    """A pipeline with a tagger that was trained on random tags."""
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("ssvm_tagger", config={"templates": TEMPLATES, "min_count": 1})
    random = np.random.default_rng(0)
    examples = []
    for _ in range(60):
        words = random.choice(WORDS[:-1], size=random.integers(1, 8)).tolist()
        tags = random.choice(LABELS, size=len(words)).tolist()
        predicted = docs_of(nlp, [words])[0]
        examples.append(Example(predicted, Doc(nlp.vocab, words=words, tags=tags)))
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    list(tagger.pipe([examples[0].predicted.copy()]))  # the model gets the weights
    return nlp


def plain_scorer(model: Any, tokens: Any) -> Scorer:
    """The scorer without a cache."""
    cached = nothing_cached(len(tokens.attributes))
    return Scorer(model._features, *cached, *no_reals(model, tokens), model.label_pairs)


def no_reals(model: Any, tokens: Any) -> tuple[Any, Any]:
    """The values and weights of real-valued features, where there are none."""
    values = np.zeros((len(tokens.attributes), 0), dtype=np.float32)
    return values, np.zeros((0, len(model.labels)))


def plain_labels(model: Any, tokens: Any) -> list[int]:
    y = np.empty(len(tokens.positions), dtype=np.int64)
    constraints = model.constrain_words(tokens, None)
    predict_sentences(
        plain_scorer(model, tokens),
        prune(model.label_pairs),
        tokens.attributes,
        tokens.sentence_starts,
        constraints,
        y,
        np.empty(0),
    )
    return y.tolist()


def find(cache: CachedSums, tokens: Any) -> Any:
    return cache.find(tokens.group_keys, tokens.attributes, tokens.sentence_starts)


def cache_of(model: Any) -> CachedSums:
    """A new cache of the model."""
    groups = model.reader.column_groups, model.reader.windows
    return CachedSums(model._features, len(model.labels), *groups)


def size_of_keys(cache: CachedSums) -> int:
    """The numbers that a key of each group takes."""
    return int(cache._sizes.sum())


def same_scores(model: Any, cache: CachedSums, tokens: Any) -> None:
    """Compare the scores of all words; the types of the words must fit."""
    found = find(cache, tokens)
    assert found is not None
    constraints = model.constrain_words(tokens, None)
    for start, end in zip(tokens.sentence_starts[:-1], tokens.sentence_starts[1:], strict=True):
        arguments = tokens.attributes, constraints, int(start), int(end)
        expected = score_sentence(plain_scorer(model, tokens), *arguments)
        scorer = Scorer(cache.uncached, *found, *no_reals(model, tokens), model.label_pairs)
        scores = score_sentence(scorer, *arguments)
        np.testing.assert_allclose(scores, expected, atol=1e-12)


@given(texts)
def test_scores_and_labels_are_those_without_a_cache(nlp: Any, sentences: Any) -> None:
    model = nlp.get_pipe("ssvm_tagger").model
    tokens = model.reader.read(docs_of(nlp, sentences))
    assert model._for_labels().cache is not None
    same_scores(model, model._for_labels().cache, tokens)
    assert model.label(tokens).tolist() == plain_labels(model, tokens)


def test_templates_that_see_a_type_or_a_window_are_summed(nlp: Any) -> None:
    model = nlp.get_pipe("ssvm_tagger").model
    cache = model._for_labels().cache
    rest = {parse_templates([text], **ANY)[0] for text in OF_THE_REST}
    seeds = compile_templates(sorted(rest, key=str), model.reader.names).seeds
    assert sorted(cache.uncached.templates.seeds) == sorted(seeds)
    assert cache._widths.tolist() == [1, 3, 2, 3]
    assert cache._offsets == [[-2, -1, 0, 1, 2], [-3, -1, 0], [-1, 0, 1, 3], [-2]]


@pytest.mark.parametrize("room", [14, 17])
def test_a_cache_that_is_full_starts_again(
    nlp: Any, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """Also while others still use what they were given."""
    model = nlp.get_pipe("ssvm_tagger").model
    size = size_of_keys(cache_of(model))
    monkeypatch.setattr(cached_sums, "_MAX_BYTES", 8 * room * size)
    cache = cache_of(model)
    batches = [
        model.reader.read(docs_of(nlp, [[f"{word}{i}" for word in WORDS[:5]]])) for i in range(5)
    ]
    cached, _ = find(cache, batches[0])
    used = cache._size
    before, has_started_again = cached.sums[:used].copy(), False
    for tokens in [*batches, batches[0]] * 3:
        same_scores(model, cache, tokens)
        assert cache._size <= room * size
        has_started_again |= cache._cached.sums is not cached.sums
    assert has_started_again
    np.testing.assert_array_equal(cached.sums[:used], before)
    many = model.reader.read(docs_of(nlp, [[f"w{i}" for i in range(10 * room)]]))
    assert find(cache, many) is None
    same_scores(model, cache, batches[1])


def test_types_that_do_not_fit_are_labelled_without_the_cache(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nlp.get_pipe("ssvm_tagger").model
    monkeypatch.setattr(model._for_labels().cache, "_room", 2)
    monkeypatch.setattr(model._for_labels().cache, "_cached", None)
    tokens = model.reader.read(docs_of(nlp, [[f"ant{i}" for i in range(9)]]))
    assert model.label(tokens).tolist() == plain_labels(model, tokens)


def test_a_cache_with_little_room_is_not_used(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = nlp.get_pipe("ssvm_tagger").model
    monkeypatch.setattr(cached_sums, "_MAX_BYTES", 1000)
    assert not cache_of(model).is_useful
    monkeypatch.undo()
    assert cache_of(model).is_useful
    assert not CachedSums(model._features, len(model.labels), []).is_useful


def test_hashed_features_have_no_cache() -> None:
    nlp = spacy.blank("en")
    config = {"templates": TEMPLATES, "min_count": 1, "hash_bits": 8}
    tagger: Any = nlp.add_pipe("ssvm_tagger", config=config)
    example = Example.from_dict(nlp.make_doc("an ant"), {"tags": ["X", "Y"]})
    nlp.initialize(lambda: [example])
    nlp.update([example])
    nlp(nlp.make_doc("an ant"))
    assert tagger.model._for_labels().cache is None


def test_new_weights_and_labels_have_a_new_cache() -> None:
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("ssvm_tagger", config={"templates": TEMPLATES, "min_count": 1})
    examples = [
        Example.from_dict(nlp.make_doc("an ant eats"), {"tags": tags})
        for tags in (["X", "Y", "Z"], ["Z", "Y", "X"])
    ]
    nlp.initialize(lambda: examples)
    for example in examples:
        for _ in range(9):
            nlp.update([example])
        doc = nlp(nlp.make_doc("an ant eats"))
        tokens = tagger.model.reader.read([doc])
        same_scores(tagger.model, tagger.model._for_labels().cache, tokens)
        assert [token.tag_ for token in doc] == [token.tag_ for token in example.reference]
    tagger.model.add_labels(["NEW"])
    assert tagger.model._for_labels().cache._K == 4
    same_scores(tagger.model, tagger.model._for_labels().cache, tokens)


def test_threads_share_a_cache(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small one, which starts again and again."""
    model = nlp.get_pipe("ssvm_tagger").model
    monkeypatch.setattr(cached_sums, "_MAX_BYTES", 8 * 60 * size_of_keys(cache_of(model)))
    cache = cache_of(model)
    batches = [
        model.reader.read(docs_of(nlp, [[f"{word}{i % 7}" for word in WORDS[:5]]]))
        for i in range(200)
    ]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda tokens: same_scores(model, cache, tokens), batches))


@given(texts)
def test_groups_share_a_cache(nlp: Any, sentences: Any) -> None:
    """A template belongs to the first group that sees all of its columns."""
    model = nlp.get_pipe("ssvm_tagger").model
    tokens = model.reader.read(docs_of(nlp, sentences))
    names = model.reader.names
    groups = [[names.index("lower"), names.index("shape")], [names.index("pos")], [0, 1, 2]]
    keys = np.empty((len(tokens.positions), 3), dtype=np.uint64)
    columns = np.array([column for group in groups for column in group])
    fill_group_keys(columns, np.array([0, 2, 3, 6]), tokens.attributes, keys)
    cache = CachedSums(model._features, len(model.labels), groups)
    assert len(cache.uncached.templates.seeds) < len(TEMPLATES) - 4
    for _ in range(2):
        same_scores(model, cache, tokens._replace(group_keys=keys))
    used = keys[:, cache._given]
    assert cache._size >= sum(
        size * len(np.unique(used[:, g])) for g, size in enumerate(cache._sizes.tolist())
    )


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=12))
def test_keys_are_equal_where_columns_are(rows: list[list[int]]) -> None:
    attributes = np.array(rows, dtype=np.uint64)
    groups = [[0], [2], [1, 2], [2, 1, 3], []]
    keys = np.empty((len(rows), len(groups)), dtype=np.uint64)
    columns = np.array([column for group in groups for column in group])
    starts = np.cumsum([0, *map(len, groups)])
    fill_group_keys(columns, starts, attributes, keys)
    held = [
        [(g, *attributes[t, group].tolist()) for g, group in enumerate(groups)]
        for t in range(len(rows))
    ]
    distinct = {
        key: what
        for row, of in zip(keys.tolist(), held, strict=True)
        for key, what in zip(row, of, strict=True)
    }
    assert len(distinct) == len({what for row in held for what in row})
    assert 0 not in distinct
    assert [[distinct[key] for key in row] for row in keys.tolist()] == held
