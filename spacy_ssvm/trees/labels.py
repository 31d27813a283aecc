"""The input of the model of labels: a table of the arcs of a tree.

The dependents of each head, from left to right, form a sequence to label. A row of the table is
an arc, a column is the value of a part of a template:

    head, dependent     the arc
    sibling             the dependent of the same head before this one
    grandparent         the head's head
    leftmost, rightmost the first and last dependent of the dependent
    direction, distance of the dependent, as seen from the head

The end of the sentence is used where there is no such token. The chain templates of the model of
labels refer to these columns, all at offset 0.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spacy_ssvm.features.templates import Part, Template
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.trees.keys import distance_class
from spacy_ssvm.trees.templates import (
    ARC_ROLES,
    DEPENDENT,
    DIRECTION,
    DISTANCE,
    HEAD,
    ArcTemplate,
)

LEFTMOST, RIGHTMOST = "leftmost", "rightmost"

#: The roles of templates of labels, in the order of ``fill_arc_columns``.
LABEL_ROLES = (*ARC_ROLES, LEFTMOST, RIGHTMOST)

_DIRECTION_COLUMN, _DISTANCE_COLUMN = len(LABEL_ROLES), len(LABEL_ROLES) + 1
_OUTSIDE = np.uint64(0xE7037ED1A0B428DB)  # the value of a token outside the sentence


class Columns(NamedTuple):
    """What each column of the table holds."""

    roles: Ints  #: int64 [columns]: a role's number, or that of direction or distance
    attributes: Ints  #: int64 [columns]: the column of the attribute among those of tokens
    offsets: Ints  #: int64 [columns]


def as_chain_templates(templates: Iterable[ArcTemplate]) -> tuple[Template, ...]:
    """Templates over the columns of the table, which are named after the parts."""
    chain_templates = []
    for template in templates:
        parts = [Part(0, f"{role}.{part}") for role, part in template.parts]
        if template.geometry is not None:
            parts.append(Part(0, template.geometry))
        chain_templates.append(Template(tuple(sorted(parts))))
    return tuple(chain_templates)


def compile_columns(names: Sequence[str], attributes: Sequence[str]) -> Columns:
    """The columns of these names, over a table of tokens with these attributes."""
    columns = []
    for name in names:
        if name in (DIRECTION, DISTANCE):
            columns.append((_DIRECTION_COLUMN + (name == DISTANCE), 0, 0))
        else:
            ((role, part),) = ArcTemplate.parse(name, LABEL_ROLES).parts
            column = attributes.index(part.attribute)
            columns.append((LABEL_ROLES.index(role), column, part.offset))
    return Columns(*np.array(columns, dtype=np.int64).reshape(-1, 3).T.copy())


def group_columns(names: Sequence[str]) -> list[list[int]]:
    """Groups of columns that hold the same for many arcs: see ``labelings/cached_sums.py``.

    Those of the dependent, of the head, of both tags, and of the tags around the dependent.
    """
    dependent, head = (
        [name for name in names if name.startswith(f"{role}.") and name.endswith("[0]")]
        for role in (DEPENDENT, HEAD)
    )
    tags = [f"{role}.{attribute}[0]" for role in (HEAD, DEPENDENT) for attribute in ("tag", "pos")]
    around = [name for name in names if name.startswith((f"{DEPENDENT}.tag[", f"{DEPENDENT}.pos["))]
    groups = ([*dependent, DIRECTION], [*head, DIRECTION], [*tags, DIRECTION, DISTANCE], around)
    return [[column for column, name in enumerate(names) if name in group] for group in groups]


@kernel
def order_dependents(heads: Ints, order: Ints, starts: Ints) -> int:
    """Sort the words with a head by head and position; return the number of sequences.

    heads: int64 [n + 1], of one sentence, -1 for none. Writes order (int64, the words) and
    starts (int64 [sequences + 1], where each sequence starts in it).
    """
    N = len(heads)
    counts = np.zeros(N + 1, dtype=np.int64)
    for m in range(1, N):
        if heads[m] >= 0:
            counts[heads[m] + 1] += 1
    sequences = 0
    for h in range(N):
        if counts[h + 1] > 0:
            starts[sequences] = counts[h]
            sequences += 1
        counts[h + 1] += counts[h]
    starts[sequences] = counts[N]
    for m in range(1, N):
        if heads[m] >= 0:
            order[counts[heads[m]]] = m
            counts[heads[m]] += 1
    return sequences


@kernel
def fill_arc_columns(
    columns: Columns,
    attributes: Keys,
    start: int,
    end: int,
    heads: Ints,
    order: Ints,
    table: Keys,
) -> None:
    """Write the rows (uint64 [words, columns]) of the words in ``order`` of one sentence.

    attributes: of the nodes start to end: the root, the words, the end of the sentence.
    """
    N = len(heads)
    leftmost = np.full(N + 1, N, dtype=np.int64)
    rightmost = np.full(N + 1, N, dtype=np.int64)
    for m in range(1, N):
        h = heads[m]
        if h >= 0:
            if leftmost[h] == N:
                leftmost[h] = m
            rightmost[h] = m
    nodes = np.empty(len(LABEL_ROLES), dtype=np.int64)
    for row in range(len(order)):
        m = order[row]
        h = heads[m]
        same = row > 0 and heads[order[row - 1]] == h
        nodes[0] = h
        nodes[1] = m
        nodes[2] = order[row - 1] if same else N
        nodes[3] = heads[h] if h > 0 and heads[h] >= 0 else N
        nodes[4] = leftmost[m]
        nodes[5] = rightmost[m]
        for column in range(len(columns.roles)):
            role = columns.roles[column]
            if role == _DIRECTION_COLUMN:
                value = np.uint64(1 + (m > h) + 2 * (h == 0))
            elif role == _DISTANCE_COLUMN:
                value = np.uint64(1 + distance_class(h, m))
            else:
                node = start + nodes[role] + columns.offsets[column]
                value = _OUTSIDE
                if start <= node < end:
                    value = attributes[node, columns.attributes[column]]
            table[row, column] = value
