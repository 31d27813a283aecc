"""Saved components: a header and arrays, in a folder or as bytes.

A folder holds ``model.json`` (format version, kind of component, its parts, and the shape and
checksum of each array) and ``arrays-<checksum>/*.npy``, which open memory-mapped. The arrays
are written beside the old ones, and ``model.json`` is moved into place last: whenever a write is
interrupted, the folder holds the old component or the new one, complete. One checksum covers
the header, and through it the arrays; bytes begin with a checksum of all that follows.
"""

import gzip
import json
import os
import shutil
import tempfile
import time
import zlib
from codecs import lookup
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO, TypeVar

import numpy as np
import srsly

from spacy_ssvm._files import PATIENCE, locked, sync, sync_all
from spacy_ssvm._files import beside as beside
from spacy_ssvm._files import replace_folder as replace_folder

#: What a file raises that is damaged, truncated, or in another encoding.
DAMAGED = (EOFError, UnicodeError, zlib.error, gzip.BadGzipFile)
#: What a file raises that cannot be read, or not in an encoding that does not exist.
UNREADABLE = (*DAMAGED, OSError, LookupError)
_MAX_QUOTED = 60  # characters of what messages quote from files and configs
FORMAT_VERSION = 4
_HEADER = "model.json"
_WRITING = ".writing"  # and what follows at random
_MAGIC = b"spacy_ssvm component\n"
_CHECKSUM_BYTES = 4
_TRIES, _PAUSE = 10, 0.005  # readings of a component, and seconds between them

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]
Types = Mapping[str, type]

NO_ARRAYS: Types = {}

StoredModelT = TypeVar("StoredModelT", bound="StoredModel")

#: Makes a component of its saved parts and arrays. Raises ValueError, naming the flaw, or
#: LookupError, TypeError, AttributeError or ArithmeticError where the parts are malformed; the
#: component is then left as it was.
Build = Callable[[Header, Arrays], None]


class ModelFileError(ValueError):
    """A saved component cannot be read."""


def save(
    path: str | Path, kind: str, parts: Header, arrays: Arrays, check: Build = lambda *_: None
) -> None:
    """Save into a folder, which is made where there is none.

    kind: of component. parts: its settings and headers, saved as JSON beside the arrays.
    check: raises an error where what was written cannot be loaded; see ``Build``.
    Raises ModelFileError in that case, OSError where something cannot be written, TimeoutError
    where another process keeps the folder locked: what was saved there before is then left.
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    types = {name: array.dtype.type for name, array in arrays.items()}
    header = _header(kind, parts, arrays)
    folder = path / header["folder"]
    with locked(path, PATIENCE):
        for left in path.glob(f"{_WRITING}*"):  # by a killed process
            shutil.rmtree(left, ignore_errors=True)
        writing = Path(tempfile.mkdtemp(prefix=_WRITING, dir=path))
        try:
            new_header, new_arrays = writing / _HEADER, writing / folder.name
            text = json.dumps(header, indent=1)
            new_header.write_text(text, encoding="utf8")
            is_new = not _holds_arrays(folder, header, types)
            if is_new:
                new_arrays.mkdir()
                for name, array in arrays.items():
                    np.save(new_arrays / f"{name}.npy", array, allow_pickle=False)
            written = _read_arrays(new_arrays if is_new else folder, header, types)
            _build(check, _parse(text, str(path)), written, f"{path}: not saved")
            sync_all(writing)
            if is_new:
                shutil.rmtree(folder, ignore_errors=True)
                os.replace(new_arrays, folder)
                sync(path)
            os.replace(new_header, path / _HEADER)
            sync(path)
        finally:
            shutil.rmtree(writing, ignore_errors=True)
        for old in path.glob("arrays-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)


class Pipeline(Protocol):
    """What can be saved as a folder: spaCy's ``Language``."""

    def to_disk(self, path: str | Path, *, exclude: Iterable[str]) -> None:
        """Save into a folder, which is made where there is none."""


