"""Marks that several test files share."""

import numba
import pytest

compiled_only = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="trains too long without compiled kernels"
)
