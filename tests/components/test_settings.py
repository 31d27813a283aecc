"""Tests of ``spacy_ssvm/components/settings.py``."""

import math
from typing import Any

import pytest
import spacy
from pipelines import PARSER, TAGGER, Component
from refusals import NAME, refusal, refused_config
from thinc.config import ConfigValidationError

from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent


def solver(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", **settings}


@pytest.mark.parametrize("template", ["colour[0]", "lower[0]+colour[1]", "ngrams(colour, 2, 1)"])
def test_unknown_attribute_of_a_template(template: str) -> None:
    message = refused_config(templates=["lower[0]", template])
    assert f"template '{template}': there is no attribute 'colour'" in message
    assert f"components.{NAME}" in message
    for name in ("orth", "lower", "shape", "suffix3", "prefix5", "cluster4", "_.name"):
        assert name in message


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("lower", "cannot read 'lower'"),
        ("lower[0", "cannot read 'lower[0'"),
        ("lower[x]", "cannot read 'lower[x]'"),
        ("lower[0]+", "cannot read ''"),
        ("lower[0] suffix1[0]", "cannot read 'lower[0] suffix1[0]'"),
        ("", "cannot read ''"),
        ("lower[99]", "offset 99 is over 16 tokens away"),
        ("taggger", "cannot read 'taggger'"),
        ("ngrams(lower, 4, 1)", "n is 4, but a window of 1 holds runs of 1 to 3 tokens"),
        ("ngrams(lower, 0, 1)", "n is 0"),
        ("ngrams(lower)", "cannot read 'ngrams(lower)'"),
    ],
)
def test_malformed_template(template: str, problem: str) -> None:
    message = refused_config(templates=[template])
    assert f"template '{template}': {problem}" in message


def test_no_templates() -> None:
    message = refused_config(templates=[])
    assert "there are no templates: give at least one, such as 'lower[0]'" in message


@pytest.mark.parametrize("C", [0.0, -1.0])
def test_C_that_is_not_above_zero(C: float) -> None:
    message = refusal(lambda: TAGGER.pipeline(solver=solver(C=C)))
    assert f"C is {C}: it must be a number above 0" in message


@pytest.mark.parametrize("C", [math.nan, math.inf])
def test_C_that_is_no_number(C: float) -> None:
    message = refusal(lambda: DualCoordinateDescent(C=C))
    assert f"C is {C}: it must be a number above 0" in message
    # spaCy itself refuses such values in a config, and shows them
    assert f"'C': {C}" in refusal(lambda: TAGGER.pipeline(solver=solver(C=C)))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"variant": "fast"}, "variant is 'fast': choose 'ssvm', 'light' or 'cpd'"),
        ({"inner_passes": -1}, "inner_passes is -1: it must not be negative"),
        ({"delta": 0.0}, "delta is 0.0: it must be a number above 0"),
        ({"tolerance": -0.1}, "tolerance is -0.1: it must be a number, at least 0"),
    ],
)
def test_other_settings_of_the_solver(settings: dict[str, Any], problem: str) -> None:
    assert problem in refusal(lambda: TAGGER.pipeline(solver=solver(**settings)))


@pytest.mark.parametrize(
    ("factory", "key", "settings"),
    [
        ("ssvm_tagger", "solver", {}),
        ("ssvm_morphologizer", "solver", {}),
        ("ssvm_ner", "solver", {}),
        ("ssvm_aligner", "solver", {}),
        ("ssvm_sentence_labeler", "solver", {"decoder": "cut"}),
        ("ssvm_parser", "solver", {}),
        ("ssvm_parser", "label_solver", {}),
    ],
)
def test_a_selection_is_no_solver(factory: str, key: str, settings: dict[str, Any]) -> None:
    config = {**settings, key: {"@misc": "spacy_ssvm.Selection.v1", "budget": 3}}
    message = refusal(
        lambda: spacy.blank("en").add_pipe(factory, name="mine", config=config),
        ConfigValidationError,
    )
    assert "components.mine" in message
    assert f"\n{key}\tmust be the block of a solver" in message


@pytest.mark.parametrize("hash_bits", [0, 7, 29, -3])
def test_hash_bits_out_of_range(hash_bits: int) -> None:
    message = refused_config(hash_bits=hash_bits)
    assert "hash_bits" in message
    assert f"{hash_bits}: must lie between 8 and 28" in message


def test_min_count_of_zero() -> None:
    message = refused_config(min_count=0)
    assert "min_count" in message
    assert "0: must be at least 1" in message


@pytest.mark.parametrize(
    ("component", "key"), [(TAGGER, "min_count"), (PARSER, "min_count"), (PARSER, "max_length")]
)
def test_numbers_that_kernels_cannot_hold(component: Component, key: str) -> None:
    message = refusal(lambda: component.pipeline(**{key: 2**63}), ConfigValidationError)
    assert f"components.{component.name}" in message
    assert key in message
    assert f"{2**63}: must be at most 2147483647" in message


@pytest.mark.parametrize("key", ["inner_passes", "seed"])
def test_numbers_of_the_solver_that_kernels_cannot_hold(key: str) -> None:
    message = refusal(lambda: TAGGER.pipeline(solver=solver(**{key: 2**63})))
    assert f"{key} is {2**63}: it must not exceed {2**63 - 1}" in message


def test_min_count_with_hash_bits() -> None:
    message = refused_config(min_count=2, hash_bits=20)
    assert "features are not counted where hash_bits is set" in message


@pytest.mark.parametrize("attribute", ["LEMMA", "tag", ""])
def test_an_attribute_that_cannot_be_written(attribute: str) -> None:
    message = refused_config(attribute=attribute)
    assert f"'{attribute}': choose TAG or POS" in message


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"min_count": "many"}, "min_count"),
        ({"templates": 3}, "templates"),
        ({"overwrite": "perhaps"}, "overwrite"),
        ({"costs": {"NN": 1}}, "costs"),
        ({"solvent": 1}, "solvent"),
        ({"solver": solver(c=1)}, "solver"),
    ],
)
def test_config_of_the_wrong_type_or_name(config: dict[str, Any], key: str) -> None:
    assert key in refused_config(**config)
