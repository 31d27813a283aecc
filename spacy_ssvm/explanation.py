"""Why a token gets its label: the features that fired, with their weights."""

from collections.abc import Iterable
from dataclasses import dataclass

from wasabi.tables import table as format_table

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


@dataclass(frozen=True)
class Explanation:
    """The best label sequence against the best one with the runner-up at the token.

    The differences of all reasons add up to the margin. ``str()`` gives a table.
    """

    token: str
    label: str
    runner_up: str
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


def strongest(features: Iterable[Reason], top: int | None) -> list[Reason]:
    """The features with the largest absolute differences first, the others added up in one row.

    top: how many features to keep, None for all.
    Raises ValueError where top is less than 1.
    """
    if top is not None and top < 1:
        raise ValueError(f"top is {top}: give the number of features to show, or None for all")
    ranked = sorted(features, key=lambda reason: -abs(reason.difference))
    shown, others = ranked[:top], ranked[len(ranked[:top]) :]
    if others:
        weights = sum(r.weight for r in others), sum(r.runner_up_weight for r in others)
        shown.append(Reason(OTHER_FEATURES, f"{len(others)} more", *weights))
    return shown
