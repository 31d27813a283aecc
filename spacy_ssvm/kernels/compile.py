"""Compilation of kernels.

``kernel`` compiles on the first call, by the argument types it meets; ``inner_kernel``,
``inlined_kernel`` and ``sum_kernel`` are for what others call in loops. ``outlined_kernel`` is
compiled once for all kernels that call it. ``oracle_kernel`` compiles on the first call for a kind
of structure, by an explicit signature. A kernel that takes an oracle as a function pointer needs
one: only then does a second process find it in the cache. ``dispatch`` chooses among kernels by
where weights are stored.

Compiled kernels are kept on disk: see ``cache.py``. Where numba's internals are others than
``linking.py`` knows, numba's own cache keeps them, and its public options have to do.
"""

import functools
import logging
from collections.abc import Callable, Mapping
from threading import Lock, RLock
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from spacy_ssvm.kernels.folders import PACKAGE
from spacy_ssvm.kernels.types import Signature, Type

linking: Any
try:
    from spacy_ssvm.kernels import linking
except (AttributeError, ImportError, TypeError) as error:
    linking = None
    logging.getLogger(PACKAGE.name).warning(
        "%s does not know numba %s: %s. Its kernels work, but they are compiled and loaded more "
        "slowly, and those of an older version may be taken after an update. Use an older numba",
        PACKAGE.name,
        numba.__version__,
        error,
    )

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config


def kernel(function: F) -> F:
    """Compile a function of arrays and scalars, without the GIL, cached on disk."""
    return _kernel(function)


def inner_kernel(function: F) -> F:
    """The same for a function that neither makes arrays nor calls kernels that do.

    References to its arrays are not counted. Elsewhere numba counts those to each array that is
    passed, or taken from a tuple, by atomic instructions: some inner loops take less time.
    """
    return _kernel(function, _nrt=False)


def inlined_kernel(function: F) -> F:
    """An inner kernel that is made a part of those that call it, for what they do for each word.

    A call passes all fields of all its tuples one by one, and keeps the compiler from reading them
    ahead of a loop: for a small function, that takes longer than what it does.
    """
    return _kernel(function, _nrt=False, forceinline=True)


def sum_kernel(function: F) -> F:
    """An inner kernel whose sums may be added up in any order, by vector instructions."""
    return _kernel(function, _nrt=False, fastmath={"reassoc"}, forceinline=True)


def outlined_kernel(*signatures: Signature) -> Callable[[F], F]:
    """Compile a large function once for all kernels that call it.

    Kernels contain the code of the kernels that they call, and what is called by many is compiled
    as often. They call this one by its address instead.

    signatures: those that it can be called with from kernels, exactly.
    """

    def decorate(function: F) -> F:
        if linking is None or _config.DISABLE_JIT:
            return _kernel(function)
        return linking.outlined(function, signatures)  # type: ignore[no-any-return]

    return decorate


def oracle_kernel(
    oracles: tuple[str, ...], returned: Type, *arguments: Type
) -> Callable[[F], Callable[..., Any]]:
    """Compile a function for each kind of structure that it is first called for.

    oracles: the names of those that it takes first, before the examples of a problem; callers give
    a ``Structure`` in their place. returned, arguments: the types of the rest.
    """

    def decorate(function: F) -> Callable[..., Any]:
        @functools.cache
        def compiled(examples: Type, *types_of_oracles: Type) -> Callable[..., Any]:
            if _config.DISABLE_JIT:
                return _wrapping(function)
            owner = getattr(examples, "instance_class", object).__module__
            if linking is None:
                dispatcher = _public_dispatcher(function)
            else:
                dispatcher = linking.dispatcher_of(function, owner)
            dispatcher.compile(returned(*types_of_oracles, examples, *arguments))
            dispatcher.disable_compile()
            return dispatcher  # type: ignore[no-any-return]

        known: dict[Any, tuple[Callable[..., Any], list[Any]]] = {}

        @functools.wraps(function)
        def call(structure: Any, *others: Any) -> Any:
            called = [getattr(structure, name) for name in oracles]
            key = (id(structure.examples_type), *called)  # to hash a type takes long
            if key not in known:
                with _compiling:
                    types_of_oracles = map(structure.oracle_type, oracles)
                    for_structure = compiled(structure.examples_type, *types_of_oracles)
                    pointers = [getattr(oracle, "dispatcher", oracle) for oracle in called]
                    known[key] = for_structure, pointers
            for_structure, pointers = known[key]
            return for_structure(*pointers, *others)

        return call

    return decorate


def dispatch(implementations: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """A function that calls one of several kernels, by the class of its first argument.

    implementations: kernels by ``NamedTuple`` class. The function can be called from Python and
    from kernels, which are compiled for each class.
    """
    functions = {kind: getattr(f, "py_func", None) for kind, f in implementations.items()}
    return _overloaded(implementations, functions)


def by_type(implementations: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """The same of plain functions, by the type of an array, a number or a ``NamedTuple``."""
    return _overloaded(implementations, implementations)


_lock, _compiling = Lock(), RLock()


def take_next(counter: Any) -> int:
    """Add 1 to what threads share in an array (int64 [1]), and return what was there before.

    Kernels do so by one atomic instruction.
    """
    with _lock:
        taken = int(counter[0])
        counter[0] += 1
    return taken


def _add_one(typing_context: Any, counter: Any) -> Any:  # noqa: ARG001
    """The type of ``_fetch_and_add``, and its code."""

    def lower(context: Any, builder: Any, signature: Signature, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", array.data, one, "monotonic")

    return types.int64(counter), lower


_fetch_and_add: Any = intrinsic(_add_one)


@overload(take_next, strict=False)
def _take_next(counter: Any) -> Any:  # noqa: ARG001
    return lambda counter: _fetch_and_add(counter)


def _overloaded(
    implementations: Mapping[type, Callable[..., Any]], functions: Mapping[type, Any]
) -> Callable[..., Any]:
    """A function that calls one of ``implementations``; kernels compile one of ``functions``."""

    def call(first: Any, *others: Any) -> Any:
        return implementations[type(first)](first, *others)

    def choose(first: Any, *others: Any) -> Any:  # noqa: ARG001
        return functions.get(_class_of(first))

    if not _config.DISABLE_JIT:
        options: Any = {} if linking is None else linking.WITHOUT_WRAPPERS
        overload(call, strict=False, jit_options=options)(choose)
    return call


def _class_of(kind: Type) -> type:
    """The class of Python or numpy whose values have a type of numba."""
    if isinstance(kind, types.Array):
        return np.ndarray
    if isinstance(kind, types.Number):
        return np.dtype(kind.name).type
    return getattr(kind, "instance_class", object)


def _kernel(function: F, **options: Any) -> F:
    if _config.DISABLE_JIT:
        return _wrapping(function)
    if linking is None:
        public = {key: value for key, value in options.items() if key == "fastmath"}
        return _public_dispatcher(function, **public)  # type: ignore[no-any-return]
    return linking.LinkedKernel(function, options)  # type: ignore[no-any-return]


def _public_dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """What numba makes of a function, with its own cache where a folder can be written."""
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(nogil=True, **options)(function)


def _wrapping(function: F) -> F:
    """Plain Python, as silent as compiled code where integers wrap around or infinities meet."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(*arguments)

    return call  # type: ignore[return-value]