def save_pipeline(nlp: Pipeline, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
    """Save a pipeline, which takes the place of the one in the folder once it is complete.

    ``nlp.to_disk`` writes file by file into the folder: where it is interrupted, parts of two
    pipelines are left, which may not load. This writes a new folder beside, and exchanges them.
    Other files in the folder are kept.

    exclude: as for ``nlp.to_disk``.
    Raises ValueError for a folder that holds other things than a pipeline, and what
    ``nlp.to_disk`` raises: the old pipeline is then still there.
    """
    path = Path(path).resolve()  # of a link, it is the target that is replaced
    there = [*path.iterdir()] if path.exists() else []
    if there and not (path / "meta.json").is_file():
        raise ValueError(f"{path} holds no pipeline, but {there[0].name}: choose another folder")
    with beside(path) as folder:
        new = folder / path.name
        nlp.to_disk(new, exclude=exclude)
        for old in there:
            kept = new / old.name
            if not kept.exists():
                (shutil.copytree if old.is_dir() else shutil.copy2)(old, kept)
        replace_folder(new, path)


def load(path: str | Path, kind: str, parts: Collection[str], types: Types, build: Build) -> None:
    """Load from a folder. Raises ModelFileError, naming the file, where that fails.

    parts: the names of those to be loaded.
    types: the arrays to be loaded, with their types.
    """
    file = Path(path) / _HEADER
    text, failures = _read(file), 0
    while True:
        header = _parse(text, str(file))
        _check_header(header, kind, parts, types, str(file))
        try:
            arrays = _read_arrays(file.parent / header["folder"], header, types)
            break
        except ModelFileError:
            # Another process may be saving: damage is what lasts while the header stays.
            failures += 1
            if failures == _TRIES:
                raise
            time.sleep(_PAUSE)
            text_now = _read(file)
            if text_now != text:
                text, failures = text_now, 0
    _build(build, header, arrays, str(file))


def to_bytes(kind: str, parts: Header, arrays: Arrays) -> bytes:
    """The component as bytes."""
    raw = {name: array.tobytes() for name, array in arrays.items()}
    message = {"header": _header(kind, parts, arrays), "arrays": raw}
    packed: bytes = srsly.msgpack_dumps(message)
    return _MAGIC + _checksum_bytes(packed) + packed


def from_bytes(
    data: bytes,
    kind: str,
    parts: Collection[str],
    types: Types,
    build: Build,
    *,
    optional: Types = NO_ARRAYS,
) -> None:
    """Load what ``to_bytes`` made; see ``load``. Raises ModelFileError where that fails.

    optional: further arrays with their types, to be loaded where they were saved.
    """
    source = f"the bytes of '{kind}'"
    start = len(_MAGIC) + _CHECKSUM_BYTES
    packed = data[start:]
    if data[: len(_MAGIC)] != _MAGIC:
        raise ModelFileError(f"{source}: not those of a saved component of this spacy_ssvm")
    if data[len(_MAGIC) : start] != _checksum_bytes(packed):
        raise ModelFileError(f"{source}: damaged or truncated, the checksum does not match")
    try:
        message = srsly.msgpack_loads(packed)
        header, raw = message["header"], message["arrays"]
        _check_version(header, source)
        saved = {name: optional[name] for name in optional if name in header["arrays"]}
        _check_header(header, kind, parts, {**types, **saved}, source)
        arrays = {
            name: _unpack(raw[name], header["arrays"][name]["shape"], dtype)
            for name, dtype in {**types, **saved}.items()
        }
    except ModelFileError:
        raise
    except Exception as error:  # what others have packed can raise anything
        raise ModelFileError(f"{source}: not those of a saved component") from error
    _build(build, header, arrays, source)


class StoredModel:
    """A model that is saved as a header and arrays: with a component, or as bytes by itself."""

    #: The name of such models, for messages.
    kind: str

    @property
    def types(self) -> Types:
        """The saved arrays with their types."""
        raise NotImplementedError

    def header(self) -> Header:
        """The part of the saved model that is not an array."""
        raise NotImplementedError

    def arrays(self) -> Arrays:
        """The saved arrays, by the names of ``types``."""
        raise NotImplementedError

    def read(self, header: Header, arrays: Arrays) -> Any:
        """Check a saved model, so that kernels can use it safely; see ``become``.

        Raises ValueError, which describes the flaw, or an error that ``Build`` names.
        """
        raise NotImplementedError

    def become(self, saved: Any) -> None:
        """Replace this model by a saved one."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """The model as bytes."""
        return to_bytes(self.kind, {"model": self.header()}, self.arrays())

    def from_bytes(self: StoredModelT, data: bytes) -> StoredModelT:
        """Load the result of ``to_bytes``. Raises ModelFileError for invalid data."""

        def build(parts: Header, arrays: Arrays) -> None:
            self.become(self.read(parts["model"], arrays))

        from_bytes(data, self.kind, ("model",), self.types, build)
        return self


def _unpack(data: bytes, shape: list[int], dtype: type) -> np.ndarray:
    """The array of these bytes. Raises ValueError where they are too many or too few."""
    values: np.ndarray = np.frombuffer(data, dtype)
    array: np.ndarray = values.reshape(shape).copy()
    return array


def _header(kind: str, parts: Header, arrays: Arrays) -> Header:
    header: Header = {
        "format": FORMAT_VERSION,
        "component": kind,
        "parts": parts,
        "arrays": {
            name: {"shape": list(array.shape), "crc32": _array_checksum(array)}
            for name, array in arrays.items()
        },
    }
    header["folder"] = f"arrays-{_json_checksum(header['arrays'])}"
    return header | {"checksum": _json_checksum(header)}


def _json_checksum(value: object) -> str:
    return f"{zlib.crc32(json.dumps(value, sort_keys=True).encode()):08x}"


def _array_checksum(array: np.ndarray) -> int:
    """The checksum of an array in C order."""
    return zlib.crc32(np.ascontiguousarray(array).data if array.size else b"")


def _checksum_bytes(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf8")
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{file}: cannot be read as the header of a model") from error


def _parse(text: str, source: str) -> Header:
    """The header, once its version and its checksum are known to be right."""
    try:
        header: Header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{source}: cannot be read as the header of a model") from error
    _check_version(header, source)
    checksum = header.pop("checksum", None)
    if checksum != _json_checksum(header):
        raise ModelFileError(f"{source}: damaged, its checksum has changed")
    return header


def _check_version(header: object, source: str) -> None:
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int):
        raise ModelFileError(f"{source}: not the header of a model")
    if version != FORMAT_VERSION:
        advice = (
            "install a newer spacy_ssvm"
            if version > FORMAT_VERSION
            else "train it again, or install the spacy_ssvm that it was saved with"
        )
        raise ModelFileError(
            f"{source}: saved in format {version}, but this spacy_ssvm reads format "
            f"{FORMAT_VERSION}: {advice}"
        )


def _check_header(
    header: Header, kind: str, parts: Collection[str], types: Types, source: str
) -> None:
    """Check that a header is that of a component of this kind, with these parts and arrays."""
    try:
        flaw = _find_flaw(header, kind, parts, types)
    except (LookupError, TypeError, AttributeError) as error:
        flaw = f"the header of the model lacks {error}"
    if flaw is not None:
        raise ModelFileError(f"{source}: {flaw}")


def _find_flaw(header: Header, kind: str, parts: Collection[str], types: Types) -> str | None:
    if header["component"] != kind:
        return f"holds '{shorten(str(header['component']))}', not '{kind}'"
    for part in parts:
        if part not in header["parts"]:
            return f"saved without its {part}; load it with exclude=['{part}']"
    for name in types:
        described = header["arrays"][name]
        for number in (described["crc32"], *described["shape"]):
            if type(number) is not int or number < 0:
                return f"the header of the model does not describe '{name}'"
    folder = header["folder"]
    if Path(folder).parts != (folder,) or not folder.startswith("arrays-"):
        return "the header of the model names no folder"
    return None


def _build(build: Build, header: Header, arrays: Arrays, source: str) -> None:
    try:
        build(header["parts"], arrays)
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        what = f"{type(error).__name__}: {error}" if type(error) is not ValueError else error
        raise ModelFileError(f"{source}: not a valid model: {what}") from error


def _read_arrays(folder: Path, header: Header, types: Types) -> Arrays:
    arrays = {}
    for name, dtype in types.items():
        file = folder / f"{name}.npy"
        # Copy-on-write: mapped, but of the same type as arrays in memory. An empty array
        # cannot be mapped.
        mode: Literal["c"] | None = None if 0 in header["arrays"][name]["shape"] else "c"
        try:
            array = np.asarray(np.load(file, mmap_mode=mode, allow_pickle=False))
        except Exception as error:  # numpy parses the header of a file as Python
            raise ModelFileError(f"{file}: missing, truncated or damaged") from error
        arrays[name] = _checked(array, header["arrays"][name], dtype, str(file))
    return arrays


def _holds_arrays(folder: Path, header: Header, types: Types) -> bool:
    try:
        _read_arrays(folder, header, types)
    except ModelFileError:
        return False
    return True


def _checked(array: np.ndarray, expected: Header, dtype: type, source: str) -> np.ndarray:
    if array.dtype != dtype or list(array.shape) != expected["shape"]:
        raise ModelFileError(f"{source}: holds {array.dtype} {array.shape}, not what was saved")
    if not array.flags.c_contiguous:
        raise ModelFileError(f"{source}: not in C order, as it was saved")
    if _array_checksum(array) != expected["crc32"]:
        raise ModelFileError(f"{source}: damaged, its checksum has changed")
    return array


def require(is_right: bool, what_is_wrong: str) -> None:
    """Raise ValueError, naming the flaw of a saved model, unless a condition holds."""
    if not is_right:
        raise ValueError(what_is_wrong)


def checked_texts(texts: object, what: str) -> tuple[str, ...]:
    """A list of different texts. Raises ValueError for anything else."""
    if not (
        isinstance(texts, list)
        and all(isinstance(text, str) for text in texts)
        and len(set(texts)) == len(texts)
    ):
        raise ValueError(f"the {what} are not a list of different texts")
    return tuple(texts)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of a file once the block ends without error."""
    with beside(file) as folder:
        new = folder / file.name
        yield new
        sync(new)
        os.replace(new, file)
        sync(file.parent)


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


def shorten(text: str) -> str:
    """The text, or its beginning and "..." where it has more than 60 characters."""
    return text if len(text) <= _MAX_QUOTED else f"{text[: _MAX_QUOTED - 3]}..."
