"""Saved components: settings and arrays in one file in the layout of safetensors, or as its bytes.

The file begins with the length of its header (8 bytes, little-endian). The header is JSON, padded
with spaces: type, shape and place of each array, and as ``__metadata__`` the format version, a
checksum of all that comes before the arrays, the kind of component, its parts, and a checksum of
each array. The arrays follow, those of larger items first, so that all are aligned. They open
memory-mapped. A file is written beside the old one, and takes its place last: whenever a write is
interrupted, the folder holds the old component or the new one, complete.
"""

import json
import math
import os
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from spacy_ssvm.files import beside, replace_folder, replacing, shorten

FORMAT_VERSION = 10
_FILE = "model.safetensors"
_OLD_FILE, _OLD_ARRAYS = "model.json", "arrays-*"  # of format 4
_LENGTH = 8  # bytes of the length of the header
_MAX_HEADER = 100_000_000  # bytes, as in safetensors
_ALIGNMENT = 64  # of the first array
_BEGINNING = f'{{"__metadata__":{{"format":"{FORMAT_VERSION}","checksum":"'
_CHECKSUM = slice(_LENGTH + len(_BEGINNING), _LENGTH + len(_BEGINNING) + 8)  # in the file
_VERSION = re.compile(  # of this format and newer ones; of older files; of older bytes
    rb'.{8}\{"__metadata__":\{"format":"(\d{1,9})"|\{\s*"format": (\d{1,9})|spacy_ssvm component',
    re.DOTALL,
)
_CAN_MAP = os.name == "posix"  # what is to be replaced
_CODES = "F64=f8 F32=f4 F16=f2 I64=i8 I32=i4 I16=i2 I8=i1 U64=u8 U32=u4 U16=u2 U8=u1 BOOL=?"
_DTYPES = {name: np.dtype(code) for name, code in (pair.split("=") for pair in _CODES.split())}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_MAX_AXES = 32  # of an array
_MAX_TOLD = 300  # characters of what other errors say
_MALFORMED = (LookupError, TypeError, AttributeError, ArithmeticError, ValueError)
_CURE = "copy it again from where it was saved, or train it again"

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]
Types = Mapping[str, type]

StoredModelT = TypeVar("StoredModelT", bound="StoredModel")

#: Makes a component of its saved parts and arrays. Raises ValueError, naming the flaw, or
#: LookupError, TypeError, AttributeError or ArithmeticError where the parts are malformed; the
#: component is then left as it was. Arrays are contiguous, in C order, and can be written to.
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
    types = {name: array.dtype.type for name, array in arrays.items()}
    with replacing(path / _FILE) as new:
        with new.open("wb") as file:
            file.writelines(_encode(kind, parts, arrays))
        _load(new, f"{path}: not saved", kind, (), types, check)
    (path / _OLD_FILE).unlink(missing_ok=True)
    for old in path.glob(_OLD_ARRAYS):
        shutil.rmtree(old, ignore_errors=True)


