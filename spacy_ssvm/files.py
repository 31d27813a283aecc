"""Files: text, plain or compressed; atomic replacement of files and folders; locks.

Texts are read as UTF-8 with or without a byte order mark, and messages quote them shortened. What
replaces a file or a folder is written beside it: whenever a process is killed, or the power fails,
what is read is the old or the new, whole. Locks are between processes that write.
"""

import ctypes
import errno
import glob
import gzip
import os
import shutil
import sys
import tempfile
import time
import zlib
from codecs import lookup
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TextIO

#: What a file raises that is damaged, truncated, or in another encoding.
DAMAGED = (EOFError, UnicodeError, zlib.error, gzip.BadGzipFile)
#: What a file raises that cannot be read, or not in an encoding that does not exist.
UNREADABLE = (*DAMAGED, OSError, LookupError)
_MAX_QUOTED = 60  # characters of what messages quote from files and configs
PATIENCE = 60.0  # seconds to wait for other processes that save
_PAUSE = 0.01  # seconds between attempts
_OLD = ".old"


def open_text(path: Path, encoding: str = "utf8") -> TextIO:
    """A text, plain or gzip (``.gz``), to be read; UTF-8 may begin with a byte order mark.

    Raises LookupError for an encoding that does not exist.
    """
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=with_mark(encoding))
    return path.open(encoding=with_mark(encoding))


def read_text(path: Path, encoding: str = "utf8") -> str:
    """A whole text, see ``open_text``. Raises ValueError naming a file that cannot be read."""
    try:
        with open_text(path, encoding) as opened:
            return opened.read()
    except UNREADABLE as error:
        raise ValueError(f"{path}: cannot be read as {encoding}: {error}") from error


def read_lines(path: Path, most: int) -> Iterator[str]:
    """The lines of a text, see ``open_text``, one after another.

    most: characters of a line. A longer one is not read whole: ValueError names its place.
    """
    with open_text(path) as opened:
        for number in count(1):
            line = opened.readline(most + 2)
            if not line:
                return
            if len(line.rstrip("\n")) > most:
                raise ValueError(f"{path}, line {number}: has more than {most:,} characters")
            yield line


def with_mark(encoding: str) -> str:
    """An encoding, with which UTF-8 may begin with a byte order mark.

    Raises LookupError for an encoding that does not exist.
    """
    return "utf-8-sig" if lookup(encoding).name == "utf-8" else encoding


def show_sizes(parts: Mapping[str, int]) -> str:
    """Numbers of bytes as text: their sum and, the largest first, each of them."""
    largest_first = sorted(parts.items(), key=lambda part: -part[1])
    listed = ", ".join(f"{part} {size / 1e6:,.0f} MB" for part, size in largest_first)
    return f"{sum(parts.values()) / 1e6:,.0f} MB" + (f" ({listed})" if listed else "")


def shorten(text: str) -> str:
    """The text, or its beginning and "..." where it has more than 60 characters."""
    return text if len(text) <= _MAX_QUOTED else f"{text[: _MAX_QUOTED - 3]}..."


@contextmanager
def locked(folder: Path, patience: float) -> Iterator[bool]:
    """Make other processes that lock the folder wait, where the system has locks; whether it has.

    A process that is killed releases its lock.

    patience: seconds to wait for another one. Raises TimeoutError, naming the folder, after that.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield False
        return
    descriptor, end = os.open(folder, os.O_RDONLY), time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                has_lock = True
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    message = f"{folder}: locked by another process for {patience:g} seconds"
                    raise TimeoutError(message) from None
                time.sleep(_PAUSE)
            except OSError:  # a file system without locks
                has_lock = False
                break
        yield has_lock
    finally:
        os.close(descriptor)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A new folder in that of a path, in which to write what is to take its place.

    It is removed at the end, as are those that killed processes have left, where the system has
    locks. Raises TimeoutError, naming the folder, where another process keeps it locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name}.writing-"
    with ExitStack() as until_the_end:
        with locked(path.parent, PATIENCE):
            for left in path.parent.glob(f"{glob.escape(prefix)}*"):
                with suppress(OSError), locked(left, 0) as has_lock:  # else a living process has it
                    if has_lock:
                        _clear(left, path)
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
            until_the_end.enter_context(locked(folder, PATIENCE))
            until_the_end.callback(_clear, folder, path)
        yield folder


def _clear(folder: Path, path: Path) -> None:
    """Remove a folder of ``beside``, once what it has taken away is there again."""
    old = folder / f"{path.name}{_OLD}"
    if old.exists() and not path.exists():
        os.rename(old, path)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of a file once the block ends without error."""
    with beside(file) as folder:
        new = folder / file.name
        yield new
        sync(new)
        os.replace(new, file)
        sync(file.parent)


def replace_folder(new: Path, path: Path) -> None:
    """Put a folder, which lies in one of ``beside``, in the place of what is there in one step.

    Linux and macOS exchange the two. Elsewhere, and on file systems that cannot, a process that
    is killed between two steps leaves none: what is ``beside`` next puts it there.
    """
    sync_all(new)
    if not path.exists():
        os.rename(new, path)
    elif not _exchange(new, path):
        os.rename(path, new.with_name(f"{path.name}{_OLD}"))
        os.rename(new, path)
    sync(path.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder in one step, and what killed processes have left ``beside`` it."""
    if path.parent.is_dir():
        with beside(path) as writing:
            if path.exists():
                os.rename(path, writing / path.name)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders; whether the system can."""
    paths = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "linux":
            in_cwd, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
            result = ctypes.CDLL(None).renameat2(in_cwd, paths[0], in_cwd, paths[1], exchange)
        elif sys.platform == "darwin":
            result = ctypes.CDLL(None).renamex_np(*paths, 2)  # RENAME_SWAP
        else:
            return False
    except AttributeError:  # an older system
        return False
    return bool(result == 0)


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk (not on Windows)."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:  # file systems whose folders cannot
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> None:
    """The same for a folder and all below it."""
    for path in (*folder.rglob("*"), folder):
        if not path.is_symlink():
            sync(path)
