"""What the tests of chain tables share."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN

checked = settings(deadline=None, max_examples=50 if PLAIN else 300)


# Whole numbers add up exactly, whatever the order, so that ties are ties.
whole = st.integers(-3, 3).map(float)


with_infinities = st.one_of(whole, whole, st.just(-np.inf))


@st.composite
def tables(draw, scores=with_infinities, shortest=0):
    """Emissions [n, K] and transitions [K + 2, K]."""
    n = draw(st.integers(shortest, 4))
    K = draw(st.integers(1, 3))
    return draw(arrays(float, (n, K), elements=scores)), draw(
        arrays(float, (K + 2, K), elements=scores)
    )
