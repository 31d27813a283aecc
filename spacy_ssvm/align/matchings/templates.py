"""Features of links: templates over a source word, a target word and the evidence for a link.

    template  =  part ("+" part)*               source.lower+target.lower, hmm+source.pos
    part      =  side "." attribute ["[" offset "]"]    source.lower, target.prefix4[-1]
              |  "same." attribute ["[" offset "]"]     fires where both words have the same value
              |  "position"                     class of the difference of relative positions
              |  evidence ["[" offset "]"]      hmm, dice: a number, which is the feature's value
              |  "bin." evidence ["[" offset "]"]       the class of the number
              |  "rank." evidence ["[" offset "]"]      whether it is the largest of its words

An offset moves to the neighbours on the named side; for ``same`` and evidence, to the neighbours
on both sides. A template has at most one number: it is the value of the feature; all others have
the value 1. Keys of features are computed in ``align/matchings/keys.py``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spacy_ssvm.align.bitext.link_scores import COLUMNS as ASSOCIATION
from spacy_ssvm.align.matchings.families import FAMILIES
from spacy_ssvm.features.extraction import (
    CompiledTemplates,
    CompiledTemplatesType,
    compile_templates,
)
from spacy_ssvm.features.templates import (
    LAYERED,
    MAX_OFFSET,
    Part,
    Template,
    TemplateError,
    as_fine,
    parse_items,
)
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Flags, Ints, Ints1, named_tuple

SOURCE, TARGET, SAME, BIN, RANK = "source", "target", "same", "bin", "rank"
POSITION = "position"

#: Evidence from the words themselves.
STRING_SIMILARITY, DISTANCE = "string_similarity", "distance"

#: Evidence from a lexicon.
LEXICON = "lexicon"

#: All evidence but that of extension attributes.
EVIDENCE = (*ASSOCIATION, STRING_SIMILARITY, DISTANCE, LEXICON)  # the first: see ``bitext``

_EXTENSION = "_."
_PART = re.compile(
    rf"(?:(source|target|same|bin|rank)\.)?({LAYERED}|[A-Za-z_][\w.*]*)(?:\[(-?\d+)\])?"
)


@dataclass(frozen=True, order=True)
class LinkPart:
    """A part of a template: a role, and what it reads.

    role: "source", "target", "same", "bin", "rank", "position", or "" for a number.
    """

    role: str
    part: Part

    @classmethod
    def parse(cls, text: str) -> "LinkPart":
        """Read a part. Raises TemplateError where it cannot be read."""
        match = _PART.fullmatch(text)
        if match is None:
            raise TemplateError(
                f"cannot read '{shorten(text)}'. A part is written source.attribute[offset], "
                f"target.attribute[offset], same.attribute, {POSITION}, or names a number: "
                f"{', '.join(EVIDENCE)}, _.name; bin.dice and rank.dice are its class and rank"
            )
        role, name, offset = match[1] or "", match[2], int(match[3] or 0)
        if not role and name == POSITION:
            if match[3] is not None:
                raise TemplateError(f"'{text}': {POSITION} takes no offset")
            role = POSITION
        if abs(offset) > MAX_OFFSET:
            raise TemplateError(f"offset {offset} is over {MAX_OFFSET} words away")
        return cls(role, Part(offset, name))

    def __str__(self) -> str:
        role = f"{self.role}." if self.role in (SOURCE, TARGET, SAME, BIN, RANK) else ""
        offset = f"[{self.part.offset}]" if self.part.offset else ""
        return f"{role}{self.part.attribute}{offset}"

    @property
    def is_evidence(self) -> bool:
        """Whether the part reads a number of the link."""
        return self.role in ("", BIN, RANK)


_ORDER = (SOURCE, TARGET, SAME, POSITION, BIN, RANK, "")


@dataclass(frozen=True)
class LinkTemplate:
    """A conjunction of parts, sorted, without duplicates, with at most one number."""

    parts: tuple[LinkPart, ...]

    @classmethod
    def parse(cls, text: str) -> "LinkTemplate":
        """Read a template. Raises TemplateError, which names the part that is wrong."""
        parts = {LinkPart.parse(piece.strip()) for piece in text.split("+")}
        if sum(part.role == "" for part in parts) > 1:
            raise TemplateError(
                "two numbers: one is enough, others can be classes, such as bin.hmm"
            )
        return cls(tuple(sorted(parts, key=lambda part: (_ORDER.index(part.role), part.part))))

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))

    def side(self, role: str) -> tuple[Part, ...]:
        """The parts of one role."""
        return tuple(part.part for part in self.parts if part.role == role)

    @property
    def attributes(self) -> set[str]:
        """The attributes of words that the template reads."""
        return {p.part.attribute for p in self.parts if p.role in (SOURCE, TARGET, SAME)}

    @property
    def needs_association(self) -> bool:
        """Whether the template reads the association of words."""
        return not self.evidence.isdisjoint(ASSOCIATION)

    @property
    def evidence(self) -> set[str]:
        """The numbers of links that the template reads."""
        return {p.part.attribute for p in self.parts if p.is_evidence}


def is_evidence(name: str) -> bool:
    """Whether templates may use the name as a number of links."""
    return name in EVIDENCE or (name.startswith(_EXTENSION) and name != _EXTENSION)


def parse_link_templates(
    items: Iterable[str], *, is_attribute: Callable[[str], bool], attributes: Collection[str]
) -> tuple[LinkTemplate, ...]:
    """Parse templates and families; see ``parse_items``.

    items: templates, and names of families, see ``align/matchings/families.py``.
    is_attribute: whether a name is an attribute of tokens. attributes: those to list in errors.
    """

    def parse(text: str) -> LinkTemplate:
        template = LinkTemplate.parse(text)
        _check_names(template, is_attribute, attributes)
        return template

    return parse_items(items, parse, FAMILIES, example="aligner")


def _check_names(
    template: LinkTemplate, is_attribute: Callable[[str], bool], attributes: Collection[str]
) -> None:
    for name in sorted(template.evidence):
        if not is_evidence(name):
            raise TemplateError(
                f"there is no number '{shorten(name)}'. Numbers of links: {', '.join(EVIDENCE)}; "
                "_.name for an extension attribute of Docs"
            )
    for name in sorted(template.attributes):
        if not is_attribute(name):
            raise TemplateError(
                f"there is no attribute '{shorten(name)}'. Attributes: {', '.join(attributes)}; "
                "any spaCy token attribute in lower case; _.name for an extension attribute"
            )


class LinkTemplates(NamedTuple):
    """Templates of links as arrays.

    Discrete parts of links are columns of a table; ``column_kinds`` says how to compute each.
    """

    source: CompiledTemplates
    target: CompiledTemplates
    part_starts: Ints  #: int64 [T + 1]: the discrete parts of each template
    part_columns: Ints  #: int64 [parts]: the column of each
    part_offsets: Ints  #: int64 [parts]
    numbers: Ints  #: int64 [T]: the column of evidence of each template, -1 for none
    number_offsets: Ints  #: int64 [T]
    column_kinds: Ints  #: int64 [columns]: an index of ``COLUMN_KINDS``
    column_arguments: Ints  #: int64 [columns]: the column of attributes or evidence


LinkTemplatesType = named_tuple(
    LinkTemplates, CompiledTemplatesType, CompiledTemplatesType, *[Ints1] * 7
)

#: How columns of discrete parts are computed.
COLUMN_KINDS = (POSITION, SAME, BIN, RANK)


def compile_link_templates(
    templates: Sequence[LinkTemplate], attributes: Sequence[str], evidence: Sequence[str]
) -> LinkTemplates:
    """Templates over words with these attributes and links with this evidence."""
    columns: dict[tuple[str, str], int] = {}
    parts: list[tuple[int, int]] = []
    starts = [0]
    numbers, offsets = [], []
    for template in templates:
        number = template.side("")
        numbers.append(evidence.index(number[0].attribute) if number else -1)
        offsets.append(number[0].offset if number else 0)
        for part in template.parts:
            if part.role in COLUMN_KINDS:
                key = part.role, part.part.attribute
                parts.append((columns.setdefault(key, len(columns)), part.part.offset))
        starts.append(len(parts))
    arguments = {
        POSITION: lambda name: 0,  # noqa: ARG005
        SAME: attributes.index,
        BIN: evidence.index,
        RANK: evidence.index,
    }
    return LinkTemplates(
        _compile_side(templates, SOURCE, attributes),
        _compile_side(templates, TARGET, attributes),
        np.array(starts, dtype=np.int64),
        np.array([column for column, _ in parts], dtype=np.int64),
        np.array([offset for _, offset in parts], dtype=np.int64),
        np.array(numbers, dtype=np.int64),
        np.array(offsets, dtype=np.int64),
        np.array([COLUMN_KINDS.index(role) for role, _ in columns], dtype=np.int64),
        np.array([arguments[role](name) for role, name in columns], dtype=np.int64),
    )


def _compile_side(
    templates: Sequence[LinkTemplate], role: str, attributes: Sequence[str]
) -> CompiledTemplates:
    sides = [Template(template.side(role)) for template in templates]
    compiled = compile_templates(sides, attributes)
    texts = [Template((Part(0, f"{role}: {template}"),)) for template in templates]
    seeds = compile_templates(texts, [f"{role}: {template}" for template in templates]).seeds
    return compiled._replace(seeds=seeds)


def find_link_refinements(templates: Sequence[LinkTemplate]) -> Flags:
    """Whether template b needs template a: bool [T, T], [a, b].

    It does where each part of a is one of b, or coarser than one of the same role and offset
    [MSAF11, section 3.1].
    """
    refines = np.zeros((len(templates), len(templates)), dtype=bool)
    for a, template in enumerate(templates):
        wanted = [
            {LinkPart(p.role, Part(p.part.offset, name)) for name in as_fine(p.part.attribute)}
            for p in template.parts
        ]
        for b, other in enumerate(templates):
            refines[a, b] = a != b and all(choices & set(other.parts) for choices in wanted)
    return refines
