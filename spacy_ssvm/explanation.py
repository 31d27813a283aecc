"""Why a token gets its label: the features that fired, with their weights."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from wasabi.tables import table as format_table

if TYPE_CHECKING:
    from jinja2 import Environment

OTHER_FEATURES = "other features"


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


class Feature(NamedTuple):
    """A feature of a model, as it occurs in texts."""

    template: str
    value: str  #: the values of its attributes, as text
    weight: float  #: for the label that was asked for
    words: int  #: of the texts that have it


@dataclass(frozen=True)
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

    def __str__(self) -> str:
        rows = [
            (
                r.template,
                r.value,
                *(f"{x:+.3f}" for x in (r.weight, r.runner_up_weight)),
                f"{r.difference:+.3f}",
            )
            for r in self.reasons
        ]
        header = ("template", "value", self.label, self.runner_up, "difference")
        table: str = format_table(
            [*rows, ("", "", "", "margin", f"{self.margin:+.3f}")],
            header=header,
            aligns=("l", "l", "r", "r", "r"),
            divider=True,
            max_col=max(len(cell) for row in (header, *rows) for cell in row),
        )
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
