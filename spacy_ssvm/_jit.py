"""How kernels are compiled and cached: the only file that talks to numba's compiler.

Compiled code is kept under a hash of the package's sources, because numba's own disk
cache does not notice that a function called from another file has changed. The cache
lies in ``NUMBA_CACHE_DIR`` where that is set, else beside the package where it can be
written, else in the user's cache folder. Where none can be written (a read-only
install without a home), kernels are compiled anew in each process.

``kernel`` compiles on the first call, by the argument types it meets. ``oracle_kernel``
compiles on the first call for a kind of structure, by an explicit signature, which a kernel
needs that takes an oracle as a function pointer: only then does a second process find it in
the cache.
"""

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba import types

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config

PACKAGE = Path(__file__).parent

# How annotations name arrays, whatever their number of axes.
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]
Labels = npt.NDArray[np.uint16]
Weights = npt.NDArray[np.float32]
AnyWeights = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
# How explicit signatures name them to numba: C-contiguous, the digit counts the axes.
Ints1 = types.Array(types.int64, 1, "C")
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
Flags1 = types.Array(types.boolean, 1, "C")
Flags2 = types.Array(types.boolean, 2, "C")
FunctionType = types.FunctionType


def named_tuple(cls: type, *fields: types.Type) -> types.NamedTuple:
    """The numba type of a ``NamedTuple`` class whose fields have the given types."""
    return types.NamedTuple(list(fields), cls)  # type: ignore[no-untyped-call]


def kernel(function: F) -> F:
    """Compile a function of arrays and scalars, without the GIL, cached on disk."""
    if _config.DISABLE_JIT:
        return _wrapping(function)
    return _compile(function, None)  # type: ignore[no-any-return]


def oracle_kernel(
    signature: Callable[[Any, Any], Any], oracle: str = "find_violator"
) -> Callable[[F], Callable[..., Any]]:
    """Compile a function for each kind of structure that it is first called for.

    signature: (type of the oracle, type of the examples) -> explicit signature. The function
    takes the oracle of this name as its first argument; callers give a ``Structure`` in its
    place.
    """

    def decorate(function: F) -> Callable[..., Any]:
        @functools.cache
        def compiled(oracle_type: Any, examples: Any) -> Any:
            if _config.DISABLE_JIT:
                return _wrapping(function)
            return _compile(function, signature(oracle_type, examples))

        @functools.wraps(function)
        def call(structure: Any, *arguments: Any) -> Any:
            of_structure = compiled(structure.oracle_type(oracle), structure.examples_type)
            return of_structure(getattr(structure, oracle), *arguments)

        return call

    return decorate


def _compile(function: Callable[..., Any], signature: Any) -> Any:
    directory = cache_directory()
    if directory is None:
        return numba.njit(signature, nogil=True)(function)
    configured = _config.CACHE_DIR
    _config.CACHE_DIR = str(directory)
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)
    except (RuntimeError, OSError):  # the folder has become unwritable since we looked
        return numba.njit(signature, nogil=True)(function)
    finally:
        _config.CACHE_DIR = configured


def _wrapping(function: F) -> F:
    """Plain Python, as silent as compiled code where integers wrap around or infinities meet."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(*arguments)

    return call  # type: ignore[return-value]


@functools.cache
def cache_directory() -> Path | None:
    """The first folder that can be written, named after the package's sources."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    for root in _cache_roots():
        directory = root / name
        try:
            directory.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=directory).close()
        except OSError:
            continue
        return directory
    return None


def _cache_roots() -> list[Path]:
    if configured := _config.CACHE_DIR:
        return [Path(configured) / "spacy_ssvm"]
    roots = [PACKAGE / "__pycache__"]
    if cache := os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA"):
        roots.append(Path(cache) / "spacy_ssvm")
    elif home := os.environ.get("HOME"):
        roots.append(Path(home) / ".cache" / "spacy_ssvm")
    return roots
