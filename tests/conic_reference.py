"""A general convex solver, to judge ours by."""

from typing import Any

import clarabel
import numpy as np
from scipy import sparse


def solve_cone_program(
    squares: np.ndarray, q: np.ndarray, A: Any, b: np.ndarray, cones: list
) -> tuple[np.ndarray, float]:
    """The x of least 1/2 sum_j squares_j x_j^2 + q.x with b - A x in the cones, and that value."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    P = sparse.diags_array([squares], offsets=[0]).tocsc()
    found = clarabel.DefaultSolver(P, q, sparse.csc_array(A), b, cones, settings).solve()
    return np.array(found.x), found.obj_val
