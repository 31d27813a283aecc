"""The types of the arguments of kernels: as annotations, and as numba knows them."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

# How annotations name arrays, whatever their number of axes.
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]
ShortKeys = npt.NDArray[np.uint32]
Labels = npt.NDArray[np.uint16]
Weights = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int8]
AnyWeights = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
# How explicit signatures name them to numba: C-contiguous, the digit counts the axes.
Ints1 = types.Array(types.int64, 1, "C")
Ints2 = types.Array(types.int64, 2, "C")
Rows1 = types.Array(types.int32, 1, "C")
Labels1 = types.Array(types.uint16, 1, "C")
Keys1 = types.Array(types.uint64, 1, "C")
Keys2 = types.Array(types.uint64, 2, "C")
Floats1 = types.Array(types.float64, 1, "C")
Floats2 = types.Array(types.float64, 2, "C")
Int = types.int64
Float = types.float64
Void = types.void
Bool = types.boolean
Weights1 = types.Array(types.float32, 1, "C")
Weights2 = types.Array(types.float32, 2, "C")
Codes1 = types.Array(types.int8, 1, "C")
Flags1 = types.Array(types.boolean, 1, "C")
Flags2 = types.Array(types.boolean, 2, "C")
FunctionType = types.FunctionType
Type = types.Type
Signature = Any  # what a numba type makes of the types of arguments, as in Void(Int)


def tuple_of(*fields: Type) -> Type:
    """The numba type of a tuple."""
    return types.Tuple(fields)


def named_tuple(cls: type, *fields: Type) -> Type:
    """The numba type of a ``NamedTuple`` class whose fields have the given types."""
    if len(set(fields)) == 1:  # numba has a class of its own for fields of one type
        return types.NamedUniTuple(fields[0], len(fields), cls)
    return types.NamedTuple(list(fields), cls)
