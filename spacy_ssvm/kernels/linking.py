"""Kernels that numba's internals make faster to load, to link and to call.

Numba may change what is used here at any release. So ``compile.py`` does without where the import
of this module fails: names that are gone fail it.
"""

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import cgutils
from numba.core.cpu import CPUTargetOptions
from numba.core.dispatcher import Dispatcher
from numba.core.typing import templates
from numba.extending import lower_builtin

from spacy_ssvm.kernels.cache import OUTLINED, KernelCache
from spacy_ssvm.kernels.folders import sources_digest
from spacy_ssvm.kernels.types import Signature, Type

#: What is used without being imported.
_USED = (
    CPUTargetOptions._nrt,
    CPUTargetOptions.forceinline,
    CPUTargetOptions.no_cfunc_wrapper,
    CPUTargetOptions.no_cpython_wrapper,
    Dispatcher._numba_type_,
    Dispatcher.compile,
    Dispatcher.get_call_template,
    Dispatcher.get_compile_result,
    Dispatcher.get_overload,
    cgutils.get_or_insert_function,
    cgutils.if_unlikely,
    templates.AbstractTemplate,
    templates.infer_global,
    types.Function,
    types.VarArg,
)

WITHOUT_WRAPPERS: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def outlined(function: Callable[..., Any], signatures: tuple[Signature, ...]) -> Any:
    """A function that is compiled once for all kernels that call it, by its address."""
    for_python = LinkedKernel(function, {})

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return for_python(*arguments)

    _call_by_address(call, {s.args: (_outline(function, s), s) for s in signatures})
    return call


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


class LinkedKernel:
    """A function whose dispatcher is made for the first call: a process needs few of them."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # see ``dispatcher_of``
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
        dispatcher = dispatcher_of(self.py_func, "", **self._options)
        linked = functools.cache(lambda: _linked(self.py_func, **self._options))
        own = dispatcher.get_call_template, dispatcher.get_overload

        def methods(args: Any) -> Any:
            if tuple(args) in dispatcher.overloads:
                return own
            return linked().get_call_template, linked().get_overload

        dispatcher.get_call_template = lambda args, kws: methods(args)[0](args, kws)
        dispatcher.get_overload = lambda args: methods(args)[1](args)
        _remember_results(dispatcher)
        return dispatcher

    @property
    def _numba_type_(self) -> Type:
        """How numba sees it in the kernels that call it."""
        return self.dispatcher._numba_type_  # type: ignore[no-any-return]


def _remember_results(dispatcher: Any) -> None:
    """Find what is compiled for a signature by its identity.

    Numba asks for it whenever a kernel is given a function pointer, twice, by a hash of all types,
    which takes as long as decoding a short sentence.
    """
    compile_for, results = dispatcher.get_compile_result, dict[int, tuple[Signature, Any]]()

    def get_compile_result(signature: Signature) -> Any:
        if id(signature) not in results:
            results[id(signature)] = signature, compile_for(signature)
        return results[id(signature)][1]

    dispatcher.get_compile_result = get_compile_result


def _linked(function: Callable[..., Any], **options: Any) -> Any:
    return dispatcher_of(function, "linked", **options, **WITHOUT_WRAPPERS)


def dispatcher_of(function: Callable[..., Any], version: str, **options: Any) -> Any:
    """What numba calls and compiles, with a cache. version: see ``KernelCache``."""
    dispatcher: Any = numba.njit(nogil=True, **options)(function)
    with contextlib.suppress(OSError):  # sources that cannot be read: nothing is kept
        dispatcher._cache = KernelCache(function, version)
    return dispatcher
