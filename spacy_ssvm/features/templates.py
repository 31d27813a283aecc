"""The template language: which token attributes make a feature.

    template  =  part ("+" part)*          lower[-1]+lower[0]
    part      =  attribute "[" offset "]"  suffix3[0], shape[1], tag[-2], morph.Number[psor][0]
    family    =  the name of a preset      tagger
              |  ngrams(attribute, n, window)
              |  clusters(bits, ...)

``ngrams(lower, 2, 1)`` means all runs of one or two adjacent tokens within one token of
the current one: lower[-1], lower[0], lower[1], lower[-1]+lower[0],
lower[0]+lower[1]. ``clusters(4, 10)`` means such runs of word clusters, of 4 bits and of 10,
for each set of clusters: ngrams(cluster4.*, 2, 1) and ngrams(cluster10.*, 2, 1). In the same way,
gazetteer.* stands for each type of gazetteers, and morph.* for each morphological feature (see
``features/wildcards.py``).

A template fires where all its parts have a value. A position outside the sentence has a value
of its own; an attribute that a token lacks (a fourth letter, a tag that is not set) has none.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from spacy_ssvm.features.documents import DOC_MAJORITY
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Flags

#: The largest distance of a part from the current token.
MAX_OFFSET = 16

#: A layer of a morphological feature, and a feature with one, as regular expressions.
LAYER = r"\[[a-z]\w*\]"
LAYERED = rf"(?:{re.escape(DOC_MAJORITY)})?morph\.\w+{LAYER}"
#: The names of attributes in templates of tokens and units, without layers and with them.
BARE_NAME = r"[A-Za-z_][^\[\]()+,]*"
ATTRIBUTE_NAME = rf"(?:{LAYERED}|{BARE_NAME})"

#: The prefix of extension attributes that are read as numbers.
REAL = "real"

#: The attributes of spaCy that are real-valued.
VECTOR, TENSOR = "vector", "tensor"

_PART = re.compile(rf"({ATTRIBUTE_NAME})\[(-?\d+)\]")
_CLUSTERS = re.compile(r"clusters\(\s*(\d+(?:\s*,\s*\d+)*)\s*\)")
_NGRAMS = re.compile(rf"ngrams\(\s*({ATTRIBUTE_NAME})\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")


def is_real_attribute(name: str) -> bool:
    """Whether the values of an attribute are real numbers, see ``reals.py``."""
    prefix = f"{REAL}._."
    return name in (VECTOR, TENSOR) or (name.startswith(prefix) and name != prefix)


def _runs(attribute: str, length: int, reach: int) -> list[str]:
    """All runs of ``length`` adjacent tokens at most ``reach`` away."""
    return [
        "+".join(f"{attribute}[{start + j}]" for j in range(length))
        for start in range(-reach, reach - length + 2)
    ]


def _runs_that_touch(attribute: str, n: int, window: int) -> list[str]:
    """All runs of 1 to n tokens that share a token with the window."""
    return [
        run for length in range(1, n + 1) for run in _runs(attribute, length, window + length - 1)
    ]


#: Families by name. Those with wildcards have no templates where there is nothing to read.
PRESETS: dict[str, tuple[str, ...]] = {
    "tagger": (
        "ngrams(lower, 2, 2)",
        "lower[-1]+lower[1]",
        "orth[0]",
        *(f"prefix{n}[0]" for n in range(1, 6)),
        *(f"suffix{n}[0]" for n in range(1, 6)),
        "suffix2[-1]",
        "suffix2[1]",
        "shape_full[0]",
        "shape[0]",
        "shape[-1]+shape[0]",
        "shape[0]+shape[1]",
        "shape[-1]+shape[0]+shape[1]",
        "shape[0]+suffix2[0]",
        "length_class[0]",
        "clusters(4)",
        *(f"ngrams(cluster{bits}.*, 1, 1)" for bits in (6, 10, "")),
        "dictionary.*[0]",
    ),
}


PRESETS["chunker"] = (
    *PRESETS["tagger"],
    "suffix3[-1]",
    "suffix3[1]",
    "suffix3[-1]+suffix3[0]",
    "suffix3[0]+suffix3[1]",
    "ngrams(shape, 1, 1)",
    "digits[0]",
    "hyphen[0]",
    "clusters(6, 10)",
    "ngrams(cluster.*, 2, 1)",
    "ngrams(tag, 3, 2)",
    "tag[0]+lower[0]",
    "tag[-1]+lower[0]",
    "lower[0]+tag[1]",
)
PRESETS["ner"] = (
    "ngrams(lower, 1, 2)",
    "ngrams(lower, 2, 1)",
    "orth[0]",
    *(f"prefix{n}[0]" for n in range(1, 6)),
    *(f"suffix{n}[0]" for n in range(1, 6)),
    "suffix3[-1]",
    "suffix3[1]",
    "ngrams(shape, 1, 2)",
    "shape[-2]+shape[-1]+shape[0]",
    "shape[-1]+shape[0]+shape[1]",
    "shape[0]+shape[1]+shape[2]",
    "shape_full[0]",
    "shape[0]+lower[-1]",
    "shape[0]+lower[1]",
    "shape[0]+suffix3[0]",
    "case[0]",
    "digits[0]",
    "hyphen[0]",
    "punctuation[0]",
    "length_class[0]",
    "clusters(4, 6, 10)",
    "ngrams(cluster.*, 2, 1)",
    "ngrams(gazetteer.*, 2, 1)",
)
# Words with the annotation of components before: what is not there makes no features.
PRESETS["lemmatizer"] = (
    "lower[0]",
    "orth[0]",
    *(f"prefix{n}[0]" for n in range(1, 4)),
    *(f"suffix{n}[0]" for n in range(1, 6)),
    "case_class[0]+digit_class[0]",
    "lower[-1]",
    "lower[1]",
    "dictionary.*[0]",
    *(
        f"{annotation}[0]{of_word}"
        for annotation in ("tag", "pos", "morph")
        for of_word in (
            "",
            "+case_class[0]",
            "+lower[0]",
            *(f"+suffix{n}[0]" for n in range(1, 6)),
        )
    ),
)
# What a first morphologizer has found at and around a word, in addition to the family tagger.
PRESETS["second_pass"] = (
    "ngrams(pos, 2, 3)",
    "ngrams(morph, 2, 2)",
    "lower[0]+morph[-1]",
    "lower[0]+morph[0]",
    "lower[0]+morph[1]",
)
# Whitespace, in addition to the families tagger and ner: the line breaks of raw text tell where
# sentences begin, missing spaces what belongs together.
PRESETS["spaces"] = (
    "space_before[0]",
    "space_before[1]",
    "space_before[0]+case[0]",
    "space_before[0]+shape[0]",
)
# What other occurrences of a word in its Doc are, in addition to the family ner.
PRESETS["document"] = (
    "ngrams(doc_majority.ent_type, 2, 1)",
    "doc_majority.ent_type[0]+shape[0]",
    "doc_majority.ent_type[0]+lower[-1]",
    "doc_majority.ent_type[0]+lower[1]",
)
PRESETS["senter"] = (
    "ngrams(lower, 2, 2)",
    "lower[-2]+lower[-1]+case[0]",
    "lower[-1]+case[0]",
    "lower[-1]+shape[0]",
    "shape[-1]+lower[0]",
    "orth[-1]",
    "suffix3[-1]",
    "suffix3[0]",
    "ngrams(shape, 3, 2)",
    "shape_full[0]",
    "ngrams(case, 3, 2)",
    "ngrams(punctuation, 3, 2)",
    "length_class[-1]",
    "space_before[-1]",
    "space_before[0]",
    "space_before[0]+lower[0]",
    "space_before[0]+case[0]",
    "space_before[0]+shape[-1]+shape[0]",
    "space_before[0]+lower[-1]+case[0]",
    "space_before[-1]+lower[-1]+space_before[0]",
    "space_before[-1]+lower[-1]+space_before[0]+case[0]",
    "ngrams(cluster10.*, 3, 2)",
    "cluster6.*[-1]+case[0]",
    "cluster6.*[0]+case[0]",
)
# Tags as evidence of sentence starts, in addition to the family senter.
PRESETS["senter_tags"] = (
    "ngrams(tag, 5, 3)",
    "tag[0]+case[0]",
    "tag[-1]+tag[0]+case[0]",
    "tag[-1]+lower[0]",
    "lower[-1]+tag[0]",
)
# [MSAF11, section 5] gives the number of templates, 96 and 452. Counting the runs that share a
# token with the window gives 96 = 65 + 24 + 7 only with a window of 1 for shapes, whose pairs then
# reach the paper's 2 tokens on either side.
PRESETS["chunking96"] = (
    *_runs_that_touch("tag", 5, 5),
    *_runs_that_touch("lower", 3, 3),
    *_runs_that_touch("shape", 2, 1),
)
PRESETS["ner452"] = (
    *PRESETS["chunking96"],
    *_runs_that_touch("shape", 3, 3),
    *(
        run
        for n in range(1, 4)
        for affix in (f"prefix{n}", f"suffix{n}")
        for run in _runs_that_touch(affix, 3, 3)
    ),
    *(
        run
        for indicator in ("case_class", "punctuation", "digit_class")
        for run in _runs_that_touch(indicator, 5, 5)
    ),
)


#: A template of any structure.
AnyTemplate = TypeVar("AnyTemplate")


class TemplateError(ValueError):
    """A template that cannot be read, or that names an attribute that does not exist."""


@dataclass(frozen=True, order=True)
class Part:
    """One attribute of the token at an offset from the current one."""

    offset: int
    attribute: str

    def __str__(self) -> str:
        return f"{self.attribute}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """A conjunction of parts, sorted by offset and attribute, without duplicates."""

    parts: tuple[Part, ...]

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Read a template. Raises TemplateError, which names the part that is wrong."""
        parts = set()
        for piece in text.split("+"):
            match = _PART.fullmatch(piece.strip())
            if match is None:
                raise TemplateError(
                    f"cannot read '{shorten(piece.strip())}'. A template is written "
                    "attribute[offset], or several joined by '+', such as lower[-1]+lower[0]. "
                    f"Families: {', '.join(PRESETS)}, ngrams(attribute, n, window), "
                    "clusters(bits, ...)"
                )
            part = Part(int(match[2]), match[1])
            if abs(part.offset) > MAX_OFFSET:
                raise TemplateError(f"offset {part.offset} is over {MAX_OFFSET} tokens away")
            parts.add(part)
        return cls(tuple(sorted(parts)))

    @property
    def is_real(self) -> bool:
        """Whether the template has real-valued features."""
        return is_real_attribute(self.parts[0].attribute)

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


