"""Files and folders that take the place of others whole, and locks between processes that write.

What is read is the old or the new, whenever a process is killed, or the power fails.
"""

import ctypes
import errno
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PATIENCE = 60.0  # seconds to wait for other processes that save
_PAUSE = 0.01  # seconds between attempts
_OLD = ".old"


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


def replace_folder(new: Path, path: Path) -> None:
    """Put a folder, which lies in one of ``beside``, in the place of another in one step.

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
