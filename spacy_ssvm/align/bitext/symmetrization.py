"""One alignment of two directed ones: intersection, and grow-diag with or without final-and.

An alignment is bool [m, n]: which source words are linked to which target words. The methods are
those of [Koehn, Och & Marcu 2003] and [Och & Ney 2003].
"""

import numpy as np

from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags


@kernel
def intersect(forward: Flags, backward: Flags) -> Flags:
    """The links of both alignments."""
    return forward & backward


@kernel
def grow_diag(forward: Flags, backward: Flags) -> Flags:
    """The links of both alignments, and those of one that grow from them.

    A link of one alignment joins where it is next to a link that is there, also diagonally, and
    one of its words has no link yet. This goes on, row by row, until no link joins.
    """
    m, n = forward.shape
    found, either = forward & backward, forward | backward
    has_source, has_target = np.zeros(m, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    for j in range(m):
        for k in range(n):
            if found[j, k]:
                has_source[j] = has_target[k] = True
    grows = True
    while grows:
        grows = False
        for j in range(m):
            for k in range(n):
                if (
                    either[j, k]
                    and not found[j, k]
                    and not (has_source[j] and has_target[k])
                    and found[max(j - 1, 0) : j + 2, max(k - 1, 0) : k + 2].any()
                ):
                    found[j, k] = has_source[j] = has_target[k] = grows = True
    return found


@kernel
def grow_diag_final_and(forward: Flags, backward: Flags) -> Flags:
    """``grow_diag``, and then links of words that both have none: forward ones first."""
    m, n = forward.shape
    found = grow_diag(forward, backward)
    for directed in (forward, backward):
        for j in range(m):
            for k in range(n):
                if directed[j, k] and not found[j].any() and not found[:, k].any():
                    found[j, k] = True
    return found
