"""Selection among templates of links."""

from typing import Any

import numpy as np
import pytest
from planted_pairs import batch_of, model_of

from spacy_ssvm.align.matchings.layout import ALTERNATIVE, POSSIBLE, SURE
from spacy_ssvm.align.matchings.selection import matching_selector
from spacy_ssvm.selection import Selection

pytestmark = pytest.mark.uncompiled


def test_links_that_tell_nothing_count_for_features_alone() -> None:
    """Alternatives are gold links; possible ones tell nothing."""
    texts = ["source.lower+target.lower", "position"]
    model = model_of(*texts, fertilities=(1, 1))
    batch = batch_of(model, range(10))
    certain = matching_selector(model, batch).statistics
    gold = np.where(batch.gold == SURE, ALTERNATIVE, batch.gold)
    assert matching_selector(model, batch._replace(gold=gold)).statistics.gains == pytest.approx(
        certain.gains
    )
    unknown = np.full_like(batch.gold, POSSIBLE)
    found = matching_selector(model, batch._replace(gold=unknown)).statistics
    assert found.features.tolist() == certain.features.tolist()
    assert found.gains.tolist() == [0.0, 0.0]
    assert certain.gains[0] > certain.gains[1] > 0
    half = np.where(np.arange(len(gold)) % 2, batch.gold, POSSIBLE)
    dropped = matching_selector(model, batch._replace(gold=half)).statistics
    assert (dropped.gains != certain.gains).all()


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
