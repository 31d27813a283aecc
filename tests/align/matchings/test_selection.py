"""Selection among templates of links."""

from typing import Any

import numpy as np
import pytest
from planted_pairs import batch_of, model_of

from spacy_ssvm.align.matchings.layout import ALTERNATIVE, POSSIBLE, SURE, WRONG
from spacy_ssvm.align.matchings.selection import matching_selector, measure_link_templates
from spacy_ssvm.selection import Selection

pytestmark = pytest.mark.uncompiled


def test_features_and_gain_by_hand() -> None:
    """Eight links: two templates, one of which tells all about four of them.

    Alternatives are gold links; possible ones tell nothing.
    """
    gold = np.array([SURE, ALTERNATIVE, WRONG, WRONG, WRONG, WRONG, POSSIBLE, POSSIBLE])
    features = [[0, 2], [0, 2], [1, 2], [1, 2], [2], [2], [0, 1, 2], []]
    starts = np.cumsum([0, *map(len, features)])
    rows = np.concatenate(features).astype(np.int32)
    found = measure_link_templates(np.array([0, 0, 1], dtype=np.int32), 3, starts, rows, gold)
    assert found.features.tolist() == [2, 1, 0]
    # p(feature, class) log2 p(class | feature) / p(class), of six links that are known
    gain = (2 * np.log2(1 / (2 / 6)) + 2 * np.log2(1 / (4 / 6))) / 6
    assert found.gains.tolist() == pytest.approx([gain, 0.0, 0.0])


def test_nothing_known() -> None:
    rows = np.zeros(2, dtype=np.int32)
    found = measure_link_templates(
        np.zeros(1, dtype=np.int32), 1, np.array([0, 1, 2]), rows, np.array([POSSIBLE, POSSIBLE])
    )
    assert found.gains.tolist() == [0.0]


@pytest.mark.parametrize("fertilities", [(1, 1), (2, 2)])
@pytest.mark.parametrize(
    "settings",
    [
        {"method": "group-lasso"},
        {"method": "lasso"},
        {"method": "information-gain"},
        {"method": "group-lasso", "groups": "coarse-to-fine"},
    ],
    ids=str,
)
def test_the_planted_template_is_kept(
    settings: dict[str, Any], fertilities: tuple[int, int]
) -> None:
    """Selection itself learns plain matchings, whatever the model allows."""
    planted = "source.lower+target.lower"
    texts = ["source.lower+position", "target.lower+position", planted, "position"]
    model = model_of(*texts, fertilities=fertilities)
    selector = matching_selector(model, batch_of(model, range(30)))
    selected = selector.select(Selection(**settings, budget=1, epochs=4, prox_period=10))
    assert [str(template) for template in selected.templates] == [planted]
    gains = {row.template: row.gain for row in selected.table}
    assert list(gains) == texts
    assert gains[planted] == max(gains.values()) > 0