def parse_items(
    items: Iterable[str],
    parse: Callable[[str], AnyTemplate],
    families: Mapping[str, Sequence[str]],
    *,
    expand: Callable[[str], Iterable[str]] | None = None,
    example: str,
) -> tuple[AnyTemplate, ...]:
    """Parse templates and expand families, in order and without duplicates.

    parse: a template. expand: the templates of an item; None for those of the families alone.
    Both raise TemplateError. example: of a template, for a message.
    Raises TemplateError, which names the item and the families.
    """
    templates: dict[AnyTemplate, None] = {}
    for item in items:
        try:
            found = expand(item) if expand else families.get(item.strip(), (item,))
            templates |= dict.fromkeys(map(parse, found))
        except TemplateError as error:
            others = f". Families: {', '.join(families)}" if families else ""
            raise TemplateError(f"template '{shorten(item)}': {error}{others}") from None
    if not templates:
        raise TemplateError(f"there are no templates: give at least one, such as '{example}'")
    return tuple(templates)


def parse_templates(
    items: Iterable[str], *, is_attribute: Callable[[str], bool], attributes: Collection[str]
) -> tuple[Template, ...]:
    """Parse templates and families; see ``parse_items``.

    is_attribute: whether a name is an attribute of tokens.
    attributes: the names to list in errors.
    """

    def parse(text: str) -> Template:
        template = Template.parse(text)
        for part in template.parts:
            if is_real_attribute(part.attribute):
                if len(template.parts) > 1:
                    raise TemplateError(
                        f"'{shorten(part.attribute)}' has real values, which cannot be joined with "
                        f"others: use '{part}' alone"
                    )
            elif not is_attribute(part.attribute):
                raise TemplateError(
                    f"there is no attribute '{shorten(part.attribute)}'. Attributes: "
                    f"{', '.join(attributes)}; any spaCy token attribute in lower case (tag, pos, "
                    "lemma, ent_type, like_num, ...); _.name for an extension attribute; vector, "
                    "tensor and real._.name for real values"
                )
        return template

    return parse_items(items, parse, {}, expand=_expand, example="lower[0]")


