"""Tests of ``spacy_ssvm/commands/scores.py``."""

import pytest
import spacy
from spacy.pipeline.dep_parser import parser_score
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.commands.scores import arc_scores, label_tables, name_of, shown_scores, weighted
from spacy_ssvm.components.dependency_scorer import PUNCTUATION

VOCAB = spacy.blank("en").vocab
WORDS = ["a", "b", "c", "d", "e"]


def test_names() -> None:
    assert name_of("tag_acc") == "TAG accuracy"
    assert name_of("ents_r") == "entity recall"
    assert name_of("dep_las") == "LAS without punctuation"
    assert name_of("spans_my_key_f") == "my key: F1"
    assert name_of("sentence_labels_acc") == "sentence labels: accuracy"
    assert name_of("other") == "other"


def test_which_scores_are_shown() -> None:
    scores = {
        "token_acc": 1.0,
        "sentence_labels_acc": 0.5,
        "spans_chunks_per_type": {},
        "spans_chunks_f": 0.5,
        "dep_uas": 0.5,
        "ents_f": None,
        "tag_acc": 0.0,
        "speed": 3.0,
    }
    assert shown_scores(scores) == ["tag_acc", "sentence_labels_acc", "spans_chunks_f"]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ({"tag_acc": 1.0, "ents_f": 0.0, "ents_p": None}, "tag_acc"),
        ({"dep_uas": 0.5, "dep_las": 0.25}, "0.5 dep_uas + 0.25 dep_las"),
        ({}, ""),
    ],
)
def test_weights(weights: dict[str, float | None], text: str) -> None:
    assert weighted(weights) == text


def tagged(tags: list[str], words: list[str] = WORDS) -> Doc:
    return Doc(VOCAB, words=words, tags=tags)


def test_tags_are_counted_as_spacy_counts_them() -> None:
    examples = [
        Example(tagged(["N", "N", "V", "V", "N"]), tagged(["N", "V", "V", "", "A"])),
        # Parts of a gold word count once where they are right
        Example(
            Doc(VOCAB, words=["a", "b", "c"], spaces=[True, False, False], tags=["N", "V", "V"]),
            Doc(VOCAB, words=["a", "bc"], tags=["N", "V"]),
        ),
        # A word that is two gold ones is neither of them
        Example(
            Doc(VOCAB, words=["bc", "\n", "d"], spaces=[False] * 3, tags=["V", "V", "N"]),
            Doc(
                VOCAB, words=["b", "c", "\n", "d"], spaces=[False] * 4, tags=["V", "V", "_SP", "N"]
            ),
        ),
    ]
    scores = Scorer.score_token_attr(examples, "tag")
    labels, confused = label_tables(examples, scores)
    assert (labels.title, labels.note) == ("TAG", "In percent. All labels.")
    assert labels.header == ("label", "precision", "recall", "F1", "gold")
    assert labels.rows == [
        ("V", "100.0", "40.0", "57.1", "5"),
        ("N", "60.0", "100.0", "75.0", "3"),
        ("A", "0.0", "0.0", "0.0", "1"),
        ("_SP", "0.0", "0.0", "0.0", "1"),
    ]
    assert confused.rows == [("A", "N", "1"), ("V", "N", "1")]
    assert confused.note == "All pairs of labels."


def test_nothing_is_confused_where_nothing_is_wrong() -> None:
    doc = tagged(list("NNVVN"))
    tables = label_tables([Example(doc, doc.copy())], {"tag_acc": 1.0, "pos_acc": None})
    assert [table.title for table in tables] == ["TAG"]


def test_the_most_frequent_labels_are_shown() -> None:
    words = [str(i) for i in range(30)]
    gold = tagged(["common", "common", *words[2:]], words)
    found = tagged(["common"] * 30, words)
    labels, confused = label_tables([Example(found, gold)], {"tag_acc": 0.1})
    assert len(labels.rows) == 20
    assert labels.note == "In percent. The 20 most frequent labels of 29."
    assert labels.rows[0] == ("common", "6.7", "100.0", "12.5", "2")
    assert len(confused.rows) == 10
    assert confused.note == "The 10 most frequent pairs of labels of 28."


