"""The root of a monotone piecewise-linear function, which projections meet in line searches."""

from spacy_ssvm.kernels.compile import kernel

#: Steps of a search. Newton's method ends after as many steps as there are pieces at the worst,
#: in practice after a few; bisection, which follows it, ends after about 60.
MAX_STEPS = 100

#: Errors of rounding, by the size of values.
EPSILON = 1e-15

#: What remains of the slope at the end of a line search.
FLATNESS = 1e-3

#: An iteration is slow where it leaves more than this part of the largest violation. The way that
#: it went is then gone on for up to so many of its lengths.
SLOW = 0.1
REACH = 64.0


@kernel
def next_point(low: float, high: float, point: float, value: float, slope: float) -> float:
    """The next point of Newton's method for the root of a function, inside (low, high).

    value and slope: of the function at the point; a slope of 0 stands for none. The middle of the
    interval where Newton's method leads out of it.
    """
    if slope != 0.0:
        newton = point - value / slope
        if low < newton < high:
            return newton
    return 0.5 * (low + high)
