"""Templates over characters and chunks.

    template  =  part ("+" part)*          char[-1]+char[0]
    part      =  attribute "[" offset "]"  class[1], chunk[-1], left[0]

The offsets of ``char`` and ``class`` count characters, those of ``chunk``, ``lower``, ``shape`` and
``ending1`` to ``ending3`` count chunks. ``space`` and what is said of other chunks have a value at
the first character of a chunk alone, but for the texts of the next ones, ``chunk[-1]`` and
``chunk[1]``.
"""

from collections.abc import Iterable

from spacy_ssvm.features.extraction import CompiledTemplates, compile_templates
from spacy_ssvm.features.templates import Part, Template, TemplateError, parse_items
from spacy_ssvm.tokenizer.columns import COLUMNS


def _run(attribute: str, first: int, last: int) -> str:
    return "+".join(f"{attribute}[{d}]" for d in range(first, last + 1))


#: The family of templates that a tokenizer has by default.
FAMILY = (
    *(_run("char", a, b) for a, b in ((-1, 0), (0, 1), (-1, 1), (-2, 0), (0, 2), (-2, 1), (-1, 2))),
    *(_run("char", a, b) for a, b in ((-3, 0), (0, 3), (-3, 3))),
    *(_run("class", a, b) for a, b in ((-1, 1), (-2, 1), (-1, 2), (-3, 2))),
    "chunk[0]+left[0]",
    "left[0]+right[0]",
    "left[0]+char[0]",
    "left_word[0]+right_word[0]",
    "left_word[0]+right_word[0]+char[0]",
    "left_word[0]+right_word[0]+char[-1]",
    "left_word[0]+right_word[0]+class[-1]+class[0]",
    "left_word[0]+right_word[0]+shape[0]",
    "left_word[0]+right[0]",
    "left[0]+right_word[0]",
    "right[0]+char[-1]",
    "lower[0]+first[0]",
    "shape[0]+left[0]",
    "link[0]",
    "link[0]+class[-1]+class[0]+class[1]",
    "link[0]+char[-1]+char[0]",
    "link[0]+char[0]+char[1]+char[2]",
    "chunk[-1]+space[0]",
    "chunk[1]+first[0]",
    "chunk[0]+left[0]+chunk[-1]",
    "chunk[0]+left[0]+chunk[1]",
    "chunk[0]+chunk[2]",
    "shape[-1]+shape[0]+space[0]",
    "shape[0]+shape[1]+space[0]",
    "space[0]",
    "ending1[-1]+space[0]+shape[0]",
    "ending1[-1]+lower[0]",
    "ending1[-1]+space[0]+class[0]+class[1]",
    "ending1[-1]+space[0]+char[0]+char[1]",
    "ending2[-1]+space[0]+char[0]",
    "ending_class[-1]+space[0]+class[0]+class[1]+class[2]",
    "ending3[-1]+class[0]",
    "shape[-1]+chunk[0]",
    "chunk[-1]+shape[0]",
)
FAMILIES = {"tokenizer": FAMILY}


def _parse(text: str) -> Template:
    template = Template.parse(text)
    for part in template.parts:
        if (part.attribute, part.offset) not in COLUMNS:
            known = ", ".join(f"{name}[{offset}]" for name, offset in COLUMNS)
            raise TemplateError(f"a tokenizer does not read '{part}'. It reads {known}")
    return template


def parse_character_templates(items: Iterable[str]) -> tuple[Template, ...]:
    """Parse templates and families. Raises TemplateError."""
    return parse_items(items, _parse, FAMILIES, example="char[-1]+char[0]")


def compile_character_templates(templates: Iterable[Template]) -> CompiledTemplates:
    """Templates over the columns of nodes."""
    names = [f"{name}[{offset}]" for name, offset in COLUMNS]
    on_columns = [Template(tuple(Part(0, str(part)) for part in t.parts)) for t in templates]
    return compile_templates(on_columns, names)
