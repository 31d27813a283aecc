"""Tests of ``spacy_ssvm/tokenizer/model.py``."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from character_texts import chunks_of, drawn_texts, read
from hypothesis import given, settings

from spacy_ssvm import storage
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.tokenizer.characters import CHARACTERS, CharacterTable
from spacy_ssvm.tokenizer.columns import score_nodes
from spacy_ssvm.tokenizer.model import TokenizerModel
from spacy_ssvm.tokenizer.nodes import (
    INNER,
    LABELS,
    NOTHING_CERTAIN,
    STARTS,
    find_nodes,
    find_patterns,
    learn_contexts,
    restrict,
)
from spacy_ssvm.tokenizer.norms import make_norms
from spacy_ssvm.tokenizer.special_cases import make_special_case
from spacy_ssvm.tokenizer.templates import parse_character_templates
from spacy_ssvm.tokenizer.tokens import find_tokens
from spacy_ssvm.tokenizer.training import GoldText, learn
from spacy_ssvm.weights.hash_table import number_keys

pytestmark = pytest.mark.uncompiled

GOLD = [
    GoldText("Ab a1. A", np.array([0, 3, 5, 7]), np.array([0, 7])),
    GoldText("a. b. Ab", np.array([0, 1, 3, 4, 6]), np.array([0, 3, 6])),
    GoldText("b. a1.A b,", np.array([0, 1, 3, 5, 6, 8, 9]), np.array([0, 3, 6])),
]
TEMPLATES = ["char[-1]+char[0]", "char[0]+char[1]", "chunk[-1]+space[0]", "shape[0]+left[0]"]


def trained(templates: list[str], **cases: list[str]) -> TokenizerModel:
    model = TokenizerModel(parse_character_templates(templates))
    special = {chunk: make_special_case(chunk, tokens) for chunk, tokens in cases.items()}
    model.know(model.learned, model.certain, special, make_norms({("a", "."): ("A", ".")}))
    learn(model, GOLD, DualCoordinateDescent(C=1.0), 8)
    return model


MODEL = trained(TEMPLATES)


@pytest.fixture(scope="module", params=[TEMPLATES, ["tokenizer"]], ids=["four", "family"])
def model(request: pytest.FixtureRequest) -> TokenizerModel:
    return trained(request.param)


def same(one: tuple, other: tuple) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@given(drawn_texts)
@settings(max_examples=15)
def test_one_kernel_finds_what_the_model_of_a_chain_finds(texts: list[str]) -> None:
    found = MODEL.read_texts(texts)
    labels = MODEL.label(found.table, found.constraints)
    expected = find_tokens(
        found.codes,
        found.text_starts,
        found.chunks,
        MODEL.prepared().decoder.known,
        found.nodes,
        labels,
    )
    tokens, _ = MODEL.segment(texts)
    assert same(tokens, expected)
    each = [MODEL.segment([text])[0] for text in texts]
    assert np.concatenate([t.is_sentence for t in each]).tolist() == tokens.is_sentence.tolist()


def test_the_labels_are_the_best_of_all(model: TokenizerModel) -> None:
    texts = model.read_texts(["ab. 1A"])
    table, constraints = texts.table, texts.constraints
    emissions = model.emissions(table, 0, constraints)
    transitions = model.label_pairs
    sets = restrict(texts.chunks, texts.nodes)

    def score(y: tuple[int, ...]) -> float:
        if any(s == STARTS and k == INNER for s, k in zip(sets, y, strict=True)):
            return -np.inf
        steps = sum(transitions[a, b] for a, b in pairwise(y))
        ends = transitions[3, y[0]] + transitions[4, y[-1]]
        return float(emissions[np.arange(len(y)), y].sum() + steps + ends)

    best = max(product(range(3), repeat=len(emissions)), key=score)
    assert tuple(model.label(table, constraints)) == best
    assert np.isfinite(score(best))


@given(drawn_texts)
@settings(max_examples=15)
def test_nodes_have_the_scores_of_the_model_of_a_chain(texts: list[str]) -> None:
    read = MODEL.read_texts(texts)
    tables = CHARACTERS.classes, read.chunks, read.nodes, MODEL.learned
    found = score_nodes(read.codes, *tables, MODEL._features, len(LABELS))
    table, constraints = read.table, read.constraints
    expected = [MODEL.emissions(table, text, constraints) for text in range(len(texts))]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)


def test_certain_contexts_have_no_nodes() -> None:
    model = trained(TEMPLATES)
    before = len(model.read_texts(["zz. zz"]).nodes.positions)
    codes, _, classes, chunks = read(["zz. zz"])
    nodes = find_nodes(
        codes,
        classes,
        chunks,
        find_patterns(chunks, model.prepared().decoder.known),
        NOTHING_CERTAIN,
    )
    labels = np.full(len(nodes.positions), INNER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_ssvm.tokenizer.nodes._LEAST_CHARACTERS", 1)
        certain = learn_contexts(codes, classes, chunks, nodes, labels)
    model.know(model.learned, number_keys(certain), {}, model.norms)
    assert before == 4
    assert len(model.read_texts(["zz. zz"]).nodes.positions) == 1  # where a sentence may begin
    tokens, _ = model.segment(["zz. zz"])
    assert tokens.starts.tolist() == [0, 4]


def test_features_do_not_know_special_cases() -> None:
    """What is not the chunk itself is cut as without them."""
    model = TokenizerModel(()).from_bytes(MODEL.to_bytes())
    before = model.read_texts(["zq.zqzq"]).table.attributes
    case = {"zq": make_special_case("zq", ["z", "q"])}
    model.know(model.learned, model.certain, case, model.norms)
    assert np.array_equal(model.read_texts(["zq.zqzq"]).table.attributes, before)


def test_special_cases_and_norms_come_with_the_model() -> None:
    model = trained(TEMPLATES, xyz=["x", "yz"])
    for loaded in (
        TokenizerModel(()).from_bytes(model.to_bytes()),
        pickle.loads(pickle.dumps(model)),
    ):
        tokens, norms = loaded.segment(["xyz a. Ab"])
        assert tokens.starts.tolist() == [0, 1, 4, 5, 7]
        assert norms == {2: "A"}
        assert loaded.to_bytes() == model.to_bytes()


def test_the_same_texts_make_the_same_model() -> None:
    assert trained(TEMPLATES).to_bytes() == MODEL.to_bytes()


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("labels", ["token", "sentence", "inside"], "the labels are not inside, token, sentence"),
        ("special_cases", {"ab": [["a"], ["a"]]}, "the special case 'ab'"),
        ("special_cases", {"a b": [["a", " b"], ["a", "b"]]}, "has whitespace"),
        ("norms", [["a"]], "not lists of pieces and words"),
        ("templates", ["tag[0]"], "does not read"),
    ],
)
def test_damaged_headers_are_refused(part: str, value: object, message: str) -> None:
    header = MODEL.header() | {part: value}
    with pytest.raises(ValueError, match=message):
        MODEL.read(header, MODEL.arrays())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("contexts", np.ones((2, 2), dtype=np.uint64), "the contexts are no list"),
        ("contexts", np.ones(2, dtype=np.uint64), "the contexts are not different"),
        ("cuts", np.zeros(0, dtype=np.uint16), "do not fit the chunks"),
    ],
)
def test_damaged_arrays_are_refused(name: str, value: np.ndarray, message: str) -> None:
    arrays = MODEL.arrays() | {name: value}
    with pytest.raises(ValueError, match=message):
        MODEL.read(MODEL.header(), arrays)


def test_what_is_saved_has_the_types_that_it_says() -> None:
    arrays, types = MODEL.arrays(), MODEL.types
    assert {name: array.dtype.type for name, array in arrays.items()} == dict(types)
    with pytest.raises(storage.ModelFileError, match="lacks 'contexts'"):
        TokenizerModel(()).from_bytes(
            storage.to_bytes(
                MODEL.kind,
                {"model": MODEL.header()},
                {name: array for name, array in arrays.items() if name != "contexts"},
            )
        )


@given(drawn_texts)
def test_without_weights_chunks_are_tokens(texts: list[str]) -> None:
    tokens, _ = TokenizerModel(parse_character_templates(TEMPLATES)).segment(texts)
    joined = "".join(texts)
    found = [joined[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]
    assert [token for token in found if not token.isspace()] == chunks_of(texts)
    assert tokens.is_sentence.sum() == sum(1 for text in texts if text)


def test_characters_that_were_never_met_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_ssvm.tokenizer.model.CHARACTERS", CharacterTable())
    model = TokenizerModel(parse_character_templates(TEMPLATES))
    for texts in (["ab c"], ["", "\u2003x"], [], [""], ["ab c"]):
        tokens, _ = model.segment(texts)
        joined = "".join(texts)
        found = [joined[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]
        assert [token for token in found if not token.isspace()] == chunks_of(texts)
        assert len(tokens.text_tokens) == len(texts) + 1
