"""What the tests of arc strategies share."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from marks import PLAIN

from spacy_ssvm.trees.templates import ARC_ROLES, ArcTemplate

checked = settings(deadline=None, max_examples=10 if PLAIN else 100)


COLUMNS = ("lower", "tag", "pos")


ROOT, BEHIND = 1000, 2000


@st.composite
def sentences(draw, shortest=1, longest=6):
    """The nodes of a sentence: small values, 0 for none; the root and the node behind it."""
    word = st.lists(st.integers(0, 3), min_size=3, max_size=3)
    words = draw(st.lists(word, min_size=shortest, max_size=longest))
    return np.array([[ROOT] * 3, *words, [BEHIND] * 3], dtype=np.uint64)


def template_texts(roles):
    """Templates of one to four parts, with a place or without."""
    part = st.builds(
        lambda role, column, offset: f"{role}.{column}[{offset}]",
        st.sampled_from(roles),
        st.sampled_from(COLUMNS),
        st.integers(-2, 2),
    )
    return st.builds(
        lambda parts, places: "+".join([*parts, *places]),
        st.lists(part, min_size=1, max_size=4),
        st.sampled_from([[], ["direction"], ["distance"]]),
    )


def between(text):
    parts = text.split("+")
    at = len(parts) - (parts[-1] in ("direction", "distance"))
    return "+".join([*parts[:at], "between.tag", *parts[at:]])


arc_texts = template_texts(ARC_ROLES[:2]) | template_texts(ARC_ROLES[:2]).map(between)


def templates_of(texts, roles=ARC_ROLES):
    return list(dict.fromkeys(ArcTemplate.parse(text, roles) for text in texts))


def arcs_of(nodes):
    n = len(nodes) - 2
    return [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
