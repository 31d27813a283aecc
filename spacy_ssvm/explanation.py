"""Why a token gets its label: the features that fired, with their weights."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from wasabi.tables import table as format_table

from spacy_ssvm.files import shorten

if TYPE_CHECKING:
    from jinja2 import Environment

OTHER_FEATURES = "other features"

_PART = re.compile(r"([\w.]+)\[(-?\d+)\]")  # of a template: attribute[offset]
_PLACES = {0: "the word", -1: "the previous word", 1: "the next word"}
#: What an attribute says of a word: for any value, "{}", or for some values.
_SAID: dict[str, str | dict[str, str]] = {
    "orth": "is written '{}'",
    "lower": "is '{}'",
    "prefix": "begins with '{}'",
    "suffix": "ends with '{}'",
    "stem": "begins with '{}'",
    "shape": "has the shape {}",
    "shape_full": "has the shape {}",
    "case": {
        "lower": "is in small letters",
        "upper": "is in capitals",
        "title": "begins with a capital",
        "mixed": "mixes small letters and capitals",
        "uncased": "has letters without case",
        "none": "has no letters",
    },
    "digits": {"all": "is all digits", "some": "has digits", "none": "has no digits"},
    "hyphen": {"yes": "has a hyphen"},
    "punctuation": {"yes": "is punctuation", "no": "is no punctuation"},
    "length_class": "has {} characters",
    "cluster": "is in the word cluster {} {kind}",
    "space_before": {
        "none": "follows without a space",
        "space": "follows a space",
        "spaces": "follows several spaces",
        "line": "begins a line",
        "paragraph": "begins a paragraph",
    },
    "gazetteer": {
        "B": "is the first word of a name in the list {kind}",
        "I": "is an inner word of a name in the list {kind}",
        "E": "is the last word of a name in the list {kind}",
        "S": "is a name in the list {kind}",
    },
}
_SAME = {"case_class": "case", "digit_class": "digits"}
_NUMBERED = re.compile(r"(prefix|suffix|stem|cluster)\d*")
_ELSEWHERE = "doc_majority"  # of other occurrences of a word


@dataclass(frozen=True)
class Reason:
    """One row of an explanation: a feature, or a sum of what is not shown one by one."""

    template: str
    value: str  #: the values of its attributes, as text
    weight: float  #: for the chosen label
    runner_up_weight: float  #: for the other one

    @property
    def difference(self) -> float:
        """By how much the feature prefers the chosen label."""
        return self.weight - self.runner_up_weight

    @property
    def said(self) -> str:
        """What it says of the text, in words where there are any."""
        return in_words(self.template, self.value) or self.value


class Feature(NamedTuple):
    """A feature of a model, as it occurs in texts."""

    template: str
    value: str  #: the values of its attributes, as text
    weight: float  #: for the label that was asked for
    words: int  #: of the texts that have it


class Features(list[Feature]):
    """Features of a label. ``str()`` gives a table."""

    def __init__(self, label: str, features: Iterable[Feature]) -> None:
        super().__init__(features)
        self._label = label

    def __repr__(self) -> str:
        first = ", ".join(f"{f.template} {f.value} {f.weight:+.3f}" for f in self[:3])
        return f"<{len(self)} features of {self._label}: {first}{', ...' if self[3:] else ''}>"

    def __str__(self) -> str:
        rows = [(f.template, f.value, f"{f.weight:+.3f}", f"{f.words}") for f in self]
        header = ("template", "value", self._label, "words")
        return _table(rows, header, aligns=("l", "l", "r", "r"))


@dataclass(frozen=True, repr=False)
class Explanation:
    """The best label sequence against the best one with another label at the token.

    The differences of all reasons add up to the margin. ``str()`` gives a table, and notebooks
    show bars.
    """

    token: str
    label: str
    runner_up: str  #: the other label: the second best, unless another was asked for
    margin: float
    reasons: tuple[Reason, ...]

    def __repr__(self) -> str:
        what = f"'{self.token}': {self.label}, not {self.runner_up}, by {self.margin:.3f}"
        return f"<{what}; {len(self.reasons)} reasons>"

    def __str__(self) -> str:
        rows = [
            (
                r.template,
                r.value if "+" in r.template else r.said,  # which would be long
                *(f"{x:+.3f}" for x in (r.weight, r.runner_up_weight)),
                f"{r.difference:+.3f}",
            )
            for r in self.reasons
        ]
        rows.append(("", "", "", "margin", f"{self.margin:+.3f}"))
        header = ("template", "feature", self.label, self.runner_up, "difference")
        table = _table(rows, header, aligns=("l", "l", "r", "r", "r"))
        return f"'{self.token}': {self.label}, not {self.runner_up}\n{table}"

    def to_html(self, *, with_style: bool = True) -> str:
        """A table with a bar for each reason, as part of a page in HTML.

        with_style: whether the styles come with it; False where the page has them already.
        """
        largest = max((abs(reason.difference) for reason in self.reasons), default=0.0) or 1.0
        values = {"it": self, "largest": largest, "with_style": with_style}
        return render("explanation.html", **values)

    def _repr_html_(self) -> str:
        return self.to_html()


class Explanations(tuple[Explanation, ...]):
    """Those of the words of a span. ``str()`` gives tables, and notebooks show bars."""

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self))}{',' * (len(self) == 1)})"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(explanation.to_html() for explanation in self)


def in_words(template: str, value: str) -> str:
    """What a feature says of the words of a text; "" for one of a template without words for it."""
    parts, values = template.split("+"), value.split(" + ")
    if len(parts) != len(values):  # a value with a plus, or none
        return ""
    said = [_said(part, own) for part, own in zip(parts, values, strict=True)]
    return " and ".join(said) if all(said) else ""


def _said(part: str, value: str) -> str:
    """The same for one attribute of a word."""
    match = _PART.fullmatch(part)
    if match is None:
        return ""
    attribute, offset = match[1], int(match[2])
    where = "before" if offset < 0 else "after"
    place = _PLACES.get(offset) or f"the word {abs(offset)} places {where}"
    if value in ("<start>", "<end>"):
        return f"there is no {place.removeprefix('the ')}"
    first, _, kind = attribute.partition(".")
    if first == _ELSEWHERE:
        said = _said(f"{kind}[{offset}]", value)
        return f"elsewhere in the text, {said}" if said else ""
    name = _SAME.get(first, first)
    numbered = _NUMBERED.fullmatch(name)
    phrases = _SAID.get(numbered[1] if numbered else name)
    if phrases is None:
        is_tag = attribute in ("tag", "pos", "dep", "lemma", "norm", "ent_type")
        return f"{place} has the {attribute} {value}" if is_tag else ""
    if isinstance(phrases, dict):
        phrases = phrases.get(value, "")
    return f"{place} {phrases.format(value, kind=kind)}".rstrip() if phrases else ""


def _table(
    rows: Sequence[tuple[str, ...]], header: tuple[str, ...], aligns: Sequence[Literal["l", "r"]]
) -> str:
    most = max(len(cell) for row in (header, *rows) for cell in row)
    table: str = format_table(rows, header=header, aligns=aligns, divider=True, max_col=most)
    return table


def render(template: str, **values: Any) -> str:
    """HTML from a template of this package, a path in its folder."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only to show something

    return Environment(
        loader=PackageLoader("spacy_ssvm", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def numbered(texts: Sequence[str]) -> list[str]:
    """Texts of words, each with its number behind it where it occurs several times."""
    number, seen = Counter(texts), Counter[str]()
    names = []
    for text in texts:
        seen[text] += 1
        names.append(f"{text} ({seen[text]})" if number[text] > 1 else text)
    return names


def check_top(top: int | None) -> None:
    """Raise ValueError for a number of features that is less than 1."""
    if top is not None and top < 1:
        raise ValueError(f"top is {top}: give the number of features to show, or None for all")


def strongest(features: Iterable[Reason], top: int | None) -> list[Reason]:
    """The features with the largest absolute differences first, the others added up in one row.

    top: how many features to keep, None for all.
    Raises ValueError where top is less than 1.
    """
    check_top(top)
    ranked = sorted(features, key=lambda reason: -abs(reason.difference))
    shown, others = ranked[:top], ranked[len(ranked[:top]) :]
    if others:
        weights = sum(r.weight for r in others), sum(r.runner_up_weight for r in others)
        shown.append(Reason(OTHER_FEATURES, f"{len(others)} more", *weights))
    return shown


class Contrast(NamedTuple):
    """The best labels against the best ones with the runner-up at some position."""

    labels: tuple[int, int]  #: at the position: the best one and the runner-up
    names: tuple[str, str]  #: of these labels
    margin: float
    around: tuple[Reason, ...]  #: by which the label and those next to it score together
    elsewhere: tuple[float, float]  #: all other scores

    def explain(self, text: str, features: list[Reason], elsewhere: str) -> Explanation:
        """The explanation of the label of a text, by the features that fired there.

        elsewhere: the name of all other scores.
        """
        reasons = (*features, *self.around, Reason(elsewhere, "", *self.elsewhere))
        return Explanation(text, *self.names, self.margin, reasons)


def other_label(labels: Sequence[str], best: int, against: str, what: str) -> int:
    """The number of the label to compare the best one with.

    Raises ValueError where it is the best one, or does not exist; what: is there, for the message.
    """
    number = label_number(labels, against)
    if number == best:
        raise ValueError(f"{what} has the label '{against}': give another one to compare it with")
    return number


def label_number(labels: Sequence[str], label: str) -> int:
    """The number of a label. Raises ValueError where it does not exist."""
    if label not in labels:
        raise ValueError(f"there is no label '{label}' among {shorten(', '.join(labels))}")
    return labels.index(label)
