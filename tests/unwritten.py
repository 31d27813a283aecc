"""Memory that no one has written to: filled with what shows, where one reads it.

What ``np.empty`` returns is most often zero, or what an earlier call has left there, so that a
kernel that reads it may pass its tests by chance, and fail them by chance.
"""

import numpy as np

_SIGNALLING_NAN = {4: 0x7FA00001, 8: 0x7FF4000000000001}

_empty, _empty_like = np.empty, np.empty_like


def _filled(array):
    size = array.dtype.itemsize
    if array.dtype.kind == "f" and size in _SIGNALLING_NAN:
        array.view(f"u{size}")[...] = _SIGNALLING_NAN[size]
    elif array.dtype.kind in "iu" and size > 1:
        array[...] = np.iinfo(array.dtype).max - 7
    return array


def fill_unwritten():
    """Let ``np.empty`` and ``np.empty_like`` fill their arrays: for kernels not compiled."""
    np.empty = lambda *args, **options: _filled(_empty(*args, **options))
    np.empty_like = lambda *args, **options: _filled(_empty_like(*args, **options))
