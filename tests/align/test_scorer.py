"""Scores of alignments, counted by hand."""

from typing import Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from spacy_ssvm.align.scorer import aligner_score
from spacy_ssvm.align.text_pairs import make_pair

VOCAB = Vocab()
NONE = {"align_aer": None, "align_p": None, "align_r": None, "align_f": None}


def pair(
    links: Any = None, possible: Any = None, source: str = "a b c", target: str = "x y"
) -> Doc:
    made = [v if v is None else np.array(v, dtype=np.int64) for v in (links, possible)]
    return make_pair(VOCAB, source.split(), target.split(), *made)


def scores(*pairs: tuple[Doc, Doc]) -> dict[str, float | None]:
    """The scores of pairs of a predicted and a reference Doc."""
    return aligner_score([Example(*docs) for docs in pairs])


# |A| = 4, |S| = 3, |A & S| = 2, |A & P| = 3
PREDICTED = [[0, 0], [1, 1], [2, 1], [0, 1]]
SURE, FURTHER = [[0, 0], [1, 1], [1, 0]], [[2, 1], [2, 0], [0, 0]]


def test_sure_and_possible_links() -> None:
    found = scores((pair(PREDICTED), pair(SURE, FURTHER)))
    assert found == pytest.approx(
        {"align_aer": 1 - 5 / 7, "align_p": 3 / 4, "align_r": 2 / 3, "align_f": 4 / 7}
    )


def test_without_possible_links_the_error_is_one_minus_f1() -> None:
    found = scores((pair(PREDICTED), pair(SURE)))
    assert found == pytest.approx(
        {"align_aer": 3 / 7, "align_p": 2 / 4, "align_r": 2 / 3, "align_f": 4 / 7}
    )


def test_counts_of_all_docs_are_added() -> None:
    found = scores(
        (pair(PREDICTED), pair(SURE, FURTHER)),
        (pair([[0, 0]]), pair([[0, 0]])),
        (pair([[2, 1]]), pair()),  # not annotated: does not count
    )
    assert found == pytest.approx(
        {"align_aer": 1 - 7 / 9, "align_p": 4 / 5, "align_r": 3 / 4, "align_f": 6 / 9}
    )


def test_references_without_annotation() -> None:
    assert scores((pair([[0, 0]]), pair())) == NONE
    assert scores((pair([[0, 0]]), pair(None, [[0, 0]]))) == NONE
    assert scores() == NONE


@pytest.mark.parametrize("predicted", [None, np.empty((0, 2))])
def test_nothing_predicted(predicted: Any) -> None:
    nothing = {"align_aer": 1.0, "align_p": 0.0, "align_r": 0.0, "align_f": 0.0}
    assert scores((pair(predicted), pair(SURE))) == nothing
    assert scores((pair(predicted), pair(np.empty((0, 2))))) == nothing


def test_other_tokens() -> None:
    """The word 'bc' is two of the reference: the links of 'b' and 'c' are missed."""
    predicted = pair([[0, 0], [1, 0], [2, 1]], source="a bc d")
    reference = pair([[0, 0], [1, 0], [2, 0], [3, 1]], [[3, 0]], source="a b c d")
    assert scores((predicted, reference)) == pytest.approx(
        {"align_aer": 1 - 4 / 6, "align_p": 1.0, "align_r": 2 / 4, "align_f": 4 / 6}
    )


def test_tokens_of_the_target_that_differ() -> None:
    predicted = pair([[0, 0], [2, 1]], target="xy z")
    reference = pair([[0, 0], [2, 2]], target="x y z")
    assert scores((predicted, reference)) == pytest.approx(
        {"align_aer": 1 - 2 / 3, "align_p": 1.0, "align_r": 1 / 2, "align_f": 2 / 3}
    )


def test_the_entry_point() -> None:
    scorer = registry.get("scorers", "spacy_ssvm.aligner_scorer.v1")()
    examples = [Example(pair(PREDICTED), pair(SURE))]
    assert scorer(examples, per_component=False) == aligner_score(examples)


def test_evaluation_of_a_pipeline() -> None:
    """spaCy copies the predicted Docs, annotates the copies, and scores these."""

    class Aligner:
        model = None

        def __call__(self, doc: Doc) -> Doc:
            doc._.alignment = [(0, 3)]
            return doc

        def score(self, examples: Any, **kwargs: Any) -> dict[str, Any]:
            return aligner_score(examples, **kwargs)

    Language.factory("first_words_in_test", func=lambda nlp, name: Aligner())
    nlp = Language(VOCAB)
    nlp.add_pipe("first_words_in_test")
    predicted = pair()
    found = nlp.evaluate([Example(predicted, pair([[0, 0], [1, 1]]))])
    assert found["align_r"] == pytest.approx(1 / 2)
    assert found["align_p"] == pytest.approx(1.0)
    assert predicted._.alignment is None
