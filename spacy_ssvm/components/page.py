"""Decisions of components as HTML: each word or sentence with its label, confidence and reasons."""

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4
from zlib import crc32

from spacy.tokens import Doc, Span

from spacy_ssvm.explanation import Explanation, check_top, render

WORDS = "words"

_UNSURE = 0.1  # the share of units that are shown as unsure: those with the least confidence
_OUTSIDE = ("O", "inside", "none")  # labels that are not shown
_COLOURS = 12  # of labels of spans
_SEED = 83  # with which PER, LOC, ORG, MISC, GPE, DATE and other frequent types have different ones
_CONFUSIONS = 10  # pairs of labels that are shown

#: What is decided; ``str()`` gives it as text.
Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True)
class Decision(Generic[Label]):
    """What a component has decided about a unit: a word, or a run of tokens."""

    start: int  #: its first token
    end: int  #: after its last one
    label: Label
    gold: Label | None  #: None where it is not known
    score: float  #: the confidence, infinite where nothing else is possible

    @property
    def is_wrong(self) -> bool:
        """Whether gold is known, and another label."""
        return self.gold is not None and self.gold != self.label


class ExplainablePipe(Generic[Label]):
    """A component whose decisions can be shown."""

    name: str
    labels_spans = False  #: whether labels are those of a scheme, such as B-PER
    reads_pairs = False  #: whether its Docs are pairs of parallel texts

    @property
    def marked(self) -> str:
        """What is marked on pages, in the plural: by default, its units."""
        return self.units

    @property
    def units(self) -> str:
        """What it decides about, in the plural."""
        return WORDS

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[Label]]:
        """What it decides about each unit that is not whitespace, in text order.

        reference: a Doc with gold annotation.
        """
        raise NotImplementedError

    def marks(self, doc: Doc, reference: Doc | None = None) -> list[Decision[Any]]:
        """What pages show as one, and count where it is wrong: by default, each decision."""
        return list(self.decisions(doc, reference))

    def is_counted(self, decision: Decision[Any]) -> bool:
        """Whether a mark counts among those with gold labels."""
        return decision.gold is not None

    def kind_of_error(self, gold: Any, label: Any) -> str:  # noqa: ARG002
        """In what way a mark is wrong, in words; "" where there is one way alone."""
        return ""

    def kind_of_label(self, label: Any) -> str:
        """What labels of one colour have in common; "" for no colour."""
        return "" if self.units == WORDS else str(label)

    def lines(self, doc: Doc) -> list[Span]:
        """What is shown of a Doc, each run of tokens on a line of its own: its sentences."""
        return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]

    def explain_against(
        self, doc: Doc, decision: Decision[Label], against: Label | None, *, top: int | None
    ) -> Explanation:
        """The reasons for a decision and against another one, None for the runner-up.

        top: the number of features to show, None for all.
        Raises ValueError where the other one is not possible.
        """
        raise NotImplementedError

    def explain_decision(
        self, doc: Doc, decision: Decision[Label], *, top: int | None
    ) -> Explanation | None:
        """The reasons for a decision, against gold where it is wrong and gold is possible.

        None where nothing else is possible.
        """
        for against in (decision.gold, None) if decision.is_wrong else (None,):
            try:
                return self.explain_against(doc, decision, against, top=top)
            except ValueError:
                continue
        return None

    def confusion(self, gold: Label, label: Label) -> tuple[str, str]:
        """A gold label and another one that was decided, as texts by which errors are counted."""
        return str(gold), str(label)

    def show(self, doc: Doc, *, top: int | None = 8) -> "Page":
        """The decisions about a Doc with confidence and reasons, for a notebook.

        doc: as the pipeline has annotated it. top: as in ``explain``.
        """
        return Page([read_part(self, [doc], top=top)])


class TokenView(NamedTuple):
    """A unit of a page, or a token outside of units."""

    text: str
    space: str  #: behind it
    label: str = ""  #: that is shown with it
    colour: int = 0  #: of its label, from 1; 0 for none
    gold: str = ""  #: where the label is wrong
    is_unsure: bool = False
    link: str = ""  #: the identifier of its explanation; "" for none


