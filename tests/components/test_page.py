"""Decisions of components as pages: what is wrong, what is unsure, and why."""

import re
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import labelled_examples, make_doc
from hypothesis import given
from hypothesis import strategies as st
from pipelines import LABELER, PARSER, RECOGNIZER, TAGGER, Component
from planted_pairs import EAGER as EAGER_SOLVER
from planted_pairs import planted_doc, planted_examples
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.align.component import Links
from spacy_ssvm.align.text_pairs import make_pair
from spacy_ssvm.chains.calibration import probabilities
from spacy_ssvm.components.page import (
    Decision,
    ExplainablePipe,
    Page,
    _colours,
    read_part,
    render_page,
)
from spacy_ssvm.components.parser import Arc
from spacy_ssvm.explanation import Explanation


def docs_of(component: Component, nlp: Language) -> tuple[Any, list[Doc], list[Doc]]:
    """The component, what it has annotated, and the gold Docs."""
    examples = component.examples(nlp.vocab)[:6]
    docs = list(nlp.pipe(example.predicted for example in examples))
    return nlp.get_pipe(component.name), docs, [example.reference for example in examples]


def decided(label: str, gold: str | None = None, *, start: int = 0, score: float = 1.0) -> Any:
    """A decision about one token."""
    return Decision(start, start + 1, label, gold, score)


class Guesser(ExplainablePipe[str]):
    """Decides what it is told to, and explains everything."""

    name = "guesser"

    def __init__(self, scores: list[list[float]], wrong: set[tuple[int, int]]) -> None:
        self.scores, self.wrong = scores, wrong
        self.docs: list[Doc] = []
        self.explained: list[tuple[int, int]] = []

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[str]]:
        n = len(self.docs)
        self.docs.append(doc)
        return [
            decided("A", "B" if (n, i) in self.wrong else "A", start=i, score=score)
            for i, score in enumerate(self.scores[n])
        ]

    def explain_against(
        self, doc: Doc, decision: Decision[str], against: str | None, *, top: int | None
    ) -> Explanation:
        (n,) = (n for n, other in enumerate(self.docs) if other is doc)
        self.explained.append((n, decision.start))
        return Explanation(doc[decision.start].text, "A", against or "C", 1.0, ())


@pytest.mark.parametrize(
    ("label", "gold", "is_wrong"), [("A", None, False), ("A", "A", False), ("A", "B", True)]
)
def test_decisions_are_wrong_where_gold_is_another(
    label: str, gold: str | None, is_wrong: bool
) -> None:
    assert decided(label, gold).is_wrong is is_wrong
    arc = Arc(2, label, "")
    assert Decision(0, 1, arc, gold and Arc(2, gold, ""), 0.0).is_wrong is is_wrong
    assert Decision(0, 1, arc, Arc(3, label, ""), 0.0).is_wrong


scores_of_docs = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]), min_size=1, max_size=12),
    min_size=1,
    max_size=5,
)


