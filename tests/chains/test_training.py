"""Tests of ``spacy_ssvm/chains/training.py``."""

from typing import Any

import numpy as np
import pytest
from corpora import make_doc, tagging_examples
from pipelines import TAGGER, copy_of
from spacy.language import Language
from spacy.training import Example
from tiny_taggers import STARTS, TINY, TWO, example_of, tags, train

from spacy_ssvm.weights.compact import entries_of
from spacy_ssvm.weights.key_table import keys_of


def test_a_sentence_is_an_example() -> None:
    nlp = TAGGER.pipeline()
    gold = ["DT", "JJ", "NN", "VBZ", ".", "VB", "DT", "NN", "RB", "."]
    for starts, number in [(STARTS, 2), (None, 1)]:
        reference = make_doc(nlp.vocab, TWO, tags=gold, sent_starts=STARTS)
        predicted = make_doc(nlp.vocab, TWO, sent_starts=starts)
        train(nlp, [Example(predicted, reference)], 2)
        assert TAGGER.number_of_examples(nlp) == number


def weights_of(model: Any) -> dict[Any, float]:
    """The weights of a saved model by the keys of features and labels, and by pairs of labels."""
    pairs = np.where(np.isfinite(model.label_pairs), model.label_pairs, 0.0).ravel()
    found: dict[Any, float] = dict(enumerate(pairs.tolist()))
    keys = keys_of(model.table)
    entries = entries_of(model.weights, len(model.labels))
    rows = np.repeat(np.arange(len(keys)), np.diff(entries.row_starts))
    of_features = zip(keys[rows].tolist(), entries.labels.tolist(), strict=True)
    return found | dict(zip(of_features, entries.weights.tolist(), strict=True))


def test_the_objective_is_that_of_the_rounded_weights(tiny: Language) -> None:
    """Also its regularizer: of all weights at first, then of how far they have come since."""
    nlp = copy_of(tiny)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    before: dict[Any, float] = {}
    examples = tagging_examples(nlp.vocab, TINY)
    for further in ([], [example_of(nlp, "dog/VB barks/NN")]):
        for _ in range(3 * len(further)):
            nlp.update([*examples, *further])
        tagger._sync()
        after = weights_of(tagger.model)
        changes = [after.get(key, 0.0) - before.get(key, 0.0) for key in after | before]
        assert any(changes)
        assert tagger.model.summary.regularizer == pytest.approx(np.square(changes).sum() / 2)
        before = after


def test_costs_change_the_objective(tiny: Language) -> None:
    source: Any = tiny.get_pipe("ssvm_tagger")

    def objective(costs: dict[str, dict[str, float]]) -> float:
        nlp = TAGGER.pipeline(costs=costs)
        tagger: Any = nlp.get_pipe("ssvm_tagger").from_bytes(source.to_bytes())
        return float(tagger.objective(tagging_examples(nlp.vocab, TINY)).primal)

    plain = objective({})
    assert plain == pytest.approx(source.objective(tagging_examples(tiny.vocab, TINY)).primal)
    assert objective({"NN": {"VB": 1.0}}) == plain
    assert objective({"NN": {"VB": 9.0}}) > 1.5 * plain
    free = {gold: dict.fromkeys({"DT", "NN", "VB"} - {gold}, 0.0) for gold in ("DT", "NN", "VB")}
    assert objective(free) < plain


def test_costs_change_what_is_learned() -> None:
    """Of two readings that occur equally often, the one that is dear to miss wins."""

    def learned(costs: dict[str, dict[str, float]]) -> list[str]:
        nlp = TAGGER.pipeline(templates=["lower[0]"], costs=costs)
        train(nlp, [example_of(nlp, "bark/NN"), example_of(nlp, "bark/VB")], 30)
        return tags(nlp("bark"))

    assert learned({"NN": {"VB": 4.0}}) == ["NN"]
    assert learned({"VB": {"NN": 4.0}}) == ["VB"]


def test_min_count_leaves_rare_features_out() -> None:
    text = "dog/NN\ndog/NN\nbarks/VB\nbarks/VB\nfalls/VB\n"

    def tagger_of(min_count: int) -> tuple[Language, Any]:
        nlp = TAGGER.pipeline(templates=["lower[0]"], min_count=min_count)
        return nlp, train(nlp, [example_of(nlp, line) for line in text.split()])

    nlp, tagger = tagger_of(1)
    assert tagger.model.number_of_rows == 3
    assert tags(nlp("falls")) == ["VB"]
    nlp, tagger = tagger_of(2)
    assert tagger.model.number_of_rows == 2
    assert tagger.scores(nlp("falls")) == pytest.approx(tagger.scores(nlp("unseen")))
    assert tags(nlp("dog")) == ["NN"]
    assert tags(nlp("barks")) == ["VB"]


def test_hashed_features() -> None:
    nlp = TAGGER.pipeline(hash_bits=16)
    examples = tagging_examples(nlp.vocab)
    tagger = train(nlp, examples)
    assert nlp.evaluate(examples)["tag_acc"] == 1.0
    other = copy_of(nlp)
    assert TAGGER.annotate(other) == TAGGER.gold()
    loaded: Any = other.get_pipe("ssvm_tagger")
    assert loaded.objective(examples).primal == pytest.approx(tagger.objective(examples).primal)
    doc = nlp("The old dog barks.")
    explanation = tagger.explain(doc, 2)
    assert sum(r.difference for r in explanation.reasons) == pytest.approx(explanation.margin)


def test_few_hashed_rows_are_shared() -> None:
    def number_of_rows(hash_bits: int | None) -> int:
        nlp = TAGGER.pipeline(hash_bits=hash_bits, templates=["lower[0]"])
        lines = [f"word{i}/{('NN', 'VB')[i % 2]}" for i in range(1000)]
        tagger = train(nlp, [example_of(nlp, line) for line in lines], 2)
        return int(tagger.model.number_of_rows)

    assert number_of_rows(None) == 1000
    assert number_of_rows(8) <= 256
