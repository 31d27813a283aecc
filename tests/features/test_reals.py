"""Tests of ``spacy_ssvm/features/reals.py``."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from corpora import make_doc
from pipelines import PARSER, TAGGER, copy_of
from planted_chains import selection
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm.features.attributes import AttributeReader
from spacy_ssvm.features.reals import (
    MEAN_SQUARE,
    Scale,
    measure_scales,
    read_reals,
    read_scales,
    real_features,
    real_keys,
)
from spacy_ssvm.features.templates import Template, TemplateError, parse_templates

WORDS = ["dog", "cat", "barks", "sleeps"]


def with_vectors(vocab: Vocab, width: int = 3, words: list[str] = WORDS) -> Vocab:
    random = np.random.default_rng(0)
    for word in words:
        vocab.set_vector(word, random.normal(size=width).astype(np.float32))
    return vocab


@pytest.fixture
def score() -> Iterator[str]:
    Token.set_extension("score", default=None)
    yield "score"
    Token.remove_extension("score")


def test_vectors_are_those_of_words_and_0_for_unknown_ones() -> None:
    vocab = with_vectors(Vocab())
    vocab.vectors.add("hound", row=vocab.vectors.find(key="dog"))  # shares a row
    doc = Doc(vocab, words=["dog", "unseen", "hound", "dog", "sleeps", "Dog"])
    values = read_reals("vector", doc)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, [token.vector for token in doc])
    assert not values[[1, 5]].any()
    assert values[0].any()


def test_vectors_of_subwords() -> None:
    vocab = Vocab()
    table = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    vocab.vectors = Vectors(
        strings=vocab.strings, data=table, mode="floret", minn=2, maxn=3, hash_count=2
    )
    doc = Doc(vocab, words=["dog", "dogs", "dog", "unseen"])
    values = read_reals("vector", doc)
    np.testing.assert_allclose(values, [token.vector for token in doc], rtol=1e-6)
    assert values[3].any()


def test_numbers_of_extensions(score: str) -> None:
    doc = Doc(Vocab(), words=["a", "b", "c"])
    assert read_reals(f"real._.{score}", doc).shape == (3, 0)
    doc[0]._.score, doc[2]._.score = 2, np.float32(-0.5)
    assert read_reals(f"real._.{score}", doc).tolist() == [[2], [0], [-0.5]]
    doc[0]._.score, doc[2]._.score = [1, 2.5], np.array([0.0, 4.0])
    assert read_reals(f"real._.{score}", doc).tolist() == [[1, 2.5], [0, 0], [0, 4]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["x", 1.0, None], r"'_.score' of token 0, 'a', is 'x', not a number or a list"),
        ([None, {"x": 1}, None], r"'_.score' of token 1, 'b', is {'x': 1}, not a number"),
        ([1.0, [1.0, 2.0], None], "has 1 numbers for one token and 2 for another"),
        ([1.0, float("nan"), None], "is not finite at token 1, 'b'"),
        ([[0.0] * 20_000, None, None], "of at most 16,384 numbers"),
    ],
)
def test_other_values_of_extensions_are_refused(score: str, values: Any, message: str) -> None:
    doc = Doc(Vocab(), words=["a", "b", "c"])
    for token, value in zip(doc, values, strict=True):
        token._.set(score, value)
    with pytest.raises(ValueError, match=message):
        read_reals(f"real._.{score}", doc)


def test_an_extension_that_is_not_registered() -> None:
    with pytest.raises(ValueError, match=r"Token.set_extension\('nothing', ...\)"):
        read_reals("real._.nothing", Doc(Vocab(), words=["a"]))


def test_docs_need_a_tensor_and_the_same_width() -> None:
    vocab = Vocab()
    reader = AttributeReader(["tensor"])
    docs = [Doc(vocab, words=["a", "b"]), Doc(vocab), Doc(vocab, words=["c"])]
    with pytest.raises(ValueError, match=r"the Doc 'a b' has no tensor .*annotating_components"):
        reader.read(docs)
    docs[0].tensor = np.ones((2, 4), dtype=np.float32)
    docs[2].tensor = np.ones((1, 3), dtype=np.float32)
    with pytest.raises(ValueError, match=r"the Doc 'c': 'tensor' has 3 dim.* another .* 4"):
        reader.read(docs)
    docs[2].tensor = np.full((1, 4), 2, dtype=np.float32)
    assert reader.read(docs).reals["tensor"].tolist() == [[1] * 4, [1] * 4, [2] * 4]
    docs[2].tensor = np.ones(4, dtype=np.float32)
    with pytest.raises(ValueError, match="has no tensor for its tokens"):
        reader.read(docs)


def test_words_without_whitespace_have_values() -> None:
    doc = Doc(Vocab(), words=["a", "\n", "b"])
    doc.tensor = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert AttributeReader(["tensor", "lower"]).read([doc]).reals["tensor"].tolist() == [
        [0, 1],
        [4, 5],
    ]


def test_inputs_tell_other_values_apart_but_are_no_attributes(score: str) -> None:
    doc = Doc(Vocab(), words=["a", "b"])
    doc.tensor = np.ones((2, 2), dtype=np.float32)
    reader = AttributeReader(["tensor", "lower", "tag", f"real._.{score}"])
    before = reader.inputs(doc)
    assert before.shape == (2, reader.number_of_inputs)
    np.testing.assert_array_equal(before, reader.inputs(doc))
    doc.tensor[1, 1] = 1.5
    changed = reader.inputs(doc)
    assert (before != changed).any()
    doc[0]._.score = 3
    assert (changed != reader.inputs(doc)).any()
    table = reader.read([doc], inputs=[changed])
    np.testing.assert_array_equal(table.attributes, reader.read([doc]).attributes)
    assert table.attributes.shape == (2, 2) == (2, len(reader.names))


def test_features_are_scaled_and_end_with_the_sentence() -> None:
    random = np.random.default_rng(1)
    values = {
        "vector": random.normal(size=(7, 2)).astype(np.float32),
        "real._.x": random.normal(size=(7, 1)).astype(np.float32),
    }
    templates = [Template.parse(text) for text in ("vector[-1]", "real._.x[2]", "vector[0]")]
    scales = {"vector": Scale(2, 0.5), "real._.x": Scale(1, 3.0)}
    starts = np.array([0, 3, 3, 6, 7])
    found = real_features(templates, scales, values, starts)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    expected = []
    for first, end in pairwise(starts.tolist()):
        for t in range(first, end):
            row: list[float] = []
            for name, offset in (("vector", -1), ("real._.x", 2), ("vector", 0)):
                inside = first <= t + offset < end
                scale = scales[name].factor if inside else 0
                row += [scale * x for x in values[name][t + offset if inside else t]]
            expected.append(row)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    keys, numbers = real_keys(templates, 7, scales)
    assert numbers.tolist() == [7, 7, 8, 9, 9]
    assert len(set(keys.tolist())) == 5


def test_features_of_words_without_values_are_0_and_of_another_width_refused() -> None:
    templates, scales = [Template.parse("vector[0]")], {"vector": Scale(2, 1.0)}
    starts = np.array([0, 3])
    nothing = {"vector": np.zeros((3, 0), dtype=np.float32)}
    assert real_features(templates, scales, nothing, starts).tolist() == [[0, 0]] * 3
    wrong = {"vector": np.zeros((3, 4), dtype=np.float32)}
    with pytest.raises(ValueError, match=r"'vector' has 4 dimensions, but .* was trained on 2"):
        real_features(templates, scales, wrong, starts)


def test_scales_make_the_mean_squared_norm() -> None:
    values = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    values[::5] = 0  # unknown words do not count
    scale = measure_scales({"vector": values})["vector"]
    assert scale.width == 4
    norms = ((scale.factor * values[values.any(axis=1)].astype(float)) ** 2).sum(axis=1)
    assert norms.mean() == pytest.approx(MEAN_SQUARE)
    with pytest.raises(ValueError, match="no word of the examples has a value of 'vector'"):
        measure_scales({"vector": np.zeros((3, 4), dtype=np.float32)})


@pytest.mark.parametrize(
    "saved",
    [
        None,
        [],
        {"vector": 3},
        {"vector": [3]},
        {"vector": [3.0, 1.0]},
        {"vector": [0, 1.0]},
        {"vector": [2**15, 1.0]},
        {"vector": [3, 0.0]},
        {"vector": [3, -1.0]},
        {"vector": [3, float("inf")]},
        {"vector": [3, float("nan")]},
        {"vector": [True, 1.0]},
    ],
)
def test_bad_scales_are_refused(saved: Any) -> None:
    with pytest.raises(ValueError, match="scale"):
        read_scales(saved)


def test_templates_have_one_real_attribute() -> None:
    def parse(text: str) -> tuple[Template, ...]:
        return parse_templates([text], is_attribute=lambda name: name == "lower", attributes=())

    assert list(map(str, parse("ngrams(vector, 1, 1)"))) == ["vector[-1]", "vector[0]", "vector[1]"]
    for text in ("vector[0]+lower[0]", "ngrams(tensor, 2, 1)", "lower[0]+real._.x[0]"):
        with pytest.raises(TemplateError, match="has real values, which cannot be joined"):
            parse(text)
    with pytest.raises(TemplateError, match=r"no attribute 'real._.'"):
        parse("real._.[0]")
    with pytest.raises(ConfigValidationError, match="no attribute 'vector'"):
        PARSER.pipeline(templates=["head.vector"])


# A tag that only the tensor tells: positive or negative in the first of three numbers.


def tensor_examples(vocab: Vocab, seed: int = 0, sentences: int = 30) -> list[Example]:
    random = np.random.default_rng(seed)
    examples = []
    for _ in range(sentences):
        words = random.choice(WORDS, size=random.integers(1, 6)).tolist()
        predicted = Doc(vocab, words=words)
        predicted.tensor = 5 * random.normal(size=(len(words), 3)).astype(np.float32)
        tags = np.where(predicted.tensor[:, 0] > 0, "UP", "DOWN").tolist()
        examples.append(Example(predicted, make_doc(vocab, words, tags=tags)))
    return examples


def tensor_tagger(**config: Any) -> tuple[Language, list[Example]]:
    nlp = TAGGER.pipeline(**{"templates": ["tensor[0]", "tensor[1]", "lower[0]"], **config})
    examples = tensor_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    return nlp, examples


def docs_of(examples: list[Example]) -> list[Doc]:
    return [example.predicted.copy() for example in examples]


def with_tensors_times(factor: float, examples: list[Example]) -> list[Example]:
    """The same examples, whose tensors are multiplied by a factor."""
    docs = docs_of(examples)
    for doc in docs:
        doc.tensor = factor * doc.tensor
    return [Example(doc, e.reference) for doc, e in zip(docs, examples, strict=True)]


def accuracy(nlp: Language, examples: list[Example]) -> float:
    docs = nlp.get_pipe("ssvm_tagger").pipe(docs_of(examples))  # type: ignore[attr-defined]
    pairs = [
        (token.tag_, gold.tag_)
        for doc, example in zip(docs, examples, strict=True)
        for token, gold in zip(doc, example.reference, strict=True)
    ]
    return sum(found == gold for found, gold in pairs) / len(pairs)


CANDIDATES = {"candidates": True}  # a lattice instead of a chain
KINDS = pytest.mark.parametrize("config", [{}, CANDIDATES], ids=["chain", "lattice"])


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"min_count": 4},
        {"hash_bits": 12},
        CANDIDATES,
        {**CANDIDATES, "min_count": 4},
        {**CANDIDATES, "hash_bits": 12},
    ],
    ids=str,
)
def test_what_only_real_values_tell_is_learned_and_saved(config: dict[str, Any]) -> None:
    nlp, _ = tensor_tagger(**config)
    new = tensor_examples(nlp.vocab, seed=1)
    assert accuracy(nlp, new) > 0.95
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    assert list(map(str, tagger.model.templates)) == ["lower[0]", "tensor[0]", "tensor[1]"]
    loaded = copy_of(nlp)
    copied: Any = loaded.get_pipe("ssvm_tagger")
    assert copied.model.scales == tagger.model.scales
    for doc, other in zip(docs_of(new), docs_of(new), strict=True):
        np.testing.assert_array_equal(tagger.scores(doc), copied.scores(other))
    shares = {share.template: share.share for share in tagger.model.template_shares()}
    assert max(shares, key=shares.__getitem__) == "tensor[0]"


@KINDS
def test_reasons_add_up_to_the_margin(config: dict[str, Any]) -> None:
    nlp, examples = tensor_tagger(**config)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    for doc in docs_of(examples)[:5]:
        for token, margin in zip(doc, tagger.scores(doc), strict=True):
            explanation = tagger.explain(doc, token)
            total = sum(reason.difference for reason in explanation.reasons)
            assert total == pytest.approx(margin, abs=1e-6)
            (reason,) = [r for r in explanation.reasons if r.template == "tensor[0]"]
            norm = np.linalg.norm(tagger.model.scales["tensor"].factor * doc.tensor[token.i])
            assert reason.value == f"3 numbers of norm {norm:.2f}"
            assert reason.difference > 0


@KINDS
def test_sequences_of_whole_docs_are_divided_with_their_values(config: dict[str, Any]) -> None:
    """The words at both sides of a boundary are learned from in two of them."""
    nlp = TAGGER.pipeline(templates=["tensor[0]", "lower[0]"], whole_docs=True, **config)
    random, examples = np.random.default_rng(0), tensor_examples(nlp.vocab)
    for example in examples:
        for token in example.reference:
            token.is_sent_start = token.i == 0 or bool(random.random() < 0.4)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    trainer = nlp.get_pipe("ssvm_tagger")._trainer  # type: ignore[attr-defined]
    assert trainer.problem.number_of_tokens > sum(len(e.predicted) for e in examples) + 20
    assert accuracy(nlp, tensor_examples(nlp.vocab, seed=1)) > 0.95


def test_scores_of_some_candidates_among_many_labels() -> None:
    """The weights of others are not added."""
    nlp = TAGGER.pipeline(templates=["tensor[0]", "lower[0]"], candidates=True)
    random, examples = np.random.default_rng(0), []
    for word in [f"word{i}" for i in range(70)] * 20:  # often enough to have no other tags
        predicted = Doc(nlp.vocab, words=[word])
        predicted.tensor = random.normal(size=(1, 3)).astype(np.float32)
        tag = f"{word}-{'up' if predicted.tensor[0, 0] > 0 else 'down'}"
        examples.append(Example(predicted, make_doc(nlp.vocab, [word], tags=[tag])))
    nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples)
    assert accuracy(nlp, examples) > 0.95
    model = nlp.get_pipe("ssvm_tagger").model  # type: ignore[attr-defined]
    assert model.number_of_columns > 130
    for doc in docs_of(examples)[:20]:
        tokens = model.reader.read([doc])
        candidates, found = model.sentence(tokens, 0)
        assert len(found) <= 3
        (m,) = (m for m, template in enumerate(model.templates) if template.is_real)
        expected = model.real_part(tokens, 0, 0, m)[1]
        row = model.row_of(tokens, 0, 0, 0)
        expected += np.array(model.weights_of(row, range(model.number_of_columns)))
        np.testing.assert_allclose(found, expected[candidates.labels], rtol=1e-6)


@KINDS
def test_training_goes_on_from_saved_weights_and_their_scale(config: dict[str, Any]) -> None:
    nlp, examples = tensor_tagger(**config)
    loaded = copy_of(nlp)
    tagger: Any = loaded.get_pipe("ssvm_tagger")
    before = dict(tagger.model.scales)
    loaded.resume_training()
    loaded.update(with_tensors_times(4, examples))
    assert tagger.model.scales == before
    assert accuracy(loaded, examples) > 0.95


@KINDS
def test_an_update_that_is_refused_leaves_training_as_it_was(config: dict[str, Any]) -> None:
    nlp, examples = tensor_tagger(**config)
    others = with_tensors_times(1, examples)
    trainer = nlp.get_pipe("ssvm_tagger")._trainer  # type: ignore[attr-defined]
    for example in others[3:]:
        example.predicted.tensor = np.ones((len(example.predicted), 5), dtype=np.float32)
    for refused in (others[3:], others[-1:]):
        with pytest.raises(ValueError, match="'tensor' has 5 dimensions"):
            nlp.update(refused)
        for _ in range(3):
            nlp.update(examples)
        removed = sum(map(len, trainer._removed))
        assert trainer.problem.number_of_examples - removed == len(examples)
        assert accuracy(nlp, examples) > 0.9


@KINDS
@pytest.mark.parametrize("hash_bits", [None, 12])
def test_a_model_that_has_met_no_values_is_saved(
    config: dict[str, Any], hash_bits: int | None
) -> None:
    nlp = TAGGER.pipeline(templates=["lower[0]", "tensor[0]"], hash_bits=hash_bits, **config)
    examples = tensor_examples(nlp.vocab)
    for example in examples:
        example.predicted.tensor *= 0
    nlp.initialize(lambda: examples)
    with pytest.warns(UserWarning, match="Real values are not learned before"):
        nlp.update(examples)
    loaded = copy_of(nlp)
    assert loaded.get_pipe("ssvm_tagger").model.scales == {}  # type: ignore[attr-defined]
    doc = examples[0].predicted
    explanation = nlp.get_pipe("ssvm_tagger").explain(doc, 0)  # type: ignore[attr-defined]
    assert [reason.template for reason in explanation.reasons].count("tensor[0]") == 0


@KINDS
def test_probabilities_and_the_objective_of_real_values(config: dict[str, Any]) -> None:
    solver = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1"}
    nlp, examples = tensor_tagger(solver=solver, **config)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    for doc in docs_of(examples)[:5]:
        np.testing.assert_allclose(tagger.marginals(doc).sum(axis=1), 1.0)
    expected = tagger.objective(examples)
    found = copy_of(nlp).get_pipe("ssvm_tagger").objective(examples)  # type: ignore[attr-defined]
    assert found.primal == pytest.approx(expected.primal, rel=0.01)


@KINDS
def test_examples_leave_with_their_values(config: dict[str, Any]) -> None:
    """Where training is bounded in memory, weights of real values stay."""
    nlp = TAGGER.pipeline(templates=["tensor[0]", "orth[0]"], memory=1, **config)
    first = tensor_examples(nlp.vocab)
    nlp.initialize(lambda: first)
    for seed in range(60):
        nlp.update(tensor_examples(nlp.vocab, seed, sentences=100))
    problem = nlp.get_pipe("ssvm_tagger")._trainer.problem  # type: ignore[attr-defined]
    assert problem.number_of_examples < 60 * 100
    assert len(problem.examples().features.reals) == problem.number_of_tokens
    assert accuracy(nlp, tensor_examples(nlp.vocab, seed=99)) > 0.95
    assert accuracy(copy_of(nlp), tensor_examples(nlp.vocab, seed=99)) > 0.95


@KINDS
def test_a_doc_whose_values_have_changed_is_another_example(config: dict[str, Any]) -> None:
    nlp, examples = tensor_tagger(**config)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    number = tagger._trainer.problem.number_of_examples
    nlp.update(examples)
    assert tagger._trainer.problem.number_of_examples == number
    flipped = [
        Example(doc, e.reference) for doc, e in zip(docs_of(examples), examples, strict=True)
    ]
    for example in flipped:
        example.predicted.tensor = -example.predicted.tensor
    for _ in range(10):
        nlp.update(flipped)
    assert accuracy(nlp, flipped) > 0.95
    assert accuracy(nlp, examples) < 0.5


@KINDS
def test_another_width_is_refused_and_nothing_is_written(config: dict[str, Any]) -> None:
    nlp, examples = tensor_tagger(**config)
    doc = examples[0].predicted.copy()
    doc.tensor = np.ones((len(doc), 5), dtype=np.float32)
    with pytest.raises(ValueError, match=r"'tensor' has 5 dimensions, .* trained on 3"):
        nlp.get_pipe("ssvm_tagger")(doc)  # type: ignore[operator]
    assert not doc.has_annotation("TAG")


@pytest.mark.slow
@KINDS
def test_selection_keeps_what_tells_the_label(config: dict[str, Any]) -> None:
    for method in ("group-lasso", "lasso", "information-gain"):
        nlp = TAGGER.pipeline(
            templates=["lower[0]", "shape[0]", "tensor[1]", "tensor[0]", "lower[-1]"],
            selection=selection(budget=1, method=method),
            **config,
        )
        examples = tensor_examples(nlp.vocab)
        nlp.initialize(lambda examples=examples: examples)
        tagger: Any = nlp.get_pipe("ssvm_tagger")
        assert tagger.selected.texts == ["tensor[0]"], method


def test_a_pipeline_without_vectors() -> None:
    nlp = TAGGER.pipeline(templates=["vector[0]"])
    examples = TAGGER.examples(nlp.vocab)
    message = r"'vector\[0\]' needs word vectors\. Set vectors"
    with pytest.raises(ConfigValidationError, match=message):
        nlp.initialize(lambda: examples)
    with_vectors(nlp.vocab, words=[token.text for e in examples for token in e.reference])
    nlp.get_pipe("ssvm_tagger").initialize(lambda: examples, nlp=nlp)  # type: ignore[attr-defined]
    for _ in range(20):
        nlp.update(examples)
    nlp.vocab.reset_vectors()
    with pytest.raises(ValueError, match="the pipeline has none: use those that it was trained"):
        nlp("The dog")


def test_empty_docs_and_batches(score: str) -> None:
    nlp = TAGGER.pipeline(templates=[f"real._.{score}[0]", "lower[0]"])
    examples = TAGGER.examples(nlp.vocab)
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    nlp.initialize(lambda: [*examples, empty])
    nlp.update([empty])
    for example in examples:
        for token in example.predicted:
            token._.score = float(len(token.text))
    nlp.update([empty, *examples])
    assert nlp.get_pipe("ssvm_tagger").model.scales == {}  # type: ignore[attr-defined]
    list(nlp.pipe(["", "The dog barks."]))  # no token has a score
    scales = nlp.get_pipe("ssvm_tagger").model.scales  # type: ignore[attr-defined]
    assert scales[f"real._.{score}"].width == 1


def test_values_that_come_later(score: str) -> None:
    nlp = TAGGER.pipeline(templates=[f"real._.{score}[0]", f"real._.{score}[1]", "orth[0]"])
    examples = tensor_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    with pytest.warns(UserWarning, match=r"'real\._\.score', or all are 0\. Real values are not"):
        nlp.update(examples[:10])
    for example in examples:
        for token, row in zip(example.predicted, example.predicted.tensor, strict=True):
            token._.score = row.tolist()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    nlp.update(examples[10:])  # the others are still there, without values
    reals = tagger._trainer.problem.examples().features.reals
    assert not reals[: sum(len(example.predicted) for example in examples[:10])].any()
    for _ in range(10):
        nlp.update(examples)
    docs = [example.predicted for example in examples]
    right = [
        token.tag_ == gold.tag_
        for doc, example in zip(tagger.pipe(docs), examples, strict=True)
        for token, gold in zip(doc, example.reference, strict=True)
    ]
    assert np.mean(right) > 0.95
