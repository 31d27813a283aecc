"""Tests of ``spacy_ssvm/trees/training.py``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from marks import compiled_only
from parses import GRANDPARENTS, LINES, example_of, learned, parser_of
from pipelines import PARSER, copy_of
from spacy.language import Language
from spacy.training import Example

from spacy_ssvm.trees.pruner_training import PrunerTrainer
from spacy_ssvm.trees.training import TreeTrainer
from spacy_ssvm.weights.quantized import quantize

pytestmark = pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")


def number_of_candidates(nlp: Language, examples: list[Example]) -> int:
    """The sentences that a selection learns from."""
    return int(parser_of(nlp).selector(examples).problem.number_of_examples)


def test_docs_without_boundaries_are_learned_by_those_of_the_references(
    caplog: pytest.LogCaptureFixture,
) -> None:
    results = []
    for starts in ([0, 4, 9], None):
        nlp = PARSER.pipeline()
        examples = [example_of(nlp, *LINES, starts=starts)]
        with caplog.at_level("INFO", logger="spacy"):
            results.append(learned(examples, nlp))
        assert PARSER.number_of_examples(nlp) == 3
        assert number_of_candidates(nlp, examples) == 3
        said = [r.message for r in caplog.records if "sentences of the references" in r.message]
        assert len(said) == (starts is None)
    assert results[0] == results[1]


def test_long_sentences_are_learned_in_pieces() -> None:
    line = "Birds:2:nsubj sang:0:ROOT in:2:prep trees:3:pobj now:2:advmod and:5:cc then:5:conj"
    whole, cut = PARSER.pipeline(max_length=3), PARSER.pipeline(max_length=100)
    pieces = [0, 3, 6]
    results = [
        learned([example_of(nlp, line, starts=starts)], nlp)
        for nlp, starts in ((whole, [0]), (cut, pieces))
    ]
    assert results[0] == results[1]
    examples = [example_of(whole, line, starts=[0])]
    assert number_of_candidates(whole, examples) == len(pieces)
    problem = parser_of(whole)._trainer.problem.examples()
    assert np.diff(problem.node_starts).tolist() == [5, 5, 3]
    assert problem.heads.tolist() == [-1, 2, 0, 2, -1, -1, -1, -1, 2, -1, -1, -1, -1]


@compiled_only
@pytest.mark.parametrize(
    "config",
    [{"order": 1}, {"order": 2}, GRANDPARENTS, GRANDPARENTS | {"order": 1}],
)
def test_both_orders_learn_the_corpus(config: dict[str, Any]) -> None:
    nlp = PARSER.trained(**config)
    assert PARSER.annotate(nlp) == PARSER.gold()
    model = parser_of(nlp).model
    assert any(not template.is_of_arc for template in model.templates) == (config["order"] == 2)
    assert PARSER.annotate(copy_of(nlp)) == PARSER.gold()


def _write_after_a_restart(trainer: TreeTrainer) -> None:
    trainer.restart(trainer.run.settings)
    trainer.update_model()
    found = trainer.model.pruner_weights
    assert found.codes.tolist() == quantize(trainer.pruner.w).codes.tolist()


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    "act",
    [
        lambda trainer: trainer.epoch(np.arange(3)),
        lambda trainer: trainer.run.objective(),
        lambda trainer: trainer.remove(range(1)),
        lambda trainer: trainer.problem.keep(np.arange(1)),
        lambda trainer: trainer.absorb([range(2)], 10**9),
        _write_after_a_restart,
    ],
    ids=["epoch", "objective", "remove", "keep", "absorb", "write"],
)
def test_the_pruner_learns_before_arcs_are_decoded(act: Callable[[TreeTrainer], object]) -> None:
    """From each batch as it came, whatever becomes of its sentences."""
    nlp = PARSER.pipeline()
    examples = PARSER.examples(nlp.vocab)[:3]
    nlp.initialize(lambda: examples)
    pipe, batches = parser_of(nlp), []
    for some in (examples[:2], examples[2:]):
        trainer, _ = pipe.featurize(some)
        batches += pipe.read_batches(pipe.gold_docs(some))
    expected = PrunerTrainer(pipe.model, pipe.solver.seed)
    for nodes, heads, _ in batches:
        expected.learn(nodes.attributes, nodes.starts, heads)
    assert not trainer.pruner.w.any()
    act(trainer)
    assert expected.w.any()
    assert (trainer.pruner.w == expected.w).all()
