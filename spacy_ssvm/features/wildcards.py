"""Templates that are used once for each set of word clusters, type of gazetteers, or feature.

    cluster6.*[0]                       cluster6.news[0], cluster6.tweets[0]
    gazetteer.*[0]                      gazetteer.city[0], gazetteer.person[0]
    head.morph.*+dependent.morph.*      head.morph.Case+dependent.morph.Case, ...

A component expands the templates of its config by what it is given at initialize, and by the
morphological features of the examples.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

T = TypeVar("T")

#: In the place of a name: each of them.
EACH = "*"

#: What there is to read, by kind: "cluster", "gazetteer", "dictionary" or "morph".
Names = Mapping[str, Iterable[str]]
NO_NAMES: Names = MappingProxyType({})


def expand_wildcards(
    templates: Iterable[T], names: Names, parse: Callable[[str], T]
) -> tuple[T, ...]:
    """Templates with wildcards, once for each name; the others as they are.

    names: "" is the name of what needs none. Wildcards of a kind that is missing stay.
    parse: reads the text of a template. No template is returned twice.
    """
    found = tuple(templates)
    for kind, known in names.items():
        wildcard = re.compile(rf"(?<!\w)({kind}\d*)\.\*")
        endings = [(name and f".{name}").replace("\\", r"\\") for name in known]
        found = tuple(
            template if ending is None else parse(wildcard.sub(rf"\1{ending}", str(template)))
            for template in found
            for ending in (endings if wildcard.search(str(template)) else (None,))
        )
    return tuple(dict.fromkeys(found))
