"""Tests of ``spacy_ssvm/trees/explanation.py``."""

from typing import Any

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import PLAIN
from parses import GRANDPARENTS, blank_doc, parser_of, sentences_of
from pipelines import PARSER
from spacy.language import Language

from spacy_ssvm.trees.explanation import ROOT, _label_roles
from spacy_ssvm.trees.labels import LABEL_ROLES, compile_columns, fill_arc_columns

pytestmark = pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")

KINDS: dict[str, dict[str, Any]] = {
    "first order": {"order": 1, "pruning": None},
    "second order": {"pruning": None},
    "grandparents": {**GRANDPARENTS, "pruning": None},
    "crossing": {"order": 1, "pruning": None, "projective": False},
    "pruned": {},
}

words = st.lists(
    st.sampled_from(["The", "old", "dog", "barks", "Birds", "sang", "in", "trees", "."]), max_size=3
)


@pytest.fixture(scope="module", params=KINDS)
def nlp(request: pytest.FixtureRequest) -> Language:
    return PARSER.trained(**KINDS[request.param])


def test_reasons_show_what_lies_between_in_aligned_columns() -> None:
    nlp = PARSER.trained(templates=["head.lower+between.lower+dependent.lower+distance"])
    doc = sentences_of(nlp, "The old dog barks .")
    explanation = parser_of(nlp).explain(doc, 0)
    assert any("old" in reason.value for reason in explanation.reasons)
    lines = [line for line in str(explanation).splitlines()[1:] if line]
    assert len(lines) > 3
    assert len({len(line) for line in lines}) == 1


def test_reasons_against_any_head_add_up_to_its_margin(nlp: Language) -> None:
    """The least of these margins is that of ``scores``."""
    parser = parser_of(nlp)

    @settings(max_examples=10)
    @given(words)
    def check(text: list[str]) -> None:
        doc = blank_doc(nlp, ["Birds", "sang", *text], [0])
        scores = parser.scores(doc)
        for token in doc:
            margins = []
            for head in doc:
                try:
                    found = parser.explain(doc, token, against=head, top=3)
                except ValueError:  # the head that it has, or no tree has it
                    continue
                assert sum(r.difference for r in found.reasons) == pytest.approx(
                    found.margin, abs=1e-5
                )
                assert found.runner_up.split(" (")[0] in (head.text, ROOT)
                assert (found.runner_up == ROOT) == (head == token)
                margins.append(found.margin)
            least = min(margins, default=np.inf)
            assert least == pytest.approx(scores[token.i], abs=1e-5)

    check()


def test_heads_that_are_not_possible() -> None:
    nlp = PARSER.trained(pruning=0.0)
    parser = parser_of(nlp)
    words = ["The", "dog", "barks", "\n", ".", "Birds", "sang", "in", "trees", "."]
    doc = blank_doc(nlp, words, [0, 5])
    parsed = nlp(doc.copy())
    assert (parsed[0].head.i, parsed[2].head.i) == (1, 2)
    for i, against, problem in [
        (0, 1, r"token 0 has the head 'dog': give another one"),
        (2, 2, r"token 2 has the head '<root>': give another one"),
        (0, 4, r"token 0 cannot have the head '\. \(1\)': the pruner discards the arc"),
        (0, 3, "token 3 is whitespace"),
        (0, 6, "token 6 cannot be the head of token 0: it is in another sentence"),
        (0, "nosuch", "there is no label 'nosuch' among"),
        (0, "det", "token 0 has the label 'det': give another one"),
        (3, "det", "token 3 is whitespace"),
    ]:
        with pytest.raises(ValueError, match=problem):
            parser.explain(doc, i, against=against)
    with pytest.raises(IndexError, match="there is no token 99"):
        parser.explain(doc, 0, against=99)


def test_heads_of_the_same_text_are_numbered() -> None:
    nlp = PARSER.trained(pruning=None)
    doc = sentences_of(nlp, "Birds sang in trees .", "Birds sang .")
    found = parser_of(nlp).explain(doc, 5, against=doc[7])
    assert (found.token, found.label, found.runner_up) == ("Birds", "sang (2)", ". (2)")
    assert found == parser_of(nlp).explain(doc, -3, against=-1)


def test_reasons_against_any_label_add_up_to_its_margin(nlp: Language) -> None:
    parser = parser_of(nlp)
    parser._sync()
    doc = sentences_of(nlp, "The old dog barks .", "Birds sang in trees .")
    parsed = nlp(doc.copy())
    model = parser.model
    nodes = model.nodes([doc])
    arcs, arc_nodes, _ = model.arc_table(nodes, model.parse(nodes)[0])
    tokens = nodes.tokens.positions[np.searchsorted(nodes.words, arc_nodes)]
    for s, start in enumerate(arcs.sentence_starts[:-1].tolist()):
        emissions = model.label_model.emissions(arcs, s)
        best = brute.max_marginals(emissions, model.label_model.label_pairs)
        for t in range(len(emissions)):
            i = int(tokens[start + t])
            for k, label in enumerate(parser.labels):
                if label == parsed[i].dep_:
                    assert best[t].argmax() == k
                    continue
                found = parser.explain(doc, i, against=label)
                assert (found.label, found.runner_up) == (parsed[i].dep_, label)
                assert found.margin == pytest.approx(best[t].max() - best[t, k], abs=1e-5)
                assert sum(r.difference for r in found.reasons) == pytest.approx(
                    found.margin, abs=1e-5
                )
                short = parser.explain(doc, i, against=label, top=1)
                assert short.margin == found.margin
                assert len(short.reasons) == 4


def test_values_of_features_of_labels() -> None:
    templates = [
        "head.lower+dependent.lower[1]+direction",
        "sibling.lower+dependent.lower",
        "grandparent.lower+leftmost.lower+rightmost.lower",
    ]
    nlp = PARSER.trained(label_templates=templates)
    doc = sentences_of(nlp, "The old dog barks .")
    parsed = nlp(doc.copy())
    assert [token.head.i for token in parsed] == [2, 2, 3, 3, 3]
    found = [parser_of(nlp).explain(doc, i, against="prep") for i in range(5)]
    reasons = [sorted(reason.value for reason in one.reasons[:-2]) for one in found]
    assert {r.template for one in found for r in one.reasons[:-2]} == {
        str(template) for template in parser_of(nlp).model.label_templates
    }
    assert reasons == [
        ["barks + <end> + <end>", "dog + old + left", "the + <end>"],
        ["barks + <end> + <end>", "dog + dog + left", "old + the"],
        ["<root> + the + old", "barks + barks + left", "dog + <end>"],
        ["<end> + dog + .", "<root> + . + right", "barks + <end>"],
        [". + dog", "<root> + <end> + <end>", "barks + <end> + right"],
    ]


@given(st.integers(1, 3 if PLAIN else 4), st.integers(0, 10_000))
def test_roles_are_those_of_the_table_of_arcs(n: int, number: int) -> None:
    trees = brute.trees(n)
    heads = trees[number % len(trees)]
    attributes = np.arange(100, 102 + n, dtype=np.uint64)[:, None]
    columns = compile_columns([f"{role}.lower[0]" for role in LABEL_ROLES], ["lower"])
    order = np.arange(1, n + 1)
    order = order[np.argsort(heads[1:], kind="stable")]
    table = np.empty((n, len(LABEL_ROLES)), dtype=np.uint64)
    fill_arc_columns(columns, attributes, 0, n + 2, heads, order, table)
    for row, m in zip(table.tolist(), order.tolist(), strict=True):
        roles = _label_roles(heads, m)
        assert [100 + roles[role] for role in LABEL_ROLES] == row
