"""Decisions of components as HTML: each word with its label, confidence and reasons."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc

from spacy_ssvm._jit import Floats
from spacy_ssvm.explanation import Explanation, render

#: The share of the words that are shown as unsure: those with the least confidence.
_UNSURE = 0.1
_OUTSIDE = ("", "O", "inside")  # labels that are not shown
_COLOURS = 6  # of types of spans
_NO_WORD = re.compile(r"\W")
_CONFUSIONS = 10  # pairs of labels that are shown


class Decision(NamedTuple):
    """What a component has decided about a word."""

    label: str  #: "" for whitespace
    gold: str  #: "" where it is not known


class Decider(Protocol):
    """A component whose decisions can be shown."""

    name: str
    labels_spans: bool  #: whether labels are those of a scheme, such as B-PER

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision]:
        """What it decides about each token. reference: a Doc with gold annotation."""
        ...

    def scores(self, doc: Doc) -> Floats:
        """The confidence in each of them."""
        ...

    def explain_decision(
        self, doc: Doc, i: int, decision: Decision, *, top: int | None
    ) -> Explanation | None:
        """The reasons, against the gold label where the decision is wrong; None for no choice."""
        ...


class Word(NamedTuple):
    """A token of a page."""

    text: str
    space: str  #: behind it
    label: str  #: that is shown with it
    colour: int  #: of the type of its span, from 1; 0 outside of spans
    gold: str  #: where the label is wrong, else ""
    is_unsure: bool
    link: str  #: the identifier of its explanation; "" for none


class Reasons(NamedTuple):
    """An explanation, or an error without one."""

    link: str
    explanation: Explanation
    gold: str  #: where the label is wrong, else ""


class ShownDoc(NamedTuple):
    """A Doc of a page."""

    words: list[Word]
    reasons: list[Reasons]
    wrong: int


class Part(NamedTuple):
    """The decisions of a component."""

    name: str
    docs: list[ShownDoc]
    known: int  #: words with gold labels
    wrong: int
    confusions: list[tuple[str, str, int]]  #: gold label, decision, number


def render_page(title: str, facts: dict[str, str], parts: Sequence[Part]) -> str:
    """A whole page in HTML. facts: names and values shown above the texts."""
    return render("components/page.html", title=title, facts=facts, parts=parts)


def render_demo(
    title: str, facts: dict[str, str], parts: Sequence[Part], *, text: str, longest: int
) -> str:
    """The same with a form for a text. longest: in characters."""
    values = {"title": title, "facts": facts, "parts": parts, "text": text, "longest": longest}
    return render("components/demo.html", **values)


class Page:
    """HTML that notebooks show. ``str()`` gives it as text."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts

    def __str__(self) -> str:
        return render("components/decisions.html", parts=self.parts)

    def _repr_html_(self) -> str:
        return str(self)


def read_part(
    pipe: Decider,
    docs: Sequence[Doc],
    references: Sequence[Doc] | None = None,
    *,
    top: int | None = 8,
    explanations: int = 300,
    only_errors: bool = False,
) -> Part:
    """The decisions of a component about Docs that the pipeline has annotated.

    references: Docs with gold annotation.
    top: the number of features in an explanation, see ``explain``.
    explanations: the most words to explain: wrong ones first, then those of least confidence.
    only_errors: whether to leave out Docs without errors.
    """
    golds: Sequence[Doc | None] = references or [None] * len(docs)
    decided = [pipe.decisions(*pair) for pair in zip(docs, golds, strict=True)]
    is_wrong = [[bool(d.label and d.gold) and d.gold != d.label for d in own] for own in decided]
    scores = [pipe.scores(doc) for doc in docs]
    ranked = sorted(
        (not is_wrong[n][i], float(scores[n][i]), n, i)
        for n, own in enumerate(decided)
        for i, decision in enumerate(own)
        if decision.label and (not only_errors or is_wrong[n][i])
    )
    chosen = {(n, i) for _, _, n, i in ranked[:explanations]}
    finite = [
        scores[n][i]
        for n, own in enumerate(decided)
        for i, decision in enumerate(own)
        if decision.label and np.isfinite(scores[n][i])
    ]
    limit = np.quantile(finite, _UNSURE) if finite else -np.inf
    types = _types_of(decided) if pipe.labels_spans else {}
    shown = []
    for n, doc in enumerate(docs):
        if only_errors and not any(is_wrong[n]):
            continue
        words, reasons = [], []
        for i, decision in enumerate(decided[n]):
            gold = decision.gold if is_wrong[n][i] else ""
            link = ""
            explanation = (
                pipe.explain_decision(doc, i, decision, top=top) if (n, i) in chosen else None
            )
            if explanation is not None:
                link = f"{_NO_WORD.sub('_', pipe.name)}-{n}-{i}"
                reasons.append(Reasons(link, explanation, gold))
            after = decided[n][i + 1].label if i + 1 < len(doc) else ""
            words.append(
                Word(
                    doc[i].text,
                    doc[i].whitespace_,
                    _shown_label(decision.label, after) if types else _shown(decision.label),
                    types.get(_type_of(decision.label), 0),
                    gold,
                    bool(decision.label) and scores[n][i] <= limit,
                    link,
                )
            )
        shown.append(ShownDoc(words, reasons, sum(is_wrong[n])))
    confusions = Counter(
        (d.gold, d.label)
        for own, flags in zip(decided, is_wrong, strict=True)
        for d, wrong in zip(own, flags, strict=True)
        if wrong
    )
    return Part(
        pipe.name,
        shown,
        sum(bool(d.label and d.gold) for own in decided for d in own),
        sum(map(sum, is_wrong)),
        [(*pair, number) for pair, number in confusions.most_common(_CONFUSIONS)],
    )


def _type_of(label: str) -> str:
    """The type of a span to which a label belongs; "" for other labels."""
    letter, is_span, kind = label.partition("-")
    return kind if is_span and len(letter) == 1 else ""


def _types_of(decided: Iterable[Sequence[Decision]]) -> dict[str, int]:
    """A colour, from 1, for each type of spans."""
    kinds = {_type_of(d.label) for own in decided for d in own} - {""}
    return {kind: i % _COLOURS + 1 for i, kind in enumerate(sorted(kinds))}


def _shown(label: str) -> str:
    return "" if label in _OUTSIDE else label


def _shown_label(label: str, after: str) -> str:
    """What is shown with a word: of a span, its type at its last word."""
    kind = _type_of(label)
    if not kind:
        return _shown(label)
    goes_on = _type_of(after) == kind and after[0] in "IL"
    return "" if goes_on else kind
