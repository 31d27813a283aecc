"""Compilation of kernels, and the numba types of their arguments.

Compiled kernels are kept on disk: see ``_kernel_cache.py``.

``kernel`` compiles on the first call, by the argument types it meets; ``inner_kernel``,
``inlined_kernel`` and ``sum_kernel`` are for what others call in loops. ``outlined_kernel`` is
compiled once for all kernels that call it. ``oracle_kernel`` compiles on the first call for a kind
of structure, by an explicit signature. A kernel that takes an oracle as a function pointer needs
one: only then does a second process find it in the cache. ``dispatch`` chooses among kernels by
where weights are stored.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

try:
    import llvmlite.binding as llvm
    import numba
except ImportError as error:
    raise ImportError(
        f"spacy_ssvm compiles its kernels with numba, which cannot be imported: {error}. Install "
        "it by 'pip install numba'",
        name="numba",
    ) from error
from numba import types
from numba.core import cgutils
from numba.core.typing import templates
from numba.extending import lower_builtin, overload
from numba.np.numpy_support import as_dtype

from spacy_ssvm._kernel_cache import OUTLINED, KernelCache, sources_digest

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config

_WITHOUT_WRAPPERS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# How annotations name arrays, whatever their number of axes.
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]
ShortKeys = npt.NDArray[np.uint32]
Labels = npt.NDArray[np.uint16]
Weights = npt.NDArray[np.float32]
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
Steps1 = types.Array(types.int8, 1, "C")
Flags1 = types.Array(types.boolean, 1, "C")
Flags2 = types.Array(types.boolean, 2, "C")
FunctionType = types.FunctionType
Type = types.Type
Signature = templates.Signature


def tuple_of(*fields: Type) -> Type:
    """The numba type of a tuple."""
    return types.Tuple(fields)


def named_tuple(cls: type, *fields: Type) -> Type:
    """The numba type of a ``NamedTuple`` class whose fields have the given types."""
    if len(set(fields)) == 1:  # numba has a class of its own for fields of one type
        return types.NamedUniTuple(fields[0], len(fields), cls)
    return types.NamedTuple(list(fields), cls)


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
        if _config.DISABLE_JIT:
            return _wrapping(function)
        for_python = _Kernel(function, {})

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            return for_python(*arguments)

        _call_by_address(call, {s.args: (_outline(function, s), s) for s in signatures})
        return call  # type: ignore[return-value]

    return decorate


def _outline(function: Callable[..., Any], signature: Signature) -> str:
    """The symbol of a function, which ``OUTLINED`` compiles or loads on demand."""
    symbol = f"{function.__module__}.{function.__qualname__}{signature.args}"

    @functools.cache
    def define() -> Any:
        dispatcher = _linked(function)
        dispatcher.compile(signature)
        compiled = dispatcher.overloads[signature.args]
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        llvm.add_symbol(symbol, address)
        return dispatcher  # the code lives as long as this is kept

    OUTLINED[symbol] = define
    return symbol


def _call_by_address(call: Any, symbols: Mapping[Any, tuple[str, Signature]]) -> None:
    """Have kernels that call ``call`` do so by its symbol, given by types of arguments."""

    class Template(templates.AbstractTemplate):
        key = call

        def generic(self, args: Any, kws: Any) -> Signature | None:  # noqa: ARG002
            if args not in symbols:
                return None
            symbol, signature = symbols[args]
            OUTLINED[symbol]()
            return signature

    def lower(context: Any, builder: Any, signature: Signature, values: Any) -> Any:
        returned, arguments = signature.return_type, signature.args
        convention, (symbol, _) = context.call_conv, symbols[arguments]
        function_type = convention.get_function_type(returned, arguments)
        function = cgutils.get_or_insert_function(builder.module, function_type, symbol)
        status, result = convention.call_function(builder, function, returned, arguments, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    templates.infer_global(call, types.Function(Template))
    lower_builtin(call, types.VarArg(types.Any))(lower)


def oracle_kernel(
    signature: Callable[[Type, Type], Signature], oracle: str = "loss_augmented_decode"
) -> Callable[[F], Callable[..., Any]]:
    """Compile a function for each kind of structure that it is first called for.

    signature: (type of the oracle, type of the examples) -> explicit signature. The function
    takes the oracle of this name as its first argument; callers give a ``Structure`` in its
    place.
    """

    def decorate(function: F) -> Callable[..., Any]:
        @functools.cache
        def compiled(oracle_type: Type, examples: Type) -> Callable[..., Any]:
            if _config.DISABLE_JIT:
                return _wrapping(function)
            owner = getattr(examples, "instance_class", object).__module__
            dispatcher = _dispatcher(function, owner)
            dispatcher.compile(signature(oracle_type, examples))
            dispatcher.disable_compile()
            return dispatcher  # type: ignore[no-any-return]

        @functools.wraps(function)
        def call(structure: Any, *arguments: Any) -> Any:
            for_structure = compiled(structure.oracle_type(oracle), structure.examples_type)
            called = getattr(structure, oracle)
            return for_structure(getattr(called, "dispatcher", called), *arguments)

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


def _overloaded(
    implementations: Mapping[type, Callable[..., Any]], functions: Mapping[type, Any]
) -> Callable[..., Any]:
    """A function that calls one of ``implementations``; kernels compile one of ``functions``."""

    def call(first: Any, *others: Any) -> Any:
        return implementations[type(first)](first, *others)

    def choose(first: Any, *others: Any) -> Any:  # noqa: ARG001
        return functions.get(_class_of(first))

    if not _config.DISABLE_JIT:
        overload(call, strict=False, jit_options=_WITHOUT_WRAPPERS)(choose)
    return call


def _class_of(kind: Type) -> type:
    """The class of Python or numpy whose values have a type of numba."""
    if isinstance(kind, types.Array):
        return np.ndarray
    if isinstance(kind, types.Number):
        return as_dtype(kind).type
    return getattr(kind, "instance_class", object)


def _kernel(function: F, **options: Any) -> F:
    if _config.DISABLE_JIT:
        return _wrapping(function)
    return _Kernel(function, options)  # type: ignore[return-value]


class _Kernel:
    """A function whose dispatcher is made for the first call: a process needs few of them."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # see ``_dispatcher``
            sources_digest(function.__code__.co_filename)  # now: files may change before a call
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba calls and compiles.

        Unless it has been called from Python, kernels link another version, which lacks what
        unpacks Python's arguments: compiling that takes longer than many a kernel.
        """
        dispatcher = _dispatcher(self.py_func, "", **self._options)
        linked = functools.cache(lambda: _linked(self.py_func, **self._options))
        own = dispatcher.get_call_template, dispatcher.get_overload

        def methods(args: Any) -> Any:
            if tuple(args) in dispatcher.overloads:
                return own
            return linked().get_call_template, linked().get_overload

        dispatcher.get_call_template = lambda args, kws: methods(args)[0](args, kws)
        dispatcher.get_overload = lambda args: methods(args)[1](args)
        return dispatcher

    @property
    def _numba_type_(self) -> Type:
        """How numba sees it in the kernels that call it."""
        return self.dispatcher._numba_type_  # type: ignore[no-any-return]


def _linked(function: Callable[..., Any], **options: Any) -> Any:
    return _dispatcher(function, "linked", **options, **_WITHOUT_WRAPPERS)


def _dispatcher(function: Callable[..., Any], version: str, **options: Any) -> Any:
    dispatcher: Any = numba.njit(nogil=True, **options)(function)
    with contextlib.suppress(OSError):  # sources that cannot be read: nothing is kept
        dispatcher._cache = KernelCache(function, version)
    return dispatcher


def _wrapping(function: F) -> F:
    """Plain Python, as silent as compiled code where integers wrap around or infinities meet."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(*arguments)

    return call  # type: ignore[return-value]
