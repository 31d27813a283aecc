"""The language of templates of units: sentences, lines, paragraphs or spans of a Doc.

    template  =  part ("+" part)*                    first(lower, 2)+position
    part      =  value ["[" offset "]"]              bag(lower)[-1]: of the unit before
    value     =  "bag(" attribute ["," n] ")"        each distinct run of 1 to n adjacent words
              |  "first(" attribute ["," n] ")"      the first n words, in order
              |  "last(" attribute ["," n] ")"       the last n words, in order
              |  position | length | ...             an attribute of the unit: UNIT_ATTRIBUTES
              |  _.name                              an extension attribute of spans
    family    =  the name of a preset                sentences

A template fires where all its parts have a value. A bag has several values: the template then
makes a feature of each, and at most one of its parts can be a bag. A unit outside the Doc has a
value of its own, for each distance. A run has no value where one of its words lacks the
attribute, nor where the unit is shorter.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from spacy_ssvm.features.templates import (
    BARE_NAME,
    LAYERED,
    MAX_OFFSET,
    Part,
    Template,
    TemplateError,
    parse_items,
)
from spacy_ssvm.files import shorten

BAG, FIRST, LAST = "bag", "first", "last"
UNIT = ""  #: the kind of an attribute of the unit itself

#: The largest number of words in a run.
MAX_RUN = 8

#: The attributes of units, see ``units.py``.
UNIT_ATTRIBUTES = ("position", "index", "index_from_end", "count", "length")
_EXTENSION = "_."

_NAME = f"(?:{LAYERED}|{BARE_NAME}?)"  # the shortest: spaces may follow
_PART = re.compile(
    rf"(?:(bag|first|last)\(\s*({_NAME})\s*(?:,\s*(\d+)\s*)?\)|({_NAME}))\s*(?:\[(-?\d+)\])?"
)

#: Families by name.
SENTENCE_FAMILIES: dict[str, tuple[str, ...]] = {
    "sentences": (
        "bag(lower, 2)",
        "first(lower)",
        "first(lower, 2)",
        "first(lower, 3)",
        "last(lower)",
        "last(lower, 2)",
        "first(lower, 2)[-1]",
        "first(lower, 2)[1]",
        "first(lower)+position",
        "first(lower, 2)+position",
        "position",
        "index",
        "index_from_end",
        "count",
        "length",
    ),
}


def is_unit_attribute(name: str) -> bool:
    """Whether templates may use the name as an attribute of units."""
    return name in UNIT_ATTRIBUTES or (name.startswith(_EXTENSION) and name != _EXTENSION)


@dataclass(frozen=True, order=True)
class UnitPart(Part):
    """One attribute of the unit at an offset from the current one, or of its words."""

    kind: str = UNIT  #: BAG, FIRST or LAST of the words, or UNIT
    run: int = 1  #: the number of words in a run, for a bag the largest one

    def __str__(self) -> str:
        text = self.attribute
        if self.kind != UNIT:
            text = f"{self.kind}({text}, {self.run})" if self.run > 1 else f"{self.kind}({text})"
        return f"{text}[{self.offset}]" if self.offset else text


@dataclass(frozen=True)
class SentenceTemplate(Template):
    """A conjunction of parts, sorted and without duplicates; a bag comes last."""

    parts: tuple[UnitPart, ...]

    @classmethod
    def parse(cls, text: str) -> "SentenceTemplate":
        """Read a template. Raises TemplateError, which names the part that is wrong."""
        parts = {_parse_part(piece.strip()) for piece in text.split("+")}
        ordered = sorted(parts, key=lambda part: (part.kind == BAG, part))
        if len(ordered) > 1 and ordered[-2].kind == BAG:
            raise TemplateError("conjoins two bags: at most one part can be a bag")
        return cls(tuple(ordered))


def _parse_part(text: str) -> UnitPart:
    match = _PART.fullmatch(text)
    if match is None:
        raise TemplateError(
            f"cannot read '{shorten(text)}'. A part is written bag(attribute, n), "
            f"first(attribute, n), last(attribute, n), {', '.join(UNIT_ATTRIBUTES)} or _.name, "
            "with [offset] for another unit"
        )
    kind, attribute, run, name, offset = match.groups()
    part = UnitPart(int(offset or 0), attribute or name, kind or UNIT, int(run or 1))
    if abs(part.offset) > MAX_OFFSET:
        raise TemplateError(f"offset {part.offset} is over {MAX_OFFSET} units away")
    if not 1 <= part.run <= MAX_RUN:
        raise TemplateError(f"runs of {part.run} words: 1 to {MAX_RUN} are possible")
    return part


def parse_sentence_templates(
    items: Iterable[str], *, is_attribute: Callable[[str], bool], attributes: Collection[str]
) -> tuple[SentenceTemplate, ...]:
    """Parse templates and families; see ``parse_items``.

    is_attribute: whether a name is an attribute of tokens.
    attributes: the names to list in errors.
    """

    def parse(text: str) -> SentenceTemplate:
        template = SentenceTemplate.parse(text)
        for part in template.parts:
            _check_attribute(part, is_attribute, attributes)
        return template

    return parse_items(items, parse, SENTENCE_FAMILIES, example="bag(lower)")


def _check_attribute(
    part: UnitPart, is_attribute: Callable[[str], bool], attributes: Collection[str]
) -> None:
    """Raise TemplateError where the part names an attribute that does not exist."""
    name = shorten(part.attribute)
    if part.kind == UNIT and not is_unit_attribute(part.attribute):
        raise TemplateError(
            f"units have no attribute '{name}'. Attributes: {', '.join(UNIT_ATTRIBUTES)}; _.name "
            f"for an extension attribute of spans. For words, write bag({name}), first({name}) or "
            f"last({name})"
        )
    if part.kind != UNIT and not is_attribute(part.attribute):
        raise TemplateError(
            f"words have no attribute '{name}'. Attributes: {', '.join(attributes)}; any spaCy "
            "token attribute in lower case (tag, pos, lemma, ent_type, ...); _.name for an "
            "extension attribute"
        )
