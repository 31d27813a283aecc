"""Tests of ``spacy_ssvm/lattices/model.py`` and ``inference.py``."""

import copy
import math
import pickle
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from model_fuzz import spoil_array, spoil_parts
from spacy.tokens import Doc
from tiny_lattices import (
    LABELS,
    VIEWS,
    VOCAB,
    by_word,
    doc_of,
    docs,
    gold,
    naive_structures,
    new_model,
    predicted,
    split,
    trained_model,
)

from spacy_ssvm import storage
from spacy_ssvm.lattices.labels import FEATURES, WHOLE
from spacy_ssvm.lattices.model import STEP_PLACES, STEPS, Annotation, LatticeModel
from spacy_ssvm.solvers.dual_coordinate_ascent import DualCoordinateAscent
from spacy_ssvm.storage import ModelFileError

pytestmark = pytest.mark.uncompiled

#: Sentences with words that are known, and words that are not.
TEXTS = [
    ["the", "fish", "walks"],
    ["They", "swim"],
    ["walk"],
    ["the", "zebra", "ends"],
    ["fish", "fish", "fish", "fish"],
]


@pytest.fixture(scope="module")
def model() -> LatticeModel:
    return trained_model()


@pytest.fixture(scope="module", params=["restricted", "free", "whole", "probable"])
def any_model(request: pytest.FixtureRequest) -> LatticeModel:
    return {
        "restricted": trained_model,
        "free": lambda: trained_model(restricted=False),
        "whole": lambda: trained_model(scheme=WHOLE),
        "probable": lambda: trained_model(DualCoordinateAscent(C=0.5)),
    }[request.param]()


def test_a_trained_model_knows_its_corpus(any_model: LatticeModel) -> None:
    found = predicted(any_model, docs())
    if any_model.scheme == FEATURES:
        assert found == gold()
    else:  # words are decided one by one
        assert [labels[0] for labels in found] == [labels[0] for labels in gold()]


def test_an_untrained_model_gives_labels_that_are_candidates() -> None:
    for labels in predicted(new_model(), docs()):
        assert set(labels) <= set(LABELS)


def test_predictions_of_words_do_not_depend_on_the_batch(any_model: LatticeModel) -> None:
    together = predicted(any_model, [doc_of(words) for words in TEXTS])
    assert together == [predicted(any_model, [doc_of(words)])[0] for words in TEXTS]
    (whole,) = predicted(any_model, [doc_of(*TEXTS)])
    assert whole == [label for labels in together for label in labels]


def test_docs_without_words_have_no_labels(model: LatticeModel) -> None:
    empty, blank = Doc(VOCAB), Doc(VOCAB, words=[" ", "\n\n"])
    for batch in ([empty], [blank], [empty, blank, empty]):
        tokens = model.reader.read(batch)
        y = model.label(tokens, None)
        assert len(y) == len(tokens.positions) == 0
        for candidates, values in (model.probabilities(tokens, 1.0), model.best_scores(tokens)):
            assert (candidates.starts.tolist(), len(values)) == ([0], 0)
    found = predicted(model, [empty, docs()[0], blank, docs()[1], empty])
    assert found == [[], gold()[0], [], gold()[1], []]


def test_the_best_structure_is_found(any_model: LatticeModel) -> None:
    for words in TEXTS:
        tokens = any_model.reader.read([doc_of(words)])
        candidates = by_word(any_model, any_model.candidates_to_choose(tokens, None))
        structures = naive_structures(any_model, tokens, candidates)
        chosen = tuple(predicted(any_model, [doc_of(words)])[0])
        best = max(score for _, score in structures)
        assert dict(structures)[chosen] == pytest.approx(best, abs=1e-6)


def test_best_scores_agree_with_enumeration(any_model: LatticeModel) -> None:
    for words in TEXTS:
        tokens = any_model.reader.read([doc_of(words)])
        candidates, scores = any_model.best_scores(tokens)
        names, found = by_word(any_model, candidates), split(scores, candidates.starts)
        structures = naive_structures(any_model, tokens, names)
        for t in range(len(words)):
            best = [max(score for y, score in structures if y[t] == name) for name in names[t]]
            assert found[t] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_probabilities_agree_with_enumeration(any_model: LatticeModel, beta: float) -> None:
    for words in TEXTS:
        tokens = any_model.reader.read([doc_of(words)])
        candidates, probabilities = any_model.probabilities(tokens, beta)
        names, found = by_word(any_model, candidates), split(probabilities, candidates.starts)
        structures = naive_structures(any_model, tokens, names)
        total = math.fsum(math.exp(beta * score) for _, score in structures)
        sums: Counter[tuple[int, str]] = Counter()
        for (y, score), t in product(structures, range(len(words))):
            sums[t, y[t]] += math.exp(beta * score) / total
        for t in range(len(words)):
            assert found[t] == pytest.approx([sums[t, name] for name in names[t]], abs=1e-5)


