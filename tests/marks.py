"""What depends on whether kernels are compiled."""

import numba
import pytest

PLAIN = bool(numba.config.DISABLE_JIT)  #: whether kernels run as plain Python

compiled_only = pytest.mark.skipif(PLAIN, reason="takes too long without compiled kernels")
