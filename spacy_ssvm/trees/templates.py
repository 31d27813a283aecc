"""Features of arcs: templates over head, dependent, sibling, grandparent and the words between.

    template  =  part ("+" part)*              head.tag+dependent.tag+distance
    part      =  role "." attribute ["[" offset "]"]     head.tag[-1], dependent.lower
              |  "between." attribute          each value that a token between the two has
              |  "direction" | "distance"      of the dependent, as seen from the head

A template with a part of the sibling or the grandparent is a template of pairs of arcs. The sibling
of a dependent is the adjacent dependent of the same head, on the side towards the head; the
grandparent is the head of its head. The root is a token before the sentence; the end of the
sentence is used where there is no sibling. With a grandparent, direction and distance also say on
which side of the head it is. Templates of labels are applied to complete trees and have further
roles: see ``trees/labels.py``.

Keys and rows of features are computed in ``trees/keys.py``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.extraction import (
    CompiledTemplates,
    CompiledTemplatesType,
    compile_templates,
    select_templates,
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
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Bool, Flags, Ints, Ints1, Ints2, Keys, Keys2, named_tuple

HEAD, DEPENDENT, BETWEEN = "head", "dependent", "between"
SIBLING, GRANDPARENT = "sibling", "grandparent"
DIRECTION, DISTANCE = "direction", "distance"

#: The roles of templates of arcs and of pairs of arcs.
ARC_ROLES = (HEAD, DEPENDENT, SIBLING, GRANDPARENT)

_PART = re.compile(rf"([a-z]+)\.({LAYERED}|[A-Za-z_][\w.*]*)(?:\[(-?\d+)\])?")

FARTHEST = (1, 2, 3, 5, 10)  # the maximum of each class of distances; one more class is above
DISTANCE_CLASSES = 2 * (len(FARTHEST) + 1) + 1  # in both directions, and from the root
_GRANDPARENT_BEHIND = np.uint64(16)  # a bit above those of codes of direction and distance
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class ArcTemplate:
    """A conjunction of parts of an arc, or of a pair of arcs."""

    parts: tuple[tuple[str, Part], ...]  #: (role, part of its token), sorted, without duplicates
    between: str | None = None  #: an attribute
    geometry: str | None = None  #: "direction" or "distance"

    @classmethod
    def parse(cls, text: str, roles: Collection[str] = ARC_ROLES) -> "ArcTemplate":
        """Read a template. Raises TemplateError, which names the part that is wrong."""
        parts: set[tuple[str, Part]] = set()
        between, geometry = None, None
        for piece in map(str.strip, text.split("+")):
            match = _PART.fullmatch(piece)
            if piece in (DIRECTION, DISTANCE):
                if geometry is not None:
                    raise TemplateError(f"names '{piece}' beside '{geometry}': one is enough")
                geometry = piece
            elif match is None or match[1] not in (*roles, BETWEEN):
                raise TemplateError(
                    f"cannot read '{shorten(piece)}'. A part is written role.attribute[offset] "
                    f"(roles: {', '.join(roles)}), between.attribute, direction or distance"
                )
            elif match[1] == BETWEEN:
                if between is not None or match[3] is not None:
                    raise TemplateError(f"'{piece}': one part between.attribute, without offset")
                between = match[2]
            else:
                part = Part(int(match[3] or 0), match[2])
                if abs(part.offset) > MAX_OFFSET:
                    raise TemplateError(f"offset {part.offset} is over {MAX_OFFSET} tokens away")
                parts.add((match[1], part))
        ordered = sorted(parts, key=lambda item: (tuple(roles).index(item[0]), item[1]))
        template = cls(tuple(ordered), between, geometry)
        is_of_label = len(roles) > len(ARC_ROLES)
        if between is not None and (is_of_label or not template.is_of_arc):
            raise TemplateError("'between' is for templates of arcs alone")
        if not is_of_label and template.side(SIBLING) and template.side(GRANDPARENT):
            raise TemplateError("names a sibling and a grandparent: one of them is enough")
        return template

    def side(self, role: str) -> tuple[Part, ...]:
        """The parts of one role."""
        return tuple(part for other, part in self.parts if other == role)

    @property
    def attributes(self) -> set[str]:
        """The attributes that the template reads."""
        names = {part.attribute for _, part in self.parts}
        return names if self.between is None else names | {self.between}

    @property
    def is_of_arc(self) -> bool:
        """Whether it is a template of single arcs."""
        return not self.side(SIBLING) and not self.side(GRANDPARENT)

    @property
    def _tokens(self) -> list[str]:
        parts = [
            f"{role}.{part.attribute}" + (f"[{part.offset}]" if part.offset else "")
            for role, part in self.parts
        ]
        return parts if self.between is None else [*parts, f"{BETWEEN}.{self.between}"]

    def __str__(self) -> str:
        return "+".join(self._tokens + ([] if self.geometry is None else [self.geometry]))

    def seed(self, role: str) -> str:
        """The text that seeds the hashes of a role; independent of ``geometry``."""
        return f"{role}: {'+'.join(self._tokens)}"


def parse_arc_templates(
    items: Iterable[str],
    *,
    families: dict[str, tuple[str, ...]],
    roles: Collection[str] = ARC_ROLES,
    is_attribute: Callable[[str], bool],
    attributes: Collection[str],
) -> tuple[ArcTemplate, ...]:
    """Parse templates and families; see ``parse_items``.

    roles: the roles that templates may have.
    is_attribute: whether a name is an attribute of tokens.
    attributes: the names to list in errors.
    """

    def parse(text: str) -> ArcTemplate:
        template = ArcTemplate.parse(text, roles)
        for name in template.attributes:
            if not is_attribute(name):
                raise TemplateError(
                    f"there is no attribute '{shorten(name)}'. Attributes: "
                    f"{', '.join(attributes)}; any spaCy token attribute in lower case"
                )
        return template

    return parse_items(items, parse, families, example="head.tag")


def find_arc_refinements(templates: Sequence[ArcTemplate]) -> Flags:
    """Whether template b needs template a: bool [T, T], [a, b].

    It does where each part of a is one of b, or coarser than one of the same role and offset
    [MSAF11, section 3.1]. Here this holds for ``between`` and the geometry, too, where the
    distance implies the direction.
    """
    refines = np.zeros((len(templates), len(templates)), dtype=bool)
    features = [set(_features_of(template)) for template in templates]
    for a, template in enumerate(templates):
        wanted = [
            {(role, offset, name) for name in _finer_names(role, attribute)}
            for role, offset, attribute in _features_of(template)
        ]
        for b in range(len(templates)):
            refines[a, b] = a != b and all(choices & features[b] for choices in wanted)
    return refines


def _features_of(template: ArcTemplate) -> Iterable[tuple[str, int, str]]:
    """The features that a template conjoins: (role, offset, attribute)."""
    yield from ((role, part.offset, part.attribute) for role, part in template.parts)
    if template.between is not None:
        yield BETWEEN, 0, template.between
    if template.geometry is not None:
        yield "", 0, template.geometry


def _finer_names(role: str, attribute: str) -> set[str]:
    if role:
        return as_fine(attribute)
    return {DIRECTION, DISTANCE} if attribute == DIRECTION else {attribute}


class CompiledArcTemplates(NamedTuple):
    """Templates as arrays; those with a part ``between`` come last.

    Templates read few different sets of parts of a node: these are hashed once, for all roles.
    """

    parts: CompiledTemplates  #: the sets of parts, as templates
    numbers: Ints  #: int64 [3, T]: the set of head, dependent and third of each template
    seeds: Keys  #: uint64 [3, T]
    has_third: bool  #: whether there are parts of a third, the sibling or the grandparent
    #: uint64 [classes of distance, T]: they change the last bits of a row. Further rows, as many,
    #: are for a grandparent behind the head.
    codes: Keys
    between: Ints  #: int64: the columns of the last templates


CompiledArcTemplatesType = named_tuple(
    CompiledArcTemplates, CompiledTemplatesType, Ints2, Keys2, Bool, Keys2, Ints1
)


def in_order(templates: Iterable[ArcTemplate]) -> tuple[ArcTemplate, ...]:
    """The templates in the order in which they are compiled."""
    return tuple(sorted(templates, key=lambda template: template.between is not None))


def compile_arc_templates(
    templates: Sequence[ArcTemplate], attributes: Sequence[str], third: str = SIBLING
) -> CompiledArcTemplates:
    """Templates over a table whose columns are these attributes.

    third: the role, besides head and dependent, that they can have.
    """
    templates = in_order(templates)
    roles = HEAD, DEPENDENT, third
    sets = [[Template(t.side(role)) for t in templates] for role in roles]
    different = list(dict.fromkeys(chain.from_iterable(sets)))
    parts = compile_templates(different, attributes)
    numbers = [[different.index(each) for each in of_role] for of_role in sets]
    seeds = [[hash_text(t.seed(role)) for t in templates] for role in roles]
    codes = np.zeros((DISTANCE_CLASSES, len(templates)), dtype=np.uint64)
    for t, template in enumerate(templates):
        if template.geometry == DIRECTION:
            codes[:, t] = np.repeat([1, 2, 15], [len(FARTHEST) + 1, len(FARTHEST) + 1, 1])
        elif template.geometry == DISTANCE:
            codes[:, t] = [*range(3, 2 + DISTANCE_CLASSES), 15]
    if third == GRANDPARENT:
        codes = np.vstack([codes, np.where(codes > 0, codes ^ _GRANDPARENT_BEHIND, codes)])
    columns = [attributes.index(t.between) for t in templates if t.between is not None]
    return CompiledArcTemplates(
        parts._replace(seeds=parts.seeds | np.uint64(1)),  # 0 is for what is missing
        np.array(numbers, dtype=np.int64),
        np.array(seeds, dtype=np.uint64),
        any(template.side(third) for template in templates),
        codes,
        np.array(columns, dtype=np.int64),
    )


def select_arc_templates(
    templates: CompiledArcTemplates, wanted: Sequence[int]
) -> CompiledArcTemplates:
    """Some of the templates, by their numbers, which must rise."""
    first_between = templates.codes.shape[1] - len(templates.between)
    of_between = [t - first_between for t in wanted if t >= first_between]
    sets = templates.numbers[:, list(wanted)]
    needed = list(dict.fromkeys(sets.ravel().tolist()))
    numbers = np.array([[needed.index(each) for each in of_role] for of_role in sets.tolist()])
    parts = select_templates(templates.parts, needed)
    third_parts = np.diff(parts.part_starts)[numbers[2].astype(np.int64)]
    return CompiledArcTemplates(
        parts,
        numbers.reshape(sets.shape).astype(np.int64),
        np.ascontiguousarray(templates.seeds[:, list(wanted)]),
        bool(third_parts.any()),
        np.ascontiguousarray(templates.codes[:, list(wanted)]),
        templates.between[of_between],
    )


def that_fire(templates: CompiledArcTemplates, is_absent: Flags) -> CompiledArcTemplates:
    """The templates that can fire where no word has some of the attributes.

    is_absent: bool [columns]. Nodes that are no words have all attributes: what reads those of the
    head, or of neighbours, may fire.
    """
    parts, numbers = templates.parts, templates.numbers[1].tolist()  # of the dependent
    starts = parts.part_starts.tolist()
    reads_absent = is_absent[parts.columns] & (parts.offsets == 0)
    cannot_fire = [reads_absent[first:end].any() for first, end in pairwise(starts)]
    first_between = len(numbers) - len(templates.between)
    wanted = [
        t
        for t, number in enumerate(numbers)
        if not cannot_fire[number]
        and not (t >= first_between and is_absent[templates.between[t - first_between]])
    ]
    return select_arc_templates(templates, wanted) if wanted else templates