def test_cached_sums_of_scores_change_no_score(
    any_model: LatticeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = any_model.reader.read(docs())
    cached = any_model.scorer(tokens).features
    assert len(cached.templates.seeds) < len(any_model.templates)
    labels, scores = any_model.label(tokens, None), any_model.best_scores(tokens)[1]
    monkeypatch.setattr("spacy_ssvm.lattices.model._MOST_CACHED", 0)
    other = LatticeModel((), scheme=any_model.scheme).from_bytes(any_model.to_bytes())
    assert len(other.scorer(tokens).features.templates.seeds) == len(any_model.templates)
    np.testing.assert_array_equal(other.label(tokens, None), labels)
    np.testing.assert_allclose(other.best_scores(tokens)[1], scores, atol=1e-9)


@pytest.mark.parametrize("many", [0, 1000])
def test_scores_do_not_depend_on_how_many_parts_are_added(
    any_model: LatticeModel, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Of full rows, the weights of all parts are added, or only those of the candidates."""
    tokens = any_model.reader.read([doc_of(*TEXTS)])
    monkeypatch.setattr("spacy_ssvm.lattices.model._MOST_CACHED", 0)
    other = LatticeModel((), scheme=any_model.scheme).from_bytes(any_model.to_bytes())
    candidates, scores = other.best_scores(tokens)
    monkeypatch.setattr("spacy_ssvm.lattices.inference._FEW", 0)
    monkeypatch.setattr("spacy_ssvm.lattices.inference._MANY", many)
    again, same = other.best_scores(tokens)
    np.testing.assert_array_equal(again.labels, candidates.labels)
    np.testing.assert_array_equal(same, scores)


def test_probabilities_of_each_word_sum_to_one(any_model: LatticeModel) -> None:
    tokens = any_model.reader.read([doc_of(*TEXTS * 50)])
    for beta in (1e-9, 1.0, 1e3):
        candidates, probabilities = any_model.probabilities(tokens, beta)
        assert ((probabilities >= 0) & (probabilities <= 1 + 1e-9)).all()
        sums = np.add.reduceat(probabilities, candidates.starts[:-1])
        assert sums == pytest.approx(np.ones(len(tokens.positions)))


def test_a_word_with_one_candidate_has_probability_one(model: LatticeModel) -> None:
    tokens = model.reader.read(docs())
    candidates, probabilities = model.probabilities(tokens, 1.0)
    alone = np.flatnonzero(np.diff(candidates.starts) == 1)
    assert probabilities[candidates.starts[alone]] == pytest.approx(1)


# --- Annotation -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_labels_agree_with_annotation(any_model: LatticeModel, seed: int) -> None:
    random = Random(seed)
    tokens = any_model.reader.read([doc_of(*TEXTS * 4)])
    values = VIEWS[[random.randrange(len(LABELS)) for _ in tokens.positions]]
    hidden = np.array([[random.random() < 0.5 for _ in row] for row in values])
    values = np.where(hidden, -1, values)
    y = any_model.label(tokens, Annotation(values, VIEWS))
    assert ((values == -1) | (values == VIEWS[y])).all()


def test_whole_annotation_decides_on_the_label(model: LatticeModel) -> None:
    tokens = model.reader.read([doc_of(["the"] * len(LABELS))])
    y = model.label(tokens, Annotation(VIEWS, VIEWS))
    assert y.tolist() == list(range(len(LABELS)))


def test_annotation_that_no_label_agrees_with_is_ignored(model: LatticeModel) -> None:
    tokens = model.reader.read(docs())
    values = np.full((len(tokens.positions), 2), 99, dtype=np.int64)
    plain = model.label(tokens, None)
    assert model.label(tokens, Annotation(values, VIEWS)).tolist() == plain.tolist()
    nothing = np.full_like(values, -1)
    assert model.label(tokens, Annotation(nothing, VIEWS)).tolist() == plain.tolist()


def test_annotation_of_a_word_changes_the_labels_of_others(model: LatticeModel) -> None:
    """The best structure among those that agree is found, not the best label of each word."""
    names = list(LABELS)
    tokens = model.reader.read([doc_of(["the", "fish", "zzz"])])
    annotation = np.full((3, 2), -1, dtype=np.int64)
    found = {}
    for number in ("Sing", "Plur"):
        annotation[2] = VIEWS[names.index(f"Number={number}|POS=VERB")]
        y = model.label(tokens, Annotation(annotation, VIEWS))
        candidates = by_word(
            model, model.candidates_to_choose(tokens, Annotation(annotation, VIEWS))
        )
        structures = dict(naive_structures(model, tokens, candidates))
        chosen = tuple(names[k] for k in y)
        assert structures[chosen] == pytest.approx(max(structures.values()), abs=1e-6)
        found[number] = chosen[2]
    assert found == {number: f"Number={number}|POS=VERB" for number in found}


# --- Saving and loading -----------------------------------------------------------------


def through_bytes(model: LatticeModel) -> LatticeModel:
    return new_model(["shape[0]"], scheme=model.scheme, labels=["x"]).from_bytes(model.to_bytes())


ROUNDTRIPS = {
    "bytes": through_bytes,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("roundtrip", ROUNDTRIPS.values(), ids=ROUNDTRIPS)
def test_a_copy_predicts_the_same(any_model: LatticeModel, roundtrip: Any) -> None:
    other = roundtrip(any_model)
    assert other is not any_model
    assert other.labels == any_model.labels
    assert other.templates == any_model.templates
    assert other.scheme == any_model.scheme
    assert other.summary == any_model.summary
    batch = [doc_of(words) for words in TEXTS] + docs()
    assert predicted(other, batch) == predicted(any_model, batch)
    tokens = any_model.reader.read(batch)
    for method in ("best_scores", "probabilities"):
        arguments = (1.0,) if method == "probabilities" else ()
        candidates, values = getattr(any_model, method)(tokens, *arguments)
        others, other_values = getattr(other, method)(other.reader.read(batch), *arguments)
        assert others.starts.tolist() == candidates.starts.tolist()
        assert others.labels.tolist() == candidates.labels.tolist()
        assert other_values.tolist() == values.tolist()
    assert other.to_bytes() == any_model.to_bytes()


def test_an_untrained_model_can_be_saved() -> None:
    for model in (new_model(), new_model(labels=())):
        assert through_bytes(model).to_bytes() == model.to_bytes()


def test_labels_of_other_parts_are_refused() -> None:
    whole, features = new_model(scheme=WHOLE), new_model()
    for model, other in ((features, whole), (whole, features)):
        before = model.to_bytes()
        with pytest.raises(ModelFileError, match="other parts"):
            model.from_bytes(other.to_bytes())
        assert model.to_bytes() == before


def change(model: LatticeModel, header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """A saved model with some values replaced."""
    parts = {"model": {**model.header(), **header}}
    return storage.to_bytes(model.kind, parts, {**model.arrays(), **arrays})


HEADERS: dict[str, dict[str, Any]] = {
    "an unknown scheme": {"scheme": "letters"},
    "a scheme that is no text": {"scheme": ["features"]},
    "no scheme": {"scheme": None},
    "fewer labels": {"labels": list(LABELS[:-1])},
    "more labels": {"labels": [*LABELS, "POS=X"]},
    "repeated labels": {"labels": [*LABELS[:-1], LABELS[0]]},
    "labels that are no texts": {"labels": [*LABELS[:-1], 7]},
    "other templates": {"templates": ["lower[0]"]},
    "templates of real values": {"templates": ["lower[0]", "vector[0]", "lower[-1]", "lower[1]"]},
    "templates that are none": {"templates": ["lower[0]", "(", "lower[-1]", "lower[1]"]},
    "rows that are not hashed": {"rows_per_template": 3},
    "a wrong summary": {"summary": {"C": -1}},
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_damaged_header_is_refused(model: LatticeModel, header: dict[str, Any]) -> None:
    other = through_bytes(model)
    before = other.to_bytes()
    with pytest.raises(ModelFileError):
        other.from_bytes(change(model, header, {}))
    assert other.to_bytes() == before


def test_a_header_lacks_what_is_needed(model: LatticeModel) -> None:
    for key in model.header():
        header = {name: value for name, value in model.header().items() if name != key}
        data = storage.to_bytes(model.kind, {"model": header}, model.arrays())
        with pytest.raises(ModelFileError):
            through_bytes(model).from_bytes(data)


def test_an_array_is_missing_or_of_another_type(model: LatticeModel) -> None:
    arrays = model.arrays()
    for name in arrays:
        rest = {key: array for key, array in arrays.items() if key != name}
        wrong = {**rest, name: arrays[name].astype(bool)}
        for damaged in (rest, wrong):
            data = storage.to_bytes(model.kind, {"model": model.header()}, damaged)
            with pytest.raises(ModelFileError):
                through_bytes(model).from_bytes(data)


ARRAYS: dict[str, Any] = {
    "too few steps": (STEPS, lambda a: a[:-1]),
    "steps of two axes": (STEPS, lambda a: a[None]),
    "infinite steps": (STEPS, lambda a: np.full_like(a, np.inf)),
    "steps that are no numbers": (STEPS, lambda a: np.full_like(a, np.nan)),
    "too few places of steps": (STEP_PLACES, lambda a: a[:-1]),
    "places of two axes": (STEP_PLACES, lambda a: a[None]),
    "places before the first": (STEP_PLACES, lambda a: a - 1 - a[0]),
    "places behind the last": (STEP_PLACES, lambda a: a + 10**6),
    "places that repeat": (STEP_PLACES, lambda a: np.repeat(a[:1], len(a))),
    "places that fall": (STEP_PLACES, lambda a: a[::-1]),
    "infinite weights": ("scales", lambda a: np.full_like(a, -np.inf)),
    "rows that are cut off": ("rows", lambda a: a[:-1]),
    "rows of other sizes": ("row_sizes", lambda a: a + 1),
    "keys that repeat": ("keys", lambda a: np.ones_like(a)),
    "a candidate that is no label": ("candidate_labels", lambda a: a + len(LABELS)),
    "no candidates": ("candidate_labels", lambda a: a[:0]),
    "lists that do not fit": ("candidate_starts", lambda a: a[:-1]),
    "words of no list": ("candidate_lists", lambda a: np.full_like(a, 255)),
    "words that repeat": ("candidate_words", lambda a: np.zeros_like(a)),
    "flat keys of endings": ("candidate_endings", lambda a: a.reshape(-1)),
}


@pytest.mark.parametrize(("name", "make"), ARRAYS.values(), ids=ARRAYS)
def test_damaged_arrays_are_refused(model: LatticeModel, name: str, make: Any) -> None:
    other = through_bytes(model)
    before, array = other.to_bytes(), model.arrays()[name]
    damaged = np.ascontiguousarray(make(array).astype(array.dtype))
    with pytest.raises(ModelFileError):
        other.from_bytes(change(model, {}, {name: damaged}))
    assert other.to_bytes() == before


def test_a_model_is_damaged_in_any_way_and_refused_or_usable(model: LatticeModel) -> None:
    outcomes: Counter[str] = Counter()
    batch = [doc_of(words) for words in TEXTS]
    for seed in range(400):
        random = Random(seed)
        parts, arrays = {"model": copy.deepcopy(model.header())}, dict(model.arrays())
        if random.random() < 0.3:
            spoil_parts(parts, random)
        else:
            name = random.choice(list(arrays))
            arrays[name] = spoil_array(arrays[name], random)
        try:
            other = new_model(["shape[0]"]).from_bytes(storage.to_bytes(model.kind, parts, arrays))
        except ModelFileError:
            outcomes["refused"] += 1
            continue
        outcomes["usable"] += 1
        if not other.labels:
            continue
        found = predicted(other, batch)
        assert [len(labels) for labels in found] == [len(words) for words in TEXTS]
        other.to_bytes()
    assert min(outcomes["refused"], outcomes["usable"]) > 40


def test_labels_are_taken_apart_once(model: LatticeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as long as to annotate a thousand words."""
    monkeypatch.setattr("spacy_ssvm.lattices.model.label_system", None)
    parts = range(model.system.parts.number)
    rows = [model.weights_of(row, parts) for row in range(len(model.weights.row_starts) - 1)]
    assert np.any(rows)
    assert sum(share.rows for share in model.template_shares()) == model.number_of_rows
