"""The folders of compiled kernels, and the digest of the sources that they are compiled from.

The kernels of a module lie in a folder named after the version of numba, and after the sources they
are compiled from: those of the module and of all that it imports from this package. Every folder
that can be read is searched; new kernels go to the first one that can be written:

1. ``NUMBA_CACHE_DIR``, where that is set
2. the package's own folder
3. the user's cache folder, where ``NUMBA_CACHE_DIR`` is not set

Where no folder can be written, kernels are compiled in each process.
"""

import contextlib
import functools
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numba

_config: Any = numba.config

PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(rf"^ *(?:from|import) ({PACKAGE.name}[\w.]*)(?: import (\([^)]*\)|.*))?", re.M)
_UNUSED = 30 * 24 * 3600  # seconds after which old kernels in a shared folder are removed
_logger = logging.getLogger(PACKAGE.name)


def writable_root() -> Path | None:
    """The folder that new kernels go to; None where none can be written."""
    for root in roots():
        try:
            root.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=root).close()
        except OSError:
            continue
        return root
    return None


def roots() -> list[Path]:
    """The folders that are searched, in this order."""
    own = PACKAGE / "__pycache__" / "kernels"
    if configured := _config.CACHE_DIR:
        return [Path(configured) / PACKAGE.name, own]
    if cache := os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA"):
        return [own, Path(cache) / PACKAGE.name]
    if home := os.environ.get("HOME"):
        return [own, Path(home) / ".cache" / PACKAGE.name]
    return [own]


def remove_old_folders(folder: Path) -> None:
    """Remove what older sources of the same module have left beside its folder.

    Other installations may share the folders outside of the package, and other versions of numba
    those within: their recent ones stay.
    """
    module, version, _ = folder.name.rsplit("-", 2)
    for old in folder.parent.glob(f"{module}-*"):
        is_own = old.is_relative_to(PACKAGE) and old.name.startswith(f"{module}-{version}-")
        with contextlib.suppress(FileNotFoundError):  # another process removes it too
            if old != folder and (is_own or time.time() - old.stat().st_mtime > _UNUSED):
                shutil.rmtree(old, ignore_errors=True)


@functools.cache
def announce_compilation() -> None:
    """Log once that the first use takes a while."""
    root = writable_root()
    _logger.warning(
        "%s: compiling kernels for their first use, which can take a minute. %s",
        PACKAGE.name,
        "No folder can be written to keep them: set NUMBA_CACHE_DIR to one that can"
        if root is None
        else f"They are kept in {root}; 'python -m spacy ssvm warmup' compiles all of them ahead",
    )


@functools.cache
def sources_digest(file: str) -> str:
    """Of the sources that the kernels of a file are compiled from, and of numba's settings."""
    settings = (_config.BOUNDSCHECK, _config.OPT, _config.DEBUGINFO_DEFAULT)
    digest = hashlib.sha256(repr(list(map(str, settings))).encode())
    found, waiting = {file}, [file]
    while waiting:
        new = _source(waiting.pop()).imported - found
        found |= new
        waiting += new
    for source in sorted(found):
        digest.update(os.path.basename(source).encode())
        digest.update(_source(source).digest)
    return digest.hexdigest()


class _Source(NamedTuple):
    digest: bytes
    imported: frozenset[str]  #: files of this package that it imports where it begins


@functools.cache
def _source(file: str) -> _Source:
    content = Path(file).read_bytes()
    names = set()
    for module, members in _IMPORT.findall(content.decode("utf8")):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", members))}
    files = (f"{PACKAGE.parent}{os.sep}{name.replace('.', os.sep)}.py" for name in names)
    imported = frozenset(file for file in files if os.path.isfile(file))
    return _Source(hashlib.sha256(content).digest(), imported)
