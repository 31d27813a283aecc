"""Reasons for links: which features are shown, with which values."""

from typing import Any

import numpy as np
import pytest
from planted_pairs import VOCAB, batch_of, model_of, planted_doc

from spacy_ssvm.align.matchings.explanation import OTHER_LINKS, explain_link
from spacy_ssvm.align.matchings.model import MatchingModel
from spacy_ssvm.align.matchings.training import LinkExtractor
from spacy_ssvm.align.text_pairs import make_pair
from spacy_ssvm.weights.key_table import key_table

pytestmark = pytest.mark.uncompiled

TEMPLATES = (
    "source.lower[-1]",
    "target.suffix1[1]",
    "source.lower+target.lower",
    "same.punctuation[1]",
    "same.lower+position",
    "bin.string_similarity[-1]",
    "rank.string_similarity",
    "distance",
)


def weighted(model: MatchingModel, pairs: Any) -> MatchingModel:
    """The model with weights for all features of the pairs: whole numbers, squared."""
    extractor = LinkExtractor(model.compiled)
    extractor._features(pairs, 0, len(pairs.shapes))
    index = extractor.index
    penalties = np.full(sum(model.fertilities) - 2, 0.25)
    weights = np.arange(1, index.number_of_rows + 1, dtype=np.float32) ** 2
    model.set_weights(key_table(index.row_keys), index.row_templates, weights, penalties, None)
    return model


def values_of(words: Any, link: tuple[int, int]) -> dict[str, str]:
    """The values of the reasons, by template."""
    model = model_of(*TEMPLATES)
    doc = make_pair(VOCAB, *words)
    weighted(model, model.reader.read([doc]))
    explanation = explain_link(model, doc, *link)
    assert explanation.token == f"{words[0][link[0]]} - {words[1][link[1]]}"
    return {reason.template: reason.value for reason in explanation.reasons}


def test_values_of_reasons() -> None:
    words = ["Ab", " ", "cd"], ["ab", "\n", "cx"]
    assert values_of(words, (0, 0)) == {
        "source.lower[-1]": "<start>",
        "target.suffix1[1]": "x",
        "source.lower+target.lower": "ab + ab",
        "same.punctuation[1]": "no",
        "same.lower+position": "ab + 1 of 2, 1 of 2",
        "bin.string_similarity[-1]": "<outside>",
        "rank.string_similarity": "1",
        OTHER_LINKS: "",
    }
    assert values_of(words, (2, 2)) == {
        "source.lower[-1]": "ab",
        "target.suffix1[1]": "<end>",
        "source.lower+target.lower": "cd + cx",
        "same.punctuation[1]": "<outside>",
        "bin.string_similarity[-1]": "1",
        "rank.string_similarity": "0.5",
        OTHER_LINKS: "",
    }


def test_neighbours_of_which_one_is_not_there() -> None:
    values = values_of((["a", "b"], ["c"]), (0, 0))
    assert values["same.punctuation[1]"] == "<outside>"
    assert values["distance"] == "0.25"


@pytest.mark.parametrize("fertilities", [(1, 1), (2, 2)])
def test_reasons_are_weights_times_values(fertilities: tuple[int, int]) -> None:
    """Also where others are better: the link is apart then, and the reasons are against it."""
    model = model_of("source.lower+target.lower", "distance", fertilities=fertilities)
    weighted(model, batch_of(model, range(6)).pairs)
    doc = planted_doc(VOCAB, 0)
    pairs = model.reader.read([doc])
    scores, margins = model.link_scores(pairs, 0), model.margins(pairs, 0)
    labels = set()
    for j, k in np.ndindex(scores.shape):
        explanation = explain_link(model, doc, j, k)
        labels.add(explanation.label)
        *features, others = explanation.reasons
        assert others.template == OTHER_LINKS
        is_linked = explanation.label == "linked"
        sign = 1 if is_linked else -1
        assert sum(reason.difference for reason in features) == pytest.approx(sign * scores[j, k])
        total = sum(reason.difference for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin)
        assert explanation.margin == pytest.approx(sign * margins[j, k])
        assert explain_link(model, doc, j, k, top=1).margin == explanation.margin
    assert labels == {"linked", "apart"}