def test_arcs_entities_and_spans() -> None:
    heads, deps = [1, 1, 1, 1, 1], ["det", "ROOT", "obj", "obj", "punct"]
    gold = Doc(VOCAB, words=WORDS, heads=heads, deps=deps)
    gold.set_ents([Span(gold, 0, 2, "PER"), Span(gold, 3, 4, "LOC")])
    gold.spans["chunks"] = [Span(gold, 0, 2, "NP"), Span(gold, 2, 4, "NP")]
    found = Doc(VOCAB, words=WORDS, heads=[1, 1, 1, 4, 1], deps=deps)
    found.set_ents([Span(found, 0, 2, "PER")])
    found.spans["chunks"] = [Span(found, 0, 2, "NP")]
    examples = [Example(found, gold)]
    scores = {
        **arc_scores(examples),
        **Scorer.score_spans(examples, "ents"),
        **Scorer.score_spans(
            examples,
            "spans_chunks",
            getter=lambda doc, _: doc.spans["chunks"],
            has_annotation=lambda doc: True,
        ),
        "spans_other_per_type": None,
        "cats_f_per_type": {"A": {"p": 1.0, "r": 1.0, "f": 1.0}},
    }
    tables = {table.title: table.rows for table in label_tables(examples, scores)}
    assert tables == {
        "Arcs": [
            ("obj", "50.0", "50.0", "50.0", "2"),
            ("ROOT", "100.0", "100.0", "100.0", "1"),
            ("det", "100.0", "100.0", "100.0", "1"),
            ("punct", "100.0", "100.0", "100.0", "1"),
        ],
        "Entities: what is wrong": [("missed", "1")],
        "Entities": [
            ("LOC", "0.0", "0.0", "0.0", "1"),
            ("PER", "100.0", "100.0", "100.0", "1"),
        ],
        "Spans: chunks": [("NP", "100.0", "50.0", "66.7", "2")],
    }
    assert arc_scores(examples, ["obj"])["dep_las"] == 1.0


def test_errors_of_entities_are_told_apart() -> None:
    def with_entities(spaces: bool, *ents: tuple[int, int, str]) -> Doc:
        doc = Doc(VOCAB, words=[*"abcdefgh"], spaces=[spaces] * 8)
        doc.set_ents([Span(doc, *ent) for ent in ents])
        return doc

    found = with_entities(True, (0, 2, "PER"), (2, 3, "LOC"), (4, 6, "ORG"), (7, 8, "PER"))
    gold = with_entities(False, (0, 2, "PER"), (2, 3, "ORG"), (3, 4, "LOC"), (5, 6, "ORG"))
    examples = [Example(found, gold)]
    scores = Scorer.score_spans(examples, "ents")
    _, errors = label_tables(examples, scores)
    assert (errors.title, errors.header) == ("Entities: what is wrong", ("error", "entities"))
    assert sorted(errors.rows) == [
        ("missed", "1"),
        ("spurious", "1"),
        ("wrong boundaries", "1"),
        ("wrong type", "1"),
    ]
    right = [Example(found, found.copy())]
    assert [t.title for t in label_tables(right, Scorer.score_spans(right, "ents"))] == ["Entities"]


def test_labels_are_left_out_in_capitals_or_not_as_in_spacy() -> None:
    heads, deps = [1, 1, 1, 1, 1], ["det", "ROOT", "obj", "PUNCT", "P"]
    gold = Doc(VOCAB, words=WORDS, heads=heads, deps=deps)
    found = Doc(VOCAB, words=WORDS, heads=[1, 1, 1, 0, 0], deps=deps)
    examples = [Example(found, gold)]
    expected = parser_score(examples)
    ours = arc_scores(examples, PUNCTUATION)
    assert ours["dep_uas"] == expected["dep_uas"] == 1.0
    assert ours["dep_las"] == expected["dep_las"]
    assert arc_scores(examples, ["PUNCT"])["dep_uas"] == pytest.approx(3 / 4)
    everything = arc_scores(examples)
    assert everything["dep_uas"] == pytest.approx(3 / 5)
    assert "PUNCT" in everything["dep_las_per_type"]