class Reasons(NamedTuple):
    """An explanation."""

    link: str
    explanation: Explanation
    gold: str  #: where the label is wrong, else ""
    kind: str  #: of the error, where there are several, else ""


class ShownDoc(NamedTuple):
    """A Doc of a page."""

    lines: list[list[TokenView]]
    reasons: list[Reasons]


class ComponentView(NamedTuple):
    """The decisions of a component."""

    name: str
    units: str  #: what is marked, in the plural
    labels_spans: bool  #: whether labels are those of a scheme, such as B-PER
    docs: list[ShownDoc]
    known: int  #: units with gold labels
    wrong: int
    kinds: list[tuple[str, int]]  #: of errors, where there are several, with their numbers
    confusions: list[tuple[str, str, int]]  #: gold label, decision, number
    scores: str = ""  #: by which the component is judged


def render_page(title: str, facts: Mapping[str, str], parts: Sequence[ComponentView]) -> str:
    """A whole page in HTML. facts: names and values shown above the texts."""
    return render("components/page.html", title=title, facts=facts, parts=parts, page="")


def render_demo(
    title: str, facts: Mapping[str, str], parts: Sequence[ComponentView], *, text: str, longest: int
) -> str:
    """The same with a form for a text. longest: in characters."""
    values = {"title": title, "facts": facts, "parts": parts, "text": text, "longest": longest}
    return render("components/demo.html", **values, page="")


class Page:
    """HTML that notebooks show, beside others. ``str()`` gives it as text."""

    def __init__(self, parts: Sequence[ComponentView]) -> None:
        self.parts = parts
        self._identifier = uuid4().hex[:12]

    def __str__(self) -> str:
        return render("components/decisions.html", parts=self.parts, page=f"-{self._identifier}")

    def _repr_html_(self) -> str:
        return str(self)


def read_part(
    pipe: ExplainablePipe[Any],
    docs: Sequence[Doc],
    references: Sequence[Doc] | None = None,
    *,
    top: int | None = 8,
    texts: int | None = None,
    explanations: int = 300,
    seconds: float = inf,
    only_errors: bool = False,
) -> ComponentView:
    """The decisions of a component about Docs that the pipeline has annotated.

    references: Docs with gold annotation.
    top: the number of features in an explanation, see ``explain``.
    texts: the most Docs to show, None for all; errors are counted in all of them.
    explanations: the most units to explain: wrong ones first, then those of least confidence.
    seconds: after which no further unit is explained.
    only_errors: whether to show only Docs with errors, and to explain only these.
    Raises ValueError where top is less than 1.
    """
    check_top(top)
    golds: Sequence[Doc | None] = references or [None] * len(docs)
    decided = [pipe.marks(*pair) for pair in zip(docs, golds, strict=True)]
    every = [decision for own in decided for decision in own]
    wrong = [decision for decision in every if decision.is_wrong]
    shown = [
        (doc, own)
        for doc, own in zip(docs, decided, strict=True)
        if not only_errors or any(decision.is_wrong for decision in own)
    ][:texts]
    places = [(n, decision) for n, (_, own) in enumerate(shown) for decision in own]
    places.sort(key=lambda place: place[1].score)
    least = places[: ceil(_UNSURE * len(places))]
    unsure = {(n, decision.start) for n, decision in least if isfinite(decision.score)}
    places.sort(key=lambda place: not place[1].is_wrong)
    if only_errors:
        places = [place for place in places if place[1].is_wrong]
    end, texts_shown = perf_counter() + seconds, [doc for doc, _ in shown]
    reasons = _explain(pipe, texts_shown, places[:explanations], end, top)
    kinds = {pipe.kind_of_label(decision.label) for decision in every} - {""}
    colours = _colours(kinds.union(getattr(pipe, "labels", ())))
    errors = Counter(_kind_of_error(pipe, decision) for decision in wrong)
    confusions = Counter(pipe.confusion(decision.gold, decision.label) for decision in wrong)
    return ComponentView(
        pipe.name,
        pipe.marked,
        pipe.labels_spans,
        [
            ShownDoc(
                [
                    [*_pieces(pipe, (n, doc, own), line, colours, unsure, reasons)]
                    for line in pipe.lines(doc)
                ],
                [
                    Reasons(
                        _link(n, d.start), reasons[n, d.start], _gold(d), _kind_of_error(pipe, d)
                    )
                    for d in own
                    if (n, d.start) in reasons
                ],
            )
            for n, (doc, own) in enumerate(shown)
        ],
        sum(map(pipe.is_counted, every)),
        len(wrong),
        [(kind, number) for kind, number in errors.most_common() if kind],
        [(*pair, number) for pair, number in confusions.most_common(_CONFUSIONS)],
    )


