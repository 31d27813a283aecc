"""The disk cache of compiled kernels, beside numba's own.

Numba's own disk cache does not notice that a function called from another file has changed, nor
that a bit of a file has, and passes over folders that it may not write. What cannot be read here,
or is damaged, counts as missing. For the folders see ``folders.py``.
"""

import glob
import hashlib
import importlib
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys

from spacy_ssvm.files import locked
from spacy_ssvm.kernels.folders import (
    PACKAGE,
    announce_compilation,
    remove_old_folders,
    roots,
    sources_digest,
)

#: By symbol: defines a function that kernels call by address, unless it has been.
OUTLINED: dict[str, Callable[[], Any]] = {}

_DIGEST_BYTES = hashlib.sha256().digest_size
_PATIENCE = 5.0  # seconds to wait for others that save, before a kernel is not kept
_logger = logging.getLogger(PACKAGE.name)


class _Locator:
    """Names the folder of a function's module; numba asks the rest."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self.digest = sources_digest(file)
        self.folder = f"{function.__module__}-{numba.__version__}-{self.digest[:16]}"
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(roots()[0] / self.folder)

    def get_source_stamp(self) -> str:
        return self.digest

    def get_disambiguator(self) -> str:
        return str(self._line)


class _SavedLibrary(NamedTuple):
    """The machine code of a kernel, and the code that other kernels link."""

    name: str
    object_code: bytes
    bitcode: bytes
    defined: list[str]  #: symbols
    called: list[str]  #: symbols that it does not define itself


class _LoadedLibrary(JITCodeLibrary):
    """A saved library, whose bitcode is parsed when another kernel is compiled that links it.

    Numba parses it always, and asks it for the symbols one by one: most of the time in which a
    kernel is loaded.
    """

    def __init__(self, codegen: Any, saved: _SavedLibrary) -> None:
        super().__init__(codegen, saved.name)
        self._bitcode = saved.bitcode
        self.enable_object_caching()
        self._set_compiled_object(saved.object_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(saved.defined)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return self._shared_module


def _saved_library(library: Any) -> _SavedLibrary:
    name, _, (object_code, bitcode) = library.serialize_using_object_code()
    module = llvm.parse_bitcode(bitcode)
    defined, called = [], []
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration:
            defined.append(value.name)
        elif not value.name.startswith("llvm."):  # instructions, as functions
            called.append(value.name)
    return _SavedLibrary(name, object_code, bitcode, defined, called)


class _SavedEnvironment(NamedTuple):
    """What numba keeps for a function: constants, and where it was defined."""

    module: str
    constants: list[Any]
    name: str


def _saved_environment(environment: Any) -> _SavedEnvironment:
    module = environment.globals.get("__name__")
    return _SavedEnvironment(module, environment.consts, environment.env_name)


def _loaded_environment(saved: _SavedEnvironment) -> Any:
    """The environment of a function of the same name, or a new one: code needs no globals."""
    found = lookup_environment(saved.name)
    if found is None:
        found = Environment({"__name__": saved.module})
        found.consts[:] = saved.constants
        found.env_name = saved.name
        Environment._memo[saved.name] = found
    return found


def _define(symbols: list[str], environments: list[_SavedEnvironment]) -> None:
    """Define the symbols that a library calls, before it is linked.

    Some are defined by the modules of the functions whose code it holds: numba imports all of
    them, which takes longer than all else, and few define any.
    """
    for symbol in symbols:
        if symbol in OUTLINED:
            OUTLINED[symbol]()
    if not all(map(llvm.address_of_symbol, symbols)):
        for environment in environments:
            importlib.import_module(environment.module)


class _CompiledKernel(CompileResultCacheImpl):
    """How a compiled kernel becomes bytes."""

    _locator_classes: Any = (_Locator,)

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """What is saved."""
        _, description, own, signature, _, _, _, initializers, referenced = super().reduce(cres)
        environments = [_saved_environment(each) for each in (own, *referenced)]
        library = _saved_library(cres.library)
        return library, environments, (description, signature, initializers)

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        """The kernel from what was saved."""
        library, saved_environments, (description, signature, initializers) = payload
        for initialize in initializers:
            initialize()
        _define(library.called, saved_environments)
        own, *referenced = map(_loaded_environment, saved_environments)
        loaded = _LoadedLibrary(target_context.codegen(), library)
        entry_point = target_context.get_executable(loaded, description, own)
        for environment in referenced:
            loaded.codegen.set_env(environment.env_name, environment)
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=loaded,
            environment=own,
            entry_point=entry_point,
            fndesc=description,
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=initializers,
            referenced_envs=referenced,
        )

    def check_cachable(self, cres: Any) -> bool:
        """Whether it is whole: without optimization, it has addresses of this process."""
        return not cres.library.has_dynamic_globals


class _CheckedFiles(IndexDataCacheFile):
    """The files of one kernel in a folder: an index, and its versions by their argument types.

    The index begins with its digest, and versions are named after theirs: what has changed on
    disk is not unpickled, and machine code in which a bit has changed is not run.
    """

    def _load_index(self) -> dict[object, str]:
        """The names of versions by their keys. Raises ValueError where the file is damaged."""
        try:
            content = Path(self._index_path).read_bytes()
        except FileNotFoundError:
            return {}
        digest, pickled = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if digest != hashlib.sha256(pickled).digest():
            raise ValueError(f"{self._index_path}: damaged")
        stamp, names = pickle.loads(pickled)
        return names if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if name != self._name_of(content):
            raise ValueError(f"{self._data_path(name)}: damaged")
        return pickle.loads(content)

    def save(self, key: object, data: object) -> None:
        """Save a version, and remove what is damaged, replaced, or left by killed processes."""
        try:
            names = self._load_index()
        except OSError:
            raise
        except Exception:  # damaged, or of types that are gone: start again
            names = {}
        content = self._dump(data)
        names[key] = self._name_of(content)
        pickled = self._dump((self._source_stamp, names))
        self._write(self._data_path(names[key]), content)
        self._write(self._index_path, hashlib.sha256(pickled).digest() + pickled)
        used = {self._index_name, *names.values()}
        for file in Path(self._cache_path).glob(f"{glob.escape(self._base)}.*"):
            if file.name not in used:
                file.unlink(missing_ok=True)

    @property
    def _base(self) -> str:
        return self._index_name.removesuffix(".nbi")

    def _name_of(self, content: bytes) -> str:
        return f"{self._base}.{hashlib.sha256(content).hexdigest()[:32]}.nbc"

    def _write(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(content)


class KernelCache(FunctionCache):
    """The compiled versions of one kernel on disk.

    version: keeps the files of several versions of the kernel apart. Some processes cannot read
    those whose arguments have types of a module that they do not have.
    Raises OSError where the sources of the package cannot be read.
    """

    _impl_class = _CompiledKernel

    def __init__(self, function: Callable[..., Any], version: str = "") -> None:
        super().__init__(function)
        locator = _Locator(function, function.__code__.co_filename)
        self._folders = [root / locator.folder for root in roots()]
        base = f"{self._impl.filename_base}{version and '-'}{version}"
        self._files = [_CheckedFiles(str(folder), base, locator.digest) for folder in self._folders]

    def load_overload(self, sig: object, target_context: Any) -> Any:
        """The kernel compiled for these argument types; None where no folder holds it."""
        rtsys.initialize(target_context)  # the rest of numba, 0.2 s, is to compile
        key = self._index_key(sig, target_context.codegen())
        for number, file in enumerate(self._files):
            try:
                data = file.load(key)
                found = None if data is None else self._impl.rebuild(target_context, data)
            except Exception:  # truncated or damaged, a pickle can raise anything
                continue
            if found is not None:
                if number > 0:
                    self._save(0, key, data)  # the first folder alone may be carried elsewhere
                return found
        announce_compilation()
        _logger.debug("compiling %s%s", self._py_func.__qualname__, sig)
        return None

    def save_overload(self, sig: object, data: Any) -> None:
        """Save a compiled kernel into the first folder that can be written."""
        if self._impl.check_cachable(data):
            key, reduced = self._index_key(sig, data.codegen), self._impl.reduce(data)
            any(self._save(number, key, reduced) for number in range(len(self._files)))

    def _save(self, number: int, key: object, data: object) -> bool:
        """Whether the folder could be written."""
        folder, file = self._folders[number], self._files[number]
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                remove_old_folders(folder)
            with locked(folder, _PATIENCE):  # of two that change the index, one loses its entry
                file.save(key, data)
        except OSError:
            return False
        return True