def _expand(item: str) -> Iterable[str]:
    """The templates of an item: families are expanded."""
    if item.strip() in PRESETS:
        for member in PRESETS[item.strip()]:
            yield from _expand(member)
    elif match := _NGRAMS.fullmatch(item.strip()):
        attribute, n, window = match[1], int(match[2]), int(match[3])
        if not 1 <= n <= 2 * window + 1:
            raise TemplateError(
                f"n is {n}, but a window of {window} holds runs of 1 to {2 * window + 1} tokens"
            )
        for length in range(1, n + 1):
            yield from _runs(attribute, length, window)
    elif match := _CLUSTERS.fullmatch(item.strip()):
        for bits in map(int, match[1].split(",")):
            yield from _expand(f"ngrams(cluster{bits}.*, 2, 1)")
    else:
        yield item


#: Attributes from coarse to fine: each is a function of the next.
_COARSE_TO_FINE = (
    ("suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "lower", "orth"),
    ("prefix1", "prefix2", "prefix3", "prefix4", "prefix5", "lower", "orth"),
    ("shape", "shape_full", "orth"),
    ("pos", "tag", "lower", "orth"),
)


def as_fine(attribute: str) -> set[str]:
    """The attribute and all finer ones."""
    return {attribute}.union(
        *(line[line.index(attribute) :] for line in _COARSE_TO_FINE if attribute in line)
    )


def find_refinements(templates: Sequence[Template]) -> Flags:
    """Whether template b needs template a: bool [T, T], [a, b].

    It does where each part of a is one of b, or coarser than one at the same offset: tag[0]
    comes before tag[0]+tag[1], and before lower[0] [MSAF11, section 3.1].
    """
    refines = np.zeros((len(templates), len(templates)), dtype=bool)
    parts = [set(template.parts) for template in templates]
    for a, template in enumerate(templates):
        wanted = [
            {Part(part.offset, name) for name in as_fine(part.attribute)} for part in template.parts
        ]
        for b in range(len(templates)):
            refines[a, b] = a != b and all(choices & parts[b] for choices in wanted)
    return refines