def save_instead_of_file(
    path: str | Path, kind: str, parts: Header, arrays: Arrays, check: Build
) -> None:
    """The same where there is a file, which stays until the folder takes its place."""
    path = Path(path)
    with beside(path) as folder:
        new = folder / path.name
        save(new, kind, parts, arrays, check)
        replace_folder(new, path)


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
    types: arrays that there must be, with their types. Others that were saved are loaded, too.
    """
    file = Path(path) / _FILE
    if not file.exists() and file.with_name(_OLD_FILE).exists():
        file = file.with_name(_OLD_FILE)  # which is refused
    _load(file, str(file), kind, parts, types, build)


def to_bytes(kind: str, parts: Header, arrays: Arrays) -> bytes:
    """The component as bytes: those of the file that ``save`` writes."""
    return b"".join(_encode(kind, parts, arrays))


def from_bytes(data: bytes, kind: str, parts: Collection[str], types: Types, build: Build) -> None:
    """Load what ``to_bytes`` made; see ``load``. Raises ModelFileError where that fails."""
    _load(data, f"the bytes of '{kind}'", kind, parts, types, build)


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


def _encode(kind: str, parts: Header, arrays: Arrays) -> list[bytes | memoryview]:
    """What a file consists of: all that comes before the arrays, and the bytes of each."""
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))
    contents = [np.ascontiguousarray(a).reshape(-1).view(np.uint8).data for a in arrays.values()]
    checksums = dict(zip(arrays, map(zlib.crc32, contents), strict=True))
    metadata = {"format": str(FORMAT_VERSION), "checksum": "0" * 8, "component": kind}
    metadata |= {"parts": json.dumps(parts), "crc32": json.dumps(checksums)}
    header: Header = {"__metadata__": metadata}
    end = 0
    for name, array in arrays.items():
        offsets = [end, end := end + array.nbytes]
        dtype = _NAMES[array.dtype]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(_LENGTH + len(text)) % _ALIGNMENT)
    require(len(text) <= _MAX_HEADER, f"the settings and labels of '{kind}' are too large to save")
    return [_sealed(len(text).to_bytes(_LENGTH, "little") + text), *contents]


def _sealed(head: bytes) -> bytes:
    """What comes before the arrays, with its checksum in its place."""
    before, after = head[: _CHECKSUM.start], head[_CHECKSUM.stop :]
    return b"%b%08x%b" % (before, zlib.crc32(after, zlib.crc32(before)), after)


def _load(
    saved: Path | bytes, source: str, kind: str, parts: Collection[str], types: Types, build: Build
) -> None:
    """Build a component of a file, or of bytes. Raises ModelFileError, which names the source."""
    try:
        data = _mapped(saved) if isinstance(saved, Path) else np.frombuffer(saved, np.uint8)
        saved_kind, saved_parts, arrays = _decode(data)
        require(saved_kind == kind, f"holds '{shorten(str(saved_kind))}', not '{kind}'")
        for part in parts:
            advice = f"load it with exclude=['{part}']"
            require(part in saved_parts, f"saved without its {part}; {advice}")
        for name, dtype in types.items():
            advice = "load it with the settings it was saved with, or train it again"
            is_there = name in arrays and arrays[name].dtype == dtype
            require(is_there, f"lacks '{name}' of type {np.dtype(dtype)}: {advice}")
        if not isinstance(saved, Path):
            arrays = {name: array.copy() for name, array in arrays.items()}
        build(saved_parts, arrays)
    except (*_MALFORMED, OSError, RecursionError) as error:
        flaw = str(error)
        if type(error) is not ValueError:
            flaw = f"not a valid model, {type(error).__name__}: {flaw[:_MAX_TOLD]}: {_CURE}"
        raise ModelFileError(f"{source}: {flaw}") from error


def _mapped(file: Path) -> np.ndarray:
    """The bytes of a file, copy-on-write, or in memory."""
    with file.open("rb") as opened:
        if _CAN_MAP and os.fstat(opened.fileno()).st_size:
            return np.frombuffer(mmap(opened.fileno(), 0, access=ACCESS_COPY), np.uint8)
        return np.fromfile(opened, np.uint8)


def _decode(data: np.ndarray) -> tuple[object, Header, Arrays]:
    """The kind of component, the parts and the arrays. Raises what ``Build`` does."""
    found = _VERSION.match(data[: _CHECKSUM.stop].tobytes())
    version = int(found[1] or found[2] or 4) if found else FORMAT_VERSION
    advice = "train it again, or install the spacy_ssvm that it was saved with"
    if version > FORMAT_VERSION:
        advice = "install a newer spacy_ssvm"
    what = f"saved in format {version}, but this spacy_ssvm reads format {FORMAT_VERSION}"
    require(version == FORMAT_VERSION, f"{what}: {advice}")
    end = start = _LENGTH + int.from_bytes(data[:_LENGTH].tobytes(), "little")
    _require_whole(end <= min(_LENGTH + _MAX_HEADER, data.size), "its header is cut off")
    head = data[:end].tobytes()
    _require_whole(head == _sealed(head), "the checksum of its header has changed")
    header = json.loads(head[_LENGTH:].decode())
    metadata = header.pop("__metadata__")
    parts, checksums = json.loads(metadata["parts"]), json.loads(metadata["crc32"])
    _require_whole(isinstance(parts, dict), "its parts have no names")
    arrays = {}
    for name, described in header.items():
        what = f"the array '{shorten(name)}'"
        dtype, shape = _DTYPES[described["dtype"]], described["shape"]
        are_sizes = all(type(size) is int and size >= 0 for size in shape)
        _require_whole(are_sizes and len(shape) <= _MAX_AXES, f"{what} has no such shape")
        begin, end = end, end + dtype.itemsize * math.prod(shape)
        is_there = described["data_offsets"] == [begin - start, end - start] and end <= data.size
        _require_whole(is_there and begin % dtype.itemsize == 0, f"{what} is in no such place")
        values = data[begin:end]
        is_right = zlib.crc32(values.data) == checksums[name]
        _require_whole(is_right, f"the checksum of {what} has changed")
        is_right = dtype.kind != "b" or values.max(initial=0) <= 1
        _require_whole(is_right, f"{what} holds other things than True and False")
        arrays[name] = values.view(dtype).reshape(shape)
    _require_whole(end == data.size, "it does not end after its last array")
    return metadata["component"], parts, arrays


def _require_whole(is_right: bool, what_is_wrong: str) -> None:
    require(is_right, f"damaged, or not a saved model: {what_is_wrong}: {_CURE}")


def require(is_right: bool, what_is_wrong: str) -> None:
    """Raise ValueError, naming the flaw of a saved model, unless a condition holds."""
    if not is_right:
        raise ValueError(what_is_wrong)


def rise_within(starts: np.ndarray, values: np.ndarray) -> bool:
    """Whether the values of each range rise: those from one of the starts to the next.

    starts: integers that rise from 0 to the number of values, or stay.
    """
    rises: np.ndarray = values[1:] > values[:-1]
    rises[starts[(starts > 0) & (starts < len(values))] - 1] = True
    return bool(rises.all())


def checked_texts(texts: object, what: str) -> tuple[str, ...]:
    """A list of different texts. Raises ValueError for anything else."""
    if not (
        isinstance(texts, list)
        and all(isinstance(text, str) for text in texts)
        and len(set(texts)) == len(texts)
    ):
        raise ValueError(f"the {what} are not a list of different texts")
    return tuple(texts)
