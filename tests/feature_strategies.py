"""What the tests of feature strategies share."""

from itertools import pairwise

import numpy as np
import spacy
from hypothesis import settings
from hypothesis import strategies as st
from marks import PLAIN
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import (
    ATTRIBUTES,
    is_attribute,
)
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.weights.feature_index import find_rows

checked = settings(deadline=None, max_examples=20 if PLAIN else 100)


def parse(*items):
    return parse_templates(items, is_attribute=is_attribute, attributes=ATTRIBUTES)


def rows_of(index, keys):
    """The rows of each token, as lists."""
    starts = np.full(len(keys) + 1, -1, dtype=np.int64)
    rows = np.full(keys.size, -1, dtype=np.int32)
    size = find_rows(index.table, keys, starts, rows)
    assert starts[-1] == size
    return [rows[a:b].tolist() for a, b in pairwise(starts)]


def column(table, reader, name):
    return table.attributes[:, reader.names.index(name)].tolist()


VOCAB = spacy.blank("en").vocab


words = st.sampled_from(["the", "The", "cat", "10", "?", " ", "\n\n"])


starts = st.sampled_from([True, False, None])


@st.composite
def drawn_docs(draw):
    """A few Docs, some without tokens, with sentence starts anywhere or nowhere."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        tokens = draw(
            st.lists(
                st.tuples(words, starts, st.sampled_from(["A", "B", ""]), st.booleans()),
                max_size=6,
            )
        )
        doc = Doc(
            VOCAB,
            words=[word for word, _, _, _ in tokens],
            spaces=[space for _, _, _, space in tokens],
            tags=[tag for _, _, tag, _ in tokens],
        )
        for token, (_, start, _, _) in zip(doc, tokens, strict=True):
            token.is_sent_start = start
        found.append(doc)
    return found