def _explain(
    pipe: ExplainablePipe[Any],
    docs: Sequence[Doc],
    places: Sequence[tuple[int, Decision[Any]]],
    end: float,
    top: int | None,
) -> dict[tuple[int, int], Explanation]:
    """The explanations of decisions, by their Doc and first token, as far as the time suffices."""
    reasons: dict[tuple[int, int], Explanation] = {}
    for n, decision in places:
        if perf_counter() >= end:
            break
        explanation = pipe.explain_decision(docs[n], decision, top=top)
        if explanation is not None:
            reasons[n, decision.start] = explanation
    return reasons


def _pieces(
    pipe: ExplainablePipe[Any],
    decided: tuple[int, Doc, Sequence[Decision[Any]]],
    line: Span,
    colours: Mapping[str, int],
    unsure: Container[tuple[int, int]],
    explained: Container[tuple[int, int]],
) -> Iterator[TokenView]:
    """The text of a line, with what is decided about its units.

    decided: the number of a Doc, the Doc, and all that is decided about it. The line may be of
        another Doc.
    unsure, explained: the numbers of Docs, and the first tokens of units.
    """
    n, doc, own = decided
    decisions = [d for d in own if line.doc is doc and line.start <= d.start < line.end]
    end = line.start
    for decision in decisions:
        yield from _outside(doc, end, decision.start)
        end = decision.end
        place = n, decision.start
        yield TokenView(
            doc[decision.start : end].text,
            doc[end - 1].whitespace_,
            "" if str(decision.label) in _OUTSIDE else str(decision.label),
            colours.get(pipe.kind_of_label(decision.label), 0),
            _gold(decision),
            place in unsure,
            _link(*place) if place in explained else "",
        )
    yield from _outside(line.doc, end, line.end)


def _outside(doc: Doc, start: int, end: int) -> Iterator[TokenView]:
    """The tokens between units."""
    return (TokenView(token.text, token.whitespace_) for token in doc[start:end])


def _gold(decision: Decision[Any]) -> str:
    """The gold label of a wrong decision, as text, else ""."""
    return str(decision.gold) if decision.is_wrong else ""


def _link(n: int, start: int) -> str:
    """The identifier of an explanation within a part: the Doc, and the first token of the unit."""
    return f"{n}-{start}"


def _kind_of_error(pipe: ExplainablePipe[Any], decision: Decision[Any]) -> str:
    """In what way a decision is wrong; "" where it is not, or where there is one way alone."""
    return pipe.kind_of_error(decision.gold, decision.label) if decision.is_wrong else ""


def _colours(kinds: Iterable[str]) -> dict[str, int]:
    """The colour of each kind of label, from 1: by its name, the next one where it is taken."""
    found: dict[str, int] = {}
    for kind in sorted(kinds):
        first = crc32(kind.encode(), _SEED)
        numbers = [(first + i) % _COLOURS + 1 for i in range(_COLOURS)]
        found[kind] = next((n for n in numbers if n not in found.values()), numbers[0])
    return found
