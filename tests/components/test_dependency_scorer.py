"""Tests of ``spacy_ssvm/components/dependency_scorer.py``."""

from typing import Any

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.pipeline.dep_parser import parser_score as spacy_parser_score
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from spacy_ssvm.components.dependency_scorer import (
    PUNCTUATION,
    parser_score,
    score_dependencies,
)

VOCAB = spacy.blank("en").vocab
LABELS = ["nsubj", "obj", "punct", "PUNCT", "ROOT", ""]
NAMES = ("dep_uas", "dep_las", "dep_las_per_type")


@st.composite
def docs(draw: st.DrawFn, text: str) -> Doc:
    """A Doc of a text, cut somewhere, with any heads and labels."""
    cuts = sorted(draw(st.sets(st.integers(1, len(text) - 1))))
    words = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    places = st.integers(0, len(words) - 1)
    return Doc(
        VOCAB,
        words=words,
        spaces=[False] * len(words),
        heads=[draw(places) for _ in words],
        deps=[draw(st.sampled_from(LABELS)) for _ in words],
    )


@st.composite
def examples(draw: st.DrawFn) -> Example:
    text = draw(st.sampled_from(["abcdef", "ab\ncd\n\ne", "\n\n"]))
    return Example(draw(docs(text)), draw(docs(text)))


def spacy_scores(example: Example, **settings: Any) -> dict[str, Any]:
    return Scorer.score_deps(
        [example], "dep", getter=lambda token, _: token.dep_.lower(), **settings
    )


@given(examples())
def test_one_example_is_scored_as_spacy_scores_it(example: Example) -> None:
    ours = score_dependencies([example], PUNCTUATION, lower=True)
    if not any(token.dep for token in example.reference):
        assert ours == dict.fromkeys(NAMES)
        return
    assert ours == spacy_scores(example, ignore_labels=PUNCTUATION)
    assert score_dependencies([example], lower=True) == spacy_scores(example)
    assert parser_score([example]) == spacy_parser_score([example])


@given(examples(), examples())
def test_examples_do_not_change_each_other(one: Example, other: Example) -> None:
    """What two examples count together is what they count apart."""
    both = score_dependencies([one, other], lower=True)
    assert both == score_dependencies([other, one], lower=True)
    each = [score_dependencies([example], lower=True)["dep_uas"] for example in (one, other)]
    known = [score for score in each if score is not None]
    if len(known) == 2:
        assert min(known) <= both["dep_uas"] <= max(known)


def document(*words: str) -> Doc:
    """A Doc whose words depend on the first one; line breaks have no label."""
    deps = ["ROOT", *("" if word.isspace() else "obj" for word in words[1:])]
    return Doc(VOCAB, words=[*words], heads=[0] * len(words), deps=deps)


def test_a_line_break_says_nothing_about_other_docs() -> None:
    golds = [document("a", "\n\n", "c"), document("a", "b", "c")]
    right = [Example(document(*(t.text for t in gold)), gold) for gold in golds]
    assert [parser_score(right)[name] for name in NAMES[:2]] == [1.0, 1.0]
    assert spacy_parser_score(right)["dep_uas"] < 1.0, "spaCy has been repaired: use its scorer"


@pytest.mark.parametrize("order", [1, -1])
def test_arcs_that_are_wrong_or_between_other_tokens_count_as_found(order: int) -> None:
    gold = document("a", "b", "c", "d")
    wrong = Doc(VOCAB, words=["a", "b", "c", "d"], heads=[0, 0, 1, 2], deps=["ROOT", *["obj"] * 3])
    joined = Doc(VOCAB, words=["a", "b", "c d"], heads=[0, 0, 0], deps=["ROOT", "obj", "obj"])
    scored = score_dependencies([Example(doc, gold) for doc in (wrong, joined)][::order])
    assert scored["dep_uas"] == pytest.approx(2 * 4 / (7 + 8))


def test_without_gold_labels_there_are_no_scores() -> None:
    words = Doc(VOCAB, words=["a", "b"])
    assert score_dependencies([Example(document("a", "b"), words)]) == dict.fromkeys(NAMES)
    assert score_dependencies([]) == dict.fromkeys(NAMES)


def test_tokens_cut_otherwise_in_docs_without_labels_are_no_errors() -> None:
    """spaCy counts an arc from or to them as found where there is none."""
    unknown = Doc(VOCAB, words=["do", "n't", "go"], spaces=[False, True, False])
    joined = Doc(VOCAB, words=["don't", "go"], heads=[1, 1], deps=["advmod", "ROOT"])
    examples = [Example(joined, unknown), Example(document("a", "b"), document("a", "b"))]
    assert score_dependencies(examples[:1]) == dict.fromkeys(NAMES)
    assert score_dependencies(examples)["dep_las"] == 1.0


def test_labels_are_in_order() -> None:
    """Scores become part of a saved pipeline, whose bytes do not depend on the process."""
    words, deps = ["a", "b", "c", "d", "e"], ["ROOT", "obj", "nsubj", "det", "amod"]
    gold = Doc(VOCAB, words=words, heads=[0] * 5, deps=deps)
    assert [*score_dependencies([Example(gold.copy(), gold)])["dep_las_per_type"]] == sorted(deps)


def test_it_is_registered() -> None:
    make = registry.scorers.get("spacy_ssvm.parser_scorer.v1")
    assert make()([Example(document("a", "b"), document("a", "b"))])["dep_las"] == 1.0
