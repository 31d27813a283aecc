"""Tests of ``spacy_ssvm/lab/experiment.py``."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from comparisons import config_of, rows_of
from marks import compiled_only
from spacy.tokens import DocBin

from spacy_ssvm.lab.compare import (
    Comparison,
)


@compiled_only
def test_frozen_components_before_it_annotate(corpus: Path) -> None:
    overrides: dict[str, Any] = {
        "nlp.pipeline": ["lemmas", "tagger", "other"],
        "training.frozen_components": ["lemmas"],
        "training.annotating_components": ["lemmas"],
    }
    comparison = Comparison(config_of(corpus, **overrides), component="other")
    assert rows_of(comparison, ("dcd-ssvm", 0))[-1].score == 1.0
    assert comparison.config["nlp"]["pipeline"] == ["lemmas", "other"]
    assert comparison.left_out == ["tagger"]


@compiled_only
def test_a_component_or_a_corpus_that_cannot_be_used(corpus: Path, tmp_path: Path) -> None:
    config = config_of(corpus, **{"nlp.pipeline": ["lemmas"]})
    with pytest.raises(ValueError, match="'lemmas' is not one of this package"):
        Comparison(config, component="lemmas").prepare()
    DocBin(docs=[spacy.blank("en")("no tags")]).to_disk(tmp_path / "plain.spacy")
    config = config_of(corpus, **{"paths.dev": str(tmp_path / "plain.spacy")})
    with pytest.raises(ValueError, match="nothing by which 'tagger' could be scored"):
        Comparison(config).prepare()


def test_what_results_depend_on_is_known_before_the_corpora_are_read(corpus: Path) -> None:
    templates = ["lower[0]", "shape[0]"]
    facts = Comparison(config_of(corpus, **{"components.tagger.templates": templates})).facts
    assert facts["score"] == "tag_acc"
    assert facts["templates"] == "lower[0], shape[0]"
    solver = "spacy_ssvm.DualCoordinateDescent.v1, C = 1.0, "
    assert facts["solver"].startswith(solver)
    assert ", seed = 0, " in facts["solver"], "defaults too"
    weights = {"tag_acc": 0.5, "pos_acc": 0.25}
    overrides = {"training.score_weights": weights}
    assert (
        Comparison(config_of(corpus, **overrides)).facts["score"] == "0.67 tag_acc + 0.33 pos_acc"
    )