@given(scores_of_docs, st.data(), st.booleans(), st.integers(1, 5), st.integers(1, 20))
def test_what_is_shown_and_explained(
    scores: list[list[float]], data: Any, only_errors: bool, texts: int, explanations: int
) -> None:
    """Wrong ones first, then the least sure; dotted is a tenth of what is shown."""
    places = [(n, i) for n, own in enumerate(scores) for i in range(len(own))]
    wrong = data.draw(st.sets(st.sampled_from(places)))
    vocab = spacy.blank("xx").vocab
    docs = [Doc(vocab, words=["a"] * len(own)) for own in scores]
    pipe = Guesser(scores, wrong)
    limits = {"texts": texts, "explanations": explanations, "only_errors": only_errors}
    part = read_part(pipe, docs, docs, **limits)  # type: ignore[arg-type]
    assert (part.known, part.wrong) == (len(places), len(wrong))
    assert part.confusions == ([("B", "A", len(wrong))] if wrong else [])
    numbers = [n for n in range(len(docs)) if not only_errors or any(m == n for m, _ in wrong)]
    numbers = numbers[:texts]
    assert [len(shown.lines[0]) for shown in part.docs] == [len(scores[n]) for n in numbers]
    shown = [place for place in places if place[0] in numbers]
    pieces = dict(zip(shown, [p for own in part.docs for p in own.lines[0]], strict=True))
    assert {place for place, piece in pieces.items() if piece.gold} == wrong & {*shown}
    dotted = [scores[n][i] for (n, i), piece in pieces.items() if piece.is_unsure]
    others = [scores[n][i] for (n, i), piece in pieces.items() if not piece.is_unsure]
    assert max(dotted, default=0.0) <= min(others, default=np.inf)
    tenth = -(-len(shown) // 10)
    assert len(dotted) == min(tenth, sum(np.isfinite(scores[n][i]) for n, i in shown))
    order = [(place not in wrong, scores[place[0]][place[1]]) for place in shown]
    expected = sorted(key for key in order if not only_errors or not key[0])[:explanations]
    found = [(place not in wrong, scores[place[0]][place[1]]) for place in pipe.explained]
    assert found == expected
    assert {place for place, piece in pieces.items() if piece.link} == {*pipe.explained}
    for own in part.docs:
        links = {piece.link for piece in own.lines[0]} - {""}
        assert links == {why.link for why in own.reasons}


def test_a_decision_is_explained_as_long_as_there_is_time() -> None:
    docs = [make_doc(spacy.blank("xx").vocab, ["a"] * 9)]
    pipe = Guesser([[1.0] * 9], set())
    part = read_part(pipe, docs, seconds=0.0)
    assert part.docs[0].reasons == pipe.explained == []
    assert len(read_part(Guesser([[1.0] * 9], set()), docs).docs[0].reasons) == 9


def test_gold_that_is_learned_by_heart_is_right(component: Component, trained: Language) -> None:
    pipe, docs, golds = docs_of(component, trained)
    part = read_part(pipe, docs, golds)
    assert (part.name, part.wrong, part.confusions) == (component.name, 0, [])
    assert part.known > 0
    for doc, shown in zip(docs, part.docs, strict=True):
        pieces = [piece for line in shown.lines for piece in line]
        assert "".join(piece.text + piece.space for piece in pieces) == doc.text
        assert not any(piece.gold for piece in shown.lines[0])
        assert not any(why.gold for why in shown.reasons)
    without = read_part(pipe, docs)
    assert (without.known, without.wrong) == (0, 0)
    assert read_part(pipe, docs, golds, only_errors=True).docs == []


def test_decisions_are_what_is_annotated_and_explained(
    component: Component, trained: Language
) -> None:
    pipe, docs, _ = docs_of(component, trained)
    for doc in docs:
        decisions = pipe.decisions(doc)
        scores = pipe.scores(doc)
        ends = [0, *(d.end for d in decisions)]
        for number, d in enumerate(decisions):
            assert ends[number] <= d.start < d.end
            assert d.score == scores[d.start if component.labels_tokens else number]
            explanation = pipe.explain_decision(doc, d, top=3)
            if explanation is not None and component.factory != "ssvm_parser":
                assert explanation.label == d.label
                expected = explanation.margin
                if pipe.labels_spans:  # the score of a span is that of its least sure word
                    curves, outside = pipe.model.calibration, d.label == "O"
                    curve = curves and (curves.outside if outside else curves.spans)
                    (expected,) = probabilities(curve, np.array([expected]))
                    if not outside:
                        expected = min(expected, d.score)
                assert expected == pytest.approx(d.score, abs=1e-5)
        if component.labels_tokens:
            assert [d.start for d in decisions] == [t.i for t in doc if not t.is_space]
    assert pipe.decisions(trained.make_doc("")) == []
    assert pipe.decisions(trained.make_doc("\n")) == []


def test_errors_are_explained_against_gold() -> None:
    nlp = RECOGNIZER.trained()
    pipe: Any = nlp.get_pipe("ssvm_ner")
    doc = nlp("Mary Smith sings in Paris .")
    found = [(entity.text, entity.label_) for entity in doc.ents]
    assert found == [("Mary Smith", "PER"), ("Paris", "LOC")]
    gold = make_doc(nlp.vocab, [token.text for token in doc])
    gold.set_ents([Span(gold, 1, 2, label="PER"), Span(gold, 4, 5, label="NEW")])
    part = read_part(pipe, [doc], [gold])
    (shown,) = part.docs
    pieces = shown.lines[0]
    assert [piece.text for piece in pieces] == ["Mary Smith", "sings", "in", "Paris", "."]
    assert [piece.label for piece in pieces] == ["PER", "", "", "LOC", ""]
    assert [piece.gold for piece in pieces] == ["PER “Smith”", "", "", "NEW", ""]
    assert (part.wrong, part.known, part.units) == (2, 2, "entities"), "not words"
    assert sorted(part.kinds) == [("wrong boundaries", 1), ("wrong type", 1)]
    assert sorted(part.confusions) == [("NEW", "LOC", 1), ("PER", "PER, other boundaries", 1)]
    whys = {why.link: why for why in shown.reasons}
    why = whys[pieces[0].link]
    assert (why.gold, why.kind) == ("PER “Smith”", "wrong boundaries")
    compared = why.explanation.token, why.explanation.label, why.explanation.runner_up
    assert compared in {("Mary", "B-PER", "O"), ("Smith", "L-PER", "U-PER")}
    assert whys[pieces[3].link].explanation.runner_up != "U-NEW", "which the model does not have"
    assert pieces[0].colour not in (0, pieces[3].colour)
    assert pieces[1].colour == 0
    html = render_page("", {}, [part])
    assert "2 of 2 predicted or gold entities are wrong (100.0 %): 1 wrong" in html
    assert "Wrong boundaries: gold is PER “Smith”." in html


@pytest.mark.parametrize(
    ("labels", "golds", "marks"),
    [
        ("O O", "O O", [("none", "none", ""), ("none", "none", "")]),
        ("U-A O", "O O", [("A", "none", "spurious"), ("none", "none", "")]),
        ("O O", "O U-A", [("none", "none", ""), ("none", "A", "missed")]),
        ("B-A L-A", "B-B L-B", [("A", "B", "wrong type")]),
        ("B-A L-A", "O U-A", [("A", "A “b”", "wrong boundaries")]),
        ("B-A L-A", "U-B O", [("A", "B “a”", "wrong boundaries and type")]),
        ("U-A U-A", "B-A L-A", [("A “a”, A “b”", "A", "wrong boundaries and type")]),
        ("U-A U-B", "U-A U-B", [("A", "A", ""), ("B", "B", "")]),
        ("B-A L-A O", "O B-A L-A", [("A “a b”", "A “b c”", "wrong boundaries")]),
        ("B-A I-A L-A", "U-A O ?", [("A", None, "")]),
        ("I-A I-A I-B", "B-A I-A I-A", [("A “a b”, B “c”", "A", "wrong boundaries and type")]),
    ],
)
def test_a_wrong_span_is_one_mark(
    labels: str, golds: str, marks: list[tuple[str, str | None, str]]
) -> None:
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("ssvm_ner")
    words = ["a", "b", "c"][: len(labels.split())]
    doc = Doc(nlp.vocab, words=words)
    pipe.decisions = lambda *_: [
        decided(label, None if gold == "?" else gold, start=i, score=float(i + 1))
        for i, (label, gold) in enumerate(zip(labels.split(), golds.split(), strict=True))
    ]
    found = pipe.marks(doc)
    texts = [(str(d.label), d.gold and str(d.gold)) for d in found]
    assert texts == [mark[:2] for mark in marks]
    kinds = [pipe.kind_of_error(d.gold, d.label) if d.is_wrong else "" for d in found]
    assert kinds == [kind for _, _, kind in marks]
    counted = [gold is not None and (label, gold) != ("none", "none") for label, gold, _ in marks]
    assert [pipe.is_counted(d) for d in found] == counted
    assert [(d.start, d.score) for d in found] == [(d.start, d.start + 1.0) for d in found]
    assert [d.end for d in found] == [*(d.start for d in found[1:]), len(doc)]


def test_spans_end_where_sentences_do() -> None:
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("ssvm_ner")
    pipe.decisions = lambda *_: [decided("I-PER", start=i) for i in (0, 2, 3)]
    doc = make_doc(nlp.vocab, ["Ann", "\n", "Bob", "Lee"], sent_starts=[True, True, False, False])
    assert [(d.start, d.end, str(d.label)) for d in pipe.marks(doc)] == [
        (0, 1, "PER"),
        (2, 4, "PER"),
    ]


def test_what_is_under_the_threshold_is_not_marked() -> None:
    nlp = RECOGNIZER.trained()
    pipe: Any = nlp.get_pipe("ssvm_ner")
    pipe.cfg["threshold"] = 1.0
    doc = nlp("Mary Smith sings .")
    assert not doc.ents
    assert [str(mark.label) for mark in pipe.marks(doc)] == ["none"] * 4
    assert len(read_part(pipe, [doc]).docs[0].reasons) == 4


def test_colours_depend_on_names_alone() -> None:
    """Whatever else a page shows."""
    nlp = RECOGNIZER.trained()
    pipe: Any = nlp.get_pipe("ssvm_ner")
    both, one = (
        {piece.label: piece.colour for piece in read_part(pipe, [nlp(text)]).docs[0].lines[0]}
        for text in ("Mary Smith sings in Paris .", "We sing in Paris .")
    )
    assert both["LOC"] == one["LOC"] != both["PER"]
    frequent = ["PER", "LOC", "ORG", "MISC", "GPE", "DATE", "PRODUCT", "PERSON", "EVENT"]
    alone = [_colours([kind])[kind] for kind in frequent]
    assert len({*alone}) == len(alone)
    assert [_colours(frequent)[kind] for kind in frequent] == alone
    assert len({*_colours(map(str, range(12))).values()}) == 12, "as long as there are any"
    many = _colours(map(str, range(40)))
    assert {*many.values()} == {*range(1, 13)}


def parsed_example(nlp: Language) -> tuple[Any, Doc]:
    """The parser, and a Doc that it has annotated."""
    reference = PARSER.examples(nlp.vocab)[0].reference
    words = [token.text for token in reference]
    doc = make_doc(nlp.vocab, words, sent_starts=[i == 0 for i in range(len(words))])
    return nlp.get_pipe("ssvm_parser"), nlp(doc)


def with_arcs(doc: Doc, heads: list[int], deps: list[str]) -> Doc:
    return make_doc(doc.vocab, [token.text for token in doc], heads=heads, deps=deps)


def test_wrong_labels_are_explained_against_gold() -> None:
    nlp = PARSER.trained()
    pipe, doc = parsed_example(nlp)
    heads = [token.head.i for token in doc]
    token = next(token for token in doc if token.head != token)
    for label in pipe.labels:
        deps = [label if other == token else other.dep_ for other in doc]
        decision = pipe.decisions(doc, with_arcs(doc, heads, deps))[token.i]
        assert str(decision.gold) == f"{label} of {token.head.text}"
        if label == token.dep_:
            assert not decision.is_wrong
            continue
        assert decision.is_wrong
        explanation = pipe.explain_decision(doc, decision, top=None)
        assert explanation == pipe.explain(doc, token, against=label)
        assert (explanation.label, explanation.runner_up) == (token.dep_, label)
        assert pipe.confusion(decision.gold, decision.label) == (label, token.dep_)
    other = with_arcs(doc, heads, ["new" if t == token else t.dep_ for t in doc])
    decision = pipe.decisions(doc, other)[token.i]
    assert str(decision.gold) == f"new of {token.head.text}", "a label that the model lacks"
    assert pipe.explain_decision(doc, decision, top=3) == pipe.explain(doc, token, top=3)


def test_wrong_heads_are_explained_against_gold() -> None:
    nlp = PARSER.trained(pruning=None)
    pipe, doc = parsed_example(nlp)
    heads, deps = [t.head.i for t in doc], [t.dep_ for t in doc]
    token = next(t for t in doc if t.head != t and not list(t.children))
    other = next(t for t in doc if t not in (token, token.head))
    heads[token.i] = other.i
    gold = with_arcs(doc, heads, deps)
    decision = pipe.decisions(doc, gold)[token.i]
    assert decision.gold == Arc(other.i, token.dep_, f"{token.dep_} of {other.text}")
    explanation = pipe.explain_decision(doc, decision, top=None)
    assert explanation == pipe.explain(doc, token, against=other)
    assert (explanation.label, explanation.runner_up) == (token.head.text, other.text)
    assert pipe.confusion(decision.gold, decision.label) == (
        token.dep_,
        f"{token.dep_}, other head",
    )
    part = read_part(pipe, [doc], [gold])
    assert part.confusions == [(token.dep_, f"{token.dep_}, other head", 1)]
    (why,) = (why for why in part.docs[0].reasons if why.gold)
    assert why.gold == f"{token.dep_} of {other.text}"


def test_heads_that_the_pruner_discards_are_not_explained() -> None:
    nlp = PARSER.trained(pruning=0.0)
    pipe, doc = parsed_example(nlp)
    token = next(t for t in doc if t.head != t and not list(t.children))
    other = next(t for t in doc if t not in (token, token.head))
    gold = with_arcs(doc, [(other if t == token else t.head).i for t in doc], [t.dep_ for t in doc])
    decision = pipe.decisions(doc, gold)[token.i]
    assert decision.is_wrong
    assert pipe.explain_decision(doc, decision, top=3) is None, "there is no other head at all"


def test_heads_of_the_same_text_are_told_apart() -> None:
    nlp = PARSER.trained()
    pipe: Any = nlp.get_pipe("ssvm_parser")
    words, deps = ["said", "Ann", "said", "Bob"], ["ROOT", "nsubj", "conj", "nsubj"]
    doc = make_doc(nlp.vocab, words, heads=[0, 0, 0, 2], deps=deps)
    gold = make_doc(nlp.vocab, words, heads=[0, 2, 0, 2], deps=deps)
    found = [(str(d.label), str(d.gold), d.is_wrong) for d in pipe.decisions(doc, gold)]
    assert found == [
        ("ROOT", "ROOT", False),
        ("nsubj of said (1)", "nsubj of said (2)", True),
        ("conj of said (1)", "conj of said (1)", False),
        ("nsubj of said (2)", "nsubj of said (2)", False),
    ]
    unparsed = make_doc(nlp.vocab, words, sent_starts=[True, False, False, False])
    assert pipe.decisions(unparsed) == []


@pytest.mark.slow
def test_units_of_several_tokens() -> None:
    nlp = LABELER.trained()
    labeler: Any = nlp.get_pipe("ssvm_sentence_labeler")
    example = labelled_examples(nlp.vocab)[0]
    doc, gold = nlp(example.predicted), example.reference.copy()
    spans = list(gold.spans["sentence_labels"])
    right = [span.label_ for span in spans]
    other = next(label for label in labeler.labels if label != right[0])
    changed = [other, "new", *right[2:]]
    gold.spans["sentence_labels"] = [
        Span(gold, span.start, span.end, label=label)
        for span, label in zip(spans[:-1], changed, strict=False)
    ]
    part = read_part(labeler, [doc], [gold])
    assert part.units == "lines"
    assert (part.known, part.wrong) == (len(spans) - 1, 2), "the last one has no gold label"
    (shown,) = part.docs
    units = [piece for piece in shown.lines[0] if piece.label]
    assert [unit.label for unit in units] == right
    assert [unit.text for unit in units] == [span.text for span in spans]
    assert [unit.gold for unit in units] == [other, "new", *[""] * (len(spans) - 2)]
    colours = {unit.label: unit.colour for unit in units}
    assert 0 not in colours.values()
    assert len({*colours.values()}) == len(colours)
    whys = {why.link: why.explanation for why in shown.reasons}
    assert whys[units[0].link].runner_up == other
    assert whys[units[1].link].runner_up != "new"
    html = str(labeler.show(doc))
    assert html.count('class="unit') == len(spans)


@pytest.fixture(scope="module")
def aligner() -> Language:
    """A pipeline that links the words of a made-up language with those of its translation."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_aligner", config={"solver": EAGER_SOLVER, "min_count": 1})
    examples = planted_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    return nlp


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_links_of_words(aligner: Language, seed: int) -> None:
    pipe: Any = aligner.get_pipe("ssvm_aligner")
    gold = planted_doc(aligner.vocab, seed)
    doc = aligner(planted_doc(aligner.vocab, seed, links=False))
    margins = pipe.scores(doc)
    decisions = pipe.decisions(doc, gold)
    assert len(decisions) == len(margins)
    links = {tuple(link) for link in doc._.alignment}
    shift = doc.spans["target"][0].start
    for j, decision in enumerate(decisions):
        assert {(j, k + shift) for k in decision.label.targets} == {x for x in links if x[0] == j}
        assert not decision.is_wrong
        assert decision.score == np.abs(margins[j]).min()
        assert str(decision.label) == ", ".join(doc[k + shift].text for k in decision.label.targets)
        explanation = pipe.explain_decision(doc, decision, top=2)
        assert explanation.margin == pytest.approx(decision.score)
    assert [d.gold for d in pipe.decisions(doc)] == [None] * len(decisions)


@pytest.mark.slow
def test_wrong_links(aligner: Language) -> None:
    """The link that differs, and is the least sure, is explained."""
    pipe: Any = aligner.get_pipe("ssvm_aligner")
    words = ["\n", "s1", "s2", "s3"], ["t1", "t2", "t2", "zz"]
    gold = make_pair(aligner.vocab, *words, np.array([[2, 3]]))
    doc = aligner(make_pair(aligner.vocab, *words))
    first, second, third = pipe.decisions(doc, gold)
    assert (first.label, first.gold) == (Links((0,), "t1"), Links((), "-"))
    assert pipe.explain_decision(doc, first, top=3) == pipe.explain(doc, 1, 0, top=3)
    assert second.gold == Links((3,), "zz")
    k = min([*second.label.targets, 3], key=lambda k: abs(pipe.scores(doc)[2, k]))
    assert pipe.explain_decision(doc, second, top=3) == pipe.explain(doc, 2, k, top=3)
    assert second.label.text in ("t2 (1)", "t2 (2)")
    part = read_part(pipe, [doc], [gold])
    assert (part.known, part.wrong) == (3, 2 + third.is_wrong)
    pair = doc[: len(words[0])].as_doc()
    pair._.translation = doc[len(words[0]) :].as_doc()
    for shown in (part.docs[0], read_part(pipe, [pair]).docs[0]):
        lines = [[piece.text for piece in line] for line in shown.lines]
        assert lines == [*words], "of one Doc or of two"
        assert not any(piece.label for piece in shown.lines[1])
    assert str(pipe.show(pair)).count('class="text words"') == 2
    lonely = aligner(make_pair(aligner.vocab, ["s1"], []))
    (decision,) = pipe.decisions(lonely)
    assert (decision.label, decision.score) == (Links((), "-"), np.inf)
    assert pipe.explain_decision(lonely, decision, top=3) is None


@pytest.mark.slow
def test_possible_links_are_right_whether_found_or_not(aligner: Language) -> None:
    pipe: Any = aligner.get_pipe("ssvm_aligner")
    words = ["s1", "s2"], ["t1", "t2", "u2"]
    doc = aligner(make_pair(aligner.vocab, *words))
    possible = np.array([[0, 0], [1, 2]])
    gold = make_pair(aligner.vocab, *words, np.array([[1, 1]]), possible)
    found = [(d.label.targets, d.is_wrong) for d in pipe.decisions(doc, gold)]
    assert found == [((0,), False), ((1,), False)]


def identifiers(html: str) -> list[str]:
    return re.findall(r'id="([^"]+)"', html)


def test_a_page_of_a_doc_for_notebooks(component: Component, trained: Language) -> None:
    pipe, docs, _ = docs_of(component, trained)
    page = pipe.show(docs[0], top=2)
    assert isinstance(page, Page)
    html = page._repr_html_()
    assert html == str(page)
    assert html.count("<style>") == 1
    for token in docs[0]:
        assert token.is_space or token.text in html
    links = re.findall(r'href="#([^"]+)"', html)
    assert links
    with pytest.raises(ValueError, match="top is 0: give the number of features"):
        pipe.show(docs[0], top=0)
    assert {*links} <= {*identifiers(html)}
    assert len(identifiers(html)) == len({*identifiers(html)})


def test_identifiers_of_pages_in_a_notebook_differ_and_those_of_files_do_not() -> None:
    nlp = TAGGER.trained()
    pipe: Any = nlp.get_pipe("ssvm_tagger")
    doc = nlp("The old dog barks .")
    first, second = (identifiers(str(pipe.show(doc))) for _ in range(2))
    assert first
    assert not {*first} & {*second}
    parts = [read_part(pipe, [doc]), read_part(pipe, [doc])]  # as of two components
    files = [render_page("", {}, parts) for _ in range(2)]
    assert files[0] == files[1]
    found = identifiers(files[0])
    assert len(found) == len({*found}) == 2 * len(first)


def test_tags_with_hyphens_are_no_spans() -> None:
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("ssvm_tagger", name="my 'tagger'")
    golds = [make_doc(nlp.vocab, ["Dogs", "bark"], tags=["N-PL", "I-V"])]
    examples = [Example(make_doc(nlp.vocab, ["Dogs", "bark"]), gold) for gold in golds]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    part = read_part(tagger, [nlp(golds[0].copy())])
    (shown,) = part.docs
    assert [(piece.label, piece.colour) for piece in shown.lines[0]] == [("N-PL", 0), ("I-V", 0)]
    assert shown.reasons


def test_texts_are_escaped() -> None:
    nlp = TAGGER.trained()
    doc = nlp(make_doc(nlp.vocab, ["The", "<script>", "&", "dog"]))
    page = render_page("<title>", {"a": "<b>"}, [read_part(nlp.get_pipe("ssvm_tagger"), [doc])])
    assert "<script" not in page
    assert "&lt;script" in page
    assert "<title>&lt;title&gt;</title>" in page
    assert "<dd>&lt;b&gt;</dd>" in page
